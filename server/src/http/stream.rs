//! `GET /v1/conversations/{c}/stream/{dialect}`: a conversation in the stream format of another client, live. Whoever
//! joins is told what there is so far, in short, and then follows.
//!
//! `POST` does the same for clients that can only post, at the same path or whatever such a client puts behind it: what
//! they ask is not read, they are told the newest run and then the end.

use std::convert::Infallible;
use std::sync::Arc;

use axum::body::Body;
use axum::extract::State;
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE, HeaderName, HeaderValue};
use axum::response::{IntoResponse as _, Response};
use futures_util::stream;
use serde::Deserialize;
use shared::code::ErrorCode;
use shared::encode::{Caller, EncodeOptions, Encoding, encoding, names};
use shared::{ConversationId, RunId};

use super::conversations::Seat;
use super::params::{self, Path, Query};
use super::problem::Problem;
use crate::state::Shared;

pub(super) mod reader;

use reader::{Reader, Wanted};

#[derive(Debug, Deserialize)]
pub(crate) struct StreamQuery {
    run: Option<String>,
    until: Option<String>,
}

/// What stands in the path. A client of the dialect may put words of its own behind it.
#[derive(Debug, Deserialize)]
pub(crate) struct Place {
    conversation: String,
    dialect: String,
}

/// `GET`: all runs, without an end, unless the request says less.
pub(crate) async fn get(
    State(shared): State<Arc<Shared>>,
    Path(place): Path<Place>,
    Query(query): Query<StreamQuery>,
) -> Result<Response, Problem> {
    let wanted = wanted(query.run.as_deref().unwrap_or("all"));
    answer(shared, &place, wanted, until(query.until.as_deref())?, None)
}

/// `POST`: the newest run to its end, unless the request says otherwise.
pub(crate) async fn post(
    State(shared): State<Arc<Shared>>,
    Path(place): Path<Place>,
    Query(query): Query<StreamQuery>,
) -> Result<Response, Problem> {
    let wanted = wanted(query.run.as_deref().unwrap_or("latest"));
    answer(shared, &place, wanted, until(query.until.as_deref().or(Some("run.end")))?, None)
}

fn wanted(run: &str) -> Wanted {
    match run {
        "all" => Wanted::All,
        "latest" => Wanted::Latest,
        "next" => Wanted::Next,
        id => Wanted::Run(RunId::new(id)),
    }
}

fn until(what: Option<&str>) -> Result<bool, Problem> {
    match what {
        None => Ok(false),
        Some("run.end") => Ok(true),
        Some(_) => Err(Problem::bad_request("until: a stream can end at run.end only")),
    }
}

fn answer(
    shared: Arc<Shared>,
    place: &Place,
    wanted: Wanted,
    ends_with_run: bool,
    caller: Option<Caller>,
) -> Result<Response, Problem> {
    let encoding = encoding(&place.dialect).ok_or_else(|| {
        let detail = format!("no dialect {:?} can be written; there are {}", place.dialect, names());
        Problem::new(ErrorCode::UnknownDialect, detail)
    })?;
    if shared.is_draining() {
        return Err(Problem::shutting_down());
    }
    let id = params::conversation(&place.conversation)?;
    let conversation = shared.hub.enter(&id)?;
    let encoder = encoding.encoder(&EncodeOptions { conversation: id.as_str().into(), caller });
    let seat = Seat { shared, conversation };
    let reader = Reader::new(seat, encoder, encoding, wanted, ends_with_run);
    let pieces = stream::unfold(reader, |mut reader| async move {
        let piece = reader.piece().await?;
        Some((Ok::<_, Infallible>(piece), reader))
    });
    Ok(with_headers(encoding, Body::from_stream(pieces).into_response()))
}

/// One run of `id` in `dialect`, from its beginning to its end, for whoever had asked for it and comes back.
pub(super) fn run(
    shared: Arc<Shared>,
    id: &ConversationId,
    dialect: &str,
    run: RunId,
) -> Result<Response, Problem> {
    let place = Place { conversation: id.as_str().to_owned(), dialect: dialect.to_owned() };
    answer(shared, &place, Wanted::Run(run), true, Some(Caller::default()))
}

/// `response` with all that an answer in this encoding says of itself.
pub(super) fn with_headers(encoding: &Encoding, mut response: Response) -> Response {
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(encoding.content_type));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    // nginx would collect events until a buffer is full.
    headers.insert("x-accel-buffering", HeaderValue::from_static("no"));
    for (name, value) in encoding.headers {
        headers.insert(HeaderName::from_static(name), HeaderValue::from_static(value));
    }
    response
}
