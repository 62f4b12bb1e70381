//! Requests about one conversation that another hub has: passed on to it as they are, for the same principal, and the answer as it comes.
//!
//! ```text
//! request ─▶ who has the conversation? ── this hub ─▶ handler
//!                  │ another one
//!                  ▼
//!           send it there ── answered ─▶ the answer, as it comes
//!                  │ not reached
//!                  ▼
//!           ask again who has it, for up to `PATIENCE`, then 503 `elsewhere`
//! ```
//!
//! A request that changes something is sent again only if it certainly did not arrive. Which conversation it is about its head says
//! (`home`) or, at a door, its body (`asked`). Viewers and publishers over sockets are followed and passed on by `crate::peers`.

use std::sync::Arc;
use std::time::Duration;

use access::{Admission, Principal};
use axum::body::{Body, Bytes};
use axum::extract::{Request, State};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, Uri, header};
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};
use event_log::{Owner, Purpose};
use http_body_util::BodyExt as _;
use hyper::upgrade::OnUpgrade;
use model::code::ErrorCode;
use model::limits::REQUEST_BYTES_MAX;
use model::{ConversationId, RunId};
use parking_lot::Mutex;
use tokio::time::Instant;
use upstream::{Api, Egress, SendError, Sender, Upstream};

use super::super::compat;
use super::asked::{self, Asker, Elsewhere};
use super::home;
use super::known::{CONTINUES, FOR, FromHub, ON_BEHALF, ORIGIN, PassedFor, TOKEN, on_behalf};
use crate::http::OwnerRoute;
use crate::inbound::caller::{Caller, KeyPlace, PassedToken};
use crate::inbound::passed::FromUpstream;
use crate::inbound::problem::Problem;
use crate::peers::{AGAIN, PATIENCE, owner, owner_now};
use crate::proxy;
use crate::sharing::{OpenRequest, PassedBody, Peers};

/// Bodies up to this are kept, so that the request can be sent again to the next owner when the first cannot be reached.
const KEPT_BYTES_MAX: u64 = 1 << 20;

/// How often it is looked whether a hub that has not answered still has the conversation.
const LOOK_EVERY: Duration = Duration::from_secs(2);

/// Headers that concern one connection, or that only a browser's page sends: the first hub has checked those.
const LEFT_OUT: [HeaderName; 11] = [
    header::CONNECTION,
    header::TRANSFER_ENCODING,
    header::UPGRADE,
    header::TE,
    header::HOST,
    header::COOKIE,
    header::ORIGIN,
    header::REFERER,
    HeaderName::from_static("sec-fetch-site"),
    HeaderName::from_static("sec-fetch-mode"),
    HeaderName::from_static("keep-alive"),
];

/// Marks the answer of a hub that was passed a request and does not have its conversation. The hub that passed it asks again who has it.
pub(super) const NOT_HERE: HeaderName = HeaderName::from_static("fanlight-not-here");

/// The middleware: passes a request on to the hub that has its conversation. What another hub has passed
/// on is served here or refused with `elsewhere`. It is passed on once more only where this hub has decided in which conversation
/// its caller goes on, and another one has that.
pub(crate) async fn pass_on(State(route): State<OwnerRoute>, request: Request, next: Next) -> Response {
    if route.ownership.peers.is_none() {
        return next.run(request).await;
    }
    let (mut parts, body) = request.into_parts();
    let passed = parts.extensions.get::<PassedFor>().cloned();
    let home = match &passed {
        Some(passed) => Some(passed.conversation.clone()),
        None => home::of(&route.proxy, &mut parts).await,
    };
    let caller = parts.extensions.get::<Caller>().cloned();
    // While it is open nobody moves the conversation. A move itself waits for none but others.
    let writes = !matches!(parts.method, Method::GET | Method::HEAD) && !home::is_move(parts.uri.path());
    let _open = home.as_ref().filter(|_| writes).map(|home| OpenRequest::begin(&route.ownership.moves, home));
    if parts.extensions.get::<FromHub>().is_some() {
        let decided = passed.filter(|passed| passed.is_decided).map(|passed| passed.conversation);
        if let Some(home) = &home
            && let Err(problem) = is_here(&route, home, purpose(&parts)).await
        {
            let mut refused = problem.into_response();
            refused.headers_mut().insert(NOT_HERE, HeaderValue::from_static("1"));
            return refused;
        }
        return match caller {
            Some(Caller(principal)) if decided.is_none() && home::is_door(parts.uri.path()) => {
                let served = at_door(&route, (Asker::Hub, &principal), (parts, body), next).await;
                served.unwrap_or_else(Problem::into_response)
            }
            _ => asked::of_hub(decided, next.run(Request::from_parts(parts, body))).await,
        };
    }
    let Some(Caller(principal)) = caller else {
        return next.run(Request::from_parts(parts, body)).await;
    };
    let uri = parts.uri.clone();
    let (parts, body) = match home {
        None => (parts, body),
        Some(home) => match to_owner(&route, &home, &principal, (parts, body)).await {
            Ok(PassOutcome::There(response)) => return response,
            Ok(PassOutcome::Here(parts, body)) => (*parts, body),
            Err(problem) => return proxy::told(&route.proxy, &uri, problem).into_response(),
        },
    };
    if !home::is_door(uri.path()) {
        return next.run(Request::from_parts(parts, body)).await;
    }
    let served = at_door(&route, (Asker::Client, &principal), (parts, body), next).await;
    served.unwrap_or_else(Problem::into_response)
}

