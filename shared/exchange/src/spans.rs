//! Turns the spans that instrumented programs export through OpenTelemetry into runs.
//!
//! ```text
//! body ── otlp::read ──▶ OtlpExport { spans } ── SpanJoiner::take ──▶ JoinedSpans { told: ConversationEvents … }
//!                                       clock ── SpanJoiner::tick ──▶ ConversationEvents …
//! ```
//!
//! A span is exported when it *ends*, so children come before their parents, in several exports and in any order. The
//! [`SpanJoiner`] puts the spans of one trace into one run, whatever the order. `meaning` reads what a span means from the
//! conventions of several instrumentations; docs/integrations/opentelemetry.md lists the attributes.
//!
//! Nothing here waits or reads a clock: times (milliseconds since 1970) are arguments.

mod attributes;
mod joiner;
mod meaning;
pub mod otlp;

pub use attributes::Attributes;
pub use joiner::{ConversationEvents, JoinedSpans, SpanJoiner};

/// The name of the dialect in `run.start`.
pub const NAME: &str = "opentelemetry";

/// The id of a trace.
pub type TraceId = [u8; 16];

/// The id of a span in its trace.
pub type SpanId = [u8; 8];

/// One span that has ended.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct FinishedSpan {
    /// The trace that it belongs to.
    pub trace: TraceId,
    /// The id of the span.
    pub id: SpanId,
    /// The parent span; nothing for the root.
    pub parent: Option<SpanId>,
    /// The parent is in another process, which may export its spans to another receiver.
    pub is_parent_remote: bool,
    /// The name of the span.
    pub name: String,
    /// When the span began, in nanoseconds since 1970.
    pub start_ns: u64,
    /// When the span ended, in nanoseconds since 1970.
    pub end_ns: u64,
    /// The attributes of the span.
    pub attributes: Attributes,
    /// The events of the span, in order.
    pub events: Vec<SpanEvent>,
    /// The span has the status "error".
    pub failed: bool,
    /// The message of the status; empty if there is none.
    pub status_message: String,
    /// The program that made the span (`service.name`).
    pub service: Option<String>,
    /// The machine that the program ran on (`host.name`).
    pub host: Option<String>,
    /// The name of the instrumentation that made the span.
    pub scope: String,
}

/// An event in a span.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct SpanEvent {
    /// The name of the event.
    pub name: String,
    /// When the event happened, in nanoseconds since 1970.
    pub at_ns: u64,
    /// The attributes of the event.
    pub attributes: Attributes,
}

/// Formats `id` as lower-case hexadecimal digits.
pub(crate) fn hex(id: &[u8]) -> String {
    let digit = |half: u8| char::from_digit(half.into(), 16).unwrap_or('0');
    id.iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 0xF)]).collect()
}

#[cfg(test)]
mod tests;
