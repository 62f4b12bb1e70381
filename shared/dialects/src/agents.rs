//! The parts that dialects of whole agents have in common: each agent writes one text at a time, and calls
//! are sometimes identified only by their tool.

use std::borrow::Cow;

use compact_str::CompactString;
use indexmap::IndexMap;
use serde::Deserialize;

use super::Decoded;
use super::field::ForeignField;
use super::writer::{EventWriter, OpenPart};
use model::event::PartKind;
use model::ids::AgentId;

/// The part that each agent is writing, at most one for each. The decoder owns it, and must call
/// [`AgentParts::close_all`] before the end of the run: dropping it writes no ends.
#[derive(Debug, Default)]
pub(super) struct AgentParts(IndexMap<Option<AgentId>, OpenPart>);

impl AgentParts {
    /// Writes text of a kind: continues the agent's open part, or ends it and begins another. An empty text
    /// is ignored, and so is one for which the run has no room.
    pub(super) fn write(
        &mut self,
        kind: PartKind,
        text: &str,
        agent: Option<&AgentId>,
        w: &mut EventWriter,
        out: &mut Decoded,
    ) {
        if text.is_empty() {
            return;
        }
        let key = agent.cloned();
        if self.0.get(&key).is_some_and(|part| part.kind() != kind) {
            self.close(agent, w, out);
        }
        if let Some(part) = self.0.get_mut(&key) {
            return part.delta(text, w, out);
        }
        if w.has_room(out) {
            let mut part = w.open_part(kind, agent, out);
            part.delta(text, w, out);
            self.0.insert(key, part);
        }
    }

    /// Ends the agent's open part, since it does something else: it calls a tool, or another message begins.
    pub(super) fn close(&mut self, agent: Option<&AgentId>, w: &EventWriter, out: &mut Decoded) {
        if let Some(part) = self.0.swap_remove(&agent.cloned()) {
            part.end(false, w, out);
        }
    }

    /// Ends all open parts.
    pub(super) fn close_all(&mut self, w: &EventWriter, out: &mut Decoded) {
        for (_, part) in std::mem::take(&mut self.0) {
            part.end(false, w, out);
        }
    }
}

/// An event whose name may be in the object, with the payload beside it.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct WrappedEvent<'a> {
    #[serde(borrow)]
    event: ForeignField<'a>,
    #[serde(borrow, rename = "data")]
    payload: ForeignField<'a>,
}

/// The name of an event and its payload; `{"event", "data"}` is unwrapped. An object with `event` alone gives
/// the name only if SSE gave none.
pub(super) fn unwrapped<'a>(name: &'a str, whole: ForeignField<'a>) -> (Cow<'a, str>, ForeignField<'a>) {
    let wrapped: WrappedEvent<'a> = whole.object();
    match wrapped.event.word() {
        Some(name) if wrapped.payload.is_some() => (name, wrapped.payload),
        Some(event) if name.is_empty() => (event, whole),
        _ => (Cow::Borrowed(name), whole),
    }
}

/// The calls without a result, oldest first: the ids that the writer uses, and the tools. For dialects whose
/// results or progress name only the tool.
#[derive(Debug, Default)]
pub(super) struct UnansweredCalls(IndexMap<CompactString, CompactString>);

impl UnansweredCalls {
    /// Adds the call `id` of the tool `name`, as the newest.
    pub(super) fn add(&mut self, id: &str, name: &str) {
        self.0.insert(CompactString::new(id), CompactString::new(name));
    }

    /// Removes a call that has its result. False if it is unknown or had one before.
    pub(super) fn remove(&mut self, id: &str) -> bool {
        self.0.shift_remove(id).is_some()
    }

    /// The newest call of the tool `name`, to which its progress is attached; nothing if there is none.
    pub(super) fn newest(&self, name: &str) -> Option<&CompactString> {
        self.0.iter().rev().find(|(_, tool)| *tool == name).map(|(id, _)| id)
    }

    /// The call `id`; nothing if it is unknown or has a result.
    pub(super) fn known(&self, id: &str) -> Option<&CompactString> {
        self.0.get_key_value(id).map(|(id, _)| id)
    }

    /// The oldest call of the tool `name`, or of any tool if the name is empty; nothing if there is none.
    pub(super) fn oldest(&self, name: &str) -> Option<CompactString> {
        self.0.iter().find(|(_, tool)| name.is_empty() || *tool == name).map(|(id, _)| id.clone())
    }
}