/// Serves a request at a door here, unless its body shows that it is for a conversation of another hub: then it is passed on
/// as a whole. Nothing was done for it then.
async fn at_door(
    route: &OwnerRoute,
    (asker, principal): (Asker, &Principal),
    (parts, body): (Parts, Body),
    next: Next,
) -> Result<Response, Problem> {
    let kept = Arc::new(Mutex::new(Vec::<u8>::new()));
    let copy = Arc::clone(&kept);
    let body = Body::new(body.map_frame(move |frame| {
        let mut copy = copy.lock();
        // Copied, since a piece of few bytes holds the whole buffer that it was read into. Of more than a door takes nothing is
        // passed on.
        match frame.data_ref() {
            Some(piece) if copy.len() + piece.len() <= REQUEST_BYTES_MAX => copy.extend_from_slice(piece),
            Some(_) => *copy = Vec::new(),
            None => {}
        }
        drop(copy);
        frame
    }));
    let mut again = parts.clone();
    let (response, elsewhere) =
        asked::undecided(asker, next.clone().run(Request::from_parts(parts, body))).await;
    let Some(Elsewhere { conversation, decided }) = elsewhere else { return Ok(response) };
    if decided.is_some() {
        again.headers.insert(CONTINUES, HeaderValue::from_static("1"));
    }
    let whole = std::mem::take(&mut *kept.lock());
    // It can be sent again if it is small.
    again.headers.insert(header::CONTENT_LENGTH, HeaderValue::from(whole.len()));
    match to_owner(route, &conversation, principal, (again, Body::from(whole))).await? {
        PassOutcome::There(response) => {
            if let Some(learn) = decided
                && let Some((conversation, run)) = begun(&response)
            {
                learn(&conversation, &run);
            }
            Ok(response)
        }
        // It has become this hub's since.
        PassOutcome::Here(mut parts, body) => {
            parts.headers.remove(CONTINUES);
            let decided = decided.is_some().then_some(conversation);
            Ok(asked::of_hub(decided, next.run(Request::from_parts(*parts, body))).await)
        }
    }
}

/// Where a run is, as the answer of a door says it.
fn begun(response: &Response) -> Option<(ConversationId, RunId)> {
    let text = |name: &str| response.headers().get(name)?.to_str().ok();
    let conversation = ConversationId::parse(text(compat::CONVERSATION)?).ok()?;
    Some((conversation, RunId::new(text("fanlight-run")?)))
}

/// Fails with `elsewhere` if this hub does not have `conversation`: the other hub looks again who has it.
async fn is_here(route: &OwnerRoute, conversation: &ConversationId, purpose: Purpose) -> Result<(), Problem> {
    match owner_now(&route.ownership, conversation, purpose).await? {
        Owner::Here => Ok(()),
        Owner::Elsewhere(_) => {
            Err(Problem::new(ErrorCode::Elsewhere, "this hub does not have the conversation"))
        }
    }
}

/// What a request does with a conversation: what is deleted or read is not made first.
fn purpose(parts: &Parts) -> Purpose {
    let is_found = matches!(parts.method, Method::GET | Method::HEAD | Method::DELETE);
    // A socket through the proxy says things.
    if is_found && !parts.uri.path().starts_with("/proxy/") { Purpose::Find } else { Purpose::Make }
}

/// The outcome of passing a request on.
pub(super) enum PassOutcome {
    /// This hub has the conversation.
    Here(Box<Parts>, Body),
    /// Another hub has answered.
    There(Response),
}

/// A body that can be sent once, or again.
enum Outgoing {
    /// A small body in memory, which can be sent as often as needed.
    Kept(Bytes),
    /// A large or streamed body; `None` once it was sent.
    Once(Option<Body>),
}

impl Outgoing {
    /// The body for the next attempt; `None` if it can be sent no more.
    fn next(&mut self) -> Option<Body> {
        match self {
            Self::Kept(bytes) => Some(Body::from(bytes.clone())),
            Self::Once(body) => body.take(),
        }
    }
}

