//! The fields of a transcript's lines, and what several of them mean together.

use std::time::Duration;

use serde::Deserialize;

use crate::field::Field;
use crate::openai_chat::usage as tokens;
use model::event::{ErrorFact, Usage};

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Line<'a> {
    #[serde(borrow)]
    pub(super) timestamp: Field<'a>,
    #[serde(borrow)]
    pub(super) thread_id: Field<'a>,
    #[serde(borrow)]
    pub(super) event_type: Field<'a>,
    #[serde(borrow, rename = "type")]
    pub(super) kind: Field<'a>,
    #[serde(borrow)]
    pub(super) payload: Field<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Payload<'a> {
    #[serde(borrow)]
    pub(super) directive: Field<'a>,
    #[serde(borrow)]
    pub(super) model: Field<'a>,
    #[serde(borrow)]
    pub(super) limits: Field<'a>,
    #[serde(borrow)]
    pub(super) cost: Field<'a>,
    #[serde(borrow)]
    pub(super) suspend_reason: Field<'a>,
    #[serde(borrow)]
    pub(super) reason: Field<'a>,
    #[serde(borrow)]
    pub(super) text: Field<'a>,
    #[serde(borrow)]
    pub(super) role: Field<'a>,
    #[serde(borrow)]
    pub(super) turn: Field<'a>,
    #[serde(borrow)]
    pub(super) is_partial: Field<'a>,
    #[serde(borrow)]
    pub(super) was_interrupted: Field<'a>,
    #[serde(borrow)]
    pub(super) truncated: Field<'a>,
    #[serde(borrow)]
    pub(super) completion_percentage: Field<'a>,
    #[serde(borrow)]
    pub(super) tool: Field<'a>,
    #[serde(borrow)]
    pub(super) call_id: Field<'a>,
    #[serde(borrow)]
    pub(super) input: Field<'a>,
    #[serde(borrow)]
    pub(super) output: Field<'a>,
    #[serde(borrow)]
    pub(super) error: Field<'a>,
    #[serde(borrow)]
    pub(super) duration_ms: Field<'a>,
    #[serde(borrow)]
    pub(super) child_thread_id: Field<'a>,
    #[serde(borrow)]
    pub(super) child_directive: Field<'a>,
    #[serde(borrow)]
    pub(super) error_code: Field<'a>,
    #[serde(borrow)]
    pub(super) category: Field<'a>,
    #[serde(borrow)]
    pub(super) detail: Field<'a>,
    #[serde(borrow)]
    pub(super) message: Field<'a>,
    #[serde(borrow)]
    pub(super) retryable: Field<'a>,
    #[serde(borrow)]
    pub(super) limit_code: Field<'a>,
    #[serde(borrow)]
    pub(super) current_value: Field<'a>,
    #[serde(borrow)]
    pub(super) current_max: Field<'a>,
}

/// What a thread used, with what it spent, in dollars; nothing where it says neither.
pub(super) fn usage(cost: Field<'_>) -> Option<Usage> {
    let spend = cost.fields().get("spend").dollars();
    let used = tokens(cost).or_else(|| spend.map(|_known| Usage::default()))?;
    Some(Usage { cost: spend.or(used.cost), ..used })
}

/// Why a thread failed, where it says so. A sum of its costs alone says nothing of that.
pub(super) fn failure(payload: &Payload<'_>) -> Option<ErrorFact> {
    let said = [payload.error, payload.message, payload.detail];
    let message = said.into_iter().find_map(Field::words);
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
pub(super) fn is_partial(payload: &Payload<'_>) -> bool {
    payload.is_partial.is_true() || payload.truncated.is_true()
}

/// Seconds since 1970 with their fraction, as milliseconds.
pub(super) fn millis(seconds: Field<'_>) -> Option<u64> {
    let seconds = seconds.as_json_text().trim_matches('"').parse().ok()?;
    u64::try_from(Duration::try_from_secs_f64(seconds).ok()?.as_millis()).ok()
}
