//! How much an event weighs: about its bytes as JSON, whichever of its fields they stand in. Every bound on bytes of events
//! counts in this measure, which is cheap enough to take under a conversation's lock: where a text may be long the fields are added
//! up, everything else is short (see [`shared::event::bound`]), and is written and counted.

use std::io;

use serde_json::Value;
use shared::event::{Kind, Message, ToolResult};
use shared::{Envelope, Json};

/// Names, quotes and numbers around the content.
const FRAME: usize = 96;

/// About the bytes of `envelope` as JSON, and of what it holds in memory.
pub(crate) fn weigh(envelope: &Envelope) -> usize {
    let event = &envelope.event;
    let agent = event.agent.as_ref().map_or(0, |agent| agent.as_str().len());
    let publisher = envelope.publisher.as_ref().map_or(0, |publisher| publisher.as_str().len());
    FRAME + event.run.as_str().len() + agent + publisher + content(&event.kind)
}

/// What the kind says. Fields are named one by one, so that one that is added cannot be forgotten.
fn content(kind: &Kind) -> usize {
    match kind {
        Kind::PartDelta { part, off: _, text } => part.as_str().len() + text.len(),
        Kind::PartReplace { part, text } => part.as_str().len() + text.len(),
        Kind::ToolArgs { tool, off: _, text } | Kind::ToolOutput { tool, off: _, text } => {
            tool.as_str().len() + text.len()
        }
        Kind::Status { text } => text.len(),
        Kind::Message(Message { message, role, text }) => message.as_str().len() + role.len() + text.len(),
        Kind::ToolCall { tool, name, arguments } => {
            let name = name.as_ref().map_or(0, compact_str::CompactString::len);
            tool.as_str().len() + name + arguments.as_ref().map_or(0, String::len)
        }
        // JSON is parsed again to be written, and this may be long.
        Kind::ToolResult(ToolResult {
            tool,
            output,
            is_error: _,
            queued_ms: _,
            exec_ms: _,
            files,
            embeds,
            reference,
        }) => {
            let extra: usize = [files, embeds].into_iter().flatten().map(json).sum();
            let reference = reference.as_ref().map_or(0, |reference| reference.hash.len());
            tool.as_str().len() + json(output) + extra + reference
        }
        Kind::Custom { name, value } | Kind::Raw { name, value } => name.len() + json(value),
        Kind::Unknown(unknown) => {
            unknown.k.len() + unknown.fields.iter().map(|(key, value)| key.len() + tree(value)).sum::<usize>()
        }
        other => {
            let mut count = Count(0);
            // Counting cannot fail, and an event can be written.
            drop(serde_json::to_writer(&mut count, other));
            count.0
        }
    }
}

/// Counts what is written.
struct Count(usize);

impl io::Write for Count {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0 += bytes.len();
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
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

#[cfg(test)]
mod tests;
