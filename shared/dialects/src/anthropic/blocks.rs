//! The open blocks of one message, by their index. Dialects of agents wrap the same events, one message for
//! each agent, and use this too.

use std::collections::BTreeMap;

use super::block::{OpenBlock, StoppedBlock};
use super::wire::{AnthropicBlock, AnthropicStreamEvent};
use crate::Decoded;
use crate::writer::EventWriter;
use model::ids::AgentId;

/// Most blocks that may be open at the same time (I7). The API has one open at a time; the limit is for
/// streams that never stop any. At the limit the one with the lowest index is ended.
pub(super) const OPEN_BLOCKS_MAX: usize = 1024;

/// The open blocks of one message, by their index.
#[derive(Debug, Default)]
pub(crate) struct OpenBlocks {
    /// The agent whose message it is; nothing for the main one.
    agent: Option<AgentId>,
    open: BTreeMap<u64, OpenBlock>,
}

impl OpenBlocks {
    /// The blocks of a message of `agent`.
    pub(crate) fn of(agent: Option<AgentId>) -> Self {
        Self { agent, open: BTreeMap::new() }
    }

    /// Takes a `content_block_start`: a part or a call begins. A block with the same index that did not stop
    /// is ended.
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

    /// The open block with this index.
    pub(super) fn get_mut(&mut self, index: u64) -> Option<&mut OpenBlock> {
        self.open.get_mut(&index)
    }

    /// Takes a `content_block_delta`: text, reasoning or arguments go on. A missing start is an anomaly.
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

    /// Takes a `content_block_stop`: the part or call is complete. Returns what the stream may still repeat
    /// as a whole.
    pub(crate) fn stop(
        &mut self,
        event: &AnthropicStreamEvent<'_>,
        w: &mut EventWriter,
        out: &mut Decoded,
    ) -> Option<StoppedBlock> {
        self.open.remove(&event.index.count().unwrap_or(0))?.stop(true, w, out)
    }

    /// Takes `body`, a block that the stream sends as a whole, and returns whether an open block is the same
    /// one. Then it is not to be written again.
    pub(crate) fn repeat(
        &mut self,
        body: &AnthropicBlock<'_>,
        w: &mut EventWriter,
        out: &mut Decoded,
    ) -> bool {
        self.open.values_mut().any(|block| block.repeat(body, w, out))
    }

    /// Ends all blocks, since no more comes of the message; `is_whole` says whether it came to its end.
    pub(crate) fn close(&mut self, is_whole: bool, w: &mut EventWriter, out: &mut Decoded) {
        for (_, block) in std::mem::take(&mut self.open) {
            block.stop(is_whole, w, out);
        }
    }

    /// Takes all blocks back: the message is given up and sent anew.
    pub(crate) fn discard(&mut self, w: &mut EventWriter, out: &mut Decoded) {
        for (_, block) in std::mem::take(&mut self.open) {
            block.discard(w, out);
        }
    }
}
