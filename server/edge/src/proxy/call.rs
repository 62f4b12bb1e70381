//! One call: the request on its way to the upstream, and the answer on its way back.
//!
//! ```text
//! path and headers ─▶ target, upstream ─▶ facts for the recorder ─▶ start recording ─▶ send ─▶ pass the answer
//!       │ 403 from a page     │ 404            │ 403 no grant                            │ 502
//! ```
//!
//! Nothing here waits for the recorder, and the bytes are passed on even if nothing of the call can be
//! recorded (I12).

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, Uri, Version};
use axum::response::{IntoResponse as _, Response};
use exchange::{ModelApi, SESSION_HEADERS};
use model::ConversationId;
use model::code::ErrorCode;
use percent_encoding::{AsciiSet, CONTROLS, utf8_percent_encode};
use upstream::{ResponseBody, SendError, Upstream, retry_after_ms};

use super::calls::Proxy;
use super::copied::{AnswerBody, RequestBody};
use super::inflate::encodings;
use super::lent::{self, Lent};
use super::record::{self, Facts, Started};
use super::secrets::Secrets;
use super::socket::SocketRequest;
use super::tape::{End, Head};
use super::target::{self, Target};
use super::{browser, headers, socket};
use crate::inbound::caller::may_record;
use crate::inbound::params;
use crate::inbound::passed::FromUpstream;
use crate::inbound::patience::ConnectionInfo;
use crate::inbound::problem::{Problem, Vendor};
use crate::proxy::calls::PROXIED;
use event_log::clock;

/// The header that names the conversation, in requests and in answers.
pub(super) const CONVERSATION: HeaderName = HeaderName::from_static("fanlight-conversation");

/// The header that names the tool call for which the calling agent works.
const PARENT: &str = "fanlight-parent";

/// The header in which the SDKs of several vendors say how often they have tried before.
const RETRIES: &str = "x-stainless-retry-count";

/// Characters that are percent-encoded in headers: control characters and the percent sign itself.
const ESCAPED: &AsciiSet = &CONTROLS.add(b'%');

/// `ANY /proxy/{upstream}/…`: passes one call on and answers with what the upstream says, whatever its
/// status. If there is no answer, the problem is in the form of the caller's vendor: 400 for a path that fits
/// nowhere, 403 for pages and without a grant, 404 `unknown_upstream`, 501 for tunnels, 502
/// `upstream_unreachable` or `upstream_failed`.
pub(crate) async fn call(State(proxy): State<Arc<Proxy>>, request: Request) -> Response {
    let uri = request.uri().clone();
    forward(&proxy, request).await.unwrap_or_else(|problem| told(&proxy, &uri, problem).into_response())
}

/// The problem in the form of the vendor whose client makes a call to `uri`: that of the upstream's API, or, if the
/// upstream is unknown, the one that the path suggests. As it is for any other path.
pub(crate) fn told(proxy: &Proxy, uri: &Uri, problem: Problem) -> Problem {
    let Some(target) = target_of(uri) else { return problem };
    match proxy.upstreams().find(|upstream| upstream.name() == target.upstream) {
        Some(upstream) => problem.told_to(vendor(upstream)),
        None => told_to_anybody(uri, problem),
    }
}

/// The problem in the form of the vendor that the path alone suggests: whoever is not let in does not learn which upstreams there are.
pub(crate) fn told_to_anybody(uri: &Uri, problem: Problem) -> Problem {
    let api = target_of(uri).and_then(|target| ModelApi::of_path(target.rest));
    match api {
        None => problem,
        Some(ModelApi::Anthropic) => problem.told_to(Vendor::Anthropic),
        Some(ModelApi::Gemini) => problem.told_to(Vendor::Gemini),
        Some(ModelApi::OllamaChat | ModelApi::OllamaGenerate) => problem.told_to(Vendor::Ollama),
        Some(
            ModelApi::OpenAiChat | ModelApi::OpenAiCompletions | ModelApi::OpenAiResponses | ModelApi::Cohere,
        ) => problem.told_to(Vendor::OpenAi),
    }
}

/// The parts of the path of a call; `None` for a path that is none of the proxy.
fn target_of(uri: &Uri) -> Option<Target<'_>> {
    let path = uri.path_and_query()?.as_str();
    Target::parse(path).ok().filter(|_| path.starts_with("/proxy/"))
}

