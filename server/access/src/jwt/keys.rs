//! The keys of an issuer: one secret, or the public keys of a JWKS (RFC 7517).

use jsonwebtoken::jwk::{AlgorithmParameters, EllipticCurve, Jwk, KeyAlgorithm, PublicKeyUse};
use jsonwebtoken::{Algorithm, DecodingKey};
use serde::Deserialize;
use serde_json::Value;

use crate::denial::Denial;
use crate::secret::Hash;

/// Most keys of a JWKS.
pub const JWT_KEYS_MAX: usize = 100;

/// The shortest secret, in bytes: as long as what it makes (RFC 7518, 3.2).
const SECRET_BYTES_MIN: usize = 32;

/// The keys of one issuer. Replaced as a whole when they are read again.
#[derive(Debug, Clone, Default)]
pub struct JwtKeys {
    all: Vec<JwtKey>,
}

/// One key, and what it may be used for.
#[derive(Debug, Clone)]
pub(super) struct JwtKey {
    /// The name by which tokens pick it, if it has one.
    kid: Option<String>,
    /// What it may sign with.
    algorithms: Vec<Algorithm>,
    /// What checks a signature.
    pub(super) key: DecodingKey,
    /// What it is known by, when it is looked for again.
    pub(super) hash: Hash,
}

/// Why keys were not taken.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum JwtKeyError {
    /// The secret is too short to be one.
    #[error(
        "the secret has {0} bytes; HS256 needs {SECRET_BYTES_MIN} or more: `openssl rand -base64 48` makes one"
    )]
    Short(usize),
    /// The secret is no text that stands for one, but a public key.
    #[error("the file of the secret holds a public key, which everybody knows")]
    Public,
    /// The text is not a JWKS; the value says why.
    #[error("not a JWKS: {0}")]
    Set(String),
    /// The set has too many keys; the value is their number.
    #[error("the JWKS has {0} keys, the limit is {JWT_KEYS_MAX}")]
    Many(usize),
    /// None of the keys can be used.
    #[error("the JWKS has no key that signs with RS256, PS256, ES256, ES384 or EdDSA")]
    None,
}

/// A JWKS, as far as it is read. Each key is parsed by itself, so that one of an unknown kind spoils nothing.
#[derive(Deserialize)]
struct KeySet {
    keys: Vec<Value>,
}

impl JwtKeys {
    /// The one secret `text`, without the line break at its end.
    pub fn secret(text: &str) -> Result<Self, JwtKeyError> {
        let text = text.trim_end_matches(['\r', '\n']);
        if text.len() < SECRET_BYTES_MIN {
            return Err(JwtKeyError::Short(text.len()));
        }
        if text.contains("PUBLIC KEY") {
            return Err(JwtKeyError::Public);
        }
        let key = DecodingKey::from_secret(text.as_bytes());
        let (algorithms, hash) = (vec![Algorithm::HS256], Hash::of(text.as_bytes()));
        Ok(Self { all: vec![JwtKey { kid: None, algorithms, key, hash }] })
    }

    /// The keys of the JWKS `text`. Those that are for something else, or of a kind that is not taken, are left out; a secret among them is
    /// never one.
    pub fn set(text: &str) -> Result<Self, JwtKeyError> {
        let set: KeySet = serde_json::from_str(text).map_err(|error| JwtKeyError::Set(error.to_string()))?;
        if set.keys.len() > JWT_KEYS_MAX {
            return Err(JwtKeyError::Many(set.keys.len()));
        }
        let all: Vec<_> = set.keys.into_iter().filter_map(usable).collect();
        if all.is_empty() { Err(JwtKeyError::None) } else { Ok(Self { all }) }
    }

    /// Whether there is a key that is known by this hash.
    pub(super) fn has(&self, hash: &Hash) -> bool {
        self.all.iter().any(|key| key.hash == *hash)
    }

    /// The key for a token with this header. Without a `kid` there must be one key alone that may sign so.
    /// Fails with `UnknownKey` if no key has that name, with `Untrusted` if none or several of those fit the
    /// algorithm.
    pub(super) fn find(&self, kid: Option<&str>, algorithm: Algorithm) -> Result<&JwtKey, Denial> {
        // A secret has no name: whatever the token calls it, there is but one.
        let named = self
            .all
            .iter()
            .filter(|key| key.algorithms == [Algorithm::HS256] || kid.is_none() || key.kid.as_deref() == kid);
        let named: Vec<_> = named.collect();
        if named.is_empty() {
            return Err(Denial::UnknownKey);
        }
        let mut fitting = named.into_iter().filter(|key| key.algorithms.contains(&algorithm));
        match (fitting.next(), fitting.next()) {
            (Some(key), None) => Ok(key),
            _ => Err(Denial::Untrusted),
        }
    }
}

/// A key of a set, if it is one that signs and that the hub can use.
fn usable(value: Value) -> Option<JwtKey> {
    let hash = Hash::of(value.to_string().as_bytes());
    let jwk: Jwk = serde_json::from_value(value).ok()?;
    if jwk.common.public_key_use.as_ref().is_some_and(|usage| *usage != PublicKeyUse::Signature) {
        return None;
    }
    let mut algorithms = match &jwk.algorithm {
        AlgorithmParameters::RSA(_) => vec![Algorithm::RS256, Algorithm::PS256],
        AlgorithmParameters::EllipticCurve(key) if key.curve == EllipticCurve::P256 => vec![Algorithm::ES256],
        AlgorithmParameters::EllipticCurve(key) if key.curve == EllipticCurve::P384 => vec![Algorithm::ES384],
        AlgorithmParameters::OctetKeyPair(key) if key.curve == EllipticCurve::Ed25519 => {
            vec![Algorithm::EdDSA]
        }
        _ => return None,
    };
    if let Some(said) = jwk.common.key_algorithm {
        algorithms.retain(|algorithm| named(*algorithm) == Some(said));
    }
    let key = DecodingKey::from_jwk(&jwk).ok().filter(|_| !algorithms.is_empty())?;
    Some(JwtKey { kid: jwk.common.key_id, algorithms, key, hash })
}

/// The name of an algorithm in a key.
fn named(algorithm: Algorithm) -> Option<KeyAlgorithm> {
    match algorithm {
        Algorithm::RS256 => Some(KeyAlgorithm::RS256),
        Algorithm::PS256 => Some(KeyAlgorithm::PS256),
        Algorithm::ES256 => Some(KeyAlgorithm::ES256),
        Algorithm::ES384 => Some(KeyAlgorithm::ES384),
        Algorithm::EdDSA => Some(KeyAlgorithm::EdDSA),
        _ => None,
    }
}
