//! Reads spans of models and agents: the messages, the answer, and the usage.
//!
//! | where the messages are | who writes it |
//! |---|---|
//! | `gen_ai.input.messages`, `gen_ai.output.messages` | OpenTelemetry's convention for GenAI |
//! | `llm.input_messages.0.message.role`, … | OpenInference |
//! | `gen_ai.prompt.0.content`, `gen_ai.completion.0.…` | OpenLLMetry |
//! | `ai.prompt.messages`, `ai.response.text`, `ai.response.toolCalls` | the AI SDK |
//! | `events`, `all_messages_events`, `request_data`, `response_data` | Pydantic AI, Logfire |
//! | events `gen_ai.user.message`, `gen_ai.choice` | older instrumentations; Strands, whose contents are JSON texts |
//!
//! The first that has messages counts. Of a span of an agent only its last message is kept as the answer,
//! since its model calls have spans of their own.

use serde_json::{Value, json};

use super::super::attributes::{Attributes, tree_of};
use super::super::{FinishedSpan, SpanEvent};
use super::said::{SpanMessage, SpanPiece, converse_blocks, messages, words};
use super::tool::decoded;
use super::{SpanMeaning, SpanRole};
use model::event::Usage;

/// The attributes with the messages before the answer, as names with numbers or as JSON.
const INPUT: [&str; 6] = [
    "gen_ai.input.messages",
    "llm.input_messages",
    "gen_ai.prompt",
    "ai.prompt.messages",
    "request_data",
    "ai.prompt",
];

/// The attributes with the answer.
const OUTPUT: [&str; 4] =
    ["gen_ai.output.messages", "llm.output_messages", "gen_ai.completion", "response_data"];

/// The attributes in which Pydantic AI has all messages, in order.
const ALL: [&str; 3] = ["events", "pydantic_ai.all_messages", "all_messages_events"];

/// The name of the model: the one that answered before the one that was asked for.
pub(super) fn name(facts: &Attributes) -> Option<String> {
    let names =
        ["gen_ai.response.model", "gen_ai.request.model", "llm.model_name", "ai.model.id", "model_name"];
    facts.first_text(&names).map(str::to_owned)
}

/// The tokens of a call; nothing if neither those of the input nor those of the output are known.
pub(super) fn usage(facts: &Attributes) -> Option<Usage> {
    let input = facts.first_count(&[
        "gen_ai.usage.input_tokens",
        "gen_ai.usage.prompt_tokens",
        "llm.token_count.prompt",
        "ai.usage.inputTokens",
        "ai.usage.promptTokens",
        "llm.usage.prompt_tokens",
    ]);
    let output = facts.first_count(&[
        "gen_ai.usage.output_tokens",
        "gen_ai.usage.completion_tokens",
        "llm.token_count.completion",
        "ai.usage.outputTokens",
        "ai.usage.completionTokens",
        "llm.usage.completion_tokens",
    ]);
    let reasoning = facts.first_count(&[
        "gen_ai.usage.reasoning.output_tokens",
        "gen_ai.usage.reasoning_tokens",
        "gen_ai.usage.details.reasoning_tokens",
        "llm.token_count.completion_details.reasoning",
        "llm.usage.reasoning_tokens",
        "ai.usage.reasoningTokens",
    ]);
    let cached = facts.first_count(&[
        "gen_ai.usage.cache_read.input_tokens",
        "gen_ai.usage.cache_read_input_tokens",
        "gen_ai.usage.details.cache_read_tokens",
        "llm.token_count.prompt_details.cache_read",
        "ai.usage.cachedInputTokens",
    ]);
    input.or(output)?;
    Some(Usage {
        input_tokens: input.unwrap_or(0),
        output_tokens: output.unwrap_or(0),
        reasoning_tokens: reasoning.unwrap_or(0),
        cached_tokens: cached.unwrap_or(0),
        cost: None,
    })
}

/// Reads messages, answer and finish reason into `meaning`.
pub(super) fn read(span: &FinishedSpan, facts: &Attributes, meaning: &mut SpanMeaning) {
    let (mut input, mut output) = by_events(&span.events);
    for name in ALL {
        if let Some(Value::Array(all)) = facts.first_tree(&[name])
            && output.is_empty()
        {
            (input, output) = split(&all);
        }
    }
    let told = INPUT.iter().find_map(|name| some(messages(&facts.tree(name)?, "user")));
    meaning.input = told.unwrap_or(input);
    if let Some(system) = facts.first_tree(&["gen_ai.system_instructions"]) {
        let system = messages(&json!([{"role": "system", "parts": system}]), "system");
        meaning.input.splice(0..0, system);
    }
    let told = OUTPUT.iter().find_map(|name| {
        let tree = facts.tree(name)?;
        meaning.finish_reason = finish_in(&tree);
        some(messages(&tree, "assistant"))
    });
    meaning.output = told.unwrap_or_else(|| some(by_ai_sdk(facts)).unwrap_or(output));
    if meaning.input.is_empty() && meaning.output.is_empty() {
        read_plain(facts, meaning);
    }
    if let Some(reason) = finish_reason(facts) {
        meaning.finish_reason = Some(reason);
    }
    let chosen = span.events.iter().rev().find(|event| event.name == "gen_ai.choice");
    let chosen = chosen.and_then(|event| event.attributes.text("finish_reason"));
    meaning.finish_reason = meaning.finish_reason.take().or_else(|| chosen.map(str::to_owned));
    if meaning.role == SpanRole::Model {
        return;
    }
    // Of an agent, only what it said last is kept, not all that happened in it.
    meaning.output = meaning.output.pop().into_iter().collect();
    if meaning.output.is_empty() {
        let last = facts.first_text(&["final_result", "output.value", "traceloop.entity.output"]);
        let last = last.and_then(|text| words(&decoded(&Value::from(text))));
        meaning.output.extend(last.map(|text| SpanMessage::of("assistant", &text)));
    }
}

