//! Admission: who sends a request, and whether they may. Before any handler, each request is matched with its
//! line in the table of the crate `access`. The check uses the route that the router has chosen and the
//! parameters that the handler gets, so no spelling of a path is allowed by one rule and served by another.
//!
//! A program sends its token as `Authorization: Bearer`, a browser its session in a cookie. In calls through
//! the proxy `Authorization` has the vendor's key, so there the token is in `Fanlight-Token`, which is not
//! passed on; or it stands in the place of that key (see `proxied`).
//!
//! ```text
//! request ─▶ another hub? ─▶ line of the route ─▶ credential ─▶ grant, role ─▶ bounds ─▶ handler
//!                               │ none: 404          │ 401         │ 403          │ 429
//! ```
//!
//! A request that is admitted is served only as long as its token, session or link holds: its body and its
//! answer end within a second or two of a revocation (see `ending`).

use std::sync::{Arc, OnceLock};

use access::audit::AuditedAction;
use access::cookie::{self, Channel};
use access::{Admission, Denial, Need, Principal, RatedAct, Right, Shows, routes};
use axum::body::Body;
use axum::extract::{FromRequestParts, MatchedPath, RawPathParams, Request, State};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};
use compact_str::CompactString;
use event_log::blocking;
use hub::SeenRows;
use hub::beginning::{self, SharedRule};
use model::ConversationId;
use model::code::ErrorCode;

use super::hubs::known::FromHub;
use crate::access::{Gate, Seat};
use crate::asker;
use crate::inbound::caller::{Caller, Peer, TOKEN};
use crate::inbound::guard;
use crate::inbound::passed::FromUpstream;
use crate::inbound::problem::Problem;
use crate::inbound::request_span;
use crate::proxy::{self, KEYS, Proxy};
use crate::work::callers;

mod callers_body;
mod counted;
mod ending;
pub(crate) mod fair;
mod identity;
mod link_pages;
mod login;
mod noting;
mod opening;
mod provider;
mod proxied;
mod shares;
mod whoami;

use ending::Ending;
pub(crate) use login::{form, log_in, log_out};
pub(crate) use opening::{follow, follow_anyway};
pub(crate) use provider::{begin_login, end_login};
pub(crate) use shares::{share, shares, unshare};
pub(crate) use whoami::whoami;

/// The path of sockets.
const SOCKET: &str = "/v1/ws";

/// The beginning of the proxy's paths.
const PROXY: &str = "/proxy/";

/// Whoever opens a socket, if its request says so by a header or a cookie; otherwise the socket says it in
/// `hello`.
#[derive(Debug, Clone)]
pub(crate) struct Greeting(pub(crate) Option<Admission>);

/// The rows of the list that `principal` may see, and how; `None` for all of them, as they are.
pub(crate) fn seen_rows(principal: Arc<Principal>) -> Option<SeenRows> {
    let mask = principal.mask().cloned();
    if principal.may_everywhere(Right::View) && mask.is_none() {
        return None;
    }
    let is_seen = move |id: &ConversationId| principal.may(Right::View, id.as_str());
    Some(SeenRows::new(is_seen).masked(mask))
}

/// What the route of a request needs and shows, and as what it counts, from the table `access::routes`. `None` for a route or method
/// without a line. A request that matched no route is for a file of the page, which any known caller may
/// have.
fn line_of(path: Option<&MatchedPath>, method: &Method) -> Option<(Need, Shows, Option<RatedAct>)> {
    match path {
        // No route matched: the files of the page.
        None => Some((Need::Known, Shows::Nothing, None)),
        Some(path) => {
            routes::find(method.as_str(), path.as_str()).map(|line| (line.need, line.shows, line.act))
        }
    }
}

/// Marks header values with secrets as sensitive, so that nothing that prints headers prints them.
fn hide(headers: &mut HeaderMap) {
    for name in KEYS.into_iter().chain([header::COOKIE, TOKEN]) {
        if let header::Entry::Occupied(mut values) = headers.entry(name) {
            values.iter_mut().for_each(|value| value.set_sensitive(true));
        }
    }
}

