//! The objects of the dialect.

use serde::Deserialize;

use crate::dialect::field::Field;
use crate::event::Usage;

/// One event of a stream; a whole message and an error body have the same outer shape.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct StreamEvent<'a> {
    #[serde(borrow, rename = "type")]
    pub(super) kind: Field<'a>,
    #[serde(borrow)]
    pub(super) index: Field<'a>,
    /// Of `message_start`.
    #[serde(borrow)]
    pub(super) message: Field<'a>,
    #[serde(borrow)]
    pub(super) content_block: Field<'a>,
    /// Of `content_block_delta` and `message_delta`.
    #[serde(borrow)]
    pub(super) delta: Field<'a>,
    #[serde(borrow)]
    pub(super) usage: Field<'a>,
    #[serde(borrow)]
    pub(super) context_management: Field<'a>,
    #[serde(borrow)]
    pub(super) error: Field<'a>,
    /// Of the error bodies of gateways.
    #[serde(borrow)]
    pub(super) detail: Field<'a>,
}

/// A message, at its start or whole.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct MessageBody<'a> {
    #[serde(borrow)]
    pub(super) id: Field<'a>,
    #[serde(borrow)]
    pub(super) model: Field<'a>,
    #[serde(borrow)]
    pub(super) content: Field<'a>,
    #[serde(borrow)]
    pub(super) usage: Field<'a>,
    #[serde(borrow)]
    pub(super) stop_reason: Field<'a>,
    #[serde(borrow)]
    pub(super) stop_details: Field<'a>,
}

/// A content block.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct BlockBody<'a> {
    #[serde(borrow, rename = "type")]
    pub(super) kind: Field<'a>,
    #[serde(borrow)]
    pub(super) text: Field<'a>,
    #[serde(borrow)]
    pub(super) thinking: Field<'a>,
    #[serde(borrow)]
    pub(super) id: Field<'a>,
    #[serde(borrow)]
    pub(super) name: Field<'a>,
    #[serde(borrow)]
    pub(super) input: Field<'a>,
    #[serde(borrow)]
    pub(super) tool_use_id: Field<'a>,
    #[serde(borrow)]
    pub(super) content: Field<'a>,
    #[serde(borrow)]
    pub(super) is_error: Field<'a>,
    #[serde(borrow)]
    pub(super) citations: Field<'a>,
}

/// A delta of a block or of the message.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Delta<'a> {
    #[serde(borrow, rename = "type")]
    pub(super) kind: Field<'a>,
    #[serde(borrow)]
    pub(super) text: Field<'a>,
    #[serde(borrow)]
    pub(super) thinking: Field<'a>,
    #[serde(borrow)]
    pub(super) partial_json: Field<'a>,
    #[serde(borrow)]
    pub(super) citation: Field<'a>,
    #[serde(borrow)]
    pub(super) stop_reason: Field<'a>,
    #[serde(borrow)]
    pub(super) stop_details: Field<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct UsageFields<'a> {
    #[serde(borrow)]
    input_tokens: Field<'a>,
    #[serde(borrow)]
    output_tokens: Field<'a>,
    #[serde(borrow)]
    cache_read_input_tokens: Field<'a>,
    #[serde(borrow)]
    cache_creation_input_tokens: Field<'a>,
    #[serde(borrow)]
    output_tokens_details: Field<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct OutputDetails<'a> {
    #[serde(borrow)]
    thinking_tokens: Field<'a>,
}

/// Tokens as they are told: first at the start, then cumulative, with fields left out or `null`.
#[derive(Debug, Default, Clone, Copy)]
pub(super) struct Counts {
    input: Option<u64>,
    cache_read: Option<u64>,
    cache_written: Option<u64>,
    output: Option<u64>,
    thinking: Option<u64>,
}

impl Counts {
    /// What is told now supersedes; what is not told stays.
    pub(super) fn update(&mut self, field: Field<'_>) {
        let told: UsageFields<'_> = field.object();
        let details: OutputDetails<'_> = told.output_tokens_details.object();
        self.input = told.input_tokens.count().or(self.input);
        self.output = told.output_tokens.count().or(self.output);
        self.cache_read = told.cache_read_input_tokens.count().or(self.cache_read);
        self.cache_written = told.cache_creation_input_tokens.count().or(self.cache_written);
        self.thinking = details.thinking_tokens.count().or(self.thinking);
    }

    /// The tokens; the dialect's `input_tokens` leave out what went through the cache, ours do not.
    pub(super) fn usage(self) -> Option<Usage> {
        if self.input.is_none() && self.output.is_none() {
            return None;
        }
        let cached = self.cache_read.unwrap_or(0);
        let input = self.input.unwrap_or(0).saturating_add(cached);
        Some(Usage {
            input_tokens: input.saturating_add(self.cache_written.unwrap_or(0)),
            output_tokens: self.output.unwrap_or(0),
            reasoning_tokens: self.thinking.unwrap_or(0),
            cached_tokens: cached,
        })
    }
}
