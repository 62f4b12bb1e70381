//! The JSON objects of chat completions, with the fields that vendors add. A field that no vendor documents
//! for a place may still be there: all are read as if optional.

use serde::Deserialize;

use crate::field::ForeignField;
use model::event::Usage;

/// A chunk of a stream, a whole answer, or an error in the place of either.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct ChatObject<'a> {
    /// `chat.completion.chunk`, `chat.completion`, `text_completion`, or `error`.
    #[serde(borrow)]
    pub(super) object: ForeignField<'a>,
    #[serde(borrow)]
    pub(super) model: ForeignField<'a>,
    /// A list of [`ChatChoice`]s; empty in a chunk that has only the usage, or a filter's result (Azure).
    #[serde(borrow)]
    pub(super) choices: ForeignField<'a>,
    /// The tokens of the answer. Some vendors send them with each chunk.
    #[serde(borrow)]
    pub(super) usage: ForeignField<'a>,
    /// A failure, also beside choices (OpenRouter).
    #[serde(borrow)]
    pub(super) error: ForeignField<'a>,
    /// Groq's own fields ([`GroqFields`]).
    #[serde(borrow)]
    pub(super) x_groq: ForeignField<'a>,
    /// What went wrong, in the error bodies of servers in Python.
    #[serde(borrow)]
    pub(super) detail: ForeignField<'a>,
    /// What went wrong, in other error bodies.
    #[serde(borrow)]
    pub(super) message: ForeignField<'a>,
    /// Sources of the answer as URLs (Perplexity).
    #[serde(borrow)]
    pub(super) citations: ForeignField<'a>,
    /// Sources of the answer as objects (Perplexity).
    #[serde(borrow)]
    pub(super) search_results: ForeignField<'a>,
}

/// What Groq puts into `x_groq`: the usage, or an error, in the last chunk.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct GroqFields<'a> {
    #[serde(borrow)]
    pub(super) usage: ForeignField<'a>,
    #[serde(borrow)]
    pub(super) error: ForeignField<'a>,
}

/// What a chunk says of one choice.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct ChatChoice<'a> {
    /// The number of the choice, from 0; absent counts as 0.
    #[serde(borrow)]
    pub(super) index: ForeignField<'a>,
    /// What is new ([`ChatDelta`]).
    #[serde(borrow)]
    pub(super) delta: ForeignField<'a>,
    /// The whole message of an answer that is not streamed. Some vendors repeat it beside each delta.
    #[serde(borrow)]
    pub(super) message: ForeignField<'a>,
    /// The legacy completions API. Some vendors repeat the delta's content here.
    #[serde(borrow)]
    pub(super) text: ForeignField<'a>,
    /// Why the model stopped: `stop`, `length`, `tool_calls`, `content_filter`, or a vendor's own word.
    #[serde(borrow)]
    pub(super) finish_reason: ForeignField<'a>,
    /// Tokens, where a vendor puts them into the choice.
    #[serde(borrow)]
    pub(super) usage: ForeignField<'a>,
}

/// What is new of a message, or a whole message.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct ChatDelta<'a> {
    /// `assistant`; `tool` for the result of a call (Bernard).
    #[serde(borrow)]
    pub(super) role: ForeignField<'a>,
    /// A text, or a list of pieces (Mistral).
    #[serde(borrow)]
    pub(super) content: ForeignField<'a>,
    #[serde(borrow)]
    pub(super) refusal: ForeignField<'a>,
    /// Reasoning: `DeepSeek`, Qwen, GLM, Kimi, llama.cpp, `SGLang`, xAI.
    #[serde(borrow)]
    pub(super) reasoning_content: ForeignField<'a>,
    /// Reasoning: Groq, Ollama, OpenRouter, newer vLLM.
    #[serde(borrow)]
    pub(super) reasoning: ForeignField<'a>,
    /// The reasoning again, in pieces with a type, some of them encrypted (OpenRouter).
    #[serde(borrow)]
    pub(super) reasoning_details: ForeignField<'a>,
    /// A list of [`CallFragment`]s.
    #[serde(borrow)]
    pub(super) tool_calls: ForeignField<'a>,
    /// The one call of the legacy form.
    #[serde(borrow)]
    pub(super) function_call: ForeignField<'a>,
    /// The call of which this is the result, with the role `tool`.
    #[serde(borrow)]
    pub(super) tool_call_id: ForeignField<'a>,
    /// Tools that the provider executed itself ([`ExecutedTool`], Groq).
    #[serde(borrow)]
    pub(super) executed_tools: ForeignField<'a>,
    #[serde(borrow)]
    pub(super) annotations: ForeignField<'a>,
    #[serde(borrow)]
    pub(super) images: ForeignField<'a>,
    /// Sound; only its transcript is decoded.
    #[serde(borrow)]
    pub(super) audio: ForeignField<'a>,
}

/// A fragment of a tool call, or what a legacy `function_call` holds.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct CallFragment<'a> {
    /// The number of the call in its message, from 0; absent with Mistral.
    #[serde(borrow)]
    pub(super) index: ForeignField<'a>,
    /// The id of the call, in its first fragment; some servers repeat it, empty or not.
    #[serde(borrow)]
    pub(super) id: ForeignField<'a>,
    #[serde(borrow)]
    pub(super) function: ForeignField<'a>,
    /// The call of a tool that takes any text, in place of `function`.
    #[serde(borrow)]
    pub(super) custom: ForeignField<'a>,
}

/// What is called, and with what.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct ChatFunction<'a> {
    #[serde(borrow)]
    pub(super) name: ForeignField<'a>,
    /// A piece of the arguments as text; some servers send the whole object.
    #[serde(borrow)]
    pub(super) arguments: ForeignField<'a>,
    /// A piece of the input of a custom tool.
    #[serde(borrow)]
    pub(super) input: ForeignField<'a>,
}

/// A tool that the provider has executed itself: sent when it begins, and again with its output.
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

/// Counts of tokens, in the spellings of all vendors.
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
    /// Input tokens that were cached (`DeepSeek`).
    #[serde(borrow)]
    prompt_cache_hit_tokens: ForeignField<'a>,
    /// What the answer cost in dollars: a number (OpenRouter), or an object with `total_cost` (Perplexity).
    #[serde(borrow)]
    cost: ForeignField<'a>,
}

/// The parts of the input or of the output tokens.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct ChatUsageDetails<'a> {
    #[serde(borrow)]
    reasoning_tokens: ForeignField<'a>,
    #[serde(borrow)]
    cached_tokens: ForeignField<'a>,
}

/// Tokens, by whatever names, with the cost if the gateway says it; nothing if `field` is no object or counts
/// none.
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