/// The middleware: passes a request on to its handler, or answers it.
///
/// It answers 404 for a route without a line in the table, 401 `unauthenticated` for a credential that is
/// missing or not valid (a page's path gets the login form), 403 `forbidden` without the grant or where the
/// role may not look, 405 for a method without a line, 429 `too_many` beyond the bounds of an address or a
/// principal, 503 `log_unavailable` for a session that another hub may have begun while the database does not answer. What needs a note in the audit log is noted once the handler has answered. While access control is
/// off everybody is admitted with all rights.
pub(crate) async fn admit(
    State(gate): State<Arc<Gate>>,
    State(proxy): State<Arc<Proxy>>,
    request: Request,
    next: Next,
) -> Response {
    let (mut parts, body) = request.into_parts();
    let path = parts.extensions.get::<MatchedPath>().cloned();
    let line = line_of(path.as_ref(), &parts.method);
    if line.is_none() && !path.as_ref().is_some_and(|path| routes::is_known(path.as_str())) {
        tracing::error!(
            path = path.as_ref().map(MatchedPath::as_str),
            "a route has no line in the table of access"
        );
        return Problem::new(ErrorCode::NotFound, "there is nothing here").into_response();
    }
    if !gate.is_on() {
        let everyone = Admission::everyone();
        let caller = on_behalf(&parts).unwrap_or_else(|| Arc::clone(&everyone.principal));
        parts.extensions.insert(Caller(caller));
        parts.extensions.insert(Greeting(Some(everyone)));
        return next.run(Request::from_parts(parts, body)).await;
    }
    hide(&mut parts.headers);
    if let Err(problem) = fair::may_try(&gate, &parts) {
        let answer = proxy::told_to_anybody(&parts.uri, problem).into_response();
        let is_page = parts.uri.path().starts_with("/s/") && opening::wants_page(&parts.headers);
        return if is_page { link_pages::too_many(answer) } else { answer };
    }
    let is_open = line.is_some_and(|(need, ..)| need.is_open());
    let shown = credential(&gate, &mut parts).await;
    let admission = match shown {
        Ok(found) => found.ok_or(Denial::Missing),
        // Over a socket the page is told in a frame, which it can read; a program that sent a token is told
        // here.
        // A socket that is opened while nobody can say who that is would be told to log in.
        Err(Denial::Unavailable) if is_open && parts.uri.path() == SOCKET => {
            return refused((&gate, &proxy), &parts, None, Denial::Unavailable);
        }
        Err(denial) if is_open && !parts.headers.contains_key(header::AUTHORIZATION) => Err(denial),
        Err(denial) => return refused((&gate, &proxy), &parts, None, denial),
    };
    if is_open {
        return opened(&gate, (parts, body), admission.ok(), next).await;
    }
    let admission = match admission {
        Ok(admission) => admission,
        Err(denial) => return refused((&gate, &proxy), &parts, None, denial),
    };
    let Some((need, shows, act)) = line else {
        let detail = "this path does not take this method";
        return Problem::new(ErrorCode::MethodNotAllowed, detail).into_response();
    };
    let named = conversation(&mut parts).await;
    let principal = on_behalf(&parts).unwrap_or_else(|| Arc::clone(&admission.principal));
    request_span::note_principal(principal.name());
    let is_met = need.met_by(&principal, named.as_deref());
    if let Err(denial) = is_met.and_then(|()| shows.serves(&principal)) {
        return refused((&gate, &proxy), &parts, Some(&principal), denial);
    }
    let (seat, body) =
        match fair::let_through(&gate, (need, shows, act), (&parts, body), Some(&*admission.principal)) {
            Ok(through) => through,
            Err(problem) => return proxy::told(&proxy, &parts.uri, problem).into_response(),
        };
    let told = noting::of_request(&gate, (need, shows), &parts, (&principal, named.as_deref()));
    parts.extensions.insert(Caller(principal));
    // For what goes on when the answer is over: a socket through the proxy.
    parts.extensions.insert(admission.clone());
    let response = served(&gate, (admission, seat), Request::from_parts(parts, body), next).await;
    if let Some(told) = told {
        blocking(|| noting::note(&gate, told, response.status()));
    }
    response
}

/// Serves a request for which nobody need be known; its bytes are counted for its address alone.
async fn opened(
    gate: &Gate,
    (mut parts, body): (Parts, Body),
    admission: Option<Admission>,
    next: Next,
) -> Response {
    if let Some(known) = &admission {
        request_span::note_principal(known.principal.name());
    }
    let counts = fair::counted_for(gate, (&parts.headers, &parts.extensions), None);
    let body = match fair::let_through(gate, (Need::Nothing, Shows::Nothing, None), (&parts, body), None) {
        Ok((_no_seat, body)) => body,
        Err(problem) => return problem.into_response(),
    };
    parts.extensions.insert(Greeting(admission));
    fair::sent(counts, next.run(Request::from_parts(parts, body)).await)
}

