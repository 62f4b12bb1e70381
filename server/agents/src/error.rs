//! Why a turn does not begin, and why a command is refused.

use compact_str::CompactString;
use hub::PublishError;
use model::code::ErrorCode;
use model::limits::RUNS_AT_ONCE_MAX;

/// Why a turn did not begin. Nothing was changed, except that messages may have been published.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// There is no agent of that name.
    #[error("no agent is named {name:?}; {known}")]
    Unknown {
        /// The name that was asked for.
        name: CompactString,
        /// The names of all agents, as a phrase.
        known: String,
    },
    /// The server of the agent or its model cannot be used, for example because its TLS cannot be set up.
    #[error("the agent {0:?} or its model cannot be reached: {1}")]
    NoWay(CompactString, String),
    /// [`RUNS_AT_ONCE_MAX`] runs go on already.
    #[error("{RUNS_AT_ONCE_MAX} runs go on already")]
    TooMany,
    /// The hub is draining.
    #[error("the hub stops; come back in a moment")]
    Draining,
    /// A file that comes with a message is not taken, for the reason in the text.
    #[error("{0}")]
    File(String),
    /// The run cannot be resumed, for the reason in the text.
    #[error("{0}")]
    NotResumable(String),
    /// The conversation did not take the events.
    #[error(transparent)]
    Publish(#[from] PublishError),
}

impl StartError {
    /// The code that is sent to whoever asked.
    pub fn code(&self) -> ErrorCode {
        match self {
            Self::Unknown { .. } => ErrorCode::UnknownAgent,
            Self::NoWay(..) => ErrorCode::AgentUnavailable,
            Self::TooMany => ErrorCode::TooMany,
            Self::Draining => ErrorCode::ShuttingDown,
            Self::File(_) => ErrorCode::BadRequest,
            Self::NotResumable(_) => ErrorCode::NotResumable,
            Self::Publish(error) => error.code(),
        }
    }
}

/// Why a command or request was refused, in the form in which clients get it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    /// The code that is sent to the client.
    pub code: ErrorCode,
    /// What is wrong, for a person.
    pub why: String,
}

impl Refusal {
    /// Refuses with this code and reason.
    pub fn new(code: ErrorCode, why: impl Into<String>) -> Self {
        Self { code, why: why.into() }
    }
}

impl From<StartError> for Refusal {
    fn from(error: StartError) -> Self {
        Self::new(error.code(), error.to_string())
    }
}
