//! Content blocks of Anthropic messages: texts, reasoning, calls of the caller's tools and of the provider's
//! own, their results.
//!
//! | block | becomes |
//! |---|---|
//! | `text` | a text part; `citations_delta` are custom events `citation` |
//! | `thinking` | a reasoning part with the provider's signature; without a text but with a signature it is hidden |
//! | `redacted_thinking` | a hidden reasoning part without text |
//! | `tool_use` | a call that the caller executes |
//! | `server_tool_use`, `mcp_tool_use`, … | a call that the provider executes |
//! | `…_tool_result`, `tool_result` | the result of the call with that `tool_use_id`, in the same message |
//! | `compaction` | a custom event |
//! | anything else (`container_upload`, `fallback`, …) | raw |
//!
//! Claude Code prints the same blocks twice if it is asked for partial messages: in deltas, and then as a
//! whole. A block that is repeated is recognised here and written once ([`OpenBlock::repeat`],
//! [`StoppedBlock::repeat`]).

use super::plain::DeltaKind;
use super::wire::{AnthropicBlock, AnthropicDelta};
use crate::Decoded;
use crate::field::ForeignField;
use crate::writer::{CallOutcome, EndedPart, EventWriter, OpenCall, WholePart};
use model::anomaly::AnomalyCode;
use model::event::{PartKind, ToolState};
use model::ids::AgentId;

/// A block that has begun and not stopped. Whoever decodes the message owns it.
#[derive(Debug)]
pub(crate) enum OpenBlock {
    /// A text or reasoning.
    Part {
        /// The part, and the digest of what was written of it.
        part: WholePart,
        /// A signature was received: reasoning without text is hidden, not empty.
        is_signed: bool,
        /// The stream has sent it once more, as a whole.
        is_repeated: bool,
    },
    /// A call; the input that the block began with counts only if none is streamed.
    Call { call: OpenCall, input: Option<String> },
    /// The block was written as a whole at its start, or not at all; its deltas are ignored unless they stand
    /// for themselves.
    Done,
}

/// A text or reasoning that stopped and that the stream may send once more, as a whole. Dropping it means
/// that it does not.
#[derive(Debug)]
pub(crate) struct StoppedBlock {
    kind: PartKind,
    part: EndedPart,
}

impl StoppedBlock {
    /// Takes `body`, a block that the stream sends as a whole, and returns whether it is of the same kind.
    /// Then its text is the one that counts.
    pub(crate) fn repeat(&mut self, body: &AnthropicBlock<'_>, w: &EventWriter, out: &mut Decoded) -> bool {
        let Some((kind, text)) = body.told_text() else { return false };
        if kind == self.kind {
            self.part.set(&text, w, out);
        }
        kind == self.kind
    }
}

impl OpenBlock {
    /// Takes the start of a block, `whole`. Without room in the run nothing is written.
    pub(crate) fn start(
        whole: ForeignField<'_>,
        agent: Option<&AgentId>,
        w: &mut EventWriter,
        out: &mut Decoded,
    ) -> Self {
        let body: AnthropicBlock<'_> = whole.object();
        let kind = body.kind.text().unwrap_or_default();
        if !w.has_room(out) {
            return Self::Done;
        }
        match &*kind {
            "text" => Self::part(PartKind::Text, &body, agent, w, out),
            "thinking" => Self::part(PartKind::Thinking, &body, agent, w, out),
            "redacted_thinking" => {
                w.whole_part(PartKind::Thinking, "", true, agent, out);
                Self::Done
            }
            "tool_use" => Self::call(&body, false, agent, w, out),
            kind if kind.ends_with("_tool_use") => Self::call(&body, true, agent, w, out),
            kind if kind.ends_with("_tool_result") || kind == "tool_result" => {
                result(&body, agent, w, out);
                Self::Done
            }
            // Says nothing yet; its content comes as a delta.
            "compaction" if !body.content.is_some() => Self::Done,
            "compaction" => {
                w.custom("compaction", whole, agent, out);
                Self::Done
            }
            _ => {
                w.raw(whole, agent, out);
                Self::Done
            }
        }
    }

    /// Makes the block for a delta whose start was not received, with an anomaly. The kind of the delta says
    /// what it is; other kinds give a block that is done.
    pub(super) fn without_start(
        index: u64,
        delta: ForeignField<'_>,
        agent: Option<&AgentId>,
        w: &mut EventWriter,
        out: &mut Decoded,
    ) -> Self {
        let kind = delta.object::<AnthropicDelta<'_>>().kind;
        let detail = format!("content block {index}");
        let body = AnthropicBlock::default();
        match kind.text().as_deref() {
            Some("text_delta") => {
                w.anomaly(AnomalyCode::PartWithoutStart, detail, out);
                Self::part(PartKind::Text, &body, agent, w, out)
            }
            Some("thinking_delta") => {
                w.anomaly(AnomalyCode::PartWithoutStart, detail, out);
                Self::part(PartKind::Thinking, &body, agent, w, out)
            }
            Some("input_json_delta") => {
                w.anomaly(AnomalyCode::ToolWithoutStart, detail, out);
                Self::call(&body, false, agent, w, out)
            }
            _ => Self::Done,
        }
    }

    /// Begins a part with the text, citations and signature that the start of the block has.
    fn part(
        kind: PartKind,
        body: &AnthropicBlock<'_>,
        agent: Option<&AgentId>,
        w: &mut EventWriter,
        out: &mut Decoded,
    ) -> Self {
        let mut part = WholePart::new(w.open_part(kind, agent, out));
        let text = if kind == PartKind::Thinking { body.thinking } else { body.text };
        part.delta(&text.text().unwrap_or_default(), w, out);
        for citation in body.citations.list() {
            w.custom("citation", citation, agent, out);
        }
        if let Some(signature) = body.signature.word() {
            part.sign(&signature);
        }
        Self::Part { part, is_signed: body.signature.is_truthy(), is_repeated: false }
    }

