//! One conversation: one lock around a plain struct. Every method is synchronous and short, so a random sequence of
//! calls is the concurrency test.
//!
//! Whoever watches has a [`Cursor`] and asks [`Conversation::next`] for what comes after it; nothing is queued for
//! anybody. Who appends also sees to it that the viewers' pumps run, see [`crate::fanout`].

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};

use event_log::Ring;
use event_log::{Append, EventLog, Page, Progress, Stored, Ticket};
use model::event::{Class, Kind, RunStatus, bound};
use model::fold::{complete, fold, mismatch};
use model::frame::{ConversationRow, Durability};
use model::lens::EventEffects;
use model::limits::CONVERSATION_BYTES_MAX;
use model::weigh::{grows, held, weigh};
use model::{ConversationId, Envelope, Epoch, Position, RunId, Seq, View};
use parking_lot::Mutex;
use redact::{EventStreams, Redactor};
use tokio::sync::Notify;

use super::counted::Counted;
use super::ephemera::Ephemera;
use super::glean::{Gleaned, fold_and_glean};
use super::marks::Marks;
use super::orphans::Attendance;
use super::outsize::lengthen;
use super::publication::{AppendError, Appended, By, Publication};
use super::publishers::{Publishers, Verdict};
use super::row::row;
use super::sight::Sights;

mod import;
mod orphans;
mod rest;
mod withheld;

pub(super) use import::Arrival;
pub(super) use rest::Use;
pub use withheld::WITHHELD_MS;
pub(super) use withheld::Which;
use withheld::Withheld;

/// After so much estimated growth the memory of a full conversation is counted again before anything is refused, in bytes.
const COUNTED_EVERY_BYTES: u64 = 1 << 20;

/// A viewer's place: the last seq it has, and the last ephemeral fact.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Cursor {
    /// The last event.
    pub seq: Seq,
    /// The number of the last ephemeral fact.
    pub tick: u64,
}

/// What comes after a cursor.
#[derive(Debug, Clone)]
pub struct Slice {
    /// Covers from here.
    pub from: Seq,
    /// To here; `from - 1` when only ephemeral facts are in.
    pub to: Seq,
    /// The events, without a hole.
    pub events: Vec<Arc<Envelope>>,
    /// Ephemeral facts that are news.
    pub ephemera: Vec<Arc<Envelope>>,
    /// The cursor of who has applied it.
    pub cursor: Cursor,
    /// The newest seq.
    pub head: Seq,
    /// What some of the events do beyond what they say.
    pub marks: Vec<(Seq, EventEffects)>,
}

impl Slice {
    /// Says of all after `told` that nothing of it is meant for this viewer, up to where `cursor` stands.
    pub fn nothing(told: Seq, cursor: Cursor) -> Self {
        let (events, ephemera, marks) = (Vec::new(), Vec::new(), Vec::new());
        Self { from: told + 1, to: cursor.seq, events, ephemera, cursor, head: cursor.seq, marks }
    }

    /// How many events and facts are in it.
    pub(crate) fn len(&self) -> usize {
        self.events.len() + self.ephemera.len()
    }

    /// Whether there is nothing in it.
    pub fn is_empty(&self) -> bool {
        self.to < self.from && self.ephemera.is_empty()
    }
}

/// The state of one conversation: its view, its newest events, its publishers and viewers. Shared by all who read or
/// write it.
#[derive(Debug)]
pub struct Conversation {
    id: ConversationId,
    epoch: Epoch,
    state: Mutex<State>,
    head: AtomicU64,
    viewers: AtomicUsize,
    /// Whether a run has nobody who attends it, and the timer does not know yet.
    pub(super) unattended: AtomicBool,
    /// Whether the list of changed conversations has it already.
    pub(super) listed: AtomicBool,
    /// Whether the list of those whose row the log does not have yet has it already.
    pub(super) noted: AtomicBool,
    /// Whether the order of the list is to look at it again.
    pub(super) moved_in_list: AtomicBool,
    moved: Notify,
    /// What viewers who look alike share.
    pub sights: Sights,
    /// How many viewers it is said to have.
    pub presence: Counted,
}

