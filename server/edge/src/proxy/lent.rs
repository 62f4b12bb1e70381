//! Calls with the hub's own key for an upstream. The caller has a token of the hub that names the upstream,
//! and sends it where the vendor's key usually is; the hub puts the vendor's key in its place. So the caller
//! never has the vendor's key, and the vendor never sees the token.
//!
//! ```text
//! Authorization: Bearer fanlight_…  ─▶ the token names the upstream? ─▶ its budget has some left?
//!       │                                   │ 403                            │ 429, 402
//!       └─▶ Authorization: Bearer sk-…, x-api-key or x-goog-api-key, as the API wants it
//! ```
//!
//! With this key goes only what can be counted and concerns nobody else: calls of models, the list of models,
//! counting of tokens, and, without a budget, embeddings. Files, batches and stored answers belong to the whole
//! account behind the key.

use std::sync::Arc;

use access::audit::{Audited, AuditedAction};
use access::{Admission, Budget, Hash, TokenRecord};
use axum::http::header::{ACCEPT_ENCODING, AUTHORIZATION, CONTENT_ENCODING, LOCATION};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, Response};
use event_log::blocking;
use model::code::ErrorCode;
use upstream::{Api, Upstream};

use super::calls::Proxy;
use super::headers::{IN_QUERIES, KEYS};
use super::{socket, target};
use crate::access::{NotLent, OpenCall};
use crate::inbound::caller::{Caller, KeyPlace, PassedToken, Peer};
use crate::inbound::problem::Problem;
use event_log::clock;

mod mask;
mod meter;

pub(super) use mask::KeyMask;
pub(super) use meter::{CallEnd, Meter};

/// What a call with the hub's key goes out with. Owned by the call.
#[derive(Debug)]
pub(super) struct Lent {
    /// The hash of the caller's token, by which its calls are told from those of others with the same key.
    pub(super) token: Hash,
    /// The vendor's key, to keep it out of the answer.
    pub(super) key: HeaderValue,
    /// What the call is charged to; `None` without a budget, and for what costs nothing.
    pub(super) open: Option<OpenCall>,
}

/// What the path of a call asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Wish {
    /// A call of a model, which is recorded and counted.
    Model,
    /// The list of models, or counting of tokens: it costs nothing.
    Free,
    /// Embeddings, which cost and are not counted.
    Embedding,
    /// A path of any other kind.
    Other,
}

impl Wish {
    /// The wish of a request to `path`, which has no query, at an upstream that speaks `spoken`.
    fn of(spoken: Api, method: &Method, path: &str) -> Self {
        // Spellings that servers read in different ways are for nobody.
        if ["..", "//", "%", ";", "\\"].iter().any(|odd| path.contains(odd)) {
            return Self::Other;
        }
        if target::api(spoken, method, path).is_some() {
            return Self::Model;
        }
        let path = path.trim_end_matches('/');
        let ends = |tails: &[&str]| tails.iter().any(|tail| path.ends_with(tail));
        let lists = *method == Method::GET && (ends(&["/models", "/api/tags"]) || path.contains("/models/"));
        let counts =
            *method == Method::POST && ends(&["/messages/count_tokens", "/input_tokens", ":countTokens"]);
        if lists || counts {
            Self::Free
        } else if *method == Method::POST && ends(&["/embeddings", ":embedContent", "/api/embed"]) {
            Self::Embedding
        } else {
            Self::Other
        }
    }
}

/// Lends a call the hub's key as [`decide`] says, and notes in the audit log whom it refuses.
pub(super) fn lend(
    proxy: &Proxy,
    parts: &mut Parts,
    upstream: &Upstream,
    rest: &str,
) -> Result<Option<Lent>, Problem> {
    let decided = decide(proxy, parts, upstream, rest);
    // One that is over its budget is noted with what it spent.
    let noted = [ErrorCode::Forbidden.as_str(), ErrorCode::Unauthenticated.as_str()];
    if let Some(code) = decided.as_ref().err().map(Problem::code).filter(|code| noted.contains(code)) {
        let who = parts.extensions.get::<Caller>().map_or("", |Caller(principal)| principal.name());
        let told = refusal(parts, who).with(format!("{} to {}", parts.method, upstream.name()));
        blocking(|| proxy.gate.audit(told.failed(code)));
    }
    decided
}

/// What the audit log says of a call of `who` that is refused.
fn refusal(parts: &Parts, who: &str) -> Audited {
    let peer = parts.extensions.get::<Peer>().copied().unwrap_or_default();
    Audited::new(AuditedAction::Refused, who).at(&peer.address.to_string())
}

