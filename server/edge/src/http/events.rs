//! `GET /v1/conversations/{c}/events`: the events of a conversation, live as server-sent events or as a page
//! of NDJSON, as `Accept` says. `GET /v1/events`: several conversations, live.
//!
//! ```text
//! id: 3k9f…:42
//! event: batch
//! data: {"t":"batch","sub":0,"from":40,"to":42,"ev":[…]}
//! ```
//!
//! A client that was cut off sends the last id in `Last-Event-ID` (or `?after=`) and gets what follows, or a
//! snapshot (I2). Of several conversations the id has a position for each, between commas, `-` where none is
//! known.

use std::io::Write as _;
use std::sync::Arc;

use access::Right;
use access::audit::{Audited, AuditedAction};
use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderMap, header};
use axum::response::{IntoResponse as _, Response};
use event_log::blocking;
use model::Position;
use model::code::ErrorCode;
use model::limits::SUBSCRIPTIONS_PER_SOCKET_MAX;
use serde::Deserialize;

use super::conversations::{HttpViewer, find};
use super::selection::LensQuery;
use super::spool::{Spool, place, turn};
use super::sse;
use crate::http::Reading;
use crate::inbound::caller::Caller;
use crate::inbound::params::{self, Path, Query};
use crate::inbound::problem::Problem;
use crate::peers;
use crate::peers::Ownership;
use crate::work::{OpenKind, Task};

/// Most events in one page, and how many there are if the request does not say.
const PAGE_MAX: usize = 10_000;

/// The query parameters of both.
#[derive(Debug, Deserialize)]
pub(crate) struct EventsQuery {
    /// The position after which events are wanted, `EPOCH:SEQ`; `Last-Event-ID` comes before it.
    after: Option<String>,
    /// How many events a page has, at most [`PAGE_MAX`]. Live streams ignore it.
    limit: Option<usize>,
}

/// `GET /v1/conversations/{c}/events`: answers with a page of events as NDJSON if `Accept` names that,
/// otherwise with a live stream through the lens of the query. The conversation need not exist for a live
/// stream. 400 `bad_position` or `bad_request` for a position or a lens that is none, 410 for a page of a
/// life that is over, 429 without a place among the open streams, 503 while the hub drains.
pub(crate) async fn events(
    State(reading): State<Reading>,
    caller: Caller,
    Path(name): Path<String>,
    Query(query): Query<EventsQuery>,
    Query(looks): Query<LensQuery>,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let resumed = params::text(&headers, "last-event-id")?.filter(|id| !id.is_empty());
    let after = resumed.or(query.after.as_deref()).filter(|text| *text != "-").map(position).transpose()?;
    let accepts = params::text(&headers, header::ACCEPT.as_str())?.unwrap_or_default();
    if accepts.contains("application/x-ndjson") {
        return page(&reading, &caller, &name, (after, query.limit)).await;
    }
    let lens = looks.lens()?;
    let open = place(&reading.work, OpenKind::Stream)?;
    let viewers = viewers(&reading, &caller, [name.as_str()].into_iter())?;
    Ok(sse::stream(reading, (open, viewers), (&lens, caller.mask()), vec![after]))
}

