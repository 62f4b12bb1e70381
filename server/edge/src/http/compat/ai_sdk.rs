//! The AI SDK's `useChat`: `POST /compat/ai-sdk/{agent}` takes all messages of the chat and answers with a
//! stream of UI message parts; `GET …/{chat}/stream` resumes a run that goes on. If a message is regenerated
//! or edited, the run goes into a fork, and the chat continues in it.
//!
//! ```json
//! {"id": "chat1", "trigger": "submit-message",
//!  "messages": [{"id": "m1", "role": "user", "parts": [{"type": "text", "text": "What time is it?"}]},
//!               {"id": "r1", "role": "assistant", "parts": [
//!                 {"type": "tool-clock", "toolCallId": "c1", "state": "output-available", "output": "noon"}]}]}
//! ```
//!
//! Of a message, parts of type `text` are what was said. Parts of tools count where they have a result
//! (`output-available`, `output-error`) or a person's answer (`approval-responded`). Files are replaced by
//! their names. Fields such as `temperature` that a page adds to the body are for the model (`sampling`).

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse as _, Response};
use compact_str::CompactString;
use encode::Caller;
use exchange::OfferedTool;
use model::code::ErrorCode;
use model::{Json, MessageId, ToolCallId};
use serde_json::Value;

use super::ag_ui::offered;
use super::answer::{self, AnswerStyle, DoorRequest};
use super::{CallResult, Consent, Thread, TurnRequest, object, of_thread, read, sampling};
use crate::http::Reading;
use crate::http::stream;
use crate::inbound::params::Path;
use crate::inbound::problem::Problem;
use crate::state::Shared;
use agents::Answer;
use agents::Refusal;
use agents::{Spoken, Terms};

/// The dialect of its answers.
const DIALECT: &str = "ai-sdk";

/// The body of a request, parsed. [`send`] turns it into what every door asks for.
#[derive(Debug, Default, PartialEq, Eq)]
struct Chat {
    /// The client's name for the chat, which is the conversation. Never empty.
    id: String,
    /// What was said, in order. Ids of the client are kept for messages of users alone.
    messages: Vec<Spoken>,
    /// The results of calls that the client has executed.
    results: Vec<CallResult>,
    /// The tools that the client can execute. `useChat` itself sends none; a page may add the field `tools`.
    tools: Vec<OfferedTool>,
    /// Answers in the last message to calls that wait for consent. None if an answer is regenerated.
    consents: Vec<Consent>,
    /// The names of files that are left out.
    left_out: Vec<String>,
    /// The id of the last message if it is an answer that goes on, with results of its calls.
    answer: Option<CompactString>,
}

/// `POST /compat/ai-sdk/{agent}`: takes a person's message, the results of calls, answers to calls that wait,
/// or the wish to regenerate an answer, and streams the run that follows. Fails before the stream with a
/// problem: 400 `bad_request` with the field, 404 `unknown_agent`, 409 `not_running`.
pub(super) async fn send(
    State(shared): State<Arc<Shared>>,
    Path(agent): Path<String>,
    headers: HeaderMap,
    request: Request,
) -> Result<Response, Problem> {
    let fields = object(&read(&headers, request).await?)?;
    let terms = Terms { sampling: sampling::given(Some(&fields))?, ..Terms::default() };
    let Chat { id, messages, results, tools, consents, left_out, answer } = Chat::of(&fields)?;
    let asked = TurnRequest::new(DIALECT, agent.into(), Thread::Named(of_thread(&id)), messages);
    let asked = TurnRequest { results, tools, consents, terms, ..asked };
    let style =
        AnswerStyle { caller: Caller { message: answer, ..Caller::default() }, ..AnswerStyle::default() };
    let wish = DoorRequest { asked, dialect: DIALECT, style, left_out };
    Ok(answer::answer(&shared, wish).await?)
}

/// The parameters in the path. The agent is not looked at: the chat alone says which conversation is meant.
#[derive(Debug, serde::Deserialize)]
pub(super) struct ChatPath {
    #[serde(rename = "agent")]
    _agent: String,
    chat: String,
}

/// `GET /compat/ai-sdk/{agent}/{chat}/stream`: the run of a chat that is going on, from its beginning, for a
/// page that was loaded anew. 204 if none is going on or the chat is unknown.
pub(super) async fn resume(
    State(shared): State<Arc<Shared>>,
    Path(place): Path<ChatPath>,
) -> Result<Response, Problem> {
    let chat = of_thread(&place.chat);
    shared.threads.remembered(&shared.hub, shared.peers.as_ref().map(|_| &chat)).await;
    let id = shared.threads.current(&chat);
    let found = shared.hub.find(&id)?;
    let goes_on = |run: &(&model::RunId, &model::view::RunView)| run.1.is_running();
    let run = found
        .and_then(|found| found.read_view(|view| view.runs.last().filter(goes_on).map(|(id, _)| id.clone())));
    match run {
        None => Ok(StatusCode::NO_CONTENT.into_response()),
        Some(run) => stream::run(Reading::of(&shared), &id, DIALECT, run).await,
    }
}

