//! The JSON objects of the dialect. The API writes names in camel case; the vendor's Python library logs them
//! in snake case. Both are read.

use compact_str::CompactString;
use serde::Deserialize;

use crate::fault::fault;
use crate::field::ForeignField;
use model::event::{ErrorFact, Usage};

/// A response object: a piece of a stream, or the whole.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct GenerateResponse<'a> {
    #[serde(borrow)]
    pub(super) candidates: ForeignField<'a>,
    /// The tokens so far, in nearly each object of a stream.
    #[serde(borrow, alias = "usage_metadata")]
    pub(super) usage_metadata: ForeignField<'a>,
    /// The model that answers.
    #[serde(borrow, alias = "model_version")]
    pub(super) model_version: ForeignField<'a>,
    /// The id of the answer; the same in all its objects.
    #[serde(borrow, alias = "response_id")]
    pub(super) response_id: ForeignField<'a>,
    /// Why the prompt was not answered ([`PromptFeedback`]).
    #[serde(borrow, alias = "prompt_feedback")]
    pub(super) prompt_feedback: ForeignField<'a>,
    #[serde(borrow)]
    pub(super) error: ForeignField<'a>,
    /// What went wrong, in error bodies of gateways.
    #[serde(borrow)]
    pub(super) message: ForeignField<'a>,
    /// A response in a wrapper, as the endpoint of the vendor's own command line sends it.
    #[serde(borrow, rename = "response")]
    pub(super) wrapped: ForeignField<'a>,
}

impl GenerateResponse<'_> {
    /// Whether the object is a response, not just any object.
    pub(super) fn is_known(&self) -> bool {
        let fields = [self.candidates, self.usage_metadata, self.prompt_feedback, self.response_id];
        fields.into_iter().any(ForeignField::is_some) || self.error.is_truthy()
    }

    /// Whether the object has at most token counts and ids.
    pub(super) fn says_nothing(&self) -> bool {
        !self.candidates.is_truthy() && !self.error.is_truthy() && !self.prompt_feedback.is_truthy()
    }
}

/// One of the answers that were requested: what is new of it, or all of it.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct GeminiCandidate<'a> {
    #[serde(borrow)]
    pub(super) content: ForeignField<'a>,
    #[serde(borrow)]
    pub(super) index: ForeignField<'a>,
    /// Why the model stopped: `STOP` (after calls too), `MAX_TOKENS`, `SAFETY`, `MALFORMED_FUNCTION_CALL`, …
    #[serde(borrow, alias = "finish_reason")]
    pub(super) finish_reason: ForeignField<'a>,
    /// Why the model stopped, in words.
    #[serde(borrow, alias = "finish_message")]
    pub(super) finish_message: ForeignField<'a>,
    #[serde(borrow, alias = "grounding_metadata")]
    pub(super) grounding_metadata: ForeignField<'a>,
    #[serde(borrow, alias = "citation_metadata")]
    pub(super) citation_metadata: ForeignField<'a>,
    #[serde(borrow, alias = "url_context_metadata")]
    pub(super) url_context_metadata: ForeignField<'a>,
    #[serde(borrow, alias = "safety_ratings")]
    pub(super) safety_ratings: ForeignField<'a>,
}

/// What a filter says of a candidate.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct SafetyRating<'a> {
    #[serde(borrow)]
    pub(super) blocked: ForeignField<'a>,
}

/// The content of a candidate: a list of [`GeminiPart`]s.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct GeminiContent<'a> {
    #[serde(borrow)]
    pub(super) parts: ForeignField<'a>,
}

/// A part of a content: one of its fields is present, and perhaps a mark or a signature beside it.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct GeminiPart<'a> {
    #[serde(borrow)]
    pub(super) text: ForeignField<'a>,
    /// `true` if the text is reasoning.
    #[serde(borrow)]
    pub(super) thought: ForeignField<'a>,
    /// The vendor's signature of the reasoning before this part, also on an empty text.
    #[serde(borrow, alias = "thought_signature")]
    pub(super) thought_signature: ForeignField<'a>,
    /// A call of a tool of the caller ([`GeminiCallFields`]).
    #[serde(borrow, alias = "function_call")]
    pub(super) function_call: ForeignField<'a>,
    /// The result of such a call, where a stream repeats it.
    #[serde(borrow, alias = "function_response")]
    pub(super) function_response: ForeignField<'a>,
    /// Code that the vendor executes.
    #[serde(borrow, alias = "executable_code")]
    pub(super) executable_code: ForeignField<'a>,
    /// What that code printed.
    #[serde(borrow, alias = "code_execution_result")]
    pub(super) code_execution_result: ForeignField<'a>,
    /// A call of another tool of the vendor.
    #[serde(borrow, alias = "tool_call")]
    pub(super) tool_call: ForeignField<'a>,
    /// The result of such a call.
    #[serde(borrow, alias = "tool_response")]
    pub(super) tool_response: ForeignField<'a>,
    /// A file with its content ([`GeminiFile`]).
    #[serde(borrow, alias = "inline_data")]
    pub(super) inline_data: ForeignField<'a>,
    /// A file with its address ([`GeminiFile`]).
    #[serde(borrow, alias = "file_data")]
    pub(super) file_data: ForeignField<'a>,
}

