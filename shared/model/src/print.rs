//! What things are known by that others have written: the first bytes of SHA-256. Texts come from models, tools and the web, and
//! with a hash that is merely quick (FNV-1a) anybody can write one that is taken for another, so that two are mixed or one
//! is left out as told before.
//!
//! Hashes that only say whether a copy is whole stay FNV-1a: those of parts on the wire, of snapshots, of stripes of locks.

use std::fmt;
use std::hash::Hasher;

use sha2::{Digest as _, Sha256};

/// Hashes what is written to it. 64 bits are enough against whoever wants to be taken for something that is there; a name
/// that lasts has 128, see [`Fingerprint::name`].
#[derive(Clone, Default)]
pub struct Fingerprint(Sha256);

impl Fingerprint {
    /// The print of `texts`, each of which ends with a byte that no text has.
    pub fn of(texts: &[&str]) -> u64 {
        Self::over(texts).finish()
    }

    /// A name of 32 hex digits for `texts`.
    pub fn name_of(texts: &[&str]) -> String {
        Self::over(texts).name()
    }

    /// A name of 32 hex digits for what was written.
    pub fn name(&self) -> String {
        format!("{:032x}", u128::from_be_bytes(self.first()))
    }

    fn over(texts: &[&str]) -> Self {
        let mut printer = Self::default();
        for text in texts {
            printer.write(text.as_bytes());
            printer.write_u8(0xff);
        }
        printer
    }

    /// The first `N` bytes of the hash.
    fn first<const N: usize>(&self) -> [u8; N] {
        let digest = self.0.clone().finalize();
        digest.first_chunk().copied().unwrap_or([0; N])
    }
}

impl Hasher for Fingerprint {
    fn finish(&self) -> u64 {
        u64::from_be_bytes(self.first())
    }

    fn write(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    // Numbers are the same on every machine.
    fn write_u64(&mut self, number: u64) {
        self.write(&number.to_be_bytes());
    }

    fn write_usize(&mut self, number: usize) {
        self.write_u64(number as u64);
    }
}

impl fmt::Debug for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Fingerprint")
    }
}

#[cfg(test)]
mod tests {
    //! Tests of prints.

    use super::*;

    /// Two texts of one FNV-1a 64, from the literature.
    const COLLIDING: [&str; 2] = ["8yn0iYCKYHlIj4-BwPqk", "GReLUrM4wMqfg9yzV3KQ"];

    fn fnv(text: &str) -> u64 {
        let mut hasher = fnv::FnvHasher::default();
        hasher.write(text.as_bytes());
        hasher.finish()
    }

    #[test]
    fn texts_that_collide_in_fnv_have_prints_of_their_own() {
        let [one, other] = COLLIDING;
        assert_eq!(fnv(one), fnv(other), "they are what they are said to be");
        assert_ne!(Fingerprint::of(&[one]), Fingerprint::of(&[other]));
        assert_ne!(Fingerprint::name_of(&[one]), Fingerprint::name_of(&[other]));
        // What stands in front of both changes nothing of that.
        assert_ne!(crate::ids::PartId::new(&one.repeat(20)), crate::ids::PartId::new(&other.repeat(20)));
    }

    #[test]
    fn prints_are_those_of_sha_256_and_tell_where_a_text_ends() {
        assert_eq!(Fingerprint::default().name(), "e3b0c44298fc1c149afbf4c8996fb924");
        assert_eq!(Fingerprint::default().finish(), 0xe3b0_c442_98fc_1c14);
        assert_ne!(Fingerprint::of(&["ab", "c"]), Fingerprint::of(&["a", "bc"]));
    }
}