#[derive(Debug, Default)]
struct State {
    ring: Ring,
    marks: Marks,
    view: View,
    at: u64,
    publishers: Publishers,
    ephemera: Ephemera,
    attendance: Attendance,
    /// Reached when the log has all of it.
    ticket: Ticket,
    /// What came since the log was last given the whole state, in bytes.
    since_kept: usize,
    /// About the memory that the view holds, in bytes: more rather than less.
    view_bytes: u64,
    /// What that was when it was last counted and not estimated.
    counted_bytes: u64,
    retired: bool,
    /// Whether a history comes, and nobody else may write.
    reserved: bool,
    /// Whether a run in it is one of the hub's own agents. Where none is, events from outside need no look.
    has_own: bool,
    /// What came in pieces and has not ended.
    texts: EventStreams,
    /// What has no numbers yet, the oldest first.
    withheld: Vec<Withheld>,
}

impl Conversation {
    /// An empty one.
    pub(crate) fn new(id: ConversationId, epoch: Epoch) -> Self {
        Self::with(id, epoch, State::default())
    }

    /// As the log has it.
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

    /// The life of its log.
    pub fn epoch(&self) -> &Epoch {
        &self.epoch
    }

    /// The newest seq.
    pub fn head(&self) -> Seq {
        self.head.load(Ordering::Acquire)
    }

    /// Appends, logs, folds. `now` is in milliseconds since 1970. The events are taken out
    /// of `publication` only when they are appended or withheld. Secrets in deltas are marked by `redactor`.
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
            if let Some(claim) = &publication.claim {
                match state.publishers.judge(claim) {
                    // What was taken before is left out: a number is taken once.
                    Verdict::Take { skip } => {
                        publication.events.drain(..skip.min(publication.events.len()));
                    }
                    Verdict::Duplicate => {
                        state.attendance.is_back(publication.speaker, &claim.publisher);
                        return Ok(self.duplicate(&state, publication, log));
                    }
                    Verdict::Gap { expected } => return Err(AppendError::Gap { expected }),
                    Verdict::Fenced => return Err(AppendError::Fenced),
                }
            }
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

