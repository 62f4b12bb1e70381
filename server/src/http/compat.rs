//! Served contracts: clients of other servers ask the hub's agents in their own words, and are answered in them. A door
//! reads the request, asks the agent, and tells the caller that one run in the caller's dialect:
//!
//! ```text
//! request ── a door ──▶ Asked ── begin ──▶ Begun { conversation, run } ── answer ──▶ the run, encoded
//!                                   └──▶ the agent's run goes on by itself; everybody else watches it
//! ```
//!
//! Most callers keep the history themselves and send all of it each time. What of it is new is found out in [`place`],
//! and in which conversation it is told in [`threads`]. A history that went another way than the conversation is told in
//! a fork: what was said stays.

use std::sync::Arc;

use axum::Router;
use axum::body::to_bytes;
use axum::extract::Request;
use axum::http::HeaderMap;
use axum::routing::{get, post};
use compact_str::CompactString;
use serde_json::Value;
use shared::code::ErrorCode;
use shared::dialect::Decoded;
use shared::event::{Kind, ToolResult, ToolState};
use shared::exchange::Offered;
use shared::limits::REQUEST_BYTES_MAX;
use shared::view::TopItem;
use shared::{ConversationId, Json, RunId, Seq, ToolCallId, View};

use super::conversations::Seat;
use super::params;
use crate::agents::commands::Refusal;
use crate::agents::fork::{Cut, fork};
use crate::agents::{Agents, Spoken, Started, Turn};
use crate::clock;
use crate::hub::{Conversation, Publication};
use crate::log::blocking;
use crate::state::Shared;

mod ag_ui;
mod ai_sdk;
mod answer;
mod forge;
mod history;
pub(crate) mod openai;
mod place;
mod plain;
mod threads;

use history::history;
use place::{Placing, place};
pub(crate) use threads::Threads;

/// Names the conversation of a request, and in the answer the one where it is told.
pub(super) const CONVERSATION: &str = "fanlight-conversation";

/// Doors behind which an agent stands that their clients do not name; they are keys of `[compat]`.
pub const DOORS: [&str; 4] = ["bernard", "deep-agent", "forge", "ralph"];

/// Events that are looked through at once for a place in a conversation.
const EVENTS_AT_ONCE: usize = 2_000;

/// What a caller wants.
#[derive(Debug)]
struct Asked {
    /// The agent.
    agent: CompactString,
    /// Where.
    thread: Thread,
    /// What was said, the newest last. From most callers it is all that was ever said.
    messages: Vec<Spoken>,
    /// What calls gave back that the caller has executed.
    results: Vec<Given>,
    /// The tools that the caller executes.
    tools: Vec<Offered>,
    /// How the caller calls the run.
    run: Option<RunId>,
}

/// Which conversation a caller means.
#[derive(Debug, Clone)]
enum Thread {
    /// This one.
    Named(ConversationId),
    /// The one in which was said what the request says, by a caller with this mark.
    Told(u64),
}

/// What a call gave back that the caller has executed.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Given {
    tool: ToolCallId,
    output: Json,
    is_error: bool,
}

/// A run that a caller has begun.
#[derive(Debug)]
struct Begun {
    seat: Seat,
    started: Started,
}

impl Begun {
    fn conversation(&self) -> &ConversationId {
        &self.started.place.conversation
    }

    fn run(&self) -> &RunId {
        &self.started.place.run
    }
}

/// The doors that stand below `/compat`.
pub(crate) fn routes() -> Router<Arc<Shared>> {
    Router::new()
        .route("/compat/bernard/v1/chat/completions", post(openai::bernard))
        .route("/compat/bernard/v1/models", get(openai::models))
        .route("/compat/bernard/v1/models/{model}", get(openai::model))
        .route("/compat/deep-agent/chat/stream", post(plain::deep_agent))
        .route("/compat/ralph/chat/stream", post(plain::ralph))
        .merge(forge::routes())
        .route("/compat/ag-ui/{agent}", post(ag_ui::run))
        .route("/compat/ai-sdk/{agent}", post(ai_sdk::send))
        .route("/compat/ai-sdk/{agent}/{chat}/stream", get(ai_sdk::resume))
}

