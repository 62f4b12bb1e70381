//! HTTP/2, for clients that agree on it when they agree on TLS: a browser has one connection for the whole page. Sockets
//! come over HTTP/1.1 as before, since pumps write to bare TCP connections.
//!
//! ```text
//! TLS ─▶ hyper ─▶ stream ─▶ the form of HTTP/1.1: `Host`, one `Cookie`, a path ─▶ router ─▶ answer in pieces
//!          │ STREAMS_MAX, HEAD_BYTES_MAX        │ 400                                  │ its reader is silent: reset
//!          └ resets beyond RESETS_*_MAX: the connection is closed
//! ```
//!
//! Everything behind this sees the same request whatever the version, so no rule can be passed by choosing one.

use std::convert::Infallible;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::extract::Request;
use axum::http::uri::Uri;
use axum::http::{HeaderMap, HeaderValue, Method, header};
use axum::response::{IntoResponse as _, Response};
use hyper::body::Incoming;
use hyper::server::conn::http2::Builder;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use model::code::ErrorCode;
use tokio::io::{AsyncRead, AsyncWrite};
use tower::ServiceExt as _;

use super::KEEP_ALIVE;
use crate::inbound::caller::Peer;
use crate::inbound::patience::{ConnectionInfo, PacedBody, Streams};
use crate::inbound::problem::Problem;
use crate::slow;
use crate::state::Shared;

/// The name of HTTP/2 in TLS.
pub(super) const ALPN: &[u8] = b"h2";

/// Most streams of one connection at a time; one more is refused and may be sent again. Browsers wait by themselves.
const STREAMS_MAX: u32 = 100;

/// Most bytes of the headers of one request, as over HTTP/1.1; beyond it the answer is 431.
const HEAD_BYTES_MAX: u32 = 64 << 10;

/// Most bytes of a request's body that are taken before the handler reads them.
const STREAM_WINDOW_BYTES: u32 = 256 << 10;

/// Most bytes of all requests of a connection together that are taken before their handlers read them.
const CONNECTION_WINDOW_BYTES: u32 = 512 << 10;

/// Most bytes of answers of one stream that wait in the connection.
const SEND_BYTES_MAX: usize = 64 << 10;

/// Most streams at a time that the client has reset before they were served; one more ends the connection.
const RESETS_WAITING_MAX: usize = 20;

/// Most streams of a connection that the hub may have had to reset; one more ends it.
const RESETS_OWN_MAX: usize = 1_024;

/// So many times as long as the head of a request may take a connection may have no open stream, be no HTTP/2 yet, or be in the middle of a head.
/// After that it is asked to end, and after the same time again it is cut.
const IDLE_HEADS: u32 = 3;

/// Serves the requests of one connection, whose TLS is agreed on, until it ends or the hub drains. `line` is what is known of
/// the connection, which is cut as any other when its peer takes no byte; a stream whose reader takes none is reset alone.
pub(super) async fn serve(
    shared: Arc<Shared>,
    stream: impl AsyncRead + AsyncWrite + Unpin,
    (from, line): (IpAddr, Arc<ConnectionInfo>),
    router: Router,
) {
    let peer = Peer { address: from, is_tls: true };
    let streams = Streams::new(shared.tasks.clone(), shared.config.reader_silent, line);
    let service = service_fn(move |request| answer(request, peer, router.clone()));
    let head_within = shared.gate.head_within();
    let mut serving =
        std::pin::pin!(builder(&streams, head_within).serve_connection(TokioIo::new(stream), service));
    let mut is_closing = false;
    loop {
        tokio::select! {
            served = &mut serving => {
                if let Err(error) = served {
                    tracing::debug!(%error, "connection ended");
                }
                return;
            }
            () = shared.drain.cancelled(), if !is_closing => {}
            () = streams.idle(IDLE_HEADS * head_within) => if is_closing {
                slow::STREAMLESS.one();
                return tracing::debug!("a connection without a stream was cut");
            },
        }
        serving.as_mut().graceful_shutdown();
        is_closing = true;
    }
}

