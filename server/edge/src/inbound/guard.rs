//! The guard: which origins may call. The hub must not be reached by a page of another origin in a browser on
//! this machine. `Host` must name this machine or a host in the settings, so that a foreign name that was
//! made to point here (DNS rebinding) is refused. `Origin`, if a browser sends it, must be the hub's own.
//! Pages of origins in the settings may call the doors and nothing else.
//!
//! A page of another origin cannot read what a `GET` returns, but the work would be done all the same, for
//! example a thousand searches by a thousand `<img>`. So every path under [`WORKS`] is refused to such a
//! page, whatever the method. The browser says who asks in `Sec-Fetch-Site`, which no page can set, or in
//! `Origin`. Two ways stay open from elsewhere: the page itself may be opened, and a person may follow a link
//! to an export by a click. Programs send neither header.

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, Uri, header};
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};
use model::code::ErrorCode;

use super::passed::FromUpstream;
use super::problem::Problem;
use crate::config::Config;

/// The page's policy: it may run its own scripts and talk to this hub. [`policy`] adds the two documents that
/// it may frame.
const POLICY: &str = "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; style-src 'self'; \
    connect-src 'self'; img-src 'self' data:; media-src data:; font-src 'none'; base-uri 'none'; form-action 'none'; \
    frame-ancestors 'none'";

/// The beginnings of all paths whose requests cause work. The others are answered with files and constants.
const WORKS: [&str; 4] = ["/v1/", "/compat/", "/proxy/", "/metrics"];

