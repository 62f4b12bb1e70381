//! A connection over HTTP/1.1: one request at a time.

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
use crate::replay::Replay;

/// Most bytes that are read ahead of the caller, and the longest head of an answer.
const READ_AHEAD_BYTES: usize = 64 << 10;

/// How long before the other side closes a connection no request is sent over it any more: the two would meet on the way.
const CLOSING: Duration = Duration::from_secs(1);

/// How requests are sent over HTTP/1.1.
pub(crate) fn builder() -> Builder {
    let mut builder = Builder::new();
    builder.preserve_header_case(true).max_buf_size(READ_AHEAD_BYTES);
    builder
}

/// How a request is written on its way to an upstream over HTTP/1.1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    /// With the path alone: the other side is the upstream.
    Origin,
    /// With the whole URL: the other side is a proxy, which is asked for it.
    Absolute,
}

/// One connection. To drop it closes it, unless a request is on its way.
#[derive(Debug)]
pub(crate) struct Http1<B> {
    sender: SendRequest<Replay<B>>,
    stream: Weak<Mutex<Stream>>,
    /// When it was at rest last.
    rested_at: Instant,
    /// How long it may be at rest.
    rest_max: Duration,
}

impl<B> Http1<B>
where
    B: Body<Data = Bytes, Error: Into<Box<dyn Error + Send + Sync>>> + Send + Unpin + 'static,
{
    /// Begins on a connection that is new.
    pub(crate) async fn new(stream: Stream, rest_max: Duration) -> hyper::Result<Self> {
        let stream = Arc::new(Mutex::new(stream));
        let watched = Arc::downgrade(&stream);
        let (sender, connection) = builder().handshake(Watched(stream)).await?;
        tokio::spawn(async move {
            if let Err(error) = connection.with_upgrades().await {
                tracing::debug!(reason = reason(&error), "a connection over HTTP/1.1 broke");
            }
        });
        Ok(Self { sender, stream: watched, rested_at: Instant::now(), rest_max })
    }

    /// Sends a request. A request of which nothing was sent comes back with the error.
    pub(crate) async fn send(
        &mut self,
        mut head: Parts,
        body: Replay<B>,
        form: Form,
    ) -> Result<Response<Incoming>, TrySendError<Request<Replay<B>>>> {
        let uri = head.uri.clone();
        if let (Entry::Vacant(host), Some(value)) = (head.headers.entry(HOST), host(&uri)) {
            host.insert(value);
        }
        if form == Form::Origin {
            head.uri = uri.path_and_query().map_or_else(Uri::default, |path| Uri::from(path.clone()));
        }
        let answer = self.sender.try_send_request(Request::from_parts(head, body)).await?;
        if let Some(kept) = kept(&answer) {
            self.rest_max = self.rest_max.min(kept.saturating_sub(CLOSING));
        }
        Ok(answer)
    }

    /// Ready when the request and its answer are over and the connection is at rest. False where it is closed then.
    pub(crate) async fn rest(&mut self) -> bool {
        let is_ready = self.sender.ready().await.is_ok();
        self.rested_at = Instant::now();
        is_ready
    }

    /// Whether it was at rest for too long.
    pub(crate) fn is_expired(&self) -> bool {
        self.sender.is_closed() || self.rested_at.elapsed() >= self.rest_max
    }

    /// Whether a request may be sent over it that must not meet the end of the connection. Asks the kernel, which may know
    /// more than was told here: where the other side closed, or says something that nobody asked for, it takes no request.
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

/// Which host is meant, with its port unless that is the scheme's own.
fn host(uri: &Uri) -> Option<HeaderValue> {
    let usual = if uri.scheme() == Some(&Scheme::HTTPS) { 443 } else { 80 };
    let host = uri.host()?;
    let port = uri.port_u16().filter(|port| *port != usual);
    let host = port.map_or_else(|| host.to_owned(), |port| format!("{host}:{port}"));
    HeaderValue::from_str(&host).ok()
}

/// How long the other side keeps the connection while nothing is asked, where it says so.
fn kept(answer: &Response<Incoming>) -> Option<Duration> {
    let values = answer.headers().get_all("keep-alive").iter().filter_map(|value| value.to_str().ok());
    let mut parts = values.flat_map(|value| value.split(',')).filter_map(|part| part.trim().split_once('='));
    let timeout = parts.find(|(name, _)| name.eq_ignore_ascii_case("timeout"))?;
    timeout.1.trim().parse().ok().map(Duration::from_secs)
}

/// The stream below a connection, which can be looked at while hyper has it. The lock is never waited for while requests are
/// on their way: only connections at rest are looked at.
#[derive(Debug)]
struct Watched(Arc<Mutex<Stream>>);

impl Read for Watched {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: ReadBufCursor<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut *self.0.lock()).poll_read(context, buffer)
    }
}

impl Write for Watched {
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
