//! The objects of the dialect.

use serde::Deserialize;

use crate::field::ForeignField;
use model::event::Usage;

/// One event of a stream. An answer that was not streamed and an error body have the same outer shape.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct ResponsesStreamEvent<'a> {
    #[serde(borrow, rename = "type")]
    pub(super) kind: ForeignField<'a>,
    #[serde(borrow)]
    pub(super) response: ForeignField<'a>,
    #[serde(borrow)]
    pub(super) item: ForeignField<'a>,
    #[serde(borrow)]
    pub(super) item_id: ForeignField<'a>,
    #[serde(borrow)]
    pub(super) output_index: ForeignField<'a>,
    #[serde(borrow)]
    pub(super) content_index: ForeignField<'a>,
    #[serde(borrow)]
    pub(super) summary_index: ForeignField<'a>,
    #[serde(borrow)]
    pub(super) command_index: ForeignField<'a>,
    #[serde(borrow)]
    pub(super) delta: ForeignField<'a>,
    #[serde(borrow)]
    pub(super) text: ForeignField<'a>,
    #[serde(borrow)]
    pub(super) refusal: ForeignField<'a>,
    #[serde(borrow)]
    pub(super) part: ForeignField<'a>,
    #[serde(borrow)]
    pub(super) annotation: ForeignField<'a>,
    #[serde(borrow)]
    pub(super) name: ForeignField<'a>,
    #[serde(borrow)]
    pub(super) arguments: ForeignField<'a>,
    #[serde(borrow)]
    pub(super) input: ForeignField<'a>,
    /// The code of an interpreter call; of an error, its name.
    #[serde(borrow)]
    pub(super) code: ForeignField<'a>,
    #[serde(borrow)]
    pub(super) partial_image_index: ForeignField<'a>,
    #[serde(borrow)]
    pub(super) error: ForeignField<'a>,
    #[serde(borrow)]
    pub(super) message: ForeignField<'a>,
    /// Of the error bodies of gateways.
    #[serde(borrow)]
    pub(super) detail: ForeignField<'a>,
}

/// A whole response, or how far it is.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct ResponseBody<'a> {
    #[serde(borrow)]
    pub(super) object: ForeignField<'a>,
    #[serde(borrow)]
    pub(super) model: ForeignField<'a>,
    #[serde(borrow)]
    pub(super) status: ForeignField<'a>,
    #[serde(borrow)]
    pub(super) output: ForeignField<'a>,
    #[serde(borrow)]
    pub(super) usage: ForeignField<'a>,
    #[serde(borrow)]
    pub(super) error: ForeignField<'a>,
    #[serde(borrow)]
    incomplete_details: ForeignField<'a>,
}

impl ResponseBody<'_> {
    /// Why it is not complete, or else how it ended.
    pub(super) fn finish_reason(&self, status: &str) -> compact_str::CompactString {
        let why: ResponsesObject<'_> = self.incomplete_details.object();
        why.reason.word().map_or_else(|| status.into(), |reason| compact_str::CompactString::new(&reason))
    }
}

