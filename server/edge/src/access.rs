//! Access control, the part with files, a clock and randomness: the crate `access` decides, here is what it decides about. Without
//! [`AccessConfig`] everybody may do everything, on this machine.

use std::future::pending;
use std::net::IpAddr;
use std::path::PathBuf;
use std::time::Duration;

use access::audit::Audited;
use access::{Admission, Denial, Proof, Registry, Roles, Secret, SecretKind, Share, Tokens};
use compact_str::CompactString;
use parking_lot::RwLock;
use tokio::sync::watch;
use tokio::time::sleep;

use event_log::clock;

mod audit;
mod store;

use audit::AuditLog;
pub(crate) use audit::AuditPage;
pub use audit::{AUDIT_PART_BYTES_MAX, AUDIT_PARTS_MAX, AuditReport, verify};
use store::ShareStore;
pub use store::{StoreError, TokenStore, random};

/// Between two looks whether the file of tokens has changed.
const LOOK_EVERY: Duration = Duration::from_millis(500);

/// Longest sleep until what was let in is looked at again: the clock of the system may be set.
const RECHECK_MAX: Duration = Duration::from_mins(1);

/// How access control is set.
#[derive(Debug, Clone)]
pub struct AccessConfig {
    /// The folder of what the hub keeps; the files of tokens and links are in it.
    pub folder: PathBuf,
    /// Tokens that stand in no file, for the hub's own clients.
    pub own: Tokens,
    /// What roles hide, which tokens and links name.
    pub roles: Roles,
    /// Addresses of proxies in front of the hub: what they say of a request is believed, and they may come without TLS.
    pub proxies: Vec<IpAddr>,
}

/// Says who may come in. Cheap where access control is off.
#[derive(Debug, Default)]
pub(crate) struct Gate {
    guarded: Option<Guarded>,
}

#[derive(Debug)]
struct Guarded {
    registry: RwLock<Registry>,
    tokens: TokenStore,
    shares: ShareStore,
    proxies: Vec<IpAddr>,
    audit: AuditLog,
    /// Rises with every change of who is known.
    changes: watch::Sender<u64>,
}

impl Gate {
    /// As `config` says; reads the files.
    pub(crate) fn new(config: Option<&AccessConfig>) -> Result<Self, StoreError> {
        let Some(config) = config else { return Ok(Self::default()) };
        let tokens = TokenStore::in_folder(&config.folder);
        let shares = ShareStore::in_folder(&config.folder);
        let mut registry = Registry::new(config.own.clone(), config.roles.clone());
        registry.set_tokens(tokens.load()?);
        registry.set_shares(shares.load(clock::now_ms())?);
        if registry.tokens().all().next().is_none() {
            tracing::warn!(
                "access control is on, and there is no token yet: `fanlight token create --name NAME --grant view:*` makes one"
            );
        }
        warn_of_unknown_roles(&registry);
        let audit = AuditLog::open(&config.folder, registry.tokens())?;
        let (changes, _) = watch::channel(0);
        let registry = RwLock::new(registry);
        let proxies = config.proxies.clone();
        Ok(Self { guarded: Some(Guarded { registry, tokens, shares, proxies, audit, changes }) })
    }

    /// Whether access control is on.
    pub(crate) fn is_on(&self) -> bool {
        self.guarded.is_some()
    }

    /// Writes what somebody did into the audit log, where there is one. Waits for the disk.
    pub(crate) fn audit(&self, what: Audited) {
        if let Some(guarded) = &self.guarded {
            guarded.audit.write(what);
        }
    }

    /// Up to `limit` entries of the audit log with numbers below `before`, the newest first; nothing where there is none. Waits for the
    /// disk.
    pub(crate) fn audit_page(&self, before: u64, limit: usize) -> Result<Option<AuditPage>, StoreError> {
        self.guarded.as_ref().map(|guarded| guarded.audit.page(before, limit)).transpose()
    }

    /// Whether there is a role of that name.
    pub(crate) fn has_role(&self, name: &str) -> bool {
        self.guarded.as_ref().is_some_and(|guarded| guarded.registry.read().roles().find(name).is_some())
    }

    /// Whether `address` is that of a proxy that was named.
    pub(crate) fn is_proxy(&self, address: IpAddr) -> bool {
        let address = address.to_canonical();
        self.guarded.as_ref().is_some_and(|it| it.proxies.iter().any(|known| known.to_canonical() == address))
    }

    /// Who calls with the token `text`.
    pub(crate) fn by_token(&self, text: &str) -> Result<Admission, Denial> {
        let guarded = self.guarded.as_ref().ok_or(Denial::Malformed)?;
        guarded.registry.read().by_token(text, clock::now_ms())
    }

    /// Who calls with the secret of a session.
    pub(crate) fn by_session(&self, session: &Secret) -> Result<Admission, Denial> {
        let guarded = self.guarded.as_ref().ok_or(Denial::Malformed)?;
        guarded.registry.read().admit(Proof::Session(session.hash()), clock::now_ms())
    }

    /// Whether what was let in before still holds.
    pub(crate) fn still_holds(&self, admission: &Admission) -> Result<(), Denial> {
        match &self.guarded {
            None => Ok(()),
            Some(guarded) => guarded.registry.read().still_holds(admission, clock::now_ms()),
        }
    }

    /// A number that rises with every change of who is known; 0 for ever where access control is off.
    pub(crate) fn changes(&self) -> u64 {
        self.guarded.as_ref().map_or(0, |guarded| *guarded.changes.borrow())
    }

