//! `/threads/{thread}/runs` and `/runs`: begins runs, streams them, waits for them and stops them.
//!
//! A run is found by its id in the conversation of its thread and in the forks of it. Answers that begin a
//! run have `Content-Location` with its place and `Location` with the address where its stream can be taken
//! up again.

use std::sync::Arc;

use axum::Json;
use axum::body::Bytes;
use axum::extract::{Extension, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse as _, Response};
use event_log::blocking;
use model::event::RunStatus;
use model::view::RunView;
use model::{ConversationId, Position, RunId, format};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::assistants::{agent, id_of};
use super::fault::Fault;
use super::start::{fresh_uuid, start};
use super::states::{Branch, Thread, waiting};
use super::told::{RunStreamOptions, locate, settled, stream_of, told, values};
use super::wire::{RunRequest, body, modes};
use super::{DoorName, threads};
use crate::http::Reading;
use crate::http::compat::answer::with_left_out;
use crate::http::compat::begin::seq_before;
use crate::http::compat::{Begun, of_thread};
use crate::http::conversations::HttpViewer;
use crate::http::stream::reader::StartAt;
use crate::inbound::params::{Path, Query};
use crate::state::Shared;
use agents::RunAddress;
use agents::Started;
use hub::Conversation;

/// How many runs an answer lists if the request does not say.
const RUNS_USUAL: usize = 10;

/// Most runs that an answer lists.
const RUNS_MAX: usize = 1_000;

/// The header with which a client takes up a stream again: the id of the last event that it has.
const LAST_EVENT: &str = "last-event-id";

/// The modes of a stream for a client that joins a run and names none.
const MODES_USUAL: [&str; 4] = ["values", "messages-tuple", "updates", "custom"];

/// Begins the run that the body `said` asks for, in the thread `name` or in a fresh one. Fails with 404 if
/// the assistant or the thread is unknown (a thread may be made with `if_not_exists: "create"`), with 422 if
/// the body is not valid, and with whatever [`start`] refuses.
async fn begin(
    shared: &Arc<Shared>,
    door: DoorName,
    name: Option<&str>,
    said: &[u8],
) -> Result<(Begun, RunStreamOptions), Fault> {
    let mut ask = RunRequest::of(&body(said)?)?;
    let agent = agent((&shared.agents, &shared.config), door, &ask.assistant)?;
    let thread = of_thread(name.unwrap_or(&fresh_uuid()));
    if name.is_some() && !ask.makes_thread && !threads::is_known(shared, &thread)? {
        return Err(Fault::unknown(format!("Thread {:?} not found", thread.as_str())));
    }
    let mut metadata = Map::new();
    metadata.insert("graph_id".into(), agent.as_str().into());
    metadata.insert("assistant_id".into(), id_of(&agent).into());
    shared.threads.rows.describe(&thread, metadata);
    let mut wanted = RunStreamOptions {
        thread: thread.clone(),
        modes: std::mem::take(&mut ask.modes),
        stops_on_hang_up: ask.stops_on_hang_up,
        left_out: std::mem::take(&mut ask.left_out),
    };
    let begun = start(shared, agent, &thread, ask).await?;
    wanted.left_out.extend(begun.left_out.iter().map(|name| (*name).to_owned()));
    Ok((begun, wanted))
}

/// `POST /threads/{thread}/runs/stream` and `POST /runs/stream` (in a fresh thread): begins a run and streams
/// it in the modes of the body. A `command.goto` to the end stops the running run instead.
pub(super) async fn stream(
    State(shared): State<Arc<Shared>>,
    Extension(door): Extension<DoorName>,
    name: Option<Path<String>>,
    said: Bytes,
) -> Result<Response, Fault> {
    let name = name.as_ref().map(|Path(name)| name.as_str());
    if let Some(ended) = ended(&shared, name, &said).await? {
        return Ok(ended);
    }
    let (begun, wanted) = begin(&shared, door, name, &said).await?;
    stream_of(&shared, begun, wanted).await
}

