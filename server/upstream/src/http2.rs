//! Connections over HTTP/2, which several calls share. The upstream limits how many calls run at once and how
//! much unread data it may send. Only a few calls share one connection, so that none waits for another.

use std::error::Error;
use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use bytes::Bytes;
use hyper::body::{Body, Incoming};
use hyper::client::conn::TrySendError;
use hyper::client::conn::http2::{Builder, SendRequest};
use hyper::http::request::Parts;
use hyper::{Request, Response};
use hyper_util::rt::{TokioExecutor, TokioTimer};
use parking_lot::Mutex;

use crate::connect::{KeepAlive, Stream};
use crate::error::reason;
use crate::replay::ReplayBody;

/// The most calls that share a connection, if the upstream allows that many. Servers allow a hundred and
/// more, a few only ten; another connection costs one handshake.
const CALLS_MAX: u32 = 8;

/// The most bytes of one call that are read ahead of its caller.
const WINDOW_BYTES: u32 = 256 << 10;

/// How many calls a connection carries before the upstream has said how many it allows. With one, hyper reads
/// the body of that call only when the call has its place: a settings frame that arrives first may leave it
/// none.
const CALLS_AT_FIRST: usize = 1;

/// A connection. It is closed when all handles are dropped and its calls are over.
pub(crate) struct Http2<B> {
    /// hyper's handle of the connection; a task drives it.
    sender: SendRequest<ReplayBody<B>>,
    /// How many calls the upstream allows at once, as last reported.
    streams: Box<dyn Fn() -> usize + Send + Sync>,
    /// Whether an answer has arrived over it.
    has_answered: AtomicBool,
}

impl<B> fmt::Debug for Http2<B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Http2").finish_non_exhaustive()
    }
}

impl<B> Http2<B>
where
    B: Body<Data = Bytes, Error: Into<Box<dyn Error + Send + Sync>>> + Send + Unpin + 'static,
{
    /// Begins HTTP/2 on a new connection, in a task of its own that ends with it. `keep_alive` says when a silent
    /// one counts as dead.
    pub(crate) async fn new(stream: Stream, keep_alive: KeepAlive) -> hyper::Result<Self> {
        let (sender, connection) = builder(keep_alive).handshake(stream).await?;
        let connection = Arc::new(Mutex::new(connection));
        let streams = {
            let connection = Arc::clone(&connection);
            Box::new(move || connection.lock().current_max_send_streams())
        };
        tokio::spawn(async move {
            let over = std::future::poll_fn(|context| Pin::new(&mut *connection.lock()).poll(context)).await;
            if let Err(error) = over {
                tracing::debug!(reason = reason(&error), "a connection over HTTP/2 broke");
            }
        });
        Ok(Self { sender, streams, has_answered: AtomicBool::new(false) })
    }

    /// How many calls may share it now: [`CALLS_AT_FIRST`] until the upstream reports its limit, and one even if
    /// it allows none, since that may change soon.
    pub(crate) fn calls_max(&self) -> usize {
        (self.streams)().clamp(1, CALLS_MAX as usize)
    }

    /// Sends a request. The error contains the request if nothing of it was sent.
    pub(crate) async fn send(
        &self,
        head: Parts,
        body: ReplayBody<B>,
    ) -> Result<Response<Incoming>, TrySendError<Request<ReplayBody<B>>>> {
        let answer = self.sender.clone().try_send_request(Request::from_parts(head, body)).await?;
        self.has_answered.store(true, Ordering::Relaxed);
        Ok(answer)
    }

    /// Whether the upstream allows no call and never answered one.
    pub(crate) fn is_shut(&self) -> bool {
        (self.streams)() == 0 && !self.has_answered.load(Ordering::Relaxed)
    }

    /// Whether it is closed for new calls.
    pub(crate) fn is_closed(&self) -> bool {
        self.sender.is_closed()
    }
}

/// The settings for HTTP/2.
fn builder(keep_alive: KeepAlive) -> Builder<TokioExecutor> {
    let mut builder = Builder::new(TokioExecutor::new());
    builder
        .timer(TokioTimer::new())
        .initial_max_send_streams(CALLS_AT_FIRST)
        .initial_stream_window_size(WINDOW_BYTES)
        // Callers that do not read fill their own windows and leave room for the others.
        .initial_connection_window_size(WINDOW_BYTES.saturating_mul(CALLS_MAX.saturating_add(1)))
        .keep_alive_interval(keep_alive.interval)
        .keep_alive_timeout(keep_alive.timeout)
        .keep_alive_while_idle(true);
    builder
}

#[cfg(test)]
mod tests;
