//! The fields of a transcript's lines, and what several of them mean together.

use std::time::Duration;

use serde::Deserialize;

use crate::field::ForeignField;
use crate::openai_chat::usage as tokens;
use model::event::{ErrorFact, Usage};

/// A line: when and where something happened.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct RyeLine<'a> {
    /// The time of the line, in seconds since 1970, with a fraction.
    #[serde(borrow)]
    pub(super) timestamp: ForeignField<'a>,
    #[serde(borrow)]
    pub(super) thread_id: ForeignField<'a>,
    /// The name of the event.
    #[serde(borrow)]
    pub(super) event_type: ForeignField<'a>,
    /// The name of the event, in lines without `payload`.
    #[serde(borrow, rename = "type")]
    pub(super) kind: ForeignField<'a>,
    #[serde(borrow)]
    pub(super) payload: ForeignField<'a>,
}

/// What happened; each event uses some of the fields.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct RyePayload<'a> {
    #[serde(borrow)]
    pub(super) directive: ForeignField<'a>,
    #[serde(borrow)]
    pub(super) model: ForeignField<'a>,
    #[serde(borrow)]
    pub(super) limits: ForeignField<'a>,
    /// What the thread used: tokens, and `spend` in dollars.
    #[serde(borrow)]
    pub(super) cost: ForeignField<'a>,
    /// `limit`, `error`, `budget` or `approval`.
    #[serde(borrow)]
    pub(super) suspend_reason: ForeignField<'a>,
    #[serde(borrow)]
    pub(super) reason: ForeignField<'a>,
    #[serde(borrow)]
    pub(super) text: ForeignField<'a>,
    #[serde(borrow)]
    pub(super) role: ForeignField<'a>,
    #[serde(borrow)]
    pub(super) turn: ForeignField<'a>,
    /// The text is not whole.
    #[serde(borrow)]
    pub(super) is_partial: ForeignField<'a>,
    #[serde(borrow)]
    pub(super) was_interrupted: ForeignField<'a>,
    /// The text of a `cognition_out` is not whole.
    #[serde(borrow)]
    pub(super) truncated: ForeignField<'a>,
    /// About how much of the answer there is.
    #[serde(borrow)]
    pub(super) completion_percentage: ForeignField<'a>,
    #[serde(borrow)]
    pub(super) tool: ForeignField<'a>,
    #[serde(borrow)]
    pub(super) call_id: ForeignField<'a>,
    #[serde(borrow)]
    pub(super) input: ForeignField<'a>,
    #[serde(borrow)]
    pub(super) output: ForeignField<'a>,
    #[serde(borrow)]
    pub(super) error: ForeignField<'a>,
    #[serde(borrow)]
    pub(super) duration_ms: ForeignField<'a>,
    #[serde(borrow)]
    pub(super) child_thread_id: ForeignField<'a>,
    #[serde(borrow)]
    pub(super) child_directive: ForeignField<'a>,
    #[serde(borrow)]
    pub(super) error_code: ForeignField<'a>,
    #[serde(borrow)]
    pub(super) category: ForeignField<'a>,
    #[serde(borrow)]
    pub(super) detail: ForeignField<'a>,
    #[serde(borrow)]
    pub(super) message: ForeignField<'a>,
    #[serde(borrow)]
    pub(super) retryable: ForeignField<'a>,
    #[serde(borrow)]
    pub(super) limit_code: ForeignField<'a>,
    #[serde(borrow)]
    pub(super) current_value: ForeignField<'a>,
    #[serde(borrow)]
    pub(super) current_max: ForeignField<'a>,
}

/// The tokens that a thread used, and what it spent in dollars; nothing if it says neither.
pub(super) fn usage(cost: ForeignField<'_>) -> Option<Usage> {
    let spend = cost.fields().get("spend").dollars();
    let used = tokens(cost).or_else(|| spend.map(|_known| Usage::default()))?;
    Some(Usage { cost: spend.or(used.cost), ..used })
}

/// Why a thread failed, if it says so.
pub(super) fn failure(payload: &RyePayload<'_>) -> Option<ErrorFact> {
    let said = [payload.error, payload.message, payload.detail];
    let message = said.into_iter().find_map(ForeignField::words);
    let code = payload.error_code.words();
    if message.is_none() && code.is_none() {
        return None;
    }
    Some(ErrorFact {
        code: code.as_deref().unwrap_or("thread_error").into(),
        message: message.or(code).unwrap_or_default().into_owned(),
        retryable: payload.retryable.switch(),
        retry_after_ms: None,
    })
}

/// Whether a cognition says of itself that it broke off.
pub(super) fn is_partial(payload: &RyePayload<'_>) -> bool {
    payload.is_partial.is_true() || payload.truncated.is_true()
}

/// Seconds since 1970 with their fraction, as milliseconds; nothing for anything else.
pub(super) fn millis(seconds: ForeignField<'_>) -> Option<u64> {
    let seconds = seconds.as_json_text().trim_matches('"').parse().ok()?;
    u64::try_from(Duration::try_from_secs_f64(seconds).ok()?.as_millis()).ok()
}
