//! Counts of tokens in the spellings that dialects of agents use: `inputTokens` or `prompt_tokens`, as
//! numbers or as objects with details.

use super::field::{ForeignField, ForeignFields};
use model::event::Usage;

/// The tokens that `value` reports: an object, or a list with one for each model, which add up. Nothing if no
/// object has input or output tokens.
pub(super) fn usage(value: ForeignField<'_>) -> Option<Usage> {
    value.list().into_iter().filter_map(one).reduce(Usage::plus)
}

/// The tokens of one object. Counts that are absent are 0.
fn one(value: ForeignField<'_>) -> Option<Usage> {
    let fields = ForeignFields::of(value);
    let input = total(fields.any(&["inputTokens", "promptTokens"]));
    let output = total(fields.any(&["outputTokens", "completionTokens"]));
    if input.is_none() && output.is_none() {
        return None;
    }
    let read = ForeignFields::of(fields.any(&["inputTokenDetails", "inputTokens"]));
    let written = ForeignFields::of(fields.any(&["outputTokenDetails", "outputTokens"]));
    let cached = fields.any(&["cachedInputTokens", "cacheReadTokens"]);
    let cached = cached.count().or_else(|| read.any(&["cacheReadTokens", "cacheRead"]).count());
    let reasoning = fields.get("reasoningTokens").count();
    let reasoning = reasoning.or_else(|| written.any(&["reasoningTokens", "reasoning"]).count());
    Some(Usage {
        input_tokens: input.unwrap_or(0),
        output_tokens: output.unwrap_or(0),
        reasoning_tokens: reasoning.unwrap_or(0),
        cached_tokens: cached.unwrap_or(0),
        cost: None,
    })
}

/// A number, or the `total` of an object with details.
fn total(value: ForeignField<'_>) -> Option<u64> {
    if value.is_object() { ForeignFields::of(value).get("total").count() } else { value.count() }
}