/// Headers on every answer, so that no path can be forgotten. The policy is added to them.
const HEADERS: [(HeaderName, &str); 4] = [
    (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (header::REFERRER_POLICY, "no-referrer"),
    (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
    (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
];

/// Headers of an answer that a page of an origin in the settings may read.
const EXPOSED: &str = "content-location, fanlight-conversation, fanlight-run, fanlight-left-out, location, retry-after, \
    x-request-id, x-vercel-ai-ui-message-stream";

/// The middleware: passes a request on or refuses it, and adds the security headers to the answer, unless it
/// comes from an upstream.
/// A refusal is 403 `forbidden_origin`. It runs before access control: it protects hubs that have none.
pub(crate) async fn guard(State(config): State<Arc<Config>>, request: Request, next: Next) -> Response {
    let guest = guest(&config.origins, &request);
    let host = request.headers().get(header::HOST).cloned();
    let mut response = match check(&config.hosts, guest.is_some(), &request) {
        Ok(()) if guest.is_some() && asks_beforehand(&request) => StatusCode::NO_CONTENT.into_response(),
        Ok(()) => next.run(request).await,
        Err(problem) => problem.into_response(),
    };
    if let Some(origin) = guest {
        welcome(origin, response.headers_mut());
    }
    if response.extensions().get::<FromUpstream>().is_some() {
        return response;
    }
    let headers = response.headers_mut();
    for (name, value) in HEADERS {
        headers.entry(name).or_insert(HeaderValue::from_static(value));
    }
    headers.entry(header::CONTENT_SECURITY_POLICY).or_insert_with(|| policy(host.as_ref()));
    response
}

/// The page's policy if it was requested at `host`. The only frames that it allows are the empty document for
/// images and the one for embedded pages: HTML that a tool has written is under the page's policy and
/// stricter ones, and neither a frame in it nor a link may lead to any other address of the hub. A source in
/// a policy must be a name of letters, digits and dots; for other hosts, such as IPv6 addresses, no frame is
/// allowed.
fn policy(host: Option<&HeaderValue>) -> HeaderValue {
    let source = host.and_then(|host| host.to_str().ok()).filter(|host| is_source(host));
    let policy =
        source.and_then(|host| format!("{POLICY}; frame-src {host}/image {host}/embed").parse().ok());
    policy.unwrap_or(HeaderValue::from_static(POLICY))
}

/// Whether `host`, with or without a port, can be a source in a policy (Content Security Policy, 2.3.1:
/// `host-source`).
fn is_source(host: &str) -> bool {
    let (name, port) = host.split_once(':').unwrap_or((host, "0"));
    let is_label = |label: &str| {
        !label.is_empty() && label.bytes().all(|sign| sign.is_ascii_alphanumeric() || sign == b'-')
    };
    name.split('.').all(is_label) && !port.is_empty() && port.bytes().all(|sign| sign.is_ascii_digit())
}

/// The origin of the request, if it is in the settings and the path is a door.
fn guest(origins: &[String], request: &Request) -> Option<HeaderValue> {
    let path = request.uri().path();
    let is_door = path == "/v1/chat/completions"
        || path == "/v1/responses"
        || path.starts_with("/v1/responses/")
        || path == "/v1/models"
        || path.starts_with("/v1/models/")
        || path.starts_with("/compat/");
    let origin = request.headers().get(header::ORIGIN).filter(|_| is_door)?;
    let is_known = |known: &String| known.as_bytes().eq_ignore_ascii_case(origin.as_bytes());
    origins.iter().any(is_known).then(|| origin.clone())
}

/// Whether the request is a browser's preflight: it asks whether the page may send the request that it wants
/// to.
fn asks_beforehand(request: &Request) -> bool {
    *request.method() == Method::OPTIONS
        && request.headers().contains_key(header::ACCESS_CONTROL_REQUEST_METHOD)
}

/// Adds the headers that tell a browser that the page may call and read the answer.
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

/// Checks `Host`, `Origin` and who asks. Fails with `forbidden_origin`; the text says which of them is wrong.
/// A guest is a page of an origin in the settings at a door: it passes, except with an upgrade.
fn check(hosts: &[String], is_guest: bool, request: &Request) -> Result<(), Problem> {
    let refuse = |what: &str| Err(Problem::new(ErrorCode::ForbiddenOrigin, what.to_owned()));
    let Ok(host) = named_host(request) else {
        return refuse("the Host header of the request is not a name and port, or is repeated");
    };
    let target = request.uri().authority().map(axum::http::uri::Authority::as_str);
    // Every browser sends `Host`, so a request without it comes from a program.
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
            "the request comes from a page of another origin; this path is for the hub's own page and for programs",
        );
    }
    Ok(())
}

/// The `Host` of a request; an error if it is not ASCII or comes twice.
fn named_host(request: &Request) -> Result<Option<&str>, ()> {
    let mut hosts = request.headers().get_all(header::HOST).iter();
    let host = hosts.next().map(|host| host.to_str().map_err(|_no_ascii| ())).transpose()?;
    if hosts.next().is_some() { Err(()) } else { Ok(host) }
}

/// Whether a page of another origin sends the request, as far as the browser says.
pub(crate) fn is_of_another_page(headers: &HeaderMap) -> bool {
    let host = headers.get(header::HOST).and_then(|host| host.to_str().ok());
    headers.get(header::ORIGIN).is_some_and(|origin| !is_same(origin, host)) || is_from_elsewhere(headers)
}

/// Whether the browser says that a page of another origin asks: `cross-site`, or `same-site`, which on this
/// machine is any other port. `none` means that a person typed the address.
fn is_from_elsewhere(headers: &HeaderMap) -> bool {
    let site = headers.get("sec-fetch-site").map(HeaderValue::as_bytes);
    site.is_some_and(|site| !matches!(site, b"same-origin" | b"none"))
}

/// Whether a person follows a link to this path in a window: no frame, no picture, no script.
fn is_followed_link(request: &Request) -> bool {
    let said = |name: &str, value: &str| request.headers().get(name).is_some_and(|said| said == value);
    *request.method() == Method::GET
        && said("sec-fetch-mode", "navigate")
        && said("sec-fetch-dest", "document")
        && said("sec-fetch-user", "?1")
}

/// Whether `origin` has the name and port at which the request was sent. That the name is the hub's own is
/// checked elsewhere.
pub(crate) fn is_same(origin: &HeaderValue, host: Option<&str>) -> bool {
    let authority = origin.to_str().ok().and_then(|origin| origin.parse::<Uri>().ok());
    authority.as_ref().and_then(Uri::authority).map(axum::http::uri::Authority::as_str) == host
}

/// Whether `host` names this machine, or is in `hosts`: a name or an address, with or without a port.
/// Everything else is refused.
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
