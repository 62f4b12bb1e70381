//! Cuts a connection whose peer takes no byte for too long although bytes wait for it: a dead peer, not a
//! slow one (invariant I8). For all HTTP answers; `WebSockets` do the same in `ws`. The kernel is asked
//! directly whether it takes bytes, because it reports a socket as writable only once a good part of its
//! buffer is free. It also learns only in lumps what the peer took: see [`model::limits::READER_SILENT_MS`].
//!
//! ```text
//! write would block ─▶ every limit/8: ask the kernel directly ── takes bytes ─▶ go on, count from 0
//!                                          └─ 8 times nothing ─▶ the write fails, the connection ends
//! ```
//!
//! However much waits, one call of the kernel gets a bounded part of it, and other tasks have their turn between some of them.
//!
//! A write that is pending costs one timer; nothing is counted while bytes flow. Over HTTP/2 one stream may be at a
//! rest while others go on, so each is watched by itself: see `stream`.

use std::future::Future as _;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::task::{Context, Poll, Waker, ready};
use std::time::Duration;

use hub::bounded_slices;
use model::limits::{TURN_WRITTEN_BYTES_MAX, WRITE_BYTES_MAX};
use parking_lot::Mutex;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Sleep, sleep};

mod stream;

use stream::Pace;
pub(crate) use stream::{PacedBody, Streams};

/// What the code that serves a request may know about its connection, and change. Every request has it as an
/// extension; it lives as long as the connection or the last request. Over HTTP/2 each stream has its own.
#[derive(Debug, Default)]
pub(crate) struct ConnectionInfo {
    /// Whether the peer may take as long as it likes.
    is_lenient: AtomicBool,
    /// How often everything was written out, which the streams of a connection share.
    written: Arc<Flushes>,
    /// What is known of the reader of one stream; `None` where requests follow one another.
    pace: Option<Pace>,
}

/// How often everything that waited on a connection was written out, and who waits for the next time.
#[derive(Debug, Default)]
struct Flushes {
    count: AtomicU64,
    waiting: Mutex<Vec<Waker>>,
}

impl Flushes {
    /// Counts a flush, and wakes all who wait for one.
    fn one_more(&self) {
        self.count.fetch_add(1, Ordering::Release);
        std::mem::take(&mut *self.waiting.lock()).into_iter().for_each(Waker::wake);
    }
}

impl ConnectionInfo {
    /// Sets whether the peer may take no byte for as long as it likes: for proxied answers, where the
    /// upstream decides. It holds for the connection, or the stream, until it is set back.
    pub(crate) fn be_lenient(&self, lenient: bool) {
        self.is_lenient.store(lenient, Ordering::Relaxed);
    }

    /// How often everything that waited has been written out.
    pub(crate) fn flushes(&self) -> u64 {
        self.written.count.load(Ordering::Acquire)
    }

    /// Ready once everything was written out again after the first `known` times.
    pub(crate) fn flushes_after(&self, known: u64, context: &Context<'_>) -> Poll<()> {
        let mut waiting = self.written.waiting.lock();
        if !waiting.iter().any(|waker| waker.will_wake(context.waker())) {
            waiting.push(context.waker().clone());
        }
        drop(waiting);
        if self.flushes() > known { Poll::Ready(()) } else { Poll::Pending }
    }
}

/// The stream of a connection whose peer may take nothing only for a limited time. After that a write fails
/// with `TimedOut`, and the connection ends. Reads are not limited. The server owns one for each connection.
#[derive(Debug)]
pub(crate) struct Patient<S> {
    stream: S,
    /// The time for which the peer may take nothing.
    limit: Duration,
    /// Shared with the requests on this connection.
    line: Arc<ConnectionInfo>,
    /// Counts while the peer takes nothing.
    waiting: Option<Waiting>,
    /// How many bytes were written since the task last waited.
    written: usize,
}

/// For how long a peer has taken nothing.
#[derive(Debug)]
struct Waiting {
    /// Ready when the kernel is to be asked again.
    look: Pin<Box<Sleep>>,
    /// How many looks have found that nothing was taken.
    looks: u32,
}

/// How many looks in the limit: after as many without success the peer counts as dead.
const LOOKS: u32 = 8;

