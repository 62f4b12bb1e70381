//! Frames as bytes, held against the reading side: the frames of the model, and another implementation's header.

use std::sync::Arc;

use model::event::Kind;
use model::frame::parse_server;
use model::{Event, RunId, View};
use tokio_tungstenite::tungstenite::protocol::frame::FrameHeader;

use super::*;
use crate::hub::Cursor;

/// Takes a frame apart; its header must be what another implementation reads.
fn payload(bytes: &[u8]) -> &[u8] {
    let mut cursor = std::io::Cursor::new(bytes);
    let (header, len) = FrameHeader::parse(&mut cursor).unwrap().unwrap();
    assert!(header.is_final && header.mask.is_none());
    let begin = usize::try_from(cursor.position()).unwrap();
    assert_eq!(bytes.len() - begin, usize::try_from(len).unwrap());
    &bytes[begin..]
}

fn parse(bytes: &[u8]) -> ServerFrame {
    parse_server(std::str::from_utf8(payload(bytes)).unwrap()).unwrap()
}

#[test]
fn headers_of_all_lengths_are_read_back() {
    for len in [0, 1, 125, 126, 127, 65_535, 65_536, 300_000] {
        let frame = framed(TEXT, 0, |buffer| buffer.resize(HEADER_MAX + len, b'x'));
        assert_eq!(payload(&frame).len(), len);
    }
}

fn slice(count: u64) -> Slice {
    let envelope = |seq: u64| Envelope {
        event: Event::new(&RunId::new("r1"), Kind::Status { text: format!("line {seq}") }),
        seq,
        at: 5,
        producer_at: None,
        publisher: None,
        by_hub: false,
    };
    Slice {
        from: 1,
        to: count,
        events: (1..=count).map(envelope).map(Arc::new).collect(),
        ephemera: Vec::new(),
        cursor: Cursor { seq: count, tick: 0 },
        head: count,
        effects: Vec::new(),
        is_whole: false,
    }
}

#[test]
fn a_batch_says_what_it_covers() {
    for count in [0, 1, 3] {
        let ServerFrame::Batch { sub, from, to, ev, .. } =
            parse(&batch(7, &slice(count), Delivery::Joined).0)
        else {
            panic!("no batch")
        };
        assert_eq!((sub, from, to, ev.len() as u64), (7, 1, count, count));
    }
    let (_, rest) = batch(12, &slice(2), Delivery::Joined);
    let other = parse(&batch_again(3, &rest));
    assert!(matches!(other, ServerFrame::Batch { sub: 3, from: 1, to: 2, .. }));
}

#[test]
fn a_snapshot_in_pieces_is_one_frame() {
    let view = View { seq: 9, ..View::default() };
    let state = Bytes::from(model::snapshot::encode(&view));
    let whole = snapshot(2, &Epoch::new("e\"1"), 9, &state, true).concat();
    let ServerFrame::Snap { sub, epoch, seq, more: true, state: found } = parse(&whole) else {
        panic!("no snapshot")
    };
    assert_eq!((sub, epoch.as_str(), seq, *found), (2, "e\"1", 9, view));
    assert_eq!(payload(&whole), snapshot_json(2, &Epoch::new("e\"1"), 9, &state, true).concat());
}

#[test]
fn rows_are_read_back() {
    let ServerFrame::Fleet { sub, full, rows, .. } = parse(&fleet(4, true, &[], 0)) else {
        panic!("no rows")
    };
    assert_eq!((sub, full, rows.len()), (4, true, 0));
}

#[test]
fn a_close_frame_stays_within_a_control_frame() {
    let frame = close(4000, &"ü".repeat(200));
    assert_eq!(payload(&frame)[..2], 4000_u16.to_be_bytes());
    assert!(payload(&frame).len() <= 125);
}
