//! Takes calls out of the text of any dialect: a decoder around another one, whose texts it searches.
//!
//! ```text
//! inner:   part.start p1 · part.delta "Let me see <tool_use name=\"ls\">" · part.delta "{}</tool_use>" · part.end p1
//! outer:   part.start p1 · part.delta "Let me see " · tool.start c · tool.call c {} · part.end p1
//! ```
//!
//! Only parts of the kind text are searched, not reasoning. All other events pass unchanged and in their
//! order; the offsets of deltas are counted anew, since calls are taken out. What looked like a call and is
//! none stays in the text, with an anomaly (`bad_arguments`).

use std::collections::BTreeSet;

use compact_str::CompactString;
use indexmap::IndexMap;

use super::{TextCall, TextCallToken, TextCalls, TextForm, TextRules};
use crate::{Decode, Decoded};
use model::anomaly::{Anomaly, AnomalyCode};
use model::envelope::Envelope;
use model::event::{Kind, PartKind, ToolStart};
use model::ids::{PartId, ToolCallId};

/// A decoder that searches the texts of another one for calls. It owns the inner decoder.
#[derive(Debug)]
pub(crate) struct WithTextCalls {
    inner: Box<dyn Decode>,
    form: TextForm,
    rules: TextRules,
    /// Put before ids that are made up, as the inner decoder does with its parts.
    prefix: CompactString,
    /// The text parts that are open.
    texts: IndexMap<PartId, OpenTextPart>,
    /// The ids of calls so far, so that calls in texts get other ones.
    ids: BTreeSet<ToolCallId>,
    /// The number of calls that got a made-up id.
    minted: u64,
}

/// A text part that is open: the search in it, and what was written of it.
#[derive(Debug)]
struct OpenTextPart {
    calls: TextCalls,
    /// The number of bytes outside of calls that were written: the offset of the next delta.
    len: u64,
    /// The number of calls that were written. If the text is replaced, that many are found again and skipped.
    told: usize,
}

impl WithTextCalls {
    /// Searches the texts of `inner`; the ids that it makes up begin with `prefix`.
    pub(crate) fn new(
        inner: Box<dyn Decode>,
        (form, rules): (TextForm, TextRules),
        prefix: CompactString,
    ) -> Self {
        Self { inner, form, rules, prefix, texts: IndexMap::new(), ids: BTreeSet::new(), minted: 0 }
    }

    /// Takes the events of the inner decoder and writes them with the calls that are in their texts.
    fn look(&mut self, inner: Decoded, out: &mut Decoded) {
        for envelope in inner.envelopes {
            match &envelope.event.kind {
                Kind::PartStart { part, kind: PartKind::Text } => {
                    let text = OpenTextPart { calls: TextCalls::by(self.form, &self.rules), len: 0, told: 0 };
                    self.texts.insert(part.clone(), text);
                }
                Kind::ToolStart(start) => {
                    self.ids.insert(start.tool.clone());
                }
                Kind::PartDelta { part, text, .. } if self.texts.contains_key(part) => {
                    self.more(part, text, &envelope, out);
                    continue;
                }
                Kind::PartReplace { part, text } if self.texts.contains_key(part) => {
                    self.replace(part, text, &envelope, out);
                    continue;
                }
                Kind::PartEnd(end) => self.end_of(&end.part, &envelope, out),
                _ => {}
            }
            out.envelopes.push(envelope);
        }
    }

    /// Takes more text of a part. `envelope` is the event that has it; what is written gets its run, agent
    /// and time.
    fn more(&mut self, part: &PartId, text: &str, envelope: &Envelope, out: &mut Decoded) {
        let mut found = Vec::new();
        if let Some(open) = self.texts.get_mut(part) {
            open.calls.feed(text, &mut |piece| found.push(OwnedToken::of(piece)));
        }
        self.tell(part, found, envelope, out);
    }

    /// Replaces the text of a part. Calls that were found stay; only those after them are new.
    fn replace(&mut self, part: &PartId, text: &str, envelope: &Envelope, out: &mut Decoded) {
        let mut found = Vec::new();
        if let Some(open) = self.texts.get_mut(part) {
            open.calls = TextCalls::by(self.form, &self.rules);
            open.len = 0;
            open.calls.feed(text, &mut |piece| found.push(OwnedToken::of(piece)));
        }
        let told = self.texts.get(part).map_or(0, |open| open.told);
        let mut calls = 0;
        found.retain(|piece| {
            calls += usize::from(matches!(piece, OwnedToken::Call(_)));
            !matches!(piece, OwnedToken::Call(_)) || calls > told
        });
        let event = Kind::PartReplace { part: part.clone(), text: String::new() };
        put(event, envelope, out);
        self.tell(part, found, envelope, out);
    }

