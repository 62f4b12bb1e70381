//! Content blocks: texts, thinking, calls of the caller's tools and of the provider's own, their results.

use super::wire::{BlockBody, Delta};
use crate::anomaly::AnomalyCode;
use crate::dialect::Decoded;
use crate::dialect::field::Field;
use crate::dialect::writer::{OpenCall, OpenPart, Outcome, Writer};
use crate::event::PartKind;

/// A block that has begun and not stopped.
#[derive(Debug)]
pub(super) enum Block {
    /// A text or thinking.
    Part {
        part: OpenPart,
        /// A signature came: thinking without text is hidden, not empty.
        is_signed: bool,
    },
    /// A call; the input that the block began with counts only where none is streamed.
    Call { call: OpenCall, input: Option<String> },
    /// Told as a whole at its start, or not told at all.
    Done,
}

impl Block {
    /// A block starts.
    pub(super) fn start(whole: Field<'_>, w: &mut Writer, out: &mut Decoded) -> Self {
        let body: BlockBody<'_> = whole.object();
        let kind = body.kind.text().unwrap_or_default();
        if !w.has_room(out) {
            return Self::Done;
        }
        match &*kind {
            "text" => Self::part(PartKind::Text, &body, w, out),
            "thinking" => Self::part(PartKind::Thinking, &body, w, out),
            "redacted_thinking" => {
                w.whole_part(PartKind::Thinking, "", true, None, out);
                Self::Done
            }
            "tool_use" => Self::call(&body, false, w, out),
            kind if kind.ends_with("_tool_use") => Self::call(&body, true, w, out),
            kind if kind.ends_with("_tool_result") || kind == "tool_result" => {
                result(&body, w, out);
                Self::Done
            }
            // Says nothing yet; its content comes as a delta.
            "compaction" if !body.content.is_some() => Self::Done,
            "compaction" => {
                w.custom("compaction", whole, None, out);
                Self::Done
            }
            _ => {
                w.raw(whole, None, out);
                Self::Done
            }
        }
    }

    /// A block whose start was not seen.
    pub(super) fn without_start(index: u64, delta: Field<'_>, w: &mut Writer, out: &mut Decoded) -> Self {
        let kind = delta.object::<Delta<'_>>().kind;
        let detail = format!("content block {index}");
        let body = BlockBody::default();
        match kind.text().as_deref() {
            Some("text_delta") => {
                w.anomaly(AnomalyCode::PartWithoutStart, detail, out);
                Self::part(PartKind::Text, &body, w, out)
            }
            Some("thinking_delta") => {
                w.anomaly(AnomalyCode::PartWithoutStart, detail, out);
                Self::part(PartKind::Thinking, &body, w, out)
            }
            Some("input_json_delta") => {
                w.anomaly(AnomalyCode::ToolWithoutStart, detail, out);
                Self::call(&body, false, w, out)
            }
            _ => Self::Done,
        }
    }

    fn part(kind: PartKind, body: &BlockBody<'_>, w: &mut Writer, out: &mut Decoded) -> Self {
        let mut part = w.open_part(kind, None, out);
        let text = if kind == PartKind::Thinking { body.thinking } else { body.text };
        part.delta(&text.text().unwrap_or_default(), w, out);
        for citation in body.citations.list() {
            w.custom("citation", citation, None, out);
        }
        Self::Part { part, is_signed: false }
    }

    fn call(body: &BlockBody<'_>, server: bool, w: &mut Writer, out: &mut Decoded) -> Self {
        let id = body.id.words().unwrap_or_default();
        let call = w.open_call(&id, &body.name.text().unwrap_or_default(), server, None, out);
        let input = body.input.is_truthy().then(|| body.input.as_json_text().to_owned());
        Self::Call { call, input }
    }

    /// More of the block.
    pub(super) fn delta(&mut self, whole: Field<'_>, w: &mut Writer, out: &mut Decoded) {
        let delta: Delta<'_> = whole.object();
        let kind = delta.kind.text().unwrap_or_default();
        match (&*kind, self) {
            ("text_delta", Self::Part { part, .. }) => {
                part.delta(&delta.text.text().unwrap_or_default(), w, out);
            }
            ("thinking_delta", Self::Part { part, .. }) => {
                part.delta(&delta.thinking.text().unwrap_or_default(), w, out);
            }
            ("signature_delta", Self::Part { is_signed, .. }) => *is_signed = true,
            ("input_json_delta", Self::Call { call, .. }) => {
                call.args(&delta.partial_json.text().unwrap_or_default(), w, out);
            }
            ("citations_delta", _) => w.custom("citation", delta.citation, None, out),
            ("compaction_delta", _) => w.custom("compaction", whole, None, out),
            ("signature_delta" | "text_delta" | "thinking_delta" | "input_json_delta", _) => {}
            _ => w.raw(whole, None, out),
        }
    }

    /// The block is whole, or as whole as it will ever be.
    pub(super) fn stop(self, is_whole: bool, w: &mut Writer, out: &mut Decoded) {
        match self {
            Self::Part { part, is_signed } => {
                let hidden = is_signed && part.kind() == PartKind::Thinking && part.is_empty();
                part.end(hidden, w, out);
            }
            Self::Call { mut call, input } => {
                if is_whole || call.is_whole() {
                    let input = if call.is_empty() { input } else { None };
                    call.written(input, w, out);
                }
            }
            Self::Done => {}
        }
    }
}

/// The provider has executed one of its own tools: a block of the same message tells what came of it.
fn result(body: &BlockBody<'_>, w: &mut Writer, out: &mut Decoded) {
    let inner = body.content.object::<BlockBody<'_>>().kind.text();
    let failed = inner.is_some_and(|kind| kind.ends_with("_error"));
    let id = body.tool_use_id.words().unwrap_or_default();
    let is_error = failed || body.is_error.is_true();
    w.result(&id, Outcome { is_error, ..Outcome::of(body.content.json()) }, None, out);
}
