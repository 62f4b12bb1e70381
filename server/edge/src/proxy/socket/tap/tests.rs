//! Tests of messages that are compressed.

use flate2::{Compress, Compression, FlushCompress};

use super::*;

fn packed(machine: &mut Compress, text: &str) -> Message {
    let mut bytes = Vec::with_capacity(text.len() + 1_024);
    machine.compress_vec(text.as_bytes(), &mut bytes, FlushCompress::Sync).unwrap();
    bytes.truncate(bytes.len() - 4);
    Message { bytes, is_packed: true }
}

#[test]
fn messages_are_unpacked_with_what_was_said_before_them() {
    let texts = ["{\"type\":\"one\"}".to_owned(), "{\"type\":\"one\"}".to_owned(), "long ".repeat(20_000)];
    for keeps in [true, false] {
        let mut machine = Compress::new(Compression::default(), false);
        let mut unpack = Unpack { machine: None, keeps, bytes_max: 1 << 20 };
        for text in &texts {
            if !keeps {
                machine = Compress::new(Compression::default(), false);
            }
            let told = unpack.text(packed(&mut machine, text)).unwrap();
            assert!(told == text.as_bytes(), "{keeps}");
        }
        let plain = Message { bytes: b"plain".to_vec(), is_packed: false };
        assert_eq!(unpack.text(plain).as_deref(), Some(&b"plain"[..]));
    }
}

#[test]
fn what_unpacks_to_too_much_or_to_nothing_is_given_up() {
    let mut machine = Compress::new(Compression::default(), false);
    let bomb = packed(&mut machine, &"x".repeat(1 << 20));
    let mut unpack = Unpack { machine: None, keeps: true, bytes_max: 100_000 };
    assert_eq!(unpack.text(bomb), None);
    let mut unpack = Unpack { machine: None, keeps: true, bytes_max: 100_000 };
    assert_eq!(unpack.text(Message { bytes: vec![0xff; 40], is_packed: true }), None);
}

#[test]
fn how_messages_are_packed_is_what_the_upstream_agreed_to() {
    let of = |text| Packing::agreed(text).map(|it| (it.keeps(Side::Caller), it.keeps(Side::Upstream)));
    assert_eq!(of("permessage-deflate"), Some((true, true)));
    assert_eq!(
        of("x-own, permessage-deflate; server_no_context_takeover; client_max_window_bits=12"),
        Some((true, false))
    );
    assert_eq!(of("permessage-deflate; client_no_context_takeover"), Some((false, true)));
    assert_eq!(of("x-own"), None);
}

#[test]
fn a_copy_that_nobody_takes_is_lost_and_holds_nobody_up() {
    let budget = Arc::<Budget>::default();
    let (tap, sink) = pair(&budget);
    for _ in 0..=PROXY_SOCKET_PIECES_MAX {
        tap.copy(Side::Caller, b"piece");
    }
    assert!(tap.between().is_lost.load(Ordering::Relaxed));
    assert_eq!(budget.held(), PROXY_SOCKET_PIECES_MAX * 5);
    drop(sink);
    assert_eq!(budget.held(), 0);
}