/// Sends a request to the owner of `conversation`, and to the next one where it cannot be reached. Fails with
/// `elsewhere` (503) if no owner was reached within [`PATIENCE`], if the hub drains, or if it is not known
/// whether the request was carried out. Dropping the future drops the connection.
pub(super) async fn to_owner(
    route: &OwnerRoute,
    conversation: &ConversationId,
    principal: &Principal,
    (mut parts, body): (Parts, Body),
) -> Result<PassOutcome, Problem> {
    let purpose = purpose(&parts);
    let Some(peers) = &route.ownership.peers else { return Ok(PassOutcome::Here(Box::new(parts), body)) };
    let mut address = match owner(&route.ownership, conversation, purpose).await? {
        Owner::Here => return Ok(PassOutcome::Here(Box::new(parts), body)),
        Owner::Elsewhere(address) => address,
    };
    let mut outgoing = kept(&parts.headers, body).await?;
    // Any request with a header `Upgrade` has one.
    let socket = parts
        .extensions
        .remove::<OnUpgrade>()
        .filter(|_| parts.uri.path().starts_with("/proxy/") && proxy::wants_socket(&parts.headers));
    // That the owner changes is what a move is for, and one that is asked for again finds the conversation where it is to be.
    let is_move = home::is_move(parts.uri.path());
    let is_repeatable = is_move || matches!(parts.method, Method::GET | Method::HEAD);
    let look_every = if is_move { PATIENCE } else { LOOK_EVERY };
    let deadline = Instant::now() + if is_move { 3 * PATIENCE } else { PATIENCE };
    let token = token(route, &parts);
    loop {
        let body = outgoing.next().ok_or_else(|| unreachable("its body was sent already"))?;
        let request = peers.request(&address, &parts, body, (Some(conversation), principal, token))?;
        let answer = async {
            match &socket {
                Some(socket) => {
                    proxy::open_there(&route.proxy, &address, request, (socket.clone(), &parts)).await
                }
                None => peers.send(&address, request).await,
            }
        };
        let moved = moved(route, conversation, &address, look_every);
        // Cancelling the request ends its connection; whether it was carried out is not known then.
        let answer = tokio::select! {
            answer = answer => answer?,
            () = moved => {
                let why = "it was taken over while it had the request";
                if !is_repeatable { return Err(unreachable(why)); }
                Err(why.to_owned())
            }
        };
        let why = match answer {
            // It is not the owner any more, as when it has started again under the same address: nothing was done.
            Ok(response) if response.headers().contains_key(NOT_HERE) => {
                String::from("it does not have it any more")
            }
            Ok(response) => return Ok(PassOutcome::There(response)),
            Err(why) => why,
        };
        peers.forget(conversation);
        if Instant::now() >= deadline || route.ownership.drain.is_cancelled() {
            return Err(unreachable(&why));
        }
        tokio::time::sleep(AGAIN).await;
        address = match owner(&route.ownership, conversation, purpose).await? {
            Owner::Here => {
                let body = outgoing.next().ok_or_else(|| unreachable("its body was sent already"))?;
                socket.map(|socket| parts.extensions.insert(socket));
                return Ok(PassOutcome::Here(Box::new(parts), body));
            }
            Owner::Elsewhere(address) => address,
        };
    }
}

/// The token of a call through the proxy that only some upstreams are for, or that stood in the place of a key: the hub
/// that has the conversation calls the upstream, so it decides. `None` for other requests.
fn token(route: &OwnerRoute, parts: &Parts) -> Option<PassedToken> {
    let admission =
        parts.extensions.get::<Admission>().filter(|_| parts.uri.path().starts_with("/proxy/"))?;
    let record = route.gate.record(admission)?;
    let in_place = parts.extensions.get::<KeyPlace>().is_some();
    (in_place || !record.upstreams.is_empty()).then_some(PassedToken { hash: record.hash, in_place })
}

/// Ready when the hub at `address` does not have `conversation` any more. A hub that is paused accepts requests and answers none.
async fn moved(route: &OwnerRoute, conversation: &ConversationId, address: &Arc<str>, look_every: Duration) {
    loop {
        tokio::time::sleep(look_every).await;
        match owner_now(&route.ownership, conversation, Purpose::Find).await {
            Ok(Owner::Elsewhere(now)) if now == *address => {}
            // The database is away: that says nothing of the other hub.
            Err(_) => {}
            Ok(_) => return,
        }
    }
}

/// The problem for an owner that could not be reached: `elsewhere`, after which a client tries again in a
/// moment.
fn unreachable(why: &str) -> Problem {
    Problem::new(ErrorCode::Elsewhere, format!("the hub that has the conversation cannot be reached: {why}"))
}

