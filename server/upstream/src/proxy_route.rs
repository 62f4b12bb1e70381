//! Proxies named by the environment variables that other programs use: `HTTPS_PROXY`, `HTTP_PROXY`,
//! `ALL_PROXY`, `NO_PROXY`. The local machine is reached without a proxy.
//!
//! | upstream | proxy in the environment | way |
//! |---|---|---|
//! | this machine | any | directly |
//! | `http://` | `http://` | the proxy gets each request with its whole URL ([`ProxyRoute::Forwarded`]) |
//! | `https://` | `http://` | a tunnel by `CONNECT` ([`ProxyRoute::Tunnel`]) |
//! | any | another kind | no connection, with the reason ([`ProxyRoute::Unsupported`]) |

use std::future::Future;
use std::net::IpAddr;
use std::pin::Pin;
use std::task::{Context, Poll};

use hyper::http::uri::{PathAndQuery, Scheme};
use hyper::http::{HeaderValue, Uri};
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::client::legacy::connect::proxy::Tunnel;
use hyper_util::client::proxy::matcher::Matcher;
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;
use tower::Service;

use crate::error::reason;

/// Why a connection could not be made.
pub(crate) type ConnectError = Box<dyn std::error::Error + Send + Sync>;

/// How an upstream is reached: directly or through a proxy.
#[derive(Debug, Clone)]
pub(crate) enum ProxyRoute {
    /// The upstream is reached directly.
    Direct,
    /// Through a tunnel of a proxy, which does not see the content.
    Tunnel(ProxyServer),
    /// Through requests to a proxy, which forwards them.
    Forwarded(ProxyServer),
    /// The environment names a proxy that is not supported; the value says why.
    Unsupported(String),
}

/// A proxy of the environment and its credentials.
#[derive(Debug, Clone)]
pub(crate) struct ProxyServer {
    /// The address of the proxy.
    address: Uri,
    /// The value of `Proxy-Authorization`.
    authorization: Option<HeaderValue>,
}

impl ProxyRoute {
    /// The way to `upstream` according to `matcher`.
    pub(crate) fn for_upstream(upstream: &Uri, matcher: &Matcher) -> Self {
        if upstream.host().is_none_or(is_local_machine) {
            return Self::Direct;
        }
        let Some(found) = matcher.intercept(upstream) else { return Self::Direct };
        let address = found.uri().clone();
        // A password ends at the first `@`; the rest would be taken for the host and be shown.
        if address.authority().is_some_and(|authority| authority.as_str().contains('@')) {
            let why = "a proxy is set in the environment, whose name or password has an @ that is not written as %40";
            return Self::Unsupported(why.to_owned());
        }
        if address.scheme() != Some(&Scheme::HTTP) {
            let kind = address.scheme_str().unwrap_or_default();
            let why =
                format!("a proxy is set in the environment, of the kind {kind}; only http:// is spoken to");
            return Self::Unsupported(why);
        }
        let proxy = ProxyServer { address, authorization: found.basic_auth().cloned() };
        if upstream.scheme() == Some(&Scheme::HTTP) { Self::Forwarded(proxy) } else { Self::Tunnel(proxy) }
    }

    /// The way for a connection that must be end-to-end: a tunnel in place of forwarded requests.
    pub(crate) fn end_to_end(self) -> Self {
        match self {
            Self::Forwarded(proxy) => Self::Tunnel(proxy),
            other => other,
        }
    }

    /// Whether requests are sent to a proxy that forwards them.
    pub(crate) fn is_forwarded(&self) -> bool {
        matches!(self, Self::Forwarded(_))
    }

    /// The `Proxy-Authorization` that a forwarding proxy needs with each request.
    pub(crate) fn authorization(&self) -> Option<&HeaderValue> {
        match self {
            Self::Forwarded(proxy) => proxy.authorization.as_ref(),
            _ => None,
        }
    }

