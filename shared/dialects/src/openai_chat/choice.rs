//! One choice of an answer: its text, reasoning, refusal and calls. The first choice is the main agent's
//! answer; others (`n` > 1) are told apart as agents of their own, so that no text is mixed.
//!
//! A choice writes one part at a time. Another kind of text, a call or an image ends the open part; a delta
//! with several fields is written in the order reasoning, content, refusal, calls, extras.

use compact_str::CompactString;

use super::calls::ChoiceCalls;
use super::plain::PlainDelta;
use super::think::{ThinkTags, ThinkToken};
use super::wire::{ChatContentPart, ChatDelta};
use crate::Decoded;
use crate::field::ForeignField;
use crate::writer::{CallOutcome, EventWriter, OpenPart};
use model::event::{AgentEnd, Kind, PartKind, RunStatus};
use model::ids::AgentId;

mod extras;

use extras::ChoiceExtras;

/// A choice of the open run. The meaning owns it and calls [`OpenChoice::end`] before it is dropped.
#[derive(Debug)]
pub(super) struct OpenChoice {
    /// The agent that stands for the choice; nothing for the first one.
    agent: Option<AgentId>,
    /// The open text, reasoning or refusal.
    part: Option<OpenPart>,
    /// Looks for `<think>` in the content.
    text: ThinkTags,
    /// Removes the same tags from the reasoning, where they only repeat what the field says.
    reasoning: ThinkTags,
    /// Some reasoning was written, or it is known to be hidden.
    has_thought: bool,
    /// The calls of the choice.
    calls: ChoiceCalls,
    /// Reads the fields that vendors add.
    extras: ChoiceExtras,
    /// The last finish reason.
    finish: Option<CompactString>,
}

impl OpenChoice {
    /// A choice of which nothing was received yet.
    pub(super) fn new(agent: Option<AgentId>) -> Self {
        Self {
            agent,
            part: None,
            text: ThinkTags::in_text(),
            reasoning: ThinkTags::in_reasoning(),
            has_thought: false,
            calls: ChoiceCalls::default(),
            extras: ChoiceExtras::default(),
            finish: None,
        }
    }

    /// Why the model stopped, as the stream said last; nothing if it did not.
    pub(super) fn finish_reason(&self) -> Option<&CompactString> {
        self.finish.as_ref()
    }

    /// Takes a delta, or a whole message.
    pub(super) fn delta(&mut self, delta: &ChatDelta<'_>, w: &mut EventWriter, out: &mut Decoded) {
        if delta.role.text().is_some_and(|role| role == "tool") {
            return self.tool_result(delta, w, out);
        }
        self.take_reasoning(delta, w, out);
        self.take_content(delta.content, w, out);
        if let Some(text) = delta.refusal.word() {
            self.write(PartKind::Refusal, &text, w, out);
        }
        let transcript = delta.audio.object::<ChatContentPart<'_>>().transcript;
        if let Some(text) = transcript.word() {
            self.write(PartKind::Text, &text, w, out);
        }
        let calls = delta.tool_calls.list();
        if !calls.is_empty() || delta.function_call.is_truthy() {
            self.close_part(w, out);
        }
        for call in calls {
            self.calls.fragment(call, self.agent.as_ref(), w, out);
        }
        if delta.function_call.is_object() {
            self.calls.legacy(delta.function_call, self.agent.as_ref(), w, out);
        }
        if delta.executed_tools.is_truthy() || delta.images.is_truthy() {
            self.close_part(w, out);
        }
        self.extras.take(delta, self.agent.as_ref(), w, out);
    }

    /// Takes a delta that says only one thing, `said`: what [`OpenChoice::delta`] does with it.
    pub(super) fn plain(
        &mut self,
        says: PlainDelta,
        said: ForeignField<'_>,
        w: &mut EventWriter,
        out: &mut Decoded,
    ) {
        match says {
            PlainDelta::Content => self.take_content(said, w, out),
            PlainDelta::Reasoning => self.write_thinking(&said.text().unwrap_or_default(), w, out),
            PlainDelta::Arguments(index) => {
                self.close_part(w, out);
                self.calls.arguments(index, said, self.agent.as_ref(), w, out);
            }
        }
    }

