//! Login at a provider of identities, the I/O: its documents, and the exchange of a code for an ID token. The crate `access` decides what
//! is believed.
//!
//! ```text
//! begin:  discovery document, at most 10 min old ─▶ address with state, nonce, PKCE ─▶ the browser goes there
//! finish: state, code ─▶ token endpoint ─▶ ID token ─▶ signature, issuer, audience, nonce ─▶ claims ─▶ principal
//! ```

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use access::jwt::{JwtIssuer, JwtKeys};
use access::oidc::{LOGIN_MS, OidcClient, PendingLogin, PendingLogins, ProviderMetadata};
use access::{Denial, Principal, Roles, Secret, SecretKind};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use event_log::{LogError, SharedAccess, StoredLogin, blocking, clock};
use http_body_util::Full;
use hyper::Request;
use parking_lot::Mutex;
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use tokio::time::Instant;
use upstream::{Api, Egress, Upstream};

use super::bounds::Counted;
use super::fetch;
use super::keys::KEYS_AGAIN;
use super::store::{StoreError, random, read, shown};

/// How old what a provider says of itself becomes before it is asked again.
const PROVIDER_EVERY: Duration = Duration::from_mins(10);

/// The least time between two requests to a provider that gave nothing.
const PROVIDER_RETRY: Duration = Duration::from_secs(2);

/// The settings of the login at a provider.
#[derive(Debug, Clone)]
pub struct OidcConfig {
    /// The hub at its provider.
    pub client: OidcClient,
    /// The file with its secret there; `None` where it has none.
    pub secret: Option<PathBuf>,
    /// A PEM file with certificates that are trusted for the provider.
    pub ca: Option<PathBuf>,
    /// How its ID tokens are checked, and what their claims give.
    pub tokens: JwtIssuer,
}

/// The provider of a running hub. Owned by the gate. Logins that have begun are in memory, or in the log that hubs share.
#[derive(Debug)]
pub(crate) struct Provider {
    config: OidcConfig,
    /// The hub's secret at the provider, if it has one.
    secret: Option<String>,
    /// Logins that have begun and not ended, by the hash of their state.
    pending: Mutex<PendingLogins>,
    /// Held while the provider is asked, so that it is asked once for all who log in.
    known: tokio::sync::Mutex<ProviderKnowledge>,
}

/// What is known of the provider.
#[derive(Debug, Default)]
struct ProviderKnowledge {
    /// When it was last asked, if it has not answered since.
    asked: Option<Instant>,
    documents: Option<Arc<Documents>>,
}

/// What the provider says of itself, and its keys.
#[derive(Debug)]
struct Documents {
    /// The discovery document of the provider.
    metadata: ProviderMetadata,
    /// How its ID tokens are checked, with the keys that it has now.
    tokens: JwtIssuer,
    /// The moment at which both were fetched.
    at: Instant,
}

/// Why a login at the provider failed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum LoginFault {
    /// What it sent lets nobody in.
    #[error(transparent)]
    Denied(#[from] Denial),
    /// No login with that state has begun in this browser.
    #[error(
        "this login did not begin in this browser, took over ten minutes or was done before: begin again"
    )]
    NoLogin,
    /// The log that hubs share does not answer.
    #[error(
        "the database that the hubs share does not answer, so no login begins or ends now: try again in a moment"
    )]
    Log(#[source] LogError),
    /// The hub is busy: others are served first.
    #[error("too many people are logging in at this moment: try again")]
    Busy,
    /// The address has begun as many logins as it may.
    #[error("this address has begun too many logins within a minute: try again in a moment")]
    TooMany,
    /// The provider did not do what it should.
    #[error("the identity provider cannot be used now: {0}")]
    Provider(String),
}

impl Provider {
    /// Reads the secret. Nothing is fetched before somebody logs in.
    pub(super) fn new(config: OidcConfig) -> Result<Self, StoreError> {
        let secret = match &config.secret {
            None => None,
            Some(path) => {
                let wrong =
                    || StoreError::Keys { path: shown(path), error: "there is no secret in it".to_owned() };
                let text = read(path)?.ok_or_else(wrong)?;
                Some(text.trim().to_owned()).filter(|text| !text.is_empty()).ok_or_else(wrong).map(Some)?
            }
        };
        let (pending, known) = (Mutex::default(), tokio::sync::Mutex::default());
        Ok(Self { config, secret, pending, known })
    }

