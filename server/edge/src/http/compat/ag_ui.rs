//! AG-UI: `POST /compat/ag-ui/{agent}` takes the input of a run and answers with its events. The thread is
//! the conversation. The client's tools are offered to the model, and a run that calls one of them ends with
//! the call.
//!
//! ```json
//! {"threadId": "t1", "runId": "r1", "state": {}, "context": [],
//!  "messages": [{"id": "m1", "role": "user", "content": "What time is it?"},
//!               {"role": "tool", "toolCallId": "c1", "content": "noon"}],
//!  "tools": [{"name": "clock", "description": "…", "parameters": {}}],
//!  "resume": [{"interruptId": "c2", "status": "resolved", "payload": {"approved": true}}]}
//! ```
//!
//! `messages` is the history, of which only what is new is said; `role: "tool"` are results of the client's
//! tools; `resume` answers calls that wait for a person. Fields of `forwardedProps` such as `temperature` are for
//! the model (`sampling`). All else of these, `state` and `context` have no place in the hub: the header
//! `Fanlight-Left-Out` names them.

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::http::{HeaderMap, header};
use axum::response::Response;
use compact_str::CompactString;
use exchange::OfferedTool;
use model::code::ErrorCode;
use model::event::MessageFile;
use model::{Json, MessageId, RunId, ToolCallId};
use serde_json::Value;

use super::answer::{AnswerStyle, DoorRequest, answer};
use super::{CallResult, Consent, Thread, TurnRequest, object, of_thread, read, sampling};
use crate::inbound::params::Path;
use crate::inbound::problem::Problem;
use crate::state::Shared;
use agents::Answer;
use agents::Refusal;
use agents::{Spoken, Terms};

/// The media type of the protocol's binary form, which is not served.
const BINARY: &str = "application/vnd.ag-ui.event+proto";

/// The input of a run, parsed. [`wish`] turns it into what every door asks for.
#[derive(Debug, Default, PartialEq, Eq)]
struct Input {
    /// `threadId`: the client's name for the conversation, never empty.
    thread: String,
    /// `runId`: the id that the client has given the run, never empty. The run has it in the hub too.
    run: String,
    /// What users, assistants and the system said, in order. Reasoning and activities are left out.
    messages: Vec<Spoken>,
    /// The messages with the role `tool`.
    results: Vec<CallResult>,
    /// The tools that the client can execute, those without a name left out.
    tools: Vec<OfferedTool>,
    /// The entries of `resume`.
    consents: Vec<Consent>,
    /// Fields of the input that the hub ignores, and files, by name.
    left_out: Vec<String>,
}

/// `POST /compat/ag-ui/{agent}`: starts a run of `agent`, or lets a waiting one go on, and answers with its
/// events as server-sent events. A request that is wrong is answered with a problem before the stream begins:
/// 400 `bad_request` with the field, 404 `unknown_agent`, 409 `not_running` for an answer to a call that no
/// run has.
pub(super) async fn run(
    State(shared): State<Arc<Shared>>,
    Path(agent): Path<String>,
    headers: HeaderMap,
    request: Request,
) -> Result<Response, Problem> {
    Ok(answer(&shared, wish(&agent, &headers, request).await?).await?)
}

/// Reads the request. Fails with `bad_request` if the client accepts only the protocol's binary form, or if a
/// field is missing or wrong.
async fn wish(agent: &str, headers: &HeaderMap, request: Request) -> Result<DoorRequest, Refusal> {
    if headers.get(header::ACCEPT).is_some_and(|accepted| accepted == BINARY) {
        return Err(Refusal::new(ErrorCode::BadRequest, "events are sent as server-sent events alone"));
    }
    let fields = object(&read(headers, request).await?)?;
    let terms = Terms { sampling: sampling::given(fields.get("forwardedProps"))?, ..Terms::default() };
    let Input { thread, run, messages, results, tools, consents, left_out } = Input::of(&fields)?;
    let asked = TurnRequest::new("ag-ui", agent.into(), Thread::Named(of_thread(&thread)), messages);
    let asked = TurnRequest { results, tools, consents, terms, run: Some(RunId::new(&run)), ..asked };
    let style = AnswerStyle { thread: Some(thread.into()), ..AnswerStyle::default() };
    Ok(DoorRequest { asked, dialect: "ag-ui", style, left_out })
}

impl Input {
    /// Parses the input. `threadId`, `runId` and `messages` are required; the refusal names the field that is
    /// missing or of the wrong type. Messages and tools that make no sense are left out, answers in `resume`
    /// that make none are refused.
    fn of(fields: &Value) -> Result<Self, Refusal> {
        let wrong = |what: &str| Refusal::new(ErrorCode::BadRequest, what.to_owned());
        let text = |name: &str| {
            let text = fields.get(name).and_then(Value::as_str).filter(|text| !text.is_empty());
            text.map(str::to_owned).ok_or_else(|| wrong(&format!("{name}: a text is expected")))
        };
        let all = fields.get("messages").and_then(Value::as_array);
        let all = all.ok_or_else(|| wrong("messages: a list is expected"))?;
        let has = |name: &str| match fields.get(name) {
            None | Some(Value::Null) => false,
            Some(Value::Array(all)) => !all.is_empty(),
            Some(Value::Object(all)) => !all.is_empty(),
            Some(_) => true,
        };
        let mut input = Self { thread: text("threadId")?, run: text("runId")?, ..Self::default() };
        for message in all {
            input.hear(message);
        }
        let tools = fields.get("tools").and_then(Value::as_array);
        input.tools = tools.into_iter().flatten().filter_map(offered).collect();
        let resume = fields.get("resume").and_then(Value::as_array).into_iter().flatten();
        input.consents = resume.map(consent).collect::<Result<_, _>>()?;
        let is_told = |name: &str| name == "forwardedProps" && sampling::is_all(fields.get(name));
        let nowhere = ["state", "context", "forwardedProps"].into_iter();
        let nowhere = nowhere.filter(|name| has(name) && !is_told(name));
        input.left_out.extend(nowhere.map(str::to_owned));
        Ok(input)
    }

