//! Writes the history for Anthropic's Messages API: user and assistant take turns, the first turn is the
//! user's, results are the first blocks of the user's turn after the calls, the system prompt is separate.
//!
//! ```json
//! {"model": "model-x", "system": "…", "messages": [
//!   {"role": "user", "content": [{"type": "text", "text": "…"}]},
//!   {"role": "assistant", "content": [
//!     {"type": "thinking", "thinking": "…", "signature": "…"},
//!     {"type": "text", "text": "…"},
//!     {"type": "tool_use", "id": "call_1", "name": "search", "input": {"q": "moon"}}]},
//!   {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "call_1", "content": "…"}]}
//! ]}
//! ```
//!
//! Messages of one side in a row become one message with several blocks. A note that an answer broke off is a
//! text of the user. Thinking is kept only with its signature.

use serde::Serialize;

use super::history::{HistoryPiece, HistoryStep, SignedThinking, UnfinishedCalls, history};
use super::{PartialResponse, files, names};
use model::event::{FileKind, MessageFile};
use model::json::Json;
use model::view::View;

/// The first message of a conversation that begins with the assistant.
const BEGINNING: &str = "[The conversation begins with the assistant.]";

/// The fields of a request that come from the conversation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct AnthropicRequest {
    /// The model that answered last.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// The system prompt, with all system messages.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub system: Option<String>,
    /// The messages, oldest first.
    pub messages: Vec<AnthropicMessage>,
    /// Set if the newest response broke off. This is not a field of the API: remove it before sending.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub partial: Option<PartialResponse>,
}

/// One message of the request's `messages`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct AnthropicMessage {
    /// The role of the message.
    pub role: AnthropicRole,
    /// The content; never empty.
    pub content: Vec<ContentBlock>,
}

/// The role of a message; results of tools belong to the user.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum AnthropicRole {
    /// A person's words, and the results of calls.
    User,
    /// The model that answers.
    Assistant,
}

/// A block of content.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum ContentBlock {
    /// Thinking with the provider's signature.
    Thinking {
        /// The text; empty if the provider hides it.
        thinking: String,
        /// The signature of the provider, unchanged.
        signature: String,
    },
    /// An image that the user sent.
    Image {
        /// The contents of the image.
        source: FileSource,
    },
    /// A PDF or a text.
    Document {
        /// The contents of the document.
        source: FileSource,
        /// What it is called.
        title: String,
    },
    /// A text that is not blank.
    Text {
        /// The text itself.
        text: String,
    },
    /// A tool call of the assistant.
    ToolUse {
        /// The id of the call.
        id: String,
        /// The name of the tool.
        name: String,
        /// The arguments, an object.
        input: Json,
    },
    /// The result of a tool call.
    ToolResult {
        /// The id of the call.
        tool_use_id: String,
        /// The result as text.
        content: String,
        /// Whether the call failed.
        #[serde(skip_serializing_if = "std::ops::Not::not")]
        is_error: bool,
    },
}

/// The contents of a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum FileSource {
    /// A file of any kind, in base64.
    Base64 {
        /// The media type of the file.
        media_type: String,
        /// The contents in base64.
        data: String,
    },
    /// A file of text.
    Text {
        /// Always `text/plain`, the only type that the API takes.
        media_type: &'static str,
        /// The contents as text.
        data: String,
    },
}

/// A file as a block. One whose contents are not here, and an empty text, is named in words.
fn block(file: &MessageFile) -> ContentBlock {
    let title = file.name.to_string();
    let base64 = |data: &String| FileSource::Base64 { media_type: file.mime.to_string(), data: data.clone() };
    match (file.kind(), &file.data) {
        (Some(FileKind::Image), Some(data)) => ContentBlock::Image { source: base64(data) },
        (Some(FileKind::Pdf), Some(data)) => ContentBlock::Document { source: base64(data), title },
        _ => match files::text(file).filter(|text| !text.trim().is_empty()) {
            Some(data) => {
                ContentBlock::Document { source: FileSource::Text { media_type: "text/plain", data }, title }
            }
            None => ContentBlock::Text { text: files::in_words(file) },
        },
    }
}

