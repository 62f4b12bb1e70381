//! What clients of the platform send: the input of a run, where it begins, and the answers to calls that
//! wait.
//!
//! ```json
//! {"assistant_id": "helper", "input": {"messages": [{"type": "human", "content": "What time is it?"}]},
//!  "stream_mode": ["values", "messages-tuple"], "checkpoint": {"checkpoint_id": "…"},
//!  "multitask_strategy": "enqueue", "on_disconnect": "continue", "if_not_exists": "create",
//!  "command": {"resume": {"decisions": [{"type": "approve"}]}}}
//! ```
//!
//! Only `assistant_id` is required. Fields that the hub cannot fulfil (`webhook`, `interrupt_before`, …) are
//! named in the header `Fanlight-Left-Out`; fields with a wrong value are refused with 422.

use axum::http::StatusCode;
use model::event::MessageFile;
use model::{MessageId, ToolCallId};
use serde_json::{Map, Value};

use super::fault::Fault;
use crate::http::compat::{Consent, files, sampling};
use agents::Answer;
use agents::Spoken;

/// How the ids of messages begin that clients make up for calls without results, because providers require
/// one.
const NOT_SHOWN: &str = "do-not-render-";

/// The modes of a stream, in the order in which clients list them.
pub(super) const MODES: [&str; 9] =
    ["values", "messages", "messages-tuple", "updates", "custom", "tasks", "debug", "events", "checkpoints"];

/// Modes of the platform that the hub accepts but never has anything for.
const SILENT: [&str; 2] = ["events", "checkpoints"];

/// What happens to a running run when another one is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Strategy {
    /// The new run waits until the old one is over.
    Enqueue,
    /// The new run is refused.
    Reject,
    /// The old run is stopped; what it said stays.
    Interrupt,
    /// The old run is stopped, and the new one begins where the old one had begun.
    Rollback,
}

/// A request for a run, parsed. Made for each request and consumed by `start`.
#[derive(Debug)]
pub(super) struct RunRequest {
    /// The name or the id of the assistant, never empty.
    pub(super) assistant: String,
    /// What is said, of `input` and then of `command.update`. Known messages may be among it.
    pub(super) messages: Vec<Spoken>,
    /// The checkpoint from which the run goes on; `None` for the end of the thread.
    pub(super) checkpoint: Option<String>,
    /// The answers to calls that wait, not parsed yet.
    pub(super) resume: Option<Value>,
    /// Whether the graph is sent to its end (`command.goto: "__end__"`), so that no run begins.
    pub(super) ends: bool,
    /// The modes of the stream without those that are silent; `values` if none is left.
    pub(super) modes: Vec<String>,
    /// What happens to a run that is going on in the thread.
    pub(super) strategy: Strategy,
    /// Whether the run is stopped when its caller hangs up.
    pub(super) stops_on_hang_up: bool,
    /// Whether a thread that does not exist is created.
    pub(super) makes_thread: bool,
    /// How the model is to answer, of `config.configurable` and of `context`; the latter counts.
    pub(super) sampling: Map<String, Value>,
    /// What the hub ignores, by name.
    pub(super) left_out: Vec<String>,
}

/// Parses a body that must be an object; an empty body is an object without fields. Fails with 400 if it is
/// no JSON, with 422 if it is no object.
pub(super) fn body(said: &[u8]) -> Result<Value, Fault> {
    if said.iter().all(u8::is_ascii_whitespace) {
        return Ok(Value::Object(Map::new()));
    }
    match serde_json::from_slice(said) {
        Ok(value @ Value::Object(_)) => Ok(value),
        Ok(_other) => Err(Fault::wrong("the body is not a JSON object")),
        Err(error) => Err(Fault::new(StatusCode::BAD_REQUEST, format!("the body is not JSON: {error}"))),
    }
}

/// The metadata in a body, at most `METADATA_BYTES_MAX` bytes as JSON. Fails with 422 beyond, or if it is no
/// object.
pub(super) fn metadata(body: &Value) -> Result<Map<String, Value>, Fault> {
    let metadata = match body.get("metadata") {
        None | Some(Value::Null) => Map::new(),
        Some(Value::Object(metadata)) => metadata.clone(),
        Some(_) => return Err(Fault::wrong("metadata: an object is expected")),
    };
    let size = serde_json::to_string(&metadata).map_or(0, |text| text.len());
    if size > crate::threads::METADATA_BYTES_MAX {
        let why = format!("metadata: {size} bytes, and {} is the most", crate::threads::METADATA_BYTES_MAX);
        return Err(Fault::wrong(why));
    }
    Ok(metadata)
}

