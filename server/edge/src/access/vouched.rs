//! The gate, as far as it lets in those for whom somebody else vouches: issuers of JWT, trusted proxies, a provider of identities.

use access::jwt::JwtKeys;
use access::{Admission, Denial, Principal, SESSION_MS, Secret, SecretKind, Vouched};
use event_log::clock;
use serde_json::{Map, Value};
use tokio::time::timeout;
use upstream::Egress;

use super::keys::KEYS_WITHIN;
use super::{Gate, Guarded, LoginFault, Provider, TrustedHeaders, random};

impl Gate {
    /// Admits whoever has the token `text`. If a key is missing that may be fetched, it waits for that, for
    /// `KEYS_WITHIN` at most. Fails as [`Gate::by_token`] does.
    pub(crate) async fn by_token_in_time(&self, text: &str) -> Result<Admission, Denial> {
        let came = self.by_token(text);
        let Some(guarded) = self.guarded.as_ref().filter(|_| matches!(came, Err(Denial::UnknownKey))) else {
            return came;
        };
        if let Some(mut looked) = guarded.keys.ask() {
            drop(timeout(KEYS_WITHIN, looked.changed()).await);
        }
        // Either way the token is looked at once more: if there was nothing to wait for, the key may have come since the first look.
        self.by_token(text)
    }

    /// Whether the keys of an issuer are being looked for because a token named one that is not there.
    pub(crate) fn asks_for_keys(&self) -> bool {
        self.guarded.as_ref().is_some_and(|guarded| guarded.keys.ask().is_some())
    }

    /// The proxies that say who sends a request, if there are any.
    pub(crate) fn trusted(&self) -> Option<&TrustedHeaders> {
        self.guarded.as_ref()?.trusted.as_ref()
    }

    /// Where people log in besides with a token, if there is such a place.
    pub(crate) fn provider(&self) -> Option<&Provider> {
        self.guarded.as_ref()?.provider.as_ref()
    }

    /// Admits whoever a trusted proxy says it is. What goes on for long ends after the time of a session.
    /// Fails with `Unmapped` if no rule fits, with `UnknownRole` for a role that the hub does not have.
    pub(crate) fn by_claims(&self, claims: &Map<String, Value>) -> Result<Admission, Denial> {
        let guarded = self.guarded.as_ref().ok_or(Denial::Malformed)?;
        let trusted = guarded.trusted.as_ref().ok_or(Denial::ForgedIdentity)?;
        let credentials = guarded.credentials.read();
        let principal = trusted.mapping.principal(claims, credentials.roles())?;
        let now = clock::now_ms();
        credentials.vouch(Vouched::new(principal, now.saturating_add(SESSION_MS)), now)
    }

    /// Begins a login at the provider that leads to the path `next`; nothing where there is none. See [`Provider::begin`].
    pub(crate) async fn begin_login(
        &self,
        egress: &Egress,
        next: &str,
    ) -> Option<Result<(String, Secret), LoginFault>> {
        let guarded = self.guarded.as_ref()?;
        Some(guarded.provider.as_ref()?.begin(egress, (guarded.shared(), &guarded.counted), next).await)
    }

    /// Ends a login at the provider, and begins a session: its secret, who it is, and the path to go to.
    pub(crate) async fn finish_login(
        &self,
        egress: &Egress,
        state: &Secret,
        code: &str,
    ) -> Result<(Secret, Admission, String), LoginFault> {
        let guarded = self.guarded.as_ref().ok_or(LoginFault::NoLogin)?;
        let provider = guarded.provider.as_ref().ok_or(LoginFault::NoLogin)?;
        let roles = guarded.credentials.read().roles().clone();
        let shared = (guarded.shared(), &guarded.counted);
        let (principal, next) = provider.finish(egress, shared, &roles, state, code).await?;
        let (session, admission) = guarded.session_for(principal)?;
        Ok((session, admission, next))
    }
}

impl Guarded {
    /// Begins a session for somebody who was seen at the provider.
    fn session_for(&self, principal: Principal) -> Result<(Secret, Admission), Denial> {
        let session = Secret::mint(SecretKind::Session, &random());
        let now = clock::now_ms();
        let vouched = Vouched::new(principal, now.saturating_add(SESSION_MS));
        let admission = self.credentials.write().log_in_vouched(vouched, &session, now)?;
        self.tell_of(&session);
        Ok((session, admission))
    }

    /// Takes over the keys of issuers, and calls `changed` after each look for them. Never returns.
    pub(super) async fn follow_keys(&self, egress: &Egress, changed: impl Fn()) {
        let tell = || {
            self.changed();
            changed();
        };
        let take = |issuer: usize, keys: JwtKeys| {
            self.credentials.write().set_keys(issuer, keys);
            tell();
        };
        self.keys.keep(egress, take, tell).await;
    }
}