/// Begins what a caller wants. One at a time: a caller who asks twice at once must not be heard twice.
async fn begin(shared: &Arc<Shared>, asked: Asked) -> Result<Begun, Refusal> {
    if shared.is_draining() {
        return Err(Refusal::new(ErrorCode::ShuttingDown, "the hub stops; come back in a moment"));
    }
    let Asked { agent, thread, messages, results, tools, run } = asked;
    let _one_begins = shared.threads.one().await;
    let id = match &thread {
        Thread::Named(id) => shared.threads.current(id),
        Thread::Told(scope) => {
            let mark = threads::mark(*scope, &agent);
            let joined = blocking(|| shared.threads.find(&shared.hub, mark, &messages));
            joined.map_or_else(|| fresh(&agent), Ok)?
        }
    };
    let found =
        blocking(|| shared.hub.find(&id)).map_err(|error| Refusal::new(error.code(), error.to_string()))?;
    let (into, from) = match found {
        Some(found) if shared.agents.knows(&agent) => {
            let takes = blocking(|| take_results(shared, &found, &results))?;
            let (placing, is_known) =
                found.look(|view| (place(view, &messages, takes), !view.items.is_empty()));
            match placing {
                _ if !is_known => (id.clone(), 0),
                Placing::Rest(from) => (id.clone(), from),
                Placing::Before(item, from) => {
                    let at = seq_before(shared, &found, &item).await?;
                    let cut = Cut { at: Some(at), ..Cut::default() };
                    // Before the first event there is nothing that could be taken along.
                    let into = if at == 0 { fresh(&agent) } else { fork(shared, &found, cut, None).await };
                    (into?, from)
                }
            }
        }
        _ => (id.clone(), 0),
    };
    let news = messages.get(from..).unwrap_or_default().to_vec();
    let turn = Turn { run, tools, ..Turn::new(agent.clone(), into.clone(), news) };
    let started = blocking(|| Agents::start(shared, turn))?;
    match thread {
        Thread::Named(name) => shared.threads.moved(name, into.clone()),
        Thread::Told(scope) => {
            shared.threads.remember(threads::mark(scope, &agent), &messages, &started.place);
        }
    }
    let conversation =
        shared.hub.enter(&into).map_err(|error| Refusal::new(error.code(), error.to_string()))?;
    let seat = Seat { shared: Arc::clone(shared), conversation };
    Ok(Begun { seat, started })
}

/// A conversation of its own.
fn fresh(agent: &str) -> Result<ConversationId, Refusal> {
    named(&format!("{agent}-{}", clock::fresh_name()))
}

fn named(name: &str) -> Result<ConversationId, Refusal> {
    ConversationId::parse(name).map_err(|error| Refusal::new(ErrorCode::BadConversation, error.to_string()))
}

/// Takes what calls gave back that a run has left to the caller. True when there was one.
fn take_results(shared: &Shared, conversation: &Conversation, results: &[Given]) -> Result<bool, Refusal> {
    let mut said = Decoded::default();
    conversation.look(|view| {
        let Some((id, run)) = view.runs.last() else { return };
        for given in results {
            let waits = run.tools.get(&given.tool).is_some_and(|tool| tool.state == ToolState::Pending);
            if waits && !run.is_running() {
                let result = ToolResult {
                    tool: given.tool.clone(),
                    output: given.output.clone(),
                    is_error: given.is_error,
                    queued_ms: None,
                    exec_ms: None,
                    files: None,
                    embeds: None,
                    reference: None,
                };
                said.push(id, Kind::ToolResult(result));
            }
        }
    });
    if said.envelopes.is_empty() {
        return Ok(false);
    }
    let published = shared.fanout.publish(conversation.id(), Publication::of(said.envelopes));
    published.map_err(|error| Refusal::new(error.code(), error.to_string()))?;
    Ok(true)
}