impl RunRequest {
    /// Parses a request. Fails with 422; the text names the field that is wrong.
    pub(super) fn of(body: &Value) -> Result<Self, Fault> {
        let text = |name: &str| body.get(name).and_then(Value::as_str).filter(|text| !text.is_empty());
        let assistant =
            text("assistant_id").ok_or_else(|| Fault::wrong("assistant_id: a text is expected"))?;
        let mut left_out = Vec::new();
        let mut messages = Vec::new();
        if let Some(input) = body.get("input") {
            hear_input("input", input, &mut messages, &mut left_out)?;
        }
        let command = body.get("command").filter(|command| !command.is_null());
        let part = |name: &str| command.and_then(|it| it.get(name)).filter(|it| !it.is_null());
        if let Some(update) = part("update") {
            hear_input("command.update", update, &mut messages, &mut left_out)?;
        }
        let goto = part("goto");
        let ends =
            goto.is_some_and(|goto| goto == "__end__" || goto.get(0).is_some_and(|it| it == "__end__"));
        if goto.is_some() && !ends {
            return Err(Fault::wrong("command.goto: an agent has one way to go on; only __end__ is known"));
        }
        for name in ["interrupt_before", "interrupt_after", "webhook", "after_seconds", "context"] {
            let is_told = name == "context" && sampling::is_all(body.get(name));
            if body.get(name).is_some_and(is_something) && !is_told {
                left_out.push(name.to_owned());
            }
        }
        let mut told = sampling::given(body.get("config").and_then(|config| config.get("configurable")))?;
        told.extend(sampling::given(body.get("context"))?);
        let (modes, silent) = modes(body.get("stream_mode"))?;
        left_out.extend(silent.into_iter().map(|mode| format!("stream_mode: {mode}")));
        Ok(Self {
            assistant: assistant.to_owned(),
            messages,
            checkpoint: checkpoint(body)?,
            resume: part("resume").cloned(),
            ends,
            modes,
            strategy: strategy(text("multitask_strategy"))?,
            stops_on_hang_up: text("on_disconnect") == Some("cancel"),
            makes_thread: text("if_not_exists") == Some("create"),
            sampling: told,
            left_out,
        })
    }
}

/// Whether a field says anything that the hub would have to heed.
fn is_something(value: &Value) -> bool {
    match value {
        Value::Null | Value::Bool(false) => false,
        Value::Array(all) => !all.is_empty(),
        Value::Object(all) => !all.is_empty(),
        _ => true,
    }
}

/// The modes that are asked for, and those among them that the hub never has anything for. Fails with 422 for
/// a mode that the platform does not have.
pub(super) fn modes(said: Option<&Value>) -> Result<(Vec<String>, Vec<String>), Fault> {
    let names: Vec<String> = match said {
        None | Some(Value::Null) => Vec::new(),
        Some(Value::String(mode)) => vec![mode.clone()],
        Some(Value::Array(all)) => all.iter().filter_map(Value::as_str).map(str::to_owned).collect(),
        Some(_) => return Err(Fault::wrong("stream_mode: a text or a list of texts is expected")),
    };
    if let Some(other) = names.iter().find(|name| !MODES.contains(&name.as_str())) {
        return Err(Fault::wrong(format!("stream_mode: {other:?} is not one of {}", MODES.join(", "))));
    }
    let (silent, modes): (Vec<_>, Vec<_>) =
        names.into_iter().partition(|name| SILENT.contains(&name.as_str()));
    let modes = if modes.is_empty() { vec![String::from("values")] } else { modes };
    Ok((modes, silent))
}

/// Parses `multitask_strategy`; the default is to wait. Fails with 422 for an unknown word.
fn strategy(said: Option<&str>) -> Result<Strategy, Fault> {
    Ok(match said {
        None | Some("enqueue") => Strategy::Enqueue,
        Some("reject") => Strategy::Reject,
        Some("interrupt") => Strategy::Interrupt,
        Some("rollback") => Strategy::Rollback,
        Some(other) => {
            let why =
                format!("multitask_strategy: {other:?} is not one of enqueue, reject, interrupt, rollback");
            return Err(Fault::wrong(why));
        }
    })
}

