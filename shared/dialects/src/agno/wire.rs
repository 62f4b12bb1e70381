//! The JSON objects of the dialect, with the fields that the decoder reads. All kinds of events share one
//! flat object, and so do messages of the history.

use serde::Deserialize;

use crate::field::ForeignField;
use model::event::Usage;

/// An event of an agent, a team or a workflow, or the output of a whole run.
#[derive(Debug, Default, Clone, Copy, Deserialize)]
#[serde(default)]
pub(super) struct AgnoEvent<'a> {
    /// The name of the event; SSE repeats it.
    #[serde(borrow)]
    pub(super) event: ForeignField<'a>,
    /// The time of the event, in seconds since 1970.
    #[serde(borrow)]
    pub(super) created_at: ForeignField<'a>,
    /// The number of the event in its run, in resumable streams.
    #[serde(borrow)]
    pub(super) event_index: ForeignField<'a>,
    #[serde(borrow)]
    pub(super) agent_name: ForeignField<'a>,
    #[serde(borrow)]
    pub(super) agent_id: ForeignField<'a>,
    #[serde(borrow)]
    pub(super) team_name: ForeignField<'a>,
    #[serde(borrow)]
    pub(super) team_id: ForeignField<'a>,
    /// The run of the agent, member or step.
    #[serde(borrow)]
    pub(super) run_id: ForeignField<'a>,
    /// The run that a member works for.
    #[serde(borrow)]
    pub(super) parent_run_id: ForeignField<'a>,
    /// The run of the workflow around it.
    #[serde(borrow)]
    pub(super) workflow_run_id: ForeignField<'a>,
    /// `true` in events of the agent that leads a workflow.
    #[serde(borrow)]
    pub(super) workflow_agent: ForeignField<'a>,
    #[serde(borrow)]
    pub(super) step_name: ForeignField<'a>,
    #[serde(borrow)]
    pub(super) model: ForeignField<'a>,
    /// More text in `RunContent`, the whole answer in `RunCompleted`, an object if the agent answers in a
    /// shape of its own.
    #[serde(borrow)]
    pub(super) content: ForeignField<'a>,
    /// More reasoning, or in steps all of it so far.
    #[serde(borrow)]
    pub(super) reasoning_content: ForeignField<'a>,
    /// The reasoning, in old versions.
    #[serde(borrow)]
    pub(super) thinking: ForeignField<'a>,
    #[serde(borrow)]
    pub(super) citations: ForeignField<'a>,
    #[serde(borrow)]
    pub(super) image: ForeignField<'a>,
    #[serde(borrow)]
    pub(super) images: ForeignField<'a>,
    #[serde(borrow)]
    pub(super) videos: ForeignField<'a>,
    #[serde(borrow)]
    pub(super) audio: ForeignField<'a>,
    #[serde(borrow)]
    pub(super) files: ForeignField<'a>,
    /// The call that the event is about (a [`ToolExecution`]).
    #[serde(borrow)]
    pub(super) tool: ForeignField<'a>,
    /// Calls: of a pause, of the output of a run, and in old versions of any event about calls.
    #[serde(borrow)]
    pub(super) tools: ForeignField<'a>,
    /// What a paused run waits for, each with a `tool_execution`.
    #[serde(borrow)]
    pub(super) requirements: ForeignField<'a>,
    #[serde(borrow)]
    pub(super) tool_execution: ForeignField<'a>,
    #[serde(borrow)]
    pub(super) error: ForeignField<'a>,
    #[serde(borrow)]
    pub(super) error_type: ForeignField<'a>,
    #[serde(borrow)]
    pub(super) detail: ForeignField<'a>,
    #[serde(borrow)]
    pub(super) message: ForeignField<'a>,
    /// Tokens and times ([`AgnoMetrics`]).
    #[serde(borrow)]
    pub(super) metrics: ForeignField<'a>,
    /// The status with which a run ended, in its output.
    #[serde(borrow)]
    pub(super) status: ForeignField<'a>,
    /// The messages of a run, in its output.
    #[serde(borrow)]
    pub(super) messages: ForeignField<'a>,
    #[serde(borrow)]
    pub(super) role: ForeignField<'a>,
    /// `true` in messages of an earlier run.
    #[serde(borrow)]
    pub(super) from_history: ForeignField<'a>,
    #[serde(borrow)]
    pub(super) memories: ForeignField<'a>,
    #[serde(borrow)]
    pub(super) session_summary: ForeignField<'a>,
    #[serde(borrow)]
    pub(super) followups: ForeignField<'a>,
    #[serde(borrow)]
    pub(super) tool_call_id: ForeignField<'a>,
    #[serde(borrow)]
    pub(super) tool_call_index: ForeignField<'a>,
    #[serde(borrow)]
    pub(super) tool_call_name: ForeignField<'a>,
    /// A piece of the arguments, in `ToolCallArgsDelta`.
    #[serde(borrow)]
    pub(super) arguments_delta: ForeignField<'a>,
}

