//! The encoding `application/json`: protobuf's JSON with the rules of OTLP. Ids are hex, whole numbers of 64 bits are
//! texts (and taken as numbers too), names are in camel case (and taken with underscores too).
//!
//! ```json
//! {"resourceSpans": [{"resource": {"attributes": [{"key": "service.name", "value": {"stringValue": "bot"}}]},
//!   "scopeSpans": [{"scope": {"name": "openai"}, "spans": [{"traceId": "5b8e…", "spanId": "eee1…", "name": "chat",
//!     "startTimeUnixNano": "1795300000000000000", "endTimeUnixNano": "1795300001000000000", "attributes": []}]}]}]}
//! ```

use serde_json::{Map, Number, Value};

use super::{OtlpError, OtlpExport, name};
use crate::spans::attributes::count;
use crate::spans::{Attributes, FinishedSpan, SpanEvent};

/// The two bits of a span's flags that say that its parent is remote, as in the other encoding.
const REMOTE: u64 = 0x300;

/// Reads a body. Fails if it is not a JSON object.
pub(super) fn read(body: &[u8]) -> Result<OtlpExport, OtlpError> {
    let whole: Value = serde_json::from_slice(body).map_err(|error| OtlpError(error.to_string()))?;
    let Value::Object(whole) = &whole else {
        return Err(OtlpError(String::from("it is not a JSON object")));
    };
    let mut export = OtlpExport::default();
    for resource_spans in list(whole, "resourceSpans", "resource_spans") {
        let Value::Object(resource_spans) = resource_spans else { continue };
        let resource = resource_spans.get("resource").and_then(Value::as_object);
        let resource = resource.map(attributes).unwrap_or_default();
        let service = resource.text("service.name").map(name);
        let host = resource.text("host.name").map(name);
        for scope_spans in list(resource_spans, "scopeSpans", "scope_spans") {
            let Value::Object(scope_spans) = scope_spans else { continue };
            let scope = scope_spans.get("scope").and_then(|scope| scope.get("name")?.as_str());
            for span in list(scope_spans, "spans", "spans") {
                let read = span.as_object().map(read_span).ok_or("a span that is no object");
                export.add(read.map(|span| FinishedSpan {
                    service: service.map(str::to_owned),
                    host: host.map(str::to_owned),
                    scope: name(scope.unwrap_or_default()).to_owned(),
                    ..span
                }));
            }
        }
    }
    Ok(export)
}

/// A field under either of its names.
fn field<'a>(object: &'a Map<String, Value>, camel: &str, snake: &str) -> Option<&'a Value> {
    object.get(camel).or_else(|| object.get(snake))
}

/// The items of a list; empty if it is none.
fn list<'a>(object: &'a Map<String, Value>, camel: &str, snake: &str) -> &'a [Value] {
    field(object, camel, snake).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

/// A text; empty if it is none.
fn text(object: &Map<String, Value>, camel: &str, snake: &str) -> String {
    field(object, camel, snake).and_then(Value::as_str).unwrap_or_default().to_owned()
}

/// An id in hexadecimal digits; all zero if it is not valid.
fn id<const N: usize>(object: &Map<String, Value>, camel: &str, snake: &str) -> [u8; N] {
    let text = text(object, camel, snake);
    let digits: Option<Vec<u8>> = text.chars().map(|digit| u8::try_from(digit.to_digit(16)?).ok()).collect();
    let digits = digits.unwrap_or_default();
    let bytes: Vec<u8> =
        digits.chunks_exact(2).map(|pair| pair.iter().fold(0, |sum, it| sum << 4 | it)).collect();
    if text.len() == N.saturating_mul(2) { super::id(&bytes) } else { [0; N] }
}

/// Reads a span, without its service, host and scope. A field that is missing or of another type has its zero
/// value.
fn read_span(object: &Map<String, Value>) -> FinishedSpan {
    let number = |camel: &str, snake: &str| field(object, camel, snake).and_then(count).unwrap_or(0);
    let status = object.get("status").and_then(Value::as_object);
    let code = status.and_then(|status| status.get("code"));
    let parent: [u8; 8] = id(object, "parentSpanId", "parent_span_id");
    FinishedSpan {
        trace: id(object, "traceId", "trace_id"),
        id: id(object, "spanId", "span_id"),
        parent: (parent != [0; 8]).then_some(parent),
        is_parent_remote: number("flags", "flags") & REMOTE == REMOTE,
        name: text(object, "name", "name"),
        start_ns: number("startTimeUnixNano", "start_time_unix_nano"),
        end_ns: number("endTimeUnixNano", "end_time_unix_nano"),
        attributes: attributes(object),
        events: list(object, "events", "events").iter().filter_map(Value::as_object).map(event).collect(),
        failed: code.is_some_and(|code| code == 2 || code == "STATUS_CODE_ERROR"),
        status_message: status.map(|status| text(status, "message", "message")).unwrap_or_default(),
        service: None,
        host: None,
        scope: String::new(),
    }
}

/// Reads an event of a span.
fn event(object: &Map<String, Value>) -> SpanEvent {
    let at = field(object, "timeUnixNano", "time_unix_nano").and_then(count);
    SpanEvent { name: text(object, "name", "name"), at_ns: at.unwrap_or(0), attributes: attributes(object) }
}

/// The attributes of an object; those without a key are left out.
fn attributes(object: &Map<String, Value>) -> Attributes {
    list(object, "attributes", "attributes").iter().filter_map(pair).collect()
}

/// Reads a `KeyValue`; `None` without a key.
fn pair(value: &Value) -> Option<(String, Value)> {
    let key = value.get("key")?.as_str()?.to_owned();
    Some((key, value.get("value").map(any).unwrap_or_default()))
}

/// The value of an `AnyValue`. The parser limits its depth.
fn any(value: &Value) -> Value {
    let Value::Object(object) = value else { return Value::Null };
    let Some((kind, value)) = object.iter().next() else { return Value::Null };
    let inner = || value.get("values").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    match kind.as_str() {
        "stringValue" | "string_value" | "boolValue" | "bool_value" => value.clone(),
        "intValue" | "int_value" => match value {
            Value::String(text) => text.parse::<i64>().map_or(Value::Null, Value::from),
            other => other.clone(),
        },
        "doubleValue" | "double_value" => match value {
            Value::String(text) => {
                text.parse().ok().and_then(Number::from_f64).map_or(Value::Null, Value::Number)
            }
            other => other.clone(),
        },
        "arrayValue" | "array_value" => Value::Array(inner().iter().map(any).collect()),
        "kvlistValue" | "kvlist_value" => Value::Object(inner().iter().filter_map(pair).collect()),
        "bytesValue" | "bytes_value" => {
            Value::String(format!("[{} bytes in base64]", value.as_str().map_or(0, str::len)))
        }
        _ => Value::Null,
    }
}
