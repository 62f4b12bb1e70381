//! Sessions as hubs that share a log tell one another of them: for whom a session stands, as JSON. It holds no secret.

use std::collections::BTreeSet;
use std::sync::Arc;

use compact_str::CompactString;
use serde::{Deserialize, Serialize};

use crate::credentials::Credentials;
use crate::denial::Denial;
use crate::grant::Grant;
use crate::principal::Principal;
use crate::secret::Hash;
use crate::sessions::Behind;
use crate::vouched::Vouched;

/// The credential for which a session stands.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum ToldBehind {
    /// The token with this hash.
    Token(Hash),
    /// The link with this hash.
    Share(Hash),
    /// Another service vouches for the caller.
    Vouched {
        name: CompactString,
        grants: Vec<Grant>,
        role: Option<CompactString>,
        expires: u64,
        key: Option<Hash>,
    },
}

/// A session as other hubs are told of it. It holds no secret.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToldSession {
    /// A key of the caller: the same for all sessions of one token, link or person, and different for others.
    pub caller: String,
    /// For whom it stands, as JSON that [`Credentials::take_session`] reads.
    pub behind: String,
    /// When the session ends, in milliseconds since 1970.
    pub expires: u64,
}

impl Credentials {
    /// The session with this hash, for other hubs; `None` where there is none.
    pub fn told_session(&self, hash: &Hash) -> Option<ToldSession> {
        let session = self.sessions().find(hash)?;
        let caller = session.behind.caller();
        let told = match session.behind {
            Behind::Token(hash) => ToldBehind::Token(hash),
            Behind::Share(hash) => ToldBehind::Share(hash),
            Behind::Vouched(vouched) => ToldBehind::Vouched {
                name: vouched.principal.name().into(),
                grants: vouched.principal.grants().to_vec(),
                role: vouched.principal.role().map(CompactString::from),
                expires: vouched.expires,
                key: vouched.key,
            },
        };
        Some(ToldSession { caller, behind: serde_json::to_string(&told).ok()?, expires: session.expires })
    }

    /// Takes over the session with this hash, which another hub has begun. Fails with `Malformed` for what is
    /// not understood, and with `UnknownRole` for a role that this hub does not have.
    pub fn take_session(&mut self, hash: Hash, told: &str, expires: u64, now: u64) -> Result<(), Denial> {
        let told = serde_json::from_str(told).map_err(|_not_shown| Denial::Malformed)?;
        let behind = match told {
            ToldBehind::Token(hash) => Behind::Token(hash),
            ToldBehind::Share(hash) => Behind::Share(hash),
            ToldBehind::Vouched { name, grants, role, expires, key } => {
                let role = self.roles().of(role.as_deref())?;
                let principal = Arc::new(Principal::new(&name, grants, role));
                Behind::Vouched(Arc::new(Vouched { principal, expires, key }))
            }
        };
        self.sessions_mut().take(hash, behind, expires, now);
        Ok(())
    }

    /// The link for which a session stands of which another hub has `told`, if it stands for one that is not known here.
    pub fn link_missed_by(&self, told: &str) -> Option<Hash> {
        match serde_json::from_str(told).ok()? {
            ToldBehind::Share(hash) if self.shares().find(&hash).is_none() => Some(hash),
            _ => None,
        }
    }

    /// Whether there is a session with this hash, also one that is over.
    pub fn has_session(&self, hash: &Hash) -> bool {
        self.sessions().find(hash).is_some()
    }

    /// Notes that other hubs know the session with this hash.
    pub fn session_is_shared(&mut self, hash: &Hash) {
        self.sessions_mut().share(hash);
    }

    /// A number that rises with each session; take it before the others are asked what they know.
    pub fn newest_session(&self) -> u64 {
        self.sessions().newest()
    }

    /// Ends sessions that were shared up to the number `newest` and that no other hub knows any more. Returns
    /// whether any ended.
    pub fn keep_sessions(&mut self, known: &BTreeSet<Hash>, newest: u64) -> bool {
        self.sessions_mut().keep(known, newest)
    }
}

#[cfg(test)]
mod tests {
    //! Tests of what a second hub makes of a session.

    use super::*;
    use crate::roles::Roles;
    use crate::secret::{Secret, SecretKind};
    use crate::tokens::Tokens;

    #[test]
    fn a_session_of_another_hub_stands_for_the_same_person_with_the_same_grants() {
        let credentials = || Credentials::new(Tokens::default(), Roles::default());
        let (mut here, mut there) = (credentials(), credentials());
        let session = Secret::mint(SecretKind::Session, &[7; 32]);
        let grants = vec!["view:team-*".parse().unwrap()];
        let vouched = Vouched::new(Principal::new("ann", grants, None), 100);
        let admission = here.log_in_vouched(vouched, &session, 1).unwrap();
        let ToldSession { behind: told, expires, .. } = here.told_session(&session.hash()).unwrap();
        assert!(!told.contains(session.reveal()));
        there.take_session(session.hash(), &told, expires, 1).unwrap();
        assert!(there.has_session(&session.hash()));
        there.still_holds(&admission, 2).unwrap();
        assert_eq!(there.still_holds(&admission, 100).unwrap_err(), Denial::Expired);
        let newest = there.newest_session();
        assert!(there.keep_sessions(&BTreeSet::new(), newest));
        assert_eq!(there.still_holds(&admission, 2).unwrap_err(), Denial::Unknown);
        let odd = told.replace("null", "\"none\"");
        assert!(there.take_session(session.hash(), &odd, expires, 1).is_err());
    }
}
