//! Decides which recordings run, and in which order: a call is placed only after the recorders of older calls of the
//! same caller have read what was there before it. It also knows which runs wait for results, so that none is taken
//! for lost while its caller executes tools.
//!
//! ```text
//! call 1  ▓▓▓▓▓▓▓▓▓▓▓ answer ░░░░ recorder reads
//! call 2              ▓▓▓▓ request │ waits until recorder 1 has read the ▓ │ is placed
//! ```
//!
//! Older recorders never wait for younger ones, so nothing waits in a circle.

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use model::{ConversationId, RunId};
use parking_lot::{Mutex, MutexGuard};
use tokio::sync::Notify;

use super::tape::Tape;
use hub::Attendant;

/// Most runs that are attended while they wait. Beyond them, the one that has waited longest is no longer
/// attended.
const WAITING_MAX: usize = 10_000;

/// The recordings that run, by number, the oldest first. One for the proxy.
#[derive(Debug, Default)]
pub(super) struct Order {
    /// The recordings by number, which is the order in which their calls began.
    running: Mutex<BTreeMap<u64, Arc<Running>>>,
    /// The number of the next recording.
    next: AtomicU64,
    /// Notified when a recording has read more or has ended.
    moved: Notify,
}

/// A recording that runs. Shared by the order and the recording's [`Turn`].
#[derive(Debug)]
struct Running {
    /// The fingerprint of the caller's keys.
    caller: u64,
    /// The tape of its call, which says how far the call has come.
    tape: Arc<Tape>,
    /// The position on the tape up to which its recorder has read.
    read: AtomicU64,
}

impl Order {
    /// Adds a recording of `caller`, behind all that run.
    pub(super) fn enter(self: &Arc<Self>, caller: u64, tape: &Arc<Tape>) -> Turn {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let running = Arc::new(Running { caller, tape: Arc::clone(tape), read: AtomicU64::new(0) });
        self.running.lock().insert(number, Arc::clone(&running));
        Turn { order: Arc::clone(self), number, running }
    }

    /// The number of recordings that run.
    pub(super) fn running(&self) -> usize {
        self.running.lock().len()
    }

    /// The older recordings of `caller`, each with the position up to which its call has come now.
    fn ahead(&self, number: u64, caller: u64) -> Vec<(u64, u64)> {
        let running = self.running.lock();
        let older = running.range(..number).filter(|(_, it)| it.caller == caller);
        older.filter_map(|(number, it)| Some((*number, it.tape.position()?))).collect()
    }

    /// Whether the recording `number` has read up to `position` or has ended.
    fn has_read(&self, number: u64, position: u64) -> bool {
        let running = self.running.lock();
        running.get(&number).is_none_or(|it| it.read.load(Ordering::Acquire) >= position)
    }
}

/// The place of a recording in the order. Owned by the recorder. Dropping it ends the place, and those that
/// wait for it go on.
#[derive(Debug)]
pub(super) struct Turn {
    order: Arc<Order>,
    number: u64,
    running: Arc<Running>,
}

impl Turn {
    /// Waits until older recordings have read what is there now. They never wait for this one, so all of them
    /// make progress.
    pub(super) async fn comes(&self) {
        let ahead = self.order.ahead(self.number, self.running.caller);
        for (number, position) in ahead {
            loop {
                let moved = self.order.moved.notified();
                let mut moved = std::pin::pin!(moved);
                moved.as_mut().enable();
                if self.order.has_read(number, position) {
                    break;
                }
                moved.await;
            }
        }
    }

    /// Notes that the recorder has read up to `position`, and wakes those that wait for it.
    pub(super) fn has_read(&self, position: u64) {
        self.running.read.store(position, Ordering::Release);
        self.order.moved.notify_waiters();
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        self.order.running.lock().remove(&self.number);
        self.order.moved.notify_waiters();
    }
}

/// How many locks there are for the order in conversations.
const PUBLISH_LOCKS: usize = 64;

/// Locks that keep the order of events in each conversation: what the joiner says is published in the order
/// in which it was said, without holding the joiner meanwhile. Such a lock is taken while the joiner is held,
/// and the joiner is released then.
#[derive(Debug)]
pub(super) struct PublishLocks([Mutex<()>; PUBLISH_LOCKS]);

impl Default for PublishLocks {
    fn default() -> Self {
        Self(std::array::from_fn(|_| Mutex::default()))
    }
}

impl PublishLocks {
    /// Waits for the lock of `conversation`, without yielding the thread; several conversations may share
    /// one.
    pub(super) fn take(&self, conversation: &ConversationId) -> Option<MutexGuard<'_, ()>> {
        let mut hasher = DefaultHasher::new();
        conversation.as_str().hash(&mut hasher);
        let place = usize::try_from(hasher.finish() % PUBLISH_LOCKS as u64).unwrap_or_default();
        self.0.get(place).map(Mutex::lock)
    }
}

/// Runs whose calls are being executed by their callers: they are silent, but not lost. Holding an attendant
/// for each keeps the hub from taking it for lost. At most [`WAITING_MAX`].
#[derive(Debug)]
pub(super) struct Waiting<A = Attendant>(Mutex<Waits<A>>);

/// The runs that wait, bounded by [`WAITING_MAX`].
#[derive(Debug)]
struct Waits<A> {
    /// The runs, each with its number and its attendant.
    by_run: BTreeMap<(ConversationId, RunId), (u64, A)>,
    /// The runs in the order in which they began to wait.
    by_age: BTreeMap<u64, (ConversationId, RunId)>,
    /// The number that was given last.
    next: u64,
}

impl<A> Default for Waiting<A> {
    fn default() -> Self {
        Self(Mutex::new(Waits { by_run: BTreeMap::new(), by_age: BTreeMap::new(), next: 0 }))
    }
}

impl<A> Waiting<A> {
    /// Attends `run` from now on, and gives up the one that has waited longest if there are too many.
    pub(super) fn begin(&self, conversation: ConversationId, run: RunId, attendant: A) {
        let place = (conversation, run);
        let mut waiting = self.0.lock();
        let before = waiting.remove(&place);
        waiting.next = waiting.next.saturating_add(1);
        let number = waiting.next;
        waiting.by_age.insert(number, place.clone());
        waiting.by_run.insert(place, (number, attendant));
        let oldest = if waiting.by_run.len() > WAITING_MAX { waiting.remove_oldest() } else { None };
        // Outside the lock: an attendant looks for its conversation when it is dropped.
        drop(waiting);
        drop((before, oldest));
    }

    /// Notes that a call continues `run` and has `ended` another run of its agent loop: neither waits any
    /// longer.
    pub(super) fn go_on(&self, conversation: &ConversationId, run: &RunId, ended: Option<&RunId>) {
        for run in ended.into_iter().chain([run]) {
            self.end(conversation, run);
        }
    }

    /// Stops attending a run.
    pub(super) fn end(&self, conversation: &ConversationId, run: &RunId) {
        let gone = self.0.lock().remove(&(conversation.clone(), run.clone()));
        drop(gone);
    }
}

impl<A> Waits<A> {
    fn remove(&mut self, place: &(ConversationId, RunId)) -> Option<A> {
        let (number, attendant) = self.by_run.remove(place)?;
        self.by_age.remove(&number);
        Some(attendant)
    }

    fn remove_oldest(&mut self) -> Option<A> {
        let (_, place) = self.by_age.pop_first()?;
        self.by_run.remove(&place).map(|(_, attendant)| attendant)
    }
}

#[cfg(test)]
mod tests;
