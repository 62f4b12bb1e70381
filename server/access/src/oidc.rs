//! Login at a provider of identities (OpenID Connect, authorization code with PKCE), the pure part: what the provider says of itself, the
//! logins that have begun, and what is asked and checked of an ID token.
//!
//! ```text
//! asks:    response_type=code, client_id, redirect_uri, scope, state, nonce, code_challenge ─▶ the browser
//! redeems: grant_type=authorization_code, code, redirect_uri, client_id, code_verifier ─▶ provider
//! check:   nonce and azp of the ID token are those of this login and this hub
//! ```

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use compact_str::CompactString;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use sha2::{Digest as _, Sha256};

use crate::denial::Denial;
use crate::jwt::VerifiedJwt;
use crate::secret::{Hash, SECRET_BYTES};

/// Most logins that have begun and are not done; another one replaces the oldest.
pub const LOGINS_MAX: usize = 1_000;

/// How long somebody may take at the provider, in milliseconds: ten minutes.
pub const LOGIN_MS: u64 = 10 * 60 * 1000;

/// What a provider says of itself (OpenID Connect Discovery, 3), as far as it is used.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct ProviderMetadata {
    /// The name of the provider, which its tokens carry.
    pub issuer: String,
    /// The URL at which people log in.
    pub authorization_endpoint: String,
    /// The URL at which the hub gets the ID token for the code.
    pub token_endpoint: String,
    /// The URL of its keys.
    pub jwks_uri: String,
    /// How the hub may show who it is, at the token endpoint.
    #[serde(default)]
    pub token_endpoint_auth_methods_supported: Vec<String>,
}

/// Why a provider is not used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ProviderError {
    /// The discovery document cannot be read; the value says why.
    #[error("the discovery document cannot be read: {0}")]
    Document(String),
    /// The document is somebody else's.
    #[error("the discovery document is of {0:?}")]
    Issuer(String),
    /// An address could be read or changed on the way.
    #[error("{0:?} is neither https nor on this machine")]
    Insecure(String),
}

impl ProviderMetadata {
    /// Reads the discovery document of `issuer`. Fails if it is another one's, or names an address that is
    /// neither https nor on this machine.
    pub fn read(text: &[u8], issuer: &str) -> Result<Self, ProviderError> {
        let read: Self =
            serde_json::from_slice(text).map_err(|error| ProviderError::Document(error.to_string()))?;
        if read.issuer != issuer {
            return Err(ProviderError::Issuer(read.issuer.chars().take(200).collect()));
        }
        for url in [&read.authorization_endpoint, &read.token_endpoint, &read.jwks_uri] {
            if !is_safe_url(url) {
                return Err(ProviderError::Insecure(url.chars().take(200).collect()));
            }
        }
        Ok(read)
    }

    /// Whether the secret of the hub goes into the form of the request, rather than into its header.
    pub fn wants_secret_in_form(&self) -> bool {
        let methods = &self.token_endpoint_auth_methods_supported;
        !methods.is_empty() && !methods.iter().any(|method| method == "client_secret_basic")
    }
}

/// Whether nobody on the way can change what comes from there: https, or http on this machine.
pub fn is_safe_url(url: &str) -> bool {
    let Some(rest) = url.strip_prefix("http://") else {
        return url.starts_with("https://") && !url.contains(|sign: char| sign.is_control() || sign == ' ');
    };
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    if authority.contains('@') || url.contains(|sign: char| sign.is_control() || sign == ' ') {
        return false;
    }
    let host = authority
        .strip_prefix("[::1]")
        .map_or_else(|| authority.split_once(':').map_or(authority, |(host, _)| host), |_port| "[::1]");
    host == "[::1]" || host == "localhost" || host.ends_with(".localhost") || host == "127.0.0.1"
}

/// A login that has begun. Hubs that share a log tell one another of it as JSON.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PendingLogin {
    /// What the ID token must repeat.
    pub nonce: String,
    /// What proves to the provider that whoever began comes for the token (RFC 7636).
    pub verifier: String,
    /// The path to which the browser goes afterwards.
    pub next: String,
}

