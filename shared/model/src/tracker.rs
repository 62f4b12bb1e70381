//! The viewer's side of one subscription: where it stands, what a frame means to it, what to ask for next. The same
//! machine in the page, in the command line and in the tests.

use compact_str::CompactString;

use crate::envelope::Envelope;
use crate::event::{Kind, PartEnd};
use crate::fold::{ViewChange, fold};
use crate::frame::{ServerFrame, SnapshotReason, SubMode};
use crate::ids::{PartId, RunId};
use crate::lens::Lens;
use crate::position::{Epoch, Position, Seq};
use crate::snapshot;
use crate::view::View;

/// Most texts of one epoch for which a resync is asked.
const DRIFTED_MAX: usize = 64;

/// What a viewer has of one conversation.
#[derive(Debug, Clone, Default)]
pub struct Tracker {
    /// What was asked for.
    lens: Lens,
    epoch: Option<Epoch>,
    view: View,
    /// The newest seq that the hub spoke of.
    head: Seq,
    /// The pieces of a snapshot that came so far.
    pieces: Option<View>,
    /// Whether anything came since the last heartbeat.
    heard: bool,
    /// Where this stood at the last heartbeat, when that was behind.
    stood: Option<Seq>,
    /// Texts that turned out wrong in this epoch.
    drifted: Vec<(RunId, PartId)>,
    /// Whether events may be applied: from `subbed` (tail) or `snap` on.
    joined: bool,
    live: bool,
}

