//! The certificate for TLS. It is read again when its files change: open connections keep the old one, new
//! ones get the new one.
//!
//! The files are looked at every second, since they are often replaced by another program. HTTP/2 and HTTP/1.1
//! are offered; `WebSockets` come over the latter.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use parking_lot::RwLock;
use rustls::ServerConfig;
use rustls::crypto::ring;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};

/// The time between two checks whether the files have changed.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// The paths of certificate and key, both PEM.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TlsFiles {
    /// The certificate, followed by those of the authorities that signed it.
    pub cert: PathBuf,
    /// The private key of the certificate.
    pub key: PathBuf,
}

/// Why TLS cannot be set up.
#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    /// A file cannot be read, or its contents are something else.
    #[error("{file}: {why}")]
    File {
        /// The path of the file.
        file: String,
        /// What is wrong with it.
        why: String,
    },
    /// The key does not belong to the certificate.
    #[error("certificate and key do not fit together: {0}")]
    Unfit(#[from] rustls::Error),
}

/// A certificate that follows its files. Owned by the hub's state.
#[derive(Debug)]
pub(crate) struct Tls {
    /// The files that are followed.
    files: TlsFiles,
    /// What new connections get.
    current: RwLock<Arc<ServerConfig>>,
}

impl Tls {
    /// Reads the files. Fails if one cannot be read or is something else, or if key and certificate do not
    /// fit together.
    pub(crate) fn new(files: TlsFiles) -> Result<Self, TlsError> {
        let current = RwLock::new(Arc::new(read(&files)?));
        Ok(Self { files, current })
    }

    /// The configuration for a new connection.
    pub(crate) fn current(&self) -> Arc<ServerConfig> {
        Arc::clone(&self.current.read())
    }

    /// Reads the files again whenever they change. Never returns. Files that cannot be used leave the
    /// certificate as it was.
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
                // Only one of the two files may be new yet: they are read again when the other one changes.
                Err(error) => tracing::warn!(%error, "the certificate stays as it was"),
            }
        }
    }

    /// Modification time and length of both files, to notice changes.
    fn mark(&self) -> [Option<(SystemTime, u64)>; 2] {
        let of = |path: &Path| {
            let about = std::fs::metadata(path).ok()?;
            Some((about.modified().ok()?, about.len()))
        };
        [of(&self.files.cert), of(&self.files.key)]
    }
}

/// Reads both files and makes a configuration of them.
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
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Ok(config)
}
