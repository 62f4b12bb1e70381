//! Deltas of a part, of a call's arguments or of its output. Nearly all events are such, each the same text as the one
//! before it but for its text and numbers, so they are recognised by their shape ([`Shapes`]).

use compact_str::CompactString;

use crate::field::{ForeignField, Gap, Shapes};
use model::envelope::Envelope;
use model::event::{Event, Kind};

/// The numbers that differ from one delta to the next. Before them in the list of values stands the text.
const NUMBERS: [&str; 4] = ["off", "at", "producer_at", "seq"];

/// Deltas by their shapes, each with the envelope of one of them: all but text and numbers is the same.
#[derive(Debug, Default)]
pub(super) struct PlainDeltas(Shapes<Envelope>);

impl PlainDeltas {
    /// Deltas that are all read in general.
    #[cfg(test)]
    pub(super) fn none() -> Self {
        Self(Shapes::none())
    }

    /// The envelope that `text` holds, without the numbers that another hub gave it; nothing if its shape is not known.
    pub(super) fn read(&mut self, text: &str) -> Option<Envelope> {
        let (like, [said, off, at, producer_at, _seq]) = self.0.find(text)?;
        let (text, off) = (valid_text(said)?, off.count());
        let kind = match &like.event.kind {
            Kind::PartDelta { part, .. } => Kind::PartDelta { part: part.clone(), off, text },
            Kind::ToolArgs { tool, .. } => Kind::ToolArgs { tool: tool.clone(), off, text },
            Kind::ToolOutput { tool, .. } => Kind::ToolOutput { tool: tool.clone(), off, text },
            _ => return None,
        };
        Some(Envelope {
            event: Event { kind, run: like.event.run.clone(), agent: like.event.agent.clone() },
            seq: 0,
            at: 0,
            producer_at: producer_at.count().or_else(|| at.count().filter(|at| *at > 0)),
            publisher: like.publisher.clone(),
            by_hub: false,
        })
    }

    /// Learns the shape of `text`, which was read in general as `envelope`, if that is a delta.
    pub(super) fn learn(&mut self, text: &str, envelope: &Envelope) {
        let is_delta = matches!(
            envelope.event.kind,
            Kind::PartDelta { .. } | Kind::ToolArgs { .. } | Kind::ToolOutput { .. }
        );
        if !is_delta || !self.0.is_learning() {
            return;
        }
        let fields = ForeignField::parse_read(text).fields();
        let numbers = (1..).zip(NUMBERS).map(|(slot, name)| (fields.last(name), Gap::Number(slot)));
        let gaps: Vec<_> = std::iter::once((fields.last("text"), Gap::Text(0)))
            .chain(numbers)
            .filter(|(field, _)| field.is_some())
            .collect();
        self.0.learn(text, &gaps, envelope.clone());
    }
}

/// The content of a string; nothing if it is not valid. Then the event is none.
fn valid_text(field: ForeignField<'_>) -> Option<CompactString> {
    let raw = field.as_json_text();
    if memchr::memchr(b'\\', raw.as_bytes()).is_none() {
        return Some(CompactString::new(raw.strip_prefix('"')?.strip_suffix('"')?));
    }
    serde_json::from_str::<String>(raw).ok().map(CompactString::from)
}

#[cfg(test)]
mod tests;
