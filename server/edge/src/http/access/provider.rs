//! Login at a provider of identities: `GET /login/oidc` sends a browser there, `GET /login/callback` is where
//! it comes back.
//!
//! ```text
//! GET /login/oidc?next=/c/x ─▶ 303 to the provider, with `state`, and a cookie with the same secret
//! GET /login/callback?code&state ─▶ the cookie has that state? ─▶ ID token ─▶ 200 that goes to `next`
//! ```
//!
//! What is asked of the provider, and what its token must hold, is in `crate::access::login` and the crate
//! `access`.

use std::sync::Arc;

use access::audit::{Audited, AuditedAction};
use access::cookie::{self, Channel};
use access::oidc::LOGIN_MS;
use access::{Denial, Secret, SecretKind};
use axum::extract::{Request, State};
use axum::http::request::Parts;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::Response;
use event_log::blocking;
use serde::Deserialize;

use super::login::{self, LedBy, again, is_path, peer, to};
use super::{channel, fair};
use crate::access::Gate;
use crate::access::LoginFault;
use crate::inbound::params::Query;
use upstream::Egress;

/// The query of a browser that begins a login.
#[derive(Debug, Deserialize)]
pub(crate) struct LoginQuery {
    /// The path to which it goes afterwards; `/` if it is missing or no path of this hub.
    #[serde(default)]
    next: String,
}

/// The query that a browser brings back from the provider. Nothing in it is believed before `state` fits the
/// cookie.
#[derive(Debug, Deserialize)]
pub(crate) struct Brought {
    /// The code that the provider exchanges once for a token.
    code: Option<String>,
    /// The secret with which the login began.
    state: Option<String>,
    /// The provider, if it says so.
    iss: Option<String>,
    /// Why there is no code.
    error: Option<String>,
}

/// `GET /login/oidc?next`: begins a login and sends the browser to the provider with 303. 401 with the form
/// if the provider cannot be used now, 503 with it if the database that hubs share does not answer, 429 with it if the address begins too many;
/// 303 to the form if no provider is set.
pub(crate) async fn begin_login(
    State(gate): State<Arc<Gate>>,
    State(egress): State<Arc<Egress>>,
    Query(wanted): Query<LoginQuery>,
    request: Request,
) -> Response {
    let (parts, _) = request.into_parts();
    let next = if is_path(&wanted.next) { wanted.next.as_str() } else { "/" };
    if gate.provider().is_some() && !fair::may_begin_login(&gate, &parts) {
        return refused(&gate, &parts, &LoginFault::TooMany);
    }
    let Some(begun) = gate.begin_login(&egress, next).await else { return to("/login", None) };
    match begun {
        Ok((address, state)) => {
            to(&address, Some(cookie::set_login(&state, channel(&gate, &parts), LOGIN_MS / 1000)))
        }
        Err(fault) => refused(&gate, &parts, &fault),
    }
}

/// `GET /login/callback`: ends a login and begins a session. Answers 200 with a document that leads on, since
/// a redirect would be sent without the new cookie; 401 with the form and the reason if anything does not
/// fit.
pub(crate) async fn end_login(
    State(gate): State<Arc<Gate>>,
    State(egress): State<Arc<Egress>>,
    Query(brought): Query<Brought>,
    request: Request,
) -> Response {
    let (parts, _) = request.into_parts();
    let channel = channel(&gate, &parts);
    match finish((&gate, &egress), &parts, channel, &brought).await {
        Ok(response) => response,
        Err(fault) => refused(&gate, &parts, &fault),
    }
}

/// Checks what came back, exchanges the code and begins the session. Fails with [`LoginFault::NoLogin`] if
/// this browser has begun no login, with `Provider` if the provider refuses or answers what it must not, with
/// `Denied` if nobody of that identity is admitted.
async fn finish(
    (gate, egress): (&Gate, &Arc<Egress>),
    parts: &Parts,
    channel: Channel,
    brought: &Brought,
) -> Result<Response, LoginFault> {
    let provider = gate.provider().ok_or(LoginFault::NoLogin)?;
    // The browser that began must be the one that ends: otherwise somebody could log others in as themselves.
    let cookies = parts.headers.get_all(header::COOKIE).iter().filter_map(|value| value.to_str().ok());
    let begun = cookie::login(cookies, channel)?.ok_or(LoginFault::NoLogin)?;
    let state = brought.state.as_deref().and_then(|state| Secret::parse(SecretKind::Login, state));
    let state = state.filter(|state| state.hash() == begun.hash()).ok_or(LoginFault::NoLogin)?;
    if provider.is_other(brought.iss.as_deref()) {
        return Err(LoginFault::Provider("the answer names another provider".to_owned()));
    }
    if let Some(error) = &brought.error {
        let word: String =
            error.chars().filter(|sign| sign.is_ascii_alphanumeric() || *sign == '_').take(60).collect();
        return Err(LoginFault::Provider(format!("it says {word}")));
    }
    let code = brought.code.as_deref().ok_or(LoginFault::NoLogin)?;
    let (session, admission, next) = gate.finish_login(egress, &state, code).await?;
    let told = Audited::new(AuditedAction::LogIn, admission.principal.name()).at(&peer(parts).to_string());
    blocking(|| gate.audit(told.with("at the identity provider")));
    let mut response = again(StatusCode::OK, &next);
    let set =
        [cookie::set(&session, channel, access::SESSION_MS / 1000), cookie::set_login(&state, channel, 0)];
    for text in set {
        if let Ok(mut value) = HeaderValue::from_str(&text) {
            value.set_sensitive(true);
            response.headers_mut().append(header::SET_COOKIE, value);
        }
    }
    Ok(response)
}

/// The form, with what went wrong; the audit log notes it.
fn refused(gate: &Gate, parts: &Parts, fault: &LoginFault) -> Response {
    if let LoginFault::Log(cause) = fault {
        tracing::warn!(%cause, "a login at the identity provider failed: the log does not answer");
    } else {
        tracing::info!(%fault, "a login at the identity provider failed");
    }
    if matches!(fault, LoginFault::NoLogin) {
        // Whoever guesses states makes the database look for them.
        fair::failed(gate, parts, Denial::Unknown);
    }
    let word = match fault {
        LoginFault::Denied(denial) => login::word(*denial),
        LoginFault::NoLogin => "unknown",
        LoginFault::Provider(_) => "provider",
        LoginFault::Log(_) | LoginFault::Busy => "unavailable",
        LoginFault::TooMany => "too_many",
    };
    let told = Audited::new(AuditedAction::Refused, "").at(&peer(parts).to_string());
    blocking(|| gate.audit(told.with(format!("GET {}", parts.uri.path())).failed(word)));
    let status = match fault {
        LoginFault::Log(_) | LoginFault::Busy => StatusCode::SERVICE_UNAVAILABLE,
        LoginFault::TooMany => StatusCode::TOO_MANY_REQUESTS,
        _ => StatusCode::UNAUTHORIZED,
    };
    let mut page = login::page(gate, (status, LedBy::Elsewhere), "/", Some(&fault.to_string()));
    if status == StatusCode::TOO_MANY_REQUESTS || status == StatusCode::SERVICE_UNAVAILABLE {
        page.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from_static("1"));
    }
    page
}
