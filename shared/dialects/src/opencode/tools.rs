//! Tool calls: a part that is told again and again, from the first word of its arguments to its output.

use compact_str::CompactString;
use indexmap::IndexMap;

use crate::Decoded;
use crate::field::{ForeignField, ForeignFields};
use crate::writer::{CallOutcome, EventWriter, WholeCall, WholeOutput};
use model::event::ToolState;
use model::ids::AgentId;

/// The calls of a run, by their ids.
#[derive(Debug, Default)]
pub(super) struct OpenCodeCalls(IndexMap<CompactString, OpenCodeCall>);

#[derive(Debug)]
struct OpenCodeCall {
    writing: WholeCall,
    /// The part that tells it: an id may come again for another call.
    part: CompactString,
    agent: Option<AgentId>,
    stage: OpenCodeCallStage,
    output: WholeOutput,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum OpenCodeCallStage {
    Writing,
    Written,
    Running,
    Over,
}

impl OpenCodeCalls {
    /// No run goes on.
    pub(super) fn begin(&mut self) {
        self.0.clear();
    }

    /// The call has begun and is not over.
    pub(super) fn is_waiting(&self, id: &str) -> bool {
        self.0.get(id).is_some_and(|call| call.stage != OpenCodeCallStage::Over)
    }

    pub(super) fn agent_of(&self, id: &str) -> Option<AgentId> {
        self.0.get(id).and_then(|call| call.agent.clone())
    }

    /// A person did not allow the call; what it fails with then says the same.
    pub(super) fn give_up(&mut self, id: &str) {
        if let Some(call) = self.0.get_mut(id) {
            call.stage = OpenCodeCallStage::Over;
        }
    }

    /// The call as it is now.
    pub(super) fn update(
        &mut self,
        part: &ForeignFields<'_>,
        agent: Option<&AgentId>,
        w: &mut EventWriter,
        out: &mut Decoded,
    ) {
        let id = CompactString::new(part.any(&["callID", "id"]).words().unwrap_or_default());
        let part_id = CompactString::new(part.get("id").words().unwrap_or_default());
        let is_known = self.0.get(&id).is_some_and(|call| call.part == part_id);
        if !is_known {
            if !w.has_room(out) {
                return;
            }
            let name = part.any(&["tool", "name"]).words().unwrap_or_default();
            let writing = WholeCall::new(w.open_call(&id, &name, false, agent, out));
            let output = WholeOutput::default();
            let stage = OpenCodeCallStage::Writing;
            let call = OpenCodeCall { writing, part: part_id, agent: agent.cloned(), stage, output };
            self.0.insert(id.clone(), call);
        }
        let Some(call) = self.0.get_mut(&id).filter(|call| call.stage != OpenCodeCallStage::Over) else {
            return;
        };
        let state = ForeignFields::of(part.get("state"));
        match state.get("status").text().as_deref() {
            Some("running") => call.runs(&id, &state, w, out),
            Some("completed") => {
                call.is_written(&state, w, out);
                let outcome = CallOutcome::of(state.get("output").json()).took(took(state.get("time")));
                let files =
                    Some(state.get("attachments")).filter(|files| files.is_truthy()).map(ForeignField::json);
                call.stage = OpenCodeCallStage::Over;
                w.result(&id, CallOutcome { files, ..outcome }, call.agent.as_ref(), out);
            }
            Some("error") => {
                call.is_written(&state, w, out);
                let outcome = CallOutcome::error(state.get("error").json()).took(took(state.get("time")));
                call.stage = OpenCodeCallStage::Over;
                w.result(&id, outcome, call.agent.as_ref(), out);
            }
            _ => {
                if let Some(raw) =
                    state.get("raw").word().filter(|_| call.stage == OpenCodeCallStage::Writing)
                {
                    call.writing.set_args(&raw, w, out);
                }
            }
        }
    }
}

impl OpenCodeCall {
    fn runs(&mut self, id: &str, state: &ForeignFields<'_>, w: &mut EventWriter, out: &mut Decoded) {
        self.is_written(state, w, out);
        if self.stage < OpenCodeCallStage::Running {
            self.stage = OpenCodeCallStage::Running;
            w.state(id, ToolState::Executing, self.agent.as_ref(), out);
        }
        if let Some(output) = ForeignFields::of(state.get("metadata")).get("output").text() {
            self.output.set(id, &output, self.agent.as_ref(), w, out);
        }
    }

    /// The arguments are final from here on; they count as the tool gets them.
    fn is_written(&mut self, state: &ForeignFields<'_>, w: &mut EventWriter, out: &mut Decoded) {
        if self.stage != OpenCodeCallStage::Writing {
            return;
        }
        self.stage = OpenCodeCallStage::Written;
        let input = state.get("input");
        if input.is_some() && !self.writing.call().is_whole() {
            return self.writing.call().written(Some(input.as_json_text().to_owned()), w, out);
        }
        self.writing.written(w, out);
    }
}

/// How long it took, in milliseconds.
fn took(time: ForeignField<'_>) -> Option<u64> {
    let time = ForeignFields::of(time);
    time.get("end").count()?.checked_sub(time.get("start").count()?)
}
