//! Connections over HTTP/1.1, with one request at a time.
//!
//! ```text
//! idle ─▶ usable? (not expired, and the kernel has neither an end nor a byte) ─▶ send ─▶ answer ─▶ idle
//! ```

use std::error::Error;
use std::io;
use std::mem::MaybeUninit;
use std::pin::Pin;
use std::sync::{Arc, Weak};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use bytes::Bytes;
use hyper::body::{Body, Incoming};
use hyper::client::conn::TrySendError;
use hyper::client::conn::http1::{Builder, SendRequest};
use hyper::http::header::{Entry, HOST};
use hyper::http::request::Parts;
use hyper::http::uri::Scheme;
use hyper::http::{HeaderValue, Uri};
use hyper::rt::{Read, ReadBufCursor, Write};
use hyper::{Request, Response};
use hyper_rustls::MaybeHttpsStream;
use parking_lot::Mutex;
use socket2::SockRef;

use crate::connect::Stream;
use crate::error::reason;
use crate::replay::ReplayBody;

/// The most bytes that are read ahead of the caller, and the longest head of an answer.
const READ_AHEAD_BYTES: usize = 64 << 10;

/// How long before the other side closes an idle connection it is no longer used: the request and the close
/// could cross.
const CLOSING: Duration = Duration::from_secs(1);

/// The settings for HTTP/1.1.
pub(crate) fn builder() -> Builder {
    let mut builder = Builder::new();
    builder.preserve_header_case(true).max_buf_size(READ_AHEAD_BYTES);
    builder
}

/// What the request line names over HTTP/1.1 (RFC 9112, 3.2: origin form and absolute form).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RequestTarget {
    /// Only the path: the other side is the upstream.
    Origin,
    /// The whole URL: the other side is a proxy that forwards.
    Absolute,
}

/// A connection. Dropping it closes it, unless a request is in progress.
#[derive(Debug)]
pub(crate) struct Http1<B> {
    /// hyper's end of the connection; a task drives the other.
    sender: SendRequest<ReplayBody<B>>,
    /// The stream, to check it while hyper owns it.
    stream: Weak<Mutex<Stream>>,
    /// The moment at which the last request was over.
    idle_since: Instant,
    /// The time that it may be idle.
    idle_max: Duration,
}

impl<B> Http1<B>
where
    B: Body<Data = Bytes, Error: Into<Box<dyn Error + Send + Sync>>> + Send + Unpin + 'static,
{
    /// Begins HTTP/1.1 on a new connection, in a task of its own that ends with it.
    pub(crate) async fn new(stream: Stream, idle_max: Duration) -> hyper::Result<Self> {
        let stream = Arc::new(Mutex::new(stream));
        let watched = Arc::downgrade(&stream);
        let (sender, connection) = builder().handshake(WatchedStream(stream)).await?;
        tokio::spawn(async move {
            if let Err(error) = connection.with_upgrades().await {
                tracing::debug!(reason = reason(&error), "a connection over HTTP/1.1 broke");
            }
        });
        Ok(Self { sender, stream: watched, idle_since: Instant::now(), idle_max })
    }

    /// Sends a request. The error contains the request if nothing of it was sent.
    pub(crate) async fn send(
        &mut self,
        mut head: Parts,
        body: ReplayBody<B>,
        target: RequestTarget,
    ) -> Result<Response<Incoming>, TrySendError<Request<ReplayBody<B>>>> {
        let uri = head.uri.clone();
        if let (Entry::Vacant(host), Some(value)) = (head.headers.entry(HOST), host_header(&uri)) {
            host.insert(value);
        }
        if target == RequestTarget::Origin {
            head.uri = uri.path_and_query().map_or_else(Uri::default, |path| Uri::from(path.clone()));
        }
        let answer = self.sender.try_send_request(Request::from_parts(head, body)).await?;
        if let Some(timeout) = keep_alive_timeout(&answer) {
            self.idle_max = self.idle_max.min(timeout.saturating_sub(CLOSING));
        }
        Ok(answer)
    }

    /// Waits until the request and its answer are over. False if the connection is closed then.
    pub(crate) async fn until_idle(&mut self) -> bool {
        let is_ready = self.sender.ready().await.is_ok();
        self.idle_since = Instant::now();
        is_ready
    }

    /// Whether it was idle for too long.
    pub(crate) fn is_expired(&self) -> bool {
        self.sender.is_closed() || self.idle_since.elapsed() >= self.idle_max
    }

    /// Whether a request can be sent without meeting the end of the connection. It asks the kernel, which may
    /// know more than hyper: a connection that the other side closed, or on which it sent something unasked,
    /// is not used.
    pub(crate) fn is_usable(&self) -> bool {
        let Some(stream) = self.stream.upgrade().filter(|_| self.sender.is_ready() && !self.is_expired())
        else {
            return false;
        };
        let stream = stream.lock();
        let tcp = match &*stream {
            MaybeHttpsStream::Http(tcp) => tcp.inner(),
            MaybeHttpsStream::Https(tls) => tls.inner().get_ref().0.inner().inner(),
        };
        let seen = SockRef::from(tcp).peek(&mut [MaybeUninit::uninit()]);
        seen.is_err_and(|error| error.kind() == io::ErrorKind::WouldBlock)
    }
}

/// The `Host` of `uri`, with the port unless it is the scheme's default.
fn host_header(uri: &Uri) -> Option<HeaderValue> {
    let usual = if uri.scheme() == Some(&Scheme::HTTPS) { 443 } else { 80 };
    let host = uri.host()?;
    let port = uri.port_u16().filter(|port| *port != usual);
    let host = port.map_or_else(|| host.to_owned(), |port| format!("{host}:{port}"));
    HeaderValue::from_str(&host).ok()
}

/// How long the other side keeps an idle connection, if it says so.
fn keep_alive_timeout(answer: &Response<Incoming>) -> Option<Duration> {
    let values = answer.headers().get_all("keep-alive").iter().filter_map(|value| value.to_str().ok());
    let mut parts = values.flat_map(|value| value.split(',')).filter_map(|part| part.trim().split_once('='));
    let timeout = parts.find(|(name, _)| name.eq_ignore_ascii_case("timeout"))?;
    timeout.1.trim().parse().ok().map(Duration::from_secs)
}

/// The stream of a connection, which can be checked while hyper owns it. The lock is never contended while a
/// request is in progress: only idle connections are checked.
#[derive(Debug)]
struct WatchedStream(Arc<Mutex<Stream>>);

impl Read for WatchedStream {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: ReadBufCursor<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut *self.0.lock()).poll_read(context, buffer)
    }
}

impl Write for WatchedStream {
    fn poll_write(self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut *self.0.lock()).poll_write(context, bytes)
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut *self.0.lock()).poll_flush(context)
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut *self.0.lock()).poll_shutdown(context)
    }

    fn is_write_vectored(&self) -> bool {
        self.0.lock().is_write_vectored()
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        pieces: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut *self.0.lock()).poll_write_vectored(context, pieces)
    }
}
