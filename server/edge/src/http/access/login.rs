//! Login: a form of the hub's own, without scripts, that takes a token and gives the browser a session in a
//! cookie.
//!
//! ```text
//! page without a session ─▶ 401 with the form ─▶ POST /login ─▶ 303 to the page, with the cookie
//! ```
//!
//! The form works without the page's program, so that somebody who is not admitted gets nothing but it. Its
//! policy allows its own style and a script of a line, which takes a token out of the fragment of the address: browsers send that part to
//! nobody. The session lasts 12 hours at most and ends with its token.

use std::fmt::Write as _;
use std::net::IpAddr;
use std::sync::{Arc, OnceLock};

use access::audit::{Audited, AuditedAction};
use access::{Denial, cookie};
use axum::extract::{Request, State};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use event_log::blocking;
use percent_encoding::{NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};

use super::{channel, fair};
use crate::access::Gate;
use crate::http::body;
use crate::http::markup::{self, escaped};
use crate::inbound::caller::Peer;
use crate::inbound::problem::Problem;

/// The largest form that is read, in bytes.
const FORM_BYTES_MAX: usize = 16 << 10;

/// The style of the form, in one line because the policy names its hash.
const STYLE: &str = "body{font:16px/1.5 system-ui,sans-serif;max-width:26rem;margin:15vh auto;padding:0 1rem;\
    color:#1c1e21;background:#fff}h1{font-size:1.25rem}label,input,button{display:block;width:100%;\
    box-sizing:border-box;font:inherit}input{padding:.5rem;margin:.25rem 0 1rem;border:1px solid #6b7280;\
    border-radius:6px;background:transparent;color:inherit}button{padding:.5rem;border:0;border-radius:6px;\
    background:#1d4ed8;color:#fff}p{margin:1rem 0}[role=alert]{color:#b91c1c}\
    @media (prefers-color-scheme:dark){body{color:#e5e7eb;background:#111418}[role=alert]{color:#fca5a5}}";

/// Takes a token out of the fragment of the address, so that it does not stay in the history, and puts it into the form. The form is sent at once
/// where the page is marked so: only if no page led here, since a link could log somebody in as somebody else.
const SCRIPT: &str = "const token=new URLSearchParams(location.hash.slice(1)).get('token');if(token){\
    history.replaceState(null,'',location.pathname+location.search);const form=document.forms[0];\
    form.elements.token.value=token;if(form.dataset.from==='here')form.requestSubmit()}";

/// The content security policy of the form: it may be styled, have its one script, and be sent to this hub.
fn policy() -> &'static HeaderValue {
    static POLICY: OnceLock<HeaderValue> = OnceLock::new();
    POLICY.get_or_init(|| {
        let more = "form-action 'self'; base-uri 'none'; frame-ancestors 'none'";
        markup::policy(STYLE, &format!("script-src {}; {more}", markup::source(SCRIPT)))
    })
}

/// Where the address of a form came from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LedBy {
    /// Somebody who typed it, or opened it from another program.
    Here,
    /// A link on some page, which may be in what agents say too, or nobody knows.
    Elsewhere,
}

impl LedBy {
    /// What the browser says of it.
    fn of(headers: &HeaderMap) -> Self {
        // Whoever is logged in stays who they are: a link in a mail comes from no page either.
        match headers.get("sec-fetch-site").map(HeaderValue::as_bytes) {
            Some(b"none") if !headers.contains_key(header::COOKIE) => Self::Here,
            _ => Self::Elsewhere,
        }
    }
}

/// The form as an answer. `next` is the path to which the browser goes afterwards, `why` says what went wrong
/// before. If a provider of identities is set, the form has a link to it. A token in the fragment of the address is sent at once if `led` says so.
pub(super) fn page(
    gate: &Gate,
    (status, led): (StatusCode, LedBy),
    next: &str,
    why: Option<&str>,
) -> Response {
    let mut html = String::from("<!doctype html><html lang=\"en\"><meta charset=\"utf-8\">");
    html.push_str(
        "<meta name=\"viewport\" content=\"width=device-width\"><title>Log in to Fanlight</title><style>",
    );
    html.push_str(STYLE);
    html.push_str("</style><main><h1>Log in to Fanlight</h1><form method=\"post\" action=\"/login\"");
    html.push_str(if led == LedBy::Here { " data-from=\"here\">" } else { ">" });
    if let Some(why) = why {
        let _written = write!(html, "<p role=\"alert\">{}</p>", escaped(&sentence(why)));
    }
    html.push_str(
        "<label for=\"token\">Your token</label><input id=\"token\" name=\"token\" type=\"password\" required autofocus \
         autocomplete=\"current-password\" spellcheck=\"false\">",
    );
    let _written = write!(html, "<input type=\"hidden\" name=\"next\" value=\"{}\">", escaped(next));
    html.push_str("<button>Log in</button></form>");
    if gate.provider().is_some() {
        let next = utf8_percent_encode(next, NON_ALPHANUMERIC);
        let _written =
            write!(html, "<p><a href=\"/login/oidc?next={next}\">Log in with your organisation</a></p>");
    }
    html.push_str(
        "<p>Whoever runs this hub makes tokens with <code>fanlight token create</code>.</p></main><script>",
    );
    html.push_str(SCRIPT);
    html.push_str("</script></html>");
    with_form(status, html, policy())
}

