//! Positions: a place in a conversation is a seq inside an epoch.

use std::fmt;

use compact_str::CompactString;
use serde::{Deserialize, Serialize};

/// Number of an event in an epoch, from 1, rising by 1 (invariant I1). 0 is "before the first". Stays below 2^53, so
/// that a browser's number holds it.
pub type Seq = u64;

/// The name of one life of a conversation's log. It changes whenever history cannot be continued, so that an old seq
/// is never held against a new log. Positions of different epochs are not comparable.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Epoch(CompactString);

impl Epoch {
    /// Makes the epoch with the name `text`.
    pub fn new(text: &str) -> Self {
        Self(CompactString::new(text))
    }

    /// The name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Epoch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A point in a conversation: after the event `seq` of `epoch`. Written `EPOCH:SEQ`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Position {
    /// The epoch: the life of the log.
    pub epoch: Epoch,
    /// The last event that this point includes; 0 for none.
    pub seq: Seq,
}

/// The text is not `EPOCH:SEQ`.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not a position, which is written EPOCH:SEQ")]
pub struct PositionError(String);

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.epoch, self.seq)
    }
}

impl std::str::FromStr for Position {
    type Err = PositionError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let wrong = || PositionError(text.chars().take(80).collect());
        let (epoch, seq) = text.rsplit_once(':').ok_or_else(wrong)?;
        if epoch.is_empty() {
            return Err(wrong());
        }
        let seq = seq.parse().map_err(|_not_a_number| wrong())?;
        Ok(Self { epoch: Epoch::new(epoch), seq })
    }
}
