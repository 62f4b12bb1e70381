//! Tests of frames that are read along.

use super::*;

/// A frame with these flags and opcode, masked or not.
fn frame(first: u8, payload: &[u8], mask: Option<[u8; 4]>) -> Vec<u8> {
    let bit = if mask.is_some() { 0x80 } else { 0 };
    let mut frame = vec![first];
    match payload.len() {
        short @ 0..126 => frame.push(bit | u8::try_from(short).unwrap()),
        middle @ 126..65_536 => {
            frame.push(bit | 0x7e);
            frame.extend(u16::try_from(middle).unwrap().to_be_bytes());
        }
        long => {
            frame.push(bit | 0x7f);
            frame.extend((long as u64).to_be_bytes());
        }
    }
    frame.extend(mask.unwrap_or_default().iter().take(if mask.is_some() { 4 } else { 0 }));
    let masks = mask.unwrap_or_default();
    frame.extend(payload.iter().zip(masks.iter().cycle()).map(|(byte, mask)| byte ^ mask));
    frame
}

fn read(frames: &mut Frames, bytes: &[u8]) -> Vec<String> {
    let mut told = Vec::new();
    frames.feed(bytes, &mut |message| told.push(String::from_utf8(message.bytes).unwrap()));
    told
}

#[test]
fn i11_messages_are_read_however_they_are_cut_and_fragmented() {
    let mask = Some([1, 200, 3, 77]);
    let long = "l".repeat(70_000);
    let bytes = [
        frame(0x81, b"one", mask),
        frame(0x89, b"ping", mask),
        frame(0x01, b"tw", mask),
        frame(0x8a, b"", None),
        frame(0x00, b"", mask),
        frame(0x80, b"o", mask),
        frame(0x82, b"\x00binary", None),
        frame(0x81, &[b'm'; 300], None),
        frame(0x81, long.as_bytes(), mask),
        frame(0x88, &1000_u16.to_be_bytes(), mask),
    ]
    .concat();
    let wanted = ["one".to_owned(), "two".to_owned(), "m".repeat(300), long];
    for size in [1, 2, 3, 5, 7, 64, 1_000, bytes.len()] {
        let mut frames = Frames::new(100_000);
        let told: Vec<_> = bytes.chunks(size).flat_map(|piece| read(&mut frames, piece)).collect();
        assert!(told == wanted, "{size}");
        assert!(frames.is_between() && !frames.is_lost() && frames.held() == 0);
    }
}

#[test]
fn between_messages_is_neither_in_a_frame_nor_between_its_fragments() {
    let mut frames = Frames::new(0);
    for (bytes, is_between) in [
        (&b"\x01"[..], false),
        (b"\x02", false),
        (b"a", false),
        (b"b", false),
        (b"\x89\x00", false),
        (b"\x80\x01c", true),
        (b"\x89\x00", true),
        (b"\x82\x7e\x00", false),
    ] {
        assert!(read(&mut frames, bytes).is_empty(), "nothing is kept");
        assert_eq!(frames.is_between(), is_between, "{bytes:?}");
    }
}

#[test]
fn what_is_not_understood_and_what_is_too_long_ends_the_reading() {
    for bytes in [&b"\x83\x00"[..], b"\x80\x00", b"\xa1\x00", b"HTTP/1.1", b"\x01\x00\x01\x00"] {
        let mut frames = Frames::new(100);
        assert!(read(&mut frames, bytes).is_empty());
        assert!(frames.is_lost() && !frames.is_between(), "{bytes:?}");
        assert!(read(&mut frames, b"\x81\x01a").is_empty());
    }
    let mut frames = Frames::new(10);
    assert_eq!(read(&mut frames, &frame(0x81, b"0123456789", None)).len(), 1);
    assert!(read(&mut frames, &frame(0x81, b"0123456789a", None)).is_empty());
    assert!(frames.is_lost() && frames.held() == 0);
}
