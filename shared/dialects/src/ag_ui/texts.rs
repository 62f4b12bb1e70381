//! Messages that are streamed: the agent's text and reasoning, and messages of others.
//!
//! A message may be open while calls run; it continues in another part then, so that the order of the stream
//! remains visible. A message that ended is remembered by a digest: producers send it again, whole or
//! corrected, in `MESSAGES_SNAPSHOT`.

use std::borrow::Cow;

use compact_str::CompactString;
use indexmap::IndexMap;

use crate::Decoded;
use crate::field::ForeignFields;
use crate::writer::{EndedPart, EventWriter, TextDigest, WholePart};
use model::anomaly::AnomalyCode;
use model::event::PartKind;
use model::ids::AgentId;
use model::limits::{ITEMS_PER_RUN_MAX, PART_BYTES_MAX};

/// Most messages that may be open at the same time (I7). At the limit the oldest ends.
const OPEN_MAX: usize = 256;

/// What a streamed message is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum MessageVoice {
    /// Text of the answer.
    Text,
    /// Reasoning of the model.
    Thinking,
}

/// The kind of a message, and its id. Producers use one id for the text and the reasoning of a message.
type AgUiTextKey = (MessageVoice, CompactString);

/// The messages of a stream, over all its runs.
#[derive(Debug, Default)]
pub(super) struct AgUiTexts {
    /// The open messages, oldest first.
    open: IndexMap<AgUiTextKey, OpenMessage>,
    /// The messages that ended; bounded by the number of items of a run.
    ended: IndexMap<AgUiTextKey, EndedMessage>,
    /// The open message in the short form (`…_CHUNK`).
    chunk: Option<AgUiTextKey>,
    /// The open run has streamed some text.
    has_text: bool,
    /// The open run has some reasoning, or a mark that it is hidden.
    has_thought: bool,
}

/// A message that has begun and not ended.
#[derive(Debug)]
struct OpenMessage {
    /// The agent that writes it; nothing for the main one.
    agent: Option<AgentId>,
    /// The open part. Nothing before the first text, and after something came between.
    part: Option<WholePart>,
    /// The text of all its parts.
    told: TextDigest,
    /// The part before the open one, and whether it was the only one.
    last: Option<(EndedPart, bool)>,
    /// For the message of somebody else: its role, and its text so far.
    foreign: Option<(CompactString, String)>,
}

/// A message that has ended.
#[derive(Debug)]
struct EndedMessage {
    /// The length and hash of the text of the message.
    told: TextDigest,
    /// The last part of the message, and whether it is the only one.
    last: Option<(EndedPart, bool)>,
}

impl AgUiTexts {
    /// Begins a run. Messages of earlier runs stay known, up to a limit.
    pub(super) fn begin(&mut self) {
        (self.has_text, self.has_thought, self.chunk) = (false, false, None);
        if self.ended.len() > ITEMS_PER_RUN_MAX {
            self.ended.clear();
        }
    }

    /// Whether the open run has streamed some text.
    pub(super) fn has_text(&self) -> bool {
        self.has_text
    }

    /// Takes an event `…_{what}` about a message of this kind.
    pub(super) fn event(
        &mut self,
        (voice, what): (MessageVoice, &str),
        event: &ForeignFields<'_>,
        agent: Option<&AgentId>,
        w: &mut EventWriter,
        out: &mut Decoded,
    ) {
        let id = event.any(&["messageId", "id"]).words();
        let delta = || event.any(&["delta", "content", "text"]).text().unwrap_or_default();
        match what {
            "START" => self.start((voice, CompactString::new(id.unwrap_or_default())), event, agent, w, out),
            "CONTENT" => {
                let key = self.meant(voice, id);
                let text = delta();
                if !self.open.contains_key(&key) {
                    let detail = format!("text of {:?} outside of its message", key.1);
                    w.anomaly(AnomalyCode::PartWithoutStart, detail, out);
                    self.start(key.clone(), event, agent, w, out);
                }
                self.add(&key, &text, w, out);
            }
            "END" => {
                let key = self.meant(voice, id);
                self.end(&key, w, out);
            }
            "CHUNK" => {
                let key = match (id, &self.chunk) {
                    (None, Some(key)) if key.0 == voice => key.clone(),
                    (id, _) => (voice, CompactString::new(id.unwrap_or_default())),
                };
                if !self.open.contains_key(&key) {
                    self.start(key.clone(), event, agent, w, out);
                }
                self.chunk = Some(key.clone());
                self.add(&key, &delta(), w, out);
            }
            _ => {}
        }
    }

