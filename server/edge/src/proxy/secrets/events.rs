//! Removes the keys of one call from its events before they are published: from the request, from the answer,
//! and from what is said about both. A key that an upstream repeats in pieces, over several deltas, is found
//! too: text at the end of a delta that may be the beginning of a key waits for the next delta.
//!
//! ```text
//! delta "the key is sk-li"   ─▶ "the key is "           held: "sk-li"
//! delta "ve-1234 as I said"  ─▶ "[key] as I said"
//! ```
//!
//! What is held back comes with the next delta, or at the end of its text, so the text of a part is complete
//! but for the keys. At most `PROXY_PARTS_HELD_MAX` texts are held back in one call (I7).

use std::collections::BTreeMap;
use std::mem::take;
use std::sync::Arc;

use compact_str::CompactString;
use dialects::Decoded;
use model::envelope::Envelope;
use model::event::{Event, Kind};
use model::ids::{AgentId, MessageId, PartId, ToolCallId};
use model::limits::PROXY_PARTS_HELD_MAX;
use model::{Json, RunId};

use super::{STRUCK, Secrets, Within};

/// Removes keys from the events of one call. Each call has its own, because a key may be spread over several
/// of its deltas.
#[derive(Debug)]
pub(in crate::proxy) struct Striker {
    secrets: Arc<Secrets>,
    /// The ends of texts that wait for their next delta, bounded by `PROXY_PARTS_HELD_MAX`.
    held: BTreeMap<GrowingText, Held>,
}

/// A text that grows by deltas.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum GrowingText {
    /// The text of a part.
    Part(PartId),
    /// The arguments of a tool call.
    Arguments(ToolCallId),
    /// The output of a tool call.
    Output(ToolCallId),
}

/// The end of a text that is not published yet, because it may be the beginning of a key.
struct Held {
    /// The run to which the text belongs.
    run: RunId,
    agent: Option<AgentId>,
    /// The bytes that wait: a beginning of a key, at most.
    text: String,
}

impl std::fmt::Debug for Held {
    /// Prints nothing of the text, which may be a piece of a key.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Held").field("run", &self.run).finish_non_exhaustive()
    }
}

impl Striker {
    /// Removes the keys of one call.
    pub(in crate::proxy) fn new(secrets: &Arc<Secrets>) -> Self {
        Self { secrets: Arc::clone(secrets), held: BTreeMap::new() }
    }

    /// Removes the keys from `decoded`, and its offsets of deltas, which are no longer right. A delta of
    /// which nothing is left is dropped.
    pub(in crate::proxy) fn strike(&mut self, decoded: &mut Decoded) {
        if self.secrets.is_empty() {
            return;
        }
        let mut struck = Decoded::default();
        for mut envelope in take(&mut decoded.envelopes) {
            self.strike_ids(&mut envelope);
            match &mut envelope.event.kind {
                Kind::PartDelta { part, off, text } => {
                    *off = None;
                    let place = GrowingText::Part(part.clone());
                    self.delta(place, text, &envelope.event.run, envelope.event.agent.as_ref());
                }
                Kind::ToolArgs { tool, off, text } => {
                    *off = None;
                    let place = GrowingText::Arguments(tool.clone());
                    self.delta(place, text, &envelope.event.run, envelope.event.agent.as_ref());
                }
                Kind::ToolOutput { tool, off, text } => {
                    *off = None;
                    let place = GrowingText::Output(tool.clone());
                    self.delta(place, text, &envelope.event.run, envelope.event.agent.as_ref());
                }
                kind => {
                    self.release(kind, &mut struck);
                    self.secrets.strike_kind(kind);
                }
            }
            if !is_empty_delta(&envelope.event.kind) {
                struck.envelopes.push(envelope);
            }
        }
        *decoded = struck;
    }

    /// Publishes what is still held back, once the call has no more deltas.
    pub(in crate::proxy) fn rest(&mut self, out: &mut Decoded) {
        while let Some((place, held)) = self.held.pop_first() {
            self.tell(place, held, out);
        }
    }

    /// Prepends what is held back of the text to its next delta, and holds back what may begin a key.
    fn delta(&mut self, place: GrowingText, text: &mut CompactString, run: &RunId, agent: Option<&AgentId>) {
        let held = self.held.remove(&place);
        let held = held.map(|held| held.text).unwrap_or_default();
        if held.is_empty() && !self.secrets.may_be_in(text.as_bytes()) {
            return;
        }
        let whole = self.secrets.without(&format!("{held}{text}"), Within::Words);
        let begun = self.secrets.begun(whole.as_bytes(), Within::Words);
        let cut = whole.len().saturating_sub(begun);
        // Keys are compared by bytes, but a text may be cut only between characters.
        let cut = (0..=cut).rev().find(|at| whole.is_char_boundary(*at)).unwrap_or(0);
        let (told, kept) = whole.split_at_checked(cut).unwrap_or((&whole, ""));
        *text = CompactString::new(told);
        if kept.is_empty() {
            return;
        }
        if self.held.len() >= PROXY_PARTS_HELD_MAX {
            // The beginning of a key must not be published before the rest is known, and it cannot be held
            // back here.
            text.push_str(STRUCK);
            return;
        }
        let held = Held { run: run.clone(), agent: agent.cloned(), text: kept.to_owned() };
        self.held.insert(place, held);
    }

