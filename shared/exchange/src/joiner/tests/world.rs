//! A joiner, and what a hub would make of what it says: conversations with a view each.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::{
    AnswerEnd, AnswerReader, AnswerSummary, CallContext, CallJoiner, ModelApi, ModelRequest, PlacedEvents,
    Placement,
};
use dialects::Decoded;
use model::envelope::Envelope;
use model::fold::{complete, fold};
use model::ids::ConversationId;
use model::view::{RunView, ToolView, View};

/// Conversations, a joiner and a clock.
#[derive(Debug, Default)]
pub(super) struct World {
    pub(super) joiner: CallJoiner,
    pub(super) views: BTreeMap<String, View>,
    pub(super) now: u64,
    calls: u64,
}

/// How a call is made.
#[derive(Debug, Clone)]
pub(super) struct How<'a> {
    pub(super) api: ModelApi,
    pub(super) conversation: Option<&'a str>,
    pub(super) session: Option<&'a str>,
    pub(super) attempts_before: Option<u32>,
    pub(super) caller: u64,
    pub(super) parent: Option<&'a str>,
}

impl Default for How<'_> {
    fn default() -> Self {
        Self {
            api: ModelApi::OpenAiChat,
            conversation: None,
            session: None,
            attempts_before: None,
            caller: 1,
            parent: None,
        }
    }
}

impl World {
    /// A call is on its way.
    pub(super) fn ask(&mut self, how: &How<'_>, body: &Value) -> Placement {
        let request = ModelRequest::read(how.api, "/v1/x", body.to_string().as_bytes());
        assert!(request.anomalies.is_empty(), "{:?}", request.anomalies);
        self.place(how, &request)
    }

    pub(super) fn place(&mut self, how: &How<'_>, request: &ModelRequest) -> Placement {
        self.calls += 1;
        let call = CallContext {
            upstream: "openai",
            caller: how.caller,
            conversation: how.conversation.map(|name| ConversationId::parse(name).unwrap()),
            session: how.session,
            attempts_before: how.attempts_before,
            parent: how.parent,
            name: &format!("c{}", self.calls),
            at: self.now,
        };
        let unknown = self.joiner.unknown(&call, request);
        let view = unknown.and_then(|name| Some((self.views.get(name.as_str())?, name)));
        if let Some((view, name)) = &view {
            self.joiner.recall(name, view, self.now);
        }
        let mut placement = self.joiner.place(&call, request);
        if let Some((view, _)) = &view {
            placement.leave_out(view);
        }
        let events = std::mem::take(&mut placement.events);
        self.append(&placement.conversation, events);
        placement
    }

    /// A call in OpenAI's chat dialect, told by its messages.
    pub(super) fn chat(&mut self, messages: &Value) -> Placement {
        self.ask(&How::default(), &json!({ "model": "m", "messages": messages }))
    }

    /// The answer comes, whole, and is over.
    pub(super) fn answer(&mut self, placement: Placement, body: &Value) -> PlacedEvents {
        self.answer_with(placement.answer, 200, body, AnswerEnd::Whole)
    }

    pub(super) fn answer_with(
        &mut self,
        mut answer: AnswerReader,
        status: u16,
        body: &Value,
        ending: AnswerEnd,
    ) -> PlacedEvents {
        let conversation = answer.conversation().clone();
        let mut out = Decoded::default();
        answer.begin(status, None);
        let text = if body.is_null() { String::new() } else { body.to_string() };
        for piece in text.as_bytes().chunks(7) {
            answer.feed(piece, &mut out);
        }
        let heard = answer.end(ending, &mut out).unwrap();
        self.append(&conversation, out);
        self.hear(heard)
    }

    /// All of the answer that there will be has come, but its body goes on.
    pub(super) fn settle(&mut self, answer: &mut AnswerReader, stream: &str) -> PlacedEvents {
        let mut out = Decoded::default();
        answer.begin(200, None);
        answer.feed(stream.as_bytes(), &mut out);
        assert!(answer.is_over());
        let heard = answer.settle(&mut out);
        assert!(!answer.is_over());
        self.append(&answer.conversation().clone(), out);
        self.hear(heard)
    }