/// For whom another hub asks, if it does: the principal that the other hub has admitted, checked by the token
/// of the hubs.
fn on_behalf(parts: &Parts) -> Option<Arc<Principal>> {
    parts.extensions.get::<FromHub>().and_then(|FromHub(principal)| principal.clone())
}

/// Serves a request for as long as `admission` holds: its body, the wait for the answer, and the answer's
/// body. `seat` is the request's place among those of its principal; it is given back when the answer is
/// over. Event streams of the hub end with a `bye`, all other bodies with a cut.
async fn served(
    gate: &Arc<Gate>,
    (admission, seat): (Admission, Option<Seat<CompactString>>),
    request: Request,
    next: Next,
) -> Response {
    let over = || {
        let (gate, admission) = (Arc::clone(gate), admission.clone());
        async move { gate.over(&admission).await }
    };
    let path = request.extensions().get::<MatchedPath>().map(|path| path.as_str().ends_with("/events"));
    let uri = request.uri().clone();
    let told = |denial: Denial| proxy::told_to_anybody(&uri, denial.into()).into_response();
    let counts =
        fair::counted_for(gate, (request.headers(), request.extensions()), Some(&*admission.principal));
    // Set when the request's body is cut off. A handler only sees a broken body and blames the sender for it.
    let cut = Arc::new(OnceLock::new());
    let request = request.map(|body| {
        let (over, cut) = (over(), Arc::clone(&cut));
        let noted = async move {
            let denial = over.await;
            *cut.get_or_init(|| denial)
        };
        Ending::wrap(body, noted).into_body()
    });
    let beginner = counts.as_ref().map(|(counts, whose)| counts.beginner(whose.clone()));
    let rule = beginner.clone().map(|it| -> SharedRule { it });
    let caller = counts.as_ref().and_then(|(_, whose)| whose.principal().cloned());
    // Another hub knows by itself for whom it asks.
    let asker = request.extensions().get::<FromHub>().is_none().then(|| admission.clone());
    let answered = asker::by(asker, beginning::under(rule, next.run(request)));
    let answered = callers::on_behalf(caller.clone(), answered);
    let mut response = tokio::select! {
        response = answered => cut.get().map_or(response, |&denial| told(denial)),
        denial = over() => told(denial),
    };
    // Doors say it in their own forms, without the seconds. An upstream's answer stays as it is.
    let is_passed = response.extensions().get::<FromUpstream>().is_some();
    if response.status() == StatusCode::TOO_MANY_REQUESTS && !is_passed {
        let seconds = beginner.map_or(0, |it| it.refused_s()).max(1);
        response.headers_mut().entry(header::RETRY_AFTER).or_insert_with(|| HeaderValue::from(seconds));
    }
    let kind = response.headers().get(header::CONTENT_TYPE).map(HeaderValue::as_bytes);
    // Only the hub's own event streams have an event for it; streams in other dialects are cut.
    let is_events = path == Some(true) && kind.is_some_and(|kind| kind.starts_with(b"text/event-stream"));
    // What is live is as much as others publish, and shared by all who watch it.
    let counts = counts.filter(|_| !is_events);
    fair::sent(counts, response).map(|body| {
        let (over, body) = (over(), callers_body::body_for(caller, body));
        let ending = Ending::wrap(body, async move {
            // The request goes on as long as its answer does.
            let _seat = seat;
            over.await
        });
        if is_events { ending.with_goodbye() } else { ending }.into_body()
    })
}

/// The conversation in the path, as the handler will get it.
async fn conversation(parts: &mut Parts) -> Option<String> {
    let params = RawPathParams::from_request_parts(parts, &()).await.ok()?;
    params.iter().find(|(name, _)| *name == "conversation").map(|(_, value)| value.to_owned())
}

/// Whether the request came over a secure channel, as far as that is certain.
pub(crate) fn channel(gate: &Gate, parts: &Parts) -> Channel {
    let peer = parts.extensions.get::<Peer>().copied().unwrap_or_default();
    let mut said = parts.headers.get_all("x-forwarded-proto").iter();
    let is_forwarded = said.next().is_some_and(|said| said.as_bytes().eq_ignore_ascii_case(b"https"))
        && said.next().is_none();
    if peer.is_tls || (is_forwarded && gate.is_proxy(peer.address)) {
        Channel::Secure
    } else {
        Channel::Plain
    }
}

