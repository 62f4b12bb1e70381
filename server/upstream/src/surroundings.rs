//! What the machine says about the way out: the certificates that it trusts, and the proxies that its environment names.

use std::sync::OnceLock;

use hyper_util::client::proxy::matcher::Matcher;
use rustls::RootCertStore;

use crate::config::Upstream;
use crate::detour::Detour;

/// TLS cannot be set up for an upstream: a certificate that it is to trust is none.
pub use rustls::Error as TlsError;

/// Certificates and proxies of this machine, each read once, when it is first needed.
#[derive(Debug, Default)]
pub(crate) struct Surroundings {
    roots: OnceLock<RootCertStore>,
    proxies: OnceLock<Matcher>,
}

impl Surroundings {
    /// Certificates of this machine, and no proxies whatever its environment names.
    pub(crate) fn without_proxies() -> Self {
        Self { roots: OnceLock::new(), proxies: OnceLock::from(Matcher::builder().build()) }
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
