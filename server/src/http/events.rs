//! `GET /v1/conversations/{c}/events`: live as server-sent events, or a page as NDJSON, by `Accept`.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderMap, header};
use axum::response::{IntoResponse as _, Response};
use serde::Deserialize;
use shared::Position;
use shared::code::ErrorCode;

use super::conversations::{Seat, find};
use super::params::{self, Path, Query};
use super::problem::Problem;
use super::sse;
use crate::state::Shared;

/// Events in one page, unless the request says less.
const PAGE_MAX: usize = 10_000;

#[derive(Debug, Deserialize)]
pub(crate) struct EventsQuery {
    after: Option<String>,
    limit: Option<usize>,
}

/// See the module.
pub(crate) async fn events(
    State(shared): State<Arc<Shared>>,
    Path(name): Path<String>,
    Query(query): Query<EventsQuery>,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let resumed = params::text(&headers, "last-event-id")?.filter(|id| !id.is_empty());
    let after = resumed.or(query.after.as_deref()).map(position).transpose()?;
    let accepts = params::text(&headers, header::ACCEPT.as_str())?.unwrap_or_default();
    if accepts.contains("application/x-ndjson") {
        return page(&shared, &name, after, query.limit).await;
    }
    if shared.is_draining() {
        return Err(Problem::shutting_down());
    }
    let id = params::conversation(&name)?;
    let conversation = shared.hub.enter(&id)?;
    Ok(sse::stream(Seat { shared, conversation }, after))
}

fn position(text: &str) -> Result<Position, Problem> {
    text.parse().map_err(|error: shared::position::PositionError| {
        Problem::new(ErrorCode::BadPosition, error.to_string())
    })
}

/// Events, one a line; the position behind them stands in a header.
async fn page(
    shared: &Shared,
    name: &str,
    after: Option<Position>,
    limit: Option<usize>,
) -> Result<Response, Problem> {
    let conversation = find(shared, name)?;
    let after = after.unwrap_or_else(|| Position { epoch: conversation.epoch().clone(), seq: 0 });
    let limit = limit.unwrap_or(PAGE_MAX).clamp(1, PAGE_MAX);
    if after.epoch != *conversation.epoch() {
        let detail = format!("{after} is a position of another life of this conversation");
        return Err(Problem::new(ErrorCode::Gone, detail));
    }
    let page = shared.hub.read(&conversation, after.seq, limit).await?;
    let mut body = Vec::new();
    for envelope in &page.envelopes {
        serde_json::to_writer(&mut body, envelope)
            .map_err(|error| Problem::new(ErrorCode::Internal, error.to_string()))?;
        body.push(b'\n');
    }
    let seq = page.envelopes.last().map_or(after.seq, |envelope| envelope.seq);
    Ok(ndjson(body, &Position { epoch: after.epoch, seq }))
}

fn ndjson(body: Vec<u8>, position: &Position) -> Response {
    let headers = [
        (header::CONTENT_TYPE.as_str(), "application/x-ndjson".to_owned()),
        (header::CACHE_CONTROL.as_str(), "no-store".to_owned()),
        ("fanlight-position", position.to_string()),
    ];
    (headers, Body::from(body)).into_response()
}