    /// Takes the finish reason. The calls so far are written. More may still come: vendors repeat themselves.
    pub(super) fn finish(&mut self, reason: &str, w: &mut EventWriter, out: &mut Decoded) {
        self.settle(w, out);
        self.finish = Some(CompactString::new(reason));
    }

    /// Takes the end of the stream. Calls are written if the answer is whole (`is_whole`), otherwise only
    /// those with whole arguments. An agent that stands for the choice ends.
    pub(super) fn end(&mut self, is_whole: bool, w: &mut EventWriter, out: &mut Decoded) {
        self.close_part(w, out);
        self.calls.finish(is_whole, w, out);
        if let Some(agent) = &self.agent {
            let status = if is_whole { RunStatus::Complete } else { RunStatus::Interrupted };
            w.push_by(Some(agent), Kind::AgentEnd(AgentEnd::of(status)), out);
        }
    }

    /// Writes text that may contain `<think>`: content that is a plain string, and the text of the legacy
    /// completions API.
    pub(super) fn write_text(&mut self, text: &str, w: &mut EventWriter, out: &mut Decoded) {
        if text.is_empty() {
            return;
        }
        self.calls.pause(w, out);
        let Self { text: tags, part, agent, has_thought, .. } = self;
        flush(&mut self.reasoning, part, agent.as_ref(), w, out);
        tags.push(text, &mut |thought| match thought {
            ThinkToken::Piece(kind, text) => {
                *has_thought |= kind == PartKind::Thinking;
                OpenPart::go_on(part, kind, text, agent.as_ref(), w, out);
            }
            ThinkToken::Retract(text) => {
                *has_thought = true;
                retract(part, text, agent.as_ref(), w, out);
            }
        });
    }

    /// Writes reasoning from a field of its own.
    fn write_thinking(&mut self, text: &str, w: &mut EventWriter, out: &mut Decoded) {
        if text.is_empty() {
            return;
        }
        self.has_thought = true;
        let Self { reasoning: tags, part, agent, .. } = self;
        flush(&mut self.text, part, agent.as_ref(), w, out);
        tags.push(text, &mut |thought| {
            if let ThinkToken::Piece(_, text) = thought {
                OpenPart::go_on(part, PartKind::Thinking, text, agent.as_ref(), w, out);
            }
        });
    }

    /// Writes text that is never searched for tags.
    fn write(&mut self, kind: PartKind, text: &str, w: &mut EventWriter, out: &mut Decoded) {
        flush(&mut self.reasoning, &mut self.part, self.agent.as_ref(), w, out);
        flush(&mut self.text, &mut self.part, self.agent.as_ref(), w, out);
        OpenPart::go_on(&mut self.part, kind, text, self.agent.as_ref(), w, out);
    }

    /// Ends the open part, with what was held back because it may have been half a tag.
    fn close_part(&mut self, w: &mut EventWriter, out: &mut Decoded) {
        flush(&mut self.reasoning, &mut self.part, self.agent.as_ref(), w, out);
        flush(&mut self.text, &mut self.part, self.agent.as_ref(), w, out);
        if let Some(part) = self.part.take() {
            part.end(false, w, out);
        }
    }

    /// Writes the reasoning of a delta. The same text may come in several fields: the first that says
    /// something counts.
    fn take_reasoning(&mut self, delta: &ChatDelta<'_>, w: &mut EventWriter, out: &mut Decoded) {
        let plain = [delta.reasoning_content, delta.reasoning].into_iter().find_map(ForeignField::word);
        if let Some(text) = &plain {
            self.write_thinking(text, w, out);
        }
        for detail in delta.reasoning_details.list() {
            let piece: ChatContentPart<'_> = detail.object();
            let text = piece.text.word().or_else(|| piece.summary.word());
            match text {
                Some(text) if plain.is_none() => self.write_thinking(&text, w, out),
                Some(_) => {}
                None => self.note_hidden(&piece, w, out),
            }
        }
    }

