//! The effects of events in the ring that their own fields do not show. Few events have any.

use std::collections::VecDeque;

use model::lens::{EventEffects, event_effects};
use model::{Envelope, Seq, View};

/// The effects of the events in the ring, in order of seq. Only events with effects are in it, so it stays
/// small. Owned by its conversation.
#[derive(Debug, Default)]
pub(crate) struct RingEffects {
    /// Seqs rise; events that left the ring are removed when the next one is added.
    sparse: VecDeque<(Seq, EventEffects)>,
    /// The effects of events up to this one are unknown.
    unknown_to: Seq,
}

impl RingEffects {
    /// Notes the effects of `envelope`, whose event is about to be folded onto the view `before`, and drops
    /// those of events up to `gone`.
    pub(crate) fn note(&mut self, before: &View, envelope: &Envelope, gone: Seq) {
        let Some(effects) = event_effects(before, &envelope.event) else { return };
        while self.sparse.front().is_some_and(|(seq, _)| *seq <= gone) {
            self.sparse.pop_front();
        }
        self.sparse.push_back((envelope.seq, effects));
    }

    /// Notes that events up to `seq` are in the ring whose effects are unknown: the view that was before them is.
    pub(crate) fn unknown_to(&mut self, seq: Seq) {
        self.unknown_to = self.unknown_to.max(seq);
    }

    /// Whether the effects of all events after `seq` are known.
    pub(crate) fn reach(&self, seq: Seq) -> bool {
        seq >= self.unknown_to
    }

    /// The effects of the events after `seq` up to `to`, as far as they are known.
    pub(crate) fn between(&self, seq: Seq, to: Seq) -> Vec<(Seq, EventEffects)> {
        // Most readers are near the head, where there is rarely anything.
        if self.sparse.back().is_none_or(|(last, _)| *last <= seq) {
            return Vec::new();
        }
        let from = self.sparse.partition_point(|(at, _)| *at <= seq);
        self.sparse.range(from..).take_while(|(at, _)| *at <= to).cloned().collect()
    }
}
