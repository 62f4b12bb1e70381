//! The network side of the hub: everything that listens, serves and passes on.
//!
//! [`serve`] is the only entry, for the binary and for tests; [`Config`] says how the hub behaves. Events
//! come in over HTTP, `WebSocket`s, spans of `OpenTelemetry` and recorded calls of models. They go out as
//! frames, streams, documents and in the dialects of other servers, and to sinks.
//!
//! The crate must never keep conversations itself or decide what a run does next: that is the work of `hub`
//! and `agents`. It decodes nothing by hand (`dialects`), contains no SQL, and names no HTTP client
//! (`upstream`, `client`).
//!
//! Reading order: [`Config`] → `state` (what all parts share) → `app` (listening, draining) → [`tls`], [`access`], [`redaction`] (who comes in, and
//! what of it is struck) → `inbound` (what all share who answer requests) → `http` (the API, and in `http/compat` the doors for clients of other servers, with `door`, `threads`, `shelf` and `failures`;
//! `page_files` has the page) and `ws` (frames) → `commands`, `fork` (what a person wants done in a conversation), `frozen` (what frozen links
//! show) → `proxy` (recorded calls) → `sink`, `traces`, `retention` → `sharing`, `peers`, `balance` (several hubs on one log) → `work` and
//! `priority` (how much is done at once, and at which priority) → `metrics`. `simulation` is a test of most of them.
//! Which of them may name which is another order: `xtask/src/tidy/rooms.rs` has it.

use std::future::Future;
use std::sync::Arc;

use ::access::{Grant, NewToken, Pattern, Right, TokenError};
use event_log::clock;
use tokio::net::TcpListener;

pub mod access;
mod app;
mod asker;
mod balance;
mod commands;
mod config;
mod door;
mod failures;
mod fork;
mod frozen;
mod http;
mod inbound;
mod log_choice;
mod metrics;
mod page_files;
mod peers;
mod priority;
mod proxy;
pub mod redaction;
mod retention;
mod sharing;
mod shelf;
#[cfg(test)]
mod simulation;
mod sink;
mod slow;
mod sockets;
mod state;
mod threads;
pub mod tls;
mod traces;
mod work;
mod ws;

pub use access::AccessConfig;
pub use balance::Overload;
pub use config::Config;
pub use door::{DEFAULT_DOOR, DOORS, DOORS_WITHOUT_AGENT_NAME, DoorSettings, HangUp};
pub use http::help::help_texts;
pub use log_choice::{LogChoice, LogNotOpened, open_log};
pub use page_files::PageFiles;
pub use redaction::Redaction;
pub use retention::Retain;
pub use sharing::{PeersConfig, PeersError};
pub use sink::{FileTarget, Flush, Sink, Target};
pub use tls::TlsFiles;

/// Why the hub did not serve, or not to a good end.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// The address of the listener cannot be read.
    #[error("the address of the listener cannot be read")]
    Listener(#[source] std::io::Error),
    /// The listener can be reached from other machines, but access control is off or connections could be
    /// read along.
    #[error(
        "{0} can be reached from other machines, which takes access control, and TLS or a named proxy; or listen on 127.0.0.1 or [::1]"
    )]
    PublicAddress(std::net::SocketAddr),
    /// The files of access control cannot be read; nothing was served.
    #[error(transparent)]
    Access(access::StoreError),
    /// The certificate cannot be read; nothing was served.
    #[error(transparent)]
    Tls(tls::TlsError),
    /// Other hubs of the log could not be let in; nothing was served.
    #[error(transparent)]
    Peers(TokenError),
    /// What comes in could not be redacted; nothing was served.
    #[error(transparent)]
    Redaction(redaction::RedactionError),
    /// The log cannot be opened; nothing was served.
    #[error(transparent)]
    Log(Box<dyn std::error::Error + Send + Sync>),
    /// The hub has ended, and its log could not write everything.
    #[error("{0}")]
    Unwritten(Box<dyn std::error::Error + Send + Sync>),
    /// The hub has ended since another one had taken over its log while it was silent.
    #[error("another hub has taken over the log while this one was silent")]
    Overtaken,
}

/// A hub with an open log that does not serve yet. Dropping it is an unclean stop of the log; serve, even
/// with a `shutdown` that is ready, to close it.
#[derive(Debug)]
pub struct Ready(Arc<state::Shared>);

impl Ready {
    /// Reads the files of access control and the certificate, and opens the log. Must be called inside a
    /// runtime.
    pub fn new(mut config: Config) -> Result<Self, ServeError> {
        let_hubs_in(&mut config).map_err(ServeError::Peers)?;
        // Checked before the log, so that a refusal here does not open one.
        let gate = access::Gate::new(config.access.as_ref()).map_err(ServeError::Access)?;
        let tls = config.tls.clone().map(tls::Tls::new).transpose().map_err(ServeError::Tls)?;
        let redaction = config.redaction.as_ref().map(|redaction| redaction.redactor(&config.log));
        let redactor = redaction.transpose().map_err(ServeError::Redaction)?;
        let shared = state::Shared::new(config, gate, tls, redactor);
        shared.map(Self).map_err(ServeError::Log)
    }

    /// Serves on `listener` until `shutdown` is ready, then drains (invariant I13), closes the log and
    /// returns. Fails at once for an address that other machines can reach, unless the settings allow it.
    pub async fn serve(
        self,
        listener: TcpListener,
        shutdown: impl Future<Output = ()> + Send,
    ) -> Result<(), ServeError> {
        let address = listener.local_addr().map_err(ServeError::Listener)?;
        if !address.ip().is_loopback() && !self.0.config.may_be_reached() {
            return Err(ServeError::PublicAddress(address));
        }
        app::run(self.0, listener, address, shutdown).await
    }
}

/// Lets other hubs of the log in: with access control their token is one of this hub's own, and the name in its address is one under
/// which it may be called.
fn let_hubs_in(config: &mut Config) -> Result<(), TokenError> {
    let Some(peers) = &config.peers else { return Ok(()) };
    config.hosts.extend(peers.host().map(str::to_owned));
    if let Some(access) = &mut config.access {
        let grants = vec![Grant::new(Right::ALL, Pattern::any())];
        let new = NewToken {
            name: "another hub",
            grants,
            role: None,
            upstreams: Vec::new(),
            budget: None,
            lives_ms: None,
        };
        access.own.create(new, peers.token().hash(), clock::now_ms())?;
    }
    Ok(())
}

/// Calls [`Ready::new`] and then [`Ready::serve`].
pub async fn serve(
    config: Config,
    listener: TcpListener,
    shutdown: impl Future<Output = ()> + Send,
) -> Result<(), ServeError> {
    Ready::new(config)?.serve(listener, shutdown).await
}
