//! `/threads`: a thread is a conversation with the metadata that its clients give it. The metadata is in
//! memory alone and is lost when the hub stops; the conversation is in the log.

use std::sync::Arc;

use axum::Json;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::StatusCode;
use event_log::{ListQuery, Purpose, blocking};
use model::event::RunStatus;
use model::{ConversationId, format};
use serde_json::{Map, Value, json};

use super::assistants::id_of;
use super::fault::Fault;
use super::start::fresh_uuid;
use super::states::{Branch, Thread, failure, waiting};
use super::wire::{body, metadata};
use crate::fork::{ForkPlace, fork};
use crate::http::compat::of_thread;
use crate::http::hubs::asked;
use crate::inbound::params::Path;
use crate::state::Shared;
use crate::threads::Row;

/// How many threads an answer lists if the request does not say.
const LISTED_USUAL: usize = 10;

/// Most threads that an answer lists.
const LISTED_MAX: usize = 100;

/// Most conversations that are searched for one answer, newest first.
const LOOKED_THROUGH_MAX: usize = 1_000;

/// Whether the thread exists: it was created, or something was said in it. May wait for the disk. Fails if
/// the log does.
pub(super) fn is_known(shared: &Shared, id: &ConversationId) -> Result<bool, Fault> {
    if shared.threads.rows.get(id).is_some() {
        return Ok(true);
    }
    let name = shared.threads.current(id);
    Ok(blocking(|| shared.hub.look(&name))?.is_some())
}

/// A thread in the platform's form. Its status is that of its newest run: `busy` while it runs, `interrupted`
/// while it waits for a person, `error` if it failed, otherwise `idle`.
fn told(thread: &Thread, row: Option<&Row>) -> Value {
    let head = thread.head();
    let last = head.and_then(|head| head.view.runs.values().next_back());
    let status = match last {
        None => "idle",
        Some(run) if run.is_running() && waiting(run).is_empty() => "busy",
        Some(run) if run.is_running() => "interrupted",
        Some(run) if matches!(run.status, RunStatus::Error | RunStatus::Interrupted) => "error",
        Some(_) => "idle",
    };
    let error = last.filter(|_| status == "error").map(failure);
    let (created, updated) = times(head, row);
    let interrupt = last.and_then(encode::langgraph::interrupt);
    let interrupts = interrupt.map_or_else(|| json!({}), |interrupt| json!({"tools": [interrupt]}));
    json!({"thread_id": thread.id, "created_at": format::iso(created), "updated_at": format::iso(updated),
        "state_updated_at": format::iso(updated), "metadata": described(head, row), "status": status, "config": {},
        "error": error, "values": head.map(|_| thread.values()), "interrupts": interrupts})
}

/// When a thread was created and when it last changed, in milliseconds since 1970. Both what was said and its
/// metadata count.
fn times(head: Option<&Branch>, row: Option<&Row>) -> (u64, u64) {
    let said = head.map(|head| {
        let messages = head.view.messages.values().map(|message| message.at);
        let runs = head.view.runs.values().flat_map(|run| [Some(run.started_at), run.ended_at]).flatten();
        let all: Vec<u64> = messages.chain(runs).collect();
        (all.iter().min().copied().unwrap_or_default(), all.iter().max().copied().unwrap_or_default())
    });
    let (first, last) = said.unwrap_or_default();
    match row {
        Some(row) if first == 0 => (row.created_at, row.updated_at),
        Some(row) => (row.created_at.min(first), last.max(row.updated_at)),
        None => (first, last),
    }
}

/// The metadata of a thread: the agent of its newest run, its title as `name`, and over these what clients
/// gave it.
fn described(head: Option<&Branch>, row: Option<&Row>) -> Map<String, Value> {
    let mut metadata = Map::new();
    let newest = head.and_then(|head| head.view.runs.values().next_back());
    if let Some(agent) = newest.and_then(|run| run.name.as_deref()) {
        metadata.insert("graph_id".into(), agent.into());
        metadata.insert("assistant_id".into(), id_of(agent).into());
    }
    if let Some(title) = head.and_then(|head| head.view.title.as_deref()) {
        metadata.insert("name".into(), title.into());
    }
    metadata.extend(row.map(|row| row.metadata.clone()).unwrap_or_default());
    metadata
}

