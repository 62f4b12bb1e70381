//! Tokens that others sign: JWT (RFC 7519, 8725). An issuer of the settings has its keys, the algorithms that they may be used with, and
//! the audience that its tokens must name. What a token says of keys itself (`jku`, `jwk`, `x5u`) is not looked at, and its `kid` only picks
//! one of the keys that there are.
//!
//! ```text
//! text ─▶ iss (unchecked) picks the issuer ─▶ header: alg, kid, typ, crit ─▶ key
//!      ─▶ signature, iss, aud ─▶ exp, nbf, iat ─▶ VerifiedJwt ─▶ IdentityMapping ─▶ Principal
//! ```

use compact_str::CompactString;
use jsonwebtoken::{Algorithm, Validation};
use serde_json::{Map, Value};

use crate::denial::Denial;
use crate::mapping::IdentityMapping;
use crate::secret::Hash;

mod keys;
mod provider;

pub use keys::{JWT_KEYS_MAX, JwtKeyError, JwtKeys};

/// Longest JWT that is looked at, in bytes.
pub const JWT_BYTES_MAX: usize = 8 << 10;

/// The clock of an issuer may differ by so many seconds unless the settings say otherwise.
pub const JWT_SKEW_S: u64 = 30;

/// Most seconds that the settings may allow for that.
pub const JWT_SKEW_S_MAX: u64 = 300;

/// What is signed with: the word in settings and headers, and the library's name for it.
const ALGORITHMS: [(&str, Algorithm); 6] = [
    ("HS256", Algorithm::HS256),
    ("RS256", Algorithm::RS256),
    ("PS256", Algorithm::PS256),
    ("ES256", Algorithm::ES256),
    ("ES384", Algorithm::ES384),
    ("EdDSA", Algorithm::EdDSA),
];

/// The types of a token in its header that are taken: those of others (a logout token) were made for something else.
const TYPES: [&str; 4] = ["jwt", "at+jwt", "application/jwt", "application/at+jwt"];

/// The kind of key that an issuer signs with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum JwtKeyKind {
    /// A secret that both sides know.
    Secret,
    /// Public keys of a JWKS.
    Public,
}

/// The settings of an issuer.
#[derive(Debug, Clone)]
pub struct JwtSettings {
    /// The name of the issuer: the claim `iss` of its tokens.
    pub issuer: CompactString,
    /// The claim `aud` of its tokens must hold one of these.
    pub audiences: Vec<CompactString>,
    /// The algorithms that it may sign with; empty for all that fit the kind of its keys.
    pub algorithms: Vec<String>,
    /// By how many seconds its clock may differ.
    pub skew_s: u64,
    /// The kind of its keys.
    pub keys: JwtKeyKind,
}

/// Somebody who signs tokens that the hub takes.
#[derive(Debug, Clone)]
pub struct JwtIssuer {
    /// The claim `iss` of its tokens.
    issuer: CompactString,
    audiences: Vec<CompactString>,
    /// What it may sign with, never empty, all of one kind of key.
    algorithms: Vec<Algorithm>,
    skew_s: u64,
    mapping: IdentityMapping,
    /// The keys that it has now; none before the first were read.
    keys: JwtKeys,
}

/// Why the settings of an issuer were not taken.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum JwtSettingsError {
    /// The issuer has no name.
    #[error("`issuer` is empty: it is the claim `iss` of the tokens")]
    NoIssuer,
    /// No audience: a token for another service would do.
    #[error(
        "`audience` is missing: without it a token that was made for another service would open this one"
    )]
    NoAudience,
    /// An algorithm that there is not, or that does not fit the keys.
    #[error(
        "{0:?} is not an algorithm for these keys: a secret signs with HS256, keys of a JWKS with RS256, PS256, ES256, ES384 or EdDSA"
    )]
    Algorithm(String),
    /// Clocks may differ too much.
    #[error("`skew_s` is {0}, the limit is {JWT_SKEW_S_MAX}")]
    Skew(u64),
}

/// A token whose signature, issuer, audience and times are right.
#[derive(Debug, Clone)]
pub struct VerifiedJwt {
    /// All claims of the token.
    pub claims: Map<String, Value>,
    /// When it is over, in milliseconds since 1970; the difference of clocks is counted in.
    pub expires: u64,
    /// The key that signed it.
    pub key: Hash,
}

impl JwtIssuer {
    /// An issuer without keys: until [`JwtIssuer::set_keys`] each of its tokens is refused. Fails for
    /// settings that would let tokens in that were made for others.
    pub fn new(settings: JwtSettings, mapping: IdentityMapping) -> Result<Self, JwtSettingsError> {
        if settings.issuer.is_empty() {
            return Err(JwtSettingsError::NoIssuer);
        }
        if settings.audiences.is_empty() || settings.audiences.iter().any(CompactString::is_empty) {
            return Err(JwtSettingsError::NoAudience);
        }
        if settings.skew_s > JWT_SKEW_S_MAX {
            return Err(JwtSettingsError::Skew(settings.skew_s));
        }
        let fits =
            |algorithm: Algorithm| (algorithm == Algorithm::HS256) == (settings.keys == JwtKeyKind::Secret);
        let fitting = || ALGORITHMS.into_iter().filter(|(_, algorithm)| fits(*algorithm));
        let named = settings.algorithms.iter().map(|word| {
            let known = fitting().find(|(known, _)| known == word);
            known.map(|(_, algorithm)| algorithm).ok_or_else(|| JwtSettingsError::Algorithm(word.clone()))
        });
        let mut algorithms = named.collect::<Result<Vec<_>, _>>()?;
        if algorithms.is_empty() {
            algorithms = fitting().map(|(_, algorithm)| algorithm).collect();
        }
        provider::install();
        let JwtSettings { issuer, audiences, skew_s, .. } = settings;
        Ok(Self { issuer, audiences, algorithms, skew_s, mapping, keys: JwtKeys::default() })
    }

