//! `GET /v1/search` and `GET /v1/tools`: questions to the log across all conversations. Both may take long,
//! so only a few run at a time, each for a bounded time, and a question whose client has left is cancelled.
//! The figures and the metrics ask the log in the same way, through [`asked`].

use std::sync::Arc;
use std::time::Duration;

use access::Right;
use axum::Json;
use axum::extract::State;
use compact_str::CompactString;
use event_log::{
    CancelOnDrop, EventLog, LogError, QueryCancel, SearchDocumentKind, SearchHit, SearchQuery, SearchResults,
    ToolFigures,
};
use hub::shows_document;
use model::ConversationId;
use model::code::ErrorCode;
use model::event::RunStatus;
use model::limits::{HITS_MAX, NAME_BYTES_MAX, SEARCH_MS, SEARCH_QUERY_BYTES_MAX};
use serde::{Deserialize, Serialize};

use super::conversations::ArchivedRows;
use super::spool::place;
use crate::inbound::caller::Caller;
use crate::inbound::params::Query;
use crate::inbound::problem::Problem;
use crate::work::Work;
use crate::work::{OpenKind, Task};
use hub::Hub;

/// How many hits an answer has if the request does not say.
const HITS: usize = 50;

/// How long one search may take, and how long it may wait for its turn.
const TIME: Duration = Duration::from_millis(SEARCH_MS);

/// The query parameters of a search. One that is none of these is refused, since a search without it would find more than was asked for.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Params {
    /// The words that must occur, at most `SEARCH_QUERY_BYTES_MAX` bytes.
    q: String,
    /// Only hits in this conversation.
    conversation: Option<String>,
    /// Only hits in texts of this kind.
    kind: Option<SearchDocumentKind>,
    /// Only hits in texts that the hub took at this time or later, in milliseconds since 1970.
    since: Option<u64>,
    /// Only hits in texts that it took before this time, which is after `since`.
    until: Option<u64>,
    /// Only hits in arguments and results of tools whose name contains it, 1 to `NAME_BYTES_MAX` bytes.
    tool: Option<CompactString>,
    /// Only hits in conversations whose newest run's main agent has a name that contains it, likewise.
    agent: Option<CompactString>,
    /// Only hits in conversations whose newest run has this status.
    state: Option<RunStatus>,
    /// Whether archived conversations are in it; without it they are, unlike in the list.
    archived: Option<ArchivedRows>,
    /// Only hits in conversations with this tag, likewise.
    tag: Option<CompactString>,
    /// Only hits older than this one: the `next` of the page before.
    before: Option<u64>,
    /// How many hits, [`HITS`] unless said, at most `HITS_MAX`.
    limit: Option<usize>,
}

impl Params {
    /// What the log is asked for; one hit more than the page has tells whether there are more. Fails with `bad_request` for a value out
    /// of its bounds, and for values that exclude one another.
    fn query(self, limit: usize) -> Result<SearchQuery, Problem> {
        if self.q.len() > SEARCH_QUERY_BYTES_MAX {
            return Err(Problem::bad_request(format!("q: more than {SEARCH_QUERY_BYTES_MAX} bytes")));
        }
        for (name, value) in [("tool", &self.tool), ("agent", &self.agent), ("tag", &self.tag)] {
            if value.as_ref().is_some_and(|value| value.is_empty() || value.len() > NAME_BYTES_MAX) {
                return Err(Problem::bad_request(format!(
                    "{name}: say 1 to {NAME_BYTES_MAX} bytes, or leave it out"
                )));
            }
        }
        if let (Some(since), Some(until)) = (self.since, self.until)
            && since >= until
        {
            return Err(Problem::bad_request(format!("until: {until} is not after since, {since}")));
        }
        let is_of_calls =
            matches!(self.kind, None | Some(SearchDocumentKind::Arguments | SearchDocumentKind::Result));
        if self.tool.is_some() && !is_of_calls {
            let detail =
                "tool: only arguments and results are of a tool; leave kind out, or name one of these";
            return Err(Problem::bad_request(detail));
        }
        Ok(SearchQuery {
            text: self.q,
            conversation: self.conversation.as_deref().map(ConversationId::parse).transpose()?,
            kind: self.kind,
            since: self.since,
            until: self.until,
            tool: self.tool,
            agent: self.agent,
            state: self.state,
            archived: self.archived.and_then(ArchivedRows::wanted),
            tag: self.tag,
            before: self.before,
            limit: limit + 1,
        })
    }
}

/// What a search found, newest first.
#[derive(Debug, Serialize)]
pub(crate) struct Found {
    /// The hits, each with a snippet and the bytes of the words in it.
    hits: Vec<SearchHit>,
    /// The value of `before` for older hits; absent if there are none.
    #[serde(skip_serializing_if = "Option::is_none")]
    next: Option<u64>,
    /// Whether the time was up before everything was searched: `next` continues then, if it is there; otherwise the newest
    /// texts are missing. Absent if not.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    partial: bool,
}

