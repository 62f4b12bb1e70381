//! `GET /v1/search` and `GET /v1/tools`: what the log can be asked across all conversations. Both may take long, so few of them
//! go on at a time, each for a bounded time, and one whose client has left is ended.

use std::sync::Arc;
use std::time::Duration;

use access::Right;
use axum::Json;
use axum::extract::State;
use event_log::{DocumentKind, EventLog, Finds, Hit, LogError, SearchQuery, Stop, StopOnDrop, ToolFigures};
use model::code::ErrorCode;
use model::limits::{HITS_MAX, SEARCH_MS, SEARCH_QUERY_BYTES_MAX};
use model::mask::Hideable;
use model::{ConversationId, Mask};
use serde::{Deserialize, Serialize};

use super::access::Caller;
use super::params::Query;
use super::problem::Problem;
use super::spool::place;
use crate::state::Shared;
use crate::work::{Guest, Task};

/// Hits in one answer, unless the request says less.
const HITS: usize = 50;

/// How long one search may take, and how long another one waits for it.
const TIME: Duration = Duration::from_millis(SEARCH_MS);

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
    /// The time was up before everything was searched: `next` goes on from there. Absent otherwise.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    partial: bool,
}

impl Found {
    /// The first `limit` of what was found; one more than that says that there are more.
    fn of(found: Finds, limit: usize) -> Self {
        let Finds { mut hits, stopped_at } = found;
        let more = hits.len() > limit;
        hits.truncate(limit);
        let next = if more { hits.last().map(|hit| hit.id) } else { stopped_at };
        Self { partial: !more && stopped_at.is_some(), hits, next }
    }
}

/// `GET /v1/search?q&conversation&kind&before&limit`.
pub(crate) async fn search(
    State(shared): State<Arc<Shared>>,
    caller: Caller,
    Query(params): Query<Params>,
) -> Result<Json<Found>, Problem> {
    if let Some(named) = &params.conversation {
        caller.may(Right::View, named)?;
    }
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
    let log = Arc::clone(&shared);
    let found = asked(&shared, move |stop| seen(log.hub.log(), &query, &caller, stop)).await?;
    Ok(Json(Found::of(found, limit)))
}

/// What the query finds where the caller may see it. Goes on where too much of what was found is kept back, until the time is up.
fn seen(log: &dyn EventLog, query: &SearchQuery, caller: &Caller, stop: &Stop) -> Result<Finds, LogError> {
    if caller.0.may_everywhere(Right::View) && caller.mask().is_none() {
        return log.search(query, stop);
    }
    let mut query = query.clone();
    let mut hits = Vec::new();
    loop {
        let found = log.search(&query, stop)?;
        let (count, last) = (found.hits.len(), found.hits.last().map(|hit| hit.id));
        let is_seen = |hit: &Hit| {
            caller.0.may(Right::View, hit.conversation.as_str())
                && caller.mask().is_none_or(|mask| shows(mask, hit))
        };
        hits.extend(found.hits.into_iter().filter(is_seen));
        let is_over = count < query.limit || found.stopped_at.is_some() || last.is_none();
        if is_over || hits.len() >= query.limit {
            hits.truncate(query.limit);
            return Ok(Finds { hits, stopped_at: found.stopped_at });
        }
        query.before = last;
    }
}

/// Whether `mask` leaves what was found.
fn shows(mask: &Mask, hit: &Hit) -> bool {
    match hit.kind {
        DocumentKind::Text => true,
        DocumentKind::Thinking => !mask.hides(Hideable::Thinking),
        DocumentKind::Arguments => !mask.hides_arguments_of(&hit.name),
        DocumentKind::Result => !mask.hides_results_of(&hit.name),
        DocumentKind::Message => !mask.hides_message_of(&hit.name),
    }
}

/// What `ask` finds, in its turn. It is stopped when its time is up, and when this is dropped: the client has left then.
async fn asked<T: Send + 'static>(
    shared: &Shared,
    ask: impl FnOnce(&Stop) -> Result<T, LogError> + Send + 'static,
) -> Result<T, Problem> {
    let _open = place(shared, Guest::Request)?;
    let Some(turn) = shared.work.turn_within(Task::Search, TIME).await else {
        let detail = format!("other searches took more than {SEARCH_MS} ms; try again in a moment");
        return Err(Problem::busy(detail));
    };
    let stop = StopOnDrop(Arc::default());
    let asked = Arc::clone(&stop.0);
    // A thread of its own: a task that is blocked does not see that its client has left. The turn ends with the search.
    let asking = shared.work.run(move || {
        let found = ask(&asked);
        drop(turn);
        found
    });
    let mut asking = std::pin::pin!(asking);
    let found = if let Ok(found) = tokio::time::timeout(TIME, asking.as_mut()).await {
        found
    } else {
        stop.0.now();
        asking.await
    };
    Ok(found.map_err(|error| Problem::new(ErrorCode::Internal, error.to_string()))??)
}

/// The tools that were called, by name.
#[derive(Debug, Serialize)]
pub(crate) struct Tools {
    tools: Vec<ToolFigures>,
}

/// `GET /v1/tools`: how often each tool was called, how often it failed, how long it took. Of tools that a role hides
/// it is not told.
pub(crate) async fn tools(State(shared): State<Arc<Shared>>, caller: Caller) -> Result<Json<Tools>, Problem> {
    let log = Arc::clone(&shared);
    // Bounded by the number of tools that have figures of their own.
    let mut tools = asked(&shared, move |_stop| log.hub.log().tools()).await?;
    if let Some(mask) = caller.mask() {
        tools.retain(|tool| !mask.hides_tool(&tool.name));
    }
    Ok(Json(Tools { tools }))
}
