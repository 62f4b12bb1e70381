//! One conversation: one lock around a plain struct. Every method is synchronous and short, so a random
//! sequence of calls is the concurrency test.
//!
//! A viewer has a [`Cursor`] and asks [`Conversation::next`] for what comes after it; nothing is queued for
//! any viewer. Whoever appends also wakes the pumps of the viewers, see [`crate::fanout`].

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};

use event_log::Ring;
use event_log::{Append, EventLog, Measurement, Page, Progress, Stored, Ticket};
use model::event::{Class, Kind, bound};
use model::fold::{complete, fold, mismatch};
use model::frame::{ConversationRow, Durability};
use model::limits::CONVERSATION_BYTES_MAX;
use model::weigh::{grows, held, weigh};
use model::{ConversationId, Envelope, Epoch, Position, RunId, Seq, View};
use parking_lot::Mutex;
use redact::{EventStreams, Redactor};
use tokio::sync::Notify;

use super::counted::Counted;
use super::ephemera::Ephemera;
use super::index::{IndexEntries, fold_and_index};
use super::marks::Marks;
use super::measure::Before;
use super::orphans::attendance::Attendance;
use super::outsize::lengthen;
use super::publication::{AppendError, Appended, By, Publication};
use super::publishers::{ClaimVerdict, Publishers};
use super::row::{ListStanding, row};
use super::sight::Sights;
use super::slice::{Cursor, Slice};

mod followed;
mod import;
mod orphans;
mod rest;
mod withheld;

pub use followed::Discontinuity;
pub(super) use import::FoldedHistory;
pub(super) use rest::Use;
pub use withheld::WITHHELD_MS;
pub(super) use withheld::Which;
use withheld::Withheld;

/// How much the estimate of a full conversation's memory must have grown, in bytes, before it is counted
/// again. Counting walks the whole view.
const COUNTED_EVERY_BYTES: u64 = 1 << 20;

/// The state of one conversation: its view, its newest events, its publishers and its viewers. Shared by all
/// who read or write it; the hub's map holds one reference. After it has left memory it refuses to be entered
/// or appended to.
#[derive(Debug)]
pub struct Conversation {
    id: ConversationId,
    epoch: Epoch,
    /// Everything that an append changes, behind one lock.
    state: Mutex<State>,
    /// The newest seq, readable without the lock.
    head: AtomicU64,
    /// How many viewers it has.
    viewers: AtomicUsize,
    /// Whether another hub has it. Changed under the lock of the state.
    followed: AtomicBool,
    /// Whether another object has taken its place.
    over: AtomicBool,
    /// Whether some run is attended by nobody and the timer has not been told yet.
    pub(super) unattended: AtomicBool,
    /// Whether it is in the hub's list of changed conversations.
    pub(super) listed: AtomicBool,
    /// Whether it is in the hub's list of conversations whose row the log lacks.
    pub(super) noted: AtomicBool,
    /// Whether its place in the order of the list must be looked at again.
    pub(super) moved_in_list: AtomicBool,
    /// Notified after each append, for readers with a task of their own.
    moved: Notify,
    /// The frames and snapshots that its viewers share, by lens.
    pub sights: Sights,
    /// How many viewers its viewers were told that it has.
    pub presence: Counted,
}

/// Everything that an append changes. Its parts are consistent with one another whenever the lock is free:
/// ring, marks and view end at the same seq.
#[derive(Debug, Default)]
struct State {
    /// The newest events.
    ring: Ring,
    /// The effects of some events in the ring.
    marks: Marks,
    /// All events so far, folded.
    view: View,
    /// When the newest event was taken that is activity ([`Kind::is_activity`]), in milliseconds since 1970. Never goes back.
    at: u64,
    /// The time that new events get, likewise. Never goes back.
    clock: u64,
    /// Which frames of which publisher were taken.
    publishers: Publishers,
    /// The newest ephemeral facts.
    ephemera: Ephemera,
    /// Who publishes to the running runs.
    attendance: Attendance,
    /// What was measured since the log was last given something.
    measured: Vec<Measurement>,
    /// The newest ticket: once it is reached, the log has everything.
    ticket: Ticket,
    /// The weight of the events since the log was last given the whole state, in bytes.
    since_kept: usize,
    /// About the memory that the view holds, in bytes. The estimate is never too small.
    view_bytes: u64,
    /// The memory of the view when it was last counted rather than estimated, in bytes.
    counted_bytes: u64,
    /// Whether it has left memory. Set once.
    retired: bool,
    /// Whether a history is being imported, so that nobody else may write.
    reserved: bool,
    /// Whether some run belongs to the hub's own agents. If not, events from outside need no check for
    /// forgery.
    has_own: bool,
    /// What came in pieces and has not ended.
    texts: EventStreams,
    /// What has no numbers yet, the oldest first.
    withheld: Vec<Withheld>,
}

