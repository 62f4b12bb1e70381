//! Connections to upstreams, watched on their way: whether one is still there when a request is about to be written, and
//! how many calls the other side lets through at once.

use std::fmt;
use std::future::Future;
use std::io;
use std::mem::MaybeUninit;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use hyper::http::Uri;
use hyper_rustls::{HttpsConnector, MaybeHttpsStream};
use hyper_util::client::legacy::connect::{Connected, Connection};
use hyper_util::rt::TokioIo;
use model::limits::PROXY_CONNECT_MS;
use socket2::SockRef;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tower::Service;

use crate::detour::{Broken, Reaching};
use crate::settings::Settings;

/// How long before the other side closes a connection no request is sent over it any more: the two would meet on the way.
const CLOSING: Duration = Duration::from_secs(1);

/// A bare connection, behind TLS where that is wanted.
pub type RawConnection = TokioIo<MaybeHttpsStream<TokioIo<TcpStream>>>;

/// Makes connections to one upstream.
#[derive(Debug, Clone)]
pub(crate) struct Linking {
    https: HttpsConnector<Reaching>,
    /// A proxy is asked, not the upstream.
    is_asked: bool,
    room: Arc<Room>,
}

impl Linking {
    /// Over what `https` makes; to a proxy that is asked for what is wanted of the upstream where `is_asked` says so.
    pub(crate) fn new(https: HttpsConnector<Reaching>, is_asked: bool) -> Self {
        Self { https, is_asked, room: Arc::default() }
    }

    /// How many calls its connections carry.
    pub(crate) fn room(&self) -> &Room {
        &self.room
    }
}

impl Service<Uri> for Linking {
    type Response = TokioIo<Link>;
    type Error = Broken;
    type Future = Pin<Box<dyn Future<Output = Result<TokioIo<Link>, Broken>> + Send>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Broken>> {
        self.https.poll_ready(context)
    }

    fn call(&mut self, uri: Uri) -> Self::Future {
        let connecting = self.https.call(uri);
        let (is_asked, room) = (self.is_asked, Arc::clone(&self.room));
        Box::pin(async move {
            let limit = Duration::from_millis(PROXY_CONNECT_MS);
            let connected = tokio::time::timeout(limit, connecting).await;
            let late = || io::Error::new(io::ErrorKind::TimedOut, "no connection in time");
            let stream = connected.map_err(|_elapsed| late())??;
            Ok(TokioIo::new(Link::new(TokioIo::new(stream), is_asked, room)))
        })
    }
}

/// How many calls a connection to an upstream carries at once, as it said last.
#[derive(Debug, Default)]
pub(crate) struct Room {
    calls: AtomicU32,
}

impl Room {
    /// At most `most`; one as long as nobody knows.
    pub(crate) fn calls(&self, most: u32) -> usize {
        self.calls.load(Ordering::Relaxed).clamp(1, most) as usize
    }

    /// The upstream lets `calls` through.
    pub(crate) fn learn(&self, calls: u32) {
        self.calls.store(calls, Ordering::Relaxed);
    }
}

/// What is known of a connection while requests are sent over it.
#[derive(Debug, Default)]
pub(crate) struct LinkState {
    /// Many requests at a time are on their way over it.
    is_shared: bool,
    /// The other side lets no call through on it.
    is_shut: AtomicBool,
    /// Something came over it.
    is_used: AtomicBool,
    /// A request is about to be sent, of which nothing is written.
    is_begun: AtomicBool,
    /// How long the other side keeps it while nothing is asked, in seconds; none where it does not say.
    kept_s: AtomicU64,
}

impl LinkState {
    /// The other side says that it closes the connection once nothing was asked for so many seconds.
    pub(crate) fn is_kept_for(&self, seconds: u64) {
        self.kept_s.store(seconds, Ordering::Relaxed);
    }

    /// Whether the other side is about to close it by itself, or has, when nothing came for `rest`.
    fn is_expiring(&self, rest: Duration) -> bool {
        let kept = self.kept_s.load(Ordering::Relaxed);
        kept > 0 && rest + CLOSING >= Duration::from_secs(kept)
    }

    /// A request begins. Whether it is written is not known where it is one of many.
    pub(crate) fn begin(&self) {
        self.is_begun.store(!self.is_shared, Ordering::Release);
    }

    /// Whether many requests at a time are on their way over it.
    pub(crate) fn is_shared(&self) -> bool {
        self.is_shared
    }