    /// Begins a login that leads to the path `next`: the address to which the browser is sent, and the state
    /// for its cookie. It is kept in `shared`, where any hub can end it, or in the memory of a hub that is alone. Fails with `Provider` if the
    /// provider's documents cannot be had, with `Log`, and with `Busy` where others who are not admitted yet ask the log.
    pub(super) async fn begin(
        &self,
        egress: &Egress,
        (shared, counted): (Option<&dyn SharedAccess>, &Counted),
        next: &str,
    ) -> Result<(String, Secret), LoginFault> {
        let documents = self.documents(egress, PROVIDER_EVERY).await.map_err(LoginFault::Provider)?;
        let state = Secret::mint(SecretKind::Login, &random());
        let login = PendingLogin::new(&random(), &random(), next);
        let fields = form(&self.config.client.asks(&login, state.reveal()));
        let to = &documents.metadata.authorization_endpoint;
        let between = if to.contains('?') { '&' } else { '?' };
        let address = format!("{to}{between}{fields}");
        match shared {
            Some(shared) => {
                let _turn = counted.stranger().await.ok_or(LoginFault::Busy)?;
                keep(shared, &state, &login)?;
            }
            None => self.pending.lock().begin(state.hash(), login, clock::now_ms()),
        }
        Ok((address, state))
    }

    /// The login with this state, which is used up.
    async fn take(
        &self,
        (shared, counted): (Option<&dyn SharedAccess>, &Counted),
        state: &Secret,
    ) -> Result<PendingLogin, LoginFault> {
        let now = clock::now_ms();
        let Some(shared) = shared else {
            return self.pending.lock().take(&state.hash(), now).ok_or(LoginFault::NoLogin);
        };
        let _turn = counted.stranger().await.ok_or(LoginFault::Busy)?;
        let found =
            blocking(|| shared.take_login(&String::from(state.hash()), now)).map_err(LoginFault::Log)?;
        let found = found.ok_or(LoginFault::NoLogin)?;
        // One that a hub of another version wrote in another way.
        serde_json::from_str(&found).map_err(|_not_shown| LoginFault::NoLogin)
    }

    /// Ends the login with this state by the `code` that the provider sent: who it is, and the path to go to.
    /// The login is used up, whatever comes of it. Fails with `NoLogin` for a state that is unknown, used or
    /// too old, with `Log`, with `Provider` if the provider does not give a token, with `Denied` if the token is not
    /// valid or no rule fits its claims.
    pub(super) async fn finish(
        &self,
        egress: &Egress,
        shared: (Option<&dyn SharedAccess>, &Counted),
        roles: &Roles,
        state: &Secret,
        code: &str,
    ) -> Result<(Principal, String), LoginFault> {
        let login = self.take(shared, state).await?;
        let documents = self.documents(egress, PROVIDER_EVERY).await.map_err(LoginFault::Provider)?;
        let token =
            self.redeem(egress, &documents.metadata, &login, code).await.map_err(LoginFault::Provider)?;
        let mut verified = documents.tokens.verify(&token, clock::now_ms());
        if matches!(verified, Err(Denial::UnknownKey)) {
            let newer = self.documents(egress, KEYS_AGAIN).await.map_err(LoginFault::Provider)?;
            verified = newer.tokens.verify(&token, clock::now_ms());
        }
        let verified = verified?;
        login.check(&verified, &self.config.client.client_id)?;
        let principal = self.config.tokens.mapping().principal(&verified.claims, roles)?;
        Ok((principal, login.next))
    }

    /// Whether the answer of the provider names another one (RFC 9207).
    pub(crate) fn is_other(&self, issuer: Option<&str>) -> bool {
        issuer.is_some_and(|issuer| issuer != self.config.client.issuer)
    }

