//! A replay in place of the present. Events of the present are still folded, and shown when the reader
//! returns.

use model::fold::ViewChange;
use model::{Position, Seq};

use super::Model;
use crate::replay::{LOG_BYTES_MAX, Replay};
use crate::timeline::{Extent, extent};

/// A replay, and whether it is shown yet.
#[derive(Debug, Default)]
pub(super) struct Past {
    replay: Replay,
    is_shown: bool,
}

impl Model {
    /// The replay, if it is shown.
    pub fn replay(&self) -> Option<&Replay> {
        self.past.as_ref().filter(|past| past.is_shown).map(|past| &past.replay)
    }

    /// The replay, even if it is only being read.
    pub fn read_past(&self) -> Option<&Replay> {
        self.past.as_ref().map(|past| &past.replay)
    }

    /// Begins a replay. The present stays on the page until a moment of the past is requested.
    pub fn begin_past(&mut self) {
        self.past = Some(Past::default());
    }

    /// Takes the next events of the past from the hub's log, as JSON lines.
    pub fn take_logged(&mut self, lines: &str) {
        if let Some(past) = &mut self.past {
            past.replay.history.take_logged(lines);
        }
    }

    /// Takes the piece `number` of the recording's events. False if there is no such piece.
    pub fn take_told(&mut self, number: usize) -> bool {
        let (Some(past), Some(lines)) = (&mut self.past, self.told.get(number)) else { return false };
        past.replay.history.take_told(lines);
        true
    }

    /// Changes the moment that is shown. `change` returns whether the view is a different one altogether.
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

    /// Ends the replay and shows the present.
    pub fn end_past(&mut self) {
        if self.past.take().is_some_and(|past| past.is_shown) {
            self.touched.changes.clear();
            self.touched.replaced = true;
        }
    }

    /// The position after which the log must be read on; `None` before the hub has answered the subscription.
    pub fn past_position(&self) -> Option<Position> {
        let epoch = self.tracker.position()?.epoch;
        Some(Position { epoch, seq: self.read_past().map_or(0, |past| past.history.seq()) })
    }

    /// The newest seq of the present.
    pub fn present_seq(&self) -> Seq {
        if self.recording.is_some() {
            self.read_past().map_or(0, |past| past.history.seq())
        } else {
            self.tracker.view().seq
        }
    }

    /// Whether a run of the present is active.
    pub fn present_runs(&self) -> bool {
        let view = self.tracker.view();
        self.recording.is_none() && view.runs.values().rev().take(16).any(model::view::RunView::is_running)
    }

    /// The moment that the page shows at the browser's time `now`: that of the hub, of the replay, or of the
    /// recording. In milliseconds since 1970.
    pub fn moment(&self, now: u64) -> u64 {
        match (self.replay(), &self.recording) {
            (Some(replay), _) if replay.history.is_timed() => replay.clock(),
            (_, Some(_)) => self.told_until,
            _ => self.hub_time(now),
        }
    }

    /// The whole span of time that the page knows at `now`.
    pub fn extent(&self, now: u64) -> Option<Extent> {
        let history = self.replay().map(|replay| &replay.history).filter(|history| history.is_timed());
        let known = history.and_then(|history| history.time(0).zip(history.end()));
        match known {
            Some((from, to)) => Some(Extent { from, to: to.max(from.saturating_add(1)) }),
            None => extent(self.view(), now),
        }
    }

    /// Keeps events of a recording for a replay, up to [`LOG_BYTES_MAX`].
    pub(super) fn keep_told(&mut self, lines: &str) {
        let kept: usize = self.told.iter().map(String::len).sum();
        if kept.saturating_add(lines.len()) <= LOG_BYTES_MAX {
            self.told.push(lines.to_owned());
        }
    }
}

#[cfg(test)]
mod tests;
