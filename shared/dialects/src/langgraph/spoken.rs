//! A message of the model while it is received: its parts and calls, in pieces or as a whole that grows.

use std::hash::Hasher as _;

use compact_str::CompactString;
use serde::Deserialize;

use super::pieces::{LangChainPiece, add_block, pieces};
use super::stage::{ARGUMENTS_KEPT_BYTES_MAX, LangGraphWriter};
use super::wire::{LangChainMessage, usage};
use crate::Decoded;
use crate::field::ForeignField;
use crate::writer::{CallOutcome, WholeCall, WholePart};
use model::event::{PartKind, Usage};
use model::ids::AgentId;
use model::print::Fingerprint;

/// A message that is open. Whoever removes it from the open ones calls [`StreamedMessage::end`].
#[derive(Debug, Default)]
pub(super) struct StreamedMessage {
    /// The agent that writes it; nothing for the main one.
    pub(super) agent: Option<AgentId>,
    /// The id of the message, if the stream has another name for it; empty otherwise.
    pub(super) id: CompactString,
    /// A hash of the text that was written of it.
    text_hash: TextHash,
    /// The open parts, by their kind and their place in the message.
    parts: Vec<((PartKind, u64), WholePart)>,
    /// The calls of the message that are not written yet.
    pub(super) calls: Vec<CallEntry>,
    /// The number of pieces that are no text and were written, of a message that is sent again and again.
    others: usize,
    /// The tokens of the message so far.
    pub(super) usage: Option<Usage>,
    /// The tokens that the graph says beside the message, for models that do not say them.
    pub(super) usage_beside: Option<Usage>,
    /// The message has its calls itself: those that the graph says beside it are the same.
    pub(super) has_calls: bool,
    /// The stream said that the model stopped.
    pub(super) is_stopped: bool,
}

/// A hash of the text that was written; nothing before the first.
#[derive(Debug, Default)]
struct TextHash(Option<Fingerprint>);

impl TextHash {
    /// Adds text to the hash.
    fn add(&mut self, text: &str) {
        self.0.get_or_insert_default().write(text.as_bytes());
    }
}

/// A call in an open message.
#[derive(Debug)]
pub(super) struct CallEntry {
    /// The name by which the pieces of the message refer to it: an index or an id.
    pub(super) key: CompactString,
    /// The id of the call; empty if none was given.
    pub(super) id: CompactString,
    pub(super) call: WholeCall,
    /// The arguments, if they are not too long to be kept.
    args: String,
    /// All arguments so far were received, so pieces of them say nothing new.
    pub(super) is_cumulative: bool,
}

/// A piece of a call, or a whole one: they have the same fields.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct CallDelta<'a> {
    #[serde(borrow)]
    pub(super) index: ForeignField<'a>,
    #[serde(borrow)]
    pub(super) id: ForeignField<'a>,
    #[serde(borrow)]
    pub(super) name: ForeignField<'a>,
    #[serde(borrow)]
    pub(super) args: ForeignField<'a>,
}

impl StreamedMessage {
    /// A message of which nothing was received yet.
    pub(super) fn of(agent: Option<AgentId>) -> Self {
        Self { agent, ..Self::default() }
    }

    /// Takes a piece of the message.
    pub(super) fn piece(
        &mut self,
        message: &LangChainMessage<'_>,
        stage: &mut LangGraphWriter,
        out: &mut Decoded,
    ) {
        for piece in pieces(message) {
            match piece {
                LangChainPiece::Text { kind, place, text } => {
                    self.end_parts_but((kind, place), stage, out);
                    self.delta((kind, place), &text, stage, out);
                }
                other => self.other(&other, stage, out),
            }
        }
        self.has_calls |= message.has_calls();
        let pieces = message.body.tool_call_chunks.list();
        if pieces.is_empty() {
            self.whole_calls(message, stage, out);
        }
        for piece in pieces {
            self.call_piece(&piece.object(), stage, out);
        }
        if let Some(more) = usage(message.body.usage_metadata) {
            self.usage = Some(self.usage.unwrap_or_default().plus(more));
        }
    }

    /// Takes the whole message, of which nothing was written.
    pub(super) fn whole(
        &mut self,
        message: &LangChainMessage<'_>,
        stage: &mut LangGraphWriter,
        out: &mut Decoded,
    ) {
        for piece in pieces(message) {
            match piece {
                LangChainPiece::Text { kind, place, text } => self.delta((kind, place), &text, stage, out),
                other => self.other(&other, stage, out),
            }
        }
        self.whole_calls(message, stage, out);
        self.usage = usage(message.body.usage_metadata).or(self.usage);
    }

