//! The copy of a call: what was asked and answered, on its way from the call to the recorder. The call only ever adds
//! to it, never waits and never fails; the recorder takes what is there. Bounded: beyond, the copy is lost, not the call.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use model::limits::{PROXY_COPIES_BYTES_MAX, PROXY_LAG_BYTES_MAX, PROXY_REQUEST_BYTES_MAX};
use parking_lot::Mutex;
use tokio::sync::Notify;
use upstream::SendError;

use super::inflate::Encoding;

/// The copied bytes of one call, between the call that adds them and the recorder that takes them.
#[derive(Debug)]
pub(super) struct Tape {
    reel: Mutex<Reel>,
    wake: Notify,
    budget: Arc<Budget>,
}

/// How much all tapes together hold, in bytes.
#[derive(Debug, Default)]
pub(super) struct Budget(AtomicUsize);

#[derive(Default)]
struct Reel {
    request: Vec<u8>,
    asked: Asked,
    head: Option<Head>,
    /// What the recorder has not taken yet.
    answer: Vec<u8>,
    /// Bytes of the answer that were not kept. Once some were not, none are: what follows a hole cannot be read.
    lost: u64,
    end: Option<End>,
    /// How much was added about the answer: its bytes, and one for its head and for its end.
    position: u64,
}

impl std::fmt::Debug for Reel {
    /// Without what was said.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Reel").field("asked", &self.asked).field("end", &self.end).finish_non_exhaustive()
    }
}

/// How far the request is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum Asked {
    /// More is to come.
    #[default]
    Open,
    /// All of it is there.
    Whole,
    /// It is over the limit, and not kept.
    TooLarge,
    /// The caller did not send all of it.
    Broken,
}

/// The beginning of an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Head {
    /// The HTTP status.
    pub(super) status: u16,
    /// When to come back, in milliseconds, where it says so.
    pub(super) retry_after_ms: Option<u64>,
    /// How the body is packed, the outermost last; nothing where that is not known here.
    pub(super) encodings: Option<Vec<Encoding>>,
}

/// How a call ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum End {
    /// The answer came to its end.
    Whole,
    /// The upstream broke off in the middle of the answer, for this reason.
    Cut(String),
    /// The caller went away.
    HungUp,
    /// There was no answer at all, for this reason.
    Nothing(SendError),
}

/// What the recorder is given at once.
#[derive(Debug, Default)]
pub(super) struct Reading {
    /// The answer's beginning, once it is there.
    pub(super) head: Option<Head>,
    /// The next bytes of it.
    pub(super) answer: Vec<u8>,
    /// How many after them were lost.
    pub(super) lost: u64,
    /// How it ended, once it has.
    pub(super) end: Option<End>,
    /// How far the answer is with this.
    pub(super) position: u64,
}

impl Tape {
    /// An empty one.
    pub(super) fn new(budget: &Arc<Budget>) -> Self {
        Self { reel: Mutex::default(), wake: Notify::new(), budget: Arc::clone(budget) }
    }

    /// More of the request.
    pub(super) fn ask(&self, bytes: &[u8]) {
        let mut reel = self.reel.lock();
        if reel.asked != Asked::Open {
            return;
        }
        let whole = reel.request.len().saturating_add(bytes.len());
        if whole > PROXY_REQUEST_BYTES_MAX || !self.budget.take(bytes.len()) {
            self.budget.give(reel.request.len());
            reel.request = Vec::new();
            reel.asked = Asked::TooLarge;
            return;
        }
        reel.request.extend_from_slice(bytes);
    }

    /// The request is over.
    pub(super) fn asked(&self, how: Asked) {
        let mut reel = self.reel.lock();
        if reel.asked == Asked::Open {
            reel.asked = how;
            drop(reel);
            self.wake.notify_one();
        }
    }

    /// The answer begins.
    pub(super) fn begin(&self, head: Head) {
        let mut reel = self.reel.lock();
        reel.head = Some(head);
        reel.position = reel.position.saturating_add(1);
        drop(reel);
        self.wake.notify_one();
    }