impl PendingLogin {
    /// A login with random bytes, which must come from the operating system's generator.
    pub fn new(nonce: &[u8; SECRET_BYTES], verifier: &[u8; SECRET_BYTES], next: &str) -> Self {
        let text = |bytes: &[u8; SECRET_BYTES]| URL_SAFE_NO_PAD.encode(bytes);
        Self { nonce: text(nonce), verifier: text(verifier), next: next.to_owned() }
    }

    /// What the provider is told at the beginning, so that only who has the verifier gets the token.
    pub fn challenge(&self) -> String {
        URL_SAFE_NO_PAD.encode(Sha256::digest(&self.verifier))
    }

    /// Checks that an ID token, whose signature, issuer, audience and times are right, was made for this login at `client`.
    pub fn check(&self, token: &VerifiedJwt, client: &str) -> Result<(), Denial> {
        let said = |name: &str| token.claims.get(name).and_then(Value::as_str);
        let is_shared = token.claims.get("aud").and_then(Value::as_array).is_some_and(|all| all.len() > 1);
        let is_ours = match said("azp") {
            Some(azp) => azp == client,
            None => !is_shared && !token.claims.contains_key("azp"),
        };
        if said("nonce") == Some(&self.nonce) && is_ours { Ok(()) } else { Err(Denial::Untrusted) }
    }
}

/// Logins that have begun, by the hash of their state.
#[derive(Debug, Default)]
pub struct PendingLogins {
    /// The logins, each with when it is over, in milliseconds since 1970, and its number.
    open: BTreeMap<Hash, (PendingLogin, u64, u64)>,
    /// How many were ever begun, to find the oldest.
    begun: u64,
}

impl PendingLogins {
    /// Begins a login at `now`, in milliseconds since 1970. What is over makes room; with [`LOGINS_MAX`] open
    /// the oldest does.
    pub fn begin(&mut self, state: Hash, login: PendingLogin, now: u64) {
        self.open.retain(|_, (_, until, _)| *until > now);
        if self.open.len() >= LOGINS_MAX {
            let oldest = self.open.iter().min_by_key(|(_, (.., number))| *number).map(|(state, _)| *state);
            if let Some(oldest) = oldest {
                self.open.remove(&oldest);
            }
        }
        self.begun += 1;
        self.open.insert(state, (login, now.saturating_add(LOGIN_MS), self.begun));
    }

    /// Takes the login with this state, which cannot be taken again; `None` if there is none, or if it took too long.
    pub fn take(&mut self, state: &Hash, now: u64) -> Option<PendingLogin> {
        self.open.remove(state).filter(|(_, until, _)| *until > now).map(|(login, ..)| login)
    }
}

/// The settings of the hub at its provider.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OidcClient {
    /// The name of the provider.
    pub issuer: CompactString,
    /// The name of the hub there.
    pub client_id: CompactString,
    /// Where the provider sends browsers back to: `https://HUB/login/callback`.
    pub redirect: String,
    /// What is asked for, `openid` among it.
    pub scopes: Vec<CompactString>,
}

impl OidcClient {
    /// The fields of the request with which a browser is sent to the provider.
    pub fn asks<'a>(&'a self, login: &'a PendingLogin, state: &'a str) -> Vec<(&'static str, String)> {
        vec![
            ("response_type", "code".to_owned()),
            ("client_id", self.client_id.to_string()),
            ("redirect_uri", self.redirect.clone()),
            ("scope", self.scopes.join(" ")),
            ("state", state.to_owned()),
            ("nonce", login.nonce.clone()),
            ("code_challenge", login.challenge()),
            ("code_challenge_method", "S256".to_owned()),
        ]
    }

    /// The fields of the request with which the hub gets the ID token for `code`.
    pub fn redeems(&self, login: &PendingLogin, code: &str) -> Vec<(&'static str, String)> {
        vec![
            ("grant_type", "authorization_code".to_owned()),
            ("code", code.to_owned()),
            ("redirect_uri", self.redirect.clone()),
            ("client_id", self.client_id.to_string()),
            ("code_verifier", login.verifier.clone()),
        ]
    }
}

