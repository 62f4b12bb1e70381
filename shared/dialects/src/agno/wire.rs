//! Events as the framework writes them down. All kinds share one flat object.

use serde::Deserialize;

use crate::field::ForeignField;
use model::event::Usage;

/// An event of an agent, a team or a workflow, or the output of a whole run.
#[derive(Debug, Default, Clone, Copy, Deserialize)]
#[serde(default)]
pub(super) struct AgnoEvent<'a> {
    #[serde(borrow)]
    pub(super) event: ForeignField<'a>,
    #[serde(borrow)]
    pub(super) created_at: ForeignField<'a>,
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
    #[serde(borrow)]
    pub(super) run_id: ForeignField<'a>,
    #[serde(borrow)]
    pub(super) parent_run_id: ForeignField<'a>,
    #[serde(borrow)]
    pub(super) workflow_run_id: ForeignField<'a>,
    #[serde(borrow)]
    pub(super) workflow_agent: ForeignField<'a>,
    #[serde(borrow)]
    pub(super) step_name: ForeignField<'a>,
    #[serde(borrow)]
    pub(super) model: ForeignField<'a>,
    #[serde(borrow)]
    pub(super) content: ForeignField<'a>,
    #[serde(borrow)]
    pub(super) reasoning_content: ForeignField<'a>,
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
    #[serde(borrow)]
    pub(super) tool: ForeignField<'a>,
    #[serde(borrow)]
    pub(super) tools: ForeignField<'a>,
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
    #[serde(borrow)]
    pub(super) metrics: ForeignField<'a>,
    #[serde(borrow)]
    pub(super) status: ForeignField<'a>,
    #[serde(borrow)]
    pub(super) messages: ForeignField<'a>,
    #[serde(borrow)]
    pub(super) role: ForeignField<'a>,
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
    #[serde(borrow)]
    pub(super) arguments_delta: ForeignField<'a>,
}

/// A call and what became of it.
#[derive(Debug, Default, Clone, Copy, Deserialize)]
#[serde(default)]
pub(super) struct ToolExecution<'a> {
    #[serde(borrow)]
    pub(super) tool_call_id: ForeignField<'a>,
    #[serde(borrow)]
    pub(super) parent_tool_call_id: ForeignField<'a>,
    #[serde(borrow)]
    pub(super) tool_name: ForeignField<'a>,
    #[serde(borrow)]
    pub(super) tool_args: ForeignField<'a>,
    #[serde(borrow)]
    pub(super) tool_call_error: ForeignField<'a>,
    #[serde(borrow)]
    pub(super) result: ForeignField<'a>,
    #[serde(borrow)]
    pub(super) content: ForeignField<'a>,
    #[serde(borrow)]
    pub(super) metrics: ForeignField<'a>,
    #[serde(borrow)]
    pub(super) child_run_id: ForeignField<'a>,
    #[serde(borrow)]
    pub(super) requires_confirmation: ForeignField<'a>,
    #[serde(borrow)]
    pub(super) confirmed: ForeignField<'a>,
    #[serde(borrow)]
    pub(super) confirmation_note: ForeignField<'a>,
    #[serde(borrow)]
    pub(super) answered: ForeignField<'a>,
    #[serde(borrow)]
    pub(super) requires_user_input: ForeignField<'a>,
    #[serde(borrow)]
    pub(super) user_input_schema: ForeignField<'a>,
    #[serde(borrow)]
    pub(super) external_execution_required: ForeignField<'a>,
}

/// What a run or a call has cost. Older versions tell counts as lists, one for each model call.
#[derive(Debug, Default, Clone, Copy, Deserialize)]
#[serde(default)]
pub(super) struct AgnoMetrics<'a> {
    #[serde(borrow)]
    duration: ForeignField<'a>,
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
    /// How long it took, in milliseconds.
    pub(super) fn millis(&self) -> Option<u64> {
        let seconds = if self.duration.is_some() { self.duration } else { self.time };
        let seconds: f64 = seconds.as_json_text().parse().ok()?;
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "`as` saturates")]
        (seconds.is_finite() && seconds >= 0.0).then_some((seconds * 1000.0).round() as u64)
    }

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

fn sum(count: ForeignField<'_>) -> Option<u64> {
    if !count.is_list() {
        return count.count();
    }
    let counts: Vec<u64> = serde_json::from_str(count.as_json_text()).ok()?;
    Some(counts.into_iter().fold(0, u64::saturating_add))
}