/// What a frame did.
#[derive(Debug, PartialEq, Eq)]
pub enum FrameOutcome<'a> {
    /// The hub answered the subscription; events or a snapshot follow.
    Subscribed {
        /// Why what the client had is of no use.
        why: Option<SnapshotReason>,
    },
    /// A piece of a snapshot came; nothing changes before the last of them.
    Piece,
    /// The view was replaced.
    Replaced,
    /// Events were applied. The ephemeral ones among them are for the caller to keep.
    Applied(&'a [Envelope]),
    /// Everything there was is applied.
    Live,
    /// The frame covers only what is applied already.
    Duplicate,
    /// Events are missing: ask for a resync.
    Gap {
        /// The seq with which the frame should have begun.
        expected: Seq,
        /// The seq with which it begins.
        from: Seq,
    },
    /// A text is not the one that the hub has, though nothing was missing: ask for a resync.
    Drift {
        /// The id of the text's run.
        run: RunId,
        /// The id of the text's part.
        part: PartId,
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

    /// What to send with `have` as `window`: the name of the part of the conversation that it has; nothing if it has all of it.
    pub fn window(&self) -> Option<&CompactString> {
        self.view.earlier.as_ref().map(|earlier| &earlier.window)
    }

    /// Starts from a view that is known already, at a position, as it is seen through `lens`.
    pub fn resume(lens: Lens, epoch: Epoch, view: View) -> Self {
        let head = view.seq;
        Self { lens, epoch: Some(epoch), view, head, ..Self::default() }
    }

    /// The socket is gone: nothing may be applied before the next answer.
    pub fn disconnected(&mut self) {
        self.joined = false;
        self.live = false;
        self.pieces = None;
        self.stood = None;
    }

    /// Takes what a heartbeat says of this subscription. True when it is dead though the socket lives: it was behind at the
    /// last heartbeat, is now, and nothing came in between. Then ask for a resync.
    pub fn heartbeat(&mut self, head: Option<&(Epoch, Seq)>) -> bool {
        let is_behind = match head {
            Some((epoch, head)) => self.epoch.as_ref() != Some(epoch) || *head > self.view.seq,
            // The hub knows nothing of it.
            None => true,
        };
        let is_dead = is_behind && !self.heard && self.stood == Some(self.view.seq);
        self.heard = false;
        self.stood = (is_behind && !is_dead).then_some(self.view.seq);
        is_dead
    }

    /// Takes the next frame of this subscription; `changed` hears what in the view changed.
    pub fn take<'a>(
        &mut self,
        frame: &'a mut ServerFrame,
        changed: &mut dyn FnMut(ViewChange),
    ) -> FrameOutcome<'a> {
        self.heard = true;
        match frame {
            ServerFrame::Subbed { epoch, mode, why, head, .. } => {
                let same = self.epoch.as_ref().is_none_or(|known| known == epoch);
                self.joined = *mode == SubMode::Tail && same;
                self.live = false;
                self.pieces = None;
                self.head = *head;
                if self.epoch.is_none() {
                    self.epoch = Some(epoch.clone());
                }
                FrameOutcome::Subscribed { why: *why }
            }
            ServerFrame::Snap { epoch, seq, more, state, .. } => {
                self.snapshot(epoch, *seq, *more, std::mem::take(&mut **state))
            }
            ServerFrame::Batch { from, to, ev, .. } => self.batch(*from, *to, ev, changed),
            ServerFrame::Live { seq, .. } => {
                self.head = self.head.max(*seq);
                self.live = self.joined && self.view.seq >= *seq;
                if self.live { FrameOutcome::Live } else { self.gap(seq.saturating_add(1)) }
            }
            _ => FrameOutcome::NotForUs,
        }
    }

    fn snapshot<'a>(&mut self, epoch: &Epoch, seq: Seq, more: bool, piece: View) -> FrameOutcome<'a> {
        let whole = match self.pieces.take() {
            Some(mut before) => {
                snapshot::join(&mut before, piece);
                before
            }
            None => piece,
        };
        if more {
            self.pieces = Some(whole);
            return FrameOutcome::Piece;
        }
        self.view = whole;
        self.view.seq = seq;
        if self.epoch.as_ref() != Some(epoch) {
            self.epoch = Some(epoch.clone());
            self.drifted.clear();
        }
        self.head = self.head.max(seq);
        self.joined = true;
        FrameOutcome::Replaced
    }

    fn batch<'a>(
        &mut self,
        from: Seq,
        to: Seq,
        ev: &'a [Envelope],
        changed: &mut dyn FnMut(ViewChange),
    ) -> FrameOutcome<'a> {
        if !self.joined {
            return self.gap(from);
        }
        if to <= self.view.seq && from <= to {
            return FrameOutcome::Duplicate;
        }
        self.head = self.head.max(to);
        if self.view.seq.saturating_add(1) != from {
            return self.gap(from);
        }
        let mut drifted = None;
        for envelope in ev {
            fold(&mut self.view, envelope, changed);
            self.lens.tidy(&mut self.view, &envelope.event.run);
            if let Kind::PartEnd(end) = &envelope.event.kind {
                drifted = drifted.or_else(|| self.drift(&envelope.event.run, end));
            }
        }
        self.view.seq = self.view.seq.max(to);
        match drifted {
            Some((run, part)) => FrameOutcome::Drift { run, part },
            None => FrameOutcome::Applied(ev),
        }
    }

    /// The part that has just ended, if its text is not what the hub says. Each is told once: what a snapshot does not mend
    /// another one will not.
    fn drift(&mut self, run: &RunId, end: &PartEnd) -> Option<(RunId, PartId)> {
        let body = &self.view.runs.get(run)?.parts.get(&end.part)?.body;
        let fits = end.len.is_none_or(|len| len == body.len)
            && end.hash.as_ref().is_none_or(|hash| *hash == body.hash_hex());
        if fits || !self.lens.has_deltas() || self.drifted.len() >= DRIFTED_MAX {
            return None;
        }
        let drifted = (run.clone(), end.part.clone());
        if self.drifted.contains(&drifted) {
            return None;
        }
        self.drifted.push(drifted.clone());
        Some(drifted)
    }

    fn gap<'a>(&self, from: Seq) -> FrameOutcome<'a> {
        FrameOutcome::Gap { expected: self.view.seq.saturating_add(1), from }
    }
}

#[cfg(test)]
mod tests;
