//! Sessions of browsers. Each has a secret of its own in a cookie, and stands for a token or a link. They are
//! in memory only: after a restart of the hub people log in again, and no file contains anything that admits
//! a browser. Hubs that share a log tell one another of theirs ([`crate::told`]).

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::secret::Hash;
use crate::vouched::Vouched;

/// How long a session lasts, in milliseconds: twelve hours.
pub const SESSION_MS: u64 = 12 * 60 * 60 * 1000;

/// The most sessions; another one replaces the oldest.
pub const SESSIONS_MAX: usize = 2_000;

/// The most sessions of one token or link; another one replaces the oldest of them. It prevents that one
/// caller logs others out.
const SESSIONS_EACH_MAX: usize = 100;

/// The credential for which a session stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Behind {
    /// The token with this hash.
    Token(Hash),
    /// The link with this hash.
    Share(Hash),
    /// Another service vouches for the caller.
    Vouched(Arc<Vouched>),
}

impl Behind {
    /// Whether the same caller is behind both.
    fn is_same(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Vouched(one), Self::Vouched(two)) => one.principal.name() == two.principal.name(),
            (one, two) => one == two,
        }
    }

    /// A text that is the same for all sessions of one caller, and different for others.
    pub(crate) fn caller(&self) -> String {
        match self {
            Self::Token(hash) => format!("token {}", String::from(*hash)),
            Self::Share(hash) => format!("share {}", String::from(*hash)),
            Self::Vouched(vouched) => format!("name {}", vouched.principal.name()),
        }
    }
}

/// A session of a browser.
#[derive(Debug, Clone)]
pub(crate) struct Session {
    /// The credential for which it stands.
    pub(crate) behind: Behind,
    /// When the session ends, in milliseconds since 1970.
    pub(crate) expires: u64,
    /// A number that rises with each session, to find the oldest.
    number: u64,
    /// The number of the session when it became known that other hubs know it too; `None` for one of this hub alone.
    shared: Option<u64>,
}

/// All sessions, at most [`SESSIONS_MAX`]. Owned by [`Credentials`](crate::Credentials).
#[derive(Debug, Default)]
pub struct Sessions {
    /// The sessions by the hash of their secret, expired ones until the next begins.
    open: BTreeMap<Hash, Session>,
    /// The number of sessions that were ever begun.
    begun: u64,
}

impl Sessions {
    /// Begins a session at `now`. It ends at `until` at the latest. Expired sessions are removed.
    pub(crate) fn begin(&mut self, hash: Hash, behind: Behind, until: Option<u64>, now: u64) {
        self.open.retain(|_, session| session.expires > now);
        let same = |session: &&Session| session.behind.is_same(&behind);
        if self.open.values().filter(same).count() >= SESSIONS_EACH_MAX {
            self.drop_oldest(|session| session.behind.is_same(&behind));
        }
        if self.open.len() >= SESSIONS_MAX {
            self.drop_oldest(|_| true);
        }
        self.begun += 1;
        let expires = now.saturating_add(SESSION_MS).min(until.unwrap_or(u64::MAX));
        self.open.insert(hash, Session { behind, expires, number: self.begun, shared: None });
    }

    /// The session with this hash, even if it has expired.
    pub(crate) fn find(&self, hash: &Hash) -> Option<Session> {
        self.open.get(hash).cloned()
    }

    /// Takes over a session that another hub has begun.
    pub(crate) fn take(&mut self, hash: Hash, behind: Behind, expires: u64, now: u64) {
        self.begin(hash, behind, Some(expires), now);
        self.share(&hash);
    }

    /// Notes that other hubs know a session, so that it ends with [`Sessions::keep`].
    pub(crate) fn share(&mut self, hash: &Hash) {
        self.begun += 1;
        if let Some(session) = self.open.get_mut(hash) {
            session.shared = Some(self.begun);
        }
    }

    /// The newest number. What is shared later has a higher one.
    pub(crate) fn newest(&self) -> u64 {
        self.begun
    }