impl Found {
    /// Takes the first `limit` hits; one more than that means that there are more.
    fn of(found: SearchResults, limit: usize) -> Self {
        let SearchResults { mut hits, stopped_at, lacks_newest } = found;
        let more = hits.len() > limit;
        hits.truncate(limit);
        let next = if more { hits.last().map(|hit| hit.id) } else { stopped_at };
        Self { partial: lacks_newest || (!more && stopped_at.is_some()), hits, next }
    }
}

/// `GET /v1/search?q&conversation&kind&since&until&tool&agent&state&archived&tag&before&limit`: hits that the caller may see. 400 for a
/// query that is too long, an unknown parameter and a value that is none, 403 for a conversation that the caller may not view, 429 if other searches leave no turn. A
/// search that runs out of time is an answer with `partial`.
pub(crate) async fn search(
    State(hub): State<Arc<Hub>>,
    State(work): State<Arc<Work>>,
    caller: Caller,
    Query(params): Query<Params>,
) -> Result<Json<Found>, Problem> {
    if let Some(named) = &params.conversation {
        caller.may(Right::View, named)?;
    }
    let limit = params.limit.unwrap_or(HITS).clamp(1, HITS_MAX);
    let query = params.query(limit)?;
    let found = asked(&work, move |stop| seen(hub.log(), &query, &caller, stop)).await?;
    Ok(Json(Found::of(found, limit)))
}

/// Searches, and keeps the hits that the caller may see. Goes on while too many are hidden, until `stop` is
/// called, so that what is hidden neither shows nor shortens a page. Blocks.
fn seen(
    log: &dyn EventLog,
    query: &SearchQuery,
    caller: &Caller,
    stop: &QueryCancel,
) -> Result<SearchResults, LogError> {
    if caller.0.may_everywhere(Right::View) && caller.mask().is_none() {
        return log.search(query, stop);
    }
    let mut query = query.clone();
    let mut hits = Vec::new();
    let mut lacks_newest = false;
    loop {
        let found = log.search(&query, stop)?;
        lacks_newest |= found.lacks_newest;
        let (count, last) = (found.hits.len(), found.hits.last().map(|hit| hit.id));
        let is_seen = |hit: &SearchHit| {
            caller.0.may(Right::View, hit.conversation.as_str())
                && caller.mask().is_none_or(|mask| shows_document(mask, hit.kind, &hit.name))
        };
        hits.extend(found.hits.into_iter().filter(is_seen));
        let is_over = count < query.limit || found.stopped_at.is_some() || last.is_none();
        if is_over || hits.len() >= query.limit {
            hits.truncate(query.limit);
            return Ok(SearchResults { hits, stopped_at: found.stopped_at, lacks_newest });
        }
        query.before = last;
    }
}

/// Runs `ask`, which may block, on a thread beside the sockets when it is its turn. It is told to hurry when
/// half of its time is over, to stop when its time is up ([`TIME`]), and when this future is dropped because the client has left. Fails with
/// `too_many` if no turn comes within that time, and with what the log says.
pub(super) async fn asked<T: Send + 'static>(
    work: &Arc<Work>,
    ask: impl FnOnce(&QueryCancel) -> Result<T, LogError> + Send + 'static,
) -> Result<T, Problem> {
    let _open = place(work, OpenKind::Request)?;
    let Some(turn) = work.turn_within(Task::Search, TIME).await else {
        let detail = format!("other searches took more than {SEARCH_MS} ms; try again in a moment");
        return Err(Problem::busy(detail));
    };
    let stop = CancelOnDrop(Arc::default());
    let asked = Arc::clone(&stop.0);
    // On a thread of its own: a blocked task would not notice that its client has left. The turn ends with
    // the search.
    let asking = work.run(move || {
        let found = ask(&asked);
        drop(turn);
        found
    });
    let mut asking = std::pin::pin!(asking);
    let mut found = tokio::time::timeout(TIME / 2, asking.as_mut()).await;
    if found.is_err() {
        stop.0.hurry();
        found = tokio::time::timeout(TIME / 2, asking.as_mut()).await;
    }
    let found = if let Ok(found) = found {
        found
    } else {
        stop.0.cancel();
        asking.await
    };
    Ok(found.map_err(|error| Problem::new(ErrorCode::Internal, error.to_string()))??)
}

/// The answer to `GET /v1/tools`: the tools that were called, by name.
#[derive(Debug, Serialize)]
pub(crate) struct Tools {
    tools: Vec<ToolFigures>,
}

/// `GET /v1/tools`: how often each tool was called, how often it failed, how long it took. Of tools that a role hides
/// it is not told.
pub(crate) async fn tools(
    State(hub): State<Arc<Hub>>,
    State(work): State<Arc<Work>>,
    caller: Caller,
) -> Result<Json<Tools>, Problem> {
    // The answer is bounded, because only a limited number of tools have figures of their own.
    let mut tools = asked(&work, move |_stop| hub.log().tools()).await?;
    if let Some(mask) = caller.mask() {
        tools.retain(|tool| !mask.hides_tool(&tool.name));
    }
    Ok(Json(Tools { tools }))
}
