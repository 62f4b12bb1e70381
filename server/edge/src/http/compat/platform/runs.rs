//! `/threads/{thread}/runs` and `/runs`: begins runs, streams them, waits for them and stops them.

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
use super::told::{Telling, locate, settled, stream_of, told, values};
use super::wire::{Ask, body, modes};
use super::{Door, threads};
use crate::http::compat::begin::seq_before;
use crate::http::compat::{Begun, of_thread};
use crate::http::conversations::Seat;
use crate::http::params::{Path, Query};
use crate::http::stream::reader::StartAt;
use crate::state::Shared;
use agents::RunAddress;
use agents::Started;
use hub::Conversation;

/// How many runs an answer lists if the request does not say.
const RUNS_USUAL: usize = 10;

/// Most runs that an answer lists.
const RUNS_MAX: usize = 1_000;

/// The header with which a client takes up a stream again.
const LAST_EVENT: &str = "last-event-id";

/// The modes of a stream for a client that joins a run and names none.
const MODES_USUAL: [&str; 4] = ["values", "messages-tuple", "updates", "custom"];

/// Begins the run that the body `said` asks for, in the thread `name` or in a fresh one.
async fn begin(
    shared: &Arc<Shared>,
    door: Door,
    name: Option<&str>,
    said: &[u8],
) -> Result<(Begun, Telling), Fault> {
    let mut ask = Ask::of(&body(said)?)?;
    let agent = agent(shared, door, &ask.assistant)?;
    let thread = of_thread(name.unwrap_or(&fresh_uuid()));
    if name.is_some() && !ask.makes_thread && !threads::is_known(shared, &thread)? {
        return Err(Fault::unknown(format!("Thread {:?} not found", thread.as_str())));
    }
    let mut metadata = Map::new();
    metadata.insert("graph_id".into(), agent.as_str().into());
    metadata.insert("assistant_id".into(), id_of(&agent).into());
    shared.threads.rows.describe(&thread, metadata);
    let telling = Telling {
        thread: thread.clone(),
        modes: std::mem::take(&mut ask.modes),
        is_leashed: ask.is_leashed,
        left_out: std::mem::take(&mut ask.left_out),
    };
    let begun = start(shared, agent, &thread, ask).await?;
    Ok((begun, telling))
}

/// `POST /threads/{thread}/runs/stream` and `POST /runs/stream` (in a fresh thread): begins a run and streams
/// it.
pub(super) async fn stream(
    State(shared): State<Arc<Shared>>,
    Extension(door): Extension<Door>,
    name: Option<Path<String>>,
    said: Bytes,
) -> Result<Response, Fault> {
    let name = name.as_ref().map(|Path(name)| name.as_str());
    if let Some(ended) = ended(&shared, name, &said).await? {
        return Ok(ended);
    }
    let (begun, telling) = begin(&shared, door, name, &said).await?;
    stream_of(&shared, begun, telling).await
}

