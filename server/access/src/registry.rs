//! The credentials that the hub knows (tokens, sessions, links). It says who a caller is, and until when.

use std::sync::Arc;

use crate::denial::Denial;
use crate::principal::Principal;
use crate::roles::Roles;
use crate::secret::{Hash, Secret, SecretKind};
use crate::sessions::{Behind, Session, Sessions};
use crate::shares::{Share, Shares};
use crate::tokens::{TokenRecord, Tokens};

/// The kind of the credential that admitted a caller, with its hash.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Proof {
    /// None: access control is off.
    None,
    /// The token with this hash.
    Token(Hash),
    /// The session with this hash.
    Session(Hash),
}

/// An admitted caller.
#[derive(Debug, Clone)]
pub struct Admission {
    /// The caller.
    pub principal: Arc<Principal>,
    /// The credential that admitted it.
    pub proof: Proof,
    /// When the admission ends, in milliseconds since 1970; `None` for never.
    pub expires: Option<u64>,
}

impl Admission {
    /// The admission of every caller of a hub without access control.
    pub fn everyone() -> Self {
        Self { principal: Arc::new(Principal::everyone()), proof: Proof::None, expires: None }
    }
}

/// All known credentials: tokens, sessions and links.
#[derive(Debug, Default)]
pub struct Registry {
    /// The tokens of the file.
    tokens: Tokens,
    /// The tokens that the process made for itself.
    own: Tokens,
    roles: Roles,
    sessions: Sessions,
    shares: Shares,
}

impl Registry {
    /// A registry with tokens of the hub's own clients, which are in no file, and the roles of the hub.
    pub fn new(own: Tokens, roles: Roles) -> Self {
        Self { own, roles, ..Self::default() }
    }

    /// The roles that a token or a link may name.
    pub fn roles(&self) -> &Roles {
        &self.roles
    }

    /// Replaces the tokens of the file.
    pub fn set_tokens(&mut self, tokens: Tokens) {
        self.tokens = tokens;
    }

    /// Replaces the links of the file.
    pub fn set_shares(&mut self, shares: Shares) {
        self.shares = shares;
    }

    /// The tokens of the file.
    pub fn tokens(&self) -> &Tokens {
        &self.tokens
    }

    /// The links, including expired ones.
    pub fn shares(&self) -> &Shares {
        &self.shares
    }

    /// The links, for changes.
    pub fn shares_mut(&mut self) -> &mut Shares {
        &mut self.shares
    }

    /// Admits a caller with the token `text` at `now`, in milliseconds since 1970.
    pub fn by_token(&self, text: &str, now: u64) -> Result<Admission, Denial> {
        let secret = Secret::parse(SecretKind::Token, text).ok_or(Denial::Malformed)?;
        self.admit(Proof::Token(secret.hash()), now)
    }

    /// Admits a caller with a known credential at `now`. It checks everything again, so that a revoked token
    /// and an ended session are refused.
    pub fn admit(&self, proof: Proof, now: u64) -> Result<Admission, Denial> {
        let (principal, expires) = match proof {
            Proof::None => return Err(Denial::Missing),
            Proof::Token(hash) => {
                let record = self.token(&hash)?;
                (record.principal(now, &self.roles)?, record.expires)
            }
            Proof::Session(hash) => {
                let session = self.sessions.find(&hash).ok_or(Denial::Unknown)?;
                (self.behind(&session, now)?, Some(session.expires))
            }
        };
        Ok(Admission { principal: Arc::new(principal), proof, expires })
    }

    /// Checks at `now` that an admission is still valid: the credential admits the same principal with the
    /// same grants.
    pub fn still_holds(&self, admission: &Admission, now: u64) -> Result<(), Denial> {
        let again = self.admit(admission.proof, now)?;
        if again.principal == admission.principal { Ok(()) } else { Err(Denial::Unknown) }
    }

    /// Begins a session for a caller with the token `text`. `session` is the secret of the new session.
    pub fn log_in(&mut self, text: &str, session: &Secret, now: u64) -> Result<Admission, Denial> {
        let admission = self.by_token(text, now)?;
        let Proof::Token(hash) = admission.proof else { return Err(Denial::Malformed) };
        self.sessions.begin(session.hash(), Behind::Token(hash), admission.expires, now);
        self.admit(Proof::Session(session.hash()), now)
    }

    /// Counts a view of the link `text` and begins a session for it. `session` is the secret of the new
    /// session.
    pub fn follow(&mut self, text: &str, session: &Secret, now: u64) -> Result<(Share, Admission), Denial> {
        let secret = Secret::parse(SecretKind::Share, text).ok_or(Denial::Unknown)?;
        let share = self.shares.follow(&secret.hash(), now, &self.roles)?;
        self.sessions.begin(session.hash(), Behind::Share(share.hash), Some(share.expires), now);
        Ok((share, self.admit(Proof::Session(session.hash()), now)?))
    }

    /// Ends a session. False if there was none.
    pub fn log_out(&mut self, session: &Secret) -> bool {
        self.sessions.end(&session.hash())
    }

    /// The token with this hash, from the file or of the process.
    fn token(&self, hash: &Hash) -> Result<&TokenRecord, Denial> {
        self.tokens.find(hash).or_else(|| self.own.find(hash)).ok_or(Denial::Unknown)
    }

    /// The principal of the credential for which a session stands.
    fn behind(&self, session: &Session, now: u64) -> Result<Principal, Denial> {
        if now >= session.expires {
            return Err(Denial::Expired);
        }
        match session.behind {
            Behind::Token(hash) => self.token(&hash)?.principal(now, &self.roles),
            Behind::Share(hash) => {
                self.shares.find(&hash).ok_or(Denial::Unknown)?.principal(now, &self.roles)
            }
        }
    }
}

#[cfg(test)]
mod tests;