/// `POST /threads` with `thread_id`, `metadata` and `if_exists`: creates a thread, with a random id unless it
/// is said. 409 if it exists and `if_exists` is not `do_nothing`; 422 for `supersteps`.
pub(super) async fn create(State(shared): State<Arc<Shared>>, said: Bytes) -> Result<Json<Value>, Fault> {
    let body = body(&said)?;
    let given = body.get("thread_id").and_then(Value::as_str).filter(|id| !id.is_empty());
    let id = of_thread(given.unwrap_or(&fresh_uuid()));
    asked::at_home(&shared.ownership, &id, Purpose::Make).await?;
    if is_known(&shared, &id)? && body.get("if_exists").and_then(Value::as_str) != Some("do_nothing") {
        return Err(Fault::new(StatusCode::CONFLICT, format!("Thread {:?} is there already", id.as_str())));
    }
    if body.get("supersteps").is_some_and(|steps| steps.as_array().is_some_and(|all| !all.is_empty())) {
        return Err(Fault::wrong("supersteps: messages are added by an update of the state"));
    }
    let row = shared.threads.rows.describe(&id, metadata(&body)?);
    Ok(Json(told(&Thread::read(&shared, &id).await?, Some(&row))))
}

/// `GET /threads/{thread}`: one thread; 404 if it is unknown.
pub(super) async fn get(
    State(shared): State<Arc<Shared>>,
    Path(name): Path<String>,
) -> Result<Json<Value>, Fault> {
    one(&shared, &name).await.map(Json)
}

/// The thread `name` in the platform's form. Fails with 404 if it does not exist.
async fn one(shared: &Shared, name: &str) -> Result<Value, Fault> {
    let id = of_thread(name);
    if !is_known(shared, &id)? {
        return Err(Fault::unknown(format!("Thread {name:?} not found")));
    }
    let row = shared.threads.rows.get(&id);
    Ok(told(&Thread::read(shared, &id).await?, row.as_ref()))
}

/// `PATCH /threads/{thread}` and `PATCH …/state`: adds to the metadata of a thread, and answers with the
/// thread.
pub(super) async fn update(
    State(shared): State<Arc<Shared>>,
    Path(name): Path<String>,
    said: Bytes,
) -> Result<Json<Value>, Fault> {
    one(&shared, &name).await?;
    shared.threads.rows.describe(&of_thread(&name), metadata(&body(&said)?)?);
    one(&shared, &name).await.map(Json)
}

/// `DELETE /threads/{thread}`: forgets a thread that was only created, 204. One with a conversation is
/// refused with 409, because the log keeps conversations.
pub(super) async fn delete(
    State(shared): State<Arc<Shared>>,
    Path(name): Path<String>,
) -> Result<StatusCode, Fault> {
    let id = of_thread(&name);
    if !is_known(&shared, &id)? {
        return Err(Fault::unknown(format!("Thread {name:?} not found")));
    }
    if !Thread::read(&shared, &id).await?.branches.is_empty() {
        let why = "a conversation is deleted by an operator, with DELETE /v1/conversations/NAME, or by the hub's retention";
        return Err(Fault::new(StatusCode::CONFLICT, why));
    }
    shared.threads.rows.forget(&id);
    Ok(StatusCode::NO_CONTENT)
}

/// `POST /threads/{thread}/copy`: forks the conversation at its end into a new thread with the same metadata,
/// and answers with that thread.
pub(super) async fn copy(
    State(shared): State<Arc<Shared>>,
    Path(name): Path<String>,
) -> Result<Json<Value>, Fault> {
    let thread = Thread::read(&shared, &of_thread(&name)).await?;
    let known = shared.threads.rows.get(&thread.id);
    let into = of_thread(&fresh_uuid());
    asked::at_home(&shared.ownership, &into, Purpose::Make).await?;
    match thread.head() {
        Some(head) => {
            fork(&shared.fanout, &shared.work, &head.conversation, ForkPlace::default(), Some(into.clone()))
                .await?;
        }
        None if known.is_none() => return Err(Fault::unknown(format!("Thread {name:?} not found"))),
        None => {}
    }
    shared.threads.rows.describe(&into, known.map(|row| row.metadata).unwrap_or_default());
    one(&shared, into.as_str()).await.map(Json)
}

