//! The JSON objects of the Interactions API, with the fields that the decoder reads.

use serde::Deserialize;

use crate::field::ForeignField;
use model::event::Usage;

/// One event of a stream. An interaction that was not streamed and an error body have the same outer shape.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct InteractionsStreamEvent<'a> {
    /// The type of the event; SSE repeats it as the name of the event.
    #[serde(borrow)]
    pub(super) event_type: ForeignField<'a>,
    /// The number of the step, from 0.
    #[serde(borrow)]
    pub(super) index: ForeignField<'a>,
    /// The step as it begins ([`InteractionContent`]).
    #[serde(borrow, alias = "content")]
    pub(super) step: ForeignField<'a>,
    /// What is new of the step ([`InteractionContent`]).
    #[serde(borrow)]
    pub(super) delta: ForeignField<'a>,
    #[serde(borrow)]
    pub(super) interaction: ForeignField<'a>,
    #[serde(borrow)]
    pub(super) status: ForeignField<'a>,
    /// What is said beside the event: the tokens so far.
    #[serde(borrow)]
    pub(super) metadata: ForeignField<'a>,
    #[serde(borrow)]
    pub(super) usage: ForeignField<'a>,
    #[serde(borrow)]
    pub(super) error: ForeignField<'a>,
    /// What went wrong, in error bodies of gateways.
    #[serde(borrow)]
    pub(super) message: ForeignField<'a>,
    #[serde(borrow)]
    object: ForeignField<'a>,
    #[serde(borrow)]
    steps: ForeignField<'a>,
    #[serde(borrow)]
    outputs: ForeignField<'a>,
}

impl InteractionsStreamEvent<'_> {
    /// Whether the object is no event but an interaction as a whole.
    pub(super) fn is_interaction(&self) -> bool {
        let is_named = self.object.text().is_some_and(|object| object == "interaction");
        is_named || (self.status.is_some() && (self.steps.is_list() || self.outputs.is_list()))
    }
}

/// An interaction, at its start, at its end or whole.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct InteractionFields<'a> {
    #[serde(borrow)]
    pub(super) model: ForeignField<'a>,
    /// The agent of the vendor that answers, in place of a model.
    #[serde(borrow)]
    pub(super) agent: ForeignField<'a>,
    #[serde(borrow)]
    pub(super) status: ForeignField<'a>,
    #[serde(borrow)]
    pub(super) usage: ForeignField<'a>,
    #[serde(borrow)]
    pub(super) steps: ForeignField<'a>,
    /// The first version's name for the steps.
    #[serde(borrow)]
    pub(super) outputs: ForeignField<'a>,
    #[serde(borrow)]
    pub(super) error: ForeignField<'a>,
}

/// A step, a delta of one, or a piece of content: they share their types, and each uses some of the fields.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct InteractionContent<'a> {
    #[serde(borrow, rename = "type")]
    pub(super) kind: ForeignField<'a>,
    #[serde(borrow)]
    pub(super) text: ForeignField<'a>,
    #[serde(borrow)]
    pub(super) annotations: ForeignField<'a>,
    /// One piece or a list of them.
    #[serde(borrow)]
    pub(super) content: ForeignField<'a>,
    /// The texts of a thought, as a list.
    #[serde(borrow)]
    pub(super) summary: ForeignField<'a>,
    /// The vendor's signature of a thought.
    #[serde(borrow)]
    pub(super) signature: ForeignField<'a>,
    #[serde(borrow)]
    pub(super) id: ForeignField<'a>,
    #[serde(borrow)]
    pub(super) name: ForeignField<'a>,
    /// The arguments of a call: an object, or a piece of its text.
    #[serde(borrow, alias = "partial_arguments")]
    pub(super) arguments: ForeignField<'a>,
    /// The call of which this is the result.
    #[serde(borrow)]
    pub(super) call_id: ForeignField<'a>,
    #[serde(borrow)]
    pub(super) result: ForeignField<'a>,
    #[serde(borrow)]
    pub(super) is_error: ForeignField<'a>,
    /// The type of a file.
    #[serde(borrow)]
    pub(super) mime_type: ForeignField<'a>,
    #[serde(borrow, rename = "data")]
    pub(super) base64: ForeignField<'a>,
    #[serde(borrow)]
    pub(super) uri: ForeignField<'a>,
}

/// Counts of tokens. Reasoning, and what the vendor's own tools returned, are counted apart.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct InteractionUsage<'a> {
    #[serde(borrow, rename = "total_input_tokens")]
    input: ForeignField<'a>,
    #[serde(borrow, rename = "total_tool_use_tokens")]
    tool_use: ForeignField<'a>,
    #[serde(borrow, rename = "total_output_tokens")]
    output: ForeignField<'a>,
    #[serde(borrow, rename = "total_thought_tokens")]
    thoughts: ForeignField<'a>,
    #[serde(borrow, rename = "total_cached_tokens")]
    cached: ForeignField<'a>,
}

/// The tokens in `field`; nothing if it counts none. The dialect counts reasoning, and what its own tools fed
/// back, apart from the rest; the event model counts them as output and input.
pub(super) fn usage(field: ForeignField<'_>) -> Option<Usage> {
    let told: InteractionUsage<'_> = field.object();
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
