//! Reads spans of tools: the id of the call, the arguments and the result.

use serde_json::Value;

use super::super::FinishedSpan;
use super::super::attributes::{Attributes, tree_of};
use super::said::{arguments_text, without_blocks};
use super::{SpanMeaning, json};
use model::json::Json;

/// The attributes with the id of the call.
const CALL: [&str; 5] = ["gen_ai.tool.call.id", "tool_call.id", "ai.toolCall.id", "tool.id", "tool_call_id"];

/// The attributes with the arguments.
const ARGUMENTS: [&str; 7] = [
    "gen_ai.tool.call.arguments",
    "tool_arguments",
    "ai.toolCall.args",
    "ai.toolCall.input",
    "input.value",
    "traceloop.entity.input",
    "tool_call.function.arguments",
];

/// The attributes with the result.
const RESULT: [&str; 6] = [
    "gen_ai.tool.call.result",
    "tool_response",
    "ai.toolCall.result",
    "ai.toolCall.output",
    "output.value",
    "traceloop.entity.output",
];

/// Reads the call into `meaning`: the first attribute of each table that is there.
pub(super) fn read(span: &FinishedSpan, facts: &Attributes, meaning: &mut SpanMeaning) {
    meaning.call = facts.first_text(&CALL).map(str::to_owned);
    let (given, returned) = by_events(span);
    let given = ARGUMENTS.iter().find_map(|name| facts.get(name)).or(given);
    meaning.arguments = given.map(|value| {
        let tree = tree_of(value);
        unwrapped(&tree).map_or_else(|| arguments_text(value), |inner| inner.to_string())
    });
    let told = RESULT.iter().find_map(|name| facts.get(name)).or(returned);
    meaning.result = told.map(|result| answer(&tree_of(&decoded(result)), meaning));
}

/// The arguments inside of the object with all parameters of the function that Traceloop and OpenInference
/// write. Positional arguments are a list; with named ones beside them the object keeps both.
fn unwrapped(tree: &Value) -> Option<Value> {
    let inner = tree.get("inputs").or_else(|| tree.get("kwargs"))?;
    let is_wrapper = tree.as_object().is_some_and(|fields| {
        fields.keys().all(|name| {
            matches!(
                name.as_str(),
                "inputs" | "args" | "kwargs" | "tags" | "metadata" | "sanitize_inputs_outputs"
            )
        })
    });
    let positional = tree.get("args").filter(|args| args.as_array().is_some_and(|args| !args.is_empty()));
    let has_named = inner.as_object().is_some_and(|named| !named.is_empty());
    is_wrapper.then(|| match positional {
        Some(args) if tree.get("inputs").is_some() || has_named => {
            serde_json::json!({"args": args, "kwargs": inner})
        }
        Some(args) => args.clone(),
        None => inner.clone(),
    })
}

/// A text that is written as JSON, with its quotes, as Traceloop writes results; any other value stays as it
/// is.
pub(super) fn decoded(value: &Value) -> Value {
    let inner = value.as_str().filter(|text| text.len() > 1 && text.starts_with('"') && text.ends_with('"'));
    inner.and_then(|text| serde_json::from_str(text).ok()).unwrap_or_else(|| value.clone())
}

/// The result, which LangChain wraps in a message. The message also has the id of the call.
fn answer(result: &Value, meaning: &mut SpanMeaning) -> Json {
    let wrapped =
        ["kwargs", "data", "output"].iter().find_map(|name| result.get(name).filter(|it| it.is_object()));
    let message = wrapped.unwrap_or(result);
    let id = message.get("tool_call_id").and_then(Value::as_str).filter(|id| !id.is_empty());
    match (id, message.get("content")) {
        (Some(id), Some(content)) => {
            meaning.call.get_or_insert_with(|| id.to_owned());
            json(content)
        }
        _ => Json::of(&without_blocks(result)),
    }
}

/// The arguments and the result from events. Strands has the arguments in `gen_ai.tool.message` and the
/// result in `gen_ai.choice`; older instrumentations have the message to the model, which is the result, in
/// the first.
fn by_events(span: &FinishedSpan) -> (Option<&Value>, Option<&Value>) {
    let find = |name: &str| span.events.iter().find(|event| event.name == name);
    let message = find("gen_ai.tool.message").and_then(|event| event.attributes.get("content"));
    match find("gen_ai.choice") {
        Some(choice) => (message, choice.attributes.get("message")),
        None if span.failed => (message, None),
        None => (None, message),
    }
}
