//! Short names for texts that may be hostile: nobody can make two texts of one name.

use compact_str::{CompactString, format_compact};
use sha2::{Digest as _, Sha256};

/// The first 128 bits of SHA-256 over the UTF-8 of `text`, as 32 hex digits. Names the large results of calls, and says which
/// arguments a person saw who agrees to a call.
pub fn digest(text: &str) -> CompactString {
    let digest = Sha256::digest(text.as_bytes());
    let first = digest.first_chunk().copied().unwrap_or_default();
    format_compact!("{:032x}", u128::from_be_bytes(first))
}

#[cfg(test)]
mod tests;
