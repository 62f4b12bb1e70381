//! What of a request tells its caller from others who say the same.

use axum::http::HeaderMap;
use exchange::continuation::Caller;
use serde_json::Value;

use crate::proxy::keys;

/// Headers beside those with keys that differ from caller to caller: its program, its page, and the person behind a program
/// that many use.
const HEADERS: [&str; 5] =
    ["user-agent", "origin", "x-llm-key", "x-openwebui-user-id", "x-openwebui-chat-id"];

/// Fields of a request in which the clients of OpenAI's API name the person behind them.
const FIELDS: [&str; 2] = ["user", "safety_identifier"];

/// The caller at `door` of a request with these headers and fields.
pub(super) fn caller(door: &'static str, headers: &HeaderMap, fields: &Value) -> Caller {
    let mut caller = Caller::new(door);
    caller.mark("keys", &keys(headers));
    for name in HEADERS {
        headers.get_all(name).iter().for_each(|value| caller.mark(name, value.as_bytes()));
    }
    for name in FIELDS {
        if let Some(value) = fields.get(name).and_then(Value::as_str) {
            caller.mark(name, value.as_bytes());
        }
    }
    caller
}
