//! A connection that is cut when its peer takes no byte for too long, although there are some for it: a dead peer, not
//! a slow one (invariant I8). For every answer over HTTP; sockets look after themselves.

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
pub(crate) struct Line {
    /// The peer may take as long as it likes.
    is_lenient: AtomicBool,
    /// How often everything was written out.
    flushes: AtomicU64,
    /// Who waits for the next time.
    flushed: AtomicWaker,
}

impl Line {
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

/// See the module.
#[derive(Debug)]
pub(crate) struct Patient<S> {
    stream: S,
    limit: Duration,
    line: Arc<Line>,
    /// Runs while the peer takes nothing.
    deadline: Option<Pin<Box<Sleep>>>,
}

impl<S> Patient<S> {
    /// Over `stream`, whose peer may take nothing for `limit`.
    pub(crate) fn new(stream: S, limit: Duration) -> Self {
        Self { stream, limit, line: Arc::default(), deadline: None }
    }

    /// What others may know of it.
    pub(crate) fn line(&self) -> &Arc<Line> {
        &self.line
    }

    /// The stream itself.
    pub(crate) fn into_inner(self) -> S {
        self.stream
    }

    /// Looks at what became of a write.
    fn settle<T>(&mut self, context: &mut Context<'_>, wrote: Poll<io::Result<T>>) -> Poll<io::Result<T>> {
        if wrote.is_ready() || self.line.is_lenient.load(Ordering::Relaxed) {
            self.deadline = None;
            return wrote;
        }
        let limit = self.limit;
        let deadline = self.deadline.get_or_insert_with(|| Box::pin(sleep(limit)));
        ready!(deadline.as_mut().poll(context));
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

impl<S: AsyncWrite + Unpin> AsyncWrite for Patient<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let wrote = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.settle(context, wrote)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        pieces: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let wrote = Pin::new(&mut self.stream).poll_write_vectored(context, pieces);
        self.settle(context, wrote)
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