/// A call, and its result once there is one.
#[derive(Debug, Default, Clone, Copy, Deserialize)]
#[serde(default)]
pub(super) struct ToolExecution<'a> {
    #[serde(borrow)]
    pub(super) tool_call_id: ForeignField<'a>,
    /// The call inside of which a foreign harness makes this one.
    #[serde(borrow)]
    pub(super) parent_tool_call_id: ForeignField<'a>,
    #[serde(borrow)]
    pub(super) tool_name: ForeignField<'a>,
    /// The arguments, an object.
    #[serde(borrow)]
    pub(super) tool_args: ForeignField<'a>,
    /// Whether it failed; then `result` says how.
    #[serde(borrow)]
    pub(super) tool_call_error: ForeignField<'a>,
    #[serde(borrow)]
    pub(super) result: ForeignField<'a>,
    #[serde(borrow)]
    pub(super) content: ForeignField<'a>,
    #[serde(borrow)]
    pub(super) metrics: ForeignField<'a>,
    /// The run of the member that does the work.
    #[serde(borrow)]
    pub(super) child_run_id: ForeignField<'a>,
    /// A person has to consent.
    #[serde(borrow)]
    pub(super) requires_confirmation: ForeignField<'a>,
    /// Whether a person consented; absent before.
    #[serde(borrow)]
    pub(super) confirmed: ForeignField<'a>,
    /// What the person said about it.
    #[serde(borrow)]
    pub(super) confirmation_note: ForeignField<'a>,
    #[serde(borrow)]
    pub(super) answered: ForeignField<'a>,
    /// A person has to give values for the arguments.
    #[serde(borrow)]
    pub(super) requires_user_input: ForeignField<'a>,
    /// The names of those values.
    #[serde(borrow)]
    pub(super) user_input_schema: ForeignField<'a>,
    /// Whether somebody else has to execute the call.
    #[serde(borrow)]
    pub(super) external_execution_required: ForeignField<'a>,
}

/// What a run or a call took. Older versions report counts as lists, one for each model call.
#[derive(Debug, Default, Clone, Copy, Deserialize)]
#[serde(default)]
pub(super) struct AgnoMetrics<'a> {
    /// The duration, in seconds.
    #[serde(borrow)]
    duration: ForeignField<'a>,
    /// The duration in older versions, in seconds.
    #[serde(borrow)]
    time: ForeignField<'a>,
    #[serde(borrow)]
    input_tokens: ForeignField<'a>,
    #[serde(borrow)]
    output_tokens: ForeignField<'a>,
    #[serde(borrow)]
    reasoning_tokens: ForeignField<'a>,
    #[serde(borrow)]
    cache_read_tokens: ForeignField<'a>,
    #[serde(borrow)]
    cached_tokens: ForeignField<'a>,
}

impl AgnoMetrics<'_> {
    /// The duration, in milliseconds.
    pub(super) fn millis(&self) -> Option<u64> {
        let seconds = if self.duration.is_some() { self.duration } else { self.time };
        let seconds: f64 = seconds.as_json_text().parse().ok()?;
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "`as` saturates")]
        (seconds.is_finite() && seconds >= 0.0).then_some((seconds * 1000.0).round() as u64)
    }

    /// The tokens; nothing if neither input nor output is counted.
    pub(super) fn usage(&self) -> Option<Usage> {
        let (input_tokens, output_tokens) = (sum(self.input_tokens), sum(self.output_tokens));
        input_tokens.or(output_tokens)?;
        Some(Usage {
            input_tokens: input_tokens.unwrap_or_default(),
            output_tokens: output_tokens.unwrap_or_default(),
            reasoning_tokens: sum(self.reasoning_tokens).unwrap_or_default(),
            cached_tokens: sum(self.cache_read_tokens).or(sum(self.cached_tokens)).unwrap_or_default(),
            cost: None,
        })
    }
}

/// A count, or the sum of a list of counts.
fn sum(count: ForeignField<'_>) -> Option<u64> {
    if !count.is_list() {
        return count.count();
    }
    let counts: Vec<u64> = serde_json::from_str(count.as_json_text()).ok()?;
    Some(counts.into_iter().fold(0, u64::saturating_add))
}
