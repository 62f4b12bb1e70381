//! Splits server-sent events by the WHATWG rules, and accepts what real servers do besides: JSON in a field
//! called `error`, pretty-printed JSON whose later lines have no `data:`, white space before a field, no
//! blank line at the end.
//!
//! ```text
//! : comment                        nothing; servers send them to keep the connection alive
//! event: message_start             the name of the event
//! id: 7                            nothing, as `retry`
//! data: {"a":1,                    the data; several lines are joined with "\n"
//! data: "b":2}
//!                                  an empty line passes the event on, if it has data
//! error: {"message":"broken"}      FramedItem::ErrorField (gpustack and llama-box)
//! data: {                          AgentOS 2.0 to 2.3.8 print objects over several lines
//!   "event": "RunStarted"          with one `data:`: as long as a bracket is open, a line
//! }                                that is no field continues the data
//! anything else                    FramedItem::Stray
//! ```

use super::{FramedItem, JsonNesting, LineSplitter, StreamLine, StreamPiece};
use model::limits::LINE_BYTES_MAX;

/// Splits a stream into events, in order. The name of an event does not carry over to the next one.
#[derive(Debug)]
pub struct SseSplitter {
    lines: LineSplitter,
    pending: PendingEvent,
}

/// The event that is open: its fields so far. It is passed on at an empty line or at the end of the stream.
#[derive(Debug, Default)]
struct PendingEvent {
    /// The line on which it began, from 1; 0 if there is none.
    line: u64,
    /// The field `event`; empty without one.
    name: String,
    /// The lines of `data`, joined with `\n`.
    data: String,
    /// The event had a `data` field, possibly an empty one.
    has_data: bool,
    /// The number of dropped bytes of an event that is too large. It is reported as [`FramedItem::TooLarge`]
    /// in place of the event.
    dropped: u64,
    /// The brackets of `data`; only followed after the first line without `data:`.
    nesting: Option<JsonNesting>,
}

impl Default for SseSplitter {
    fn default() -> Self {
        Self::after(0)
    }
}

impl SseSplitter {
    /// A splitter for a stream of which `lines` lines were read before.
    pub fn after(lines: u64) -> Self {
        Self { lines: LineSplitter::sse().after(lines), pending: PendingEvent::default() }
    }

    /// Takes the next bytes and passes each complete event to `take`.
    pub fn feed(&mut self, bytes: &[u8], take: &mut dyn FnMut(StreamPiece<'_>)) {
        let Self { lines, pending } = self;
        lines.feed(bytes, &mut |number, line| pending.line(number, line, take));
    }

    /// Passes the last event to `take` at the end of the stream, also without its blank line: some servers
    /// omit it, and a client that drops the event would miss the end of an answer.
    pub fn end(&mut self, take: &mut dyn FnMut(StreamPiece<'_>)) {
        let Self { lines, pending } = self;
        lines.end(&mut |number, line| pending.line(number, line, take));
        pending.dispatch(take);
    }
}

impl PendingEvent {
    fn line(&mut self, number: u64, line: StreamLine<'_>, take: &mut dyn FnMut(StreamPiece<'_>)) {
        match line {
            StreamLine::TooLong(bytes) => {
                self.begin(number);
                self.drop_bytes(bytes);
            }
            StreamLine::Text(text) if text.is_empty() => self.dispatch(take),
            StreamLine::Text(text) => self.field(number, &text, take),
        }
    }

    /// Takes a line that is not empty: one field, a comment, or something else.
    fn field(&mut self, number: u64, line: &str, take: &mut dyn FnMut(StreamPiece<'_>)) {
        // Nearly every line.
        if let Some(value) = line.strip_prefix("data:") {
            self.begin(number);
            return self.add(value.strip_prefix(' ').unwrap_or(value));
        }
        let (name, value) = line.split_once(':').unwrap_or((line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        // By the standard, a field name with white space before it is another field, but no server means
        // that.
        match name.trim_start_matches([' ', '\t']) {
            "data" => {
                self.begin(number);
                self.add(value);
            }
            "event" => {
                self.begin(number);
                value.clone_into(&mut self.name);
            }
            "" if line.starts_with(':') => {}
            "id" | "retry" => {}
            "error" if value.starts_with(['{', '"']) => {
                self.dispatch(take);
                take(StreamPiece { line: number, body: FramedItem::ErrorField(value) });
            }
            _ if self.goes_on() => self.add(line),
            _ => take(StreamPiece { line: number, body: FramedItem::Stray(line) }),
        }
    }

    /// Notes the line on which an event begins.
    fn begin(&mut self, number: u64) {
        if self.line == 0 {
            self.line = number;
        }
    }

    /// Whether the data so far is JSON with open brackets: then a line without a field name can only be its
    /// next line.
    fn goes_on(&mut self) -> bool {
        if !self.data.starts_with(['{', '[']) {
            return false;
        }
        self.nesting.get_or_insert_with(|| JsonNesting::of(&self.data)).is_open()
    }

    /// Adds a line to the data, unless the event becomes too large.
    fn add(&mut self, value: &str) {
        let length = self.data.len().saturating_add(value.len()).saturating_add(1);
        if self.dropped > 0 || length > LINE_BYTES_MAX {
            return self.drop_bytes(u64::try_from(value.len()).unwrap_or(u64::MAX));
        }
        if self.has_data {
            self.data.push('\n');
        }
        self.has_data = true;
        self.data.push_str(value);
        if let Some(nesting) = &mut self.nesting {
            nesting.scan(value);
        }
    }

    /// Drops the data of an event that is too large, and counts `bytes` more.
    fn drop_bytes(&mut self, bytes: u64) {
        let held = u64::try_from(self.data.len()).unwrap_or(u64::MAX);
        self.dropped = self.dropped.saturating_add(bytes).saturating_add(held).max(1);
        self.data = String::new();
        self.has_data = false;
    }

    /// Passes the open event on if it has data, and begins another one. An event with a name alone is
    /// dropped, as the standard says.
    fn dispatch(&mut self, take: &mut dyn FnMut(StreamPiece<'_>)) {
        if self.dropped > 0 {
            take(StreamPiece { line: self.line, body: FramedItem::TooLarge(self.dropped) });
        } else if self.has_data {
            take(StreamPiece {
                line: self.line,
                body: FramedItem::Event { name: &self.name, data: &self.data },
            });
        }
        let Self { line, name, data, has_data, dropped, nesting } = self;
        (*line, *has_data, *dropped, *nesting) = (0, false, 0, None);
        name.clear();
        data.clear();
        // The memory of small events is used again, that of a huge one is freed.
        if data.capacity() > super::lines::KEPT_BYTES_MAX {
            *data = String::new();
        }
    }
}
