//! Reads requests for a response. Items of the input are parsed as in the proxy. Each field that changes the answer
//! is either taken into account, refused by name, or named in the answer as ignored.
//!
//! ```json
//! {"model": "helper", "instructions": "Be brief.", "input": [{"role": "user", "content": "Weather?"}], "stream": true,
//!  "tools": [{"type": "function", "name": "look", "parameters": {…}}], "previous_response_id": "resp_r1.helper-x"}
//! ```

use axum::http::StatusCode;
use compact_str::CompactString;
use exchange::{ModelApi, ModelRequest, OfferedTool};
use serde_json::{Map, Value, json};

use super::super::fault::Fault;
use super::super::request::{is_true, whose};
use crate::http::compat::CallResult;
use crate::http::compat::history::History;
use crate::http::compat::sampling::too_long;
use agents::Spoken;

/// Fields that concern the model and that an answer has no place for. They are ignored.
const IGNORED: [&str; 6] =
    ["include", "max_tool_calls", "prompt", "top_logprobs", "truncation", "context_management"];

/// Fields for the model that have another name in chat completions, and that name.
const RENAMED: [(&str, &str); 4] = [
    ("temperature", "temperature"),
    ("top_p", "top_p"),
    ("max_output_tokens", "max_completion_tokens"),
    ("parallel_tool_calls", "parallel_tool_calls"),
];

/// A request for a response, as far as the hub uses it.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct ResponsesRequest {
    /// The field `model`, which names an agent.
    pub(super) model: Option<CompactString>,
    /// The id of the response that is continued.
    pub(super) previous: Option<String>,
    /// The last item of an earlier answer that the input names by its id, because the caller leaves the history to the server.
    pub(super) reference: Option<String>,
    /// The conversation that the request names, if it does.
    pub(super) conversation: Option<CompactString>,
    /// What was said, in order, the instructions first.
    pub(super) messages: Vec<Spoken>,
    /// The results of tool calls: items `function_call_output`.
    pub(super) results: Vec<CallResult>,
    /// The functions that the caller can execute; none with `tool_choice: "none"`.
    pub(super) tools: Vec<OfferedTool>,
    /// Whether the answer is a stream.
    pub(super) streams: bool,
    /// The fields that name the person behind the client; null if there are none.
    pub(super) whose: Value,
    /// How the model is to answer, by the names that chat completions have for it.
    pub(super) sampling: Map<String, Value>,
    /// What the hub ignores, by name.
    pub(super) left_out: Vec<String>,
}

impl ResponsesRequest {
    /// Reads a body. Fails with `invalid_json` if it is no object, and with `invalid_value` and the name of the field for an
    /// `input` that is missing or empty, for `background`, for a `tool_choice` that forces a call, and for fields for the
    /// model that have too many bytes together.
    pub(super) fn read(body: &[u8]) -> Result<Self, Fault> {
        let fields: Map<String, Value> = serde_json::from_slice(body).map_err(|error| {
            let why = format!("the body is not a JSON object: {error}");
            Fault::new(StatusCode::BAD_REQUEST, "invalid_json", &why)
        })?;
        let is_empty = match fields.get("input") {
            Some(Value::String(text)) => text.is_empty(),
            Some(Value::Array(items)) => items.is_empty(),
            _ => true,
        };
        if is_empty {
            return Err(Fault::of_field("input", "expected a non-empty text or a list of at least one item"));
        }
        if is_true(fields.get("background")) {
            return Err(Fault::of_field(
                "background",
                "runs go on without their caller, and are not polled here",
            ));
        }
        let request = ModelRequest::read(ModelApi::OpenAiResponses, "/v1/responses", body);
        let mut wish = Self {
            model: request.model.clone(),
            previous: request.previous.as_ref().map(ToString::to_string),
            conversation: request.session.clone().filter(|_| request.continues),
            reference: reference(fields.get("input")),
            streams: request.streaming,
            whose: whose(&fields),
            sampling: sampling(&fields)?,
            ..Self::default()
        };
        let History { messages, results, left_out, .. } = History::of(&request, fields.get("input"));
        (wish.messages, wish.results, wish.left_out) = (messages, results, left_out);
        wish.offer(&fields, &request)?;
        let given = IGNORED.iter().filter(|name| fields.get(**name).is_some_and(|value| !value.is_null()));
        wish.left_out.extend(given.map(|name| (*name).to_owned()));
        Ok(wish)
    }