/// `GET /v1/events?conversation=A&conversation=B`: their events in one stream. `sub` is the index of the
/// conversation in the query, from 0. 403 if the caller may not view one of them, 429 for more than
/// `SUBSCRIPTIONS_PER_SOCKET_MAX`, 400 if there are positions for some of them only.
pub(crate) async fn several(
    State(reading): State<Reading>,
    State(ownership): State<Arc<Ownership>>,
    caller: Caller,
    Query(words): Query<Vec<(String, String)>>,
    Query(looks): Query<LensQuery>,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let all =
        |name: &'static str| words.iter().filter(move |(of, _)| of == name).map(|(_, word)| word.as_str());
    let count = all("conversation").count();
    if count == 0 {
        return Err(Problem::bad_request("conversation: name one or more"));
    }
    if count > SUBSCRIPTIONS_PER_SOCKET_MAX {
        let detail = format!("a stream has at most {SUBSCRIPTIONS_PER_SOCKET_MAX} conversations");
        return Err(Problem::new(ErrorCode::TooMany, detail));
    }
    all("conversation").try_for_each(|name| caller.may(Right::View, name))?;
    let resumed = params::text(&headers, "last-event-id")?.filter(|id| !id.is_empty());
    let after =
        resumed.or(all("after").next()).unwrap_or_default().split(',').filter(|word| !word.is_empty());
    let after = after.map(|word| if word == "-" { Ok(None) } else { position(word).map(Some) });
    let after = after.collect::<Result<Vec<_>, _>>()?;
    if !after.is_empty() && after.len() != count {
        let detail = format!("{} positions for {count} conversations", after.len());
        return Err(Problem::new(ErrorCode::BadPosition, detail));
    }
    let lens = looks.lens()?;
    let open = place(&reading.work, OpenKind::Stream)?;
    let positions = after.iter().map(Option::as_ref).chain(std::iter::repeat(None));
    for (name, have) in all("conversation").zip(positions) {
        // One that another hub has is followed.
        let followed = peers::prepare(&ownership, &params::conversation(name)?, have).await;
        followed.map_err(|why| Problem::new(ErrorCode::Elsewhere, why))?;
    }
    let viewers = viewers(&reading, &caller, all("conversation"))?;
    if reading.gate.notes_views() {
        let viewed =
            |name| Audited::new(AuditedAction::View, caller.0.name()).about(name).with("GET /v1/events");
        blocking(|| all("conversation").for_each(|name| reading.gate.audit(viewed(name))));
    }
    Ok(sse::stream(reading, (open, viewers), (&lens, caller.mask()), after))
}

/// Enters each of the conversations as a viewer.
fn viewers<'a>(
    reading: &Reading,
    caller: &Caller,
    names: impl Iterator<Item = &'a str>,
) -> Result<Vec<HttpViewer>, Problem> {
    if reading.drain.is_cancelled() {
        return Err(Problem::shutting_down());
    }
    let viewers = names.map(|name| HttpViewer::enter(reading, &params::conversation(name)?, caller));
    viewers.collect()
}

/// Parses a position of the form `EPOCH:SEQ`.
fn position(text: &str) -> Result<Position, Problem> {
    text.parse().map_err(|error: model::position::PositionError| {
        Problem::new(ErrorCode::BadPosition, error.to_string())
    })
}

/// A page of events, one per line, and the position after them in the header `Fanlight-Position`, whether or
/// not all of them are shown. Without `after` it begins with the first event. An empty page is at the head.
/// Fails with `gone` for a position of a life that is over, or if the log no longer has the events after it.
async fn page(
    reading: &Reading,
    caller: &Caller,
    name: &str,
    (after, limit): (Option<Position>, Option<usize>),
) -> Result<Response, Problem> {
    let conversation = find(&reading.hub, &reading.work, name).await?;
    let after = after.unwrap_or_else(|| Position { epoch: conversation.epoch().clone(), seq: 0 });
    let limit = limit.unwrap_or(PAGE_MAX).clamp(1, PAGE_MAX);
    if after.epoch != *conversation.epoch() {
        let detail = format!("{after} is a position of another life of this conversation");
        return Err(Problem::new(ErrorCode::Gone, detail));
    }
    let turn = turn(&reading.work, Task::Small).await?;
    let page = reading.hub.read(&conversation, after.seq, limit).await?;
    let seq = page.envelopes.last().map_or(after.seq, |envelope| envelope.seq);
    let envelopes = match caller.mask() {
        None => page.envelopes,
        Some(mask) => conversation.read_view(|view| mask.read(&page.envelopes, view)),
    };
    let make = move |spool: &mut Spool| {
        for envelope in &envelopes {
            serde_json::to_writer(&mut *spool, envelope).map_err(std::io::Error::from)?;
            spool.write_all(b"\n")?;
        }
        Ok(())
    };
    let ((), body) = turn.spooled(make).await?;
    Ok(ndjson(body, &Position { epoch: after.epoch, seq }))
}

/// An answer of NDJSON at a position.
fn ndjson(body: Body, position: &Position) -> Response {
    let headers = [
        (header::CONTENT_TYPE.as_str(), "application/x-ndjson".to_owned()),
        (header::CACHE_CONTROL.as_str(), "no-store".to_owned()),
        ("fanlight-position", position.to_string()),
    ];
    (headers, body).into_response()
}