/// An item of the output.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct OutputItem<'a> {
    #[serde(borrow, rename = "type")]
    pub(super) kind: ForeignField<'a>,
    #[serde(borrow)]
    pub(super) id: ForeignField<'a>,
    #[serde(borrow)]
    pub(super) call_id: ForeignField<'a>,
    #[serde(borrow)]
    pub(super) name: ForeignField<'a>,
    #[serde(borrow)]
    pub(super) status: ForeignField<'a>,
    #[serde(borrow)]
    pub(super) content: ForeignField<'a>,
    #[serde(borrow)]
    pub(super) summary: ForeignField<'a>,
    #[serde(borrow)]
    pub(super) arguments: ForeignField<'a>,
    #[serde(borrow)]
    pub(super) input: ForeignField<'a>,
    #[serde(borrow)]
    pub(super) action: ForeignField<'a>,
    #[serde(borrow)]
    pub(super) operation: ForeignField<'a>,
    #[serde(borrow)]
    pub(super) queries: ForeignField<'a>,
    #[serde(borrow)]
    pub(super) code: ForeignField<'a>,
    #[serde(borrow)]
    pub(super) server_label: ForeignField<'a>,
    #[serde(borrow)]
    pub(super) environment: ForeignField<'a>,
    #[serde(borrow)]
    pub(super) execution: ForeignField<'a>,
    #[serde(borrow)]
    pub(super) pending_safety_checks: ForeignField<'a>,
    #[serde(borrow)]
    pub(super) output: ForeignField<'a>,
    #[serde(borrow)]
    pub(super) outputs: ForeignField<'a>,
    #[serde(borrow)]
    pub(super) result: ForeignField<'a>,
    #[serde(borrow)]
    pub(super) results: ForeignField<'a>,
    #[serde(borrow)]
    pub(super) tools: ForeignField<'a>,
    #[serde(borrow)]
    pub(super) error: ForeignField<'a>,
    #[serde(borrow)]
    pub(super) revised_prompt: ForeignField<'a>,
    #[serde(borrow)]
    pub(super) size: ForeignField<'a>,
    #[serde(borrow)]
    pub(super) quality: ForeignField<'a>,
    #[serde(borrow)]
    pub(super) background: ForeignField<'a>,
    #[serde(borrow)]
    pub(super) output_format: ForeignField<'a>,
}

/// The small objects inside of items and events: content parts, actions, outputs of commands.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct ResponsesObject<'a> {
    #[serde(borrow, rename = "type")]
    pub(super) kind: ForeignField<'a>,
    #[serde(borrow)]
    pub(super) text: ForeignField<'a>,
    #[serde(borrow)]
    pub(super) refusal: ForeignField<'a>,
    #[serde(borrow)]
    pub(super) annotations: ForeignField<'a>,
    #[serde(borrow)]
    pub(super) message: ForeignField<'a>,
    #[serde(borrow)]
    pub(super) sources: ForeignField<'a>,
    #[serde(borrow)]
    pub(super) stdout: ForeignField<'a>,
    #[serde(borrow)]
    pub(super) stderr: ForeignField<'a>,
    #[serde(borrow)]
    pub(super) outcome: ForeignField<'a>,
    #[serde(borrow)]
    pub(super) exit_code: ForeignField<'a>,
    #[serde(borrow)]
    pub(super) reason: ForeignField<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct ResponsesUsage<'a> {
    #[serde(borrow)]
    input_tokens: ForeignField<'a>,
    #[serde(borrow)]
    output_tokens: ForeignField<'a>,
    #[serde(borrow)]
    input_tokens_details: ForeignField<'a>,
    #[serde(borrow)]
    output_tokens_details: ForeignField<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct ResponsesUsageDetails<'a> {
    #[serde(borrow)]
    cached_tokens: ForeignField<'a>,
    #[serde(borrow)]
    reasoning_tokens: ForeignField<'a>,
}

/// Tokens; nothing when `field` counts none.
pub(super) fn usage(field: ForeignField<'_>) -> Option<Usage> {
    let fields: ResponsesUsage<'_> = field.object();
    let (input, output) = (fields.input_tokens.count(), fields.output_tokens.count());
    if input.is_none() && output.is_none() {
        return None;
    }
    let read: ResponsesUsageDetails<'_> = fields.input_tokens_details.object();
    let written: ResponsesUsageDetails<'_> = fields.output_tokens_details.object();
    Some(Usage {
        input_tokens: input.unwrap_or(0),
        output_tokens: output.unwrap_or(0),
        reasoning_tokens: written.reasoning_tokens.count().unwrap_or(0),
        cached_tokens: read.cached_tokens.count().unwrap_or(0),
        cost: None,
    })
}
