//! Why a request was not answered.

use std::error::Error;

/// Why a request has no answer. The texts are for people and contain nothing of the request.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SendError {
    /// No connection, or no place on one in time: the upstream received nothing.
    #[error("{0}")]
    Unreachable(String),
    /// The upstream was reached, but the request failed.
    #[error("{0}")]
    Failed(String),
}

/// The reason of a failure where the answer to a plain request is no HTTP: most likely TLS is spoken there.
pub fn not_http(error: &dyn Error) -> String {
    format!("what answers there speaks no plain HTTP; write https:// if it speaks TLS ({})", reason(error))
}

/// An error with its causes, in one line. None of them contains anything of the request.
pub fn reason(error: &dyn Error) -> String {
    let mut causes = vec![error.to_string()];
    let mut next = error.source();
    while let Some(cause) = next {
        let text = cause.to_string();
        // Many errors include the text of their cause.
        if causes.last().is_none_or(|before| !before.ends_with(&text)) {
            causes.push(text);
        }
        next = cause.source();
    }
    causes.join(": ")
}
