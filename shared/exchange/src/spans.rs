//! Spans: what instrumented programs tell through OpenTelemetry, and how it becomes runs.
//!
//! ```text
//! body ── otlp::read ──▶ Export { spans } ── Joiner::take ──▶ Told { conversation, envelopes }
//!                        clock ── Joiner::tick ──▶ the same
//! ```
//!
//! A span comes when it *ends*, so children come before their parents, in several exports and in any order. The
//! [`SpanJoiner`] puts the spans of one trace into one run, whatever the order. What a span means is in `meaning`, where the
//! conventions of several instrumentations are read; which attributes those are stands in
//! docs/integrations/opentelemetry.md.
//!
//! Nothing here waits or reads a clock: times (milliseconds since 1970) come in as arguments.

mod attributes;
mod joiner;
mod meaning;
pub mod otlp;

pub use attributes::Attributes;
pub use joiner::{ConversationEvents, JoinedSpans, SpanJoiner};

/// The name of the dialect in `run.start`.
pub const NAME: &str = "opentelemetry";

/// The name of a trace.
pub type TraceId = [u8; 16];

/// The name of a span in its trace.
pub type SpanId = [u8; 8];

/// One span that has ended.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct FinishedSpan {
    /// Its trace.
    pub trace: TraceId,
    /// Its own name.
    pub id: SpanId,
    /// The span that it belongs to; nothing for the root.
    pub parent: Option<SpanId>,
    /// The parent is in another process, which may tell somebody else.
    pub is_parent_remote: bool,
    /// What it is called.
    pub name: String,
    /// When it began, in nanoseconds since 1970.
    pub start_ns: u64,
    /// When it ended, in nanoseconds since 1970.
    pub end_ns: u64,
    /// What is known of it.
    pub attributes: Attributes,
    /// What happened in it, in order.
    pub events: Vec<SpanEvent>,
    /// It failed.
    pub failed: bool,
    /// Why.
    pub status_message: String,
    /// The program that it is of (`service.name`).
    pub service: Option<String>,
    /// The instrumentation that made it.
    pub scope: String,
}

/// Something that happened in a span.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct SpanEvent {
    /// What it is called.
    pub name: String,
    /// When, in nanoseconds since 1970.
    pub at_ns: u64,
    /// What is known of it.
    pub attributes: Attributes,
}

/// `id` in hex.
pub(crate) fn hex(id: &[u8]) -> String {
    let digit = |half: u8| char::from_digit(half.into(), 16).unwrap_or('0');
    id.iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 0xF)]).collect()
}

#[cfg(test)]
mod tests;
