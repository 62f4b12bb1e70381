//! `GET /v1/conversations`, `GET /v1/conversations/{c}` and `GET /v1/conversations/{c}/wait`: the list, the
//! state of one conversation, and the end of a run. A caller is told what its grants and its role show, and
//! no count of the rest.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::sync::Arc;
use std::time::Duration;

use access::Right;
use axum::Json;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use compact_str::CompactString;
use event_log::blocking;
use model::code::ErrorCode;
use model::event::RunStatus;
use model::frame::ConversationRow;
use model::lens::{Lens, Window, window_bytes};
use model::until::{Until, UntilWatch};
use model::{ConversationId, Mask, Position, RunId, View, summary};
use serde::{Deserialize, Serialize};

use super::access::seen_rows;
use super::spool::{Spool, place, spooled, turn};
use crate::http::Reading;
use crate::inbound::caller::Caller;
use crate::inbound::params::{self, Path, Query};
use crate::inbound::problem::Problem;
use crate::work::Work;
use crate::work::{OpenKind, Task};
use hub::Conversation;
use hub::Hub;

/// Most rows in one answer, and how many there are if the request does not say.
const ROWS_MAX: usize = 1_000;

/// The longest wait of one request. Clients that want to wait longer ask again.
const WAIT_MAX: Duration = Duration::from_mins(1);

/// The time between two looks at the view while a request waits.
const LOOK_EVERY: Duration = Duration::from_millis(10);

/// The query parameters of the list.
#[derive(Debug, Deserialize)]
pub(crate) struct ListQuery {
    /// The number of rows, at most [`ROWS_MAX`].
    limit: Option<usize>,
    /// The `next` of the page before; the first page without it.
    after: Option<String>,
    /// Only conversations whose newest run has this status.
    state: Option<RunStatus>,
    /// Only those that are pinned, or only those that are not.
    pinned: Option<bool>,
    /// Whether archived conversations are in it; without it they are not.
    archived: Option<ArchivedRows>,
    /// Only those with this tag.
    tag: Option<CompactString>,
}

/// A filter of conversations by whether they are archived.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum ArchivedRows {
    /// Only conversations that are not archived.
    No,
    /// Only conversations that are archived.
    Only,
    /// Archived and other conversations.
    All,
}

impl ArchivedRows {
    /// Whether those are wanted that are archived, or those that are not; `None` for all.
    pub(super) fn wanted(self) -> Option<bool> {
        match self {
            Self::No => Some(false),
            Self::Only => Some(true),
            Self::All => None,
        }
    }
}

/// A page of the list: pinned ones first, then the newest activity.
#[derive(Debug, Serialize)]
pub(crate) struct List {
    /// The rows, as in the frame `fleet`.
    conversations: Vec<ConversationRow>,
    /// How many conversations there are; absent for callers who may not see all of them.
    #[serde(skip_serializing_if = "Option::is_none")]
    total: Option<u64>,
    /// The value of `after` for the next page; absent on the last one.
    #[serde(skip_serializing_if = "Option::is_none")]
    next: Option<String>,
}

/// `GET /v1/conversations?limit&after&state&pinned&archived&tag`: a page of the list. 400 for an `after` that no page gave;
/// `too_many` if no turn of work is to be had.
pub(crate) async fn list(
    State(reading): State<Reading>,
    Caller(principal): Caller,
    Query(query): Query<ListQuery>,
) -> Result<Json<List>, Problem> {
    let limit = query.limit.unwrap_or(ROWS_MAX).clamp(1, ROWS_MAX);
    let after = query.after.as_deref().map(after).transpose()?;
    let archived = query.archived.unwrap_or(ArchivedRows::No).wanted();
    let is_among_others = after.as_ref().is_some_and(|after| !after.pinned);
    let pinned = query.pinned.or(is_among_others.then_some(false));
    let after = after.map(|after| after.place);
    let query = event_log::ListQuery { after, state: query.state, pinned, archived, tag: query.tag, limit };
    let _turn = turn(&reading.work, Task::Small).await?;
    let is_whole = principal.may_everywhere(Right::View);
    let seen = seen_rows(principal);
    let listed = blocking(|| reading.hub.list_pinned_first(&query, seen.as_ref()))?;
    let total = is_whole.then(|| reading.hub.total());
    let last = listed.rows.last().filter(|_| listed.more);
    let next = last.map(|row| {
        let pinned = if row.pinned { PINNED } else { "" };
        format!("{pinned}{}:{}", row.at, row.conversation)
    });
    Ok(Json(List { conversations: listed.rows, total, next }))
}

/// The beginning of a place among pinned conversations.
const PINNED: &str = "pinned:";