    fn duplicate(&self, state: &State, publication: &Publication, log: &dyn EventLog) -> Appended {
        // What was taken before may have been asked for at a lower level.
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

    fn position(&self, seq: Seq) -> Position {
        Position { epoch: self.epoch.clone(), seq }
    }

    fn take(
        &self,
        state: &mut State,
        publication: &mut Publication,
        now: u64,
        log: &dyn EventLog,
    ) -> Result<Appended, AppendError> {
        let before = self.position(state.view.seq);
        // Before anything changes: what the log refuses leaves nothing behind, and its repetition is no duplicate.
        log.continues(&self.id, before.seq)?;
        let anomalies = state.view.anomalies.total;
        let kept = state.since_kept;
        let events = publication.events.len() as u64;
        // A clock that is set back must not turn durations negative.
        state.at = state.at.max(now);
        let mut gleaned = log.indexes().then(Gleaned::default);
        let mut logged = Vec::with_capacity(publication.events.len());
        for mut envelope in std::mem::take(&mut publication.events) {
            if let Some(claim) = &publication.claim {
                envelope.publisher = Some(claim.publisher.clone());
            }
            // Whatever it came with. Deltas do without: their run says whose they are.
            envelope.by_hub = publication.by == By::Hub && envelope.event.kind.class() == Class::Critical;
            logged.extend(state.hear(publication.speaker, &envelope));
            if let Some(event) = bound(&mut envelope.event) {
                let odd = Envelope { event, seq: 0, ..envelope.clone() };
                logged.extend(state.add(odd, gleaned.as_mut()));
            }
            if let Some(event) = mismatch(&state.view, &envelope.event) {
                let odd = Envelope { event, seq: 0, ..envelope.clone() };
                logged.extend(state.add(odd, gleaned.as_mut()));
            }
            logged.extend(state.add(envelope, gleaned.as_mut()));
        }
        if state.attendance.wants_look() {
            self.unattended.store(true, Ordering::Relaxed);
        }
        let mark = publication.mark.take();
        let mark = mark.or_else(|| publication.claim.as_ref().map(|claim| state.publishers.take(claim)));
        let Gleaned { mut documents, calls } = gleaned.unwrap_or_default();
        let attachments = std::mem::take(&mut publication.attachments);
        lengthen(&mut documents, &logged, &attachments);
        let append = Append {
            mark,
            level: publication.level,
            documents,
            calls,
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

    /// For a reader with a task of its own: ready after the next append. Take it before looking.
    pub fn moved(&self) -> tokio::sync::futures::Notified<'_> {
        self.moved.notified()
    }

    /// What comes after `cursor`, up to about `bytes_max`; nothing when the ring does not reach back that far.
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

    /// What the events after `seq` weigh; nothing when the ring does not reach back that far.
    pub(crate) fn bytes_after(&self, seq: Seq) -> Option<u64> {
        let state = self.state.lock();
        state.ring.reaches(seq).then(|| state.ring.bytes_after(seq))
    }

    /// The state as it is now.
    pub fn view(&self) -> View {
        self.state.lock().view.clone()
    }

    /// Reads something from the state without copying it. Nobody can append meanwhile: keep it short.
    pub fn look<T>(&self, read: impl FnOnce(&View) -> T) -> T {
        read(&self.state.lock().view)
    }

    /// Up to `limit` events after `after`, when the ring reaches back that far.
    pub fn page(&self, after: Seq, limit: usize) -> Option<Page> {
        let state = self.state.lock();
        let reaches = after <= state.view.seq && state.ring.reaches(after);
        reaches.then(|| Page { envelopes: state.ring.page(after, limit), head: state.view.seq })
    }

    /// The seq after which its events are in memory.
    pub(super) fn begins_after(&self) -> Seq {
        self.state.lock().ring.begins_after()
    }

    /// When its newest event was taken, in milliseconds since 1970, and how its newest run stands.
    pub(super) fn stand(&self) -> (u64, Option<RunStatus>) {
        let state = self.state.lock();
        (state.at, state.view.runs.last().map(|(_, run)| run.status))
    }

    /// The conversation as a row of the list.
    pub(crate) fn row(&self) -> ConversationRow {
        let state = self.state.lock();
        row(&self.id, &self.epoch, &state.view, state.at, self.viewers.load(Ordering::Relaxed))
    }

    /// Counts one more viewer. Fails when the conversation was dropped: find it again.
    pub(crate) fn enter(&self) -> Result<(), AppendError> {
        let state = self.state.lock();
        if state.retired {
            return Err(AppendError::Retired);
        }
        self.viewers.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }

    /// Looks how many viewers there are, and wakes readers with a task of their own.
    pub(crate) fn tell_presence(&self) {
        self.presence.take(|| self.viewers.load(Ordering::Relaxed));
        self.moved.notify_waiters();
    }

    /// How many view it.
    pub(crate) fn viewers(&self) -> u64 {
        self.viewers.load(Ordering::Relaxed) as u64
    }

    /// Counts one viewer less.
    pub(crate) fn leave(&self) {
        self.viewers.fetch_sub(1, Ordering::Relaxed);
    }
}

impl State {
    /// Refuses events from outside that name a run of the hub's own agents, all of them together.
    fn refuse_forged(&self, publication: &Publication) -> Result<(), AppendError> {
        if !self.has_own || publication.by == By::Hub {
            return Ok(());
        }
        let is_own = |run: &&RunId| self.view.runs.get(*run).is_some_and(|run| run.own);
        let forged = publication.events.iter().map(|envelope| &envelope.event.run).find(is_own);
        forged.map_or(Ok(()), |run| Err(AppendError::RunOfHub { run: run.clone() }))
    }

    /// Refuses events from outside that would make the state larger where it holds as much as there is room for, all of them together.
    /// What only ends something is taken, so that nothing stays open.
    fn refuse_more(&mut self, publication: &Publication) -> Result<(), AppendError> {
        if self.view_bytes < publication.room || publication.by == By::Hub {
            return Ok(());
        }
        let grown = |envelope: &Envelope| grows(&envelope.event.kind, weigh(envelope)) > 0;
        if !publication.events.iter().any(grown) {
            return Ok(());
        }
        // What was replaced is still in the estimate. Counting takes a walk over all that is there.
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

    /// Takes one event; gives it back when it is one that the log keeps.
    fn add(&mut self, mut envelope: Envelope, gleaned: Option<&mut Gleaned>) -> Option<Arc<Envelope>> {
        if envelope.producer_at.is_none() && envelope.at != 0 {
            envelope.producer_at = Some(envelope.at);
        }
        envelope.at = self.at;
        if envelope.event.kind.class() == Class::Ephemeral {
            envelope.seq = 0;
            self.ephemera.put(Arc::new(envelope));
            return None;
        }
        envelope.seq = self.view.seq + 1;
        complete(&self.view, &mut envelope.event);
        self.marks.note(&self.view, &envelope, self.ring.begins_after());
        match gleaned {
            Some(gleaned) => fold_and_glean(&mut self.view, &envelope, gleaned),
            None => fold(&mut self.view, &envelope, &mut |_| {}),
        }
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
