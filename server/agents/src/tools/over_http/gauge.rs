//! A bound on the size of events in a stream, checked before anything of them is stored.

use bytes::Bytes;
use futures_util::{Stream, StreamExt as _, future};

use super::Unanswered;

/// The size of the event that is being received.
#[derive(Debug)]
struct Gauge {
    /// Bytes of the present event so far, without line ends.
    bytes: usize,
    /// Most bytes of one event.
    max: usize,
    /// Whether the present line is still empty.
    at_start: bool,
    /// Whether the newest byte was a carriage return, which ends a line alone or with the line feed after it.
    after_return: bool,
}

impl Gauge {
    /// Whether `piece` keeps all events within the bound.
    fn takes(&mut self, piece: &[u8]) -> bool {
        for byte in piece {
            let after_return = std::mem::replace(&mut self.after_return, *byte == b'\r');
            match byte {
                b'\n' if after_return => {}
                b'\n' | b'\r' if self.at_start => self.bytes = 0,
                b'\n' | b'\r' => self.at_start = true,
                _ => {
                    self.at_start = false;
                    self.bytes = self.bytes.saturating_add(1);
                }
            }
            if self.bytes > self.max {
                return false;
            }
        }
        true
    }
}

/// Passes on the pieces of a stream up to the one that makes an event larger than `max` bytes, which becomes
/// an error.
pub(super) fn gauged<E: std::error::Error + Send + Sync + 'static>(
    pieces: impl Stream<Item = Result<Bytes, E>> + Send + 'static,
    max: usize,
) -> impl Stream<Item = Result<Bytes, Unanswered>> + Send + 'static {
    let gauge = Gauge { bytes: 0, max, at_start: true, after_return: false };
    pieces.scan(Some(gauge), |gauge, piece| {
        let piece = match (gauge.as_mut(), piece) {
            (None, _) => return future::ready(None),
            (Some(_), Err(error)) => Err(Unanswered(format!("its answer broke off: {error}"))),
            (Some(gauge), Ok(piece)) => {
                let too_large = Unanswered(format!("an event has more than {} bytes", gauge.max));
                if gauge.takes(&piece) { Ok(piece) } else { Err(too_large) }
            }
        };
        if piece.is_err() {
            *gauge = None;
        }
        future::ready(Some(piece))
    })
}

#[cfg(test)]
mod tests {
    //! Tests of what counts as one event.

    use super::*;

    /// Whether two events of eight bytes each pass a bound of ten bytes, with `end` after each line and the
    /// bytes coming one by one.
    fn passes(end: &str) -> bool {
        let stream = format!("data: ab{end}{end}data: cd{end}{end}");
        let mut gauge = Gauge { bytes: 0, max: 10, at_start: true, after_return: false };
        stream.bytes().all(|byte| gauge.takes(&[byte]))
    }

    #[test]
    fn every_line_end_of_the_format_ends_an_event() {
        assert_eq!(["\n", "\r\n", "\r"].map(passes), [true; 3]);
        assert!(!passes(" "), "what has no line ends is one event");
    }
}
