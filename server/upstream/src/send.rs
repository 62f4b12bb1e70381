//! The way out to an upstream: HTTP/1.1 or 2 as it speaks, TLS with the roots of the system, those of Mozilla, and what
//! the settings add.
//!
//! Over HTTP/2 calls share a connection: how many the upstream lets through at once, and how much it may send that nobody
//! has read yet. So that no call waits for another, few share one: calls are put into lanes, each with connections of its
//! own, and a lane that is full has another one opened beside it.
//!
//! A request whose connection turns out to be dead is sent again where the upstream surely did not take it, or where it
//! does no harm; see docs/integrations/proxy.md.

use std::error::Error;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use hyper::body::{Body, Frame, Incoming, SizeHint};
use hyper::http::header::PROXY_AUTHORIZATION;
use hyper::http::{Extensions, HeaderValue, Request, Response};
use hyper_rustls::HttpsConnectorBuilder;
use hyper_util::client::legacy::connect::{HttpConnector, capture_connection};
use hyper_util::client::legacy::{self, Builder, Client, ResponseFuture};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use model::limits::PROXY_CONNECT_MS;
use parking_lot::Mutex;
use rustls::ClientConfig;
use tower::ServiceExt as _;

use crate::again::Again;
use crate::config::Upstream;
use crate::detour::Reaching;
use crate::egress::Outside;
use crate::error::{SendError, reason};
use crate::link::{LinkState, Linking, RawConnection, Unwritten};

/// How long a connection that nobody uses is kept. Longer than a short tool takes, shorter than servers keep theirs.
const IDLE: Duration = Duration::from_secs(30);

/// Most bytes that are read ahead of the caller, and the longest head of an answer.
pub(crate) const READ_AHEAD_BYTES: usize = 64 << 10;

/// The same for one call over HTTP/2.
const WINDOW_BYTES: u32 = 256 << 10;

/// Most calls that share a connection, where the upstream lets so many through. Servers allow a hundred and more, a few only
/// ten; each connection more costs what it costs to connect, once.
const CALLS_PER_LANE_MAX: u32 = 8;

/// How long a request may wait until it has a connection and a place on it.
const PLACE_WITHIN: Duration = Duration::from_millis(PROXY_CONNECT_MS + 5_000);

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

/// Sends calls to one upstream.
#[derive(Debug)]
pub struct Sender<B> {
    linking: Linking,
    /// What a proxy before it wants to see with each call.
    key: Option<HeaderValue>,
    /// As many as were needed at once.
    lanes: Arc<Mutex<Vec<Lane<B>>>>,
}

impl<B> Clone for Sender<B> {
    fn clone(&self) -> Self {
        Self { linking: self.linking.clone(), key: self.key.clone(), lanes: Arc::clone(&self.lanes) }
    }
}

