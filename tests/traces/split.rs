//! I11: a decoder gives the same events however its bytes are cut, also inside a character or between `\r` and `\n`.

use proptest::prelude::*;
use proptest::sample::Index;

use crate::recordings::recorded;

/// Recordings up to this size are also cut at every byte.
const SMALL_BYTES: usize = 16 << 10;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2))]

    #[test]
    fn i11_recordings_may_be_cut_anywhere(cuts in prop::collection::vec(any::<Index>(), 100..400)) {
        for stream in recorded() {
            stream.assert_same_in_pieces(&cuts);
        }
    }
}

#[test]
fn i11_small_recordings_may_come_byte_by_byte() {
    for stream in recorded().into_iter().filter(|stream| stream.bytes.len() <= SMALL_BYTES) {
        stream.assert_same_byte_by_byte();
    }
}
