//! The shape of OpenAI's Chat Completions API: an assistant's message names its calls, one `tool` message for each
//! follows at once, in the same order.

use serde::Serialize;

use super::history::{Call, Said, Step, Unfinished, history};
use super::{Partial, names};
use model::view::View;

/// What a request needs of the conversation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Request {
    /// The model that answered last.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// The messages.
    pub messages: Vec<Message>,
    /// Where the newest response is only a part of one. No field of the API: take it out before sending.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub partial: Option<Partial>,
}

/// One message.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "role", rename_all = "lowercase")]
pub enum Message {
    /// What the operator says.
    System {
        /// The text.
        content: String,
    },
    /// The same, for models that know the word.
    Developer {
        /// The text.
        content: String,
    },
    /// What a person says.
    User {
        /// The text.
        content: String,
    },
    /// What the model says, and what it calls.
    Assistant {
        /// The text; nothing when it only calls.
        #[serde(skip_serializing_if = "Option::is_none")]
        content: Option<String>,
        /// The calls.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        tool_calls: Vec<ToolCall>,
    },
    /// What a call gave back.
    Tool {
        /// The call.
        tool_call_id: String,
        /// The text.
        content: String,
    },
}

/// A call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ToolCall {
    /// Its id.
    pub id: String,
    /// Always `function`.
    #[serde(rename = "type")]
    pub kind: &'static str,
    /// What is called.
    pub function: Function,
}

/// See [`ToolCall`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Function {
    /// The tool.
    pub name: String,
    /// The arguments: a JSON object as text.
    pub arguments: String,
}

/// The messages of `view`.
pub fn request(view: &View, unfinished: Unfinished) -> Request {
    let (said, partial) = history(view, unfinished);
    let mut messages = Vec::with_capacity(said.len());
    for piece in said {
        match piece {
            Said::Message(role, content) => messages.push(message(&role, content)),
            Said::Step(step) => put_step(step, &mut messages),
            Said::BrokeOff(partial) => messages.push(Message::System { content: partial.note() }),
        }
    }
    Request { model: super::model(view).map(str::to_owned), messages, partial }
}

fn message(role: &str, content: String) -> Message {
    match role {
        "system" => Message::System { content },
        "developer" => Message::Developer { content },
        "assistant" | "ai" | "model" => Message::Assistant { content: Some(content), tool_calls: Vec::new() },
        _ => Message::User { content },
    }
}

fn put_step(step: Step, messages: &mut Vec<Message>) {
    let content = Some(step.text).filter(|text| !text.trim().is_empty());
    let tool_calls = step.calls.iter().map(tool_call).collect();
    messages.push(Message::Assistant { content, tool_calls });
    messages.extend(step.calls.into_iter().map(|call| Message::Tool {
        tool_call_id: names::short_id(&call.id).to_string(),
        content: result(call.is_error, call.result),
    }));
}

fn tool_call(call: &Call) -> ToolCall {
    let function =
        Function { name: names::tool_name(&call.name), arguments: call.arguments.as_str().to_owned() };
    ToolCall { id: names::short_id(&call.id).to_string(), kind: "function", function }
}

/// This API has no place for a failure but the text.
fn result(is_error: bool, text: String) -> String {
    let says_so = text.get(..5).is_some_and(|start| start.eq_ignore_ascii_case("error"));
    if is_error && !says_so { format!("Error: {text}") } else { text }
}