    /// Writes the calls of a message that are whole, unless they were written. Those with invalid arguments
    /// are kept as text.
    fn whole_calls(
        &mut self,
        message: &LangChainMessage<'_>,
        stage: &mut LangGraphWriter,
        out: &mut Decoded,
    ) {
        for call in message.body.tool_calls.list() {
            let call: CallDelta<'_> = call.object();
            let id = call.id.words().unwrap_or_default();
            let Some(name) = call.name.word() else { continue };
            let is_told =
                !id.is_empty() && (stage.knows(&id) || self.calls.iter().any(|entry| entry.id == *id));
            if is_told || !stage.w.has_room(out) {
                continue;
            }
            let args = call.args.text().unwrap_or_else(|| call.args.as_json_text().into());
            stage.whole_call(&id, &name, &args, self.agent.as_ref(), out);
        }
        if message.body.tool_call_chunks.is_truthy() {
            return;
        }
        for call in message.body.invalid_tool_calls.list() {
            let piece: CallDelta<'_> = call.object();
            let id = piece.id.words().unwrap_or_default();
            if !id.is_empty() && !stage.knows(&id) && piece.name.word().is_some() {
                self.call_piece(&piece, stage, out);
            }
        }
    }

    /// Takes all of the message so far. Pieces that are no text are written when another one follows, since
    /// they may still grow.
    pub(super) fn grow(
        &mut self,
        message: &LangChainMessage<'_>,
        stage: &mut LangGraphWriter,
        out: &mut Decoded,
    ) {
        self.is_stopped |= message.stopped().is_some();
        let pieces = pieces(message);
        let last = pieces.len().saturating_sub(1);
        let mut others = 0_usize;
        for (at, piece) in pieces.into_iter().enumerate() {
            if let LangChainPiece::Text { kind, place, text } = piece {
                self.set((kind, place), &text, stage, out);
                continue;
            }
            others = others.saturating_add(1);
            if others > self.others && (at < last || self.is_stopped) {
                self.others = others;
                self.other(&piece, stage, out);
            }
        }
        self.usage = usage(message.body.usage_metadata).or(self.usage);
        self.grow_calls(message, stage, out);
    }

    /// Takes a whole block that is not text, reasoning or call.
    pub(super) fn block_piece(
        &mut self,
        at: u64,
        block: ForeignField<'_>,
        stage: &mut LangGraphWriter,
        out: &mut Decoded,
    ) {
        let mut pieces = Vec::new();
        add_block(at, block, &mut pieces);
        for piece in pieces {
            match piece {
                LangChainPiece::Text { kind, place, text } => self.set((kind, place), &text, stage, out),
                other => self.other(&other, stage, out),
            }
        }
        self.end_place(at, stage, out);
    }

    /// Writes a piece that is no text.
    fn other(&mut self, piece: &LangChainPiece<'_>, stage: &mut LangGraphWriter, out: &mut Decoded) {
        let agent = self.agent.clone();
        let agent = agent.as_ref();
        match piece {
            LangChainPiece::Text { .. } => {}
            LangChainPiece::Hidden { place } => {
                self.end_parts_but((PartKind::Thinking, *place), stage, out);
                if stage.w.has_room(out) {
                    stage.w.whole_part(PartKind::Thinking, "", true, agent, out);
                }
            }
            LangChainPiece::Call { id, name, input } => {
                if !stage.knows(id) && stage.w.has_room(out) {
                    let mut call = stage.w.open_call(id, name, true, agent, out);
                    let input = input.text().unwrap_or_else(|| input.as_json_text().into());
                    call.args(if input == "null" { "" } else { &input }, &stage.w, out);
                    call.written(None, &mut stage.w, out);
                }
            }
            LangChainPiece::Result { id, output, is_error } => {
                let outcome = CallOutcome { is_error: *is_error, ..CallOutcome::of(output.json()) };
                stage.w.result(id, outcome, agent, out);
            }
            LangChainPiece::Custom { name, value } => stage.w.custom(name, *value, agent, out),
            LangChainPiece::Raw(value) => stage.w.raw(*value, agent, out),
        }
    }

    /// Writes more text of a part.
    pub(super) fn delta(
        &mut self,
        key: (PartKind, u64),
        text: &str,
        stage: &mut LangGraphWriter,
        out: &mut Decoded,
    ) {
        if text.is_empty() {
            return;
        }
        if key.0 == PartKind::Text {
            self.text_hash.add(text);
        }
        if let Some(part) = self.part(key, stage, out) {
            part.delta(text, &stage.w, out);
        }
    }

    /// Makes `whole` the text of a part: writes what is new, or replaces it.
    pub(super) fn set(
        &mut self,
        key: (PartKind, u64),
        whole: &str,
        stage: &mut LangGraphWriter,
        out: &mut Decoded,
    ) {
        if whole.is_empty() && !self.parts.iter().any(|(known, _)| *known == key) {
            return;
        }
        if key.0 == PartKind::Text {
            self.text_hash = TextHash::default();
            self.text_hash.add(whole);
        }
        if let Some(part) = self.part(key, stage, out) {
            part.set(whole, &stage.w, out);
        }
    }

