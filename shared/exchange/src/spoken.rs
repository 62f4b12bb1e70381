//! What is said in a conversation before an agent answers.

use compact_str::CompactString;
use model::MessageId;

/// A message of a caller, before it has a place in a conversation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Spoken {
    /// Its id, where it has one: a message that comes again replaces itself.
    pub id: Option<MessageId>,
    /// `user`, `system`, `assistant`.
    pub role: CompactString,
    /// What was said.
    pub text: String,
}

impl Spoken {
    /// What a person says.
    pub fn user(text: &str) -> Self {
        Self { id: None, role: "user".into(), text: text.to_owned() }
    }
}
