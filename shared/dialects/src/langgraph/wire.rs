//! Messages as LangChain writes them down, in any of their shapes: flat, as a constructor with its arguments,
//! or with the fields under `data`.
//!
//! ```json
//! {"type": "AIMessageChunk", "id": "m1", "content": "Hi"}
//! {"lc": 1, "type": "constructor", "id": ["langchain_core", "messages", "AIMessageChunk"], "kwargs": {"content": "Hi"}}
//! {"type": "ai", "data": {"id": "m1", "content": "Hi"}}
//! ```

use std::borrow::Cow;

use serde::Deserialize;

use crate::field::ForeignField;
use model::event::Usage;

/// The fields of a message, and those by which its shape shows.
#[derive(Debug, Default, Clone, Copy, Deserialize)]
#[serde(default)]
pub(super) struct LangChainMessageFields<'a> {
    #[serde(borrow, rename = "type")]
    kind: ForeignField<'a>,
    #[serde(borrow)]
    role: ForeignField<'a>,
    #[serde(borrow)]
    kwargs: ForeignField<'a>,
    #[serde(borrow)]
    data: ForeignField<'a>,
    #[serde(borrow)]
    pub(super) id: ForeignField<'a>,
    #[serde(borrow)]
    pub(super) name: ForeignField<'a>,
    /// A text, or a list of blocks ([`LangChainBlock`]).
    #[serde(borrow)]
    pub(super) content: ForeignField<'a>,
    /// Pieces of calls; present in messages that are pieces themselves.
    #[serde(borrow)]
    pub(super) tool_call_chunks: ForeignField<'a>,
    /// Calls with parsed arguments.
    #[serde(borrow)]
    pub(super) tool_calls: ForeignField<'a>,
    /// Calls whose arguments could not be parsed, as text.
    #[serde(borrow)]
    pub(super) invalid_tool_calls: ForeignField<'a>,
    /// What the provider added ([`ProviderFields`]).
    #[serde(borrow)]
    additional_kwargs: ForeignField<'a>,
    /// What is known of the answer ([`ResponseMetadata`]).
    #[serde(borrow)]
    response_metadata: ForeignField<'a>,
    /// Tokens; of a piece, those of the piece.
    #[serde(borrow)]
    pub(super) usage_metadata: ForeignField<'a>,
    /// The call of which this is the result.
    #[serde(borrow)]
    pub(super) tool_call_id: ForeignField<'a>,
    /// `error` if the tool failed.
    #[serde(borrow)]
    status: ForeignField<'a>,
    /// `last` in the last piece, in newer versions.
    #[serde(borrow)]
    chunk_position: ForeignField<'a>,
}

/// The writer of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum MessageSpeaker {
    /// The model: a piece of its message, or all of it.
    Model { is_piece: bool },
    /// A tool: the message is the result of a call.
    Tool,
    /// Somebody else, by the name that the history has for it.
    Other(&'static str),
    /// Nobody: the message takes another one out of the state.
    Nobody,
}

/// A message of LangChain that was read, whole or a piece of one.
#[derive(Debug, Clone, Copy)]
pub(super) struct LangChainMessage<'a> {
    pub(super) speaker: MessageSpeaker,
    pub(super) body: LangChainMessageFields<'a>,
    /// All of it, as it was received.
    pub(super) whole: ForeignField<'a>,
    extra: ProviderFields<'a>,
    about: ResponseMetadata<'a>,
}

/// What providers add to a message.
#[derive(Debug, Default, Clone, Copy, Deserialize)]
#[serde(default)]
pub(super) struct ProviderFields<'a> {
    #[serde(borrow)]
    pub(super) reasoning_content: ForeignField<'a>,
    #[serde(borrow)]
    pub(super) reasoning: ForeignField<'a>,
    #[serde(borrow)]
    pub(super) refusal: ForeignField<'a>,
    #[serde(borrow)]
    pub(super) tool_calls: ForeignField<'a>,
    #[serde(borrow)]
    stop_reason: ForeignField<'a>,
    #[serde(borrow)]
    finish_reason: ForeignField<'a>,
}