/// Where a conversation stood before `item` began.
async fn seq_before(
    shared: &Shared,
    conversation: &Arc<Conversation>,
    item: &TopItem,
) -> Result<Seq, Refusal> {
    let gone = |why: String| Refusal::new(ErrorCode::Gone, why);
    let begins = |kind: &Kind, run: &RunId| match item {
        TopItem::Message(id) => matches!(kind, Kind::Message(message) if message.message == *id),
        TopItem::Run(id) => run == id,
    };
    let mut after = 0;
    loop {
        let page = shared.hub.read(conversation, after, EVENTS_AT_ONCE).await;
        let page = page.map_err(|error| gone(error.to_string()))?;
        let found = page.envelopes.iter().find(|envelope| begins(&envelope.event.kind, &envelope.event.run));
        if let Some(found) = found {
            return Ok(found.seq.saturating_sub(1));
        }
        let last = page.envelopes.last().map(|envelope| envelope.seq);
        after = last.ok_or_else(|| gone(String::from("the log does not have the beginning any more")))?;
    }
}

/// Waits until the run is over, and gives it.
async fn over(begun: &Begun) -> Result<shared::view::RunView, Refusal> {
    let conversation = &begun.seat.conversation;
    let drain = begun.seat.shared.drain.clone();
    loop {
        let mut moved = std::pin::pin!(conversation.moved());
        moved.as_mut().enable();
        let ended = |view: &View| view.runs.get(begun.run()).filter(|run| !run.is_running()).cloned();
        if let Some(run) = conversation.look(ended) {
            return Ok(run);
        }
        tokio::select! {
            () = moved => {}
            () = drain.cancelled() => {
                return Err(Refusal::new(ErrorCode::ShuttingDown, "the hub stops, and the run with it"));
            }
        }
    }
}

/// The agent behind a door whose clients name a model that need not be one: the agent of that name, else the one that is
/// set for the door, else the first.
fn behind(shared: &Shared, door: &str, model: Option<&str>) -> Result<CompactString, Refusal> {
    let named = model.filter(|model| shared.agents.knows(model)).map(CompactString::new);
    let set = || shared.config.compat.get(door).cloned();
    let first = || shared.agents.names().next().map(CompactString::new);
    named.or_else(set).or_else(first).ok_or_else(|| {
        let why =
            "no agent stands behind this door; agents are set in tables [agents.NAME] of the hub's settings";
        Refusal::new(ErrorCode::UnknownAgent, why)
    })
}

/// What a request carries.
async fn read(headers: &HeaderMap, request: Request) -> Result<Vec<u8>, Refusal> {
    params::plain(headers).map_err(|_packed| {
        Refusal::new(ErrorCode::UnsupportedEncoding, "the body is compressed; send it as it is")
    })?;
    let body = request.into_body();
    let read = to_bytes(body, REQUEST_BYTES_MAX).await.map_err(|error| {
        let why = format!("the body cannot be read within {REQUEST_BYTES_MAX} bytes: {error}");
        Refusal::new(ErrorCode::TooLarge, why)
    })?;
    Ok(read.to_vec())
}

/// A request that is one JSON object.
fn object(body: &[u8]) -> Result<Value, Refusal> {
    match serde_json::from_slice(body) {
        Ok(value @ Value::Object(_)) => Ok(value),
        Ok(_other) => Err(Refusal::new(ErrorCode::BadRequest, "the body is no JSON object")),
        Err(error) => Err(Refusal::new(ErrorCode::BadRequest, format!("the body is no JSON: {error}"))),
    }
}

/// The conversation that a header names.
fn of_header(headers: &HeaderMap) -> Result<Option<ConversationId>, Refusal> {
    match headers.get(CONVERSATION) {
        None => Ok(None),
        Some(name) => named(name.to_str().unwrap_or_default()).map(Some),
    }
}

/// The conversation of a thread that its client has named, whatever its name looks like.
fn of_thread(name: &str) -> ConversationId {
    let hashed = || {
        let mut hasher = fnv::FnvHasher::default();
        std::hash::Hasher::write(&mut hasher, name.as_bytes());
        format!("thread-{:016x}", std::hash::Hasher::finish(&hasher))
    };
    ConversationId::parse(name).or_else(|_odd| ConversationId::parse(&hashed())).expect("a plain short name")
}

/// What tells one caller from others who say the same: the key that it sends, of which nothing is kept.
fn caller(shared: &Shared, headers: &HeaderMap) -> u64 {
    shared.proxy.caller(headers)
}
