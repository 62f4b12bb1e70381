//! Links to one conversation. A hub that is alone keeps them in a file; hubs that share a log keep them there, and each knows them all.
//!
//! ```text
//! make ───▶ log ──▶ this hub            open: known here, or looked up ─▶ view counted in the log ─▶ session
//! revoke ─▶ log ──▶ this hub            others: every second, which links are there
//! ```

use std::collections::BTreeSet;
use std::path::Path;

use access::{Denial, Hash, Principal, Secret, SecretKind, Share, ShareError, Shares};
use event_log::{EventLog, LogError, SharedAccess, StoredShare, blocking, clock};
use model::ConversationId;

use super::store::{ShareStore, StoreError};
use super::{Gate, Guarded, random};

/// Why a link was not made or revoked.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ShareFault {
    /// Access control is off, so there is nothing to share.
    #[error(
        "access control is off: everybody who reaches this hub sees everything, and there is nothing to share"
    )]
    Off,
    /// The link is not allowed.
    #[error(transparent)]
    Share(#[from] ShareError),
    /// The file of links cannot be written.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The log that hubs share does not answer.
    #[error("the database that the hubs share does not answer: try again in a moment")]
    Log(#[source] LogError),
}

/// All share links that are stored.
#[derive(Debug)]
pub(crate) struct StoredLinks {
    /// The links that this hub understands.
    pub(crate) links: Vec<Share>,
    /// How many others there are, which another version wrote.
    pub(crate) unread: usize,
}

impl Gate {
    /// Checks what is asked of a new link before anything is made for it. Fails as [`Gate::share`] does, but for what cannot be stored.
    pub(crate) fn may_share(&self, make: impl FnOnce(Hash) -> Share) -> Result<(), ShareFault> {
        let guarded = self.guarded.as_ref().ok_or(ShareFault::Off)?;
        let share = make(Secret::mint(SecretKind::Share, &random()).hash());
        Shares::check(&share, clock::now_ms())?;
        let credentials = guarded.credentials.read();
        if credentials.shares().is_full(clock::now_ms()) {
            return Err(ShareError::Full.into());
        }
        Ok(())
    }

    /// Makes a link and stores it; returns its secret, which cannot be read again. Waits for the disk or the log. Fails
    /// while access control is off, for a link that is not allowed, and if it cannot be stored.
    pub(crate) fn share(&self, make: impl FnOnce(Hash) -> Share) -> Result<Secret, ShareFault> {
        let guarded = self.guarded.as_ref().ok_or(ShareFault::Off)?;
        let secret = Secret::mint(SecretKind::Share, &random());
        let (share, now) = (make(secret.hash()), clock::now_ms());
        if let Some(shared) = guarded.shared() {
            Shares::check(&share, now)?;
            let _turn = blocking(|| guarded.links.lock());
            if !blocking(|| shared.put_share(&stored(&share), now)).map_err(ShareFault::Log)? {
                return Err(ShareError::Full.into());
            }
            guarded.followed_links.lock().insert(String::from(share.hash));
            guarded.credentials.write().shares_mut().put(share);
            return Ok(secret);
        }
        let mut credentials = guarded.credentials.write();
        credentials.shares_mut().add(share, now)?;
        if let Err(error) = guarded.shares.save(credentials.shares()) {
            // Nobody gets its secret, so it must not count among the links either.
            credentials.shares_mut().revoke(&secret.hash().short(), |_| true);
            return Err(error.into());
        }
        Ok(secret)
    }

    /// Counts a use of the link with the secret `text` and begins a session for it. Waits for the disk or the log, and for others who ask the
    /// log and are not admitted yet.
    pub(crate) async fn follow(&self, text: &str) -> Result<(Secret, Share), Denial> {
        let guarded = self.guarded.as_ref().ok_or(Denial::Unknown)?;
        let session = Secret::mint(SecretKind::Session, &random());
        let share = match guarded.shared() {
            Some(shared) => {
                let _turn = guarded.counted.stranger().await.ok_or(Denial::Unavailable)?;
                let share = guarded.follow_shared(shared, text, &session)?;
                guarded.tell_of(&session);
                share
            }
            None => blocking(|| guarded.follow_own(text, &session))?,
        };
        Ok((session, share))
    }

    /// The links for which `may` is true. May wait for the log.
    pub(crate) fn shares(&self, may: impl Fn(&Share) -> bool) -> Vec<Share> {
        let Some(guarded) = &self.guarded else { return Vec::new() };
        if let Some(shared) = guarded.shared()
            && let Err(error) = guarded.read_links(shared)
        {
            tracing::warn!(%error, "the links are those that this hub knew before");
        }
        guarded.credentials.read().shares().all().iter().filter(|share| may(share)).cloned().collect()
    }

    /// Revokes a link for which `may` is true, stores that, and returns the link; `None` if there is none. Waits for the disk or the log.
    pub(crate) fn unshare(
        &self,
        id: &str,
        may: impl Fn(&Share) -> bool,
    ) -> Result<Option<Share>, ShareFault> {
        Ok(self.unshare_each(|share| share.id() == id && may(share))?.into_iter().next())
    }

    /// Revokes all links to `conversation`, frozen ones too, stores that, and returns them. Waits for the disk or the log.
    pub(crate) fn unshare_all(&self, conversation: &ConversationId) -> Result<Vec<Share>, ShareFault> {
        if self.guarded.is_none() {
            return Ok(Vec::new());
        }
        self.unshare_each(|share| share.subject() == conversation || share.conversation == *conversation)
    }

    /// The link with the secret `text`, if it holds, and whoever follows it. Counts no view. Waits for the log where this hub does not know the link, and for others
    /// who ask it and are not admitted yet. Fails as [`Gate::follow`] does.
    pub(crate) async fn look_at(&self, text: &str) -> Result<(Share, Principal), Denial> {
        let guarded = self.guarded.as_ref().ok_or(Denial::Unknown)?;
        let hash = Secret::parse(SecretKind::Share, text).ok_or(Denial::Unknown)?.hash();
        if let Some(shared) = guarded.shared() {
            let _turn = guarded.counted.stranger().await.ok_or(Denial::Unavailable)?;
            let _links = blocking(|| guarded.links.lock());
            if guarded.credentials.read().shares().find(&hash).is_none() {
                guarded.look_for_link(shared, &hash).map_err(|error| unavailable(&error))?;
            }
        }
        let (credentials, now) = (guarded.credentials.read(), clock::now_ms());
        let share = credentials.link(text, now)?.clone();
        if share.views_left == Some(0) {
            return Err(Denial::Expired);
        }
        let principal = share.principal(now, credentials.roles())?;
        Ok((share, principal))
    }

    /// All links. While access control is off nobody follows them, and they are as `log` or the file in `folder` has them. `None` where nobody knows them. May wait
    /// for the log, and fails if that does not answer.
    pub(crate) fn all_shares(
        &self,
        log: &dyn EventLog,
        folder: Option<&Path>,
    ) -> Result<Option<StoredLinks>, LogError> {
        let Some(guarded) = &self.guarded else { return unguarded(log, folder) };
        let unread = match guarded.shared() {
            Some(shared) => guarded.read_links(shared)?,
            None => 0,
        };
        Ok(Some(StoredLinks { links: guarded.credentials.read().shares().all().to_vec(), unread }))
    }

    fn unshare_each(&self, which: impl Fn(&Share) -> bool) -> Result<Vec<Share>, ShareFault> {
        let guarded = self.guarded.as_ref().ok_or(ShareFault::Off)?;
        let shared = guarded.shared();
        if let Some(shared) = shared {
            guarded.read_links(shared).map_err(ShareFault::Log)?;
        }
        let _turn = blocking(|| guarded.links.lock());
        let found: Vec<Share> =
            guarded.credentials.read().shares().all().iter().filter(|share| which(share)).cloned().collect();
        if found.is_empty() {
            return Ok(found);
        }
        let removed = found.iter().try_for_each(|share| {
            if let Some(shared) = shared {
                blocking(|| shared.remove_share(&String::from(share.hash))).map_err(ShareFault::Log)?;
            }
            guarded.credentials.write().shares_mut().revoke(&share.id(), |known| known.hash == share.hash);
            Ok::<(), ShareFault>(())
        });
        let saved = match shared {
            Some(_) => Ok(()),
            None => guarded.shares.save(guarded.credentials.read().shares()),
        };
        // Those that are revoked are cut off, even where a later one could not be.
        guarded.changed();
        removed?;
        saved?;
        Ok(found)
    }
}

impl Guarded {
    /// Counts a use of a link of this hub alone.
    fn follow_own(&self, text: &str, session: &Secret) -> Result<Share, Denial> {
        let mut credentials = self.credentials.write();
        let (share, _) = credentials.follow(text, session, clock::now_ms())?;
        // A use that cannot be counted must not be given.
        if share.views_left.is_some()
            && let Err(error) = self.shares.save(credentials.shares())
        {
            tracing::error!(%error, "a share link was refused: its use could not be counted");
            credentials.log_out(session);
            return Err(Denial::Unknown);
        }
        Ok(share)
    }

    /// Counts a use of a link that all hubs know. Fails with `Unavailable` where the log does not answer.
    fn follow_shared(
        &self,
        shared: &dyn SharedAccess,
        text: &str,
        session: &Secret,
    ) -> Result<Share, Denial> {
        let hash = Secret::parse(SecretKind::Share, text).ok_or(Denial::Unknown)?.hash();
        let _turn = blocking(|| self.links.lock());
        if self.credentials.read().shares().find(&hash).is_none() {
            self.look_for_link(shared, &hash).map_err(|error| unavailable(&error))?;
        }
        let now = clock::now_ms();
        let share = self.credentials.read().link(text, now)?.clone();
        if !blocking(|| shared.view_share(&String::from(hash))).map_err(|error| unavailable(&error))? {
            // Its views are used up, or it was revoked a moment ago.
            return Err(Denial::Expired);
        }
        self.credentials.write().open_link(&share, session, now)?;
        Ok(share)
    }

    /// Takes over one link from the log, if it is there. The caller holds `links`.
    fn look_for_link(&self, shared: &dyn SharedAccess, hash: &Hash) -> Result<(), LogError> {
        if let Some(share) = blocking(|| shared.find_share(&String::from(*hash)))?.as_ref().and_then(read) {
            // Should it be revoked before the next look, that look must see a difference.
            self.followed_links.lock().insert(String::from(share.hash));
            self.credentials.write().shares_mut().put(share);
        }
        Ok(())
    }

    /// Takes over the link for which a session stands of which another hub has `told`.
    pub(super) fn look_for_link_of(&self, shared: &dyn SharedAccess, told: &str) -> Result<(), LogError> {
        let missing = self.credentials.read().link_missed_by(told);
        let Some(hash) = missing else { return Ok(()) };
        // Whoever has the turn may wait for the log.
        let _turn = blocking(|| self.links.lock());
        self.look_for_link(shared, &hash)
    }

    /// Takes over all links from the log. Returns how many are there that this version cannot read.
    fn read_links(&self, shared: &dyn SharedAccess) -> Result<usize, LogError> {
        let _turn = blocking(|| self.links.lock());
        let there = blocking(|| shared.shares())?;
        let all: Vec<Share> = there.iter().filter_map(read).collect();
        let unread = there.len().saturating_sub(all.len());
        self.credentials.write().set_shares(Shares::of(all, clock::now_ms()));
        Ok(unread)
    }

    /// Takes over links that were made or revoked at other hubs; whether there were any.
    pub(super) fn follow_links(&self, shared: &dyn SharedAccess) -> Result<bool, LogError> {
        let there: BTreeSet<String> = shared.share_hashes()?.into_iter().collect();
        // Not compared with the links here: those that have expired, or that a later version wrote, are there alone.
        if *self.followed_links.lock() == there {
            return Ok(false);
        }
        self.read_links(shared)?;
        *self.followed_links.lock() = there;
        Ok(true)
    }

    /// Tells other hubs of the links in the file, which is empty then, and takes over theirs.
    pub(super) fn bring_links(&self, shared: &dyn SharedAccess) -> Result<(), LogError> {
        let (now, own) = (clock::now_ms(), self.credentials.read().shares().all().to_vec());
        for share in &own {
            if !blocking(|| shared.put_share(&stored(share), now))? {
                tracing::warn!(
                    link = share.id(),
                    "a link is gone: it was revoked at another hub, or the hubs have as many as they may"
                );
            }
        }
        if !own.is_empty()
            && let Err(error) = self.shares.save(&Shares::default())
        {
            tracing::error!(%error, "links that are in the database are still in the file too");
        }
        self.read_links(shared)?;
        Ok(())
    }
}

/// The links that were stored while access control was on.
fn unguarded(log: &dyn EventLog, folder: Option<&Path>) -> Result<Option<StoredLinks>, LogError> {
    if let Some(shared) = log.access() {
        let there = blocking(|| shared.shares())?;
        let links: Vec<Share> = there.iter().filter_map(read).collect();
        return Ok(Some(StoredLinks { unread: there.len().saturating_sub(links.len()), links }));
    }
    let Some(store) = folder.map(ShareStore::in_folder).filter(ShareStore::is_there) else { return Ok(None) };
    match store.load(clock::now_ms()) {
        Ok(shares) => Ok(Some(StoredLinks { links: shares.all().to_vec(), unread: 0 })),
        // Another version may have written it.
        Err(error) => {
            tracing::warn!(%error, "copies of frozen links stay: the file of links cannot be read");
            Ok(None)
        }
    }
}

/// The refusal of a link that cannot be looked up.
fn unavailable(error: &LogError) -> Denial {
    tracing::warn!(%error, "a link was not opened: the log does not answer");
    Denial::Unavailable
}

/// A link as the log keeps it.
fn stored(share: &Share) -> StoredShare {
    let told = Share { views_left: None, ..share.clone() };
    StoredShare {
        hash: String::from(share.hash),
        // Serializing texts and numbers cannot fail.
        share: serde_json::to_string(&told).unwrap_or_default(),
        views_left: share.views_left,
        expires: share.expires,
    }
}

/// A link that the log kept; nothing where another version wrote what this one does not know.
fn read(stored: &StoredShare) -> Option<Share> {
    let share: Share = serde_json::from_str(&stored.share).ok()?;
    Some(Share { views_left: stored.views_left, ..share })
}
