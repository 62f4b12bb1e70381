//! Settings that users change while the hub runs, where several hubs share a log: each is one text with a name.

use crate::LogError;

/// A setting as it was read.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct StoredSetting {
    /// How often it was changed; 0 where nobody has set it.
    pub version: u64,
    /// What it is set to, as the hubs write it; empty where nobody has set it.
    pub text: String,
}

/// Where hubs that share a log keep settings. All methods wait for the database.
pub trait SharedSettings: Sync {
    /// The value of the setting `name`.
    fn setting(&self, name: &str) -> Result<StoredSetting, LogError>;

    /// Sets `name` to `text` if it still has the version `after`; false, and nothing changes, if it has another one. Where this fails, it may
    /// have been set all the same.
    fn set(&self, name: &str, text: &str, after: u64) -> Result<bool, LogError>;
}