/// Admits the sender of the request by what it shows; `None` if it shows nothing. A token comes before what a
/// trusted proxy says, and that before a cookie. What a browser or its proxy adds by itself is not looked at
/// if a page of another origin asks. Waits for an issuer's keys if the token names one that is not known yet.
async fn credential(gate: &Gate, parts: &mut Parts) -> Result<Option<Admission>, Denial> {
    let claims = identity::take(gate, parts)?;
    let token = if parts.uri.path().starts_with(PROXY) {
        proxied::token(parts)?
    } else if parts.extensions.get::<FromHub>().is_some() && parts.headers.contains_key(TOKEN) {
        // What it passes on keeps the credential of whoever asked it, by which doors know their callers.
        one(&parts.headers, &TOKEN)?.map(str::to_owned)
    } else {
        one(&parts.headers, &header::AUTHORIZATION)?.map(bearer).transpose()?.map(str::to_owned)
    };
    if let Some(token) = token {
        return gate.by_token_in_time(&token).await.map(Some);
    }
    // Credentials that a browser or its proxy adds by itself count only for the hub's own page.
    if guard::is_of_another_page(&parts.headers) {
        return Ok(None);
    }
    if let Some(claims) = claims {
        return gate.by_claims(&claims).map(Some);
    }
    // What a browser has for the hub is not for upstreams.
    if parts.uri.path().starts_with(PROXY) {
        return Ok(None);
    }
    let cookies = parts.headers.get_all(header::COOKIE).iter().filter_map(|value| value.to_str().ok());
    match cookie::session(cookies, channel(gate, parts))? {
        Some(session) => {
            // An address whose logins fail again and again does not make the database look for more.
            let admitted = if fair::barred(gate, parts).is_some() {
                gate.by_session(&session)
            } else {
                gate.by_any_session(&session).await
            };
            admitted.map(Some)
        }
        None => Ok(None),
    }
}

/// The token in the value of `Authorization`. Any scheme other than `Bearer` is malformed.
fn bearer(value: &str) -> Result<&str, Denial> {
    let (scheme, token) = value.split_once(' ').ok_or(Denial::Malformed)?;
    if scheme.eq_ignore_ascii_case("bearer") { Ok(token.trim()) } else { Err(Denial::Malformed) }
}

/// The only value of a header; `None` if absent, an error if there are several.
fn one<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Result<Option<&'a str>, Denial> {
    let mut values = headers.get_all(name).iter();
    let value = values.next().map(|value| value.to_str().map_err(|_binary| Denial::Malformed)).transpose()?;
    if values.next().is_some() { Err(Denial::Malformed) } else { Ok(value) }
}

/// The answer to a sender that is not admitted, which the audit log notes: a login form for a person's
/// browser, otherwise a problem. The failure counts against the sender's address.
fn refused(
    (gate, proxy): (&Gate, &Proxy),
    parts: &Parts,
    who: Option<&Principal>,
    denial: Denial,
) -> Response {
    let path = parts.extensions.get::<MatchedPath>().map(MatchedPath::as_str);
    let is_page = matches!(
        path,
        Some("/" | "/c/{conversation}" | "/wall" | "/new" | "/runs" | "/dashboard" | "/search")
    );
    fair::failed(gate, parts, denial);
    // A browser that nobody has logged in yet is no news.
    if denial != Denial::Missing || !is_page {
        let told = noting::about(parts, AuditedAction::Refused, who, None).failed(denial.code().as_str());
        blocking(|| gate.audit(told));
    }
    if is_page && denial.is_about_credentials() {
        return login::ask(gate, parts, denial);
    }
    let problem = if parts.uri.path().starts_with(PROXY) && denial.is_about_credentials() {
        let detail = format!(
            "{denial}. For calls through the proxy the token goes into the header Fanlight-Token, and the vendor's key \
             where it always was; or the token goes there, for upstreams of which the hub has the key"
        );
        Problem::new(ErrorCode::Unauthenticated, detail)
    } else {
        denial.into()
    };
    // Only whoever is let in may learn which upstreams there are.
    let problem = match who {
        Some(_) => proxy::told(proxy, &parts.uri, problem),
        None => proxy::told_to_anybody(&parts.uri, problem),
    };
    let counts = fair::counted_for(gate, (&parts.headers, &parts.extensions), who);
    let mut response = fair::sent(counts, problem.into_response());
    let headers = response.headers_mut();
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    if response.status() == StatusCode::UNAUTHORIZED {
        response.headers_mut().insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
    }
    response
}
