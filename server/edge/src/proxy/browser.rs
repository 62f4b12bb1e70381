//! The proxy is for programs. A page of another origin must not use it, whatever the method, because an
//! upstream may answer with headers that let the page read. And no browser may show what an upstream sends as
//! a page, because it would be in the hub's own origin.

use axum::http::header::{ACCEPT, HOST, ORIGIN};
use axum::http::request::Parts;
use axum::http::{HeaderMap, Method};
use model::code::ErrorCode;

use crate::inbound::guard;
use crate::inbound::problem::Problem;

/// Fails with `forbidden_origin` if a browser is about to show the answer as a page, or if a page of another
/// origin asks. Programs send none of the headers that it looks at.
pub(super) fn refuse(parts: &Parts) -> Result<(), Problem> {
    let said = |name: &str| parts.headers.get(name).map(axum::http::HeaderValue::as_bytes);
    let foreign = said("sec-fetch-site").is_some_and(|site| site != b"same-origin")
        || has_foreign_origin(&parts.headers);
    if foreign {
        let detail = "a page of another origin cannot use the proxy; call it from a program";
        return Err(Problem::new(ErrorCode::ForbiddenOrigin, detail));
    }
    let shown = said("sec-fetch-dest").is_some_and(|dest| dest != b"empty");
    let reads = matches!(parts.method, Method::GET | Method::HEAD);
    let page = said(ACCEPT.as_str()).is_some_and(|accept| accept.starts_with(b"text/html"));
    if shown || (reads && page) {
        let detail = "what an upstream says is not shown as a page of the hub; call the proxy from a program";
        return Err(Problem::new(ErrorCode::ForbiddenOrigin, detail));
    }
    Ok(())
}

/// Whether `Origin` is another one than the hub's.
fn has_foreign_origin(headers: &HeaderMap) -> bool {
    let host = headers.get(HOST).and_then(|host| host.to_str().ok());
    headers.get(ORIGIN).is_some_and(|origin| !guard::is_same(origin, host))
}

#[cfg(test)]
mod tests;
