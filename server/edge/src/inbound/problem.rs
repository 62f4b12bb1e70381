//! Failures as clients see them: `application/problem+json` (RFC 9457) with a code from the one table.
//!
//! ```json
//! {"type": "/help/protocol#code-publisher_gap", "code": "publisher_gap", "status": 409,
//!  "title": "publisher_gap", "detail": "…", "expected": 7}
//! ```
//!
//! Causes are logged where they are handled and are not part of it.

use std::time::Duration;

use axum::body::Body;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use event_log::LogError;
use serde::Serialize;
use serde_json::{Value, json};

use model::code::ErrorCode;
use model::ids::ConversationIdError;

use agents::Refusal;
use hub::{OpenError, PublishError};

/// A failure, with a code that says what the client may do about it. Handlers return it as their error; it
/// becomes the answer.
#[derive(Debug, Serialize)]
pub(crate) struct Problem {
    /// Where the built-in help explains the code: a path of this hub, as the RFC means it.
    #[serde(rename = "type")]
    about: String,
    code: ErrorCode,
    /// The status of the answer, which follows from the code.
    status: u16,
    /// The code again, since the RFC has a field for a short name.
    title: &'static str,
    /// What is wrong and where, for a person.
    detail: String,
    /// For a gap: the number with which the next frame must begin.
    #[serde(skip_serializing_if = "Option::is_none")]
    expected: Option<u64>,
    /// After how many seconds the same request may succeed; the answer then has `Retry-After`.
    #[serde(skip)]
    passes_s: Option<u64>,
    /// After how many seconds a budget begins anew; the answer then has `Retry-After`.
    #[serde(skip)]
    left_s: Option<u64>,
    /// The vendor whose clients are told, besides the hub's own form.
    #[serde(skip)]
    vendor: Option<Vendor>,
}

/// A vendor of model APIs, in whose form a failure is told too.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Vendor {
    /// OpenAI and everything compatible with it.
    OpenAi,
    /// Anthropic's own API.
    Anthropic,
    /// The API of Google's Gemini.
    Gemini,
    /// The API of Ollama.
    Ollama,
}

impl Vendor {
    /// The fields in which clients of this vendor look for an error.
    fn fields(self, problem: &Problem) -> Value {
        let (code, detail) = (problem.code.as_str(), problem.detail.as_str());
        match self {
            Self::Ollama => json!({"error": detail}),
            _ if problem.code == ErrorCode::OverBudget => self.fields_of_budget(problem.status, detail),
            Self::OpenAi => {
                let (kind, named) = self.names(problem.code).unwrap_or(("fanlight", code));
                json!({"error": {"message": detail, "type": kind, "param": null, "code": named}})
            }
            Self::Anthropic => {
                let kind = self.names(problem.code).map_or("api_error", |(kind, _)| kind);
                json!({"type": "error", "error": {"type": kind, "message": detail}})
            }
            Self::Gemini => {
                let status = self.names(problem.code).map(|(_, status)| status.to_owned());
                let status = status.unwrap_or_else(|| code.to_ascii_uppercase());
                json!({"error": {"code": problem.status, "message": detail, "status": status}})
            }
        }
    }

    /// Type and code that this vendor has for a failure with `code`, where clients know them: who is not let in, who has
    /// no grant, who does too much. `None` for others.
    fn names(self, code: ErrorCode) -> Option<(&'static str, &'static str)> {
        Some(match (self, code) {
            (Self::OpenAi, ErrorCode::TooMany) => ("requests", "rate_limit_exceeded"),
            (Self::OpenAi, ErrorCode::Unauthenticated) => ("invalid_request_error", "invalid_api_key"),
            (Self::Anthropic, ErrorCode::TooMany) => ("rate_limit_error", ""),
            (Self::Anthropic, ErrorCode::Unauthenticated) => ("authentication_error", ""),
            (Self::Anthropic, ErrorCode::Forbidden) => ("permission_error", ""),
            (Self::Gemini, ErrorCode::TooMany) => ("", "RESOURCE_EXHAUSTED"),
            (Self::Gemini, ErrorCode::Forbidden) => ("", "PERMISSION_DENIED"),
            _ => return None,
        })
    }
}

