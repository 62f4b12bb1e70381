//! Amounts with units, such as `10GB` and `30d`: the same in arguments, environment variables and the
//! settings file.
//!
//! ```text
//! 10GB = 10,000,000,000 bytes    2GiB = 2,147,483,648 bytes    512 = 512 bytes
//! 500ms, 3s, 15m, 12h, 30d       7 = 7 seconds
//! ```
//!
//! Units may be in any case. Amounts are whole numbers, and what does not fit into 64 bits is refused.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use serde::{Deserialize, Serialize};

/// A number of bytes: `512`, `16MiB`, `10GB`. Units are powers of 1000, with an `i` of 1024.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "WrittenAmount", into = "String")]
pub(crate) struct ByteSize(pub(crate) u64);

/// A duration: `500ms`, `3s`, `15m`, `12h`, `30d`. A number alone means seconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "WrittenAmount", into = "String")]
pub(crate) struct LengthOfTime(pub(crate) Duration);

/// An amount in a file: a text, or a number without a unit.
#[derive(Deserialize)]
#[serde(untagged)]
enum WrittenAmount {
    /// With a unit, or a number in quotes.
    Text(String),
    /// A number without a unit: bytes, or seconds.
    Number(u64),
}

/// The units of bytes and their factors.
const SIZES: [(&str, u64); 10] = [
    ("", 1),
    ("B", 1),
    ("KB", 1_000),
    ("MB", 1_000_000),
    ("GB", 1_000_000_000),
    ("TB", 1_000_000_000_000),
    ("KIB", 1 << 10),
    ("MIB", 1 << 20),
    ("GIB", 1 << 30),
    ("TIB", 1 << 40),
];

/// The units of time and their factors, in milliseconds.
const TIMES: [(&str, u64); 6] =
    [("", 1_000), ("MS", 1), ("S", 1_000), ("M", 60_000), ("H", 3_600_000), ("D", 86_400_000)];

/// Parses an amount, in the smallest unit; `None` if it is invalid or too large. `units` has the names in
/// capital letters.
fn amount(text: &str, units: &[(&str, u64)]) -> Option<u64> {
    let text = text.trim();
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (number, unit) = text.split_at_checked(end)?;
    let unit = unit.trim().to_ascii_uppercase();
    let (_, factor) = units.iter().find(|(name, _)| *name == unit)?;
    number.parse::<u64>().ok()?.checked_mul(*factor)
}

/// Writes an amount in the largest unit in which it is a whole number. Parsing the result gives the same
/// amount.
fn written(amount: u64, units: &[(&str, u64)]) -> String {
    let whole = units.iter().filter(|(name, factor)| !name.is_empty() && amount.is_multiple_of(*factor));
    match whole.max_by_key(|(_, factor)| *factor) {
        Some((name, factor)) if amount > 0 => format!("{}{name}", amount / factor),
        _ => amount.to_string(),
    }
}

impl FromStr for ByteSize {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let bytes = amount(text, &SIZES);
        bytes.map(Self).ok_or_else(|| format!("{text:?} is not a number of bytes such as 500MB or 2GiB"))
    }
}

impl FromStr for LengthOfTime {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let ms = amount(text, &TIMES);
        ms.map(|ms| Self(Duration::from_millis(ms)))
            .ok_or_else(|| format!("{text:?} is not a length of time such as 500ms, 3s, 15m, 12h or 30d"))
    }
}

impl fmt::Display for ByteSize {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&written(self.0, &SIZES).replace("IB", "iB"))
    }
}

impl fmt::Display for LengthOfTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ms = u64::try_from(self.0.as_millis()).unwrap_or(u64::MAX);
        f.write_str(&written(ms, &TIMES).to_ascii_lowercase())
    }
}

impl TryFrom<WrittenAmount> for ByteSize {
    type Error = String;

    fn try_from(written: WrittenAmount) -> Result<Self, String> {
        match written {
            WrittenAmount::Number(bytes) => Ok(Self(bytes)),
            WrittenAmount::Text(text) => text.parse(),
        }
    }
}

impl TryFrom<WrittenAmount> for LengthOfTime {
    type Error = String;

    fn try_from(written: WrittenAmount) -> Result<Self, String> {
        match written {
            WrittenAmount::Number(seconds) => Ok(Self(Duration::from_secs(seconds))),
            WrittenAmount::Text(text) => text.parse(),
        }
    }
}

impl From<ByteSize> for String {
    fn from(size: ByteSize) -> Self {
        size.to_string()
    }
}

impl From<LengthOfTime> for String {
    fn from(span: LengthOfTime) -> Self {
        span.to_string()
    }
}

#[cfg(test)]
mod tests;