    /// The other side lets so many calls through on it.
    pub(crate) fn lets(&self, calls: u32) {
        self.is_shut.store(calls == 0, Ordering::Relaxed);
    }

    /// Whether the other side lets no call through on it.
    pub(crate) fn is_shut(&self) -> bool {
        self.is_shut.load(Ordering::Relaxed)
    }

    /// Something of it is written.
    pub(crate) fn wrote(&self) {
        self.is_begun.store(false, Ordering::Release);
    }

    /// Whether nothing of the request that began is written.
    pub(crate) fn is_unwritten(&self) -> bool {
        self.is_begun.load(Ordering::Acquire)
    }

    /// Whether an answer came over it before.
    pub(crate) fn is_used(&self) -> bool {
        self.is_used.load(Ordering::Relaxed)
    }
}

/// Nothing of a request was written: its connection was dead already.
#[derive(Debug)]
pub(crate) struct Unwritten;

impl fmt::Display for Unwritten {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the connection was closed before the request was written")
    }
}

impl std::error::Error for Unwritten {}

/// A connection to an upstream.
#[derive(Debug)]
pub(crate) struct Link {
    stream: RawConnection,
    is_asked: bool,
    standing: Arc<LinkState>,
    /// When something came last.
    came_at: Instant,
    /// What the other side says of itself, over HTTP/2.
    settings: Option<Settings>,
    room: Arc<Room>,
}

impl Link {
    fn new(stream: RawConnection, is_asked: bool, room: Arc<Room>) -> Self {
        let is_shared = stream.inner().connected().is_negotiated_h2();
        if !is_shared {
            // Each call has one for itself.
            room.learn(u32::MAX);
        }
        let standing = Arc::new(LinkState { is_shared, ..LinkState::default() });
        let came_at = Instant::now();
        let settings = is_shared.then(Settings::default);
        Self { stream, is_asked, standing, came_at, settings, room }
    }

    /// Whether the other side closed, or says something that nobody asked for: in both cases it takes no request. Asks the
    /// kernel, which may know more than was told here.
    fn is_dead(&self) -> bool {
        let tcp = match self.stream.inner() {
            MaybeHttpsStream::Http(tcp) => tcp.inner(),
            MaybeHttpsStream::Https(tls) => tls.inner().get_ref().0.inner().inner(),
        };
        let seen = SockRef::from(tcp).peek(&mut [MaybeUninit::uninit()]);
        !seen.is_err_and(|error| error.kind() == io::ErrorKind::WouldBlock)
    }

    /// Refuses the first bytes of a request where the connection is dead.
    fn look(&self) -> io::Result<()> {
        let standing = &self.standing;
        let is_first = standing.is_unwritten() && standing.is_used();
        if is_first && (standing.is_expiring(self.came_at.elapsed()) || self.is_dead()) {
            return Err(unwritten());
        }
        Ok(())
    }

    /// Sees whether something was written.
    fn note(&self, written: Poll<io::Result<usize>>) -> Poll<io::Result<usize>> {
        match &written {
            Poll::Ready(Ok(1..)) => self.standing.wrote(),
            // Behind TLS a part may have gone out before it failed.
            Poll::Ready(Err(_))
                if self.standing.is_unwritten()
                    && self.standing.is_used()
                    && matches!(self.stream.inner(), MaybeHttpsStream::Http(_)) =>
            {
                return Poll::Ready(Err(unwritten()));
            }
            _ => {}
        }
        written
    }
}

fn unwritten() -> io::Error {
    io::Error::new(io::ErrorKind::BrokenPipe, Unwritten)
}

impl Connection for Link {
    fn connected(&self) -> Connected {
        let connected = self.stream.inner().connected().proxy(self.is_asked);
        connected.extra(Arc::clone(&self.standing))
    }
}

impl AsyncRead for Link {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = &mut *self;
        let before = buffer.filled().len();
        let polled = Pin::new(&mut this.stream).poll_read(context, buffer);
        let came = buffer.filled().get(before..).unwrap_or_default();
        if !came.is_empty() {
            this.standing.is_used.store(true, Ordering::Relaxed);
            this.came_at = Instant::now();
            if let Some(calls) = this.settings.as_mut().and_then(|settings| settings.feed(came)) {
                this.standing.lets(calls);
                this.room.learn(calls);
            }
        }
        polled
    }
}

impl AsyncWrite for Link {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.look()?;
        let written = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.note(written)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        pieces: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.look()?;
        let written = Pin::new(&mut self.stream).poll_write_vectored(context, pieces);
        self.note(written)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}
