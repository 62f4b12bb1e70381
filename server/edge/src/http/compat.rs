//! Served contracts: clients of other servers ask the hub's agents in their own words, and are answered in them. A door
//! reads the request, asks the agent, and tells the caller that one run in the caller's dialect:
//!
//! ```text
//! request ── a door ──▶ Asked ── begin ──▶ Begun { conversation, run } ── answer ──▶ the run, encoded
//!                                   └──▶ the agent's run goes on by itself; everybody else watches it
//! ```
//!
//! Most callers keep the history themselves and send all of it each time. What of it is new, and in which conversation it is told,
//! is found out in `exchange::continuation`; [`crate::threads`] remembers for it. A history that went another way than the conversation is told in
//! a fork: what was said stays.

use std::sync::Arc;

use axum::Router;
use axum::extract::Request;
use axum::http::HeaderMap;
use axum::routing::{get, post};
use compact_str::CompactString;
use exchange::OfferedTool;
use exchange::continuation::{Caller, Extent};
use model::code::ErrorCode;
use model::limits::REQUEST_BYTES_MAX;
use model::print::Fingerprint;
use model::{ConversationId, Json, RunId, ToolCallId, View};
use serde_json::Value;

use super::body;
use super::conversations::Seat;
use super::params;
use crate::door::DEFAULT_DOOR;
use crate::state::Shared;
use agents::Answer;
use agents::Refusal;
use agents::{Spoken, Started, Terms};
use event_log::clock;

mod ag_ui;
mod ai_sdk;
mod answer;
mod attended;
mod begin;
mod caller;
mod forge;
mod history;
pub(crate) mod openai;
mod plain;
mod platform;

use attended::Attended;
use begin::begin;
use caller::caller;
use history::history;

/// Names the conversation of a request, and in the answer the one where it is told.
pub(super) const CONVERSATION: &str = "fanlight-conversation";

/// What a caller wants.
#[derive(Debug)]
struct Asked {
    /// The door at which it was asked: one of [`crate::DOORS`].
    door: &'static str,
    /// The agent.
    agent: CompactString,
    /// Where.
    thread: Thread,
    /// What was said, the newest last. From most callers it is all that was ever said.
    messages: Vec<Spoken>,
    /// Whether it is surely all.
    extent: Extent,
    /// What calls gave back that the caller has executed.
    results: Vec<Given>,
    /// The tools that the caller executes.
    tools: Vec<OfferedTool>,
    /// How the caller calls the run.
    run: Option<RunId>,
    /// What is said to calls that wait for consent: then their run goes on, and no other begins.
    consents: Vec<Consent>,
    /// Who asks, and how the run is to go.
    terms: Terms,
}

impl Asked {
    /// `messages` are said to `agent` at `door`, and no more is wanted.
    fn new(door: &'static str, agent: CompactString, thread: Thread, messages: Vec<Spoken>) -> Self {
        Self {
            door,
            agent,
            thread,
            messages,
            extent: Extent::Perhaps,
            results: Vec::new(),
            tools: Vec::new(),
            run: None,
            consents: Vec::new(),
            terms: Terms::default(),
        }
    }
}

/// What is said to a call that waits for consent.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Consent {
    tool: ToolCallId,
    answer: Answer,
}

/// Which conversation a caller means.
#[derive(Debug, Clone)]
enum Thread {
    /// This one.
    Named(ConversationId),
    /// The one in which this caller was answered what the request says was answered.
    Told(Caller),
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
    /// It went on that had waited: its caller has what was told before.
    has_waited: bool,
    /// What of the request the agent cannot be told.
    left_out: Vec<&'static str>,
    /// The caller does not have all that was said before.
    has_gap: bool,
    /// Told when the caller hangs up.
    attended: Attended,
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
        .route("/compat/bernard/api/v1/chat/completions", post(openai::bernard))
        .route("/compat/bernard/api/v1/models", get(openai::models))
        .route("/compat/bernard/api/v1/models/{model}", get(openai::model))
        .merge(platform::routes())
        .merge(forge::routes())
        .route("/compat/ag-ui/{agent}", post(ag_ui::run))
        .route("/compat/ai-sdk/{agent}", post(ai_sdk::send))
        .route("/compat/ai-sdk/{agent}/{chat}/stream", get(ai_sdk::resume))
}

/// A conversation of its own.
fn fresh(agent: &str) -> Result<ConversationId, Refusal> {
    named(&format!("{agent}-{}", clock::fresh_name()))
}

fn named(name: &str) -> Result<ConversationId, Refusal> {
    ConversationId::parse(name).map_err(|error| Refusal::new(ErrorCode::BadConversation, error.to_string()))
}

/// Waits until the run is over, and gives it.
async fn over(begun: &Begun) -> Result<model::view::RunView, Refusal> {
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
/// set for the door, else the one that is set for all ([`DEFAULT_DOOR`]), else the first in the order of the alphabet.
fn behind(shared: &Shared, door: &str, model: Option<&str>) -> Result<CompactString, Refusal> {
    let named = model.filter(|model| shared.agents.knows(model)).map(CompactString::new);
    let set = || [door, DEFAULT_DOOR].iter().find_map(|door| shared.config.compat.get(*door)?.agent.clone());
    let first = || shared.agents.names().next().map(CompactString::new);
    named.or_else(set).or_else(first).ok_or_else(|| {
        let why =
            "no agent stands behind this door; agents are set in tables [agents.NAME] of the hub's settings";
        Refusal::new(ErrorCode::UnknownAgent, why)
    })
}

/// What a request carries.
async fn read(headers: &HeaderMap, request: Request) -> Result<Vec<u8>, Refusal> {
    params::plain(headers).map_err(Refusal::from)?;
    Ok(body::whole(request.into_body(), REQUEST_BYTES_MAX).await.map_err(Refusal::from)?.to_vec())
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
    let hashed = || format!("thread-{}", Fingerprint::name_of(&[name]));
    ConversationId::parse(name).or_else(|_odd| ConversationId::parse(&hashed())).expect("a plain short name")
}
