//! Proxies named by the environment variables that other programs use: `HTTPS_PROXY`, `HTTP_PROXY`,
//! `ALL_PROXY`, `NO_PROXY`. The local machine is reached without a proxy.
//!
//! | upstream | proxy in the environment | way |
//! |---|---|---|
//! | this machine | any | directly |
//! | `http://` | `http://` | the proxy gets each request with its whole URL ([`Detour::Asked`]) |
//! | `https://` | `http://` | a tunnel by `CONNECT` ([`Detour::Tunnel`]) |
//! | any | another kind | no connection, with the reason ([`Detour::Unknown`]) |

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
pub(crate) type Broken = Box<dyn std::error::Error + Send + Sync>;

/// The way to an upstream.
#[derive(Debug, Clone)]
pub(crate) enum Detour {
    /// Directly.
    None,
    /// Through a tunnel of a proxy, which does not see the content.
    Tunnel(Before),
    /// Through requests to a proxy, which forwards them.
    Asked(Before),
    /// The environment names a proxy that is not supported; the value says why.
    Unknown(String),
}

/// A proxy and its credentials.
#[derive(Debug, Clone)]
pub(crate) struct Before {
    /// The address of the proxy.
    place: Uri,
    /// The value of `Proxy-Authorization`.
    key: Option<HeaderValue>,
}

impl Detour {
    /// The way to `upstream` according to `matcher`.
    pub(crate) fn to(upstream: &Uri, matcher: &Matcher) -> Self {
        if upstream.host().is_none_or(is_near) {
            return Self::None;
        }
        let Some(found) = matcher.intercept(upstream) else { return Self::None };
        let place = found.uri().clone();
        // A password ends at the first `@`; the rest would be taken for the host and be shown.
        if place.authority().is_some_and(|authority| authority.as_str().contains('@')) {
            let why = "a proxy is set in the environment, whose name or password has an @ that is not written as %40";
            return Self::Unknown(why.to_owned());
        }
        if place.scheme() != Some(&Scheme::HTTP) {
            let kind = place.scheme_str().unwrap_or_default();
            let why =
                format!("a proxy is set in the environment, of the kind {kind}; only http:// is spoken to");
            return Self::Unknown(why);
        }
        let before = Before { place, key: found.basic_auth().cloned() };
        if upstream.scheme() == Some(&Scheme::HTTP) { Self::Asked(before) } else { Self::Tunnel(before) }
    }

    /// The way for a connection that must be end-to-end: a tunnel in place of forwarded requests.
    pub(crate) fn whole(self) -> Self {
        match self {
            Self::Asked(before) => Self::Tunnel(before),
            other => other,
        }
    }

    /// Whether requests are sent to a proxy that forwards them.
    pub(crate) fn is_asked(&self) -> bool {
        matches!(self, Self::Asked(_))
    }

    /// The `Proxy-Authorization` that a forwarding proxy needs with each request.
    pub(crate) fn key(&self) -> Option<&HeaderValue> {
        match self {
            Self::Asked(before) => before.key.as_ref(),
            _ => None,
        }
    }

    /// The host of the proxy, with its port if it names one; `None` without a proxy.
    pub(crate) fn place(&self) -> Option<String> {
        match self {
            Self::Tunnel(before) | Self::Asked(before) => Some(spot(&before.place)),
            Self::None | Self::Unknown(_) => None,
        }
    }
}

/// Whether `host` is the local machine.
fn is_near(host: &str) -> bool {
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
pub(crate) struct Reaching {
    tcp: HttpConnector,
    detour: Detour,
}

impl Reaching {
    /// A connector that makes its connections with `tcp`.
    pub(crate) fn new(tcp: HttpConnector, detour: Detour) -> Self {
        Self { tcp, detour }
    }
}

impl Service<Uri> for Reaching {
    type Response = TokioIo<TcpStream>;
    type Error = Broken;
    type Future = Pin<Box<dyn Future<Output = Result<TokioIo<TcpStream>, Broken>> + Send>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Broken>> {
        self.tcp.poll_ready(context).map_err(Broken::from)
    }

    fn call(&mut self, uri: Uri) -> Self::Future {
        match &self.detour {
            Detour::None => {
                let connecting = self.tcp.call(uri);
                Box::pin(async move { connecting.await.map_err(Broken::from) })
            }
            Detour::Asked(before) => {
                let (connecting, place) = (self.tcp.call(before.place.clone()), before.place.clone());
                Box::pin(async move { connecting.await.map_err(|error| through(&place, &error)) })
            }
            Detour::Tunnel(before) => {
                let place = before.place.clone();
                let mut tunnel = Tunnel::new(place.clone(), self.tcp.clone());
                if let Some(key) = &before.key {
                    tunnel = tunnel.with_auth(key.clone());
                }
                let connecting = tunnel.call(with_port(uri));
                Box::pin(async move { connecting.await.map_err(|error| through(&place, &error)) })
            }
            Detour::Unknown(why) => {
                let why = why.clone();
                Box::pin(async move { Err(Broken::from(why)) })
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

/// The host and the port of a proxy, without credentials.
fn spot(place: &Uri) -> String {
    let host = place.host().unwrap_or_default();
    place.port_u16().map_or_else(|| host.to_owned(), |port| format!("{host}:{port}"))
}

/// An error of a proxy, with the name of the proxy.
fn through(place: &Uri, error: &(dyn std::error::Error + 'static)) -> Broken {
    Broken::from(format!("through the proxy {} of the environment: {}", spot(place), reason(error)))
}

#[cfg(test)]
mod tests;
