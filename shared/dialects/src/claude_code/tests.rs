//! Bounds of the decoder. What streams mean is tested on fixtures, in the package `tests`.

use super::seen::SeenLines;

#[test]
fn what_came_before_is_known_and_what_came_long_before_is_forgotten() {
    let mut seen = SeenLines::default();
    assert!(!seen.again(&["a", "b"]));
    assert!(seen.again(&["a", "b"]));
    assert!(!seen.again(&["ab", ""]));
    for number in 0..100_000 {
        assert!(!seen.again(&[&number.to_string()]));
    }
    assert!(seen.again(&["99999"]));
    assert!(!seen.again(&["a", "b"]));
}