/// A stream whose kernel can be asked directly what it takes, whatever it reported last.
pub(crate) trait Press {
    /// Writes as many of `bytes` as are taken at once; `WouldBlock` if none are.
    fn press(&self, bytes: &[u8]) -> io::Result<usize>;
}

impl Press for tokio::net::TcpStream {
    fn press(&self, bytes: &[u8]) -> io::Result<usize> {
        socket2::SockRef::from(self).send(bytes)
    }
}

impl<S> Patient<S> {
    /// Wraps `stream`, whose peer may take nothing for `limit`.
    pub(crate) fn new(stream: S, limit: Duration) -> Self {
        Self { stream, limit, line: Arc::default(), waiting: None, written: 0 }
    }

    /// The part that others may know of.
    pub(crate) fn line(&self) -> &Arc<ConnectionInfo> {
        &self.line
    }

    /// Unwraps the inner stream.
    pub(crate) fn into_inner(self) -> S {
        self.stream
    }
}

impl<S: Press> Patient<S> {
    /// Decides what the result of a write of `bytes` means: success, still waiting, or a dead peer. `bytes`
    /// may be only the first of several buffers. If the kernel takes some of them when it is asked directly,
    /// that is the result of the write.
    fn settle(
        &mut self,
        context: &mut Context<'_>,
        wrote: Poll<io::Result<usize>>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        if wrote.is_ready() || self.line.is_lenient.load(Ordering::Relaxed) {
            self.waiting = None;
            return wrote;
        }
        let step = self.limit / LOOKS;
        let waiting = self.waiting.get_or_insert_with(|| Waiting { look: Box::pin(sleep(step)), looks: 0 });
        while waiting.looks < LOOKS {
            ready!(waiting.look.as_mut().poll(context));
            match self.stream.press(bytes) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    *waiting = Waiting { look: Box::pin(sleep(step)), looks: waiting.looks + 1 };
                }
                pressed => {
                    self.waiting = None;
                    return Poll::Ready(pressed);
                }
            }
        }
        Poll::Ready(Err(io::Error::new(io::ErrorKind::TimedOut, "the peer took no byte for too long")))
    }
}

impl<S> Patient<S> {
    /// Pending once [`TURN_WRITTEN_BYTES_MAX`] bytes were written without a pause: the task is woken again, behind others that wait
    /// for its thread.
    fn turn(&mut self, context: &Context<'_>) -> Poll<()> {
        if self.written < TURN_WRITTEN_BYTES_MAX {
            return Poll::Ready(());
        }
        self.written = 0;
        context.waker().wake_by_ref();
        Poll::Pending
    }

    /// Counts what was written.
    fn count(&mut self, wrote: &Poll<io::Result<usize>>) {
        match wrote {
            Poll::Ready(Ok(bytes)) => self.written = self.written.saturating_add(*bytes),
            Poll::Ready(Err(_)) | Poll::Pending => self.written = 0,
        }
    }
}

/// The first [`WRITE_BYTES_MAX`] of `bytes`.
fn bounded(bytes: &[u8]) -> &[u8] {
    bytes.get(..WRITE_BYTES_MAX).unwrap_or(bytes)
}

impl<S: AsyncRead + Unpin> AsyncRead for Patient<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, buffer)
    }
}

impl<S: AsyncWrite + Press + Unpin> AsyncWrite for Patient<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        ready!(self.turn(context));
        let bytes = bounded(bytes);
        let wrote = Pin::new(&mut self.stream).poll_write(context, bytes);
        let wrote = self.settle(context, wrote, bytes);
        self.count(&wrote);
        wrote
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        pieces: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        ready!(self.turn(context));
        let (some, count) = bounded_slices(pieces.iter().map(|piece| &**piece), WRITE_BYTES_MAX);
        let some = some.get(..count).unwrap_or_default();
        let first = some.first().map_or(&[][..], |piece| piece);
        let wrote = Pin::new(&mut self.stream).poll_write_vectored(context, some);
        let wrote = self.settle(context, wrote, first);
        self.count(&wrote);
        wrote
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let flushed = Pin::new(&mut self.stream).poll_flush(context);
        if flushed.is_ready() {
            self.line.written.one_more();
        }
        flushed
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}

#[cfg(test)]
mod tests;