/// The vendor of an upstream's API.
fn vendor(upstream: &Upstream) -> Vendor {
    match upstream.api() {
        upstream::Api::OpenAi => Vendor::OpenAi,
        upstream::Api::Anthropic => Vendor::Anthropic,
        upstream::Api::Gemini => Vendor::Gemini,
        upstream::Api::Ollama => Vendor::Ollama,
    }
}

/// Passes a call on; a problem if it is refused before it is sent.
async fn forward(proxy: &Arc<Proxy>, request: Request) -> Result<Response, Problem> {
    let (mut parts, body) = request.into_parts();
    browser::refuse(&parts)?;
    let path = parts.uri.path_and_query().cloned();
    let target = Target::parse(path.as_ref().map_or("", |path| path.as_str()))?;
    let (upstream, sender) = proxy.find(target.upstream)?;
    if parts.method == Method::CONNECT {
        let detail = "the proxy passes requests, answers and WebSockets, no tunnels; call the upstream itself for those";
        return Err(Problem::new(ErrorCode::UpgradeRefused, detail));
    }
    let Some(uri) = upstream.uri(target.rest) else {
        let detail = format!("the path of this call fits nowhere below {}", upstream.place());
        return Err(Problem::bad_request(detail));
    };
    let mut lent = lent::lend(proxy, &mut parts, upstream, target.rest)?;
    // Other protocols may be offered, such as `h2c`; their clients can do without them.
    if parts.method == Method::GET && socket::wants_socket(&parts.headers) {
        let facts =
            facts(proxy, upstream, &parts, &target, sender.proxy_authorization(), target::api_of_socket)?;
        let model = socket::model_in(target.rest);
        return socket::open(SocketRequest { proxy, upstream, model, parts, uri, facts }).await;
    }
    let facts = facts(proxy, upstream, &parts, &target, sender.proxy_authorization(), target::api)?;
    let meter = lent.as_mut().and_then(|lent| lent.meter(proxy));
    let mut recording = facts.map(|facts| {
        let caller = lent.as_ref().map(|lent| proxy.fingerprints.of_token(&lent.token));
        record::start(proxy, Facts { caller: caller.unwrap_or(facts.caller), ..facts }, meter)
    });
    let line = parts.extensions.get::<Arc<ConnectionInfo>>().cloned();
    let tape = recording.as_ref().map(|started| started.recorded.tape());
    let mut outgoing = Request::new(RequestBody::new(body, tape));
    *outgoing.headers_mut() = headers::outgoing(&parts.headers);
    *outgoing.method_mut() = parts.method;
    *outgoing.uri_mut() = uri;
    *outgoing.version_mut() = Version::HTTP_11;
    // The extensions contain the case of the header names.
    *outgoing.extensions_mut() = parts.extensions;
    PROXIED.one();
    proxy.quiet.note_call();
    let answer = match sender.send(outgoing).await {
        Ok(answer) => match lent.as_ref().and_then(|_| Lent::withheld(&answer)) {
            Some(why) => withhold(upstream, why, recording),
            None => pass(answer, &mut recording, line, lent.as_ref().map(|lent| &lent.key)),
        },
        Err(fault) => refuse(upstream, fault, recording),
    };
    Ok(answer)
}

/// What the recorder needs to know of a call besides its bytes, including the hub's own key `ours` that is
/// sent with it. `None` for calls that are only passed on, because the path is none that the API records.
/// Fails with `forbidden` if the caller may not publish what would be recorded.
fn facts(
    proxy: &Proxy,
    upstream: &Upstream,
    parts: &Parts,
    target: &Target<'_>,
    ours: Option<&HeaderValue>,
    api: fn(upstream::Api, &Method, &str) -> Option<ModelApi>,
) -> Result<Option<Facts>, Problem> {
    let named = params::text(&parts.headers, CONVERSATION.as_str())?;
    let named = named.map(target::conversation).transpose()?;
    let conversation = named.or_else(|| target.conversation.clone());
    let (path, query) =
        target.rest.split_once('?').map_or((target.rest, None), |(path, query)| (path, Some(query)));
    let Some(api) = api(upstream.api(), &parts.method, path) else { return Ok(None) };
    may_record(parts, conversation.as_ref())?;
    conversation.iter().try_for_each(|named| proxy.ownership.hub.may_begin(named))?;
    let header =
        |name: &str| parts.headers.get(name).and_then(|value| value.to_str().ok()).map(str::to_owned);
    let secrets = Arc::new(Secrets::of(&parts.headers, query, ours));
    let session = SESSION_HEADERS.into_iter().find_map(header);
    Ok(Some(Facts {
        api,
        path: path.to_owned(),
        upstream: upstream.name().into(),
        caller: proxy.fingerprints.of(&parts.headers, query),
        conversation,
        // Sessions become names of conversations, so one that contains a key is not used.
        session: session.filter(|session| !secrets.are_in_name(session)),
        attempts_before: header(RETRIES).and_then(|count| count.parse().ok()),
        parent: header(PARENT),
        encodings: encodings(&parts.headers),
        secrets,
    }))
}

