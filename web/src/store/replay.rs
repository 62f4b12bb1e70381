//! The replay on the page: reading the past, advancing time, and updating the bar.
//!
//! The rules are in `crate::replay`; `reading` reads the past.
//!
//! ```text
//! start_replay(at) ─▶ want ─▶ fulfil, as soon as the moment was read ─▶ in_replay ─▶ view of that moment
//!                      │                                                   ▲
//!                      └▶ read_on: pages of the log ───────────────────────┘ step, every STEP_MS while it plays
//! ```
//!
//! While a replay is on, `reading.model` shows its view, and everything that is drawn is of that moment.
//! Frames of the hub go on being folded behind it (I4).

use leptos::prelude::*;

use super::Store;
use crate::browser;
use crate::link::Status;
use crate::model::Model;
use crate::replay::{AfterEnd, End, Player, Replay, Running, Wanted};

mod reading;

/// The time between two steps of a playing replay, in milliseconds.
const STEP_MS: i32 = 33;

/// What the page shows of a replay.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct ReplayStatus {
    /// How many events had happened at the moment that is shown; 0 before one is shown.
    pub(crate) at: usize,
    /// The number of events that are known.
    pub(crate) total: usize,
    /// The time of the moment in milliseconds since 1970; `None` if events have no times.
    pub(crate) clock: Option<u64>,
    /// The player: whether it plays, its speed, what it skips.
    pub(crate) player: Player,
    /// How many events were added after the last known one.
    pub(crate) behind: u64,
    /// How many events are still to be read.
    pub(crate) missing: u64,
    /// Whether there are more events than a replay holds.
    pub(crate) is_cut: bool,
    /// Why the past cannot be read, if so.
    pub(crate) failure: Option<String>,
}

/// The store of the replay: the moment that is shown, and the state of playing. A handle; all copies refer to
/// the same store.
///
/// It is written only by `Store`, which reads the past and advances time. It does not know the connection,
/// panels and commands; the view at the moment is in the model of `reading`. The rules are in
/// [`crate::replay`], which does not use the browser.
#[derive(Clone, Copy)]
pub(crate) struct ReplayStore {
    /// What was requested, and what is under way.
    running: StoredValue<Running, LocalStorage>,
    /// What the page shows of the replay; `None` in the present.
    pub(crate) told: RwSignal<Option<ReplayStatus>>,
}

impl ReplayStore {
    /// A store in the present.
    pub(super) fn new() -> Self {
        Self { running: StoredValue::new_local(Running::default()), told: RwSignal::new(None) }
    }

    /// Whether the past is shown. Tracks that.
    pub(crate) fn is_on(self) -> bool {
        self.told.with(Option::is_some)
    }

    /// Whether the past is shown, without tracking it.
    fn is_on_now(self) -> bool {
        self.told.with_untracked(Option::is_some)
    }

    /// Begins a replay, and shows its bar.
    fn begin(self) {
        self.told.set(Some(ReplayStatus::default()));
        self.running.update_value(Running::restart);
    }

    /// Ends the replay, and hides its bar.
    fn end(self) {
        self.running.update_value(Running::restart);
        self.told.set(None);
    }

    /// Changes the state of the replay. Returns the default while the page is being closed.
    fn run<T: Default>(self, change: impl FnOnce(&mut Running) -> T) -> T {
        self.running.try_update_value(change).unwrap_or_default()
    }

    /// Whether events are being read.
    fn is_reading(self) -> bool {
        self.running.with_value(Running::is_reading)
    }

    /// Whether `serial` is the number of the replay that is on: what began under an older one must not go on.
    fn is_current(self, serial: u32) -> bool {
        self.running.with_value(|running| running.is_current(serial))
    }

    /// Shows why the past cannot be read.
    fn fail(self, why: String) {
        self.told.update(|told| {
            if let Some(told) = told {
                told.failure = Some(why);
            }
        });
    }

    /// Shows the state of the replay. A failure that is shown stays.
    fn tell(self, mut told: ReplayStatus) {
        told.failure = self.told.with_untracked(|known| known.as_ref().and_then(|it| it.failure.clone()));
        if self.told.with_untracked(|known| known.as_ref() != Some(&told)) {
            self.told.set(Some(told));
        }
    }
}

impl Store {
    /// Goes to the moment `at`, in milliseconds since 1970; without one to the beginning, from where it
    /// plays. Begins a replay if there is none. Nothing if neither a conversation nor a recording is open.
    pub(crate) fn start_replay(self, at: Option<u64>) {
        let is_new = !self.replay.is_on_now();
        let wanted = at.map_or(Wanted::Start, Wanted::At);
        if is_new {
            if self.reading.conversation.with_untracked(Option::is_none)
                && self.reading.recording.with_untracked(Option::is_none)
            {
                return;
            }
            self.reading.model.update_value(Model::begin_past);
            self.replay.begin();
            self.reading.follow();
        }
        self.replay.run(|running| running.want(wanted));
        self.fulfil();
        if is_new {
            self.read_on();
        }
    }

    /// Returns to the present.
    pub(crate) fn end_replay(self) {
        if !self.replay.is_on_now() {
            return;
        }
        self.replay.end();
        self.reading.model.update_value(Model::end_past);
        self.set_now();
        self.reading.follow();
        self.ask_painting();
    }

