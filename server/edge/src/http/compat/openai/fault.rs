//! Failures in the form of OpenAI's API:
//!
//! ```json
//! {"error": {"message": "n: an agent gives one answer", "type": "invalid_request_error",
//!            "param": "n", "code": "invalid_value"}}
//! ```
//!
//! `type` follows from the status: `rate_limit_error` for 429, `invalid_request_error` for other 4xx,
//! `server_error` for the rest. Clients decide by the status and by `x-should-retry` whether they repeat a
//! request.

use axum::http::{HeaderName, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use serde_json::json;

/// A failure in the form of OpenAI's API.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Fault {
    /// The status of the answer, from which `type` is made.
    pub(super) status: StatusCode,
    /// What went wrong, for programs: a code of OpenAI's where it has one, otherwise one of the hub's.
    pub(super) code: String,
    /// What is wrong, for a person.
    pub(super) message: String,
    /// The field of the request that is wrong.
    pub(super) param: Option<String>,
    /// Whether the client must not repeat the request by itself.
    pub(super) is_final: bool,
}

impl Fault {
    /// A failure that concerns no field.
    pub(super) fn new(status: StatusCode, code: &str, message: &str) -> Self {
        Self { status, code: code.to_owned(), message: message.to_owned(), param: None, is_final: false }
    }

    /// A field has a wrong value: 400 `invalid_value`. The message begins with the name of the field.
    pub(super) fn of_field(field: &str, message: &str) -> Self {
        let param = Some(field.to_owned());
        Self { param, ..Self::new(StatusCode::BAD_REQUEST, "invalid_value", &format!("{field}: {message}")) }
    }

    /// The model does not exist: 404 `model_not_found`.
    pub(super) fn no_model(message: String) -> Self {
        let param = Some(String::from("model"));
        Self { message, param, ..Self::new(StatusCode::NOT_FOUND, "model_not_found", "") }
    }

    /// The answer, with headers for clients that repeat requests: `x-should-retry: false` on what is final,
    /// `Retry-After` of a second with 503.
    pub(super) fn into_response(self) -> Response {
        let Self { status, code, message, param, is_final } = self;
        let kind = match status.as_u16() {
            429 => "rate_limit_error",
            400..500 => "invalid_request_error",
            _ => "server_error",
        };
        let body = json!({"error": {"message": message, "type": kind, "param": param, "code": code}});
        let mut response = (status, axum::Json(body)).into_response();
        let headers = response.headers_mut();
        if is_final {
            headers.insert(HeaderName::from_static("x-should-retry"), HeaderValue::from_static("false"));
        }
        if status == StatusCode::SERVICE_UNAVAILABLE {
            headers.insert(header::RETRY_AFTER, HeaderValue::from_static("1"));
        }
        response
    }
}
