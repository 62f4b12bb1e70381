//! The audit log, the pure part: who did what and who was refused, one line of JSON for each, in which every line holds the SHA-256 of
//! the line before it. A line that was changed, put in or taken out is found by reading the lines in order.
//!
//! ```json
//! {"n":1,"at":1795300000000,"deed":"start","who":"hub","prev":"0000…"}
//! {"n":2,"at":1795300000123,"deed":"command","who":"ann","conversation":"c","prev":"9f2c…"}
//! ```

use std::fmt::Write as _;

use compact_str::CompactString;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

mod budget;
mod check;
mod views;

pub use budget::{REFUSALS_PER_MINUTE_MAX, RefusalBudget};
pub use check::{AuditCheck, AuditFault};
pub use views::{NotedViews, VIEW_AGAIN_MS};

/// Most characters of each text of an entry; what is longer is cut.
const TEXT_CHARS_MAX: usize = 200;

/// The actions that the audit log records.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AuditedAction {
    /// The hub began to write here.
    Start,
    /// Logged a browser in.
    LogIn,
    /// Logged a browser out.
    LogOut,
    /// Followed a share link.
    Follow,
    /// Asked for something and was refused.
    Refused,
    /// Commanded something in a conversation: to say, stop, approve, reject, retry, fork.
    Command,
    /// Asked an agent in the words of another server.
    Ask,
    /// Took a conversation along as a file.
    Export,
    /// Made a conversation of a file.
    Import,
    /// Deleted a conversation for good.
    Delete,
    /// Erased a value or a conversation from the files of a hub that was stopped.
    Erase,
    /// Began to view a conversation; only where the settings ask for it.
    View,
    /// Made a share link.
    Share,
    /// Revoked a share link.
    Unshare,
    /// Made an access token.
    CreateToken,
    /// Revoked an access token.
    RevokeToken,
    /// Did what only an operator may.
    Administer,
}

/// One thing that somebody did, before it has its place in the log. Texts of more than 200 characters are cut
/// when it gets one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Audited {
    /// The action.
    pub deed: AuditedAction,
    /// The name of the principal; empty where nobody knows who.
    pub who: CompactString,
    /// The conversation that it was about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub conversation: Option<CompactString>,
    /// The address that it came from: that of the proxy, where there is one in front of the hub.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<CompactString>,
    /// More about it: the command, the format, the name of a token, the reason of a refusal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
    /// Why it was not done, as a code; absent where it was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failed: Option<CompactString>,
}

impl Audited {
    /// `who` did it; more is not said.
    pub fn new(deed: AuditedAction, who: &str) -> Self {
        Self { deed, who: who.into(), conversation: None, from: None, detail: None, failed: None }
    }

    /// Sets the conversation that it was about.
    #[must_use]
    pub fn about(self, conversation: &str) -> Self {
        Self { conversation: Some(conversation.into()), ..self }
    }

    /// Sets the detail, a text that says more.
    #[must_use]
    pub fn with(self, detail: impl Into<String>) -> Self {
        Self { detail: Some(detail.into()), ..self }
    }

    /// Sets the address that it came from.
    #[must_use]
    pub fn at(self, address: &str) -> Self {
        Self { from: Some(address.into()), ..self }
    }

    /// Marks it as not done, for the reason `code`.
    #[must_use]
    pub fn failed(self, code: &str) -> Self {
        Self { failed: Some(code.into()), ..self }
    }

    /// With texts that fit: names and paths are what strangers send.
    fn bounded(self) -> Self {
        let short = |text: CompactString| text.chars().take(TEXT_CHARS_MAX).collect::<CompactString>();
        Self {
            deed: self.deed,
            who: short(self.who),
            conversation: self.conversation.map(short),
            from: self.from.map(short),
            detail: self.detail.map(|text| text.chars().take(TEXT_CHARS_MAX).collect()),
            failed: self.failed.map(short),
        }
    }
}

/// A line of the log.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AuditEntry {
    /// The number of the entry, from 1, rising by 1.
    pub n: u64,
    /// When it was done, in milliseconds since 1970 by the hub's clock.
    pub at: u64,
    /// The action, who did it, and what it was about.
    #[serde(flatten)]
    pub what: Audited,
    /// The SHA-256 of the line before, 64 hex digits; zeros in the first.
    pub prev: String,
}

/// Where the log ends: the number and the hash of its last line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AuditHead {
    /// The number of the last line; 0 before the first.
    pub n: u64,
    /// The SHA-256 of the last line, 64 hex digits.
    pub hash: String,
}

impl Default for AuditHead {
    fn default() -> Self {
        Self { n: 0, hash: "0".repeat(64) }
    }
}

impl AuditHead {
    /// The line for `what`, which follows this head at `at` (milliseconds since 1970), without its line
    /// break, and the head after it. Nothing is remembered: whoever writes the line keeps the head.
    pub fn next(&self, what: Audited, at: u64) -> (String, Self) {
        let n = self.n.saturating_add(1);
        let entry = AuditEntry { n, at, what: what.bounded(), prev: self.hash.clone() };
        // Numbers and texts: this cannot fail to be written.
        let line = serde_json::to_string(&entry).unwrap_or_default();
        let hash = hash_of(&line);
        (line, Self { n, hash })
    }
}

/// The SHA-256 of a line, in hex.
pub(crate) fn hash_of(line: &str) -> String {
    Sha256::digest(line.as_bytes()).iter().fold(String::with_capacity(64), |mut hex, byte| {
        // A string takes everything.
        let _written = write!(hex, "{byte:02x}");
        hex
    })
}

#[cfg(test)]
mod tests;
