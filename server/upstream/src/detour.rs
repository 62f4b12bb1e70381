//! The proxy that a company may have put before the world, by the variables that other programs go by: `HTTPS_PROXY`,
//! `HTTP_PROXY`, `ALL_PROXY`, `NO_PROXY`. What is on this machine is reached without.

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

/// What went wrong on the way to a connection.
pub(crate) type Broken = Box<dyn std::error::Error + Send + Sync>;

/// How an upstream is reached.
#[derive(Debug, Clone)]
pub(crate) enum Detour {
    /// By itself.
    None,
    /// Through a tunnel that a proxy makes: what goes through it is nothing to the proxy.
    Tunnel(Before),
    /// By asking a proxy, which asks the upstream.
    Asked(Before),
    /// There is a proxy of a kind that is not spoken to.
    Unknown(String),
}

/// A proxy in front of upstreams, and the key that it wants.
#[derive(Debug, Clone)]
pub(crate) struct Before {
    place: Uri,
    /// What it wants to see of who comes.
    key: Option<HeaderValue>,
}

impl Detour {
    /// The way to `upstream` by what `matcher` read.
    pub(crate) fn to(upstream: &Uri, matcher: &Matcher) -> Self {
        if upstream.host().is_none_or(is_near) {
            return Self::None;
        }
        let Some(found) = matcher.intercept(upstream) else { return Self::None };
        let place = found.uri().clone();
        // A password ends at the first one: what is left would be taken for the host, and said.
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

    /// The same for what is no call, and needs a connection of its own from end to end.
    pub(crate) fn whole(self) -> Self {
        match self {
            Self::Asked(before) => Self::Tunnel(before),
            other => other,
        }
    }

    /// Whether the proxy is asked, rather than the upstream.
    pub(crate) fn is_asked(&self) -> bool {
        matches!(self, Self::Asked(_))
    }

    /// What the proxy that is asked wants to see with each call.
    pub(crate) fn key(&self) -> Option<&HeaderValue> {
        match self {
            Self::Asked(before) => before.key.as_ref(),
            _ => None,
        }
    }

    /// Where the proxy is, if there is one: its host, and its port where it names one.
    pub(crate) fn place(&self) -> Option<String> {
        match self {
            Self::Tunnel(before) | Self::Asked(before) => Some(spot(&before.place)),
            Self::None | Self::Unknown(_) => None,
        }
    }
}

/// Whether `host` is this machine.
fn is_near(host: &str) -> bool {
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    let bare = bare.strip_suffix('.').unwrap_or(bare);
    let is_local =
        bare.eq_ignore_ascii_case("localhost") || bare.to_ascii_lowercase().ends_with(".localhost");
    // What listens everywhere is called here by the address of everywhere.
    let is_own = |address: IpAddr| address.is_loopback() || address.is_unspecified();
    is_local || bare.parse::<IpAddr>().is_ok_and(|address| is_own(address.to_canonical()))
}

/// Makes connections, through the proxy where there is one.
#[derive(Debug, Clone)]
pub(crate) struct Reaching {
    tcp: HttpConnector,
    detour: Detour,
}

impl Reaching {
    /// With connections that `tcp` makes.
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

/// `uri` with the port that its scheme means: without one a tunnel leads to that of https.
fn with_port(uri: Uri) -> Uri {
    let Some(host) = uri.host().filter(|_| uri.scheme() == Some(&Scheme::HTTP) && uri.port().is_none())
    else {
        return uri;
    };
    let builder = Uri::builder().scheme(Scheme::HTTP).authority(format!("{host}:80"));
    builder.path_and_query(PathAndQuery::from_static("/")).build().unwrap_or(uri)
}

/// Host and port of a proxy, and nothing else that may stand there.
fn spot(place: &Uri) -> String {
    let host = place.host().unwrap_or_default();
    place.port_u16().map_or_else(|| host.to_owned(), |port| format!("{host}:{port}"))
}

/// What went wrong with a proxy, and which one it is.
fn through(place: &Uri, error: &(dyn std::error::Error + 'static)) -> Broken {
    Broken::from(format!("through the proxy {} of the environment: {}", spot(place), reason(error)))
}

#[cfg(test)]
mod tests;
