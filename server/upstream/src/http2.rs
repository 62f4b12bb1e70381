//! A connection over HTTP/2, which several calls share: how many the upstream lets through at once, and how much it may send
//! that nobody has read yet. So that no call waits for another, few share one.

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

use crate::connect::{Pulse, Stream};
use crate::error::reason;
use crate::replay::Replay;

/// Most calls that share a connection, where the upstream lets so many through. Servers allow a hundred and more, a few only
/// ten; each connection more costs what it costs to connect, once.
const CALLS_MAX: u32 = 8;

/// Most bytes of one call that are read ahead of its caller.
const WINDOW_BYTES: u32 = 256 << 10;

/// What hyper says of an upstream that has not yet said how many calls it lets through: none can say so many.
const UNKNOWN: usize = usize::MAX - 1;

/// One connection. Closed once nobody holds it and its calls are over.
pub(crate) struct Http2<B> {
    sender: SendRequest<Replay<B>>,
    /// How many calls the upstream lets through at once, by what it said last.
    streams: Box<dyn Fn() -> usize + Send + Sync>,
    /// An answer came over it.
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
    /// Begins on a connection that is new.
    pub(crate) async fn new(stream: Stream, pulse: Pulse) -> hyper::Result<Self> {
        let (sender, connection) = builder(pulse).handshake(stream).await?;
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

    /// How many calls may share it now. As long as nobody knows, none do; one that lets none through is asked all the same: it may
    /// do so soon.
    pub(crate) fn calls_max(&self) -> usize {
        match (self.streams)() {
            UNKNOWN => 1,
            streams => streams.clamp(1, CALLS_MAX as usize),
        }
    }

    /// Sends a request. A request of which nothing was sent comes back with the error.
    pub(crate) async fn send(
        &self,
        head: Parts,
        body: Replay<B>,
    ) -> Result<Response<Incoming>, TrySendError<Request<Replay<B>>>> {
        let answer = self.sender.clone().try_send_request(Request::from_parts(head, body)).await?;
        self.has_answered.store(true, Ordering::Relaxed);
        Ok(answer)
    }

    /// Whether the upstream lets no call through, and never did.
    pub(crate) fn is_shut(&self) -> bool {
        (self.streams)() == 0 && !self.has_answered.load(Ordering::Relaxed)
    }

    /// Whether it takes no call any more.
    pub(crate) fn is_closed(&self) -> bool {
        self.sender.is_closed()
    }
}

/// How requests are sent over HTTP/2.
fn builder(pulse: Pulse) -> Builder<TokioExecutor> {
    let mut builder = Builder::new(TokioExecutor::new());
    builder
        .timer(TokioTimer::new())
        .initial_max_send_streams(UNKNOWN)
        .initial_stream_window_size(WINDOW_BYTES)
        // Readers that do not read fill their own windows, and leave the others theirs.
        .initial_connection_window_size(WINDOW_BYTES.saturating_mul(CALLS_MAX.saturating_add(1)))
        .keep_alive_interval(pulse.every)
        .keep_alive_timeout(pulse.patience)
        .keep_alive_while_idle(true);
    builder
}

#[cfg(test)]
mod tests;
