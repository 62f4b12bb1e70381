//! Messages as the library writes them down, in whichever of their shapes: flat, as a constructor with its arguments, or
//! with the fields under `data`.

use std::borrow::Cow;

use serde::Deserialize;

use crate::field::Field;
use model::event::Usage;

/// The fields of a message.
#[derive(Debug, Default, Clone, Copy, Deserialize)]
#[serde(default)]
pub(super) struct Body<'a> {
    #[serde(borrow, rename = "type")]
    kind: Field<'a>,
    #[serde(borrow)]
    role: Field<'a>,
    #[serde(borrow)]
    kwargs: Field<'a>,
    #[serde(borrow)]
    data: Field<'a>,
    #[serde(borrow)]
    pub(super) id: Field<'a>,
    #[serde(borrow)]
    pub(super) name: Field<'a>,
    #[serde(borrow)]
    pub(super) content: Field<'a>,
    #[serde(borrow)]
    pub(super) tool_call_chunks: Field<'a>,
    #[serde(borrow)]
    pub(super) tool_calls: Field<'a>,
    #[serde(borrow)]
    pub(super) invalid_tool_calls: Field<'a>,
    #[serde(borrow)]
    additional_kwargs: Field<'a>,
    #[serde(borrow)]
    response_metadata: Field<'a>,
    #[serde(borrow)]
    pub(super) usage_metadata: Field<'a>,
    #[serde(borrow)]
    pub(super) tool_call_id: Field<'a>,
    #[serde(borrow)]
    status: Field<'a>,
    #[serde(borrow)]
    chunk_position: Field<'a>,
}

/// Who speaks in a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Speaker {
    /// The model; a piece of its message or the whole.
    Model {
        is_piece: bool,
    },
    Tool,
    /// Somebody else, by the name that the history has for it.
    Other(&'static str),
    /// Nobody: it takes a message out of the state.
    Nobody,
}

/// A message.
#[derive(Debug, Clone, Copy)]
pub(super) struct Message<'a> {
    pub(super) speaker: Speaker,
    pub(super) body: Body<'a>,
    /// All of it, as it came.
    pub(super) whole: Field<'a>,
    extra: Extra<'a>,
    about: About<'a>,
}

/// What providers add to a message.
#[derive(Debug, Default, Clone, Copy, Deserialize)]
#[serde(default)]
pub(super) struct Extra<'a> {
    #[serde(borrow)]
    pub(super) reasoning_content: Field<'a>,
    #[serde(borrow)]
    pub(super) reasoning: Field<'a>,
    #[serde(borrow)]
    pub(super) refusal: Field<'a>,
    #[serde(borrow)]
    pub(super) tool_calls: Field<'a>,
    #[serde(borrow)]
    stop_reason: Field<'a>,
    #[serde(borrow)]
    finish_reason: Field<'a>,
}

/// What is known of the model's answer.
#[derive(Debug, Default, Clone, Copy, Deserialize)]
#[serde(default)]
struct About<'a> {
    #[serde(borrow)]
    model_name: Field<'a>,
    #[serde(borrow)]
    model: Field<'a>,
    #[serde(borrow)]
    finish_reason: Field<'a>,
    #[serde(borrow)]
    stop_reason: Field<'a>,
    #[serde(borrow)]
    done_reason: Field<'a>,
    #[serde(borrow)]
    status: Field<'a>,
}

impl<'a> Message<'a> {
    /// The message that `whole` is, when it is one.
    pub(super) fn read(whole: Field<'a>) -> Option<Self> {
        let outer: Body<'a> = whole.object();
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

    /// All messages of a list.
    pub(super) fn list(list: Field<'a>) -> Vec<Self> {
        list.list().into_iter().filter_map(Self::read).collect()
    }

    pub(super) fn extra(&self) -> &Extra<'a> {
        &self.extra
    }

    pub(super) fn model(&self) -> Option<Cow<'a, str>> {
        self.about.model_name.word().or_else(|| self.about.model.word())
    }

    /// It carries calls or pieces of them.
    pub(super) fn has_calls(&self) -> bool {
        let Self { body, extra, .. } = self;
        [body.tool_call_chunks, body.tool_calls, body.invalid_tool_calls, extra.tool_calls]
            .into_iter()
            .any(Field::is_truthy)
    }

    /// No more of the message comes.
    pub(super) fn is_last(&self) -> bool {
        self.body.chunk_position.text().as_deref() == Some("last")
    }

    /// Why the model stopped, once it did.
    pub(super) fn stopped(&self) -> Option<Cow<'a, str>> {
        let Self { about, extra, .. } = self;
        [about.finish_reason, about.stop_reason, about.done_reason, extra.stop_reason, extra.finish_reason]
            .into_iter()
            .find_map(Field::word)
            .or_else(|| about.status.word().filter(|status| status == "completed" || status == "incomplete"))
    }

    pub(super) fn has_failed(&self) -> bool {
        self.body.status.text().as_deref() == Some("error")
    }

    /// The text of it alone.
    pub(super) fn text(&self) -> String {
        text_of(self.body.content)
    }
}