    /// Publishes what is held back of the text that `kind` ends, and drops what is held back of one that it
    /// replaces.
    fn release(&mut self, kind: &Kind, out: &mut Decoded) {
        let (ended, replaced) = match kind {
            Kind::PartEnd(end) => (Some(GrowingText::Part(end.part.clone())), None),
            Kind::PartReplace { part, .. } => (None, Some(GrowingText::Part(part.clone()))),
            Kind::ToolCall { tool, arguments: None, .. } => {
                (Some(GrowingText::Arguments(tool.clone())), None)
            }
            Kind::ToolCall { tool, arguments: Some(_), .. } => {
                (None, Some(GrowingText::Arguments(tool.clone())))
            }
            Kind::ToolResult(result) => (Some(GrowingText::Output(result.tool.clone())), None),
            Kind::RunEnd(_) => return self.rest(out),
            _ => return,
        };
        if let Some(place) = replaced {
            self.held.remove(&place);
        }
        if let Some((place, held)) = ended.and_then(|place| self.held.remove_entry(&place)) {
            self.tell(place, held, out);
        }
    }

    /// Publishes what was held back as a delta of its own.
    fn tell(&self, place: GrowingText, held: Held, out: &mut Decoded) {
        let text = CompactString::from(self.secrets.without(&held.text, Within::Words));
        let kind = match place {
            GrowingText::Part(part) => Kind::PartDelta { part, off: None, text },
            GrowingText::Arguments(tool) => Kind::ToolArgs { tool, off: None, text },
            GrowingText::Output(tool) => Kind::ToolOutput { tool, off: None, text },
        };
        out.event(Event::new(&held.run, kind).by(held.agent));
    }

    /// Removes keys from the ids of an event.
    fn strike_ids(&self, envelope: &mut Envelope) {
        if let Some(agent) = &mut envelope.event.agent {
            self.secrets.strike_agent(agent);
        }
        let (secrets, kind) = (&self.secrets, &mut envelope.event.kind);
        match kind {
            Kind::Message(message) => secrets.strike_message(&mut message.message),
            Kind::PartStart { part, .. } | Kind::PartDelta { part, .. } | Kind::PartReplace { part, .. } => {
                secrets.strike_part(part);
            }
            Kind::PartEnd(end) => secrets.strike_part(&mut end.part),
            Kind::ToolStart(start) => secrets.strike_tool(&mut start.tool),
            Kind::ToolState(change) => secrets.strike_tool(&mut change.tool),
            Kind::ToolResult(result) => secrets.strike_tool(&mut result.tool),
            Kind::ToolProgress(progress) => secrets.strike_tool(&mut progress.tool),
            Kind::ToolArgs { tool, .. }
            | Kind::ToolCall { tool, .. }
            | Kind::ToolOutput { tool, .. }
            | Kind::ApprovalRequest { tool, .. }
            | Kind::ApprovalAnswer { tool, .. } => secrets.strike_tool(tool),
            Kind::AgentStart(start) => {
                start.tool.iter_mut().for_each(|tool| secrets.strike_tool(tool));
                start.parent.iter_mut().for_each(|agent| secrets.strike_agent(agent));
            }
            _ => {}
        }
    }
}

/// How many bytes of text `decoded` has, which must be searched for keys.
pub(in crate::proxy) fn said_bytes(decoded: &Decoded) -> usize {
    decoded.envelopes.iter().map(|envelope| bytes_of(&envelope.event.kind)).fold(0, usize::saturating_add)
}

/// How many bytes of text an event has.
fn bytes_of(kind: &Kind) -> usize {
    match kind {
        Kind::Message(message) => message.text.len(),
        Kind::PartReplace { text, .. } | Kind::Status { text } => text.len(),
        Kind::PartDelta { text, .. } | Kind::ToolArgs { text, .. } | Kind::ToolOutput { text, .. } => {
            text.len()
        }
        Kind::ToolCall { arguments, .. } => arguments.as_ref().map_or(0, String::len),
        Kind::ToolResult(result) => result.output.as_str().len(),
        Kind::Error(fact) => fact.message.len(),
        Kind::Anomaly(odd) => odd.detail.len(),
        Kind::Custom { value, .. } | Kind::Raw { value, .. } => value.as_str().len(),
        _ => 0,
    }
}

/// Whether an event is a delta of which nothing is left.
fn is_empty_delta(kind: &Kind) -> bool {
    match kind {
        Kind::PartDelta { text, .. } | Kind::ToolArgs { text, .. } | Kind::ToolOutput { text, .. } => {
            text.is_empty()
        }
        _ => false,
    }
}

