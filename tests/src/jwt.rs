//! Tokens that somebody else signs, and the keys for that. Whoever forges one does it here too.

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use ring::rand::SystemRandom;
use ring::signature::{Ed25519KeyPair, KeyPair as _, RSA_PKCS1_SHA256, RsaKeyPair};
use ring::{hmac, rsa};
use serde_json::{Value, json};

/// The key pair of tests with RSA, as PKCS #8 in base64: making one takes seconds.
const RSA: &str = include_str!("../fixtures/jwt/rsa-test-key.txt");

/// The keys of an issuer.
#[derive(Debug)]
pub struct JwtSigner {
    kid: String,
    ed: Ed25519KeyPair,
    rsa: RsaKeyPair,
}

/// Bytes as they stand in tokens.
pub fn b64(bytes: impl AsRef<[u8]>) -> String {
    URL_SAFE_NO_PAD.encode(bytes)
}

/// The time in seconds since 1970.
///
/// # Panics
/// When the clock is set before that.
pub fn now_s() -> u64 {
    let since = std::time::SystemTime::UNIX_EPOCH.elapsed().expect("a clock that is set");
    since.as_secs()
}

/// A token with this header, signed by `sign`.
pub fn token(header: &Value, claims: &Value, sign: impl FnOnce(&[u8]) -> Vec<u8>) -> String {
    let message = format!("{}.{}", b64(header.to_string()), b64(claims.to_string()));
    let signature = sign(message.as_bytes());
    format!("{message}.{}", b64(signature))
}

/// A token that is signed with a secret.
pub fn hs256(header: &Value, claims: &Value, secret: &[u8]) -> String {
    token(header, claims, |message| {
        hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, secret), message).as_ref().to_vec()
    })
}

impl JwtSigner {
    /// New keys, of which that for EdDSA is called `kid` and that for RS256 `kid-rsa`.
    ///
    /// # Panics
    /// When the system gives no random bytes.
    pub fn new(kid: &str) -> Self {
        let made = Ed25519KeyPair::generate_pkcs8(&SystemRandom::new()).expect("a key");
        let ed = Ed25519KeyPair::from_pkcs8(made.as_ref()).expect("the key that was made");
        let rsa = STANDARD.decode(RSA).expect("base64");
        Self { kid: kid.to_owned(), ed, rsa: RsaKeyPair::from_pkcs8(&rsa).expect("a key") }
    }

    /// What the issuer tells everybody of its keys.
    pub fn jwks(&self) -> Value {
        let rsa: rsa::PublicKeyComponents<Vec<u8>> = self.rsa.public().into();
        json!({"keys": [
            {"kty": "OKP", "crv": "Ed25519", "kid": self.kid, "x": b64(self.ed.public_key())},
            {"kty": "RSA", "kid": format!("{}-rsa", self.kid), "n": b64(rsa.n), "e": b64(rsa.e)},
        ]})
    }

    /// A token with `claims`, signed with EdDSA.
    pub fn sign(&self, claims: &Value) -> String {
        self.sign_as(&json!({"alg": "EdDSA", "kid": self.kid}), claims)
    }

    /// A token with `claims` and another header, signed with EdDSA whatever that says.
    pub fn sign_as(&self, header: &Value, claims: &Value) -> String {
        token(header, claims, |message| self.ed.sign(message).as_ref().to_vec())
    }

    /// A token with `claims`, signed with RS256.
    ///
    /// # Panics
    /// When the system gives no random bytes.
    pub fn sign_rsa(&self, claims: &Value) -> String {
        token(&json!({"alg": "RS256", "kid": format!("{}-rsa", self.kid)}), claims, |message| {
            let mut signature = vec![0; self.rsa.public().modulus_len()];
            self.rsa.sign(&RSA_PKCS1_SHA256, &SystemRandom::new(), message, &mut signature).expect("signed");
            signature
        })
    }
}
