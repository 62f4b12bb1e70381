//! Turns what is said over a WebSocket into calls of the Responses API: `response.create` of the caller is a
//! request, and the `response.…` events of the server are its answer, as if they had come over HTTP. Codex
//! and OpenAI's SDKs speak this protocol. The Realtime API is similar, but there the input is sent item by
//! item before, and servers may answer without a request.
//!
//! ```json
//! {"type": "response.create", "model": "gpt-5", "input": [{"role": "user", "content": "Hello"}]}
//! {"type": "response.output_text.delta", "delta": "Hi"}
//! {"type": "response.completed", "response": {"id": "resp_1"}}
//! ```
//!
//! | message | becomes |
//! |---|---|
//! | `response.create` of the caller | the request of a new call, with the items and the session before it |
//! | `conversation.item.create`, `session.update` | part of the next request |
//! | `response.…` of the server | events of the oldest call that is not over |
//! | `response.completed`, `.failed`, `.incomplete`, `.cancelled`, `error` | the last event of that call |
//! | audio, and everything else | nothing |
//!
//! Answers come in the order of their requests, so the oldest call is always the one that is answered.

use std::collections::VecDeque;
use std::sync::Arc;

use model::limits::{PROXY_SOCKET_ANSWERS_MAX, PROXY_SOCKET_ITEMS_MAX};
use serde_json::{Map, Value, json};

use crate::proxy::Proxy;
use crate::proxy::record::{self, Facts, Started};
use crate::proxy::tape::{End, Head, RequestState};

/// The calls that one `WebSocket` carries. Owned by its recorder.
#[derive(Debug)]
pub(super) struct Talk {
    proxy: Arc<Proxy>,
    facts: Facts,
    /// The model that the address names, for APIs whose requests name none.
    model: Option<String>,
    /// The calls on their way, the oldest first, at most `PROXY_SOCKET_ANSWERS_MAX`.
    calls: VecDeque<Call>,
    /// The items since the last answer, at most `PROXY_SOCKET_ITEMS_MAX`.
    items: Vec<Value>,
    /// The settings of the session, which hold for all answers.
    session: Map<String, Value>,
    /// The id of the last response, for requests that contain only what is new without naming it.
    last: Option<String>,
}

/// A call whose answer is on its way.
#[derive(Debug)]
struct Call {
    started: Started,
    /// Whether the tape has the head of its answer.
    has_begun: bool,
}

impl Talk {
    /// Begins with a connection that has carried nothing.
    pub(super) fn new(proxy: &Arc<Proxy>, facts: Facts, model: Option<String>) -> Self {
        Self {
            proxy: Arc::clone(proxy),
            facts,
            model,
            calls: VecDeque::new(),
            items: Vec::new(),
            session: Map::new(),
            last: None,
        }
    }

    /// The number of calls that are on their way.
    pub(super) fn answers(&self) -> usize {
        self.calls.len()
    }

    /// Takes a message of the caller. What is no JSON object, or of no known type, is ignored.
    pub(super) fn caller_says(&mut self, text: &[u8]) {
        let Ok(Value::Object(mut message)) = serde_json::from_slice::<Value>(text) else { return };
        match message.get("type").and_then(Value::as_str).unwrap_or_default() {
            "response.create" => {
                let inner = match message.remove("response") {
                    Some(Value::Object(inner)) => Some(inner),
                    _ => None,
                };
                let is_realtime = inner.is_some() || !message.contains_key("input");
                let request = self.request(inner.unwrap_or(message), is_realtime);
                self.begin(&request);
            }
            "conversation.item.create" => self.note_item(message.remove("item")),
            "session.update" => self.note_session(message.remove("session")),
            _ => {}
        }
    }

    /// Takes a message of the server. What belongs to no call is ignored, except the beginning of an answer
    /// for which nobody asked.
    pub(super) fn server_says(&mut self, text: &[u8]) {
        let Ok(Value::Object(mut message)) = serde_json::from_slice::<Value>(text) else { return };
        let kind = message.get("type").and_then(Value::as_str).unwrap_or_default().to_owned();
        match kind.as_str() {
            // The transcript of a person who has spoken.
            "conversation.item.input_audio_transcription.completed" => {
                let said = message.remove("transcript");
                let content = json!([{ "type": "input_text", "text": said }]);
                self.note_item(Some(json!({ "type": "message", "role": "user", "content": content })));
                return;
            }
            // Audio is not recorded.
            "response.audio.delta" | "response.output_audio.delta" => return,
            "error" => {}
            kind if kind.starts_with("response.") => {}
            _ => return,
        }
        if self.calls.is_empty() {
            if kind != "response.created" {
                return;
            }
            // Nobody asked: the server has noticed that it was its turn to speak.
            let request = self.request(Map::new(), true);
            self.begin(&request);
        }
        let kind = in_words_of_responses(&kind, &message);
        let is_over = matches!(
            kind.as_str(),
            "response.completed" | "response.failed" | "response.incomplete" | "response.cancelled" | "error"
        );
        if is_over {
            self.last = id_of(&message).or(self.last.take());
        }
        let status = message.get("status").and_then(Value::as_u64).filter(|_| kind == "error");
        let was = message.insert(String::from("type"), Value::String(kind.clone()));
        let text = if was.is_some_and(|was| was == kind) {
            String::from_utf8_lossy(text).into_owned()
        } else {
            Value::Object(message).to_string()
        };
        self.answer(&text, status, is_over);
    }

