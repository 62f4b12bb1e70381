//! The copy of a WebSocket: what passes is handed to a recorder, which never holds it up. Bounded: what the recorder cannot
//! take in time is lost to it, and with it the rest of the connection, since nobody knows where the next message begins.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use axum::body::Bytes;
use flate2::{Decompress, FlushDecompress};
use model::limits::{PROXY_LAG_BYTES_MAX, PROXY_REQUEST_BYTES_MAX, PROXY_SOCKET_PIECES_MAX};
use parking_lot::Mutex;
use tokio::sync::mpsc;

use super::frames::{Frames, Message};
use super::talk::Talk;
use crate::proxy::calls::COPIES_LOST;
use crate::proxy::tape::{Budget, Held};

/// Who says something.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Side {
    Caller,
    Upstream,
}

/// What relay and recorder know of each other.
#[derive(Debug, Default)]
pub(super) struct Between {
    /// Answers that are on their way.
    answers: AtomicUsize,
    /// The copy has a hole.
    is_lost: AtomicBool,
    /// Who ended the connection.
    ended: Mutex<Option<Side>>,
}

impl Between {
    /// Whether an answer is on its way.
    pub(super) fn is_answering(&self) -> bool {
        self.answers.load(Ordering::Acquire) > 0
    }

    /// `side` has ended the connection. The first one counts.
    fn end(&self, side: Side) {
        self.ended.lock().get_or_insert(side);
    }
}

/// The relay's end.
#[derive(Debug)]
pub(super) struct Tap {
    to: Option<mpsc::Sender<(Side, Bytes, Held)>>,
    budget: Arc<Budget>,
    between: Arc<Between>,
}

/// The recorder's end.
#[derive(Debug)]
pub(super) struct Sink {
    from: mpsc::Receiver<(Side, Bytes, Held)>,
    budget: Arc<Budget>,
    between: Arc<Between>,
}

/// Both ends of a copy.
pub(super) fn pair(budget: &Arc<Budget>) -> (Tap, Sink) {
    let (to, from) = mpsc::channel(PROXY_SOCKET_PIECES_MAX);
    let between = Arc::<Between>::default();
    let sink = Sink { from, budget: Arc::clone(budget), between: Arc::clone(&between) };
    (Tap { to: Some(to), budget: Arc::clone(budget), between }, sink)
}

impl Tap {
    /// For a connection that nobody records.
    pub(super) fn none(budget: &Arc<Budget>) -> Self {
        Self { to: None, budget: Arc::clone(budget), between: Arc::default() }
    }

    /// What the recorder knows.
    pub(super) fn between(&self) -> &Arc<Between> {
        &self.between
    }

    /// `side` says nothing more.
    pub(super) fn over(&self, side: Side) {
        self.between.end(side);
        if side == Side::Upstream {
            // Nothing is ever copied that is empty.
            self.copy(side, &[]);
        }
    }

    /// `side` says `bytes`. Never waits.
    pub(super) fn copy(&self, side: Side, bytes: &[u8]) {
        let Some(to) = &self.to else { return };
        if self.between.is_lost.load(Ordering::Relaxed) {
            return;
        }
        let held = Held::take(&self.budget, bytes.len());
        let sent = held.is_some_and(|held| to.try_send((side, Bytes::copy_from_slice(bytes), held)).is_ok());
        if !sent {
            self.between.is_lost.store(true, Ordering::Relaxed);
        }
    }
}

/// One direction, as it is read.
#[derive(Debug)]
struct Direction {
    frames: Frames,
    unpack: Unpack,
}

