//! Laws of pieces.

use proptest::prelude::*;

use super::*;

proptest! {
    #[test]
    fn pieces_and_rest_are_the_text_at_every_step(deltas in prop::collection::vec("[a-z é🙂\n]{0,900}", 0..20)) {
        let (mut text, mut shown, mut plain) = (String::new(), String::new(), Plain::default());
        for delta in deltas {
            text.push_str(&delta);
            let pieces = plain.advance(&text);
            prop_assert!(!pieces.restart);
            prop_assert!(pieces.rest.len() <= PIECE_BYTES_MAX);
            pieces.done.iter().for_each(|piece| shown.push_str(piece));
            prop_assert_eq!(format!("{shown}{}", pieces.rest), text.clone());
        }
    }
}

#[test]
fn a_text_without_spaces_is_cut_all_the_same() {
    let text = "é".repeat(5000);
    let mut plain = Plain::default();
    let pieces = plain.advance(&text);
    assert!(!pieces.done.is_empty());
    assert_eq!(format!("{}{}", pieces.done.concat(), pieces.rest), text);
    assert!(plain.advance("short").restart);
}
