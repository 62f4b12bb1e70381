//! Reads messages in all known forms: parts of OpenTelemetry, messages of OpenAI, blocks of Anthropic, parts
//! of the AI SDK, OpenInference's wrappers, events of Pydantic AI, LangChain's objects.
//!
//! ```json
//! {"role": "user", "parts": [{"type": "text", "content": "…"}]}
//! {"role": "assistant", "content": null, "tool_calls": [{"id": "t", "function": {"name": "look", "arguments": "{}"}}]}
//! {"role": "assistant", "content": [{"type": "tool_use", "id": "t", "name": "look", "input": {}}]}
//! {"role": "tool", "content": [{"type": "tool-result", "toolCallId": "t", "output": {"type": "json", "value": 1}}]}
//! {"message": {"role": "user", "contents": [{"message_content": {"type": "text", "text": "…"}}]}}
//! {"event.name": "gen_ai.choice", "message": {"content": "…"}}
//! {"type": "human", "content": "…"}
//! {"role": "user", "content": [{"toolResult": {"toolUseId": "t", "status": "success", "content": [{"text": "…"}]}}]}
//! ```
//!
//! Nothing fails: a piece of an unknown kind becomes its text, or its kind in brackets; a message without
//! pieces is left out.

use serde_json::Value;

use super::super::attributes::tree_of;
use model::json::Json;

/// The deepest nesting of pieces in pieces that is read.
const DEPTH_MAX: usize = 8;

/// A message in a span.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::spans) struct SpanMessage {
    /// `user`, `assistant`, `system`, `tool`, or what the span says; the words of other conventions are read
    /// as these.
    pub(in crate::spans) role: String,
    /// The pieces of the message in order, at least one.
    pub(in crate::spans) pieces: Vec<SpanPiece>,
}

/// A piece of a message in a span.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::spans) enum SpanPiece {
    /// Text that is said.
    Text(String),
    /// Thinking of the model.
    Thinking(String),
    /// A call of a tool. The id is empty where the span has none; the arguments are what a model would write,
    /// mostly JSON.
    Call { id: String, name: String, arguments: String },
    /// The result of a call, with the id of the call.
    Result { id: String, output: Json, is_error: bool },
}

impl SpanMessage {
    /// The text of the message, a line for each piece; other pieces are left out.
    pub(in crate::spans) fn text(&self) -> String {
        let texts = self.pieces.iter().filter_map(|piece| match piece {
            SpanPiece::Text(text) => Some(text.as_str()),
            _ => None,
        });
        texts.collect::<Vec<_>>().join("\n")
    }

    /// A message with one piece of text.
    pub(in crate::spans) fn of(role: &str, text: &str) -> Self {
        Self { role: role.to_owned(), pieces: vec![SpanPiece::Text(text.to_owned())] }
    }
}

/// A text that is not empty, or a number as text.
pub(super) fn words(value: &Value) -> Option<String> {
    match value {
        Value::String(text) if !text.trim().is_empty() => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    }
}

/// The messages in `value`: a list, an object that contains one, or one message. A plain text is a message
/// with the role `role`.
pub(super) fn messages(value: &Value, role: &str) -> Vec<SpanMessage> {
    match tree_of(value) {
        Value::Array(items) => {
            // LangChain has a list for each of several prompts.
            items
                .iter()
                .flat_map(|item| if item.is_array() { messages(item, role) } else { one(item, role) })
                .collect()
        }
        Value::Object(fields) => {
            let system = fields.get("system").and_then(words).map(|text| SpanMessage::of("system", &text));
            let inner = ["messages", "prompt", "input", "query", "question"];
            match inner.iter().find_map(|name| fields.get(*name)) {
                Some(inner) if !fields.contains_key("role") => {
                    system.into_iter().chain(messages(inner, role)).collect()
                }
                _ => one(&Value::Object(fields), role),
            }
        }
        Value::String(text) if !text.trim().is_empty() => vec![SpanMessage::of(role, &text)],
        _ => Vec::new(),
    }
}

