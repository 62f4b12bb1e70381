//! Browsers that logged in: each is known by a secret of its own in a cookie, and stands for a token or a link. In memory alone: after a
//! restart of the hub people log in again, and no file holds anything that lets a browser in.

use std::collections::BTreeMap;

use crate::secret::Hash;

/// How long a session lasts, in milliseconds: twelve hours.
pub const SESSION_MS: u64 = 12 * 60 * 60 * 1000;

/// Most sessions at a time; the oldest goes for one more.
pub const SESSIONS_MAX: usize = 2_000;

/// Most sessions of one token or link at a time, so that nobody logs others out; the oldest of them goes for one more.
const SESSIONS_EACH_MAX: usize = 100;

/// Which credential a session stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Behind {
    /// The token of that hash.
    Token(Hash),
    /// The link of that hash.
    Share(Hash),
}

/// A browser that logged in.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Session {
    pub(crate) behind: Behind,
    /// In milliseconds since 1970.
    pub(crate) expires: u64,
    /// Rises with each.
    number: u64,
}

/// The sessions of browsers, in memory alone: at most [`SESSIONS_MAX`].
#[derive(Debug, Default)]
pub struct Sessions {
    open: BTreeMap<Hash, Session>,
    begun: u64,
}

impl Sessions {
    /// Begins a session at `now`, which ends with `until` at the latest.
    pub(crate) fn begin(&mut self, hash: Hash, behind: Behind, until: Option<u64>, now: u64) {
        self.open.retain(|_, session| session.expires > now);
        let same = |session: &&Session| session.behind == behind;
        if self.open.values().filter(same).count() >= SESSIONS_EACH_MAX {
            self.drop_oldest(|session| session.behind == behind);
        }
        if self.open.len() >= SESSIONS_MAX {
            self.drop_oldest(|_| true);
        }
        self.begun += 1;
        let expires = now.saturating_add(SESSION_MS).min(until.unwrap_or(u64::MAX));
        self.open.insert(hash, Session { behind, expires, number: self.begun });
    }

    /// The session of that hash, whether its time is over or not.
    pub(crate) fn find(&self, hash: &Hash) -> Option<Session> {
        self.open.get(hash).copied()
    }

    /// Ends it; false where there was none.
    pub(crate) fn end(&mut self, hash: &Hash) -> bool {
        self.open.remove(hash).is_some()
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.open.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.open.is_empty()
    }

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
