//! The output of the hub's trace: stderr, as lines for people or as JSON. Secrets in errors and warnings become marks: those may repeat what a
//! panic, a library or another server said.

use std::io::{self, IsTerminal as _, Stderr, Write};

use tracing::{Level, Metadata};
use tracing_subscriber::EnvFilter;
use tracing_subscriber::filter::filter_fn;
use tracing_subscriber::fmt::MakeWriter;
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;

use crate::command::Cleaner;

/// The format of the trace.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum TraceLayout {
    /// One readable line per record.
    #[default]
    Lines,
    /// One JSON object per record.
    Json,
}

/// The targets whose records may be more detailed than [`OTHERS_MAX`]: the crates of the workspace, which
/// never write a secret.
const OWN: [&str; 13] = [
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
    "redact",
    "upstream",
];

/// The most detailed level of libraries, whatever the filter says. Below it some of them write headers and
/// frames, and so the tokens and keys in these.
const OTHERS_MAX: Level = Level::INFO;

/// Whether a record with this metadata may be written, whatever the filter says.
fn is_writable(metadata: &Metadata<'_>) -> bool {
    *metadata.level() <= OTHERS_MAX || is_own(metadata.target())
}

/// Whether a target is a crate of the workspace.
fn is_own(target: &str) -> bool {
    let name = target.split("::").next().unwrap_or(target);
    OWN.contains(&name)
}

/// Writes records to stderr, errors and warnings without secrets.
struct CleanStderr(Cleaner);

/// Where one record is written to, as a whole.
enum RecordOutput<'a> {
    /// As it is.
    Plain(Stderr),
    /// Without secrets.
    Clean(&'a Cleaner),
}

impl<'a> MakeWriter<'a> for CleanStderr {
    type Writer = RecordOutput<'a>;

    fn make_writer(&'a self) -> RecordOutput<'a> {
        RecordOutput::Clean(&self.0)
    }

    fn make_writer_for(&'a self, metadata: &Metadata<'_>) -> RecordOutput<'a> {
        // What is said more often is the hub's own, and payloads are in none of it but `trace`.
        if *metadata.level() <= Level::WARN { self.make_writer() } else { RecordOutput::Plain(io::stderr()) }
    }
}

impl Write for RecordOutput<'_> {
    fn write(&mut self, record: &[u8]) -> io::Result<usize> {
        match self {
            Self::Plain(stderr) => stderr.write(record),
            // The formatter hands over whole records.
            Self::Clean(cleaner) => {
                let text = String::from_utf8_lossy(record);
                io::stderr().write_all(cleaner.clean(&text).as_bytes())?;
                Ok(record.len())
            }
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        io::stderr().flush()
    }
}

/// Starts the trace of this process. `filter` has the form of `RUST_LOG`; if it cannot be parsed, the level
/// is `info`. Libraries are limited to [`OTHERS_MAX`]. `cleaner` takes secrets out of errors and warnings. A second call has no effect.
pub(crate) fn init(format: TraceLayout, filter: &str, cleaner: Cleaner) {
    // What this library reports about each session with tools is shown only on request.
    let filter = format!("rmcp=warn,{filter}");
    let filter = EnvFilter::try_new(filter).unwrap_or_else(|_not_a_filter| EnvFilter::new("rmcp=warn,info"));
    let builder = tracing_subscriber::fmt().with_env_filter(filter).with_writer(CleanStderr(cleaner));
    let builder = builder.with_ansi(io::stderr().is_terminal());
    let writable = filter_fn(is_writable);
    let started = match format {
        TraceLayout::Lines => builder.finish().with(writable).try_init(),
        TraceLayout::Json => builder.json().finish().with(writable).try_init(),
    };
    // A test binary or an embedding program may have started its own.
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

    #[test]
    fn every_crate_of_the_hub_is_an_own_one() {
        let workspace = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let mut crates = 0;
        for group in ["server", "shared"] {
            for folder in std::fs::read_dir(workspace.join(group)).unwrap() {
                let manifest = folder.unwrap().path().join("Cargo.toml");
                let Ok(manifest) = std::fs::read_to_string(&manifest) else { continue };
                let name = manifest.lines().find_map(|line| line.strip_prefix("name = \"")).unwrap();
                let name = name.trim_end_matches('"').replace('-', "_");
                assert!(is_own(&name), "{name}");
                crates += 1;
            }
        }
        assert_eq!(crates, OWN.len());
    }
}
