//! What has been told before: resumed transcripts repeat their earlier lines.

use std::collections::HashSet;
use std::hash::Hasher as _;

use fnv::FnvHasher;

/// Most lines that are remembered, twice: those of now and those of before.
const REMEMBERED_MAX: usize = 32 << 10;

/// Remembers the newest lines by their hash, in bounded memory.
#[derive(Debug, Default)]
pub(in crate::dialect) struct Seen {
    now: HashSet<u64>,
    before: HashSet<u64>,
}

impl Seen {
    /// Whether the same pieces came before. They are remembered.
    pub(in crate::dialect) fn again(&mut self, pieces: &[&str]) -> bool {
        let mut hash = FnvHasher::default();
        for piece in pieces {
            hash.write(piece.as_bytes());
            hash.write_u8(0xff);
        }
        let hash = hash.finish();
        if self.now.contains(&hash) || self.before.contains(&hash) {
            return true;
        }
        if self.now.len() >= REMEMBERED_MAX {
            self.before = std::mem::take(&mut self.now);
        }
        self.now.insert(hash);
        false
    }
}
