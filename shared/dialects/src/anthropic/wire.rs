//! The JSON objects of the Messages API, with the fields that the decoder reads. Claude Code and its
//! transcripts contain the same objects.

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
    /// The number of the block in its message, from 0.
    #[serde(borrow)]
    pub(crate) index: ForeignField<'a>,
    /// The message ([`AnthropicMessageBody`]), in `message_start`; the text of an error in bodies of
    /// gateways.
    #[serde(borrow)]
    pub(crate) message: ForeignField<'a>,
    /// The block ([`AnthropicBlock`]), in `content_block_start`.
    #[serde(borrow)]
    pub(crate) content_block: ForeignField<'a>,
    /// What is new ([`AnthropicDelta`]), in `content_block_delta` and `message_delta`.
    #[serde(borrow)]
    pub(crate) delta: ForeignField<'a>,
    /// The tokens of the message so far, in `message_delta`.
    #[serde(borrow)]
    pub(crate) usage: ForeignField<'a>,
    /// What the provider removed from the context, in `message_delta`.
    #[serde(borrow)]
    pub(crate) context_management: ForeignField<'a>,
    #[serde(borrow)]
    pub(crate) error: ForeignField<'a>,
    /// What went wrong, in error bodies of gateways.
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
    /// A list of blocks; empty at the start of a streamed message.
    #[serde(borrow)]
    pub(crate) content: ForeignField<'a>,
    /// The tokens so far. At the start of a stream the output tokens are a first guess.
    #[serde(borrow)]
    pub(crate) usage: ForeignField<'a>,
    #[serde(borrow)]
    pub(crate) stop_reason: ForeignField<'a>,
    #[serde(borrow)]
    pub(crate) stop_details: ForeignField<'a>,
}

/// A content block of any type; each type uses some of the fields.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct AnthropicBlock<'a> {
    #[serde(borrow, rename = "type")]
    pub(crate) kind: ForeignField<'a>,
    #[serde(borrow)]
    pub(crate) text: ForeignField<'a>,
    #[serde(borrow)]
    pub(crate) thinking: ForeignField<'a>,
    /// The provider's signature of its reasoning, without which it does not take the reasoning back.
    #[serde(borrow)]
    pub(crate) signature: ForeignField<'a>,
    #[serde(borrow)]
    pub(crate) id: ForeignField<'a>,
    #[serde(borrow)]
    pub(crate) name: ForeignField<'a>,
    /// The arguments of a call, an object; `{}` at the start of a streamed one.
    #[serde(borrow)]
    pub(crate) input: ForeignField<'a>,
    /// The call of which the block is the result.
    #[serde(borrow)]
    pub(crate) tool_use_id: ForeignField<'a>,
    /// The output of a call: a text, a list of blocks, or an object.
    #[serde(borrow)]
    pub(crate) content: ForeignField<'a>,
    #[serde(borrow)]
    pub(crate) is_error: ForeignField<'a>,
    #[serde(borrow)]
    pub(crate) citations: ForeignField<'a>,
}

impl<'a> AnthropicBlock<'a> {
    /// The kind and the text of a block that is a text or reasoning; nothing for any other one.
    pub(crate) fn told_text(&self) -> Option<(PartKind, Cow<'a, str>)> {
        match self.kind.text().as_deref() {
            Some("text") => Some((PartKind::Text, self.text.text().unwrap_or_default())),
            Some("thinking") => Some((PartKind::Thinking, self.thinking.text().unwrap_or_default())),
            _ => None,
        }
    }
}

/// A delta of a block, or of the message.
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
    /// A piece of the arguments, in `input_json_delta`.
    #[serde(borrow)]
    pub(crate) partial_json: ForeignField<'a>,
    #[serde(borrow)]
    pub(crate) citation: ForeignField<'a>,
    #[serde(borrow)]
    pub(crate) stop_reason: ForeignField<'a>,
    /// Why the provider refused, in `message_delta`.
    #[serde(borrow)]
    pub(crate) stop_details: ForeignField<'a>,
}

/// Counts of tokens as the API names them. What went through the cache is not part of `input_tokens`.
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

/// The part of the output tokens that is reasoning.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct OutputTokenDetails<'a> {
    #[serde(borrow)]
    thinking_tokens: ForeignField<'a>,
}

/// The tokens of a message as they were reported: first at the start, then cumulative, with fields left out
/// or `null`.
#[derive(Debug, Default, Clone, Copy)]
pub(crate) struct AnthropicTokens {
    input: Option<u64>,
    cache_read: Option<u64>,
    cache_written: Option<u64>,
    output: Option<u64>,
    thinking: Option<u64>,
}

impl AnthropicTokens {
    /// Takes newer counts. A field that is absent keeps its value.
    pub(crate) fn update(&mut self, field: ForeignField<'_>) {
        let told: AnthropicUsage<'_> = field.object();
        let details: OutputTokenDetails<'_> = told.output_tokens_details.object();
        self.input = told.input_tokens.count().or(self.input);
        self.output = told.output_tokens.count().or(self.output);
        self.cache_read = told.cache_read_input_tokens.count().or(self.cache_read);
        self.cache_written = told.cache_creation_input_tokens.count().or(self.cache_written);
        self.thinking = details.thinking_tokens.count().or(self.thinking);
    }

    /// Takes counts of the same message in another place: of each field the larger one counts.
    pub(crate) fn raise(&mut self, field: ForeignField<'_>) {
        let mut told = Self::default();
        told.update(field);
        self.input = self.input.max(told.input);
        self.output = self.output.max(told.output);
        self.cache_read = self.cache_read.max(told.cache_read);
        self.cache_written = self.cache_written.max(told.cache_written);
        self.thinking = self.thinking.max(told.thinking);
    }

    /// The tokens, or nothing if neither input nor output was reported. The API's `input_tokens` leave out
    /// what went through the cache, those of the event model do not.
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
