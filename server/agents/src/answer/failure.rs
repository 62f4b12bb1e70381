//! Failures of models and agents, each with one name whatever vendor it comes from. The error of a run has it
//! as its code.
//!
//! | code | when |
//! |---|---|
//! | `context_limit` | the conversation is longer than the model takes, by any vendor's words for it |
//! | `http_STATUS` | a refusal that says nothing but its status |
//! | `upstream_cut`, `no_answer` | the answer stopped before its end, or was none |
//! | `upstream_unreachable`, `upstream_failed` | the request got no answer |
//! | `no_key`, `bad_provider`, `log_failed` | the request was not sent |
//! | any other | the code in the vendor's own error |

use dialects::by_status;
use model::event::ErrorFact;

/// The code of the failure that the conversation is longer than the model takes.
pub(crate) const CONTEXT_LIMIT: &str = "context_limit";

/// Words by which vendors say this: in codes, or in messages if there is no code for it.
const TOO_LONG: [&str; 9] = [
    "context_length_exceeded",
    "exceed_context_size",
    "context_window_exceeded",
    "prompt is too long",
    "maximum context length",
    "context window",
    "exceeds the context",
    "exceeds the available context",
    "input is too long",
];

/// A failure with this code. `retryable` says whether the same request may succeed later.
pub(crate) fn failure(code: &str, message: &str, retryable: bool) -> ErrorFact {
    ErrorFact {
        code: code.into(),
        message: message.to_owned(),
        retryable: Some(retryable),
        retry_after_ms: None,
    }
}

/// Completes a failure by what the status of the answer says, and gives the one failure that all vendors name
/// differently its common code. A status of 429 or from 500 on is never taken for it: there the same request
/// may succeed later.
pub(super) fn named(mut fact: ErrorFact, status: u16) -> ErrorFact {
    fact.retryable = by_status(status, fact.retryable);
    let says = |words: &str| fact.code.contains(words) || fact.message.to_lowercase().contains(words);
    if status < 500 && status != 429 && TOO_LONG.into_iter().any(says) {
        fact.code = CONTEXT_LIMIT.into();
        fact.retryable = Some(false);
    }
    fact
}

/// The failure of an answer that says nothing but its status. Whether it may pass is decided by the status
/// alone.
pub(super) fn of_status(status: u16, retry_after_ms: Option<u64>) -> ErrorFact {
    let message = format!("the server answered with status {status}");
    let retryable = by_status(status, None);
    ErrorFact { code: format!("http_{status}").into(), message, retryable, retry_after_ms }
}

#[cfg(test)]
mod tests {
    //! The names of failures.

    use super::*;

    #[test]
    fn a_conversation_that_is_too_long_has_one_name() {
        for (code, message, status) in [
            ("context_length_exceeded", "This model's maximum context length is 128000 tokens.", 400),
            ("invalid_request_error", "prompt is too long: 210000 tokens > 200000 maximum", 400),
            ("exceed_context_size_error", "the request exceeds the available context size", 400),
        ] {
            let fact = named(failure(code, message, true), status);
            assert_eq!(
                (fact.code.as_str(), fact.retryable, fact.message.as_str()),
                (CONTEXT_LIMIT, Some(false), message)
            );
        }
        assert_eq!(named(failure("overloaded_error", "Overloaded", false), 529).code, "overloaded_error");
    }

    #[test]
    fn what_may_pass_is_tried_again() {
        assert!(of_status(503, Some(7)).may_pass());
        assert!(of_status(401, None).is_permanent());
        assert_eq!(of_status(307, None).retryable, None, "nobody said");
        assert!(named(failure("rate_limit_error", "slow down", false), 429).may_pass());
    }
}
