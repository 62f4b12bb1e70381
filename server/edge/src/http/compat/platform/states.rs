//! The states of a thread: what it contained after each message and each run, in its conversation and in the
//! forks. The id of a state is a hash of everything up to it, so that forks share the states before they
//! part.
//!
//! ```text
//! items of the view    message 1    run a    message 2    run b (waits for a person)
//! states             0           1         2            3                          4
//! ```
//!
//! State 0 is the empty beginning. A run that is going on has no state until it waits for a person; a message
//! that was said within a run takes the place of the state before it. Nothing is stored for this: states are
//! computed from the views each time they are asked for.

use std::sync::Arc;

use axum::Json;
use axum::body::Bytes;
use axum::extract::State;
use encode::langgraph;
use event_log::blocking;
use model::event::{Kind, Message, RunStatus};
use model::view::{RunView, TopItem};
use model::{ConversationId, MessageId, RunId, ToolCallId, View, format};
use serde::Deserialize;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use super::assistants::{id_of, uuid};
use super::fault::Fault;
use super::start;
use super::wire::{Strategy, body, checkpoint, hear_input};
use crate::http::compat::of_thread;
use crate::inbound::params::{Path, Query};
use crate::state::Shared;
use crate::work::Task;
use agents::RunAddress;
use event_log::clock;
use hub::{Conversation, Publication};

/// Most states in one answer. The platform's own clients ask for 10.
const STATES_MAX: usize = 100;

/// How many states an answer has if the request does not say.
const STATES_USUAL: usize = 10;

/// A state of a thread.
#[derive(Debug, Clone)]
pub(super) struct ThreadState {
    /// The id of its checkpoint, a UUID of its time in milliseconds and a hash of everything that was said.
    /// Sorting ids sorts states by time.
    pub(super) id: String,
    /// How many items of the conversation it contains.
    pub(super) count: usize,
    /// The time of its newest item, in milliseconds since 1970.
    at: u64,
}

/// One conversation of a thread: the thread's own or a fork. A copy of how it was when it was read, except
/// for `conversation` itself.
#[derive(Debug)]
pub(super) struct Branch {
    pub(super) conversation: Arc<Conversation>,
    /// What had been said in it. Shares its texts with the conversation.
    pub(super) view: View,
    /// The states of the thread, from the empty beginning on.
    pub(super) states: Vec<ThreadState>,
    /// The messages of each item, in the platform's form.
    messages: Vec<Vec<Value>>,
}

/// A thread with its forks, read for one request. The conversation in which it goes on comes first.
#[derive(Debug)]
pub(super) struct Thread {
    /// The name under which clients know it, also once it goes on in a fork.
    pub(super) id: ConversationId,
    pub(super) branches: Vec<Branch>,
}

impl Thread {
    /// Reads the thread `id` and its forks, from memory or the log. It has no branches if nothing was said in
    /// it yet. Waits for a turn of work for each conversation, by its size. Fails if a conversation cannot be
    /// opened.
    pub(super) async fn read(shared: &Shared, id: &ConversationId) -> Result<Self, Fault> {
        shared.threads.remembered(&shared.hub, shared.peers.as_ref().map(|_| id)).await;
        let mut branches = Vec::new();
        for name in shared.threads.family(id) {
            let turn = shared.work.turn(Task::Small).await;
            if let Some(conversation) = blocking(|| shared.hub.look(&name))? {
                drop(turn);
                let _turn = shared.work.turn(conversation.read_view(Task::of)).await;
                branches.push(blocking(|| Branch::of(shared, conversation)));
            }
        }
        Ok(Self { id: id.clone(), branches })
    }

    /// The conversation in which it goes on.
    pub(super) fn head(&self) -> Option<&Branch> {
        self.branches.first()
    }

    /// The branch that has the checkpoint, and the index of the state in it.
    pub(super) fn find(&self, checkpoint: &str) -> Option<(&Branch, usize)> {
        self.branches.iter().find_map(|branch| {
            let number = branch.states.iter().position(|state| state.id == checkpoint)?;
            Some((branch, number))
        })
    }

    /// The messages of the newest state.
    pub(super) fn values(&self) -> Value {
        self.head().map_or_else(|| json!({}), |head| head.values(head.states.len().saturating_sub(1)))
    }

    /// All states in the platform's form, each once: those of the conversation in which the thread goes on,
    /// newest first, then what each fork has besides.
    fn states(&self) -> Vec<Value> {
        let mut known = std::collections::HashSet::new();
        let mut states = Vec::new();
        for branch in &self.branches {
            for (number, state) in branch.states.iter().enumerate().rev() {
                if known.insert(state.id.clone()) {
                    states.push(self.state(branch, number));
                }
            }
        }
        states
    }

