//! How much an event weighs: about its bytes as JSON. Every bound on bytes of events counts in this measure, which is
//! cheap enough to take under a conversation's lock.

use serde_json::Value;
use shared::event::{ErrorFact, Kind};
use shared::{Envelope, Json};

/// Names, quotes and numbers around the content.
const FRAME: usize = 96;

/// About the bytes of `envelope` as JSON, and of what it holds in memory.
pub(crate) fn weigh(envelope: &Envelope) -> usize {
    let event = &envelope.event;
    let ids = event.run.as_str().len() + event.agent.as_ref().map_or(0, |agent| agent.as_str().len());
    FRAME + ids + content(&event.kind)
}

fn content(kind: &Kind) -> usize {
    match kind {
        Kind::PartDelta { part, text, .. } => part.as_str().len() + text.len(),
        Kind::PartReplace { part, text } => part.as_str().len() + text.len(),
        Kind::ToolArgs { tool, text, .. } | Kind::ToolOutput { tool, text, .. } => {
            tool.as_str().len() + text.len()
        }
        Kind::ToolCall { tool, arguments, .. } => tool.as_str().len() + optional(arguments.as_deref()),
        Kind::ToolResult(result) => {
            let extra = [&result.files, &result.embeds];
            let extra: usize = extra.into_iter().flatten().map(json).sum();
            result.tool.as_str().len() + json(&result.output) + extra
        }
        Kind::ToolProgress(progress) => progress.tool.as_str().len() + optional(progress.text.as_deref()),
        Kind::RunStart(start) => optional(start.title.as_deref()),
        Kind::RunUpdate(update) => optional(update.title.as_deref()),
        Kind::AgentStart(start) => optional(start.text.as_deref()),
        Kind::Message(message) => message.text.len(),
        Kind::Status { text } => text.len(),
        Kind::Error(ErrorFact { code, message, .. }) => code.len() + message.len(),
        Kind::ApprovalRequest { text, .. } | Kind::ApprovalAnswer { text, .. } => optional(text.as_deref()),
        Kind::Custom { name, value } | Kind::Raw { name, value } => name.len() + json(value),
        Kind::Anomaly(anomaly) => anomaly.detail.len(),
        Kind::Unknown(unknown) => {
            unknown.k.len() + unknown.fields.iter().map(|(key, value)| key.len() + tree(value)).sum::<usize>()
        }
        _ => 32,
    }
}

fn optional(text: Option<&str>) -> usize {
    text.map_or(0, str::len)
}

fn json(json: &Json) -> usize {
    json.as_str().len()
}

/// Depth is bounded by the parser that made the tree.
fn tree(value: &Value) -> usize {
    let own = size_of::<Value>();
    own + match value {
        Value::String(text) => text.len(),
        Value::Array(items) => items.iter().map(tree).sum(),
        Value::Object(fields) => fields.iter().map(|(key, value)| key.len() + tree(value)).sum(),
        _ => 0,
    }
}
