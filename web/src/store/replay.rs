//! The replay as the page runs it: reading the past, letting its time pass, telling the bar.

use leptos::prelude::*;

use super::Store;
use crate::browser;
use crate::link::Status;
use crate::model::Model;
use crate::replay::{Player, Replay};

mod reading;

/// Between two steps of a replay that plays, in milliseconds.
const STEP_MS: i32 = 33;

/// What the page tells of a replay.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Replaying {
    /// How many events had happened at the moment that is shown; 0 while none is.
    pub(crate) at: usize,
    /// How many are known.
    pub(crate) total: usize,
    /// When that moment was; nothing where the events have no times.
    pub(crate) clock: Option<u64>,
    /// The player: whether it plays, how fast, what it skips.
    pub(crate) player: Player,
    /// Events that came since the last one that is known.
    pub(crate) behind: u64,
    /// How many more are still to be read.
    pub(crate) missing: u64,
    /// Whether there is more than a replay holds.
    pub(crate) is_cut: bool,
    /// Why the past cannot be read.
    pub(crate) failure: Option<String>,
}

/// How a replay is run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Running {
    /// Counts replays: what belongs to an older one comes too late.
    serial: u32,
    /// Whether events are being read.
    is_reading: bool,
    /// What the reader wants to see as soon as it is there.
    wanted: Option<Wanted>,
    /// Whether the next step is under way.
    is_stepping: bool,
    /// Whether the reader holds the slider: time stands still until it is let go.
    is_held: bool,
    /// When the last step was, by the browser's clock.
    stepped_at: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Wanted {
    /// From the beginning, playing.
    Start,
    /// That moment.
    At(u64),
    /// The moment after the event with that number.
    Event(usize),
}

impl Store {
    /// Goes back to the moment `at`, or to the beginning and plays from there.
    pub(crate) fn start_replay(self, at: Option<u64>) {
        let is_new = self.replay.with_untracked(Option::is_none);
        let wanted = at.map_or(Wanted::Start, Wanted::At);
        if is_new {
            if self.conversation.with_untracked(Option::is_none)
                && self.recording.with_untracked(Option::is_none)
            {
                return;
            }
            self.model.update_value(Model::begin_past);
            self.replay.set(Some(Replaying::default()));
            self.runner.update_value(|runner| {
                *runner = Running { serial: runner.serial.wrapping_add(1), ..Running::default() };
            });
            self.follow();
        }
        self.runner.update_value(|runner| runner.wanted = Some(wanted));
        self.fulfil();
        if is_new {
            self.read_on();
        }
    }

    /// Back to the present.
    pub(crate) fn end_replay(self) {
        if self.replay.with_untracked(Option::is_none) {
            return;
        }
        self.runner.update_value(|runner| {
            *runner = Running { serial: runner.serial.wrapping_add(1), ..Running::default() };
        });
        self.model.update_value(Model::end_past);
        self.replay.set(None);
        self.set_now();
        self.follow();
        self.ask_painting();
    }

    /// The time that is shown.
    pub(crate) fn moment(self) -> u64 {
        let is_up = self.link.status.with_untracked(|status| *status == Status::Up);
        let is_elsewhere =
            self.model(|model| model.replay().is_some()) || self.recording.with_untracked(Option::is_some);
        if is_up || is_elsewhere {
            self.model(|model| model.moment(browser::now_ms()))
        } else {
            // Without a link nobody knows how time went on at the hub: it stands still.
            self.now.get_untracked()
        }
    }

    /// From when to when everything lasts, at the moment `now`.
    pub(crate) fn extent(self, now: u64) -> Option<crate::timeline::Extent> {
        self.model(|model| model.extent(now))
    }

    /// Tells the clock of the page.
    pub(crate) fn set_now(self) {
        if self.link.status.with_untracked(|status| *status == Status::Up) {
            let present = self.model(|model| model.hub_time(browser::now_ms()));
            if self.present.get_untracked() != present {
                self.present.set(present);
            }
        }
        let now = self.moment();
        if self.now.get_untracked() != now {
            self.now.set(now);
        }
    }

    /// Plays or pauses. At the end it plays from the beginning.
    pub(crate) fn toggle_playing(self) {
        self.runner.update_value(|runner| runner.is_held = false);
        self.in_replay(|replay, changed| {
            replay.player.is_playing = !replay.player.is_playing;
            replay.player.is_playing && replay.is_at_end() && replay.seek_event(1, changed)
        });
        self.step_soon();
    }

    /// Goes to another event: `by` events, or to where a step begins or ends.
    pub(crate) fn step_replay(self, by: isize, is_step: bool) {
        self.in_replay(|replay, changed| {
            let at = replay.at();
            let to = match (is_step, by) {
                (true, 0..) => replay.history.step_after(at),
                (true, _) => replay.history.step_before(at),
                (false, by) => at.saturating_add_signed(by),
            };
            replay.seek_event(to, changed)
        });
    }

    /// Goes to the moment after the event with the number `to`, and stays there until [`Self::release_replay`]: the
    /// slider is dragged. It replaces whatever was wanted before and is not read yet.
    pub(crate) fn hold_replay_at(self, to: usize) {
        self.runner.update_value(|runner| {
            (runner.wanted, runner.is_held) = (Some(Wanted::Event(to)), true);
        });
        self.fulfil();
    }

