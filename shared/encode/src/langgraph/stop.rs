//! Encodes how a graph stops: with a question, at its end, or in the middle.
//!
//! | run | written |
//! |---|---|
//! | complete | the last answer with the usage of the run; then the questions that are open, for a caller |
//! | failed, cancelled | `error`, with the code `UserInterrupt` if somebody stopped it |
//! | broke off | an empty piece of an answer without an end |

use indexmap::IndexMap;
use serde_json::{Value, json};

use super::modes::StreamMode;
use super::{LangGraphEncoder, arguments, event};
use crate::FactContext;
use model::event::RunStatus;
use model::ids::ToolCallId;
use model::view::ToolView;

/// The request for consent to a call.
pub(super) fn request(tool: &ToolView) -> Value {
    json!({"name": tool.name, "args": arguments(tool), "description": tool.question})
}

/// One interrupt for all calls that wait, with the id of the first: in the form of the library's middleware,
/// and for a single call also in that of the agent inbox.
pub(super) fn interrupt_of(asks: &IndexMap<ToolCallId, Value>) -> Option<Value> {
    let (id, first) = asks.first()?;
    let of = |ask: &Value, name: &str| ask.get(name).cloned().unwrap_or_default();
    let reviews = asks.values().map(
        |ask| json!({"action_name": of(ask, "name"), "allowed_decisions": ["approve", "edit", "reject"]}),
    );
    let reviews: Vec<_> = reviews.collect();
    let requests: Vec<_> = asks.values().collect();
    let mut value = json!({"action_requests": requests, "review_configs": reviews});
    if let Some(fields) = value.as_object_mut().filter(|_| asks.len() == 1) {
        let action = json!({"action": of(first, "name"), "args": of(first, "args")});
        let config =
            json!({"allow_accept": true, "allow_edit": true, "allow_respond": true, "allow_ignore": true});
        fields.extend([
            (String::from("action_request"), action),
            (String::from("config"), config),
            (String::from("description"), of(first, "description")),
        ]);
    }
    Some(json!({"value": value, "id": id}))
}

impl LangGraphEncoder {
    /// Stops the graph with a question, since a call waits for a person.
    pub(super) fn ask(
        &mut self,
        scene: &FactContext<'_>,
        id: &ToolCallId,
        tool: &ToolView,
        out: &mut Vec<u8>,
    ) {
        self.executes(scene, out);
        match &mut self.asks {
            Some(asks) => drop(asks.insert(id.clone(), request(tool))),
            None => self.interrupt(&IndexMap::from([(id.clone(), request(tool))]), out),
        }
    }

    /// Writes one interrupt for `asks`, in the mode that the client reads for it; nothing if there are none.
    fn interrupt(&self, asks: &IndexMap<ToolCallId, Value>, out: &mut Vec<u8>) {
        let Some(interrupt) = interrupt_of(asks) else { return };
        let ask = json!({"__interrupt__": [interrupt]});
        if self.modes.wants(StreamMode::Updates) {
            event(out, "updates", &ask);
        }
        if self.modes.wants(StreamMode::Values)
            && (self.asks.is_some() || !self.modes.wants(StreamMode::Updates))
        {
            event(out, "values", &ask);
        }
    }

    /// Ends a run, complete or not.
    pub(super) fn end_run(&mut self, scene: &FactContext<'_>, out: &mut Vec<u8>) {
        let run = scene.run;
        match run.status {
            RunStatus::Complete => {
                let usage = run.usage.map(|usage| {
                    json!({"input_tokens": usage.input_tokens, "output_tokens": usage.output_tokens,
                        "total_tokens": usage.input_tokens.saturating_add(usage.output_tokens)})
                });
                // A run that waits has said all that it says for now.
                let waits = self.asks.as_ref().is_some_and(|asks| !asks.is_empty());
                if !waits && (usage.is_some() || (self.answers == 0 && self.late.is_empty())) {
                    self.answer(scene, out);
                }
                self.close(scene, usage.as_ref(), out);
                self.settle(out);
                if let Some(asks) = &self.asks {
                    self.interrupt(asks, out);
                }
            }
            _ if self.modes.wants(StreamMode::Kept) => self.close(scene, None, out),
            RunStatus::Error | RunStatus::Cancelled => {
                let fault = run.error.as_ref().filter(|_| run.status == RunStatus::Error);
                let (code, text) = match fault {
                    Some(fault) => (fault.code.as_str(), fault.message.as_str()),
                    None if run.status == RunStatus::Error => ("Error", "the run failed"),
                    None => ("UserInterrupt", "the run was cancelled"),
                };
                event(out, "error", &json!({"error": code, "message": text}));
            }
            RunStatus::Running | RunStatus::Interrupted => {
                self.answer(scene, out);
                self.tell_piece(scene, &json!({"content": ""}), out);
            }
        }
        self.open = None;
    }
}
