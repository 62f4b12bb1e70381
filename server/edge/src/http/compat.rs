//! The doors: clients of other servers ask the hub's agents in their own protocols and are answered in them.
//! A door reads the request, starts the agent's run, and writes that one run to the caller in the caller's
//! dialect:
//!
//! ```text
//! request ── a door ──▶ TurnRequest ── begin ──▶ Begun { conversation, run } ── answer ──▶ the run, encoded
//!                                         └──▶ the agent's run goes on by itself; everybody else watches it
//! ```
//!
//! Most callers keep the history themselves and send all of it each time. `exchange::continuation` finds out
//! what of it is new and to which conversation it belongs; [`crate::threads`] keeps what it needs to know. If
//! a history differs from the conversation at some point, the run goes into a fork that begins there: what
//! was said stays.
//!
//! Reading order: this file, `begin` (the conversation, and the run), `answer` (the run as a stream),
//! `attended` (callers that hang up), `history` and `caller` (what most requests have in common), then one
//! file or folder for each door.

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
use super::conversations::HttpViewer;
use crate::config::Config;
use crate::door::DEFAULT_DOOR;
use crate::http::AppState;
use crate::inbound::params;
use agents::Agents;
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
mod files;
mod forge;
mod history;
pub(crate) mod openai;
mod plain;
mod platform;
mod sampling;

use attended::Attended;
use begin::begin;
use caller::caller;
use history::history;

/// The header that names the conversation of a request, and in the answer the conversation of the run.
pub(super) const CONVERSATION: &str = "fanlight-conversation";

/// What a caller asks for, whatever the protocol. A door makes it of one request, and `begin` consumes it;
/// nothing of it outlives the request.
#[derive(Debug)]
struct TurnRequest {
    /// The door that was used: one of [`crate::DOORS`].
    door: &'static str,
    /// The name of the agent. `begin` does not check it: an unknown one is refused by the registry with
    /// `unknown_agent`.
    agent: CompactString,
    /// The conversation that the caller means.
    thread: Thread,
    /// The messages, the newest last. Most callers send the whole history.
    messages: Vec<Spoken>,
    /// Whether `messages` are certainly the whole history.
    extent: Extent,
    /// The results of calls that the caller has executed. They are appended to the run that left its calls to
    /// the caller; results of calls that do not wait are ignored.
    results: Vec<CallResult>,
    /// The tools that the caller can execute. They are left out, and named as such, for agents that cannot
    /// offer them to a model.
    tools: Vec<OfferedTool>,
    /// The caller's own name for the run, if its protocol has one (AG-UI's `runId`). Otherwise the registry
    /// makes up an id.
    run: Option<RunId>,
    /// Answers to calls that wait for consent. With any of these the waiting run goes on, no new one begins,
    /// and what `messages` and `results` bring is not appended.
    consents: Vec<Consent>,
    /// Who asks, and how the run is to be done.
    terms: Terms,
}

impl TurnRequest {
    /// Asks for a turn of `agent` after `messages`, with no tools, results or answers.
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

/// A caller's answer to a call that waits for consent. `begin::go_on` passes it to the run that made the
/// call.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Consent {
    tool: ToolCallId,
    answer: Answer,
}

/// The conversation that a caller means.
#[derive(Debug, Clone)]
enum Thread {
    /// The conversation of this name, or the fork in which it goes on.
    Named(ConversationId),
    /// This very conversation, without regard to forks of it.
    Exactly(ConversationId),
    /// Not named: the conversation in which this caller was last given the history that the request contains.
    Told(Caller),
}

/// The result of a call that the caller has executed, as the next request of its history brings it.
#[derive(Debug, Clone, PartialEq, Eq)]
struct CallResult {
    /// The call of an earlier run, by the id that the answer gave it.
    tool: ToolCallId,
    /// What the tool gave back: text as a JSON string, or any other value where the protocol has them.
    output: Json,
    /// Whether the tool failed; `output` is then the text of its error.
    is_error: bool,
}

/// A run that was begun, or goes on, for a caller. Made by `begin::begun`, consumed by whatever writes the
/// answer. Dropping it counts as hanging up, unless [`Attended::over`] was called; the run itself belongs to
/// the registry of agents and goes on or is stopped as the door says.
#[derive(Debug)]
struct Begun {
    /// The conversation, entered as a viewer.
    viewer: HttpViewer,
    /// Where the run is, and the position after which all of its events come.
    started: Started,
    /// Whether the run had waited for the caller and goes on: what came before is not told again.
    has_waited: bool,
    /// What of the request the agent cannot take into account, by name.
    left_out: Vec<&'static str>,
    /// Whether the conversation contains messages that the caller does not have.
    has_gap: bool,
    /// Notices when the caller hangs up: it is dropped together with the answer.
    attended: Attended,
}

impl Begun {
    /// The conversation of the run.
    fn conversation(&self) -> &ConversationId {
        &self.started.place.conversation
    }

