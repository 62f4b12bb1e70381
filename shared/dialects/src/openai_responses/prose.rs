//! Messages and reasoning: items of several parts that stream side by side.
//!
//! Each part is named by what it says and its number. It begins with `content_part.added` or its first delta,
//! and ends with the first event that has its whole text; a text that differs replaces the streamed one.
//! Reasoning may be streamed raw, as a summary, or not at all: then it is a hidden part.

use std::collections::BTreeMap;

use super::wire::{OutputItem, ResponsesObject, ResponsesStreamEvent};
use crate::Decoded;
use crate::field::ForeignField;
use crate::writer::{EventWriter, OpenPart, WholePart};
use model::anomaly::AnomalyCode;
use model::event::PartKind;

/// What a part says. With its number it is the key of the part.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum SectionKind {
    /// Text of the answer (`output_text`).
    Text,
    /// The model declined (`refusal`).
    Refusal,
    /// Reasoning as it is (`reasoning_text`).
    Reasoning,
    /// A summary of reasoning that the provider keeps to itself.
    Summary,
}

impl SectionKind {
    /// The kind of a content part of this type; nothing for types that are not decoded.
    fn of_part(kind: &str) -> Option<Self> {
        Some(match kind {
            "output_text" | "text" => Self::Text,
            "refusal" => Self::Refusal,
            "reasoning_text" => Self::Reasoning,
            "summary_text" => Self::Summary,
            _ => return None,
        })
    }

    /// The kind of the part that an event is about. `name` is the type of the event without `response.` and
    /// its last word.
    pub(super) fn of_event(name: &str) -> Option<Self> {
        Some(match name {
            "output_text" => Self::Text,
            "refusal" => Self::Refusal,
            "reasoning_text" | "reasoning" => Self::Reasoning,
            "reasoning_summary_text" | "reasoning_summary" => Self::Summary,
            _ => return None,
        })
    }

    /// The kind of the part in the event model.
    fn kind(self) -> PartKind {
        match self {
            Self::Text => PartKind::Text,
            Self::Refusal => PartKind::Refusal,
            Self::Reasoning | Self::Summary => PartKind::Thinking,
        }
    }

    /// The index of its part in `event`.
    fn index(self, event: &ResponsesStreamEvent<'_>) -> u64 {
        let index = if self == Self::Summary { event.summary_index } else { event.content_index };
        index.count().unwrap_or(0)
    }
}

/// What a part says, and its number among the parts of the item, as the stream counts them.
type SectionKey = (SectionKind, u64);

/// A part of the item, open or over.
#[derive(Debug, Default)]
struct ProseSection {
    /// The part has begun; it may be over, or have had no room.
    has_begun: bool,
    /// Nothing before it began, once it is whole, and when there was no room for it.
    part: Option<WholePart>,
    /// The number of its citations that were written.
    annotations: usize,
    /// Text was received after its end, and an anomaly says so.
    is_late: bool,
}

/// A message, or reasoning.
#[derive(Debug, Default)]
pub(super) struct ProseItem {
    /// All parts so far, including those that are over.
    sections: BTreeMap<SectionKey, ProseSection>,
    /// The part of reasoning that has no text yet. If it never gets one, the provider keeps the text to
    /// itself.
    silent: Option<OpenPart>,
}

impl ProseItem {
    /// Begins reasoning with an empty part: viewers should see that the model thinks, even if they never see
    /// what.
    pub(super) fn reasoning(w: &mut EventWriter, out: &mut Decoded) -> Self {
        Self { silent: Some(w.open_part(PartKind::Thinking, None, out)), ..Self::default() }
    }

    /// Takes a part that begins or is whole: `event` has it.
    pub(super) fn part(
        &mut self,
        event: &ResponsesStreamEvent<'_>,
        is_whole: bool,
        w: &mut EventWriter,
        out: &mut Decoded,
    ) {
        let piece: ResponsesObject<'_> = event.part.object();
        if let Some(voice) = SectionKind::of_part(&piece.kind.text().unwrap_or_default()) {
            self.piece((voice, voice.index(event)), &piece, is_whole, w, out);
        }
    }

    /// Takes more text of a part.
    pub(super) fn delta(
        &mut self,
        voice: SectionKind,
        event: &ResponsesStreamEvent<'_>,
        w: &mut EventWriter,
        out: &mut Decoded,
    ) {
        let inner: ResponsesObject<'_> = event.delta.object();
        let Some(text) = event.delta.word().or_else(|| inner.text.word()) else { return };
        if let Some(part) = self.open((voice, voice.index(event)), w, out) {
            part.delta(&text, w, out);
        }
    }

    /// Takes the whole text of a part, and ends it.
    pub(super) fn done(
        &mut self,
        voice: SectionKind,
        event: &ResponsesStreamEvent<'_>,
        w: &mut EventWriter,
        out: &mut Decoded,
    ) {
        let text = if voice == SectionKind::Refusal { event.refusal } else { event.text };
        self.close((voice, voice.index(event)), text, w, out);
    }

