//! Attendance: who publishes to the running runs of one conversation, and what must be said of runs that
//! nobody attends. Pure: the time is an argument.

use std::collections::HashSet;

use indexmap::IndexMap;
use model::event::{Class, ErrorFact, Event, Kind, PUBLISHER_LOST, RunEnd, RunStatus};
use model::limits::{INTERRUPTED_AFTER_MS, RUNS_MAX, STALLED_AFTER_MS};
use model::{Envelope, PublisherId, RunId, View};

/// Most connections that are remembered for one run. Beyond it the one that came first is forgotten.
const CONNECTIONS_PER_RUN_MAX: usize = 64;

/// How a publisher is connected. That decides what the end of its connection means for its runs.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum PublisherConnection {
    /// Somebody who attends a run only at the moment of publishing, such as a single HTTP request.
    #[default]
    Passing,
    /// A connection that attends its runs until it ends, with its number.
    Connection(u64),
    /// The hub itself, whose events about a run do not attend it.
    Hub,
}

/// How long to wait for publishers that are gone, in milliseconds; `None` is for ever.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OrphanTimeouts {
    /// From the last word until a run that nobody attends is called stalled.
    pub(crate) stalled_after: Option<u64>,
    /// From the last word until it is ended as lost.
    pub(crate) interrupted_after: Option<u64>,
}

impl Default for OrphanTimeouts {
    fn default() -> Self {
        Self { stalled_after: Some(STALLED_AFTER_MS), interrupted_after: Some(INTERRUPTED_AFTER_MS) }
    }
}

impl OrphanTimeouts {
    /// Makes it from these spans; a span of zero is for ever.
    pub fn of(stalled: std::time::Duration, interrupted: std::time::Duration) -> Self {
        let ms = |span: std::time::Duration| u64::try_from(span.as_millis()).ok().filter(|ms| *ms > 0);
        Self { stalled_after: ms(stalled), interrupted_after: ms(interrupted) }
    }

    /// The shorter of both spans in milliseconds, `u64::MAX` if neither ends.
    pub(super) fn first_ms(&self) -> u64 {
        let spans = [self.stalled_after, self.interrupted_after];
        spans.into_iter().flatten().min().unwrap_or(u64::MAX)
    }
}

/// Who attends which running run of one conversation. Guarded by the conversation's lock.
#[derive(Debug, Default)]
pub(crate) struct Attendance {
    /// The running runs, at most `RUNS_MAX`.
    runs: IndexMap<RunId, RunAttendance>,
    /// Runs that the hub has ended because nobody attended them. One word of their publisher resumes them.
    lost: HashSet<RunId>,
    /// Whether the timer will look at the conversation.
    is_due: bool,
    /// Whether the timer must be told to look at it.
    wants_look: bool,
}

/// The attendance of one run: who publishes to it.
#[derive(Debug, Default)]
struct RunAttendance {
    /// The numbers of the connections that attend it.
    connections: Vec<u64>,
    /// The publisher that spoke for it last, if it has a name.
    publisher: Option<PublisherId>,
    /// When it was last attended or published to, or else when the hub took it over: its publisher is waited for from then
    /// on, in milliseconds since 1970.
    last: u64,
    /// When the hub last heard of it: at `last`, but of a run that was taken over with its last event. Never later than `last`.
    heard: u64,
    /// Whether the hub has called it stalled since.
    is_stalled: bool,
    /// Whether its publisher is known not to come back: it is ended without waiting, unless somebody publishes to it first.
    is_gone: bool,
}

impl RunAttendance {
    /// Adds a connection, in the place of the oldest one beyond the limit.
    fn attend(&mut self, number: u64) {
        self.is_gone = false;
        if self.connections.contains(&number) {
            return;
        }
        if self.connections.len() >= CONNECTIONS_PER_RUN_MAX {
            self.connections.remove(0);
        }
        self.connections.push(number);
    }
}

/// What is due about runs that nobody attends.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct OrphanVerdict {
    /// The events to append.
    pub(crate) events: Vec<Event>,
    /// How many runs are called stalled by them.
    pub(crate) stalled: u64,
    /// The number of runs that they end.
    pub(crate) interrupted: u64,
    /// When to look again, in milliseconds since 1970; `None` if nothing is left to wait for.
    pub(crate) next: Option<u64>,
}

impl Attendance {
    /// Notes who publishes to the run of an event, before the event is taken. True if an event must come
    /// first that takes back what the hub has said: that the run is stalled or lost.
    pub(crate) fn hear(&mut self, speaker: PublisherConnection, envelope: &Envelope, now: u64) -> bool {
        let event = &envelope.event;
        let run = &event.run;
        let is_loose = run.is_none() && event.kind.is_of_conversation();
        if speaker == PublisherConnection::Hub || is_loose {
            return false;
        }
        let was_lost = !self.lost.is_empty() && self.lost.remove(run);
        let says_so = matches!(event.kind, Kind::RunStart(_));
        if matches!(event.kind, Kind::RunEnd(_)) {
            self.runs.swap_remove(run);
            return was_lost;
        }
        let place = match self.runs.get_index_of(run) {
            Some(place) => place,
            None if self.runs.len() >= RUNS_MAX => return was_lost && !says_so,
            None => self.runs.insert_full(run.clone(), RunAttendance::default()).0,
        };
        let Some((_, attended)) = self.runs.get_index_mut(place) else { return false };
        attended.last = attended.last.max(now);
        attended.heard = attended.last;
        attended.is_gone = false;
        // An ephemeral event is not stored, so it does not take back by itself what is.
        let was_stalled = std::mem::take(&mut attended.is_stalled) && event.kind.class() == Class::Ephemeral;
        if envelope.publisher.is_some() && attended.publisher != envelope.publisher {
            attended.publisher.clone_from(&envelope.publisher);
        }
        if let PublisherConnection::Connection(number) = speaker {
            attended.attend(number);
        } else if attended.connections.is_empty() && !self.is_due {
            (self.is_due, self.wants_look) = (true, true);
        }
        (was_lost || was_stalled) && !says_so
    }

