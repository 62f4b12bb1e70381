//! What all requests of a process share: whom TLS trusts, and the proxies that the environment names.

use std::error::Error;
use std::sync::{Arc, OnceLock};

use bytes::Bytes;
use hyper::body::{Body, Incoming};
use hyper::{Request, Response};
use hyper_util::client::proxy::matcher::Matcher;
use rustls::RootCertStore;

use crate::config::Upstream;
use crate::detour::Detour;
use crate::error::SendError;
use crate::link::RawConnection;
use crate::send::{Sender, connect};
use crate::upgrade::upgrade;

/// TLS cannot be set up for an upstream: a certificate that it is to trust is none.
pub use rustls::Error as TlsError;

/// The way out of this process. Certificates and environment are read once, when the first upstream is called.
#[derive(Debug, Default)]
pub struct Egress {
    outside: OnceLock<Outside>,
}

impl Egress {
    /// Sends requests to `upstream`, over connections of its own. Nothing is connected before the first request.
    pub fn sender<B>(&self, upstream: &Upstream) -> Result<Sender<B>, TlsError>
    where
        B: Body<Data = Bytes, Error: Into<Box<dyn Error + Send + Sync>>> + Send + Unpin + 'static,
    {
        Sender::new(upstream, self.outside())
    }

    /// A bare connection to `upstream`, behind TLS where its URL says so, for what is no request. The error is for people.
    pub async fn connect(&self, upstream: &Upstream) -> Result<RawConnection, String> {
        connect(upstream, self.outside()).await
    }

    /// Sends a request that asks for another protocol, over a connection of its own. With status 101 [`hyper::upgrade::on`] gives that
    /// connection; it is closed once nobody holds it.
    pub async fn upgrade<B>(
        &self,
        upstream: &Upstream,
        request: Request<B>,
    ) -> Result<Response<Incoming>, SendError>
    where
        B: Body<Data = Bytes, Error: Into<Box<dyn Error + Send + Sync>>> + Send + 'static,
    {
        upgrade(upstream, self.outside(), request).await
    }

    fn outside(&self) -> &Outside {
        self.outside.get_or_init(|| blocking(Outside::load))
    }
}

/// Reads files without keeping other tasks of the thread waiting.
fn blocking<T>(read: impl FnOnce() -> T) -> T {
    match tokio::runtime::Handle::try_current().map(|handle| handle.runtime_flavor()) {
        Ok(tokio::runtime::RuntimeFlavor::MultiThread) => tokio::task::block_in_place(read),
        // One thread for everything: there is nobody else who could go on.
        _ => read(),
    }
}

/// What holds for all upstreams.
#[derive(Debug)]
pub(crate) struct Outside {
    /// Who is trusted everywhere.
    pub(crate) roots: Arc<RootCertStore>,
    /// The proxies before the world.
    pub(crate) proxies: Matcher,
}

impl Outside {
    /// Roots of the system and of Mozilla: a system may have none, and a company may have its own. Proxies as the
    /// environment says.
    fn load() -> Self {
        let mut store = RootCertStore { roots: webpki_roots::TLS_SERVER_ROOTS.to_vec() };
        // Single files that cannot be read leave the others.
        let system = rustls_native_certs::load_native_certs();
        store.add_parsable_certificates(system.certs);
        Self { roots: Arc::new(store), proxies: Matcher::from_env() }
    }

    /// How `upstream` is reached.
    pub(crate) fn detour(&self, upstream: &Upstream) -> Detour {
        upstream.uri("").map_or(Detour::None, |uri| Detour::to(&uri, &self.proxies))
    }
}