    /// Ends all calls because the connection has. `cut` is the reason if the server or the hub has ended it.
    pub(super) fn over(&mut self, cut: Option<&str>) {
        for call in self.calls.drain(..) {
            if let Some(reason) = cut {
                call.started.recorded.tape().end(End::Cut(reason.to_owned()));
            }
            // Dropping the call tells its tape that the caller hung up.
        }
    }

    /// Adds an event to the answer of the oldest call.
    fn answer(&mut self, text: &str, status: Option<u64>, is_over: bool) {
        let Some(call) = self.calls.front_mut() else { return };
        let tape = call.started.recorded.tape();
        if !std::mem::replace(&mut call.has_begun, true) {
            let status = status.and_then(|status| u16::try_from(status).ok()).unwrap_or(200);
            tape.begin(Head { status, retry_after_ms: None, encodings: Some(Vec::new()) });
        }
        // Line breaks would end the event; in JSON they can only be between tokens.
        tape.say(format!("data: {}\n\n", text.replace(['\r', '\n'], " ")).as_bytes());
        if is_over {
            tape.end(End::Whole);
            self.calls.pop_front();
        }
    }

    /// Makes a request of the Responses API from the fields of a `response.create`.
    fn request(&mut self, mut fields: Map<String, Value>, is_realtime: bool) -> Vec<u8> {
        fields.remove("type");
        if !fields.contains_key("model")
            && let Some(model) = &self.model
        {
            fields.insert(String::from("model"), Value::String(model.clone()));
        }
        for (name, value) in &self.session {
            if !fields.contains_key(name) {
                fields.insert(name.clone(), value.clone());
            }
        }
        let mut input = std::mem::take(&mut self.items);
        match fields.remove("input") {
            Some(Value::Array(more)) => input.extend(more),
            Some(other) if input.is_empty() => {
                fields.insert(String::from("input"), other);
            }
            _ => {}
        }
        if !input.is_empty() {
            fields.insert(String::from("input"), Value::Array(input));
        }
        if is_realtime
            && !fields.contains_key("previous_response_id")
            && let Some(last) = &self.last
        {
            fields.insert(String::from("previous_response_id"), Value::String(last.clone()));
        }
        fields.insert(String::from("stream"), Value::Bool(true));
        Value::Object(fields).to_string().into_bytes()
    }

    /// Begins to record a call with this request, unless `PROXY_SOCKET_ANSWERS_MAX` are on their way.
    fn begin(&mut self, request: &[u8]) {
        if self.calls.len() >= PROXY_SOCKET_ANSWERS_MAX {
            return;
        }
        let started = record::start(&self.proxy, self.facts.clone(), None);
        let tape = started.recorded.tape();
        tape.ask(request);
        tape.asked(RequestState::Whole);
        self.calls.push_back(Call { started, has_begun: false });
    }

    /// Keeps an item for the next request; beyond `PROXY_SOCKET_ITEMS_MAX` it is dropped.
    fn note_item(&mut self, item: Option<Value>) {
        if self.items.len() < PROXY_SOCKET_ITEMS_MAX {
            self.items.extend(item);
        }
    }

    /// Keeps what a session says about requests: model, instructions and tools.
    fn note_session(&mut self, session: Option<Value>) {
        let Some(Value::Object(session)) = session else { return };
        let kept = ["model", "instructions", "tools", "tool_choice"];
        self.session.extend(session.into_iter().filter(|(name, _)| kept.contains(&name.as_str())));
    }
}

/// The name in the Responses API of an event of the Realtime API that means the same.
fn in_words_of_responses(kind: &str, message: &Map<String, Value>) -> String {
    match kind {
        "response.done" => {
            let status = message.get("response").and_then(|response| response.get("status"));
            let status = status.and_then(Value::as_str).unwrap_or("completed");
            format!("response.{status}")
        }
        "response.text.delta"
        | "response.audio_transcript.delta"
        | "response.output_audio_transcript.delta" => String::from("response.output_text.delta"),
        _ => kind.to_owned(),
    }
}

/// The id of the response that an event concerns.
fn id_of(message: &Map<String, Value>) -> Option<String> {
    message.get("response")?.get("id")?.as_str().map(str::to_owned)
}
