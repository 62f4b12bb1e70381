//! What a viewer has of a conversation, and what comes next for it.

use std::sync::Arc;

use model::lens::EventEffects;
use model::{Envelope, Seq};

/// A viewer's place in a conversation: the last event and the last ephemeral event that it has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Cursor {
    /// The seq of the last event.
    pub seq: Seq,
    /// The number of the last ephemeral event.
    pub tick: u64,
}

/// How the events of a slice are written for those who share a frame cache.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Delivery {
    /// Deltas of one text that come together are joined.
    #[default]
    Joined,
    /// Each event as it is, for a hub that passes them on: its ring must have each seq.
    Single,
}

/// The events and ephemeral events after a cursor.
#[derive(Debug, Clone)]
pub struct Slice {
    /// The first seq that the slice covers.
    pub from: Seq,
    /// The last seq that it covers; `from - 1` if it has only ephemeral events.
    pub to: Seq,
    /// The events from `from` to `to`, without a hole unless a lens removed some.
    pub events: Vec<Arc<Envelope>>,
    /// The ephemeral events that are newer than the cursor.
    pub ephemera: Vec<Arc<Envelope>>,
    /// The cursor of a viewer that has applied the slice.
    pub cursor: Cursor,
    /// The newest seq of the conversation.
    pub head: Seq,
    /// Effects of some of the events that their own fields do not show, by seq. Lenses need them.
    pub effects: Vec<(Seq, EventEffects)>,
    /// Whether a window that could have left something out of it did not.
    pub is_whole: bool,
}

impl Slice {
    /// Makes an empty slice that covers all seqs after `told` up to `cursor`: the lens of its viewers shows
    /// none of those events.
    pub fn nothing(told: Seq, cursor: Cursor) -> Self {
        let (events, ephemera, effects) = (Vec::new(), Vec::new(), Vec::new());
        let (from, to, head) = (told + 1, cursor.seq, cursor.seq);
        Self { from, to, events, ephemera, cursor, head, effects, is_whole: false }
    }

    /// How many events and ephemeral events it has.
    pub(crate) fn len(&self) -> usize {
        self.events.len() + self.ephemera.len()
    }

    /// Whether it covers no seq and has no ephemeral events.
    pub fn is_empty(&self) -> bool {
        self.to < self.from && self.ephemera.is_empty()
    }
}