/// The checkpoint that a body names, as an object with `checkpoint_id`, as a text, or in the field
/// `checkpoint_id`. `None` without one or if it is null.
pub(super) fn checkpoint(body: &Value) -> Result<Option<String>, Fault> {
    let named = body.get("checkpoint").filter(|it| !it.is_null());
    let id = match named {
        Some(Value::Object(fields)) => fields.get("checkpoint_id").filter(|it| !it.is_null()),
        Some(Value::String(_)) => named,
        Some(_) => return Err(Fault::wrong("checkpoint: an object with a checkpoint_id is expected")),
        None => body.get("checkpoint_id").filter(|it| !it.is_null()),
    };
    match id {
        None => Ok(None),
        Some(Value::String(id)) => Ok(Some(id.clone())),
        Some(_) => Err(Fault::wrong("checkpoint_id: a text is expected")),
    }
}

/// Adds the messages of an input to `messages`, and the names of what the hub ignores to `left_out`. `name`
/// is the field that has the input, for error texts. Fails with 422 if it is neither null nor an object.
pub(super) fn hear_input(
    name: &str,
    input: &Value,
    messages: &mut Vec<Spoken>,
    left_out: &mut Vec<String>,
) -> Result<(), Fault> {
    let fields = match input {
        Value::Null => return Ok(()),
        Value::Object(fields) => fields,
        _ => return Err(Fault::wrong(format!("{name}: an object with messages is expected"))),
    };
    for (field, value) in fields {
        if field != "messages" {
            if is_something(value) {
                left_out.push(format!("{name}.{field}"));
            }
            continue;
        }
        match value {
            Value::Array(all) => {
                for message in all {
                    hear(message, messages, left_out);
                }
            }
            one => hear(one, messages, left_out),
        }
    }
    Ok(())
}

/// Adds a message in any of the forms of the library: a text, an object with `type` or `role`, or a
/// serialised constructor with `kwargs`. Results of calls are ignored, because an agent executes its calls
/// itself.
fn hear(message: &Value, messages: &mut Vec<Spoken>, left_out: &mut Vec<String>) {
    if let Some(text) = message.as_str() {
        return messages.push(Spoken::user(text));
    }
    let inner = ["kwargs", "data"].iter().find_map(|name| message.get(*name).filter(|it| it.is_object()));
    let field = |name: &str| message.get(name).or_else(|| inner.and_then(|inner| inner.get(name)));
    let word = |name: &str| field(name).and_then(Value::as_str).unwrap_or_default();
    let kind = if word("type") == "constructor" {
        message.get("id").and_then(|id| id.as_array()?.last()?.as_str()).unwrap_or_default()
    } else if word("type").is_empty() {
        word("role")
    } else {
        word("type")
    };
    let role = match kind {
        "human" | "user" | "HumanMessage" | "HumanMessageChunk" => "user",
        "system" | "developer" | "SystemMessage" => "system",
        "ai" | "assistant" | "AIMessage" | "AIMessageChunk" => "assistant",
        "tool" | "ToolMessage" if word("id").starts_with(NOT_SHOWN) => return,
        other => return left_out.push(format!("message of type {other:?}")),
    };
    let id = inner.and_then(|inner| inner.get("id")).or_else(|| message.get("id")).and_then(Value::as_str);
    let (text, files) = content(field("content"), role, left_out);
    if !text.is_empty() {
        let id = id.filter(|id| !id.is_empty()).map(MessageId::new);
        messages.push(Spoken { id, role: role.into(), text, files });
    }
}

/// The text and the files of a message's content. Of a message that is no person's, and of those that are not in the
/// request, files are replaced by their names.
fn content(content: Option<&Value>, role: &str, left_out: &mut Vec<String>) -> (String, Vec<MessageFile>) {
    let blocks = match content {
        Some(Value::String(text)) => return (text.clone(), Vec::new()),
        Some(Value::Array(blocks)) => blocks,
        _ => return (String::new(), Vec::new()),
    };
    let mut found = Vec::new();
    let text = |block: &Value| {
        if let Some(text) = block.as_str().or_else(|| block.get("text").and_then(Value::as_str)) {
            return Some(text.to_owned());
        }
        if let Some(file) = files::file(block).filter(|_| role == "user") {
            found.push(file);
            return None;
        }
        let kind = block.get("type").and_then(Value::as_str).unwrap_or("file");
        let metadata = block.get("metadata").unwrap_or(block);
        let named = ["name", "filename", "mime_type", "mimeType"].iter();
        let name = named.copied().find_map(|name| metadata.get(name).or_else(|| block.get(name))?.as_str());
        let file = name.map_or_else(|| format!("[{kind}]"), |name| format!("[{kind}: {name}]"));
        left_out.push(file.clone());
        Some(file)
    };
    let text = blocks.iter().filter_map(text).collect::<Vec<_>>().join("\n");
    (files::named(text, &found), found)
}

