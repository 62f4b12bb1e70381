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
//! A request that changes something is sent again only if it certainly did not arrive. Only paths below
//! `/v1/` with a conversation in them and calls through the proxy that name one are passed on; sockets are
//! followed by `crate::peers`.

use std::sync::Arc;
use std::time::Duration;

use access::{Admission, Principal};
use axum::body::{Body, Bytes};
use axum::extract::{FromRequestParts as _, RawPathParams, Request, State};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, Uri, header};
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};
use event_log::{Owner, Purpose};
use http_body_util::BodyExt as _;
use model::ConversationId;
use model::code::ErrorCode;
use model::command::{Command, Done};
use serde::Deserialize;
use tokio::time::Instant;
use upstream::{Api, Egress, SendError, Sender, Upstream};

use super::super::access::{Caller, KeyPlace};
use super::super::problem::Problem;
use super::known::{FromHub, ON_BEHALF, PassedToken, TOKEN, on_behalf};
use crate::peers::{AGAIN, PATIENCE, owner, owner_now};
use crate::proxy;
use crate::sharing::{PassedBody, Peers};
use crate::state::Shared;
use agents::Refusal;

/// Bodies up to this are kept, so that the request can be sent again to the next owner when the first cannot be reached.
const KEPT_BYTES_MAX: u64 = 1 << 20;

/// How often it is looked whether a hub that has not answered still has the conversation.
const LOOK_EVERY: Duration = Duration::from_secs(2);

/// Most bytes of the answer to a command.
const ANSWER_BYTES_MAX: usize = 1 << 20;

/// The header that names the conversation of a call through the proxy.
const CONVERSATION: &str = "fanlight-conversation";

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

/// The middleware: passes a request about a conversation of another hub on to it. What another hub has passed
/// on is served here or refused with `elsewhere`, never passed on again.
pub(crate) async fn pass_on(State(shared): State<Arc<Shared>>, request: Request, next: Next) -> Response {
    if shared.peers.is_none() {
        return next.run(request).await;
    }
    let (mut parts, body) = request.into_parts();
    let Some(conversation) = conversation(&mut parts).await else {
        return next.run(Request::from_parts(parts, body)).await;
    };
    // What is deleted is not made first.
    let is_found = matches!(parts.method, Method::GET | Method::HEAD | Method::DELETE);
    let purpose = if is_found { Purpose::Find } else { Purpose::Make };
    if parts.extensions.get::<FromHub>().is_some() {
        // The other hub looks again who the owner is.
        return match owner_now(&shared, &conversation, purpose).await {
            Ok(Owner::Here) => next.run(Request::from_parts(parts, body)).await,
            Ok(Owner::Elsewhere(_)) => {
                Problem::new(ErrorCode::Elsewhere, "this hub does not have the conversation").into_response()
            }
            Err(error) => Problem::from(error).into_response(),
        };
    }
    let Some(Caller(principal)) = parts.extensions.get::<Caller>().cloned() else {
        return next.run(Request::from_parts(parts, body)).await;
    };
    let uri = parts.uri.clone();
    match to_owner(&shared, &conversation, purpose, &principal, (parts, body)).await {
        Ok(Passed::There(response)) => response,
        Ok(Passed::Here(parts, body)) => next.run(Request::from_parts(*parts, body)).await,
        Err(problem) => proxy::told(&shared, &uri, problem).into_response(),
    }
}

/// The conversation that a request is about: the one in its path, or that a call through the proxy names.
async fn conversation(parts: &mut Parts) -> Option<ConversationId> {
    let path = parts.uri.path();
    if path.starts_with("/proxy/") {
        let named = parts.headers.get(CONVERSATION)?.to_str().ok()?;
        let is_plain = !parts.headers.contains_key(header::UPGRADE);
        return ConversationId::parse(named).ok().filter(|_| is_plain);
    }
    if !path.starts_with("/v1/") {
        return None;
    }
    let params = RawPathParams::from_request_parts(parts, &()).await.ok()?;
    let named = params.iter().find(|(name, _)| *name == "conversation").map(|(_, value)| value.to_owned())?;
    // What is no name is refused by whoever serves the path.
    ConversationId::parse(&named).ok()
}

/// Where a request went.
enum Passed {
    /// This hub has the conversation.
    Here(Box<Parts>, Body),
    /// Another one has answered.
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
async fn to_owner(
    shared: &Arc<Shared>,
    conversation: &ConversationId,
    purpose: Purpose,
    principal: &Principal,
    (parts, body): (Parts, Body),
) -> Result<Passed, Problem> {
    let Some(peers) = &shared.peers else { return Ok(Passed::Here(Box::new(parts), body)) };
    let mut address = match owner(shared, conversation, purpose).await? {
        Owner::Here => return Ok(Passed::Here(Box::new(parts), body)),
        Owner::Elsewhere(address) => address,
    };
    let mut outgoing = kept(&parts.headers, body).await?;
    let is_repeatable = matches!(parts.method, Method::GET | Method::HEAD);
    let deadline = Instant::now() + PATIENCE;
    let token = token(shared, &parts);
    loop {
        let body = outgoing.next().ok_or_else(|| unreachable("its body was sent already"))?;
        let answer = peers.send(&address, &parts, body, (principal, token));
        let moved = moved(shared, conversation, &address);
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
            Ok(response) => return Ok(Passed::There(response)),
            Err(why) => why,
        };
        peers.forget(conversation);
        if Instant::now() >= deadline || shared.is_draining() {
            return Err(unreachable(&why));
        }
        tokio::time::sleep(AGAIN).await;
        address = match owner(shared, conversation, purpose).await? {
            Owner::Here => {
                let body = outgoing.next().ok_or_else(|| unreachable("its body was sent already"))?;
                return Ok(Passed::Here(Box::new(parts), body));
            }
            Owner::Elsewhere(address) => address,
        };
    }
}

