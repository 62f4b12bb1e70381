//! The readers of single streams of HTTP/2. A reader that takes nothing closes the window of its stream, and the
//! connection goes on: nothing of that is seen where bytes are written. So each answer is given away in pieces, and the
//! stream is reset if the next piece is not asked for within the limit of [`super`].
//!
//! ```text
//! body ─▶ PacedBody ── piece, of PIECE_BYTES at most ─▶ hyper: waits for the window, asks for the next one
//!             │ counts each asking
//! Streams: every limit/8 look ── asked, or nothing waits ─▶ count from 0
//!                               └─ 8 times neither ─▶ the stream is dropped, which resets it
//! ```

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use axum::body::{Body, Bytes, HttpBody};
use hyper::body::{Frame, SizeHint};
use hyper::rt::Executor;
use tokio::sync::watch;
use tokio::time::{sleep, timeout};
use tokio_util::task::TaskTracker;

use super::{ConnectionInfo, LOOKS};

/// Most bytes of an answer that one stream gives away at once, and so most that wait in the connection for its reader:
/// what fits into one frame of HTTP/2 unless the peer asks for larger ones.
pub(super) const PIECE_BYTES: usize = 16 << 10;

tokio::task_local! {
    /// The stream for which a task works.
    static STREAM: Arc<ConnectionInfo>;
}

/// What is known of the reader of one stream.
#[derive(Debug, Default)]
pub(super) struct Pace {
    /// The number of times that a piece was asked for.
    asked: AtomicU64,
    /// Whether the last piece may not be taken yet.
    is_waiting: AtomicBool,
}

impl ConnectionInfo {
    /// Makes one stream of this connection.
    fn stream(&self) -> Self {
        Self { written: Arc::clone(&self.written), pace: Some(Pace::default()), ..Self::default() }
    }

    /// Whether it is one stream of several.
    pub(crate) fn is_stream(&self) -> bool {
        self.pace.is_some()
    }

    /// The stream for which the current task works; `None` outside of [`Streams`].
    pub(crate) fn of_task() -> Option<Arc<Self>> {
        STREAM.try_with(Arc::clone).ok()
    }

    /// Notes that the next piece is asked for.
    fn asked(&self) {
        if let Some(pace) = &self.pace {
            pace.is_waiting.store(false, Ordering::Relaxed);
            pace.asked.fetch_add(1, Ordering::Release);
        }
    }

    /// Notes that a piece was given away.
    fn gave(&self) {
        if let Some(pace) = &self.pace {
            pace.is_waiting.store(true, Ordering::Release);
        }
    }

    /// Ready once the reader of this stream has taken nothing for `limit` although a piece waits for it, and may not.
    async fn stalled(&self, limit: Duration) {
        let Some(pace) = &self.pace else { return std::future::pending().await };
        let (mut known, mut looks) = (0, 0);
        while looks < LOOKS {
            sleep(limit / LOOKS).await;
            let asked = pace.asked.load(Ordering::Acquire);
            let waits = pace.is_waiting.load(Ordering::Acquire) && !self.is_lenient.load(Ordering::Relaxed);
            looks = if waits && asked == known { looks + 1 } else { 0 };
            known = asked;
        }
    }
}

/// The body of an answer in pieces. hyper asks for a piece when the reader has room for at least one byte of the one
/// before. The stream owns it.
#[derive(Debug)]
pub(crate) struct PacedBody {
    body: Body,
    /// What is left of the frame that is given away.
    rest: Bytes,
    line: Arc<ConnectionInfo>,
}

impl PacedBody {
    /// Gives `body` to the reader of `line`.
    pub(crate) fn new(body: Body, line: Arc<ConnectionInfo>) -> Self {
        Self { body, rest: Bytes::new(), line }
    }

    /// The next piece of the rest.
    fn piece(&mut self) -> Frame<Bytes> {
        let bytes = self.rest.len().min(PIECE_BYTES);
        self.line.gave();
        Frame::data(self.rest.split_to(bytes))
    }
}

impl HttpBody for PacedBody {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        self.line.asked();
        if !self.rest.is_empty() {
            return Poll::Ready(Some(Ok(self.piece())));
        }
        let frame = match ready!(Pin::new(&mut self.body).poll_frame(context)) {
            Some(Ok(frame)) => frame,
            last => return Poll::Ready(last),
        };
        Poll::Ready(Some(Ok(match frame.into_data() {
            Ok(bytes) => {
                self.rest = bytes;
                self.piece()
            }
            Err(trailers) => trailers,
        })))
    }

    fn is_end_stream(&self) -> bool {
        self.rest.is_empty() && self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        let (rest, hint) = (self.rest.len() as u64, HttpBody::size_hint(&self.body));
        let mut all = SizeHint::new();
        if let Some(upper) = hint.upper() {
            all.set_upper(upper.saturating_add(rest));
        }
        all.set_lower(hint.lower().saturating_add(rest));
        all
    }
}

/// Runs the streams of one connection, each as a task of the hub. Clones share the count of open streams.
#[derive(Debug, Clone)]
pub(crate) struct Streams {
    tasks: TaskTracker,
    /// The time for which a reader may take nothing.
    limit: Duration,
    connection: Arc<ConnectionInfo>,
    open: Arc<watch::Sender<usize>>,
}

/// Counts one stream as open until it is dropped.
struct OpenStream(Arc<watch::Sender<usize>>);

impl Drop for OpenStream {
    fn drop(&mut self) {
        self.0.send_modify(|open| *open = open.saturating_sub(1));
    }
}

impl Streams {
    /// Streams of `connection` run among `tasks`; their readers may take nothing for `limit`.
    pub(crate) fn new(tasks: TaskTracker, limit: Duration, connection: Arc<ConnectionInfo>) -> Self {
        Self { tasks, limit, connection, open: Arc::new(watch::Sender::new(0)) }
    }

    /// Ready once no stream has been open for `rest`. May be cancelled.
    pub(crate) async fn idle(&self, rest: Duration) {
        let mut open = self.open.subscribe();
        loop {
            // The sender is as old as this.
            if open.wait_for(|open| *open == 0).await.is_err() {
                return;
            }
            if timeout(rest, open.changed()).await.is_err() {
                return;
            }
        }
    }
}

impl<F> Executor<F> for Streams
where
    F: Future<Output: Send> + Send + 'static,
{
    fn execute(&self, stream: F) {
        self.open.send_modify(|open| *open += 1);
        let open = OpenStream(Arc::clone(&self.open));
        let (line, limit) = (Arc::new(self.connection.stream()), self.limit);
        self.tasks.spawn(async move {
            let _open = open;
            // Dropping the future of a stream resets the stream.
            tokio::select! {
                _ = STREAM.scope(Arc::clone(&line), stream) => {}
                () = line.stalled(limit) => {
                    tracing::debug!("a stream was reset, since its reader took nothing for too long");
                }
            }
        });
    }
}

#[cfg(test)]
mod tests;