    /// Adds one message of the history: results of calls to `results`, everything that was said to
    /// `messages`. A message with no text adds nothing.
    fn hear(&mut self, message: &Value) {
        let field = |name: &str| message.get(name).and_then(Value::as_str);
        let role = field("role").unwrap_or_default();
        let (text, files) = content(message.get("content"), role, &mut self.left_out);
        let role = match role {
            "tool" => {
                let failed = field("error");
                let tool = ToolCallId::new(field("toolCallId").unwrap_or_default());
                let output = Json::string(failed.unwrap_or(&text));
                return self.results.push(CallResult { tool, output, is_error: failed.is_some() });
            }
            "system" | "developer" => "system",
            "assistant" => "assistant",
            "user" => "user",
            // Reasoning, and activities that a page shows by itself.
            _ => return,
        };
        if !text.is_empty() {
            // Answers carry run ids in this protocol, which are not message ids here.
            let id = field("id").filter(|_| role == "user").map(MessageId::new);
            self.messages.push(Spoken { id, role: role.into(), text, files });
        }
    }
}

/// The text and the files of a message. Of a message that is no person's, and of those that are not in the request, files
/// are replaced by their names, which are added to `left_out`.
fn content(content: Option<&Value>, role: &str, left_out: &mut Vec<String>) -> (String, Vec<MessageFile>) {
    let parts = match content {
        Some(Value::String(text)) => return (text.clone(), Vec::new()),
        Some(Value::Array(parts)) => parts,
        _ => return (String::new(), Vec::new()),
    };
    let mut files = Vec::new();
    let text = |part: &Value| {
        if let Some(text) = part.get("text").and_then(Value::as_str) {
            return Some(text.to_owned());
        }
        if let Some(file) = super::files::file(part).filter(|_| role == "user") {
            files.push(file);
            return None;
        }
        let kind = part.get("type").and_then(Value::as_str).unwrap_or("file");
        let source = part.get("source").unwrap_or(part);
        let name = ["filename", "mimeType", "url"].iter().find_map(|name| {
            let text = part.get(*name).or_else(|| source.get(*name));
            text.and_then(Value::as_str)
        });
        let file = name.map_or_else(|| format!("[{kind}]"), |name| format!("[{kind}: {name}]"));
        left_out.push(file.clone());
        Some(file)
    };
    let text = parts.iter().filter_map(text).collect::<Vec<_>>().join("\n");
    (super::files::named(text, &files), files)
}

/// Parses an answer to a call that waits for consent. The id of an interrupt is the id of its call.
/// `resolved` with `approved: true` is a yes, perhaps with `editedArgs`; `approved: false` and `cancelled`
/// are a no, perhaps with a `reason`. Anything else is refused, so that no answer is guessed.
fn consent(entry: &Value) -> Result<Consent, Refusal> {
    let wrong = |what: &str| Refusal::new(ErrorCode::BadRequest, format!("resume: {what}"));
    let field = |name: &str| entry.get(name).and_then(Value::as_str);
    let id = field("interruptId").ok_or_else(|| wrong("interruptId: a text is expected"))?;
    let payload = entry.get("payload").unwrap_or(&Value::Null);
    let why =
        || payload.get("reason").and_then(Value::as_str).filter(|why| !why.is_empty()).map(str::to_owned);
    let answer = match (field("status"), payload.get("approved").and_then(Value::as_bool)) {
        (Some("cancelled"), _) | (Some("resolved"), Some(false)) => Answer::No { why: why() },
        (Some("resolved"), Some(true)) => {
            let arguments = payload.get("editedArgs").filter(|arguments| !arguments.is_null());
            Answer::Yes { arguments: arguments.map(Value::to_string) }
        }
        (Some("resolved"), None) => return Err(wrong("payload.approved: true or false is expected")),
        _ => return Err(wrong("status: resolved or cancelled is expected")),
    };
    Ok(Consent { tool: ToolCallId::new(id), answer })
}

/// Parses a tool of the client; `None` if it has no name. The schema is `parameters`, as AG-UI writes it, or
/// `inputSchema`, as the AI SDK does.
pub(super) fn offered(tool: &Value) -> Option<OfferedTool> {
    let field = |name: &str| tool.get(name).and_then(Value::as_str);
    let schema = ["parameters", "inputSchema"].iter().find_map(|name| tool.get(*name));
    Some(OfferedTool {
        name: CompactString::new(field("name").filter(|name| !name.is_empty())?),
        description: field("description").map(str::to_owned),
        schema: schema.filter(|schema| schema.is_object()).map(Json::of),
    })
}

#[cfg(test)]
mod tests;
