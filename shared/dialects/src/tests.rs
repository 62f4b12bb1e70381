//! The table of decoders.

use super::DECODERS;

#[test]
fn dialects_have_a_decoder_each_in_the_order_of_their_names() {
    let names: Vec<&str> = DECODERS.iter().map(|(name, _)| *name).collect();
    assert_eq!(names, model::dialect::DECODED);
}
