//! The objects of the dialect.

use serde::Deserialize;

use crate::field::ForeignField;
use model::event::Usage;

/// An event of a stream, or a whole answer.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct CohereStreamEvent<'a> {
    #[serde(borrow, rename = "type")]
    pub(super) kind: ForeignField<'a>,
    #[serde(borrow)]
    pub(super) index: ForeignField<'a>,
    #[serde(borrow)]
    pub(super) delta: ForeignField<'a>,
    /// Of a whole answer: the message; of an error: what went wrong.
    #[serde(borrow)]
    pub(super) message: ForeignField<'a>,
    #[serde(borrow)]
    pub(super) error: ForeignField<'a>,
}

/// What is new with an event; a whole answer has the same fields at its end.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct CohereDelta<'a> {
    #[serde(borrow)]
    pub(super) message: ForeignField<'a>,
    #[serde(borrow)]
    pub(super) finish_reason: ForeignField<'a>,
    #[serde(borrow)]
    pub(super) usage: ForeignField<'a>,
    #[serde(borrow)]
    pub(super) error: ForeignField<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct CohereMessage<'a> {
    #[serde(borrow)]
    pub(super) content: ForeignField<'a>,
    #[serde(borrow)]
    pub(super) tool_plan: ForeignField<'a>,
    #[serde(borrow)]
    pub(super) tool_calls: ForeignField<'a>,
    #[serde(borrow)]
    pub(super) citations: ForeignField<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct CohereContent<'a> {
    #[serde(borrow)]
    pub(super) text: ForeignField<'a>,
    #[serde(borrow)]
    pub(super) thinking: ForeignField<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct CohereToolCall<'a> {
    #[serde(borrow)]
    pub(super) id: ForeignField<'a>,
    #[serde(borrow)]
    pub(super) function: ForeignField<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct CohereFunction<'a> {
    #[serde(borrow)]
    pub(super) name: ForeignField<'a>,
    #[serde(borrow)]
    pub(super) arguments: ForeignField<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct CohereUsage<'a> {
    #[serde(borrow)]
    tokens: ForeignField<'a>,
    #[serde(borrow)]
    billed_units: ForeignField<'a>,
    #[serde(borrow)]
    cached_tokens: ForeignField<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
#[expect(clippy::struct_field_names, reason = "the names of the dialect")]
struct CohereTokens<'a> {
    #[serde(borrow)]
    input_tokens: ForeignField<'a>,
    #[serde(borrow)]
    output_tokens: ForeignField<'a>,
    #[serde(borrow)]
    reasoning_tokens: ForeignField<'a>,
}

/// Tokens as the model saw them; those that are paid for only where there are no others.
pub(super) fn usage(field: ForeignField<'_>) -> Option<Usage> {
    let fields: CohereUsage<'_> = field.object();
    let counted = if fields.tokens.is_truthy() { fields.tokens } else { fields.billed_units };
    let counts: CohereTokens<'_> = counted.object();
    let (input, output) = (counts.input_tokens.count(), counts.output_tokens.count());
    if input.is_none() && output.is_none() {
        return None;
    }
    Some(Usage {
        input_tokens: input.unwrap_or(0),
        output_tokens: output.unwrap_or(0),
        reasoning_tokens: counts.reasoning_tokens.count().unwrap_or(0),
        cached_tokens: fields.cached_tokens.count().unwrap_or(0),
        cost: None,
    })
}
