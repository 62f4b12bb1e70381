//! `WebSocket`s through the proxy: the handshake is passed on unchanged, and then the bytes of both
//! directions (I12): frames, pings, closes and half-closes are the business of the two sides. If they speak
//! the Responses API, a copy is recorded.
//!
//! ```text
//! caller ──GET, Upgrade──▶ upstream      the answer goes back as it came; with 101:
//! caller ◀═════ bytes ═════▶ upstream
//!                │ copy
//!                ▼
//!               Tap ──▶ Frames ──▶ Talk ──▶ a Tape for each answer
//! ```
//!
//! The relay is a task of the hub that owns both connections. It ends with them, when the caller is no longer
//! admitted, or when the hub drains: then each side gets a close frame as soon as no answer is on its way
//! (I13).

use std::hash::{BuildHasher as _, Hasher as _, RandomState};
use std::io;
use std::sync::Arc;
use std::time::Duration;

use access::{Admission, Denial};
use axum::body::Body;
use axum::extract::Request;
use axum::http::header::{CONNECTION, HeaderValue, SEC_WEBSOCKET_EXTENSIONS, UPGRADE};
use axum::http::request::Parts;
use axum::http::{HeaderMap, Response, StatusCode, Uri, Version};
use hyper::body::Incoming;
use hyper::upgrade::{OnUpgrade, Upgraded};
use hyper_util::rt::TokioIo;
use model::code::ErrorCode;
use model::limits::{PROXY_SOCKET_HALF_MS, PROXY_SOCKETS_MAX};
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio_util::sync::CancellationToken;
use upstream::{Api, Egress, SendError, Upstream};

use super::call::{escaped, refuse};
use super::calls::PROXIED;
use super::calls::Proxy;
use super::headers;
use super::record::Facts;
use super::seats::SocketPlace;
use crate::inbound::passed::FromUpstream;
use crate::inbound::patience::ConnectionInfo;
use crate::inbound::problem::Problem;
use crate::sharing::PassedBody;

mod frames;
mod talk;
mod tap;

use frames::Frames;
use talk::Talk;
use tap::{Between, Packing, Side, Tap, pair};

/// Most bytes that are read at once.
const READ: usize = 16 << 10;

/// How often a connection with an answer on its way is checked while the hub drains.
const LOOK: Duration = Duration::from_millis(50);

/// How long the two sides may take to close after the hub has closed.
const LINGER: Duration = Duration::from_secs(1);

/// Whether a request asks for a WebSocket, by its `Upgrade`.
pub(crate) fn wants_socket(headers: &HeaderMap) -> bool {
    headers.get(UPGRADE).is_some_and(|upgrade| upgrade.as_bytes().eq_ignore_ascii_case(b"websocket"))
}

/// A request for a WebSocket that is to be passed on. Consumed by [`open`].
pub(super) struct SocketRequest<'a> {
    pub(super) proxy: &'a Arc<Proxy>,
    pub(super) upstream: &'a Upstream,
    /// The model that the query names, if it does.
    pub(super) model: Option<String>,
    pub(super) parts: Parts,
    pub(super) uri: Uri,
    /// What its recording needs to know; `None` if the connection is not recorded.
    pub(super) facts: Option<Facts>,
}

