//! The objects of the dialect.

use serde::Deserialize;

use crate::field::Field;
use model::event::Usage;

/// One event of a stream. An answer that was not streamed and an error body have the same outer shape.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct StreamEvent<'a> {
    #[serde(borrow, rename = "type")]
    pub(super) kind: Field<'a>,
    #[serde(borrow)]
    pub(super) response: Field<'a>,
    #[serde(borrow)]
    pub(super) item: Field<'a>,
    #[serde(borrow)]
    pub(super) item_id: Field<'a>,
    #[serde(borrow)]
    pub(super) output_index: Field<'a>,
    #[serde(borrow)]
    pub(super) content_index: Field<'a>,
    #[serde(borrow)]
    pub(super) summary_index: Field<'a>,
    #[serde(borrow)]
    pub(super) command_index: Field<'a>,
    #[serde(borrow)]
    pub(super) delta: Field<'a>,
    #[serde(borrow)]
    pub(super) text: Field<'a>,
    #[serde(borrow)]
    pub(super) refusal: Field<'a>,
    #[serde(borrow)]
    pub(super) part: Field<'a>,
    #[serde(borrow)]
    pub(super) annotation: Field<'a>,
    #[serde(borrow)]
    pub(super) name: Field<'a>,
    #[serde(borrow)]
    pub(super) arguments: Field<'a>,
    #[serde(borrow)]
    pub(super) input: Field<'a>,
    /// The code of an interpreter call; of an error, its name.
    #[serde(borrow)]
    pub(super) code: Field<'a>,
    #[serde(borrow)]
    pub(super) partial_image_index: Field<'a>,
    #[serde(borrow)]
    pub(super) error: Field<'a>,
    #[serde(borrow)]
    pub(super) message: Field<'a>,
    /// Of the error bodies of gateways.
    #[serde(borrow)]
    pub(super) detail: Field<'a>,
}

/// A whole response, or how far it is.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct ResponseBody<'a> {
    #[serde(borrow)]
    pub(super) object: Field<'a>,
    #[serde(borrow)]
    pub(super) model: Field<'a>,
    #[serde(borrow)]
    pub(super) status: Field<'a>,
    #[serde(borrow)]
    pub(super) output: Field<'a>,
    #[serde(borrow)]
    pub(super) usage: Field<'a>,
    #[serde(borrow)]
    pub(super) error: Field<'a>,
    #[serde(borrow)]
    incomplete_details: Field<'a>,
}

impl ResponseBody<'_> {
    /// Why it is not complete, or else how it ended.
    pub(super) fn finish_reason(&self, status: &str) -> compact_str::CompactString {
        let why: Piece<'_> = self.incomplete_details.object();
        why.reason.word().map_or_else(|| status.into(), |reason| compact_str::CompactString::new(&reason))
    }
}

/// An item of the output.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct ItemBody<'a> {
    #[serde(borrow, rename = "type")]
    pub(super) kind: Field<'a>,
    #[serde(borrow)]
    pub(super) id: Field<'a>,
    #[serde(borrow)]
    pub(super) call_id: Field<'a>,
    #[serde(borrow)]
    pub(super) name: Field<'a>,
    #[serde(borrow)]
    pub(super) status: Field<'a>,
    #[serde(borrow)]
    pub(super) content: Field<'a>,
    #[serde(borrow)]
    pub(super) summary: Field<'a>,
    #[serde(borrow)]
    pub(super) arguments: Field<'a>,
    #[serde(borrow)]
    pub(super) input: Field<'a>,
    #[serde(borrow)]
    pub(super) action: Field<'a>,
    #[serde(borrow)]
    pub(super) operation: Field<'a>,
    #[serde(borrow)]
    pub(super) queries: Field<'a>,
    #[serde(borrow)]
    pub(super) code: Field<'a>,
    #[serde(borrow)]
    pub(super) server_label: Field<'a>,
    #[serde(borrow)]
    pub(super) environment: Field<'a>,
    #[serde(borrow)]
    pub(super) execution: Field<'a>,
    #[serde(borrow)]
    pub(super) pending_safety_checks: Field<'a>,
    #[serde(borrow)]
    pub(super) output: Field<'a>,
    #[serde(borrow)]
    pub(super) outputs: Field<'a>,
    #[serde(borrow)]
    pub(super) result: Field<'a>,
    #[serde(borrow)]
    pub(super) results: Field<'a>,
    #[serde(borrow)]
    pub(super) tools: Field<'a>,
    #[serde(borrow)]
    pub(super) error: Field<'a>,
    #[serde(borrow)]
    pub(super) revised_prompt: Field<'a>,
    #[serde(borrow)]
    pub(super) size: Field<'a>,
    #[serde(borrow)]
    pub(super) quality: Field<'a>,
    #[serde(borrow)]
    pub(super) background: Field<'a>,
    #[serde(borrow)]
    pub(super) output_format: Field<'a>,
}

/// The small objects inside of items and events: content parts, actions, outputs of commands.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Piece<'a> {
    #[serde(borrow, rename = "type")]
    pub(super) kind: Field<'a>,
    #[serde(borrow)]
    pub(super) text: Field<'a>,
    #[serde(borrow)]
    pub(super) refusal: Field<'a>,
    #[serde(borrow)]
    pub(super) annotations: Field<'a>,
    #[serde(borrow)]
    pub(super) message: Field<'a>,
    #[serde(borrow)]
    pub(super) sources: Field<'a>,
    #[serde(borrow)]
    pub(super) stdout: Field<'a>,
    #[serde(borrow)]
    pub(super) stderr: Field<'a>,
    #[serde(borrow)]
    pub(super) outcome: Field<'a>,
    #[serde(borrow)]
    pub(super) exit_code: Field<'a>,
    #[serde(borrow)]
    pub(super) reason: Field<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct UsageFields<'a> {
    #[serde(borrow)]
    input_tokens: Field<'a>,
    #[serde(borrow)]
    output_tokens: Field<'a>,
    #[serde(borrow)]
    input_tokens_details: Field<'a>,
    #[serde(borrow)]
    output_tokens_details: Field<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct UsageDetails<'a> {
    #[serde(borrow)]
    cached_tokens: Field<'a>,
    #[serde(borrow)]
    reasoning_tokens: Field<'a>,
}

/// Tokens; nothing when `field` counts none.
pub(super) fn usage(field: Field<'_>) -> Option<Usage> {
    let fields: UsageFields<'_> = field.object();
    let (input, output) = (fields.input_tokens.count(), fields.output_tokens.count());
    if input.is_none() && output.is_none() {
        return None;
    }
    let read: UsageDetails<'_> = fields.input_tokens_details.object();
    let written: UsageDetails<'_> = fields.output_tokens_details.object();
    Some(Usage {
        input_tokens: input.unwrap_or(0),
        output_tokens: output.unwrap_or(0),
        reasoning_tokens: written.reasoning_tokens.count().unwrap_or(0),
        cached_tokens: read.cached_tokens.count().unwrap_or(0),
        cost: None,
    })
}
