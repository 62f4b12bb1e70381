//! The machine's settings for the way out: the certificates that it trusts, and the proxies of its
//! environment.

use std::sync::OnceLock;

use hyper_util::client::proxy::matcher::Matcher;
use rustls::RootCertStore;

use crate::config::Upstream;
use crate::proxy_route::ProxyRoute;

/// Why TLS cannot be set up for an upstream: a certificate that it is to trust is invalid.
pub use rustls::Error as TlsError;

/// The certificates and proxies of this machine, each read once, when first needed.
#[derive(Debug, Default)]
pub(crate) struct MachineSettings {
    /// The certificates, once a connection has needed them.
    roots: OnceLock<RootCertStore>,
    /// The proxies of the environment, once an upstream was set up.
    proxies: OnceLock<Matcher>,
}

impl MachineSettings {
    /// The certificates of this machine without its proxies.
    pub(crate) fn without_proxies() -> Self {
        Self { roots: OnceLock::new(), proxies: OnceLock::from(Matcher::builder().build()) }
    }

    /// The way to `upstream`. The environment is read once: later changes of it do not count.
    pub(crate) fn route(&self, upstream: &Upstream) -> ProxyRoute {
        let proxies = self.proxies.get_or_init(Matcher::from_env);
        upstream.uri("").map_or(ProxyRoute::Direct, |uri| ProxyRoute::for_upstream(&uri, proxies))
    }

    /// The certificates trusted for all upstreams: those of the system, since a company may have its own, and
    /// Mozilla's, since a system may have none.
    pub(crate) fn roots(&self) -> &RootCertStore {
        self.roots.get_or_init(|| {
            blocking(|| {
                let mut store = RootCertStore { roots: webpki_roots::TLS_SERVER_ROOTS.to_vec() };
                // A file that cannot be read does not affect the others.
                let system = rustls_native_certs::load_native_certs();
                store.add_parsable_certificates(system.certs);
                store
            })
        })
    }
}

/// Reads files without blocking other tasks of the thread.
fn blocking<T>(read: impl FnOnce() -> T) -> T {
    match tokio::runtime::Handle::try_current().map(|handle| handle.runtime_flavor()) {
        Ok(tokio::runtime::RuntimeFlavor::MultiThread) => tokio::task::block_in_place(read),
        // On a runtime with one thread no other task could run.
        _ => read(),
    }
}
