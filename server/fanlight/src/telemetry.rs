//! Where the hub's trace goes: stderr, as lines for a person or as JSON.

use std::io::IsTerminal as _;

use tracing_subscriber::EnvFilter;

/// How the trace is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum TraceLayout {
    /// One readable line for each record.
    #[default]
    Lines,
    /// One JSON object for each record.
    Json,
}

/// Starts the trace of this process. `filter` is in the form of `RUST_LOG`; what does not parse means `info`. A second
/// call changes nothing.
pub(crate) fn init(format: TraceLayout, filter: &str) {
    // What a library says of each session with tools is for those who ask for it.
    let filter = format!("rmcp=warn,{filter}");
    let filter = EnvFilter::try_new(filter).unwrap_or_else(|_not_a_filter| EnvFilter::new("rmcp=warn,info"));
    let builder = tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr);
    let builder = builder.with_ansi(std::io::stderr().is_terminal());
    let started = match format {
        TraceLayout::Lines => builder.try_init(),
        TraceLayout::Json => builder.json().try_init(),
    };
    // Already started: a test binary or an embedding program has its own.
    drop(started);
}
