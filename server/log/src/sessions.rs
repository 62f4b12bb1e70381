//! Sessions of browsers that all hubs of a log admit.

use crate::LogError;

/// Most sessions that are kept; the oldest go first.
pub const STORED_SESSIONS_MAX: usize = 2_000;

/// Most sessions of one caller that are kept; its oldest go first, so that nobody logs others out.
pub const STORED_SESSIONS_EACH_MAX: usize = 100;

/// A session as it is stored. It admits nobody: the secret is known by its hash alone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredSession {
    /// The hash of the session's secret.
    pub hash: String,
    /// A key of the caller: the same for all sessions of one token, link or person, and different for others.
    pub caller: String,
    /// For whom it stands, as the hubs write it.
    pub behind: String,
    /// When the session ends, in milliseconds since 1970.
    pub expires: u64,
}

/// Where hubs that share a log keep the sessions of browsers. All methods wait for the database.
pub trait SharedSessions: Sync {
    /// Keeps a session. Those that are over at `now`, in milliseconds since 1970, go, and the oldest beyond
    /// [`STORED_SESSIONS_EACH_MAX`] of one caller and [`STORED_SESSIONS_MAX`] in all.
    fn put(&self, session: &StoredSession, now: u64) -> Result<(), LogError>;

    /// Forgets a session; nothing happens where there is none.
    fn remove(&self, hash: &str) -> Result<(), LogError>;

    /// The session with this hash, also one that is over.
    fn find(&self, hash: &str) -> Result<Option<StoredSession>, LogError>;

    /// The hashes of all sessions.
    fn hashes(&self) -> Result<Vec<String>, LogError>;
}
