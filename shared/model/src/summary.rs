//! The short form of a view, for checks and scripts (`fanlight fold --summary`, `?summary`).
//!
//! ```json
//! {"runs": [{"id": "r", "status": "complete", "text": "Hi.", "tool_calls": [{"name": "look", "state": "complete"}]}],
//!  "messages": [{"role": "user", "text": "Hello"}], "events": 12, "anomalies": []}
//! ```
//!
//! It borrows everything from the view.

use std::fmt;

use serde::{Serialize, Serializer};
use serde_json::Value;

use crate::anomaly::Anomaly;
use crate::event::{ErrorFact, RunStatus, ToolState, Usage};
use crate::ids::ToolCallId;
use crate::view::{AgentView, RunView, ToolView, TopItem, View};

/// A view in short.
#[derive(Debug, Serialize)]
pub struct Summary<'a> {
    /// All runs of the conversation, in order.
    runs: Vec<RunSummary<'a>>,
    /// All messages of the conversation, in order.
    messages: Vec<MessageSummary<'a>>,
    /// The seq of the view, which is the number of events.
    events: u64,
    /// The anomalies that are kept.
    anomalies: &'a [Anomaly],
}

/// A run in the short form of a view.
#[derive(Debug, Serialize)]
struct RunSummary<'a> {
    id: &'a str,
    status: RunStatus,
    model: Option<&'a str>,
    finish_reason: Option<&'a str>,
    #[serde(serialize_with = "answer")]
    text: &'a RunView,
    #[serde(serialize_with = "thinking")]
    thinking: &'a RunView,
    tool_calls: Vec<CallSummary<'a>>,
    agents: Vec<AgentSummary<'a>>,
    usage: Option<Usage>,
    error: Option<&'a ErrorFact>,
}

/// A tool call in the short form of a view; times are milliseconds.
#[derive(Debug, Serialize)]
struct CallSummary<'a> {
    id: &'a str,
    name: &'a str,
    arguments: Value,
    state: ToolState,
    result: Option<Value>,
    is_error: bool,
    latency_ms: Option<u64>,
    agent: Option<&'a str>,
}

/// A sub-agent in the short form of a view (`fanlight fold --summary`).
#[derive(Debug, Serialize)]
struct AgentSummary<'a> {
    id: &'a str,
    name: Option<&'a str>,
    parent: Option<&'a str>,
    depth: u32,
}

/// A message in the short form of a view.
#[derive(Debug, Serialize)]
struct MessageSummary<'a> {
    role: &'a str,
    text: &'a str,
}

/// The short form of `view`.
pub fn summary(view: &View) -> Summary<'_> {
    let messages = view.items.iter().filter_map(|item| match item {
        TopItem::Message(id) => view.messages.get(id),
        TopItem::Run(_) => None,
    });
    Summary {
        runs: view.runs.iter().map(|(id, run)| run_summary(id.as_str(), run)).collect(),
        messages: messages.map(|m| MessageSummary { role: &m.role, text: &m.text }).collect(),
        events: view.seq,
        anomalies: &view.anomalies.first,
    }
}

/// A run in short.
fn run_summary<'a>(id: &'a str, run: &'a RunView) -> RunSummary<'a> {
    let agents = run.agents.iter().map(|(id, agent): (_, &AgentView)| AgentSummary {
        id: id.as_str(),
        name: agent.name.as_deref(),
        parent: agent.parent.as_ref().map(crate::AgentId::as_str),
        depth: agent.depth,
    });
    RunSummary {
        id,
        status: run.status,
        model: run.model.as_deref(),
        finish_reason: run.finish_reason.as_deref(),
        text: run,
        thinking: run,
        tool_calls: run.tools.iter().map(|(id, tool)| call_summary(id, tool)).collect(),
        agents: agents.collect(),
        usage: run.usage,
        error: run.error.as_ref(),
    }
}

/// A call in short, under the id that its source gave it.
fn call_summary<'a>(id: &'a ToolCallId, tool: &'a ToolView) -> CallSummary<'a> {
    CallSummary {
        id: tool.given_id.as_deref().unwrap_or(id.as_str()),
        name: &tool.name,
        arguments: json_or_text(&tool.arguments.text),
        state: tool.state,
        result: tool.result.as_ref().map(crate::Json::to_value),
        is_error: tool.is_error,
        latency_ms: tool.latency_ms(),
        agent: tool.agent.as_ref().map(crate::AgentId::as_str),
    }
}

/// Writes all texts of the answer as one.
fn answer<S: Serializer>(run: &RunView, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(&JoinedTexts(run.answer_texts()))
}

/// Writes all thinking as one text.
fn thinking<S: Serializer>(run: &RunView, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(&JoinedTexts(run.thinking_texts()))
}

/// Texts that are written one behind the other. They are not copied into one: the texts of a run may have 64 MiB.
struct JoinedTexts<I>(I);

impl<'a, I: Iterator<Item = &'a str> + Clone> fmt::Display for JoinedTexts<I> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.clone().try_for_each(|text| f.write_str(text))
    }
}

/// JSON where it parses, an empty object for a call without arguments, else the text as it is.
fn json_or_text(text: &str) -> Value {
    if text.trim().is_empty() {
        return Value::Object(serde_json::Map::new());
    }
    serde_json::from_str(text).unwrap_or_else(|_not_json| Value::String(text.to_owned()))
}
