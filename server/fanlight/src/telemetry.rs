//! Where the hub's trace goes: stderr, as lines for a person or as JSON.

use std::io::IsTerminal as _;

use tracing::{Level, Metadata};
use tracing_subscriber::EnvFilter;
use tracing_subscriber::filter::filter_fn;
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;

/// How the trace is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum TraceLayout {
    /// One readable line for each record.
    #[default]
    Lines,
    /// One JSON object for each record.
    Json,
}

/// Targets whose records may be more detailed than [`OTHERS_MAX`]: the crates of the workspace, which never write a secret.
const OWN: [&str; 12] = [
    "access",
    "agents",
    "client",
    "dialects",
    "edge",
    "encode",
    "event_log",
    "exchange",
    "fanlight",
    "hub",
    "model",
    "upstream",
];

/// The most detail that libraries may write, whatever the filter says. Below it some of them write headers and frames as they come, and
/// so the tokens and keys in them.
const OTHERS_MAX: Level = Level::INFO;

/// Whether a record with this metadata may be written, whatever the filter says.
fn is_writable(metadata: &Metadata<'_>) -> bool {
    *metadata.level() <= OTHERS_MAX || is_own(metadata.target())
}

/// Whether a target is one of the workspace's crates.
fn is_own(target: &str) -> bool {
    let name = target.split("::").next().unwrap_or(target);
    OWN.contains(&name)
}

/// Starts the trace of this process. `filter` is in the form of `RUST_LOG`; what does not parse means `info`. Libraries
/// are held at [`OTHERS_MAX`]. A second call changes nothing.
pub(crate) fn init(format: TraceLayout, filter: &str) {
    // What a library says of each session with tools is for those who ask for it.
    let filter = format!("rmcp=warn,{filter}");
    let filter = EnvFilter::try_new(filter).unwrap_or_else(|_not_a_filter| EnvFilter::new("rmcp=warn,info"));
    let builder = tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr);
    let builder = builder.with_ansi(std::io::stderr().is_terminal());
    let writable = filter_fn(is_writable);
    let started = match format {
        TraceLayout::Lines => builder.finish().with(writable).try_init(),
        TraceLayout::Json => builder.json().finish().with(writable).try_init(),
    };
    // Already started: a test binary or an embedding program has its own.
    drop(started);
}

#[cfg(test)]
mod tests {
    //! Tests of what may be written.

    use super::*;

    #[test]
    fn libraries_cannot_be_raised_and_own_crates_can() {
        for own in ["edge::ws", "fanlight", "hub::fanout::pump", "upstream"] {
            assert!(is_own(own), "{own}");
        }
        for other in
            ["tungstenite::protocol", "hyper::proto::h1", "h2::hpack", "rustls::server", "edges", "rmcp", ""]
        {
            assert!(!is_own(other), "{other}");
        }
    }
}
