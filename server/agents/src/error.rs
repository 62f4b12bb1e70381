//! Why a turn does not begin, and why a command is refused.

use compact_str::CompactString;
use hub::PublishError;
use model::code::ErrorCode;
use model::limits::RUNS_AT_ONCE_MAX;

/// Why a turn did not begin.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// There is none of that name.
    #[error("no agent is named {name:?}; {known}")]
    Unknown {
        /// The name.
        name: CompactString,
        /// Those that there are, in words.
        known: String,
    },
    /// There is no way to its model, or to it.
    #[error("there is no way to the agent {0:?}, or to its model: {1}")]
    NoWay(CompactString, String),
    /// As many runs go on as may.
    #[error("{RUNS_AT_ONCE_MAX} runs go on already")]
    TooMany,
    /// The hub stops.
    #[error("the hub stops; come back in a moment")]
    Draining,
    /// The run is none of an agent of this hub, or goes on.
    #[error("{0}")]
    NotResumable(String),
    /// The conversation did not take what was said.
    #[error(transparent)]
    Publish(#[from] PublishError),
}

impl StartError {
    /// The code that goes to who asked.
    pub fn code(&self) -> ErrorCode {
        match self {
            Self::Unknown { .. } => ErrorCode::UnknownAgent,
            Self::NoWay(..) => ErrorCode::AgentUnavailable,
            Self::TooMany => ErrorCode::TooMany,
            Self::Draining => ErrorCode::ShuttingDown,
            Self::NotResumable(_) => ErrorCode::NotResumable,
            Self::Publish(error) => error.code(),
        }
    }
}

/// Why a command was not done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    /// The code that goes to who commanded.
    pub code: ErrorCode,
    /// What was wrong, for a person.
    pub why: String,
}

impl Refusal {
    /// With this code, for this reason.
    pub fn new(code: ErrorCode, why: impl Into<String>) -> Self {
        Self { code, why: why.into() }
    }
}

impl From<StartError> for Refusal {
    fn from(error: StartError) -> Self {
        Self::new(error.code(), error.to_string())
    }
}
