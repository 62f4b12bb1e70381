//! Texts and reasoning, in all ways in which versions send them.
//!
//! ```text
//! up to 1.1   part.updated {text: "Hel", delta: "Hel"} · {text: "Hello", delta: "lo"} · {text: "Hello"}
//! newer       part.updated {text: ""} · part.delta "Hel" · part.delta "lo" · part.updated {text: "Hello"}
//! ```

use compact_str::CompactString;
use indexmap::IndexMap;

use crate::Decoded;
use crate::field::ForeignFields;
use crate::writer::{EndedPart, EventWriter, WholePart};
use model::event::PartKind;
use model::ids::AgentId;
use model::limits::ITEMS_PER_RUN_MAX;

/// The texts of a run, by the ids of their parts. They are kept until the run ends, since parts can be
/// changed and taken back.
#[derive(Debug, Default)]
pub(super) struct OpenCodeTexts(IndexMap<CompactString, OpenCodeText>);

/// One text of the run, by its part.
#[derive(Debug)]
struct OpenCodeText {
    /// The message that it is in.
    message: CompactString,
    kind: PartKind,
    agent: Option<AgentId>,
    /// The stage of the text.
    stage: TextStage,
}

/// The stage of a text.
#[derive(Debug)]
enum TextStage {
    /// Nothing of the text was written.
    Silent,
    /// The text is being written.
    Open(WholePart),
    /// The text has ended, and may still change.
    Ended(EndedPart),
}

impl OpenCodeTexts {
    /// Takes a part as it is now; the last update of some versions says that it is whole.
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
        let Some(text) = self.text(part.get("id").words().as_deref(), part, kind, agent) else { return };
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

    /// Takes more of a part.
    pub(super) fn delta(
        &mut self,
        event: &ForeignFields<'_>,
        agent: Option<&AgentId>,
        w: &mut EventWriter,
        out: &mut Decoded,
    ) {
        let id = event.get("partID").words();
        let Some(text) = self.text(id.as_deref(), event, PartKind::Text, agent) else { return };
        text.add(&event.get("delta").text().unwrap_or_default(), w, out);
    }

    /// The text of the part `id`; one that is new has nothing written. Nothing for a new one beyond
    /// [`ITEMS_PER_RUN_MAX`]: ids alone, of which nothing is written, take memory too.
    fn text(
        &mut self,
        id: Option<&str>,
        part: &ForeignFields<'_>,
        kind: PartKind,
        agent: Option<&AgentId>,
    ) -> Option<&mut OpenCodeText> {
        let id = CompactString::new(id.unwrap_or_default());
        if self.0.len() >= ITEMS_PER_RUN_MAX && !self.0.contains_key(&id) {
            return None;
        }
        let fresh = || {
            let message = CompactString::new(part.get("messageID").words().unwrap_or_default());
            OpenCodeText { message, kind, agent: agent.cloned(), stage: TextStage::Silent }
        };
        Some(self.0.entry(id).or_insert_with(fresh))
    }

    /// Writes a file that the agent made: its URL.
    pub(super) fn file(
        &mut self,
        id: &str,
        url: &str,
        agent: Option<&AgentId>,
        w: &mut EventWriter,
        out: &mut Decoded,
    ) {
        let none = ForeignFields::default();
        let Some(text) = self.text(Some(id), &none, PartKind::File, agent) else { return };
        text.set(url, w, out);
        text.end(w, out);
    }

    /// Takes a part back: its text becomes empty.
    pub(super) fn remove(&mut self, id: &str, w: &EventWriter, out: &mut Decoded) {
        if let Some(mut text) = self.0.shift_remove(id) {
            text.end(w, out);
            if let TextStage::Ended(part) = &mut text.stage {
                part.set("", w, out);
            }
        }
    }

    /// Takes all parts of a message back.
    pub(super) fn remove_message(&mut self, id: &str, w: &EventWriter, out: &mut Decoded) {
        let parts = self.0.iter().filter(|(_, text)| text.message == id);
        let parts: Vec<_> = parts.map(|(id, _)| id.clone()).collect();
        for part in parts {
            self.remove(&part, w, out);
        }
    }

    /// Ends the texts of a sub-agent, since it is done.
    pub(super) fn end_of(&mut self, agent: &AgentId, w: &EventWriter, out: &mut Decoded) {
        for text in self.0.values_mut().filter(|text| text.agent.as_ref() == Some(agent)) {
            text.end(w, out);
        }
    }

    /// Ends all texts, since the run is over.
    pub(super) fn end_all(&mut self, w: &EventWriter, out: &mut Decoded) {
        for (_, mut text) in std::mem::take(&mut self.0) {
            text.end(w, out);
        }
    }
}

impl OpenCodeText {
    /// Begins the part, if nothing was written.
    fn open(&mut self, w: &mut EventWriter, out: &mut Decoded) {
        if matches!(self.stage, TextStage::Silent) && w.has_room(out) {
            self.stage = TextStage::Open(WholePart::new(w.open_part(self.kind, self.agent.as_ref(), out)));
        }
    }

    /// Makes `whole` the text; an empty text begins no part.
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

    /// Writes more of the text.
    fn add(&mut self, text: &str, w: &mut EventWriter, out: &mut Decoded) {
        if text.is_empty() {
            return;
        }
        self.open(w, out);
        if let TextStage::Open(part) = &mut self.stage {
            part.delta(text, w, out);
        }
    }

    /// Ends the part, if it is open.
    fn end(&mut self, w: &EventWriter, out: &mut Decoded) {
        if let TextStage::Open(part) = std::mem::replace(&mut self.stage, TextStage::Silent) {
            self.stage = TextStage::Ended(part.end(false, w, out));
        }
    }
}

#[cfg(test)]
mod tests {
    //! Tests of the bound.

    use super::*;

    #[test]
    fn i7_ids_of_which_nothing_is_written_are_bounded() {
        let mut texts = OpenCodeTexts::default();
        let none = ForeignFields::default();
        for number in 0..ITEMS_PER_RUN_MAX + 10 {
            texts.text(Some(&format!("p{number}")), &none, PartKind::Text, None);
        }
        assert_eq!(texts.0.len(), ITEMS_PER_RUN_MAX);
        assert!(texts.text(Some("p0"), &none, PartKind::Text, None).is_some(), "known ones go on");
    }
}
