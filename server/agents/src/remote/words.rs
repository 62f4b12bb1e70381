//! A conversation in the words of those who are asked: whole, or what is new since they answered last. Pure.

use encode::reconstruct::history::{HistoryCall, HistoryPiece};
use encode::reconstruct::{UnfinishedCalls, history};
use model::View;
use model::flow::{ConversationSection, turns};
use model::view::{NoteBody, RunView};
use serde_json::{Map, Value, json};

/// The agent's own event that says by what name an agent elsewhere remembers the conversation.
pub(super) const SESSION: &str = "remote_session";

/// Who said it, by the three names that everybody knows.
pub(super) fn role(role: &str) -> &'static str {
    match role {
        "system" | "developer" => "system",
        "assistant" | "ai" | "model" => "assistant",
        _ => "user",
    }
}

/// Messages of texts alone. What one speaker said in a row is one message.
pub(super) fn plain(view: &View) -> Vec<Plain> {
    let mut messages: Vec<Plain> = Vec::new();
    for said in history(view, UnfinishedCalls::Answer).0 {
        let (role, text) = match said {
            HistoryPiece::Message(name, text) => (role(&name), text),
            HistoryPiece::Step(step) if !step.text.trim().is_empty() => ("assistant", step.text),
            HistoryPiece::Step(_) | HistoryPiece::BrokeOff(_) => continue,
        };
        match messages.last_mut() {
            Some(last) if last.role == role && role == "assistant" => {
                last.content.push_str("\n\n");
                last.content.push_str(&text);
            }
            _ => messages.push(Plain { role, content: text }),
        }
    }
    messages
}

/// A message of a text alone.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub(super) struct Plain {
    pub(super) role: &'static str,
    pub(super) content: String,
}

/// What people said since `agent` answered last in `session`; nothing where it never did.
pub(super) fn news(view: &View, agent: &str, session: &str) -> Option<Vec<String>> {
    let mut said = Vec::new();
    let mut is_known = false;
    for turn in turns(view) {
        match turn {
            ConversationSection::Run(stretch) if stretch.run.name.as_deref() == Some(agent) => {
                if is_of(stretch.run, session) {
                    is_known = true;
                    said.clear();
                }
            }
            ConversationSection::Message(_, message) if role(&message.role) == "user" => {
                said.push(message.text.to_string());
            }
            ConversationSection::Run(_) | ConversationSection::Message(..) => {}
        }
    }
    is_known.then_some(said)
}

/// Whether the run was taken by the agent elsewhere, in that session of it.
fn is_of(run: &RunView, session: &str) -> bool {
    run.own
        && run.notes.iter().any(|note| match &note.body {
            NoteBody::Custom { name, value } => {
                name == SESSION && value.to_value().get("session").and_then(Value::as_str) == Some(session)
            }
            _ => false,
        })
}

/// Everything as one text, for those who take no more than that and know nothing of what was said before.
pub(super) fn transcript(view: &View) -> String {
    let mut messages = plain(view);
    let news = messages.iter().rposition(|message| message.role != "user").map_or(0, |last| last + 1);
    let news = messages.split_off(news);
    let news = news.into_iter().map(|message| message.content).collect::<Vec<_>>().join("\n\n");
    if messages.is_empty() {
        return news;
    }
    let before = messages.iter().map(|message| format!("{}: {}", message.role, message.content));
    let before = before.collect::<Vec<_>>().join("\n\n");
    format!("What was said before:\n\n{before}\n\n{news}")
}

/// The messages of AG-UI. Their ids are their places behind `prefix`: nothing that was said goes away.
pub fn ag_ui(view: &View, prefix: &str) -> Vec<Value> {
    let mut messages: Vec<Value> = Vec::new();
    let id = |messages: &Vec<Value>| format!("{prefix}{}", messages.len() + 1);
    for said in history(view, UnfinishedCalls::Answer).0 {
        match said {
            HistoryPiece::Message(name, content) => {
                messages.push(json!({"id": id(&messages), "role": role(&name), "content": content}));
            }
            HistoryPiece::Step(step) => {
                let mut message = Map::new();
                message.insert("id".to_owned(), id(&messages).into());
                message.insert("role".to_owned(), "assistant".into());
                if !step.text.trim().is_empty() {
                    message.insert("content".to_owned(), step.text.into());
                }
                if !step.calls.is_empty() {
                    message.insert("toolCalls".to_owned(), step.calls.iter().map(ag_ui_call).collect());
                }
                messages.push(message.into());
                for call in step.calls {
                    let (tool, content) = (call.id.to_string(), call.result);
                    let id = id(&messages);
                    messages.push(json!({"id": id, "role": "tool", "toolCallId": tool, "content": content}));
                }
            }
            HistoryPiece::BrokeOff(_) => {}
        }
    }
    messages
}

fn ag_ui_call(call: &HistoryCall) -> Value {
    let (name, arguments) = (call.name.as_str(), call.arguments.as_str());
    json!({"id": call.id, "type": "function", "function": {"name": name, "arguments": arguments}})
}

/// The messages of `useChat`. What the assistant said in a row is one message of several steps.
pub(super) fn ai_sdk(view: &View) -> Vec<Value> {
    let mut messages: Vec<(&'static str, Vec<Value>)> = Vec::new();
    for said in history(view, UnfinishedCalls::Answer).0 {
        let (role, parts) = match said {
            HistoryPiece::Message(name, text) => (role(&name), vec![json!({"type": "text", "text": text})]),
            HistoryPiece::Step(step) => {
                let mut parts = vec![json!({"type": "step-start"})];
                if !step.text.trim().is_empty() {
                    parts.push(json!({"type": "text", "text": step.text, "state": "done"}));
                }
                parts.extend(step.calls.iter().map(ai_sdk_call));
                ("assistant", parts)
            }
            HistoryPiece::BrokeOff(_) => continue,
        };
        match messages.last_mut() {
            Some((last, known)) if *last == role && role == "assistant" => known.extend(parts),
            _ => messages.push((role, parts)),
        }
    }
    let numbered = messages.into_iter().enumerate();
    numbered
        .map(|(at, (role, parts))| json!({"id": format!("m{}", at + 1), "role": role, "parts": parts}))
        .collect()
}

fn ai_sdk_call(call: &HistoryCall) -> Value {
    let (kind, id, input) = (format!("tool-{}", call.name), &call.id, &call.arguments);
    let result = call.result.as_str();
    if call.is_error {
        json!({"type": kind, "toolCallId": id, "state": "output-error", "input": input, "errorText": result})
    } else {
        json!({"type": kind, "toolCallId": id, "state": "output-available", "input": input, "output": result})
    }
}
