//! Chunks that say one thing: more text, more reasoning, or more arguments of a call that has begun. Nearly all chunks
//! are such, each the same text as the one before it but for that, so they are recognised by their shape
//! ([`Shapes`](crate::field::Shapes)). Here is decided which chunks are plain.

use compact_str::CompactString;

use super::wire::{CallFragment, ChatChoice, ChatDelta, ChatFunction, ChatObject};
use crate::field::{ForeignField, Gap};

/// Fields of a chunk that nobody reads and that differ from chunk to chunk with some servers.
const UNREAD_OF_CHUNK: [&str; 3] = ["id", "created", "obfuscation"];
/// The same of a choice.
const UNREAD_OF_CHOICE: [&str; 2] = ["logprobs", "token_ids"];

/// What a plain chunk says besides its text.
#[derive(Debug)]
pub(super) struct PlainChunk {
    pub(super) model: Option<CompactString>,
    /// The index of its one choice.
    pub(super) choice: u64,
    pub(super) says: PlainDelta,
}

/// What the text of a plain chunk is.
#[derive(Debug, Clone, Copy)]
pub(super) enum PlainDelta {
    Content,
    Reasoning,
    /// Arguments of the call with this index, or of the last call.
    Arguments(Option<u64>),
}

impl PlainChunk {
    /// What `chunk` says and the places that are other ones in the next such chunk, of which the first is its text;
    /// nothing if it is not plain. `whole` is its text.
    pub(super) fn of<'a>(
        chunk: &ChatObject<'a>,
        whole: ForeignField<'a>,
    ) -> Option<(Self, Vec<(ForeignField<'a>, Gap)>)> {
        let beside = [chunk.usage, chunk.error, chunk.x_groq, chunk.citations, chunk.search_results];
        let choices = chunk.choices.list();
        let [item] = choices.as_slice() else { return None };
        let choice: ChatChoice<'a> = item.object();
        let is_plain = beside.into_iter().chain([choice.finish_reason, choice.usage]).all(is_blank);
        if !is_plain || !choice.delta.is_object() {
            return None;
        }
        let (says, text) = PlainDelta::of(&choice.delta.object())?;
        let mut gaps = vec![(text, Gap::Text(0))];
        for (object, names) in [(whole, &UNREAD_OF_CHUNK[..]), (*item, &UNREAD_OF_CHOICE[..])] {
            let unread = object
                .fields()
                .into_all()
                .filter(|(name, field)| field.is_some() && names.contains(&&**name));
            gaps.extend(unread.map(|(_, field)| (field, Gap::Unread)));
        }
        let model = chunk.model.text().map(|model| CompactString::new(&model));
        Some((Self { model, choice: choice.index.count().unwrap_or(0), says }, gaps))
    }
}

impl PlainDelta {
    /// What `delta` says, and the text of it; nothing if it says more or less than one thing.
    fn of<'a>(delta: &ChatDelta<'a>) -> Option<(Self, ForeignField<'a>)> {
        let extras = [
            delta.refusal,
            delta.reasoning_details,
            delta.function_call,
            delta.executed_tools,
            delta.annotations,
            delta.images,
            delta.audio,
        ];
        if delta.role.text().is_some_and(|role| role == "tool") || !extras.into_iter().all(is_blank) {
            return None;
        }
        let fields = [delta.content, delta.reasoning_content, delta.reasoning, delta.tool_calls];
        let says_only = |said: usize| {
            let others = fields.iter().enumerate().filter(|(at, _)| *at != said);
            others.into_iter().all(|(_, field)| is_blank(*field))
        };
        let said = fields.into_iter().position(|field| !is_blank(field)).filter(|said| says_only(*said))?;
        match said {
            0 if delta.content.is_text() => Some((Self::Content, delta.content)),
            1 if delta.reasoning_content.is_text() => Some((Self::Reasoning, delta.reasoning_content)),
            2 if delta.reasoning.is_text() => Some((Self::Reasoning, delta.reasoning)),
            3 => Self::of_calls(delta.tool_calls),
            _ => None,
        }
    }

    /// The same of the fragments of calls: there is one, with nothing but a text of arguments.
    fn of_calls(calls: ForeignField<'_>) -> Option<(Self, ForeignField<'_>)> {
        let calls = calls.list();
        let [call] = calls.as_slice() else { return None };
        let fragment: CallFragment<'_> = call.object();
        let function: ChatFunction<'_> = fragment.function.object();
        let others = [fragment.id, fragment.custom, function.name, function.input];
        let is_plain = others.into_iter().all(|field| field.words().is_none());
        (is_plain && function.arguments.is_text())
            .then(|| (Self::Arguments(fragment.index.count()), function.arguments))
    }
}

/// Whether the field says nothing wherever it stands in a chunk: it is absent, or an empty text or list.
fn is_blank(field: ForeignField<'_>) -> bool {
    matches!(field.as_json_text(), "" | "\"\"" | "[]")
}

#[cfg(test)]
mod tests;
