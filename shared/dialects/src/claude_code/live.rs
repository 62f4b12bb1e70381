//! Messages that come in deltas before they come as a whole: raw events of the model's API (`stream_event`),
//! one message at a time for each agent.
//!
//! Each text comes twice, and is written once: a block that was streamed is recognised when its assistant
//! line comes, and a text that differs replaces the streamed one. A message that begins before the one before
//! has ended was given up by the program; what was written of that is taken back.

use std::collections::VecDeque;

use compact_str::CompactString;

use super::tally::LineUsage;
use super::work::{ClaudeLine, ClaudeStream};
use crate::Decoded;
use crate::anthropic::{
    AnthropicBlock, AnthropicDelta, AnthropicMessageBody, AnthropicStreamEvent, AnthropicTokens, OpenBlocks,
    StoppedBlock,
};
use crate::fault::fault;
use crate::field::ForeignField;
use crate::writer::EventWriter;
use model::event::{Kind, RunUpdate};
use model::ids::AgentId;

/// Most messages that may be open at the same time, one for each agent, and most blocks of one that wait to
/// be repeated (I7).
const LIVES_MAX: usize = 256;

/// A message that is received in deltas.
#[derive(Debug)]
pub(super) struct LiveMessage {
    /// The id of the message; empty if its start was not received.
    id: CompactString,
    /// The open content blocks of the message.
    blocks: OpenBlocks,
    /// Texts that stopped and may come once more as a whole.
    stopped: VecDeque<StoppedBlock>,
    /// The tokens of the message so far.
    counts: AnthropicTokens,
}

impl LiveMessage {
    /// A message of which nothing but its start was received.
    fn new(id: &str, agent: Option<AgentId>) -> Self {
        Self {
            id: CompactString::new(id),
            blocks: OpenBlocks::of(agent),
            stopped: VecDeque::new(),
            counts: AnthropicTokens::default(),
        }
    }

    /// Whether this may be the message `id`. An id that is not known fits any.
    pub(super) fn is(&self, id: &str) -> bool {
        self.id.is_empty() || id.is_empty() || self.id == id
    }

    /// Takes a block that an assistant line has as a whole, and returns whether it was streamed. Then it is
    /// not to be written again.
    pub(super) fn repeat(
        &mut self,
        body: &AnthropicBlock<'_>,
        w: &mut EventWriter,
        out: &mut Decoded,
    ) -> bool {
        let at = self.stopped.iter_mut().position(|stopped| stopped.repeat(body, w, out));
        if let Some(at) = at {
            self.stopped.remove(at);
            return true;
        }
        self.blocks.repeat(body, w, out)
    }

    /// Ends the open blocks; `is_whole` says whether the message came to its end.
    pub(super) fn close(mut self, is_whole: bool, w: &mut EventWriter, out: &mut Decoded) {
        self.blocks.close(is_whole, w, out);
    }
}

impl ClaudeStream {
    /// Takes a line that wraps an event of the model's API. Tokens of the main agent's message are written at
    /// its end, as those of one model call.
    pub(super) fn stream_event(&mut self, line: ClaudeLine<'_, '_>, out: &mut Decoded) {
        let event: AnthropicStreamEvent<'_> = line.fields.get("event").object();
        let kind = event.kind.text().unwrap_or_default();
        if kind == "ping" {
            return;
        }
        self.begin(None, out);
        let agent = self.agent(line.by, None, out);
        if kind == "message_start" {
            return self.message_start(event.message, line.by, agent, out);
        }
        if !self.lives.contains_key(line.by) {
            self.add_live(line.by, LiveMessage::new("", agent.clone()), out);
        }
        let Some(live) = self.lives.get_mut(line.by) else { return };
        match &*kind {
            "content_block_start" => live.blocks.start(&event, &mut self.writer, out),
            "content_block_delta" => live.blocks.delta(&event, &mut self.writer, out),
            "content_block_stop" => {
                if let Some(stopped) = live.blocks.stop(&event, &mut self.writer, out) {
                    if live.stopped.len() >= LIVES_MAX {
                        live.stopped.pop_front();
                    }
                    live.stopped.push_back(stopped);
                }
            }
            "message_delta" => {
                live.counts.update(event.usage);
                let id = live.id.clone();
                let reason = event.delta.object::<AnthropicDelta<'_>>().stop_reason.word();
                if let Some(reason) = reason.filter(|_| line.by.is_empty()) {
                    self.stop_reason = Some(CompactString::new(&reason));
                }
                self.used(line.by, LineUsage { message: &id, model: None, usage: event.usage });
            }
            "message_stop" => {
                live.blocks.close(true, &mut self.writer, out);
                let usage = std::mem::take(&mut live.counts).usage();
                if usage.is_some() && line.by.is_empty() {
                    self.writer.push(Kind::RunUpdate(RunUpdate { usage, ..RunUpdate::default() }), out);
                }
            }
            "error" => self.trouble = Some(fault(line.fields.get("event"))),
            _ => self.writer.raw(line.fields.get("event"), agent.as_ref(), out),
        }
    }

    /// Begins a message. One of the same agent that had not come to its end is taken back.
    fn message_start(
        &mut self,
        message: ForeignField<'_>,
        by: &str,
        agent: Option<AgentId>,
        out: &mut Decoded,
    ) {
        let body: AnthropicMessageBody<'_> = message.object();
        if by.is_empty() {
            self.begin(body.model.text().as_deref(), out);
        }
        if let Some(mut old) = self.lives.shift_remove(by) {
            old.blocks.discard(&mut self.writer, out);
        }
        let id = body.id.text().unwrap_or_default();
        let mut live = LiveMessage::new(&id, agent);
        live.counts.update(body.usage);
        self.add_live(by, live, out);
        self.used(by, LineUsage { message: &id, model: body.model.text().as_deref(), usage: body.usage });
    }

    /// Adds an open message of the agent that the call `by` started. At the limit the oldest ends.
    fn add_live(&mut self, by: &str, live: LiveMessage, out: &mut Decoded) {
        if self.lives.len() >= LIVES_MAX
            && let Some((_, oldest)) = self.lives.shift_remove_index(0)
        {
            oldest.close(true, &mut self.writer, out);
        }
        self.lives.insert(CompactString::new(by), live);
    }
}
