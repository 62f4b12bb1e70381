//! What a model of OpenAI's API says, piece by piece, for stand-ins, and what it was asked.

use serde_json::{Value, json};

use crate::origin::ServerStep;
use crate::raw::RawMessage;

/// The head of a stream.
pub const STREAM: [(&str, &str); 2] = [("content-type", "text/event-stream"), ("connection", "close")];

/// The end of one.
pub const END: &[u8] = concat!(
    r#"data: {"id":"x","model":"m","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}"#,
    "\n\ndata: [DONE]\n\n"
)
.as_bytes();

/// A piece of an answer with this in its delta.
pub fn delta(delta: &Value) -> Vec<u8> {
    let event = json!({"id": "x", "model": "m", "choices": [{"index": 0, "delta": delta}]});
    format!("data: {event}\n\n").into_bytes()
}

/// An answer with a text.
pub fn answer(text: &str) -> Vec<ServerStep> {
    let said = ServerStep::piece(&delta(&json!({"content": text})));
    vec![ServerStep::begin("200 OK", &STREAM), said, ServerStep::piece(END), ServerStep::end(&[])]
}

/// The messages of a request; none where it has none.
pub fn messages(asked: &RawMessage) -> Vec<Value> {
    let body: Value = serde_json::from_slice(&asked.body).unwrap_or_default();
    body.get("messages").and_then(Value::as_array).cloned().unwrap_or_default()
}