    /// The time that the page shows, in milliseconds since 1970.
    pub(crate) fn moment(self) -> u64 {
        let is_up = self.link.status.with_untracked(|status| *status == Status::Up);
        let is_elsewhere = self.reading.model(|model| model.replay().is_some())
            || self.reading.recording.with_untracked(Option::is_some);
        if is_up || is_elsewhere {
            self.reading.model(|model| model.moment(browser::now_ms()))
        } else {
            // While the page is disconnected, the time at the hub is unknown and stands still.
            self.reading.now.get_untracked()
        }
    }

    /// The whole span of time at the moment `now`.
    pub(crate) fn extent(self, now: u64) -> Option<crate::timeline::Extent> {
        self.reading.model(|model| model.extent(now))
    }

    /// Updates the clocks of the page.
    pub(crate) fn set_now(self) {
        if self.link.status.with_untracked(|status| *status == Status::Up) {
            let present = self.reading.model(|model| model.hub_time(browser::now_ms()));
            if self.reading.present.get_untracked() != present {
                self.reading.present.set(present);
            }
        }
        let now = self.moment();
        if self.reading.now.get_untracked() != now {
            self.reading.now.set(now);
        }
    }

    /// Plays or pauses. At the end it plays from the beginning.
    pub(crate) fn toggle_playing(self) {
        self.replay.run(Running::release);
        self.in_replay(|replay, changed| {
            replay.player.is_playing = !replay.player.is_playing;
            replay.player.is_playing && replay.is_at_end() && replay.seek_event(1, changed)
        });
        self.step_soon();
    }

    /// Moves by `by` events, or to the next or previous beginning or end of a step if `is_step`.
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

    /// Goes to the moment after the event `to`, counted from 1, and stays there until
    /// [`Self::release_replay`]: the reader drags the slider. It replaces an earlier request.
    pub(crate) fn hold_replay_at(self, to: usize) {
        self.replay.run(|running| running.hold_at(to));
        self.fulfil();
    }

    /// Releases the slider: a replay that played continues from there.
    pub(crate) fn release_replay(self) {
        if self.replay.run(Running::release) {
            self.step_soon();
        }
    }

    /// Changes the speed by `by` steps.
    pub(crate) fn change_speed(self, by: isize) {
        self.in_replay(|replay, _| {
            replay.player.change_speed(by);
            false
        });
    }

    /// Switches the skipping of pauses on or off.
    pub(crate) fn toggle_skipping(self) {
        self.in_replay(|replay, _| {
            replay.player.skips_idle = !replay.player.skips_idle;
            false
        });
    }

    /// Changes the replay, if a moment of it is shown. `change` returns whether the view is a different one
    /// altogether, and calls its second argument for each change otherwise.
    fn in_replay(self, change: impl FnOnce(&mut Replay, &mut dyn FnMut(model::fold::ViewChange)) -> bool) {
        if self.reading.model(|model| model.replay().is_none()) {
            return;
        }
        self.reading.model.update_value(|model| model.in_past(change));
        self.tell_replay();
        self.ask_painting();
    }

    /// Updates the bar of the replay.
    pub(super) fn tell_replay(self) {
        if !self.replay.is_on_now() {
            return;
        }
        let is_reading = self.replay.is_reading();
        let told = self.reading.model(|model| {
            let read = model.read_past()?;
            let shown = model.replay();
            let ahead = model.present_seq().saturating_sub(read.history.seq());
            Some(ReplayStatus {
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
        let Some(told) = told else { return };
        self.replay.tell(told);
        if self.reading.model(|model| model.replay().is_some()) {
            self.set_now();
        }
    }

    /// Shows the requested moment, if it was read already.
    fn fulfil(self) {
        let known = self.reading.model(|model| {
            let history = &model.read_past()?.history;
            Some((history.len(), history.end().unwrap_or(0)))
        });
        let Some((len, end)) = known else { return };
        let Some(wanted) = self.replay.run(|running| running.take_wanted(len, end)) else { return };
        self.reading.model.update_value(|model| {
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

    /// Plans the next step, if the replay plays.
    fn step_soon(self) {
        let is_playing =
            self.reading.model(|model| model.replay().is_some_and(|replay| replay.player.is_playing));
        if !is_playing {
            return;
        }
        if let Some(serial) = self.replay.run(|running| running.begin_step(browser::now_ms())) {
            browser::after(STEP_MS, move || self.step(serial));
        }
    }

    /// Advances the replay by the time since the last step. Nothing if another replay has begun since, or the
    /// slider is held.
    fn step(self, serial: u32) {
        let elapsed = self.replay.run(|running| running.end_step(serial, browser::now_ms()));
        let Some(elapsed) = elapsed else { return };
        self.in_replay(|replay, changed| replay.play(elapsed, changed));
        if self.reading.model(|model| model.replay().is_some_and(Replay::is_at_end)) {
            self.reach_end();
        }
        self.step_soon();
    }

    /// Handles the last known event: there may be more by now, or this is the present.
    fn reach_end(self) {
        let (behind, is_cut) = self
            .replay
            .told
            .with_untracked(|told| told.as_ref().map_or((0, false), |told| (told.behind, told.is_cut)));
        let end = self.reading.model(|model| End {
            is_playing: model.replay().is_some_and(|replay| replay.player.is_playing),
            behind,
            is_cut,
            is_running: model.present_runs(),
        });
        match self.replay.running.with_value(|running| running.after_end(end)) {
            AfterEnd::Stay => {}
            AfterEnd::ReadOn => self.read_on(),
            AfterEnd::Present => self.end_replay(),
            AfterEnd::Pause => self.in_replay(|replay, _| {
                replay.player.is_playing = false;
                false
            }),
        }
    }
}
