//! Static tokens: each a name, its grants, a time when it ends, and the hash of its secret. The secret itself is kept nowhere.

use compact_str::CompactString;
use serde::{Deserialize, Serialize};

use crate::denial::Denial;
use crate::grant::Grant;
use crate::principal::Principal;
use crate::roles::Roles;
use crate::secret::Hash;

/// Most tokens of one hub. Each lookup compares with all of them.
pub const TOKENS_MAX: usize = 1_000;

/// Most grants of one token.
const GRANTS_MAX: usize = 64;

/// Most bytes of the name of a token or a role.
const NAME_BYTES_MAX: usize = 100;

/// The version of the file.
const VERSION: u32 = 1;

/// What is kept of a token.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TokenRecord {
    /// Its name, and that of whoever calls with it.
    pub name: CompactString,
    /// The hash of its secret.
    pub hash: Hash,
    /// What it may do.
    pub grants: Vec<Grant>,
    /// What is hidden from it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub role: Option<CompactString>,
    /// When it was made, in milliseconds since 1970.
    pub created: u64,
    /// From when on it is not taken any more, in milliseconds since 1970; absent for never.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires: Option<u64>,
}

/// What a new token is to be.
#[derive(Debug, Clone)]
pub struct NewToken<'a> {
    /// Its name; no other token has it.
    pub name: &'a str,
    /// What it may do.
    pub grants: Vec<Grant>,
    /// What is hidden from it.
    pub role: Option<CompactString>,
    /// For how long it is taken, in milliseconds; nothing for ever.
    pub lives_ms: Option<u64>,
}

/// All tokens of a hub, as they stand in its file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Tokens {
    records: Vec<TokenRecord>,
}

/// Why a token was not made, found or read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TokenError {
    /// The name is none.
    #[error(
        "{0:?} is no name for a token or a role: 1 to {NAME_BYTES_MAX} bytes, without control characters"
    )]
    BadName(String),
    /// There is one of that name.
    #[error("there is a token named {0:?} already")]
    NameTaken(String),
    /// There is none of that name.
    #[error("no token is named {0:?}")]
    UnknownName(String),
    /// No grant, or too many.
    #[error("a token has 1 to {GRANTS_MAX} grants, not {0}")]
    Grants(usize),
    /// As many tokens as may be.
    #[error("there are {TOKENS_MAX} tokens already; revoke those that nobody needs")]
    Full,
    /// The file is none.
    #[error("no file of tokens: {0}")]
    File(String),
}

/// What `tokens.json` holds.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct File<T> {
    version: u32,
    tokens: T,
}

impl Tokens {
    /// Of the text of a file. What it holds is checked as if it came from elsewhere: people edit files.
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

    /// The text of a file with all of them.
    pub fn written(&self) -> String {
        let file = File { version: VERSION, tokens: &self.records };
        // Names, numbers and texts: this cannot fail to be written.
        let mut text = serde_json::to_string_pretty(&file).unwrap_or_default();
        text.push('\n');
        text
    }

    /// Adds a token of which `hash` is the hash; `now` in milliseconds since 1970.
    pub fn create(&mut self, new: NewToken<'_>, hash: Hash, now: u64) -> Result<(), TokenError> {
        self.add(TokenRecord {
            name: new.name.into(),
            hash,
            grants: new.grants,
            role: new.role,
            created: now,
            expires: new.lives_ms.map(|lives| now.saturating_add(lives)),
        })
    }

    /// Adds one as it stands.
    pub fn add(&mut self, record: TokenRecord) -> Result<(), TokenError> {
        check_name(&record.name)?;
        if let Some(role) = &record.role {
            check_name(role)?;
        }
        if record.grants.is_empty() || record.grants.len() > GRANTS_MAX {
            return Err(TokenError::Grants(record.grants.len()));
        }
        if self.records.iter().any(|other| other.name == record.name || other.hash == record.hash) {
            return Err(TokenError::NameTaken(record.name.to_string()));
        }
        if self.records.len() >= TOKENS_MAX {
            return Err(TokenError::Full);
        }
        self.records.push(record);
        Ok(())
    }

    /// Takes the token of that name away.
    pub fn revoke(&mut self, name: &str) -> Result<TokenRecord, TokenError> {
        let place = self.records.iter().position(|record| record.name == name);
        let place = place.ok_or_else(|| TokenError::UnknownName(name.chars().take(200).collect()))?;
        Ok(self.records.remove(place))
    }

    /// All of them, the oldest first.
    pub fn all(&self) -> impl Iterator<Item = &TokenRecord> {
        self.records.iter()
    }

    /// The token of that hash. All are compared, so that the time says nothing about which.
    pub fn find(&self, hash: &Hash) -> Option<&TokenRecord> {
        self.records
            .iter()
            .fold(None, |found, record| if record.hash == *hash { Some(record) } else { found })
    }
}

impl TokenRecord {
    /// Who calls with it at `now`, at a hub with these `roles`.
    pub fn principal(&self, now: u64, roles: &Roles) -> Result<Principal, Denial> {
        if self.expires.is_some_and(|expires| now >= expires) {
            return Err(Denial::Expired);
        }
        Ok(Principal::new(&self.name, self.grants.clone(), roles.of(self.role.as_deref())?))
    }
}

fn check_name(name: &str) -> Result<(), TokenError> {
    if name.is_empty() || name.len() > NAME_BYTES_MAX || name.chars().any(char::is_control) {
        return Err(TokenError::BadName(name.chars().take(NAME_BYTES_MAX).collect()));
    }
    Ok(())
}

#[cfg(test)]
mod tests;
