//! Texts and reasoning. Each has an id that holds inside its step; the older forms have none, and there one
//! text follows the other.
//!
//! `reset-step` says that the provider is asked again: the parts of the step become empty. For that the ended
//! parts of the open step are remembered, without their texts.

use compact_str::CompactString;
use indexmap::IndexMap;

use super::voice;
use crate::Decoded;
use crate::field::ForeignFields;
use crate::writer::{EndedPart, EventWriter, WholePart};
use model::anomaly::AnomalyCode;
use model::event::PartKind;

/// Most texts that may be open at the same time (I7). At the limit the oldest ends.
const OPEN_MAX: usize = 256;

/// Most parts of one step that a retry can take back.
const STEP_PARTS_MAX: usize = 4096;

/// The kind of a text, and its id; the id is empty in forms without ids.
type AiSdkTextKey = (PartKind, CompactString);

/// The texts of a message.
#[derive(Debug, Default)]
pub(super) struct AiSdkTexts {
    /// The open texts, oldest first. A text has a part from its first word on, and none after something came
    /// in between.
    open: IndexMap<AiSdkTextKey, Option<WholePart>>,
    /// The parts that the open step has ended, should it be taken back.
    step: Vec<EndedPart>,
}

impl AiSdkTexts {
    /// Takes a part of the stream of this type; false if it is not about a text.
    pub(super) fn part(
        &mut self,
        kind: &str,
        part: &ForeignFields<'_>,
        w: &mut EventWriter,
        out: &mut Decoded,
    ) -> bool {
        let (first, what) = kind.split_once('-').unwrap_or((kind, ""));
        let Some(voice) = voice(first) else { return false };
        let id = part.get("id").words();
        let has_id = id.is_some();
        let key = (voice, CompactString::new(id.unwrap_or_default()));
        match what {
            "start" => self.start(key, w, out),
            "delta" | "" => {
                if has_id && !self.open.contains_key(&key) {
                    let detail = format!("{first} {:?}", key.1);
                    w.anomaly(AnomalyCode::PartWithoutStart, detail, out);
                }
                let text = part.any(&["delta", "text", "textDelta"]).text().unwrap_or_default();
                self.add(&key, &text, w, out);
            }
            "end" => self.end(&key, w, out),
            // The older form of an end; what signs or hides reasoning says nothing to readers.
            "part-finish" | "signature" => {}
            _ => return false,
        }
        true
    }

    /// Begins a text. One with the same id ends.
    fn start(&mut self, key: AiSdkTextKey, w: &mut EventWriter, out: &mut Decoded) {
        self.end(&key, w, out);
        if self.open.len() >= OPEN_MAX
            && let Some(oldest) = self.open.keys().next().cloned()
        {
            self.end(&oldest, w, out);
        }
        self.open.insert(key, None);
    }

    /// Writes more of a text, which begins if it is new. Without ids all other texts end.
    pub(super) fn add(&mut self, key: &AiSdkTextKey, text: &str, w: &mut EventWriter, out: &mut Decoded) {
        if text.is_empty() {
            return;
        }
        let kind = key.0;
        if key.1.is_empty() {
            // Without ids one text follows the other.
            self.end_others(key, w, out);
        }
        if !self.open.contains_key(key) {
            self.start(key.clone(), w, out);
        }
        let Some(part) = self.open.get_mut(key) else { return };
        if part.is_none() && w.has_room(out) {
            *part = Some(WholePart::new(w.open_part(kind, None, out)));
        }
        if let Some(part) = part {
            part.delta(text, w, out);
        }
    }

    /// Ends all texts but this one.
    fn end_others(&mut self, key: &AiSdkTextKey, w: &EventWriter, out: &mut Decoded) {
        let others: Vec<_> = self.open.keys().filter(|known| *known != key).cloned().collect();
        for other in others {
            self.end(&other, w, out);
        }
    }

    /// Ends a text, if it is open.
    fn end(&mut self, key: &AiSdkTextKey, w: &EventWriter, out: &mut Decoded) {
        if let Some(Some(part)) = self.open.shift_remove(key) {
            self.keep(part.end(false, w, out));
        }
    }

    /// Remembers a part that ended, for a retry of its step.
    fn keep(&mut self, part: EndedPart) {
        if self.step.len() < STEP_PARTS_MAX {
            self.step.push(part);
        }
    }

    /// Ends the open parts, since something else happens in between: what follows of their texts is in other
    /// parts.
    pub(super) fn pause(&mut self, w: &EventWriter, out: &mut Decoded) {
        let parts: Vec<_> = self.open.values_mut().filter_map(Option::take).collect();
        for part in parts {
            self.keep(part.end(false, w, out));
        }
    }

    /// Writes a file that the model made; it is taken back with its step.
    pub(super) fn file(&mut self, url: &str, w: &mut EventWriter, out: &mut Decoded) {
        if w.has_room(out) {
            let mut part = WholePart::new(w.open_part(PartKind::File, None, out));
            part.delta(url, w, out);
            self.keep(part.end(false, w, out));
        }
    }

    /// Writes a hidden reasoning part, for reasoning that the provider keeps to itself.
    pub(super) fn hidden(w: &mut EventWriter, out: &mut Decoded) {
        if w.has_room(out) {
            w.whole_part(PartKind::Thinking, "", true, None, out);
        }
    }

    /// Begins a step; what it writes may be taken back.
    pub(super) fn start_step(&mut self, w: &EventWriter, out: &mut Decoded) {
        self.pause(w, out);
        self.step.clear();
    }

    /// Ends a step, and with it all of its texts. They cannot be taken back any more.
    pub(super) fn finish_step(&mut self, w: &EventWriter, out: &mut Decoded) {
        self.pause(w, out);
        self.open.clear();
        self.step.clear();
    }

    /// Takes back what the open step has written, since the provider is asked again.
    pub(super) fn reset(&mut self, w: &EventWriter, out: &mut Decoded) {
        self.pause(w, out);
        self.open.clear();
        for mut part in self.step.drain(..) {
            part.set("", w, out);
        }
    }
}
