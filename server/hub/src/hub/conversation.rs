//! One conversation: one lock around a plain struct. Every method is synchronous and short, so a random
//! sequence of calls is the concurrency test.
//!
//! A viewer has a [`Cursor`] and asks [`Conversation::next`] for what comes after it; nothing is queued for
//! any viewer. Whoever appends also wakes the pumps of the viewers, see [`crate::fanout`].

use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};

use event_log::{EventPage, Measurement, Ring, StoredConversation, Ticket};
use model::frame::ConversationRow;
use model::weigh::held;
use model::{ConversationId, Epoch, Seq, View};
use parking_lot::Mutex;
use redact::EventStreams;
use tokio::sync::Notify;

use super::ephemera::Ephemera;
use super::frame_cache::FrameCaches;
use super::orphans::attendance::Attendance;
use super::publication::AppendError;
use super::publishers::Publishers;
use super::ring_effects::RingEffects;
use super::row::{ListStanding, row};
use super::viewer_roster::ViewerRoster;
use crate::slice::{Cursor, Slice};

mod appending;
mod followed;
mod import;
mod original;
mod orphans;
mod raw_budget;
mod rest;
mod windows;
mod withheld;

pub use followed::{Discontinuity, NotGivenUp};
pub(super) use import::FoldedHistory;
pub use original::CopyMark;
use raw_budget::RawBudgets;
pub(super) use rest::ConversationUse;
use windows::Windows;
pub use withheld::WITHHELD_MS;
use withheld::WithheldPublication;
pub(super) use withheld::WithheldScope;

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
    state: Mutex<ConversationState>,
    /// The newest seq, readable without the lock.
    head: AtomicU64,
    /// The number of viewers.
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
    appended: Notify,
    /// The frames and snapshots that its viewers share, by lens.
    pub frame_caches: FrameCaches,
    /// The newest parts that its newcomers were given. Locked before the state.
    windows: Mutex<Windows>,
    /// The names of its viewers, and what its viewers were last told of one another.
    pub presence: ViewerRoster,
}

/// Everything that an append changes. Its parts are consistent with one another whenever the lock is free:
/// ring, effects and view end at the same seq.
#[derive(Debug, Default)]
struct ConversationState {
    /// The newest events, within bounds.
    ring: Ring,
    /// The effects of some events in the ring.
    effects: RingEffects,
    /// The view: all events so far, folded.
    view: View,
    /// When the newest event was taken that is activity ([`Kind::is_activity`]), in milliseconds since 1970. Never goes back.
    at: u64,
    /// The time that new events get, likewise. Never goes back.
    clock: u64,
    /// The publishers, with the frames of theirs that were taken.
    publishers: Publishers,
    /// The newest ephemeral events.
    ephemera: Ephemera,
    /// The attendance of the running runs: who publishes to them.
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
    /// The raw events of its runs.
    raw_budgets: RawBudgets,
    /// What came in pieces and has not ended.
    texts: EventStreams,
    /// What has no numbers yet, the oldest first.
    withheld: Vec<WithheldPublication>,
}

impl Conversation {
    /// Makes an empty conversation.
    pub(crate) fn new(id: ConversationId, epoch: Epoch) -> Self {
        Self::from_state(id, epoch, ConversationState::default())
    }

    /// Makes a conversation from what the log has of it. Its ring is empty and begins after the newest event.
    pub(crate) fn restored(id: ConversationId, stored: StoredConversation) -> Self {
        let StoredConversation { position, view, at, marks } = stored;
        let state = ConversationState {
            has_own: view.runs.values().any(|run| run.own),
            ring: Ring::after_seq(position.seq),
            view_bytes: held(&view),
            view,
            at,
            publishers: Publishers::restored(marks),
            ..ConversationState::default()
        };
        Self::from_state(id, position.epoch, state)
    }

    fn from_state(id: ConversationId, epoch: Epoch, state: ConversationState) -> Self {
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
            appended: Notify::new(),
            frame_caches: FrameCaches::default(),
            windows: Mutex::default(),
            presence: ViewerRoster::default(),
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

    /// For a reader with a task of its own: a future that is ready after the next append. Take it before you
    /// look, so that no append is missed.
    pub fn appended(&self) -> tokio::sync::futures::Notified<'_> {
        self.appended.notified()
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
        let effects = state.effects.between(seq, to);
        Some(Slice { from: seq + 1, to, events, ephemera, cursor, head, effects, is_whole: false })
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
    pub fn read_view<T>(&self, read: impl FnOnce(&View) -> T) -> T {
        read(&self.state.lock().view)
    }

    /// Up to `limit` events after `after`; `None` if the ring does not reach back that far.
    pub fn page(&self, after: Seq, limit: usize) -> Option<EventPage> {
        let state = self.state.lock();
        let reaches = after <= state.view.seq && state.ring.reaches(after);
        reaches.then(|| EventPage { envelopes: state.ring.page(after, limit), head: state.view.seq })
    }

    /// The seq after which events are in the ring.
    pub fn begins_after(&self) -> Seq {
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
        self.appended.notify_waiters();
    }

    /// The number of viewers.
    pub(crate) fn viewers(&self) -> u64 {
        self.viewers.load(Ordering::Relaxed) as u64
    }

    /// Counts one viewer less.
    pub(crate) fn leave(&self) {
        self.viewers.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests;