/// Passes the handshake on, and after it the bytes of both sides, in a task of their own. An answer other
/// than 101 is passed back as it came. Fails with `shutting_down` while the hub drains, with `too_many` if
/// there are as many as may be, with `bad_request` if the connection cannot be upgraded; if the upstream
/// cannot be reached the answer is 502.
pub(super) async fn open(wanted: SocketRequest<'_>) -> Result<axum::response::Response, Problem> {
    let SocketRequest { proxy, upstream, model, mut parts, uri, facts } = wanted;
    if proxy.ownership.drain.is_cancelled() {
        return Err(Problem::shutting_down());
    }
    let place = place(proxy)?;
    let Some(caller) = parts.extensions.remove::<OnUpgrade>() else {
        return Err(Problem::bad_request("this connection cannot become a WebSocket"));
    };
    let ends = Ends::of(proxy, place, caller, &parts);
    PROXIED.one();
    let answer = match ask(proxy, upstream, parts, uri).await {
        Ok(answer) => answer,
        Err(fault) => return Ok(refuse(upstream, fault, None)),
    };
    if answer.status() != StatusCode::SWITCHING_PROTOCOLS {
        return Ok(passed(answer.map(Body::new), |_same| ()));
    }
    let packing = answer.headers().get(SEC_WEBSOCKET_EXTENSIONS).and_then(|value| value.to_str().ok());
    let packing = packing.and_then(Packing::agreed);
    let named = facts.as_ref().and_then(|facts| facts.conversation.clone());
    let named = named.and_then(|named| HeaderValue::from_str(&escaped(&named)).ok());
    let tap = tap(proxy, facts, model, packing);
    Ok(ends.join(answer, tap, named))
}

/// Passes a handshake on to the hub at `address`, which records the conversation, and after it the bytes of both sides. The
/// inner error says why that hub was not reached; the outer one is for a handshake that may have arrived.
pub(crate) async fn open_there(
    proxy: &Arc<Proxy>,
    address: &str,
    mut request: Request<PassedBody>,
    (caller, parts): (OnUpgrade, &Parts),
) -> Result<Result<axum::response::Response, String>, Problem> {
    let place = place(proxy)?;
    let ends = Ends::of(proxy, place, caller, parts);
    let hub = Upstream::new("hub", address, Api::default());
    let hub = hub.map_err(|error| Problem::new(ErrorCode::Elsewhere, error.to_string()))?;
    let headers = request.headers_mut();
    headers.insert(CONNECTION, HeaderValue::from_static("Upgrade"));
    headers.extend(parts.headers.get(UPGRADE).map(|protocol| (UPGRADE, protocol.clone())));
    let answer = match Egress::direct().upgrade(&hub, request).await {
        Ok(answer) => answer,
        Err(SendError::Unreachable(why)) => return Ok(Err(why)),
        Err(SendError::Failed(why)) => return Err(Problem::new(ErrorCode::Elsewhere, why)),
    };
    let named = answer.headers().get(super::call::CONVERSATION).cloned();
    if answer.status() != StatusCode::SWITCHING_PROTOCOLS {
        return Ok(Ok(passed(answer.map(Body::new), |_same| ())));
    }
    Ok(Ok(ends.join(answer, Tap::none(&proxy.budget), named)))
}

/// A place among the open `WebSocket`s. Fails with `too_many` if there is none.
fn place(proxy: &Proxy) -> Result<SocketPlace, Problem> {
    proxy.sockets.place().ok_or_else(|| {
        let detail = format!("the proxy passes at most {PROXY_SOCKETS_MAX} WebSockets at once");
        Problem::new(ErrorCode::TooMany, detail)
    })
}

/// The caller's end of a connection that is being opened.
struct Ends {
    proxy: Arc<Proxy>,
    place: SocketPlace,
    caller: OnUpgrade,
    /// The admission of the caller; the connection stays as long as it holds.
    admission: Option<Admission>,
    line: Option<Arc<ConnectionInfo>>,
}

impl Ends {
    /// The end of the caller whose handshake has these headers.
    fn of(proxy: &Arc<Proxy>, place: SocketPlace, caller: OnUpgrade, parts: &Parts) -> Self {
        let admission = parts.extensions.get::<Admission>().cloned();
        let line = parts.extensions.get::<Arc<ConnectionInfo>>().cloned();
        Self { proxy: Arc::clone(proxy), place, caller, admission, line }
    }

