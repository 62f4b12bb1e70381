//! The pieces that a message consists of: texts, reasoning, refusals, files, what the provider's own tools
//! did. Each provider has blocks of its own; they are made alike here.

use std::borrow::Cow;

use super::wire::{LangChainBlock, LangChainMessage};
use crate::field::ForeignField;
use model::event::PartKind;

/// A piece of a message. Calls of the caller's tools are no pieces, see [`super::calls`].
#[derive(Debug)]
pub(super) enum LangChainPiece<'a> {
    /// Text of a part; pieces with the same kind and place are one part.
    Text { kind: PartKind, place: u64, text: Cow<'a, str> },
    /// Reasoning that the provider keeps to itself.
    Hidden { place: u64 },
    /// A call that the provider executes itself.
    Call { id: Cow<'a, str>, name: Cow<'a, str>, input: ForeignField<'a> },
    /// The result of such a call.
    Result { id: Cow<'a, str>, output: ForeignField<'a>, is_error: bool },
    /// Something that has a name of its own, such as a citation.
    Custom { name: &'static str, value: ForeignField<'a> },
    /// Something else, which is passed on as it is.
    Raw(ForeignField<'a>),
}

/// The pieces of `message` in their order. Blocks without an index have their place in the list.
pub(super) fn pieces<'a>(message: &LangChainMessage<'a>) -> Vec<LangChainPiece<'a>> {
    let mut pieces = Vec::new();
    let extra = message.extra();
    add_text(PartKind::Thinking, 0, extra.reasoning_content, &mut pieces);
    let reasoning: LangChainBlock<'a> = extra.reasoning.object();
    for (at, summary) in (0_u64..).zip(reasoning.summary.list()) {
        let summary: LangChainBlock<'a> = summary.object();
        add_text(PartKind::Thinking, summary.index.count().unwrap_or(at), summary.text, &mut pieces);
    }
    add_text(PartKind::Text, 0, message.body.content, &mut pieces);
    add_text(PartKind::Refusal, 0, extra.refusal, &mut pieces);
    for (at, block) in (0_u64..).zip(message.body.content.list()) {
        add_block(at, block, &mut pieces);
    }
    pieces
}

/// Adds a text, unless it is empty.
fn add_text<'a>(kind: PartKind, place: u64, text: ForeignField<'a>, pieces: &mut Vec<LangChainPiece<'a>>) {
    if let Some(text) = text.word() {
        pieces.push(LangChainPiece::Text { kind, place, text });
    }
}

/// Adds the pieces of the block at the place `at`.
pub(super) fn add_block<'a>(at: u64, whole: ForeignField<'a>, pieces: &mut Vec<LangChainPiece<'a>>) {
    if whole.text().is_some() {
        return add_text(PartKind::Text, at, whole, pieces);
    }
    let block: LangChainBlock<'a> = whole.object();
    let place = block.index.count().unwrap_or(at);
    let kind = block.kind.text().unwrap_or_default();
    match &*kind {
        "text" | "output_text" | "text_delta" | "" => {
            add_text(PartKind::Text, place, block.text, pieces);
            for citation in block.annotations.list().into_iter().chain(block.citations.list()) {
                pieces.push(LangChainPiece::Custom { name: "citation", value: citation });
            }
        }
        "thinking" | "reasoning" | "reasoning_content" | "thinking_delta" | "signature" => {
            for text in thinking(&block) {
                add_text(PartKind::Thinking, place, text, pieces);
            }
        }
        "redacted_thinking" => pieces.push(LangChainPiece::Hidden { place }),
        "refusal" => add_text(PartKind::Refusal, place, block.refusal, pieces),
        "image_url" | "image" | "file" | "audio" | "video" => {
            let url = block.image_url.object::<LangChainBlock<'a>>().url;
            let url = [url, block.image_url, block.url].into_iter().find(|url| url.word().is_some());
            match url {
                Some(url) => add_text(PartKind::File, place, url, pieces),
                None => pieces.push(LangChainPiece::Raw(whole)),
            }
        }
        // Told by `tool_calls` and `tool_call_chunks` too, for all providers alike.
        "tool_use" | "tool_call" | "tool_call_chunk" | "input_json_delta" | "function_call"
        | "invalid_tool_call" => {}
        kind if kind.ends_with("_tool_use") || kind == "server_tool_call" => {
            let id = block.id.words().unwrap_or_default();
            let input = if block.input.is_some() { block.input } else { block.args };
            pieces.push(LangChainPiece::Call { id, name: block.name.text().unwrap_or_default(), input });
        }
        kind if kind.ends_with("_tool_result") => {
            let id = block.tool_use_id.words().unwrap_or_default();
            let inner = block.content.object::<LangChainBlock<'a>>().kind.text();
            let is_error = inner.is_some_and(|kind| kind.ends_with("_error"));
            pieces.push(LangChainPiece::Result { id, output: block.content, is_error });
        }
        _ => pieces.push(LangChainPiece::Raw(whole)),
    }
}

/// The texts of a block of reasoning, in all fields that providers use for them.
pub(super) fn thinking<'a>(block: &LangChainBlock<'a>) -> Vec<ForeignField<'a>> {
    let inner: LangChainBlock<'a> = block.reasoning_content.object();
    let mut texts = vec![block.thinking, block.reasoning, block.reasoning_content, inner.text];
    texts.extend(block.summary.list().into_iter().map(|item| item.object::<LangChainBlock<'a>>().text));
    texts
}
