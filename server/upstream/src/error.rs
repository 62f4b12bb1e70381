//! Why a request was not answered.

use std::error::Error;

/// Why a request has no answer. The texts are for people and quote nothing that was sent.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SendError {
    /// No connection, or no place on one in time: the upstream took nothing.
    #[error("{0}")]
    Unreachable(String),
    /// The upstream was reached and did not answer.
    #[error("{0}")]
    Failed(String),
}

/// What went wrong, with its causes. None of them quotes what was sent.
pub fn reason(error: &dyn Error) -> String {
    let mut causes = vec![error.to_string()];
    let mut next = error.source();
    while let Some(cause) = next {
        let text = cause.to_string();
        // Many errors repeat their cause.
        if causes.last().is_none_or(|before| !before.ends_with(&text)) {
            causes.push(text);
        }
        next = cause.source();
    }
    causes.join(": ")
}
