//! A server in place of a model's that plays a story: which tools it calls and what it says depends on what was asked, so
//! that agent loops of any make can run against it. It speaks OpenAI's chat completions and responses and Anthropic's
//! messages, as a stream and whole.
//!
//! The story: whoever asks about *weather* has two cities looked up at once and a third that cannot be; with the results
//! there is an answer. Anything else is answered at once.
#![expect(clippy::indexing_slicing, reason = "what is not there in JSON is null")]

use axum::Router;
use axum::body::{Body, Bytes};
use axum::http::{StatusCode, Uri, header};
use axum::response::{IntoResponse as _, Response};
use serde_json::{Value, json};

use crate::stand_in::StandIn;

/// What is said once the results are there.
pub const ANSWER: &str = "It is sunny in Lisbon and in Porto; Atlantis cannot be found.";

/// What is said to anything else.
pub const FAREWELL: &str = "You are welcome.";

/// The places that are looked up, the last of them in vain.
pub const PLACES: [&str; 3] = ["Lisbon", "Porto", "Atlantis"];

/// The name of the tool that the actor calls.
pub const TOOL: &str = "look_up";

/// What it does next.
enum ActorStep {
    Call(Vec<(String, String)>),
    Say(&'static str),
}

/// Starts it.
///
/// # Panics
/// When there is no free port.
pub async fn start() -> StandIn {
    StandIn::start(Router::new().fallback(answer)).await
}

async fn answer(uri: Uri, body: Bytes) -> Response {
    let Ok(request) = serde_json::from_slice::<Value>(&body) else {
        return (StatusCode::NOT_FOUND, format!("no request: {uri}")).into_response();
    };
    let act = act(&request);
    let id = format!("{:x}", print(&body));
    let streams = request["stream"] == true;
    let (events, whole) = match uri.path() {
        path if path.ends_with("/chat/completions") => (chat(&act, &id), chat_whole(&act, &id)),
        path if path.ends_with("/responses") => (responses(&act, &id), response(&act, &id)),
        path if path.ends_with("/messages") => (messages(&act, &id), message(&act, &id)),
        _ => return (StatusCode::NOT_FOUND, format!("nothing is played at {uri}")).into_response(),
    };
    if streams {
        // Each event by itself, as models are read.
        let pieces = events.into_iter().map(Ok::<_, std::io::Error>);
        let body = Body::from_stream(futures_util::stream::iter(pieces));
        ([(header::CONTENT_TYPE, "text/event-stream")], body).into_response()
    } else {
        ([(header::CONTENT_TYPE, "application/json")], whole.to_string()).into_response()
    }
}

/// A number for a request, so that ids do not repeat.
fn print(body: &[u8]) -> u64 {
    body.iter()
        .fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3))
}

/// What follows from the messages: those after the last of the user's tell whether the tools were called.
fn act(request: &Value) -> ActorStep {
    let list = request["messages"].as_array().or_else(|| request["input"].as_array());
    let items = list.cloned().unwrap_or_else(|| vec![json!({"role": "user", "content": request["input"]})]);
    let is_asked = |item: &Value| item["role"] == "user" && !item.to_string().contains("tool_result");
    let last = items.iter().rposition(is_asked).unwrap_or_default();
    let (asked, after) = items.split_at((last + 1).min(items.len()));
    let asks_weather = asked.last().is_some_and(|item| item["content"].to_string().contains("weather"));
    let is_result = |item: &Value| {
        item["role"] == "tool"
            || item["type"] == "function_call_output"
            || item.to_string().contains("tool_result")
    };
    if !asks_weather {
        ActorStep::Say(FAREWELL)
    } else if after.iter().any(is_result) {
        ActorStep::Say(ANSWER)
    } else {
        ActorStep::Call(
            PLACES.iter().map(|place| (TOOL.to_owned(), json!({"place": place}).to_string())).collect(),
        )
    }
}

/// A text in pieces.
fn pieces(text: &str) -> Vec<String> {
    text.split_inclusive(' ').map(str::to_owned).collect()
}

fn event(value: &Value) -> String {
    format!("data: {value}\n\n")
}

