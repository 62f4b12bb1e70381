//! The objects of the dialect.

use serde::Deserialize;

use crate::field::Field;
use model::event::Usage;

/// One event of a stream. An interaction that was not streamed and an error body have the same outer shape.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct StreamEvent<'a> {
    #[serde(borrow)]
    pub(super) event_type: Field<'a>,
    #[serde(borrow)]
    pub(super) index: Field<'a>,
    #[serde(borrow, alias = "content")]
    pub(super) step: Field<'a>,
    #[serde(borrow)]
    pub(super) delta: Field<'a>,
    #[serde(borrow)]
    pub(super) interaction: Field<'a>,
    #[serde(borrow)]
    pub(super) status: Field<'a>,
    /// What is told beside the event: how many tokens so far.
    #[serde(borrow)]
    pub(super) metadata: Field<'a>,
    #[serde(borrow)]
    pub(super) usage: Field<'a>,
    #[serde(borrow)]
    pub(super) error: Field<'a>,
    /// Of gateways' error bodies.
    #[serde(borrow)]
    pub(super) message: Field<'a>,
    #[serde(borrow)]
    object: Field<'a>,
    #[serde(borrow)]
    steps: Field<'a>,
    #[serde(borrow)]
    outputs: Field<'a>,
}

impl StreamEvent<'_> {
    /// It is no event but an interaction as a whole.
    pub(super) fn is_interaction(&self) -> bool {
        let is_named = self.object.text().is_some_and(|object| object == "interaction");
        is_named || (self.status.is_some() && (self.steps.is_list() || self.outputs.is_list()))
    }
}

/// An interaction, at its begin, at its end or whole.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct InteractionBody<'a> {
    #[serde(borrow)]
    pub(super) model: Field<'a>,
    /// In the place of a model where an agent of the vendor's answers.
    #[serde(borrow)]
    pub(super) agent: Field<'a>,
    #[serde(borrow)]
    pub(super) status: Field<'a>,
    #[serde(borrow)]
    pub(super) usage: Field<'a>,
    #[serde(borrow)]
    pub(super) steps: Field<'a>,
    /// The first version's name for the steps.
    #[serde(borrow)]
    pub(super) outputs: Field<'a>,
    #[serde(borrow)]
    pub(super) error: Field<'a>,
}

/// A step, a delta of one, or a piece of content: they share their types.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Body<'a> {
    #[serde(borrow, rename = "type")]
    pub(super) kind: Field<'a>,
    #[serde(borrow)]
    pub(super) text: Field<'a>,
    #[serde(borrow)]
    pub(super) annotations: Field<'a>,
    /// One piece or a list of them.
    #[serde(borrow)]
    pub(super) content: Field<'a>,
    /// Of thoughts: a list of texts.
    #[serde(borrow)]
    pub(super) summary: Field<'a>,
    #[serde(borrow)]
    pub(super) signature: Field<'a>,
    #[serde(borrow)]
    pub(super) id: Field<'a>,
    #[serde(borrow)]
    pub(super) name: Field<'a>,
    /// An object, or a piece of its text.
    #[serde(borrow, alias = "partial_arguments")]
    pub(super) arguments: Field<'a>,
    #[serde(borrow)]
    pub(super) call_id: Field<'a>,
    #[serde(borrow)]
    pub(super) result: Field<'a>,
    #[serde(borrow)]
    pub(super) is_error: Field<'a>,
    /// Of files.
    #[serde(borrow)]
    pub(super) mime_type: Field<'a>,
    #[serde(borrow, rename = "data")]
    pub(super) base64: Field<'a>,
    #[serde(borrow)]
    pub(super) uri: Field<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct UsageFields<'a> {
    #[serde(borrow, rename = "total_input_tokens")]
    input: Field<'a>,
    #[serde(borrow, rename = "total_tool_use_tokens")]
    tool_use: Field<'a>,
    #[serde(borrow, rename = "total_output_tokens")]
    output: Field<'a>,
    #[serde(borrow, rename = "total_thought_tokens")]
    thoughts: Field<'a>,
    #[serde(borrow, rename = "total_cached_tokens")]
    cached: Field<'a>,
}

/// The tokens that an object tells; nothing where it counts none. The dialect counts thinking, and what its own tools fed
/// back, apart from the rest; we do not.
pub(super) fn usage(field: Field<'_>) -> Option<Usage> {
    let told: UsageFields<'_> = field.object();
    let (input, output) = (told.input.count(), told.output.count());
    if input.is_none() && output.is_none() {
        return None;
    }
    let thoughts = told.thoughts.count().unwrap_or(0);
    Some(Usage {
        input_tokens: input.unwrap_or(0).saturating_add(told.tool_use.count().unwrap_or(0)),
        output_tokens: output.unwrap_or(0).saturating_add(thoughts),
        reasoning_tokens: thoughts,
        cached_tokens: told.cached.count().unwrap_or(0),
        cost: None,
    })
}