    /// The key of the message that an event is about: if it names none, the open one of that kind that began
    /// last.
    fn meant(&self, voice: MessageVoice, id: Option<Cow<'_, str>>) -> AgUiTextKey {
        let last = || self.open.keys().rev().find(|(known, _)| *known == voice).map(|(_, id)| id.clone());
        let id = id.map(CompactString::new).or_else(last).unwrap_or_default();
        (voice, id)
    }

    /// Begins a message. One with the id of a message that ended continues it.
    fn start(
        &mut self,
        key: AgUiTextKey,
        event: &ForeignFields<'_>,
        agent: Option<&AgentId>,
        w: &mut EventWriter,
        out: &mut Decoded,
    ) {
        if self.open.contains_key(&key) {
            return;
        }
        if self.open.len() >= OPEN_MAX
            && let Some(oldest) = self.open.keys().next().cloned()
        {
            self.end(&oldest, w, out);
        }
        let role = event.get("role").word().filter(|role| !matches!(&**role, "assistant" | "reasoning"));
        let foreign = role.filter(|_| key.0 == MessageVoice::Text);
        let foreign = foreign.map(|role| (CompactString::new(&role), String::new()));
        let before = self.ended.swap_remove(&key);
        let (told, last) = before.map_or_else(Default::default, |ended| (ended.told, ended.last));
        self.open.insert(key, OpenMessage { agent: agent.cloned(), part: None, told, last, foreign });
    }

    /// Writes more text of a message; an empty piece begins no part.
    fn add(&mut self, key: &AgUiTextKey, text: &str, w: &mut EventWriter, out: &mut Decoded) {
        let Some(open) = self.open.get_mut(key) else { return };
        if text.is_empty() {
            return;
        }
        if let Some((_, held)) = &mut open.foreign {
            if held.len().saturating_add(text.len()) <= PART_BYTES_MAX {
                held.push_str(text);
            }
            return;
        }
        let kind = match key.0 {
            MessageVoice::Text => PartKind::Text,
            MessageVoice::Thinking => PartKind::Thinking,
        };
        if open.part.is_none() && w.has_room(out) {
            open.part = Some(WholePart::new(w.open_part(kind, open.agent.as_ref(), out)));
        }
        if let Some(part) = &mut open.part {
            open.told.add(text);
            part.delta(text, w, out);
            self.has_text |= key.0 == MessageVoice::Text;
            self.has_thought |= key.0 == MessageVoice::Thinking;
        }
    }

    /// Ends the open parts of `agent`, since something else happens in between: what follows of its messages
    /// is in other parts.
    pub(super) fn pause(&mut self, agent: Option<&AgentId>, w: &EventWriter, out: &mut Decoded) {
        for open in self.open.values_mut().filter(|open| open.agent.as_ref() == agent) {
            open.pause(w, out);
        }
    }

    /// Ends a message. A message of somebody else is written now, as a whole.
    fn end(&mut self, key: &AgUiTextKey, w: &mut EventWriter, out: &mut Decoded) {
        if self.chunk.as_ref() == Some(key) {
            self.chunk = None;
        }
        let Some(mut open) = self.open.shift_remove(key) else { return };
        if let Some((role, text)) = open.foreign {
            return w.message_as(&key.1, &role, &text, out);
        }
        open.pause(w, out);
        if self.ended.len() <= ITEMS_PER_RUN_MAX {
            self.ended.insert(key.clone(), EndedMessage { told: open.told, last: open.last });
        }
    }