    /// A state in the platform's form: `values` with the messages, `next` and `tasks` with what follows,
    /// `interrupts` with the calls that wait, and the checkpoint before it.
    fn state(&self, branch: &Branch, number: usize) -> Value {
        let checkpoint = |state: Option<&ThreadState>| {
            state.map(|state| json!({"thread_id": self.id, "checkpoint_ns": "", "checkpoint_id": state.id}))
        };
        let state = branch.states.get(number);
        let before = number.checked_sub(1).and_then(|before| branch.states.get(before));
        let run = branch.run_at(number);
        let agent = run.and_then(|(_, run)| run.name.clone());
        let step = i64::try_from(number).unwrap_or(i64::MAX).saturating_sub(1);
        let metadata = json!({"source": if number == 0 { "input" } else { "loop" }, "step": step, "parents": {},
            "thread_id": self.id, "run_id": run.map(|(id, _)| id), "graph_id": agent,
            "assistant_id": agent.as_deref().map(id_of)});
        let (next, tasks) = Branch::tasks(number, run);
        let interrupts: Vec<Value> =
            tasks.iter().filter_map(|task| task.get("interrupts")?.as_array().cloned()).flatten().collect();
        json!({"values": branch.values(number), "next": next, "tasks": tasks, "interrupts": interrupts,
            "checkpoint": checkpoint(state), "parent_checkpoint": checkpoint(before), "metadata": metadata,
            "created_at": format::iso(state.map_or(0, |state| state.at))})
    }
}

impl Branch {
    /// The branch of a conversation as it is now.
    fn of(shared: &Shared, conversation: Arc<Conversation>) -> Self {
        let view = conversation.view();
        let goes_on = |run: &RunId| {
            let place = RunAddress { conversation: conversation.id().clone(), run: run.clone() };
            shared.agents.is_waiting(&place).is_some()
        };
        let messages = langgraph::messages(&view);
        let states = states_of(&view, goes_on);
        Self { conversation, view, states, messages }
    }

    /// The messages of the state with the index `number`.
    fn values(&self, number: usize) -> Value {
        let count = self.states.get(number).map_or(0, |state| state.count);
        let messages: Vec<&Value> = self.messages.iter().take(count).flatten().collect();
        json!({"messages": messages})
    }

    /// The run with which a state ends, if it ends with one.
    fn run_at(&self, number: usize) -> Option<(&RunId, &RunView)> {
        let count = self.states.get(number)?.count;
        let from = number.checked_sub(1).and_then(|it| self.states.get(it)).map_or(0, |it| it.count);
        let items = self.view.items.get(from..count)?;
        items.iter().find_map(|item| match item {
            TopItem::Run(id) => self.view.runs.get_key_value(id),
            TopItem::Message(_) => None,
        })
    }

    /// The next steps of a state, and those of them that have failed or wait for a person. After a message
    /// the `model` is next, after a run that waits `tools`, after one that failed `model` again; after any
    /// other run nothing is.
    fn tasks(number: usize, run: Option<(&RunId, &RunView)>) -> (Vec<&'static str>, Vec<Value>) {
        let task = |id: &str, name: &str, error: Option<String>, interrupts: Vec<Value>| {
            json!({"id": id, "name": name, "error": error, "interrupts": interrupts, "checkpoint": null,
                "state": null, "path": ["__pregel_pull", name], "result": null})
        };
        match run {
            None if number == 0 => (vec!["__start__"], Vec::new()),
            None => (vec!["model"], vec![task("model", "model", None, Vec::new())]),
            Some((id, run)) if run.is_running() => {
                let interrupts: Vec<Value> = langgraph::interrupt(run).into_iter().collect();
                (vec!["tools"], vec![task(id.as_str(), "tools", None, interrupts)])
            }
            Some((id, run)) if matches!(run.status, RunStatus::Error | RunStatus::Interrupted) => {
                let error = failure(run).to_string();
                (vec!["model"], vec![task(id.as_str(), "model", Some(error), Vec::new())])
            }
            Some(_) => (Vec::new(), Vec::new()),
        }
    }
}

/// The error of a failed run in the platform's form. A run without an error of its own is told by how it
/// ended.
pub(super) fn failure(run: &RunView) -> Value {
    let (code, message) = match (&run.error, run.status) {
        (Some(error), _) => (error.code.as_str(), error.message.as_str()),
        (None, RunStatus::Cancelled) => ("UserInterrupt", "the run was cancelled"),
        (None, RunStatus::Interrupted) => ("interrupted", "the run was interrupted"),
        (None, _) => ("error", "the run failed"),
    };
    json!({"error": code, "message": message})
}

