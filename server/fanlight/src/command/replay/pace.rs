//! The pace of a recording. Native events have times. Recordings in other dialects have none, so that each
//! framed event (a line of NDJSON, a block of SSE) takes [`EVENT_PAUSE`].

use std::time::Duration;

use serde::Deserialize;

/// The pause before each event of a recording without times: about the rate at which a model writes.
pub(super) const EVENT_PAUSE: Duration = Duration::from_millis(30);

/// Takes a recording line by line, and says where a piece ends and how long to wait before it.
#[derive(Debug, Default)]
pub(super) struct RecordingPacer {
    framing: Option<RecordingFraming>,
    /// Whether a non-empty line has arrived since the last piece.
    begun: bool,
    /// The time of the last native event, in milliseconds since 1970.
    at: Option<u64>,
}

/// The framing of a recording: what separates its events.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum RecordingFraming {
    /// Each line is an event.
    Lines,
    /// An empty line ends an event.
    Blocks,
}

/// The times of a native event.
#[derive(Deserialize)]
struct NativeTimes {
    at: Option<u64>,
    producer_at: Option<u64>,
}

impl RecordingPacer {
    /// Takes the next line, with its end. Returns how long to wait before the piece that it completes; `None`
    /// if it completes none.
    pub(super) fn take(&mut self, line: &[u8]) -> Option<Duration> {
        let text = line.trim_ascii();
        if text.is_empty() {
            return std::mem::take(&mut self.begun).then_some(EVENT_PAUSE);
        }
        self.begun = true;
        let framing = *self.framing.get_or_insert_with(|| match text.first() {
            Some(b'{' | b'[') => RecordingFraming::Lines,
            _ => RecordingFraming::Blocks,
        });
        if framing == RecordingFraming::Blocks {
            return None;
        }
        self.begun = false;
        Some(self.since_the_last(text))
    }

    /// The time between the last native event and this one.
    fn since_the_last(&mut self, line: &[u8]) -> Duration {
        let times: Option<NativeTimes> = serde_json::from_slice(line).ok();
        let Some(now) = times.and_then(|times| times.producer_at.or(times.at)) else { return EVENT_PAUSE };
        // Events are in the order in which the hub accepted them; by their publishers' clocks they may go
        // back.
        let last = *self.at.get_or_insert(now);
        self.at = Some(last.max(now));
        Duration::from_millis(now.saturating_sub(last))
    }
}

#[cfg(test)]
mod tests;
