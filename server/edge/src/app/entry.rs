//! How connections come in: over TLS, in plain from this machine or from a named proxy, or not at all.
//!
//! ```text
//! accept ─▶ room for its address? ─ TLS set ─▶ agree on TLS ─ h2 ─▶ http2
//!                                  │                        └ http/1.1 ─▶ relay ─▶ connection
//!                                  └ plain ─▶ loopback or a named proxy? ─▶ connection
//! ```
//!
//! A connection that is not allowed is closed without an answer, and the trace says why.

use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;

use axum::Router;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio_rustls::TlsAcceptor;

use super::relay::relay;
use super::{connection, http2, tune};
use crate::access::Seat;
use crate::inbound::caller::Peer;
use crate::inbound::patience::Patient;
use crate::slow;
use crate::state::Shared;

/// Most connections at a time whose TLS is not agreed on yet; one more is closed. Each takes some 100 KiB,
/// and its peer is not known yet.
const HANDSHAKES_MAX: usize = 1_024;

/// The permits for handshakes, one for each at a time.
static HANDSHAKES: Semaphore = Semaphore::const_new(HANDSHAKES_MAX);

/// Spawns a task that serves a new connection, or closes it if it is not allowed.
pub(super) fn enter(shared: &Arc<Shared>, stream: TcpStream, from: SocketAddr, router: &Router) {
    let address = from.ip();
    // Behind a proxy many people have one address.
    let counted = shared.gate.counted().filter(|_| !shared.gate.is_proxy(address));
    let seat = match counted.map(|counted| counted.connection(address)) {
        Some(None) => {
            return tracing::warn!(%address, "a connection was closed, since its address has as many as it may");
        }
        seat => seat.flatten(),
    };
    if shared.tls.is_some() {
        shared.tasks.spawn(seated(seat, over_tls(Arc::clone(shared), stream, from, router.clone())));
    } else if address.to_canonical().is_loopback() || shared.gate.is_proxy(address) {
        let peer = Peer { address, is_tls: false };
        shared.tasks.spawn(seated(seat, connection(Arc::clone(shared), stream, peer, router.clone())));
    } else {
        tracing::warn!(%address, "a plain connection from an address that is not a named proxy was closed");
    }
}

/// Keeps the place of a connection until it ends.
async fn seated(seat: Option<Seat<IpAddr>>, connection: impl Future<Output = ()>) {
    connection.await;
    drop(seat);
}

/// Agrees on TLS within [`Gate::head_within`](crate::access::Gate::head_within). HTTP/2 is served as it comes. Otherwise relays between the peer and a TCP
/// connection inside this process, because frames are written to bare TCP sockets, and ends when both connections have.
async fn over_tls(shared: Arc<Shared>, stream: TcpStream, from: SocketAddr, router: Router) {
    let Some(tls) = &shared.tls else { return };
    let Ok(permit) = HANDSHAKES.try_acquire() else {
        tracing::warn!(%from, "a connection was closed, since {HANDSHAKES_MAX} others are agreeing on TLS");
        return;
    };
    if let Err(error) = tune(&stream) {
        tracing::debug!(%error, "the connection stays as the kernel made it");
    }
    let acceptor = TlsAcceptor::from(tls.current());
    let head_within = shared.gate.head_within();
    // A peer that takes no bytes counts as dead, as it does without TLS.
    let stream = Patient::new(stream, shared.config.reader_silent);
    let accepted = tokio::time::timeout(head_within, acceptor.accept(stream)).await;
    drop(permit);
    let outside = match accepted {
        Ok(Ok(outside)) => outside,
        Ok(Err(error)) => return tracing::debug!(%from, %error, "no TLS"),
        Err(_elapsed) => {
            slow::HANDSHAKES.one();
            return tracing::debug!(%from, "TLS was not agreed on in time");
        }
    };
    if outside.get_ref().1.alpn_protocol() == Some(http2::ALPN) {
        let line = Arc::clone(outside.get_ref().0.line());
        return http2::serve(Arc::clone(&shared), outside, (from.ip(), line), router).await;
    }
    let (inside, between) = match pair().await {
        Ok(pair) => pair,
        Err(error) => return tracing::warn!(%error, "no connection inside the hub"),
    };
    let peer = Peer { address: from.ip(), is_tls: true };
    let serving = connection(Arc::clone(&shared), inside, peer, router);
    let ((), relayed) = tokio::join!(serving, relay(outside, between, head_within));
    if let Err(error) = relayed {
        tracing::debug!(%from, %error, "a connection over TLS ended");
    }
}

/// Makes a TCP connection inside this process and returns both of its ends.
async fn pair() -> io::Result<(TcpStream, TcpStream)> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
    let between = TcpStream::connect(listener.local_addr()?).await?;
    between.set_nodelay(true)?;
    let own = between.local_addr()?;
    loop {
        // Another process on this machine may have connected first.
        let (inside, from) = listener.accept().await?;
        if from == own {
            return Ok((inside, between));
        }
    }
}