/// The request for the conversation of `view`.
///
/// System and developer messages from anywhere in the conversation are joined, separated by an empty line.
/// Any other role than the assistant's becomes the user.
pub fn request(view: &View, unfinished: UnfinishedCalls) -> AnthropicRequest {
    let (said, partial) = history(view, unfinished);
    let mut turns = AnthropicTurns::default();
    let mut system: Vec<String> = Vec::new();
    for piece in said {
        match piece {
            HistoryPiece::Message(role, text, files) => match role.as_str() {
                "system" | "developer" => system.push(text),
                "assistant" | "ai" | "model" => {
                    turns.put(AnthropicRole::Assistant, ContentBlock::Text { text });
                }
                _ => {
                    // The API advises to put files before what is asked about them.
                    for file in &files {
                        turns.put(AnthropicRole::User, block(file));
                    }
                    if !text.trim().is_empty() {
                        turns.put(AnthropicRole::User, ContentBlock::Text { text });
                    }
                }
            },
            HistoryPiece::Step(step) => turns.step(step),
            HistoryPiece::BrokeOff(partial) => {
                turns.put(AnthropicRole::User, ContentBlock::Text { text: partial.note() });
            }
        }
    }
    AnthropicRequest {
        model: super::model(view).map(str::to_owned),
        system: (!system.is_empty()).then(|| system.join("\n\n")),
        messages: turns.whole(),
        partial,
    }
}

/// Collects messages so that the two sides take turns.
#[derive(Default)]
struct AnthropicTurns {
    /// The messages so far; no two neighbours have the same role, and the first one is the user's.
    messages: Vec<AnthropicMessage>,
}

impl AnthropicTurns {
    /// Adds a block to the turn of `role`; begins a turn if the other side spoke last.
    fn put(&mut self, role: AnthropicRole, block: ContentBlock) {
        if self.messages.is_empty() && role == AnthropicRole::Assistant {
            self.put(AnthropicRole::User, ContentBlock::Text { text: BEGINNING.to_owned() });
        }
        match self.messages.last_mut() {
            Some(last) if last.role == role => last.content.push(block),
            _ => self.messages.push(AnthropicMessage { role, content: vec![block] }),
        }
    }

    /// Adds one answer of the model, in the order that the API demands (thinking, text, calls), and the
    /// results of its calls as a turn of the user.
    fn step(&mut self, step: HistoryStep) {
        for thinking in step.thinking {
            let SignedThinking { text: thinking, signature } = thinking;
            self.put(AnthropicRole::Assistant, ContentBlock::Thinking { thinking, signature });
        }
        if !step.text.trim().is_empty() {
            self.put(AnthropicRole::Assistant, ContentBlock::Text { text: step.text });
        }
        for call in &step.calls {
            let id = names::plain_id(&call.id).to_string();
            let name = names::tool_name(&call.name);
            self.put(
                AnthropicRole::Assistant,
                ContentBlock::ToolUse { id, name, input: call.arguments.clone() },
            );
        }
        for call in step.calls {
            let tool_use_id = names::plain_id(&call.id).to_string();
            let (content, is_error) = (call.result, call.is_error);
            self.put(AnthropicRole::User, ContentBlock::ToolResult { tool_use_id, content, is_error });
        }
    }

    /// The messages. The API takes an assistant's text at the end as the beginning of the next answer; it
    /// must not end with white space.
    fn whole(mut self) -> Vec<AnthropicMessage> {
        if let Some(AnthropicMessage { role: AnthropicRole::Assistant, content }) = self.messages.last_mut()
            && let Some(ContentBlock::Text { text }) = content.last_mut()
        {
            text.truncate(text.trim_end().len());
        }
        self.messages
    }
}
