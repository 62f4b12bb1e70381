//! The cryptography behind JWT: that of TLS (`ring`), so that the hub has one library of it. It checks signatures and makes none.

use jsonwebtoken::crypto::{CryptoProvider, JwtVerifier, KeyUtils};
use jsonwebtoken::errors::{ErrorKind, Result};
use jsonwebtoken::{Algorithm, DecodingKey, DecodingKeyKind};
use ring::hmac;
use ring::signature::{self as signed, RsaPublicKeyComponents, UnparsedPublicKey, VerificationAlgorithm};
use signature::{Error, Verifier};

/// What the library asks for a verifier. It has no signer: the hub makes no JWT.
static RING: CryptoProvider = CryptoProvider {
    signer_factory: |_, _| Err(ErrorKind::InvalidAlgorithm.into()),
    verifier_factory: |algorithm, key| verifier(*algorithm, key),
    // No key is taken apart here.
    key_utils: KeyUtils::new_unimplemented(),
};

/// Makes it the one of this process. Another call changes nothing.
pub(super) fn install() {
    if RING.install_default().is_err() {
        // There is one already: this one.
    }
}

/// Checks signatures of one algorithm with one key.
struct RingVerifier {
    algorithm: Algorithm,
    key: DecodingKey,
}

/// A verifier for one token. Fails if the key is of another family than the algorithm.
fn verifier(algorithm: Algorithm, key: &DecodingKey) -> Result<Box<dyn JwtVerifier>> {
    if algorithm.family() != key.family() {
        return Err(ErrorKind::InvalidAlgorithm.into());
    }
    Ok(Box::new(RingVerifier { algorithm, key: key.clone() }))
}

impl JwtVerifier for RingVerifier {
    fn algorithm(&self) -> Algorithm {
        self.algorithm
    }
}

impl Verifier<Vec<u8>> for RingVerifier {
    fn verify(&self, message: &[u8], signature: &Vec<u8>) -> std::result::Result<(), Error> {
        let refused = |_not_told| Error::new();
        let with = |algorithm: &'static dyn VerificationAlgorithm| {
            let bytes = self.key.try_get_as_bytes().map_err(|_no_bytes| Error::new())?;
            UnparsedPublicKey::new(algorithm, bytes).verify(message, signature).map_err(refused)
        };
        match self.algorithm {
            Algorithm::HS256 => {
                let bytes = self.key.try_get_as_bytes().map_err(|_no_bytes| Error::new())?;
                let key = hmac::Key::new(hmac::HMAC_SHA256, bytes);
                hmac::verify(&key, message, signature).map_err(refused)
            }
            Algorithm::RS256 => self.rsa(&signed::RSA_PKCS1_2048_8192_SHA256, message, signature),
            Algorithm::PS256 => self.rsa(&signed::RSA_PSS_2048_8192_SHA256, message, signature),
            Algorithm::ES256 => with(&signed::ECDSA_P256_SHA256_FIXED),
            Algorithm::ES384 => with(&signed::ECDSA_P384_SHA384_FIXED),
            Algorithm::EdDSA => with(&signed::ED25519),
            _ => Err(Error::new()),
        }
    }
}

impl RingVerifier {
    /// Checks a signature with an RSA key, which has at least 2,048 bits.
    fn rsa(
        &self,
        algorithm: &'static signed::RsaParameters,
        message: &[u8],
        signature: &[u8],
    ) -> std::result::Result<(), Error> {
        let DecodingKeyKind::RsaModulusExponent { n, e } = self.key.kind() else { return Err(Error::new()) };
        let key = RsaPublicKeyComponents { n: without_zeros(n), e: without_zeros(e) };
        key.verify(algorithm, message, signature).map_err(|_not_told| Error::new())
    }
}

/// A number without zeros before its first digit, as `ring` wants it.
fn without_zeros(number: &[u8]) -> &[u8] {
    let zeros = number.iter().take_while(|byte| **byte == 0).count();
    number.get(zeros..).unwrap_or_default()
}
