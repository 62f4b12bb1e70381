//! The certificate that the hub shows where it speaks TLS itself. It is read again when its files change: connections that are there
//! stay, new ones are shown the new one.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use parking_lot::RwLock;
use rustls::ServerConfig;
use rustls::crypto::ring;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};

/// Between two looks whether the files have changed.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// Where certificate and key are, as PEM.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TlsFiles {
    /// The certificate, followed by those that vouch for it.
    pub cert: PathBuf,
    /// Its key.
    pub key: PathBuf,
}

/// Why there is no TLS.
#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    /// A file was not read, or holds something else.
    #[error("{file}: {why}")]
    File {
        /// The file.
        file: String,
        /// Why.
        why: String,
    },
    /// The key is not that of the certificate.
    #[error("certificate and key do not fit together: {0}")]
    Unfit(#[from] rustls::Error),
}

/// A certificate that follows its files.
#[derive(Debug)]
pub(crate) struct Tls {
    files: TlsFiles,
    current: RwLock<Arc<ServerConfig>>,
}

impl Tls {
    /// Reads the files.
    pub(crate) fn new(files: TlsFiles) -> Result<Self, TlsError> {
        let current = RwLock::new(Arc::new(read(&files)?));
        Ok(Self { files, current })
    }

    /// What a new connection is shown.
    pub(crate) fn current(&self) -> Arc<ServerConfig> {
        Arc::clone(&self.current.read())
    }

    /// Follows the files. Does not end.
    pub(crate) async fn watch(&self) {
        let mut known = self.mark();
        loop {
            tokio::time::sleep(LOOK_EVERY).await;
            let mark = self.mark();
            if mark == known {
                continue;
            }
            known = mark;
            match read(&self.files) {
                Ok(fresh) => {
                    *self.current.write() = Arc::new(fresh);
                    tracing::info!("the certificate was read again");
                }
                // One of the two files may be new and the other not yet: looked at again when that comes.
                Err(error) => tracing::warn!(%error, "the certificate stays as it was"),
            }
        }
    }

    fn mark(&self) -> [Option<(SystemTime, u64)>; 2] {
        let of = |path: &Path| {
            let about = std::fs::metadata(path).ok()?;
            Some((about.modified().ok()?, about.len()))
        };
        [of(&self.files.cert), of(&self.files.key)]
    }
}

fn read(files: &TlsFiles) -> Result<ServerConfig, TlsError> {
    let wrong = |file: &Path, error: &dyn std::fmt::Display| TlsError::File {
        file: file.display().to_string(),
        why: error.to_string(),
    };
    let certs = CertificateDer::pem_file_iter(&files.cert).map_err(|error| wrong(&files.cert, &error))?;
    let certs = certs.collect::<Result<Vec<_>, _>>().map_err(|error| wrong(&files.cert, &error))?;
    if certs.is_empty() {
        return Err(wrong(&files.cert, &"there is no certificate in it"));
    }
    let key = PrivateKeyDer::from_pem_file(&files.key).map_err(|error| wrong(&files.key, &error))?;
    let builder = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()));
    let builder = builder.with_safe_default_protocol_versions()?.with_no_client_auth();
    let mut config = builder.with_single_cert(certs, key)?;
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(config)
}
