//! What events do beyond what they say, for those in the ring: few do anything.

use std::collections::VecDeque;

use model::lens::{EventEffects, event_effects};
use model::{Envelope, Seq, View};

/// The few events in the ring that change more than their own part, with what they change, in order.
#[derive(Debug, Default)]
pub(crate) struct Marks {
    sparse: VecDeque<(Seq, EventEffects)>,
}

impl Marks {
    /// Notes what `envelope` does, whose event comes onto the view `before`; forgets those up to `gone`.
    pub(crate) fn note(&mut self, before: &View, envelope: &Envelope, gone: Seq) {
        let Some(mark) = event_effects(before, &envelope.event) else { return };
        while self.sparse.front().is_some_and(|(seq, _)| *seq <= gone) {
            self.sparse.pop_front();
        }
        self.sparse.push_back((envelope.seq, mark));
    }

    /// The marks of the events after `seq` up to `to`.
    pub(crate) fn between(&self, seq: Seq, to: Seq) -> Vec<(Seq, EventEffects)> {
        // Most who ask are near the end.
        if self.sparse.back().is_none_or(|(last, _)| *last <= seq) {
            return Vec::new();
        }
        let from = self.sparse.partition_point(|(at, _)| *at <= seq);
        self.sparse.range(from..).take_while(|(at, _)| *at <= to).cloned().collect()
    }
}