/// Keeps a body of a known length of at most [`KEPT_BYTES_MAX`] bytes, so that it can be sent again. Fails
/// with `bad_request` if it breaks off.
async fn kept(headers: &HeaderMap, body: Body) -> Result<Outgoing, Problem> {
    use axum::body::HttpBody as _;

    let is_streamed = headers.get(header::CONTENT_LENGTH).is_none() && !body.is_end_stream();
    if is_streamed || body.size_hint().exact().is_none_or(|bytes| bytes > KEPT_BYTES_MAX) {
        return Ok(Outgoing::Once(Some(body)));
    }
    let whole = body.collect().await;
    let whole = whole.map_err(|error| Problem::bad_request(format!("the body broke off: {error}")))?;
    Ok(Outgoing::Kept(whole.to_bytes()))
}

impl Peers {
    /// The way to the hub at `address`. Made once for each address, so all requests share its connections.
    fn sender(&self, address: &Arc<str>) -> Result<Sender<PassedBody>, Problem> {
        let mut senders = self.senders.lock();
        if let Some(known) = senders.get(address) {
            return Ok(known.clone());
        }
        let hub =
            Upstream::new("hub", address, Api::default()).map_err(|error| unreachable(&error.to_string()))?;
        let sender = Egress::direct().sender(&hub).map_err(|error| unreachable(&error.to_string()))?;
        senders.insert(Arc::clone(address), sender.clone());
        Ok(sender)
    }

    /// The request as the hub at `address` gets it: for the owner of a conversation if it is about one, and for `principal` with its token.
    pub(super) fn request(
        &self,
        address: &Arc<str>,
        parts: &Parts,
        body: Body,
        (conversation, principal, token): (Option<&ConversationId>, &Principal, Option<PassedToken>),
    ) -> Result<Request<PassedBody>, Problem> {
        let path = parts.uri.path_and_query().map_or("/", |path| path.as_str());
        let uri: Uri =
            format!("{address}{path}").parse().map_err(|_no_uri| unreachable("its address is no URL"))?;
        let mut request = Request::new(body.map_err(Into::into).boxed_unsync());
        *request.method_mut() = parts.method.clone();
        *request.uri_mut() = uri;
        let headers = request.headers_mut();
        headers.clone_from(&parts.headers);
        for name in LEFT_OUT {
            headers.remove(name);
        }
        let secret = self.token.reveal();
        let bearer = HeaderValue::from_str(&format!("Bearer {secret}"));
        let (Ok(mut bearer), Ok(mut of_hubs)) = (bearer, HeaderValue::from_str(secret)) else {
            return Err(unreachable("the token of the hubs is no header"));
        };
        bearer.set_sensitive(true);
        of_hubs.set_sensitive(true);
        let path = parts.uri.path();
        if path.starts_with("/proxy/") || home::is_door(path) {
            // `Authorization` is the vendor's, or one by which a door knows its caller.
            headers.insert(TOKEN, of_hubs);
        } else {
            // The owner would take one that the client sent for the hubs'.
            headers.remove(TOKEN);
            headers.insert(header::AUTHORIZATION, bearer);
        }
        if let Some(origin) = parts.headers.get(header::ORIGIN) {
            headers.insert(ORIGIN, origin.clone());
        }
        if let Some(Ok(named)) = conversation.map(|id| HeaderValue::from_str(&escaped(id))) {
            headers.insert(FOR, named);
        }
        if let Some(told) = on_behalf(principal, token) {
            headers.insert(ON_BEHALF, told);
        }
        Ok(request)
    }

    /// Sends a request to the hub at `address`. The inner error says why it was not reached; the outer one is for a
    /// request that may have been carried out.
    pub(super) async fn send(
        &self,
        address: &Arc<str>,
        request: Request<PassedBody>,
    ) -> Result<Result<Response, String>, Problem> {
        match self.sender(address)?.send(request).await {
            Ok(answer) => Ok(Ok(answered(answer.map(Body::new)))),
            Err(SendError::Unreachable(why)) => Ok(Err(why)),
            Err(SendError::Failed(why)) => Err(unreachable(&why)),
        }
    }
}

/// The answer without what concerns the connection between the hubs.
fn answered(mut response: Response) -> Response {
    for name in [header::CONNECTION, header::TRANSFER_ENCODING, HeaderName::from_static("keep-alive")] {
        response.headers_mut().remove(name);
    }
    // The other hub has added the headers of the page's policy, or left an upstream's answer as it is.
    response.extensions_mut().insert(FromUpstream);
    response
}

/// The name of a conversation in a path or a header.
pub(super) fn escaped(conversation: &ConversationId) -> String {
    percent_encoding::utf8_percent_encode(conversation.as_str(), percent_encoding::NON_ALPHANUMERIC)
        .to_string()
}