/// Answers a command that sends the graph to its end: the running run is stopped and no new one begins. The
/// answer is a stream of two events, `metadata` and the `values` as they are then. `None` for other requests,
/// and for those without a thread.
async fn ended(shared: &Arc<Shared>, name: Option<&str>, said: &[u8]) -> Result<Option<Response>, Fault> {
    let ask = RunRequest::of(&body(said)?)?;
    let Some(name) = name.filter(|_| ask.ends) else { return Ok(None) };
    let thread = Thread::read(shared, &of_thread(name)).await?;
    let run = thread.head().and_then(|head| head.view.runs.iter().next_back());
    if let (Some(head), Some((id, run))) = (thread.head(), run) {
        let place = RunAddress { conversation: head.conversation.id().clone(), run: id.clone() };
        if run.is_running() && shared.agents.stop(&place) {
            settled_for_good(shared, &head.conversation, &place).await?;
        }
    }
    let values = Thread::read(shared, &thread.id).await?.values();
    let metadata = json!({"run_id": fresh_uuid(), "attempt": 1});
    let body = format!("event: metadata\ndata: {metadata}\n\nevent: values\ndata: {values}\n\n");
    Ok(Some(([(axum::http::header::CONTENT_TYPE, "text/event-stream")], body).into_response()))
}

/// Waits until a run that was stopped has ended. Returns too when the hub drains while the run waits for a
/// person.
async fn settled_for_good(
    shared: &Arc<Shared>,
    conversation: &Conversation,
    place: &RunAddress,
) -> Result<(), Fault> {
    loop {
        settled(shared, conversation, place).await?;
        let mut appended = std::pin::pin!(conversation.appended());
        appended.as_mut().enable();
        let is_running = |view: &model::View| view.runs.get(&place.run).is_some_and(RunView::is_running);
        if !conversation.read_view(is_running) {
            return Ok(());
        }
        tokio::select! {
            () = appended => {}
            () = shared.drain.cancelled() => return Ok(()),
        }
    }
}

/// `POST /threads/{thread}/runs` and `POST /runs` (in a fresh thread): begins a run and answers at once with
/// its row.
pub(super) async fn create(
    State(shared): State<Arc<Shared>>,
    Extension(door): Extension<DoorName>,
    name: Option<Path<String>>,
    said: Bytes,
) -> Result<Response, Fault> {
    let name = name.as_ref().map(|Path(name)| name.as_str());
    let (begun, wanted) = begin(&shared, door, name, &said).await?;
    let run = begun.run().clone();
    let row = begun
        .viewer
        .conversation
        .read_view(|view| view.runs.get(&run).map(|it| row(&wanted.thread, &run, it)));
    let mut response = Json(row.unwrap_or_default()).into_response();
    locate(&mut response, &wanted.thread, &run, &wanted.modes);
    Ok(response)
}

/// `POST /threads/{thread}/runs/wait` and `POST /runs/wait` (in a fresh thread): begins a run and answers
/// with the values at its end, or when it waits for a person. A failed run is an answer too: its values have
/// `__error__`.
pub(super) async fn wait(
    State(shared): State<Arc<Shared>>,
    Extension(door): Extension<DoorName>,
    name: Option<Path<String>>,
    said: Bytes,
) -> Result<Response, Fault> {
    let name = name.as_ref().map(|Path(name)| name.as_str());
    let (begun, wanted) = begin(&shared, door, name, &said).await?;
    settled(&shared, &begun.viewer.conversation, &begun.started.place).await?;
    let values = values(&shared, &wanted.thread, begun.run()).await?;
    let mut response = Json(values).into_response();
    locate(&mut response, &wanted.thread, begun.run(), &wanted.modes);
    Ok(with_left_out(response, &wanted.left_out))
}

/// The parameters in the path of a run.
#[derive(Debug, Deserialize)]
pub(super) struct AtPath {
    thread: String,
    run: String,
}

/// Finds a run and the branch of its thread that contains it, the newest branch first. Fails with 404.
async fn found(shared: &Shared, path: &AtPath) -> Result<(ConversationId, RunId, Branch), Fault> {
    let (id, run) = (of_thread(&path.thread), RunId::new(&path.run));
    let thread = Thread::read(shared, &id).await?;
    let branch = thread.branches.into_iter().find(|branch| branch.view.runs.contains_key(&run));
    let branch = branch.ok_or_else(|| {
        Fault::unknown(format!("Run {:?} not found in the thread {:?}", path.run, path.thread))
    })?;
    Ok((id, run, branch))
}

