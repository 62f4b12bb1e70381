//! The credentials that the hub knows (tokens, sessions, links). It says who a caller is, and until when.
//!
//! ```text
//! token ─▶ TokenRecord ┐
//! JWT ─▶ JwtIssuer     ├─▶ Principal ─▶ Admission { principal, proof, expires }
//! link ─▶ Share        │        ▲
//! cookie ─▶ Session ───┴────────┘   a session stands for one of the others, and ends with it
//! ```
//!
//! An admission is a copy: what is revoked later is noticed by asking [`Credentials::still_holds`].

use std::sync::{Arc, LazyLock};

use crate::denial::Denial;
use crate::jwt::{JwtIssuer, JwtKeys, unchecked_issuer};
use crate::principal::Principal;
use crate::roles::Roles;
use crate::secret::{Hash, Secret, SecretKind};
use crate::sessions::{Behind, Session, Sessions};
use crate::shares::{Share, Shares};
use crate::tokens::{TokenRecord, Tokens};
use crate::vouched::Vouched;

/// The kind of the credential that admitted a caller, with its hash.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Proof {
    /// None: access control is off.
    None,
    /// The token with this hash.
    Token(Hash),
    /// The session with this hash.
    Session(Hash),
    /// The word of somebody else: of an issuer of JWT, or of a trusted proxy.
    Vouched(Arc<Vouched>),
}

/// An admitted caller. Held as long as whatever it opened; cheap to clone.
#[derive(Debug, Clone)]
pub struct Admission {
    /// The principal that the caller is.
    pub principal: Arc<Principal>,
    /// The credential that admitted it.
    pub proof: Proof,
    /// When the admission ends, in milliseconds since 1970; `None` for never.
    pub expires: Option<u64>,
}

impl Admission {
    /// The admission of every caller of a hub without access control. All have one principal, since each idle socket holds it.
    pub fn everyone() -> Self {
        static EVERYONE: LazyLock<Arc<Principal>> = LazyLock::new(|| Arc::new(Principal::everyone()));
        Self { principal: Arc::clone(&EVERYONE), proof: Proof::None, expires: None }
    }
}

/// All known credentials: tokens, sessions and links.
#[derive(Debug, Default)]
pub struct Credentials {
    /// The tokens of the file.
    tokens: Tokens,
    /// The tokens that the process made for itself.
    own: Tokens,
    /// What each role hides.
    roles: Roles,
    /// Browsers that logged in or followed a link.
    sessions: Sessions,
    /// The share links.
    shares: Shares,
    /// Who signs tokens that the hub takes, in the order of the settings.
    issuers: Vec<JwtIssuer>,
}

impl Credentials {
    /// Credentials with tokens of the hub's own clients, which are in no file, and the roles of the hub.
    pub fn new(own: Tokens, roles: Roles) -> Self {
        Self { own, roles, ..Self::default() }
    }

    /// Adds issuers of JWT. Their order is that of [`Credentials::set_keys`].
    #[must_use]
    pub fn with_issuers(self, issuers: Vec<JwtIssuer>) -> Self {
        Self { issuers, ..self }
    }

