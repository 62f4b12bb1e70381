//! An event as the log keeps it: with its seq, its time and its publisher.

use serde::Serialize;

use crate::event::{Event, EventError, WireEvent, parse_received, parse_wire};
use crate::ids::PublisherId;
use crate::position::Seq;

/// An event in its place. On the wire its fields stand beside those of the event, in one flat object.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "Event"))]
pub struct Envelope {
    /// The event itself.
    #[serde(flatten)]
    pub event: Event,
    /// The number of the event in the epoch; 0 for an ephemeral event, which has none. A merged delta has the seq of its first.
    #[serde(skip_serializing_if = "is_zero")]
    pub seq: Seq,
    /// When the hub took it, in milliseconds since 1970 by the hub's clock.
    pub at: u64,
    /// When it happened by the publisher's clock, in milliseconds since 1970.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub producer_at: Option<u64>,
    /// Who published it, where it has a name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub publisher: Option<PublisherId>,
    /// The hub itself says so: of the beginnings, questions, answers, ends and notes of its own agents' runs, of forks, and of
    /// runs that it gave up. Nobody else can: it is taken away from all that is received.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub by_hub: bool,
}

// Eight bytes are no more than a reference only where references have eight.
#[cfg_attr(
    target_pointer_width = "64",
    expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it with a reference")
)]
fn is_zero(seq: &Seq) -> bool {
    *seq == 0
}

impl Envelope {
    /// The envelope that `json` holds. Absent seq and time are 0.
    pub fn parse(json: &str) -> Result<Self, EventError> {
        parse_wire(json).map(Self::of)
    }

    /// Reads an envelope from outside the hub: refuses a number over [`crate::limits::NUMBER_MAX`], and clears the mark that the hub itself said the
    /// event.
    pub fn received(json: &str) -> Result<Self, EventError> {
        parse_received(json).map(|read| Self { by_hub: false, ..Self::of(read) })
    }

    fn of((event, wire): (Event, WireEvent<'_>)) -> Self {
        Self {
            event,
            seq: wire.seq.unwrap_or(0),
            at: wire.at.unwrap_or(0),
            producer_at: wire.producer_at,
            publisher: wire.publisher,
            by_hub: wire.by_hub,
        }
    }
}

impl<'de> serde::Deserialize<'de> for Envelope {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let raw = <Box<serde_json::value::RawValue>>::deserialize(deserializer)?;
        Self::parse(raw.get()).map_err(serde::de::Error::custom)
    }
}
