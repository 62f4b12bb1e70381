//! What may be wrong with a frame of a client.

use compact_str::CompactString;

use crate::code::ErrorCode;
use crate::event::EventError;
use crate::frame::SubscriptionId;
use crate::ids::ConversationIdError;
use crate::limits::EVENTS_PER_PUBLISH_MAX;

/// Why a text is no frame of a client.
#[derive(Debug, thiserror::Error)]
pub enum ClientFrameError {
    /// The text is not a JSON object, or a field has the wrong type.
    #[error("not a valid frame: {0}")]
    Json(#[from] serde_json::Error),
    /// The frame's type is not one of the protocol's.
    #[error("no frame has the type {0:?}")]
    UnknownType(String),
    /// A field is missing.
    #[error("a {frame} frame needs the field {field:?}")]
    Missing {
        /// The type of the frame.
        frame: String,
        /// The name of the missing field.
        field: &'static str,
    },
    /// The conversation's name is none. The number is that of the subscription or the `pub`.
    #[error("{error}")]
    Conversation {
        /// The number of the subscription, if the frame was one for a subscription.
        sub: Option<SubscriptionId>,
        /// The id of the `pub`, if the frame was one.
        id: Option<u64>,
        /// What is wrong with it.
        error: ConversationIdError,
    },
    /// What a `sub` asks for cannot be had.
    #[error("{why}")]
    Wish {
        /// The number of the subscription.
        sub: Option<SubscriptionId>,
        /// What is wrong with it.
        why: String,
    },
    /// An event of a `pub` is none.
    #[error("event {index} of the frame: {error}")]
    Event {
        /// The id of the `pub`.
        id: u64,
        /// The index of the event in the frame, from 0.
        index: usize,
        /// What is wrong with it.
        error: EventError,
    },
    /// A `pub` with more than [`EVENTS_PER_PUBLISH_MAX`] events.
    #[error("the frame has {count} events, the limit is {EVENTS_PER_PUBLISH_MAX}")]
    TooManyEvents {
        /// The id of the `pub`.
        id: u64,
        /// The number of events in the frame.
        count: usize,
    },
    /// What is to be done cannot be read.
    #[error("{why}")]
    Command {
        /// The command, where that much could be read.
        id: CompactString,
        /// [`ErrorCode::BadRequest`], or that the conversation has no name that can be.
        code: ErrorCode,
        /// What is wrong with it.
        why: String,
    },
    /// A `pub` whose numbers do not fit its events.
    #[error("the frame has {count} events, which cannot be numbered from {first} to {last}")]
    Numbering {
        /// The id of the `pub`.
        id: u64,
        /// The frame's `pfirst`.
        first: u64,
        /// The frame's `pseq`.
        last: u64,
        /// The number of events in the frame.
        count: usize,
    },
}

impl ClientFrameError {
    /// The code that goes to the client.
    pub fn code(&self) -> ErrorCode {
        match self {
            Self::Json(_)
            | Self::UnknownType(_)
            | Self::Missing { .. }
            | Self::Wish { .. }
            | Self::Numbering { .. } => ErrorCode::BadRequest,
            Self::Conversation { .. } => ErrorCode::BadConversation,
            Self::Command { code, .. } => *code,
            Self::Event { .. } => ErrorCode::BadEvent,
            Self::TooManyEvents { .. } => ErrorCode::TooMany,
        }
    }

    /// The subscription and the `pub` that it is about.
    pub fn about(&self) -> (Option<SubscriptionId>, Option<u64>) {
        match self {
            Self::Conversation { sub, id, .. } => (*sub, *id),
            Self::Wish { sub, .. } => (*sub, None),
            Self::Event { id, .. } | Self::TooManyEvents { id, .. } | Self::Numbering { id, .. } => {
                (None, Some(*id))
            }
            _ => (None, None),
        }
    }

    /// The command that it is about.
    pub fn command(&self) -> Option<&CompactString> {
        match self {
            Self::Command { id, .. } => Some(id),
            _ => None,
        }
    }
}
