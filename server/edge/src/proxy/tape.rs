//! The tape: the copy of a call, its request and its answer, between the call and the recorder. The call only
//! adds to it, never waits and never fails; the recorder takes what is there. It is bounded: beyond its
//! bounds the copy is lost, not the call.
//!
//! ```text
//! call:      ask ask ask asked │ begin say say say end          adds, never waits
//!                              ▼
//! recorder:  request() ────────┤ read() … read() with `end`     takes, waits for more
//! ```
//!
//! The position counts what was added to the answer, so another recorder can wait until this one has read
//! that far.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use model::limits::{PROXY_COPIES_BYTES_MAX, PROXY_LAG_BYTES_MAX, PROXY_REQUEST_BYTES_MAX};
use parking_lot::Mutex;
use tokio::sync::Notify;
use upstream::SendError;

use super::inflate::Encoding;

mod buffer;

pub(super) use buffer::BlockBuffer;

/// The copied bytes of one call. Shared by the call and its recorder; dropping it gives its bytes back to the
/// budget.
#[derive(Debug)]
pub(super) struct Tape {
    reel: Mutex<Reel>,
    /// Notified when something was added.
    wake: Notify,
    budget: Arc<Budget>,
}

/// How many bytes all tapes together hold, bounded by `PROXY_COPIES_BYTES_MAX`.
#[derive(Debug, Default)]
pub(super) struct Budget(AtomicUsize);

/// The contents of a tape, behind its lock.
#[derive(Default)]
struct Reel {
    /// The body of the request so far, at most `PROXY_REQUEST_BYTES_MAX` bytes.
    request: BlockBuffer,
    asked: RequestState,
    head: Option<Head>,
    /// The bytes that the recorder has not taken yet.
    answer: BlockBuffer,
    /// How many bytes of the answer were dropped. After the first, all are: what follows a hole cannot be
    /// read.
    lost: u64,
    end: Option<End>,
    /// How much was added to the answer so far: one for each byte, one for its head and one for its end.
    position: u64,
}

impl std::fmt::Debug for Reel {
    /// Prints nothing of the contents.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Reel").field("asked", &self.asked).field("end", &self.end).finish_non_exhaustive()
    }
}

/// The progress of the request.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum RequestState {
    /// More is to come.
    #[default]
    Open,
    /// The request is complete.
    Whole,
    /// The request is over the limit and was dropped.
    TooLarge,
    /// The caller did not send all of it.
    Broken,
}

/// The head of an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Head {
    /// The HTTP status of the answer.
    pub(super) status: u16,
    /// When to try again, in milliseconds, if it says so.
    pub(super) retry_after_ms: Option<u64>,
    /// How the body is compressed, the last applied last; `None` if that is unknown here.
    pub(super) encodings: Option<Vec<Encoding>>,
}

/// The way in which a call ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum End {
    /// The answer is complete.
    Whole,
    /// The upstream broke off within the answer, for this reason.
    Cut(String),
    /// The caller went away.
    HungUp,
    /// There was no answer, for this reason.
    Nothing(SendError),
}

/// What the recorder takes at once.
#[derive(Debug, Default)]
pub(super) struct Reading {
    /// The head of the answer, in the first reading that has it.
    pub(super) head: Option<Head>,
    /// The next bytes of the answer.
    pub(super) answer: BlockBuffer,
    /// The number of bytes after them that were dropped.
    pub(super) lost: u64,
    /// The end of the call, if it has ended.
    pub(super) end: Option<End>,
    /// The position in the answer after this reading.
    pub(super) position: u64,
}

impl Tape {
    /// Makes an empty tape within `budget`.
    pub(super) fn new(budget: &Arc<Budget>) -> Self {
        Self { reel: Mutex::default(), wake: Notify::new(), budget: Arc::clone(budget) }
    }