/// Parses `resume`: one answer for all calls that wait, one for each in their order, or answers by id.
/// Fails with 422 if their number is neither one nor that of the calls, or if a decision is not understood.
pub(super) fn consents(resume: &Value, waiting: &[ToolCallId]) -> Result<Vec<Consent>, Fault> {
    let for_all = |said: &Value| -> Result<Vec<Consent>, Fault> {
        let answer = answer(said)?;
        Ok(waiting.iter().map(|tool| Consent { tool: tool.clone(), answer: answer.clone() }).collect())
    };
    let each = |all: &[Value]| -> Result<Vec<Consent>, Fault> {
        match all {
            [one] => for_all(one),
            all if all.len() == waiting.len() => {
                let pairs = waiting.iter().zip(all);
                pairs.map(|(tool, said)| Ok(Consent { tool: tool.clone(), answer: answer(said)? })).collect()
            }
            all => Err(Fault::wrong(format!(
                "command.resume: {} calls wait, and {} are answered",
                waiting.len(),
                all.len()
            ))),
        }
    };
    match resume {
        Value::Array(all) => each(all),
        Value::Object(fields) => {
            if let Some(Value::Array(all)) = fields.get("decisions") {
                return each(all);
            }
            let named = |name: &String| waiting.iter().any(|tool| tool.as_str() == name);
            if fields.is_empty() || !fields.keys().all(named) {
                return for_all(resume);
            }
            let mut consents = Vec::new();
            for (name, said) in fields {
                // An interrupt has the id of the first call that it asks about.
                if said.get("decisions").is_some() || said.is_array() {
                    consents.extend(self::consents(said, waiting)?);
                } else {
                    consents.push(Consent { tool: ToolCallId::new(name), answer: answer(said)? });
                }
            }
            Ok(consents)
        }
        said => for_all(said),
    }
}

/// Parses one answer: in the form of the library's middleware (`approve`, `edit`, `reject`), of the agent
/// inbox (`accept`, `edit`, `ignore`, `response`), or as a plain word. A text that is not one of the known words
/// is a no with that text as its reason. Fails with 422 for an object without a decision.
fn answer(said: &Value) -> Result<Answer, Fault> {
    let yes = Answer::Yes { arguments: None };
    let fields = match said {
        Value::Bool(true) => return Ok(yes),
        Value::Bool(false) => return Ok(Answer::No { why: None }),
        Value::String(word) => {
            return Ok(match word.trim().to_ascii_lowercase().as_str() {
                "approve" | "approved" | "accept" | "yes" | "y" | "ok" | "true" | "continue" => yes,
                "reject" | "rejected" | "ignore" | "no" | "n" | "false" => Answer::No { why: None },
                _ => Answer::No { why: Some(word.clone()) },
            });
        }
        Value::Object(fields) => fields,
        _ => return Err(Fault::wrong("command.resume: a decision is expected for each call that waits")),
    };
    let text = |name: &str| fields.get(name).and_then(Value::as_str).filter(|it| !it.is_empty());
    let why = || text("message").or_else(|| text("args")).or_else(|| text("reason")).map(str::to_owned);
    let approved = fields.get("approved").and_then(Value::as_bool);
    match (text("type"), approved) {
        (Some("approve" | "accept"), _) => Ok(yes),
        (Some("edit"), _) => {
            let edited = ["edited_action", "editedAction", "args"].iter().find_map(|name| fields.get(*name));
            let edited =
                edited.ok_or_else(|| Fault::wrong("command.resume: edited_action.args is expected"))?;
            let arguments = edited.get("args").filter(|it| it.is_object()).unwrap_or(edited);
            Ok(Answer::Yes { arguments: Some(arguments.to_string()) })
        }
        (Some("reject" | "ignore" | "response"), _) | (None, Some(false)) => Ok(Answer::No { why: why() }),
        (None, Some(true)) => {
            let edited = fields.get("editedArgs").filter(|it| it.is_object());
            Ok(Answer::Yes { arguments: edited.map(Value::to_string) })
        }
        (Some(other), _) => {
            let why = format!(
                "command.resume: {other:?} is not one of approve, edit, reject, accept, ignore, response"
            );
            Err(Fault::wrong(why))
        }
        (None, None) => Err(Fault::wrong("command.resume: a decision has a type")),
    }
}

#[cfg(test)]
mod tests;
