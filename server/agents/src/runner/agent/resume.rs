//! Resuming a run: the hub died, or a person wants a failed run to go on. What was open is settled first, so
//! that the next request to the model is one that its API accepts.

use encode::reconstruct::PARTIAL_ANSWER;
use model::flow::NEXT_ANSWER;
use model::view::{Item, NoteBody, RunView, ToolView};

use super::{
    Agent, Command, Event, Kind, PartEnd, Phase, Plan, RunId, ToolCallId, ToolState, ToolStateChange,
};

impl Agent {
    /// Goes on with `run` as `view` has it; the log first says that it begins again. The model's texts and
    /// the results of finished calls are kept. Calls that were written but not begun are executed. A call
    /// that was executing is not executed again, because it may have had effects, and the model is told so.
    pub(crate) fn resume(run: RunId, plan: Plan, view: &RunView, now: u64, out: &mut Vec<Command>) -> Self {
        let mut agent = Self::new(run, plan);
        agent.log(agent.start(), out);
        agent.ids.taken(view.tools.keys());
        let mut broke_off = !view.is_running();
        for item in &view.open {
            match item {
                Item::Part(part) => {
                    broke_off = true;
                    let part = part.clone();
                    let end = PartEnd {
                        part,
                        len: None,
                        hash: None,
                        duration_ms: None,
                        hidden: false,
                        signature: None,
                    };
                    agent.log(Kind::PartEnd(end), out);
                }
                Item::Tool(tool) => {
                    if let Some(call) = view.tools.get(tool) {
                        broke_off |= call.state == ToolState::Writing;
                        agent.inherit(tool, call, now, out);
                    }
                }
                Item::Agent(_) | Item::Note(_) => {}
            }
        }
        agent.calls.all_written();
        agent.step = 1;
        // A text was ended by the hub, although the answer was not complete.
        broke_off |= ends_with_text(view) && !is_answered(view);
        // Notes about failures do not count as parts of an answer.
        let has_said = view.items.iter().any(|item| matches!(item, Item::Part(_) | Item::Tool(_)));
        agent.has_begun = has_said;
        agent.has_called = broke_off || !is_answered(view);
        if broke_off {
            agent.note_partial(out);
        }
        agent.phase = if broke_off || !has_said { Phase::Again { at: now } } else { Phase::Answered };
        agent
    }

    /// Takes over a call that is not over.
    fn inherit(&mut self, tool: &ToolCallId, call: &ToolView, now: u64, out: &mut Vec<Command>) {
        if matches!(call.state, ToolState::Pending | ToolState::Approval) {
            // Whether a person must agree is decided by the present settings and by the answers in the log.
            let is_asked = call.state == ToolState::Approval;
            let asks = is_asked || (!call.approved && self.plan.asks_before(&call.name));
            self.calls.inherit(tool, &call.name, &call.arguments.text, asks, now);
            if asks && !is_asked {
                self.log(Kind::ApprovalRequest { tool: tool.clone(), text: None }, out);
            }
            return;
        }
        let (tool, state) = (tool.clone(), ToolState::Interrupted);
        let change = ToolStateChange { tool, state, queued_ms: None, exec_ms: None };
        out.push(Command::Log(Event::new(&self.run, Kind::ToolState(change))));
    }
}

/// Whether the last answer consists of text alone.
fn ends_with_text(view: &RunView) -> bool {
    let is_boundary = |item: &&Item| {
        let Item::Note(number) = item else { return false };
        matches!(view.notes.get(*number).map(|note| &note.body),
            Some(NoteBody::Custom { name, .. }) if name == NEXT_ANSWER || name == PARTIAL_ANSWER)
    };
    let last = || view.items.iter().rev().take_while(|item| !is_boundary(item));
    last().any(|item| matches!(item, Item::Part(_))) && !last().any(|item| matches!(item, Item::Tool(_)))
}

/// Whether the last answer was complete: it ended with a text, and not in order to wait for tools.
fn is_answered(view: &RunView) -> bool {
    let ended = view.finish_reason.as_ref().is_some_and(|reason| !reason.contains("tool"));
    ended && matches!(view.items.last(), Some(Item::Part(_)))
}
