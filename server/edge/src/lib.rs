//! What the network sees of the hub: everything that listens, serves and passes on.
//!
//! [`serve`] is the one entry, for the binary and for tests alike; [`Config`] says how the hub behaves. Events come in over HTTP, `WebSocket`s, spans of
//! `OpenTelemetry` and recorded calls of models; they go out as frames, streams, documents and in the dialects of other servers, and into sinks.
//!
//! The crate must never keep a conversation itself, nor decide what a run does next: that is `hub`'s and `agents`'. It decodes nothing by hand (`dialects`),
//! reads no SQL, and names no client of HTTP (`upstream`, `client`).
//!
//! Reading order: [`Config`] → `state` (what all edges share) → `app` (listening, draining) → `http` (the API, and `http/compat`: the doors for clients of
//! other servers, with `door`, `threads` and `shelf`) and `ws` (frames) → `commands`, `fork` (what a person has done in a conversation) → `proxy` (recorded calls) → `sink`, `traces`, `retention`
//! → `work` and `rank` (how much is done at once, and behind whom) → `metrics`.

use std::future::Future;
use std::sync::Arc;

use tokio::net::TcpListener;

pub mod access;
mod app;
mod commands;
mod config;
mod door;
mod failures;
mod fork;
mod http;
mod metrics;
mod proxy;
mod rank;
pub mod redaction;
mod retention;
mod shelf;
#[cfg(test)]
mod simulation;
mod sink;
mod state;
mod threads;
pub mod tls;
mod traces;
mod work;
mod ws;

pub use access::AccessConfig;
pub use config::{Config, LogChoice};
pub use door::{DEFAULT_DOOR, DOORS, DOORS_OF_ONE, Door, HangUp};
pub use redaction::Redaction;
pub use retention::Retain;
pub use sink::{FileTarget, Flush, Sink, Target};
pub use tls::TlsFiles;

/// Why the hub did not serve.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// The listener's address is unknown.
    #[error("the address of the listener cannot be read")]
    Listener(#[source] std::io::Error),
    /// The address can be reached from other machines, and everybody there might do everything or read along.
    #[error(
        "{0} can be reached from other machines, which takes access control, and TLS or a named proxy; or listen on 127.0.0.1 or [::1]"
    )]
    PublicAddress(std::net::SocketAddr),
    /// The files of access control were not read; nothing was served.
    #[error(transparent)]
    Access(access::StoreError),
    /// The certificate was not read; nothing was served.
    #[error(transparent)]
    Tls(tls::TlsError),
    /// What comes in could not be redacted; nothing was served.
    #[error(transparent)]
    Redaction(redaction::RedactionError),
    /// The log was not opened; nothing was served.
    #[error(transparent)]
    Log(Box<dyn std::error::Error + Send + Sync>),
    /// The hub has ended, and its log did not write everything.
    #[error("{0}")]
    Unwritten(Box<dyn std::error::Error + Send + Sync>),
}

/// A hub that has its log and serves nobody yet.
#[derive(Debug)]
pub struct Ready(Arc<state::Shared>);

impl Ready {
    /// Opens the log.
    pub fn new(config: Config) -> Result<Self, ServeError> {
        // Before the log: what is refused here opens none.
        let gate = access::Gate::new(config.access.as_ref()).map_err(ServeError::Access)?;
        let tls = config.tls.clone().map(tls::Tls::new).transpose().map_err(ServeError::Tls)?;
        let redaction = config.redaction.as_ref().map(|redaction| redaction.redactor(&config.log));
        let redactor = redaction.transpose().map_err(ServeError::Redaction)?;
        let shared = state::Shared::new(config, gate, tls, redactor);
        shared.map(Self).map_err(|error| ServeError::Log(Box::new(error)))
    }

    /// Serves on `listener` until `shutdown` is ready, then drains (invariant I13) and returns.
    pub async fn serve(
        self,
        listener: TcpListener,
        shutdown: impl Future<Output = ()> + Send,
    ) -> Result<(), ServeError> {
        let address = listener.local_addr().map_err(ServeError::Listener)?;
        if !address.ip().is_loopback() && !self.0.config.may_be_reached() {
            return Err(ServeError::PublicAddress(address));
        }
        let ended = app::run(self.0, listener, address, shutdown).await;
        ended.map_err(|unwritten| ServeError::Unwritten(Box::new(unwritten)))
    }
}

/// [`Ready::new`] and [`Ready::serve`].
pub async fn serve(
    config: Config,
    listener: TcpListener,
    shutdown: impl Future<Output = ()> + Send,
) -> Result<(), ServeError> {
    Ready::new(config)?.serve(listener, shutdown).await
}
