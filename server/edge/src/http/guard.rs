//! Who may call: the hub listens on this machine only, and a page of another origin in a browser on this machine must
//! not reach it. `Host` must name this machine, so that a foreign name that was made to point here (DNS rebinding) is
//! refused; `Origin`, where a browser sends it, must be the hub's own. Pages of origins that were set may call the served
//! contracts, and nothing else: a chat page on another port is no stranger when its user says so.
//!
//! A page of another origin cannot read what a `GET` brings, but the work would be done all the same: an `<img>` for each of a
//! thousand searches. So what works (everything under [`WORKS`]) is refused to such a page, whatever the method. The browser
//! says who asks in `Sec-Fetch-Site`, which no page can write, or in `Origin`. Two ways stay open from elsewhere: the page itself
//! may be opened, and a link to what works (an export) may be followed by a person's own click. Programs send neither header.

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, Uri, header};
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};
use model::code::ErrorCode;

use super::passed::Passed;
use super::problem::Problem;
use crate::state::Shared;

/// What the page may do: nothing but run itself and talk to this hub. [`policy`] adds the two documents that it may frame.
const POLICY: &str = "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; style-src 'self'; \
    connect-src 'self'; img-src 'self' data:; font-src 'none'; base-uri 'none'; form-action 'none'; \
    frame-ancestors 'none'";

/// What does work for those who ask: all paths that begin so. The others answer with files and constants.
const WORKS: [&str; 4] = ["/v1/", "/compat/", "/proxy/", "/metrics"];

/// On every answer, so that no path can be forgotten; the policy too.
const HEADERS: [(HeaderName, &str); 4] = [
    (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (header::REFERRER_POLICY, "no-referrer"),
    (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
    (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
];

/// What a page of another origin may read of the head of an answer.
const EXPOSED: &str = "content-location, fanlight-conversation, fanlight-run, fanlight-left-out, location, retry-after, \
    x-request-id, x-vercel-ai-ui-message-stream";

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

/// The page's policy, where it was asked for at `host`. Of frames it names the empty document for images and the one for
/// scripts of embeds alone: what a tool wrote as HTML has the page's policy and more, and neither a frame in it nor a link may go to any other address of the hub.
/// A source must be a name with dots and letters; at a host that is none, an address of IPv6 for one, no frame is let in.
fn policy(host: Option<&HeaderValue>) -> HeaderValue {
    let source = host.and_then(|host| host.to_str().ok()).filter(|host| is_source(host));
    let policy =
        source.and_then(|host| format!("{POLICY}; frame-src {host}/image {host}/embed").parse().ok());
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
        (header::ACCESS_CONTROL_ALLOW_METHODS, "GET, POST, PUT, PATCH, DELETE, OPTIONS"),
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
    let Ok(host) = named_host(request) else {
        return refuse("the Host of the request is no name and port, or comes twice");
    };
    let target = request.uri().authority().map(axum::http::uri::Authority::as_str);
    // A request without `Host` comes from no browser.
    if [host, target].into_iter().flatten().any(|host| !is_ours(hosts, host)) {
        return refuse("the Host of the request is not one that this hub serves");
    }
    let headers = request.headers();
    let upgrades = headers.contains_key(header::UPGRADE);
    if is_guest && !upgrades {
        return Ok(());
    }
    let changes = !matches!(*request.method(), Method::GET | Method::HEAD | Method::OPTIONS);
    let is_foreign = headers.get(header::ORIGIN).is_some_and(|origin| !is_same(origin, host));
    if is_foreign && (changes || upgrades) {
        return refuse("the Origin of the request is not this hub");
    }
    let works = WORKS.iter().any(|begin| request.uri().path().starts_with(begin));
    if works && (is_foreign || is_from_elsewhere(headers)) && !is_followed_link(request) {
        return refuse(
            "a page of another origin asks, and this path is for the hub's own page and for programs",
        );
    }
    Ok(())
}

/// The `Host` of a request; an error for one that is no text or that comes twice.
fn named_host(request: &Request) -> Result<Option<&str>, ()> {
    let mut hosts = request.headers().get_all(header::HOST).iter();
    let host = hosts.next().map(|host| host.to_str().map_err(|_no_ascii| ())).transpose()?;
    if hosts.next().is_some() { Err(()) } else { Ok(host) }
}

/// Whether the browser says that a page of another origin asks: `cross-site`, or `same-site`, which on this machine is any
/// other port. `none` is a person who typed the address.
fn is_from_elsewhere(headers: &HeaderMap) -> bool {
    let site = headers.get("sec-fetch-site").map(HeaderValue::as_bytes);
    site.is_some_and(|site| !matches!(site, b"same-origin" | b"none"))
}

/// Whether a person follows a link to this, in the window itself: no frame, no picture, no script.
fn is_followed_link(request: &Request) -> bool {
    let said = |name: &str, value: &str| request.headers().get(name).is_some_and(|said| said == value);
    *request.method() == Method::GET
        && said("sec-fetch-mode", "navigate")
        && said("sec-fetch-dest", "document")
        && said("sec-fetch-user", "?1")
}

/// Whether `origin` has the same name and port as the request went to; and that name is one of ours, which is seen to
/// elsewhere.
pub(crate) fn is_same(origin: &HeaderValue, host: Option<&str>) -> bool {
    let authority = origin.to_str().ok().and_then(|origin| origin.parse::<Uri>().ok());
    authority.as_ref().and_then(Uri::authority).map(axum::http::uri::Authority::as_str) == host
}

/// Whether `host` names this machine: a name or an address, and a port or none. Anything else in it, and it names nothing.
fn is_ours(hosts: &[String], host: &str) -> bool {
    let is_port = |port: &str| {
        port.is_empty() || port.strip_prefix(':').is_some_and(|port| port.parse::<u16>().is_ok())
    };
    if let Some(rest) = host.strip_prefix('[') {
        let Some((address, port)) = rest.split_once(']') else { return false };
        return is_port(port)
            && address.parse::<std::net::Ipv6Addr>().is_ok_and(|address| address.is_loopback());
    }
    let (name, port) = host.split_at(host.find(':').unwrap_or(host.len()));
    let is_name = |name: &str| {
        !name.is_empty()
            && name.bytes().all(|sign| sign.is_ascii_alphanumeric() || matches!(sign, b'-' | b'_' | b'.'))
    };
    if !is_name(name) || !is_port(port) {
        return false;
    }
    let loopback = name.parse::<std::net::Ipv4Addr>().is_ok_and(|address| address.is_loopback());
    let named = name.eq_ignore_ascii_case("localhost")
        || name.to_ascii_lowercase().ends_with(".localhost")
        || hosts.iter().any(|known| known.eq_ignore_ascii_case(name));
    loopback || named
}

#[cfg(test)]
mod tests;
