//! How a replay is run: what the reader waits for, whether events are being read, and when the next step is due. Pure: the time of the
//! browser comes as an argument.

use std::mem;

/// The longest time that one step lets pass, in milliseconds: a page that was hidden does not catch up on what it did not show.
pub const STEP_MAX_MS: u64 = 500;

/// What the reader wants to see as soon as it is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wanted {
    /// The beginning, from which the replay plays.
    Start,
    /// The moment at this time, in milliseconds since 1970.
    At(u64),
    /// The moment after the event with this number; the first has the number 1.
    Event(usize),
}

/// What is to be done when everything that is known has been played.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AfterEnd {
    /// Nothing: events are being read, or the replay does not play.
    Stay,
    /// Events came that are not read yet.
    ReadOn,
    /// The replay has reached the present, where a run goes on.
    Present,
    /// The replay pauses.
    Pause,
}

/// How the past and the present stand to each other at the end of what is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct End {
    /// Whether the replay plays.
    pub is_playing: bool,
    /// Events that came since the last one that is known.
    pub behind: u64,
    /// Whether there is more than a replay holds.
    pub is_cut: bool,
    /// Whether a run goes on in the present.
    pub is_running: bool,
}

/// A replay as it is run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Running {
    serial: u32,
    is_reading: bool,
    wanted: Option<Wanted>,
    is_stepping: bool,
    is_held: bool,
    stepped_at: u64,
}

impl Running {
    /// Begins or ends a replay. What was asked for under an older serial number comes too late.
    pub fn restart(&mut self) {
        *self = Self { serial: self.serial.wrapping_add(1), ..Self::default() };
    }

    /// Whether `serial` is the number of this replay.
    pub fn is_current(&self, serial: u32) -> bool {
        self.serial == serial
    }

    /// Whether events are being read.
    pub fn is_reading(&self) -> bool {
        self.is_reading
    }

    /// Asks for `wanted` in the place of whatever was wanted before.
    pub fn want(&mut self, wanted: Wanted) {
        self.wanted = Some(wanted);
    }

    /// The reader holds the slider after the event with the number `to`: time stands still until [`Self::release`].
    pub fn hold_at(&mut self, to: usize) {
        (self.wanted, self.is_held) = (Some(Wanted::Event(to)), true);
    }

    /// The reader lets the slider go; false where it was not held.
    pub fn release(&mut self) -> bool {
        mem::take(&mut self.is_held)
    }

    /// Begins to read; the serial number under which it is read, none where events are being read already.
    pub fn begin_reading(&mut self) -> Option<u32> {
        (!mem::replace(&mut self.is_reading, true)).then_some(self.serial)
    }

    /// Everything is read, or no more can be.
    pub fn end_reading(&mut self) {
        self.is_reading = false;
    }

    /// Takes what the reader wants, if it can be shown now that `len` events are known, the last of them at the time `end`.
    pub fn take_wanted(&mut self, len: usize, end: u64) -> Option<Wanted> {
        let is_there = match self.wanted? {
            _ if len == 0 => false,
            Wanted::Start => true,
            Wanted::At(at) => end >= at || !self.is_reading,
            Wanted::Event(to) => len >= to || !self.is_reading,
        };
        if is_there { self.wanted.take() } else { None }
    }

    /// Begins to wait for the next step at the time `now`, in milliseconds; the serial number of the replay. None where a step is
    /// waited for already or the reader holds the slider.
    pub fn begin_step(&mut self, now: u64) -> Option<u32> {
        if self.is_stepping || self.is_held {
            return None;
        }
        (self.is_stepping, self.stepped_at) = (true, now);
        Some(self.serial)
    }

    /// Takes the step that was begun under `serial`; how long it lets pass, in milliseconds, at most [`STEP_MAX_MS`]. None where
    /// another replay has begun or the reader holds the slider.
    pub fn end_step(&mut self, serial: u32, now: u64) -> Option<u64> {
        if self.serial != serial {
            return None;
        }
        self.is_stepping = false;
        (!self.is_held).then(|| now.saturating_sub(self.stepped_at).min(STEP_MAX_MS))
    }

    /// What is to be done at the end of what is known.
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
