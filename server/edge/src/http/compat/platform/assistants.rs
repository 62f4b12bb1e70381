//! `/assistants`, `/info` and `/ok`: each agent of the hub is an assistant with a graph of the same name.
//! Assistants are read-only: what an agent is stands in the settings of the hub.

use std::sync::Arc;

use axum::extract::{Extension, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse as _, Response};
use axum::{Json, body::Bytes};
use compact_str::CompactString;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use super::DoorName;
use super::fault::Fault;
use super::wire::body;
use crate::config::Config;
use crate::http::compat::behind;
use crate::inbound::params::Path;
use ::agents::Agents;

/// Most assistants in one answer; a request may ask for less.
const LISTED_MAX: usize = 1_000;

/// `GET /ok`: answers `{"ok": true}` as long as the hub serves.
pub(super) async fn ok() -> Json<Value> {
    Json(json!({"ok": true}))
}

/// `GET /info`: the version of the hub, and which parts of the platform are served: assistants, but neither
/// crons nor the store.
pub(super) async fn info() -> Json<Value> {
    let flags = json!({"assistants": true, "crons": false, "langsmith": false, "store": false});
    Json(json!({"version": env!("CARGO_PKG_VERSION"), "host": {"kind": "fanlight"}, "flags": flags}))
}

/// The agent that `name` means, by its name or its assistant's id; otherwise the one that is set for the
/// door. Below `/compat/bernard` any agent will do, since Bernard's page names a graph of its own. Fails with
/// 404, and lists the agents, if there is none.
pub(super) fn agent(
    (agents, config): (&Agents, &Config),
    DoorName(door): DoorName,
    name: &str,
) -> Result<CompactString, Fault> {
    let meant = agents.names().find(|agent| *agent == name || id_of(agent) == name);
    if let Some(agent) = meant {
        return Ok(agent.into());
    }
    if door == "bernard" || config.compat.get(door).is_some_and(|set| set.agent.is_some()) {
        return Ok(behind((agents, config), door, Some(name))?);
    }
    let names: Vec<_> = agents.names().collect();
    let there_are = match names.as_slice() {
        [] => String::from("no agent is set: they are tables [agents.NAME] of the hub's settings"),
        names => format!("there are {}; `[compat] langgraph` names one for all others", names.join(", ")),
    };
    Err(Fault::unknown(format!("Assistant {name:?} not found: {there_are}")))
}

/// The id of an agent's assistant: some clients accept nothing but a UUID, so it is made from the name. It is
/// the same in every hub and after every restart.
pub(super) fn id_of(agent: &str) -> String {
    uuid(&Sha256::digest(format!("fanlight assistant {agent}")))
}

/// The first 16 of `bytes` as a UUID of version 8.
pub(super) fn uuid(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(36);
    for (at, byte) in bytes.iter().take(16).enumerate() {
        if matches!(at, 4 | 6 | 8 | 10) {
            text.push('-');
        }
        let byte = match at {
            6 => (byte & 0x0f) | 0x80,
            8 => (byte & 0x3f) | 0x80,
            _ => *byte,
        };
        let digits = [byte >> 4, byte & 15].map(|digit| char::from_digit(digit.into(), 16));
        text.extend(digits.into_iter().flatten());
    }
    text
}

/// An assistant in the platform's form. The hub does not know when an agent was made, so its times are those
/// of 1970.
fn told(agent: &str) -> Value {
    json!({"assistant_id": id_of(agent), "graph_id": agent, "name": agent, "description": null, "version": 1,
        "config": {}, "context": {}, "metadata": {"created_by": "system"},
        "created_at": "1970-01-01T00:00:00.000Z", "updated_at": "1970-01-01T00:00:00.000Z"})
}

/// The assistants that fit the filter in `body`: `graph_id` is compared as a whole, `name` may be a part of
/// the name. Other filters are ignored.
fn found(agents: &Agents, body: &Value) -> Vec<Value> {
    let graph = body.get("graph_id").and_then(Value::as_str);
    let name = body.get("name").and_then(Value::as_str);
    let wanted = |agent: &&str| {
        graph.is_none_or(|graph| graph == *agent) && name.is_none_or(|name| agent.contains(name))
    };
    agents.names().filter(wanted).map(told).collect()
}

/// `POST /assistants/search` with `graph_id`, `name`, `limit` and `offset`: the assistants that fit, at most
/// [`LISTED_MAX`], as a list. An empty body lists all.
pub(super) async fn search(State(agents): State<Arc<Agents>>, said: Bytes) -> Result<Json<Value>, Fault> {
    let body = body(&said)?;
    let number = |name: &str| body.get(name).and_then(Value::as_u64).and_then(|it| usize::try_from(it).ok());
    let limit = number("limit").unwrap_or(LISTED_MAX).min(LISTED_MAX);
    let found = found(&agents, &body);
    Ok(Json(found.into_iter().skip(number("offset").unwrap_or(0)).take(limit).collect()))
}