impl Sink {
    /// Records until the relay is over. `packing` is what the two sides agreed on, where they compress.
    pub(super) async fn run(mut self, mut talk: Talk, packing: Option<Packing>) {
        let Some(mut held) = Held::take(&self.budget, 0) else { return };
        let keeps = |side: Side| packing.is_some_and(|packing| packing.keeps(side));
        let direction = |side: Side, bytes_max: usize| Direction {
            frames: Frames::new(bytes_max),
            unpack: Unpack { machine: None, keeps: keeps(side), bytes_max },
        };
        let mut caller = direction(Side::Caller, PROXY_REQUEST_BYTES_MAX);
        let mut upstream = direction(Side::Upstream, PROXY_LAG_BYTES_MAX);
        while let Some((side, bytes, piece)) = self.from.recv().await {
            if bytes.is_empty() {
                // The caller may stay, but nothing more is answered.
                talk.over(self.why());
                self.between.answers.store(0, Ordering::Release);
                continue;
            }
            let one = if side == Side::Caller { &mut caller } else { &mut upstream };
            let mut is_whole = true;
            let unpack = &mut one.unpack;
            one.frames.feed(&bytes, &mut |message| match unpack.text(message) {
                Some(text) if side == Side::Caller => talk.caller_says(&text),
                Some(text) => talk.server_says(&text),
                None => is_whole = false,
            });
            drop(piece);
            let waits = caller.frames.held().saturating_add(upstream.frames.held());
            let is_read = !caller.frames.is_lost() && !upstream.frames.is_lost();
            if !is_whole || !is_read || !held.resize(waits) {
                self.between.is_lost.store(true, Ordering::Relaxed);
                break;
            }
            self.between.answers.store(talk.answers(), Ordering::Release);
        }
        if self.between.is_lost.load(Ordering::Relaxed) {
            COPIES_LOST.one();
        }
        talk.over(self.why());
        self.between.answers.store(0, Ordering::Release);
    }

    /// Why answers on their way break off; nothing where the caller went away.
    fn why(&self) -> Option<&'static str> {
        if self.between.is_lost.load(Ordering::Relaxed) {
            return Some("the hub could not read the rest of this connection");
        }
        let by_upstream = *self.between.ended.lock() != Some(Side::Caller);
        by_upstream.then_some("the connection was closed")
    }
}

/// Which sides compress each message by itself (RFC 7692); else a message may refer to those before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Packing {
    caller_forgets: bool,
    upstream_forgets: bool,
}

impl Packing {
    /// What the upstream's `Sec-WebSocket-Extensions` says; nothing where messages are not compressed.
    pub(super) fn agreed(extensions: &str) -> Option<Self> {
        let agreed = extensions.split(',').find(|it| it.trim().starts_with("permessage-deflate"))?;
        let has = |wanted: &str| agreed.split(';').any(|part| part.trim() == wanted);
        let (caller_forgets, upstream_forgets) =
            (has("client_no_context_takeover"), has("server_no_context_takeover"));
        Some(Self { caller_forgets, upstream_forgets })
    }

    fn keeps(self, side: Side) -> bool {
        match side {
            Side::Caller => !self.caller_forgets,
            Side::Upstream => !self.upstream_forgets,
        }
    }
}

/// Unpacks the messages of one direction.
#[derive(Debug)]
struct Unpack {
    machine: Option<Decompress>,
    keeps: bool,
    bytes_max: usize,
}

impl Unpack {
    /// What `message` says; nothing where that is over the limit or cannot be read.
    fn text(&mut self, message: Message) -> Option<Vec<u8>> {
        /// How much is unpacked in one step.
        const STEP: usize = 16 << 10;
        if !message.is_packed {
            return Some(message.bytes);
        }
        let mut machine = self.machine.take().unwrap_or_else(|| Decompress::new(false));
        let packed = [message.bytes.as_slice(), &[0, 0, 0xff, 0xff]].concat();
        let (mut out, before) = (Vec::new(), machine.total_in());
        loop {
            let used = machine.total_in().saturating_sub(before);
            let rest = packed.get(usize::try_from(used).ok()?..)?;
            out.reserve(STEP);
            let (length, read) = (out.len(), machine.total_in());
            machine.decompress_vec(rest, &mut out, FlushDecompress::Sync).ok()?;
            if out.len() > self.bytes_max {
                return None;
            }
            if out.len() == length && machine.total_in() == read {
                break;
            }
        }
        if machine.total_in().saturating_sub(before) < packed.len() as u64 {
            return None;
        }
        self.machine = self.keeps.then_some(machine);
        Some(out)
    }
}

#[cfg(test)]
mod tests;
