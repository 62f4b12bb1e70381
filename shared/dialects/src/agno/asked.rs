//! Pauses: a run waits for a person, and goes on in the same stream or in another one.
//!
//! ```text
//! RunPaused ── asks for consent, for values, for somebody who executes ──▶ the run waits, its calls with it
//! RunContinued ──▶ calls that were consented to start; one that has not started when the model is asked again was rejected
//! ```
//!
//! After an event of a pause the stream may end: then the run is paused, not interrupted. A call that
//! somebody else has executed gets its result before the run goes on, or never in the stream.

use serde::Deserialize;

use super::AgnoMeaning;
use super::tools::{AgnoCallStage, AwaitedInput};
use super::wire::{AgnoEvent, ToolExecution};
use crate::Decoded;
use crate::field::ForeignField;
use crate::writer::CallOutcome;
use model::event::{Kind, RunStatus, ToolState};
use model::ids::AgentId;

/// Whether the run waits for a person, and what said so.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum PauseState {
    /// The run does not wait.
    #[default]
    No,
    /// An event. The output of the run, where it follows, says the same once more.
    Event,
    /// The output of a run without events.
    Output,
}

/// Whether a person has refused the call.
pub(super) fn is_rejected(call: &ToolExecution<'_>) -> bool {
    call.confirmed.as_json_text() == "false"
}

impl AgnoMeaning {
    /// Writes what the run waits for: consent, values for arguments, or somebody who executes a call. Consent
    /// and values are approval requests.
    pub(super) fn ask(&mut self, it: &AgnoEvent<'_>, agent: Option<&AgentId>, out: &mut Decoded) {
        let requirements = it.requirements.list().into_iter();
        let required = requirements.map(|it| it.object::<AgnoEvent<'_>>().tool_execution);
        let all = it.tools.list().into_iter().chain(required).filter(|it| it.is_object());
        for execution in all.map(ForeignField::object::<ToolExecution<'_>>).collect::<Vec<_>>() {
            let Some(id) = self.call(&execution, agent, out) else { continue };
            if is_rejected(&execution) {
                self.reject(&id, &execution, out);
                continue;
            }
            if execution.result.is_some() {
                let outcome = CallOutcome::of(execution.result.json());
                let is_error = execution.tool_call_error.is_true();
                self.over(&id, &execution, CallOutcome { is_error, ..outcome }, out);
            }
            let Some(call) = self.calls.known.get_mut(&id).filter(|call| !call.stands.is_over()) else {
                continue;
            };
            let wants = if execution.requires_confirmation.is_true() {
                AwaitedInput::Consent
            } else if execution.requires_user_input.is_true() {
                AwaitedInput::Input
            } else if execution.external_execution_required.is_true() {
                AwaitedInput::Execution
            } else {
                continue;
            };
            if call.wants.replace(wants) == Some(wants) || wants == AwaitedInput::Execution {
                continue;
            }
            let agent = call.agent.clone();
            let fields = execution.user_input_schema.list().into_iter();
            let fields: Vec<String> =
                fields.filter_map(|it| it.object::<InputField<'_>>().name.word().map(Into::into)).collect();
            let text = (!fields.is_empty()).then(|| format!("needs {}", fields.join(", ")));
            let tool = self.w.tool_id(&id);
            self.w.push_by(agent.as_ref(), Kind::ApprovalRequest { tool, text }, out);
        }
    }

    /// Writes that a person has refused the call `id`, with a note if there is one.
    pub(super) fn reject(&mut self, id: &str, execution: &ToolExecution<'_>, out: &mut Decoded) {
        let Some(call) = self.calls.known.get_mut(id) else { return };
        if call.stands.is_over() {
            return;
        }
        call.stands = AgnoCallStage::Over;
        let agent = call.agent.clone();
        let text = execution.confirmation_note.word().map(Into::into);
        let tool = self.w.tool_id(id);
        self.w.push_by(agent.as_ref(), Kind::ApprovalAnswer { tool, approved: false, text }, out);
    }

    /// Continues a run that paused, if the event says that it goes on. The beginning of another run ends it
    /// as paused.
    pub(super) fn resume(&mut self, event: &str, it: &AgnoEvent<'_>, out: &mut Decoded) {
        let is_more = matches!(
            event,
            "RunStarted"
                | "RunContinued"
                | "WorkflowStarted"
                | "StepContinued"
                | "StepExecutorContinued"
                | "ModelRequestStarted"
                | "RunContent"
                | "ToolCallStarted"
        );
        if self.pause == PauseState::No || !is_more {
            return;
        }
        let run = it.run_id.words().unwrap_or_default();
        let outer = it.workflow_run_id.word().or_else(|| it.parent_run_id.word());
        let begins = matches!(event, "RunStarted" | "WorkflowStarted");
        if begins && outer.is_none() && !run.is_empty() && run != self.root.as_str() {
            return self.close(Some(RunStatus::Complete), None, out);
        }
        // Events of the continuation may count from the beginning again.
        (self.pause, self.last_index) = (PauseState::No, None);
        self.main.go_on();
        self.others.values_mut().for_each(super::AgnoSpeaker::go_on);
    }

    /// Writes the calls of `agent` as refused that waited for consent and have not started, since the model
    /// is asked again.
    pub(super) fn settle(&mut self, agent: Option<&AgentId>, out: &mut Decoded) {
        let is_asked = |wants: Option<AwaitedInput>| wants == Some(AwaitedInput::Consent);
        let rejected: Vec<_> = self
            .calls
            .known
            .iter()
            .filter(|(_, call)| {
                is_asked(call.wants) && call.stands == AgnoCallStage::Waiting && call.agent.as_ref() == agent
            })
            .map(|(id, _)| id.clone())
            .collect();
        for id in rejected {
            self.reject(&id, &ToolExecution::default(), out);
        }
    }

    /// Ends the calls that waited for a person, since the run is complete. What others returned for calls
    /// that they executed was sent to the model alone, so those are complete without a result.
    pub(super) fn settle_all(&mut self, out: &mut Decoded) {
        let waiting: Vec<_> = self
            .calls
            .known
            .iter()
            .filter(|(_, call)| call.stands == AgnoCallStage::Waiting)
            .filter_map(|(id, call)| Some((id.clone(), call.wants?, call.agent.clone())))
            .collect();
        for (id, wants, agent) in waiting {
            match wants {
                AwaitedInput::Consent => self.reject(&id, &ToolExecution::default(), out),
                AwaitedInput::Input | AwaitedInput::Execution => {
                    self.w.state(&id, ToolState::Complete, agent.as_ref(), out);
                }
            }
        }
    }
}

/// A value that a person has to give.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct InputField<'a> {
    #[serde(borrow)]
    name: ForeignField<'a>,
}
