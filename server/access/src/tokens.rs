//! Static tokens: each has a name, grants, an optional expiry, and the hash of its secret. The secret itself
//! is not stored.
//!
//! ```json
//! {"version": 1, "tokens": [
//!   {"name": "ci", "hash": "9f2c…", "grants": ["publish:ci-*"], "created": 1795300000000}]}
//! ```

use compact_str::CompactString;
use model::wildcard::matches;
use serde::{Deserialize, Serialize};

use crate::budget::Budget;
use crate::denial::Denial;
use crate::grant::Grant;
use crate::principal::Principal;
use crate::roles::Roles;
use crate::secret::Hash;

/// The most tokens of a hub. A lookup compares with all of them.
pub const TOKENS_MAX: usize = 1_000;

/// The most grants of one token.
const GRANTS_MAX: usize = 64;

/// The most upstreams that one token names.
const UPSTREAMS_MAX: usize = 64;

/// The longest name of a token or a role, in bytes.
const NAME_BYTES_MAX: usize = 100;

/// The version of the file format.
const VERSION: u32 = 1;

/// A token as stored.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TokenRecord {
    /// The name of the token and of its principal.
    pub name: CompactString,
    /// The hash of the secret.
    pub hash: Hash,
    /// The grants of the token.
    pub grants: Vec<Grant>,
    /// The role, which names what is hidden from the principal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub role: Option<CompactString>,
    /// The names of the upstreams that it may call, `*` for any characters; empty for all of them, with keys of the
    /// caller's own.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub upstreams: Vec<CompactString>,
    /// How much its calls with the hub's keys may cost; `None` for no limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub budget: Option<Budget>,
    /// When it was made, in milliseconds since 1970.
    pub created: u64,
    /// When it expires, in milliseconds since 1970; `None` for never.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires: Option<u64>,
}

/// The properties of a token to be made.
#[derive(Debug, Clone)]
pub struct NewToken<'a> {
    /// The name; it must be unique.
    pub name: &'a str,
    /// The grants of the token.
    pub grants: Vec<Grant>,
    /// The role, which names what is hidden from the principal. Whether the hub has it is checked when the
    /// token is used.
    pub role: Option<CompactString>,
    /// The names of the upstreams that it may call, with the hub's keys where the hub has any; empty for all of
    /// them, with keys of the caller's own.
    pub upstreams: Vec<CompactString>,
    /// How much its calls with the hub's keys may cost; `None` for no limit.
    pub budget: Option<Budget>,
    /// The lifetime in milliseconds; `None` for no end.
    pub lives_ms: Option<u64>,
}

/// All tokens of a hub, as in its file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Tokens {
    records: Vec<TokenRecord>,
}

/// Why a token was not made, found or read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TokenError {
    /// The name is invalid.
    #[error(
        "{0:?} is not a name for a token or a role: 1 to {NAME_BYTES_MAX} bytes, without control characters"
    )]
    BadName(String),
    /// Another token has the name or the secret.
    #[error("there is a token named {0:?} already")]
    NameTaken(String),
    /// No token has the name.
    #[error("no token is named {0:?}")]
    UnknownName(String),
    /// The token has no grant or too many.
    #[error("a token has 1 to {GRANTS_MAX} grants, not {0}")]
    Grants(usize),
    /// The token names an upstream that cannot be, or too many.
    #[error(
        "a token names at most {UPSTREAMS_MAX} upstreams, by letters, digits, `.`, `-`, `_` and `*`; {0:?} does not fit"
    )]
    Upstreams(String),
    /// A budget is for the hub's keys, which only a token with upstreams is lent.
    #[error("a budget is for calls with the hub's keys: name the upstreams for which it is, or `*`")]
    BudgetAlone,
    /// There are [`TOKENS_MAX`] tokens.
    #[error("there are {TOKENS_MAX} tokens already; revoke those that nobody needs")]
    Full,
    /// The file cannot be read.
    #[error("not a valid tokens file: {0}")]
    File(String),
}

/// The content of `tokens.json`.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct File<T> {
    /// The version of the format, [`VERSION`].
    version: u32,
    /// The tokens, the oldest first.
    tokens: T,
}

impl Tokens {
    /// Reads a file. Everything is checked, since people edit the file. Fails for another version, unknown
    /// fields, a token that could not be made, and a name or secret that comes twice.
    pub fn read(text: &str) -> Result<Self, TokenError> {
        let wrong = |what: String| TokenError::File(what);
        let file: File<Vec<TokenRecord>> =
            serde_json::from_str(text).map_err(|error| wrong(error.to_string()))?;
        if file.version != VERSION {
            return Err(wrong(format!("its version is {}, and this hub knows {VERSION}", file.version)));
        }
        let mut tokens = Self::default();
        for record in file.tokens {
            tokens.add(record)?;
        }
        Ok(tokens)
    }

