//! Failures as the client sees them: `application/problem+json` with a code from the one table.

use axum::body::Body;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use event_log::LogError;
use serde::Serialize;

use model::code::ErrorCode;
use model::ids::ConversationIdError;

use agents::Refusal;
use hub::{OpenError, PublishError};

/// A failure, and what the client may do about it.
#[derive(Debug, Serialize)]
pub(crate) struct Problem {
    code: ErrorCode,
    status: u16,
    title: &'static str,
    detail: String,
    /// For a gap, the number that is expected.
    #[serde(skip_serializing_if = "Option::is_none")]
    expected: Option<u64>,
    /// Whether the same request may be taken in a moment.
    #[serde(skip)]
    passes: bool,
}

impl Problem {
    /// `detail` says what and where, for a person.
    pub(crate) fn new(code: ErrorCode, detail: impl Into<String>) -> Self {
        Self {
            code,
            status: code.status(),
            title: code.as_str(),
            detail: detail.into(),
            expected: None,
            passes: false,
        }
    }

    /// The hub does, or holds, as much as it may at a time.
    pub(crate) fn busy(detail: impl Into<String>) -> Self {
        Self { passes: true, ..Self::new(ErrorCode::TooMany, detail) }
    }

    /// Its status, and what is said of it to a person.
    pub(crate) fn told(self) -> (StatusCode, String) {
        (StatusCode::from_u16(self.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR), self.detail)
    }

    /// The request is not what it should be.
    pub(crate) fn bad_request(detail: impl Into<String>) -> Self {
        Self::new(ErrorCode::BadRequest, detail)
    }

    /// The hub stops.
    pub(crate) fn shutting_down() -> Self {
        Self::new(ErrorCode::ShuttingDown, "the hub stops; come back in a moment")
    }
}

impl From<PublishError> for Problem {
    fn from(error: PublishError) -> Self {
        Self { expected: error.expected(), ..Self::new(error.code(), error.to_string()) }
    }
}

impl From<OpenError> for Problem {
    fn from(error: OpenError) -> Self {
        Self::new(error.code(), error.to_string())
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
        // Names, numbers and text: this cannot fail to be written.
        let body = serde_json::to_vec(&self).unwrap_or_default();
        let mut response = Response::new(Body::from(body));
        *response.status_mut() = status;
        let kind = HeaderValue::from_static("application/problem+json");
        response.headers_mut().insert(header::CONTENT_TYPE, kind);
        if self.passes || status == StatusCode::SERVICE_UNAVAILABLE {
            response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from_static("1"));
        }
        response
    }
}
