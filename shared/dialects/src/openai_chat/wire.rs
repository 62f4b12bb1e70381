//! The objects of the dialect, with the fields that vendors add.

use serde::Deserialize;

use crate::field::Field;
use model::event::Usage;

/// A chunk of a stream, a whole answer, or an error in the place of either.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Chunk<'a> {
    #[serde(borrow)]
    pub(super) object: Field<'a>,
    #[serde(borrow)]
    pub(super) model: Field<'a>,
    #[serde(borrow)]
    pub(super) choices: Field<'a>,
    #[serde(borrow)]
    pub(super) usage: Field<'a>,
    #[serde(borrow)]
    pub(super) error: Field<'a>,
    #[serde(borrow)]
    pub(super) x_groq: Field<'a>,
    #[serde(borrow)]
    pub(super) detail: Field<'a>,
    #[serde(borrow)]
    pub(super) message: Field<'a>,
    #[serde(borrow)]
    pub(super) citations: Field<'a>,
    #[serde(borrow)]
    pub(super) search_results: Field<'a>,
}

/// Groq's own corner of a chunk.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct XGroq<'a> {
    #[serde(borrow)]
    pub(super) usage: Field<'a>,
    #[serde(borrow)]
    pub(super) error: Field<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct ChoiceChunk<'a> {
    #[serde(borrow)]
    pub(super) index: Field<'a>,
    #[serde(borrow)]
    pub(super) delta: Field<'a>,
    /// The whole message of an answer that is not streamed. Some vendors repeat it beside each delta.
    #[serde(borrow)]
    pub(super) message: Field<'a>,
    /// The legacy completions API. Some vendors repeat the delta's content here.
    #[serde(borrow)]
    pub(super) text: Field<'a>,
    #[serde(borrow)]
    pub(super) finish_reason: Field<'a>,
    #[serde(borrow)]
    pub(super) usage: Field<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Delta<'a> {
    #[serde(borrow)]
    pub(super) role: Field<'a>,
    #[serde(borrow)]
    pub(super) content: Field<'a>,
    #[serde(borrow)]
    pub(super) refusal: Field<'a>,
    #[serde(borrow)]
    pub(super) reasoning_content: Field<'a>,
    #[serde(borrow)]
    pub(super) reasoning: Field<'a>,
    #[serde(borrow)]
    pub(super) reasoning_details: Field<'a>,
    #[serde(borrow)]
    pub(super) tool_calls: Field<'a>,
    #[serde(borrow)]
    pub(super) function_call: Field<'a>,
    #[serde(borrow)]
    pub(super) tool_call_id: Field<'a>,
    #[serde(borrow)]
    pub(super) executed_tools: Field<'a>,
    #[serde(borrow)]
    pub(super) annotations: Field<'a>,
    #[serde(borrow)]
    pub(super) images: Field<'a>,
    #[serde(borrow)]
    pub(super) audio: Field<'a>,
}

/// A fragment of a tool call, or what a legacy `function_call` holds.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct CallFragment<'a> {
    #[serde(borrow)]
    pub(super) index: Field<'a>,
    #[serde(borrow)]
    pub(super) id: Field<'a>,
    #[serde(borrow)]
    pub(super) function: Field<'a>,
    #[serde(borrow)]
    pub(super) custom: Field<'a>,
}

/// What is called, and with what.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Function<'a> {
    #[serde(borrow)]
    pub(super) name: Field<'a>,
    #[serde(borrow)]
    pub(super) arguments: Field<'a>,
    #[serde(borrow)]
    pub(super) input: Field<'a>,
}

/// A tool that the provider has executed itself.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Executed<'a> {
    #[serde(borrow)]
    pub(super) index: Field<'a>,
    #[serde(borrow, rename = "type")]
    pub(super) kind: Field<'a>,
    #[serde(borrow)]
    pub(super) name: Field<'a>,
    #[serde(borrow)]
    pub(super) arguments: Field<'a>,
    #[serde(borrow)]
    pub(super) output: Field<'a>,
}

/// An item of a list of content, reasoning, images or annotations.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Piece<'a> {
    #[serde(borrow, rename = "type")]
    pub(super) kind: Field<'a>,
    #[serde(borrow)]
    pub(super) text: Field<'a>,
    #[serde(borrow)]
    pub(super) thinking: Field<'a>,
    #[serde(borrow)]
    pub(super) summary: Field<'a>,
    #[serde(borrow)]
    pub(super) refusal: Field<'a>,
    #[serde(borrow)]
    pub(super) image_url: Field<'a>,
    #[serde(borrow)]
    pub(super) url: Field<'a>,
    #[serde(borrow)]
    pub(super) transcript: Field<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct UsageFields<'a> {
    #[serde(borrow)]
    prompt_tokens: Field<'a>,
    #[serde(borrow)]
    completion_tokens: Field<'a>,
    #[serde(borrow)]
    input_tokens: Field<'a>,
    #[serde(borrow)]
    output_tokens: Field<'a>,
    #[serde(borrow)]
    prompt_tokens_details: Field<'a>,
    #[serde(borrow)]
    completion_tokens_details: Field<'a>,
    #[serde(borrow)]
    reasoning_tokens: Field<'a>,
    #[serde(borrow)]
    cached_tokens: Field<'a>,
    #[serde(borrow)]
    prompt_cache_hit_tokens: Field<'a>,
    #[serde(borrow)]
    cost: Field<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct UsageDetails<'a> {
    #[serde(borrow)]
    reasoning_tokens: Field<'a>,
    #[serde(borrow)]
    cached_tokens: Field<'a>,
}

/// Tokens, by whatever names; nothing when `field` is no object or counts none.
pub(crate) fn usage(field: Field<'_>) -> Option<Usage> {
    let fields: UsageFields<'_> = field.object();
    let input = fields.prompt_tokens.count().or_else(|| fields.input_tokens.count());
    let output = fields.completion_tokens.count().or_else(|| fields.output_tokens.count());
    if input.is_none() && output.is_none() {
        return None;
    }
    let read: UsageDetails<'_> = fields.prompt_tokens_details.object();
    let written: UsageDetails<'_> = fields.completion_tokens_details.object();
    let cached = read.cached_tokens.count().or_else(|| fields.prompt_cache_hit_tokens.count());
    Some(Usage {
        input_tokens: input.unwrap_or(0),
        output_tokens: output.unwrap_or(0),
        reasoning_tokens: written
            .reasoning_tokens
            .count()
            .or_else(|| fields.reasoning_tokens.count())
            .unwrap_or(0),
        cached_tokens: cached.or_else(|| fields.cached_tokens.count()).unwrap_or(0),
        // Gateways say it, in dollars; some beside its parts.
        cost: fields.cost.dollars().or_else(|| fields.cost.fields().get("total_cost").dollars()),
    })
}