    /// More of the answer.
    pub(super) fn say(&self, bytes: &[u8]) {
        let mut reel = self.reel.lock();
        let waits = reel.answer.len().saturating_add(bytes.len());
        if reel.lost > 0 || waits > PROXY_LAG_BYTES_MAX || !self.budget.take(bytes.len()) {
            reel.lost = reel.lost.saturating_add(bytes.len() as u64);
            return;
        }
        reel.answer.extend_from_slice(bytes);
        reel.position = reel.position.saturating_add(bytes.len() as u64);
        drop(reel);
        self.wake.notify_one();
    }

    /// The call is over. Only the first word about that counts.
    pub(super) fn end(&self, end: End) {
        let mut reel = self.reel.lock();
        if reel.asked == Asked::Open {
            // Nobody waits for the rest of it.
            reel.asked = Asked::Broken;
        }
        if reel.end.is_none() {
            reel.end = Some(end);
            reel.position = reel.position.saturating_add(1);
        }
        drop(reel);
        self.wake.notify_one();
    }

    /// How far the answer is; nothing while the request is not whole, since nothing of the answer is read before.
    pub(super) fn position(&self) -> Option<u64> {
        let reel = self.reel.lock();
        (reel.asked != Asked::Open).then_some(reel.position)
    }

    /// The request, once all that will ever be there is. Its bytes count as held until what is given with them is dropped.
    pub(super) async fn request(&self) -> (Vec<u8>, Asked, Held) {
        loop {
            {
                let mut reel = self.reel.lock();
                if reel.asked != Asked::Open {
                    let request = std::mem::take(&mut reel.request);
                    let held = Held { budget: Arc::clone(&self.budget), bytes: request.len() };
                    return (request, reel.asked, held);
                }
            }
            self.wake.notified().await;
        }
    }

    /// What there is since the last reading; waits until there is something.
    pub(super) async fn read(&self) -> Reading {
        loop {
            {
                let mut reel = self.reel.lock();
                if reel.head.is_some() || !reel.answer.is_empty() || reel.end.is_some() {
                    let answer = std::mem::take(&mut reel.answer);
                    self.budget.give(answer.len());
                    let (head, end) = (reel.head.take(), reel.end.clone());
                    return Reading { head, answer, lost: reel.lost, end, position: reel.position };
                }
            }
            self.wake.notified().await;
        }
    }
}

impl Drop for Tape {
    fn drop(&mut self) {
        let reel = self.reel.get_mut();
        self.budget.give(reel.request.len().saturating_add(reel.answer.len()));
    }
}

/// Bytes that count as held until this is dropped.
#[derive(Debug)]
pub(super) struct Held {
    budget: Arc<Budget>,
    bytes: usize,
}

impl Held {
    /// Holds `bytes` of `budget`; nothing when there are not so many.
    pub(super) fn take(budget: &Arc<Budget>, bytes: usize) -> Option<Self> {
        budget.take(bytes).then(|| Self { budget: Arc::clone(budget), bytes })
    }

    /// Holds `bytes` in place of what it holds. False when there are not so many; then it holds what it did.
    pub(super) fn resize(&mut self, bytes: usize) -> bool {
        let more = bytes.saturating_sub(self.bytes);
        if more > 0 && !self.budget.take(more) {
            return false;
        }
        self.budget.give(self.bytes.saturating_sub(bytes));
        self.bytes = bytes;
        true
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        self.budget.give(self.bytes);
    }
}

impl Budget {
    /// Takes `bytes` of what may be held. False when there are not so many.
    fn take(&self, bytes: usize) -> bool {
        let before = self.0.fetch_add(bytes, Ordering::Relaxed);
        let fits = before.saturating_add(bytes) <= PROXY_COPIES_BYTES_MAX;
        if !fits {
            self.give(bytes);
        }
        fits
    }

    fn give(&self, bytes: usize) {
        self.0.fetch_sub(bytes, Ordering::Relaxed);
    }

    /// How much is held, in bytes.
    pub(super) fn held(&self) -> usize {
        self.0.load(Ordering::Relaxed)
    }
}

#[cfg(test)]
mod tests;
