//! Reads error objects of model APIs, in the many forms of servers and gateways.
//!
//! ```json
//! {"error": {"message": "slow down", "type": "rate_limit_error", "code": 429, "retry_after": 2}}
//! {"error": "model not found", "message": "pull it first"}
//! {"detail": "not authenticated"}
//! "out of memory"
//! ```
//!
//! The code is the first of `code`, `type`, `status` and `status_code`, as a text; `error` if there is none.
//! Whether trying again may help follows from these words and from an HTTP status among them.

use compact_str::CompactString;
use serde::Deserialize;

use super::field::ForeignField;
use model::event::ErrorFact;

/// The fields in which servers describe an error; any may be absent or of another type.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct ErrorShape<'a> {
    #[serde(borrow)]
    error: ForeignField<'a>,
    #[serde(borrow)]
    message: ForeignField<'a>,
    #[serde(borrow)]
    detail: ForeignField<'a>,
    #[serde(borrow)]
    code: ForeignField<'a>,
    #[serde(borrow, rename = "type")]
    kind: ForeignField<'a>,
    #[serde(borrow)]
    status: ForeignField<'a>,
    #[serde(borrow)]
    status_code: ForeignField<'a>,
    #[serde(borrow)]
    retry_after: ForeignField<'a>,
    #[serde(borrow)]
    retry_after_ms: ForeignField<'a>,
}

/// Reads an error from `value`: a string, an error object, or an object with one in its field `error`. It
/// always gives something: without any known field the message is an excerpt of the JSON.
pub(crate) fn fault(value: ForeignField<'_>) -> ErrorFact {
    let outer: ErrorShape<'_> = value.object();
    if outer.error.is_object() {
        let inner: ErrorShape<'_> = outer.error.object();
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

/// The failure in the answer of a server that refuses a request; nothing if the answer is not an object with
/// a failure.
///
/// `answer` is the whole body. Bytes that are not UTF-8 or not JSON give nothing.
pub fn failure_in(answer: &[u8]) -> Option<ErrorFact> {
    let whole = ForeignField::parse(std::str::from_utf8(answer).ok()?)?;
    let shape: ErrorShape<'_> = whole.object();
    let says = [shape.error, shape.message, shape.detail].into_iter().any(ForeignField::is_truthy);
    says.then(|| fault(whole))
}

/// The failure that `shape` describes; `whole` is the JSON that it was read from.
fn fact(shape: &ErrorShape<'_>, whole: ForeignField<'_>) -> ErrorFact {
    let message = shape.message.words().or_else(|| shape.detail.words());
    let message = message.unwrap_or_else(|| super::framing::excerpt(whole.as_json_text()).into());
    // "error" as a type has no information.
    let kind = shape.kind.word().filter(|kind| kind != "error");
    let code =
        shape.code.words().or(kind).or_else(|| shape.status.words()).or_else(|| shape.status_code.words());
    let code = code.unwrap_or_else(|| "error".into());
    let words =
        [code.as_ref(), &shape.kind.words().unwrap_or_default(), &shape.status.words().unwrap_or_default()];
    let passes = words.into_iter().any(is_passing).then_some(true);
    let numbers = [shape.code.count(), shape.status.count(), shape.status_code.count()];
    let statuses = numbers.into_iter().flatten().filter_map(|number| u16::try_from(number).ok());
    let retryable = statuses.fold(passes, |said, status| by_status(status, said));
    let seconds = shape.retry_after.count().map(|seconds| seconds.saturating_mul(1000));
    ErrorFact {
        code: CompactString::new(&code),
        message: message.into_owned(),
        retryable,
        retry_after_ms: shape.retry_after_ms.count().or(seconds),
    }
}

/// Whether a name is that of a temporary failure.
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

/// Whether trying again may help, by the HTTP status of the answer; `said` is what the answer itself says.
/// Overload and server errors are temporary; missing rights and missing objects are not. A request that is
/// only called bad (400) may have been written by a model, which may write another one the next time.
pub fn by_status(status: u16, said: Option<bool>) -> Option<bool> {
    match status {
        408 | 409 | 425 | 429 | 500..=599 => Some(true),
        401 | 403..=405 | 410 | 413 | 415 | 422 => said.or(Some(false)),
        _ => said,
    }
}