/// `POST /assistants/count` with `graph_id` and `name`: how many fit, as a number.
pub(super) async fn count(State(agents): State<Arc<Agents>>, said: Bytes) -> Result<Json<Value>, Fault> {
    Ok(Json(found(&agents, &body(&said)?).len().into()))
}

/// `POST /assistants`: answers with the existing assistant if the body says `if_exists: "do_nothing"`,
/// otherwise 409, because agents are made in the hub's settings. 404 if no agent has that graph.
pub(super) async fn create(
    State(agents): State<Arc<Agents>>,
    State(config): State<Arc<Config>>,
    Extension(door): Extension<DoorName>,
    said: Bytes,
) -> Result<Response, Fault> {
    let body = body(&said)?;
    let graph = body.get("graph_id").and_then(Value::as_str).unwrap_or_default();
    let agent = agent((&agents, &config), door, graph)?;
    if body.get("if_exists").and_then(Value::as_str) == Some("do_nothing") {
        return Ok(Json(told(&agent)).into_response());
    }
    let why = format!(
        "the assistant of the graph {agent:?} is there; others are agents in the settings of the hub"
    );
    Err(Fault::new(StatusCode::CONFLICT, why))
}

/// `GET /assistants/{assistant}`: one assistant.
pub(super) async fn get(
    State(agents): State<Arc<Agents>>,
    State(config): State<Arc<Config>>,
    Extension(door): Extension<DoorName>,
    Path(name): Path<String>,
) -> Result<Json<Value>, Fault> {
    Ok(Json(told(&agent((&agents, &config), door, &name)?)))
}

/// `GET /assistants/{assistant}/graph`: the graph with two nodes, `model` and `tools`, as which its runs are
/// told. Which tools an agent has is not shown.
pub(super) async fn graph(
    State(agents): State<Arc<Agents>>,
    State(config): State<Arc<Config>>,
    Extension(door): Extension<DoorName>,
    Path(name): Path<String>,
) -> Result<Json<Value>, Fault> {
    agent((&agents, &config), door, &name)?;
    let schema = |id: &str| json!({"id": id, "type": "schema", "data": id});
    let node = |id: &str| json!({"id": id, "type": "runnable", "data": {"id": ["fanlight", id], "name": id}});
    let nodes = json!([schema("__start__"), node("model"), node("tools"), schema("__end__")]);
    let edges = json!([{"source": "__start__", "target": "model"},
        {"source": "model", "target": "tools", "conditional": true},
        {"source": "model", "target": "__end__", "conditional": true}, {"source": "tools", "target": "model"}]);
    Ok(Json(json!({"nodes": nodes, "edges": edges})))
}

/// `GET /assistants/{assistant}/schemas`: JSON Schemas of a state with `messages`, and of settings without
/// any field.
pub(super) async fn schemas(
    State(agents): State<Arc<Agents>>,
    State(config): State<Arc<Config>>,
    Extension(door): Extension<DoorName>,
    Path(name): Path<String>,
) -> Result<Json<Value>, Fault> {
    let agent = agent((&agents, &config), door, &name)?;
    let messages = json!({"type": "array", "items": {"type": "object"}});
    let state = json!({"type": "object", "title": "State", "properties": {"messages": messages}});
    let nothing = json!({"type": "object", "properties": {}});
    Ok(Json(json!({"graph_id": agent, "input_schema": state, "output_schema": state, "state_schema": state,
        "config_schema": nothing, "context_schema": nothing})))
}

/// `GET /assistants/{assistant}/subgraphs`: none, an empty object. 404 if the assistant is unknown.
pub(super) async fn subgraphs(
    State(agents): State<Arc<Agents>>,
    State(config): State<Arc<Config>>,
    Extension(door): Extension<DoorName>,
    Path(name): Path<String>,
) -> Result<Json<Value>, Fault> {
    agent((&agents, &config), door, &name)?;
    Ok(Json(json!({})))
}

/// `POST /assistants/{assistant}/versions`: the only version.
pub(super) async fn versions(
    State(agents): State<Arc<Agents>>,
    State(config): State<Arc<Config>>,
    Extension(door): Extension<DoorName>,
    Path(name): Path<String>,
) -> Result<Json<Value>, Fault> {
    Ok(Json(json!([told(&agent((&agents, &config), door, &name)?)])))
}
