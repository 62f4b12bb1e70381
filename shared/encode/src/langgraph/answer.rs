//! An answer of the model, and its forms in the modes of the stream: a whole message, a growing one, or
//! pieces.

use compact_str::CompactString;
use indexmap::IndexMap;
use serde_json::{Value, json};

use crate::FactContext;
use model::ids::ToolCallId;
use model::view::ToolView;

/// An answer that is open. Its texts are kept, since some modes repeat all of it.
#[derive(Debug, Default)]
pub(super) struct OpenAnswer {
    /// The id of the message.
    pub(super) id: String,
    pub(super) text: String,
    pub(super) thinking: String,
    /// The calls of the answer, in the order in which they began.
    calls: IndexMap<ToolCallId, OpenAnswerCall>,
    /// The answer ends as soon as its calls are written: one of them is being executed.
    pub(super) is_due: bool,
}

/// A call of the answer.
#[derive(Debug)]
struct OpenAnswerCall {
    name: CompactString,
    arguments: String,
    /// The arguments are final.
    is_written: bool,
}

impl OpenAnswer {
    /// An answer without content.
    pub(super) fn new(id: String) -> Self {
        Self { id, ..Self::default() }
    }

    /// Begins a call and returns its index.
    pub(super) fn begin_call(&mut self, id: &ToolCallId, name: &str) -> usize {
        let call = OpenAnswerCall { name: name.into(), arguments: String::new(), is_written: false };
        self.calls.insert_full(id.clone(), call).0
    }

    /// Adds arguments and returns the index of the call; nothing for an unknown call.
    pub(super) fn add(&mut self, id: &ToolCallId, text: &str) -> Option<usize> {
        let (index, _, call) = self.calls.get_full_mut(id)?;
        call.arguments.push_str(text);
        Some(index)
    }

    /// The name of the tool of a call.
    pub(super) fn name_of(&self, id: &ToolCallId) -> Option<&str> {
        self.calls.get(id).map(|call| call.name.as_str())
    }

    /// Marks a call as written, with its final arguments.
    pub(super) fn written(&mut self, id: &ToolCallId, arguments: &str) {
        if let Some(call) = self.calls.get_mut(id) {
            (call.is_written, call.arguments) = (true, arguments.to_owned());
        }
    }

    /// Whether all calls of the answer are written.
    pub(super) fn is_written(&self) -> bool {
        self.calls.values().all(|call| call.is_written)
    }

    /// The metadata at the end of an answer.
    pub(super) fn about_end(&self, scene: &FactContext<'_>) -> Value {
        let own = scene.run.finish_reason.as_deref().filter(|_| !scene.run.is_running());
        let reason = own.unwrap_or(if self.calls.is_empty() { "stop" } else { "tool_calls" });
        json!({"finish_reason": reason, "model_name": scene.run.model})
    }

    /// All of the answer so far, as a message.
    pub(super) fn whole(&self, about: &Value, usage: Option<&Value>) -> Value {
        let (mut calls, mut invalid) = (Vec::new(), Vec::new());
        for (id, call) in &self.calls {
            let text = if call.arguments.trim().is_empty() { "{}" } else { &call.arguments };
            match serde_json::from_str::<Value>(text) {
                Ok(args) => {
                    calls.push(json!({"name": call.name, "args": args, "id": id, "type": "tool_call"}));
                }
                Err(_) => invalid.push(json!({"name": call.name, "args": text, "id": id, "error": null,
                    "type": "invalid_tool_call"})),
            }
        }
        let extra =
            if self.thinking.is_empty() { json!({}) } else { json!({"reasoning_content": self.thinking}) };
        json!({"content": self.text, "additional_kwargs": extra, "response_metadata": about, "type": "ai", "name": null,
            "id": self.id, "tool_calls": calls, "invalid_tool_calls": invalid, "usage_metadata": usage})
    }

    /// All of the answer so far, as the growing message that clients of the mode `messages` read: a piece by
    /// its type, with all pieces of its calls.
    pub(super) fn growing(&self) -> Value {
        let mut message = self.whole(&json!({}), None);
        let chunks = self.calls.iter().enumerate().map(|(index, (id, call))| {
            json!({"name": call.name, "args": call.arguments, "id": id, "index": index, "type": "tool_call_chunk"})
        });
        let chunks: Vec<_> = chunks.collect();
        if let Some(fields) = message.as_object_mut().filter(|_| !chunks.is_empty()) {
            fields.insert("tool_call_chunks".into(), chunks.into());
        }
        if let Some(kind) = message.get_mut("type") {
            *kind = "AIMessageChunk".into();
        }
        message
    }
}

/// A chunk of the answer `id` with these fields.
pub(super) fn piece(id: &str, fields: &Value) -> Value {
    let mut piece = json!({"content": "", "additional_kwargs": {}, "response_metadata": {}, "type": "AIMessageChunk",
        "name": null, "id": id, "tool_calls": [], "invalid_tool_calls": [], "usage_metadata": null,
        "tool_call_chunks": [], "chunk_position": null});
    if let (Some(piece), Some(fields)) = (piece.as_object_mut(), fields.as_object()) {
        piece.extend(fields.clone());
    }
    piece
}

/// The result of a call as a message, with `text` as its content.
pub(super) fn tool_message(scene: &FactContext<'_>, id: &ToolCallId, tool: &ToolView, text: &str) -> Value {
    let status = if tool.is_error { "error" } else { "success" };
    json!({"content": text, "additional_kwargs": {}, "response_metadata": {}, "type": "tool", "name": tool.name,
        "id": format!("{}-{id}", scene.run_id), "tool_call_id": id, "artifact": null, "status": status})
}
