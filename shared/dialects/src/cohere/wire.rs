//! The JSON objects of Cohere's chat API, version 2, with the fields that the decoder reads.

use serde::Deserialize;

use crate::field::ForeignField;
use model::event::Usage;

/// An event of a stream, or a whole answer.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct CohereStreamEvent<'a> {
    /// The type of the event; SSE repeats it as the name of the event.
    #[serde(borrow, rename = "type")]
    pub(super) kind: ForeignField<'a>,
    /// The number of the content or call, from 0, for each kind anew.
    #[serde(borrow)]
    pub(super) index: ForeignField<'a>,
    /// What is new ([`CohereDelta`]).
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
    /// `COMPLETE`, `MAX_TOKENS`, `STOP_SEQUENCE`, `TOOL_CALL`, `ERROR` or `TIMEOUT`.
    #[serde(borrow)]
    pub(super) finish_reason: ForeignField<'a>,
    #[serde(borrow)]
    pub(super) usage: ForeignField<'a>,
    #[serde(borrow)]
    pub(super) error: ForeignField<'a>,
}

/// The message, whole or what is new of it.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct CohereMessage<'a> {
    /// An object in an event, a list of them in a whole answer.
    #[serde(borrow)]
    pub(super) content: ForeignField<'a>,
    /// What the model intends to do with its tools, as text.
    #[serde(borrow)]
    pub(super) tool_plan: ForeignField<'a>,
    /// One call in an event, a list in a whole answer.
    #[serde(borrow)]
    pub(super) tool_calls: ForeignField<'a>,
    /// One citation in an event, a list in a whole answer.
    #[serde(borrow)]
    pub(super) citations: ForeignField<'a>,
}

/// A piece of content: text or reasoning.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct CohereContent<'a> {
    #[serde(borrow)]
    pub(super) text: ForeignField<'a>,
    #[serde(borrow)]
    pub(super) thinking: ForeignField<'a>,
}

/// A call. Only its first event has the id.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct CohereToolCall<'a> {
    #[serde(borrow)]
    pub(super) id: ForeignField<'a>,
    #[serde(borrow)]
    pub(super) function: ForeignField<'a>,
}

/// What is called. Only its first event has the name.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct CohereFunction<'a> {
    #[serde(borrow)]
    pub(super) name: ForeignField<'a>,
    /// A piece of the arguments, as text.
    #[serde(borrow)]
    pub(super) arguments: ForeignField<'a>,
}

/// The tokens of an answer, counted twice: as the model saw them, and as they are paid for.
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

/// The counts of tokens in a `usage`.
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

/// Tokens as the model saw them; those that are paid for (`billed_units`) only if there are no others.
/// Nothing if there is neither input nor output.
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