    /// Adds bytes of the request. A request over the limit, or one for which the budget has no room, is
    /// dropped as a whole.
    pub(super) fn ask(&self, bytes: &[u8]) {
        let mut reel = self.reel.lock();
        if reel.asked != RequestState::Open {
            return;
        }
        let whole = reel.request.len().saturating_add(bytes.len());
        if whole > PROXY_REQUEST_BYTES_MAX || !self.budget.take(bytes.len()) {
            self.budget.give(reel.request.len());
            reel.request = BlockBuffer::default();
            reel.asked = RequestState::TooLarge;
            return;
        }
        reel.request.add(bytes);
    }

    /// Ends the request; only the first call counts.
    pub(super) fn asked(&self, how: RequestState) {
        let mut reel = self.reel.lock();
        if reel.asked == RequestState::Open {
            reel.asked = how;
            drop(reel);
            self.wake.notify_one();
        }
    }

    /// Begins the answer with its head.
    pub(super) fn begin(&self, head: Head) {
        let mut reel = self.reel.lock();
        reel.head = Some(head);
        reel.position = reel.position.saturating_add(1);
        drop(reel);
        self.wake.notify_one();
    }

    /// Adds bytes of the answer. Beyond `PROXY_LAG_BYTES_MAX` that wait, or without room in the budget, they
    /// and all that follow are lost to the recording.
    pub(super) fn say(&self, bytes: &[u8]) {
        let mut reel = self.reel.lock();
        let waits = reel.answer.len().saturating_add(bytes.len());
        if reel.lost > 0 || waits > PROXY_LAG_BYTES_MAX || !self.budget.take(bytes.len()) {
            reel.lost = reel.lost.saturating_add(bytes.len() as u64);
            return;
        }
        reel.answer.add(bytes);
        reel.position = reel.position.saturating_add(bytes.len() as u64);
        drop(reel);
        self.wake.notify_one();
    }

    /// Ends the call; only the first call counts.
    pub(super) fn end(&self, end: End) {
        let mut reel = self.reel.lock();
        if reel.asked == RequestState::Open {
            // Nobody waits for the rest of the request any more.
            reel.asked = RequestState::Broken;
        }
        if reel.end.is_none() {
            reel.end = Some(end);
            reel.position = reel.position.saturating_add(1);
        }
        drop(reel);
        self.wake.notify_one();
    }

    /// How far the answer has come; `None` while the request is not complete, because the answer is not read
    /// before.
    pub(super) fn position(&self) -> Option<u64> {
        let reel = self.reel.lock();
        (reel.asked != RequestState::Open).then_some(reel.position)
    }

    /// Waits for the end of the request and takes it. Its bytes count as held until the returned guard is
    /// dropped. Only one task may wait on a tape. May be cancelled.
    pub(super) async fn request(&self) -> (Vec<u8>, RequestState, Held) {
        loop {
            let asked = {
                let mut reel = self.reel.lock();
                (reel.asked != RequestState::Open).then(|| (std::mem::take(&mut reel.request), reel.asked))
            };
            if let Some((request, asked)) = asked {
                let held = Held { budget: Arc::clone(&self.budget), bytes: request.len() };
                return (request.join(), asked, held);
            }
            self.wake.notified().await;
        }
    }

    /// Takes what has come since the last reading; waits until there is something. After the end each reading
    /// has it again. May be cancelled.
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
    /// Takes `bytes` from `budget`; `None` if there are not so many left.
    pub(super) fn take(budget: &Arc<Budget>, bytes: usize) -> Option<Self> {
        budget.take(bytes).then(|| Self { budget: Arc::clone(budget), bytes })
    }

    /// Changes how many bytes it holds. False if there are not so many left; it then holds as many as before.
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
    /// Takes `bytes`; false if there are not so many left.
    fn take(&self, bytes: usize) -> bool {
        let before = self.0.fetch_add(bytes, Ordering::Relaxed);
        let fits = before.saturating_add(bytes) <= PROXY_COPIES_BYTES_MAX;
        if !fits {
            self.give(bytes);
        }
        fits
    }

    /// Gives `bytes` back to the budget.
    fn give(&self, bytes: usize) {
        self.0.fetch_sub(bytes, Ordering::Relaxed);
    }

    /// The number of bytes that are held.
    pub(super) fn held(&self) -> usize {
        self.0.load(Ordering::Relaxed)
    }
}

#[cfg(test)]
mod tests;
