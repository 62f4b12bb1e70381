//! The objects of the dialect.

use serde::Deserialize;

use crate::field::Field;
use model::event::Usage;

/// An event of a stream, or a whole answer.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct StreamEvent<'a> {
    #[serde(borrow, rename = "type")]
    pub(super) kind: Field<'a>,
    #[serde(borrow)]
    pub(super) index: Field<'a>,
    #[serde(borrow)]
    pub(super) delta: Field<'a>,
    /// Of a whole answer: the message; of an error: what went wrong.
    #[serde(borrow)]
    pub(super) message: Field<'a>,
    #[serde(borrow)]
    pub(super) error: Field<'a>,
}

/// What is new with an event; a whole answer has the same fields at its end.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Delta<'a> {
    #[serde(borrow)]
    pub(super) message: Field<'a>,
    #[serde(borrow)]
    pub(super) finish_reason: Field<'a>,
    #[serde(borrow)]
    pub(super) usage: Field<'a>,
    #[serde(borrow)]
    pub(super) error: Field<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Message<'a> {
    #[serde(borrow)]
    pub(super) content: Field<'a>,
    #[serde(borrow)]
    pub(super) tool_plan: Field<'a>,
    #[serde(borrow)]
    pub(super) tool_calls: Field<'a>,
    #[serde(borrow)]
    pub(super) citations: Field<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Content<'a> {
    #[serde(borrow)]
    pub(super) text: Field<'a>,
    #[serde(borrow)]
    pub(super) thinking: Field<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Call<'a> {
    #[serde(borrow)]
    pub(super) id: Field<'a>,
    #[serde(borrow)]
    pub(super) function: Field<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Function<'a> {
    #[serde(borrow)]
    pub(super) name: Field<'a>,
    #[serde(borrow)]
    pub(super) arguments: Field<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct UsageFields<'a> {
    #[serde(borrow)]
    tokens: Field<'a>,
    #[serde(borrow)]
    billed_units: Field<'a>,
    #[serde(borrow)]
    cached_tokens: Field<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
#[expect(clippy::struct_field_names, reason = "the names of the dialect")]
struct Counts<'a> {
    #[serde(borrow)]
    input_tokens: Field<'a>,
    #[serde(borrow)]
    output_tokens: Field<'a>,
    #[serde(borrow)]
    reasoning_tokens: Field<'a>,
}

/// Tokens as the model saw them; those that are paid for only where there are no others.
pub(super) fn usage(field: Field<'_>) -> Option<Usage> {
    let fields: UsageFields<'_> = field.object();
    let counted = if fields.tokens.is_truthy() { fields.tokens } else { fields.billed_units };
    let counts: Counts<'_> = counted.object();
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
