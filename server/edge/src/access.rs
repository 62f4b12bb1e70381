//! The part of access control that needs files, a clock and randomness. The crate `access` decides; this
//! module holds what it decides about. Without [`AccessConfig`] access control is off: everybody on this
//! machine may do everything.
//!
//! ```text
//! tokens.json ──▶ Credentials ◀── shares.json        Gate::by_token, by_session, by_claims ─▶ Admission
//! keys of issuers ──▶ │  ◀── sessions             Gate::over(admission) ─▶ the reason, once it ends
//!                      └─ changes: a number that rises ─▶ whoever holds an admission checks it again
//! ```
//!
//! Locks are held for look-ups; those that store a link or count its use hold the lock while the file is
//! written.

use std::collections::BTreeSet;
use std::future::pending;
use std::net::IpAddr;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use access::audit::Audited;
use access::{
    Admission, Credentials, Denial, Hash, Proof, Quotas, Roles, Secret, SecretKind, TokenRecord, Tokens,
};
use compact_str::CompactString;
use model::Mask;
use parking_lot::{Mutex, RwLock};
use tokio::sync::watch;
use tokio::time::sleep;

use event_log::{EventLog, LogError, clock};
use upstream::Egress;

mod audit;
mod bounds;
mod fetch;
mod keys;
mod ledger;
mod links;
mod login;
mod shared;
mod store;
mod traffic;
mod trusted;
mod vouched;

use audit::AuditLog;
pub(crate) use audit::AuditPage;
pub use audit::{AUDIT_PART_BYTES_MAX, AUDIT_PARTS_MAX, AuditReport, note_erasure, verify};
pub(crate) use bounds::{Counted, Seat, seat};
use keys::KeyRing;
pub use keys::{JwtSource, KeySource};
pub use ledger::spending;
pub(crate) use ledger::{Ledger, NotLent, OpenCall};
pub(crate) use links::{ShareFault, StoredLinks};
pub use login::OidcConfig;
pub(crate) use login::{LoginFault, Provider};
use store::ShareStore;
pub(crate) use store::private;
pub use store::{FrozenCopies, StoreError, TokenStore, frozen_copies, random};
pub(crate) use traffic::{CountedFor, Traffic};
pub use trusted::{AddressRange, AddressRangeError, GROUPS_CLAIM, TrustedHeaders, USER_CLAIM, USER_HEADER};

/// The time between two checks whether the file of tokens has changed.
const LOOK_EVERY: Duration = Duration::from_millis(500);

/// The longest sleep before an admission is checked again, because the time of day may be set while it
/// sleeps.
const RECHECK_MAX: Duration = Duration::from_mins(1);

/// The settings of access control.
#[derive(Debug, Clone, Default)]
pub struct AccessConfig {
    /// The data folder, in which the files of tokens and links are.
    pub folder: PathBuf,
    /// Tokens that are in no file, for the hub's own clients such as the demo.
    pub own: Tokens,
    /// What roles hide, which tokens and links name.
    pub roles: Roles,
    /// Addresses of proxies in front of the hub. Their forwarding headers are believed, and they may connect
    /// without TLS.
    pub proxies: Vec<IpAddr>,
    /// Who else signs tokens that the hub takes.
    pub jwt: Vec<JwtSource>,
    /// Proxies that say who sends a request.
    pub trusted: Option<TrustedHeaders>,
    /// Where people log in besides with a token.
    pub oidc: Option<OidcConfig>,
    /// How much one address and one principal may do.
    pub quotas: Quotas,
    /// Whether the audit log notes who views which conversation.
    pub audit_views: bool,
}

/// Decides who may come in. One for each hub, owned by `Shared`, used by all requests and sockets. Costs next
/// to nothing while access control is off.
#[derive(Debug, Default)]
pub(crate) struct Gate {
    /// `None` while access control is off.
    guarded: Option<Guarded>,
}

