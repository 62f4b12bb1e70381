//! The blocks of one message that are open. Dialects of agents wrap the same events, one message for each agent.

use std::collections::BTreeMap;

use super::block::{OpenBlock, StoppedBlock};
use super::wire::{AnthropicBlock, AnthropicStreamEvent};
use crate::Decoded;
use crate::writer::EventWriter;
use model::ids::AgentId;

/// Most blocks that may be open at the same time. The dialect has one; the limit is for streams that never stop any.
pub(super) const OPEN_BLOCKS_MAX: usize = 1024;

/// The open blocks of one message, by their index.
#[derive(Debug, Default)]
pub(crate) struct OpenBlocks {
    agent: Option<AgentId>,
    open: BTreeMap<u64, OpenBlock>,
}

impl OpenBlocks {
    /// The blocks of a message of `agent`.
    pub(crate) fn of(agent: Option<AgentId>) -> Self {
        Self { agent, open: BTreeMap::new() }
    }

    /// Reads a `content_block_start`: a part or a call begins.
    pub(crate) fn start(&mut self, event: &AnthropicStreamEvent<'_>, w: &mut EventWriter, out: &mut Decoded) {
        let index = event.index.count().unwrap_or(0);
        if let Some(unstopped) = self.open.remove(&index) {
            unstopped.stop(true, w, out);
        }
        if self.open.len() >= OPEN_BLOCKS_MAX
            && let Some((_, oldest)) = self.open.pop_first()
        {
            oldest.stop(true, w, out);
        }
        let block = OpenBlock::start(event.content_block, self.agent.as_ref(), w, out);
        self.open.insert(index, block);
    }

    /// Reads a `content_block_delta`: text, reasoning or arguments go on.
    pub(crate) fn delta(&mut self, event: &AnthropicStreamEvent<'_>, w: &mut EventWriter, out: &mut Decoded) {
        let index = event.index.count().unwrap_or(0);
        if !self.open.contains_key(&index) && self.open.len() < OPEN_BLOCKS_MAX {
            let block = OpenBlock::without_start(index, event.delta, self.agent.as_ref(), w, out);
            self.open.insert(index, block);
        }
        if let Some(block) = self.open.get_mut(&index) {
            block.delta(event.delta, self.agent.as_ref(), w, out);
        }
    }

    /// Reads a `content_block_stop`: the part or call is complete.
    pub(crate) fn stop(
        &mut self,
        event: &AnthropicStreamEvent<'_>,
        w: &mut EventWriter,
        out: &mut Decoded,
    ) -> Option<StoppedBlock> {
        self.open.remove(&event.index.count().unwrap_or(0))?.stop(true, w, out)
    }

    /// The stream tells a block as a whole that it may have told in deltas; whether it has, and the block is open.
    pub(crate) fn repeat(
        &mut self,
        body: &AnthropicBlock<'_>,
        w: &mut EventWriter,
        out: &mut Decoded,
    ) -> bool {
        self.open.values_mut().any(|block| block.repeat(body, w, out))
    }

    /// No more comes of the message.
    pub(crate) fn close(&mut self, is_whole: bool, w: &mut EventWriter, out: &mut Decoded) {
        for (_, block) in std::mem::take(&mut self.open) {
            block.stop(is_whole, w, out);
        }
    }

    /// The message is given up and told anew: what there is of its texts does not count.
    pub(crate) fn discard(&mut self, w: &mut EventWriter, out: &mut Decoded) {
        for (_, block) in std::mem::take(&mut self.open) {
            block.discard(w, out);
        }
    }
}
