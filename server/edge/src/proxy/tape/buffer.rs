//! Bytes that are added often and taken at once. They lie in blocks, so that adding some never moves those that are there: the
//! calls that add are carried by the threads that serve peers.

/// Length of a block in bytes. One that gets more at once is longer.
const BLOCK_BYTES: usize = 64 << 10;

/// Bytes in the order in which they were added.
#[derive(Debug, Default)]
pub(in crate::proxy) struct BlockBuffer {
    /// The blocks in order; none is empty.
    blocks: Vec<Vec<u8>>,
    /// The length of all together.
    bytes: usize,
}

impl BlockBuffer {
    /// The length in bytes.
    pub(in crate::proxy) fn len(&self) -> usize {
        self.bytes
    }

    /// Whether there are no bytes.
    pub(super) fn is_empty(&self) -> bool {
        self.bytes == 0
    }

    /// Adds a copy of `bytes`.
    pub(super) fn add(&mut self, bytes: &[u8]) {
        self.bytes = self.bytes.saturating_add(bytes.len());
        let room = self.blocks.last().map_or(0, |last| BLOCK_BYTES.saturating_sub(last.len()));
        let (here, further) = bytes.split_at_checked(room).unwrap_or((bytes, &[]));
        if let Some(last) = self.blocks.last_mut() {
            // The first block grows like any vector until it is full, since most answers are small.
            last.extend_from_slice(here);
        }
        if !further.is_empty() {
            let capacity = if self.blocks.is_empty() { 0 } else { BLOCK_BYTES };
            let mut block = Vec::with_capacity(capacity.max(further.len()));
            block.extend_from_slice(further);
            self.blocks.push(block);
        }
    }

    /// The blocks in order.
    pub(in crate::proxy) fn blocks(&self) -> impl Iterator<Item = &[u8]> {
        self.blocks.iter().map(Vec::as_slice)
    }

    /// Copies all blocks into one, and drops each after it was copied, so that little is in memory twice.
    pub(super) fn join(self) -> Vec<u8> {
        let mut all = Vec::with_capacity(self.bytes);
        for block in self.blocks {
            all.extend_from_slice(&block);
        }
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_added_comes_in_order_in_blocks_that_never_move() {
        let mut buffer = BlockBuffer::default();
        let mut expected = Vec::new();
        let lengths = [1, 5, BLOCK_BYTES - 7, 3, 0, 3 * BLOCK_BYTES, 2, BLOCK_BYTES];
        for (number, length) in (0_u8..).zip(lengths) {
            let piece = vec![number; length];
            buffer.add(&piece);
            expected.extend_from_slice(&piece);
        }
        assert_eq!((buffer.len(), buffer.is_empty()), (expected.len(), false));
        let lengths: Vec<_> = buffer.blocks().map(<[u8]>::len).collect();
        assert_eq!(lengths, [BLOCK_BYTES, BLOCK_BYTES, 2 * BLOCK_BYTES + 2, BLOCK_BYTES, 2]);
        assert_eq!(buffer.join(), expected);
    }
}
