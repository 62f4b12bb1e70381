//! The objects of the dialect.

use std::borrow::Cow;

use serde::Deserialize;

use crate::field::ForeignField;
use model::event::{PartKind, Usage};

/// One event of a stream; a whole message and an error body have the same outer shape.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct AnthropicStreamEvent<'a> {
    #[serde(borrow, rename = "type")]
    pub(crate) kind: ForeignField<'a>,
    #[serde(borrow)]
    pub(crate) index: ForeignField<'a>,
    /// Of `message_start`.
    #[serde(borrow)]
    pub(crate) message: ForeignField<'a>,
    #[serde(borrow)]
    pub(crate) content_block: ForeignField<'a>,
    /// Of `content_block_delta` and `message_delta`.
    #[serde(borrow)]
    pub(crate) delta: ForeignField<'a>,
    #[serde(borrow)]
    pub(crate) usage: ForeignField<'a>,
    #[serde(borrow)]
    pub(crate) context_management: ForeignField<'a>,
    #[serde(borrow)]
    pub(crate) error: ForeignField<'a>,
    /// Of the error bodies of gateways.
    #[serde(borrow)]
    pub(crate) detail: ForeignField<'a>,
}

/// A message, at its start or whole.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct AnthropicMessageBody<'a> {
    #[serde(borrow)]
    pub(crate) id: ForeignField<'a>,
    #[serde(borrow)]
    pub(crate) model: ForeignField<'a>,
    #[serde(borrow)]
    pub(crate) content: ForeignField<'a>,
    #[serde(borrow)]
    pub(crate) usage: ForeignField<'a>,
    #[serde(borrow)]
    pub(crate) stop_reason: ForeignField<'a>,
    #[serde(borrow)]
    pub(crate) stop_details: ForeignField<'a>,
}

/// A content block.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct AnthropicBlock<'a> {
    #[serde(borrow, rename = "type")]
    pub(crate) kind: ForeignField<'a>,
    #[serde(borrow)]
    pub(crate) text: ForeignField<'a>,
    #[serde(borrow)]
    pub(crate) thinking: ForeignField<'a>,
    #[serde(borrow)]
    pub(crate) signature: ForeignField<'a>,
    #[serde(borrow)]
    pub(crate) id: ForeignField<'a>,
    #[serde(borrow)]
    pub(crate) name: ForeignField<'a>,
    #[serde(borrow)]
    pub(crate) input: ForeignField<'a>,
    #[serde(borrow)]
    pub(crate) tool_use_id: ForeignField<'a>,
    #[serde(borrow)]
    pub(crate) content: ForeignField<'a>,
    #[serde(borrow)]
    pub(crate) is_error: ForeignField<'a>,
    #[serde(borrow)]
    pub(crate) citations: ForeignField<'a>,
}

impl<'a> AnthropicBlock<'a> {
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
pub(crate) struct AnthropicDelta<'a> {
    #[serde(borrow, rename = "type")]
    pub(crate) kind: ForeignField<'a>,
    #[serde(borrow)]
    pub(crate) text: ForeignField<'a>,
    #[serde(borrow)]
    pub(crate) thinking: ForeignField<'a>,
    #[serde(borrow)]
    pub(crate) signature: ForeignField<'a>,
    #[serde(borrow)]
    pub(crate) partial_json: ForeignField<'a>,
    #[serde(borrow)]
    pub(crate) citation: ForeignField<'a>,
    #[serde(borrow)]
    pub(crate) stop_reason: ForeignField<'a>,
    #[serde(borrow)]
    pub(crate) stop_details: ForeignField<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct AnthropicUsage<'a> {
    #[serde(borrow)]
    input_tokens: ForeignField<'a>,
    #[serde(borrow)]
    output_tokens: ForeignField<'a>,
    #[serde(borrow)]
    cache_read_input_tokens: ForeignField<'a>,
    #[serde(borrow)]
    cache_creation_input_tokens: ForeignField<'a>,
    #[serde(borrow)]
    output_tokens_details: ForeignField<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct OutputTokenDetails<'a> {
    #[serde(borrow)]
    thinking_tokens: ForeignField<'a>,
}

/// Tokens as they are told: first at the start, then cumulative, with fields left out or `null`.
#[derive(Debug, Default, Clone, Copy)]
pub(crate) struct AnthropicTokens {
    input: Option<u64>,
    cache_read: Option<u64>,
    cache_written: Option<u64>,
    output: Option<u64>,
    thinking: Option<u64>,
}

impl AnthropicTokens {
    /// What is told now supersedes; what is not told stays.
    pub(crate) fn update(&mut self, field: ForeignField<'_>) {
        let told: AnthropicUsage<'_> = field.object();
        let details: OutputTokenDetails<'_> = told.output_tokens_details.object();
        self.input = told.input_tokens.count().or(self.input);
        self.output = told.output_tokens.count().or(self.output);
        self.cache_read = told.cache_read_input_tokens.count().or(self.cache_read);
        self.cache_written = told.cache_creation_input_tokens.count().or(self.cache_written);
        self.thinking = details.thinking_tokens.count().or(self.thinking);
    }

    /// What is told now counts where it is more.
    pub(crate) fn raise(&mut self, field: ForeignField<'_>) {
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
