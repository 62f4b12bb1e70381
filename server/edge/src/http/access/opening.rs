//! Opening a link: `GET /s/{secret}`.
//!
//! ```text
//! page elsewhere led here ─▶ loads itself again, with its cookie (SameSite=Strict)
//!   │ logged in, may see it, or came by this link before ─▶ 303, as they are; no view is counted
//!   │ logged in otherwise ─▶ a page that asks ─▶ POST /s/{secret} ─▶ 303, in the place of that login
//!   └ nobody yet ─▶ a view is counted ─▶ 303 with a session of the link
//! ```
//!
//! Whoever opens a link in a browser that is logged in stays logged in unless they say otherwise. For a link that is not good any more browsers
//! get a page, which does not say why, and programs a problem.

use std::sync::Arc;

use access::audit::{Audited, AuditedAction};
use access::{Admission, Denial, Proof, Right, Share, cookie};
use axum::extract::{Extension, Request, State};
use axum::http::request::Parts;
use axum::http::{HeaderMap, Method, StatusCode};
use axum::response::Response;
use event_log::{blocking, clock};
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};

use super::login::{again, leave, peer, problem, to, word};
use super::{Greeting, channel, fair, link_pages};
use crate::access::Gate;
use crate::inbound::params::{self, Path};

/// The query of an address that a browser loads again, so that it does so once.
const AGAIN: &str = "again";

/// Whether the answer is a page for a person: a browser opens the address as a page, or says that it takes one.
pub(super) fn wants_page(headers: &HeaderMap) -> bool {
    let text = |name: &str| params::text(headers, name).ok().flatten();
    match text("sec-fetch-dest") {
        Some(dest) => dest == "document",
        None => text("accept").is_some_and(|types| types.contains("text/html")),
    }
}

/// Whether something looks at the address that opens nothing: the preview of a chat, or a program that checks links. It must not use up a view.
fn is_preview(parts: &Parts) -> bool {
    let dest = params::text(&parts.headers, "sec-fetch-dest").ok().flatten();
    parts.method == Method::HEAD || dest.is_some_and(|dest| dest != "document")
}

/// Whether the browser may have withheld its cookie, or the hub not looked at it, since a page of another site led here. Cookies that came
/// all the same say nothing: they may be those of other programs on this host.
fn may_have_withheld(parts: &Parts) -> bool {
    let site = params::text(&parts.headers, "sec-fetch-site").ok().flatten();
    wants_page(&parts.headers)
        && !site.is_some_and(|site| matches!(site, "none" | "same-origin"))
        && parts.uri.query() != Some(AGAIN)
}

/// Whether the hub can end the login by which somebody is known: it is a session of a browser. What a token, a trusted proxy or an issuer of
/// claims says comes with each request again.
pub(super) fn can_leave(known: &Admission) -> bool {
    matches!(known.proof, Proof::Session(_))
}

/// `GET /s/{secret}`: begins a session for the one conversation of the link, and redirects the browser to it
/// with 303. Each session that begins uses up one view. Whoever is logged in and may see the conversation is redirected without; whoever
/// is logged in otherwise gets a page that asks, 200. 401 for a link that is unknown, expired or used up, which counts as a failed login; 429
/// for an address of which too many have failed.
pub(crate) async fn follow(
    State(gate): State<Arc<Gate>>,
    Path(secret): Path<String>,
    Extension(Greeting(known)): Extension<Greeting>,
    request: Request,
) -> Response {
    let (parts, _) = request.into_parts();
    if is_preview(&parts) {
        return problem(Denial::Unknown);
    }
    if may_have_withheld(&parts) {
        return again(StatusCode::OK, &format!("{}?{AGAIN}", parts.uri.path()));
    }
    // While access control is off everybody is everyone, and there are no links.
    let Some(known) = known.filter(|_| gate.is_on()) else {
        return opened(&gate, &parts, &secret).await;
    };
    match gate.look_at(&secret).await {
        Err(denial) => refused(&gate, &parts, denial),
        Ok((share, guest)) => {
            let is_same = known.principal.name() == guest.name() && known.principal.link().is_some();
            let may = known.principal.link().is_none()
                && known.principal.may(Right::View, share.conversation.as_str());
            if is_same || may {
                return to(&path_of(&share), None);
            }
            // A program cannot be asked, and must not be given a session in the place of who it is.
            if !wants_page(&parts.headers) {
                return problem(Denial::Forbidden);
            }
            link_pages::ask(&known, &guest, parts.uri.path())
        }
    }
}

/// `POST /s/{secret}`: follows a link as somebody who is logged in and chose to be logged out. Ends that session and answers as [`follow`]
/// does for somebody who is not logged in.
pub(crate) async fn follow_anyway(
    State(gate): State<Arc<Gate>>,
    Path(secret): Path<String>,
    Extension(Greeting(known)): Extension<Greeting>,
    request: Request,
) -> Response {
    let (parts, _) = request.into_parts();
    // The session of the link would never count beside what somebody else vouches for, so no view is used up.
    if gate.is_on() && known.as_ref().is_some_and(|known| !can_leave(known)) {
        return problem(Denial::Forbidden);
    }
    let answer = opened(&gate, &parts, &secret).await;
    // A link that is not good any more ends no login.
    if answer.status() == StatusCode::SEE_OTHER {
        leave(&gate, &parts).await;
    }
    answer
}

/// Counts a view of the link and begins a session for it, or says that it is not good any more.
async fn opened(gate: &Arc<Gate>, parts: &Parts, secret: &str) -> Response {
    let (session, share) = match gate.follow(secret).await {
        Ok(followed) => followed,
        Err(denial) => return refused(gate, parts, denial),
    };
    let told = Audited::new(AuditedAction::Follow, "").at(&peer(parts).to_string());
    let told = told.about(share.subject().as_str()).with(format!("link {}", share.id()));
    blocking(|| gate.audit(told));
    let lives_s = share.expires.saturating_sub(clock::now_ms()) / 1000;
    let lives_s = lives_s.min(access::SESSION_MS / 1000);
    to(&path_of(&share), Some(cookie::set(&session, channel(gate, parts), lives_s)))
}

/// The path of the page that shows what the link opens.
fn path_of(share: &Share) -> String {
    format!("/c/{}", utf8_percent_encode(share.conversation.as_str(), NON_ALPHANUMERIC))
}

/// The answer for a link that opens nothing, which the audit log notes: a page for a browser, which is the same for all reasons that lie in the
/// link, and a problem for programs. It counts as a failed login.
fn refused(gate: &Gate, parts: &Parts, denial: Denial) -> Response {
    let told = Audited::new(AuditedAction::Refused, "").at(&peer(parts).to_string());
    blocking(|| gate.audit(told.with("a link").failed(word(denial))));
    fair::failed(gate, parts, denial);
    if wants_page(&parts.headers) { link_pages::over(denial) } else { problem(denial) }
}