/// A run in the platform's form. Its status is `running`, `interrupted` (it waits for a person, or was
/// stopped), `success` or `error`.
fn row(thread: &ConversationId, id: &RunId, run: &RunView) -> Value {
    let status = match run.status {
        RunStatus::Running if waiting(run).is_empty() => "running",
        RunStatus::Running | RunStatus::Cancelled => "interrupted",
        RunStatus::Complete => "success",
        RunStatus::Error | RunStatus::Interrupted => "error",
    };
    let agent = run.name.as_deref().unwrap_or_default();
    json!({"run_id": id, "thread_id": thread, "assistant_id": id_of(agent), "status": status, "metadata": {"graph_id": agent},
        "kwargs": {}, "multitask_strategy": "enqueue", "created_at": format::iso(run.started_at),
        "updated_at": format::iso(run.ended_at.unwrap_or(run.started_at))})
}

/// The query parameters of a list of runs.
#[derive(Debug, Deserialize)]
pub(super) struct ListQuery {
    /// How many runs, [`RUNS_USUAL`] unless said, at most [`RUNS_MAX`].
    limit: Option<usize>,
    /// How many of those that fit are skipped.
    offset: Option<usize>,
    /// Only runs with this status, in the words of [`row`].
    status: Option<String>,
}

/// `GET /threads/{thread}/runs?limit&offset&status`: the runs of a thread and its forks, newest first, each
/// once. 404 if the thread is unknown.
pub(super) async fn list(
    State(shared): State<Arc<Shared>>,
    Path(name): Path<String>,
    Query(query): Query<ListQuery>,
) -> Result<Json<Value>, Fault> {
    let id = of_thread(&name);
    if !threads::is_known(&shared, &id)? {
        return Err(Fault::unknown(format!("Thread {name:?} not found")));
    }
    let thread = Thread::read(&shared, &id).await?;
    let mut known = std::collections::HashSet::new();
    let mut rows = Vec::new();
    for branch in &thread.branches {
        let news = branch.view.runs.iter().rev().filter(|(run, _)| known.insert((*run).clone()));
        rows.extend(news.map(|(run, view)| row(&id, run, view)));
    }
    let is_wanted = |row: &Value| {
        query.status.as_ref().is_none_or(|status| row.get("status").is_some_and(|it| it == status))
    };
    let limit = query.limit.unwrap_or(RUNS_USUAL).min(RUNS_MAX);
    Ok(Json(rows.into_iter().filter(is_wanted).skip(query.offset.unwrap_or(0)).take(limit).collect()))
}

/// `GET /threads/{thread}/runs/{run}`: one run.
pub(super) async fn get(
    State(shared): State<Arc<Shared>>,
    Path(path): Path<AtPath>,
) -> Result<Json<Value>, Fault> {
    let (thread, run, branch) = found(&shared, &path).await?;
    Ok(Json(branch.view.runs.get(&run).map(|view| row(&thread, &run, view)).unwrap_or_default()))
}

/// `DELETE /threads/{thread}/runs/{run}`: always refused with 409, because the log keeps what was said.
pub(super) async fn delete(
    State(shared): State<Arc<Shared>>,
    Path(path): Path<AtPath>,
) -> Result<Response, Fault> {
    found(&shared, &path).await?;
    let why = "what a run said stays in the log of the hub; multitask_strategy rollback goes on without it";
    Err(Fault::new(StatusCode::CONFLICT, why))
}

/// The query parameters of a cancellation. Others of the platform's, such as `action`, are ignored.
#[derive(Debug, Deserialize)]
pub(super) struct CancelQuery {
    /// `1` or `true` to be answered only when the run has ended.
    wait: Option<String>,
}

/// `POST /threads/{thread}/runs/{run}/cancel?wait`: stops a run. 202 at once; with `wait`, 204 when it has
/// ended. A run that is over already is answered with 202.
pub(super) async fn cancel(
    State(shared): State<Arc<Shared>>,
    Path(path): Path<AtPath>,
    Query(query): Query<CancelQuery>,
) -> Result<Response, Fault> {
    let (_, run, branch) = found(&shared, &path).await?;
    let place = RunAddress { conversation: branch.conversation.id().clone(), run };
    let was_running = shared.agents.stop(&place);
    if was_running && query.wait.is_some_and(|wait| wait == "1" || wait == "true") {
        settled_for_good(&shared, &branch.conversation, &place).await?;
        return Ok(StatusCode::NO_CONTENT.into_response());
    }
    Ok((StatusCode::ACCEPTED, Json(json!({}))).into_response())
}

