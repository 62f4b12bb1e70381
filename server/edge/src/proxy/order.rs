//! Which recordings run, and the order among them: one is placed only after older ones of the same caller have read what
//! was there before it. And who waits for results, so that nobody takes a run for lost whose tools are at work.

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use model::{ConversationId, RunId};
use parking_lot::{Mutex, MutexGuard};
use tokio::sync::Notify;

use super::tape::Tape;
use hub::Attendant;

/// Most runs that are kept from being taken for lost at once; beyond, the one that waited longest is left to the hub.
const WAITING_MAX: usize = 10_000;

/// The recordings under way, oldest first. One for the proxy.
#[derive(Debug, Default)]
pub(super) struct Order {
    running: Mutex<BTreeMap<u64, Arc<Running>>>,
    next: AtomicU64,
    moved: Notify,
}

#[derive(Debug)]
struct Running {
    caller: u64,
    tape: Arc<Tape>,
    /// How far its recorder has read.
    read: AtomicU64,
}

impl Order {
    /// One more recording, of `caller`.
    pub(super) fn enter(self: &Arc<Self>, caller: u64, tape: &Arc<Tape>) -> Turn {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let running = Arc::new(Running { caller, tape: Arc::clone(tape), read: AtomicU64::new(0) });
        self.running.lock().insert(number, Arc::clone(&running));
        Turn { order: Arc::clone(self), number, running }
    }

    /// How many run.
    pub(super) fn running(&self) -> usize {
        self.running.lock().len()
    }

    /// What recordings before `number` of `caller` have to read still, each up to where its call stands now.
    fn ahead(&self, number: u64, caller: u64) -> Vec<(u64, u64)> {
        let running = self.running.lock();
        let older = running.range(..number).filter(|(_, it)| it.caller == caller);
        older.filter_map(|(number, it)| Some((*number, it.tape.position()?))).collect()
    }

    /// Whether the recording `number` has read up to `position`, or is done.
    fn has_read(&self, number: u64, position: u64) -> bool {
        let running = self.running.lock();
        running.get(&number).is_none_or(|it| it.read.load(Ordering::Acquire) >= position)
    }
}

/// The place of one recording among the others, until it is dropped.
#[derive(Debug)]
pub(super) struct Turn {
    order: Arc<Order>,
    number: u64,
    running: Arc<Running>,
}

impl Turn {
    /// Ready when older recordings have read what is there now. Those are never kept waiting by this one, so that all
    /// come to their end.
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

    /// It has read up to `position`.
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

/// How many conversations may be spoken in at once.
const FLOORS: usize = 64;

/// Who has the word in a conversation: what the joiner says of it is published in the order in which it was said, without
/// keeping others waiting for the joiner. Taken while the joiner is held, which is let go then.
#[derive(Debug)]
pub(super) struct Floors([Mutex<()>; FLOORS]);

impl Default for Floors {
    fn default() -> Self {
        Self(std::array::from_fn(|_| Mutex::default()))
    }
}

impl Floors {
    /// The word in `conversation`, once nobody else has it; some conversations share one.
    pub(super) fn take(&self, conversation: &ConversationId) -> Option<MutexGuard<'_, ()>> {
        let mut hasher = DefaultHasher::new();
        conversation.as_str().hash(&mut hasher);
        let place = usize::try_from(hasher.finish() % FLOORS as u64).unwrap_or_default();
        self.0.get(place).map(Mutex::lock)
    }
}

/// Runs whose calls are executed by their caller now: nothing is heard of them, and yet they are well.
#[derive(Debug)]
pub(super) struct Waiting<A = Attendant>(Mutex<Waits<A>>);

#[derive(Debug)]
struct Waits<A> {
    by_run: BTreeMap<(ConversationId, RunId), (u64, A)>,
    /// In the order in which they began.
    by_age: BTreeMap<u64, (ConversationId, RunId)>,
    next: u64,
}

impl<A> Default for Waiting<A> {
    fn default() -> Self {
        Self(Mutex::new(Waits { by_run: BTreeMap::new(), by_age: BTreeMap::new(), next: 0 }))
    }
}

impl<A> Waiting<A> {
    /// `run` waits from now on.
    pub(super) fn begin(&self, conversation: ConversationId, run: RunId, attendant: A) {
        let place = (conversation, run);
        let mut waiting = self.0.lock();
        let before = waiting.remove(&place);
        waiting.next = waiting.next.saturating_add(1);
        let number = waiting.next;
        waiting.by_age.insert(number, place.clone());
        waiting.by_run.insert(place, (number, attendant));
        let oldest = if waiting.by_run.len() > WAITING_MAX { waiting.remove_oldest() } else { None };
        // Attendants look for their conversations when they go.
        drop(waiting);
        drop((before, oldest));
    }

    /// A call goes on with `run`, and has `ended` another one of its loop.
    pub(super) fn go_on(&self, conversation: &ConversationId, run: &RunId, ended: Option<&RunId>) {
        for run in ended.into_iter().chain([run]) {
            self.end(conversation, run);
        }
    }

    /// It waits no longer.
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
