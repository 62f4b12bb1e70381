//! The objects of the dialect, with the fields that vendors add.

use serde::Deserialize;

use crate::field::ForeignField;
use model::event::Usage;

/// A chunk of a stream, a whole answer, or an error in the place of either.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct ChatChunk<'a> {
    #[serde(borrow)]
    pub(super) object: ForeignField<'a>,
    #[serde(borrow)]
    pub(super) model: ForeignField<'a>,
    #[serde(borrow)]
    pub(super) choices: ForeignField<'a>,
    #[serde(borrow)]
    pub(super) usage: ForeignField<'a>,
    #[serde(borrow)]
    pub(super) error: ForeignField<'a>,
    #[serde(borrow)]
    pub(super) x_groq: ForeignField<'a>,
    #[serde(borrow)]
    pub(super) detail: ForeignField<'a>,
    #[serde(borrow)]
    pub(super) message: ForeignField<'a>,
    #[serde(borrow)]
    pub(super) citations: ForeignField<'a>,
    #[serde(borrow)]
    pub(super) search_results: ForeignField<'a>,
}

/// Groq's own corner of a chunk.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct GroqFields<'a> {
    #[serde(borrow)]
    pub(super) usage: ForeignField<'a>,
    #[serde(borrow)]
    pub(super) error: ForeignField<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct ChoiceChunk<'a> {
    #[serde(borrow)]
    pub(super) index: ForeignField<'a>,
    #[serde(borrow)]
    pub(super) delta: ForeignField<'a>,
    /// The whole message of an answer that is not streamed. Some vendors repeat it beside each delta.
    #[serde(borrow)]
    pub(super) message: ForeignField<'a>,
    /// The legacy completions API. Some vendors repeat the delta's content here.
    #[serde(borrow)]
    pub(super) text: ForeignField<'a>,
    #[serde(borrow)]
    pub(super) finish_reason: ForeignField<'a>,
    #[serde(borrow)]
    pub(super) usage: ForeignField<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct ChatDelta<'a> {
    #[serde(borrow)]
    pub(super) role: ForeignField<'a>,
    #[serde(borrow)]
    pub(super) content: ForeignField<'a>,
    #[serde(borrow)]
    pub(super) refusal: ForeignField<'a>,
    #[serde(borrow)]
    pub(super) reasoning_content: ForeignField<'a>,
    #[serde(borrow)]
    pub(super) reasoning: ForeignField<'a>,
    #[serde(borrow)]
    pub(super) reasoning_details: ForeignField<'a>,
    #[serde(borrow)]
    pub(super) tool_calls: ForeignField<'a>,
    #[serde(borrow)]
    pub(super) function_call: ForeignField<'a>,
    #[serde(borrow)]
    pub(super) tool_call_id: ForeignField<'a>,
    #[serde(borrow)]
    pub(super) executed_tools: ForeignField<'a>,
    #[serde(borrow)]
    pub(super) annotations: ForeignField<'a>,
    #[serde(borrow)]
    pub(super) images: ForeignField<'a>,
    #[serde(borrow)]
    pub(super) audio: ForeignField<'a>,
}

/// A fragment of a tool call, or what a legacy `function_call` holds.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct CallFragment<'a> {
    #[serde(borrow)]
    pub(super) index: ForeignField<'a>,
    #[serde(borrow)]
    pub(super) id: ForeignField<'a>,
    #[serde(borrow)]
    pub(super) function: ForeignField<'a>,
    #[serde(borrow)]
    pub(super) custom: ForeignField<'a>,
}

/// What is called, and with what.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct ChatFunction<'a> {
    #[serde(borrow)]
    pub(super) name: ForeignField<'a>,
    #[serde(borrow)]
    pub(super) arguments: ForeignField<'a>,
    #[serde(borrow)]
    pub(super) input: ForeignField<'a>,
}

/// A tool that the provider has executed itself.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct ExecutedTool<'a> {
    #[serde(borrow)]
    pub(super) index: ForeignField<'a>,
    #[serde(borrow, rename = "type")]
    pub(super) kind: ForeignField<'a>,
    #[serde(borrow)]
    pub(super) name: ForeignField<'a>,
    #[serde(borrow)]
    pub(super) arguments: ForeignField<'a>,
    #[serde(borrow)]
    pub(super) output: ForeignField<'a>,
}

/// An item of a list of content, reasoning, images or annotations.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct ChatContentPart<'a> {
    #[serde(borrow, rename = "type")]
    pub(super) kind: ForeignField<'a>,
    #[serde(borrow)]
    pub(super) text: ForeignField<'a>,
    #[serde(borrow)]
    pub(super) thinking: ForeignField<'a>,
    #[serde(borrow)]
    pub(super) summary: ForeignField<'a>,
    #[serde(borrow)]
    pub(super) refusal: ForeignField<'a>,
    #[serde(borrow)]
    pub(super) image_url: ForeignField<'a>,
    #[serde(borrow)]
    pub(super) url: ForeignField<'a>,
    #[serde(borrow)]
    pub(super) transcript: ForeignField<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct ChatUsage<'a> {
    #[serde(borrow)]
    prompt_tokens: ForeignField<'a>,
    #[serde(borrow)]
    completion_tokens: ForeignField<'a>,
    #[serde(borrow)]
    input_tokens: ForeignField<'a>,
    #[serde(borrow)]
    output_tokens: ForeignField<'a>,
    #[serde(borrow)]
    prompt_tokens_details: ForeignField<'a>,
    #[serde(borrow)]
    completion_tokens_details: ForeignField<'a>,
    #[serde(borrow)]
    reasoning_tokens: ForeignField<'a>,
    #[serde(borrow)]
    cached_tokens: ForeignField<'a>,
    #[serde(borrow)]
    prompt_cache_hit_tokens: ForeignField<'a>,
    #[serde(borrow)]
    cost: ForeignField<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct ChatUsageDetails<'a> {
    #[serde(borrow)]
    reasoning_tokens: ForeignField<'a>,
    #[serde(borrow)]
    cached_tokens: ForeignField<'a>,
}

/// Tokens, by whatever names; nothing when `field` is no object or counts none.
pub(crate) fn usage(field: ForeignField<'_>) -> Option<Usage> {
    let fields: ChatUsage<'_> = field.object();
    let input = fields.prompt_tokens.count().or_else(|| fields.input_tokens.count());
    let output = fields.completion_tokens.count().or_else(|| fields.output_tokens.count());
    if input.is_none() && output.is_none() {
        return None;
    }
    let read: ChatUsageDetails<'_> = fields.prompt_tokens_details.object();
    let written: ChatUsageDetails<'_> = fields.completion_tokens_details.object();
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