impl Secrets {
    /// Removes the keys from all texts of `kind` except its ids. It names every kind of event, so that a new
    /// one is not forgotten.
    fn strike_kind(&self, kind: &mut Kind) {
        match kind {
            Kind::Error(fact) => {
                self.strike_failure(&mut fact.message);
                if self.is_in(fact.code.as_bytes(), Within::Failures) {
                    fact.code = STRUCK.into();
                }
            }
            Kind::Anomaly(odd) => self.strike_failure(&mut odd.detail),
            Kind::Custom { name, value } | Kind::Raw { name, value } => {
                self.strike_word(name);
                self.strike_json(value, Within::Failures);
            }
            Kind::RunStart(start) => {
                self.strike_words([&mut start.model, &mut start.dialect, &mut start.name, &mut start.host]);
                self.strike_texts([&mut start.title]);
            }
            Kind::RunUpdate(update) => {
                self.strike_words([&mut update.model, &mut update.finish_reason]);
                self.strike_texts([&mut update.title]);
            }
            Kind::RunEnd(end) => self.strike_words([&mut end.finish_reason]),
            Kind::AgentStart(start) => {
                self.strike_words([&mut start.name, &mut start.model]);
                self.strike_texts([&mut start.text]);
            }
            Kind::AgentEnd(end) => self.strike_words([&mut end.model]),
            Kind::Message(message) => self.strike_text(&mut message.text),
            Kind::PartReplace { text, .. } | Kind::Status { text } => self.strike_text(text),
            Kind::PartEnd(end) => self.strike_texts([&mut end.signature]),
            Kind::PartDelta { text, .. } | Kind::ToolArgs { text, .. } | Kind::ToolOutput { text, .. } => {
                self.strike_word(text);
            }
            Kind::ToolStart(start) => {
                self.strike_word(&mut start.name);
                self.strike_words([&mut start.given_id]);
            }
            Kind::ToolCall { name, arguments, .. } => {
                self.strike_words([name]);
                self.strike_texts([arguments]);
            }
            Kind::ToolResult(result) => {
                self.strike_json(&mut result.output, Within::Words);
                let beside = [&mut result.files, &mut result.embeds].into_iter().flatten();
                beside.for_each(|value| self.strike_json(value, Within::Words));
            }
            Kind::ToolProgress(progress) => self.strike_texts([&mut progress.text]),
            Kind::ApprovalRequest { text, .. } | Kind::ApprovalAnswer { text, .. } => {
                self.strike_texts([text]);
            }
            Kind::Label(change) => {
                self.strike_texts([&mut change.title, &mut change.note]);
                change.rating.iter_mut().for_each(|rating| self.strike_texts([&mut rating.why]));
                change.tags.iter_mut().flatten().for_each(|tag| self.strike_word(tag));
            }
            Kind::Unknown(unknown) => {
                let mut fields = Json::of(&unknown.fields);
                self.strike_json(&mut fields, Within::Words);
                unknown.fields = serde_json::from_str(fields.as_str()).unwrap_or_default();
            }
            Kind::Fork { .. }
            | Kind::RunStalled { .. }
            | Kind::PartStart { .. }
            | Kind::ToolState(_)
            | Kind::Rate { .. } => {}
        }
    }

    /// Removes the keys from short texts.
    fn strike_words<const N: usize>(&self, words: [&mut Option<CompactString>; N]) {
        words.into_iter().flatten().for_each(|word| self.strike_word(word));
    }

    /// Removes the keys from texts that may be absent.
    fn strike_texts<const N: usize>(&self, texts: [&mut Option<String>; N]) {
        texts.into_iter().flatten().for_each(|text| self.strike_text(text));
    }

    fn strike_word(&self, word: &mut CompactString) {
        if self.is_in(word.as_bytes(), Within::Words) {
            *word = self.without(word, Within::Words).into();
        }
    }

    fn strike_text(&self, text: &mut String) {
        if self.is_in(text.as_bytes(), Within::Words) {
            *text = self.without(text, Within::Words);
        }
    }

    /// Removes the keys from a JSON value.
    fn strike_json(&self, value: &mut Json, within: Within) {
        if self.is_in(value.as_str().as_bytes(), within) {
            let text = self.without(value.as_str(), within);
            // A key of digits alone may have been a number.
            *value = Json::parse(&text).unwrap_or_else(|| Json::string(&text));
        }
    }

    fn strike_tool(&self, id: &mut ToolCallId) {
        if self.is_in(id.as_str().as_bytes(), Within::Words) {
            *id = ToolCallId::new(&self.without(id.as_str(), Within::Words));
        }
    }

    fn strike_part(&self, id: &mut PartId) {
        if self.is_in(id.as_str().as_bytes(), Within::Words) {
            *id = PartId::new(&self.without(id.as_str(), Within::Words));
        }
    }

    fn strike_message(&self, id: &mut MessageId) {
        if self.is_in(id.as_str().as_bytes(), Within::Words) {
            *id = MessageId::new(&self.without(id.as_str(), Within::Words));
        }
    }

    fn strike_agent(&self, id: &mut AgentId) {
        if self.is_in(id.as_str().as_bytes(), Within::Words) {
            *id = AgentId::new(&self.without(id.as_str(), Within::Words));
        }
    }
}

#[cfg(test)]
mod tests;
