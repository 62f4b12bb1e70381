//! Frames as bytes: JSON, and JSON inside an unmasked WebSocket frame. A frame for many viewers is written once; only
//! the number of the subscription differs, and it stands in front.

use bytes::Bytes;
use serde::Serialize;
use shared::conflate::conflate;
use shared::frame::{ConversationRow, ServerFrame, Sub};
use shared::{Envelope, Epoch, Seq};

use crate::clock;
use crate::hub::Slice;

/// Longest header of an unmasked frame: two bytes and a length of eight.
const HEADER_MAX: usize = 10;

/// Opcode of a text frame that is whole.
const TEXT: u8 = 0x81;
/// Opcode of a close frame.
const CLOSE: u8 = 0x88;

/// The header of an unmasked frame with a payload of `len` bytes, right-aligned, and where it begins.
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

/// One frame: `write` writes the payload, the header is put in front without moving it.
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

/// Adds `value` as JSON.
fn json(buffer: &mut Vec<u8>, value: &impl Serialize) {
    // Writing into memory cannot fail, and nothing on the wire is a map whose keys are no strings.
    drop(serde_json::to_writer(buffer, value));
}

/// A WebSocket frame that carries `frame`.
pub(crate) fn text(frame: &ServerFrame) -> Bytes {
    framed(TEXT, 256, |buffer| json(buffer, frame))
}

/// A WebSocket close frame.
pub(crate) fn close(code: u16, reason: &str) -> Bytes {
    framed(CLOSE, 64, |buffer| {
        buffer.extend_from_slice(&code.to_be_bytes());
        // A control frame carries at most 125 bytes.
        let reason = reason.chars().take(30).collect::<String>();
        buffer.extend_from_slice(reason.as_bytes());
    })
}

/// What of a batch is the same for every subscription: all after its number.
pub(crate) fn batch_rest(slice: &Slice) -> Bytes {
    let weight = slice.events.len() + slice.ephemera.len();
    let mut rest = Vec::with_capacity(64 + 160 * weight.min(4_096));
    let head = format!(",\"from\":{},\"to\":{},\"ts\":{},\"ev\":[", slice.from, slice.to, clock::now_ms());
    rest.extend_from_slice(head.as_bytes());
    let before = rest.len();
    if let [only] = slice.events.as_slice() {
        element(&mut rest, before, only);
    } else {
        for envelope in conflate(&slice.events) {
            element(&mut rest, before, &envelope);
        }
    }
    for envelope in &slice.ephemera {
        element(&mut rest, before, envelope);
    }
    rest.extend_from_slice(b"]}");
    Bytes::from(rest)
}

fn element(list: &mut Vec<u8>, before: usize, envelope: &Envelope) {
    if list.len() > before {
        list.push(b',');
    }
    json(list, envelope);
}

/// The batch frame of the subscription `sub` as JSON.
pub(crate) fn batch_json(sub: Sub, rest: &[u8]) -> Vec<u8> {
    let mut whole = format!("{{\"t\":\"batch\",\"sub\":{sub}").into_bytes();
    whole.extend_from_slice(rest);
    whole
}

/// The batch frame of the subscription `sub` as a WebSocket frame.
pub(crate) fn batch(sub: Sub, rest: &[u8]) -> Bytes {
    framed(TEXT, rest.len() + 32, |buffer| {
        buffer.extend_from_slice(b"{\"t\":\"batch\",\"sub\":");
        json(buffer, &sub);
        buffer.extend_from_slice(rest);
    })
}

/// What stands before and after the state in a snapshot frame of JSON.
fn around_state(sub: Sub, epoch: &Epoch, seq: Seq) -> (Vec<u8>, &'static [u8]) {
    let mut before = format!("{{\"t\":\"snap\",\"sub\":{sub},\"epoch\":").into_bytes();
    json(&mut before, epoch);
    before.extend_from_slice(format!(",\"seq\":{seq},\"state\":").as_bytes());
    (before, b"}")
}

/// A snapshot frame as JSON.
pub(crate) fn snapshot_json(sub: Sub, epoch: &Epoch, seq: Seq, state: &[u8]) -> Vec<u8> {
    let (mut whole, after) = around_state(sub, epoch, seq);
    whole.extend_from_slice(state);
    whole.extend_from_slice(after);
    whole
}

/// A snapshot as a WebSocket frame in three pieces, of which the big one is shared.
pub(crate) fn snapshot(sub: Sub, epoch: &Epoch, seq: Seq, state: &Bytes) -> [Bytes; 3] {
    let (before, after) = around_state(sub, epoch, seq);
    let (header, begin) = header(TEXT, before.len() + state.len() + after.len());
    let mut first: Vec<u8> = header.into_iter().skip(begin).collect();
    first.extend_from_slice(&before);
    [first.into(), state.clone(), Bytes::from_static(after)]
}

/// Rows of the list as a WebSocket frame.
pub(crate) fn fleet(sub: Sub, full: bool, rows: &[ConversationRow]) -> Bytes {
    framed(TEXT, 64 + 320 * rows.len(), |buffer| {
        let head = format!("{{\"t\":\"fleet\",\"sub\":{sub},\"full\":{full},\"rows\":");
        buffer.extend_from_slice(head.as_bytes());
        json(buffer, &rows);
        buffer.extend_from_slice(format!(",\"ts\":{}}}", clock::now_ms()).as_bytes());
    })
}

#[cfg(test)]
mod tests;
