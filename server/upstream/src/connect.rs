//! Makes connections: over TCP or a proxy of the environment, with TLS, and with the HTTP version that the
//! other side chose.
//!
//! ```text
//! Connector::new   ─▶ TcpConnector (TCP, perhaps a proxy) ─▶ TLS, ALPN h2 or http/1.1 ─▶ Stream
//! Connector::end_to_end  ─▶ the same, always end-to-end, http/1.1 alone
//! ```

use std::time::Duration;

use hyper::http::Uri;
use hyper::http::uri::Scheme;
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder, MaybeHttpsStream};
use hyper_util::client::legacy::connect::{Connection as _, HttpConnector};
use hyper_util::rt::TokioIo;
use model::limits::PROXY_CONNECT_MS;
use rustls::{ClientConfig, RootCertStore};
use tokio::net::TcpStream;
use tower::ServiceExt as _;

use crate::config::Upstream;
use crate::machine::{MachineSettings, TlsError};
use crate::proxy_route::TcpConnector;
use crate::tls_failure::explained;

/// A connection for hyper, with TLS if the URL requires it.
pub(crate) type Stream = MaybeHttpsStream<TokioIo<TcpStream>>;

/// A connection for protocols other than HTTP requests.
pub type RawConnection = TokioIo<Stream>;

/// How a dead connection is detected: a router that dropped the connection does not report that.
#[derive(Debug, Clone, Copy)]
pub(crate) struct KeepAlive {
    /// How long the other side is silent before it is asked for a sign of life.
    pub(crate) interval: Duration,
    /// The time that the sign of life may take.
    pub(crate) timeout: Duration,
}

/// The values for all connections.
pub(crate) const KEEP_ALIVE: KeepAlive =
    KeepAlive { interval: Duration::from_secs(15), timeout: Duration::from_secs(10) };

/// The number of TCP probes within the patience.
const PROBES: u32 = 2;

/// Makes connections to one upstream.
#[derive(Debug, Clone)]
pub(crate) struct Connector {
    /// What makes the connection, layer by layer.
    https: HttpsConnector<TcpConnector>,
    /// The address of the upstream.
    uri: Uri,
}

impl Connector {
    /// Connections for requests, over HTTP/2 if the TLS handshake chooses it.
    pub(crate) fn new(upstream: &Upstream, machine: &MachineSettings) -> Result<Self, TlsError> {
        let https = HttpsConnectorBuilder::new().with_tls_config(tls(upstream, machine)?).https_or_http();
        let tcp_connector = TcpConnector::new(tcp(KEEP_ALIVE), machine.route(upstream));
        let https = https.enable_http1().enable_http2().wrap_connector(tcp_connector);
        Ok(Self { https, uri: upstream.uri("").unwrap_or_default() })
    }

    /// End-to-end connections to the upstream, for HTTP/1.1 or another protocol.
    pub(crate) fn end_to_end(upstream: &Upstream, machine: &MachineSettings) -> Result<Self, TlsError> {
        let https = HttpsConnectorBuilder::new().with_tls_config(tls(upstream, machine)?).https_or_http();
        let tcp_connector = TcpConnector::new(tcp(KEEP_ALIVE), machine.route(upstream).end_to_end());
        Ok(Self {
            https: https.enable_http1().wrap_connector(tcp_connector),
            uri: upstream.uri("").unwrap_or_default(),
        })
    }

    /// Whether the upstream is reached without TLS.
    pub(crate) fn is_plain(&self) -> bool {
        self.uri.scheme() == Some(&Scheme::HTTP)
    }

    /// Makes a connection within [`PROXY_CONNECT_MS`]. The error says why not.
    pub(crate) async fn connect(&self) -> Result<Stream, String> {
        let within = Duration::from_millis(PROXY_CONNECT_MS);
        let connected = tokio::time::timeout(within, self.https.clone().oneshot(self.uri.clone())).await;
        let late = |_elapsed| format!("no connection within {} s", within.as_secs());
        connected.map_err(late)?.map_err(|error| explained(&*error))
    }
}

/// Whether the other side of `stream` chose HTTP/2.
pub(crate) fn is_http2(stream: &Stream) -> bool {
    stream.connected().is_negotiated_h2()
}

/// The TLS configuration with the certificates that are trusted for an upstream: those of the system and its
/// own. Fails for a certificate that is none.
fn tls(upstream: &Upstream, machine: &MachineSettings) -> Result<ClientConfig, TlsError> {
    let is_protected = upstream.uri("").is_some_and(|uri| uri.scheme() == Some(&Scheme::HTTPS));
    let mut store = if is_protected { machine.roots().clone() } else { RootCertStore::empty() };
    for certificate in upstream.certificates() {
        store.add(certificate.clone())?;
    }
    let provider = std::sync::Arc::new(rustls::crypto::ring::default_provider());
    let builder = ClientConfig::builder_with_provider(provider);
    let builder = builder.with_safe_default_protocol_versions()?;
    Ok(builder.with_root_certificates(store).with_no_client_auth())
}

/// The TCP options of all connections.
fn tcp(keep_alive: KeepAlive) -> HttpConnector {
    let mut http = HttpConnector::new();
    http.enforce_http(false);
    http.set_nodelay(true);
    http.set_keepalive(Some(keep_alive.interval));
    http.set_keepalive_interval(Some(keep_alive.timeout / PROBES));
    http.set_keepalive_retries(Some(PROBES));
    http.set_connect_timeout(Some(Duration::from_millis(PROXY_CONNECT_MS)));
    http
}