/// A call, or its result.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct GeminiCallFields<'a> {
    /// The id of the call; most calls have none.
    #[serde(borrow)]
    pub(super) id: ForeignField<'a>,
    #[serde(borrow)]
    pub(super) name: ForeignField<'a>,
    /// The type of a tool of the vendor, which has no name.
    #[serde(borrow, alias = "tool_type")]
    pub(super) tool_type: ForeignField<'a>,
    /// The whole arguments, an object.
    #[serde(borrow)]
    pub(super) args: ForeignField<'a>,
    /// Pieces of streamed arguments ([`PartialArg`], Vertex).
    #[serde(borrow, alias = "partial_args")]
    pub(super) partial_args: ForeignField<'a>,
    /// Whether more pieces follow.
    #[serde(borrow, alias = "will_continue")]
    pub(super) will_continue: ForeignField<'a>,
    #[serde(borrow)]
    pub(super) response: ForeignField<'a>,
    /// How code ended: `OUTCOME_OK`, or why it failed.
    #[serde(borrow)]
    pub(super) outcome: ForeignField<'a>,
    #[serde(borrow)]
    pub(super) output: ForeignField<'a>,
}

/// A piece of streamed arguments: one of the values is present, or none for `null`.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct PartialArg<'a> {
    /// The place of the value in the arguments: `$.trip.stops[0]`.
    #[serde(borrow, alias = "json_path")]
    pub(super) json_path: ForeignField<'a>,
    /// A string, or more of the string at the same place.
    #[serde(borrow, alias = "string_value")]
    pub(super) string_value: ForeignField<'a>,
    #[serde(borrow, alias = "number_value")]
    pub(super) number_value: ForeignField<'a>,
    #[serde(borrow, alias = "bool_value")]
    pub(super) bool_value: ForeignField<'a>,
}

/// A file, as its content in base64 or its address.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct GeminiFile<'a> {
    #[serde(borrow, alias = "mime_type")]
    pub(super) mime_type: ForeignField<'a>,
    #[serde(borrow, rename = "data")]
    pub(super) content: ForeignField<'a>,
    #[serde(borrow, alias = "file_uri")]
    pub(super) file_uri: ForeignField<'a>,
}

/// Why a prompt was not answered: a word, and perhaps a sentence.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct PromptFeedback<'a> {
    #[serde(borrow, alias = "block_reason")]
    pub(super) block_reason: ForeignField<'a>,
    #[serde(borrow, alias = "block_reason_message")]
    pub(super) block_reason_message: ForeignField<'a>,
}

/// Counts of tokens. Reasoning, and what the vendor's own tools returned, are counted apart.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct GeminiUsage<'a> {
    #[serde(borrow, rename = "promptTokenCount", alias = "prompt_token_count")]
    prompt: ForeignField<'a>,
    #[serde(borrow, rename = "toolUsePromptTokenCount", alias = "tool_use_prompt_token_count")]
    tool_use: ForeignField<'a>,
    #[serde(borrow, rename = "cachedContentTokenCount", alias = "cached_content_token_count")]
    cached: ForeignField<'a>,
    #[serde(borrow, rename = "candidatesTokenCount", alias = "candidates_token_count")]
    candidates: ForeignField<'a>,
    #[serde(borrow, rename = "thoughtsTokenCount", alias = "thoughts_token_count")]
    thoughts: ForeignField<'a>,
}

/// The tokens in `field`; nothing if it counts none. Counts are cumulative. The dialect counts reasoning, and
/// what its own tools fed back, apart from the rest; the event model counts them as output and input.
pub(super) fn usage(field: ForeignField<'_>) -> Option<Usage> {
    let told: GeminiUsage<'_> = field.object();
    let (prompt, candidates) = (told.prompt.count(), told.candidates.count());
    let thoughts = told.thoughts.count();
    if prompt.is_none() && candidates.is_none() && thoughts.is_none() {
        return None;
    }
    let thoughts = thoughts.unwrap_or(0);
    Some(Usage {
        input_tokens: prompt.unwrap_or(0).saturating_add(told.tool_use.count().unwrap_or(0)),
        output_tokens: candidates.unwrap_or(0).saturating_add(thoughts),
        reasoning_tokens: thoughts,
        cached_tokens: told.cached.count().unwrap_or(0),
        cost: None,
    })
}

/// The fields of an error, and of its details.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct GeminiError<'a> {
    #[serde(borrow)]
    error: ForeignField<'a>,
    #[serde(borrow)]
    status: ForeignField<'a>,
    #[serde(borrow)]
    details: ForeignField<'a>,
    #[serde(borrow)]
    retry_delay: ForeignField<'a>,
}

/// The failure in `whole`. The vendor's errors have an HTTP status in `code`, a name in `status`, which
/// becomes the code, and the time to wait among `details` (`retryDelay`).
pub(crate) fn failure(whole: ForeignField<'_>) -> ErrorFact {
    let mut fact = fault(whole);
    let outer: GeminiError<'_> = whole.object();
    let error: GeminiError<'_> = if outer.error.is_object() { outer.error.object() } else { outer };
    if let Some(status) = error.status.word() {
        fact.code = CompactString::new(&status);
    }
    let details = error.details.list().into_iter();
    let waits = details.filter_map(|detail| millis(&detail.object::<GeminiError<'_>>().retry_delay.text()?));
    fact.retry_after_ms = fact.retry_after_ms.or(waits.max());
    fact
}

/// The milliseconds of a duration as the vendor writes it: `34.07s`. Nothing for anything else.
fn millis(text: &str) -> Option<u64> {
    let (whole, fraction) = text.strip_suffix('s')?.split_once('.').unwrap_or((text.strip_suffix('s')?, ""));
    let thousandths: String = fraction.chars().chain("000".chars()).take(3).collect();
    whole.parse::<u64>().ok()?.checked_mul(1000)?.checked_add(thousandths.parse().ok()?)
}
