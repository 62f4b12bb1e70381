//! `GET /v1/search` and `GET /v1/tools`: what the log can be asked across all conversations.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use serde::{Deserialize, Serialize};
use shared::ConversationId;
use shared::limits::{HITS_MAX, SEARCH_QUERY_BYTES_MAX};

use super::params::Query;
use super::problem::Problem;
use crate::log::{DocumentKind, Hit, SearchQuery, ToolFigures, blocking};
use crate::state::Shared;

/// Hits in one answer, unless the request says less.
const HITS: usize = 50;

#[derive(Debug, Deserialize)]
pub(crate) struct Params {
    q: String,
    conversation: Option<String>,
    kind: Option<DocumentKind>,
    before: Option<u64>,
    limit: Option<usize>,
}

/// What was found, the newest first.
#[derive(Debug, Serialize)]
pub(crate) struct Found {
    hits: Vec<Hit>,
    /// What to give as `before` for older ones; absent where there are none.
    #[serde(skip_serializing_if = "Option::is_none")]
    next: Option<u64>,
}

/// `GET /v1/search?q&conversation&kind&before&limit`.
pub(crate) async fn search(
    State(shared): State<Arc<Shared>>,
    Query(params): Query<Params>,
) -> Result<Json<Found>, Problem> {
    if params.q.len() > SEARCH_QUERY_BYTES_MAX {
        return Err(Problem::bad_request(format!("q: more than {SEARCH_QUERY_BYTES_MAX} bytes")));
    }
    let limit = params.limit.unwrap_or(HITS).clamp(1, HITS_MAX);
    let query = SearchQuery {
        text: params.q,
        conversation: params.conversation.as_deref().map(ConversationId::parse).transpose()?,
        kind: params.kind,
        before: params.before,
        limit: limit + 1,
    };
    let mut hits = blocking(|| shared.hub.log().search(&query))?;
    let more = hits.len() > limit;
    hits.truncate(limit);
    let next = hits.last().filter(|_| more).map(|hit| hit.id);
    Ok(Json(Found { hits, next }))
}

/// The tools that were called, by name.
#[derive(Debug, Serialize)]
pub(crate) struct Tools {
    tools: Vec<ToolFigures>,
}

/// `GET /v1/tools`: how often each tool was called, how often it failed, how long it took.
pub(crate) async fn tools(State(shared): State<Arc<Shared>>) -> Result<Json<Tools>, Problem> {
    let tools = blocking(|| shared.hub.log().tools())?;
    Ok(Json(Tools { tools }))
}
