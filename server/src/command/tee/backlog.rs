//! What waits for the hub: bounded in bytes, filled without ever blocking, drained as the body of a request.

use std::collections::VecDeque;
use std::io;
use std::sync::Arc;

use bytes::Bytes;
use futures_util::stream::{self, Stream};
use parking_lot::Mutex;
use tokio::sync::Notify;

/// See the module's text.
#[derive(Debug)]
pub(super) struct Backlog {
    state: Mutex<State>,
    /// Woken when there is something to take, or the end has come.
    changed: Notify,
    /// Woken when the limit is crossed.
    full: Notify,
    bytes_max: usize,
}

#[derive(Debug, Default)]
struct State {
    pieces: VecDeque<Bytes>,
    bytes: usize,
    offered: u64,
    taken: u64,
    ended: bool,
    overflowed: bool,
    stopped: bool,
}

impl Backlog {
    /// A backlog of at most `bytes_max` bytes.
    pub(super) fn new(bytes_max: usize) -> Self {
        Self { state: Mutex::default(), changed: Notify::new(), full: Notify::new(), bytes_max }
    }

    /// Adds bytes. Once they do not fit, these and all that come later are only counted: what a hub would make of a
    /// stream with a hole in it is worse than what it makes of one that breaks off.
    pub(super) fn offer(&self, bytes: Bytes) {
        let mut state = self.state.lock();
        state.offered = state.offered.saturating_add(bytes.len() as u64);
        if state.overflowed || state.stopped {
            return;
        }
        if state.bytes.saturating_add(bytes.len()) > self.bytes_max {
            state.overflowed = true;
            state.forget();
            self.full.notify_one();
        } else {
            state.bytes = state.bytes.saturating_add(bytes.len());
            state.pieces.push_back(bytes);
        }
        drop(state);
        self.changed.notify_one();
    }

    /// Nothing more will be offered.
    pub(super) fn end(&self) {
        self.state.lock().ended = true;
        self.changed.notify_waiters();
        self.changed.notify_one();
    }

    /// Nothing more will be taken.
    pub(super) fn stop(&self) {
        let mut state = self.state.lock();
        state.stopped = true;
        state.forget();
    }

    /// Ready when [`Backlog::end`] was called.
    pub(super) async fn ended(&self) {
        loop {
            let changed = self.changed.notified();
            if self.state.lock().ended {
                return;
            }
            changed.await;
        }
    }

    /// Ready when the backlog was full, with what to say then.
    pub(super) async fn overflow(&self) -> String {
        loop {
            let full = self.full.notified();
            if self.state.lock().overflowed {
                return format!(
                    "the hub was slower than the pipe, and {} bytes waited for it",
                    self.bytes_max
                );
            }
            full.await;
        }
    }

    /// Bytes that were offered.
    pub(super) fn offered(&self) -> u64 {
        self.state.lock().offered
    }

    /// Bytes that were taken.
    pub(super) fn taken(&self) -> u64 {
        self.state.lock().taken
    }

    /// What is offered, as a body. Breaks off when the backlog was full.
    pub(super) fn stream(this: Arc<Self>) -> impl Stream<Item = io::Result<Bytes>> + Send + 'static {
        stream::try_unfold(this, |this| async {
            let piece = this.take().await?;
            Ok(piece.map(|piece| (piece, this)))
        })
    }

    async fn take(&self) -> io::Result<Option<Bytes>> {
        loop {
            let changed = self.changed.notified();
            if let Some(taken) = self.state.lock().take() {
                return taken;
            }
            changed.await;
        }
    }
}

impl State {
    fn forget(&mut self) {
        self.pieces = VecDeque::new();
        self.bytes = 0;
    }

    /// The next piece, the end or the break; nothing when there is nothing to say yet.
    fn take(&mut self) -> Option<io::Result<Option<Bytes>>> {
        if self.overflowed {
            return Some(Err(io::Error::other("the backlog was full")));
        }
        if let Some(piece) = self.pieces.pop_front() {
            self.bytes = self.bytes.saturating_sub(piece.len());
            self.taken = self.taken.saturating_add(piece.len() as u64);
            return Some(Ok(Some(piece)));
        }
        self.ended.then_some(Ok(None))
    }
}
