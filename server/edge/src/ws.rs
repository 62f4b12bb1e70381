//! `WebSockets`: the upgrade, and one task for each socket. After the upgrade the hub owns the TCP stream,
//! because pumps write encoded frames to it directly.
//!
//! Reading order: `connection` (the task of a socket), `inlet` (reading), `client_frames` (what each frame does),
//! `subscriptions` and `waiting` (what it follows), `feed` and `catch_up` (viewers that are behind), `publishing` with `acks`, `passing` and `commands`, then `admission`, `undelivered` and
//! `allowance`.

use std::net::IpAddr;
use std::sync::Arc;

use access::Admission;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use hyper::upgrade::{OnUpgrade, Upgraded};
use hyper_util::rt::TokioIo;
use model::frame::SUBPROTOCOL;
use tokio::net::TcpStream;

use crate::http::access::{Greeting, fair};
use crate::http::hubs::known::FromHub;
use crate::inbound::patience::Patient;
use crate::inbound::problem::Problem;
use crate::state::Shared;

mod accept;
mod acks;
mod admission;
mod allowance;
mod catch_up;
mod client_frames;
mod commands;
mod connection;
mod feed;
mod inlet;
mod passing;
mod publishing;
mod subscriptions;
mod undelivered;
mod waiting;

#[cfg(test)]
pub(crate) use feed::Feed;

/// Who is at the other end of a socket.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SocketKind {
    /// A viewer or a publisher.
    Client,
    /// Another hub of the log, which follows conversations and passes publications on.
    Hub,
}

/// `GET /v1/ws`: makes the connection a WebSocket. 101, or 400 for a request that is no upgrade of this
/// protocol, 503 while the hub drains. Who the client is may still be unknown: a token in `hello` is as good
/// as one in the request.
pub(crate) async fn upgrade(State(shared): State<Arc<Shared>>, mut request: Request) -> Response {
    let key = match accept::key(request.headers()) {
        Ok(key) => key,
        Err(problem) => return problem.into_response(),
    };
    if shared.is_draining() {
        return Problem::shutting_down().into_response();
    }
    let Some(upgraded) = request.extensions_mut().remove::<OnUpgrade>() else {
        return Problem::bad_request("this connection cannot become a WebSocket").into_response();
    };
    let admission = request.extensions_mut().remove::<Greeting>().and_then(|Greeting(admission)| admission);
    let kind = match request.extensions().get::<FromHub>() {
        Some(_) => SocketKind::Hub,
        None => SocketKind::Client,
    };
    let from = fair::address(&shared.gate, request.headers(), request.extensions());
    let tasks = shared.tasks.clone();
    tasks.spawn(async move {
        match upgraded.await {
            Ok(upgraded) => start((&shared, kind), upgraded, admission, from),
            Err(error) => tracing::debug!(%error, "upgrade failed"),
        }
    });
    let switching = Response::builder()
        .status(StatusCode::SWITCHING_PROTOCOLS)
        .header(header::CONNECTION, "upgrade")
        .header(header::UPGRADE, "websocket")
        .header(header::SEC_WEBSOCKET_ACCEPT, key)
        .header(header::SEC_WEBSOCKET_PROTOCOL, SUBPROTOCOL)
        .body(Body::empty());
    switching.unwrap_or_else(|_bad_header| StatusCode::INTERNAL_SERVER_ERROR.into_response())
}

/// Takes the TCP stream and starts the task of the socket. It is a new and small one: the task of the upgrade
/// ends.
fn start(
    (shared, kind): (&Arc<Shared>, SocketKind),
    upgraded: Upgraded,
    admission: Option<Admission>,
    from: Option<IpAddr>,
) {
    match upgraded.downcast::<TokioIo<Patient<TcpStream>>>() {
        Ok(parts) => {
            let stream = parts.io.into_inner().into_inner();
            let connection =
                connection::Connection::new((Arc::clone(shared), kind), stream, &parts.read_buf, admission);
            let connection = connection.from(from);
            shared.tasks.spawn(Box::new(connection).run());
        }
        Err(_other_stream) => tracing::error!("the upgraded stream is no TCP stream"),
    }
}

#[cfg(test)]
mod tests;
