//! Requests to agents elsewhere, one kind of agent after the other: path, media type and body. Pure.
//!
//! | kind | path | body |
//! |---|---|---|
//! | `agno` | `/agents/NAME/runs` | form: `message`, `stream`, `session_id`; only what is new in the session |
//! | `langgraph` | `/threads/UUID/runs/stream` | `input.messages`, of which only what is new in the thread |
//! | `ag-ui` | as set | `threadId`, `runId`, `messages`, `tools`, and `resume` after a pause |
//! | `deep-agent`, `ralph`, `forge` | `/chat/stream` | the whole history as plain texts |
//! | `openai`, `anthropic` | that of the API | a request of that API, rebuilt from the whole history |
//! | `ai-sdk` | as set | `id`, `messages` in the form of `useChat`, `trigger` |

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

/// Most tokens of an answer, because Anthropic's API requires a number.
const TOKENS_MAX: u64 = 8_192;

/// The user name for agents that require one.
const USER: &str = "fanlight";

/// What a request is made of.
#[derive(Debug)]
pub(super) struct Occasion<'a> {
    /// The settings of the agent.
    pub(super) config: &'a RemoteConfig,
    /// The name of the agent in the settings.
    pub(super) agent: &'a str,
    /// The conversation, whose name agents get as that of their session or thread.
    pub(super) conversation: &'a ConversationId,
    /// The run that is asked for.
    pub(super) run: &'a RunId,
    /// The conversation: without the run itself, unless the run goes on.
    pub(super) view: &'a View,
    /// A name that no other request has.
    pub(super) fresh: &'a str,
    /// Tools that the caller executes.
    pub(super) tools: &'a [OfferedTool],
    /// What the caller says besides the messages.
    pub(super) terms: &'a Terms,
}

/// A request to the server of an agent, before its headers. Pure data: sending it is the matter of
/// [`super::call`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct RemoteRequest {
    /// The path below the URL in the settings.
    pub(super) path: String,
    /// The media type of the body.
    pub(super) media: String,
    /// The whole body, in that media type.
    pub(super) body: Vec<u8>,
    /// The agent's name for the session in which it keeps the history, if it does.
    pub(super) session: Option<String>,
    /// Bytes in the agent's dialect that the decoder reads before the answer.
    pub(super) prelude: Vec<u8>,
}

/// The request for an answer to what was said last.
pub(super) fn asked(of: &Occasion<'_>) -> RemoteRequest {
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

/// The request that stops the run `theirs`; `None` if the only way is to close the connection.
pub(super) fn cancelled(of: &RemoteConfig, session: Option<&str>, theirs: &str) -> Option<RemoteRequest> {
    let path = match of.speaks {
        RemoteKind::Agno => format!("{}/runs/{}/cancel", agno_path(of), word(theirs)),
        RemoteKind::LangGraph => format!("/threads/{}/runs/{}/cancel", word(session?), word(theirs)),
        _ => return None,
    };
    Some(RemoteRequest {
        path,
        media: JSON.to_owned(),
        body: b"{}".to_vec(),
        session: None,
        prelude: Vec::new(),
    })
}

/// The agent's name for the run, if the beginning of its answer has it.
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

/// A request with a JSON body to the usual path.
fn json_body(of: &Occasion<'_>, body: &Value) -> RemoteRequest {
    let path = of.config.path.clone();
    let body = body.to_string().into_bytes();
    RemoteRequest { path, media: JSON.to_owned(), body, session: None, prelude: Vec::new() }
}

/// The model in the settings; empty if none is set.
fn model<'a>(of: &Occasion<'a>) -> &'a str {
    of.config.model.as_deref().unwrap_or_default()
}

/// The user and the chat for Ralph: those that the caller named, otherwise those of the newest run of the
/// conversation whose caller named some, so that the agent finds what it has stored for them.
fn whose(of: &Occasion<'_>) -> (CompactString, CompactString) {
    let named = |terms: &Terms| terms.user.is_some();
    let before = || of.view.runs.values().rev().map(Terms::of).find(named);
    let terms = Some(of.terms.clone()).filter(named).or_else(before).unwrap_or_default();
    let chat = terms.chat.unwrap_or_else(|| of.conversation.as_str().into());
    (terms.user.unwrap_or_else(|| USER.into()), chat)
}