/// Calls that share connections.
#[derive(Debug)]
struct Lane<B> {
    client: Client<Linking, Again<B>>,
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
    B: Body<Data = Bytes, Error: Into<Box<dyn Error + Send + Sync>>> + Send + Unpin + 'static,
{
    /// For one upstream.
    pub(crate) fn new(upstream: &Upstream, outside: &Outside) -> Result<Self, rustls::Error> {
        let detour = outside.detour(upstream);
        if let Some(proxy) = detour.place() {
            tracing::info!(upstream = upstream.name(), %proxy, "is reached through the proxy of the environment");
        }
        let (is_asked, key) = (detour.is_asked(), detour.key().cloned());
        let https = HttpsConnectorBuilder::new().with_tls_config(tls(upstream, outside)?).https_or_http();
        let https = https.enable_http1().enable_http2();
        let https = https.wrap_connector(Reaching::new(tcp(PULSE), detour));
        let linking = Linking::new(https, is_asked);
        if !upstream.is_protected() {
            // Which version of HTTP is spoken is agreed on with TLS alone; without it each call has a connection.
            linking.room().learn(u32::MAX);
        }
        Ok(Self { linking, key, lanes: Arc::default() })
    }

    /// What a proxy before the upstream wants to see with each call, and may repeat in its errors.
    pub fn key(&self) -> Option<&HeaderValue> {
        self.key.as_ref()
    }

    /// Sends a request. To drop this, or the body of the answer, breaks the request off.
    pub async fn send(&self, request: Request<B>) -> Result<Response<ResponseBody>, SendError> {
        let (mut head, body) = request.into_parts();
        if let Some(key) = &self.key {
            head.headers.insert(PROXY_AUTHORIZATION, key.clone());
        }
        let nature = Nature { is_idempotent: head.method.is_idempotent(), has_body: !body.is_end_stream() };
        let mut again = Again::new(body);
        let mut is_repeated = false;
        loop {
            let (client, seat) = self.take_seat();
            let mut request = Request::from_parts(head.clone(), again.attempt());
            again.over(capture_connection(&mut request));
            let error = match in_time(client.request(request), &again).await? {
                Ok(answer) => {
                    again.answered();
                    note_keeping(&answer);
                    return Ok(answer.map(|body| ResponseBody { body, _seat: seat }));
                }
                Err(error) => error,
            };
            let is_unwritten = is_unwritten(&error);
            let may_be_repeated = nature.may_be_repeated(&error);
            // Each time that nothing is written a dead connection is gone; a new one is never found so.
            if !again.is_whole() || !is_unwritten && (is_repeated || !may_be_repeated) {
                let reason = reason(&error);
                let is_unreached = error.is_connect();
                return Err(if is_unreached {
                    SendError::Unreachable(reason)
                } else {
                    SendError::Failed(reason)
                });
            }
            is_repeated |= !is_unwritten;
            tracing::debug!(reason = reason(&error), "a request is sent again");
        }
    }

    /// The first lane that has room, so that those that are not needed any more lose their connections.
    fn take_seat(&self) -> (Client<Linking, Again<B>>, Seat) {
        let mut lanes = self.lanes.lock();
        let most = self.linking.room().calls(CALLS_PER_LANE_MAX);
        // Seats are only taken under the lock.
        let has_room = |lane: &&Lane<B>| lane.calls.load(Ordering::Relaxed) < most;
        let (client, calls) = if let Some(lane) = lanes.iter().find(has_room) {
            (lane.client.clone(), Arc::clone(&lane.calls))
        } else {
            let (client, calls) = (builder(PULSE).build(self.linking.clone()), Arc::default());
            lanes.push(Lane { client: Client::clone(&client), calls: Arc::clone(&calls) });
            (client, calls)
        };
        calls.fetch_add(1, Ordering::Relaxed);
        (client, Seat(calls))
    }
}

/// The answer, or what went wrong on the way to it. A request that gets no place at the upstream is given up.
async fn in_time<B>(
    answering: ResponseFuture,
    again: &Again<B>,
) -> Result<Result<Response<Incoming>, legacy::Error>, SendError> {
    tokio::pin!(answering);
    match tokio::time::timeout(PLACE_WITHIN, &mut answering).await {
        Ok(answer) => Ok(answer),
        // Its body may have been taken before the upstream said that it lets none through.
        Err(_elapsed) if again.is_taken() && !again.is_shut() => Ok(answering.await),
        Err(_elapsed) => {
            let seconds = PLACE_WITHIN.as_secs();
            Err(SendError::Unreachable(format!("it had no connection free for this call within {seconds} s")))
        }
    }
}

/// What matters of a request where it may be sent again.
#[derive(Debug, Clone, Copy)]
struct Nature {
    is_idempotent: bool,
    has_body: bool,
}

impl Nature {
    /// Whether such a request may be, after `error`.
    fn may_be_repeated(self, error: &legacy::Error) -> bool {
        let Self { is_idempotent, has_body } = self;
        // Without a body it was on its way as a whole when the other side ended.
        is_refused(error)
            || is_left(error) && (is_idempotent || has_body)
            || is_idempotent && !has_body && is_stale(error)
    }
}

/// Whether nothing of the request was written.
fn is_unwritten(error: &legacy::Error) -> bool {
    causes(error).any(|cause| {
        let cause = cause.downcast_ref::<io::Error>().and_then(io::Error::get_ref);
        cause.is_some_and(<dyn Error + Send + Sync>::is::<Unwritten>)
    })
}

/// Whether the other side says that it did not take the request, over HTTP/2 (RFC 9113, 8.7).
fn is_refused(error: &legacy::Error) -> bool {
    told(error).any(|error| error.is_reset() && error.reason() == Some(h2::Reason::REFUSED_STREAM))
}

/// Whether the other side ends the connection in order, over HTTP/2, and says that it did not come to the request. A few
/// say so of one that they answer.
fn is_left(error: &legacy::Error) -> bool {
    told(error).any(|error| error.is_go_away() && error.reason() == Some(h2::Reason::NO_ERROR))
}

/// What the other side said over HTTP/2.
fn told(error: &legacy::Error) -> impl Iterator<Item = &h2::Error> {
    let all = causes(error).filter_map(|cause| cause.downcast_ref::<h2::Error>());
    all.filter(|error| error.is_remote())
}

/// Notes how long the other side keeps the connection, where it says so.
fn note_keeping(answer: &Response<Incoming>) {
    let Some(standing) = answer.extensions().get::<Arc<LinkState>>() else { return };
    let values = answer.headers().get_all("keep-alive").iter().filter_map(|value| value.to_str().ok());
    let mut parts = values.flat_map(|value| value.split(',')).filter_map(|part| part.trim().split_once('='));
    if let Some(seconds) = parts.find_map(|(name, value)| {
        name.eq_ignore_ascii_case("timeout").then(|| value.trim().parse().ok()).flatten()
    }) {
        standing.is_kept_for(seconds);
    }
}

/// Whether a connection that was in use before ended in place of an answer.
fn is_stale(error: &legacy::Error) -> bool {
    let mut extras = Extensions::new();
    if let Some(connected) = error.connect_info() {
        connected.get_extras(&mut extras);
    }
    let is_used = extras.get::<Arc<LinkState>>().is_some_and(|standing| standing.is_used());
    let is_end = |cause: &(dyn Error + 'static)| {
        cause.is::<io::Error>() || cause.downcast_ref().is_some_and(hyper::Error::is_incomplete_message)
    };
    is_used && causes(error).any(is_end)
}

/// An error and what caused it.
fn causes<'a>(error: &'a (dyn Error + 'static)) -> impl Iterator<Item = &'a (dyn Error + 'static)> {
    std::iter::successors(Some(error), |&error: &&'a (dyn Error + 'static)| error.source())
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
pub struct ResponseBody {
    body: Incoming,
    _seat: Seat,
}

impl Body for ResponseBody {
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

/// Connects to an upstream, for what is no call.
pub(crate) async fn connect(upstream: &Upstream, outside: &Outside) -> Result<RawConnection, String> {
    let tls = tls(upstream, outside).map_err(|error| error.to_string())?;
    let https = HttpsConnectorBuilder::new().with_tls_config(tls).https_or_http();
    let detour = outside.detour(upstream).whole();
    let https = https.enable_http1().wrap_connector(Reaching::new(tcp(PULSE), detour));
    let uri = upstream.uri("").ok_or_else(|| String::from("its URL is none"))?;
    https.oneshot(uri).await.map(TokioIo::new).map_err(|error| reason(&*error))
}

/// Who is trusted for an upstream.
fn tls(upstream: &Upstream, outside: &Outside) -> Result<ClientConfig, rustls::Error> {
    let mut store = (*outside.roots).clone();
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

#[cfg(test)]
mod tests;
