//! The writing end of one socket, shared by all who write to it. A frame goes out whole or waits as a whole, so frames
//! never mix; a socket that takes no more is left alone until it does (invariant I8).

use std::collections::VecDeque;
use std::io::{ErrorKind, IoSlice};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use bytes::{Buf as _, Bytes};
use parking_lot::Mutex;
use tokio::net::TcpStream;
use tokio::sync::Notify;
use tokio::time::Instant;

use super::Subscription;
use crate::hub::Cursor;

/// Most pieces in one call of the kernel.
const PIECES: usize = 16;

/// What became of a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sent {
    /// The kernel has it.
    Whole,
    /// The kernel has its beginning, the rest follows before anything else.
    Begun,
    /// The socket takes nothing now: the frame was not taken.
    Blocked,
    /// The socket is closed, or the subscription over.
    Over,
}

/// What an outbox writes to: a socket, or what stands for one where the network is made up.
pub trait Transport: std::fmt::Debug + Send + Sync {
    /// As many of `bytes` as are taken at once; `WouldBlock` where none are.
    fn try_write(&self, bytes: &[u8]) -> std::io::Result<usize>;

    /// The same of several pieces.
    fn try_write_vectored(&self, pieces: &[IoSlice<'_>]) -> std::io::Result<usize>;

    /// The same as [`Transport::try_write`], asking the kernel itself. It calls a socket writable only once a good part of what waits
    /// is gone; a slow peer needs minutes for that, although it takes byte after byte.
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

/// The queue of frames to one socket. The connection and the pumps that write to it share it; it is dropped with the
/// last of them.
#[derive(Debug)]
pub struct Outbox {
    line: Arc<dyn Transport>,
    state: Mutex<State>,
    /// Wakes the socket's own task.
    pub wake: Notify,
    /// When the socket's own task wants to be woken at the latest, in milliseconds since the hub began.
    pub attention_at: AtomicU64,
}

/// A frame, or a part of one.
#[derive(Debug)]
struct PendingBytes {
    bytes: Bytes,
    /// Whether its frame ends with it.
    ends: bool,
}

#[derive(Debug, Default)]
struct State {
    /// What the kernel did not take: the rest of a frame, then whole frames.
    pending: VecDeque<PendingBytes>,
    /// Whether the kernel has the beginning of the first frame that waits.
    is_begun: bool,
    /// Bytes of it.
    pending_bytes: usize,
    /// Subscriptions that a pump gave up, and where they stand.
    parked: Vec<(Arc<Subscription>, Cursor)>,
    /// Since when the kernel takes nothing although something waits.
    stuck_since: Option<Instant>,
    /// When the kernel last took nothing.
    blocked_at: Option<Instant>,
    over: bool,
}

impl Outbox {
    /// In front of `line`.
    pub fn new(line: Arc<dyn Transport>) -> Self {
        Self { line, state: Mutex::default(), wake: Notify::new(), attention_at: AtomicU64::new(u64::MAX) }
    }

    /// Sends a frame of a subscription now or not at all. `active` is looked at under the same lock as
    /// [`Outbox::deactivate`] sets it, so nothing of a subscription comes after its end.
    pub(crate) fn send(&self, active: &AtomicBool, frame: &Bytes) -> Sent {
        let mut state = self.state.lock();
        if state.over || !active.load(Ordering::Relaxed) {
            return Sent::Over;
        }
        if !state.pending.is_empty() {
            return Sent::Blocked;
        }
        match self.line.try_write(frame) {
            Ok(taken) if taken == frame.len() => {
                state.stuck_since = None;
                Sent::Whole
            }
            Ok(taken) => {
                state.put(frame.slice(taken..), true);
                state.is_begun = true;
                state.blocked();
                Sent::Begun
            }
            Err(error) if error.kind() == ErrorKind::WouldBlock => {
                state.blocked();
                Sent::Blocked
            }
            Err(_) => {
                state.over = true;
                Sent::Over
            }
        }
    }

    /// Ends a subscription: no frame of it is sent after this.
    pub(crate) fn deactivate(&self, active: &AtomicBool) {
        let _state = self.state.lock();
        active.store(false, Ordering::Relaxed);
    }

    /// Hands a subscription over to the socket's own task, which goes on once the socket takes more. Where that is over the
    /// subscription is let go: it holds this outbox, and nobody would look at it again.
    pub(crate) fn park(&self, subscription: Arc<Subscription>, cursor: Cursor) {
        let mut state = self.state.lock();
        if !state.over {
            state.parked.push((subscription, cursor));
        }
        drop(state);
        self.wake.notify_one();
    }

    /// The subscriptions that were handed over.
    pub fn take_parked(&self) -> Vec<(Arc<Subscription>, Cursor)> {
        std::mem::take(&mut self.state.lock().parked)
    }

    /// Adds a frame behind what waits; call [`Outbox::flush`] after the last.
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

    /// Forgets the frames that wait, but for one that was begun: what is queued next follows that.
    pub fn forget_frames(&self) {
        let mut state = self.state.lock();
        let begun = if state.is_begun {
            state.pending.iter().position(|piece| piece.ends).map_or(0, |last| last + 1)
        } else {
            0
        };
        state.pending.truncate(begun);
        state.pending_bytes = state.pending.iter().map(|piece| piece.bytes.len()).sum();
    }

    /// Writes what the kernel has room for, whatever it said last: so it is seen whether the peer takes anything.
    pub fn press(&self) {
        let mut state = self.state.lock();
        let Some(first) = state.pending.front() else { return };
        match self.line.press(&first.bytes) {
            Ok(taken) => state.taken(taken),
            Err(error) if error.kind() == ErrorKind::WouldBlock => {}
            Err(_) => state.over = true,
        }
    }

    /// Writes what waits, as far as the kernel takes it. True when nothing is left.
    pub fn flush(&self) -> bool {
        let mut state = self.state.lock();
        while !state.pending.is_empty() && !state.over {
            let mut pieces = [IoSlice::new(&[]); PIECES];
            let mut count = 0;
            for (piece, waiting) in pieces.iter_mut().zip(&state.pending) {
                *piece = IoSlice::new(&waiting.bytes);
                count += 1;
            }
            match self.line.try_write_vectored(pieces.get(..count).unwrap_or_default()) {
                Ok(taken) => state.taken(taken),
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    state.blocked();
                    return false;
                }
                Err(_) => state.over = true,
            }
        }
        true
    }

    /// How many bytes wait.
    pub fn waiting(&self) -> usize {
        self.state.lock().pending_bytes
    }

    /// Since when the kernel takes nothing although something waits.
    pub fn stuck_since(&self) -> Option<Instant> {
        self.state.lock().stuck_since
    }

    /// When the kernel last took nothing.
    pub fn blocked_at(&self) -> Option<Instant> {
        self.state.lock().blocked_at
    }

    /// Whether the socket is closed.
    pub fn is_over(&self) -> bool {
        self.state.lock().over
    }

    /// Takes no more frames, drops what waits.
    pub fn end(&self) {
        let mut state = self.state.lock();
        state.over = true;
        state.pending = VecDeque::new();
        state.pending_bytes = 0;
        state.parked = Vec::new();
    }
}

impl State {
    fn put(&mut self, bytes: Bytes, ends: bool) {
        self.pending_bytes += bytes.len();
        self.pending.push_back(PendingBytes { bytes, ends });
    }

    fn blocked(&mut self) {
        let now = Instant::now();
        self.blocked_at = Some(now);
        self.stuck_since.get_or_insert(now);
    }

    /// The kernel took `bytes` of what waits.
    fn taken(&mut self, bytes: usize) {
        self.stuck_since = None;
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
        // An idle socket must not keep the room of its busiest moment.
        self.pending = VecDeque::new();
    }
}

#[cfg(test)]
mod tests;
