//! How hubs that share a log reach one another, and prove who they are.

use access::{Secret, SecretKind};
use client::HubAddress;
use sha2::{Digest as _, Sha256};

/// The fewest bytes of the text from which the token of the hubs is made.
const SECRET_BYTES_MIN: usize = 32;

/// The settings of a hub that shares its log. All hubs of a log have the same secret.
#[derive(Debug, Clone)]
pub struct PeersConfig {
    /// The address under which other hubs reach this one.
    address: HubAddress,
    /// Made of the secret: its SHA-256 as a token, so the secret itself is never sent.
    token: Secret,
}

/// Why the settings cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PeersError {
    /// The address is none.
    #[error(transparent)]
    Address(#[from] client::AddressError),
    /// The address is one over TLS, which hubs do not speak with one another.
    #[error(
        "hubs that share a log reach one another over plain HTTP, in a network of their own, and {0} is https://"
    )]
    Tls(HubAddress),
    /// The secret is short, so that it could be guessed.
    #[error("the secret of the hubs has {0} bytes; it takes at least {SECRET_BYTES_MIN}")]
    Short(usize),
}

impl PeersConfig {
    /// A hub that others reach under `address`, and that has `secret` in common with them. Space around the
    /// secret does not count. Fails for an address that is none and for a secret under 32 bytes.
    pub fn new(address: &str, secret: &str) -> Result<Self, PeersError> {
        let address: HubAddress = address.parse()?;
        if address.is_tls() {
            return Err(PeersError::Tls(address));
        }
        let secret = secret.trim();
        if secret.len() < SECRET_BYTES_MIN {
            return Err(PeersError::Short(secret.len()));
        }
        let token = Secret::mint(SecretKind::Token, &Sha256::digest(secret.as_bytes()).into());
        Ok(Self { address, token })
    }

    /// Replaces port 0 of the address by `port`.
    #[must_use]
    pub fn listening_on(self, port: u16) -> Self {
        Self { address: self.address.listening_on(port), ..self }
    }

    /// How other hubs reach this one, as the log notes it.
    pub fn address(&self) -> String {
        self.address.to_string()
    }

    /// The name or number of the machine in the address.
    pub fn host(&self) -> Option<&str> {
        self.address.host()
    }

    /// What hubs show one another.
    pub(crate) fn token(&self) -> &Secret {
        &self.token
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hubs_with_the_same_secret_have_the_same_token_and_short_ones_are_refused() {
        let of = |secret: &str| PeersConfig::new("http://127.0.0.1:4600", secret);
        let long = "0123456789abcdef0123456789abcdef";
        assert_eq!(of(long).unwrap().token(), of(&format!("{long}\n")).unwrap().token());
        assert_ne!(of(long).unwrap().token(), of(&format!("{long}0")).unwrap().token());
        assert_eq!(of("short").unwrap_err(), PeersError::Short(5));
        assert!(matches!(PeersConfig::new("ftp://x", long), Err(PeersError::Address(_))));
        assert!(matches!(PeersConfig::new("https://x", long), Err(PeersError::Tls(_))));
        assert_eq!(of(long).unwrap().address(), "http://127.0.0.1:4600");
        assert!(!format!("{:?}", of(long)).contains(long));
    }
}
