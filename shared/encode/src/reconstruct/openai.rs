//! Writes the history for OpenAI's Chat Completions API: an assistant's message names its calls, and one
//! `tool` message for each call follows immediately, in the same order.
//!
//! ```json
//! {"model": "model-x", "messages": [
//!   {"role": "user", "content": "…"},
//!   {"role": "assistant", "content": "…", "tool_calls": [
//!     {"id": "call_1", "type": "function", "function": {"name": "search", "arguments": "{\"q\":\"moon\"}"}}]},
//!   {"role": "tool", "tool_call_id": "call_1", "content": "…"}
//! ]}
//! ```
//!
//! Thinking is left out, since this API does not take it back. A note that an answer broke off is a `system`
//! message. Ids are at most 40 bytes long and have no control characters; others are replaced by a hash, in
//! the call and in its result alike.

use serde::Serialize;

use super::history::{HistoryCall, HistoryPiece, HistoryStep, UnfinishedCalls, history};
use super::{PartialResponse, files, names};
use model::event::{FileKind, MessageFile};
use model::view::View;

/// The fields of a request that come from the conversation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct OpenAiRequest {
    /// The model that answered last.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// The messages, oldest first.
    pub messages: Vec<OpenAiMessage>,
    /// Set if the newest response broke off. This is not a field of the API: remove it before sending.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub partial: Option<PartialResponse>,
}

/// One message of the request's `messages`, by its role.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "role", rename_all = "lowercase")]
pub enum OpenAiMessage {
    /// Instructions of the operator.
    System {
        /// The text of the instructions.
        content: String,
    },
    /// Instructions of the operator, for models that know this role.
    Developer {
        /// The text of the instructions.
        content: String,
    },
    /// What a person says.
    User {
        /// The text, or the text and files.
        content: UserContent,
    },
    /// What the model said and called.
    Assistant {
        /// The text; nothing if the message only has calls.
        #[serde(skip_serializing_if = "Option::is_none")]
        content: Option<String>,
        /// The tool calls of the message.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        tool_calls: Vec<OpenAiToolCall>,
    },
    /// The result of a tool call.
    Tool {
        /// The id of the call.
        tool_call_id: String,
        /// The result as text.
        content: String,
    },
}

/// A tool call in an assistant's message.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct OpenAiToolCall {
    /// The id of the call.
    pub id: String,
    /// The type of the call, always `function`.
    #[serde(rename = "type")]
    pub kind: &'static str,
    /// The tool and its arguments.
    pub function: FunctionCall,
}

/// The tool and the arguments of an [`OpenAiToolCall`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct FunctionCall {
    /// The name of the tool.
    pub name: String,
    /// The arguments: a JSON object as text.
    pub arguments: String,
}

/// What a person says: a text, or a text with files.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum UserContent {
    /// A text alone.
    Text(String),
    /// A list of parts, never empty.
    Parts(Vec<ContentPart>),
}

/// A part of what a person says.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum ContentPart {
    /// A text: what was said, or what a file of text holds.
    Text {
        /// The text itself.
        text: String,
    },
    /// An image that the person sent.
    ImageUrl {
        /// The address of the image.
        image_url: ImageUrl,
    },
    /// A PDF that the person sent.
    File {
        /// The contents of the file.
        file: InlineFile,
    },
}

/// The address of an image.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ImageUrl {
    /// The image as a `data:` URL.
    pub url: String,
}

/// A file inside of a request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct InlineFile {
    /// What it is called.
    pub filename: String,
    /// The contents as a `data:` URL.
    pub file_data: String,
}

/// A file as a part. One whose contents are not here is named in words.
fn part(file: &MessageFile) -> ContentPart {
    let url = |data: &str| format!("data:{};base64,{data}", file.mime);
    match (file.kind(), &file.data) {
        (Some(FileKind::Image), Some(data)) => {
            ContentPart::ImageUrl { image_url: ImageUrl { url: url(data) } }
        }
        (Some(FileKind::Pdf), Some(data)) => {
            ContentPart::File { file: InlineFile { filename: file.name.to_string(), file_data: url(data) } }
        }
        _ => ContentPart::Text { text: files::in_words(file) },
    }
}

/// The request for the conversation of `view`.
///
/// Roles that this API does not know become `user`, except the names that other sources have for the
/// assistant. The caller adds tools and its own fields.
pub fn request(view: &View, unfinished: UnfinishedCalls) -> OpenAiRequest {
    let (said, partial) = history(view, unfinished);
    let mut messages = Vec::with_capacity(said.len());
    for piece in said {
        match piece {
            HistoryPiece::Message(role, content, files) => messages.push(message(&role, content, &files)),
            HistoryPiece::Step(step) => put_step(step, &mut messages),
            HistoryPiece::BrokeOff(partial) => {
                messages.push(OpenAiMessage::System { content: partial.note() });
            }
        }
    }
    OpenAiRequest { model: super::model(view).map(str::to_owned), messages, partial }
}

/// A message of the history with the role that this API has for it. Files are a person's alone.
fn message(role: &str, content: String, files: &[MessageFile]) -> OpenAiMessage {
    match role {
        "system" => OpenAiMessage::System { content },
        "developer" => OpenAiMessage::Developer { content },
        "assistant" | "ai" | "model" => {
            OpenAiMessage::Assistant { content: Some(content), tool_calls: Vec::new() }
        }
        _ if files.is_empty() => OpenAiMessage::User { content: UserContent::Text(content) },
        _ => {
            let text = Some(content).filter(|text| !text.trim().is_empty());
            let parts = text.map(|text| ContentPart::Text { text }).into_iter();
            OpenAiMessage::User { content: UserContent::Parts(parts.chain(files.iter().map(part)).collect()) }
        }
    }
}

/// Adds one answer of the model and the results of its calls.
fn put_step(step: HistoryStep, messages: &mut Vec<OpenAiMessage>) {
    let content = Some(step.text).filter(|text| !text.trim().is_empty());
    let tool_calls = step.calls.iter().map(tool_call).collect();
    messages.push(OpenAiMessage::Assistant { content, tool_calls });
    messages.extend(step.calls.into_iter().map(|call| OpenAiMessage::Tool {
        tool_call_id: names::short_id(&call.id).to_string(),
        content: result(call.is_error, call.result),
    }));
}

/// A call in the form of this API, with an id and a name that it accepts.
fn tool_call(call: &HistoryCall) -> OpenAiToolCall {
    let function =
        FunctionCall { name: names::tool_name(&call.name), arguments: call.arguments.as_str().to_owned() };
    OpenAiToolCall { id: names::short_id(&call.id).to_string(), kind: "function", function }
}

/// The text of a result. A failure is marked in the text, since this API has no field for it.
fn result(is_error: bool, text: String) -> String {
    let says_so = text.get(..5).is_some_and(|start| start.eq_ignore_ascii_case("error"));
    if is_error && !says_so { format!("Error: {text}") } else { text }
}
