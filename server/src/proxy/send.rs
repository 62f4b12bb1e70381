//! The way out: one client for each upstream, HTTP/1.1 or 2 as the upstream speaks, TLS with the roots of the system, those
//! of Mozilla, and what the settings add.

use std::error::Error;
use std::sync::Arc;
use std::time::Duration;

use axum::http::{Request, Response};
use hyper::body::{Body, Incoming};
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder, MaybeHttpsStream};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
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

/// Sends calls to one upstream.
#[derive(Debug, Clone)]
pub(crate) struct Sender<B>(Client<HttpsConnector<HttpConnector>, B>);

impl<B> Sender<B>
where
    B: Body<Data: Send, Error: Into<Box<dyn Error + Send + Sync>>> + Send + Unpin + 'static,
{
    /// For one upstream.
    pub(super) fn new(upstream: &Upstream, roots: &Roots) -> Result<Self, rustls::Error> {
        let https = HttpsConnectorBuilder::new().with_tls_config(tls(upstream, roots)?).https_or_http();
        let https = https.enable_http1().enable_http2().wrap_connector(tcp());
        let client = Client::builder(TokioExecutor::new())
            .timer(TokioTimer::new())
            .pool_timer(TokioTimer::new())
            .pool_idle_timeout(IDLE)
            .http1_max_buf_size(READ_AHEAD_BYTES)
            .http1_preserve_header_case(true)
            .http2_initial_stream_window_size(WINDOW_BYTES)
            .build(https);
        Ok(Self(client))
    }

    /// Sends a request. To drop this breaks the request off.
    pub(crate) async fn send(&self, request: Request<B>) -> Result<Response<Incoming>, Fault> {
        self.0.request(request).await.map_err(|error| {
            let reason = reason(&error);
            if error.is_connect() { Fault::Unreachable(reason) } else { Fault::Failed(reason) }
        })
    }
}

/// A bare connection, behind TLS where that is wanted.
pub(crate) type Plug = TokioIo<MaybeHttpsStream<TokioIo<TcpStream>>>;

/// Connects to an upstream, for what is no call.
pub(super) async fn plug(upstream: &Upstream, roots: &Roots) -> Result<Plug, String> {
    let tls = tls(upstream, roots).map_err(|error| error.to_string())?;
    let https = HttpsConnectorBuilder::new().with_tls_config(tls).https_or_http();
    let https = https.enable_http1().wrap_connector(tcp());
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
fn tcp() -> HttpConnector {
    let mut http = HttpConnector::new();
    http.enforce_http(false);
    http.set_nodelay(true);
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
