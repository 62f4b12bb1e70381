//! Exactly once for each publisher (invariant I10): which frame of which life was the last.

use indexmap::IndexMap;
use shared::PublisherId;
use shared::limits::PUBLISHERS_PER_CONVERSATION_MAX;

/// A frame's place in the life of its publisher.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Claim {
    /// The publisher.
    pub(crate) publisher: PublisherId,
    /// Its life; a higher one fences a lower one off.
    pub(crate) epoch: u64,
    /// The number of the frame, from 1, rising by 1; 0 for a publisher that does not count.
    pub(crate) seq: u64,
}

/// What to do with a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// Take it.
    New,
    /// It was taken before: say so again.
    Duplicate,
    /// Frames before it are missing.
    Gap {
        /// The number that is expected.
        expected: u64,
    },
    /// A newer life is known.
    Fenced,
}

#[derive(Debug, Clone, Copy, Default)]
struct Last {
    epoch: u64,
    seq: u64,
}

/// The publishers of one conversation. The one that was silent for longest is forgotten when there are too many; should
/// it come back, it must begin a new life, since its old numbers are refused as a gap.
#[derive(Debug, Default)]
pub(crate) struct Publishers {
    last: IndexMap<PublisherId, Last>,
}

impl Publishers {
    /// Judges a frame; changes nothing.
    pub(crate) fn judge(&self, claim: &Claim) -> Verdict {
        let last = self.last.get(&claim.publisher).copied().unwrap_or_default();
        if claim.epoch < last.epoch {
            return Verdict::Fenced;
        }
        let done = if claim.epoch == last.epoch { last.seq } else { 0 };
        let expected = done + 1;
        match claim.seq {
            0 => Verdict::New,
            seq if seq < expected => Verdict::Duplicate,
            seq if seq > expected => Verdict::Gap { expected },
            _ => Verdict::New,
        }
    }

    /// Notes that a frame was taken.
    pub(crate) fn take(&mut self, claim: &Claim) {
        let known = self.last.get_index_of(&claim.publisher);
        if let Some(index) = known {
            // The newest stands last, so that the first is the one to forget.
            self.last.move_index(index, self.last.len() - 1);
        } else if self.last.len() >= PUBLISHERS_PER_CONVERSATION_MAX {
            self.last.shift_remove_index(0);
        }
        let last = self.last.entry(claim.publisher.clone()).or_default();
        if claim.epoch != last.epoch {
            *last = Last { epoch: claim.epoch, seq: 0 };
        }
        last.seq = last.seq.max(claim.seq);
    }
}

#[cfg(test)]
mod tests;
