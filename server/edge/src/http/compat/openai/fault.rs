//! Failures in the form of OpenAI's API: `{"error": {"message", "type", "param", "code"}}`.

use axum::http::{HeaderName, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use serde_json::json;

/// A failure in the form of OpenAI's API.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Fault {
    pub(super) status: StatusCode,
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

    /// A field has a wrong value.
    pub(super) fn of_field(field: &str, message: &str) -> Self {
        let param = Some(field.to_owned());
        Self { param, ..Self::new(StatusCode::BAD_REQUEST, "invalid_value", &format!("{field}: {message}")) }
    }

    /// The model does not exist.
    pub(super) fn no_model(message: String) -> Self {
        let param = Some(String::from("model"));
        Self { message, param, ..Self::new(StatusCode::NOT_FOUND, "model_not_found", "") }
    }

    /// The answer, with headers for clients that repeat requests.
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
