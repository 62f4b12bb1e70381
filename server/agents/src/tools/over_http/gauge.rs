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
}

impl Gauge {
    /// Whether `piece` keeps all events within the bound.
    fn takes(&mut self, piece: &[u8]) -> bool {
        for byte in piece {
            match byte {
                b'\n' if self.at_start => self.bytes = 0,
                b'\n' => self.at_start = true,
                // A carriage return belongs to the end of a line.
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

/// Passes on the pieces of a stream up to the one that makes an event larger than `max` bytes, which becomes
/// an error.
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
