//! What all requests of a process share: whom TLS trusts, and the proxies that the environment names.

use std::error::Error;
use std::sync::OnceLock;

use bytes::Bytes;
use hyper::body::{Body, Incoming};
use hyper::{Request, Response};
use hyper_util::client::proxy::matcher::Matcher;
use hyper_util::rt::TokioIo;
use rustls::RootCertStore;

use crate::config::Upstream;
use crate::connect::{Connector, RawConnection};
use crate::detour::Detour;
use crate::error::SendError;
use crate::send::Sender;
use crate::upgrade::upgrade;

/// TLS cannot be set up for an upstream: a certificate that it is to trust is none.
pub use rustls::Error as TlsError;

/// The way out of this process. Proxies are read from the environment when the first upstream is called, certificates when the first
/// one behind TLS is.
#[derive(Debug, Default)]
pub struct Egress {
    roots: OnceLock<RootCertStore>,
    proxies: OnceLock<Matcher>,
}

impl Egress {
    /// One that asks no proxy, whatever the environment says.
    pub fn direct() -> Self {
        Self { roots: OnceLock::new(), proxies: OnceLock::from(Matcher::builder().build()) }
    }

    /// Sends requests to `upstream`, over connections of its own. Nothing is connected before the first request.
    pub fn sender<B>(&self, upstream: &Upstream) -> Result<Sender<B>, TlsError>
    where
        B: Body<Data = Bytes, Error: Into<Box<dyn Error + Send + Sync>>> + Send + Unpin + 'static,
    {
        Sender::new(upstream, self)
    }

    /// A bare connection to `upstream`, behind TLS where its URL says so, for what is no request. The error is for people.
    pub async fn connect(&self, upstream: &Upstream) -> Result<RawConnection, String> {
        let connector = Connector::bare(upstream, self).map_err(|error| error.to_string())?;
        connector.connect().await.map(TokioIo::new)
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
        let connection = self.connect(upstream).await.map_err(SendError::Unreachable)?;
        upgrade(connection.into_inner(), request).await
    }

    /// How `upstream` is reached.
    pub(crate) fn detour(&self, upstream: &Upstream) -> Detour {
        let proxies = self.proxies.get_or_init(Matcher::from_env);
        upstream.uri("").map_or(Detour::None, |uri| Detour::to(&uri, proxies))
    }

    /// Who is trusted everywhere: roots of the system and of Mozilla, since a system may have none, and a company may have its own.
    pub(crate) fn roots(&self) -> &RootCertStore {
        self.roots.get_or_init(|| {
            blocking(|| {
                let mut store = RootCertStore { roots: webpki_roots::TLS_SERVER_ROOTS.to_vec() };
                // Single files that cannot be read leave the others.
                let system = rustls_native_certs::load_native_certs();
                store.add_parsable_certificates(system.certs);
                store
            })
        })
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
