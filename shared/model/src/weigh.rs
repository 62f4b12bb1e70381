//! How much an event weighs: about its bytes as JSON, whichever of its fields they stand in. Every bound on bytes of events
//! counts in this measure, which is cheap enough to take under a conversation's lock: where a text may be long the fields are added
//! up, everything else is short (see `event::bound`), and is written and counted.

use std::io;

use crate::event::{Kind, Message, MessageFile, ToolResult};
use crate::view::{AgentView, MessageView, Note, NoteBody, PartView, RunView, ToolView};
use crate::{Envelope, Json, View};
use serde_json::Value;

/// What a map of a view holds beside each of its values: the name twice, a hash and a place.
const SLOT: usize = 96;

/// Names, quotes and numbers around the content.
const FRAME: usize = 96;

/// About the bytes of `envelope` as JSON, and of what it holds in memory.
pub fn weigh(envelope: &Envelope) -> usize {
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
        Kind::Message(Message { message, role, text, files: attached }) => {
            message.as_str().len() + role.len() + text.len() + files(attached)
        }
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
            let mut count = ByteCounter(0);
            // Counting cannot fail, and an event can be written.
            drop(serde_json::to_writer(&mut count, other));
            count.0
        }
    }
}

/// About the memory that the files of a message hold.
fn files(files: &[MessageFile]) -> usize {
    let of = |file: &MessageFile| {
        let hash = file.hash.as_ref().map_or(0, compact_str::CompactString::len);
        FRAME + file.name.len() + file.mime.len() + hash + file.data.as_ref().map_or(0, String::len)
    };
    files.iter().map(of).sum()
}

/// About the memory that `view` holds, in bytes. Costs a walk over all runs, calls and parts.
pub fn held(view: &View) -> u64 {
    let messages: usize = view.messages.values().map(message_held).sum();
    let runs: usize = view.runs.values().map(|run| run_held_from(run, &[0; 3])).sum();
    (size_of::<View>() + messages + runs) as u64
}

/// About the memory that a message of a view holds.
pub(crate) fn message_held(message: &MessageView) -> usize {
    size_of::<MessageView>() + message.text.len() + files(&message.files)
}

/// About the memory that a run of a view holds, without the first so many of its parts, calls and notes.
pub(crate) fn run_held_from(run: &RunView, [parts, tools, notes]: &[usize; 3]) -> usize {
    let text = |text: &Option<String>| text.as_ref().map_or(0, String::len);
    let value = |value: &Option<Json>| value.as_ref().map_or(0, json);
    let parts = run.parts.get_range(*parts..).into_iter().flat_map(indexmap::map::Slice::values);
    let parts = parts.map(|it| SLOT + size_of::<PartView>() + it.body.text.len() + text(&it.signature));
    let tools = run.tools.get_range(*tools..).into_iter().flat_map(indexmap::map::Slice::values);
    let tools = tools.map(|it| {
        let streamed = it.arguments.text.len() + it.output.text.len() + text(&it.question);
        SLOT + size_of::<ToolView>() + streamed + value(&it.result) + value(&it.files) + value(&it.embeds)
    });
    let agents = run.agents.values().map(|it| SLOT + size_of::<AgentView>() + text(&it.task));
    let notes = run.notes.iter().skip(*notes).map(|note| {
        let body = match &note.body {
            NoteBody::Error(fact) => fact.message.len(),
            NoteBody::Custom { value, .. } | NoteBody::Raw { value, .. } => json(value),
        };
        size_of::<Note>() + body
    });
    size_of::<RunView>() + parts.chain(tools).chain(agents).chain(notes).sum::<usize>()
}

/// By about how much a view grows with an event that weighs `weight`, in bytes: more rather than less.
pub fn grows(kind: &Kind, weight: usize) -> u64 {
    let grown = match kind {
        Kind::PartDelta { text, .. } | Kind::ToolArgs { text, .. } | Kind::ToolOutput { text, .. } => {
            text.len()
        }
        Kind::PartStart { .. } => SLOT + size_of::<PartView>(),
        Kind::ToolStart(_) => SLOT + size_of::<ToolView>(),
        Kind::AgentStart(_) => SLOT + size_of::<AgentView>() + weight,
        Kind::RunStart(_) => SLOT + size_of::<RunView>() + weight,
        Kind::PartEnd(_) | Kind::ToolState(_) | Kind::AgentEnd(_) | Kind::RunEnd(_) => 0,
        _ => weight,
    };
    grown as u64
}

/// Counts what is written.
struct ByteCounter(usize);

impl io::Write for ByteCounter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0 += bytes.len();
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The bytes of some JSON, which is kept as text.
fn json(json: &Json) -> usize {
    json.as_str().len()
}

/// Depth is bounded by the parser that made the tree. About the memory of JSON that is kept as a tree.
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
