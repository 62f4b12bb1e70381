//! The files of access control in the data folder, readable for their owner alone: `tokens.json`, which
//! `fanlight token` writes and the hub reads, and `shares.json`, which the hub writes. Each is replaced as a
//! whole, so nobody reads half of one.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use access::{SECRET_BYTES, Secret, SecretKind, Share, Shares, TokenError, Tokens};
use event_log::StoredShare;
use model::ConversationId;
use rustls::crypto::ring;

/// The largest file that is read, in bytes. A file with every token that is allowed, and all their grants, is
/// smaller.
const FILE_BYTES_MAX: u64 = 16 << 20;

/// Why a file of access control cannot be read or written.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The operating system refused.
    #[error("{path}: {error}")]
    Io {
        /// The path of the file.
        path: String,
        /// The error of the operating system.
        error: io::Error,
    },
    /// The file is not a valid list of tokens.
    #[error("{path}: {error}")]
    Tokens {
        /// The path of the file.
        path: String,
        /// What is wrong with it.
        error: TokenError,
    },
    /// The file does not hold keys.
    #[error("{path}: {error}")]
    Keys {
        /// The path of the file.
        path: String,
        /// What is wrong with it.
        error: String,
    },
    /// The file does not say what was spent.
    #[error("{path}: {error}")]
    Spending {
        /// The path of the file.
        path: String,
        /// What is wrong with it.
        error: String,
    },
    /// The file is not a valid list of links.
    #[error("{path}: {error}")]
    Json {
        /// The path of the file.
        path: String,
        /// What is wrong with it.
        error: serde_json::Error,
    },
}

/// Random bytes from the operating system's generator.
///
/// # Panics
///
/// If the system has none: without them there are no secrets.
pub fn random() -> [u8; SECRET_BYTES] {
    let mut bytes = [0; SECRET_BYTES];
    let filled = ring::default_provider().secure_random.fill(&mut bytes);
    filled.expect("the system gives random bytes");
    bytes
}

/// The file of tokens. Several processes may change it: changes wait for each other.
#[derive(Debug, Clone)]
pub struct TokenStore {
    path: PathBuf,
}

/// Modification time, length and inode of a file, to notice that it was replaced; `None` if there is none.
pub(super) type Mark = Option<(SystemTime, u64, u64)>;

impl TokenStore {
    /// The file of tokens in the data folder `folder`.
    pub fn in_folder(folder: &Path) -> Self {
        Self { path: folder.join("tokens.json") }
    }

    /// The path of the file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Reads the tokens; none if there is no file. Fails if it cannot be read, is too large, or is no list of
    /// tokens.
    pub fn load(&self) -> Result<Tokens, StoreError> {
        let Some(text) = read(&self.path)? else { return Ok(Tokens::default()) };
        Tokens::read(&text).map_err(|error| StoreError::Tokens { path: shown(&self.path), error })
    }

    /// Reads the tokens, changes them and writes them, under a lock between processes. Nothing is written if
    /// `change` fails.
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

    /// Makes a token and stores its hash. Returns its secret, which cannot be read again. `now` is in
    /// milliseconds since 1970.
    pub fn create(&self, new: access::NewToken<'_>, now: u64) -> Result<Secret, StoreError> {
        let secret = Secret::mint(SecretKind::Token, &random());
        self.change(|tokens| tokens.create(new, secret.hash(), now))?;
        Ok(secret)
    }

    /// Makes the first token as [`TokenStore::create`] does. `None` if the file has one: nothing is made or written then.
    pub fn create_first(&self, new: access::NewToken<'_>, now: u64) -> Result<Option<Secret>, StoreError> {
        let has_one = |tokens: &Tokens| tokens.all().next().is_some();
        if has_one(&self.load()?) {
            return Ok(None);
        }
        let secret = Secret::mint(SecretKind::Token, &random());
        self.change(|tokens| {
            // Another process may have made one just now.
            if has_one(tokens) {
                Ok(None)
            } else {
                tokens.create(new, secret.hash(), now).map(|()| Some(secret))
            }
        })
    }

    /// The present state of the file, for comparison with a later one.
    pub(super) fn mark(&self) -> Mark {
        mark(&self.path)
    }
}