/// The state while access control is on.
#[derive(Debug)]
struct Guarded {
    /// The credentials that are known: tokens, sessions and links.
    credentials: RwLock<Credentials>,
    /// The file of tokens, which the hub only reads.
    tokens: TokenStore,
    /// The file of links; where hubs share a log they are there instead.
    shares: ShareStore,
    /// Held while links are read from the log or changed there, so that none is forgotten that was just made.
    links: Mutex<()>,
    /// The hashes of the links that were in the log when they were last taken over.
    followed_links: Mutex<BTreeSet<String>>,
    /// Proxies whose forwarding headers are believed.
    proxies: Vec<IpAddr>,
    /// The keys of who else signs tokens.
    keys: KeyRing,
    /// Proxies that say who sends a request.
    trusted: Option<TrustedHeaders>,
    /// Where people log in besides with a token.
    provider: Option<Provider>,
    /// The counts of what each address and principal does.
    counted: Counted,
    /// What tokens with a budget have spent.
    ledger: Ledger,
    /// The log of who did what.
    audit: AuditLog,
    /// Whether it notes who views which conversation.
    audit_views: bool,
    /// The log, in which hubs that share it keep sessions; set once it is open.
    log: OnceLock<Arc<dyn EventLog>>,
    /// Sessions that have ended here, and that the log still has.
    ended: Mutex<BTreeSet<Hash>>,
    /// Rises with every change of who is known, so that admissions are checked again.
    changes: watch::Sender<u64>,
}

impl Gate {
    /// Makes the gate that `config` describes and reads the files. Fails if a file cannot be read.
    pub(crate) fn new(config: Option<&AccessConfig>) -> Result<Self, StoreError> {
        let Some(config) = config else { return Ok(Self::default()) };
        let tokens = TokenStore::in_folder(&config.folder);
        let shares = ShareStore::in_folder(&config.folder);
        let issuers = config.jwt.iter().map(|source| source.issuer.clone()).collect();
        let mut credentials =
            Credentials::new(config.own.clone(), config.roles.clone()).with_issuers(issuers);
        let sources = config.jwt.iter().map(|source| source.keys.clone()).collect();
        let keys = KeyRing::new(sources, |issuer, keys| credentials.set_keys(issuer, keys))?;
        let provider = config.oidc.clone().map(Provider::new).transpose()?;
        credentials.set_tokens(tokens.load()?);
        credentials.set_shares(shares.load(clock::now_ms())?);
        let has_others = !config.jwt.is_empty() || config.trusted.is_some() || provider.is_some();
        if credentials.tokens().all().next().is_none() && !has_others {
            tracing::warn!(
                "access control is on, and there is no token yet: `fanlight token create --name NAME --grant view:*` makes one"
            );
        }
        warn_of_unknown_roles(&credentials);
        let ledger = Ledger::open(&config.folder, credentials.tokens())?;
        let audit = AuditLog::open(&config.folder, credentials.tokens())?;
        let (changes, _) = watch::channel(0);
        let credentials = RwLock::new(credentials);
        let (proxies, trusted) = (config.proxies.clone(), config.trusted.clone());
        let counted = Counted::new(config.quotas);
        let guarded = Guarded {
            credentials,
            tokens,
            shares,
            links: Mutex::default(),
            followed_links: Mutex::default(),
            proxies,
            keys,
            trusted,
            provider,
            counted,
            ledger,
            audit,
            audit_views: config.audit_views,
            log: OnceLock::new(),
            ended: Mutex::default(),
            changes,
        };
        Ok(Self { guarded: Some(guarded) })
    }

    /// Shares sessions, logins that are under way, links and what tokens have spent through `log`, if it is one of several hubs. Call it once. Waits
    /// for the log. Fails where what this hub knows of links and spending cannot be told there.
    pub(crate) fn share_through(&self, log: &Arc<dyn EventLog>) -> Result<(), LogError> {
        let Some(guarded) = &self.guarded else { return Ok(()) };
        guarded.log.get_or_init(|| Arc::clone(log));
        let Some(shared) = guarded.shared() else { return Ok(()) };
        guarded.bring_links(shared)?;
        let tokens = guarded.credentials.read().tokens().clone();
        guarded.ledger.bring(shared, &tokens)
    }

    /// Whether access control is on.
    pub(crate) fn is_on(&self) -> bool {
        self.guarded.is_some()
    }

    /// How much each address and principal does; `None` while access control is off.
    pub(crate) fn counted(&self) -> Option<&Counted> {
        self.guarded.as_ref().map(|guarded| &guarded.counted)
    }

    /// How long a connection may take to agree on TLS, and to bring the head of a request.
    pub(crate) fn head_within(&self) -> Duration {
        Duration::from_secs(self.quotas().head_s.into())
    }

    /// How long the body of somebody who is not known yet may take.
    pub(crate) fn stranger_body_within(&self) -> Duration {
        Duration::from_secs(self.quotas().stranger_body_s.into())
    }

