//! Whether the lines of an audit log follow one another.

use super::{AuditEntry, AuditHead, hash_of};

/// Reads the lines of a log in order. One for each reading from the beginning; it keeps one hash, not the
/// lines.
#[derive(Debug, Clone, Default)]
pub struct AuditCheck {
    /// Where the lines that were read end; nothing before the first.
    head: Option<AuditHead>,
    /// The number of lines that were entries.
    entries: u64,
}

/// Why a line is none that follows the one before.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AuditFault {
    /// The line is no entry; the value says why.
    #[error("it is not an entry of an audit log: {0}")]
    NoEntry(String),
    /// Lines before it are missing, or were put in.
    #[error("it has the number {found}, and {expected} comes here")]
    Number {
        /// The one that comes here.
        expected: u64,
        /// The one that it has.
        found: u64,
    },
    /// The line before it is another one than when this was written.
    #[error("the line before it is not the one that it was written behind")]
    Chain,
}

impl AuditCheck {
    /// Takes the next line, without its line break. The first may be any: older ones are not kept for ever.
    ///
    /// Fails with [`AuditFault::NoEntry`] for a line that is none, with `Number` where lines are missing or
    /// too many, with `Chain` where the line before was changed. After a fault it goes on after the line, so
    /// that what comes later can still follow it.
    pub fn take(&mut self, line: &str) -> Result<AuditEntry, AuditFault> {
        let before = self.head.take();
        let hash = hash_of(line);
        let entry: AuditEntry = match serde_json::from_str(line) {
            Ok(entry) => entry,
            Err(error) => {
                let n = before.map_or(1, |head| head.n.saturating_add(1));
                self.head = Some(AuditHead { n, hash });
                return Err(AuditFault::NoEntry(error.to_string()));
            }
        };
        self.entries = self.entries.saturating_add(1);
        self.head = Some(AuditHead { n: entry.n, hash });
        let before = match before {
            Some(before) => before,
            None if entry.n == 1 => AuditHead::default(),
            None => return Ok(entry),
        };
        let expected = before.n.saturating_add(1);
        if entry.n != expected {
            return Err(AuditFault::Number { expected, found: entry.n });
        }
        if entry.prev != before.hash {
            return Err(AuditFault::Chain);
        }
        Ok(entry)
    }

    /// The number and hash of the last entry that was taken.
    pub fn head(&self) -> AuditHead {
        self.head.clone().unwrap_or_default()
    }

    /// The number of entries that were taken so far.
    pub fn entries(&self) -> u64 {
        self.entries
    }
}
