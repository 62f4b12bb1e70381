//! The viewer's side of one subscription: where it stands, what a frame means to it, what to ask for next. The same
//! machine in the page, in the command line and in the tests.

use crate::envelope::Envelope;
use crate::fold::{Change, fold};
use crate::frame::{ServerFrame, SnapshotReason, SubMode};
use crate::lens::Lens;
use crate::position::{Epoch, Position, Seq};
use crate::view::View;

/// What a viewer has of one conversation.
#[derive(Debug, Clone, Default)]
pub struct Tracker {
    /// What was asked for.
    lens: Lens,
    epoch: Option<Epoch>,
    view: View,
    /// The newest seq that the hub spoke of.
    head: Seq,
    /// Whether events may be applied: from `subbed` (tail) or `snap` on.
    joined: bool,
    live: bool,
}

/// What a frame did.
#[derive(Debug, PartialEq, Eq)]
pub enum Outcome<'a> {
    /// The hub answered the subscription; events or a snapshot follow.
    Subscribed {
        /// Why what the client had is of no use.
        why: Option<SnapshotReason>,
    },
    /// The view was replaced.
    Replaced,
    /// Events were applied. The ephemeral ones among them are for the caller to keep.
    Applied(&'a [Envelope]),
    /// Everything there was is applied.
    Live,
    /// The frame covers only what is applied already.
    Duplicate,
    /// Something is missing: ask for a resync.
    Gap {
        /// What would have fit.
        expected: Seq,
        /// What came.
        from: Seq,
    },
    /// No frame of a subscription.
    NotForUs,
}

impl Tracker {
    /// For a subscription that asks for what is seen through `lens`.
    pub fn through(lens: Lens) -> Self {
        Self { lens, ..Self::default() }
    }

    /// What is asked for.
    pub fn lens(&self) -> &Lens {
        &self.lens
    }

    /// What has been applied so far.
    pub fn view(&self) -> &View {
        &self.view
    }

    /// The newest seq that the hub spoke of; ahead of the view's while catching up.
    pub fn head(&self) -> Seq {
        self.head
    }

    /// Whether everything there was at subscription is applied.
    pub fn is_live(&self) -> bool {
        self.live
    }

    /// What to send as `have`: nothing before the first answer.
    pub fn position(&self) -> Option<Position> {
        let epoch = self.epoch.clone()?;
        Some(Position { epoch, seq: self.view.seq })
    }

    /// Starts from a view that is known already, at a position, as it is seen through `lens`.
    pub fn resume(lens: Lens, epoch: Epoch, view: View) -> Self {
        let head = view.seq;
        Self { lens, epoch: Some(epoch), view, head, joined: false, live: false }
    }

    /// The socket is gone: nothing may be applied before the next answer.
    pub fn disconnected(&mut self) {
        self.joined = false;
        self.live = false;
    }

    /// Takes the next frame of this subscription; `changed` hears what in the view changed.
    pub fn take<'a>(&mut self, frame: &'a mut ServerFrame, changed: &mut dyn FnMut(Change)) -> Outcome<'a> {
        match frame {
            ServerFrame::Subbed { epoch, mode, why, head, .. } => {
                let same = self.epoch.as_ref().is_none_or(|known| known == epoch);
                self.joined = *mode == SubMode::Tail && same;
                self.live = false;
                self.head = *head;
                if self.epoch.is_none() {
                    self.epoch = Some(epoch.clone());
                }
                Outcome::Subscribed { why: *why }
            }
            ServerFrame::Snap { epoch, seq, state, .. } => {
                self.view = std::mem::take(&mut **state);
                self.view.seq = *seq;
                self.epoch = Some(epoch.clone());
                self.head = self.head.max(*seq);
                self.joined = true;
                Outcome::Replaced
            }
            ServerFrame::Batch { from, to, ev, .. } => self.batch(*from, *to, ev, changed),
            ServerFrame::Live { seq, .. } => {
                self.head = self.head.max(*seq);
                self.live = self.joined && self.view.seq >= *seq;
                if self.live { Outcome::Live } else { self.gap(seq.saturating_add(1)) }
            }
            _ => Outcome::NotForUs,
        }
    }

    fn batch<'a>(
        &mut self,
        from: Seq,
        to: Seq,
        ev: &'a [Envelope],
        changed: &mut dyn FnMut(Change),
    ) -> Outcome<'a> {
        if !self.joined {
            return self.gap(from);
        }
        if to <= self.view.seq && from <= to {
            return Outcome::Duplicate;
        }
        self.head = self.head.max(to);
        if self.view.seq.saturating_add(1) != from {
            return self.gap(from);
        }
        for envelope in ev {
            fold(&mut self.view, envelope, changed);
            self.lens.tidy(&mut self.view, &envelope.event.run);
        }
        self.view.seq = self.view.seq.max(to);
        Outcome::Applied(ev)
    }

    fn gap<'a>(&self, from: Seq) -> Outcome<'a> {
        Outcome::Gap { expected: self.view.seq.saturating_add(1), from }
    }
}

#[cfg(test)]
mod tests;
