//! Error objects of model APIs, in the many shapes that servers and gateways give them.

use compact_str::CompactString;
use serde::Deserialize;

use super::field::Field;
use crate::event::ErrorFact;

/// The fields in which servers put what went wrong.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Shape<'a> {
    #[serde(borrow)]
    error: Field<'a>,
    #[serde(borrow)]
    message: Field<'a>,
    #[serde(borrow)]
    detail: Field<'a>,
    #[serde(borrow)]
    code: Field<'a>,
    #[serde(borrow, rename = "type")]
    kind: Field<'a>,
    #[serde(borrow)]
    status: Field<'a>,
    #[serde(borrow)]
    status_code: Field<'a>,
    #[serde(borrow)]
    retry_after: Field<'a>,
    #[serde(borrow)]
    retry_after_ms: Field<'a>,
}

/// What `value` says: a string, an error object, or an object that holds one in `error`.
pub(crate) fn fault(value: Field<'_>) -> ErrorFact {
    let outer: Shape<'_> = value.object();
    if outer.error.is_object() {
        let inner: Shape<'_> = outer.error.object();
        return fact(&inner, outer.error);
    }
    if let Some(text) = outer.error.word() {
        let message = outer.message.word().or_else(|| outer.detail.word()).unwrap_or(text);
        return ErrorFact { message: message.into_owned(), ..fact(&outer, value) };
    }
    if let Some(text) = value.word() {
        return ErrorFact { message: text.into_owned(), ..fact(&outer, value) };
    }
    fact(&outer, value)
}

/// What a server says that refuses a request: the failure in its answer, where that is an object that names one.
pub fn failure_in(answer: &[u8]) -> Option<ErrorFact> {
    let whole = Field::parse(std::str::from_utf8(answer).ok()?)?;
    let shape: Shape<'_> = whole.object();
    let says = [shape.error, shape.message, shape.detail].into_iter().any(Field::is_truthy);
    says.then(|| fault(whole))
}

fn fact(shape: &Shape<'_>, whole: Field<'_>) -> ErrorFact {
    let message = shape.message.words().or_else(|| shape.detail.words());
    let message = message.unwrap_or_else(|| super::framing::excerpt(whole.as_json_text()).into());
    // "error" as a type says nothing that the reader does not know.
    let kind = shape.kind.word().filter(|kind| kind != "error");
    let code =
        shape.code.words().or(kind).or_else(|| shape.status.words()).or_else(|| shape.status_code.words());
    let code = code.unwrap_or_else(|| "error".into());
    let words =
        [code.as_ref(), &shape.kind.words().unwrap_or_default(), &shape.status.words().unwrap_or_default()];
    let numbers = [shape.code.count(), shape.status.count(), shape.status_code.count()];
    let is_retryable =
        words.into_iter().any(is_passing) || numbers.into_iter().flatten().any(is_passing_status);
    let seconds = shape.retry_after.count().map(|seconds| seconds.saturating_mul(1000));
    ErrorFact {
        code: CompactString::new(&code),
        message: message.into_owned(),
        retryable: is_retryable,
        retry_after_ms: shape.retry_after_ms.count().or(seconds),
    }
}

/// Names of failures that pass by themselves.
fn is_passing(name: &str) -> bool {
    const PARTS: [&str; 8] = [
        "rate_limit",
        "overloaded",
        "timeout",
        "server_error",
        "api_error",
        "unavailable",
        "too_many_requests",
        "exhausted",
    ];
    let name = name.to_ascii_lowercase();
    PARTS.into_iter().any(|part| name.contains(part))
}

fn is_passing_status(status: u64) -> bool {
    matches!(status, 408 | 409 | 425 | 429 | 500..=599)
}
