//! The objects of the dialect. The API writes names in camel case; the vendor's Python library logs them in snake case.

use compact_str::CompactString;
use serde::Deserialize;

use crate::fault::fault;
use crate::field::Field;
use model::event::{ErrorFact, Usage};

/// A response object: a piece of a stream, or the whole.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct Answer<'a> {
    #[serde(borrow)]
    pub(super) candidates: Field<'a>,
    #[serde(borrow, alias = "usage_metadata")]
    pub(super) usage_metadata: Field<'a>,
    #[serde(borrow, alias = "model_version")]
    pub(super) model_version: Field<'a>,
    #[serde(borrow, alias = "response_id")]
    pub(super) response_id: Field<'a>,
    #[serde(borrow, alias = "prompt_feedback")]
    pub(super) prompt_feedback: Field<'a>,
    #[serde(borrow)]
    pub(super) error: Field<'a>,
    /// Of gateways' error bodies.
    #[serde(borrow)]
    pub(super) message: Field<'a>,
    /// A response in a wrapper.
    #[serde(borrow, rename = "response")]
    pub(super) wrapped: Field<'a>,
}

impl Answer<'_> {
    /// It is one, not just any object.
    pub(super) fn is_known(&self) -> bool {
        let fields = [self.candidates, self.usage_metadata, self.prompt_feedback, self.response_id];
        fields.into_iter().any(Field::is_some) || self.error.is_truthy()
    }

    /// There is nothing in it but how many tokens it took, or not even that.
    pub(super) fn says_nothing(&self) -> bool {
        !self.candidates.is_truthy() && !self.error.is_truthy() && !self.prompt_feedback.is_truthy()
    }
}

/// What came of one of the answers that were asked for.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct CandidateBody<'a> {
    #[serde(borrow)]
    pub(super) content: Field<'a>,
    #[serde(borrow)]
    pub(super) index: Field<'a>,
    #[serde(borrow, alias = "finish_reason")]
    pub(super) finish_reason: Field<'a>,
    #[serde(borrow, alias = "finish_message")]
    pub(super) finish_message: Field<'a>,
    #[serde(borrow, alias = "grounding_metadata")]
    pub(super) grounding_metadata: Field<'a>,
    #[serde(borrow, alias = "citation_metadata")]
    pub(super) citation_metadata: Field<'a>,
    #[serde(borrow, alias = "url_context_metadata")]
    pub(super) url_context_metadata: Field<'a>,
    #[serde(borrow, alias = "safety_ratings")]
    pub(super) safety_ratings: Field<'a>,
}

/// What a filter thinks of a candidate.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Rating<'a> {
    #[serde(borrow)]
    pub(super) blocked: Field<'a>,
}

/// What a candidate says.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Content<'a> {
    #[serde(borrow)]
    pub(super) parts: Field<'a>,
}

/// A part: one of its fields is there, and perhaps a mark or a signature beside it.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct PartBody<'a> {
    #[serde(borrow)]
    pub(super) text: Field<'a>,
    #[serde(borrow)]
    pub(super) thought: Field<'a>,
    #[serde(borrow, alias = "thought_signature")]
    pub(super) thought_signature: Field<'a>,
    #[serde(borrow, alias = "function_call")]
    pub(super) function_call: Field<'a>,
    #[serde(borrow, alias = "function_response")]
    pub(super) function_response: Field<'a>,
    #[serde(borrow, alias = "executable_code")]
    pub(super) executable_code: Field<'a>,
    #[serde(borrow, alias = "code_execution_result")]
    pub(super) code_execution_result: Field<'a>,
    #[serde(borrow, alias = "tool_call")]
    pub(super) tool_call: Field<'a>,
    #[serde(borrow, alias = "tool_response")]
    pub(super) tool_response: Field<'a>,
    #[serde(borrow, alias = "inline_data")]
    pub(super) inline_data: Field<'a>,
    #[serde(borrow, alias = "file_data")]
    pub(super) file_data: Field<'a>,
}