/// Decides whether a call may go to `upstream`, and lends it the hub's key if it has none of its own: then the
/// headers have the vendor's key in place of the token. `rest` is path and query at the upstream. `None` for a
/// call with a key of its own.
///
/// Fails with `forbidden` if the token may not call that upstream or not with the hub's key,
/// with `unauthenticated` if the token stands in the place of a key that the hub does not have, with
/// `over_budget`, with `too_many` for too many calls at once, with `unsupported_encoding` for a packed body.
fn decide(
    proxy: &Proxy,
    parts: &mut Parts,
    upstream: &Upstream,
    rest: &str,
) -> Result<Option<Lent>, Problem> {
    let (path, query) = rest.split_once('?').unwrap_or((rest, ""));
    let passed = parts.extensions.get::<PassedToken>().copied();
    let in_place =
        parts.extensions.get::<KeyPlace>().is_some() || passed.is_some_and(|passed| passed.in_place);
    let record = record(proxy, parts, passed)?;
    let name = upstream.name();
    if record.as_ref().is_some_and(|record| !record.may_call(name)) {
        let detail = format!("this token may not call the upstream {name}; it was made for others");
        return Err(Problem::new(ErrorCode::Forbidden, detail));
    }
    let has_own = KEYS.iter().any(|header| parts.headers.contains_key(header)) || has_key(query);
    let lends = record.as_ref().is_some_and(|record| record.names(name)) && upstream.key().is_some();
    if !in_place && (has_own || !lends) {
        return Ok(None);
    }
    let (Some(record), Some(key)) = (record, upstream.key()) else {
        let detail = format!(
            "the hub has no key of its own for the upstream {name}: put the vendor's key where it always was, and the token into \
             Fanlight-Token"
        );
        return Err(Problem::new(ErrorCode::Unauthenticated, detail));
    };
    if !record.names(name) {
        let detail = format!(
            "this token is not lent the hub's key for {name}: `fanlight token create --upstream {name}` makes one that is"
        );
        return Err(Problem::new(ErrorCode::Forbidden, detail));
    }
    let wish = Wish::of(upstream.api(), &parts.method, path);
    may_be_lent(parts, wish, record.budget.as_ref())?;
    let budget = record.budget.filter(|_| wish == Wish::Model);
    let open = budget.map(|budget| begin(proxy, parts, upstream, &record, budget)).transpose()?;
    put(&mut parts.headers, upstream.api(), path, key);
    Ok(Some(Lent { token: record.hash, key: key.clone(), open }))
}

/// The token of a call, which this hub has admitted, or another one that has passed the call on. Fails with
/// `unauthenticated` if another hub names one that is not known here: nobody knows then what it may call.
fn record(proxy: &Proxy, parts: &Parts, passed: Option<PassedToken>) -> Result<Option<TokenRecord>, Problem> {
    let Some(passed) = passed else {
        return Ok(parts.extensions.get::<Admission>().and_then(|admission| proxy.gate.record(admission)));
    };
    let unknown = || {
        let detail = "the hub that has the conversation of this call does not know its token: tokens.json must be the same there";
        Problem::new(ErrorCode::Unauthenticated, detail)
    };
    proxy.gate.record_of(&passed.hash).map(Some).ok_or_else(unknown)
}

/// Whether the query has a key.
fn has_key(query: &str) -> bool {
    query.split('&').any(|pair| IN_QUERIES.contains(&pair.split('=').next().unwrap_or_default()))
}

/// Refuses what the hub's key is not for.
fn may_be_lent(parts: &Parts, wish: Wish, budget: Option<&Budget>) -> Result<(), Problem> {
    let refused = |detail: &str| Err(Problem::new(ErrorCode::Forbidden, detail));
    if socket::wants_socket(&parts.headers) {
        return refused("the hub's key is lent to requests, not to WebSockets");
    }
    match wish {
        Wish::Other => refused(
            "the hub's key is lent for calls of models, the list of models, embeddings and counting of tokens; files, batches and \
             the like belong to the whole account",
        ),
        Wish::Embedding if budget.is_some() => {
            refused("embeddings cannot be counted, so a token with a budget has none with the hub's key")
        }
        Wish::Model if parts.headers.contains_key(CONTENT_ENCODING) => {
            let detail = "a packed body cannot be counted: with the hub's key send it as it is";
            Err(Problem::new(ErrorCode::UnsupportedEncoding, detail))
        }
        Wish::Model | Wish::Free | Wish::Embedding => Ok(()),
    }
}