    /// Joins it with the other end, whose `answer` is 101, in a task of the hub; the answer for the caller, with the name of
    /// the conversation if it is known.
    fn join(
        self,
        mut answer: Response<Incoming>,
        tap: Tap,
        named: Option<HeaderValue>,
    ) -> axum::response::Response {
        let Self { proxy, place, caller, admission, line } = self;
        let upgrading = hyper::upgrade::on(&mut answer);
        let protocol = answer.headers().get(UPGRADE).cloned();
        if let Some(line) = line {
            // How long a peer takes nothing is the business of the two sides.
            line.be_lenient(true);
        }
        let (drain, tasks) = (proxy.ownership.drain.clone(), proxy.ownership.tasks.clone());
        tasks.spawn(async move {
            let _place = place;
            match tokio::try_join!(caller, upgrading) {
                // Both sides are cut once the caller is not let in any more.
                Ok((caller, upstream)) => tokio::select! {
                    () = relay(tap, caller, upstream, &drain) => {}
                    denial = over(&proxy, admission.as_ref()) => {
                        tracing::info!(%denial, "a WebSocket through the proxy was cut");
                    }
                },
                Err(error) => tracing::debug!(%error, "a WebSocket was not begun"),
            }
        });
        passed(answer.map(|_none| Body::empty()), |headers| {
            headers.insert(CONNECTION, HeaderValue::from_static("upgrade"));
            headers.insert(UPGRADE, protocol.unwrap_or_else(|| HeaderValue::from_static("websocket")));
            headers.extend(named.map(|named| (super::call::CONVERSATION, named)));
        })
    }
}

/// Ready once the caller is not let in any more; never without access control.
async fn over(proxy: &Proxy, admission: Option<&Admission>) -> Denial {
    match admission {
        Some(admission) => proxy.gate.over(admission).await,
        None => std::future::pending().await,
    }
}

/// The answer as it came, except headers of the connection, changed by `change`.
fn passed(answer: Response<Body>, change: impl FnOnce(&mut HeaderMap)) -> axum::response::Response {
    let (mut parts, body) = answer.into_parts();
    parts.headers = headers::incoming(&parts.headers);
    change(&mut parts.headers);
    parts.extensions.insert(FromUpstream);
    Response::from_parts(parts, body)
}

/// Sends the handshake to the upstream, over a new connection.
async fn ask(
    proxy: &Arc<Proxy>,
    upstream: &Upstream,
    parts: Parts,
    uri: Uri,
) -> Result<Response<Incoming>, SendError> {
    let mut request = Request::new(Body::empty());
    let wanted = headers::outgoing(&parts.headers);
    let headers = request.headers_mut();
    headers.extend(wanted);
    headers.insert(CONNECTION, HeaderValue::from_static("Upgrade"));
    if let Some(protocol) = parts.headers.get(UPGRADE) {
        headers.insert(UPGRADE, protocol.clone());
    }
    *request.method_mut() = parts.method;
    *request.uri_mut() = uri;
    *request.version_mut() = Version::HTTP_11;
    *request.extensions_mut() = parts.extensions;
    proxy.egress.upgrade(upstream, request).await
}

/// The copy for a recorder, which is started here; without facts nothing is copied.
fn tap(proxy: &Arc<Proxy>, facts: Option<Facts>, model: Option<String>, packing: Option<Packing>) -> Tap {
    let Some(facts) = facts else { return Tap::none(&proxy.budget) };
    let (tap, sink) = pair(&proxy.budget);
    let talk = Talk::new(proxy, facts, model);
    proxy.recorders.spawn(&proxy.ownership.tasks, sink.run(talk, packing));
    tap
}

/// The model that the query names.
pub(super) fn model_in(rest: &str) -> Option<String> {
    let (_, query) = rest.split_once('?')?;
    let model = query.split('&').find_map(|pair| pair.strip_prefix("model="))?;
    Some(percent_encoding::percent_decode_str(model).decode_utf8_lossy().into_owned())
}