/// A place in the list.
struct After {
    /// Whether it is among the pinned conversations.
    pinned: bool,
    /// The time of the newest event, in milliseconds since 1970, and the name.
    place: (u64, ConversationId),
}

/// Parses a place in the list, as the previous page gave it.
fn after(text: &str) -> Result<After, Problem> {
    let place = text.strip_prefix(PINNED);
    let parsed = place.unwrap_or(text).split_once(':').and_then(|(at, id)| Some((at.parse().ok()?, id)));
    let (at, id) = parsed.ok_or_else(|| {
        Problem::bad_request(format!("after: {text:?} is not what the page before gave as `next`"))
    })?;
    Ok(After { pinned: place.is_some(), place: (at, ConversationId::parse(id)?) })
}

/// The query parameters for one conversation.
#[derive(Debug, Deserialize)]
pub(crate) struct OneQuery {
    /// Present, with any value, for the short form.
    summary: Option<String>,
    /// Of a long conversation the newest part alone, of at most so many bytes; all of it without, and for 0.
    newest: Option<u64>,
}

/// `GET /v1/conversations/{c}`: the view as JSON, with `?newest` of a long one the newest part, or with `?summary` its short form. 304 if `If-None-Match`
/// has the tag of the head, 404 if the conversation does not exist. The answer waits for its reader in a
/// file, not in memory.
pub(crate) async fn one(
    State(reading): State<Reading>,
    caller: Caller,
    Path(name): Path<String>,
    Query(query): Query<OneQuery>,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let conversation = find(&reading.hub, &reading.work, &name).await?;
    if let Some(unchanged) = unchanged(&conversation, &caller, &headers) {
        return Ok(unchanged);
    }
    let (whose, mask) = (Arc::clone(&conversation), caller.mask().cloned());
    let newest = query.newest.filter(|_| query.summary.is_none()).and_then(window_bytes);
    let window = newest.and_then(|newest| conversation.window(&Lens::default(), mask.as_ref(), newest));
    let task = if window.is_some() { Task::Small } else { conversation.read_view(Task::of) };
    let make = move |spool: &mut Spool| {
        let view = match window {
            Some(window) => windowed(&whose, mask.as_deref(), window),
            None => masked(mask.as_deref(), whose.view()),
        };
        let written = match query.summary {
            Some(_) => serde_json::to_writer(spool, &summary::summary(&view)),
            None => serde_json::to_writer(spool, &view),
        };
        // JSON can always be made of a view: only the writing can fail.
        written.map_err(|error| Problem::from(std::io::Error::from(error)))?;
        Ok(view.seq)
    };
    let (seq, body) = spooled(&reading.work, task, make).await?;
    let headers = [
        (header::CONTENT_TYPE, "application/json".to_owned()),
        (header::CACHE_CONTROL, "no-cache".to_owned()),
        (header::ETAG, tag(&conversation, &caller, seq)),
    ];
    Ok((headers, body).into_response())
}

/// Finds the conversation, which must exist. One that is not in memory is loaded when it is this request's
/// turn. Fails with `bad_conversation`, `unknown_conversation`, with `too_many` without a turn, or with what
/// the log says.
pub(crate) async fn find(hub: &Hub, work: &Arc<Work>, name: &str) -> Result<Arc<Conversation>, Problem> {
    let id = params::conversation(name)?;
    let turn = turn(work, Task::Small).await?;
    let found = hub.find(&id)?;
    drop(turn);
    found.ok_or_else(|| {
        Problem::new(ErrorCode::UnknownConversation, format!("no conversation is named {name:?}"))
    })
}

/// The answer 304, if the request names the position of the conversation's head.
pub(crate) fn unchanged(
    conversation: &Conversation,
    caller: &Caller,
    headers: &HeaderMap,
) -> Option<Response> {
    let known = headers.get(header::IF_NONE_MATCH)?.to_str().ok()?;
    let now = tag(conversation, caller, conversation.head());
    let is_known = known.split(',').any(|tag| tag.trim().trim_start_matches("W/") == now);
    is_known.then(|| (StatusCode::NOT_MODIFIED, [(header::ETAG, now)]).into_response())
}

/// The entity tag of a conversation's contents up to `seq`, as `caller` is told them: epoch, seq, and for a
/// caller with a role a hash of what is hidden, so that two roles never share an answer.
pub(crate) fn tag(conversation: &Conversation, caller: &Caller, seq: model::Seq) -> String {
    let role = caller.mask().map(|mask| {
        let mut hasher = DefaultHasher::new();
        mask.hash(&mut hasher);
        format!(":{:x}", hasher.finish())
    });
    format!("\"{}:{seq}{}\"", conversation.epoch(), role.unwrap_or_default())
}