/// Begins to charge a call to the budget of its token. A refusal is noted in the audit log.
fn begin(
    proxy: &Proxy,
    parts: &Parts,
    upstream: &Upstream,
    record: &TokenRecord,
    budget: Budget,
) -> Result<OpenCall, Problem> {
    let currency = budget.limit.currency();
    if proxy.prices.dearest(currency).is_none() {
        let detail = format!(
            "the budget of this token is in {0}, and the hub has no price in {0} by which to count: [prices.\"*\"] in its settings \
             sets one",
            currency.as_str()
        );
        return Err(Problem::new(ErrorCode::Forbidden, detail));
    }
    let ledger =
        proxy.gate.ledger().ok_or_else(|| Problem::new(ErrorCode::Internal, "nothing is counted"))?;
    let (spent, until) = match ledger.begin(record, budget) {
        Ok(open) => return Ok(open),
        Err(NotLent::Busy) => {
            return Err(Problem::busy("as many calls of this token go on as may at once"));
        }
        Err(NotLent::Spent { spent, until }) => (spent, until),
    };
    let name = upstream.name();
    let told = refusal(parts, &record.name);
    let told = told.with(format!("{} to {name}: {} of {budget} spent", parts.method, spent.cost.amount()));
    blocking(|| proxy.gate.audit(told.failed(ErrorCode::OverBudget.as_str())));
    let left_s = until.map(|until| until.saturating_sub(clock::now_ms()).div_ceil(1_000));
    let again = match left_s {
        Some(seconds) => format!("it is renewed in {seconds} s"),
        None => String::from("it is not renewed"),
    };
    let detail = format!(
        "the budget of the token {:?} is used up: {} of {budget} in {} calls; {again}. Nothing was sent to {name}",
        record.name,
        spent.cost.amount(),
        spent.calls,
    );
    Err(Problem::over_budget(detail, left_s))
}

/// Puts the vendor's key where the API at `path` wants it, and asks for an answer that is not packed: only in
/// such a one the key would be found.
fn put(headers: &mut HeaderMap, api: Api, path: &str, key: &HeaderValue) {
    for name in &KEYS {
        headers.remove(name);
    }
    // Both vendors also take calls in OpenAI's form, with the key where OpenAI has it.
    let is_as_openai = path.ends_with("/chat/completions") || path.contains("/openai/");
    let (name, value) = match api {
        Api::Anthropic if !is_as_openai => (HeaderName::from_static("x-api-key"), key.clone()),
        Api::Gemini if !is_as_openai => (HeaderName::from_static("x-goog-api-key"), key.clone()),
        Api::OpenAi | Api::Ollama | Api::Anthropic | Api::Gemini => (AUTHORIZATION, bearer(key)),
    };
    headers.insert(name, value);
    headers.insert(ACCEPT_ENCODING, HeaderValue::from_static("identity"));
}

/// `Bearer` and the key.
fn bearer(key: &HeaderValue) -> HeaderValue {
    let value = [b"Bearer ", key.as_bytes()].concat();
    // A word before a value that fits always fits.
    let mut value = HeaderValue::from_bytes(&value).unwrap_or_else(|_never| key.clone());
    value.set_sensitive(true);
    value
}

impl Lent {
    /// Why the caller must not get an answer: the mask would not find the key in one that is packed, and to where
    /// one leads elsewhere many clients would send the token. `None` for all others.
    pub(super) fn withheld<B>(answer: &Response<B>) -> Option<&'static str> {
        let mut packed = answer.headers().get_all(CONTENT_ENCODING).iter();
        if packed.any(|value| !value.as_bytes().eq_ignore_ascii_case(b"identity")) {
            return Some("it packed the answer, in which the hub's key could not be found");
        }
        let leads = answer.status().is_redirection() && answer.headers().contains_key(LOCATION);
        leads.then_some("it leads elsewhere, to where a token of the hub must not be sent")
    }

    /// What measures the call, if it is charged to a budget.
    pub(super) fn meter(&mut self, proxy: &Arc<Proxy>) -> Option<Meter> {
        self.open.take().map(|open| Meter::new(proxy, open))
    }
}

/// Takes the key out of the headers of an answer.
pub(super) fn mask_headers(headers: &mut HeaderMap, key: &HeaderValue) {
    let has_key = |value: &HeaderValue| {
        value.as_bytes().windows(key.len().max(1)).any(|window| window == key.as_bytes())
    };
    headers.values_mut().filter(|value| has_key(value)).for_each(|value| {
        *value = HeaderValue::from_static("[key]");
    });
}

#[cfg(test)]
mod tests;