    /// Notes that `publisher` repeats a frame over a connection, or asks how far it has come: it is back, and
    /// attends the runs for which it spoke last.
    pub(crate) fn is_back(&mut self, speaker: PublisherConnection, publisher: &PublisherId) {
        let PublisherConnection::Connection(number) = speaker else { return };
        for attended in self.runs.values_mut().filter(|it| it.publisher.as_ref() == Some(publisher)) {
            attended.attend(number);
        }
    }

    /// Whether the timer must be told to look. True once for each reason.
    pub(crate) fn wants_look(&mut self) -> bool {
        std::mem::take(&mut self.wants_look)
    }

    /// Notes that the connection `number` has ended. True if the timer must be told to look.
    pub(crate) fn leave(&mut self, number: u64, now: u64) -> bool {
        let mut is_alone = false;
        for attended in self.runs.values_mut() {
            let before = attended.connections.len();
            attended.connections.retain(|other| *other != number);
            if before > 0 && attended.connections.is_empty() {
                attended.last = attended.last.max(now);
                attended.heard = attended.last;
                is_alone = true;
            }
        }
        is_alone && !std::mem::replace(&mut self.is_due, true)
    }

    /// Notes that the publishers of those runs that `is_over` names, and that nobody attends, do not come back. True if there are any, and
    /// the timer must be told to look.
    pub(crate) fn lose_runs(&mut self, is_over: impl Fn(&RunId) -> bool) -> bool {
        let mut is_any = false;
        for (_, attended) in self.runs.iter_mut().filter(|(id, it)| it.connections.is_empty() && is_over(id))
        {
            attended.is_gone = true;
            is_any = true;
        }
        is_any
    }

    /// Notes that the connection `number` has ended and that its publisher does not come back: what nobody else attends is over. True
    /// if the timer must be told to look.
    pub(crate) fn leave_for_good(&mut self, number: u64, now: u64) -> bool {
        let mut is_over = false;
        for attended in self.runs.values_mut().filter(|it| it.connections == [number]) {
            attended.is_gone = true;
            is_over = true;
        }
        self.leave(number, now) || is_over
    }

    /// Begins with the running runs of `view`, which nobody attends yet. Their publishers are waited for from `now` on, but were
    /// last heard with the newest event, which came at `newest`; 0 if that is unknown. Both are in milliseconds since 1970. True if
    /// the timer must be told to look.
    pub(crate) fn adopt(&mut self, view: &View, newest: u64, now: u64) -> bool {
        let heard = if newest == 0 { now } else { newest.min(now) };
        for (id, run) in &view.runs {
            if run.is_running() {
                let is_stalled = run.stalled_at.is_some();
                let fresh = RunAttendance { last: now, heard, is_stalled, ..RunAttendance::default() };
                self.runs.entry(id.clone()).or_insert(fresh);
            } else if run.loss.is_some() {
                self.lost.insert(id.clone());
            }
        }
        !self.runs.is_empty() && !std::mem::replace(&mut self.is_due, true)
    }

    /// Decides what is due at `now`, where `view` is the state of the conversation. The caller appends it: it
    /// counts as said.
    pub(crate) fn judge(&mut self, view: &View, patience: &OrphanTimeouts, now: u64) -> OrphanVerdict {
        let mut verdict = OrphanVerdict::default();
        let (lost, next) = (&mut self.lost, &mut verdict.next);
        let events = &mut verdict.events;
        let (mut stalled, mut interrupted) = (0, 0);
        self.runs.retain(|id, attended| {
            if !view.runs.get(id).is_some_and(model::view::RunView::is_running) {
                return false;
            }
            if !attended.connections.is_empty() {
                return true;
            }
            let since = attended.last;
            let due = |after: Option<u64>| after.map(|after| since.saturating_add(after));
            let (stalls, ends) = (due(patience.stalled_after), due(patience.interrupted_after));
            if attended.is_gone || ends.is_some_and(|at| at <= now) {
                events.extend(loss(id, now.saturating_sub(attended.heard)));
                lost.insert(id.clone());
                interrupted += 1;
                return false;
            }
            if !attended.is_stalled && stalls.is_some_and(|at| at <= now) {
                attended.is_stalled = true;
                events.push(Event::new(id, Kind::RunStalled { since: attended.heard }));
                stalled += 1;
            }
            let stalls = stalls.filter(|_| !attended.is_stalled);
            *next = [*next, stalls, ends].into_iter().flatten().min();
            true
        });
        (verdict.stalled, verdict.interrupted) = (stalled, interrupted);
        self.is_due = verdict.next.is_some();
        verdict
    }
}

/// The events that end `run` as lost after `silent_ms` milliseconds without a word.
fn loss(run: &RunId, silent_ms: u64) -> [Event; 2] {
    let seconds = silent_ms / 1000;
    let error = ErrorFact {
        code: PUBLISHER_LOST.into(),
        message: format!(
            "its publisher is gone: nothing was heard from it for {seconds} s, and it is not connected"
        ),
        retryable: Some(true),
        retry_after_ms: None,
    };
    let end = RunEnd { status: RunStatus::Interrupted, lost: true, ..RunEnd::default() };
    [Event::new(run, Kind::Error(error)), Event::new(run, Kind::RunEnd(end))]
}

#[cfg(test)]
mod tests;
