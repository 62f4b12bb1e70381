//! A slice of events, encoded as frames for all viewers at its beginning.

use bytes::Bytes;
use model::Seq;
use model::frame::SubscriptionId;
use parking_lot::Mutex;

use crate::slice::{Cursor, Delivery, Slice};
use crate::wire;

/// Most viewers that one pump serves: a round over all of them takes some hundred microseconds. So a slice is
/// kept for this many subscription numbers at most.
pub(crate) const VIEWERS_PER_PUMP: usize = 256;

/// A slice of events, encoded once. Viewers with other subscription numbers share everything but the number.
/// Shared by pumps and readers; a [`FrameCache`](super::frame_cache::FrameCache) keeps the newest few.
#[derive(Debug)]
pub struct EncodedSlice {
    /// The first seq that it covers.
    from: Seq,
    /// The cursor after it.
    cursor: Cursor,
    /// The number of ephemeral events in the slice.
    ephemera: usize,
    /// The frame for the subscription number that was asked for first; most clients use the same one.
    first: (SubscriptionId, Bytes),
    /// The frame as JSON, after the subscription number.
    rest: Bytes,
    /// The frames for other numbers, at most `VIEWERS_PER_PUMP`.
    others: Mutex<Vec<(SubscriptionId, Bytes)>>,
}

impl EncodedSlice {
    /// Encodes `slice` for the subscription number `sub`.
    pub(super) fn new(slice: &Slice, sub: SubscriptionId, delivery: Delivery) -> Self {
        let (frame, rest) = wire::batch(sub, slice, delivery);
        Self {
            from: slice.from,
            cursor: slice.cursor,
            ephemera: slice.ephemera.len(),
            first: (sub, frame),
            rest,
            others: Mutex::default(),
        }
    }

    /// Whether it was made of the same events as `slice`. Between the same two ticks there are the same
    /// ephemeral events.
    pub(super) fn was_made_of(&self, slice: &Slice) -> bool {
        self.from == slice.from && self.cursor == slice.cursor && self.ephemera == slice.ephemera.len()
    }

    /// The frame as JSON for the subscription number `sub`.
    pub fn json(&self, sub: SubscriptionId) -> Vec<u8> {
        wire::batch_json(sub, &self.rest)
    }

    /// The WebSocket frame for the subscription number `sub`. Frames are kept, so viewers with the same
    /// number share one.
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