    /// Replaces the keys of the issuer with this number, from 0.
    pub fn set_keys(&mut self, issuer: usize, keys: JwtKeys) {
        if let Some(issuer) = self.issuers.get_mut(issuer) {
            issuer.set_keys(keys);
        }
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

    /// The sessions, including expired ones.
    pub(crate) fn sessions(&self) -> &Sessions {
        &self.sessions
    }

    /// The sessions, for changes.
    pub(crate) fn sessions_mut(&mut self) -> &mut Sessions {
        &mut self.sessions
    }

    /// The links, for changes.
    pub fn shares_mut(&mut self) -> &mut Shares {
        &mut self.shares
    }

    /// Admits a caller with the token `text`, the hub's own or a JWT, at `now`, in milliseconds since 1970.
    /// Fails with `Malformed` for a text that is neither, and with the reason otherwise.
    pub fn by_token(&self, text: &str, now: u64) -> Result<Admission, Denial> {
        match Secret::parse(SecretKind::Token, text) {
            Some(secret) => self.admit(&Proof::Token(secret.hash()), now),
            None if self.issuers.is_empty() => Err(Denial::Malformed),
            None => self.by_jwt(text, now),
        }
    }

    /// Admits a caller with the JWT `text` at `now`.
    fn by_jwt(&self, text: &str, now: u64) -> Result<Admission, Denial> {
        let named = unchecked_issuer(text).ok_or(Denial::Malformed)?;
        let mut denial = Denial::Untrusted;
        for issuer in self.issuers.iter().filter(|issuer| issuer.issuer() == named) {
            let verified = match issuer.verify(text, now) {
                Ok(verified) => verified,
                // Of two issuers with one name the other one may have the key.
                Err(why) => {
                    denial = if denial == Denial::Untrusted { why } else { denial };
                    continue;
                }
            };
            let principal = issuer.mapping().principal(&verified.claims, &self.roles)?;
            return self.vouch(Vouched::signed(principal, verified.expires, verified.key), now);
        }
        Err(denial)
    }

    /// Admits a caller for whom somebody else vouches, at `now`.
    pub fn vouch(&self, vouched: Vouched, now: u64) -> Result<Admission, Denial> {
        self.admit(&Proof::Vouched(Arc::new(vouched)), now)
    }

    /// Admits a caller with a known credential at `now`. It checks everything again, so that a revoked token
    /// and an ended session are refused.
    pub fn admit(&self, proof: &Proof, now: u64) -> Result<Admission, Denial> {
        let (principal, expires) = match proof {
            Proof::None => return Err(Denial::Missing),
            Proof::Token(hash) => {
                let record = self.token(hash)?;
                (Arc::new(record.principal(now, &self.roles)?), record.expires)
            }
            Proof::Session(hash) => {
                let session = self.sessions.find(hash).ok_or(Denial::Unknown)?;
                (self.behind(&session, now)?, Some(session.expires))
            }
            Proof::Vouched(vouched) => (self.vouched(vouched, now)?, Some(vouched.expires)),
        };
        Ok(Admission { principal, proof: proof.clone(), expires })
    }

    /// Checks at `now` that an admission is still valid: the credential admits the same principal with the
    /// same grants.
    pub fn still_holds(&self, admission: &Admission, now: u64) -> Result<(), Denial> {
        let again = self.admit(&admission.proof, now)?;
        if again.principal == admission.principal { Ok(()) } else { Err(Denial::Unknown) }
    }

    /// The admission by the credential behind a session, which outlives it; any other admission as it is. `None` for a session that is over, and
    /// for one of a link.
    pub fn behind_session(&self, admission: &Admission) -> Option<Admission> {
        let Proof::Session(hash) = &admission.proof else { return Some(admission.clone()) };
        let (proof, expires) = match self.sessions.find(hash)?.behind {
            Behind::Token(token) => (Proof::Token(token), self.record_of(&token)?.expires),
            Behind::Vouched(vouched) => (Proof::Vouched(Arc::clone(&vouched)), Some(vouched.expires)),
            Behind::Share(_) => return None,
        };
        Some(Admission { principal: Arc::clone(&admission.principal), proof, expires })
    }

    /// Begins a session for a caller with the token `text`. `session` is the secret of the new session. Fails
    /// as [`Credentials::by_token`] does.
    pub fn log_in(&mut self, text: &str, session: &Secret, now: u64) -> Result<Admission, Denial> {
        let admission = self.by_token(text, now)?;
        let behind = match admission.proof {
            Proof::Token(hash) => Behind::Token(hash),
            Proof::Vouched(vouched) => Behind::Vouched(vouched),
            Proof::None | Proof::Session(_) => return Err(Denial::Malformed),
        };
        self.sessions.begin(session.hash(), behind, admission.expires, now);
        self.admit(&Proof::Session(session.hash()), now)
    }

    /// Begins a session for a caller for whom somebody else vouches.
    pub fn log_in_vouched(
        &mut self,
        vouched: Vouched,
        session: &Secret,
        now: u64,
    ) -> Result<Admission, Denial> {
        let expires = vouched.expires;
        self.sessions.begin(session.hash(), Behind::Vouched(Arc::new(vouched)), Some(expires), now);
        self.admit(&Proof::Session(session.hash()), now)
    }

    /// Counts a view of the link `text` and begins a session for it. `session` is the secret of the new
    /// session. Fails with `Unknown`, with `Expired` if its time or its views are over, with `UnknownRole`.
    pub fn follow(&mut self, text: &str, session: &Secret, now: u64) -> Result<(Share, Admission), Denial> {
        let secret = Secret::parse(SecretKind::Share, text).ok_or(Denial::Unknown)?;
        let share = self.shares.follow(&secret.hash(), now, &self.roles)?;
        self.sessions.begin(session.hash(), Behind::Share(share.hash), Some(share.expires), now);
        Ok((share, self.admit(&Proof::Session(session.hash()), now)?))
    }

    /// The link with the secret `text`, if it holds at `now`. Counts no view. Fails as [`Credentials::follow`] does, but for its views.
    pub fn link(&self, text: &str, now: u64) -> Result<&Share, Denial> {
        let secret = Secret::parse(SecretKind::Share, text).ok_or(Denial::Unknown)?;
        let share = self.shares.find(&secret.hash()).ok_or(Denial::Unknown)?;
        share.principal(now, &self.roles)?;
        Ok(share)
    }

    /// Begins a session for a link of which somebody else has counted a view.
    pub fn open_link(&mut self, share: &Share, session: &Secret, now: u64) -> Result<Admission, Denial> {
        self.sessions.begin(session.hash(), Behind::Share(share.hash), Some(share.expires), now);
        self.admit(&Proof::Session(session.hash()), now)
    }

    /// Ends a session. False if there was none.
    pub fn log_out(&mut self, session: &Secret) -> bool {
        self.sessions.end(&session.hash())
    }

    /// The token that admitted a caller, if it was one of the hub's own; `None` also once it is revoked.
    pub fn record(&self, admission: &Admission) -> Option<&TokenRecord> {
        match &admission.proof {
            Proof::Token(hash) => self.record_of(hash),
            Proof::None | Proof::Session(_) | Proof::Vouched(_) => None,
        }
    }

    /// The token with this hash, if there is one.
    pub fn record_of(&self, hash: &Hash) -> Option<&TokenRecord> {
        self.token(hash).ok()
    }

    /// The token with this hash, from the file or of the process.
    fn token(&self, hash: &Hash) -> Result<&TokenRecord, Denial> {
        self.tokens.find(hash).or_else(|| self.own.find(hash)).ok_or(Denial::Unknown)
    }

    /// The principal of the credential for which a session stands.
    fn behind(&self, session: &Session, now: u64) -> Result<Arc<Principal>, Denial> {
        if now >= session.expires {
            return Err(Denial::Expired);
        }
        match &session.behind {
            Behind::Token(hash) => self.token(hash)?.principal(now, &self.roles).map(Arc::new),
            Behind::Share(hash) => {
                self.shares.find(hash).ok_or(Denial::Unknown)?.principal(now, &self.roles).map(Arc::new)
            }
            Behind::Vouched(vouched) => self.vouched(vouched, now),
        }
    }

    /// The principal for whom somebody else vouches, for as long as that counts: until it is over, or until the key that signed it is gone.
    fn vouched(&self, vouched: &Vouched, now: u64) -> Result<Arc<Principal>, Denial> {
        if now >= vouched.expires {
            return Err(Denial::Expired);
        }
        if vouched.key.is_some_and(|key| !self.issuers.iter().any(|issuer| issuer.has_key(&key))) {
            return Err(Denial::Unknown);
        }
        Ok(Arc::clone(&vouched.principal))
    }
}

#[cfg(test)]
mod tests;
