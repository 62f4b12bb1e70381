//! Who is known to a hub: its tokens, the browsers that logged in, its links. Says who calls, and until when that holds.

use std::sync::Arc;

use crate::denial::Denial;
use crate::principal::Principal;
use crate::roles::Roles;
use crate::secret::{Hash, Secret, SecretKind};
use crate::sessions::{Behind, Session, Sessions};
use crate::shares::{Share, Shares};
use crate::tokens::{TokenRecord, Tokens};

/// What somebody showed, as far as it is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Proof {
    /// Nothing: there is no access control.
    None,
    /// The token of that hash.
    Token(Hash),
    /// The session of that hash.
    Session(Hash),
}

/// Somebody who was let in.
#[derive(Debug, Clone)]
pub struct Admission {
    /// Who.
    pub principal: Arc<Principal>,
    /// By what.
    pub proof: Proof,
    /// From when on it does not hold any more, in milliseconds since 1970.
    pub expires: Option<u64>,
}

impl Admission {
    /// Everybody, at a hub without access control.
    pub fn everyone() -> Self {
        Self { principal: Arc::new(Principal::everyone()), proof: Proof::None, expires: None }
    }
}

/// Everybody who is known at this moment: tokens, sessions and share links.
#[derive(Debug, Default)]
pub struct Registry {
    /// Those of the file.
    tokens: Tokens,
    /// Those that the process itself has made.
    own: Tokens,
    roles: Roles,
    sessions: Sessions,
    shares: Shares,
}

impl Registry {
    /// With tokens that stand in no file, for the hub's own clients, and the roles that the hub has.
    pub fn new(own: Tokens, roles: Roles) -> Self {
        Self { own, roles, ..Self::default() }
    }

    /// The roles that a token or a link may name.
    pub fn roles(&self) -> &Roles {
        &self.roles
    }

    /// Puts the tokens of the file in place of those before.
    pub fn set_tokens(&mut self, tokens: Tokens) {
        self.tokens = tokens;
    }

    /// Puts the links of the file in place of those before.
    pub fn set_shares(&mut self, shares: Shares) {
        self.shares = shares;
    }

    /// The tokens of the file.
    pub fn tokens(&self) -> &Tokens {
        &self.tokens
    }

    /// The share links, of which some may have expired.
    pub fn shares(&self) -> &Shares {
        &self.shares
    }

    /// The links, to be changed.
    pub fn shares_mut(&mut self) -> &mut Shares {
        &mut self.shares
    }

    /// Who calls with the token `text` at `now`.
    pub fn by_token(&self, text: &str, now: u64) -> Result<Admission, Denial> {
        let secret = Secret::parse(SecretKind::Token, text).ok_or(Denial::Malformed)?;
        self.admit(Proof::Token(secret.hash()), now)
    }

    /// Who calls with what was shown, at `now`; the same question as at the beginning, so that a token that was revoked and a session
    /// that has ended are not let in any more.
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

    /// Whether what was let in before still holds at `now`: the same principal with the same grants.
    pub fn still_holds(&self, admission: &Admission, now: u64) -> Result<(), Denial> {
        let again = self.admit(admission.proof, now)?;
        if again.principal == admission.principal { Ok(()) } else { Err(Denial::Unknown) }
    }

    /// Begins a session for whoever has the token `text`; `session` is its secret.
    pub fn log_in(&mut self, text: &str, session: &Secret, now: u64) -> Result<Admission, Denial> {
        let admission = self.by_token(text, now)?;
        let Proof::Token(hash) = admission.proof else { return Err(Denial::Malformed) };
        self.sessions.begin(session.hash(), Behind::Token(hash), admission.expires, now);
        self.admit(Proof::Session(session.hash()), now)
    }

    /// Counts that the link `text` is followed and begins a session for it; `session` is its secret.
    pub fn follow(&mut self, text: &str, session: &Secret, now: u64) -> Result<(Share, Admission), Denial> {
        let secret = Secret::parse(SecretKind::Share, text).ok_or(Denial::Unknown)?;
        let share = self.shares.follow(&secret.hash(), now, &self.roles)?;
        self.sessions.begin(session.hash(), Behind::Share(share.hash), Some(share.expires), now);
        Ok((share, self.admit(Proof::Session(session.hash()), now)?))
    }

    /// Ends a session; false where there was none.
    pub fn log_out(&mut self, session: &Secret) -> bool {
        self.sessions.end(&session.hash())
    }

    fn token(&self, hash: &Hash) -> Result<&TokenRecord, Denial> {
        self.tokens.find(hash).or_else(|| self.own.find(hash)).ok_or(Denial::Unknown)
    }

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