/// `why` as a sentence of its own: the texts of denials go on after a colon elsewhere.
fn sentence(why: &str) -> String {
    let mut letters = why.chars();
    letters.next().map(|first| first.to_uppercase().chain(letters).chain(['.']).collect()).unwrap_or_default()
}

/// A page with a form that is sent to this hub, under the content security policy `policy`. Nobody keeps it, and no other site is told its address.
pub(super) fn with_form(status: StatusCode, html: String, policy: &HeaderValue) -> Response {
    let headers = [
        (header::CONTENT_TYPE, HeaderValue::from_static("text/html; charset=utf-8")),
        (header::CACHE_CONTROL, HeaderValue::from_static("no-store")),
        (header::CONTENT_SECURITY_POLICY, policy.clone()),
        // With a stricter policy the browser would send `Origin: null` with the form.
        (header::REFERRER_POLICY, HeaderValue::from_static("same-origin")),
    ];
    (status, headers, html).into_response()
}

/// Asks a browser to log in and come back to the page that it wanted. After a click on a link from another
/// site the browser has withheld its cookie, so it is told to load the page again first.
pub(super) fn ask(gate: &Gate, parts: &Parts, denial: Denial) -> Response {
    let next = parts.uri.path_and_query().map_or("/", |path| path.as_str());
    let from_elsewhere = parts.headers.get("sec-fetch-site").is_some_and(|site| site == "cross-site");
    if from_elsewhere && denial == Denial::Missing {
        return again(StatusCode::UNAUTHORIZED, next);
    }
    let why = (denial != Denial::Missing).then(|| denial.to_string());
    page(gate, (StatusCode::UNAUTHORIZED, LedBy::Elsewhere), next, why.as_deref())
}

/// Makes a browser that came from elsewhere go to a path of the hub by itself, so that it sends its cookie: a
/// cookie that is `SameSite=Strict` is withheld from the first request after a link on another site.
pub(super) fn again(status: StatusCode, next: &str) -> Response {
    let again = format!(
        "<!doctype html><title>Fanlight</title><meta http-equiv=\"refresh\" content=\"0;url={}\">",
        escaped(next)
    );
    let headers = [
        (header::CONTENT_TYPE, "text/html; charset=utf-8"),
        (header::CACHE_CONTROL, "no-store"),
        (header::CONTENT_SECURITY_POLICY, "default-src 'none'"),
    ];
    (status, headers, again).into_response()
}

/// The address at the other end of the connection; behind a proxy that of the proxy.
pub(super) fn peer(parts: &Parts) -> IpAddr {
    parts.extensions.get::<Peer>().copied().unwrap_or_default().address
}

/// The word for a denial in the audit log.
pub(super) fn word(denial: Denial) -> &'static str {
    match denial {
        Denial::Expired | Denial::NotYet => "expired",
        Denial::Missing | Denial::Malformed => "malformed",
        Denial::Unknown | Denial::UnknownRole | Denial::UnknownKey | Denial::Unmapped => "unknown",
        Denial::Untrusted | Denial::ForgedIdentity => "untrusted",
        Denial::Forbidden | Denial::Hidden => "forbidden",
        Denial::Unavailable => "unavailable",
    }
}

/// `GET /login`: the form, which leads to the first page. Under `/login#token=TOKEN` it sends itself, unless a link led there.
pub(crate) async fn form(State(gate): State<Arc<Gate>>, headers: HeaderMap) -> Response {
    page(&gate, (StatusCode::OK, LedBy::of(&headers)), "/", None)
}