/// The text of a content: a string, or the texts in a list of blocks.
pub(super) fn text_of(content: Field<'_>) -> String {
    if let Some(text) = content.text() {
        return text.into_owned();
    }
    let blocks = content.list().into_iter();
    blocks.filter_map(|block| block.text().or_else(|| block.object::<Block<'_>>().text.text())).collect()
}

fn speaker(class: &str, body: &Body<'_>) -> Option<Speaker> {
    Some(match class {
        "AIMessageChunk" => Speaker::Model { is_piece: true },
        "AIMessage" | "ai" | "assistant" => Speaker::Model { is_piece: body.tool_call_chunks.is_list() },
        "ToolMessage" | "ToolMessageChunk" | "tool" | "FunctionMessage" | "function" => Speaker::Tool,
        "HumanMessage" | "HumanMessageChunk" | "human" | "user" => Speaker::Other("user"),
        "SystemMessage" | "SystemMessageChunk" | "system" => Speaker::Other("system"),
        "developer" => Speaker::Other("developer"),
        "ChatMessage" | "ChatMessageChunk" | "chat" | "generic" => Speaker::Other("assistant"),
        "RemoveMessage" | "remove" => Speaker::Nobody,
        _ => return None,
    })
}

/// A block of content, or a piece of one. Every provider names the fields of its own.
#[derive(Debug, Default, Clone, Copy, Deserialize)]
#[serde(default)]
pub(super) struct Block<'a> {
    #[serde(borrow, rename = "type")]
    pub(super) kind: Field<'a>,
    #[serde(borrow)]
    pub(super) index: Field<'a>,
    #[serde(borrow)]
    pub(super) text: Field<'a>,
    #[serde(borrow)]
    pub(super) thinking: Field<'a>,
    #[serde(borrow)]
    pub(super) reasoning: Field<'a>,
    #[serde(borrow)]
    pub(super) reasoning_content: Field<'a>,
    #[serde(borrow)]
    pub(super) summary: Field<'a>,
    #[serde(borrow)]
    pub(super) refusal: Field<'a>,
    #[serde(borrow)]
    pub(super) annotations: Field<'a>,
    #[serde(borrow)]
    pub(super) citations: Field<'a>,
    #[serde(borrow)]
    pub(super) id: Field<'a>,
    #[serde(borrow)]
    pub(super) name: Field<'a>,
    #[serde(borrow)]
    pub(super) input: Field<'a>,
    #[serde(borrow)]
    pub(super) args: Field<'a>,
    #[serde(borrow)]
    pub(super) partial_json: Field<'a>,
    #[serde(borrow)]
    pub(super) arguments: Field<'a>,
    #[serde(borrow)]
    pub(super) function: Field<'a>,
    #[serde(borrow)]
    pub(super) tool_use_id: Field<'a>,
    #[serde(borrow)]
    pub(super) content: Field<'a>,
    #[serde(borrow)]
    pub(super) image_url: Field<'a>,
    #[serde(borrow)]
    pub(super) url: Field<'a>,
    #[serde(borrow)]
    pub(super) fields: Field<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Counts<'a> {
    #[serde(borrow)]
    input_tokens: Field<'a>,
    #[serde(borrow)]
    output_tokens: Field<'a>,
    /// As models of the chat API count.
    #[serde(borrow)]
    prompt_tokens: Field<'a>,
    #[serde(borrow)]
    completion_tokens: Field<'a>,
    #[serde(borrow)]
    input_token_details: Field<'a>,
    #[serde(borrow)]
    output_token_details: Field<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Details<'a> {
    #[serde(borrow)]
    cache_read: Field<'a>,
    #[serde(borrow)]
    reasoning: Field<'a>,
}

/// The tokens of a message or of a piece of it.
pub(super) fn usage(field: Field<'_>) -> Option<Usage> {
    let counts: Counts<'_> = field.object();
    let input_tokens = counts.input_tokens.count().or(counts.prompt_tokens.count());
    let output_tokens = counts.output_tokens.count().or(counts.completion_tokens.count());
    input_tokens.or(output_tokens)?;
    let count = |count: Option<u64>| count.unwrap_or_default();
    Some(Usage {
        input_tokens: count(input_tokens),
        output_tokens: count(output_tokens),
        reasoning_tokens: count(counts.output_token_details.object::<Details<'_>>().reasoning.count()),
        cached_tokens: count(counts.input_token_details.object::<Details<'_>>().cache_read.count()),
        cost: None,
    })
}