    /// The claim `iss` of its tokens.
    pub fn issuer(&self) -> &str {
        &self.issuer
    }

    /// The rules by which its claims become principals.
    pub fn mapping(&self) -> &IdentityMapping {
        &self.mapping
    }

    /// Replaces its keys. Whoever came with a token of a key that is gone is let in no longer.
    pub fn set_keys(&mut self, keys: JwtKeys) {
        self.keys = keys;
    }

    /// Whether one of its keys is this one.
    pub fn has_key(&self, key: &Hash) -> bool {
        self.keys.has(key)
    }

    /// Checks a token at `now`, in milliseconds since 1970: everything but what its claims mean.
    ///
    /// Fails with `Malformed` for a text that is too long, with `UnknownKey` if it names a key that is not
    /// there, with `NotYet` and `Expired` by its times, and with `Untrusted` for everything else; which check
    /// failed is not told.
    pub fn verify(&self, text: &str, now: u64) -> Result<VerifiedJwt, Denial> {
        if text.len() > JWT_BYTES_MAX {
            return Err(Denial::Malformed);
        }
        let header = jsonwebtoken::decode_header(text).map_err(|_not_told| Denial::Untrusted)?;
        let is_typed =
            header.typ.as_deref().is_none_or(|typ| TYPES.contains(&typ.to_ascii_lowercase().as_str()));
        // What must be understood and is not (RFC 7515, 4.1.11).
        if header.crit.is_some() || !is_typed || !self.algorithms.contains(&header.alg) {
            return Err(Denial::Untrusted);
        }
        let key = self.keys.find(header.kid.as_deref(), header.alg)?;
        let mut validation = Validation::new(header.alg);
        // The times are checked below, by the clock of the hub.
        validation.validate_exp = false;
        validation.validate_nbf = false;
        validation.set_required_spec_claims(&["iss", "aud"]);
        validation.set_issuer(&[&self.issuer]);
        validation.set_audience(&self.audiences);
        let decoded = jsonwebtoken::decode::<Map<String, Value>>(text, &key.key, &validation);
        let claims = decoded.map_err(|_not_told| Denial::Untrusted)?.claims;
        if claims.get("iss").and_then(Value::as_str) != Some(&self.issuer) {
            return Err(Denial::Untrusted);
        }
        let expires = self.times(&claims, now)?;
        Ok(VerifiedJwt { claims, expires, key: key.hash })
    }

    /// Checks the times of a token; returns when it is over, in milliseconds since 1970.
    fn times(&self, claims: &Map<String, Value>, now: u64) -> Result<u64, Denial> {
        let skew = self.skew_s * 1000;
        let begins = [seconds(claims, "nbf")?, seconds(claims, "iat")?];
        let expires = seconds(claims, "exp")?.ok_or(Denial::Untrusted)?.saturating_add(skew);
        if begins.into_iter().flatten().any(|begin| begin > now.saturating_add(skew)) {
            return Err(Denial::NotYet);
        }
        if now >= expires { Err(Denial::Expired) } else { Ok(expires) }
    }
}

/// A time among the claims, in milliseconds since 1970; `None` if it is absent. What is no number of seconds is refused.
fn seconds(claims: &Map<String, Value>, name: &str) -> Result<Option<u64>, Denial> {
    let Some(value) = claims.get(name) else { return Ok(None) };
    if let Some(whole) = value.as_u64() {
        return Ok(Some(whole.saturating_mul(1000)));
    }
    let seconds = value.as_f64().filter(|seconds| seconds.is_finite() && *seconds >= 0.0);
    let seconds = seconds.ok_or(Denial::Untrusted)?;
    // A float becomes the nearest number that there is.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "not negative, and cut at the ends"
    )]
    let millis = (seconds * 1000.0) as u64;
    Ok(Some(millis))
}

/// The claim `iss` of a token that nobody has checked yet: it picks the issuer whose keys check it. `None` if `text` is no JWT.
pub(crate) fn unchecked_issuer(text: &str) -> Option<String> {
    use base64::Engine as _;
    use base64::engine::general_purpose::URL_SAFE_NO_PAD;

    if text.len() > JWT_BYTES_MAX {
        return None;
    }
    let mut parts = text.split('.');
    let (Some(_), Some(claims), Some(_), None) = (parts.next(), parts.next(), parts.next(), parts.next())
    else {
        return None;
    };
    let claims = URL_SAFE_NO_PAD.decode(claims).ok()?;
    let claims: Map<String, Value> = serde_json::from_slice(&claims).ok()?;
    claims.get("iss")?.as_str().map(str::to_owned)
}

#[cfg(test)]
mod tests;
