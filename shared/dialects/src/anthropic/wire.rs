//! The objects of the dialect.

use std::borrow::Cow;

use serde::Deserialize;

use crate::field::Field;
use model::event::{PartKind, Usage};

/// One event of a stream; a whole message and an error body have the same outer shape.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct StreamEvent<'a> {
    #[serde(borrow, rename = "type")]
    pub(crate) kind: Field<'a>,
    #[serde(borrow)]
    pub(crate) index: Field<'a>,
    /// Of `message_start`.
    #[serde(borrow)]
    pub(crate) message: Field<'a>,
    #[serde(borrow)]
    pub(crate) content_block: Field<'a>,
    /// Of `content_block_delta` and `message_delta`.
    #[serde(borrow)]
    pub(crate) delta: Field<'a>,
    #[serde(borrow)]
    pub(crate) usage: Field<'a>,
    #[serde(borrow)]
    pub(crate) context_management: Field<'a>,
    #[serde(borrow)]
    pub(crate) error: Field<'a>,
    /// Of the error bodies of gateways.
    #[serde(borrow)]
    pub(crate) detail: Field<'a>,
}

/// A message, at its start or whole.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct MessageBody<'a> {
    #[serde(borrow)]
    pub(crate) id: Field<'a>,
    #[serde(borrow)]
    pub(crate) model: Field<'a>,
    #[serde(borrow)]
    pub(crate) content: Field<'a>,
    #[serde(borrow)]
    pub(crate) usage: Field<'a>,
    #[serde(borrow)]
    pub(crate) stop_reason: Field<'a>,
    #[serde(borrow)]
    pub(crate) stop_details: Field<'a>,
}

/// A content block.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct BlockBody<'a> {
    #[serde(borrow, rename = "type")]
    pub(crate) kind: Field<'a>,
    #[serde(borrow)]
    pub(crate) text: Field<'a>,
    #[serde(borrow)]
    pub(crate) thinking: Field<'a>,
    #[serde(borrow)]
    pub(crate) signature: Field<'a>,
    #[serde(borrow)]
    pub(crate) id: Field<'a>,
    #[serde(borrow)]
    pub(crate) name: Field<'a>,
    #[serde(borrow)]
    pub(crate) input: Field<'a>,
    #[serde(borrow)]
    pub(crate) tool_use_id: Field<'a>,
    #[serde(borrow)]
    pub(crate) content: Field<'a>,
    #[serde(borrow)]
    pub(crate) is_error: Field<'a>,
    #[serde(borrow)]
    pub(crate) citations: Field<'a>,
}

impl<'a> BlockBody<'a> {
    /// The text of a block that is one.
    pub(crate) fn told_text(&self) -> Option<(PartKind, Cow<'a, str>)> {
        match self.kind.text().as_deref() {
            Some("text") => Some((PartKind::Text, self.text.text().unwrap_or_default())),
            Some("thinking") => Some((PartKind::Thinking, self.thinking.text().unwrap_or_default())),
            _ => None,
        }
    }
}

/// A delta of a block or of the message.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Delta<'a> {
    #[serde(borrow, rename = "type")]
    pub(crate) kind: Field<'a>,
    #[serde(borrow)]
    pub(crate) text: Field<'a>,
    #[serde(borrow)]
    pub(crate) thinking: Field<'a>,
    #[serde(borrow)]
    pub(crate) signature: Field<'a>,
    #[serde(borrow)]
    pub(crate) partial_json: Field<'a>,
    #[serde(borrow)]
    pub(crate) citation: Field<'a>,
    #[serde(borrow)]
    pub(crate) stop_reason: Field<'a>,
    #[serde(borrow)]
    pub(crate) stop_details: Field<'a>,
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
pub(crate) struct Counts {
    input: Option<u64>,
    cache_read: Option<u64>,
    cache_written: Option<u64>,
    output: Option<u64>,
    thinking: Option<u64>,
}

impl Counts {
    /// What is told now supersedes; what is not told stays.
    pub(crate) fn update(&mut self, field: Field<'_>) {
        let told: UsageFields<'_> = field.object();
        let details: OutputDetails<'_> = told.output_tokens_details.object();
        self.input = told.input_tokens.count().or(self.input);
        self.output = told.output_tokens.count().or(self.output);
        self.cache_read = told.cache_read_input_tokens.count().or(self.cache_read);
        self.cache_written = told.cache_creation_input_tokens.count().or(self.cache_written);
        self.thinking = details.thinking_tokens.count().or(self.thinking);
    }

    /// What is told now counts where it is more.
    pub(crate) fn raise(&mut self, field: Field<'_>) {
        let mut told = Self::default();
        told.update(field);
        self.input = self.input.max(told.input);
        self.output = self.output.max(told.output);
        self.cache_read = self.cache_read.max(told.cache_read);
        self.cache_written = self.cache_written.max(told.cache_written);
        self.thinking = self.thinking.max(told.thinking);
    }

    /// The tokens; the dialect's `input_tokens` leave out what went through the cache, ours do not.
    pub(crate) fn usage(self) -> Option<Usage> {
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
            cost: None,
        })
    }
}
