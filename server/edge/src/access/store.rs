//! The files of access control in the data folder, for their owner alone: `tokens.json`, which `fanlight token` writes and the hub reads,
//! and `shares.json`, which the hub writes. Each is replaced as a whole, so that nobody reads half of one.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use access::{SECRET_BYTES, Secret, SecretKind, Share, Shares, TokenError, Tokens};
use rustls::crypto::ring;

/// Largest file that is read, in bytes: every token with all its grants fits.
const FILE_BYTES_MAX: u64 = 16 << 20;

/// Why a file of access control was not read or written.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The system did not do it.
    #[error("{path}: {error}")]
    Io {
        /// The file.
        path: String,
        /// Why.
        error: io::Error,
    },
    /// It holds something else.
    #[error("{path}: {error}")]
    Tokens {
        /// The file.
        path: String,
        /// Why.
        error: TokenError,
    },
    /// It holds something else.
    #[error("{path}: {error}")]
    Json {
        /// The file.
        path: String,
        /// Why.
        error: serde_json::Error,
    },
}

/// Bytes of the operating system's generator.
///
/// # Panics
/// When the system has none to give: without them there are no secrets.
pub fn random() -> [u8; SECRET_BYTES] {
    let mut bytes = [0; SECRET_BYTES];
    let filled = ring::default_provider().secure_random.fill(&mut bytes);
    filled.expect("the system gives random bytes");
    bytes
}

/// The file of tokens.
#[derive(Debug, Clone)]
pub struct TokenStore {
    path: PathBuf,
}

/// What tells one state of a file from another.
pub(super) type Mark = Option<(SystemTime, u64, u64)>;

impl TokenStore {
    /// That of the data folder `folder`.
    pub fn in_folder(folder: &Path) -> Self {
        Self { path: folder.join("tokens.json") }
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The tokens in it; none where there is no file.
    pub fn load(&self) -> Result<Tokens, StoreError> {
        let Some(text) = read(&self.path)? else { return Ok(Tokens::default()) };
        Tokens::read(&text).map_err(|error| StoreError::Tokens { path: shown(&self.path), error })
    }

    /// Changes the tokens. Two that do so at the same time wait for each other.
    pub fn change<T>(
        &self,
        change: impl FnOnce(&mut Tokens) -> Result<T, TokenError>,
    ) -> Result<T, StoreError> {
        let wrong = |error| StoreError::Io { path: shown(&self.path), error };
        let folder = self.path.parent().unwrap_or(Path::new("."));
        fs::create_dir_all(folder).map_err(wrong)?;
        let lock = private().write(true).create(true).truncate(false).open(self.path.with_extension("lock"));
        let lock = lock.map_err(wrong)?;
        lock.lock().map_err(wrong)?;
        let mut tokens = self.load()?;
        let changed = change(&mut tokens);
        let changed = changed.map_err(|error| StoreError::Tokens { path: shown(&self.path), error })?;
        replace(&self.path, &tokens.written())?;
        Ok(changed)
    }

    /// Makes a token: its secret, which nobody can read again.
    pub fn create(&self, new: access::NewToken<'_>, now: u64) -> Result<Secret, StoreError> {
        let secret = Secret::mint(SecretKind::Token, &random());
        self.change(|tokens| tokens.create(new, secret.hash(), now))?;
        Ok(secret)
    }

    /// What tells this state of the file from another.
    pub(super) fn mark(&self) -> Mark {
        let about = fs::metadata(&self.path).ok()?;
        #[cfg(unix)]
        let number = std::os::unix::fs::MetadataExt::ino(&about);
        #[cfg(not(unix))]
        let number = 0;
        Some((about.modified().ok()?, about.len(), number))
    }
}

/// The file of links.
#[derive(Debug)]
pub(super) struct ShareStore {
    path: PathBuf,
}

impl ShareStore {
    pub(super) fn in_folder(folder: &Path) -> Self {
        Self { path: folder.join("shares.json") }
    }

    /// The links in it that are not over at `now`.
    pub(super) fn load(&self, now: u64) -> Result<Shares, StoreError> {
        let Some(text) = read(&self.path)? else { return Ok(Shares::default()) };
        let all: Vec<Share> = serde_json::from_str(&text)
            .map_err(|error| StoreError::Json { path: shown(&self.path), error })?;
        Ok(Shares::of(all, now))
    }

    pub(super) fn save(&self, shares: &Shares) -> Result<(), StoreError> {
        let text = serde_json::to_string_pretty(shares.all());
        let text = text.map_err(|error| StoreError::Json { path: shown(&self.path), error })?;
        replace(&self.path, &text)
    }
}

pub(super) fn shown(path: &Path) -> String {
    path.display().to_string()
}

/// The text of the file; nothing where there is none.
fn read(path: &Path) -> Result<Option<String>, StoreError> {
    let wrong = |error| StoreError::Io { path: shown(path), error };
    match fs::metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(wrong(error)),
        Ok(about) if about.len() > FILE_BYTES_MAX => {
            let error = io::Error::other(format!("the file has more than {FILE_BYTES_MAX} bytes"));
            return Err(wrong(error));
        }
        Ok(_) => {}
    }
    fs::read_to_string(path).map(Some).map_err(wrong)
}

/// Files that their owner alone may read.
pub(super) fn private() -> OpenOptions {
    let mut options = OpenOptions::new();
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options
}

/// Puts `text` in place of what the file holds, all at once.
fn replace(path: &Path, text: &str) -> Result<(), StoreError> {
    let fresh = path.with_extension("new");
    let write = || {
        // What an attempt left behind may have other rights.
        match fs::remove_file(&fresh) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let mut file = private().write(true).create_new(true).open(&fresh)?;
        file.write_all(text.as_bytes())?;
        file.sync_all()?;
        fs::rename(&fresh, path)?;
        match path.parent() {
            // So that the new name survives the loss of power.
            Some(folder) => File::open(folder)?.sync_all(),
            None => Ok(()),
        }
    };
    write().map_err(|error| StoreError::Io { path: shown(path), error })
}
