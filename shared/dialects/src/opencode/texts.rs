//! Texts and reasoning, however they are told.

use compact_str::CompactString;
use indexmap::IndexMap;

use crate::Decoded;
use crate::field::Fields;
use crate::writer::{EndedPart, WholePart, Writer};
use model::event::PartKind;
use model::ids::AgentId;

/// The texts of a run, by the ids of their parts.
#[derive(Debug, Default)]
pub(super) struct Texts(IndexMap<CompactString, Text>);

#[derive(Debug)]
struct Text {
    message: CompactString,
    kind: PartKind,
    agent: Option<AgentId>,
    stage: Stage,
}

#[derive(Debug)]
enum Stage {
    /// Not a word yet.
    Silent,
    Open(WholePart),
    Ended(EndedPart),
}

impl Texts {
    /// A part as it is now; the last update of some versions says that it is whole.
    pub(super) fn update(
        &mut self,
        part: &Fields<'_>,
        around: &Fields<'_>,
        agent: Option<&AgentId>,
        w: &mut Writer,
        out: &mut Decoded,
    ) {
        let is_whole = Fields::of(part.get("time")).get("end").is_some();
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
        event: &Fields<'_>,
        agent: Option<&AgentId>,
        w: &mut Writer,
        out: &mut Decoded,
    ) {
        let text = self.text(event.get("partID").words().as_deref(), event, PartKind::Text, agent);
        text.add(&event.get("delta").text().unwrap_or_default(), w, out);
    }

    fn text(
        &mut self,
        id: Option<&str>,
        part: &Fields<'_>,
        kind: PartKind,
        agent: Option<&AgentId>,
    ) -> &mut Text {
        let fresh = || {
            let message = CompactString::new(part.get("messageID").words().unwrap_or_default());
            Text { message, kind, agent: agent.cloned(), stage: Stage::Silent }
        };
        self.0.entry(CompactString::new(id.unwrap_or_default())).or_insert_with(fresh)
    }

    /// A file that the agent made.
    pub(super) fn file(
        &mut self,
        id: &str,
        url: &str,
        agent: Option<&AgentId>,
        w: &mut Writer,
        out: &mut Decoded,
    ) {
        let text = self.text(Some(id), &Fields::default(), PartKind::File, agent);
        text.set(url, w, out);
        text.end(w, out);
    }

    /// The part is taken back.
    pub(super) fn remove(&mut self, id: &str, w: &Writer, out: &mut Decoded) {
        if let Some(mut text) = self.0.shift_remove(id) {
            text.end(w, out);
            if let Stage::Ended(part) = &mut text.stage {
                part.set("", w, out);
            }
        }
    }

    /// The message is taken back.
    pub(super) fn remove_message(&mut self, id: &str, w: &Writer, out: &mut Decoded) {
        let parts = self.0.iter().filter(|(_, text)| text.message == id);
        let parts: Vec<_> = parts.map(|(id, _)| id.clone()).collect();
        for part in parts {
            self.remove(&part, w, out);
        }
    }

    /// The agent is done.
    pub(super) fn end_of(&mut self, agent: &AgentId, w: &Writer, out: &mut Decoded) {
        for text in self.0.values_mut().filter(|text| text.agent.as_ref() == Some(agent)) {
            text.end(w, out);
        }
    }

    /// The run is over.
    pub(super) fn end_all(&mut self, w: &Writer, out: &mut Decoded) {
        for (_, mut text) in std::mem::take(&mut self.0) {
            text.end(w, out);
        }
    }
}

impl Text {
    fn open(&mut self, w: &mut Writer, out: &mut Decoded) {
        if matches!(self.stage, Stage::Silent) && w.has_room(out) {
            self.stage = Stage::Open(WholePart::new(w.open_part(self.kind, self.agent.as_ref(), out)));
        }
    }

    /// It is `whole` now.
    fn set(&mut self, whole: &str, w: &mut Writer, out: &mut Decoded) {
        if !whole.is_empty() {
            self.open(w, out);
        }
        match &mut self.stage {
            Stage::Open(part) => part.set(whole, w, out),
            Stage::Ended(part) => part.set(whole, w, out),
            Stage::Silent => {}
        }
    }

    fn add(&mut self, text: &str, w: &mut Writer, out: &mut Decoded) {
        if text.is_empty() {
            return;
        }
        self.open(w, out);
        if let Stage::Open(part) = &mut self.stage {
            part.delta(text, w, out);
        }
    }

    fn end(&mut self, w: &Writer, out: &mut Decoded) {
        if let Stage::Open(part) = std::mem::replace(&mut self.stage, Stage::Silent) {
            self.stage = Stage::Ended(part.end(false, w, out));
        }
    }
}
