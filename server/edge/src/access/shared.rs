//! What all hubs of a log know together: sessions of browsers here, links in `links`, logins in `login`, what tokens spend in `ledger`. It is in
//! the log, without anything that admits a browser.
//!
//! ```text
//! login ──▶ this hub's memory ──▶ log ◀── looked up by the hub that is shown an unknown cookie
//! logout ─▶ out of the log ──▶ each hub looks every second which are still there
//! ```

use std::collections::BTreeSet;
use std::future::pending;
use std::time::Duration;

use access::{Admission, Denial, Hash, SESSIONS_MAX, Secret, ToldSession};
use event_log::{LogError, SharedAccess, StoredSession, blocking, clock};
use tokio::time::sleep;

use super::{Gate, Guarded};

/// The time between two looks which sessions and links have ended at other hubs, and what was spent there.
const ENDED_EVERY: Duration = Duration::from_secs(1);

impl Gate {
    /// Admits whoever has the secret of a session that this hub or another one of its log has begun. Waits
    /// for the log where this hub does not know the session, and for others who do. Fails with `Unavailable` where it does not answer: the
    /// session may be a good one.
    pub(crate) async fn by_any_session(&self, session: &Secret) -> Result<Admission, Denial> {
        let hash = session.hash();
        if let Some(guarded) = &self.guarded
            && let Some(shared) = guarded.shared()
            && !guarded.knows(&hash)
        {
            let _turn = guarded.counted.stranger().await.ok_or(Denial::Unavailable)?;
            if let Err(error) = guarded.look_for(shared, &hash) {
                tracing::warn!(%error, "other hubs were not asked for a session");
                return Err(Denial::Unavailable);
            }
        }
        self.by_session(session)
    }

    /// Ends sessions that were ended at other hubs, and calls `changed` after it. Never returns. It waits for the database
    /// in the task that runs it: give it one of its own.
    pub(crate) async fn follow_sessions(&self, changed: impl Fn() + Send + Sync) {
        match &self.guarded {
            Some(guarded) => guarded.follow_sessions(changed).await,
            None => pending().await,
        }
    }
}

impl Guarded {
    /// What hubs that share a log know together, if there are several.
    pub(super) fn shared(&self) -> Option<&dyn SharedAccess> {
        self.log.get()?.access()
    }

    /// Whether the log need not be asked for a session. One that ended here, and of which the log could not be told yet, is over.
    fn knows(&self, hash: &Hash) -> bool {
        self.credentials.read().has_session(hash) || self.ended.lock().contains(hash)
    }

    /// Takes a session over from another hub, unless it is known here.
    fn look_for(&self, shared: &dyn SharedAccess, hash: &Hash) -> Result<(), LogError> {
        // Whoever had the turn before may have asked for the same.
        if self.knows(hash) {
            return Ok(());
        }
        let Some(found) = blocking(|| shared.find(&String::from(*hash)))? else { return Ok(()) };
        // The session is known here only when its link is: otherwise the next request with it would find a session without one.
        self.look_for_link_of(shared, &found.behind)?;
        let now = clock::now_ms();
        let taken = self.credentials.write().take_session(*hash, &found.behind, found.expires, now);
        if let Err(error) = taken {
            tracing::warn!(%error, "a session of another hub is not understood");
        }
        Ok(())
    }

    /// Tells other hubs of a session that has begun here. Waits for the log. Where that fails it is one of this
    /// hub alone.
    pub(super) fn tell_of(&self, session: &Secret) {
        let (Some(sessions), hash) = (self.shared(), session.hash()) else { return };
        let Some(told) = self.credentials.read().told_session(&hash) else { return };
        let ToldSession { caller, behind, expires } = told;
        let stored = StoredSession { hash: String::from(hash), caller, behind, expires };
        match blocking(|| sessions.put(&stored, clock::now_ms())) {
            Ok(()) => self.credentials.write().session_is_shared(&hash),
            Err(error) => tracing::warn!(%error, "other hubs were not told of a session"),
        }
    }

    /// Tells other hubs that a session has ended. Waits for the log; where that fails it is tried again.
    pub(super) fn tell_end(&self, hash: &Hash) {
        if let Some(sessions) = self.shared()
            && let Err(error) = blocking(|| sessions.remove(&String::from(*hash)))
        {
            tracing::warn!(%error, "other hubs were not told that a session has ended; this is tried again");
            let mut ended = self.ended.lock();
            if ended.len() < SESSIONS_MAX {
                ended.insert(*hash);
            }
        }
    }

    /// Ends sessions that were ended at other hubs. Never returns.
    async fn follow_sessions(&self, changed: impl Fn() + Send + Sync) {
        loop {
            sleep(ENDED_EVERY).await;
            let Some(shared) = self.shared() else {
                if self.log.get().is_some() {
                    return pending().await;
                }
                continue;
            };
            let (looked, ()) = blocking(|| (self.look_around(shared), self.meet(shared)));
            match looked {
                Ok(true) => {
                    self.changed();
                    changed();
                }
                Ok(false) => {}
                Err(error) => {
                    tracing::debug!(%error, "what other hubs know of sessions and links is not known");
                }
            }
        }
    }

    /// Takes over what other hubs have ended or made. Whether a session or a link is new or over.
    fn look_around(&self, shared: &dyn SharedAccess) -> Result<bool, LogError> {
        let newest = self.credentials.read().newest_session();
        let known = self.known(shared)?;
        let mut is_changed = self.credentials.write().keep_sessions(&known, newest);
        is_changed |= self.follow_links(shared)?;
        Ok(is_changed)
    }

    /// Tells other hubs what was spent here, and takes over what was spent there.
    fn meet(&self, shared: &dyn SharedAccess) {
        let tokens = self.credentials.read().tokens().clone();
        if tokens.all().any(|record| record.budget.is_some()) {
            self.ledger.meet(shared, &tokens);
        }
    }

    /// The sessions that there are, after those have ended of which that could not be said before.
    fn known(&self, sessions: &dyn SharedAccess) -> Result<BTreeSet<Hash>, LogError> {
        let ended = self.ended.lock().clone();
        for hash in &ended {
            sessions.remove(&String::from(*hash))?;
            self.ended.lock().remove(hash);
        }
        let hashes = sessions.hashes()?;
        Ok(hashes.into_iter().filter_map(|hash| Hash::try_from(hash).ok()).collect())
    }
}
