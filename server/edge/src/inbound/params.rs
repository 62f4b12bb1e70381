//! What requests contain besides their bodies: parameters in the path and the query, and headers of the hub.

use axum::extract::{FromRequestParts, OptionalFromRequestParts};
use axum::http::HeaderMap;
use axum::http::header::CONTENT_ENCODING;
use axum::http::request::Parts;
use model::ConversationId;
use model::code::ErrorCode;
use model::frame::{Durability, are_numbered};
use serde::de::DeserializeOwned;

use super::problem::Problem;
use hub::{FrameNumbering, Numbers};

/// The header that names the durability for which the answer waits: `memory`, `stored` or `synced`.
pub(crate) const DURABILITY: &str = "fanlight-durability";
/// The header that names the run that a body continues.
pub(crate) const RUN: &str = "fanlight-run";
/// The header with publisher, epoch and numbers, for exactly-once (I10).
pub(crate) const PUBLISHER: &str = "fanlight-publisher";

/// The parameters in the path. Stands for axum's extractor, whose refusals are plain text: this one answers
/// 400 `bad_request` and says what is wrong.
pub(crate) struct Path<T>(pub(crate) T);

impl<S: Send + Sync, T: DeserializeOwned + Send> FromRequestParts<S> for Path<T> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        type Theirs<T> = axum::extract::Path<T>;
        let found = <Theirs<T> as FromRequestParts<S>>::from_request_parts(parts, state).await;
        found.map(|path| Self(path.0)).map_err(|error| Problem::bad_request(error.body_text()))
    }
}

/// `None` if the route has no parameter.
impl<S: Send + Sync, T: DeserializeOwned + Send + 'static> OptionalFromRequestParts<S> for Path<T> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Option<Self>, Problem> {
        type Theirs<T> = axum::extract::Path<T>;
        let found = <Theirs<T> as OptionalFromRequestParts<S>>::from_request_parts(parts, state).await;
        found
            .map(|path| path.map(|path| Self(path.0)))
            .map_err(|error| Problem::bad_request(error.body_text()))
    }
}

/// The parameters in the query. Stands for axum's extractor in the same way.
pub(crate) struct Query<T>(pub(crate) T);

impl<S: Send + Sync, T: DeserializeOwned> FromRequestParts<S> for Query<T> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        let found = axum::extract::Query::from_request_parts(parts, state).await;
        found.map(|query| Self(query.0)).map_err(|error| Problem::bad_request(error.body_text()))
    }
}

/// Parses the name of a conversation. Fails with `bad_conversation`.
pub(crate) fn conversation(name: &str) -> Result<ConversationId, Problem> {
    Ok(ConversationId::parse(name)?)
}

/// A header as text, the first of several; `None` if absent. Fails with `bad_request` if it is not ASCII.
pub(crate) fn text<'a>(headers: &'a HeaderMap, name: &str) -> Result<Option<&'a str>, Problem> {
    let Some(value) = headers.get(name) else { return Ok(None) };
    let text =
        value.to_str().map_err(|_binary| Problem::bad_request(format!("the header {name} is not text")))?;
    Ok(Some(text))
}

/// The durability that the request asks for; without the header `stored`, or less if the log offers less.
/// Fails with `durability_unavailable` if the log does not offer it, with `bad_request` for an unknown word.
pub(crate) fn durability(headers: &HeaderMap, offered: Durability) -> Result<Durability, Problem> {
    let asked = match text(headers, DURABILITY)? {
        // Waiting for a sync of the disk is for those who ask for it.
        None => return Ok(offered.min(Durability::Stored)),
        Some("memory") => Durability::Memory,
        Some("stored") => Durability::Stored,
        Some("synced") => Durability::Synced,
        Some("replicated") => Durability::Replicated,
        Some(other) => {
            let detail = format!("{DURABILITY}: {other:?} is not one of memory, stored, synced, replicated");
            return Err(Problem::bad_request(detail));
        }
    };
    if asked > offered {
        let (asked, offered) = (asked.as_str(), offered.as_str());
        let detail = format!("{asked} was asked for, and the log of this hub offers {offered} at most");
        return Err(Problem::new(ErrorCode::DurabilityUnavailable, detail));
    }
    Ok(asked)
}

/// Fails with `unsupported_encoding` if the body is compressed, because compressed bodies are not decoded.
pub(crate) fn plain(headers: &HeaderMap) -> Result<(), Problem> {
    let encoding = text(headers, CONTENT_ENCODING.as_str())?.unwrap_or_default();
    if matches!(encoding, "" | "identity") {
        return Ok(());
    }
    let detail = format!("the body is compressed with {encoding:?}; send it as it is");
    Err(Problem::new(ErrorCode::UnsupportedEncoding, detail))
}

/// Parses the publisher's numbering: `id/epoch/seq`, or `id/epoch/first-last` if its events are numbered one by
/// one. The id may contain slashes. `None` without the header. Fails with `bad_request`.
pub(crate) fn numbering(headers: &HeaderMap) -> Result<Option<FrameNumbering>, Problem> {
    let Some(value) = text(headers, PUBLISHER)? else { return Ok(None) };
    let parsed = || {
        let (rest, numbers) = value.rsplit_once('/')?;
        let (id, epoch) = rest.rsplit_once('/')?;
        let numbers = match numbers.split_once('-') {
            None => Numbers::of(0, numbers.parse().ok()?),
            Some((first, last)) => Numbers::Events { first: first.parse().ok()?, last: last.parse().ok()? },
        };
        let named = !id.is_empty();
        named.then_some(FrameNumbering { publisher: id.into(), epoch: epoch.parse().ok()?, numbers })
    };
    let numbering = parsed();
    numbering.map(Some).ok_or_else(|| {
        Problem::bad_request(format!(
            "{PUBLISHER}: {value:?} is neither id/epoch/seq nor id/epoch/first-last"
        ))
    })
}

/// Fails with `bad_request` if events are numbered one by one, but not exactly `count` of them.
pub(crate) fn numbered(numbering: Option<&FrameNumbering>, count: usize) -> Result<(), Problem> {
    match numbering.map(|numbering| numbering.numbers) {
        Some(Numbers::Events { first, last }) if !are_numbered(first, last, count) => {
            let detail = format!("{PUBLISHER}: {count} events cannot be numbered from {first} to {last}");
            Err(Problem::bad_request(detail))
        }
        _ => Ok(()),
    }
}