    /// Writes a citation of a part as a custom event.
    pub(super) fn annotation(
        &mut self,
        event: &ResponsesStreamEvent<'_>,
        w: &mut EventWriter,
        out: &mut Decoded,
    ) {
        let section = self.sections.entry((SectionKind::Text, SectionKind::Text.index(event))).or_default();
        section.annotations = section.annotations.saturating_add(1);
        w.custom("citation", event.annotation, None, out);
    }

    /// Takes the end of the item: `body` has all of it, or nothing but its end. Reasoning that was streamed
    /// raw is not written again as a summary, nor the reverse.
    pub(super) fn whole(&mut self, body: &OutputItem<'_>, w: &mut EventWriter, out: &mut Decoded) {
        let is_silent = self.sections.is_empty();
        for (field, default) in [(body.summary, SectionKind::Summary), (body.content, SectionKind::Text)] {
            let parts = field.list();
            let is_only = parts.len() == 1;
            for (index, part) in (0_u64..).zip(parts) {
                let piece: ResponsesObject<'_> = part.object();
                match SectionKind::of_part(&piece.kind.text().unwrap_or_default()) {
                    // What streamed in one voice is not said again in another.
                    Some(SectionKind::Reasoning | SectionKind::Summary)
                        if !is_silent && !self.has(default) => {}
                    Some(voice) => {
                        let index = if is_only { self.only(voice) } else { index };
                        self.piece((voice, index), &piece, true, w, out);
                    }
                    None => w.raw(part, None, out),
                }
            }
        }
        self.stop(true, w, out);
    }

    /// Ends all parts. If `is_whole`, reasoning without text is marked as hidden.
    pub(super) fn stop(&mut self, is_whole: bool, w: &mut EventWriter, out: &mut Decoded) {
        for section in self.sections.values_mut() {
            if let Some(part) = section.part.take() {
                part.end(false, w, out);
            }
        }
        if let Some(part) = self.silent.take() {
            part.end(is_whole, w, out);
        }
    }

    /// Whether a part was streamed of the list in which parts of this kind are: the summary, or the content.
    fn has(&self, voice: SectionKind) -> bool {
        let in_summary = voice == SectionKind::Summary;
        self.sections.keys().any(|(known, _)| (*known == SectionKind::Summary) == in_summary)
    }

    /// The number of the only part of this kind. Some servers count from another number when they stream.
    fn only(&self, voice: SectionKind) -> u64 {
        self.sections.keys().find(|(known, _)| *known == voice).map_or(0, |(_, index)| *index)
    }

    /// Takes a part as an object, at its start or whole, with its citations.
    fn piece(
        &mut self,
        place: SectionKey,
        piece: &ResponsesObject<'_>,
        is_whole: bool,
        w: &mut EventWriter,
        out: &mut Decoded,
    ) {
        let text = if place.0 == SectionKind::Refusal { piece.refusal } else { piece.text };
        if is_whole {
            self.close(place, text, w, out);
        } else if let Some(part) = self.open(place, w, out) {
            part.delta(&text.text().unwrap_or_default(), w, out);
        }
        let annotations = piece.annotations.list();
        let section = self.sections.entry(place).or_default();
        for annotation in annotations.iter().skip(section.annotations) {
            w.custom("citation", *annotation, None, out);
        }
        section.annotations = section.annotations.max(annotations.len());
    }

    /// The part, which begins if it is new; nothing if it is over or has no room. Text after its end is an
    /// anomaly, once.
    fn open(&mut self, place: SectionKey, w: &mut EventWriter, out: &mut Decoded) -> Option<&mut WholePart> {
        let Self { sections, silent } = self;
        let section = sections.entry(place).or_default();
        if !std::mem::replace(&mut section.has_begun, true) {
            let spare = if place.0.kind() == PartKind::Thinking { silent.take() } else { None };
            let has_room = spare.is_some() || w.has_room(out);
            section.is_late = !has_room;
            if has_room {
                let part = spare.unwrap_or_else(|| w.open_part(place.0.kind(), None, out));
                section.part = Some(WholePart::new(part));
            }
        } else if section.part.is_none() && !std::mem::replace(&mut section.is_late, true) {
            w.anomaly(AnomalyCode::AfterPartEnd, format!("{:?} {} of an item", place.0, place.1), out);
        }
        section.part.as_mut()
    }

    /// Ends a part with its whole `text`. A second end, and an empty end of a part that never began, are
    /// ignored.
    fn close(&mut self, place: SectionKey, text: ForeignField<'_>, w: &mut EventWriter, out: &mut Decoded) {
        let section = self.sections.get(&place);
        let (has_begun, is_open) = section.map_or((false, false), |s| (s.has_begun, s.part.is_some()));
        let text = text.text();
        // An empty end of a part that never began says nothing, and neither does a second end.
        if !is_open && (has_begun || text.as_deref().is_none_or(str::is_empty)) {
            return;
        }
        if let Some(part) = self.open(place, w, out)
            && let Some(text) = text
        {
            part.set(&text, w, out);
        }
        if let Some(part) = self.sections.get_mut(&place).and_then(|section| section.part.take()) {
            part.end(false, w, out);
        }
    }
}
