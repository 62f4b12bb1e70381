//! Content blocks: texts, thinking, calls of the caller's tools and of the provider's own, their results.

use super::wire::{AnthropicBlock, AnthropicDelta};
use crate::Decoded;
use crate::field::ForeignField;
use crate::writer::{CallOutcome, EndedPart, EventWriter, OpenCall, WholePart};
use model::anomaly::AnomalyCode;
use model::event::{PartKind, ToolState};
use model::ids::AgentId;

/// A block that has begun and not stopped.
#[derive(Debug)]
pub(crate) enum OpenBlock {
    /// A text or thinking.
    Part {
        part: WholePart,
        /// A signature came: thinking without text is hidden, not empty.
        is_signed: bool,
        /// The stream has told it once more, as a whole.
        is_repeated: bool,
    },
    /// A call; the input that the block began with counts only where none is streamed.
    Call { call: OpenCall, input: Option<String> },
    /// Told as a whole at its start, or not told at all.
    Done,
}

/// A text or thinking that stopped before the stream told it once more.
#[derive(Debug)]
pub(crate) struct StoppedBlock {
    kind: PartKind,
    part: EndedPart,
}

impl StoppedBlock {
    /// The stream tells `body` as a whole: whether it is of the same kind. Then its text is the one that counts.
    pub(crate) fn repeat(&mut self, body: &AnthropicBlock<'_>, w: &EventWriter, out: &mut Decoded) -> bool {
        let Some((kind, text)) = body.told_text() else { return false };
        if kind == self.kind {
            self.part.set(&text, w, out);
        }
        kind == self.kind
    }
}

impl OpenBlock {
    /// A block starts.
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

    /// A block whose start was not seen.
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

    /// More of the block.
    pub(super) fn delta(
        &mut self,
        whole: ForeignField<'_>,
        agent: Option<&AgentId>,
        w: &mut EventWriter,
        out: &mut Decoded,
    ) {
        let delta: AnthropicDelta<'_> = whole.object();
        let kind = delta.kind.text().unwrap_or_default();
        match (&*kind, self) {
            ("text_delta", Self::Part { part, .. }) => {
                part.delta(&delta.text.text().unwrap_or_default(), w, out);
            }
            ("thinking_delta", Self::Part { part, .. }) => {
                part.delta(&delta.thinking.text().unwrap_or_default(), w, out);
            }
            ("signature_delta", Self::Part { part, is_signed, .. }) => {
                part.sign(&delta.signature.text().unwrap_or_default());
                *is_signed = true;
            }
            ("input_json_delta", Self::Call { call, .. }) => {
                call.args(&delta.partial_json.text().unwrap_or_default(), w, out);
            }
            ("citations_delta", _) => w.custom("citation", delta.citation, agent, out),
            ("compaction_delta", _) => w.custom("compaction", whole, agent, out),
            ("signature_delta" | "text_delta" | "thinking_delta" | "input_json_delta", _) => {}
            _ => w.raw(whole, agent, out),
        }
    }

    /// The stream tells `body` as a whole: whether that is this block. Then it is told for the second time.
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

    /// The block is whole, or as whole as it will ever be. Gives back what may still be told once more.
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

    /// The message is told anew: the block does not count, unless it has been told as a whole.
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

/// The provider has executed one of its own tools: a block of the same message tells what came of it.
fn result(body: &AnthropicBlock<'_>, agent: Option<&AgentId>, w: &mut EventWriter, out: &mut Decoded) {
    let inner = body.content.object::<AnthropicBlock<'_>>().kind.text();
    let failed = inner.is_some_and(|kind| kind.ends_with("_error"));
    let id = body.tool_use_id.words().unwrap_or_default();
    let is_error = failed || body.is_error.is_true();
    w.result(&id, CallOutcome { is_error, ..CallOutcome::of(body.content.json()) }, agent, out);
}
