//! Splits server-sent events by the WHATWG rules, and accepts what real servers do besides: JSON in a field
//! called `error`, pretty-printed JSON whose later lines have no `data:`, white space before a field, no
//! blank line at the end.

use super::{FramedItem, JsonNesting, LineSplitter, StreamLine, StreamPiece};
use model::limits::LINE_BYTES_MAX;

/// Splits a stream into events.
#[derive(Debug)]
pub struct SseSplitter {
    lines: LineSplitter,
    pending: PendingEvent,
}

/// The event that is open.
#[derive(Debug, Default)]
struct PendingEvent {
    line: u64,
    name: String,
    data: String,
    /// The event had a `data` field, possibly an empty one.
    has_data: bool,
    /// The number of dropped bytes of an event that is too large.
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

    fn field(&mut self, number: u64, line: &str, take: &mut dyn FnMut(StreamPiece<'_>)) {
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

    fn drop_bytes(&mut self, bytes: u64) {
        let held = u64::try_from(self.data.len()).unwrap_or(u64::MAX);
        self.dropped = self.dropped.saturating_add(bytes).saturating_add(held).max(1);
        self.data = String::new();
        self.has_data = false;
    }

    fn dispatch(&mut self, take: &mut dyn FnMut(StreamPiece<'_>)) {
        if self.dropped > 0 {
            take(StreamPiece { line: self.line, body: FramedItem::TooLarge(self.dropped) });
        } else if self.has_data {
            take(StreamPiece {
                line: self.line,
                body: FramedItem::Event { name: &self.name, data: &self.data },
            });
        }
        let mut data = std::mem::take(&mut self.data);
        let mut name = std::mem::take(&mut self.name);
        data.clear();
        name.clear();
        // The memory of small events is used again, that of a huge one is freed.
        if data.capacity() > super::lines::KEPT_BYTES_MAX {
            data = String::new();
        }
        *self = Self { name, data, ..Self::default() };
    }
}