/// The message that `value` is, in whichever of the known forms; empty if it has no pieces. `role` is used if
/// it names none.
fn one(value: &Value, role: &str) -> Vec<SpanMessage> {
    if let Some(text) = value.as_str() {
        return vec![SpanMessage::of(role, text)];
    }
    let whole = value;
    let value =
        ["message", "kwargs", "data"].iter().find_map(|name| value.get(name).filter(|it| it.is_object()));
    let value = value.unwrap_or(whole);
    let role = role_of(value).or_else(|| role_of(whole)).unwrap_or_else(|| role.to_owned());
    let mut pieces = Vec::new();
    for name in ["reasoning_content", "reasoning", "thinking"] {
        if let Some(text) = value.get(name).and_then(words) {
            pieces.push(SpanPiece::Thinking(text));
        }
    }
    // A text next to a list repeats what the list says.
    let content = ["parts", "contents", "content", "text"].iter().find_map(|name| {
        value.get(name).filter(|content| !content.is_null() && content.as_str() != Some(""))
    });
    let answers =
        ["tool_call_id", "toolCallId", "id"].iter().find_map(|name| value.get(name).and_then(words));
    match (content, answers) {
        (Some(content), Some(id)) if role == "tool" && !has_result(content) => {
            pieces.push(SpanPiece::Result { id, output: super::json(content), is_error: is_error(value) });
        }
        (Some(content), _) => read_pieces(content, DEPTH_MAX, &mut pieces),
        (None, _) => {}
    }
    if let Some(calls) = value.get("tool_calls").map(tree_of) {
        for call in calls.as_array().map_or(&[][..], Vec::as_slice) {
            pieces.extend(call_of(call.get("tool_call").unwrap_or(call)));
        }
    }
    pieces.extend(value.get("function_call").and_then(call_of));
    if pieces.is_empty() { Vec::new() } else { vec![SpanMessage { role, pieces }] }
}

/// The role that a message names: in a field, by the name of its event, or by LangChain's type.
fn role_of(value: &Value) -> Option<String> {
    let named = value.get("role").and_then(Value::as_str).map(str::to_ascii_lowercase);
    let event = value.get("event.name").and_then(Value::as_str);
    let kind = value.get("type").and_then(Value::as_str);
    let role = named.or_else(|| match (event, kind) {
        (Some("gen_ai.choice"), _) => Some(String::from("assistant")),
        (Some(event), _) => Some(event.strip_prefix("gen_ai.")?.strip_suffix(".message")?.to_owned()),
        (_, Some("human" | "ai" | "system" | "tool")) => kind.map(str::to_owned),
        _ => None,
    })?;
    Some(match role.as_str() {
        "human" => String::from("user"),
        "ai" | "model" => String::from("assistant"),
        "developer" => String::from("system"),
        "function" => String::from("tool"),
        _ => role,
    })
}

/// The `type` of a piece; empty if it has none.
fn kind(value: &Value) -> &str {
    value.get("type").and_then(Value::as_str).unwrap_or_default()
}

/// Whether the pieces contain results that name their calls themselves.
fn has_result(content: &Value) -> bool {
    let items = content.as_array().map_or(&[][..], Vec::as_slice);
    items.iter().any(|item| is_result(kind(item)) || item.get("toolResult").is_some())
}

/// Whether a piece of this kind is the result of a call.
fn is_result(kind: &str) -> bool {
    matches!(kind, "tool_call_response" | "tool-result" | "tool_result" | "function_call_output")
}

/// Whether a result is marked as failed.
fn is_error(value: &Value) -> bool {
    let flag = ["is_error", "isError"].iter().any(|name| value.get(name) == Some(&Value::Bool(true)));
    flag || value.get("status").and_then(Value::as_str) == Some("error")
}

/// Adds the pieces of `content` to `pieces`; what is nested more than `depth` levels deep is left out.
fn read_pieces(content: &Value, depth: usize, pieces: &mut Vec<SpanPiece>) {
    match content {
        _ if depth == 0 => {}
        Value::String(text) if !text.is_empty() => pieces.push(SpanPiece::Text(text.clone())),
        Value::Array(items) => {
            for item in items {
                read_pieces(item, depth.saturating_sub(1), pieces);
            }
        }
        Value::Object(_) => match content.get("message_content") {
            Some(inner) => read_pieces(inner, depth.saturating_sub(1), pieces),
            None => pieces.extend(piece(content)),
        },
        _ => {}
    }
}

/// The names of which a block of Amazon Bedrock's Converse API has one, with its contents.
const BLOCKS: [&str; 11] = [
    "text",
    "toolUse",
    "toolResult",
    "reasoningContent",
    "json",
    "image",
    "document",
    "video",
    "audio",
    "cachePoint",
    "citationsContent",
];