impl Chat {
    /// Parses a body. `id` and at least one message are required, and a `trigger` must be one of the two that
    /// are known; the refusal names the field.
    fn of(fields: &Value) -> Result<Self, Refusal> {
        let wrong = |what: &str| Refusal::new(ErrorCode::BadRequest, what.to_owned());
        let id = fields.get("id").and_then(Value::as_str).filter(|id| !id.is_empty());
        let id = id.ok_or_else(|| wrong("id: the name of the chat is expected"))?;
        let all = fields.get("messages").and_then(Value::as_array).filter(|all| !all.is_empty());
        let all = all.ok_or_else(|| wrong("messages: a list of messages is expected, with one at least"))?;
        match fields.get("trigger").and_then(Value::as_str) {
            None | Some("submit-message" | "regenerate-message") => {}
            Some(other) => {
                let what = format!("trigger: {other:?} is not one of submit-message, regenerate-message");
                return Err(wrong(&what));
            }
        }
        let mut chat = Self { id: id.to_owned(), ..Self::default() };
        for message in all {
            chat.hear(message);
        }
        let last = all.last().filter(|last| last.get("role").and_then(Value::as_str) == Some("assistant"));
        if fields.get("trigger").and_then(Value::as_str) != Some("regenerate-message") {
            let parts = last.and_then(|last| last.get("parts")?.as_array()).into_iter().flatten();
            chat.consents = parts.filter_map(consent).collect();
        }
        chat.answer = last.and_then(|last| last.get("id")?.as_str()).map(CompactString::new);
        let tools = fields.get("tools").and_then(Value::as_array);
        chat.tools = tools.into_iter().flatten().filter_map(offered).collect();
        Ok(chat)
    }

    /// Adds one message with its parts. The texts of a message become one text with a line for each; a
    /// message without text adds only its results.
    fn hear(&mut self, message: &Value) {
        let role = match message.get("role").and_then(Value::as_str) {
            Some("user") => "user",
            Some("system") => "system",
            _ => "assistant",
        };
        let (mut texts, mut files) = (Vec::new(), Vec::new());
        for part in message.get("parts").and_then(Value::as_array).into_iter().flatten() {
            let field = |name: &str| part.get(name).and_then(Value::as_str);
            match field("type").unwrap_or_default() {
                "text" => texts.push(field("text").unwrap_or_default().to_owned()),
                "file" if role == "user" && super::files::file(part).is_some() => {
                    files.extend(super::files::file(part));
                }
                "file" if role != "assistant" => {
                    let name = field("filename").or(field("mediaType")).unwrap_or("unknown");
                    let file = format!("[file: {name}]");
                    self.left_out.push(file.clone());
                    texts.push(file);
                }
                kind if kind == "dynamic-tool" || kind.starts_with("tool-") => self.result(part),
                _ => {}
            }
        }
        texts.retain(|text| !text.is_empty());
        let text = super::files::named(texts.join("\n"), &files);
        if !text.is_empty() {
            // Answers carry run ids in this protocol, which are not message ids here.
            let id = message.get("id").and_then(Value::as_str).filter(|_| role == "user");
            let id = id.map(MessageId::new);
            self.messages.push(Spoken { id, role: role.into(), text, files });
        }
    }

    /// Adds the result of a call, if the part has one.
    fn result(&mut self, part: &Value) {
        let field = |name: &str| part.get(name).and_then(Value::as_str);
        let Some(id) = field("toolCallId") else { return };
        let (output, is_error) = match field("state") {
            Some("output-available") => {
                (part.get("output").map_or_else(|| Json::string(""), Json::of), false)
            }
            Some("output-error") => (Json::string(field("errorText").unwrap_or_default()), true),
            _ => return,
        };
        self.results.push(CallResult { tool: ToolCallId::new(id), output, is_error });
    }
}

/// Parses the answer of a part to a call that waits for consent; `None` for a part that has none. The AI SDK
/// has no edited arguments.
fn consent(part: &Value) -> Option<Consent> {
    let field = |name: &str| part.get(name).and_then(Value::as_str);
    let approval = part.get("approval").filter(|_| field("state") == Some("approval-responded"))?;
    let answer = if approval.get("approved").and_then(Value::as_bool)? {
        Answer::Yes { arguments: None }
    } else {
        let why = approval.get("reason").and_then(Value::as_str).filter(|why| !why.is_empty());
        Answer::No { why: why.map(str::to_owned) }
    };
    Some(Consent { tool: ToolCallId::new(field("toolCallId")?), answer })
}

#[cfg(test)]
mod tests;
