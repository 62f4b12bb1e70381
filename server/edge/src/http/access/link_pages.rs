//! Pages about links, for browsers: that a link is not good any more, and whether to open one in the place of a login. They work without the
//! page's program, since whoever gets them may not be admitted.

use std::fmt::Write as _;
use std::sync::OnceLock;

use access::{Admission, Denial, Principal};
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::Response;

use super::login::with_form;
use super::opening::can_leave;
use super::shares::shows_users;
use crate::http::markup::{self, escaped};

/// The style of these pages, in one line because the policy names its hash.
const STYLE: &str = "body{font:16px/1.5 system-ui,sans-serif;max-width:30rem;margin:15vh auto;padding:0 1rem;\
    color:#1c1e21;background:#fff}h1{font-size:1.25rem}p,ul{margin:1rem 0}ul{padding-left:1.25rem}a{color:#1d4ed8}\
    button{display:block;width:100%;box-sizing:border-box;font:inherit;padding:.5rem;border:0;border-radius:6px;\
    background:#1d4ed8;color:#fff;overflow-wrap:anywhere}strong{overflow-wrap:anywhere}\
    @media (prefers-color-scheme:dark){body{color:#e5e7eb;background:#111418}a{color:#93c5fd}}";

/// The content security policy of these pages: their style, and a form that is sent to this hub.
fn policy() -> &'static HeaderValue {
    static POLICY: OnceLock<HeaderValue> = OnceLock::new();
    POLICY
        .get_or_init(|| markup::policy(STYLE, "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"))
}

/// A page with `title` as its heading and the HTML `body` below it.
fn page(status: StatusCode, title: &str, body: &str) -> Response {
    let mut html = String::from(
        "<!doctype html><html lang=\"en\"><meta charset=\"utf-8\"><meta name=\"viewport\" content=\"width=device-width\">\
         <meta name=\"robots\" content=\"noindex\"><meta name=\"color-scheme\" content=\"light dark\">",
    );
    let title = escaped(title);
    let _written = write!(
        html,
        "<title>{title} · Fanlight</title><style>{STYLE}</style><main><h1>{title}</h1>{body}</main></html>"
    );
    with_form(status, html, policy())
}

/// The page for a link that opens nothing. Whether it ever opened something is not told.
pub(super) fn over(denial: Denial) -> Response {
    if denial == Denial::Unavailable {
        return page(
            StatusCode::SERVICE_UNAVAILABLE,
            "This link cannot be looked up at the moment",
            "<p>The database that this hub needs for it does not answer. The link may be good: load the page again in a moment.</p>",
        );
    }
    page(
        StatusCode::UNAUTHORIZED,
        "This link no longer works",
        "<p>Its time may be over, it may have been opened as often as it allows, somebody may have revoked it, or what it showed was \
         deleted. It may also be incomplete: check that you copied the whole address.</p>\
         <ul><li>Ask the person who shared it with you for a new one.</li>\
         <li>If you have a token of this hub, <a href=\"/login\">log in</a>.</li></ul>",
    )
}

/// The page for an address from which too many links or tokens were wrong.
pub(super) fn too_many(answer: Response) -> Response {
    let (mut parts, _) = answer.into_parts();
    let waiting = page(
        parts.status,
        "Too many failed attempts",
        "<p>Too many invalid links or tokens came from your network. Wait a minute, then load the page again.</p>",
    );
    let (told, body) = waiting.into_parts();
    parts.headers.remove(header::CONTENT_LENGTH);
    parts.headers.extend(told.headers);
    Response::from_parts(parts, body)
}

/// The page that asks somebody who is logged in, and may not see what the link shows, whether to open it all the same. `guest` is whoever
/// follows the link, `path` its path.
pub(super) fn ask(known: &Admission, guest: &Principal, path: &str) -> Response {
    let mask = guest.mask().map(AsRef::as_ref);
    let link = guest.link().filter(|_| shows_users(mask));
    let by = link.map_or_else(|| "Somebody".to_owned(), |link| escaped(&link.by));
    let whom = link.and_then(|link| link.audience.as_deref());
    let whom = whom.map(|whom| format!(" with “{}”", escaped(whom))).unwrap_or_default();
    let (path, name) = (escaped(path), escaped(known.principal.name()));
    let who = if known.principal.link().is_some() {
        "This browser has another link open.".to_owned()
    } else {
        format!(
            "In this browser you are logged in as <strong>{name}</strong>. That account cannot see this conversation."
        )
    };
    let form = |button: &str| {
        format!(
            "<form method=\"post\" action=\"{path}\"><button>{button}</button></form>\
             <p>To keep both, open the link in a private window. Or <a href=\"/\">leave it</a>.</p>"
        )
    };
    let way = if !can_leave(known) {
        "<p>This hub cannot log you out: your organisation says with each request who you are. Ask the person who shared it to give that \
         account access. Or <a href=\"/\">leave it</a>.</p>"
            .to_owned()
    } else if known.principal.link().is_some() {
        form("Open this one instead")
    } else {
        form(&format!("Log out as {name} and open it"))
    };
    let body = format!("<p><strong>{by}</strong> shared a conversation{whom}. {who}</p>{way}");
    page(StatusCode::OK, "Open what was shared?", &body)
}