#[cfg(test)]
mod tests {
    //! Tests of what is believed of a provider, and of how long a login stays open.

    use serde_json::json;

    use super::*;
    use crate::secret::{Secret, SecretKind};

    fn document(change: impl FnOnce(&mut Value)) -> Result<ProviderMetadata, ProviderError> {
        let mut document = json!({
            "issuer": "https://id.example", "authorization_endpoint": "https://id.example/auth",
            "token_endpoint": "https://id.example/token", "jwks_uri": "https://id.example/jwks",
        });
        change(&mut document);
        ProviderMetadata::read(document.to_string().as_bytes(), "https://id.example")
    }

    #[test]
    fn a_provider_is_who_it_was_said_to_be_and_nobody_changes_its_words_on_the_way() {
        assert!(document(|_| {}).is_ok());
        assert!(matches!(
            document(|it| it["issuer"] = json!("https://id.example/")),
            Err(ProviderError::Issuer(_))
        ));
        for name in ["authorization_endpoint", "token_endpoint", "jwks_uri"] {
            for url in
                ["http://id.example/x", "ftp://id.example", "//id.example", "http://127.0.0.1@evil.example/"]
            {
                let got = document(|it| it[name] = json!(url));
                assert!(matches!(got, Err(ProviderError::Insecure(_))), "{name} {url}");
            }
        }
        for url in ["http://127.0.0.1:9/x", "http://localhost/x", "http://[::1]:9/x", "https://a.example"] {
            assert!(is_safe_url(url), "{url}");
        }
        for url in [
            "http://127.0.0.1.evil.example/",
            "http://localhost.evil.example",
            "https://a b",
            "http://[::1]x@e",
        ] {
            assert!(!is_safe_url(url), "{url}");
        }
    }

    fn state(number: u64) -> Hash {
        let mut random = [0; 32];
        random[..8].copy_from_slice(&number.to_be_bytes());
        Secret::mint(SecretKind::Login, &random).hash()
    }

    #[test]
    fn a_login_is_taken_once_and_in_time() {
        let login = PendingLogin::new(&[1; 32], &[2; 32], "/c/x");
        let mut logins = PendingLogins::default();
        logins.begin(state(1), login.clone(), 0);
        logins.begin(state(2), login.clone(), 0);
        assert_eq!(logins.take(&state(1), 1), Some(login));
        assert_eq!(logins.take(&state(1), 1), None, "a second time");
        assert_eq!(logins.take(&state(2), LOGIN_MS), None, "too late");
    }

    #[test]
    fn i7_logins_that_are_begun_and_left_are_bounded() {
        let login = PendingLogin::new(&[1; 32], &[2; 32], "/");
        let mut logins = PendingLogins::default();
        for number in 0..=LOGINS_MAX as u64 {
            logins.begin(state(number), login.clone(), 0);
        }
        assert_eq!(logins.open.len(), LOGINS_MAX);
        assert!(logins.take(&state(0), 0).is_none() && logins.take(&state(1), 0).is_some());
    }

    #[test]
    fn an_id_token_is_for_this_login_and_this_hub() {
        let login = PendingLogin::new(&[1; 32], &[2; 32], "/");
        let check = |claims: Value| {
            let Value::Object(claims) = claims else { unreachable!() };
            login.check(&VerifiedJwt { claims, expires: 1, key: state(0) }, "hub")
        };
        let nonce = &login.nonce;
        assert_eq!(check(json!({"aud":"hub","nonce":nonce})), Ok(()));
        assert_eq!(check(json!({"aud":["hub","x"],"azp":"hub","nonce":nonce})), Ok(()));
        for wrong in [
            json!({"aud":"hub"}),
            json!({"aud":"hub","nonce":"x"}),
            json!({"aud":["hub","x"],"nonce":nonce}),
            json!({"aud":"hub","azp":"x","nonce":nonce}),
            json!({"aud":"hub","azp":7,"nonce":nonce}),
        ] {
            assert_eq!(check(wrong.clone()), Err(Denial::Untrusted), "{wrong}");
        }
    }
}
