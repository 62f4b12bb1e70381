//! Events as the framework writes them down. All kinds share one flat object.

use serde::Deserialize;

use crate::field::Field;
use model::event::Usage;

/// An event of an agent, a team or a workflow, or the output of a whole run.
#[derive(Debug, Default, Clone, Copy, Deserialize)]
#[serde(default)]
pub(super) struct Happening<'a> {
    #[serde(borrow)]
    pub(super) event: Field<'a>,
    #[serde(borrow)]
    pub(super) created_at: Field<'a>,
    #[serde(borrow)]
    pub(super) event_index: Field<'a>,
    #[serde(borrow)]
    pub(super) agent_name: Field<'a>,
    #[serde(borrow)]
    pub(super) agent_id: Field<'a>,
    #[serde(borrow)]
    pub(super) team_name: Field<'a>,
    #[serde(borrow)]
    pub(super) team_id: Field<'a>,
    #[serde(borrow)]
    pub(super) run_id: Field<'a>,
    #[serde(borrow)]
    pub(super) parent_run_id: Field<'a>,
    #[serde(borrow)]
    pub(super) workflow_run_id: Field<'a>,
    #[serde(borrow)]
    pub(super) workflow_agent: Field<'a>,
    #[serde(borrow)]
    pub(super) step_name: Field<'a>,
    #[serde(borrow)]
    pub(super) model: Field<'a>,
    #[serde(borrow)]
    pub(super) content: Field<'a>,
    #[serde(borrow)]
    pub(super) reasoning_content: Field<'a>,
    #[serde(borrow)]
    pub(super) thinking: Field<'a>,
    #[serde(borrow)]
    pub(super) citations: Field<'a>,
    #[serde(borrow)]
    pub(super) image: Field<'a>,
    #[serde(borrow)]
    pub(super) images: Field<'a>,
    #[serde(borrow)]
    pub(super) videos: Field<'a>,
    #[serde(borrow)]
    pub(super) audio: Field<'a>,
    #[serde(borrow)]
    pub(super) files: Field<'a>,
    #[serde(borrow)]
    pub(super) tool: Field<'a>,
    #[serde(borrow)]
    pub(super) tools: Field<'a>,
    #[serde(borrow)]
    pub(super) requirements: Field<'a>,
    #[serde(borrow)]
    pub(super) tool_execution: Field<'a>,
    #[serde(borrow)]
    pub(super) error: Field<'a>,
    #[serde(borrow)]
    pub(super) error_type: Field<'a>,
    #[serde(borrow)]
    pub(super) detail: Field<'a>,
    #[serde(borrow)]
    pub(super) message: Field<'a>,
    #[serde(borrow)]
    pub(super) metrics: Field<'a>,
    #[serde(borrow)]
    pub(super) status: Field<'a>,
    #[serde(borrow)]
    pub(super) messages: Field<'a>,
    #[serde(borrow)]
    pub(super) role: Field<'a>,
    #[serde(borrow)]
    pub(super) from_history: Field<'a>,
    #[serde(borrow)]
    pub(super) memories: Field<'a>,
    #[serde(borrow)]
    pub(super) session_summary: Field<'a>,
    #[serde(borrow)]
    pub(super) followups: Field<'a>,
    #[serde(borrow)]
    pub(super) tool_call_id: Field<'a>,
    #[serde(borrow)]
    pub(super) tool_call_index: Field<'a>,
    #[serde(borrow)]
    pub(super) tool_call_name: Field<'a>,
    #[serde(borrow)]
    pub(super) arguments_delta: Field<'a>,
}

/// A call and what became of it.
#[derive(Debug, Default, Clone, Copy, Deserialize)]
#[serde(default)]
pub(super) struct Execution<'a> {
    #[serde(borrow)]
    pub(super) tool_call_id: Field<'a>,
    #[serde(borrow)]
    pub(super) parent_tool_call_id: Field<'a>,
    #[serde(borrow)]
    pub(super) tool_name: Field<'a>,
    #[serde(borrow)]
    pub(super) tool_args: Field<'a>,
    #[serde(borrow)]
    pub(super) tool_call_error: Field<'a>,
    #[serde(borrow)]
    pub(super) result: Field<'a>,
    #[serde(borrow)]
    pub(super) content: Field<'a>,
    #[serde(borrow)]
    pub(super) metrics: Field<'a>,
    #[serde(borrow)]
    pub(super) child_run_id: Field<'a>,
    #[serde(borrow)]
    pub(super) requires_confirmation: Field<'a>,
    #[serde(borrow)]
    pub(super) confirmed: Field<'a>,
    #[serde(borrow)]
    pub(super) confirmation_note: Field<'a>,
    #[serde(borrow)]
    pub(super) answered: Field<'a>,
    #[serde(borrow)]
    pub(super) requires_user_input: Field<'a>,
    #[serde(borrow)]
    pub(super) user_input_schema: Field<'a>,
    #[serde(borrow)]
    pub(super) external_execution_required: Field<'a>,
}

/// What a run or a call has cost. Older versions tell counts as lists, one for each model call.
#[derive(Debug, Default, Clone, Copy, Deserialize)]
#[serde(default)]
pub(super) struct Metrics<'a> {
    #[serde(borrow)]
    duration: Field<'a>,
    #[serde(borrow)]
    time: Field<'a>,
    #[serde(borrow)]
    input_tokens: Field<'a>,
    #[serde(borrow)]
    output_tokens: Field<'a>,
    #[serde(borrow)]
    reasoning_tokens: Field<'a>,
    #[serde(borrow)]
    cache_read_tokens: Field<'a>,
    #[serde(borrow)]
    cached_tokens: Field<'a>,
}

impl Metrics<'_> {
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

fn sum(count: Field<'_>) -> Option<u64> {
    if !count.is_list() {
        return count.count();
    }
    let counts: Vec<u64> = serde_json::from_str(count.as_json_text()).ok()?;
    Some(counts.into_iter().fold(0, u64::saturating_add))
}