    /// The bounds of the settings; the usual ones while access control is off.
    fn quotas(&self) -> Quotas {
        self.counted().map_or_else(Quotas::default, |counted| counted.quotas)
    }

    /// What tokens with a budget have spent; `None` while access control is off.
    pub(crate) fn ledger(&self) -> Option<&Ledger> {
        self.guarded.as_ref().map(|guarded| &guarded.ledger)
    }

    /// The token that admitted a caller, if it was one of the hub's own.
    pub(crate) fn record(&self, admission: &Admission) -> Option<TokenRecord> {
        self.guarded.as_ref()?.credentials.read().record(admission).cloned()
    }

    /// The token with this hash, if there is one.
    pub(crate) fn record_of(&self, token: &Hash) -> Option<TokenRecord> {
        self.guarded.as_ref()?.credentials.read().record_of(token).cloned()
    }

    /// The tokens of the file that have a budget.
    pub(crate) fn budgeted(&self) -> Vec<TokenRecord> {
        let Some(guarded) = &self.guarded else { return Vec::new() };
        let credentials = guarded.credentials.read();
        credentials.tokens().all().filter(|record| record.budget.is_some()).cloned().collect()
    }

    /// Tells other hubs what was spent here and they do not know yet, because this hub stops. Waits for the log.
    pub(crate) fn tell_rest_of_spending(&self) {
        if let Some(guarded) = &self.guarded
            && let Some(shared) = guarded.shared()
        {
            let tokens = guarded.credentials.read().tokens().clone();
            guarded.ledger.tell_rest(shared, &tokens);
        }
    }

    /// Writes down what was spent since the last time. Waits for the disk.
    pub(crate) fn save_spending(&self) {
        if let Some(guarded) = &self.guarded {
            let tokens = guarded.credentials.read().tokens().clone();
            guarded.ledger.save(&tokens);
        }
    }

    /// Writes what somebody did into the audit log, where there is one. Waits for the disk.
    pub(crate) fn audit(&self, what: Audited) {
        if let Some(guarded) = &self.guarded {
            guarded.audit.write(what);
        }
    }

    /// Whether the audit log notes who views which conversation.
    pub(crate) fn notes_views(&self) -> bool {
        self.guarded.as_ref().is_some_and(|guarded| guarded.audit_views)
    }

    /// Up to `limit` entries of the audit log with numbers below `before`, the newest first; nothing where there is none. Waits for the
    /// disk.
    pub(crate) fn audit_page(&self, before: u64, limit: usize) -> Result<Option<AuditPage>, StoreError> {
        self.guarded.as_ref().map(|guarded| guarded.audit.page(before, limit)).transpose()
    }

    /// Whether there is a role of that name.
    pub(crate) fn has_role(&self, name: &str) -> bool {
        self.guarded.as_ref().is_some_and(|guarded| guarded.credentials.read().roles().find(name).is_some())
    }

    /// The names of all roles.
    pub(crate) fn roles(&self) -> Vec<String> {
        let guarded = self.guarded.as_ref();
        guarded.map_or_else(Vec::new, |guarded| {
            guarded.credentials.read().roles().names().map(str::to_owned).collect()
        })
    }

    /// What the role `named` hides, or nothing where none is named.
    pub(crate) fn role(&self, named: Option<&str>) -> Result<Option<Arc<Mask>>, Denial> {
        match &self.guarded {
            Some(guarded) => guarded.credentials.read().roles().of(named),
            None => Roles::default().of(named),
        }
    }

    /// Whether `address` is that of a proxy named in the settings.
    pub(crate) fn is_proxy(&self, address: IpAddr) -> bool {
        let address = address.to_canonical();
        self.guarded.as_ref().is_some_and(|it| {
            it.proxies.iter().any(|known| known.to_canonical() == address)
                || it.trusted.as_ref().is_some_and(|trusted| trusted.is_from(address))
        })
    }

    /// Admits whoever has the token `text`, the hub's own or one that an issuer signed. Fails with
    /// `UnknownKey` if the issuer's key is not known yet, and with the reason otherwise.
    pub(crate) fn by_token(&self, text: &str) -> Result<Admission, Denial> {
        let guarded = self.guarded.as_ref().ok_or(Denial::Malformed)?;
        guarded.credentials.read().by_token(text, clock::now_ms())
    }