    /// Writes a hidden reasoning part for encrypted reasoning, once, and only if no other reasoning was
    /// written.
    fn note_hidden(&mut self, piece: &ChatContentPart<'_>, w: &mut EventWriter, out: &mut Decoded) {
        let is_hidden = piece.kind.text().is_some_and(|kind| kind.ends_with("encrypted"));
        if is_hidden && !std::mem::replace(&mut self.has_thought, true) {
            self.close_part(w, out);
            w.whole_part(PartKind::Thinking, "", true, self.agent.as_ref(), out);
        }
    }

    /// Writes content: a text, or a list of pieces.
    fn take_content(&mut self, content: ForeignField<'_>, w: &mut EventWriter, out: &mut Decoded) {
        if let Some(text) = content.text() {
            return self.write_text(&text, w, out);
        }
        for item in content.list() {
            self.take_item(item, w, out);
        }
    }

    /// Writes one piece of content that is a list (Mistral). A piece of an unknown type without text is
    /// passed on raw.
    fn take_item(&mut self, item: ForeignField<'_>, w: &mut EventWriter, out: &mut Decoded) {
        if let Some(text) = item.text() {
            return self.write_text(&text, w, out);
        }
        let piece: ChatContentPart<'_> = item.object();
        match piece.kind.text().as_deref() {
            Some("thinking" | "reasoning") => {
                if let Some(text) = piece.thinking.word().or_else(|| piece.text.word()) {
                    self.write_thinking(&text, w, out);
                }
                for inner in piece.thinking.list() {
                    let text = inner.object::<ChatContentPart<'_>>().text;
                    self.write_thinking(&text.text().unwrap_or_default(), w, out);
                }
            }
            Some("image_url") => {
                self.close_part(w, out);
                extras::show_image(&piece, self.agent.as_ref(), w, out);
            }
            Some("refusal") => {
                self.write(PartKind::Refusal, &piece.refusal.text().unwrap_or_default(), w, out);
            }
            _ => match piece.text.text() {
                Some(text) => self.write_text(&text, w, out),
                None => w.raw(item, self.agent.as_ref(), out),
            },
        }
    }

    /// Ends the open part and the calls so far: something else follows than text or calls.
    pub(super) fn settle(&mut self, w: &mut EventWriter, out: &mut Decoded) {
        self.close_part(w, out);
        self.calls.finish(true, w, out);
    }

    /// Writes the result of a call. A server that runs its tools itself sends results as deltas too
    /// (Bernard).
    fn tool_result(&mut self, delta: &ChatDelta<'_>, w: &mut EventWriter, out: &mut Decoded) {
        self.settle(w, out);
        let id = delta.tool_call_id.words().unwrap_or_default();
        w.result(&id, CallOutcome::of(delta.content.json()), self.agent.as_ref(), out);
    }
}

/// Writes what `tags` held back, since no more of that text follows at once.
fn flush(
    tags: &mut ThinkTags,
    part: &mut Option<OpenPart>,
    agent: Option<&AgentId>,
    w: &mut EventWriter,
    out: &mut Decoded,
) {
    tags.flush(&mut |thought| {
        if let ThinkToken::Piece(kind, text) = thought {
            OpenPart::go_on(part, kind, text, agent, w, out);
        }
    });
}

/// Moves the text of the open part to a reasoning part of its own, since it turned out to be reasoning. The
/// part with the wrong kind becomes empty and ends.
fn retract(
    part: &mut Option<OpenPart>,
    text: &str,
    agent: Option<&AgentId>,
    w: &mut EventWriter,
    out: &mut Decoded,
) {
    if let Some(mut wrong) = part.take() {
        if !wrong.is_empty() {
            wrong.replace("", w, out);
        }
        wrong.end(false, w, out);
    }
    if !text.is_empty() {
        w.whole_part(PartKind::Thinking, text, false, agent, out);
    }
}