    /// Ready once `admission` does not hold any more: revoked, expired or logged out.
    pub(crate) async fn over(&self, admission: &Admission) -> Denial {
        let Some(guarded) = &self.guarded else { return pending().await };
        let mut changes = guarded.changes.subscribe();
        loop {
            changes.borrow_and_update();
            if let Err(denial) = self.still_holds(admission) {
                return denial;
            }
            let left = admission.expires.map(|at| Duration::from_millis(at.saturating_sub(clock::now_ms())));
            tokio::select! {
                changed = changes.changed() => if changed.is_err() { return pending().await },
                () = sleep(left.unwrap_or(RECHECK_MAX).min(RECHECK_MAX)) => {}
            }
        }
    }

    /// Begins a session for whoever has the token `text`; its secret.
    pub(crate) fn log_in(&self, text: &str) -> Result<(Secret, Admission), Denial> {
        let guarded = self.guarded.as_ref().ok_or(Denial::Malformed)?;
        let session = Secret::mint(SecretKind::Session, &random());
        let admission = guarded.registry.write().log_in(text, &session, clock::now_ms())?;
        Ok((session, admission))
    }

    /// Ends a session; the name of whose it was.
    pub(crate) fn log_out(&self, session: &Secret) -> Option<CompactString> {
        let guarded = self.guarded.as_ref()?;
        let who = self.by_session(session).map_or(CompactString::default(), |it| it.principal.name().into());
        if !guarded.registry.write().log_out(session) {
            return None;
        }
        guarded.changed();
        Some(who)
    }

    /// Makes a link; its secret. Waits for the disk.
    pub(crate) fn share(&self, make: impl FnOnce(access::Hash) -> Share) -> Result<Secret, ShareFault> {
        let guarded = self.guarded.as_ref().ok_or(ShareFault::Off)?;
        let secret = Secret::mint(SecretKind::Share, &random());
        let mut registry = guarded.registry.write();
        registry.shares_mut().add(make(secret.hash()), clock::now_ms())?;
        guarded.shares.save(registry.shares())?;
        Ok(secret)
    }

    /// Counts that a link is followed, and begins a session for it. Waits for the disk.
    pub(crate) fn follow(&self, text: &str) -> Result<(Secret, Share), Denial> {
        let guarded = self.guarded.as_ref().ok_or(Denial::Unknown)?;
        let session = Secret::mint(SecretKind::Session, &random());
        let mut registry = guarded.registry.write();
        let (share, _) = registry.follow(text, &session, clock::now_ms())?;
        // A view that cannot be counted must not be given.
        if share.views_left.is_some()
            && let Err(error) = guarded.shares.save(registry.shares())
        {
            tracing::error!(%error, "a link was not followed, since that cannot be counted");
            registry.log_out(&session);
            return Err(Denial::Unknown);
        }
        Ok((session, share))
    }

    /// The links that `may` says so of.
    pub(crate) fn shares(&self, may: impl Fn(&Share) -> bool) -> Vec<Share> {
        let Some(guarded) = &self.guarded else { return Vec::new() };
        guarded.registry.read().shares().all().iter().filter(|share| may(share)).cloned().collect()
    }

    /// Takes a link back, where `may` says so of it; false where there is none. Waits for the disk.
    pub(crate) fn unshare(&self, id: &str, may: impl Fn(&Share) -> bool) -> Result<bool, ShareFault> {
        let guarded = self.guarded.as_ref().ok_or(ShareFault::Off)?;
        let mut registry = guarded.registry.write();
        let was_there = registry.shares_mut().revoke(id, may).is_some();
        let saved = if was_there { guarded.shares.save(registry.shares()) } else { Ok(()) };
        drop(registry);
        guarded.changed();
        saved?;
        Ok(was_there)
    }

    /// Takes over what changes in the file of tokens, and tells `changed` each time. Does not end.
    pub(crate) async fn watch(&self, changed: impl Fn()) {
        let Some(guarded) = &self.guarded else { return pending().await };
        // Whatever it was when the hub began is looked at once more: it may have changed meanwhile.
        let mut known = None;
        loop {
            sleep(LOOK_EVERY).await;
            let mark = Some(guarded.tokens.mark());
            if mark == known {
                continue;
            }
            known = mark;
            match guarded.tokens.load() {
                Ok(tokens) => {
                    let mut registry = guarded.registry.write();
                    guarded.audit.tokens_between(registry.tokens(), &tokens);
                    registry.set_tokens(tokens);
                    warn_of_unknown_roles(&registry);
                    drop(registry);
                    guarded.changed();
                    changed();
                }
                // Half a file would let nobody in, or somebody who was revoked: what held before holds until it is mended.
                Err(error) => tracing::error!(%error, "the tokens stay as they were"),
            }
        }
    }
}

/// Says which tokens let nobody in, since their roles are none of this hub's.
fn warn_of_unknown_roles(registry: &Registry) {
    for record in registry.tokens().all() {
        if let Some(role) = record.role.as_deref().filter(|role| registry.roles().find(role).is_none()) {
            tracing::warn!(token = %record.name, role, "a token has a role that is not set, and lets nobody in");
        }
    }
}

impl Guarded {
    fn changed(&self) {
        self.changes.send_modify(|changes| *changes += 1);
    }
}

/// Why a link was not made or taken back.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ShareFault {
    /// There is nobody to share with whom anything is kept from.
    #[error(
        "access control is off: everybody who reaches this hub sees everything, and there is nothing to share"
    )]
    Off,
    /// It is none that may be.
    #[error(transparent)]
    Share(#[from] access::ShareError),
    /// The file was not written.
    #[error(transparent)]
    Store(#[from] StoreError),
}

#[cfg(test)]
mod tests;