/// The present state of a file, for comparison with a later one.
pub(super) fn mark(path: &Path) -> Mark {
    let about = fs::metadata(path).ok()?;
    #[cfg(unix)]
    let number = std::os::unix::fs::MetadataExt::ino(&about);
    #[cfg(not(unix))]
    let number = 0;
    Some((about.modified().ok()?, about.len(), number))
}

/// The file of links. Only the hub writes it.
#[derive(Debug)]
pub(super) struct ShareStore {
    path: PathBuf,
}

impl ShareStore {
    /// The file of links in the data folder `folder`.
    pub(super) fn in_folder(folder: &Path) -> Self {
        Self { path: folder.join("shares.json") }
    }

    /// Whether the file is there.
    pub(super) fn is_there(&self) -> bool {
        self.path.exists()
    }

    /// Reads the links that have not expired at `now`, in milliseconds since 1970.
    pub(super) fn load(&self, now: u64) -> Result<Shares, StoreError> {
        let Some(text) = read(&self.path)? else { return Ok(Shares::default()) };
        let all: Vec<Share> = serde_json::from_str(&text)
            .map_err(|error| StoreError::Json { path: shown(&self.path), error })?;
        Ok(Shares::of(all, now))
    }

    /// Writes all links. They are on the disk when this returns.
    pub(super) fn save(&self, shares: &Shares) -> Result<(), StoreError> {
        let text = serde_json::to_string_pretty(shares.all());
        let text = text.map_err(|error| StoreError::Json { path: shown(&self.path), error })?;
        replace(&self.path, &text)
    }
}

/// The copies of a conversation that frozen links show.
#[derive(Debug, Default)]
pub struct FrozenCopies {
    /// Those that a link shows.
    pub linked: Vec<ConversationId>,
    /// Those that no link shows any more, whatever they are copies of.
    pub unlinked: Vec<ConversationId>,
}

/// The copies of `conversation` among `there`, by the file of links in the data folder `folder` and by those that hubs share. Links that have
/// expired count. For a log that no hub has open. Fails if links cannot be read.
pub fn frozen_copies(
    folder: &Path,
    shared: &[StoredShare],
    conversation: &ConversationId,
    there: &[ConversationId],
) -> Result<FrozenCopies, StoreError> {
    let mut links = ShareStore::in_folder(folder).load(0)?.all().to_vec();
    for stored in shared {
        links.push(serde_json::from_str(&stored.share).map_err(|error| StoreError::Json {
            path: String::from("the links that the hubs share"),
            error,
        })?);
    }
    let mut copies = FrozenCopies::default();
    for copy in there.iter().filter(|name| name.is_frozen()) {
        match links.iter().find(|link| link.conversation == *copy) {
            Some(link) if link.subject() == conversation => copies.linked.push(copy.clone()),
            Some(_of_another) => {}
            None => copies.unlinked.push(copy.clone()),
        }
    }
    Ok(copies)
}

/// The path as text for error messages.
pub(super) fn shown(path: &Path) -> String {
    path.display().to_string()
}

/// The text of a file; `None` if there is no file. Fails for files over [`FILE_BYTES_MAX`].
pub(super) fn read(path: &Path) -> Result<Option<String>, StoreError> {
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

/// Options that make files which only their owner may read.
pub(crate) fn private() -> OpenOptions {
    let mut options = OpenOptions::new();
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options
}

/// Removes a file, if it is there. It is gone from the disk when this returns.
pub(super) fn remove(path: &Path) -> Result<(), StoreError> {
    let remove = || match fs::remove_file(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(error),
        Ok(()) => path.parent().map_or(Ok(()), |folder| File::open(folder)?.sync_all()),
    };
    remove().map_err(|error| StoreError::Io { path: shown(path), error })
}

/// Replaces the contents of a file at once. They are on the disk when this returns.
pub(super) fn replace(path: &Path, text: &str) -> Result<(), StoreError> {
    let fresh = path.with_extension("new");
    let write = || {
        // A file that an earlier attempt left behind may have other permissions.
        match fs::remove_file(&fresh) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let mut file = private().write(true).create_new(true).open(&fresh)?;
        file.write_all(text.as_bytes())?;
        file.sync_all()?;
        fs::rename(&fresh, path)?;
        match path.parent() {
            // So that the new name survives a loss of power.
            Some(folder) => File::open(folder)?.sync_all(),
            None => Ok(()),
        }
    };
    write().map_err(|error| StoreError::Io { path: shown(path), error })
}