/// Passes bytes in both directions until both sides have ended or the hub drains. Dropping it cuts both
/// connections.
async fn relay(tap: Tap, caller: Upgraded, upstream: Upgraded, drain: &CancellationToken) {
    let (mut from_caller, to_caller) = tokio::io::split(TokioIo::new(caller));
    let (mut from_upstream, to_upstream) = tokio::io::split(TokioIo::new(upstream));
    let both = Both { tap: &tap, drain, half: CancellationToken::new() };
    let passed = tokio::try_join!(
        both.pass(Side::Caller, &mut from_caller, to_upstream),
        both.pass(Side::Upstream, &mut from_upstream, to_caller),
    );
    match passed {
        Err(error) => tracing::debug!(%error, "a WebSocket broke off"),
        Ok(_) if drain.is_cancelled() => {
            // If unread bytes were left, the kernel would drop what was written to the peers.
            let rest = async {
                let (mut one, mut other) = (tokio::io::sink(), tokio::io::sink());
                let ends = (
                    tokio::io::copy(&mut from_caller, &mut one),
                    tokio::io::copy(&mut from_upstream, &mut other),
                );
                drop(tokio::join!(ends.0, ends.1));
            };
            // A side that takes longer is cut off.
            drop(tokio::time::timeout(LINGER, rest).await);
        }
        Ok(_) => {}
    }
}

/// What the two directions of a connection share; borrowed from the relay.
struct Both<'a> {
    tap: &'a Tap,
    drain: &'a CancellationToken,
    /// Cancelled when one direction has ended.
    half: CancellationToken,
}

/// What a direction does next.
enum Next {
    /// So many bytes came; 0 is the end.
    Read(usize),
    /// The hub begins to drain.
    Drain,
    /// The other direction has ended too long ago.
    Half,
}

impl Both<'_> {
    /// Passes on what `side` sends, until it ends or the hub drains. Ends the other direction's patience when
    /// it ends. Fails if a connection breaks, or if the other side has been closed for `PROXY_SOCKET_HALF_MS`
    /// already.
    async fn pass(
        &self,
        side: Side,
        from: &mut (impl AsyncRead + Unpin),
        mut to: impl AsyncWrite + Unpin,
    ) -> io::Result<()> {
        let mut frames = Frames::new(0);
        let mut buffer = vec![0; READ];
        loop {
            let between = self.tap.between();
            let next = tokio::select! {
                // Bytes that have come are passed on before the hub closes anything.
                biased;
                read = from.read(&mut buffer) => Next::Read(read?),
                () = may_close(self.drain, between), if frames.is_between() => Next::Drain,
                () = self.is_half() => Next::Half,
            };
            match next {
                Next::Read(0) => break,
                Next::Read(count) => {
                    let bytes = buffer.get(..count).unwrap_or_default();
                    self.tap.copy(side, bytes);
                    frames.feed(bytes, &mut |_none_is_kept| ());
                    to.write_all(bytes).await?;
                    to.flush().await?;
                }
                Next::Drain => {
                    to.write_all(&closing(side)).await?;
                    break;
                }
                Next::Half => {
                    return Err(io::Error::new(
                        io::ErrorKind::TimedOut,
                        "one side did not close after the other",
                    ));
                }
            }
        }
        self.tap.over(side);
        self.half.cancel();
        // This half of the connection has ended; the other half is the other side's business.
        to.shutdown().await
    }

    /// Ready when the other direction has ended for longer than is allowed.
    async fn is_half(&self) {
        self.half.cancelled().await;
        tokio::time::sleep(Duration::from_millis(PROXY_SOCKET_HALF_MS)).await;
    }
}

/// Ready when the hub drains and no answer is on its way.
async fn may_close(drain: &CancellationToken, between: &Between) {
    drain.cancelled().await;
    while between.is_answering() {
        tokio::time::sleep(LOOK).await;
    }
}

/// The close frame that the hub sends in place of `side`: "service restart" to the caller, "going away" to
/// the upstream.
fn closing(side: Side) -> Vec<u8> {
    match side {
        Side::Upstream => [&[0x88, 2][..], &1012_u16.to_be_bytes()].concat(),
        Side::Caller => {
            // A client masks each frame with a fresh mask.
            let [a, b, c, d, ..] = RandomState::new().build_hasher().finish().to_be_bytes();
            let [high, low] = 1001_u16.to_be_bytes();
            vec![0x88, 0x82, a, b, c, d, high ^ a, low ^ b]
        }
    }
}
