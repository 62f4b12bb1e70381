//! The law of pieces.

use proptest::prelude::*;

use super::*;
use crate::testkit::{folded, history};

proptest! {
    /// I4: whatever the size of the pieces, together they are the state, byte for byte.
    #[test]
    fn i4_pieces_joined_are_the_whole(history in history(0..120), max in 1_usize..6_000) {
        let view = folded(&history);
        let pieces = pieces(&view, max);
        let mut views = pieces.iter().map(|piece| decode(piece).unwrap());
        let mut joined = views.next().unwrap();
        views.for_each(|next| join(&mut joined, next));
        prop_assert_eq!(encode(&joined), encode(&view));
        let whole = encode(&view).len();
        prop_assert_eq!(pieces.len() == 1, whole <= max || view.items.len() < 2 || pieces[0].len() == whole);
    }
}
