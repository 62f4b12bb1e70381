//! Who may call: the hub listens on this machine only, and a page of another origin in a browser on this machine must
//! not reach it. `Host` must name this machine, so that a foreign name that was made to point here (DNS rebinding) is
//! refused; `Origin`, where a browser sends it, must be the hub's own. Pages of origins that were set may call the served
//! contracts, and nothing else: a chat page on another port is no stranger when its user says so.

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, Uri, header};
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};
use shared::code::ErrorCode;

use super::problem::Problem;
use crate::proxy::Passed;
use crate::state::Shared;

/// What the page may do: nothing but run itself and talk to this hub. [`policy`] adds the one document that it may frame.
const POLICY: &str = "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; style-src 'self'; \
    connect-src 'self'; img-src 'self' data:; font-src 'none'; base-uri 'none'; form-action 'none'; \
    frame-ancestors 'none'";

/// On every answer, so that no path can be forgotten; the policy too.
const HEADERS: [(HeaderName, &str); 4] = [
    (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (header::REFERRER_POLICY, "no-referrer"),
    (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
    (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
];

/// What a page of another origin may read of the head of an answer.
const EXPOSED: &str = "fanlight-conversation, fanlight-run, fanlight-left-out, retry-after, x-request-id, \
    x-vercel-ai-ui-message-stream";

/// Lets a request through or refuses it, and puts the page's rules on the answer, unless it is an upstream's.
pub(crate) async fn guard(State(shared): State<Arc<Shared>>, request: Request, next: Next) -> Response {
    let guest = guest(&shared.config.origins, &request);
    let host = request.headers().get(header::HOST).cloned();
    let mut response = match check(&shared.config.hosts, guest.is_some(), &request) {
        Ok(()) if guest.is_some() && asks_beforehand(&request) => StatusCode::NO_CONTENT.into_response(),
        Ok(()) => next.run(request).await,
        Err(problem) => problem.into_response(),
    };
    if let Some(origin) = guest {
        welcome(origin, response.headers_mut());
    }
    if response.extensions().get::<Passed>().is_some() {
        return response;
    }
    let headers = response.headers_mut();
    for (name, value) in HEADERS {
        headers.entry(name).or_insert(HeaderValue::from_static(value));
    }
    headers.entry(header::CONTENT_SECURITY_POLICY).or_insert_with(|| policy(host.as_ref()));
    response
}

/// The page's policy, where it was asked for at `host`. Of frames it names the empty document for images alone: what a tool
/// wrote as HTML has the page's policy and more, and neither a frame in it nor a link may go to any other address of the hub.
/// A source must be a name with dots and letters; at a host that is none, an address of IPv6 for one, no frame is let in.
fn policy(host: Option<&HeaderValue>) -> HeaderValue {
    let source = host.and_then(|host| host.to_str().ok()).filter(|host| is_source(host));
    let policy = source.and_then(|host| format!("{POLICY}; frame-src {host}/image").parse().ok());
    policy.unwrap_or(HeaderValue::from_static(POLICY))
}

/// Whether `host` (with or without a port) can stand in a policy (Content Security Policy, 2.3.1: `host-source`).
fn is_source(host: &str) -> bool {
    let (name, port) = host.split_once(':').unwrap_or((host, "0"));
    let is_label = |label: &str| {
        !label.is_empty() && label.bytes().all(|sign| sign.is_ascii_alphanumeric() || sign == b'-')
    };
    name.split('.').all(is_label) && !port.is_empty() && port.bytes().all(|sign| sign.is_ascii_digit())
}

/// The origin of the request, where its pages may call what is asked for.
fn guest(origins: &[String], request: &Request) -> Option<HeaderValue> {
    let path = request.uri().path();
    let is_door = path == "/v1/chat/completions"
        || path == "/v1/models"
        || path.starts_with("/v1/models/")
        || path.starts_with("/compat/");
    let origin = request.headers().get(header::ORIGIN).filter(|_| is_door)?;
    let is_known = |known: &String| known.as_bytes().eq_ignore_ascii_case(origin.as_bytes());
    origins.iter().any(is_known).then(|| origin.clone())
}

/// Whether a browser asks what it may do.
fn asks_beforehand(request: &Request) -> bool {
    *request.method() == Method::OPTIONS
        && request.headers().contains_key(header::ACCESS_CONTROL_REQUEST_METHOD)
}

/// Tells a browser that the page may call, and read what comes.
fn welcome(origin: HeaderValue, headers: &mut HeaderMap) {
    let told = [
        (header::ACCESS_CONTROL_ALLOW_METHODS, "GET, POST, OPTIONS"),
        (header::ACCESS_CONTROL_ALLOW_HEADERS, "*, authorization"),
        (header::ACCESS_CONTROL_EXPOSE_HEADERS, EXPOSED),
        (header::ACCESS_CONTROL_MAX_AGE, "600"),
        (header::VARY, "origin"),
        (HeaderName::from_static("cross-origin-resource-policy"), "cross-origin"),
    ];
    for (name, value) in told {
        headers.insert(name, HeaderValue::from_static(value));
    }
    headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, origin);
}

fn check(hosts: &[String], is_guest: bool, request: &Request) -> Result<(), Problem> {
    let refuse = |what: &str| Err(Problem::new(ErrorCode::ForbiddenOrigin, what.to_owned()));
    let host = request.headers().get(header::HOST).and_then(|host| host.to_str().ok());
    // A request without `Host` comes from no browser.
    if host.is_some_and(|host| !is_ours(hosts, host)) {
        return refuse("the Host of the request is not one that this hub serves");
    }
    let changes = !matches!(*request.method(), Method::GET | Method::HEAD | Method::OPTIONS);
    let upgrades = request.headers().contains_key(header::UPGRADE);
    if !changes && !upgrades {
        return Ok(());
    }
    let Some(origin) = request.headers().get(header::ORIGIN) else { return Ok(()) };
    if (is_guest && !upgrades) || is_same(origin, host) {
        Ok(())
    } else {
        refuse("the Origin of the request is not this hub")
    }
}

/// Whether `origin` has the same name and port as the request went to; and that name is one of ours, which is seen to
/// elsewhere.
pub(crate) fn is_same(origin: &HeaderValue, host: Option<&str>) -> bool {
    let authority = origin.to_str().ok().and_then(|origin| origin.parse::<Uri>().ok());
    authority.as_ref().and_then(Uri::authority).map(axum::http::uri::Authority::as_str) == host
}

/// Whether `host` (with or without a port) names this machine.
fn is_ours(hosts: &[String], host: &str) -> bool {
    let name = match host.strip_prefix('[') {
        Some(rest) => rest.split_once(']').map_or(rest, |(address, _port)| address),
        None => host.split_once(':').map_or(host, |(name, _port)| name),
    };
    let loopback = name.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback());
    let named = name.eq_ignore_ascii_case("localhost")
        || name.to_ascii_lowercase().ends_with(".localhost")
        || hosts.iter().any(|known| known.eq_ignore_ascii_case(name));
    loopback || named
}

#[cfg(test)]
mod tests;