/// A request to Agno's `AgentOS`, which takes forms and keeps the history of a session by its name.
fn agno(of: &Occasion<'_>) -> RemoteRequest {
    let session = of.conversation.as_str();
    let message = words::news(of.view, of.agent, session).filter(|news| !news.is_empty());
    let message = message.map_or_else(|| words::transcript(of.view), |news| news.join("\n\n"));
    let fields = [("message", message.as_str()), ("stream", "true"), ("session_id", session)];
    form(of, format!("{}/runs", agno_path(of.config)), &fields)
}

/// The path `agents/NAME`, unless the settings say that it is a team or a workflow.
fn agno_path(config: &RemoteConfig) -> String {
    let name = config.model.as_deref().unwrap_or_default();
    let (kind, name) = match name.split_once('/') {
        Some((kind @ ("agents" | "teams" | "workflows"), name)) => (kind, name),
        _ => ("agents", name),
    };
    format!("/{kind}/{}", word(name))
}

/// A request with a form as its body.
fn form(of: &Occasion<'_>, path: String, fields: &[(&str, &str)]) -> RemoteRequest {
    let boundary = format!("fanlight-{}", of.fresh);
    let field = |(name, value): &(&str, &str)| {
        format!("--{boundary}\r\nContent-Disposition: form-data; name=\"{name}\"\r\n\r\n{value}\r\n")
    };
    let mut body = fields.iter().map(field).collect::<Vec<_>>().concat();
    body.push_str("--");
    body.push_str(&boundary);
    body.push_str("--\r\n");
    let session = Some(of.conversation.to_string());
    RemoteRequest {
        path,
        media: format!("multipart/form-data; boundary={boundary}"),
        body: body.into_bytes(),
        session,
        prelude: Vec::new(),
    }
}

/// A request to LangGraph's server, which keeps the messages of a thread. A thread's name must be a UUID.
fn langgraph(of: &Occasion<'_>) -> RemoteRequest {
    let thread = uuid_of(of.conversation.as_str());
    let news = words::news(of.view, of.agent, &thread).filter(|news| !news.is_empty());
    let user = |content: String| words::Plain { role: "user", content };
    let messages: Vec<words::Plain> =
        news.map_or_else(|| words::plain(of.view), |news| news.into_iter().map(user).collect());
    langgraph_with(of, &thread, ("input", json!({"messages": messages})), &[])
}

/// A run of a thread with the input `what`, streamed in more modes than usual.
fn langgraph_with(
    of: &Occasion<'_>,
    thread: &str,
    (name, what): (&str, Value),
    more: &[&str],
) -> RemoteRequest {
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
    RemoteRequest { path, session: Some(thread.to_owned()), ..json_body(of, &body) }
}

/// A tool with the schema of its arguments in the field `schema`.
fn offered(tool: &OfferedTool, schema: &str) -> Value {
    let arguments =
        tool.schema.as_ref().map_or_else(|| json!({"type": "object", "properties": {}}), Json::to_value);
    let description = tool.description.as_deref().unwrap_or_default();
    let mut told = json!({"name": tool.name, "description": description});
    put(&mut told, schema, arguments);
    told
}

/// Adds a field to an object.
fn put(object: &mut Value, name: &str, value: Value) {
    if let Some(fields) = object.as_object_mut() {
        fields.insert(name.to_owned(), value);
    }
}

/// The input of a run behind AG-UI.
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

/// The body of a request to Forge.
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

/// The body of a request to Anthropic's API.
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

/// Characters that are percent-encoded in paths.
const ESCAPED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'_').remove(b'.').remove(b'~');

/// `text` percent-encoded for a path.
fn word(text: &str) -> String {
    utf8_percent_encode(text, ESCAPED).to_string()
}

/// A UUID made from a hash of `name`.
fn uuid_of(name: &str) -> String {
    let mut hasher = Sha256::new();
    hasher.update(b"fanlight conversation ");
    hasher.update(name.as_bytes());
    let digits: Vec<String> = hasher.finalize().iter().take(16).map(|byte| format!("{byte:02x}")).collect();
    let digits = digits.concat();
    let piece = |from: usize, to: usize| digits.get(from..to).unwrap_or_default().to_owned();
    // Version 8: made in a custom way.
    format!("{}-{}-8{}-a{}-{}", piece(0, 8), piece(8, 12), piece(13, 16), piece(17, 20), piece(20, 32))
}

#[cfg(test)]
mod tests;