/// The messages, unless there are none.
fn some(said: Vec<SpanMessage>) -> Option<Vec<SpanMessage>> {
    (!said.is_empty()).then_some(said)
}

/// Reads the attributes that any kind of span may have. Only texts count, since JSON may be anything.
pub(super) fn read_plain(facts: &Attributes, meaning: &mut SpanMeaning) {
    let plain = |names: &[&str]| {
        let text = facts.first_text(names)?;
        matches!(tree_of(&Value::from(text)), Value::String(_)).then(|| text.to_owned())
    };
    meaning.input.extend(plain(&["input.value"]).map(|text| SpanMessage::of("user", &text)));
    meaning.output.extend(plain(&["output.value"]).map(|text| SpanMessage::of("assistant", &text)));
}

/// The reason that an attribute names.
fn finish_reason(facts: &Attributes) -> Option<String> {
    let first = match facts.first_tree(&["gen_ai.response.finish_reasons"]) {
        Some(Value::Array(reasons)) => reasons.first().and_then(Value::as_str).map(str::to_owned),
        Some(Value::String(reason)) => Some(reason),
        _ => None,
    };
    let names = ["ai.response.finishReason", "llm.finish_reason", "gen_ai.response.finish_reason"];
    first.or_else(|| facts.first_text(&names).map(str::to_owned))
}

/// The reason that the last message of the answer names.
fn finish_in(tree: &Value) -> Option<String> {
    let last = tree.as_array().and_then(|items| items.last()).unwrap_or(tree);
    last.get("finish_reason").and_then(Value::as_str).filter(|it| !it.is_empty()).map(str::to_owned)
}

/// The AI SDK's answer, which is in several attributes.
fn by_ai_sdk(facts: &Attributes) -> Vec<SpanMessage> {
    let mut pieces = Vec::new();
    let thought = facts.first_text(&["ai.response.reasoning"]);
    pieces.extend(thought.map(|text| SpanPiece::Thinking(text.to_owned())));
    let text = facts.first_text(&["ai.response.text", "ai.response.object", "ai.result.text"]);
    pieces.extend(text.map(|text| SpanPiece::Text(text.to_owned())));
    if let Some(calls) = facts.first_tree(&["ai.response.toolCalls", "ai.result.toolCalls"]) {
        let said = messages(&json!([{"role": "assistant", "tool_calls": calls}]), "assistant");
        pieces.extend(said.into_iter().flat_map(|said| said.pieces));
    }
    if pieces.is_empty() { Vec::new() } else { vec![SpanMessage { role: String::from("assistant"), pieces }] }
}

/// Splits a list of all messages: those after the last one that is not the assistant's are the answer.
fn split(all: &[Value]) -> (Vec<SpanMessage>, Vec<SpanMessage>) {
    let mut said: Vec<SpanMessage> = all.iter().flat_map(|one| messages(one, "user")).collect();
    let last = said.iter().rposition(|said| said.role != "assistant");
    let output = said.split_off(last.map_or(0, |last| last.saturating_add(1)));
    (said, output)
}

/// The messages and the answer from the events of the span, as older instrumentations write them.
fn by_events(events: &[SpanEvent]) -> (Vec<SpanMessage>, Vec<SpanMessage>) {
    let (mut input, mut output) = (Vec::new(), Vec::new());
    for event in events {
        let facts = &event.attributes;
        match event.name.as_str() {
            "gen_ai.content.prompt" => {
                input.extend(facts.tree("gen_ai.prompt").map(|it| messages(&it, "user")).unwrap_or_default());
            }
            "gen_ai.content.completion" => {
                let told = facts.tree("gen_ai.completion");
                output.extend(told.map(|it| messages(&it, "assistant")).unwrap_or_default());
            }
            "gen_ai.choice" => output.append(&mut of_event(event)),
            name if name.starts_with("gen_ai.") && name.ends_with(".message") => {
                input.append(&mut of_event(event));
            }
            _ => {}
        }
    }
    (input, output)
}

/// The message of an event, whose name says the role unless an attribute does.
fn of_event(event: &SpanEvent) -> Vec<SpanMessage> {
    let facts = &event.attributes;
    let field = |name: &str| facts.get(name).map(tree_of).unwrap_or_default();
    let role = match event.name.as_str() {
        "gen_ai.choice" => Value::from("assistant"),
        name => Value::from(name.trim_start_matches("gen_ai.").trim_end_matches(".message")),
    };
    let role = match field("role") {
        Value::String(role) => Value::from(role),
        _ => role,
    };
    // Strands has its answer in `message`, as a text or as a list of blocks.
    let message = field("message");
    let answer = facts.get("message").filter(|_| !message.is_object());
    let content = facts.get("content").or(answer).cloned().unwrap_or_default();
    let whole = json!({
        "role": role,
        "id": field("id"),
        "content": converse_blocks(&content).map_or(content, Value::Array),
        "tool_calls": field("tool_calls"),
        "message": message,
    });
    messages(&Value::Array(vec![whole]), "user")
}