    /// Admits whoever has the secret of a session.
    pub(crate) fn by_session(&self, session: &Secret) -> Result<Admission, Denial> {
        let guarded = self.guarded.as_ref().ok_or(Denial::Malformed)?;
        guarded.credentials.read().admit(&Proof::Session(session.hash()), clock::now_ms())
    }

    /// Checks an earlier admission again, against what is known now. The error says why it no longer holds.
    pub(crate) fn still_holds(&self, admission: &Admission) -> Result<(), Denial> {
        match &self.guarded {
            None => Ok(()),
            Some(guarded) => guarded.credentials.read().still_holds(admission, clock::now_ms()),
        }
    }

    /// The admission by the token behind a login, see [`Credentials::behind_session`]; `None` while access control is off.
    pub(crate) fn behind(&self, admission: &Admission) -> Option<Admission> {
        self.guarded.as_ref()?.credentials.read().behind_session(admission)
    }

    /// A number that rises with every change of who is known; always 0 while access control is off.
    pub(crate) fn changes(&self) -> u64 {
        self.guarded.as_ref().map_or(0, |guarded| *guarded.changes.borrow())
    }

    /// Waits until `admission` no longer holds because it was revoked, has expired or was logged out, and
    /// says which. Never ready while access control is off. May be cancelled.
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

    /// Begins a session for whoever has the token `text`; returns its secret, for a cookie. The session is in
    /// memory alone. May wait for an issuer's keys.
    pub(crate) async fn log_in(&self, text: &str) -> Result<(Secret, Admission), Denial> {
        let guarded = self.guarded.as_ref().ok_or(Denial::Malformed)?;
        self.by_token_in_time(text).await?;
        let session = Secret::mint(SecretKind::Session, &random());
        let admission = guarded.credentials.write().log_in(text, &session, clock::now_ms())?;
        guarded.tell_of(&session);
        Ok((session, admission))
    }

    /// Ends a session, and says whose it was. Streams and sockets that it has open end too.
    pub(crate) async fn log_out(&self, session: &Secret) -> Option<CompactString> {
        let guarded = self.guarded.as_ref()?;
        let found = self.by_any_session(session).await;
        if found.as_ref().err() == Some(&Denial::Unknown) {
            // No hub knows it, so there is nothing to end; a stranger may have made it up.
            return None;
        }
        let who = found.map_or(CompactString::default(), |it| it.principal.name().into());
        let was_here = guarded.credentials.write().log_out(session);
        // Other hubs may know it even where this one could not find that out.
        guarded.tell_end(&session.hash());
        if !was_here {
            return None;
        }
        guarded.changed();
        Some(who)
    }

    /// Takes over changes of who is known: of the file of tokens, and of the keys of others. Calls `changed` after each. Never returns;
    /// cancel it to stop.
    pub(crate) async fn watch(&self, egress: &Egress, changed: impl Fn()) {
        let Some(guarded) = &self.guarded else { return pending().await };
        tokio::join!(guarded.follow_keys(egress, &changed), Self::follow_tokens(guarded, &changed));
    }

    /// Takes over changes of the file of tokens. Never returns.
    async fn follow_tokens(guarded: &Guarded, changed: impl Fn()) {
        // The first look always loads the file: it may have changed since the hub read it.
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
                    let mut credentials = guarded.credentials.write();
                    guarded.audit.tokens_between(credentials.tokens(), &tokens);
                    credentials.set_tokens(tokens);
                    warn_of_unknown_roles(&credentials);
                    drop(credentials);
                    guarded.changed();
                    changed();
                }
                // A broken file would let in nobody, or somebody who was revoked. Until it is mended, what
                // held before holds.
                Err(error) => tracing::error!(%error, "the tokens stay as they were"),
            }
        }
    }
}

/// Says which tokens let nobody in, since their roles are none of this hub's.
fn warn_of_unknown_roles(credentials: &Credentials) {
    for record in credentials.tokens().all() {
        if let Some(role) = record.role.as_deref().filter(|role| credentials.roles().find(role).is_none()) {
            tracing::warn!(token = %record.name, role, "a token has a role that is not set, and lets nobody in");
        }
    }
}

impl Guarded {
    /// Makes everybody who waits check admissions again.
    fn changed(&self) {
        self.changes.send_modify(|changes| *changes += 1);
    }
}

#[cfg(test)]
mod tests;