    /// The id of the run.
    fn run(&self) -> &RunId {
        &self.started.place.run
    }
}

/// The routes of the doors below `/compat`. The routes of OpenAI's own paths (`/v1/chat/completions`, `/v1/models`) are
/// with the routes of the API. Each
/// route needs a line in `server/access/src/routes.rs`, otherwise it does not serve.
pub(crate) fn routes() -> Router<AppState> {
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

/// A fresh name for a conversation with `agent`: the agent's name, a hyphen, and a name that the clock makes
/// up. Fails with `bad_conversation` if that is no valid name, for example because the agent's name is too
/// long.
fn fresh(agent: &str) -> Result<ConversationId, Refusal> {
    named(&format!("{agent}-{}", clock::fresh_name()))
}

/// The conversation of this name. Fails with `bad_conversation` if the name is not allowed, and says why.
fn named(name: &str) -> Result<ConversationId, Refusal> {
    ConversationId::parse(name).map_err(|error| Refusal::new(ErrorCode::BadConversation, error.to_string()))
}

/// Waits until the run is over and returns its view as it is then. There is no limit of time: a run that
/// waits for a person is waited for too. Fails with `shutting_down` when the hub drains. Cancelling is safe.
async fn over(begun: &Begun) -> Result<model::view::RunView, Refusal> {
    let conversation = &begun.viewer.conversation;
    let drain = begun.viewer.reading.drain.clone();
    loop {
        let mut appended = std::pin::pin!(conversation.appended());
        appended.as_mut().enable();
        let ended = |view: &View| view.runs.get(begun.run()).filter(|run| !run.is_running()).cloned();
        if let Some(run) = conversation.read_view(ended) {
            return Ok(run);
        }
        tokio::select! {
            () = appended => {}
            () = drain.cancelled() => {
                return Err(Refusal::new(ErrorCode::ShuttingDown, "the hub stops, and the run with it"));
            }
        }
    }
}

/// The agent behind a door whose clients name a model that need not be an agent: the agent of that name,
/// otherwise the one that is set for the door, otherwise the one for all doors ([`DEFAULT_DOOR`]), otherwise
/// the first in alphabetical order.
///
/// Fails with `unknown_agent` if the hub has no agents at all.
fn behind(
    (agents, config): (&Agents, &Config),
    door: &str,
    model: Option<&str>,
) -> Result<CompactString, Refusal> {
    let named = model.filter(|model| agents.knows(model)).map(CompactString::new);
    let set = || [door, DEFAULT_DOOR].iter().find_map(|door| config.compat.get(*door)?.agent.clone());
    let first = || agents.names().next().map(CompactString::new);
    named.or_else(set).or_else(first).ok_or_else(|| {
        let why =
            "no agent is set for this endpoint; agents are set in tables [agents.NAME] of the hub's settings";
        Refusal::new(ErrorCode::UnknownAgent, why)
    })
}

/// Reads the body of a request into memory, at most `REQUEST_BYTES_MAX` bytes. Fails with `too_large` beyond,
/// with `unsupported_encoding` if it is compressed, with `body_timeout` if it brings no byte for too long,
/// and with `bad_request` if it breaks off.
async fn read(headers: &HeaderMap, request: Request) -> Result<Vec<u8>, Refusal> {
    params::plain(headers).map_err(Refusal::from)?;
    Ok(body::whole(request.into_body(), REQUEST_BYTES_MAX).await.map_err(Refusal::from)?.to_vec())
}

/// Parses a body that must be a JSON object. Fails with `bad_request`, whose text says whether it was no JSON
/// or no object.
fn object(body: &[u8]) -> Result<Value, Refusal> {
    match serde_json::from_slice(body) {
        Ok(value @ Value::Object(_)) => Ok(value),
        Ok(_other) => Err(Refusal::new(ErrorCode::BadRequest, "the body is not a JSON object")),
        Err(error) => Err(Refusal::new(ErrorCode::BadRequest, format!("the body is not JSON: {error}"))),
    }
}

/// The conversation that the header [`CONVERSATION`] names; `None` without it. Fails with `bad_conversation`
/// if the name is not allowed.
fn of_header(headers: &HeaderMap) -> Result<Option<ConversationId>, Refusal> {
    match headers.get(CONVERSATION) {
        None => Ok(None),
        Some(name) => named(name.to_str().unwrap_or_default()).map(Some),
    }
}

/// The conversation for a thread name that a client has chosen. A name that is not allowed is replaced by
/// `thread-` and its hash, so that every name leads to one conversation, always the same.
pub(super) fn of_thread(name: &str) -> ConversationId {
    let hashed = || format!("thread-{}", Fingerprint::name_of(&[name]));
    ConversationId::parse(name).or_else(|_odd| ConversationId::parse(&hashed())).expect("a plain short name")
}
