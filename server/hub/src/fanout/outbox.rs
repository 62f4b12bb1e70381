//! The writing end of one socket, shared by all who write to it. A frame of which the socket took the beginning is
//! completed before any other bytes, so frames never mix; one of which it took nothing is not kept here. A socket that takes
//! no bytes is not written to again before it does (invariant I8).

use std::collections::VecDeque;
use std::io::{ErrorKind, IoSlice};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use bytes::{Buf as _, Bytes};
use model::limits::WRITE_BYTES_MAX;
use parking_lot::Mutex;
use tokio::net::TcpStream;
use tokio::time::Instant;

use super::Subscription;
use super::task_wake::TaskWake;
use crate::hub::Cursor;

/// Most buffers in one vectored write.
const PIECES: usize = 16;

/// The first `bytes_max` bytes of `pieces`, of which at most 16 are taken, and how many those are. Empty pieces are left out.
pub fn bounded_slices<'a>(
    pieces: impl Iterator<Item = &'a [u8]>,
    bytes_max: usize,
) -> ([IoSlice<'a>; PIECES], usize) {
    let (mut some, mut count, mut room) = ([IoSlice::new(&[]); PIECES], 0, bytes_max);
    for (slot, piece) in some.iter_mut().zip(pieces.filter(|piece| !piece.is_empty())) {
        let part = piece.get(..room).unwrap_or(piece);
        *slot = IoSlice::new(part);
        room -= part.len();
        count += 1;
        if room == 0 {
            break;
        }
    }
    (some, count)
}

/// The result of sending a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SendResult {
    /// The kernel took all of it.
    Whole,
    /// The kernel took the beginning. The outbox keeps the rest and writes it before anything else.
    Begun,
    /// The socket takes nothing now, or other bytes wait: the frame was not taken.
    Blocked,
    /// The socket is closed or the subscription has ended.
    Over,
}

/// The progress that [`Outbox::flush`] made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Flushed {
    /// Nothing waits any more, also because the socket closed.
    All,
    /// The kernel takes no more at present.
    Blocked,
    /// The turn is over: as many bytes were written as one may write. More can be written after other tasks had theirs.
    TurnOver,
}

/// What an outbox writes to: a TCP socket, or its double in tests of a simulated network.
pub trait Transport: std::fmt::Debug + Send + Sync {
    /// Writes as many of `bytes` as fit now and returns their number, without waiting. Fails with
    /// `WouldBlock` if none fit.
    fn try_write(&self, bytes: &[u8]) -> std::io::Result<usize>;

