//! Damaged and random streams: no panic, lawful events, and the same events however they are cut.

use dialects::DecodeOptions;
use proptest::prelude::*;
use proptest::sample::Index;

use crate::lawful::assert_lawful;
use crate::own::{own, tested};
use crate::stream::decoded;

/// What may happen to bytes on their way.
#[derive(Debug, Clone)]
enum Damage {
    Set(Index, u8),
    Insert(Index, Vec<u8>),
    Remove(Index, usize),
    Repeat(Index, usize),
    CutOff(Index),
}

fn damage() -> impl Strategy<Value = Damage> {
    let piece = prop::sample::select(vec![
        &b"\n"[..],
        b"\r",
        b"\n\n",
        b"data: ",
        b"error: {",
        b"{",
        b"}",
        b"[",
        b"]",
        b"\"",
        b"\\",
        b",",
        b":",
        b"null",
        b"0",
        b"[DONE]",
        b"data: [DONE]\n\n",
        b"</think>",
        b"\xff",
        b"\xe2\x82",
        b"\xef\xbb\xbf",
        b"\\ud83d",
    ]);
    prop_oneof![
        (any::<Index>(), any::<u8>()).prop_map(|(at, byte)| Damage::Set(at, byte)),
        (any::<Index>(), piece).prop_map(|(at, piece)| Damage::Insert(at, piece.to_vec())),
        (any::<Index>(), 1..200_usize).prop_map(|(at, len)| Damage::Remove(at, len)),
        (any::<Index>(), 1..400_usize).prop_map(|(at, len)| Damage::Repeat(at, len)),
        any::<Index>().prop_map(Damage::CutOff),
    ]
}

fn damaged(mut bytes: Vec<u8>, damages: &[Damage]) -> Vec<u8> {
    for damage in damages {
        let place = |at: &Index| at.index(bytes.len() + 1);
        match damage {
            Damage::Set(at, byte) => {
                let at = place(at);
                bytes.splice(at..(at + 1).min(bytes.len()).max(at), [*byte]);
            }
            Damage::Insert(at, piece) => {
                let at = place(at);
                bytes.splice(at..at, piece.iter().copied());
            }
            Damage::Remove(at, len) => {
                let at = place(at);
                bytes.drain(at..(at + len).min(bytes.len()));
            }
            Damage::Repeat(at, len) => {
                let at = place(at);
                let again = bytes[at..(at + len).min(bytes.len())].to_vec();
                bytes.splice(at..at, again);
            }
            Damage::CutOff(at) => bytes.truncate(place(at)),
        }
    }
    bytes
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1500))]

    #[test]
    fn i11_damaged_streams_are_survived(
        which in any::<Index>(),
        damages in prop::collection::vec(damage(), 1..8),
        cut in any::<Index>(),
        goes_on in any::<bool>(),
    ) {
        let streams = own();
        let stream = which.get(&streams);
        let bytes = damaged(stream.bytes.clone(), &damages);
        let options = DecodeOptions { run_goes_on: goes_on, ..DecodeOptions::default() };
        let whole = decoded(stream.dialect, options.clone(), std::iter::once(bytes.as_slice()));
        if stream.dialect != "fanlight" {
            assert_lawful(&whole, goes_on, &String::from_utf8_lossy(&bytes));
        }
        let (head, tail) = bytes.split_at(cut.index(bytes.len() + 1));
        prop_assert!(decoded(stream.dialect, options, [head, tail].into_iter()) == whole);
    }

    #[test]
    fn random_bytes_are_survived(bytes in prop::collection::vec(any::<u8>(), 0..600), which in any::<Index>()) {
        let dialects = tested();
        let dialect = which.get(&dialects);
        let once = decoded(dialect, DecodeOptions::default(), std::iter::once(bytes.as_slice()));
        prop_assert!(decoded(dialect, DecodeOptions::default(), bytes.chunks(1)) == once);
    }
}