    /// Ends the message in the short form, unless the event is more of it.
    pub(super) fn end_chunk(
        &mut self,
        kind: &str,
        event: &ForeignFields<'_>,
        w: &mut EventWriter,
        out: &mut Decoded,
    ) {
        let Some(key) = &self.chunk else { return };
        let id = event.any(&["messageId", "id"]).words();
        let goes_on = super::spoken(kind).is_some_and(|(voice, what)| voice == key.0 && what == "CHUNK")
            && id.is_none_or(|id| id == key.1.as_str());
        if !goes_on {
            let key = key.clone();
            self.end(&key, w, out);
        }
    }

    /// Ends all open reasoning.
    pub(super) fn end_thinking(&mut self, w: &mut EventWriter, out: &mut Decoded) {
        self.end_where(|key, _| key.0 == MessageVoice::Thinking, w, out);
    }

    /// Ends the open messages of `agent`; without an agent, all.
    pub(super) fn end_all(&mut self, agent: Option<&AgentId>, w: &mut EventWriter, out: &mut Decoded) {
        self.end_where(|_, open| agent.is_none() || open.agent.as_ref() == agent, w, out);
    }

    /// Ends the open messages for which `wanted` is true.
    fn end_where(
        &mut self,
        wanted: impl Fn(&AgUiTextKey, &OpenMessage) -> bool,
        w: &mut EventWriter,
        out: &mut Decoded,
    ) {
        let keys = self.open.iter().filter(|(key, open)| wanted(key, open));
        let keys: Vec<_> = keys.map(|(key, _)| key.clone()).collect();
        for key in keys {
            self.end(&key, w, out);
        }
    }

    /// Writes a hidden reasoning part for reasoning that the provider keeps to itself, once in a run, and
    /// only if no other reasoning was written.
    pub(super) fn hidden(
        &mut self,
        event: &ForeignFields<'_>,
        agent: Option<&AgentId>,
        w: &mut EventWriter,
        out: &mut Decoded,
    ) {
        let is_of_message = event.get("subtype").text().is_none_or(|subtype| subtype == "message");
        if is_of_message && !std::mem::replace(&mut self.has_thought, true) && w.has_room(out) {
            w.whole_part(PartKind::Thinking, "", true, agent, out);
        }
    }

    /// Takes a whole message of the agent from a list of all messages, and returns whether it is unknown. If
    /// it was streamed with another text in one part, that text is replaced.
    pub(super) fn is_news(
        &mut self,
        voice: MessageVoice,
        id: &str,
        text: &str,
        w: &EventWriter,
        out: &mut Decoded,
    ) -> bool {
        let key = (voice, CompactString::new(id));
        if self.open.contains_key(&key) {
            return false;
        }
        let Some(known) = self.ended.get_mut(&key) else { return true };
        if known.told.is(text) {
            return false;
        }
        if let Some((part, true)) = &mut known.last {
            part.set(text, w, out);
            known.told = TextDigest::default();
            known.told.add(text);
        }
        // A message that was streamed without a text, or with none, has it now.
        known.last.is_none()
    }

    /// Writes a whole message of the agent.
    pub(super) fn whole(
        &mut self,
        key: (MessageVoice, &str),
        text: &str,
        agent: Option<&AgentId>,
        w: &mut EventWriter,
        out: &mut Decoded,
    ) {
        let had_text = self.has_text;
        let key = (key.0, CompactString::new(key.1));
        self.start(key.clone(), &ForeignFields::default(), agent, w, out);
        self.add(&key, text, w, out);
        self.end(&key, w, out);
        self.has_text = had_text;
    }
}

impl OpenMessage {
    /// Ends the open part, if there is one; the message goes on.
    fn pause(&mut self, w: &EventWriter, out: &mut Decoded) {
        if let Some(part) = self.part.take() {
            let is_only = self.last.is_none();
            self.last = Some((part.end(false, w, out), is_only));
        }
    }
}