fn named(value: &Value) -> String {
    format!("event: {}\ndata: {value}\n\n", value["type"].as_str().unwrap_or_default())
}

fn chat(act: &ActorStep, id: &str) -> Vec<String> {
    let chunk = |delta: Value, finish: Value| {
        event(
            &json!({"id": format!("chatcmpl-{id}"), "object": "chat.completion.chunk", "created": 1_767_225_600, "model": "gpt-5",
            "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}),
        )
    };
    let mut events = vec![chunk(json!({"role": "assistant", "content": ""}), Value::Null)];
    let finish = match act {
        ActorStep::Say(text) => {
            let said = pieces(text).into_iter().map(|piece| chunk(json!({"content": piece}), Value::Null));
            events.extend(said);
            "stop"
        }
        ActorStep::Call(calls) => {
            for (index, (name, arguments)) in calls.iter().enumerate() {
                let call = json!({"index": index, "id": format!("call_{index}{id}"), "type": "function", "function": {"name": name, "arguments": ""}});
                events.push(chunk(json!({"tool_calls": [call]}), Value::Null));
                let rest = json!({"index": index, "function": {"arguments": arguments}});
                events.push(chunk(json!({"tool_calls": [rest]}), Value::Null));
            }
            "tool_calls"
        }
    };
    events.push(chunk(json!({}), json!(finish)));
    events.push(event(&json!({"id": format!("chatcmpl-{id}"), "object": "chat.completion.chunk", "created": 1_767_225_600, "model": "gpt-5", "choices": [],
        "usage": {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}})));
    events.push(String::from("data: [DONE]\n\n"));
    events
}

fn chat_whole(act: &ActorStep, id: &str) -> Value {
    let (message, finish) = match act {
        ActorStep::Say(text) => (json!({"role": "assistant", "content": text}), "stop"),
        ActorStep::Call(calls) => {
            let calls = calls.iter().enumerate().map(|(index, (name, arguments))| {
                json!({"id": format!("call_{index}{id}"), "type": "function", "function": {"name": name, "arguments": arguments}})
            });
            let calls: Vec<_> = calls.collect();
            (json!({"role": "assistant", "content": null, "tool_calls": calls}), "tool_calls")
        }
    };
    json!({"id": format!("chatcmpl-{id}"), "object": "chat.completion", "created": 1_767_225_600, "model": "gpt-5",
        "choices": [{"index": 0, "message": message, "finish_reason": finish}],
        "usage": {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}})
}

/// The items of an answer.
fn output(act: &ActorStep, id: &str) -> Vec<Value> {
    match act {
        ActorStep::Say(text) => vec![
            json!({"id": format!("msg_{id}"), "type": "message", "status": "completed", "role": "assistant",
            "content": [{"type": "output_text", "text": text, "annotations": [], "logprobs": []}]}),
        ],
        ActorStep::Call(calls) => {
            let items = calls.iter().enumerate().map(|(index, (name, arguments))| {
                json!({"id": format!("fc_{id}_{index}"), "type": "function_call", "status": "completed", "name": name,
                    "arguments": arguments, "call_id": format!("call_{index}{id}")})
            });
            items.collect()
        }
    }
}

fn response(act: &ActorStep, id: &str) -> Value {
    json!({"id": format!("resp_{id}"), "object": "response", "created_at": 1_767_225_600, "status": "completed", "error": null,
        "incomplete_details": null, "instructions": null, "model": "gpt-5", "output": output(act, id), "parallel_tool_calls": true,
        "tool_choice": "auto", "tools": [], "temperature": 1.0, "top_p": 1.0, "metadata": {},
        "usage": {"input_tokens": 10, "input_tokens_details": {"cached_tokens": 0}, "output_tokens": 5,
            "output_tokens_details": {"reasoning_tokens": 0}, "total_tokens": 15}})
}

fn responses(act: &ActorStep, id: &str) -> Vec<String> {
    let whole = response(act, id);
    let mut begun = whole.clone();
    begun["status"] = json!("in_progress");
    begun["output"] = json!([]);
    begun["usage"] = Value::Null;
    let mut events = vec![json!({"type": "response.created", "response": begun})];
    for (index, item) in output(act, id).into_iter().enumerate() {
        let mut empty = item.clone();
        empty["status"] = json!("in_progress");
        let item_id = &item["id"];
        if let Some(arguments) = item["arguments"].as_str() {
            empty["arguments"] = json!("");
            events.push(json!({"type": "response.output_item.added", "output_index": index, "item": empty}));
            events.push(json!({"type": "response.function_call_arguments.delta", "item_id": item_id, "output_index": index, "delta": arguments}));
            events.push(json!({"type": "response.function_call_arguments.done", "item_id": item_id, "output_index": index, "name": item["name"], "arguments": arguments}));
        } else {
            let text = item["content"][0]["text"].as_str().unwrap_or_default();
            empty["content"] = json!([]);
            events.push(json!({"type": "response.output_item.added", "output_index": index, "item": empty}));
            let part =
                |text: &str| json!({"type": "output_text", "text": text, "annotations": [], "logprobs": []});
            events.push(json!({"type": "response.content_part.added", "item_id": item_id, "output_index": index, "content_index": 0, "part": part("")}));
            for piece in pieces(text) {
                events.push(json!({"type": "response.output_text.delta", "item_id": item_id, "output_index": index, "content_index": 0, "delta": piece, "logprobs": []}));
            }
            events.push(json!({"type": "response.output_text.done", "item_id": item_id, "output_index": index, "content_index": 0, "text": text, "logprobs": []}));
            events.push(json!({"type": "response.content_part.done", "item_id": item_id, "output_index": index, "content_index": 0, "part": part(text)}));
        }
        events.push(json!({"type": "response.output_item.done", "output_index": index, "item": item}));
    }
    events.push(json!({"type": "response.completed", "response": whole}));
    for (number, event) in events.iter_mut().enumerate() {
        event["sequence_number"] = json!(number);
    }
    events.iter().map(named).collect()
}

/// The blocks of an answer.
fn content(act: &ActorStep, id: &str) -> Vec<Value> {
    match act {
        ActorStep::Say(text) => vec![json!({"type": "text", "text": text})],
        ActorStep::Call(calls) => {
            let blocks = calls.iter().enumerate().map(|(index, (name, arguments))| {
                let input: Value = serde_json::from_str(arguments).unwrap_or_default();
                json!({"type": "tool_use", "id": format!("toolu_{index}{id}"), "name": name, "input": input})
            });
            blocks.collect()
        }
    }
}

fn message(act: &ActorStep, id: &str) -> Value {
    let stop = if matches!(act, ActorStep::Say(_)) { "end_turn" } else { "tool_use" };
    json!({"id": format!("msg_{id}"), "type": "message", "role": "assistant", "model": "claude-sonnet-5-5", "content": content(act, id),
        "stop_reason": stop, "stop_sequence": null, "usage": {"input_tokens": 10, "output_tokens": 5}})
}

fn messages(act: &ActorStep, id: &str) -> Vec<String> {
    let whole = message(act, id);
    let mut begun = whole.clone();
    begun["content"] = json!([]);
    begun["stop_reason"] = Value::Null;
    let mut events = vec![json!({"type": "message_start", "message": begun})];
    for (index, block) in content(act, id).into_iter().enumerate() {
        let mut empty = block.clone();
        let deltas: Vec<Value> = if let Some(text) = block["text"].as_str() {
            empty["text"] = json!("");
            pieces(text).into_iter().map(|piece| json!({"type": "text_delta", "text": piece})).collect()
        } else {
            empty["input"] = json!({});
            vec![json!({"type": "input_json_delta", "partial_json": block["input"].to_string()})]
        };
        events.push(json!({"type": "content_block_start", "index": index, "content_block": empty}));
        events.extend(
            deltas
                .into_iter()
                .map(|delta| json!({"type": "content_block_delta", "index": index, "delta": delta})),
        );
        events.push(json!({"type": "content_block_stop", "index": index}));
    }
    let usage = json!({"output_tokens": 5});
    events.push(json!({"type": "message_delta", "delta": {"stop_reason": whole["stop_reason"], "stop_sequence": null}, "usage": usage}));
    events.push(json!({"type": "message_stop"}));
    events.iter().map(named).collect()
}