/// Answers a command that sends the graph to its end: the running run is stopped and no new one begins.
/// `None` for other requests.
async fn ended(shared: &Arc<Shared>, name: Option<&str>, said: &[u8]) -> Result<Option<Response>, Fault> {
    let ask = Ask::of(&body(said)?)?;
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

/// Waits until a run that was stopped has ended, or the hub drains.
async fn settled_for_good(
    shared: &Arc<Shared>,
    conversation: &Conversation,
    place: &RunAddress,
) -> Result<(), Fault> {
    loop {
        settled(shared, conversation, place).await?;
        let mut moved = std::pin::pin!(conversation.moved());
        moved.as_mut().enable();
        let is_running = |view: &model::View| view.runs.get(&place.run).is_some_and(RunView::is_running);
        if !conversation.look(is_running) {
            return Ok(());
        }
        tokio::select! {
            () = moved => {}
            () = shared.drain.cancelled() => return Ok(()),
        }
    }
}

/// `POST /threads/{thread}/runs` and `POST /runs` (in a fresh thread): begins a run and answers at once.
pub(super) async fn create(
    State(shared): State<Arc<Shared>>,
    Extension(door): Extension<Door>,
    name: Option<Path<String>>,
    said: Bytes,
) -> Result<Response, Fault> {
    let name = name.as_ref().map(|Path(name)| name.as_str());
    let (begun, telling) = begin(&shared, door, name, &said).await?;
    let run = begun.run().clone();
    let row =
        begun.seat.conversation.look(|view| view.runs.get(&run).map(|it| row(&telling.thread, &run, it)));
    let mut response = Json(row.unwrap_or_default()).into_response();
    locate(&mut response, &telling.thread, &run, &telling.modes);
    Ok(response)
}

/// `POST /threads/{thread}/runs/wait` and `POST /runs/wait` (in a fresh thread): begins a run and answers
/// with the values at its end.
pub(super) async fn wait(
    State(shared): State<Arc<Shared>>,
    Extension(door): Extension<Door>,
    name: Option<Path<String>>,
    said: Bytes,
) -> Result<Response, Fault> {
    let name = name.as_ref().map(|Path(name)| name.as_str());
    let (begun, telling) = begin(&shared, door, name, &said).await?;
    settled(&shared, &begun.seat.conversation, &begun.started.place).await?;
    let values = values(&shared, &telling.thread, begun.run()).await?;
    let mut response = Json(values).into_response();
    locate(&mut response, &telling.thread, begun.run(), &telling.modes);
    Ok(response)
}

/// The parameters in the path of a run.
#[derive(Debug, Deserialize)]
pub(super) struct AtPath {
    thread: String,
    run: String,
}

/// Finds a run and the branch of its thread that contains it.
async fn found(shared: &Shared, path: &AtPath) -> Result<(ConversationId, RunId, Branch), Fault> {
    let (id, run) = (of_thread(&path.thread), RunId::new(&path.run));
    let thread = Thread::read(shared, &id).await?;
    let branch = thread.branches.into_iter().find(|branch| branch.view.runs.contains_key(&run));
    let branch = branch.ok_or_else(|| {
        Fault::unknown(format!("Run {:?} not found in the thread {:?}", path.run, path.thread))
    })?;
    Ok((id, run, branch))
}

/// A run in the platform's form.
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

/// The query parameters of a list.
#[derive(Debug, Deserialize)]
pub(super) struct ListQuery {
    limit: Option<usize>,
    offset: Option<usize>,
    status: Option<String>,
}

/// `GET /threads/{thread}/runs`: the runs of a thread, newest first.
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

/// `DELETE /threads/{thread}/runs/{run}`: always refused, because the log keeps what was said.
pub(super) async fn delete(
    State(shared): State<Arc<Shared>>,
    Path(path): Path<AtPath>,
) -> Result<Response, Fault> {
    found(&shared, &path).await?;
    let why = "what a run said stays in the log of the hub; multitask_strategy rollback goes on without it";
    Err(Fault::new(StatusCode::CONFLICT, why))
}

/// The query parameters of a cancellation.
#[derive(Debug, Deserialize)]
pub(super) struct CancelQuery {
    wait: Option<String>,
}

/// `POST /threads/{thread}/runs/{run}/cancel`: stops a run; with `wait`, answers when it has ended.
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

/// `GET /threads/{thread}/runs/{run}/join`: waits until the run is over or waits for a person, and answers
/// with the values.
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
/// (`Last-Event-ID`; `-1` is the beginning), otherwise from now on.
pub(super) async fn join_stream(
    State(shared): State<Arc<Shared>>,
    Path(path): Path<AtPath>,
    Query(said): ModesQuery,
    headers: HeaderMap,
) -> Result<Response, Fault> {
    let (thread, run, branch) = found(&shared, &path).await?;
    join_at(&shared, (thread, run), branch, &said, &headers).await
}

/// `GET /threads/{thread}/stream`: does the same for the newest run.
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
    let is_leashed = said.iter().any(|(name, value)| name == "cancel_on_disconnect" && value == "1");
    let (modes, left_out) = modes(Some(&modes_said(said)))?;
    let telling = Telling { thread, modes, is_leashed, left_out };
    let place = RunAddress { conversation: branch.conversation.id().clone(), run };
    let started = Started { place, after: Position { epoch: branch.conversation.epoch().clone(), seq } };
    let conversation = blocking(|| shared.hub.enter(branch.conversation.id()))?;
    let seat = Seat::new(shared, conversation);
    told(shared, seat, &started, from, telling).await
}

/// The modes in a query: one, several, or a list as JSON, which is how the TypeScript package writes it.
fn modes_said(said: &[(String, String)]) -> Value {
    let named = said.iter().filter(|(name, _)| name == "stream_mode" || name == "stream_mode[]");
    let all = named.flat_map(|(_, value)| match serde_json::from_str::<Vec<String>>(value) {
        Ok(all) => all,
        Err(_one) => vec![value.clone()],
    });
    let all: Vec<String> = all.collect();
    if all.is_empty() { MODES_USUAL.as_slice().into() } else { all.into() }
}
