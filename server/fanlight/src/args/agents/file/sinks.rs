//! The list `stream.sinks` of a file that describes a provider.
//!
//! ```yaml
//! sinks:
//!   - {type: file, path: "events/{thread_id}.jsonl", max_size: 10MB, rotation: 3}
//!   - {type: websocket, url: "${UI_URL:-ws://localhost:8080}", reconnect_attempts: 3, buffer_on_disconnect: true}
//!   - {type: return, buffer_size: 32}      # the agent itself: how many pieces of an answer may wait for it
//! ```
//!
//! Errors name the line, since a file has several sinks.

use agents::{Filled, StreamFile, StreamSink, StreamSocket, StreamTarget};
use serde::Deserialize;
use serde_saphyr::Spanned;

use crate::args::amount::ByteSize;

/// How many events may wait for a sink, unless set.
const EVENTS_MAX: usize = 4_096;

/// How many older files are kept, unless set.
const KEEP: usize = 5;

/// The most events that may be set to wait for a sink.
const EVENTS_MAX_MAX: usize = 1 << 20;

/// How often opening a socket is retried, unless set.
const ATTEMPTS: u32 = 3;

/// A sink of the file. Which fields are allowed depends on its type. Each value has its place in the file,
/// for messages about it.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct FileSinkSettings {
    /// `file`, `websocket` or `return`.
    r#type: Spanned<String>,
    /// The address of a WebSocket, filled from the environment.
    url: Option<Spanned<String>>,
    /// How many more attempts are made to open it.
    reconnect_attempts: Option<Spanned<u32>>,
    /// Whether events wait while it is not open; false without it.
    buffer_on_disconnect: Option<Spanned<bool>>,
    /// The path of a file, filled from the environment.
    path: Option<Spanned<String>>,
    /// `jsonl`, the only format of a file.
    format: Option<Spanned<String>>,
    /// The size at which the file is renamed; never without it.
    #[serde(alias = "max_bytes")]
    max_size: Option<Spanned<ByteSize>>,
    /// The number of older files that are kept.
    rotation: Option<Spanned<usize>>,
    /// How many events may wait for the sink.
    buffer_size: Option<Spanned<usize>>,
}

/// The meaning of a sink.
pub(super) enum FileSink {
    /// Raw events are sent to a further target.
    Elsewhere(StreamSink),
    /// The agent itself, which always gets the events: how many pieces of an answer may wait for it, if set.
    Agent(Option<usize>),
}

/// What is wrong at `key`, which stands at `place`.
fn wrong<T>(place: &Spanned<T>, key: &str, why: &str) -> String {
    format!("line {}, at {key:?}: {why}", place.referenced.line())
}

impl FileSinkSettings {
    /// Converts the sink; the error says what is wrong.
    pub(super) fn sink(self) -> Result<FileSink, String> {
        let kind = self.r#type.value.clone();
        self.fits(&kind)?;
        if let Some(size) = self.buffer_size.as_ref().filter(|it| !(1..=EVENTS_MAX_MAX).contains(&it.value)) {
            let why = format!("{} is not a size of a buffer; allowed are 1 to {EVENTS_MAX_MAX}", size.value);
            return Err(wrong(size, "buffer_size", &why));
        }
        let size = self.buffer_size.as_ref().map(|size| size.value);
        let text = |place: &Option<Spanned<String>>, key: &str| {
            let place = place.as_ref().filter(|place| !place.value.is_empty());
            let needs = || wrong(&self.r#type, "type", &format!("a sink of the type {kind} has a {key}"));
            let place = place.ok_or_else(needs)?;
            Filled::new(&place.value).map_err(|why| wrong(place, key, &why))
        };
        let target = match kind.as_str() {
            "websocket" => StreamTarget::Socket(StreamSocket {
                url: text(&self.url, "url")?,
                attempts: self.reconnect_attempts.as_ref().map_or(ATTEMPTS, |attempts| attempts.value),
                waits: self.buffer_on_disconnect.as_ref().is_some_and(|waits| waits.value),
            }),
            "file" => {
                if let Some(format) = self.format.as_ref().filter(|format| format.value != "jsonl") {
                    return Err(wrong(format, "format", "the format of a file is jsonl: one event a line"));
                }
                StreamTarget::File(StreamFile {
                    path: text(&self.path, "path")?,
                    max_bytes: self.max_size.as_ref().map(|size| size.value.0),
                    keep: self.rotation.as_ref().map_or(KEEP, |keep| keep.value),
                })
            }
            "return" => return Ok(FileSink::Agent(size)),
            other => {
                let why =
                    format!("there is no sink of the type {other:?}; there are websocket, file and return");
                return Err(wrong(&self.r#type, "type", &why));
            }
        };
        Ok(FileSink::Elsewhere(StreamSink { target, events_max: size.unwrap_or(EVENTS_MAX) }))
    }

    /// Checks that no field is set that has no meaning for a sink of the type `kind`.
    fn fits(&self, kind: &str) -> Result<(), String> {
        let fields = [
            ("url", "websocket", self.url.as_ref().map(|it| it.referenced.line())),
            (
                "reconnect_attempts",
                "websocket",
                self.reconnect_attempts.as_ref().map(|it| it.referenced.line()),
            ),
            (
                "buffer_on_disconnect",
                "websocket",
                self.buffer_on_disconnect.as_ref().map(|it| it.referenced.line()),
            ),
            ("path", "file", self.path.as_ref().map(|it| it.referenced.line())),
            ("format", "file", self.format.as_ref().map(|it| it.referenced.line())),
            ("max_size", "file", self.max_size.as_ref().map(|it| it.referenced.line())),
            ("rotation", "file", self.rotation.as_ref().map(|it| it.referenced.line())),
        ];
        let known = fields.iter().any(|(_, of, _)| *of == kind) || kind == "return";
        for (key, of, line) in fields {
            if let Some(line) = line.filter(|_| known && of != kind) {
                return Err(format!(
                    "line {line}, at {key:?}: this is for a sink of the type {of}, not {kind}"
                ));
            }
        }
        Ok(())
    }
}
