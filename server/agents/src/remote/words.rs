//! A conversation in the forms that agents elsewhere take: the whole history, or what is new since they last
//! answered. Pure.
//!
//! | function | for | history |
//! |---|---|---|
//! | [`plain`] | Deep Agent, Forge, Ralph, and new threads of LangGraph | texts alone, calls left out |
//! | [`news`] | Agno, LangGraph | only what people said since the agent last answered in the session |
//! | [`transcript`] | Agno, where it has not answered in the session yet or nothing is new | one text |
//! | [`ag_ui`] | AG-UI | messages with calls and their results |
//! | [`ai_sdk`] | `useChat` | messages of parts, calls with their results in them |

use encode::reconstruct::history::{HistoryCall, HistoryPiece};
use encode::reconstruct::{UnfinishedCalls, history};
use model::View;
use model::flow::{ConversationSection, turns};
use model::view::{NoteBody, RunView};
use serde_json::{Map, Value, json};

/// The name of the hub's own event with the agent's name for the session in which it keeps the conversation.
pub(super) const SESSION: &str = "remote_session";

/// The role of a message as one of the three names that all APIs know.
pub(super) fn role(role: &str) -> &'static str {
    match role {
        "system" | "developer" => "system",
        "assistant" | "ai" | "model" => "assistant",
        _ => "user",
    }
}

/// Messages with text alone. Consecutive texts of the assistant are one message.
pub(super) fn plain(view: &View) -> Vec<Plain> {
    let mut messages: Vec<Plain> = Vec::new();
    for said in history(view, UnfinishedCalls::Answer).0 {
        let (role, text) = match said {
            HistoryPiece::Message(name, text, _) => (role(&name), text),
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

/// A message with text alone.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub(super) struct Plain {
    /// `system`, `user` or `assistant`.
    pub(super) role: &'static str,
    /// The text. Texts of the assistant that follow one another are joined by an empty line.
    pub(super) content: String,
}

/// What people have said since `agent` last answered in `session`; `None` if it never has.
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

/// Whether the agent has accepted the run in that session. Only the hub's own runs count: others could claim
/// a session that is not theirs.
fn is_of(run: &RunView, session: &str) -> bool {
    run.own
        && run.notes.iter().any(|note| match &note.body {
            NoteBody::Custom { name, value } => {
                name == SESSION && value.to_value().get("session").and_then(Value::as_str) == Some(session)
            }
            _ => false,
        })
}

/// The whole conversation as one text, for agents that take no more than that and keep no history.
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

/// The messages in AG-UI's form. Their ids are `prefix` and their index from 1, which is stable because
/// nothing that was said goes away.
pub fn ag_ui(view: &View, prefix: &str) -> Vec<Value> {
    let mut messages: Vec<Value> = Vec::new();
    let id = |messages: &Vec<Value>| format!("{prefix}{}", messages.len() + 1);
    for said in history(view, UnfinishedCalls::Answer).0 {
        match said {
            HistoryPiece::Message(name, content, _) => {
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

/// A call in AG-UI's form.
fn ag_ui_call(call: &HistoryCall) -> Value {
    let (name, arguments) = (call.name.as_str(), call.arguments.as_str());
    json!({"id": call.id, "type": "function", "function": {"name": name, "arguments": arguments}})
}

/// The messages in the form of `useChat`. Consecutive texts and calls of the assistant are one message of
/// several steps.
pub(super) fn ai_sdk(view: &View) -> Vec<Value> {
    let mut messages: Vec<(&'static str, Vec<Value>)> = Vec::new();
    for said in history(view, UnfinishedCalls::Answer).0 {
        let (role, parts) = match said {
            HistoryPiece::Message(name, text, _) => {
                (role(&name), vec![json!({"type": "text", "text": text})])
            }
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

/// A call in the form of `useChat`.
fn ai_sdk_call(call: &HistoryCall) -> Value {
    let (kind, id, input) = (format!("tool-{}", call.name), &call.id, &call.arguments);
    let result = call.result.as_str();
    if call.is_error {
        json!({"type": kind, "toolCallId": id, "state": "output-error", "input": input, "errorText": result})
    } else {
        json!({"type": kind, "toolCallId": id, "state": "output-available", "input": input, "output": result})
    }
}