/// The calls of a run that wait for a person.
pub(super) fn waiting(run: &RunView) -> Vec<ToolCallId> {
    langgraph::waiting(run).into_iter().cloned().collect()
}

/// The states of a conversation. A running run is part of one only once it waits for a person.
fn states_of(view: &View, goes_on: impl Fn(&RunId) -> bool) -> Vec<ThreadState> {
    let mut chain = Sha256::digest("fanlight thread");
    let mut states: Vec<ThreadState> = Vec::new();
    // The empty beginning has the same id in all forks.
    let first = view.items.first().map_or(0, |item| at_of(view, item));
    states.push(ThreadState { at: first, ..state_after(&chain, 0, 0) });
    for (number, item) in view.items.iter().enumerate() {
        let mut hasher = Sha256::new();
        hasher.update(chain);
        let is_inside = match item {
            TopItem::Message(id) => {
                let message = view.messages.get(id);
                hasher.update(format!("message {id} "));
                hasher.update(message.map_or("", |message| message.text.as_str()));
                message.is_some_and(|message| message.within.is_some())
            }
            TopItem::Run(id) => {
                hasher.update(format!("run {id} "));
                let run = view.runs.get(id);
                if let Some(run) = run.filter(|run| run.is_running()) {
                    let waits = waiting(run);
                    if waits.is_empty() && goes_on(id) {
                        break;
                    }
                    for tool in &waits {
                        hasher.update(tool.as_str());
                    }
                }
                false
            }
        };
        chain = hasher.finalize();
        if is_inside && states.len() > 1 {
            states.pop();
        }
        states.push(state_after(&chain, number.saturating_add(1), at_of(view, item)));
    }
    states
}

/// The state after the first `count` items. Ids sort by time.
fn state_after(chain: &[u8], count: usize, at: u64) -> ThreadState {
    let stamp: Vec<u8> = at.to_be_bytes().into_iter().skip(2).chain(chain.iter().copied()).collect();
    ThreadState { id: uuid(&stamp), count, at }
}

/// When an item was appended, in milliseconds since 1970.
fn at_of(view: &View, item: &TopItem) -> u64 {
    match item {
        TopItem::Message(id) => view.messages.get(id).map_or(0, |message| message.at),
        TopItem::Run(id) => view.runs.get(id).map_or(0, |run| run.started_at),
    }
}

/// Reads a thread that must have been created or used; otherwise fails with 404.
async fn known(shared: &Shared, name: &str) -> Result<Thread, Fault> {
    let thread = Thread::read(shared, &of_thread(name)).await?;
    if thread.branches.is_empty() && shared.threads.rows.get(&thread.id).is_none() {
        return Err(Fault::unknown(format!("Thread {name:?} not found")));
    }
    Ok(thread)
}

/// The state of a thread in which nothing was said yet.
fn nothing() -> Value {
    json!({"values": {}, "next": [], "tasks": [], "interrupts": [], "checkpoint": null, "parent_checkpoint": null,
        "metadata": {}, "created_at": null})
}

/// `GET /threads/{thread}/state`: the newest state, also if nothing was said in the thread yet.
pub(super) async fn current(
    State(shared): State<Arc<Shared>>,
    Path(name): Path<String>,
) -> Result<Json<Value>, Fault> {
    let thread = known(&shared, &name).await?;
    let state = thread.head().map(|head| thread.state(head, head.states.len().saturating_sub(1)));
    Ok(Json(state.unwrap_or_else(nothing)))
}

/// The parameters in the path of a state.
#[derive(Debug, Deserialize)]
pub(super) struct AtPath {
    thread: String,
    checkpoint: String,
}

/// `GET /threads/{thread}/state/{checkpoint}`: the state with that id. 404 if no branch of the thread has it.
pub(super) async fn at(
    State(shared): State<Arc<Shared>>,
    Path(path): Path<AtPath>,
) -> Result<Json<Value>, Fault> {
    state_at(&shared, &path.thread, &path.checkpoint).await
}

/// `POST /threads/{thread}/state/checkpoint`: the state whose `checkpoint_id` the body names. 422 if it names
/// none.
pub(super) async fn at_checkpoint(
    State(shared): State<Arc<Shared>>,
    Path(name): Path<String>,
    said: Bytes,
) -> Result<Json<Value>, Fault> {
    let id = checkpoint(&body(&said)?)?;
    let id = id.ok_or_else(|| Fault::wrong("checkpoint: an object with a checkpoint_id is expected"))?;
    state_at(&shared, &name, &id).await
}

