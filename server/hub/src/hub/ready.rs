//! A stretch of events as bytes, for everybody who stands in front of it.

use bytes::Bytes;
use model::Seq;
use model::frame::SubscriptionId;
use parking_lot::Mutex;

use super::conversation::{Cursor, Slice};
use crate::wire;

/// Most viewers that one pump of the fan-out serves: a round over all of them is some hundred microseconds of work. So many frames at most
/// are made of the same events.
pub(crate) const VIEWERS_PER_PUMP: usize = 256;

/// The events between two positions, encoded once as a frame. A [`Sight`](super::sight::Sight) keeps the newest few.
#[derive(Debug)]
pub struct Ready {
    from: Seq,
    cursor: Cursor,
    ephemera: usize,
    /// The frame for one number of subscription; most clients use the same.
    first: (SubscriptionId, Bytes),
    /// What of it is the same for every number.
    rest: Bytes,
    others: Mutex<Vec<(SubscriptionId, Bytes)>>,
}

impl Ready {
    pub(super) fn new(slice: &Slice, sub: SubscriptionId) -> Self {
        let (frame, rest) = wire::batch(sub, slice);
        Self {
            from: slice.from,
            cursor: slice.cursor,
            ephemera: slice.ephemera.len(),
            first: (sub, frame),
            rest,
            others: Mutex::default(),
        }
    }

    /// Ephemera after the same two ticks are the same.
    pub(super) fn is(&self, slice: &Slice) -> bool {
        self.from == slice.from && self.cursor == slice.cursor && self.ephemera == slice.ephemera.len()
    }

    /// The JSON of the frame for the subscription number `sub`.
    pub fn json(&self, sub: SubscriptionId) -> Vec<u8> {
        wire::batch_json(sub, &self.rest)
    }

    /// The WebSocket frame for the subscription number `sub`.
    pub fn frame(&self, sub: SubscriptionId) -> Bytes {
        if self.first.0 == sub {
            return self.first.1.clone();
        }
        let mut others = self.others.lock();
        if let Some((_, frame)) = others.iter().find(|(known, _)| *known == sub) {
            return frame.clone();
        }
        let frame = wire::batch_again(sub, &self.rest);
        if others.len() < VIEWERS_PER_PUMP {
            others.push((sub, frame.clone()));
        }
        frame
    }
}