    /// Begins a call. An `input` that is not empty is kept: streams begin with `{}` and send the input as
    /// deltas.
    fn call(
        body: &AnthropicBlock<'_>,
        server: bool,
        agent: Option<&AgentId>,
        w: &mut EventWriter,
        out: &mut Decoded,
    ) -> Self {
        let id = body.id.words().unwrap_or_default();
        let call = w.open_call(&id, &body.name.text().unwrap_or_default(), server, agent, out);
        let input = body.input.is_truthy().then(|| body.input.as_json_text().to_owned());
        Self::Call { call, input }
    }

    /// Takes a delta of the block. One that does not fit the kind of the block is ignored; one of an unknown
    /// kind is passed on raw.
    pub(super) fn delta(
        &mut self,
        whole: ForeignField<'_>,
        agent: Option<&AgentId>,
        w: &mut EventWriter,
        out: &mut Decoded,
    ) {
        let delta: AnthropicDelta<'_> = whole.object();
        let kind = delta.kind.text().unwrap_or_default();
        if let Some(kind) = DeltaKind::named(&kind) {
            return self.go_on(kind, kind.text(&delta), w, out);
        }
        match (&*kind, self) {
            ("signature_delta", Self::Part { part, is_signed, .. }) => {
                part.sign(&delta.signature.text().unwrap_or_default());
                *is_signed = true;
            }
            ("citations_delta", _) => w.custom("citation", delta.citation, agent, out),
            ("compaction_delta", _) => w.custom("compaction", whole, agent, out),
            ("signature_delta", _) => {}
            _ => w.raw(whole, agent, out),
        }
    }

    /// Takes more text of a kind. It is ignored if it does not fit the kind of the block.
    pub(super) fn go_on(
        &mut self,
        kind: DeltaKind,
        text: ForeignField<'_>,
        w: &EventWriter,
        out: &mut Decoded,
    ) {
        let text = text.text().unwrap_or_default();
        match (kind, self) {
            (DeltaKind::Text | DeltaKind::Thinking, Self::Part { part, .. }) => part.delta(&text, w, out),
            (DeltaKind::Input, Self::Call { call, .. }) => call.args(&text, w, out),
            _ => {}
        }
    }

    /// Takes `body`, a block that the stream sends as a whole, and returns whether it is this one: the call
    /// with the same id, or a text of the same kind that was not repeated yet. Then nothing is written twice;
    /// a text that differs replaces the streamed one.
    pub(super) fn repeat(
        &mut self,
        body: &AnthropicBlock<'_>,
        w: &mut EventWriter,
        out: &mut Decoded,
    ) -> bool {
        match self {
            Self::Part { part, is_signed, is_repeated } => {
                let Some((kind, text)) = body.told_text() else { return false };
                if *is_repeated || kind != part.part().kind() {
                    return false;
                }
                if let Some(signature) = body.signature.word().filter(|_| !*is_signed) {
                    part.sign(&signature);
                }
                (*is_repeated, *is_signed) = (true, *is_signed || body.signature.is_truthy());
                part.set(&text, w, out);
                true
            }
            Self::Call { call, .. } => {
                if body.id.words().is_none_or(|id| id != call.id()) {
                    return false;
                }
                let told = body.input.is_truthy() && !call.is_whole();
                call.written(told.then(|| body.input.as_json_text().to_owned()), w, out);
                true
            }
            Self::Done => false,
        }
    }

    /// Ends the block. If it is not whole (`is_whole`), a call without whole arguments stays open and ends
    /// with its run. Returns what the stream may still repeat.
    pub(crate) fn stop(self, is_whole: bool, w: &mut EventWriter, out: &mut Decoded) -> Option<StoppedBlock> {
        match self {
            Self::Part { part, is_signed, is_repeated } => {
                let kind = part.part().kind();
                let hidden = is_signed && kind == PartKind::Thinking && part.part().is_empty();
                let part = part.end(hidden, w, out);
                return (!is_repeated).then_some(StoppedBlock { kind, part });
            }
            Self::Call { mut call, input } => {
                if is_whole || call.is_whole() {
                    let input = if call.is_empty() { input } else { None };
                    call.written(input, w, out);
                }
            }
            Self::Done => {}
        }
        None
    }

    /// Takes the block back, since the message is sent anew: its text becomes empty, a call that was not
    /// written is cancelled. A block that was sent as a whole stays.
    pub(super) fn discard(self, w: &mut EventWriter, out: &mut Decoded) {
        match self {
            Self::Part { mut part, is_repeated: false, .. } => {
                if !part.part().is_empty() {
                    part.set("", w, out);
                }
                part.end(false, w, out);
            }
            Self::Call { call, .. } if !call.is_written() => {
                w.state(call.id(), ToolState::Cancelled, call.agent(), out);
            }
            whole => {
                whole.stop(true, w, out);
            }
        }
    }
}

/// Writes the result of a tool that the provider executed itself. It failed if `is_error` is true or the type
/// of its content ends in `_error`.
fn result(body: &AnthropicBlock<'_>, agent: Option<&AgentId>, w: &mut EventWriter, out: &mut Decoded) {
    let inner = body.content.object::<AnthropicBlock<'_>>().kind.text();
    let failed = inner.is_some_and(|kind| kind.ends_with("_error"));
    let id = body.tool_use_id.words().unwrap_or_default();
    let is_error = failed || body.is_error.is_true();
    w.result(&id, CallOutcome { is_error, ..CallOutcome::of(body.content.json()) }, agent, out);
}
