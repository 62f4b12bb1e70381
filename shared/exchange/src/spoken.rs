//! The messages of a caller, before an agent answers.

use compact_str::CompactString;
use model::MessageId;
use model::event::MessageFile;

/// A message of a caller, before it has a place in a conversation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Spoken {
    /// The id, if the message has one: a message with the same id replaces the earlier one.
    pub id: Option<MessageId>,
    /// The role: `user`, `system`, `assistant`, or another one that the caller uses.
    pub role: CompactString,
    /// The text of the message.
    pub text: String,
    /// The files that come with it, with their contents.
    pub files: Vec<MessageFile>,
}

impl Spoken {
    /// A message of a person, without an id.
    pub fn user(text: &str) -> Self {
        Self { id: None, role: "user".into(), text: text.to_owned(), files: Vec::new() }
    }
}
