//! Texts and reasoning, however they are told.

use compact_str::CompactString;
use indexmap::IndexMap;

use crate::Decoded;
use crate::field::ForeignFields;
use crate::writer::{EndedPart, EventWriter, WholePart};
use model::event::PartKind;
use model::ids::AgentId;

/// The texts of a run, by the ids of their parts.
#[derive(Debug, Default)]
pub(super) struct OpenCodeTexts(IndexMap<CompactString, OpenCodeText>);

#[derive(Debug)]
struct OpenCodeText {
    message: CompactString,
    kind: PartKind,
    agent: Option<AgentId>,
    stage: TextStage,
}

#[derive(Debug)]
enum TextStage {
    /// Not a word yet.
    Silent,
    Open(WholePart),
    Ended(EndedPart),
}

impl OpenCodeTexts {
    /// A part as it is now; the last update of some versions says that it is whole.
    pub(super) fn update(
        &mut self,
        part: &ForeignFields<'_>,
        around: &ForeignFields<'_>,
        agent: Option<&AgentId>,
        w: &mut EventWriter,
        out: &mut Decoded,
    ) {
        let is_whole = ForeignFields::of(part.get("time")).get("end").is_some();
        let kind = part.get("type").text();
        let kind = if kind.as_deref() == Some("reasoning") { PartKind::Thinking } else { PartKind::Text };
        let text = self.text(part.get("id").words().as_deref(), part, kind, agent);
        match part.get("text").text() {
            // The first update of newer versions is empty, and may be told late.
            Some(whole) if !whole.is_empty() || is_whole => text.set(&whole, w, out),
            Some(_) => {}
            None => text.add(&around.get("delta").text().unwrap_or_default(), w, out),
        }
        if is_whole {
            text.end(w, out);
        }
    }

    /// More of a part.
    pub(super) fn delta(
        &mut self,
        event: &ForeignFields<'_>,
        agent: Option<&AgentId>,
        w: &mut EventWriter,
        out: &mut Decoded,
    ) {
        let text = self.text(event.get("partID").words().as_deref(), event, PartKind::Text, agent);
        text.add(&event.get("delta").text().unwrap_or_default(), w, out);
    }

    fn text(
        &mut self,
        id: Option<&str>,
        part: &ForeignFields<'_>,
        kind: PartKind,
        agent: Option<&AgentId>,
    ) -> &mut OpenCodeText {
        let fresh = || {
            let message = CompactString::new(part.get("messageID").words().unwrap_or_default());
            OpenCodeText { message, kind, agent: agent.cloned(), stage: TextStage::Silent }
        };
        self.0.entry(CompactString::new(id.unwrap_or_default())).or_insert_with(fresh)
    }

    /// A file that the agent made.
    pub(super) fn file(
        &mut self,
        id: &str,
        url: &str,
        agent: Option<&AgentId>,
        w: &mut EventWriter,
        out: &mut Decoded,
    ) {
        let text = self.text(Some(id), &ForeignFields::default(), PartKind::File, agent);
        text.set(url, w, out);
        text.end(w, out);
    }

    /// The part is taken back.
    pub(super) fn remove(&mut self, id: &str, w: &EventWriter, out: &mut Decoded) {
        if let Some(mut text) = self.0.shift_remove(id) {
            text.end(w, out);
            if let TextStage::Ended(part) = &mut text.stage {
                part.set("", w, out);
            }
        }
    }

    /// The message is taken back.
    pub(super) fn remove_message(&mut self, id: &str, w: &EventWriter, out: &mut Decoded) {
        let parts = self.0.iter().filter(|(_, text)| text.message == id);
        let parts: Vec<_> = parts.map(|(id, _)| id.clone()).collect();
        for part in parts {
            self.remove(&part, w, out);
        }
    }

    /// The agent is done.
    pub(super) fn end_of(&mut self, agent: &AgentId, w: &EventWriter, out: &mut Decoded) {
        for text in self.0.values_mut().filter(|text| text.agent.as_ref() == Some(agent)) {
            text.end(w, out);
        }
    }

    /// The run is over.
    pub(super) fn end_all(&mut self, w: &EventWriter, out: &mut Decoded) {
        for (_, mut text) in std::mem::take(&mut self.0) {
            text.end(w, out);
        }
    }
}

impl OpenCodeText {
    fn open(&mut self, w: &mut EventWriter, out: &mut Decoded) {
        if matches!(self.stage, TextStage::Silent) && w.has_room(out) {
            self.stage = TextStage::Open(WholePart::new(w.open_part(self.kind, self.agent.as_ref(), out)));
        }
    }

    /// It is `whole` now.
    fn set(&mut self, whole: &str, w: &mut EventWriter, out: &mut Decoded) {
        if !whole.is_empty() {
            self.open(w, out);
        }
        match &mut self.stage {
            TextStage::Open(part) => part.set(whole, w, out),
            TextStage::Ended(part) => part.set(whole, w, out),
            TextStage::Silent => {}
        }
    }

    fn add(&mut self, text: &str, w: &mut EventWriter, out: &mut Decoded) {
        if text.is_empty() {
            return;
        }
        self.open(w, out);
        if let TextStage::Open(part) = &mut self.stage {
            part.delta(text, w, out);
        }
    }

    fn end(&mut self, w: &EventWriter, out: &mut Decoded) {
        if let TextStage::Open(part) = std::mem::replace(&mut self.stage, TextStage::Silent) {
            self.stage = TextStage::Ended(part.end(false, w, out));
        }
    }
}