impl Conversation {
    /// Makes an empty conversation.
    pub(crate) fn new(id: ConversationId, epoch: Epoch) -> Self {
        Self::with(id, epoch, State::default())
    }

    /// Makes a conversation from what the log has of it. Its ring is empty and begins after the newest event.
    pub(crate) fn restored(id: ConversationId, stored: Stored) -> Self {
        let Stored { position, view, at, marks } = stored;
        let state = State {
            has_own: view.runs.values().any(|run| run.own),
            ring: Ring::after_seq(position.seq),
            view_bytes: held(&view),
            view,
            at,
            publishers: Publishers::restored(marks),
            ..State::default()
        };
        Self::with(id, position.epoch, state)
    }

    fn with(id: ConversationId, epoch: Epoch, state: State) -> Self {
        Self {
            id,
            epoch,
            head: AtomicU64::new(state.view.seq),
            state: Mutex::new(state),
            viewers: AtomicUsize::new(0),
            followed: AtomicBool::new(false),
            over: AtomicBool::new(false),
            unattended: AtomicBool::new(false),
            listed: AtomicBool::new(false),
            noted: AtomicBool::new(false),
            moved_in_list: AtomicBool::new(false),
            moved: Notify::new(),
            sights: Sights::default(),
            presence: Counted::default(),
        }
    }

    /// The name of the conversation.
    pub fn id(&self) -> &ConversationId {
        &self.id
    }

    /// The epoch of its log. It never changes while the conversation is in memory.
    pub fn epoch(&self) -> &Epoch {
        &self.epoch
    }

    /// The newest seq; 0 if nothing was ever said.
    pub fn head(&self) -> Seq {
        self.head.load(Ordering::Acquire)
    }

    /// Stamps the events of `publication`, folds them and gives them to the log. `now` is in milliseconds
    /// since 1970. Takes all events or none: on an error nothing has changed, except that events which were
    /// taken before are left out of `publication`.
    pub(crate) fn append(
        &self,
        publication: &mut Publication,
        now: u64,
        log: &dyn EventLog,
        redactor: Option<&Redactor>,
    ) -> Result<Appended, AppendError> {
        let appended = {
            let mut state = self.state.lock();
            if state.retired {
                return Err(AppendError::Retired);
            }
            if state.reserved {
                return Err(AppendError::Reserved);
            }
            if self.is_followed() {
                return Err(AppendError::Elsewhere);
            }
            if let Some(claim) = &publication.claim {
                match state.publishers.judge(claim) {
                    // Events that were taken before are left out: a number is taken once.
                    ClaimVerdict::Take { skip } => {
                        publication.events.drain(..skip.min(publication.events.len()));
                    }
                    ClaimVerdict::Duplicate => {
                        state.attendance.is_back(publication.speaker, &claim.publisher);
                        return Ok(self.duplicate(&state, publication, log));
                    }
                    ClaimVerdict::Gap { expected } => return Err(AppendError::Gap { expected }),
                    ClaimVerdict::Fenced => return Err(AppendError::Fenced),
                }
            }
            publication.disbelieve();
            state.refuse_forged(publication)?;
            state.refuse_more(publication)?;
            let appended = match redactor {
                Some(redactor) => self.take_redacted(&mut state, publication, now, (log, redactor))?,
                None => self.take(&mut state, publication, now, log)?,
            };
            self.head.store(state.view.seq, Ordering::Release);
            appended
        };
        self.moved.notify_waiters();
        Ok(appended)
    }

    /// The answer to a frame that was taken before.
    fn duplicate(&self, state: &State, publication: &Publication, log: &dyn EventLog) -> Appended {
        // The first time may have asked for a lower level.
        let ticket =
            if publication.level == Durability::Synced { log.sync().max(state.ticket) } else { state.ticket };
        Appended {
            position: self.position(state.view.seq),
            events: 0,
            bytes: 0,
            anomalies: 0,
            duplicate: true,
            ticket,
            withheld: state.withheld_of(publication),
        }
    }

    /// The position of `seq` in this epoch.
    fn position(&self, seq: Seq) -> Position {
        Position { epoch: self.epoch.clone(), seq }
    }