    /// The host of the proxy, with its port if it names one; `None` without a proxy.
    pub(crate) fn address(&self) -> Option<String> {
        match self {
            Self::Tunnel(proxy) | Self::Forwarded(proxy) => Some(host_and_port(&proxy.address)),
            Self::Direct | Self::Unsupported(_) => None,
        }
    }
}

/// Whether `host`, a name or a number, is the local machine.
pub fn is_local_machine(host: &str) -> bool {
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    let bare = bare.strip_suffix('.').unwrap_or(bare);
    let is_local =
        bare.eq_ignore_ascii_case("localhost") || bare.to_ascii_lowercase().ends_with(".localhost");
    // The unspecified address reaches the local machine.
    let is_own = |address: IpAddr| address.is_loopback() || address.is_unspecified();
    is_local || bare.parse::<IpAddr>().is_ok_and(|address| is_own(address.to_canonical()))
}

/// Makes TCP connections, through the proxy if there is one.
#[derive(Debug, Clone)]
pub(crate) struct TcpConnector {
    tcp: HttpConnector,
    route: ProxyRoute,
}

impl TcpConnector {
    /// A connector that makes its connections with `tcp`.
    pub(crate) fn new(tcp: HttpConnector, route: ProxyRoute) -> Self {
        Self { tcp, route }
    }
}

impl Service<Uri> for TcpConnector {
    type Response = TokioIo<TcpStream>;
    type Error = ConnectError;
    type Future = Pin<Box<dyn Future<Output = Result<TokioIo<TcpStream>, ConnectError>> + Send>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), ConnectError>> {
        self.tcp.poll_ready(context).map_err(ConnectError::from)
    }

    fn call(&mut self, uri: Uri) -> Self::Future {
        match &self.route {
            ProxyRoute::Direct => {
                let connecting = self.tcp.call(uri);
                Box::pin(async move { connecting.await.map_err(ConnectError::from) })
            }
            ProxyRoute::Forwarded(proxy) => {
                let (connecting, address) = (self.tcp.call(proxy.address.clone()), proxy.address.clone());
                Box::pin(async move { connecting.await.map_err(|error| proxy_error(&address, &error)) })
            }
            ProxyRoute::Tunnel(proxy) => {
                let address = proxy.address.clone();
                let mut tunnel = Tunnel::new(address.clone(), self.tcp.clone());
                if let Some(authorization) = &proxy.authorization {
                    tunnel = tunnel.with_auth(authorization.clone());
                }
                let connecting = tunnel.call(with_port(uri));
                Box::pin(async move { connecting.await.map_err(|error| proxy_error(&address, &error)) })
            }
            ProxyRoute::Unsupported(why) => {
                let why = why.clone();
                Box::pin(async move { Err(ConnectError::from(why)) })
            }
        }
    }
}

/// `uri` with the default port of its scheme: a tunnel would use that of HTTPS.
fn with_port(uri: Uri) -> Uri {
    let Some(host) = uri.host().filter(|_| uri.scheme() == Some(&Scheme::HTTP) && uri.port().is_none())
    else {
        return uri;
    };
    let builder = Uri::builder().scheme(Scheme::HTTP).authority(format!("{host}:80"));
    builder.path_and_query(PathAndQuery::from_static("/")).build().unwrap_or(uri)
}

/// The host and the port of a proxy, without credentials, for people.
fn host_and_port(address: &Uri) -> String {
    let host = address.host().unwrap_or_default();
    address.port_u16().map_or_else(|| host.to_owned(), |port| format!("{host}:{port}"))
}

/// An error of a proxy, with the name of the proxy.
fn proxy_error(address: &Uri, error: &(dyn std::error::Error + 'static)) -> ConnectError {
    ConnectError::from(format!(
        "through the proxy {} of the environment: {}",
        host_and_port(address),
        reason(error)
    ))
}

#[cfg(test)]
mod tests;