    /// Takes the end of a part: what was held back is written before it.
    fn end_of(&mut self, part: &PartId, envelope: &Envelope, out: &mut Decoded) {
        let mut found = Vec::new();
        if let Some(open) = self.texts.get_mut(part) {
            open.calls.end(&mut |piece| found.push(OwnedToken::of(piece)));
        }
        self.tell(part, found, envelope, out);
        self.texts.swap_remove(part);
    }

    /// Writes what was found in a part, in order.
    fn tell(&mut self, part: &PartId, found: Vec<OwnedToken>, envelope: &Envelope, out: &mut Decoded) {
        for piece in found {
            match piece {
                OwnedToken::Text(text) => self.tell_text(part, &text, envelope, out),
                OwnedToken::Call(call) => {
                    if let Some(open) = self.texts.get_mut(part) {
                        open.told = open.told.saturating_add(1);
                    }
                    self.tell_call(call, envelope, out);
                }
                OwnedToken::Error(message, written) => {
                    put(
                        Kind::Anomaly(Anomaly { code: AnomalyCode::BadArguments, detail: message }),
                        envelope,
                        out,
                    );
                    self.tell_text(part, &written, envelope, out);
                }
            }
        }
    }

    /// Writes text of a part as a delta.
    fn tell_text(&mut self, part: &PartId, text: &str, envelope: &Envelope, out: &mut Decoded) {
        let Some(open) = self.texts.get_mut(part).filter(|_| !text.is_empty()) else { return };
        let (off, text) = (Some(open.len), CompactString::new(text));
        open.len = open.len.saturating_add(u64::try_from(text.len()).unwrap_or(u64::MAX));
        put(Kind::PartDelta { part: part.clone(), off, text }, envelope, out);
    }

    /// Writes a call, complete at once. An id that another call has, or none, is replaced by `text-call-1`,
    /// `text-call-2`, …; the one in the text is kept as `given_id`.
    fn tell_call(&mut self, call: TextCall, envelope: &Envelope, out: &mut Decoded) {
        let mut tool = ToolCallId::new(&call.id);
        let has_id = !call.id.is_empty();
        let mut is_free = has_id && self.ids.insert(tool.clone());
        let given_id = (has_id && !is_free).then(|| CompactString::new(&call.id));
        while !is_free {
            self.minted = self.minted.saturating_add(1);
            tool = ToolCallId::new(&format!("{}text-call-{}", self.prefix, self.minted));
            is_free = self.ids.insert(tool.clone());
        }
        // A call in a text is executed by the caller or by nobody.
        let start =
            ToolStart { tool: tool.clone(), name: CompactString::new(&call.name), server: false, given_id };
        put(Kind::ToolStart(start), envelope, out);
        put(Kind::ToolCall { tool, name: None, arguments: Some(call.arguments) }, envelope, out);
    }
}

/// A [`TextCallToken`] that owns its text.
enum OwnedToken {
    /// Text outside of calls.
    Text(String),
    /// A complete tool call.
    Call(TextCall),
    /// Why it is no call, and its text.
    Error(String, String),
}

impl OwnedToken {
    fn of(found: TextCallToken<'_>) -> Self {
        match found {
            TextCallToken::Text(text) => Self::Text(text.to_owned()),
            TextCallToken::Call(call) => Self::Call(call),
            TextCallToken::Error { message, written } => Self::Error(message, written.to_owned()),
        }
    }
}

/// Appends an event of the same agent, run and time as `envelope`.
fn put(kind: Kind, envelope: &Envelope, out: &mut Decoded) {
    let mut event = envelope.event.clone();
    event.kind = kind;
    out.event_at(event, envelope.producer_at);
}

impl Decode for WithTextCalls {
    fn feed(&mut self, bytes: &[u8], out: &mut Decoded) {
        let mut inner = Decoded::default();
        self.inner.feed(bytes, &mut inner);
        self.look(inner, out);
    }

    fn end(&mut self, out: &mut Decoded) {
        let mut inner = Decoded::default();
        self.inner.end(&mut inner);
        self.look(inner, out);
    }
}
