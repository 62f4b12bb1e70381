//! I11: a decoder gives the same events however its bytes are cut, also inside a character or between `\r` and `\n`.

use proptest::prelude::*;
use proptest::sample::Index;

use crate::own::own;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn i11_fixtures_may_be_cut_anywhere(cuts in prop::collection::vec(any::<Index>(), 1..40)) {
        for stream in own() {
            stream.assert_same_in_pieces(&cuts);
        }
    }
}

#[test]
fn i11_fixtures_may_come_byte_by_byte() {
    for stream in own() {
        stream.assert_same_byte_by_byte();
    }
}
