//! Frames as bytes: JSON, and JSON inside an unmasked WebSocket frame. A frame for many viewers is written
//! once. Frames for different subscriptions differ only in the subscription number, which comes first.
//!
//! ```text
//! {"t":"batch","sub":3, │ "from":7,"to":9,"ts":…,"ev":[…]}        the part after the number is shared
//! {"t":"snap","sub":3,"epoch":"e","seq":9,"state": │ … │ }        the state is shared
//! {"t":"fleet","sub":3,"full":true,"rows":[…],"total":12,"ts":…}
//! ```

use bytes::Bytes;
use model::conflate::conflate;
use model::frame::{ConversationRow, ServerFrame, SubscriptionId};
use model::{ConversationId, Envelope, Epoch, Seq};
use serde::Serialize;

use crate::clock;
use crate::slice::{Delivery, Slice};

/// The longest header of an unmasked frame in bytes: two, and a length of eight.
const HEADER_MAX: usize = 10;

/// First byte of a text frame that is not fragmented.
const TEXT: u8 = 0x81;
/// First byte of a close frame.
const CLOSE: u8 = 0x88;

/// Makes the header of an unmasked frame with a payload of `len` bytes. It ends at the end of the array; the
/// number says where it begins.
fn header(opcode: u8, len: usize) -> ([u8; HEADER_MAX], usize) {
    let long = (len as u64).to_be_bytes();
    let [.., c, d] = long;
    match len {
        0..126 => ([0, 0, 0, 0, 0, 0, 0, 0, opcode, d], 8),
        126..0x1_0000 => ([0, 0, 0, 0, 0, 0, opcode, 126, c, d], 6),
        _ => {
            let mut header = [opcode, 127, 0, 0, 0, 0, 0, 0, 0, 0];
            for (to, from) in header.iter_mut().skip(2).zip(long) {
                *to = from;
            }
            (header, 0)
        }
    }
}

/// Makes one frame. `write` writes the payload into a buffer with room for the header, so that the payload is
/// not moved; `capacity` is a guess of its length in bytes.
fn framed(opcode: u8, capacity: usize, write: impl FnOnce(&mut Vec<u8>)) -> Bytes {
    let mut buffer = Vec::with_capacity(HEADER_MAX + capacity);
    buffer.extend_from_slice(&[0; HEADER_MAX]);
    write(&mut buffer);
    let (header, begin) = header(opcode, buffer.len() - HEADER_MAX);
    for (to, from) in buffer.iter_mut().zip(header) {
        *to = from;
    }
    Bytes::from(buffer).slice(begin..)
}

/// Appends `value` as JSON.
fn json(buffer: &mut Vec<u8>, value: &impl Serialize) {
    // Writing into memory cannot fail, and no map on the wire has keys other than strings.
    drop(serde_json::to_writer(buffer, value));
}

/// Encodes `frame` as a WebSocket text frame.
pub fn text(frame: &ServerFrame) -> Bytes {
    framed(TEXT, 256, |buffer| json(buffer, frame))
}

/// Makes a WebSocket close frame. Of `reason` the first 30 characters are sent.
pub fn close(code: u16, reason: &str) -> Bytes {
    framed(CLOSE, 64, |buffer| {
        buffer.extend_from_slice(&code.to_be_bytes());
        // A control frame carries at most 125 bytes, and a character takes four at most.
        let reason = reason.chars().take(30).collect::<String>();
        buffer.extend_from_slice(reason.as_bytes());
    })
}

/// How a batch begins, up to the subscription number.
const BATCH: &str = "{\"t\":\"batch\",\"sub\":";

/// Encodes `slice` as a batch for the subscription `sub`. Returns the WebSocket frame and the part of its
/// JSON after the subscription number, which other subscriptions share. The frame is stamped with the time of
/// day.
pub fn batch(sub: SubscriptionId, slice: &Slice, delivery: Delivery) -> (Bytes, Bytes) {
    let mut same = 0;
    let frame = framed(TEXT, 64 + 200 * slice.len().min(2_048), |buffer| {
        batch_head(buffer, sub);
        let before = buffer.len();
        batch_rest(buffer, slice, delivery);
        same = buffer.len() - before;
    });
    let rest = frame.slice(frame.len() - same..);
    (frame, rest)
}

/// Makes the WebSocket frame of a batch for another subscription; `rest` is what [`batch`] returned.
pub fn batch_again(sub: SubscriptionId, rest: &[u8]) -> Bytes {
    framed(TEXT, rest.len() + 32, |buffer| {
        batch_head(buffer, sub);
        buffer.extend_from_slice(rest);
    })
}