    /// The ID token for `code`, from the token endpoint. The secret goes into a header or the form, as the
    /// provider wants.
    async fn redeem(
        &self,
        egress: &Egress,
        metadata: &ProviderMetadata,
        login: &PendingLogin,
        code: &str,
    ) -> Result<String, String> {
        let upstream = self.upstream(&metadata.token_endpoint)?;
        let mut fields = self.config.client.redeems(login, code);
        let mut request = Request::post(upstream.uri("").ok_or("its address is not a URL")?)
            .header("content-type", "application/x-www-form-urlencoded")
            .header("accept", "application/json");
        match &self.secret {
            Some(secret) if metadata.wants_secret_in_form() => fields.push(("client_secret", secret.clone())),
            Some(secret) => {
                let pair = format!("{}:{}", encoded(&self.config.client.client_id), encoded(secret));
                request = request.header("authorization", format!("Basic {}", STANDARD.encode(pair)));
            }
            None => {}
        }
        let request =
            request.body(Full::new(Bytes::from(form(&fields)))).map_err(|error| error.to_string())?;
        let answer = fetch::send(egress, &upstream, request).await?;
        let answer: serde_json::Value =
            serde_json::from_slice(&answer).map_err(|_not_shown| "its answer is not JSON".to_owned())?;
        let token = answer.get("id_token").and_then(serde_json::Value::as_str);
        token.map(str::to_owned).ok_or_else(|| "its answer has no ID token".to_owned())
    }

    /// What the provider says of itself, at most as old as `age`. After a failure it is asked again only
    /// after [`PROVIDER_RETRY`].
    async fn documents(&self, egress: &Egress, age: Duration) -> Result<Arc<Documents>, String> {
        let mut known = self.known.lock().await;
        if let Some(documents) = known.documents.as_ref().filter(|documents| documents.at.elapsed() < age) {
            return Ok(Arc::clone(documents));
        }
        if known.asked.is_some_and(|asked| asked.elapsed() < PROVIDER_RETRY) {
            return Err("it has just failed".to_owned());
        }
        known.asked = Some(Instant::now());
        let issuer = self.config.client.issuer.as_str();
        let place = format!("{}/.well-known/openid-configuration", issuer.trim_end_matches('/'));
        let text = fetch::get(egress, &self.upstream(&place)?).await?;
        let metadata = ProviderMetadata::read(&text, issuer).map_err(|error| error.to_string())?;
        let text = fetch::get(egress, &self.upstream(&metadata.jwks_uri)?).await?;
        let text = String::from_utf8(text).map_err(|error| error.to_string())?;
        let mut tokens = self.config.tokens.clone();
        tokens.set_keys(JwtKeys::set(&text).map_err(|error| error.to_string())?);
        let documents = Arc::new(Documents { metadata, tokens, at: Instant::now() });
        known.documents = Some(Arc::clone(&documents));
        known.asked = None;
        Ok(documents)
    }

    /// The provider as an upstream, at `url`.
    fn upstream(&self, url: &str) -> Result<Upstream, String> {
        let upstream = Upstream::new("oidc", url, Api::default()).map_err(|error| error.to_string())?;
        upstream.with_ca(self.config.ca.as_deref()).map_err(|error| error.to_string())
    }
}

/// Keeps a login where any hub can end it.
fn keep(shared: &dyn SharedAccess, state: &Secret, login: &PendingLogin) -> Result<(), LoginFault> {
    let now = clock::now_ms();
    let stored = StoredLogin {
        state: String::from(state.hash()),
        // Serializing texts cannot fail.
        login: serde_json::to_string(login).unwrap_or_default(),
        expires: now.saturating_add(LOGIN_MS),
    };
    blocking(|| shared.put_login(&stored, now)).map_err(LoginFault::Log)
}

/// Fields as they stand in a query or a form.
fn form(fields: &[(&str, String)]) -> String {
    let pairs = fields.iter().map(|(name, value)| format!("{name}={}", encoded(value)));
    pairs.collect::<Vec<_>>().join("&")
}

fn encoded(text: &str) -> String {
    utf8_percent_encode(text, NON_ALPHANUMERIC).to_string()
}