/// The answer in place of one to a call with the hub's key that the caller must not get, 502. The upstream did the
/// call, so it is charged as one that broke off.
fn withhold(upstream: &Upstream, why: &str, recording: Option<Started>) -> Response {
    if let Some(started) = &recording {
        started.recorded.tape().end(End::Cut(why.to_owned()));
    }
    refuse(upstream, SendError::Failed(why.to_owned()), recording)
}

/// Makes the answer for the caller: everything that came, except headers of the connection and the hub's own, and
/// without the key that was `lent`.
/// From here on the upstream decides how long the caller may take no byte.
fn pass(
    answer: axum::http::Response<ResponseBody>,
    recording: &mut Option<Started>,
    line: Option<Arc<ConnectionInfo>>,
    lent: Option<&HeaderValue>,
) -> Response {
    let (parts, body) = answer.into_parts();
    if let Some(started) = recording {
        started.recorded.tape().begin(Head {
            status: parts.status.as_u16(),
            retry_after_ms: retry_after_ms(&parts.headers, clock::now_ms()),
            encodings: encodings(&parts.headers),
        });
    }
    let mut headers = headers::incoming(&parts.headers);
    if let Some(key) = lent {
        lent::mask_headers(&mut headers, key);
    }
    if let Some(started) = recording {
        tell(&mut headers, started);
    }
    if let Some(line) = &line {
        line.be_lenient(true);
    }
    let recorded = recording.take().map(|started| started.recorded);
    let mut response =
        Response::new(axum::body::Body::new(AnswerBody::new(body, recorded, line).masked(lent)));
    *response.status_mut() = parts.status;
    *response.headers_mut() = headers;
    // The extensions contain the reason phrase and the case of the header names.
    *response.extensions_mut() = parts.extensions;
    response.extensions_mut().insert(FromUpstream);
    response
}

/// The answer for a call to which the upstream gave none, 502. The recording ends with the same failure.
pub(super) fn refuse(upstream: &Upstream, fault: SendError, recording: Option<Started>) -> Response {
    let (name, place) = (upstream.name(), upstream.place());
    let (code, detail) = match &fault {
        SendError::Unreachable(reason) => (
            ErrorCode::UpstreamUnreachable,
            format!("the upstream {name} at {place} cannot be reached: {reason}"),
        ),
        SendError::Failed(reason) => {
            (ErrorCode::UpstreamFailed, format!("the upstream {name} at {place} gave no answer: {reason}"))
        }
    };
    tracing::debug!(upstream = name, code = code.as_str(), "a call was not answered");
    let mut response = Problem::new(code, detail).told_to(vendor(upstream)).into_response();
    if let Some(mut started) = recording {
        started.recorded.tape().end(End::Nothing(fault));
        tell(response.headers_mut(), &mut started);
    }
    response
}

/// Names the conversation in a header of the answer if it is known already: no answer waits for that.
fn tell(headers: &mut HeaderMap, started: &mut Started) {
    let Some(conversation) = started.conversation() else { return };
    let name = escaped(conversation);
    if let Ok(value) = HeaderValue::from_str(&name) {
        headers.insert(CONVERSATION, value);
    }
}

/// The name as a header value; what is not ASCII is percent-encoded.
pub(super) fn escaped(conversation: &ConversationId) -> String {
    utf8_percent_encode(conversation.as_str(), ESCAPED).to_string()
}

#[cfg(test)]
mod tests;
