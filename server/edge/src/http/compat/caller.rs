//! What distinguishes the caller of a request from others that send the same history.
//!
//! Two people with the same program and the same first question must not end in one conversation. So a caller
//! is known by its door, its keys, its program and page, and the names that it gives its user. None of these
//! says who somebody is: that is access control's, and callers that nothing distinguishes are told apart only
//! by what they were answered.

use axum::http::HeaderMap;
use exchange::continuation::Caller;
use serde_json::Value;

use crate::http::hubs::known::ORIGIN;
use crate::proxy::keys;

/// Headers, besides those with keys, that differ between callers: the program, the page, and the person
/// behind a program that many use.
const HEADERS: [&str; 5] =
    ["user-agent", "origin", "x-llm-key", "x-openwebui-user-id", "x-openwebui-chat-id"];

/// Fields in which clients of OpenAI's API name the person behind them.
const FIELDS: [&str; 2] = ["user", "safety_identifier"];

/// The caller at `door` of a request with these headers and fields. Only hashes of them are kept.
pub(super) fn caller(door: &'static str, headers: &HeaderMap, fields: &Value) -> Caller {
    let mut caller = Caller::new(door);
    caller.mark("keys", &keys(headers));
    for name in HEADERS {
        headers.get_all(name).iter().for_each(|value| caller.mark(name, value.as_bytes()));
    }
    // Another hub that passes a request on has checked the page and does not send it as such.
    headers.get_all(ORIGIN).iter().for_each(|value| caller.mark("origin", value.as_bytes()));
    for name in FIELDS {
        if let Some(value) = fields.get(name).and_then(Value::as_str) {
            caller.mark(name, value.as_bytes());
        }
    }
    caller
}
