//! Tool calls: a part that is sent again and again, from the first word of its arguments to its output. Its
//! state goes from `pending` (with the arguments so far in `raw`) to `running` (with the output so far in its
//! metadata) to `completed` or `error`.

use compact_str::CompactString;
use indexmap::IndexMap;

use crate::Decoded;
use crate::field::{ForeignField, ForeignFields};
use crate::writer::{CallOutcome, EventWriter, WholeCall, WholeOutput};
use model::event::ToolState;
use model::ids::AgentId;

/// The calls of a run, by their ids; forgotten when the run ends.
#[derive(Debug, Default)]
pub(super) struct OpenCodeCalls(IndexMap<CompactString, OpenCodeCall>);

/// One tool call of a run.
#[derive(Debug)]
struct OpenCodeCall {
    /// The call and a digest of its arguments.
    writing: WholeCall,
    /// The id of the part that it comes from: the id of a call may come again for another one.
    part: CompactString,
    /// The agent that calls; nothing for the main one.
    agent: Option<AgentId>,
    stage: OpenCodeCallStage,
    /// The output that was written so far.
    output: WholeOutput,
}

/// The stage of a call. The order is that of time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum OpenCodeCallStage {
    /// The arguments are being written.
    Writing,
    /// The arguments are complete.
    Written,
    /// The call is being executed.
    Running,
    /// The call has a result, or a person refused it.
    Over,
}

impl OpenCodeCalls {
    /// Forgets all calls, since no run is open.
    pub(super) fn begin(&mut self) {
        self.0.clear();
    }

    /// Whether the call has begun and is not over.
    pub(super) fn is_waiting(&self, id: &str) -> bool {
        self.0.get(id).is_some_and(|call| call.stage != OpenCodeCallStage::Over)
    }

    /// The sub-agent that makes the call; nothing for the main agent.
    pub(super) fn agent_of(&self, id: &str) -> Option<AgentId> {
        self.0.get(id).and_then(|call| call.agent.clone())
    }

    /// Notes that a person refused the call; the failure that follows says the same and is ignored.
    pub(super) fn give_up(&mut self, id: &str) {
        if let Some(call) = self.0.get_mut(id) {
            call.stage = OpenCodeCallStage::Over;
        }
    }

    /// Takes a call as it is now.
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
            Some("running") => call.executes(&id, &state, w, out),
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
    /// Takes that the call is executed, with its output so far.
    fn executes(&mut self, id: &str, state: &ForeignFields<'_>, w: &mut EventWriter, out: &mut Decoded) {
        self.is_written(state, w, out);
        if self.stage < OpenCodeCallStage::Running {
            self.stage = OpenCodeCallStage::Running;
            w.state(id, ToolState::Executing, self.agent.as_ref(), out);
        }
        if let Some(output) = ForeignFields::of(state.get("metadata")).get("output").text() {
            self.output.set(id, &output, self.agent.as_ref(), w, out);
        }
    }

    /// Ends the arguments, once; they count as the tool gets them.
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

/// How long the call was executed, in milliseconds; nothing if the state does not say.
fn took(time: ForeignField<'_>) -> Option<u64> {
    let time = ForeignFields::of(time);
    time.get("end").count()?.checked_sub(time.get("start").count()?)
}