    /// Does the same with several buffers in order.
    fn try_write_vectored(&self, pieces: &[IoSlice<'_>]) -> std::io::Result<usize>;

    /// Does the same as [`Transport::try_write`], but asks the kernel even if the socket is not reported
    /// writable. The kernel reports it only once a good part of its buffer is free; a slow peer needs minutes
    /// for that, although it takes byte after byte.
    fn press(&self, bytes: &[u8]) -> std::io::Result<usize> {
        self.try_write(bytes)
    }
}

impl Transport for TcpStream {
    fn try_write(&self, bytes: &[u8]) -> std::io::Result<usize> {
        Self::try_write(self, bytes)
    }

    fn try_write_vectored(&self, pieces: &[IoSlice<'_>]) -> std::io::Result<usize> {
        Self::try_write_vectored(self, pieces)
    }

    fn press(&self, bytes: &[u8]) -> std::io::Result<usize> {
        socket2::SockRef::from(self).send(bytes)
    }
}

/// The bytes that one socket has not taken yet, and the subscriptions that wait for it. Shared by the
/// connection and the pumps that write to it, and dropped with the last of them. It has no bound of its own:
/// a pump never adds to it while something waits, and the socket's own task adds one catch-up at a time.
#[derive(Debug)]
pub struct Outbox {
    /// The socket that the bytes are written to.
    line: Arc<dyn Transport>,
    state: Mutex<OutboxState>,
    /// Wakes the task of the socket.
    pub wake: TaskWake,
    /// When the task of the socket wants to be woken at the latest, in milliseconds since the hub began;
    /// `u64::MAX` for never.
    pub attention_at: AtomicU64,
}

/// A whole frame, or a piece of one, that waits.
#[derive(Debug)]
struct PendingBytes {
    bytes: Bytes,
    /// Whether its frame ends with this piece.
    ends: bool,
}

/// What waits for a socket.
#[derive(Debug, Default)]
struct Waiting {
    /// What the kernel did not take: the rest of one frame, then whole frames.
    pending: VecDeque<PendingBytes>,
    /// Whether the kernel took the beginning of the first frame that waits. Such a frame must be finished.
    is_begun: bool,
    /// The sum of the lengths of `pending`.
    pending_bytes: usize,
    /// Subscriptions that pumps handed over, each with the position from which it goes on.
    parked: Vec<(Arc<Subscription>, Cursor)>,
}

/// The state of an outbox, behind its lock.
#[derive(Debug, Default)]
struct OutboxState {
    /// What waits; `None` if nothing does, so that an idle socket takes no memory for it.
    waiting: Option<Box<Waiting>>,
    /// Since when bytes wait that the kernel did not take; `None` if nothing waits, or it took some since.
    stuck_since: Option<Instant>,
    /// The last time at which the kernel took less than there was.
    blocked_at: Option<Instant>,
    /// Whether the socket is closed.
    over: bool,
}

impl Outbox {
    /// Makes an empty outbox that writes to `line`.
    pub fn new(line: Arc<dyn Transport>) -> Self {
        Self {
            line,
            state: Mutex::default(),
            wake: TaskWake::default(),
            attention_at: AtomicU64::new(u64::MAX),
        }
    }

    /// Writes a frame of a subscription, unless other bytes wait. Only the rest of a frame that was begun is
    /// kept. `active` is read under the same lock under which [`Outbox::deactivate`] sets it, so no frame of
    /// a subscription follows its end.
    pub(crate) fn send(&self, active: &AtomicBool, frame: &Bytes) -> SendResult {
        let mut state = self.state.lock();
        if state.over || !active.load(Ordering::Relaxed) {
            return SendResult::Over;
        }
        if state.has_pending() {
            return SendResult::Blocked;
        }
        match self.line.try_write(frame) {
            Ok(taken) if taken == frame.len() => {
                state.stuck_since = None;
                SendResult::Whole
            }
            Ok(taken) => {
                let waiting = state.put(frame.slice(taken..), true);
                waiting.is_begun = true;
                state.blocked();
                SendResult::Begun
            }
            Err(error) if error.kind() == ErrorKind::WouldBlock => {
                state.blocked();
                SendResult::Blocked
            }
            Err(_) => {
                state.over = true;
                SendResult::Over
            }
        }
    }

    /// Ends a subscription: no frame of it is sent after this returns.
    pub(crate) fn deactivate(&self, active: &AtomicBool) {
        let _state = self.state.lock();
        active.store(false, Ordering::Relaxed);
    }

    /// Hands a subscription over to the task of the socket, which goes on from `cursor` once the socket takes
    /// more bytes. If the socket is closed, the subscription is dropped: it holds this outbox, and nobody
    /// would drop it later.
    pub(crate) fn park(&self, subscription: Arc<Subscription>, cursor: Cursor) {
        let mut state = self.state.lock();
        if !state.over {
            state.waiting.get_or_insert_default().parked.push((subscription, cursor));
        }
        drop(state);
        self.wake.notify_one();
    }

    /// Takes the subscriptions that were handed over.
    pub fn take_parked(&self) -> Vec<(Arc<Subscription>, Cursor)> {
        let mut state = self.state.lock();
        let parked =
            state.waiting.as_mut().map_or_else(Vec::new, |waiting| std::mem::take(&mut waiting.parked));
        state.tidy();
        parked
    }

    /// Adds one frame, in pieces, behind what waits. Nothing is written before [`Outbox::flush`].
    pub fn queue(&self, frame: impl IntoIterator<Item = Bytes>) {
        let mut state = self.state.lock();
        if state.over {
            return;
        }
        let mut pieces = frame.into_iter().peekable();
        while let Some(piece) = pieces.next() {
            let ends = pieces.peek().is_none();
            state.put(piece, ends);
        }
    }

    /// Drops the frames that wait, except one that the kernel has begun. What is queued next follows that
    /// one.
    pub fn forget_frames(&self) {
        let mut state = self.state.lock();
        let Some(waiting) = &mut state.waiting else { return };
        let begun = if waiting.is_begun {
            waiting.pending.iter().position(|piece| piece.ends).map_or(0, |last| last + 1)
        } else {
            0
        };
        waiting.pending.truncate(begun);
        waiting.pending_bytes = waiting.pending.iter().map(|piece| piece.bytes.len()).sum();
        state.tidy();
    }

    /// Tries one write even if the socket was not reported writable, to see whether the peer takes any bytes
    /// at all.
    pub fn press(&self) {
        let mut state = self.state.lock();
        let Some(first) = state.waiting.as_ref().and_then(|waiting| waiting.pending.front()) else { return };
        match self.line.press(first.bytes.get(..WRITE_BYTES_MAX).unwrap_or(&first.bytes)) {
            Ok(taken) => state.taken(taken),
            Err(error) if error.kind() == ErrorKind::WouldBlock => {}
            Err(_) => state.over = true,
        }
    }

    /// Writes what waits until the kernel takes no more, or until `turn` bytes were written; `turn` is reduced by what was
    /// written. One call of the kernel gets at most [`WRITE_BYTES_MAX`].
    pub fn flush(&self, turn: &mut usize) -> Flushed {
        let mut state = self.state.lock();
        while !state.over {
            let Some(waiting) = state.waiting.as_ref().filter(|waiting| !waiting.pending.is_empty()) else {
                break;
            };
            if *turn == 0 {
                return Flushed::TurnOver;
            }
            let waiting = waiting.pending.iter().map(|piece| &*piece.bytes);
            let (pieces, count) = bounded_slices(waiting, WRITE_BYTES_MAX.min(*turn));
            match self.line.try_write_vectored(pieces.get(..count).unwrap_or_default()) {
                Ok(taken) => {
                    *turn = turn.saturating_sub(taken);
                    state.taken(taken);
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    state.blocked();
                    return Flushed::Blocked;
                }
                Err(_) => state.over = true,
            }
        }
        Flushed::All
    }

    /// The number of bytes that wait.
    pub fn waiting(&self) -> usize {
        self.state.lock().waiting.as_ref().map_or(0, |waiting| waiting.pending_bytes)
    }

    /// Since when the kernel has taken nothing although bytes wait.
    pub fn stuck_since(&self) -> Option<Instant> {
        self.state.lock().stuck_since
    }

    /// The last time at which the kernel took nothing.
    pub fn blocked_at(&self) -> Option<Instant> {
        self.state.lock().blocked_at
    }

    /// Whether the socket is closed.
    pub fn is_over(&self) -> bool {
        self.state.lock().over
    }

    /// Closes the outbox: it takes no more frames, and drops those that wait and the subscriptions that were
    /// handed over.
    pub fn end(&self) {
        let mut state = self.state.lock();
        state.over = true;
        state.waiting = None;
    }
}

impl OutboxState {
    /// Whether bytes wait.
    fn has_pending(&self) -> bool {
        self.waiting.as_ref().is_some_and(|waiting| !waiting.pending.is_empty())
    }

    /// Adds a piece behind what waits.
    fn put(&mut self, bytes: Bytes, ends: bool) -> &mut Waiting {
        let waiting = self.waiting.get_or_insert_default();
        waiting.pending_bytes += bytes.len();
        waiting.pending.push_back(PendingBytes { bytes, ends });
        waiting
    }

    /// Notes that the kernel took less than there was.
    fn blocked(&mut self) {
        let now = Instant::now();
        self.blocked_at = Some(now);
        self.stuck_since.get_or_insert(now);
    }

    /// Removes the first `bytes` bytes of what waits: the kernel took them.
    fn taken(&mut self, bytes: usize) {
        self.stuck_since = None;
        if let Some(waiting) = &mut self.waiting {
            waiting.taken(bytes);
        }
        self.tidy();
    }

    /// Frees the room for what waits if nothing does: an idle socket must not keep the memory of its busiest moment.
    fn tidy(&mut self) {
        if self
            .waiting
            .as_ref()
            .is_some_and(|waiting| waiting.pending.is_empty() && waiting.parked.is_empty())
        {
            self.waiting = None;
        }
    }
}

impl Waiting {
    /// Removes the first `bytes` bytes of what waits.
    fn taken(&mut self, bytes: usize) {
        self.pending_bytes -= bytes;
        let mut left = bytes;
        while let Some(piece) = self.pending.front_mut() {
            if left < piece.bytes.len() {
                self.is_begun |= left > 0;
                piece.bytes.advance(left);
                return;
            }
            left -= piece.bytes.len();
            self.is_begun = !piece.ends;
            self.pending.pop_front();
        }
        // Parked subscriptions may keep the rest.
        self.pending = VecDeque::new();
    }
}

#[cfg(test)]
mod tests;
