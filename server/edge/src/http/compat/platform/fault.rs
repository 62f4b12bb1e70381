//! Failures in the form of the platform: a status and `{"detail": "…"}`. Refusals of the hub get the status
//! of their code, and the code stands at the beginning of the text.

use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use event_log::LogError;
use serde_json::json;

use crate::inbound::problem::Problem;
use agents::Refusal;
use agents::StartError;
use hub::{OpenError, PublishError};

/// A failure in the form of LangGraph's platform. Handlers return it; it becomes the answer.
#[derive(Debug)]
pub(super) struct Fault {
    pub(super) status: StatusCode,
    /// What is wrong and where, for a person.
    pub(super) detail: String,
}

impl Fault {
    /// A failure with this status.
    pub(super) fn new(status: StatusCode, detail: impl Into<String>) -> Self {
        Self { status, detail: detail.into() }
    }

    /// 404: nothing has that name.
    pub(super) fn unknown(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::NOT_FOUND, detail)
    }

    /// The request is not valid: 422, as the platform answers it.
    pub(super) fn wrong(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::UNPROCESSABLE_ENTITY, detail)
    }
}

impl IntoResponse for Fault {
    fn into_response(self) -> Response {
        (self.status, axum::Json(json!({"detail": self.detail}))).into_response()
    }
}

impl From<Refusal> for Fault {
    fn from(refusal: Refusal) -> Self {
        let status = StatusCode::from_u16(refusal.code.status()).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        Self::new(status, format!("{}: {}", refusal.code.as_str(), refusal.why))
    }
}

impl From<StartError> for Fault {
    fn from(error: StartError) -> Self {
        Refusal::from(error).into()
    }
}

impl From<OpenError> for Fault {
    fn from(error: OpenError) -> Self {
        Refusal::new(error.code(), error.to_string()).into()
    }
}

impl From<PublishError> for Fault {
    fn from(error: PublishError) -> Self {
        Refusal::new(error.code(), error.to_string()).into()
    }
}

impl From<LogError> for Fault {
    fn from(error: LogError) -> Self {
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, error.to_string())
    }
}

impl From<Problem> for Fault {
    fn from(problem: Problem) -> Self {
        let (status, detail) = problem.told();
        Self::new(status, detail)
    }
}