/// A call, or what came back from one.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct CallBody<'a> {
    #[serde(borrow)]
    pub(super) id: Field<'a>,
    #[serde(borrow)]
    pub(super) name: Field<'a>,
    /// The vendor's own tools have a type in the place of a name.
    #[serde(borrow, alias = "tool_type")]
    pub(super) tool_type: Field<'a>,
    #[serde(borrow)]
    pub(super) args: Field<'a>,
    #[serde(borrow, alias = "partial_args")]
    pub(super) partial_args: Field<'a>,
    #[serde(borrow, alias = "will_continue")]
    pub(super) will_continue: Field<'a>,
    #[serde(borrow)]
    pub(super) response: Field<'a>,
    /// Of code that was executed.
    #[serde(borrow)]
    pub(super) outcome: Field<'a>,
    #[serde(borrow)]
    pub(super) output: Field<'a>,
}

/// A piece of streamed arguments.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct PartialArg<'a> {
    #[serde(borrow, alias = "json_path")]
    pub(super) json_path: Field<'a>,
    #[serde(borrow, alias = "string_value")]
    pub(super) string_value: Field<'a>,
    #[serde(borrow, alias = "number_value")]
    pub(super) number_value: Field<'a>,
    #[serde(borrow, alias = "bool_value")]
    pub(super) bool_value: Field<'a>,
}

/// A file, as its content or its address.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct FileBody<'a> {
    #[serde(borrow, alias = "mime_type")]
    pub(super) mime_type: Field<'a>,
    #[serde(borrow, rename = "data")]
    pub(super) content: Field<'a>,
    #[serde(borrow, alias = "file_uri")]
    pub(super) file_uri: Field<'a>,
}

/// Why a prompt was not answered.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct PromptFeedback<'a> {
    #[serde(borrow, alias = "block_reason")]
    pub(super) block_reason: Field<'a>,
    #[serde(borrow, alias = "block_reason_message")]
    pub(super) block_reason_message: Field<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct UsageFields<'a> {
    #[serde(borrow, rename = "promptTokenCount", alias = "prompt_token_count")]
    prompt: Field<'a>,
    #[serde(borrow, rename = "toolUsePromptTokenCount", alias = "tool_use_prompt_token_count")]
    tool_use: Field<'a>,
    #[serde(borrow, rename = "cachedContentTokenCount", alias = "cached_content_token_count")]
    cached: Field<'a>,
    #[serde(borrow, rename = "candidatesTokenCount", alias = "candidates_token_count")]
    candidates: Field<'a>,
    #[serde(borrow, rename = "thoughtsTokenCount", alias = "thoughts_token_count")]
    thoughts: Field<'a>,
}

/// The tokens that an object tells; nothing where it counts none. What the dialect tells is cumulative, so the last counts.
/// It counts thinking, and what its own tools fed back, apart from the rest; we do not.
pub(super) fn usage(field: Field<'_>) -> Option<Usage> {
    let told: UsageFields<'_> = field.object();
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

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Failure<'a> {
    #[serde(borrow)]
    error: Field<'a>,
    #[serde(borrow)]
    status: Field<'a>,
    #[serde(borrow)]
    details: Field<'a>,
    #[serde(borrow)]
    retry_delay: Field<'a>,
}

/// What failed. The vendor's errors have a number in `code`, a telling name in `status` and the wait among `details`.
pub(crate) fn failure(whole: Field<'_>) -> ErrorFact {
    let mut fact = fault(whole);
    let outer: Failure<'_> = whole.object();
    let error: Failure<'_> = if outer.error.is_object() { outer.error.object() } else { outer };
    if let Some(status) = error.status.word() {
        fact.code = CompactString::new(&status);
    }
    let details = error.details.list().into_iter();
    let waits = details.filter_map(|detail| millis(&detail.object::<Failure<'_>>().retry_delay.text()?));
    fact.retry_after_ms = fact.retry_after_ms.or(waits.max());
    fact
}

/// A duration as the vendor writes it: `34.07s`.
fn millis(text: &str) -> Option<u64> {
    let (whole, fraction) = text.strip_suffix('s')?.split_once('.').unwrap_or((text.strip_suffix('s')?, ""));
    let thousandths: String = fraction.chars().chain("000".chars()).take(3).collect();
    whole.parse::<u64>().ok()?.checked_mul(1000)?.checked_add(thousandths.parse().ok()?)
}
