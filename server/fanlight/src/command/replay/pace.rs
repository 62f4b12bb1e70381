//! When the pieces of a recording are due. Recordings of foreign dialects carry no arrival times, so each framed event
//! (a line of NDJSON, a block of SSE) takes [`EVENT_PAUSE`]; native ones say when each event was.

use std::time::Duration;

use serde::Deserialize;

/// Before each event of a recording without times: about the rate at which a model writes.
pub(super) const EVENT_PAUSE: Duration = Duration::from_millis(30);

/// Takes a recording line by line, and says where a piece ends and how long to wait before it.
#[derive(Debug, Default)]
pub(super) struct RecordingPacer {
    framing: Option<RecordingFraming>,
    /// Whether something other than line ends has come since the last piece.
    begun: bool,
    /// When the last native event was, in milliseconds.
    at: Option<u64>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum RecordingFraming {
    /// An event is a line.
    Lines,
    /// An event ends with an empty line.
    Blocks,
}

/// The times of a native event.
#[derive(Deserialize)]
struct NativeTimes {
    at: Option<u64>,
    producer_at: Option<u64>,
}

impl RecordingPacer {
    /// Takes the next line, with its end. Says how long to wait before the piece that it completes, if it does.
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

    fn since_the_last(&mut self, line: &[u8]) -> Duration {
        let times: Option<NativeTimes> = serde_json::from_slice(line).ok();
        let Some(now) = times.and_then(|times| times.producer_at.or(times.at)) else { return EVENT_PAUSE };
        // Events are kept in the order in which the hub took them; by their publishers' clocks they may go back a bit.
        let last = *self.at.get_or_insert(now);
        self.at = Some(last.max(now));
        Duration::from_millis(now.saturating_sub(last))
    }
}

#[cfg(test)]
mod tests;
