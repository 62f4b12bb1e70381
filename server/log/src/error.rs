//! Why a log refuses or cannot do what it is asked, and the code that clients get for it.

use std::sync::Arc;

use model::Seq;
use model::code::ErrorCode;
use model::frame::Durability;

/// Why a log did not do what it was asked.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LogError {
    /// The append does not continue the log. The hub made a mistake: it asks [`crate::EventLog::continues`] before it changes anything.
    #[error("the log stands at {found}, the append continues {expected}")]
    Conflict {
        /// The newest seq that the log has of the conversation.
        found: Seq,
        /// The seq that the append continues.
        expected: Seq,
    },
    /// The log has no conversation of that name: it was never written to, or it was removed.
    #[error("the log does not know this conversation")]
    Unknown,
    /// The log no longer has the events after that position one by one.
    #[error("the log begins after seq {begins_after}")]
    Gone {
        /// The newest seq that is no longer there; every event after it is.
        begins_after: Seq,
    },
    /// The events are not stored yet, because the log cannot write at present.
    #[error("the log cannot write: {0}")]
    Failing(Arc<str>),
    /// The database refused the events themselves, although it works. SQLite has them in a file beside it,
    /// PostgreSQL in the table `aside`.
    #[error(
        "the database refused these events; they are set aside: SQLite in the `.aside.jsonl` file beside it, \
         PostgreSQL in the table `aside`"
    )]
    SetAside,
    /// The settings of the database have changed since the level was asked for, and no longer make it true.
    #[error("the settings of the database no longer make the level {} true", .0.as_str())]
    Withdrawn(Durability),
    /// The log cannot be read.
    #[error("the log cannot be read: {0}")]
    Unreadable(Arc<str>),
    /// The query is invalid; the text says why.
    #[error("{0}")]
    BadQuery(String),
}

impl LogError {
    /// The code that a client gets for this error. [`LogError::Conflict`] is `internal`: no client can cause it.
    pub fn code(&self) -> ErrorCode {
        match self {
            Self::Gone { .. } | Self::Unknown => ErrorCode::Gone,
            Self::BadQuery(_) => ErrorCode::BadRequest,
            Self::Failing(_) | Self::SetAside | Self::Unreadable(_) => ErrorCode::LogFailed,
            Self::Withdrawn(_) => ErrorCode::DurabilityUnavailable,
            Self::Conflict { .. } => ErrorCode::Internal,
        }
    }
}