impl Vendor {
    /// The fields in which this vendor says that there is no money left.
    fn fields_of_budget(self, status: u16, detail: &str) -> Value {
        match self {
            Self::Anthropic => {
                json!({"type": "error", "error": {"type": "billing_error", "message": detail}})
            }
            Self::Gemini => {
                json!({"error": {"code": status, "message": detail, "status": "RESOURCE_EXHAUSTED"}})
            }
            Self::OpenAi | Self::Ollama => {
                let named = "insufficient_quota";
                json!({"error": {"message": detail, "type": named, "param": null, "code": named}})
            }
        }
    }
}

/// Where the built-in help explains a code: a path of the hub.
pub(crate) fn about(code: ErrorCode) -> String {
    format!("/help/protocol#{}", code_anchor(code.as_str()))
}

/// The anchor of the line that explains an error code.
pub(crate) fn code_anchor(code: &str) -> String {
    format!("code-{code}")
}

impl Problem {
    /// Makes a problem; `detail` says for a person what is wrong and where.
    pub(crate) fn new(code: ErrorCode, detail: impl Into<String>) -> Self {
        Self {
            about: about(code),
            code,
            status: code.status(),
            title: code.as_str(),
            detail: detail.into(),
            expected: None,
            passes_s: None,
            left_s: None,
            vendor: None,
        }
    }

    /// Adds the fields in which clients of `vendor` look for errors. Without them they print only the status.
    pub(crate) fn told_to(self, vendor: Vendor) -> Self {
        // Anthropic has a status of its own for it, which its clients do not try again.
        let is_billing = vendor == Vendor::Anthropic && self.code == ErrorCode::OverBudget;
        let status = if is_billing { StatusCode::PAYMENT_REQUIRED.as_u16() } else { self.status };
        Self { vendor: Some(vendor), status, ..self }
    }

    /// The budget of a token is used up, for `left_s` seconds or for ever. Clients are told not to try again by
    /// themselves.
    pub(crate) fn over_budget(detail: String, left_s: Option<u64>) -> Self {
        Self { left_s, ..Self::new(ErrorCode::OverBudget, detail) }
    }

    /// A problem that passes: the hub does, or holds, as much as it may at a time. `too_many`, 429, with
    /// `Retry-After` of a second.
    pub(crate) fn busy(detail: impl Into<String>) -> Self {
        Self::busy_for(Duration::from_secs(1), detail)
    }

    /// A problem that passes after `wait`, which the client is told in whole seconds, at least one.
    pub(crate) fn busy_for(wait: Duration, detail: impl Into<String>) -> Self {
        let seconds = wait.as_millis().div_ceil(1_000).max(1);
        let passes_s = Some(u64::try_from(seconds).unwrap_or(u64::MAX));
        Self { passes_s, ..Self::new(ErrorCode::TooMany, detail) }
    }

    /// The code of the problem, as it stands on the wire.
    pub(crate) fn code(&self) -> &'static str {
        self.code.as_str()
    }

    /// The status and the detail of the problem, for forms of errors other than the hub's own.
    pub(crate) fn told(self) -> (StatusCode, String) {
        (StatusCode::from_u16(self.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR), self.detail)
    }

    /// The request is wrong; `detail` says what and where.
    pub(crate) fn bad_request(detail: impl Into<String>) -> Self {
        Self::new(ErrorCode::BadRequest, detail)
    }

    /// The hub is draining.
    pub(crate) fn shutting_down() -> Self {
        Self::new(ErrorCode::ShuttingDown, "the hub stops; come back in a moment")
    }
}

impl From<PublishError> for Problem {
    fn from(error: PublishError) -> Self {
        let passes_s = match &error {
            PublishError::Open(error) => error.passes_s(),
            PublishError::Append(_) => None,
        };
        Self { expected: error.expected(), passes_s, ..Self::new(error.code(), error.to_string()) }
    }
}