    /// The part with this kind and place, begun if it is new; nothing if there is no room for it.
    fn part(
        &mut self,
        key: (PartKind, u64),
        stage: &mut LangGraphWriter,
        out: &mut Decoded,
    ) -> Option<&mut WholePart> {
        let known = self.parts.iter().position(|(known, _)| *known == key);
        let at = if let Some(at) = known {
            at
        } else {
            if !stage.w.has_room(out) {
                return None;
            }
            let part = stage.w.open_part(key.0, self.agent.as_ref(), out);
            self.parts.push((key, WholePart::new(part)));
            self.parts.len().saturating_sub(1)
        };
        self.parts.get_mut(at).map(|(_, part)| part)
    }

    /// The kinds of other open parts at the same place.
    pub(super) fn other_kinds(&self, (kind, place): (PartKind, u64)) -> Vec<PartKind> {
        let others = self.parts.iter().map(|(key, _)| *key);
        others.filter(|key| key.1 == place && key.0 != kind).map(|key| key.0).collect()
    }

    /// Ends all open parts but this one.
    fn end_parts_but(&mut self, key: (PartKind, u64), stage: &LangGraphWriter, out: &mut Decoded) {
        for (_, part) in self.parts.extract_if(.., |(known, _)| *known != key) {
            part.end(false, &stage.w, out);
        }
    }

    /// Ends the parts of a place.
    pub(super) fn end_place(&mut self, place: u64, stage: &LangGraphWriter, out: &mut Decoded) {
        for (_, part) in self.parts.extract_if(.., |((_, known), _)| *known == place) {
            part.end(false, &stage.w, out);
        }
    }

    /// Writes the calls: all if the message is whole (`is_whole`), else those with whole arguments. The
    /// others are dropped and end with the run.
    pub(super) fn write_calls(&mut self, is_whole: bool, stage: &mut LangGraphWriter, out: &mut Decoded) {
        self.write_those(|entry| is_whole || entry.call.call().is_whole(), stage, out);
        self.calls.clear();
    }

    /// Writes the calls whose arguments are whole. The others stay: more of their arguments may come.
    pub(super) fn write_whole_calls(&mut self, stage: &mut LangGraphWriter, out: &mut Decoded) {
        self.write_those(|entry| entry.call.call().is_whole(), stage, out);
    }

    /// Writes the call of the block `index`.
    pub(super) fn write_call(&mut self, index: u64, stage: &mut LangGraphWriter, out: &mut Decoded) {
        let key = compact_str::format_compact!("{index}");
        self.write_those(|entry| entry.key == key, stage, out);
    }

    /// Writes the calls that `is_due` names, in order; the others stay.
    fn write_those(
        &mut self,
        is_due: impl FnMut(&mut CallEntry) -> bool,
        stage: &mut LangGraphWriter,
        out: &mut Decoded,
    ) {
        for mut entry in self.calls.extract_if(.., is_due) {
            entry.written(self.agent.as_ref(), stage, out);
        }
    }

    /// The hash of all text that was written; nothing if there was none.
    pub(super) fn text_hash(&self) -> Option<u64> {
        self.text_hash.0.as_ref().map(Fingerprint::finish)
    }

    /// Ends the message, which is whole or was broken off.
    pub(super) fn end(&mut self, is_whole: bool, stage: &mut LangGraphWriter, out: &mut Decoded) {
        for (_, part) in std::mem::take(&mut self.parts) {
            part.end(false, &stage.w, out);
        }
        self.write_calls(is_whole, stage, out);
    }
}

impl CallEntry {
    /// An entry for a call that begins.
    pub(super) fn new(key: &str, id: &str, call: WholeCall) -> Self {
        let (key, id) = (CompactString::new(key), CompactString::new(id));
        Self { key, id, call, args: String::new(), is_cumulative: false }
    }

    /// Writes more of the arguments.
    pub(super) fn args(&mut self, text: &str, stage: &LangGraphWriter, out: &mut Decoded) {
        if self.args.len() <= ARGUMENTS_KEPT_BYTES_MAX {
            self.args.push_str(text);
        }
        self.call.args(text, &stage.w, out);
    }

    /// Makes `whole` the arguments.
    pub(super) fn set_args(&mut self, whole: &str, stage: &LangGraphWriter, out: &mut Decoded) {
        self.args.clear();
        if whole.len() <= ARGUMENTS_KEPT_BYTES_MAX {
            self.args.push_str(whole);
        }
        self.call.set_args(whole, &stage.w, out);
    }

    /// Ends the arguments, and notes the call for its execution and result.
    pub(super) fn written(
        &mut self,
        agent: Option<&AgentId>,
        stage: &mut LangGraphWriter,
        out: &mut Decoded,
    ) {
        self.call.written(&mut stage.w, out);
        let call = self.call.call();
        let (id, name) = (CompactString::new(call.id()), CompactString::new(call.name()));
        stage.add(&id, &name, &self.args, agent);
    }
}