    fn hear(&mut self, heard: AnswerSummary) -> PlacedEvents {
        let mut placed = self.joiner.heard(heard, self.now);
        let events = std::mem::take(&mut placed.events);
        self.append(&placed.conversation, events);
        placed
    }

    /// The hub stops and begins anew, with all that it has kept.
    pub(super) fn restart(&mut self) {
        for placed in self.joiner.close() {
            self.append(&placed.conversation, placed.events);
        }
        self.joiner = CallJoiner::default();
    }

    /// Moves the clock of this world forward.
    pub(super) fn wait(&mut self, ms: u64) {
        self.now += ms;
        for placed in self.joiner.tick(self.now) {
            self.append(&placed.conversation, placed.events);
        }
    }

    fn append(&mut self, conversation: &ConversationId, events: Decoded) {
        let view = self.views.entry(conversation.to_string()).or_default();
        for Envelope { mut event, .. } in events.envelopes {
            complete(view, &mut event);
            let envelope = Envelope {
                event,
                seq: view.seq + 1,
                at: self.now,
                producer_at: None,
                publisher: None,
                by_hub: false,
            };
            fold(view, &envelope, &mut |_| {});
        }
    }

    pub(super) fn view(&self, conversation: &ConversationId) -> &View {
        &self.views[conversation.as_str()]
    }

    /// The only conversation there is.
    pub(super) fn only(&self) -> &View {
        assert_eq!(self.views.len(), 1, "{:?}", self.views.keys());
        self.views.values().next().unwrap()
    }
}

/// An answer in OpenAI's chat dialect that says `text`.
pub(super) fn says(text: &str) -> Value {
    json!({ "id": "x", "object": "chat.completion", "model": "m", "choices": [{ "index": 0, "finish_reason": "stop",
        "message": { "role": "assistant", "content": text } }] })
}

/// An answer in OpenAI's chat dialect that calls tools: id, name, arguments.
pub(super) fn calls(made: &[(&str, &str, &str)]) -> Value {
    json!({ "id": "x", "object": "chat.completion", "model": "m", "choices": [{ "index": 0,
        "finish_reason": "tool_calls", "message": { "role": "assistant", "content": null,
        "tool_calls": called(made)["tool_calls"] } }] })
}

/// The same as a message of the history.
pub(super) fn called(made: &[(&str, &str, &str)]) -> Value {
    let made: Vec<Value> = made
        .iter()
        .map(|(id, name, arguments)| {
            json!({ "id": id, "type": "function",
            "function": { "name": name, "arguments": arguments } })
        })
        .collect();
    json!({ "role": "assistant", "content": null, "tool_calls": made })
}

pub(super) fn user(text: &str) -> Value {
    json!({ "role": "user", "content": text })
}

pub(super) fn assistant(text: &str) -> Value {
    json!({ "role": "assistant", "content": text })
}

pub(super) fn system(text: &str) -> Value {
    json!({ "role": "system", "content": text })
}

pub(super) fn gave(id: &str, output: &str) -> Value {
    json!({ "role": "tool", "tool_call_id": id, "content": output })
}

/// The runs of a view.
pub(super) fn runs(view: &View) -> Vec<&RunView> {
    view.runs.values().collect()
}

/// The calls of all runs, by name.
pub(super) fn tools(view: &View) -> Vec<(String, &ToolView)> {
    view.runs.values().flat_map(|run| &run.tools).map(|(_, tool)| (tool.name.to_string(), tool)).collect()
}

/// The messages of a view, in order.
pub(super) fn messages(view: &View) -> Vec<(String, String)> {
    view.messages.values().map(|message| (message.role.to_string(), message.text.to_string())).collect()
}