/// `POST /login`: takes a form with `token`, and `next` for the path to go to afterwards. Answers 303 with
/// the session's cookie, or 401 with the form and the reason. A `next` that is no path of this hub becomes
/// `/`. Successes and refusals are noted in the audit log; failures count against the address.
pub(crate) async fn log_in(State(gate): State<Arc<Gate>>, request: Request) -> Response {
    if !gate.is_on() {
        return to("/", None);
    }
    let (parts, body) = request.into_parts();
    let channel = channel(&gate, &parts);
    let within = gate.stranger_body_within();
    let bytes = match body::of_stranger(body, FORM_BYTES_MAX, within).await {
        Ok(bytes) => bytes,
        Err(problem) => return problem.into_response(),
    };
    let said = fields(&bytes);
    let field =
        |name: &str| said.iter().find(|(known, _)| known == name).map_or("", |(_, value)| value.as_str());
    let next = if is_path(field("next")) { field("next") } else { "/" };
    let came = gate.log_in(field("token").trim()).await;
    let who = came.as_ref().map_or("", |(_, admission)| admission.principal.name());
    let told = Audited::new(AuditedAction::LogIn, who).at(&peer(&parts).to_string());
    blocking(|| {
        gate.audit(match &came {
            Ok(_) => told,
            // Whoever guesses is refused, and bounded as such.
            Err(denial) => {
                Audited { deed: AuditedAction::Refused, ..told.with("POST /login").failed(word(*denial)) }
            }
        });
    });
    match came {
        Ok((session, _)) => to(next, Some(cookie::set(&session, channel, access::SESSION_MS / 1000))),
        Err(denial) => {
            fair::failed(&gate, &parts, denial);
            page(&gate, (StatusCode::UNAUTHORIZED, LedBy::Elsewhere), next, Some(&denial.to_string()))
        }
    }
}

/// `POST /logout`: ends the session of this browser, removes its cookie and answers 303 to the form. Does the
/// same without a session.
pub(crate) async fn log_out(State(gate): State<Arc<Gate>>, request: Request) -> Response {
    let (parts, _) = request.into_parts();
    leave(&gate, &parts).await;
    to("/login", Some(cookie::clear(channel(&gate, &parts))))
}

/// Ends the session of a request, if it has one, which the audit log notes.
pub(super) async fn leave(gate: &Gate, parts: &Parts) {
    let cookies = parts.headers.get_all(header::COOKIE).iter().filter_map(|value| value.to_str().ok());
    if let Ok(Some(session)) = cookie::session(cookies, channel(gate, parts))
        && let Some(who) = gate.log_out(&session).await
    {
        let told = Audited::new(AuditedAction::LogOut, &who).at(&peer(parts).to_string());
        blocking(|| gate.audit(told));
    }
}

/// Redirects a browser with 303 to a path of the hub or an address, with a cookie if there is one. The cookie
/// is marked as sensitive, so that no trace prints it.
pub(super) fn to(path: &str, cookie: Option<String>) -> Response {
    let mut response = StatusCode::SEE_OTHER.into_response();
    let mut insert = |name: HeaderName, text: &str| match HeaderValue::from_str(text) {
        Ok(value) => drop(response.headers_mut().insert(name, value)),
        Err(error) => tracing::error!(%error, "a header of a login was not written"),
    };
    insert(header::LOCATION, path);
    insert(header::CACHE_CONTROL, "no-store");
    if let Some(cookie) = cookie {
        insert(header::SET_COOKIE, &cookie);
    }
    if let Some(cookie) = response.headers_mut().get_mut(header::SET_COOKIE) {
        cookie.set_sensitive(true);
    }
    response
}

/// Whether `next` is a path of this hub and nothing that a browser would take for another host.
pub(super) fn is_path(next: &str) -> bool {
    let mut signs = next.bytes();
    signs.next() == Some(b'/')
        && !matches!(signs.next(), Some(b'/' | b'\\'))
        && next.bytes().all(|sign| sign.is_ascii_graphic() && sign != b'\\')
}

/// Decodes the fields of a form.
fn fields(body: &[u8]) -> Vec<(String, String)> {
    let text = String::from_utf8_lossy(body);
    let plain = |text: &str| percent_decode_str(&text.replace('+', " ")).decode_utf8_lossy().into_owned();
    let pairs = text.split('&').filter_map(|pair| pair.split_once('='));
    pairs.map(|(name, value)| (plain(name), plain(value))).collect()
}

/// A refusal as an answer.
pub(super) fn problem(denial: Denial) -> Response {
    Problem::from(denial).into_response()
}

#[cfg(test)]
mod tests {
    //! Tests of what a form may lead to.

    use super::*;

    #[test]
    fn a_login_leads_to_a_path_of_this_hub_and_nowhere_else() {
        for path in ["/", "/c/name", "/c/a%20b?view=bare", "/wall"] {
            assert!(is_path(path), "{path}");
        }
        for elsewhere in [
            "",
            "//evil.example",
            "/\\evil.example",
            "https://evil.example",
            "c/name",
            "/a\r\nset-cookie: x",
            "/ä",
            "/a\\b",
        ] {
            assert!(!is_path(elsewhere), "{elsewhere:?}");
        }
    }

    #[test]
    fn what_a_path_holds_stays_text_in_the_form() {
        assert_eq!(escaped("/c/\"><script>&"), "/c/&quot;&gt;&lt;script&gt;&amp;");
    }

    #[test]
    fn the_fields_of_a_form_are_read() {
        let said = fields(b"token=fanlight_a-b&next=%2Fc%2Fa+b&odd");
        let want = [("token", "fanlight_a-b"), ("next", "/c/a b")].map(|(a, b)| (a.to_owned(), b.to_owned()));
        assert_eq!(said, want);
    }
}
