//! A connection that is cut when its peer takes no byte for too long, although there are some for it: a dead peer, not
//! a slow one (invariant I8). For every answer over HTTP; sockets look after themselves. What counts is what the kernel takes
//! when it is asked: it calls a socket writable only once a good part of what waits is gone. And it is told in lumps what the peer
//! took: see [`model::limits::READER_SILENT_MS`].

use std::future::Future as _;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use futures_util::task::AtomicWaker;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Sleep, sleep};

/// What who serves a request may know of its connection, and ask of it: an extension of every request.
#[derive(Debug, Default)]
pub(crate) struct ConnectionInfo {
    /// The peer may take as long as it likes.
    is_lenient: AtomicBool,
    /// How often everything was written out.
    flushes: AtomicU64,
    /// Who waits for the next time.
    flushed: AtomicWaker,
}

impl ConnectionInfo {
    /// The peer may take nothing for as long as it likes: what it reads comes from elsewhere, and who sends it decides.
    pub(crate) fn be_lenient(&self, lenient: bool) {
        self.is_lenient.store(lenient, Ordering::Relaxed);
    }

    /// How often everything that there was has been written out.
    pub(crate) fn flushes(&self) -> u64 {
        self.flushes.load(Ordering::Acquire)
    }

    /// Ready once that has happened again after the first `known` times.
    pub(crate) fn flushes_after(&self, known: u64, context: &Context<'_>) -> Poll<()> {
        self.flushed.register(context.waker());
        if self.flushes() > known { Poll::Ready(()) } else { Poll::Pending }
    }
}

/// The stream of a connection with a limit on how long its peer may take nothing. A write after that fails, and the
/// connection ends.
#[derive(Debug)]
pub(crate) struct Patient<S> {
    stream: S,
    limit: Duration,
    line: Arc<ConnectionInfo>,
    /// Runs while the peer takes nothing.
    waiting: Option<Waiting>,
}

/// How long a peer has taken nothing.
#[derive(Debug)]
struct Waiting {
    look: Pin<Box<Sleep>>,
    /// Looks that saw nothing.
    looks: u32,
}

/// How often it is looked whether a peer takes anything, before it counts as one that does not.
const LOOKS: u32 = 8;

/// A stream whose kernel can be asked what it takes, whatever it said last.
pub(crate) trait Press {
    /// How many of `bytes` are taken at once; `WouldBlock` where none are.
    fn press(&self, bytes: &[u8]) -> io::Result<usize>;
}

impl Press for tokio::net::TcpStream {
    fn press(&self, bytes: &[u8]) -> io::Result<usize> {
        socket2::SockRef::from(self).send(bytes)
    }
}

impl<S> Patient<S> {
    /// Over `stream`, whose peer may take nothing for `limit`.
    pub(crate) fn new(stream: S, limit: Duration) -> Self {
        Self { stream, limit, line: Arc::default(), waiting: None }
    }

    /// What others may know of it.
    pub(crate) fn line(&self) -> &Arc<ConnectionInfo> {
        &self.line
    }

    /// The stream itself.
    pub(crate) fn into_inner(self) -> S {
        self.stream
    }
}

impl<S: Press> Patient<S> {
    /// Looks at what became of a write of `bytes`, or of more that begins with them.
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
        let wrote = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.settle(context, wrote, bytes)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        pieces: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let wrote = Pin::new(&mut self.stream).poll_write_vectored(context, pieces);
        let first = pieces.iter().find(|piece| !piece.is_empty());
        self.settle(context, wrote, first.map_or(&[], |piece| piece))
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let flushed = Pin::new(&mut self.stream).poll_flush(context);
        if flushed.is_ready() {
            self.line.flushes.fetch_add(1, Ordering::Release);
            self.line.flushed.wake();
        }
        flushed
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}

#[cfg(test)]
mod tests;
