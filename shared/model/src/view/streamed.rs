//! A text that grows by deltas, with the checks that keep it honest: its true length, its hash, its limit.

use std::hash::Hasher as _;

use fnv::FnvHasher;
use serde::{Deserialize, Serialize};

use crate::limits::PART_BYTES_MAX;
use crate::text::SharedText;

/// The start value of FNV-1a with 64 bits.
const HASH_START: u64 = 0xcbf2_9ce4_8422_2325;

/// A text that grows. [`Streamed::len`] and [`Streamed::hash`] are those of the whole text, even where
/// [`Streamed::text`] stops at the limit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Streamed {
    /// The text, up to [`PART_BYTES_MAX`] bytes.
    #[cfg_attr(feature = "schema", schemars(with = "String"))]
    pub text: SharedText,
    /// Bytes of the whole text.
    pub len: u64,
    /// FNV-1a 64 of the whole text, in hex on the wire since a browser's number does not hold 64 bits.
    #[serde(with = "hex")]
    #[cfg_attr(feature = "schema", schemars(with = "String"))]
    pub hash: u64,
    /// Bytes that were over the limit.
    pub cut: u64,
    /// Bytes that never came.
    pub missing: u64,
    /// Whether a delta overlapped with the text before it.
    pub overlapped: bool,
    /// Whether text came after the end.
    pub late: bool,
}

impl Default for Streamed {
    fn default() -> Self {
        Self {
            text: SharedText::default(),
            len: 0,
            hash: HASH_START,
            cut: 0,
            missing: 0,
            overlapped: false,
            late: false,
        }
    }
}

/// What was odd about a delta, for the first time in this text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct DeltaOddities {
    /// Bytes are missing before it.
    pub hole: bool,
    /// The delta began before the end of the text.
    pub overlap: bool,
}

impl Streamed {
    /// A text that is there as a whole.
    pub fn whole(text: &str) -> Self {
        let mut streamed = Self::default();
        streamed.push(None, text);
        streamed
    }

    /// The hash as it stands on the wire.
    pub fn hash_hex(&self) -> String {
        format!("{:016x}", self.hash)
    }

    /// Adds a delta that starts at byte `off` (at the end where that is not said). What overlaps is taken once, what
    /// is missing is counted. Says what was odd for the first time, so that merging deltas changes nothing.
    pub fn push(&mut self, off: Option<u64>, text: &str) -> DeltaOddities {
        let mut odd = DeltaOddities::default();
        let fresh = self.fresh(off, text);
        let off = off.unwrap_or(self.len);
        let end = off.saturating_add(text.len() as u64);
        if off < self.len {
            odd.overlap = !self.overlapped;
            self.overlapped = true;
        } else if off > self.len {
            odd.hole = self.missing == 0;
            self.missing = self.missing.saturating_add(off.saturating_sub(self.len));
        }
        let text = fresh;
        self.len = self.len.max(end);
        let mut hasher = FnvHasher::with_key(self.hash);
        hasher.write(text.as_bytes());
        self.hash = hasher.finish();
        self.keep(text);
        odd
    }

    /// What of a delta that starts at byte `off` (at the end where that is not said) is not known yet.
    pub fn fresh<'a>(&self, off: Option<u64>, text: &'a str) -> &'a str {
        let known = off.map_or(0, |off| self.len.saturating_sub(off));
        if known == 0 { text } else { after(text, usize::try_from(known).unwrap_or(usize::MAX)) }
    }

    /// Appends as much as the limit allows.
    fn keep(&mut self, text: &str) {
        let room = if self.cut > 0 { 0 } else { PART_BYTES_MAX.saturating_sub(self.text.len()) };
        let mut end = room.min(text.len());
        while !text.is_char_boundary(end) {
            end = end.saturating_sub(1);
        }
        let kept = text.get(..end).unwrap_or_default();
        self.text.push_str(kept);
        self.cut = self.cut.saturating_add(text.len().saturating_sub(kept.len()) as u64);
    }
}

/// What of `text` comes after its first `known` bytes, from the next character on.
fn after(text: &str, known: usize) -> &str {
    let mut from = known.min(text.len());
    while !text.is_char_boundary(from) {
        from = from.saturating_add(1);
    }
    text.get(from..).unwrap_or_default()
}

mod hex {
    //! A 64-bit number as 16 hex digits.

    use serde::{Deserialize as _, Deserializer, Serializer};

    // Eight bytes are no more than a reference only where references have eight.
    #[cfg_attr(
        target_pointer_width = "64",
        expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it with a reference")
    )]
    pub(super) fn serialize<S: Serializer>(number: &u64, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&format_args!("{number:016x}"))
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u64, D::Error> {
        let text = <std::borrow::Cow<'de, str>>::deserialize(deserializer)?;
        u64::from_str_radix(&text, 16).map_err(serde::de::Error::custom)
    }
}