impl From<OpenError> for Problem {
    fn from(error: OpenError) -> Self {
        Self { passes_s: error.passes_s(), ..Self::new(error.code(), error.to_string()) }
    }
}

impl From<LogError> for Problem {
    fn from(error: LogError) -> Self {
        Self::new(error.code(), error.to_string())
    }
}

impl From<ConversationIdError> for Problem {
    fn from(error: ConversationIdError) -> Self {
        Self::new(ErrorCode::BadConversation, error.to_string())
    }
}

impl From<Problem> for Refusal {
    fn from(problem: Problem) -> Self {
        Self::new(problem.code, problem.detail)
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let status = StatusCode::from_u16(self.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        // Names, numbers and text can always be written.
        let mut body = serde_json::to_value(&self).unwrap_or_default();
        let own = self.vendor.map(|vendor| vendor.fields(&self));
        if let (Value::Object(fields), Some(Value::Object(own))) = (&mut body, own) {
            fields.extend(own);
        }
        let body = body.to_string();
        let mut response = Response::new(Body::from(body));
        *response.status_mut() = status;
        let kind = HeaderValue::from_static("application/problem+json");
        response.headers_mut().insert(header::CONTENT_TYPE, kind);
        let is_unavailable = status == StatusCode::SERVICE_UNAVAILABLE;
        if let Some(seconds) = self.passes_s.or(is_unavailable.then_some(1)) {
            response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from(seconds));
        }
        if self.code == ErrorCode::OverBudget {
            // Read by the packages of OpenAI and Anthropic, which would try again otherwise.
            response.headers_mut().insert("x-should-retry", HeaderValue::from_static("false"));
            if let Some(seconds) = self.left_s {
                response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from(seconds));
            }
        }
        response
    }
}

#[cfg(test)]
mod tests {
    //! Tests of what clients read.

    use super::*;

    #[test]
    fn a_failure_is_also_where_the_clients_of_a_vendor_look_for_it() {
        let problem = || Problem::new(ErrorCode::UpstreamUnreachable, "the upstream x cannot be reached");
        let said = problem().detail;
        for (vendor, pointer) in [
            (Vendor::OpenAi, "/error/message"),
            (Vendor::Anthropic, "/error/message"),
            (Vendor::Gemini, "/error/message"),
            (Vendor::Ollama, "/error"),
        ] {
            let fields = vendor.fields(&problem());
            assert_eq!(fields.pointer(pointer).and_then(Value::as_str), Some(said.as_str()), "{vendor:?}");
        }
        assert_eq!(Vendor::Anthropic.fields(&problem())["type"], "error");
    }

    #[test]
    fn who_is_refused_is_told_in_the_words_of_the_vendor() {
        let said = |vendor: Vendor, code, pointer: &str| {
            vendor.fields(&Problem::new(code, "no")).pointer(pointer).cloned().unwrap_or_default()
        };
        for (vendor, code, pointer, named) in [
            (Vendor::OpenAi, ErrorCode::TooMany, "/error/code", "rate_limit_exceeded"),
            (Vendor::OpenAi, ErrorCode::Unauthenticated, "/error/code", "invalid_api_key"),
            (Vendor::OpenAi, ErrorCode::Forbidden, "/error/code", "forbidden"),
            (Vendor::Anthropic, ErrorCode::TooMany, "/error/type", "rate_limit_error"),
            (Vendor::Anthropic, ErrorCode::Unauthenticated, "/error/type", "authentication_error"),
            (Vendor::Anthropic, ErrorCode::Forbidden, "/error/type", "permission_error"),
            (Vendor::Gemini, ErrorCode::TooMany, "/error/status", "RESOURCE_EXHAUSTED"),
            (Vendor::Gemini, ErrorCode::Unauthenticated, "/error/status", "UNAUTHENTICATED"),
            (Vendor::Gemini, ErrorCode::Forbidden, "/error/status", "PERMISSION_DENIED"),
        ] {
            assert_eq!(said(vendor, code, pointer), named, "{vendor:?} {code:?}");
        }
    }
}
