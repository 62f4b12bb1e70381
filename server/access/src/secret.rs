//! Secrets: 256 random bits as text, and the hash by which a secret is recognized. Since a secret is random,
//! one round of SHA-256 is enough: a slow hash would only make guessing slower, and there is nothing to
//! guess.

use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

/// The random bytes in a secret.
pub const SECRET_BYTES: usize = 32;

/// The number of base64 characters in which they are written.
const SIGNS: usize = 43;

/// The purpose of a secret. A secret of one kind is never accepted as one of another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SecretKind {
    /// A token, which programs send and people paste.
    Token,
    /// The session of a browser.
    Session,
    /// A link to a conversation.
    Share,
    /// A login at a provider of identities that has begun.
    Login,
}

impl SecretKind {
    /// The prefix of such a secret, by which scanners for leaked secrets recognize it.
    pub fn prefix(self) -> &'static str {
        match self {
            Self::Token => "fanlight_",
            Self::Session => "fls_",
            Self::Share => "flk_",
            Self::Login => "flo_",
        }
    }
}

/// The text of a secret. Only [`Secret::reveal`] shows it.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// Makes a secret from random bytes, which must come from the operating system's generator. The same
    /// bytes make the same secret.
    pub fn mint(kind: SecretKind, random: &[u8; SECRET_BYTES]) -> Self {
        Self(format!("{}{}", kind.prefix(), URL_SAFE_NO_PAD.encode(random)))
    }

    /// Parses a secret of this kind. `None` if it does not have the form; nothing is hashed then.
    pub fn parse(kind: SecretKind, text: &str) -> Option<Self> {
        let signs = text.strip_prefix(kind.prefix())?;
        let is_sign = |sign: u8| sign.is_ascii_alphanumeric() || matches!(sign, b'-' | b'_');
        (signs.len() == SIGNS && signs.bytes().all(is_sign)).then(|| Self(text.to_owned()))
    }

    /// The text, for the one who receives the secret.
    pub fn reveal(&self) -> &str {
        &self.0
    }

    /// The hash, which is stored in place of the secret.
    pub fn hash(&self) -> Hash {
        Hash(Sha256::digest(self.0.as_bytes()).into())
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret")
    }
}

/// The SHA-256 of a secret's text; 64 hex digits in files. The time of a comparison does not depend on where
/// two hashes differ.
#[derive(Clone, Copy, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Hash([u8; 32]);

impl Hash {
    /// The hash of `bytes`, by which something other than a secret is known again.
    pub(crate) fn of(bytes: &[u8]) -> Self {
        Self(Sha256::digest(bytes).into())
    }

    /// The first 12 hex digits. They name the secret for people and reveal nothing about it.
    pub fn short(&self) -> String {
        String::from(*self).chars().take(12).collect()
    }
}

impl PartialEq for Hash {
    fn eq(&self, other: &Self) -> bool {
        let differing = self.0.iter().zip(&other.0).fold(0, |differing, (one, two)| differing | (one ^ two));
        std::hint::black_box(differing) == 0
    }
}

impl TryFrom<String> for Hash {
    type Error = &'static str;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        let wrong = "a hash has 64 hex digits";
        let digits = text.as_bytes();
        if digits.len() != 64 || !digits.iter().all(u8::is_ascii_hexdigit) {
            return Err(wrong);
        }
        let mut hash = [0; 32];
        for (byte, pair) in hash.iter_mut().zip(digits.chunks_exact(2)) {
            let pair = std::str::from_utf8(pair).map_err(|_no_text| wrong)?;
            *byte = u8::from_str_radix(pair, 16).map_err(|_no_digits| wrong)?;
        }
        Ok(Self(hash))
    }
}

impl From<Hash> for String {
    fn from(hash: Hash) -> Self {
        let digit = |value: u8| char::from_digit(u32::from(value), 16).unwrap_or_default();
        hash.0.iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 0x0f)]).collect()
    }
}

impl fmt::Debug for Hash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Hash({})", self.short())
    }
}

#[cfg(test)]
mod tests {
    //! Tests of the form of secrets, and of what is kept of them.

    use super::*;

    #[test]
    fn a_secret_is_known_by_its_hash_and_shown_by_nothing_else() {
        let secret = Secret::mint(SecretKind::Token, &[7; 32]);
        let again = Secret::parse(SecretKind::Token, secret.reveal()).unwrap();
        assert_eq!(secret.hash(), again.hash());
        assert_ne!(secret.hash(), Secret::mint(SecretKind::Token, &[8; 32]).hash());
        assert!(!format!("{secret:?} {:?}", secret.hash()).contains(secret.reveal()));
        let kept: Hash = String::from(secret.hash()).try_into().unwrap();
        assert_eq!(kept, secret.hash());
    }

    #[test]
    fn a_secret_of_one_kind_is_none_of_another() {
        let kinds = [SecretKind::Token, SecretKind::Session, SecretKind::Share, SecretKind::Login];
        for made in kinds {
            for read in kinds {
                let secret = Secret::mint(made, &[1; 32]);
                assert_eq!(Secret::parse(read, secret.reveal()).is_some(), made == read, "{made:?} {read:?}");
            }
        }
    }

    #[test]
    fn what_has_not_its_form_is_no_secret() {
        let good = Secret::mint(SecretKind::Token, &[1; 32]).reveal().to_owned();
        let long = format!("{good}A");
        let short: String = good.chars().take(good.len() - 1).collect();
        let odd = [good.to_uppercase(), good.replace("AQ", "A "), good.replace("AQ", "ä"), String::new()];
        for bad in odd.iter().chain([&long, &short]) {
            assert_eq!(Secret::parse(SecretKind::Token, bad), None, "{bad:?}");
        }
    }

    #[test]
    fn what_is_no_hash_is_refused() {
        for bad in ["", "00", &"g".repeat(64), &"ä".repeat(32), &"+1".repeat(32)] {
            assert!(Hash::try_from(bad.to_owned()).is_err(), "{bad}");
        }
    }
}