    /// Ends sessions that were shared up to the number `newest` and are not among `known` to other hubs.
    /// Returns whether any ended.
    pub(crate) fn keep(&mut self, known: &BTreeSet<Hash>, newest: u64) -> bool {
        let before = self.open.len();
        self.open.retain(|hash, session| {
            session.shared.is_none_or(|number| number > newest) || known.contains(hash)
        });
        self.open.len() < before
    }

    /// Ends a session. False if there was none.
    pub(crate) fn end(&mut self, hash: &Hash) -> bool {
        self.open.remove(hash).is_some()
    }

    /// The number of sessions, including expired ones.
    pub fn len(&self) -> usize {
        self.open.len()
    }

    /// Whether there is no session.
    pub fn is_empty(&self) -> bool {
        self.open.is_empty()
    }

    /// Removes the oldest session for which `among` returns true.
    fn drop_oldest(&mut self, among: impl Fn(&Session) -> bool) {
        let among = self.open.iter().filter(|(_, session)| among(session));
        if let Some(hash) = among.min_by_key(|(_, session)| session.number).map(|(hash, _)| *hash) {
            self.open.remove(&hash);
        }
    }
}

#[cfg(test)]
mod tests {
    //! Tests of how many sessions there are, and for how long.

    use super::*;
    use crate::secret::{Secret, SecretKind};

    fn hash(number: u64) -> Hash {
        let mut random = [0; 32];
        random[..8].copy_from_slice(&number.to_be_bytes());
        Secret::mint(SecretKind::Session, &random).hash()
    }

    #[test]
    fn a_session_ends_after_its_time_and_never_later_than_its_token() {
        let mut sessions = Sessions::default();
        sessions.begin(hash(1), Behind::Token(hash(0)), None, 5);
        sessions.begin(hash(2), Behind::Token(hash(0)), Some(7), 5);
        assert_eq!(sessions.find(&hash(1)).unwrap().expires, 5 + SESSION_MS);
        assert_eq!(sessions.find(&hash(2)).unwrap().expires, 7);
        sessions.begin(hash(3), Behind::Token(hash(0)), None, 7);
        assert_eq!(sessions.len(), 2, "what is over makes room");
        assert!(sessions.end(&hash(1)) && !sessions.end(&hash(1)));
    }

    #[test]
    fn what_other_hubs_no_longer_know_ends_and_what_they_do_not_know_yet_stays() {
        let mut sessions = Sessions::default();
        let token = || Behind::Token(hash(0));
        sessions.begin(hash(1), token(), None, 0);
        sessions.begin(hash(2), token(), None, 0);
        sessions.share(&hash(2));
        sessions.take(hash(3), token(), 9, 0);
        let newest = sessions.newest();
        // Shared while the others were asked.
        sessions.take(hash(4), token(), 9, 0);
        assert!(sessions.keep(&BTreeSet::from([hash(3)]), newest));
        let left = [1, 2, 3, 4].map(|number| sessions.find(&hash(number)).is_some());
        assert_eq!(left, [true, false, true, true]);
        assert!(!sessions.keep(&BTreeSet::from([hash(3)]), newest));
        assert_eq!(sessions.find(&hash(3)).unwrap().expires, 9);
    }

    #[test]
    fn i7_sessions_are_bounded_and_nobody_logs_others_out() {
        let mut sessions = Sessions::default();
        sessions.begin(hash(0), Behind::Token(hash(1_000_000)), None, 0);
        for number in 1..=2 * SESSIONS_EACH_MAX as u64 {
            sessions.begin(hash(number), Behind::Token(hash(2_000_000)), None, 0);
        }
        assert_eq!(sessions.len(), 1 + SESSIONS_EACH_MAX);
        assert!(sessions.find(&hash(0)).is_some() && sessions.find(&hash(1)).is_none());
        for number in 1..=SESSIONS_MAX as u64 + 10 {
            sessions.begin(hash(10_000_000 + number), Behind::Token(hash(20_000_000 + number)), None, 0);
        }
        assert_eq!(sessions.len(), SESSIONS_MAX);
    }
}