/// What is known of the model's answer, in the words of several providers.
#[derive(Debug, Default, Clone, Copy, Deserialize)]
#[serde(default)]
struct ResponseMetadata<'a> {
    #[serde(borrow)]
    model_name: ForeignField<'a>,
    #[serde(borrow)]
    model: ForeignField<'a>,
    #[serde(borrow)]
    finish_reason: ForeignField<'a>,
    #[serde(borrow)]
    stop_reason: ForeignField<'a>,
    #[serde(borrow)]
    done_reason: ForeignField<'a>,
    #[serde(borrow)]
    status: ForeignField<'a>,
}

impl<'a> LangChainMessage<'a> {
    /// Reads a message; nothing if `whole` is none.
    pub(super) fn read(whole: ForeignField<'a>) -> Option<Self> {
        let outer: LangChainMessageFields<'a> = whole.object();
        let (class, body) = if outer.kwargs.is_object() {
            (outer.id.list().last()?.text()?, outer.kwargs.object())
        } else if outer.data.is_object() && !outer.content.is_some() {
            (outer.kind.text()?, outer.data.object())
        } else if outer.content.is_some() || outer.tool_calls.is_some() {
            (outer.kind.text().or_else(|| outer.role.text())?, outer)
        } else {
            (outer.kind.text().filter(|kind| kind == "remove")?, outer)
        };
        let speaker = speaker(&class, &body)?;
        let (extra, about) = (body.additional_kwargs.object(), body.response_metadata.object());
        Some(Self { speaker, body, whole, extra, about })
    }

    /// All messages of a list; items that are none are left out.
    pub(super) fn list(list: ForeignField<'a>) -> Vec<Self> {
        list.list().into_iter().filter_map(Self::read).collect()
    }

    /// What the provider added.
    pub(super) fn extra(&self) -> &ProviderFields<'a> {
        &self.extra
    }

    /// The name of the model, if the message has it.
    pub(super) fn model(&self) -> Option<Cow<'a, str>> {
        self.about.model_name.word().or_else(|| self.about.model.word())
    }

    /// Whether the message has calls or pieces of them.
    pub(super) fn has_calls(&self) -> bool {
        let Self { body, extra, .. } = self;
        [body.tool_call_chunks, body.tool_calls, body.invalid_tool_calls, extra.tool_calls]
            .into_iter()
            .any(ForeignField::is_truthy)
    }

    /// Whether no more of the message comes.
    pub(super) fn is_last(&self) -> bool {
        self.body.chunk_position.text().as_deref() == Some("last")
    }

    /// Why the model stopped; nothing before it did.
    pub(super) fn stopped(&self) -> Option<Cow<'a, str>> {
        let Self { about, extra, .. } = self;
        [about.finish_reason, about.stop_reason, about.done_reason, extra.stop_reason, extra.finish_reason]
            .into_iter()
            .find_map(ForeignField::word)
            .or_else(|| about.status.word().filter(|status| status == "completed" || status == "incomplete"))
    }

    /// Whether the tool failed.
    pub(super) fn has_failed(&self) -> bool {
        self.body.status.text().as_deref() == Some("error")
    }

    /// The text of the message, without its other blocks.
    pub(super) fn text(&self) -> String {
        text_of(self.body.content)
    }
}

