//! Writes the events of an open part: a text, reasoning, a refusal or a file, as it is streamed.

use compact_str::CompactString;

use super::{AgentId, Decoded, EventWriter, Kind, PartEnd, PartId, PartKind};
use model::limits::SIGNATURE_BYTES_MAX;

/// A part that has begun and not ended. The decoder owns it; dropping it writes no end, and the fold closes
/// the part with its run.
#[derive(Debug)]
pub(crate) struct OpenPart {
    pub(super) id: PartId,
    /// What the part is; it cannot change.
    kind: PartKind,
    /// The agent that writes it; nothing for the main one.
    pub(super) agent: Option<AgentId>,
    /// The number of bytes so far.
    len: u64,
    /// The provider's signature of its reasoning, as far as it was received.
    signature: Option<String>,
}

impl OpenPart {
    /// A part whose start was written.
    pub(super) fn new(id: PartId, kind: PartKind, agent: Option<AgentId>) -> Self {
        Self { id, kind, agent, len: 0, signature: None }
    }

    /// Writes text of a kind: continues the part in `open`, or ends it and begins another. An empty piece is
    /// ignored.
    ///
    /// If the run has no room for another part, the text is dropped; the writer has said so with an anomaly.
    pub(crate) fn go_on(
        open: &mut Option<Self>,
        kind: PartKind,
        text: &str,
        agent: Option<&AgentId>,
        writer: &mut EventWriter,
        out: &mut Decoded,
    ) {
        if text.is_empty() {
            return;
        }
        if open.as_ref().is_some_and(|part| part.kind != kind)
            && let Some(other) = open.take()
        {
            other.end(false, writer, out);
        }
        if open.is_none() && !writer.has_room(out) {
            return;
        }
        open.get_or_insert_with(|| writer.open_part(kind, agent, out)).delta(text, writer, out);
    }

    pub(crate) fn kind(&self) -> PartKind {
        self.kind
    }

    /// Whether no text was written so far.
    pub(crate) fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Writes more text, with its offset in bytes; an empty piece is ignored.
    pub(crate) fn delta(&mut self, text: &str, writer: &EventWriter, out: &mut Decoded) {
        if text.is_empty() {
            return;
        }
        let kind =
            Kind::PartDelta { part: self.id.clone(), off: Some(self.len), text: CompactString::new(text) };
        self.len = self.len.saturating_add(u64::try_from(text.len()).unwrap_or(u64::MAX));
        writer.push_by(self.agent.as_ref(), kind, out);
    }

    /// Replaces the text so far, for dialects that repeat or correct themselves. Later deltas continue the
    /// new text.
    pub(crate) fn replace(&mut self, text: &str, writer: &EventWriter, out: &mut Decoded) {
        self.len = u64::try_from(text.len()).unwrap_or(u64::MAX);
        let kind = Kind::PartReplace { part: self.id.clone(), text: text.to_owned() };
        writer.push_by(self.agent.as_ref(), kind, out);
    }

    /// Adds to the provider's signature, which comes in one piece or several.
    pub(crate) fn sign(&mut self, piece: &str) {
        let signature = self.signature.get_or_insert_default();
        // A signature over the limit keeps its length, so that the end of the part can recognize and drop it.
        if signature.len() <= SIGNATURE_BYTES_MAX {
            signature.push_str(piece);
        }
    }

    /// Ends the part. `hidden` says that the provider keeps the text to itself. A signature of more than
    /// [`SIGNATURE_BYTES_MAX`] bytes is left out: no provider would accept a cut one.
    pub(crate) fn end(self, hidden: bool, writer: &EventWriter, out: &mut Decoded) {
        let signature = self.signature.filter(|it| !it.is_empty() && it.len() <= SIGNATURE_BYTES_MAX);
        let end = PartEnd { part: self.id, len: None, hash: None, duration_ms: None, hidden, signature };
        writer.push_by(self.agent.as_ref(), Kind::PartEnd(end), out);
    }
}