    /// Appends events that nothing speaks against: gives each its seq, time and publisher, folds it, puts it
    /// into the ring, and gives all of them to the log in one piece.
    fn take(
        &self,
        state: &mut State,
        publication: &mut Publication,
        now: u64,
        log: &dyn EventLog,
    ) -> Result<Appended, AppendError> {
        let before = self.position(state.view.seq);
        // Asked before anything changes: if the log refuses, nothing is left behind, and a repetition is no
        // duplicate.
        log.continues(&self.id, before.seq)?;
        let anomalies = state.view.anomalies.total;
        let kept = state.since_kept;
        let events = publication.events.len() as u64;
        // A clock that was set back must not make durations negative.
        state.clock = state.clock.max(state.at).max(now);
        if publication.events.iter().any(|envelope| envelope.event.kind.is_activity()) {
            state.at = state.clock;
        }
        let mut entries = log.indexes().then(IndexEntries::default);
        let mut logged = Vec::with_capacity(publication.events.len());
        for mut envelope in std::mem::take(&mut publication.events) {
            if let Some(claim) = &publication.claim {
                envelope.publisher = Some(claim.publisher.clone());
            }
            // Whatever the sender claimed. Deltas do without it: their run says whose they are.
            envelope.by_hub = publication.by == By::Hub && envelope.event.kind.class() == Class::Critical;
            logged.extend(state.hear(publication.speaker, &envelope));
            if let Some(event) = bound(&mut envelope.event) {
                let odd = Envelope { event, seq: 0, ..envelope.clone() };
                logged.extend(state.add(odd, entries.as_mut()));
            }
            if let Some(event) = mismatch(&state.view, &envelope.event) {
                let odd = Envelope { event, seq: 0, ..envelope.clone() };
                logged.extend(state.add(odd, entries.as_mut()));
            }
            logged.extend(state.add(envelope, entries.as_mut()));
        }
        if state.attendance.wants_look() {
            self.unattended.store(true, Ordering::Relaxed);
        }
        let mark = publication.mark.take();
        let mark = mark.or_else(|| publication.claim.as_ref().map(|claim| state.publishers.take(claim)));
        let IndexEntries { mut documents, calls } = entries.unwrap_or_default();
        let attachments = std::mem::take(&mut publication.attachments);
        lengthen(&mut documents, &logged, &attachments);
        let append = Append {
            mark,
            level: publication.level,
            documents,
            calls,
            measurements: std::mem::take(&mut state.measured),
            attachments,
            ..Append::of(&self.id, &before, &logged)
        };
        state.ticket = log.append(append)?;
        Ok(Appended {
            position: self.position(state.view.seq),
            events,
            bytes: state.since_kept.saturating_sub(kept) as u64,
            anomalies: state.view.anomalies.total - anomalies,
            duplicate: false,
            ticket: state.ticket,
            withheld: None,
        })
    }

    /// For a reader with a task of its own: a future that is ready after the next append. Take it before you
    /// look, so that no append is missed.
    pub fn moved(&self) -> tokio::sync::futures::Notified<'_> {
        self.moved.notified()
    }

    /// Returns what comes after `cursor`, up to about `bytes_max` bytes of events; `None` if the ring does
    /// not reach back that far.
    pub fn next(&self, cursor: Cursor, bytes_max: usize) -> Option<Slice> {
        let state = self.state.lock();
        let head = state.view.seq;
        let seq = cursor.seq.min(head);
        if !state.ring.reaches(seq) {
            return None;
        }
        let events = state.ring.after(seq, bytes_max);
        let to = seq + events.len() as Seq;
        let ephemera = state.ephemera.after(cursor.tick);
        let cursor = Cursor { seq: to, tick: state.ephemera.tick() };
        let marks = state.marks.between(seq, to);
        Some(Slice { from: seq + 1, to, events, ephemera, cursor, head, marks })
    }

    /// About the memory that the view holds, in bytes. The estimate is never too small.
    pub(crate) fn view_bytes(&self) -> u64 {
        self.state.lock().view_bytes
    }

    /// The weight of the events after `seq`, in bytes; `None` if the ring does not reach back that far.
    pub(crate) fn bytes_after(&self, seq: Seq) -> Option<u64> {
        let state = self.state.lock();
        state.ring.reaches(seq).then(|| state.ring.bytes_after(seq))
    }

    /// Copies the view. The copy shares its texts with the original.
    pub fn view(&self) -> View {
        self.state.lock().view.clone()
    }

    /// Reads from the view without copying it. Nobody can append while `read` runs: keep it short.
    pub fn look<T>(&self, read: impl FnOnce(&View) -> T) -> T {
        read(&self.state.lock().view)
    }

    /// Up to `limit` events after `after`; `None` if the ring does not reach back that far.
    pub fn page(&self, after: Seq, limit: usize) -> Option<Page> {
        let state = self.state.lock();
        let reaches = after <= state.view.seq && state.ring.reaches(after);
        reaches.then(|| Page { envelopes: state.ring.page(after, limit), head: state.view.seq })
    }

    /// The seq after which events are in the ring.
    pub(super) fn begins_after(&self) -> Seq {
        self.state.lock().ring.begins_after()
    }

    /// Where it belongs in the list: when its newest event was taken, in milliseconds since 1970, the status of its newest run, and
    /// whether it is pinned.
    pub(super) fn stand(&self) -> ListStanding {
        let state = self.state.lock();
        let status = state.view.runs.last().map(|(_, run)| run.status);
        ListStanding { at: state.at, state: status, pinned: state.view.label.pinned }
    }

    /// The conversation as a row of the list, as it is now.
    pub(crate) fn row(&self) -> ConversationRow {
        let state = self.state.lock();
        row(&self.id, &self.epoch, &state.view, state.at, self.viewers.load(Ordering::Relaxed))
    }

    /// Counts one viewer more. Fails if the conversation has left memory: find it again.
    pub(crate) fn enter(&self) -> Result<(), AppendError> {
        let state = self.state.lock();
        if state.retired {
            return Err(AppendError::Retired);
        }
        self.viewers.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }

    /// Reads how many viewers there are, for the next presence frames, and wakes readers with a task of their
    /// own.
    pub(crate) fn tell_presence(&self) {
        self.presence.take(|| self.viewers.load(Ordering::Relaxed));
        self.moved.notify_waiters();
    }

    /// How many viewers it has.
    pub(crate) fn viewers(&self) -> u64 {
        self.viewers.load(Ordering::Relaxed) as u64
    }

    /// Counts one viewer less.
    pub(crate) fn leave(&self) {
        self.viewers.fetch_sub(1, Ordering::Relaxed);
    }
}

