//! Reads spans of tools: the id of the call, the arguments and the result.

use serde_json::Value;

use super::super::FinishedSpan;
use super::super::attributes::{Attributes, tree_of};
use super::said::arguments_text;
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
    meaning.arguments = ARGUMENTS.iter().find_map(|name| facts.get(name)).map(|value| {
        let tree = tree_of(value);
        unwrapped(&tree).map_or_else(|| arguments_text(value), ToString::to_string)
    });
    let told = RESULT.iter().find_map(|name| facts.get(name)).map(tree_of);
    let told = told.or_else(|| by_event(span));
    let told = told.map(|result| answer(&result, meaning));
    meaning.result = told;
}

/// The arguments inside of Traceloop's object with all parameters of the function.
fn unwrapped(tree: &Value) -> Option<&Value> {
    let inner = tree.get("inputs").or_else(|| tree.get("kwargs"))?;
    let is_wrapper = tree.as_object().is_some_and(|fields| {
        fields.keys().all(|name| matches!(name.as_str(), "inputs" | "args" | "kwargs" | "tags" | "metadata"))
    });
    is_wrapper.then_some(inner)
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
        _ => Json::of(result),
    }
}

/// The result from an event with the message to the model, as older instrumentations write it.
fn by_event(span: &FinishedSpan) -> Option<Value> {
    let event = span.events.iter().find(|event| event.name == "gen_ai.tool.message")?;
    event.attributes.get("content").map(tree_of)
}
