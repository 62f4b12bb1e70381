//! Exactly once for each publisher (invariant I10): what of which life was taken last.
//!
//! A publisher numbers what it says, in each of its lives from 1: its frames, or its events one by one. Both follow one
//! rule, since a frame with one number is one thing to be taken, whatever is in it:
//!
//! ```text
//! taken so far:  1 … last                      a frame from `first` to `end`
//!   end <= last            ────┤ first…end      taken before: acked again
//!   first <= last + 1 …    ────┼──┤             the numbers up to `last` are left out, the rest is taken
//!   first > last + 1       ────┤    ├──┤        something is missing: refused, `last + 1` is expected
//! ```

use event_log::Mark;
use indexmap::IndexMap;
use model::PublisherId;
use model::limits::PUBLISHERS_PER_CONVERSATION_MAX;

/// A frame's place in the life of its publisher.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Claim {
    /// The publisher.
    pub publisher: PublisherId,
    /// Its life; a higher one fences a lower one off.
    pub epoch: u64,
    /// What the frame is in that life.
    pub numbers: Numbers,
}

/// The numbers of a frame, from 1, rising by 1 from frame to frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Numbers {
    /// The publisher does not count.
    None,
    /// The frame has one number as a whole.
    Frame(u64),
    /// Each event has one, from the first to the last. Without events, `first` is the number behind `last`: a question
    /// whether everything up to there was taken.
    Events {
        /// The number of the first event, not 0.
        first: u64,
        /// The number of the last.
        last: u64,
    },
}

impl Numbers {
    /// What `pfirst` and `pseq` of a frame say; 0 is nothing.
    pub fn of(first: u64, last: u64) -> Self {
        match (first, last) {
            (0, 0) => Self::None,
            (0, frame) => Self::Frame(frame),
            (first, last) => Self::Events { first, last },
        }
    }

    /// The first number, where the publisher counts.
    pub(crate) fn first(self) -> Option<u64> {
        self.span().map(|(first, _)| first)
    }

    fn span(self) -> Option<(u64, u64)> {
        match self {
            Self::None => None,
            Self::Frame(number) => Some((number, number)),
            Self::Events { first, last } => Some((first, last)),
        }
    }
}

/// What to do with a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// Take it, but for its first so many events, which were taken before.
    Take {
        /// So many.
        skip: usize,
    },
    /// All of it was taken before: say so again.
    Duplicate,
    /// Something before it is missing.
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
    /// As the log has them, the one that was silent longest first.
    pub(crate) fn restored(marks: Vec<Mark>) -> Self {
        let last = marks.into_iter().map(|Mark { publisher, epoch, seq }| (publisher, Last { epoch, seq }));
        Self { last: last.collect() }
    }

    /// For the log.
    pub(crate) fn marks(&self) -> Vec<Mark> {
        let marks = self.last.iter();
        marks.map(|(id, last)| Mark { publisher: id.clone(), epoch: last.epoch, seq: last.seq }).collect()
    }

    /// Judges a frame; changes nothing.
    pub(crate) fn judge(&self, claim: &Claim) -> Verdict {
        let known = self.last.get(&claim.publisher).copied().unwrap_or_default();
        if claim.epoch < known.epoch {
            return Verdict::Fenced;
        }
        let Some((first, end)) = claim.numbers.span() else { return Verdict::Take { skip: 0 } };
        let last = if claim.epoch == known.epoch { known.seq } else { 0 };
        let expected = last.saturating_add(1);
        if first > expected {
            return Verdict::Gap { expected };
        }
        if end <= last {
            return Verdict::Duplicate;
        }
        // No frame has so many events that their number would not fit.
        Verdict::Take { skip: usize::try_from(expected - first).unwrap_or(usize::MAX) }
    }

    /// Notes that a frame was taken; how far the publisher has come with it.
    pub(crate) fn take(&mut self, claim: &Claim) -> Mark {
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
        let end = claim.numbers.span().map_or(0, |(_, end)| end);
        last.seq = last.seq.max(end);
        Mark { publisher: claim.publisher.clone(), epoch: last.epoch, seq: last.seq }
    }
}

#[cfg(test)]
mod tests;