    /// Takes over the functions that the caller can execute, if it wants them to be used. Tools of other kinds are left out:
    /// OpenAI's server executes most of them. Fails for a `tool_choice` other than `auto` and `none`: an agent cannot be
    /// forced to call a tool.
    fn offer(&mut self, fields: &Map<String, Value>, request: &ModelRequest) -> Result<(), Fault> {
        let tools = fields.get("tools").and_then(Value::as_array);
        let word = |tool: &Value, field: &str| tool.get(field).and_then(Value::as_str).map(str::to_owned);
        let mut functions = Vec::new();
        for (number, tool) in tools.into_iter().flatten().enumerate() {
            match (word(tool, "type").as_deref(), word(tool, "name")) {
                (Some("function"), Some(name)) => functions.push(name),
                (kind, _) => {
                    self.left_out.push(format!("tools[{number}] ({})", kind.unwrap_or("without a type")));
                }
            }
        }
        match fields.get("tool_choice") {
            Some(choice) if choice == "none" => return Ok(()),
            None | Some(Value::Null) => {}
            Some(choice) if choice == "auto" => {}
            Some(_) => {
                return Err(Fault::of_field(
                    "tool_choice",
                    "the agent decides for itself whether to call a tool; use auto or none",
                ));
            }
        }
        let offered =
            request.tools.iter().filter(|tool| functions.iter().any(|name| tool.name == name.as_str()));
        self.tools = offered.cloned().collect();
        Ok(())
    }
}

/// The id in the last item `item_reference` of the input.
fn reference(input: Option<&Value>) -> Option<String> {
    let items = input?.as_array()?;
    let last = items.iter().rfind(|item| item["type"] == "item_reference")?;
    last.get("id")?.as_str().map(str::to_owned)
}

/// The fields for the model, by the names that chat completions have for them. Fails if they are over
/// `SAMPLING_BYTES_MAX` together.
fn sampling(fields: &Map<String, Value>) -> Result<Map<String, Value>, Fault> {
    let mut given = Map::new();
    for (name, renamed) in RENAMED {
        given.extend(fields.get(name).map(|value| (renamed.to_owned(), value.clone())));
    }
    let (text, reasoning) = (fields.get("text"), fields.get("reasoning"));
    given.extend(inner(reasoning, "effort").map(|value| ("reasoning_effort".to_owned(), value.clone())));
    given.extend(inner(text, "verbosity").map(|value| ("verbosity".to_owned(), value.clone())));
    given.extend(inner(text, "format").map(|format| ("response_format".to_owned(), response_format(format))));
    given.retain(|_, value| !value.is_null());
    match too_long(&given) {
        Some(why) => Err(Fault::of_field("text.format", &why)),
        None => Ok(given),
    }
}

/// The field `name` of an object, if there is one.
fn inner<'a>(object: Option<&'a Value>, name: &str) -> Option<&'a Value> {
    object?.get(name)
}

/// The form of the answer as chat completions write it: there a schema has an object of its own.
fn response_format(format: &Value) -> Value {
    let Value::Object(fields) = format else { return format.clone() };
    if format["type"] != "json_schema" {
        return format.clone();
    }
    let schema: Map<String, Value> = fields
        .iter()
        .filter(|(name, _)| *name != "type")
        .map(|(name, it)| (name.clone(), it.clone()))
        .collect();
    json!({"type": "json_schema", "json_schema": schema})
}

#[cfg(test)]
mod tests;
