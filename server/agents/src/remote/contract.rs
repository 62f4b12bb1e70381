//! How agents elsewhere are asked, one kind after the other: where, in which form, and with what. Pure.

use compact_str::CompactString;
use encode::reconstruct::{UnfinishedCalls, anthropic, openai};
use exchange::OfferedTool;
use model::{ConversationId, Json, RunId, View};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::{Map, Value, json};
use sha2::{Digest as _, Sha256};

use super::words;
use crate::settings::{RemoteConfig, RemoteKind};
use crate::terms::Terms;

mod goes_on;

pub(super) use goes_on::{Asking, goes_on, requests};

/// Most tokens of an answer: Anthropic's API wants a number.
const TOKENS_MAX: u64 = 8_192;

/// The user that agents are told who want to know one.
const USER: &str = "fanlight";

/// What a request is made of.
#[derive(Debug)]
pub(super) struct Occasion<'a> {
    pub(super) config: &'a RemoteConfig,
    /// The name of the agent here.
    pub(super) agent: &'a str,
    pub(super) conversation: &'a ConversationId,
    pub(super) run: &'a RunId,
    /// What was said: without the run itself, unless that goes on.
    pub(super) view: &'a View,
    /// A name that no other request has.
    pub(super) fresh: &'a str,
    /// Tools that whoever asked executes.
    pub(super) tools: &'a [OfferedTool],
    /// Who asked, and how the run is to go.
    pub(super) terms: &'a Terms,
}

/// A request to the server of an agent: its path, media type and body.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Asked {
    /// Behind the path of the URL that was set.
    pub(super) path: String,
    /// What the body is.
    pub(super) media: String,
    pub(super) body: Vec<u8>,
    /// By what name the agent remembers what is said, where it does.
    pub(super) session: Option<String>,
    /// What the decoder of the answer is told before it, in the agent's words.
    pub(super) prelude: Vec<u8>,
}

/// The request for an answer to what was said last.
pub(super) fn asked(of: &Occasion<'_>) -> Asked {
    let body = match of.config.speaks {
        RemoteKind::Agno => return agno(of),
        RemoteKind::LangGraph => return langgraph(of),
        RemoteKind::AgUi => ag_ui_input(of, &words::ag_ui(of.view, "m"), None),
        RemoteKind::DeepAgent => json!({"messages": words::plain(of.view), "stream": true}),
        RemoteKind::Forge => forge(of),
        RemoteKind::Ralph => {
            let messages = words::plain(of.view);
            let (user, chat) = whose(of);
            json!({"user_id": user, "chat_id": chat, "messages": messages})
        }
        RemoteKind::OpenAi => {
            let messages = openai::request(of.view, UnfinishedCalls::Answer).messages;
            let options = json!({"include_usage": true});
            let mut body =
                json!({"model": model(of), "messages": messages, "stream": true, "stream_options": options});
            if !of.tools.is_empty() {
                let function = |tool| json!({"type": "function", "function": offered(tool, "parameters")});
                put(&mut body, "tools", of.tools.iter().map(function).collect());
            }
            body
        }
        RemoteKind::Anthropic => anthropic(of),
        RemoteKind::AiSdk => {
            let messages = words::ai_sdk(of.view);
            json!({"id": of.conversation, "messages": messages, "trigger": "submit-message"})
        }
    };
    json_body(of, &body)
}

/// Where a run is stopped that the agent calls `theirs`, and with what; nothing where hanging up is all that can be done.
pub(super) fn cancelled(of: &RemoteConfig, session: Option<&str>, theirs: &str) -> Option<Asked> {
    let path = match of.speaks {
        RemoteKind::Agno => format!("{}/runs/{}/cancel", agno_path(of), word(theirs)),
        RemoteKind::LangGraph => format!("/threads/{}/runs/{}/cancel", word(session?), word(theirs)),
        _ => return None,
    };
    Some(Asked { path, media: JSON.to_owned(), body: b"{}".to_vec(), session: None, prelude: Vec::new() })
}