/// HTTP/2 with the bounds of this module. A peer that does not answer a ping within `head_within` is gone.
fn builder(streams: &Streams, head_within: Duration) -> Builder<Streams> {
    let mut builder = Builder::new(streams.clone());
    builder
        .timer(TokioTimer::new())
        .max_concurrent_streams(STREAMS_MAX)
        .max_header_list_size(HEAD_BYTES_MAX)
        .initial_stream_window_size(STREAM_WINDOW_BYTES)
        .initial_connection_window_size(CONNECTION_WINDOW_BYTES)
        .max_send_buf_size(SEND_BYTES_MAX)
        .max_pending_accept_reset_streams(RESETS_WAITING_MAX)
        .max_local_error_reset_streams(RESETS_OWN_MAX)
        .keep_alive_interval(KEEP_ALIVE)
        .keep_alive_timeout(head_within);
    builder
}

/// Answers one request. It never fails.
async fn answer(
    mut request: hyper::Request<Incoming>,
    peer: Peer,
    router: Router,
) -> Result<hyper::Response<PacedBody>, Infallible> {
    // Streams run each request in a task that has one.
    let line = ConnectionInfo::of_task().unwrap_or_default();
    request.extensions_mut().insert(peer);
    request.extensions_mut().insert(Arc::clone(&line));
    let response = match as_first_version(&mut request) {
        Ok(()) => serve_by(router, request.map(axum::body::Body::new)).await,
        Err(problem) => problem.into_response(),
    };
    Ok(response.map(|body| PacedBody::new(body, line)))
}

/// What the router answers.
async fn serve_by(router: Router, request: Request) -> Response {
    match router.oneshot(request).await {
        Ok(response) => response,
        Err(never) => match never {},
    }
}

/// Gives a request the form that it would have over HTTP/1.1: the host in `Host` and not in the target (RFC 9113, 8.3.1),
/// and all cookies in one header (8.2.3). Fails if the request names two hosts, and for tunnels.
fn as_first_version<B>(request: &mut hyper::Request<B>) -> Result<(), Problem> {
    if *request.method() == Method::CONNECT {
        return Err(Problem::new(
            ErrorCode::UpgradeRefused,
            "the hub makes no tunnels; WebSockets come over HTTP/1.1",
        ));
    }
    let mut target = std::mem::take(request.uri_mut()).into_parts();
    let authority = target.authority.take();
    target.scheme = None;
    let path = target.path_and_query.take();
    *request.uri_mut() = path.map_or_else(|| Uri::from_static("/"), Uri::from);
    let headers = request.headers_mut();
    if let Some(authority) = authority {
        let named = headers
            .get_all(header::HOST)
            .iter()
            .any(|host| !host.as_bytes().eq_ignore_ascii_case(authority.as_str().as_bytes()));
        let value = HeaderValue::from_str(authority.as_str()).ok().filter(|_| !named);
        let Some(value) = value else {
            return Err(Problem::bad_request("the Host of the request is not its :authority"));
        };
        // A second one of the same name stays, and is refused as over HTTP/1.1.
        headers.entry(header::HOST).or_insert(value);
    }
    join_cookies(headers);
    Ok(())
}

/// Makes one header of all cookies, which clients may send in several.
fn join_cookies(headers: &mut HeaderMap) {
    let crumbs: Vec<&[u8]> = headers.get_all(header::COOKIE).iter().map(HeaderValue::as_bytes).collect();
    if crumbs.len() < 2 {
        return;
    }
    // Values that could be sent one by one can be sent together.
    if let Ok(joined) = HeaderValue::from_bytes(&crumbs.join(&b"; "[..])) {
        headers.insert(header::COOKIE, joined);
    }
}

#[cfg(test)]
mod tests;
