//! I11: a decoder gives the same events however its bytes are cut, also inside a character or between `\r` and `\n`.

use proptest::prelude::*;
use proptest::sample::Index;

use crate::streams::{Stream, own, recorded};

/// Streams up to this size are also cut at every byte.
const SMALL_BYTES: usize = 16 << 10;

fn assert_same_in_pieces(stream: &Stream, cuts: &[Index]) {
    let mut places: Vec<_> = cuts.iter().map(|cut| cut.index(stream.bytes.len() + 1)).collect();
    places.sort_unstable();
    let mut begin = 0;
    let pieces = places.into_iter().chain([stream.bytes.len()]).map(|end| {
        let piece = &stream.bytes[begin..end];
        begin = end;
        piece
    });
    assert!(
        stream.decoded_in_pieces(pieces) == stream.decoded(),
        "{} cut by {cuts:?}",
        stream.path.display()
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn i11_fixtures_may_be_cut_anywhere(cuts in prop::collection::vec(any::<Index>(), 1..40)) {
        for stream in own() {
            assert_same_in_pieces(&stream, &cuts);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2))]

    #[test]
    fn i11_recordings_may_be_cut_anywhere(cuts in prop::collection::vec(any::<Index>(), 100..400)) {
        for stream in recorded() {
            assert_same_in_pieces(&stream, &cuts);
        }
    }
}

#[test]
fn i11_small_streams_may_come_byte_by_byte() {
    let small =
        own().into_iter().chain(recorded().into_iter().filter(|stream| stream.bytes.len() <= SMALL_BYTES));
    for stream in small {
        let bytewise = stream.decoded_in_pieces(stream.bytes.chunks(1));
        assert!(bytewise == stream.decoded(), "{} byte by byte", stream.path.display());
    }
}
