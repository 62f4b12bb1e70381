//! The body of a request: the conversation in the form of an API. What the settings add to a request replaces
//! what is made here.

use encode::reconstruct::{UnfinishedCalls, anthropic, openai};
use model::View;
use serde_json::{Map, Value, json};

use crate::sampling;
use crate::settings::{ModelApi, RunnerConfig};

/// Most tokens of an answer if the settings do not say, because Anthropic's API requires a number.
const TOKENS_MAX: u64 = 8_192;

/// The last message if the model spoke last, as when a person spoke while it wrote its last words: some
/// models reject a request that ends with their own words, and others continue writing those.
const GO_ON: &str = "[Go on: answer what was not answered yet.]";

/// The tools of an agent for a request, each in the form of the API.
#[derive(Debug)]
pub(super) enum Tools {
    /// The model may call them.
    Open(Vec<Value>),
    /// The model must not call them.
    Closed(Vec<Value>),
}

impl Tools {
    /// Adds the tools to a request, if it needs them.
    fn put(self, api: ModelApi, fields: &mut Map<String, Value>) {
        let tools = match self {
            Self::Open(tools) => tools,
            // Anthropic's API rejects a history with calls unless there are tools.
            Self::Closed(tools) if api == ModelApi::Anthropic && has_calls(fields) => {
                fields.insert("tool_choice".to_owned(), json!({"type": "none"}));
                tools
            }
            Self::Closed(_) => return,
        };
        if !tools.is_empty() {
            fields.insert("tools".to_owned(), tools.into());
        }
    }
}

/// Whether a request to Anthropic's API contains calls.
fn has_calls(fields: &Map<String, Value>) -> bool {
    let messages = fields.get("messages").and_then(Value::as_array).into_iter().flatten();
    let mut blocks = messages.filter_map(|message| message.get("content")?.as_array()).flatten();
    blocks.any(|block| block.get("type").and_then(Value::as_str) == Some("tool_use"))
}

/// The body as JSON. `sampling` is what the caller says about how the model is to answer.
pub(super) fn body(
    view: &View,
    config: &RunnerConfig,
    tools: Tools,
    sampling: &Map<String, Value>,
) -> Vec<u8> {
    let mut fields = match config.provider.api {
        ModelApi::OpenAi => openai(view, config),
        ModelApi::Anthropic => anthropic(view, config),
    };
    tools.put(config.provider.api, &mut fields);
    sampling::put(config.provider.api, sampling, &mut fields);
    for (name, value) in &config.request {
        fields.insert(name.clone(), value.clone());
    }
    // Names, numbers and text can always be written.
    serde_json::to_vec(&fields).unwrap_or_default()
}

/// The fields of a request for chat completions: model, messages, streaming with usage, and the bound of
/// tokens if it is set.
fn openai(view: &View, config: &RunnerConfig) -> Map<String, Value> {
    let mut messages = openai::request(view, UnfinishedCalls::Answer).messages;
    if let Some(content) = config.system.clone() {
        messages.insert(0, openai::OpenAiMessage::System { content });
    }
    if let Some(openai::OpenAiMessage::Assistant { .. }) = messages.last() {
        messages.push(openai::OpenAiMessage::User { content: openai::UserContent::Text(GO_ON.to_owned()) });
    }
    let mut fields = Map::new();
    fields.insert("model".to_owned(), config.plan.model.as_str().into());
    fields.insert("messages".to_owned(), json!(messages));
    fields.insert("stream".to_owned(), true.into());
    fields.insert("stream_options".to_owned(), json!({"include_usage": true}));
    if let Some(most) = config.plan.tokens_max {
        fields.insert("max_tokens".to_owned(), most.into());
    }
    fields
}

/// The fields of a request for messages. The system prompt of the settings comes before those of the
/// conversation.
fn anthropic(view: &View, config: &RunnerConfig) -> Map<String, Value> {
    use anthropic::{AnthropicMessage, AnthropicRole, ContentBlock};

    let request = anthropic::request(view, UnfinishedCalls::Answer);
    let mut messages = request.messages;
    if messages.last().is_some_and(|last| last.role == AnthropicRole::Assistant) {
        let block = ContentBlock::Text { text: GO_ON.to_owned() };
        messages.push(AnthropicMessage { role: AnthropicRole::User, content: vec![block] });
    }
    let system = config.system.iter().chain(&request.system).map(String::as_str);
    let system = system.collect::<Vec<_>>().join("\n\n");
    let mut fields = Map::new();
    fields.insert("model".to_owned(), config.plan.model.as_str().into());
    if !system.is_empty() {
        fields.insert("system".to_owned(), system.into());
    }
    fields.insert("messages".to_owned(), json!(messages));
    fields.insert("stream".to_owned(), true.into());
    fields.insert("max_tokens".to_owned(), config.plan.tokens_max.unwrap_or(TOKENS_MAX).into());
    fields
}
