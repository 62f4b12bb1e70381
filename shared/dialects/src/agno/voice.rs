//! What one agent, team or workflow says: text and reasoning, piece by piece, with the whole at the end. Only
//! a digest of the pieces is kept, to see what the whole has beyond them.

use crate::Decoded;
use crate::field::ForeignField;
use crate::writer::{EventWriter, OpenPart, TextDigest};
use model::event::PartKind;
use model::ids::AgentId;

/// The texts of one agent, member or step. It writes one part at a time.
#[derive(Debug, Default)]
#[expect(clippy::struct_excessive_bools, reason = "none depends on another")]
pub(super) struct AgnoSpeaker {
    /// The sub-agent; nothing for the outermost run.
    pub(super) agent: Option<AgentId>,
    /// The open text or reasoning.
    part: Option<OpenPart>,
    /// The open part is an intermediate text.
    is_aside: bool,
    /// Some text of the answer was written.
    pub(super) has_text: bool,
    /// The text of the answer so far.
    said: TextDigest,
    /// The reasoning so far.
    thought: TextDigest,
    /// Some reasoning was written.
    has_thought: bool,
    /// The end of the agent was written.
    pub(super) is_over: bool,
}

impl AgnoSpeaker {
    /// The texts of `agent`, of which nothing was received yet.
    pub(super) fn of(agent: Option<AgentId>) -> Self {
        Self { agent, ..Self::default() }
    }

    /// Writes more of the answer or of its reasoning.
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

    /// Writes a text on the way to the answer: the text of one model of which another makes the answer. The
    /// whole answer at the end does not contain it.
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

    /// Continues the open part, or ends it and begins another.
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

    /// Writes the content of an answer: text, or the JSON of an object if the agent answers in a shape of its
    /// own.
    pub(super) fn content(&mut self, content: ForeignField<'_>, w: &mut EventWriter, out: &mut Decoded) {
        if let Some(text) = content.words() {
            self.say(PartKind::Text, &text, w, out);
        }
    }

    /// Writes what `whole`, all reasoning so far, has beyond what was written. If it does not begin with
    /// that, all of it is written.
    pub(super) fn thoughts(&mut self, whole: &str, w: &mut EventWriter, out: &mut Decoded) {
        let rest = self.thought.rest(whole).unwrap_or(whole).to_owned();
        self.say(PartKind::Thinking, &rest, w, out);
    }

    /// Takes the whole answer, and writes what it has beyond the streamed text. An answer that does not begin
    /// with that text is left as it was streamed.
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

    /// Ends the open part, since something else happens. What follows is another part.
    pub(super) fn pause(&mut self, w: &mut EventWriter, out: &mut Decoded) {
        self.is_aside = false;
        if let Some(part) = self.part.take() {
            part.end(false, w, out);
        }
    }

    /// Begins the answer anew, since the run goes on after a pause: the whole answer at its end begins here.
    pub(super) fn go_on(&mut self) {
        (self.said, self.thought) = (TextDigest::default(), TextDigest::default());
        (self.has_text, self.has_thought) = (false, false);
    }

    /// Writes an image or a file: its URL as a part, or the object as a custom event if it has none.
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

/// The address of an image or file.
#[derive(Debug, Default, serde::Deserialize)]
#[serde(default)]
struct MediaLink<'a> {
    #[serde(borrow)]
    url: ForeignField<'a>,
}
