//! The shape of Anthropic's Messages API: user and assistant take turns, the first is the user, results are the first
//! blocks of the user's turn behind the calls, the system's text stands apart.

use serde::Serialize;

use super::history::{HistoryPiece, HistoryStep, SignedThinking, UnfinishedCalls, history};
use super::{PartialResponse, names};
use model::json::Json;
use model::view::View;

/// Stands first where a conversation begins with the assistant.
const BEGINNING: &str = "[The conversation begins with the assistant.]";

/// What a request needs of the conversation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct AnthropicRequest {
    /// The model that answered last.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// What the operator says, all of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub system: Option<String>,
    /// The messages.
    pub messages: Vec<AnthropicMessage>,
    /// Where the newest response is only a part of one. No field of the API: take it out before sending.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub partial: Option<PartialResponse>,
}

/// One message of the request's `messages`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct AnthropicMessage {
    /// Who speaks.
    pub role: AnthropicRole,
    /// What, never nothing.
    pub content: Vec<ContentBlock>,
}

/// Whose message it is; results of tools belong to the user.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum AnthropicRole {
    /// A person, and the results of calls.
    User,
    /// The model.
    Assistant,
}

/// A piece of a message.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum ContentBlock {
    /// Thinking, as the provider signed it.
    Thinking {
        /// Its text.
        thinking: String,
        /// The provider's mark.
        signature: String,
    },
    /// A text that is not blank.
    Text {
        /// It.
        text: String,
    },
    /// A call.
    ToolUse {
        /// Its id.
        id: String,
        /// The tool.
        name: String,
        /// The arguments, an object.
        input: Json,
    },
    /// What a call gave back.
    ToolResult {
        /// The call.
        tool_use_id: String,
        /// The text.
        content: String,
        /// Whether it failed.
        #[serde(skip_serializing_if = "std::ops::Not::not")]
        is_error: bool,
    },
}

/// The messages of `view`.
pub fn request(view: &View, unfinished: UnfinishedCalls) -> AnthropicRequest {
    let (said, partial) = history(view, unfinished);
    let mut turns = AnthropicTurns::default();
    let mut system: Vec<String> = Vec::new();
    for piece in said {
        match piece {
            HistoryPiece::Message(role, text) => match role.as_str() {
                "system" | "developer" => system.push(text),
                "assistant" | "ai" | "model" => {
                    turns.put(AnthropicRole::Assistant, ContentBlock::Text { text });
                }
                _ => turns.put(AnthropicRole::User, ContentBlock::Text { text }),
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

#[derive(Default)]
struct AnthropicTurns {
    messages: Vec<AnthropicMessage>,
}

impl AnthropicTurns {
    /// Adds a block to the turn of `role`, which begins where the other one spoke last.
    fn put(&mut self, role: AnthropicRole, block: ContentBlock) {
        if self.messages.is_empty() && role == AnthropicRole::Assistant {
            self.put(AnthropicRole::User, ContentBlock::Text { text: BEGINNING.to_owned() });
        }
        match self.messages.last_mut() {
            Some(last) if last.role == role => last.content.push(block),
            _ => self.messages.push(AnthropicMessage { role, content: vec![block] }),
        }
    }

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

    /// The messages. An assistant's text at the end is taken as the beginning of the next answer and must not end with
    /// white space.
    fn whole(mut self) -> Vec<AnthropicMessage> {
        if let Some(AnthropicMessage { role: AnthropicRole::Assistant, content }) = self.messages.last_mut()
            && let Some(ContentBlock::Text { text }) = content.last_mut()
        {
            text.truncate(text.trim_end().len());
        }
        self.messages
    }
}