/// The token of a call through the proxy that only some upstreams are for, or that stood in the place of a key: the hub
/// that has the conversation calls the upstream, so it decides. `None` for other requests.
fn token(shared: &Shared, parts: &Parts) -> Option<PassedToken> {
    let admission =
        parts.extensions.get::<Admission>().filter(|_| parts.uri.path().starts_with("/proxy/"))?;
    let record = shared.gate.record(admission)?;
    let in_place = parts.extensions.get::<KeyPlace>().is_some();
    (in_place || !record.upstreams.is_empty()).then_some(PassedToken { hash: record.hash, in_place })
}

/// Ready when the hub at `address` does not have `conversation` any more. A hub that is paused accepts requests and answers none.
async fn moved(shared: &Arc<Shared>, conversation: &ConversationId, address: &Arc<str>) {
    loop {
        tokio::time::sleep(LOOK_EVERY).await;
        match owner_now(shared, conversation, Purpose::Find).await {
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

    /// Sends a request to the hub at `address` for `principal` with its token. The inner error says why it was not reached; the outer one is for a
    /// request that may have been carried out.
    async fn send(
        &self,
        address: &Arc<str>,
        parts: &Parts,
        body: Body,
        (principal, token): (&Principal, Option<PassedToken>),
    ) -> Result<Result<Response, String>, Problem> {
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
        let value = HeaderValue::from_str(&format!("Bearer {}", self.token.reveal()));
        let (Ok(mut value), Ok(of_hubs)) = (value, HeaderValue::from_str(self.token.reveal())) else {
            return Err(unreachable("the token of the hubs is no header"));
        };
        value.set_sensitive(true);
        if parts.uri.path().starts_with("/proxy/") {
            headers.insert(TOKEN, of_hubs);
        } else {
            headers.insert(header::AUTHORIZATION, value);
        }
        if let Some(told) = on_behalf(principal, token) {
            headers.insert(ON_BEHALF, told);
        }
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
    response
}

/// What another hub says of a command that it refuses.
#[derive(Deserialize)]
struct RefusedThere {
    code: ErrorCode,
    #[serde(default)]
    detail: String,
}

/// Where a command is carried out.
#[derive(Debug)]
pub(crate) enum Carried {
    /// This hub has the conversation, and gets the command back.
    Here(Box<Command>),
    /// Another hub has answered.
    There(Result<Done, Refusal>),
}

/// Has a command carried out by the hub that has the conversation; a socket's commands come here. A repeated
/// command gets the answer that the owner remembers.
pub(crate) async fn command(
    shared: &Arc<Shared>,
    principal: &Principal,
    conversation: &ConversationId,
    command: Command,
) -> Carried {
    if shared.peers.is_none() {
        return Carried::Here(Box::new(command));
    }
    let refused = |why: String| Carried::There(Err(Refusal::new(ErrorCode::Elsewhere, why)));
    let path = format!(
        "/v1/conversations/{}/commands",
        percent_encoding::utf8_percent_encode(conversation.as_str(), percent_encoding::NON_ALPHANUMERIC)
    );
    let Ok(json) = serde_json::to_vec(&command) else { return Carried::Here(Box::new(command)) };
    let request = Request::builder()
        .method(Method::POST)
        .uri(path)
        .header(header::CONTENT_TYPE, "application/json")
        .header(header::CONTENT_LENGTH, json.len())
        .body(Body::from(json));
    let Ok(request) = request else { return Carried::Here(Box::new(command)) };
    let passed = to_owner(shared, conversation, Purpose::Make, principal, request.into_parts()).await;
    let response = match passed {
        Ok(Passed::Here(..)) => return Carried::Here(Box::new(command)),
        Ok(Passed::There(response)) => response,
        Err(problem) => return Carried::There(Err(problem.into())),
    };
    let is_done = response.status().is_success();
    let body = match axum::body::to_bytes(response.into_body(), ANSWER_BYTES_MAX).await {
        Ok(body) => body,
        Err(error) => return refused(error.to_string()),
    };
    if is_done {
        return match serde_json::from_slice(&body) {
            Ok(done) => Carried::There(Ok(done)),
            Err(error) => refused(error.to_string()),
        };
    }
    match serde_json::from_slice::<RefusedThere>(&body) {
        Ok(there) => Carried::There(Err(Refusal::new(there.code, there.detail))),
        Err(error) => refused(error.to_string()),
    }
}
