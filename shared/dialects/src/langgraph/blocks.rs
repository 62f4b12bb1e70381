//! Blocks of a message in the typed protocol: they start, get deltas and finish. The end of a block is what
//! counts, whatever was streamed before it.
//!
//! Some servers send each piece of a call's arguments twice: as a `tool_call_chunk`, which has all arguments
//! so far, and as the provider's own `input_json_delta`, which has the piece. Once the first kind was
//! received for a call, the second is ignored.

use super::pieces::thinking;
use super::spoken::{CallEntry, StreamedMessage};
use super::stage::LangGraphWriter;
use super::wire::LangChainBlock;
use crate::Decoded;
use crate::field::ForeignField;
use model::anomaly::AnomalyCode;
use model::event::PartKind;

impl StreamedMessage {
    /// Begins the block `index` with `content`.
    pub(super) fn block_start(
        &mut self,
        index: u64,
        content: ForeignField<'_>,
        stage: &mut LangGraphWriter,
        out: &mut Decoded,
    ) {
        let block: LangChainBlock<'_> = content.object();
        if is_call(&block) {
            if let Some(entry) = self.block_call(index, &block, stage, out) {
                let args = entry.1.args.text().or_else(|| entry.1.input.text()).unwrap_or_default();
                entry.0.args(&args, stage, out);
            }
            return;
        }
        self.delta((PartKind::Text, index), &block.text.text().unwrap_or_default(), stage, out);
        for text in thinking(&block) {
            self.delta((PartKind::Thinking, index), &text.text().unwrap_or_default(), stage, out);
        }
    }

    /// Takes a delta of the block `index`.
    pub(super) fn block_delta(
        &mut self,
        index: u64,
        delta: ForeignField<'_>,
        stage: &mut LangGraphWriter,
        out: &mut Decoded,
    ) {
        let block: LangChainBlock<'_> = delta.object();
        match &*block.kind.text().unwrap_or_default() {
            "text-delta" => {
                self.delta((PartKind::Text, index), &block.text.text().unwrap_or_default(), stage, out);
            }
            "reasoning-delta" => {
                let text = block.reasoning.text().unwrap_or_default();
                self.delta((PartKind::Thinking, index), &text, stage, out);
            }
            "tool-call-delta" => self.call_delta(index, &block, stage, out),
            "block-delta" => {
                let fields: LangChainBlock<'_> = block.fields.object();
                self.call_delta(index, &fields, stage, out);
            }
            // Encrypted or binary: whole in the block's end.
            _ => {}
        }
    }

    /// Takes more of the arguments of the call in the block `index`.
    fn call_delta(
        &mut self,
        index: u64,
        block: &LangChainBlock<'_>,
        stage: &mut LangGraphWriter,
        out: &mut Decoded,
    ) {
        let kind = block.kind.text().unwrap_or_default();
        if !is_call(block) && kind != "tool-call-delta" {
            return;
        }
        let Some((entry, block)) = self.block_call(index, block, stage, out) else { return };
        if kind == "tool_call_chunk" {
            // All the arguments so far.
            entry.is_cumulative = true;
            entry.set_args(&block.args.text().unwrap_or_default(), stage, out);
        } else if !entry.is_cumulative {
            let piece =
                [block.args, block.input, block.partial_json].into_iter().find_map(ForeignField::text);
            entry.args(&piece.unwrap_or_default(), stage, out);
        }
    }

    /// The call of the block `index`, begun if it is new; nothing if it was written before or has no room.
    fn block_call<'a, 'b>(
        &'a mut self,
        index: u64,
        block: &'b LangChainBlock<'b>,
        stage: &mut LangGraphWriter,
        out: &mut Decoded,
    ) -> Option<(&'a mut CallEntry, &'b LangChainBlock<'b>)> {
        let key = compact_str::format_compact!("{index}");
        let known = self.calls.iter().position(|entry| entry.key == key);
        let at = if let Some(at) = known {
            at
        } else {
            let id = block.id.words().unwrap_or_default();
            if !id.is_empty() && stage.knows(&id) {
                return None;
            }
            self.open_call(&key, &id, &block.name.word().unwrap_or_default(), stage, out)?
        };
        let entry = self.calls.get_mut(at)?;
        if let Some(name) = block.name.word().filter(|_| entry.call.call().name().is_empty()) {
            entry.call.call().set_name(&name);
        }
        Some((entry, block))
    }

    /// Ends the block `index`, whose `content` is what counts. Text that was streamed as another kind is
    /// taken back, with an anomaly.
    pub(super) fn block_finish(
        &mut self,
        index: u64,
        content: ForeignField<'_>,
        stage: &mut LangGraphWriter,
        out: &mut Decoded,
    ) {
        let block: LangChainBlock<'_> = content.object();
        if is_call(&block) {
            if let Some((entry, block)) = self.block_call(index, &block, stage, out) {
                match block.args.text() {
                    Some(args) => entry.set_args(&args, stage, out),
                    None if block.args.is_object() && !entry.call.call().is_whole() => {
                        entry.set_args(block.args.as_json_text(), stage, out);
                    }
                    None => {}
                }
            }
            return self.write_call(index, stage, out);
        }
        let kind = match &*block.kind.text().unwrap_or_default() {
            "text" => PartKind::Text,
            "reasoning" | "thinking" => PartKind::Thinking,
            _ => return self.block_piece(index, content, stage, out),
        };
        for other in self.other_kinds((kind, index)) {
            let detail = format!("content block {index}: {other:?} was streamed into a block of {kind:?}");
            stage.w.anomaly(AnomalyCode::PartMismatch, detail, out);
            self.set((other, index), "", stage, out);
        }
        let text: String = if kind == PartKind::Text {
            block.text.text().unwrap_or_default().into_owned()
        } else {
            thinking(&block).into_iter().filter_map(ForeignField::text).collect()
        };
        self.set((kind, index), &text, stage, out);
        self.end_place(index, stage, out);
    }
}

/// Whether the block is a call of the caller's tools, or a piece of one.
fn is_call(block: &LangChainBlock<'_>) -> bool {
    matches!(
        &*block.kind.text().unwrap_or_default(),
        "tool_call"
            | "tool_use"
            | "tool_call_chunk"
            | "input_json_delta"
            | "function_call"
            | "invalid_tool_call"
    )
}
