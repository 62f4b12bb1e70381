//! A bound on the events of a stream, taken before anything is kept of them.

use bytes::Bytes;
use futures_util::{Stream, StreamExt as _, future};

use super::Unanswered;

/// How large the event is that goes on.
#[derive(Debug)]
struct Gauge {
    bytes: usize,
    max: usize,
    /// Nothing stands on the line yet.
    at_start: bool,
}

impl Gauge {
    /// Whether no event is too large with `piece`.
    fn takes(&mut self, piece: &[u8]) -> bool {
        for byte in piece {
            match byte {
                b'\n' if self.at_start => self.bytes = 0,
                b'\n' => self.at_start = true,
                // Stands in front of the end of a line.
                b'\r' => {}
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

/// The pieces of a stream, up to one with which an event has more than `max` bytes.
pub(super) fn gauged<E: std::error::Error + Send + Sync + 'static>(
    pieces: impl Stream<Item = Result<Bytes, E>> + Send + 'static,
    max: usize,
) -> impl Stream<Item = Result<Bytes, Unanswered>> + Send + 'static {
    let gauge = Gauge { bytes: 0, max, at_start: true };
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