    /// The text of the file.
    pub fn written(&self) -> String {
        let file = File { version: VERSION, tokens: &self.records };
        // Serializing names, numbers and texts cannot fail.
        let mut text = serde_json::to_string_pretty(&file).unwrap_or_default();
        text.push('\n');
        text
    }

    /// Adds a token whose secret has the hash `hash`. `now` is in milliseconds since 1970.
    pub fn create(&mut self, new: NewToken<'_>, hash: Hash, now: u64) -> Result<(), TokenError> {
        self.add(TokenRecord {
            name: new.name.into(),
            hash,
            grants: new.grants,
            role: new.role,
            upstreams: new.upstreams,
            budget: new.budget,
            created: now,
            expires: new.lives_ms.map(|lives| now.saturating_add(lives)),
        })
    }

    /// Adds a stored token. Fails for a bad name, for no or too many grants, for upstreams that cannot be and a
    /// budget without one, for a name or secret that
    /// another token has, and with `Full`.
    pub fn add(&mut self, record: TokenRecord) -> Result<(), TokenError> {
        check_name(&record.name)?;
        if let Some(role) = &record.role {
            check_name(role)?;
        }
        if record.grants.is_empty() || record.grants.len() > GRANTS_MAX {
            return Err(TokenError::Grants(record.grants.len()));
        }
        check_upstreams(&record)?;
        if self.records.iter().any(|other| other.name == record.name || other.hash == record.hash) {
            return Err(TokenError::NameTaken(record.name.to_string()));
        }
        if self.records.len() >= TOKENS_MAX {
            return Err(TokenError::Full);
        }
        self.records.push(record);
        Ok(())
    }

    /// Removes the token with this name and returns it.
    pub fn revoke(&mut self, name: &str) -> Result<TokenRecord, TokenError> {
        let place = self.records.iter().position(|record| record.name == name);
        let place = place.ok_or_else(|| TokenError::UnknownName(name.chars().take(200).collect()))?;
        Ok(self.records.remove(place))
    }

    /// All tokens of the file, the oldest first.
    pub fn all(&self) -> impl Iterator<Item = &TokenRecord> {
        self.records.iter()
    }

    /// The token with this hash. All are compared, so that the time reveals nothing about the position.
    pub fn find(&self, hash: &Hash) -> Option<&TokenRecord> {
        self.records
            .iter()
            .fold(None, |found, record| if record.hash == *hash { Some(record) } else { found })
    }
}

impl TokenRecord {
    /// The principal of the token. Fails if it has expired at `now`, or if its role is not among `roles`.
    pub fn principal(&self, now: u64, roles: &Roles) -> Result<Principal, Denial> {
        if self.expires.is_some_and(|expires| now >= expires) {
            return Err(Denial::Expired);
        }
        Ok(Principal::new(&self.name, self.grants.clone(), roles.of(self.role.as_deref())?))
    }

    /// Whether it may call the upstream `name`: it names that one, or none at all.
    pub fn may_call(&self, name: &str) -> bool {
        self.upstreams.is_empty() || self.names(name)
    }

    /// Whether it names the upstream `name`, so that it is lent the hub's key.
    pub fn names(&self, name: &str) -> bool {
        self.upstreams.iter().any(|pattern| matches(pattern, name))
    }
}

/// Checks which upstreams a token names.
fn check_upstreams(record: &TokenRecord) -> Result<(), TokenError> {
    let fits = |name: &CompactString| {
        let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_' | '*');
        !name.is_empty() && name.len() <= NAME_BYTES_MAX && name.chars().all(is_plain)
    };
    let beyond = record.upstreams.get(UPSTREAMS_MAX);
    if let Some(wrong) = record.upstreams.iter().find(|name| !fits(name)).or(beyond) {
        return Err(TokenError::Upstreams(wrong.chars().take(NAME_BYTES_MAX).collect()));
    }
    if record.budget.is_some() && record.upstreams.is_empty() {
        return Err(TokenError::BudgetAlone);
    }
    Ok(())
}

/// Checks the name of a token.
fn check_name(name: &str) -> Result<(), TokenError> {
    if name.is_empty() || name.len() > NAME_BYTES_MAX || name.chars().any(char::is_control) {
        return Err(TokenError::BadName(name.chars().take(NAME_BYTES_MAX).collect()));
    }
    Ok(())
}

#[cfg(test)]
mod tests;