impl State {
    /// Refuses a publication from outside if any of its events names a run of the hub's own agents.
    fn refuse_forged(&self, publication: &Publication) -> Result<(), AppendError> {
        if !self.has_own || publication.by == By::Hub {
            return Ok(());
        }
        let is_own = |run: &&RunId| self.view.runs.get(*run).is_some_and(|run| run.own);
        let forged = publication.events.iter().map(|envelope| &envelope.event.run).find(is_own);
        forged.map_or(Ok(()), |run| Err(AppendError::RunOfHub { run: run.clone() }))
    }

    /// Refuses a publication from outside that would make the state larger when it already holds as much as
    /// it may. Events that only end something are taken, so that nothing stays open.
    fn refuse_more(&mut self, publication: &Publication) -> Result<(), AppendError> {
        if self.view_bytes < publication.room || publication.by == By::Hub {
            return Ok(());
        }
        let grown = |envelope: &Envelope| grows(&envelope.event.kind, weigh(envelope)) > 0;
        if !publication.events.iter().any(grown) {
            return Ok(());
        }
        // The estimate still contains what was replaced since. Counting walks the whole view.
        if self.view_bytes.saturating_sub(self.counted_bytes) >= COUNTED_EVERY_BYTES {
            self.view_bytes = held(&self.view);
            self.counted_bytes = self.view_bytes;
        }
        let held = self.view_bytes;
        match held {
            held if held < publication.room => Ok(()),
            held if held < CONVERSATION_BYTES_MAX => {
                Err(AppendError::Crowded { held, room: publication.room })
            }
            held => Err(AppendError::Full { held }),
        }
    }

    /// Stamps and folds one event; returns it if the log stores it. Ephemeral facts are kept beside the ring
    /// and not logged.
    fn add(&mut self, mut envelope: Envelope, entries: Option<&mut IndexEntries>) -> Option<Arc<Envelope>> {
        if envelope.producer_at.is_none() && envelope.at != 0 {
            envelope.producer_at = Some(envelope.at);
        }
        envelope.at = self.clock;
        if envelope.event.kind.class() == Class::Ephemeral {
            envelope.seq = 0;
            self.ephemera.put(Arc::new(envelope));
            return None;
        }
        envelope.seq = self.view.seq + 1;
        complete(&self.view, &mut envelope.event);
        self.marks.note(&self.view, &envelope, self.ring.begins_after());
        let before = Before::of(&self.view, &envelope.event);
        match entries {
            Some(entries) => fold_and_index(&mut self.view, &envelope, entries),
            None => fold(&mut self.view, &envelope, &mut |_| {}),
        }
        before.measure(&self.view, &envelope, &mut self.measured);
        self.has_own |= envelope.by_hub && matches!(envelope.event.kind, Kind::RunStart(_));
        if matches!(envelope.event.kind, Kind::RunEnd(_)) {
            self.ephemera.forget(&envelope.event.run);
        }
        let bytes = weigh(&envelope);
        self.since_kept = self.since_kept.saturating_add(bytes);
        self.view_bytes = self.view_bytes.saturating_add(grows(&envelope.event.kind, bytes));
        let envelope = Arc::new(envelope);
        self.ring.push(Arc::clone(&envelope), bytes);
        Some(envelope)
    }
}

#[cfg(test)]
mod tests;