/// The text of a content: a string, or the texts in a list of blocks.
pub(super) fn text_of(content: ForeignField<'_>) -> String {
    if let Some(text) = content.text() {
        return text.into_owned();
    }
    let blocks = content.list().into_iter();
    blocks
        .filter_map(|block| block.text().or_else(|| block.object::<LangChainBlock<'_>>().text.text()))
        .collect()
}

/// Who writes messages of this class; nothing if it is no class of messages.
fn speaker(class: &str, body: &LangChainMessageFields<'_>) -> Option<MessageSpeaker> {
    Some(match class {
        "AIMessageChunk" => MessageSpeaker::Model { is_piece: true },
        "AIMessage" | "ai" | "assistant" => {
            MessageSpeaker::Model { is_piece: body.tool_call_chunks.is_list() }
        }
        "ToolMessage" | "ToolMessageChunk" | "tool" | "FunctionMessage" | "function" => MessageSpeaker::Tool,
        "HumanMessage" | "HumanMessageChunk" | "human" | "user" => MessageSpeaker::Other("user"),
        "SystemMessage" | "SystemMessageChunk" | "system" => MessageSpeaker::Other("system"),
        "developer" => MessageSpeaker::Other("developer"),
        "ChatMessage" | "ChatMessageChunk" | "chat" | "generic" => MessageSpeaker::Other("assistant"),
        "RemoveMessage" | "remove" => MessageSpeaker::Nobody,
        _ => return None,
    })
}

/// A block of content, or a piece of one. Each provider names the fields of its own blocks; each type uses
/// some of them.
#[derive(Debug, Default, Clone, Copy, Deserialize)]
#[serde(default)]
pub(super) struct LangChainBlock<'a> {
    #[serde(borrow, rename = "type")]
    pub(super) kind: ForeignField<'a>,
    /// The place of the block in its message.
    #[serde(borrow)]
    pub(super) index: ForeignField<'a>,
    #[serde(borrow)]
    pub(super) text: ForeignField<'a>,
    #[serde(borrow)]
    pub(super) thinking: ForeignField<'a>,
    #[serde(borrow)]
    pub(super) reasoning: ForeignField<'a>,
    #[serde(borrow)]
    pub(super) reasoning_content: ForeignField<'a>,
    #[serde(borrow)]
    pub(super) summary: ForeignField<'a>,
    #[serde(borrow)]
    pub(super) refusal: ForeignField<'a>,
    #[serde(borrow)]
    pub(super) annotations: ForeignField<'a>,
    #[serde(borrow)]
    pub(super) citations: ForeignField<'a>,
    #[serde(borrow)]
    pub(super) id: ForeignField<'a>,
    #[serde(borrow)]
    pub(super) name: ForeignField<'a>,
    #[serde(borrow)]
    pub(super) input: ForeignField<'a>,
    #[serde(borrow)]
    pub(super) args: ForeignField<'a>,
    /// The arguments of a call as text (Anthropic): a piece, or all so far.
    #[serde(borrow)]
    pub(super) partial_json: ForeignField<'a>,
    #[serde(borrow)]
    pub(super) arguments: ForeignField<'a>,
    #[serde(borrow)]
    pub(super) function: ForeignField<'a>,
    /// The call of which this block is the result.
    #[serde(borrow)]
    pub(super) tool_use_id: ForeignField<'a>,
    #[serde(borrow)]
    pub(super) content: ForeignField<'a>,
    #[serde(borrow)]
    pub(super) image_url: ForeignField<'a>,
    #[serde(borrow)]
    pub(super) url: ForeignField<'a>,
    /// The fields that change, in a `block-delta` of the protocol.
    #[serde(borrow)]
    pub(super) fields: ForeignField<'a>,
}

/// Counts of tokens, as LangChain and as the chat API name them.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct LangChainTokens<'a> {
    #[serde(borrow)]
    input_tokens: ForeignField<'a>,
    #[serde(borrow)]
    output_tokens: ForeignField<'a>,
    /// Input tokens, as the chat API names them.
    #[serde(borrow)]
    prompt_tokens: ForeignField<'a>,
    #[serde(borrow)]
    completion_tokens: ForeignField<'a>,
    #[serde(borrow)]
    input_token_details: ForeignField<'a>,
    #[serde(borrow)]
    output_token_details: ForeignField<'a>,
}

/// The parts of the input or of the output tokens.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct TokenDetails<'a> {
    #[serde(borrow)]
    cache_read: ForeignField<'a>,
    #[serde(borrow)]
    reasoning: ForeignField<'a>,
}

/// The tokens of a message or of a piece of it; nothing if neither input nor output is counted.
pub(super) fn usage(field: ForeignField<'_>) -> Option<Usage> {
    let counts: LangChainTokens<'_> = field.object();
    let input_tokens = counts.input_tokens.count().or(counts.prompt_tokens.count());
    let output_tokens = counts.output_tokens.count().or(counts.completion_tokens.count());
    input_tokens.or(output_tokens)?;
    let count = |count: Option<u64>| count.unwrap_or_default();
    Some(Usage {
        input_tokens: count(input_tokens),
        output_tokens: count(output_tokens),
        reasoning_tokens: count(counts.output_token_details.object::<TokenDetails<'_>>().reasoning.count()),
        cached_tokens: count(counts.input_token_details.object::<TokenDetails<'_>>().cache_read.count()),
        cost: None,
    })
}
