//! Writes a chat completion in one piece, for callers that do not stream.
//!
//! ```json
//! {"id": "chatcmpl-r1", "object": "chat.completion", "created": 1770000000, "model": "m",
//!  "choices": [{"index": 0,
//!    "message": {"role": "assistant", "content": "Noon.", "refusal": null},
//!    "logprobs": null, "finish_reason": "stop"}],
//!  "usage": {"prompt_tokens": 12, "completion_tokens": 3, "total_tokens": 15}}
//! ```
//!
//! It is made from the view of a run that is over, so nothing in it is provisional. What sub-agents say and
//! call is left out, and so are files.

use super::{Caller, MODEL, fill_usage, finish_reason};
use crate::ObjectWriter;
use model::Json;
use model::event::PartKind;
use model::ids::{RunId, ToolCallId};
use model::view::{Item, RunView, ToolView};

/// A run as the answer to one request. It contains only the calls that the caller has to execute.
/// A run that did not end well becomes the same object, with what there is of the answer: whoever calls this
/// checks the status of the run first.
pub fn completion(id: &RunId, run: &RunView, caller: &Caller) -> Vec<u8> {
    let mut out = Vec::new();
    let calls: Vec<(&ToolCallId, &ToolView)> = run
        .tools
        .iter()
        .filter(|(_, tool)| tool.agent.is_none() && caller.tools.contains(&tool.name))
        .collect();
    ObjectWriter::write(&mut out, |answer| {
        answer.put("id", &format!("chatcmpl-{id}")).put("object", "chat.completion");
        answer.put("created", &(run.started_at / 1000)).put("model", run.model.as_deref().unwrap_or(MODEL));
        answer.nest_one("choices", |choice| {
            choice.put("index", &0).nest("message", |message| fill_message(message, run, &calls));
            choice.put("logprobs", &()).put("finish_reason", finish_reason(run));
        });
        if let Some(usage) = run.usage {
            answer.nest("usage", |object| fill_usage(object, usage));
        }
    });
    out
}

/// Writes the assistant's message. Its content is `null` if it has only calls or a refusal.
fn fill_message(message: &mut ObjectWriter<'_>, run: &RunView, calls: &[(&ToolCallId, &ToolView)]) {
    message.put("role", "assistant");
    let (text, refusal) = (said(run, PartKind::Text), said(run, PartKind::Refusal));
    if text.is_empty() && (!calls.is_empty() || !refusal.is_empty()) {
        message.put("content", &());
    } else {
        message.put("content", &text);
    }
    message.put("refusal", &Some(refusal).filter(|text| !text.is_empty()));
    message
        .put_some("reasoning_content", Some(said(run, PartKind::Thinking)).filter(|text| !text.is_empty()));
    if !calls.is_empty() {
        let calls: Vec<Json> = calls.iter().map(|(id, tool)| call(id, tool)).collect();
        message.put("tool_calls", &calls);
    }
}

/// The main agent's texts of one kind, with separators as in a stream.
///
/// Two texts are set apart unless the first ends with white space; thinking and refusals are joined as they are.
fn said(run: &RunView, kind: PartKind) -> String {
    let mut said = String::new();
    for item in &run.items {
        let Item::Part(id) = item else { continue };
        let Some(part) = run.parts.get(id).filter(|part| part.kind == kind && part.agent.is_none()) else {
            continue;
        };
        if kind == PartKind::Text && !said.is_empty() && !said.ends_with(char::is_whitespace) {
            said.push_str(super::APART);
        }
        said.push_str(&part.body.text);
    }
    said
}

/// A call as the API has it in a message.
fn call(id: &ToolCallId, tool: &ToolView) -> Json {
    let mut out = Vec::new();
    ObjectWriter::write(&mut out, |call| {
        call.put("id", id.as_str()).put("type", "function").nest("function", |function| {
            function.put("name", tool.name.as_str()).put("arguments", &tool.arguments.text);
        });
    });
    Json::parse(&String::from_utf8_lossy(&out)).unwrap_or_else(|| Json::of(&()))
}