/// `view` as it is told to those from whom `mask` hides something.
pub(crate) fn masked(mask: Option<&Mask>, view: View) -> View {
    match mask {
        None => view,
        Some(mask) => mask.view(&view),
    }
}

/// The part of a conversation that is in `window`, as it is told to those from whom `mask` hides something.
fn windowed(conversation: &Conversation, mask: Option<&Mask>, window: Arc<Window>) -> View {
    let lens = mask.map_or_else(Lens::default, |mask| mask.narrowed(&Lens::default()));
    let lens = lens.with_window(Some(window));
    let mut view = conversation.read_view(|view| lens.project(view));
    if let Some(mask) = mask {
        mask.hide_in(&mut view);
    }
    view
}

/// The query parameters of a wait.
#[derive(Debug, Deserialize)]
pub(crate) struct WaitQuery {
    /// The condition, `run.end` unless said.
    until: Option<String>,
    /// The run that is meant; the newest one without it.
    run: Option<String>,
    /// The time to wait, in milliseconds, at most [`WAIT_MAX`].
    timeout_ms: Option<u64>,
}

/// The result of a wait.
#[derive(Debug, Serialize)]
pub(crate) struct Waited {
    /// The head of the conversation when the wait ended.
    position: Position,
    /// Whether the condition was met; otherwise the time was up.
    done: bool,
    /// The status of the newest run.
    state: Option<RunStatus>,
}

/// `GET /v1/conversations/{c}/wait?until=run.end`: answers when the condition is met, in `run` or in the
/// newest run, or when the time is up. The conversation need not exist yet.
pub(crate) async fn wait(
    State(reading): State<Reading>,
    Path(name): Path<String>,
    Query(query): Query<WaitQuery>,
) -> Result<Json<Waited>, Problem> {
    let until: Until = query
        .until
        .as_deref()
        .unwrap_or("run.end")
        .parse()
        .map_err(|error| Problem::bad_request(format!("until: {error}")))?;
    let mut watch = UntilWatch::new(until, query.run.as_deref().map(RunId::new));
    let id = params::conversation(&name)?;
    let _open = place(&reading.work, OpenKind::Stream)?;
    let conversation = reading.hub.enter(&id)?;
    let viewer = HttpViewer::new(&reading, conversation);
    let time = query.timeout_ms.map_or(WAIT_MAX, Duration::from_millis).min(WAIT_MAX);
    let over = async {
        loop {
            let appended = viewer.conversation.appended();
            let mut appended = std::pin::pin!(appended);
            appended.as_mut().enable();
            if viewer.conversation.read_view(|view| watch.is_met(view)) {
                return;
            }
            appended.await;
            // Looking holds up those who append, so a burst of appends is looked at once.
            tokio::time::sleep(LOOK_EVERY).await;
        }
    };
    let done = tokio::select! {
        () = over => true,
        () = tokio::time::sleep(time) => false,
        () = reading.drain.cancelled() => return Err(Problem::shutting_down()),
    };
    let (state, seq) = viewer.conversation.read_view(|view| (state(view), view.seq));
    let position = Position { epoch: viewer.conversation.epoch().clone(), seq };
    Ok(Json(Waited { position, done, state }))
}

/// The status of the newest run.
fn state(view: &View) -> Option<RunStatus> {
    view.runs.last().map(|(_, run)| run.status)
}

/// A viewer without a socket: it has entered its conversation and so keeps it in memory, but has no cursor at
/// the pumps. Owned by whatever reads for one request. Dropping it leaves the conversation.
#[derive(Debug)]
pub(crate) struct HttpViewer {
    /// The hub that has the conversation.
    pub(crate) reading: Reading,
    /// The conversation that is viewed.
    pub(crate) conversation: Arc<Conversation>,
    /// The name by which the other viewers know this one, if there is one.
    who: Option<CompactString>,
}

impl HttpViewer {
    /// The place of a viewer who has entered `conversation` without a name.
    pub(crate) fn new(reading: &Reading, conversation: Arc<Conversation>) -> Self {
        Self { reading: reading.clone(), conversation, who: None }
    }

    /// Enters a conversation as `caller`, whom the other viewers know by name where access control is on.
    pub(crate) fn enter(reading: &Reading, id: &ConversationId, caller: &Caller) -> Result<Self, Problem> {
        let who = reading.gate.is_on().then(|| CompactString::new(caller.0.name()));
        let conversation = reading.hub.enter_as(id, who.as_deref())?;
        Ok(Self { reading: reading.clone(), conversation, who })
    }
}

impl Drop for HttpViewer {
    fn drop(&mut self) {
        self.reading.hub.leave_as(&self.conversation, self.who.as_deref());
    }
}
