//! The copy of a WebSocket's bytes for a recorder, which never delays them. It is bounded: if the recorder
//! cannot keep up, the rest of the connection is lost to it, because nobody knows where the next message
//! begins.

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

/// The side of a connection that sends something.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Side {
    /// The program that called the proxy.
    Caller,
    /// The server that it called.
    Upstream,
}

/// What the relay and the recorder share.
#[derive(Debug, Default)]
pub(super) struct Between {
    /// The number of answers that are on their way.
    answers: AtomicUsize,
    /// Whether the copy has a hole.
    is_lost: AtomicBool,
    /// The side that ended the connection first.
    ended: Mutex<Option<Side>>,
}

impl Between {
    /// Whether an answer is on its way.
    pub(super) fn is_answering(&self) -> bool {
        self.answers.load(Ordering::Acquire) > 0
    }

    /// Notes that `side` has ended the connection; only the first call counts.
    fn end(&self, side: Side) {
        self.ended.lock().get_or_insert(side);
    }
}

/// The relay's end of the copy. Dropping it ends the recording once everything that was copied is read.
#[derive(Debug)]
pub(super) struct Tap {
    /// Where pieces go, at most `PROXY_SOCKET_PIECES_MAX`; `None` for a connection that nobody records.
    to: Option<mpsc::Sender<(Side, Bytes, Held)>>,
    budget: Arc<Budget>,
    between: Arc<Between>,
}

/// The recorder's end of the copy, consumed by [`Sink::run`].
#[derive(Debug)]
pub(super) struct Sink {
    from: mpsc::Receiver<(Side, Bytes, Held)>,
    budget: Arc<Budget>,
    between: Arc<Between>,
}

/// Makes both ends of a copy.
pub(super) fn pair(budget: &Arc<Budget>) -> (Tap, Sink) {
    let (to, from) = mpsc::channel(PROXY_SOCKET_PIECES_MAX);
    let between = Arc::<Between>::default();
    let sink = Sink { from, budget: Arc::clone(budget), between: Arc::clone(&between) };
    (Tap { to: Some(to), budget: Arc::clone(budget), between }, sink)
}

impl Tap {
    /// Makes an end for a connection that nobody records.
    pub(super) fn none(budget: &Arc<Budget>) -> Self {
        Self { to: None, budget: Arc::clone(budget), between: Arc::default() }
    }

    /// The part that is shared with the recorder.
    pub(super) fn between(&self) -> &Arc<Between> {
        &self.between
    }

    /// Notes that `side` has ended.
    pub(super) fn over(&self, side: Side) {
        self.between.end(side);
        if side == Side::Upstream {
            // An empty copy marks the end, since empty pieces are never copied otherwise.
            self.copy(side, &[]);
        }
    }

    /// Copies bytes of `side`. Never waits; if they do not fit, the copy has a hole from here on.
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

/// The state of reading one direction.
#[derive(Debug)]
struct Direction {
    frames: Frames,
    unpack: Unpack,
}

impl Sink {
    /// Records until the relay ends. `packing` is the compression that the two sides agreed on, if any.
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
                // The caller may stay connected, but no more answers come.
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

    /// Why answers on their way break off; `None` if the caller went away.
    fn why(&self) -> Option<&'static str> {
        if self.between.is_lost.load(Ordering::Relaxed) {
            return Some("the hub could not read the rest of this connection");
        }
        let by_upstream = *self.between.ended.lock() != Some(Side::Caller);
        by_upstream.then_some("the connection was closed")
    }
}

/// Says for each side whether it compresses each message independently (RFC 7692). Otherwise a message may refer to those before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Packing {
    caller_forgets: bool,
    upstream_forgets: bool,
}

impl Packing {
    /// Parses the upstream's `Sec-WebSocket-Extensions`; `None` if messages are not compressed.
    pub(super) fn agreed(extensions: &str) -> Option<Self> {
        let agreed = extensions.split(',').find(|it| it.trim().starts_with("permessage-deflate"))?;
        let has = |wanted: &str| agreed.split(';').any(|part| part.trim() == wanted);
        let (caller_forgets, upstream_forgets) =
            (has("client_no_context_takeover"), has("server_no_context_takeover"));
        Some(Self { caller_forgets, upstream_forgets })
    }

    /// Whether messages of `side` may refer to those before them.
    fn keeps(self, side: Side) -> bool {
        match side {
            Side::Caller => !self.caller_forgets,
            Side::Upstream => !self.upstream_forgets,
        }
    }
}

/// Decompresses the messages of one direction.
#[derive(Debug)]
struct Unpack {
    /// Kept from message to message if they refer to each other.
    machine: Option<Decompress>,
    /// Whether messages refer to those before them.
    keeps: bool,
    /// Most bytes of a decompressed message.
    bytes_max: usize,
}

impl Unpack {
    /// The text of `message`; `None` if it is too long or cannot be read.
    fn text(&mut self, message: Message) -> Option<Vec<u8>> {
        /// How many bytes are decompressed in one step.
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
