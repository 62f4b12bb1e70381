//! Sub-agents: threads that calls start, talk to, wait for and close (`collab_tool_call`). All that the
//! stream has of them is what these calls say: the task, the state, and the last message.

use compact_str::CompactString;
use indexmap::IndexMap;

use super::items::OPEN_ITEMS_MAX;
use crate::Decoded;
use crate::field::{ForeignField, ForeignFields};
use crate::writer::EventWriter;
use model::event::{AgentStart, PartKind, RunStatus};
use model::ids::AgentId;

/// The sub-agents of the open turn, by the ids of their threads.
#[derive(Debug, Default)]
pub(super) struct CodexAgents(IndexMap<CompactString, CodexAgent>);

/// A sub-agent, and whether it has not ended.
#[derive(Debug)]
struct CodexAgent {
    id: AgentId,
    is_open: bool,
}

impl CodexAgents {
    /// The sub-agent that makes the call; nothing for the main agent.
    pub(super) fn sender(&self, fields: &ForeignFields<'_>) -> Option<AgentId> {
        let sender = fields.get("sender_thread_id").word()?;
        self.0.get(&*sender).map(|agent| agent.id.clone())
    }

    /// Takes what the call `id` says of sub-agents: they begin, end or go on.
    pub(super) fn update(
        &mut self,
        id: &str,
        fields: &ForeignFields<'_>,
        w: &mut EventWriter,
        out: &mut Decoded,
    ) {
        if fields.get("tool").word().as_deref() == Some("spawn_agent") {
            let threads: Vec<ForeignField<'_>> = fields.get("receiver_thread_ids").list();
            for thread in threads.into_iter().filter_map(ForeignField::word) {
                self.start(&thread, id, fields, w, out);
            }
        }
        for (thread, state) in fields.get("agents_states").fields().into_all() {
            let state = state.fields();
            let Some(status) = ended(&state.get("status").word().unwrap_or_default()) else { continue };
            self.end(&thread, status, &state.get("message").word().unwrap_or_default(), w, out);
        }
        if fields.get("tool").word().as_deref() == Some("close_agent")
            && fields.get("status").word().as_deref() == Some("completed")
        {
            for thread in fields.get("receiver_thread_ids").list().into_iter().filter_map(ForeignField::word)
            {
                self.end(&thread, RunStatus::Complete, "", w, out);
            }
        }
    }

    /// Begins the sub-agent of a thread, if it is new.
    fn start(
        &mut self,
        thread: &str,
        call: &str,
        fields: &ForeignFields<'_>,
        w: &mut EventWriter,
        out: &mut Decoded,
    ) {
        if self.0.contains_key(thread) || self.0.len() >= OPEN_ITEMS_MAX || !w.has_room(out) {
            return;
        }
        let start = AgentStart {
            parent: self.sender(fields),
            tool: Some(w.tool_id(call)),
            text: fields.get("prompt").word().map(std::borrow::Cow::into_owned),
            ..AgentStart::default()
        };
        let id = w.open_agent(thread, start, out);
        self.0.insert(CompactString::new(thread), CodexAgent { id, is_open: true });
    }

    /// Ends a sub-agent, once, with the last that it said.
    fn end(&mut self, thread: &str, status: RunStatus, said: &str, w: &mut EventWriter, out: &mut Decoded) {
        let Some(agent) = self.0.get_mut(thread) else { return };
        if !std::mem::take(&mut agent.is_open) {
            return;
        }
        if !said.is_empty() && w.has_room(out) {
            w.whole_part(PartKind::Text, said, false, Some(&agent.id), out);
        }
        w.close_agent(&agent.id, status, out);
    }

    /// Forgets all sub-agents, since the turn is over.
    pub(super) fn clear(&mut self) {
        self.0.clear();
    }
}

/// How an agent in the state `name` ended; nothing while it goes on.
fn ended(name: &str) -> Option<RunStatus> {
    match name {
        "completed" => Some(RunStatus::Complete),
        "errored" | "failed" | "not_found" => Some(RunStatus::Error),
        "interrupted" => Some(RunStatus::Interrupted),
        "shutdown" => Some(RunStatus::Cancelled),
        _ => None,
    }
}