/// Makes the JSON of a batch for another subscription, without a WebSocket header.
pub fn batch_json(sub: SubscriptionId, rest: &[u8]) -> Vec<u8> {
    let mut buffer = Vec::with_capacity(rest.len() + 32);
    batch_head(&mut buffer, sub);
    buffer.extend_from_slice(rest);
    buffer
}

/// Writes the beginning of a batch up to the subscription number.
fn batch_head(buffer: &mut Vec<u8>, sub: SubscriptionId) {
    buffer.extend_from_slice(BATCH.as_bytes());
    json(buffer, &sub);
}

/// Writes the part of a batch that all subscriptions share.
fn batch_rest(buffer: &mut Vec<u8>, slice: &Slice, delivery: Delivery) {
    for (name, number) in [("from", slice.from), ("to", slice.to), ("ts", clock::now_ms())] {
        buffer.extend_from_slice(b",\"");
        buffer.extend_from_slice(name.as_bytes());
        buffer.extend_from_slice(b"\":");
        json(buffer, &number);
    }
    buffer.extend_from_slice(b",\"ev\":[");
    let before = buffer.len();
    if delivery == Delivery::Single || slice.events.len() == 1 {
        for envelope in &slice.events {
            element(buffer, before, envelope);
        }
    } else {
        for envelope in conflate(&slice.events) {
            element(buffer, before, &envelope);
        }
    }
    for envelope in &slice.ephemera {
        element(buffer, before, envelope);
    }
    buffer.extend_from_slice(b"]}");
}

/// Adds an event to the list that began at `before`.
fn element(list: &mut Vec<u8>, before: usize, envelope: &Envelope) {
    if list.len() > before {
        list.push(b',');
    }
    json(list, envelope);
}

/// The JSON of a snapshot frame before and after the state, or the piece of it that is sent.
fn around_state(sub: SubscriptionId, epoch: &Epoch, seq: Seq, more: bool) -> (Vec<u8>, &'static [u8]) {
    let mut before = format!("{{\"t\":\"snap\",\"sub\":{sub},\"epoch\":").into_bytes();
    json(&mut before, epoch);
    before.extend_from_slice(format!(",\"seq\":{seq},\"state\":").as_bytes());
    (before, if more { b",\"more\":true}" } else { b"}" })
}

/// Makes a snapshot frame as JSON, in three buffers of which the large one is shared. `more` says that
/// further pieces follow.
pub fn snapshot_json(sub: SubscriptionId, epoch: &Epoch, seq: Seq, piece: &Bytes, more: bool) -> [Bytes; 3] {
    let (before, after) = around_state(sub, epoch, seq, more);
    [before.into(), piece.clone(), Bytes::from_static(after)]
}

/// Makes a snapshot as a WebSocket frame, in three buffers of which the large one is shared. `more` says that
/// further pieces follow.
pub fn snapshot(sub: SubscriptionId, epoch: &Epoch, seq: Seq, piece: &Bytes, more: bool) -> [Bytes; 3] {
    let (before, after) = around_state(sub, epoch, seq, more);
    let (header, begin) = header(TEXT, before.len() + piece.len() + after.len());
    let mut first: Vec<u8> = header.into_iter().skip(begin).collect();
    first.extend_from_slice(&before);
    [first.into(), piece.clone(), Bytes::from_static(after)]
}

/// Makes a frame with rows of the list. `full` says that it has the first rows rather than changed ones;
/// `total` is how many conversations there are.
pub fn fleet(sub: SubscriptionId, full: bool, rows: &[ConversationRow], total: u64) -> Bytes {
    listed(&format!("{{\"t\":\"fleet\",\"sub\":{sub},\"full\":{full},\"rows\":"), &[], rows, total)
}

/// Makes a frame with conversations that were deleted and rows that changed.
pub fn fleet_change(
    sub: SubscriptionId,
    gone: &[ConversationId],
    rows: &[ConversationRow],
    total: u64,
) -> Bytes {
    listed(&format!("{{\"t\":\"fleet\",\"sub\":{sub},\"full\":false,\"rows\":"), gone, rows, total)
}

/// A frame of the list that begins with `head`, up to its rows.
fn listed(head: &str, gone: &[ConversationId], rows: &[ConversationRow], total: u64) -> Bytes {
    framed(TEXT, 64 + 320 * rows.len() + 48 * gone.len(), |buffer| {
        buffer.extend_from_slice(head.as_bytes());
        json(buffer, &rows);
        if !gone.is_empty() {
            buffer.extend_from_slice(b",\"gone\":");
            json(buffer, &gone);
        }
        buffer.extend_from_slice(format!(",\"total\":{total},\"ts\":{}}}", clock::now_ms()).as_bytes());
    })
}

#[cfg(test)]
mod tests;
