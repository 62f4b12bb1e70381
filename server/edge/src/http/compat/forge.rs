//! Forge: `/compat/forge/…`, the API that forge-ui expects of its orchestrator. Each request contains the
//! whole history, and the conversation is found by it. Questions of forge-ui about keys and models of
//! providers are answered with the agents: they are the models.
//!
//! ```json
//! {"user_message": "What time is it?", "model": "fanlight::helper", "system_prompt": "…",
//!  "messages": [{"role": "user", "content": "Hello"}, {"role": "assistant", "content": "Hello!"}],
//!  "enable_tools": true}
//! ```
//!
//! The question is in `user_message` and not among the `messages`. `enable_tools: false` offers the model no
//! tools.

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::http::HeaderMap;
use axum::response::Response;
use axum::routing::{get, post, put};
use axum::{Json, Router};
use model::code::ErrorCode;
use serde_json::{Value, json};

use super::answer::{DoorRequest, answer};
use super::{Thread, TurnRequest, behind, caller, history, object, of_header, read, sampling};
use crate::http::AppState;
use crate::inbound::problem::Problem;
use crate::state::Shared;
use agents::Refusal;
use agents::{Spoken, Terms};

mod models;

/// Fields of forge-ui's requests that only the agent's settings decide.
const OF_THE_AGENT: [&str; 3] = ["use_toon_format", "use_tool_rag_mode", "extra_mcp_servers"];

/// The routes below `/compat/forge`.
pub(super) fn routes() -> Router<AppState> {
    Router::new()
        .route("/compat/forge/chat/stream", post(chat))
        .route("/compat/forge/health", get(health))
        .route("/compat/forge/config", get(config))
        .route("/compat/forge/tools", get(tools))
        .route("/compat/forge/tools/refresh", post(refresh_tools))
        .route("/compat/forge/mcp/validate", post(models::validate))
        .route("/compat/forge/models", get(models::all).post(models::add))
        .route("/compat/forge/models/refresh", post(models::refresh))
        .route("/compat/forge/models/fetch", post(models::fetch))
        .route("/compat/forge/models/grouped", get(models::grouped))
        .route("/compat/forge/models/suggestions/{provider}", get(models::suggestions))
        .route("/compat/forge/models/{provider}/{*model}", put(models::update).delete(models::remove))
        .route("/compat/forge/providers", get(models::providers))
        .route("/compat/forge/providers/{provider}", put(models::turn))
}

/// `POST /compat/forge/chat/stream`: starts a run and streams it in the dialect `forge`. Fails before the
/// stream with a problem: 400 `bad_request` if `user_message` is missing, 404 `unknown_agent` if the hub has
/// no agent.
async fn chat(
    State(shared): State<Arc<Shared>>,
    headers: HeaderMap,
    request: Request,
) -> Result<Response, Problem> {
    Ok(answer(&shared, wish(&shared, &headers, request).await?).await?)
}

/// Reads the request, and fails if it is not one of the dialect.
async fn wish(shared: &Shared, headers: &HeaderMap, request: Request) -> Result<DoorRequest, Refusal> {
    let fields = object(&read(headers, request).await?)?;
    let (messages, left_out) = said(&fields)?;
    let model = fields.get("model").and_then(Value::as_str);
    // Models may be named with their provider: `fanlight::helper`, `fanlight/helper`.
    let model = model.map(|model| model.rsplit_once("::").map_or(model, |(_, name)| name));
    let model = model.map(|model| model.strip_prefix("fanlight/").unwrap_or(model));
    let agent = behind((&shared.agents, &shared.config), "forge", model)?;
    let thread = match of_header(headers)? {
        Some(id) => Thread::Named(id),
        None => Thread::Told(caller("forge", headers, &fields)),
    };
    let without_tools = fields.get("enable_tools") == Some(&Value::Bool(false));
    let terms = Terms { without_tools, sampling: sampling::given(Some(&fields))?, ..Terms::default() };
    let asked = TurnRequest { terms, ..TurnRequest::new("forge", agent, thread, messages) };
    Ok(DoorRequest { left_out, ..DoorRequest::new(asked, "forge") })
}

/// The messages of a request, and what of it the hub ignores: files, and fields of [`OF_THE_AGENT`] that ask
/// for something. `system_prompt` comes first, `user_message` last. Fails with `bad_request` without a
/// `user_message`.
fn said(fields: &Value) -> Result<(Vec<Spoken>, Vec<String>), Refusal> {
    let text = fields.get("user_message").and_then(Value::as_str).filter(|text| !text.is_empty());
    let text = text.ok_or_else(|| Refusal::new(ErrorCode::BadRequest, "user_message: a text is expected"))?;
    let mut left_out = Vec::new();
    let mut messages = match fields.get("messages") {
        None | Some(Value::Null) => Vec::new(),
        Some(Value::Array(all)) if all.is_empty() => Vec::new(),
        given => history(given, &mut left_out)?,
    };
    if let Some(system) = fields.get("system_prompt").and_then(Value::as_str).filter(|text| !text.is_empty())
    {
        messages.insert(
            0,
            Spoken { id: None, role: "system".into(), text: system.to_owned(), files: Vec::new() },
        );
    }
    messages.push(Spoken::user(text));
    let differs = |name: &&&str| match fields.get(**name) {
        None | Some(Value::Null) => false,
        Some(Value::Bool(value)) => *value,
        Some(Value::Array(all)) => !all.is_empty(),
        Some(_) => true,
    };
    left_out.extend(OF_THE_AGENT.iter().filter(differs).map(|name| (*name).to_owned()));
    Ok((messages, left_out))
}

/// `GET /compat/forge/health`: always well; says whether there are tools.
async fn health(State(shared): State<Arc<Shared>>) -> Json<Value> {
    let tools = tools_of(&shared).await;
    Json(json!({"status": "ok", "armory_available": !tools.is_empty()}))
}

/// `GET /compat/forge/config`: claims a key for each provider, since agents need none from the client.
async fn config() -> Json<Value> {
    // A client without keys of its own asks only providers that have one here.
    let known = json!({"openrouter": true, "openai": true, "anthropic": true, "google": true});
    Json(json!({"server_providers": known, "allow_byok": false}))
}

/// `GET /compat/forge/tools`: the tools of the MCP servers of the agent behind the door.
async fn tools(State(shared): State<Arc<Shared>>) -> Json<Value> {
    Json(tools_of(&shared).await.into())
}

/// `POST /compat/forge/tools/refresh`: lists them again.
async fn refresh_tools(State(shared): State<Arc<Shared>>) -> Json<Value> {
    Json(json!({"status": "refreshed", "tool_count": tools_of(&shared).await.len()}))
}

/// The tools of the agent behind the door, as its servers list them; none without an agent.
async fn tools_of(shared: &Shared) -> Vec<Value> {
    match behind((&shared.agents, &shared.config), "forge", None) {
        Ok(agent) => shared.tools.list(shared.agents.servers(&agent)).await,
        Err(_nobody) => Vec::new(),
    }
}