/// What the agent calls the run, where the beginning of its answer says it.
pub(super) fn theirs(speaks: RemoteKind, beginning: &[u8]) -> Option<String> {
    if speaks != RemoteKind::Agno {
        return None;
    }
    let text = String::from_utf8_lossy(beginning);
    let (_, rest) = text.split_once("\"run_id\":")?;
    let (id, _) = rest.trim_start().strip_prefix('"')?.split_once('"')?;
    Some(id.to_owned())
}

const JSON: &str = "application/json";

fn json_body(of: &Occasion<'_>, body: &Value) -> Asked {
    let path = of.config.path.clone();
    let body = body.to_string().into_bytes();
    Asked { path, media: JSON.to_owned(), body, session: None, prelude: Vec::new() }
}

fn model<'a>(of: &Occasion<'a>) -> &'a str {
    of.config.model.as_deref().unwrap_or_default()
}

/// The user and the chat that Ralph is told: those that the caller named; where it named none, those of the newest run of the
/// conversation whose caller did, so that who goes on with it finds what the agent has made for them.
fn whose(of: &Occasion<'_>) -> (CompactString, CompactString) {
    let named = |terms: &Terms| terms.user.is_some();
    let before = || of.view.runs.values().rev().map(Terms::of).find(named);
    let terms = Some(of.terms.clone()).filter(named).or_else(before).unwrap_or_default();
    let chat = terms.chat.unwrap_or_else(|| of.conversation.as_str().into());
    (terms.user.unwrap_or_else(|| USER.into()), chat)
}

/// `AgentOS` takes forms, and keeps the history by the name of the session.
fn agno(of: &Occasion<'_>) -> Asked {
    let session = of.conversation.as_str();
    let message = words::news(of.view, of.agent, session).filter(|news| !news.is_empty());
    let message = message.map_or_else(|| words::transcript(of.view), |news| news.join("\n\n"));
    let fields = [("message", message.as_str()), ("stream", "true"), ("session_id", session)];
    form(of, format!("{}/runs", agno_path(of.config)), &fields)
}

/// `agents/NAME`, unless the settings say that it is a team or a workflow.
fn agno_path(config: &RemoteConfig) -> String {
    let name = config.model.as_deref().unwrap_or_default();
    let (kind, name) = match name.split_once('/') {
        Some((kind @ ("agents" | "teams" | "workflows"), name)) => (kind, name),
        _ => ("agents", name),
    };
    format!("/{kind}/{}", word(name))
}

fn form(of: &Occasion<'_>, path: String, fields: &[(&str, &str)]) -> Asked {
    let boundary = format!("fanlight-{}", of.fresh);
    let field = |(name, value): &(&str, &str)| {
        format!("--{boundary}\r\nContent-Disposition: form-data; name=\"{name}\"\r\n\r\n{value}\r\n")
    };
    let mut body = fields.iter().map(field).collect::<Vec<_>>().concat();
    body.push_str("--");
    body.push_str(&boundary);
    body.push_str("--\r\n");
    let session = Some(of.conversation.to_string());
    Asked {
        path,
        media: format!("multipart/form-data; boundary={boundary}"),
        body: body.into_bytes(),
        session,
        prelude: Vec::new(),
    }
}

/// The server keeps the messages of a thread, and a thread has a UUID for a name.
fn langgraph(of: &Occasion<'_>) -> Asked {
    let thread = uuid_of(of.conversation.as_str());
    let news = words::news(of.view, of.agent, &thread).filter(|news| !news.is_empty());
    let user = |content: String| words::Plain { role: "user", content };
    let messages: Vec<words::Plain> =
        news.map_or_else(|| words::plain(of.view), |news| news.into_iter().map(user).collect());
    langgraph_with(of, &thread, ("input", json!({"messages": messages})), &[])
}

/// A run of a thread with `what` as its input, streamed in more modes than usual.
fn langgraph_with(of: &Occasion<'_>, thread: &str, (name, what): (&str, Value), more: &[&str]) -> Asked {
    let modes = [more, &["messages-tuple", "updates", "custom"]].concat();
    let mut body = json!({
        "assistant_id": of.config.model.as_deref().unwrap_or("agent"),
        "stream_mode": modes,
        "stream_subgraphs": true,
        "if_not_exists": "create",
        "on_disconnect": "cancel",
        "multitask_strategy": "enqueue",
    });
    put(&mut body, name, what);
    let path = format!("/threads/{thread}/runs/stream");
    Asked { path, session: Some(thread.to_owned()), ..json_body(of, &body) }
}

