//! The way out to an upstream: HTTP/1.1 or 2 as it speaks, TLS with the roots of the system, those of Mozilla, and what
//! the settings add.
//!
//! Over HTTP/2 calls share a connection: how many the upstream lets through at once, and how much it may send that nobody
//! has read yet. So that no call waits for another, few share one: calls are put into lanes, each with connections of its
//! own, and a lane that is full has another one opened beside it.

use std::error::Error;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use axum::body::Bytes;
use axum::http::{Request, Response};
use hyper::body::{Body, Frame, Incoming, SizeHint};
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder, MaybeHttpsStream};
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::client::legacy::{Builder, Client};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use parking_lot::Mutex;
use rustls::{ClientConfig, RootCertStore};
use shared::limits::PROXY_CONNECT_MS;
use tokio::net::TcpStream;
use tower::ServiceExt as _;

use super::tape::Fault;
use super::upstream::Upstream;

/// How long a connection that nobody uses is kept. Longer than a short tool takes, shorter than servers keep theirs.
const IDLE: Duration = Duration::from_secs(30);

/// Most bytes that are read ahead of the caller, and the longest head of an answer.
const READ_AHEAD_BYTES: usize = 64 << 10;

/// The same for one call over HTTP/2.
const WINDOW_BYTES: u32 = 256 << 10;

/// Most calls that share a connection. Servers allow a hundred and more, a few only ten; each connection more costs what
/// it costs to connect, once.
const CALLS_PER_LANE_MAX: u32 = 8;

/// How often the other side is asked whether it is there, while it is silent, and how long it may take to say so.
const PULSE: Pulse = Pulse { every: Duration::from_secs(15), patience: Duration::from_secs(10) };

/// How a connection is found to be dead: one that a router between forgot says nothing any more, not even that.
#[derive(Debug, Clone, Copy)]
struct Pulse {
    every: Duration,
    patience: Duration,
}

/// How often TCP asks in that time.
const PROBES: u32 = 2;

type Https = HttpsConnector<HttpConnector>;

/// Sends calls to one upstream.
#[derive(Debug)]
pub(crate) struct Sender<B> {
    https: Https,
    /// As many as were needed at once.
    lanes: Arc<Mutex<Vec<Lane<B>>>>,
}

impl<B> Clone for Sender<B> {
    fn clone(&self) -> Self {
        Self { https: self.https.clone(), lanes: Arc::clone(&self.lanes) }
    }
}

/// Calls that share connections.
#[derive(Debug)]
struct Lane<B> {
    client: Client<Https, B>,
    calls: Arc<AtomicUsize>,
}

/// The place of one call in a lane, until it is dropped.
#[derive(Debug)]
struct Seat(Arc<AtomicUsize>);

