//! Deltas that only go on with a block: more text, reasoning or arguments. Nearly all events are such, each the same text
//! as the one before it but for that, so they are recognised by their shape ([`Shapes`](crate::field::Shapes)).

use super::wire::{AnthropicDelta, AnthropicStreamEvent};
use crate::field::{ForeignField, Gap};

/// What a plain delta says besides its text.
#[derive(Debug, Clone, Copy)]
pub(super) struct PlainDelta {
    /// The index of its block.
    pub(super) index: u64,
    pub(super) kind: DeltaKind,
}

/// What the text of a delta continues.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum DeltaKind {
    Text,
    Thinking,
    Input,
}

impl DeltaKind {
    /// The kind of a delta of the type `name`; nothing for any other one.
    pub(super) fn named(name: &str) -> Option<Self> {
        match name {
            "text_delta" => Some(Self::Text),
            "thinking_delta" => Some(Self::Thinking),
            "input_json_delta" => Some(Self::Input),
            _ => None,
        }
    }

    /// The text of a delta of this kind.
    pub(super) fn text<'a>(self, delta: &AnthropicDelta<'a>) -> ForeignField<'a> {
        match self {
            Self::Text => delta.text,
            Self::Thinking => delta.thinking,
            Self::Input => delta.partial_json,
        }
    }
}

impl PlainDelta {
    /// What `event` says and the place of its text; nothing if it is not plain.
    pub(super) fn of<'a>(event: &AnthropicStreamEvent<'a>) -> Option<(Self, [(ForeignField<'a>, Gap); 1])> {
        if event.kind.text()? != "content_block_delta" {
            return None;
        }
        let delta: AnthropicDelta<'a> = event.delta.object();
        let kind = DeltaKind::named(&delta.kind.text()?)?;
        let text = kind.text(&delta);
        let plain = Self { index: event.index.count().unwrap_or(0), kind };
        text.is_text().then_some((plain, [(text, Gap::Text(0))]))
    }
}

#[cfg(test)]
mod tests;