/// A tool, with the schema of its arguments by the name `schema`.
fn offered(tool: &OfferedTool, schema: &str) -> Value {
    let arguments =
        tool.schema.as_ref().map_or_else(|| json!({"type": "object", "properties": {}}), Json::to_value);
    let description = tool.description.as_deref().unwrap_or_default();
    let mut told = json!({"name": tool.name, "description": description});
    put(&mut told, schema, arguments);
    told
}

fn put(object: &mut Value, name: &str, value: Value) {
    if let Some(fields) = object.as_object_mut() {
        fields.insert(name.to_owned(), value);
    }
}

/// What a run behind AG-UI is begun with.
fn ag_ui_input(of: &Occasion<'_>, messages: &[Value], resume: Option<Vec<Value>>) -> Value {
    let tools: Vec<Value> = of.tools.iter().map(|tool| offered(tool, "parameters")).collect();
    let mut input = json!({
        "threadId": of.conversation, "runId": format!("{}-{}", of.run, of.fresh), "state": {},
        "messages": messages, "tools": tools, "context": [], "forwardedProps": {},
    });
    if let Some(resume) = resume {
        put(&mut input, "resume", resume.into());
    }
    input
}

fn forge(of: &Occasion<'_>) -> Value {
    let mut messages = words::plain(of.view);
    let (mut user, mut system) = (String::new(), None);
    if messages.last().is_some_and(|last| last.role == "user") {
        user = messages.pop().map(|last| last.content).unwrap_or_default();
    }
    if messages.first().is_some_and(|first| first.role == "system") {
        system = Some(messages.remove(0).content);
    }
    let mut fields = Map::new();
    fields.insert("user_message".to_owned(), user.into());
    fields.insert("messages".to_owned(), json!(messages));
    for (name, value) in
        [("system_prompt", system), ("model", of.config.model.as_ref().map(CompactString::to_string))]
    {
        if let Some(value) = value {
            fields.insert(name.to_owned(), value.into());
        }
    }
    fields.insert("enable_tools".to_owned(), (!of.terms.without_tools).into());
    fields.into()
}

fn anthropic(of: &Occasion<'_>) -> Value {
    let anthropic::AnthropicRequest { system, messages, .. } =
        anthropic::request(of.view, UnfinishedCalls::Answer);
    let mut fields = Map::new();
    fields.insert("model".to_owned(), model(of).into());
    if let Some(system) = system {
        fields.insert("system".to_owned(), system.into());
    }
    fields.insert("messages".to_owned(), json!(messages));
    fields.insert("max_tokens".to_owned(), TOKENS_MAX.into());
    if !of.tools.is_empty() {
        let tools = of.tools.iter().map(|tool| offered(tool, "input_schema")).collect();
        fields.insert("tools".to_owned(), tools);
    }
    fields.insert("stream".to_owned(), true.into());
    fields.into()
}

/// What may stand in a path as it is.
const ESCAPED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'_').remove(b'.').remove(b'~');

/// A word as it may stand in a path.
fn word(text: &str) -> String {
    utf8_percent_encode(text, ESCAPED).to_string()
}

/// The UUID that only this name has.
fn uuid_of(name: &str) -> String {
    let mut hasher = Sha256::new();
    hasher.update(b"fanlight conversation ");
    hasher.update(name.as_bytes());
    let digits: Vec<String> = hasher.finalize().iter().take(16).map(|byte| format!("{byte:02x}")).collect();
    let digits = digits.concat();
    let piece = |from: usize, to: usize| digits.get(from..to).unwrap_or_default().to_owned();
    // Version 8: made in a way of one's own.
    format!("{}-{}-8{}-a{}-{}", piece(0, 8), piece(8, 12), piece(13, 16), piece(17, 20), piece(20, 32))
}

#[cfg(test)]
mod tests;