impl Drop for Seat {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

impl<B> Sender<B>
where
    B: Body<Data: Send, Error: Into<Box<dyn Error + Send + Sync>>> + Send + Unpin + 'static,
{
    /// For one upstream.
    pub(super) fn new(upstream: &Upstream, roots: &Roots) -> Result<Self, rustls::Error> {
        let https = HttpsConnectorBuilder::new().with_tls_config(tls(upstream, roots)?).https_or_http();
        let https = https.enable_http1().enable_http2().wrap_connector(tcp(PULSE));
        Ok(Self { https, lanes: Arc::default() })
    }

    /// Sends a request. To drop this, or the body of the answer, breaks the request off.
    pub(crate) async fn send(&self, request: Request<B>) -> Result<Response<Coming>, Fault> {
        let (client, seat) = self.take_seat();
        let answer = client.request(request).await.map_err(|error| {
            let reason = reason(&error);
            if error.is_connect() { Fault::Unreachable(reason) } else { Fault::Failed(reason) }
        })?;
        Ok(answer.map(|body| Coming { body, _seat: seat }))
    }

    /// The first lane that has room, so that those that are not needed any more lose their connections.
    fn take_seat(&self) -> (Client<Https, B>, Seat) {
        let mut lanes = self.lanes.lock();
        // Seats are only taken under the lock.
        let has_room = |lane: &&Lane<B>| lane.calls.load(Ordering::Relaxed) < CALLS_PER_LANE_MAX as usize;
        let (client, calls) = if let Some(lane) = lanes.iter().find(has_room) {
            (lane.client.clone(), Arc::clone(&lane.calls))
        } else {
            let (client, calls) = (builder(PULSE).build(self.https.clone()), Arc::default());
            lanes.push(Lane { client: Client::clone(&client), calls: Arc::clone(&calls) });
            (client, calls)
        };
        calls.fetch_add(1, Ordering::Relaxed);
        (client, Seat(calls))
    }
}

/// How calls are sent over connections.
fn builder(pulse: Pulse) -> Builder {
    let mut builder = Client::builder(TokioExecutor::new());
    builder
        .timer(TokioTimer::new())
        .pool_timer(TokioTimer::new())
        .pool_idle_timeout(IDLE)
        .http1_max_buf_size(READ_AHEAD_BYTES)
        .http1_preserve_header_case(true)
        .http2_initial_stream_window_size(WINDOW_BYTES)
        // Readers that do not read fill their own windows, and leave the others theirs.
        .http2_initial_connection_window_size(
            WINDOW_BYTES.saturating_mul(CALLS_PER_LANE_MAX.saturating_add(1)),
        )
        .http2_keep_alive_interval(pulse.every)
        .http2_keep_alive_timeout(pulse.patience)
        .http2_keep_alive_while_idle(true);
    builder
}

/// The body of an answer as it comes. Its call is on its way until this is dropped.
#[derive(Debug)]
pub(crate) struct Coming {
    body: Incoming,
    _seat: Seat,
}

impl Body for Coming {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        Pin::new(&mut self.body).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

/// A bare connection, behind TLS where that is wanted.
pub(crate) type Plug = TokioIo<MaybeHttpsStream<TokioIo<TcpStream>>>;

/// Connects to an upstream, for what is no call.
pub(super) async fn plug(upstream: &Upstream, roots: &Roots) -> Result<Plug, String> {
    let tls = tls(upstream, roots).map_err(|error| error.to_string())?;
    let https = HttpsConnectorBuilder::new().with_tls_config(tls).https_or_http();
    let https = https.enable_http1().wrap_connector(tcp(PULSE));
    let uri = upstream.uri("").ok_or_else(|| String::from("its URL is none"))?;
    https.oneshot(uri).await.map(TokioIo::new).map_err(|error| reason(&*error))
}

/// Who is trusted for an upstream.
fn tls(upstream: &Upstream, roots: &Roots) -> Result<ClientConfig, rustls::Error> {
    let mut store = (*roots.0).clone();
    for certificate in upstream.certificates() {
        store.add(certificate.clone())?;
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ClientConfig::builder_with_provider(provider);
    let builder = builder.with_safe_default_protocol_versions()?;
    Ok(builder.with_root_certificates(store).with_no_client_auth())
}

/// How connections are made.
fn tcp(pulse: Pulse) -> HttpConnector {
    let mut http = HttpConnector::new();
    http.enforce_http(false);
    http.set_nodelay(true);
    http.set_keepalive(Some(pulse.every));
    http.set_keepalive_interval(Some(pulse.patience / PROBES));
    http.set_keepalive_retries(Some(PROBES));
    http.set_connect_timeout(Some(Duration::from_millis(PROXY_CONNECT_MS)));
    http
}

/// Who is trusted everywhere.
#[derive(Debug)]
pub(super) struct Roots(Arc<RootCertStore>);

impl Roots {
    /// Those of the system and those of Mozilla: a system may have none, and a company may have its own.
    pub(super) fn load() -> Self {
        let mut store = RootCertStore { roots: webpki_roots::TLS_SERVER_ROOTS.to_vec() };
        // Single files that cannot be read leave the others.
        let system = rustls_native_certs::load_native_certs();
        store.add_parsable_certificates(system.certs);
        Self(Arc::new(store))
    }
}

/// What went wrong, with its causes. None of them quotes what was sent.
pub(crate) fn reason(error: &dyn Error) -> String {
    let mut causes = vec![error.to_string()];
    let mut next = error.source();
    while let Some(cause) = next {
        let text = cause.to_string();
        // Many errors repeat their cause.
        if causes.last().is_none_or(|before| !before.ends_with(&text)) {
            causes.push(text);
        }
        next = cause.source();
    }
    causes.join(": ")
}

#[cfg(test)]
mod tests;