    /// The slider is let go: a replay that played goes on from there.
    pub(crate) fn release_replay(self) {
        let was_held = self.runner.try_update_value(|runner| std::mem::take(&mut runner.is_held));
        if was_held == Some(true) {
            self.step_soon();
        }
    }

    /// Faster or slower.
    pub(crate) fn change_speed(self, by: isize) {
        self.in_replay(|replay, _| {
            replay.player.change_speed(by);
            false
        });
    }

    /// Skips time in which nothing happens, or does not.
    pub(crate) fn toggle_skipping(self) {
        self.in_replay(|replay, _| {
            replay.player.skips_idle = !replay.player.skips_idle;
            false
        });
    }

    /// Changes what of the past is shown, once some of it is.
    fn in_replay(self, change: impl FnOnce(&mut Replay, &mut dyn FnMut(model::fold::ViewChange)) -> bool) {
        if self.model(|model| model.replay().is_none()) {
            return;
        }
        self.model.update_value(|model| model.in_past(change));
        self.tell_replay();
        self.ask_painting();
    }

    /// Tells the bar how the replay stands.
    pub(super) fn tell_replay(self) {
        if self.replay.with_untracked(Option::is_none) {
            return;
        }
        let is_reading = self.runner.with_value(|runner| runner.is_reading);
        let told = self.model(|model| {
            let read = model.read_past()?;
            let shown = model.replay();
            let ahead = model.present_seq().saturating_sub(read.history.seq());
            Some(Replaying {
                at: shown.map_or(0, Replay::at),
                total: read.history.len(),
                clock: shown.filter(|replay| replay.history.is_timed()).map(Replay::clock),
                player: read.player,
                behind: if is_reading { 0 } else { ahead },
                missing: if is_reading { ahead } else { 0 },
                is_cut: read.history.is_cut(),
                failure: None,
            })
        });
        let Some(mut told) = told else { return };
        told.failure = self.replay.with_untracked(|known| known.as_ref().and_then(|it| it.failure.clone()));
        if self.replay.with_untracked(|known| known.as_ref() != Some(&told)) {
            self.replay.set(Some(told));
        }
        if self.model(|model| model.replay().is_some()) {
            self.set_now();
        }
    }

    /// Shows what the reader wants, if it is read already.
    fn fulfil(self) {
        let (wanted, is_reading) = self.runner.with_value(|runner| (runner.wanted, runner.is_reading));
        let known = self.model(|model| {
            let history = &model.read_past()?.history;
            Some((history.len(), history.end().unwrap_or(0)))
        });
        let (Some(wanted), Some((len, end))) = (wanted, known) else { return };
        let is_there = match wanted {
            _ if len == 0 => false,
            Wanted::Start => true,
            Wanted::At(at) => end >= at || !is_reading,
            Wanted::Event(to) => len >= to || !is_reading,
        };
        if !is_there {
            return;
        }
        self.runner.update_value(|runner| runner.wanted = None);
        self.model.update_value(|model| {
            model.in_past(|replay, changed| match wanted {
                Wanted::Start => {
                    replay.player.is_playing = true;
                    replay.seek_event(1, changed)
                }
                Wanted::At(at) => replay.seek_time(at, changed),
                Wanted::Event(to) => replay.seek_event(to, changed),
            });
        });
        self.tell_replay();
        self.ask_painting();
        self.step_soon();
    }

    /// Lets time pass, for as long as the replay plays.
    fn step_soon(self) {
        let is_playing = self.model(|model| model.replay().is_some_and(|replay| replay.player.is_playing));
        let serial = self.runner.try_update_value(|runner| {
            if !is_playing || runner.is_stepping || runner.is_held {
                return None;
            }
            (runner.is_stepping, runner.stepped_at) = (true, browser::now_ms());
            Some(runner.serial)
        });
        if let Some(serial) = serial.flatten() {
            browser::after(STEP_MS, move || self.step(serial));
        }
    }

    fn step(self, serial: u32) {
        let now = browser::now_ms();
        let elapsed = self.runner.try_update_value(|runner| {
            if runner.serial != serial {
                return None;
            }
            runner.is_stepping = false;
            // A page that was hidden does not catch up on what it did not show.
            (!runner.is_held).then(|| now.saturating_sub(runner.stepped_at).min(500))
        });
        let Some(elapsed) = elapsed.flatten() else { return };
        self.in_replay(|replay, changed| replay.play(elapsed, changed));
        if self.model(|model| model.replay().is_some_and(Replay::is_at_end)) {
            self.reach_end();
        }
        self.step_soon();
    }

    /// Everything that is known has been played: there may be more by now, or this is the present.
    fn reach_end(self) {
        let is_reading = self.runner.with_value(|runner| runner.is_reading);
        let behind = self.replay.with_untracked(|replay| replay.as_ref().map_or(0, |replay| replay.behind));
        let is_cut = self.replay.with_untracked(|replay| replay.as_ref().is_some_and(|replay| replay.is_cut));
        let is_playing = self.model(|model| model.replay().is_some_and(|replay| replay.player.is_playing));
        if is_reading || !is_playing {
        } else if behind > 0 && !is_cut {
            self.read_on();
        } else if self.model(Model::present_runs) && !is_cut {
            self.end_replay();
        } else {
            self.in_replay(|replay, _| {
                replay.player.is_playing = false;
                false
            });
        }
    }
}
