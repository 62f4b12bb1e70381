//! The rules that the APIs hold requests to, as their references state them and their servers enforce them.

use std::collections::BTreeSet;

use serde_json::Value;

type Checked = Result<(), String>;

/// Whether a user says something: a text, or parts of which each text is one.
fn is_said(content: &Value) -> bool {
    let is_part = |part: &Value| part["type"] != "text" || is_text(&part["text"]);
    is_text(content) || content.as_array().is_some_and(|parts| !parts.is_empty() && parts.iter().all(is_part))
}

fn is_text(value: &Value) -> bool {
    value.as_str().is_some_and(|text| !text.trim().is_empty())
}

fn is_name(value: &Value) -> bool {
    let fits = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    value.as_str().is_some_and(|name| (1..=64).contains(&name.len()) && name.chars().all(fits))
}

fn need(holds: bool, what: &str, message: &Value) -> Checked {
    if holds { Ok(()) } else { Err(format!("{what}: {message}")) }
}

/// Chat Completions: nothing is empty; each call is answered once, directly behind the message that makes it; no answer
/// without a call; arguments are an object as text.
pub(super) fn openai(messages: &Value) -> Checked {
    let mut waiting: Vec<String> = Vec::new();
    for message in messages.as_array().ok_or("no list")? {
        if message["role"] == "tool" {
            need(is_text(&message["content"]), "empty result", message)?;
            let id = message["tool_call_id"].as_str().unwrap_or_default();
            let at =
                waiting.iter().position(|waits| waits == id).ok_or(format!("no call waits: {message}"))?;
            waiting.remove(at);
            continue;
        }
        need(waiting.is_empty(), "calls without results before", message)?;
        match message["role"].as_str() {
            Some("user") => need(is_said(&message["content"]), "empty", message)?,
            Some("system" | "developer") => need(is_text(&message["content"]), "empty", message)?,
            Some("assistant") => {
                let calls =
                    message.get("tool_calls").map(|calls| calls.as_array().cloned().unwrap_or_default());
                need(
                    calls.as_ref().is_none_or(|calls| !calls.is_empty()),
                    "an empty list of calls",
                    message,
                )?;
                let has_text = message.get("content").is_some_and(is_text);
                need(has_text || (calls.is_some() && message.get("content").is_none()), "empty", message)?;
                for call in calls.unwrap_or_default() {
                    need(
                        call["type"] == "function" && is_name(&call["function"]["name"]),
                        "bad call",
                        message,
                    )?;
                    let arguments = call["function"]["arguments"].as_str().unwrap_or_default();
                    let is_object = serde_json::from_str::<Value>(arguments).is_ok_and(|it| it.is_object());
                    need(is_object, "bad arguments", message)?;
                    let id = call["id"].as_str().unwrap_or_default().to_owned();
                    need((1..=40).contains(&id.len()) && !waiting.contains(&id), "bad id", message)?;
                    waiting.push(id);
                }
            }
            _ => return Err(format!("no such role: {message}")),
        }
    }
    need(waiting.is_empty(), "calls without results at the end", &Value::Null)
}

/// Messages: turns alternate and begin with the user; no block is blank; ids are unique and of the allowed letters; the
/// results of all calls of a turn are the first blocks of the next; no white space at the end of a last assistant text.
pub(super) fn anthropic(messages: &Value) -> Checked {
    let messages = messages.as_array().ok_or("no list")?;
    let mut seen: BTreeSet<String> = BTreeSet::new();
    let mut waiting: BTreeSet<String> = BTreeSet::new();
    for (at, message) in messages.iter().enumerate() {
        let role = if at % 2 == 0 { "user" } else { "assistant" };
        need(message["role"] == role, "turns do not alternate", message)?;
        let blocks = message["content"].as_array().ok_or("no blocks")?;
        need(!blocks.is_empty(), "empty", message)?;
        let mut results_may_come = true;
        for block in blocks {
            match (block["type"].as_str(), role) {
                (Some("text"), _) => {
                    need(is_text(&block["text"]), "blank text", message)?;
                    results_may_come = false;
                }
                (Some("thinking"), "assistant") => {
                    need(block["thinking"].is_string() && is_text(&block["signature"]), "unsigned", message)?;
                }
                (Some("tool_use"), "assistant") => {
                    let id = block["id"].as_str().unwrap_or_default().to_owned();
                    let fits = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
                    need(!id.is_empty() && id.chars().all(fits), "bad id", message)?;
                    need(is_name(&block["name"]) && block["input"].is_object(), "bad call", message)?;
                    need(seen.insert(id.clone()), "an id that was there before", message)?;
                    waiting.insert(id);
                }
                (Some("tool_result"), "user") => {
                    need(results_may_come, "a result behind other blocks", message)?;
                    need(is_text(&block["content"]), "empty result", message)?;
                    let id = block["tool_use_id"].as_str().unwrap_or_default();
                    need(waiting.remove(id), "a result without a call", message)?;
                }
                _ => return Err(format!("no such block: {message}")),
            }
        }
        need(role == "assistant" || waiting.is_empty(), "calls without results", message)?;
    }
    need(waiting.is_empty(), "calls without results at the end", &Value::Null)?;
    let last = messages.last().filter(|message| message["role"] == "assistant");
    let text = last.and_then(|message| message["content"].as_array()?.last()?["text"].as_str());
    need(text.is_none_or(|text| text.trim_end() == text), "white space at the end", &Value::Null)
}