/// The list of Converse blocks that `value` is, or contains as JSON text, which is how Strands writes
/// contents; else nothing.
pub(super) fn converse_blocks(value: &Value) -> Option<Vec<Value>> {
    let Value::Array(items) = tree_of(value) else { return None };
    let is_block = |item: &Value| {
        item.as_object().is_some_and(|fields| {
            fields.len() == 1 && fields.keys().all(|name| BLOCKS.contains(&name.as_str()))
        })
    };
    (!items.is_empty() && items.iter().all(is_block)).then_some(items)
}

/// The output of a tool without the Converse blocks around it: the lines of several texts, or one JSON
/// value. Any other output stays as it is.
pub(super) fn without_blocks(output: &Value) -> Value {
    let Some(blocks) = converse_blocks(output) else { return output.clone() };
    if let [only] = blocks.as_slice()
        && let Some(inner) = only.get("json")
    {
        return inner.clone();
    }
    let texts: Option<Vec<&str>> = blocks.iter().map(|block| block.get("text")?.as_str()).collect();
    texts.map_or_else(|| output.clone(), |texts| Value::from(texts.join("\n")))
}

/// A Converse block that is no text; `None` for any other piece.
fn converse_piece(value: &Value) -> Option<SpanPiece> {
    if let Some(call) = value.get("toolUse") {
        return call_of(call);
    }
    if let Some(result) = value.get("toolResult") {
        return Some(result_of(result));
    }
    let thought = value.get("reasoningContent")?;
    let text = thought.get("reasoningText").unwrap_or(thought).get("text").and_then(words)?;
    Some(SpanPiece::Thinking(text))
}

/// One piece; `None` for an empty text and for a call without a name.
fn piece(value: &Value) -> Option<SpanPiece> {
    if let Some(piece) = converse_piece(value) {
        return Some(piece);
    }
    let text = |names: &[&str]| names.iter().find_map(|name| words(value.get(name)?));
    match kind(value) {
        "reasoning" | "thinking" => text(&["content", "text", "thinking"]).map(SpanPiece::Thinking),
        "tool_call" | "tool-call" | "tool_use" | "function_call" => call_of(value),
        kind if is_result(kind) => Some(result_of(value)),
        "" | "text" | "input_text" | "output_text" | "refusal" => {
            text(&["content", "text", "refusal"]).map(SpanPiece::Text)
        }
        other => Some(SpanPiece::Text(text(&["content", "text"]).unwrap_or_else(|| format!("[{other}]")))),
    }
}

/// The id of a call; empty if it has none.
fn id_of(value: &Value) -> String {
    let names = ["id", "toolCallId", "call_id", "tool_call_id", "tool_use_id", "toolUseId"];
    names.iter().find_map(|name| words(value.get(name)?)).unwrap_or_default()
}

/// A call, whose fields may be in an inner `function`; `None` without a name.
fn call_of(value: &Value) -> Option<SpanPiece> {
    let inner = value.get("function").filter(|inner| inner.is_object()).unwrap_or(value);
    let name = ["name", "toolName", "tool_name"].iter().find_map(|name| words(inner.get(name)?))?;
    let arguments = ["arguments", "args", "input"].iter().find_map(|name| inner.get(name));
    Some(SpanPiece::Call {
        id: id_of(value),
        name,
        arguments: arguments.map(arguments_text).unwrap_or_default(),
    })
}

/// Arguments as the text that a model would write.
pub(super) fn arguments_text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Null => String::new(),
        other => other.to_string(),
    }
}

/// A result, whatever its output is.
fn result_of(value: &Value) -> SpanPiece {
    let output = ["response", "result", "output", "content"].iter().find_map(|name| value.get(name));
    // The AI SDK wraps it: `{ "type": "json", "value": … }`.
    let output = output.map(|output| match output.get("value") {
        Some(inner) if output.get("type").is_some() => inner,
        _ => output,
    });
    let output = output.map_or_else(|| Json::of(&()), |output| super::json(&without_blocks(output)));
    let id = ["tool_use_id", "tool_call_id", "toolCallId", "toolUseId", "call_id", "id"];
    let id = id.iter().find_map(|name| words(value.get(name)?)).unwrap_or_default();
    SpanPiece::Result { id, output, is_error: is_error(value) }
}
