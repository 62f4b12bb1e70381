//! The past in the place of the present. The present goes on behind it: its events are folded as they come, and shown
//! when the reader is back.

use model::fold::ViewChange;
use model::{Position, Seq};

use super::Model;
use crate::replay::{LOG_BYTES_MAX, Replay};
use crate::timeline::{Extent, extent};

/// The past, and whether it is looked at already.
#[derive(Debug, Default)]
pub(super) struct Past {
    replay: Replay,
    is_shown: bool,
}

impl Model {
    /// The past that is looked at.
    pub fn replay(&self) -> Option<&Replay> {
        self.past.as_ref().filter(|past| past.is_shown).map(|past| &past.replay)
    }

    /// The past, also while it is only read.
    pub fn read_past(&self) -> Option<&Replay> {
        self.past.as_ref().map(|past| &past.replay)
    }

    /// Begins to read the past; the present is shown until some of it is asked for.
    pub fn begin_past(&mut self) {
        self.past = Some(Past::default());
    }

    /// Takes the next events of the past, as the hub has logged them.
    pub fn take_logged(&mut self, lines: &str) {
        if let Some(past) = &mut self.past {
            past.replay.history.take_logged(lines);
        }
    }

    /// Takes what the recording told, the piece with the number `number`; false when there is no such piece.
    pub fn take_told(&mut self, number: usize) -> bool {
        let (Some(past), Some(lines)) = (&mut self.past, self.told.get(number)) else { return false };
        past.replay.history.take_told(lines);
        true
    }

    /// Changes what of the past is shown; `change` says whether that is another view altogether.
    pub fn in_past(&mut self, change: impl FnOnce(&mut Replay, &mut dyn FnMut(ViewChange)) -> bool) {
        let Some(past) = &mut self.past else { return };
        let changes = &mut self.touched.changes;
        let is_other = change(&mut past.replay, &mut |change| {
            changes.insert(change);
        });
        if is_other || !past.is_shown {
            past.is_shown = true;
            self.touched.replaced = true;
        }
    }

    /// Back to the present.
    pub fn end_past(&mut self) {
        if self.past.take().is_some_and(|past| past.is_shown) {
            self.touched.changes.clear();
            self.touched.replaced = true;
        }
    }

    /// Where the log is to be read on from; nothing before the hub has told of the conversation.
    pub fn past_position(&self) -> Option<Position> {
        let epoch = self.tracker.position()?.epoch;
        Some(Position { epoch, seq: self.read_past().map_or(0, |past| past.history.seq()) })
    }

    /// The last seq of the present.
    pub fn present_seq(&self) -> Seq {
        if self.recording.is_some() {
            self.read_past().map_or(0, |past| past.history.seq())
        } else {
            self.tracker.view().seq
        }
    }

    /// Whether a run of the present goes on.
    pub fn present_runs(&self) -> bool {
        let view = self.tracker.view();
        self.recording.is_none() && view.runs.values().rev().take(16).any(model::view::RunView::is_running)
    }

    /// The time that the page shows at our time `now`: the hub's, that of the past, or that of a recording.
    pub fn moment(&self, now: u64) -> u64 {
        match (self.replay(), &self.recording) {
            (Some(replay), _) if replay.history.is_timed() => replay.clock(),
            (_, Some(_)) => self.told_until,
            _ => self.hub_time(now),
        }
    }

    /// From when to when everything lasts that is known, at the moment `now`.
    pub fn extent(&self, now: u64) -> Option<Extent> {
        let history = self.replay().map(|replay| &replay.history).filter(|history| history.is_timed());
        let known = history.and_then(|history| history.time(0).zip(history.end()));
        match known {
            Some((from, to)) => Some(Extent { from, to: to.max(from.saturating_add(1)) }),
            None => extent(self.view(), now),
        }
    }

    /// Keeps what a recording tells, for a replay.
    pub(super) fn keep_told(&mut self, lines: &str) {
        let kept: usize = self.told.iter().map(String::len).sum();
        if kept.saturating_add(lines.len()) <= LOG_BYTES_MAX {
            self.told.push(lines.to_owned());
        }
    }
}

#[cfg(test)]
mod tests;
