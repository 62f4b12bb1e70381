//! What one agent, team or workflow says: texts and thinking, piece by piece, with the whole at the end.

use crate::Decoded;
use crate::field::ForeignField;
use crate::writer::{EventWriter, OpenPart, TextDigest};
use model::event::PartKind;
use model::ids::AgentId;

/// Who speaks, and what was said so far.
#[derive(Debug, Default)]
#[expect(clippy::struct_excessive_bools, reason = "none depends on another")]
pub(super) struct AgnoSpeaker {
    /// Nothing for the main one.
    pub(super) agent: Option<AgentId>,
    part: Option<OpenPart>,
    /// The open part is an intermediate text.
    is_aside: bool,
    pub(super) has_text: bool,
    said: TextDigest,
    thought: TextDigest,
    has_thought: bool,
    pub(super) is_over: bool,
}

impl AgnoSpeaker {
    pub(super) fn of(agent: Option<AgentId>) -> Self {
        Self { agent, ..Self::default() }
    }

    /// More of a text or of thinking.
    pub(super) fn say(&mut self, kind: PartKind, text: &str, w: &mut EventWriter, out: &mut Decoded) {
        if text.is_empty() {
            return;
        }
        if kind == PartKind::Thinking {
            self.has_thought = true;
            self.thought.add(text);
        } else {
            self.has_text = true;
            self.said.add(text);
        }
        if std::mem::take(&mut self.is_aside) {
            self.pause(w, out);
        }
        self.put(kind, text, w, out);
    }

    /// A text on the way to the answer: what one model says of which another makes the answer. The whole answer, which
    /// is told at the end, does not contain it.
    pub(super) fn aside(&mut self, text: &str, w: &mut EventWriter, out: &mut Decoded) {
        if text.is_empty() {
            return;
        }
        if !std::mem::replace(&mut self.is_aside, true) {
            self.pause(w, out);
            self.is_aside = true;
        }
        self.put(PartKind::Text, text, w, out);
    }

    fn put(&mut self, kind: PartKind, text: &str, w: &mut EventWriter, out: &mut Decoded) {
        if self.part.as_ref().is_some_and(|part| part.kind() != kind) {
            self.pause(w, out);
        }
        if self.part.is_none() {
            if !w.has_room(out) {
                return;
            }
            self.part = Some(w.open_part(kind, self.agent.as_ref(), out));
        }
        if let Some(part) = &mut self.part {
            part.delta(text, w, out);
        }
    }

    /// Content of an answer: text, or an object where the agent answers in a shape of its own.
    pub(super) fn content(&mut self, content: ForeignField<'_>, w: &mut EventWriter, out: &mut Decoded) {
        if let Some(text) = content.words() {
            self.say(PartKind::Text, &text, w, out);
        }
    }

    /// All that was thought so far.
    pub(super) fn thoughts(&mut self, whole: &str, w: &mut EventWriter, out: &mut Decoded) {
        let rest = self.thought.rest(whole).unwrap_or(whole).to_owned();
        self.say(PartKind::Thinking, &rest, w, out);
    }

    /// The whole answer. What it has beyond what was streamed counts.
    pub(super) fn whole(
        &mut self,
        thoughts: ForeignField<'_>,
        content: ForeignField<'_>,
        w: &mut EventWriter,
        out: &mut Decoded,
    ) {
        if !self.has_thought && !self.has_text {
            self.say(PartKind::Thinking, &thoughts.text().unwrap_or_default(), w, out);
        }
        let content = content.words().unwrap_or_default();
        let rest = self.said.rest(&content).unwrap_or_default().to_owned();
        self.say(PartKind::Text, &rest, w, out);
        self.pause(w, out);
    }

    /// Something else happens: what is said next is another part.
    pub(super) fn pause(&mut self, w: &mut EventWriter, out: &mut Decoded) {
        self.is_aside = false;
        if let Some(part) = self.part.take() {
            part.end(false, w, out);
        }
    }

    /// The run goes on behind a pause: the whole answer, told at its end, begins here.
    pub(super) fn go_on(&mut self) {
        (self.said, self.thought) = (TextDigest::default(), TextDigest::default());
        (self.has_text, self.has_thought) = (false, false);
    }

    /// An image or a file.
    pub(super) fn file(&mut self, whole: ForeignField<'_>, w: &mut EventWriter, out: &mut Decoded) {
        if !w.has_room(out) {
            return;
        }
        self.pause(w, out);
        match whole.object::<MediaLink<'_>>().url.word() {
            Some(url) => w.whole_part(PartKind::File, &url, false, self.agent.as_ref(), out),
            None => w.custom("media", whole, self.agent.as_ref(), out),
        }
    }
}

#[derive(Debug, Default, serde::Deserialize)]
#[serde(default)]
struct MediaLink<'a> {
    #[serde(borrow)]
    url: ForeignField<'a>,
}