/// The state `checkpoint` of the thread `name`.
async fn state_at(shared: &Shared, name: &str, checkpoint: &str) -> Result<Json<Value>, Fault> {
    let thread = known(shared, name).await?;
    let (branch, number) = thread.find(checkpoint).ok_or_else(|| no_checkpoint(checkpoint))?;
    Ok(Json(thread.state(branch, number)))
}

/// The failure for a checkpoint that is not in the thread.
pub(super) fn no_checkpoint(id: &str) -> Fault {
    Fault::unknown(format!("the thread has no checkpoint {id:?}"))
}

/// `POST /threads/{thread}/history` with `limit` and `before`: the states, newest first, at most
/// [`STATES_MAX`]. `before` is the id of a checkpoint or an object with one.
pub(super) async fn history(
    State(shared): State<Arc<Shared>>,
    Path(name): Path<String>,
    said: Bytes,
) -> Result<Json<Value>, Fault> {
    let body = body(&said)?;
    let limit = body.get("limit").and_then(Value::as_u64).and_then(|limit| usize::try_from(limit).ok());
    let before = match body.get("before") {
        Some(Value::String(id)) => Some(id.clone()),
        Some(before @ Value::Object(_)) => {
            let inner = before.get("configurable").unwrap_or(before);
            inner.get("checkpoint_id").and_then(Value::as_str).map(str::to_owned)
        }
        _ => None,
    };
    told(&shared, &name, limit, before).await
}

/// The query parameters of a history.
#[derive(Debug, Deserialize)]
pub(super) struct HistoryQuery {
    limit: Option<usize>,
    before: Option<String>,
}

/// `GET /threads/{thread}/history?limit&before`: the same, for clients that use the query.
pub(super) async fn history_by_query(
    State(shared): State<Arc<Shared>>,
    Path(name): Path<String>,
    Query(query): Query<HistoryQuery>,
) -> Result<Json<Value>, Fault> {
    told(&shared, &name, query.limit, query.before).await
}

/// A page of the states of a thread, those after `before` in the list. An unknown `before` is answered with
/// the first page.
async fn told(
    shared: &Shared,
    name: &str,
    limit: Option<usize>,
    before: Option<String>,
) -> Result<Json<Value>, Fault> {
    let states = known(shared, name).await?.states();
    let is_it =
        |state: &Value, id: &str| state.pointer("/checkpoint/checkpoint_id").is_some_and(|it| it == id);
    let skipped = match &before {
        Some(id) => states.iter().position(|state| is_it(state, id)).map_or(0, |at| at.saturating_add(1)),
        None => 0,
    };
    let limit = limit.unwrap_or(STATES_USUAL).min(STATES_MAX);
    Ok(Json(states.into_iter().skip(skipped).take(limit).collect()))
}

/// `POST` and `PUT /threads/{thread}/state` with `values` and perhaps a checkpoint: adds messages without
/// starting a run. Answers with the checkpoint after them. 409 if a run is going on, 404 if the thread or the
/// checkpoint is unknown.
pub(super) async fn update(
    State(shared): State<Arc<Shared>>,
    Path(name): Path<String>,
    said: Bytes,
) -> Result<Json<Value>, Fault> {
    let body = body(&said)?;
    let thread = known(&shared, &name).await?.id;
    let (mut messages, mut left_out) = (Vec::new(), Vec::new());
    if let Some(values) = body.get("values") {
        hear_input("values", values, &mut messages, &mut left_out)?;
    }
    let news =
        start::find(&shared, &thread, checkpoint(&body)?.as_deref(), messages, Strategy::Reject).await?;
    let name = clock::fresh_name();
    let mut said = dialects::Decoded::default();
    for (number, spoken) in news.messages.into_iter().enumerate() {
        let message = spoken.id.unwrap_or_else(|| MessageId::new(&format!("{name}.{number}")));
        said.push(
            &RunId::none(),
            Kind::Message(Message { message, role: spoken.role, text: spoken.text, files: spoken.files }),
        );
    }
    if !said.envelopes.is_empty() {
        shared.fanout.publish(&news.into, Publication::of(said.envelopes))?;
    }
    shared.threads.goes_on_in(&thread, &news.into);
    drop(news.turn);
    let thread = Thread::read(&shared, &thread).await?;
    let state = thread.head().map(|head| thread.state(head, head.states.len().saturating_sub(1)));
    let checkpoint = state.and_then(|state| state.get("checkpoint").cloned()).unwrap_or_default();
    let configurable = checkpoint.clone();
    Ok(Json(json!({"checkpoint": checkpoint, "configurable": configurable})))
}
