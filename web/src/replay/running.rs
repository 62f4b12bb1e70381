//! The state of a running replay: what the reader requested, whether events are being read, and when the next
//! step is due. The caller passes the time.

use std::mem;

/// The longest time that one step advances, in milliseconds: a page that was hidden does not catch up.
pub const STEP_MAX_MS: u64 = 500;

/// The moment that is shown as soon as it was read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wanted {
    /// The beginning; the replay plays from there.
    Start,
    /// The moment at this time, in milliseconds since 1970.
    At(u64),
    /// The moment after the event with this number, counted from 1.
    Event(usize),
}

/// What to do when all known events were played.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AfterEnd {
    /// Nothing: events are being read, or the replay is paused.
    Stay,
    /// Read the events that were added since.
    ReadOn,
    /// Return to the present, where a run is active.
    Present,
    /// Pause the replay.
    Pause,
}

/// The state of the replay and of the present at the last known event.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct End {
    /// Whether the replay plays.
    pub is_playing: bool,
    /// How many events were added after the last known one.
    pub behind: u64,
    /// Whether there are more events than a replay holds.
    pub is_cut: bool,
    /// Whether a run is active in the present.
    pub is_running: bool,
}

/// The state of a running replay. Made anew for each replay.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Running {
    /// The number of the replay. It tells who waited for something whether that is still wanted.
    serial: u32,
    /// Whether a task reads events.
    is_reading: bool,
    /// The moment to show as soon as it was read.
    wanted: Option<Wanted>,
    /// Whether a step is awaited.
    is_stepping: bool,
    /// Whether the reader holds the slider.
    is_held: bool,
    /// When the awaited step began to be waited for, in milliseconds.
    stepped_at: u64,
}

impl Running {
    /// Begins or ends a replay. Requests under an older serial number become void.
    pub fn restart(&mut self) {
        *self = Self { serial: self.serial.wrapping_add(1), ..Self::default() };
    }

    /// Whether `serial` is the number of the current replay.
    pub fn is_current(&self, serial: u32) -> bool {
        self.serial == serial
    }

    /// Whether events are being read.
    pub fn is_reading(&self) -> bool {
        self.is_reading
    }

    /// Requests a moment, in place of an earlier request.
    pub fn want(&mut self, wanted: Wanted) {
        self.wanted = Some(wanted);
    }

    /// The reader holds the slider at the event `to`, counted from 1. Time stops until [`Self::release`].
    pub fn hold_at(&mut self, to: usize) {
        (self.wanted, self.is_held) = (Some(Wanted::Event(to)), true);
    }

    /// The reader releases the slider. Returns whether it was held.
    pub fn release(&mut self) -> bool {
        mem::take(&mut self.is_held)
    }

    /// Begins to read events. Returns the serial number of the replay; `None` if events are being read
    /// already.
    pub fn begin_reading(&mut self) -> Option<u32> {
        (!mem::replace(&mut self.is_reading, true)).then_some(self.serial)
    }

    /// Ends reading, after all events or after a failure.
    pub fn end_reading(&mut self) {
        self.is_reading = false;
    }

    /// Takes the requested moment if it can be shown: `len` events are known, the last one at `end`.
    pub fn take_wanted(&mut self, len: usize, end: u64) -> Option<Wanted> {
        let is_there = match self.wanted? {
            _ if len == 0 => false,
            Wanted::Start => true,
            Wanted::At(at) => end >= at || !self.is_reading,
            Wanted::Event(to) => len >= to || !self.is_reading,
        };
        if is_there { self.wanted.take() } else { None }
    }

    /// Begins to wait for the next step at `now`, in milliseconds. Returns the serial number of the replay;
    /// `None` if a step is awaited already or the slider is held.
    pub fn begin_step(&mut self, now: u64) -> Option<u32> {
        if self.is_stepping || self.is_held {
            return None;
        }
        (self.is_stepping, self.stepped_at) = (true, now);
        Some(self.serial)
    }

    /// Takes the step that was begun under `serial`. Returns by how many milliseconds it advances, at most
    /// [`STEP_MAX_MS`]; `None` if another replay has begun or the slider is held.
    pub fn end_step(&mut self, serial: u32, now: u64) -> Option<u64> {
        if self.serial != serial {
            return None;
        }
        self.is_stepping = false;
        (!self.is_held).then(|| now.saturating_sub(self.stepped_at).min(STEP_MAX_MS))
    }

    /// What to do at the last known event.
    pub fn after_end(&self, end: End) -> AfterEnd {
        if self.is_reading || !end.is_playing {
            AfterEnd::Stay
        } else if end.behind > 0 && !end.is_cut {
            AfterEnd::ReadOn
        } else if end.is_running && !end.is_cut {
            AfterEnd::Present
        } else {
            AfterEnd::Pause
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_belongs_to_an_older_replay_comes_too_late() {
        let mut running = Running::default();
        let serial = running.begin_step(100).unwrap();
        let reading = running.begin_reading().unwrap();
        running.restart();
        assert_eq!(running.end_step(serial, 133), None);
        assert!(!running.is_current(reading));
        assert!(!running.is_reading(), "a new replay reads nothing yet");
    }

    #[test]
    fn events_are_read_by_one_reader_at_a_time() {
        let mut running = Running::default();
        assert!(running.begin_reading().is_some());
        assert_eq!(running.begin_reading(), None);
        running.end_reading();
        assert!(running.begin_reading().is_some());
    }

    #[test]
    fn what_is_wanted_is_taken_once_when_it_is_read() {
        let mut running = Running::default();
        running.begin_reading();
        running.want(Wanted::At(500));
        assert_eq!(running.take_wanted(0, 0), None);
        assert_eq!(running.take_wanted(9, 499), None);
        assert_eq!(running.take_wanted(10, 500), Some(Wanted::At(500)));
        assert_eq!(running.take_wanted(11, 600), None);
    }

    #[test]
    fn where_nothing_more_comes_the_last_moment_is_the_nearest() {
        let mut running = Running::default();
        running.want(Wanted::Event(40));
        assert_eq!(running.take_wanted(30, 500), Some(Wanted::Event(40)));
    }

    #[test]
    fn time_stands_still_while_the_slider_is_held() {
        let mut running = Running::default();
        let serial = running.begin_step(0).unwrap();
        running.hold_at(3);
        assert_eq!(running.end_step(serial, 33), None);
        assert_eq!(running.begin_step(33), None);
        assert!(running.release());
        assert!(!running.release(), "it is let go once");
        assert!(running.begin_step(40).is_some());
    }

    #[test]
    fn a_hidden_page_does_not_catch_up() {
        let mut running = Running::default();
        let serial = running.begin_step(0).unwrap();
        assert_eq!(running.begin_step(10), None, "one step is waited for at a time");
        assert_eq!(running.end_step(serial, 60_000), Some(STEP_MAX_MS));
    }

    #[test]
    fn the_end_leads_to_what_is_there() {
        let mut running = Running::default();
        let end = End { is_playing: true, behind: 3, is_cut: false, is_running: true };
        assert_eq!(running.after_end(end), AfterEnd::ReadOn);
        assert_eq!(running.after_end(End { behind: 0, ..end }), AfterEnd::Present);
        assert_eq!(running.after_end(End { behind: 0, is_running: false, ..end }), AfterEnd::Pause);
        assert_eq!(running.after_end(End { is_cut: true, ..end }), AfterEnd::Pause);
        assert_eq!(running.after_end(End { is_playing: false, ..end }), AfterEnd::Stay);
        running.begin_reading();
        assert_eq!(running.after_end(end), AfterEnd::Stay);
    }
}
