//! The AI SDK's `useChat`: `POST /compat/ai-sdk/{agent}` with all messages of the chat, answered with a stream of UI
//! message parts; `GET …/{chat}/stream` to come back to a run that goes on. A message that is regenerated or edited
//! makes a fork behind the chat's back: the chat goes on there.

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
use super::answer::{self, Manner, Wish};
use super::{Asked, Consent, Given, Thread, object, of_thread, read};
use crate::http::params::Path;
use crate::http::problem::Problem;
use crate::http::stream;
use crate::state::Shared;
use agents::Answer;
use agents::Refusal;
use agents::Spoken;

/// The dialect.
const DIALECT: &str = "ai-sdk";

/// What a chat says.
#[derive(Debug, Default, PartialEq, Eq)]
struct Chat {
    id: String,
    messages: Vec<Spoken>,
    results: Vec<Given>,
    tools: Vec<OfferedTool>,
    /// What the last message says to calls that wait for consent.
    consents: Vec<Consent>,
    left_out: Vec<String>,
    /// The answer that goes on: the last message is one, with results of its calls.
    answer: Option<CompactString>,
}

/// `POST`: what a person said, or that an answer is to be made anew.
pub(super) async fn send(
    State(shared): State<Arc<Shared>>,
    Path(agent): Path<String>,
    headers: HeaderMap,
    request: Request,
) -> Result<Response, Problem> {
    let Chat { id, messages, results, tools, consents, left_out, answer } =
        Chat::of(&object(&read(&headers, request).await?)?)?;
    let asked = Asked::new(DIALECT, agent.into(), Thread::Named(of_thread(&id)), messages);
    let asked = Asked { results, tools, consents, ..asked };
    let manner = Manner { caller: Caller { message: answer, ..Caller::default() }, ..Manner::default() };
    let wish = Wish { asked, dialect: DIALECT, manner, left_out };
    Ok(answer::answer(&shared, wish).await?)
}

/// What stands in the path of a chat.
#[derive(Debug, serde::Deserialize)]
pub(super) struct ChatPath {
    #[serde(rename = "agent")]
    _agent: String,
    chat: String,
}

/// `GET`: the run of a chat that goes on, from its beginning; 204 where none does.
pub(super) async fn resume(
    State(shared): State<Arc<Shared>>,
    Path(place): Path<ChatPath>,
) -> Result<Response, Problem> {
    shared.threads.remembered(&shared.hub).await;
    let id = shared.threads.current(&of_thread(&place.chat));
    let found = shared.hub.find(&id)?;
    let goes_on = |run: &(&model::RunId, &model::view::RunView)| run.1.is_running();
    let run =
        found.and_then(|found| found.look(|view| view.runs.last().filter(goes_on).map(|(id, _)| id.clone())));
    match run {
        None => Ok(StatusCode::NO_CONTENT.into_response()),
        Some(run) => stream::run(shared, &id, DIALECT, run).await,
    }
}

impl Chat {
    fn of(fields: &Value) -> Result<Self, Refusal> {
        let wrong = |what: &str| Refusal::new(ErrorCode::BadRequest, what.to_owned());
        let id = fields.get("id").and_then(Value::as_str).filter(|id| !id.is_empty());
        let id = id.ok_or_else(|| wrong("id: the name of the chat is expected"))?;
        let all = fields.get("messages").and_then(Value::as_array).filter(|all| !all.is_empty());
        let all = all.ok_or_else(|| wrong("messages: a list of messages is expected, with one at least"))?;
        match fields.get("trigger").and_then(Value::as_str) {
            None | Some("submit-message" | "regenerate-message") => {}
            Some(other) => {
                let what = format!("trigger: {other:?} is none of submit-message, regenerate-message");
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

    /// One message, with its parts.
    fn hear(&mut self, message: &Value) {
        let role = match message.get("role").and_then(Value::as_str) {
            Some("user") => "user",
            Some("system") => "system",
            _ => "assistant",
        };
        let mut texts = Vec::new();
        for part in message.get("parts").and_then(Value::as_array).into_iter().flatten() {
            let field = |name: &str| part.get(name).and_then(Value::as_str);
            match field("type").unwrap_or_default() {
                "text" => texts.push(field("text").unwrap_or_default().to_owned()),
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
        if !texts.is_empty() {
            // Answers have ids of runs there, which are not those of messages here.
            let id = message.get("id").and_then(Value::as_str).filter(|_| role == "user");
            let id = id.map(MessageId::new);
            self.messages.push(Spoken { id, role: role.into(), text: texts.join("\n") });
        }
    }

    /// What a call gave back.
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
        self.results.push(Given { tool: ToolCallId::new(id), output, is_error });
    }
}

/// What a part says to a call that waits for consent.
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
