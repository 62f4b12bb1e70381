//! Exactly once for each publisher (invariant I10): up to which number the frames of each publisher were
//! taken.
//!
//! A publisher has lives, called epochs, and numbers what it sends in each of them from 1: its frames, or its
//! events one by one. Both follow one rule, since a frame with one number is taken or refused as a whole:
//!
//! ```text
//! taken so far:  1 … last                      a frame from `first` to `end`
//!   end <= last            ────┤ first…end      taken before: acked again
//!   first <= last + 1 …    ────┼──┤             the numbers up to `last` are left out, the rest is taken
//!   first > last + 1       ────┤    ├──┤        something is missing: refused, `last + 1` is expected
//! ```

use event_log::PublisherMark;
use indexmap::IndexMap;
use model::PublisherId;
use model::limits::PUBLISHERS_PER_CONVERSATION_MAX;

/// The publisher of a frame, and the numbers of the frame in the publisher's epoch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FrameNumbering {
    /// The id of the publisher.
    pub publisher: PublisherId,
    /// The epoch of the publisher; once a higher one is known, lower ones are refused.
    pub epoch: u64,
    /// The numbers of the frame in that epoch.
    pub numbers: Numbers,
}

/// The numbers of a frame. They begin at 1 in each epoch and rise by 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Numbers {
    /// The publisher does not number its frames: each is taken whenever it comes.
    None,
    /// The frame has one number as a whole.
    Frame(u64),
    /// Each event has a number, from `first` to `last`. A frame without events has `first` after `last`; it
    /// asks whether everything up to `last` was taken.
    Events {
        /// The number of the first event; never 0.
        first: u64,
        /// The number of the last event.
        last: u64,
    },
}

impl Numbers {
    /// Reads `pfirst` and `pseq` of a frame, where 0 stands for absent.
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

    /// The first and the last number, if there are any.
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
pub(crate) enum FrameVerdict {
    /// Take it, without the events that were taken before.
    Take {
        /// How many events to leave out at the front.
        skip: usize,
    },
    /// All of it was taken before: acknowledge it again.
    Duplicate,
    /// Numbers before it are missing.
    Gap {
        /// The number that the next frame must begin with.
        expected: u64,
    },
    /// A newer life of the publisher is known.
    Fenced,
}

/// How far a publisher has come: its newest epoch and the last number that was taken in it.
#[derive(Debug, Clone, Copy, Default)]
struct PublisherProgress {
    epoch: u64,
    seq: u64,
}

/// The publishers of one conversation. Beyond the limit the one that was silent longest is forgotten; if it
/// comes back it must begin a new epoch, since its next number is refused as a gap. Owned by the
/// conversation, guarded by its lock.
#[derive(Debug, Default)]
pub(crate) struct Publishers {
    /// The one that was silent longest comes first.
    last: IndexMap<PublisherId, PublisherProgress>,
}

impl Publishers {
    /// Restores what the log has. The marks are ordered, the publisher that was silent longest first.
    pub(crate) fn restored(marks: Vec<PublisherMark>) -> Self {
        let last = marks
            .into_iter()
            .map(|PublisherMark { publisher, epoch, seq }| (publisher, PublisherProgress { epoch, seq }));
        Self { last: last.collect() }
    }

    /// What the log stores, in the order that [`Publishers::restored`] takes.
    pub(crate) fn marks(&self) -> Vec<PublisherMark> {
        let marks = self.last.iter();
        marks
            .map(|(id, last)| PublisherMark { publisher: id.clone(), epoch: last.epoch, seq: last.seq })
            .collect()
    }

    /// Of the publishers that `is_it` is true for the one that was heard last, and the last number of it that was taken in its newest epoch.
    pub(crate) fn newest(&self, is_it: impl Fn(&PublisherId) -> bool) -> Option<(PublisherId, u64)> {
        let found = self.last.iter().rev().find(|(publisher, _)| is_it(publisher));
        found.map(|(publisher, progress)| (publisher.clone(), progress.seq))
    }

    /// Decides what to do with a frame, without changing anything.
    pub(crate) fn judge(&self, numbering: &FrameNumbering) -> FrameVerdict {
        let known = self.last.get(&numbering.publisher).copied().unwrap_or_default();
        if numbering.epoch < known.epoch {
            return FrameVerdict::Fenced;
        }
        let Some((first, end)) = numbering.numbers.span() else { return FrameVerdict::Take { skip: 0 } };
        let last = if numbering.epoch == known.epoch { known.seq } else { 0 };
        let expected = last.saturating_add(1);
        if first > expected {
            return FrameVerdict::Gap { expected };
        }
        if end <= last {
            return FrameVerdict::Duplicate;
        }
        // No frame has so many events that their number would not fit.
        FrameVerdict::Take { skip: usize::try_from(expected - first).unwrap_or(usize::MAX) }
    }

    /// Notes that a frame was taken; returns how far its publisher has come, for the log.
    pub(crate) fn take(&mut self, numbering: &FrameNumbering) -> PublisherMark {
        let known = self.last.get_index_of(&numbering.publisher);
        if let Some(index) = known {
            // The newest moves to the end, so that the first is the one to forget.
            self.last.move_index(index, self.last.len() - 1);
        } else if self.last.len() >= PUBLISHERS_PER_CONVERSATION_MAX {
            self.last.shift_remove_index(0);
        }
        let last = self.last.entry(numbering.publisher.clone()).or_default();
        if numbering.epoch != last.epoch {
            *last = PublisherProgress { epoch: numbering.epoch, seq: 0 };
        }
        let end = numbering.numbers.span().map_or(0, |(_, end)| end);
        last.seq = last.seq.max(end);
        PublisherMark { publisher: numbering.publisher.clone(), epoch: last.epoch, seq: last.seq }
    }
}

#[cfg(test)]
mod tests;