/// The threads that fit the search in `body` (`metadata`, `status`, `ids`), in the order that it asks for
/// (`sort_by`, `sort_order`; newest change first unless said). It looks through the newest
/// [`LOOKED_THROUGH_MAX`] conversations and as many created threads; forks are not threads of their own. Each
/// is read whole, so this is the slowest request of the door.
async fn found(shared: &Shared, body: &Value) -> Result<Vec<Value>, Fault> {
    let wanted = body.get("metadata").and_then(Value::as_object).cloned().unwrap_or_default();
    let status = body.get("status").and_then(Value::as_str);
    let ids = body.get("ids").and_then(Value::as_array);
    let query = ListQuery { limit: LOOKED_THROUGH_MAX, ..ListQuery::default() };
    let listed = blocking(|| shared.hub.list(&query))?;
    shared.threads.remembered(&shared.hub, None).await;
    let mut names: indexmap::IndexSet<ConversationId> =
        shared.threads.rows.all().into_iter().map(|(id, _)| id).take(LOOKED_THROUGH_MAX).collect();
    let conversations = listed.rows.into_iter().map(|row| row.conversation);
    names.extend(conversations.filter(|id| !shared.threads.is_fork(id)));
    let mut found = Vec::new();
    for id in names {
        if ids.is_some_and(|ids| !ids.iter().any(|it| it == id.as_str())) {
            continue;
        }
        let row = shared.threads.rows.get(&id);
        let thread = told(&Thread::read(shared, &id).await?, row.as_ref());
        let has = |(name, value): (&String, &Value)| {
            thread.get("metadata").and_then(|metadata| metadata.get(name)) == Some(value)
        };
        let fits = status.is_none_or(|status| thread.get("status").is_some_and(|it| it == status));
        if fits && wanted.iter().all(has) {
            found.push(thread);
        }
    }
    let by = body.get("sort_by").and_then(Value::as_str).unwrap_or("updated_at").to_owned();
    found.sort_by_cached_key(|thread| thread.get(&by).and_then(Value::as_str).unwrap_or_default().to_owned());
    let order = body.get("sort_order").or_else(|| body.get("order")).and_then(Value::as_str);
    if order != Some("asc") {
        found.reverse();
    }
    Ok(found)
}

/// `POST /threads/search` with the fields of [`found`], `limit`, `offset` and `select`: a page of the threads
/// that fit, at most [`LISTED_MAX`]. `select` names the fields that are told besides the id.
pub(super) async fn search(State(shared): State<Arc<Shared>>, said: Bytes) -> Result<Json<Value>, Fault> {
    let body = body(&said)?;
    let number = |name: &str| body.get(name).and_then(Value::as_u64).and_then(|it| usize::try_from(it).ok());
    let found = found(&shared, &body).await?.into_iter();
    let page = found
        .skip(number("offset").unwrap_or(0))
        .take(number("limit").unwrap_or(LISTED_USUAL).min(LISTED_MAX));
    let Some(select) = body.get("select").and_then(Value::as_array) else { return Ok(Json(page.collect())) };
    let picked = page.map(|mut thread| {
        if let Some(fields) = thread.as_object_mut() {
            fields.retain(|name, _| name == "thread_id" || select.iter().any(|it| it == name));
        }
        thread
    });
    Ok(Json(picked.collect()))
}

/// `POST /threads/count`: how many threads fit.
pub(super) async fn count(State(shared): State<Arc<Shared>>, said: Bytes) -> Result<Json<Value>, Fault> {
    Ok(Json(found(&shared, &body(&said)?).await?.len().into()))
}
