//! Puts one run after the other, for dialects that know only one at a time: the events of a run that begins
//! while another is open wait for the end of that one.
//!
//! ```text
//! in    r1 start · r2 start · r1 delta · r2 delta · r1 end · r2 end
//! out   r1 start · r1 delta · r1 end · r2 start · r2 delta · r2 end
//! ```
//!
//! Events about the conversation pass at once, and so do results of calls of a run that is over.

use std::collections::{HashSet, VecDeque};

use super::Encode;
use model::envelope::Envelope;
use model::event::{Event, Kind, RunEnd, RunStatus};
use model::ids::RunId;
use model::limits::RUNS_MAX;

/// The most events that wait. If there are more, the run that they wait for is given up: it has lost its
/// publisher, or it would keep readers from all others.
const WAITING_MAX: usize = 10_000;

/// An encoder that passes the runs of a conversation one after the other to another encoder, which it owns.
#[derive(Debug)]
pub(crate) struct RunSequencer<E> {
    /// The encoder that gets the events.
    inner: E,
    /// The run that is being passed on; nothing between two runs.
    current: Option<RunId>,
    /// Runs that have ended. Results of their calls do not wait. Beyond [`RUNS_MAX`] all are forgotten.
    over: HashSet<RunId>,
    /// Runs that were given up; their events are left out. Beyond [`RUNS_MAX`] all are forgotten.
    left: HashSet<RunId>,
    /// Events of other runs, at most [`WAITING_MAX`], in their order.
    waiting: VecDeque<Envelope>,
}

impl<E: Encode> RunSequencer<E> {
    /// An encoder around `inner`.
    pub(crate) fn new(inner: E) -> Self {
        let (over, left) = (HashSet::new(), HashSet::new());
        Self { inner, current: None, over, left, waiting: VecDeque::new() }
    }

    /// Whether `event` may be passed on now.
    fn admits(&self, event: &Event) -> bool {
        let starts = matches!(event.kind, Kind::RunStart(_));
        match &self.current {
            _ if event.kind.is_of_conversation() => true,
            _ if !starts && (self.over.contains(&event.run) || self.left.contains(&event.run)) => true,
            Some(current) => *current == event.run || is_of_no_run(event),
            None => !is_of_no_run(event),
        }
    }

    /// Passes an event on. One that is about no run gets the open one, so that the dialect has a place for
    /// it.
    fn tell(&mut self, envelope: &Envelope, out: &mut Vec<u8>) {
        let event = &envelope.event;
        if self.left.contains(&event.run) || event.kind.is_of_conversation() {
            if !self.left.contains(&event.run) {
                self.inner.event(envelope, out);
            }
            return;
        }
        if is_of_no_run(event) && self.current.as_ref() != Some(&event.run) {
            let run = self.current.clone().unwrap_or_else(RunId::none);
            let event = Event { run, ..event.clone() };
            return self.inner.event(&Envelope { event, ..envelope.clone() }, out);
        }
        let starts = matches!(event.kind, Kind::RunStart(_));
        if starts || !self.over.contains(&event.run) {
            self.over.remove(&event.run);
            self.current.get_or_insert_with(|| event.run.clone());
        }
        self.inner.event(envelope, out);
        if matches!(event.kind, Kind::RunEnd(_)) && self.current.as_ref() == Some(&event.run) {
            self.current = None;
            if self.over.len() >= RUNS_MAX {
                self.over.clear();
            }
            self.over.insert(event.run.clone());
        }
    }

    /// Passes on the events that have waited, as far as they may be passed on now.
    fn go_on(&mut self, out: &mut Vec<u8>) {
        loop {
            let mut has_ended = false;
            for envelope in std::mem::take(&mut self.waiting) {
                if !has_ended && self.admits(&envelope.event) {
                    self.tell(&envelope, out);
                    has_ended = self.current.is_none() && matches!(envelope.event.kind, Kind::RunEnd(_));
                } else {
                    self.waiting.push_back(envelope);
                }
            }
            if !has_ended {
                return;
            }
        }
    }

    /// Ends the open run as one that broke off, and passes on what waited for it. `last` gives the end its
    /// time.
    fn give_up(&mut self, last: &Envelope, out: &mut Vec<u8>) {
        let Some(run) = self.current.take() else {
            self.waiting.pop_front();
            return;
        };
        let end = RunEnd { status: RunStatus::Interrupted, ..RunEnd::default() };
        let event = Event::new(&run, Kind::RunEnd(end));
        self.inner.event(&Envelope { event, ..last.clone() }, out);
        if self.left.len() >= RUNS_MAX {
            self.left.clear();
        }
        self.left.insert(run);
        self.go_on(out);
    }
}

impl<E: Encode> Encode for RunSequencer<E> {
    fn event(&mut self, envelope: &Envelope, out: &mut Vec<u8>) {
        if !self.admits(&envelope.event) {
            self.waiting.push_back(envelope.clone());
            if self.waiting.len() > WAITING_MAX {
                self.give_up(envelope, out);
            }
            return;
        }
        let had = self.current.is_some();
        self.tell(envelope, out);
        if had != self.current.is_some() && !self.waiting.is_empty() {
            self.go_on(out);
        }
    }

    fn end(&mut self, out: &mut Vec<u8>) {
        // An open run must not keep the other events back.
        while let Some(last) = self.waiting.back().cloned() {
            self.give_up(&last, out);
        }
        self.inner.end(out);
    }
}

/// Whether `event` is about the conversation and may come during any run.
fn is_of_no_run(event: &Event) -> bool {
    let is_note = matches!(
        event.kind,
        Kind::Status { .. } | Kind::Error(_) | Kind::Custom { .. } | Kind::Raw { .. } | Kind::Unknown(_)
    );
    event.run.is_none() && is_note
}
