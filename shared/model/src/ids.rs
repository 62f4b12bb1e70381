//! Names of things. All are opaque, bounded and cheap to clone (short ones live inline, without an allocation).
//!
//! Ids inside a conversation come from foreign streams and are taken as they are; one that is longer than
//! [`ID_BYTES_MAX`] is shortened to a prefix and a hash, so that it stays unique and bounded. The name of a
//! conversation comes from a person or a URL and is checked instead.

use std::fmt;

use compact_str::CompactString;
use serde::{Deserialize, Serialize};

use crate::limits::{CONVERSATION_ID_BYTES_MAX, ID_BYTES_MAX};
use crate::print::Fingerprint;

/// `text` within [`ID_BYTES_MAX`]: itself, or its beginning and the hash of the whole.
fn bounded(text: &str) -> CompactString {
    if text.len() <= ID_BYTES_MAX {
        return CompactString::new(text);
    }
    let print = Fingerprint::name_of(&[text]);
    let mut end = ID_BYTES_MAX.saturating_sub(print.len() + 1);
    while !text.is_char_boundary(end) {
        end = end.saturating_sub(1);
    }
    let prefix = text.get(..end).unwrap_or_default();
    compact_str::format_compact!("{prefix}~{print}")
}

macro_rules! id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
        #[serde(transparent)]
        pub struct $name(CompactString);

        impl $name {
            /// The id `text`, shortened when it is over the limit.
            pub fn new(text: &str) -> Self {
                Self(bounded(text))
            }

            /// The id as text.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl From<&str> for $name {
            fn from(text: &str) -> Self {
                Self::new(text)
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let text = <std::borrow::Cow<'de, str>>::deserialize(deserializer)?;
                Ok(Self::new(&text))
            }
        }
    };
}

id! {
    /// The id of a run: one execution of an agent inside a conversation.
    RunId
}
id! {
    /// The id of a sub-agent inside a run; the main agent has none.
    AgentId
}
id! {
    /// The id of a message of the history (user, system, earlier assistant turns).
    MessageId
}
id! {
    /// The id of a streamed text, thinking or file. Unique inside its run.
    PartId
}
id! {
    /// The id of a tool call. Unique inside its run.
    ToolCallId
}
id! {
    /// The id of a publisher: a program that writes events.
    PublisherId
}

impl RunId {
    /// The run of events that name none: events about the conversation itself.
    pub fn none() -> Self {
        Self(CompactString::const_new(""))
    }

    /// Whether this is [`RunId::none`].
    pub fn is_none(&self) -> bool {
        self.0.is_empty()
    }
}

/// The name of a conversation: 1 to [`CONVERSATION_ID_BYTES_MAX`] bytes, no control character, no `/`, not `.` or `..`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(transparent)]
pub struct ConversationId(CompactString);

/// Why a text is no name of a conversation.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ConversationIdError {
    /// The name is empty.
    #[error("the conversation name is empty")]
    Empty,
    /// The name is too long; the value is its length in bytes.
    #[error("the conversation name has {0} bytes, the limit is {CONVERSATION_ID_BYTES_MAX}")]
    TooLong(usize),
    /// The name holds a character that a path or a log line must not hold, or is `.` or `..`.
    #[error("the conversation name holds {0:?}, which is not allowed")]
    Forbidden(char),
}

/// How the names of copies begin that nobody writes to.
const FROZEN_PREFIX: &str = "fanlight.frozen.";

impl ConversationId {
    /// Reads `text` as the name of a conversation, and says what is wrong where it is not valid.
    pub fn parse(text: &str) -> Result<Self, ConversationIdError> {
        if text.is_empty() {
            return Err(ConversationIdError::Empty);
        }
        if text.len() > CONVERSATION_ID_BYTES_MAX {
            return Err(ConversationIdError::TooLong(text.len()));
        }
        if let Some(c) = text.chars().find(|c| c.is_control() || *c == '/' || *c == '\\') {
            return Err(ConversationIdError::Forbidden(c));
        }
        if text == "." || text == ".." {
            return Err(ConversationIdError::Forbidden('.'));
        }
        Ok(Self(CompactString::new(text)))
    }

    /// The name of a copy that only a hub makes and nobody writes to: what a frozen link shows. `name` tells copies apart. Fails
    /// as [`ConversationId::parse`] does.
    pub fn frozen(name: &str) -> Result<Self, ConversationIdError> {
        Self::parse(&compact_str::format_compact!("{FROZEN_PREFIX}{name}"))
    }

    /// Whether it names a copy that nobody writes to.
    pub fn is_frozen(&self) -> bool {
        Self::is_frozen_name(&self.0)
    }

    /// Whether `name` is that of a copy that nobody writes to.
    pub fn is_frozen_name(name: &str) -> bool {
        name.starts_with(FROZEN_PREFIX)
    }

    /// The name without what the names of copies begin with.
    pub fn unfrozen(&self) -> &str {
        self.0.strip_prefix(FROZEN_PREFIX).unwrap_or(&self.0)
    }

    /// The name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for ConversationId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::str::FromStr for ConversationId {
    type Err = ConversationIdError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Self::parse(text)
    }
}

impl<'de> Deserialize<'de> for ConversationId {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = <std::borrow::Cow<'de, str>>::deserialize(deserializer)?;
        Self::parse(&text).map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests;
