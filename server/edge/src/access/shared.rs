//! Sessions of browsers that all hubs of a log admit. They are in the log, without anything that admits a browser.
//!
//! ```text
//! login ──▶ this hub's memory ──▶ log ◀── looked up by the hub that is shown an unknown cookie
//! logout ─▶ out of the log ──▶ each hub looks every second which are still there
//! ```

use std::collections::BTreeSet;
use std::future::pending;
use std::time::Duration;

use access::{Admission, Denial, Hash, SESSIONS_MAX, Secret, ToldSession};
use event_log::{LogError, SharedSessions, StoredSession, blocking, clock};
use tokio::time::sleep;

use super::{Gate, Guarded};

/// The time between two looks which sessions have ended at other hubs.
const ENDED_EVERY: Duration = Duration::from_secs(1);

impl Gate {
    /// Admits whoever has the secret of a session that this hub or another one of its log has begun. Waits
    /// for the log where this hub does not know the session.
    pub(crate) fn by_any_session(&self, session: &Secret) -> Result<Admission, Denial> {
        if let Some(guarded) = self.guarded.as_ref().filter(|guarded| guarded.sessions().is_some()) {
            guarded.look_for(&session.hash());
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
    /// Where sessions are shared, if they are.
    fn sessions(&self) -> Option<&dyn SharedSessions> {
        self.log.get()?.sessions()
    }

    /// Takes a session over from another hub, unless it is known here.
    fn look_for(&self, hash: &Hash) {
        // One that ended here, and of which the log could not be told yet, is over.
        if self.registry.read().has_session(hash) || self.ended.lock().contains(hash) {
            return;
        }
        let Some(sessions) = self.sessions() else { return };
        match blocking(|| sessions.find(&String::from(*hash))) {
            Ok(Some(found)) => {
                let now = clock::now_ms();
                let taken = self.registry.write().take_session(*hash, &found.behind, found.expires, now);
                if let Err(error) = taken {
                    tracing::warn!(%error, "a session of another hub is not understood");
                }
            }
            Ok(None) => {}
            Err(error) => tracing::warn!(%error, "other hubs were not asked for a session"),
        }
    }

    /// Tells other hubs of a session that has begun here. Waits for the log. Where that fails it is one of this
    /// hub alone.
    pub(super) fn tell_of(&self, session: &Secret) {
        let (Some(sessions), hash) = (self.sessions(), session.hash()) else { return };
        let Some(told) = self.registry.read().told_session(&hash) else { return };
        let ToldSession { caller, behind, expires } = told;
        let stored = StoredSession { hash: String::from(hash), caller, behind, expires };
        match blocking(|| sessions.put(&stored, clock::now_ms())) {
            Ok(()) => self.registry.write().session_is_shared(&hash),
            Err(error) => tracing::warn!(%error, "other hubs were not told of a session"),
        }
    }

    /// Tells other hubs that a session has ended. Waits for the log; where that fails it is tried again.
    pub(super) fn tell_end(&self, hash: &Hash) {
        if let Some(sessions) = self.sessions()
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
            let Some(sessions) = self.sessions() else {
                if self.log.get().is_some() {
                    return pending().await;
                }
                continue;
            };
            let newest = self.registry.read().newest_session();
            match blocking(|| self.known(sessions)) {
                Ok(known) => {
                    if self.registry.write().keep_sessions(&known, newest) {
                        self.changed();
                        changed();
                    }
                }
                Err(error) => tracing::debug!(%error, "the sessions of other hubs are not known"),
            }
        }
    }

    /// The sessions that there are, after those have ended of which that could not be said before.
    fn known(&self, sessions: &dyn SharedSessions) -> Result<BTreeSet<Hash>, LogError> {
        let ended = self.ended.lock().clone();
        for hash in &ended {
            sessions.remove(&String::from(*hash))?;
            self.ended.lock().remove(hash);
        }
        let hashes = sessions.hashes()?;
        Ok(hashes.into_iter().filter_map(|hash| Hash::try_from(hash).ok()).collect())
    }
}
