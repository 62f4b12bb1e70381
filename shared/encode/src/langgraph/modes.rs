//! The modes of a stream, and what is written in each. A client names them in its request (`stream_mode`);
//! each event is written once for each mode that has a form of it.

use compact_str::CompactString;
use serde_json::{Value, json};

use super::{LangGraphEncoder, MODEL, event, piece};
use crate::FactContext;
use model::format;
use model::ids::ToolCallId;

/// A mode that a client can request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum StreamMode {
    /// Chunks of messages, each with the graph's metadata.
    Tuples,
    /// The older form of the messages: each time all of a message so far.
    Messages,
    /// What each step changed.
    Updates,
    /// The whole state after each step.
    Values,
    /// Events of tools and agents that are no messages.
    Custom,
    /// The beginning and the end of each node.
    Tasks,
    /// The beginning and the end of each node, with the numbers of the steps.
    Debug,
    /// Nothing is written; the messages are kept.
    Kept,
}

/// The modes that were requested.
#[derive(Debug, Default)]
pub(super) struct StreamModes(Vec<StreamMode>);

impl StreamModes {
    /// The names of the modes as LangGraph spells them.
    pub(super) const NAMES: &[&str] =
        &["messages-tuple", "messages", "updates", "values", "custom", "tasks", "debug"];

    /// The modes with these names. Unknown names are ignored; without any known one, the default of chat
    /// clients is used.
    pub(super) fn new(names: &[CompactString]) -> Self {
        let modes = names.iter().filter_map(|name| match name.as_str() {
            "messages-tuple" => Some(StreamMode::Tuples),
            "messages" => Some(StreamMode::Messages),
            "updates" => Some(StreamMode::Updates),
            "values" => Some(StreamMode::Values),
            "custom" => Some(StreamMode::Custom),
            "tasks" => Some(StreamMode::Tasks),
            "debug" => Some(StreamMode::Debug),
            _ => None,
        });
        let modes: Vec<_> = modes.collect();
        Self(if modes.is_empty() {
            vec![StreamMode::Tuples, StreamMode::Updates, StreamMode::Custom]
        } else {
            modes
        })
    }

    /// The mode in which nothing is written and the messages are kept.
    pub(super) fn kept() -> Self {
        Self(vec![StreamMode::Kept])
    }

    /// Whether the mode was requested.
    pub(super) fn wants(&self, mode: StreamMode) -> bool {
        self.0.contains(&mode)
    }
}

impl LangGraphEncoder {
    /// The graph's metadata for a message of `node`. What the source itself said of the step takes
    /// precedence.
    pub(super) fn about(&self, scene: &FactContext<'_>, node: &str) -> Value {
        let mut about = json!({"langgraph_node": node, "langgraph_step": self.step,
            "langgraph_path": ["__pregel_pull", node], "langgraph_checkpoint_ns": format!("{node}:{}", scene.run_id),
            "run_id": scene.run_id, "thread_id": self.thread, "ls_model_name": scene.run.model, "tags": []});
        let told = self.told_step.as_ref().and_then(Value::as_object);
        if let (Some(about), Some(told)) = (about.as_object_mut(), told) {
            about.extend(told.clone());
        }
        about
    }

    /// Writes a chunk of the open answer.
    pub(super) fn tell_piece(&self, scene: &FactContext<'_>, fields: &Value, out: &mut Vec<u8>) {
        let Some(open) = &self.open else { return };
        if self.modes.wants(StreamMode::Tuples) {
            event(out, "messages", &json!([piece(&open.id, fields), self.about(scene, MODEL)]));
        }
        if self.modes.wants(StreamMode::Messages) {
            event(out, "messages/partial", &json!([open.growing()]));
        }
    }

    /// Writes a chunk of a call: in the message, and beside it in the form that clients of Bernard's graph
    /// read.
    pub(super) fn tell_call(
        &self,
        scene: &FactContext<'_>,
        (index, id): (usize, &ToolCallId),
        name: Option<&str>,
        text: &str,
        out: &mut Vec<u8>,
    ) {
        let Some(open) = &self.open else { return };
        let given = name.map(|_| id);
        let chunk =
            json!({"name": name, "args": text, "id": given, "index": index, "type": "tool_call_chunk"});
        if self.modes.wants(StreamMode::Tuples) {
            let mut about = self.about(scene, MODEL);
            let function = json!({"name": name.or(open.name_of(id)), "arguments": text});
            if let Some(about) = about.as_object_mut() {
                let call = json!([{"id": id, "type": "function", "function": function}]);
                about.insert("tool_calls".into(), call);
            }
            let fields = json!({"tool_call_chunks": [chunk]});
            event(out, "messages", &json!([piece(&open.id, &fields), about]));
        }
        if self.modes.wants(StreamMode::Messages) {
            event(out, "messages/partial", &json!([open.growing()]));
        }
    }

    /// Writes an event of the mode `custom`.
    pub(super) fn custom(&self, value: &Value, out: &mut Vec<u8>) {
        if self.modes.wants(StreamMode::Custom) {
            event(out, "custom", value);
        }
    }

    /// Writes the whole state.
    pub(super) fn values(&self, out: &mut Vec<u8>) {
        if self.modes.wants(StreamMode::Values) {
            event(out, "values", &json!({"messages": self.state}));
        }
    }

    /// Writes that a node begins.
    pub(super) fn task(
        &self,
        scene: &FactContext<'_>,
        id: &str,
        node: &str,
        input: &Value,
        out: &mut Vec<u8>,
    ) {
        let payload = json!({"id": id, "name": node, "input": input, "triggers": []});
        self.tell_task(scene, "task", &payload, out);
    }

    /// Writes that a node has ended.
    pub(super) fn task_result(
        &self,
        scene: &FactContext<'_>,
        (id, node): (&str, &str),
        result: &Value,
        error: Option<&str>,
        out: &mut Vec<u8>,
    ) {
        let payload = json!({"id": id, "name": node, "error": error, "result": result, "interrupts": []});
        self.tell_task(scene, "task_result", &payload, out);
    }

    /// Writes the beginning or end of a node in the modes that have it.
    fn tell_task(&self, scene: &FactContext<'_>, kind: &str, payload: &Value, out: &mut Vec<u8>) {
        if self.modes.wants(StreamMode::Tasks) {
            event(out, "tasks", payload);
        }
        if self.modes.wants(StreamMode::Debug) {
            let timestamp = format::iso(scene.at);
            event(
                out,
                "debug",
                &json!({"step": self.step, "timestamp": timestamp, "type": kind, "payload": payload}),
            );
        }
    }
}
