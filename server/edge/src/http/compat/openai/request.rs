//! Reads requests for a chat completion. Messages are parsed as in the proxy. Each field that changes the
//! answer is either taken into account, refused by name, or named in the answer as ignored.

use axum::http::StatusCode;
use compact_str::CompactString;
use exchange::{ModelApi, ModelRequest, OfferedTool};
use serde_json::{Map, Value};

use super::fault::Fault;
use crate::http::compat::CallResult;
use crate::http::compat::history::History;
use crate::http::compat::sampling::too_long;
use agents::{SAMPLING, Spoken};

/// Fields that concern the model and that an answer has no place for. They are ignored.
const IGNORED: [&str; 4] = ["logprobs", "top_logprobs", "prediction", "web_search_options"];

/// A request for a chat completion, as far as the hub uses it.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct ChatRequest {
    /// The field `model`. For OpenAI's clients it must name an agent.
    pub(super) model: Option<CompactString>,
    /// The name of the conversation, which Bernard's clients put into the body.
    pub(super) thread: Option<String>,
    /// What was said, in order, the system's instructions among it.
    pub(super) messages: Vec<Spoken>,
    /// The messages with the role `tool`.
    pub(super) results: Vec<CallResult>,
    /// The tools that the caller can execute; none with `tool_choice: "none"`.
    pub(super) tools: Vec<OfferedTool>,
    /// Whether the answer is a stream.
    pub(super) streams: bool,
    /// Whether the stream ends with the tokens that were used.
    pub(super) wants_usage: bool,
    /// Whether Bernard's form of the stream is wanted.
    pub(super) shows_tools: bool,
    /// The fields that name the person behind the client; null if there are none.
    pub(super) whose: Value,
    /// How the model is to answer, by the names in [`SAMPLING`].
    pub(super) sampling: Map<String, Value>,
    /// What the hub ignores, by name.
    pub(super) left_out: Vec<String>,
}

impl ChatRequest {
    /// Reads a body. Fails with `invalid_json` if it is no object, and with `invalid_value` and the name of
    /// the field for `messages` that are missing or empty, and for whatever [`refuse`] and [`ChatRequest::offer`]
    /// refuse.
    pub(super) fn read(body: &[u8]) -> Result<Self, Fault> {
        let fields: Map<String, Value> = serde_json::from_slice(body).map_err(|error| {
            Fault::new(
                StatusCode::BAD_REQUEST,
                "invalid_json",
                &format!("the body is not a JSON object: {error}"),
            )
        })?;
        let messages = fields.get("messages").and_then(Value::as_array);
        if messages.is_none_or(Vec::is_empty) {
            return Err(Fault::of_field("messages", "a list of messages is expected, with one at least"));
        }
        let request = ModelRequest::read(ModelApi::OpenAiChat, "/v1/chat/completions", body);
        let mut wish = Self {
            model: request.model.clone(),
            thread: thread(&fields)?,
            streams: request.streaming,
            wants_usage: fields.get("stream_options").is_some_and(|it| is_true(it.get("include_usage"))),
            shows_tools: is_true(fields.get("tool_progress")),
            whose: whose(&fields),
            ..Self::default()
        };
        refuse(&fields)?;
        wish.offer(&fields, &request)?;
        let History { messages, results, left_out, .. } = History::of(&request, fields.get("messages"));
        (wish.messages, wish.results, wish.left_out) = (messages, results, left_out);
        wish.sampling = sampling(&fields)?;
        let given = IGNORED.iter().filter(|name| fields.get(**name).is_some_and(|value| !value.is_null()));
        wish.left_out.extend(given.map(|name| (*name).to_owned()));
        Ok(wish)
    }

    /// Takes over the tools that the caller can execute, if it wants them to be used. Fails for tools that
    /// are no functions, for the old field `functions`, and for a `tool_choice` other than `auto` and `none`:
    /// an agent cannot be forced to call a tool.
    fn offer(&mut self, fields: &Map<String, Value>, request: &ModelRequest) -> Result<(), Fault> {
        if fields.get("functions").is_some_and(|functions| !functions.is_null()) {
            return Err(Fault::of_field("functions", "they are called tools since 2023"));
        }
        let tools = fields.get("tools").and_then(Value::as_array);
        for (number, tool) in tools.into_iter().flatten().enumerate() {
            if tool.get("type").and_then(Value::as_str) != Some("function") {
                let field = format!("tools[{number}].type");
                return Err(Fault::of_field(&field, "a caller's tool is a function"));
            }
        }
        match fields.get("tool_choice") {
            None | Some(Value::Null) => self.tools.clone_from(&request.tools),
            Some(choice) if choice == "auto" => self.tools.clone_from(&request.tools),
            Some(choice) if choice == "none" => {}
            Some(_) => return Err(Fault::of_field("tool_choice", "an agent chooses itself: auto or none")),
        }
        Ok(())
    }
}

/// The name of the thread in the body, `thread_id` or `chatId`; `None` without one or if it is empty. Fails
/// if it is no text.
fn thread(fields: &Map<String, Value>) -> Result<Option<String>, Fault> {
    for name in ["thread_id", "chatId"] {
        match fields.get(name) {
            None | Some(Value::Null) => {}
            Some(Value::String(thread)) if thread.is_empty() => {}
            Some(Value::String(thread)) => return Ok(Some(thread.clone())),
            Some(_) => return Err(Fault::of_field(name, "the name of a conversation is expected")),
        }
    }
    Ok(None)
}

/// The fields that are passed on to the model. Fails if they are over `SAMPLING_BYTES_MAX` together.
fn sampling(fields: &Map<String, Value>) -> Result<Map<String, Value>, Fault> {
    let given = SAMPLING.into_iter().filter_map(|name| Some((name, fields.get(name)?)));
    let given: Map<String, Value> = given
        .filter(|(_, value)| !value.is_null())
        .map(|(name, value)| (name.to_owned(), value.clone()))
        .collect();
    match too_long(&given) {
        Some(why) => Err(Fault::of_field("response_format", &why)),
        None => Ok(given),
    }
}

/// Refuses fields that the hub cannot fulfil and whose absence the caller would notice: more than one answer
/// (`n`), an answer that is no text (`modalities`, `audio`).
fn refuse(fields: &Map<String, Value>) -> Result<(), Fault> {
    if fields.get("n").and_then(Value::as_u64).is_some_and(|count| count > 1) {
        return Err(Fault::of_field("n", "an agent gives one answer"));
    }
    let modalities = fields.get("modalities").and_then(Value::as_array);
    if fields.get("audio").is_some_and(|audio| !audio.is_null())
        || modalities.is_some_and(|all| all.iter().any(|it| it != "text"))
    {
        return Err(Fault::of_field("modalities", "an agent answers with text"));
    }
    Ok(())
}

/// The fields that name the person behind the client, as an object; null if there are none. They only
/// distinguish callers and are stored as hashes.
pub(super) fn whose(fields: &Map<String, Value>) -> Value {
    let named = ["user", "safety_identifier"].into_iter();
    let named: Map<String, Value> =
        named.filter_map(|name| Some((name.to_owned(), fields.get(name)?.clone()))).collect();
    if named.is_empty() { Value::Null } else { named.into() }
}

/// Whether a field is there and true.
pub(super) fn is_true(value: Option<&Value>) -> bool {
    value.and_then(Value::as_bool) == Some(true)
}

#[cfg(test)]
mod tests;