/// `GET /threads/{thread}/runs/{run}/join` and `…/wait`: waits until the run is over or waits for a person,
/// and answers with the values.
pub(super) async fn join(
    State(shared): State<Arc<Shared>>,
    Path(path): Path<AtPath>,
) -> Result<Json<Value>, Fault> {
    let (thread, run, branch) = found(&shared, &path).await?;
    let place = RunAddress { conversation: branch.conversation.id().clone(), run };
    settled(&shared, &branch.conversation, &place).await?;
    Ok(Json(values(&shared, &thread, &place.run).await?))
}

/// The query parameters as pairs, because modes may come several times or as a list.
type ModesQuery = Query<Vec<(String, String)>>;

/// `GET /threads/{thread}/runs/{run}/stream`: streams a run from where the client was cut off
/// (`Last-Event-ID`; `-1` is the beginning), otherwise from now on. `stream_mode` names the modes;
/// `cancel_on_disconnect=1` stops the run when this client hangs up. 422 for an id that is none of this
/// hub's.
pub(super) async fn join_stream(
    State(shared): State<Arc<Shared>>,
    Path(path): Path<AtPath>,
    Query(said): ModesQuery,
    headers: HeaderMap,
) -> Result<Response, Fault> {
    let (thread, run, branch) = found(&shared, &path).await?;
    join_at(&shared, (thread, run), branch, &said, &headers).await
}

/// `GET /threads/{thread}/stream`: does the same for the newest run of the branch in which the thread goes
/// on. 404 if it has none.
pub(super) async fn join_thread(
    State(shared): State<Arc<Shared>>,
    Path(name): Path<String>,
    Query(said): ModesQuery,
    headers: HeaderMap,
) -> Result<Response, Fault> {
    let id = of_thread(&name);
    let thread = Thread::read(&shared, &id).await?;
    let branch = thread.branches.into_iter().next();
    let newest = branch.and_then(|branch| Some((branch.view.runs.keys().next_back()?.clone(), branch)));
    let (run, branch) = newest.ok_or_else(|| Fault::unknown(format!("Thread {name:?} has no run")))?;
    join_at(&shared, (id, run), branch, &said, &headers).await
}

/// Streams a run of `branch` as the query and the headers ask.
async fn join_at(
    shared: &Arc<Shared>,
    (thread, run): (ConversationId, RunId),
    branch: Branch,
    said: &[(String, String)],
    headers: &HeaderMap,
) -> Result<Response, Fault> {
    let last = headers.get(LAST_EVENT).and_then(|last| last.to_str().ok());
    let from = match last {
        None => StartAt::Now,
        Some("-1") => StartAt::Beginning,
        Some(place) => StartAt::place(place).ok_or_else(|| {
            Fault::wrong(format!("Last-Event-ID: {place:?} is not the id of an event of this hub"))
        })?,
    };
    let item = model::view::TopItem::Run(run.clone());
    let seq = seq_before(shared, &branch.conversation, &item).await?;
    let stops_on_hang_up = said.iter().any(|(name, value)| name == "cancel_on_disconnect" && value == "1");
    let (modes, left_out) = modes(Some(&modes_said(said)))?;
    let wanted = RunStreamOptions { thread, modes, stops_on_hang_up, left_out };
    let place = RunAddress { conversation: branch.conversation.id().clone(), run };
    let started = Started { place, after: Position { epoch: branch.conversation.epoch().clone(), seq } };
    let conversation = blocking(|| shared.hub.enter(branch.conversation.id()))?;
    let viewer = HttpViewer::new(&Reading::of(shared), conversation);
    told(shared, viewer, &started, from, wanted).await
}

/// The modes in a query: one, several, or a list as JSON, which is how the TypeScript package writes it. An
/// empty value is none: the Python package writes `stream_mode=` where its caller names no mode.
fn modes_said(said: &[(String, String)]) -> Value {
    let named = said
        .iter()
        .filter(|(name, value)| !value.is_empty() && (name == "stream_mode" || name == "stream_mode[]"));
    let all = named.flat_map(|(_, value)| match serde_json::from_str::<Vec<String>>(value) {
        Ok(all) => all,
        Err(_one) => vec![value.clone()],
    });
    let all: Vec<String> = all.collect();
    if all.is_empty() { MODES_USUAL.as_slice().into() } else { all.into() }
}
