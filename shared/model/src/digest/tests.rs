//! The name of a text is that of every other program that computes it.

use super::*;

#[test]
fn a_digest_is_the_first_half_of_sha_256() {
    assert_eq!(digest(""), "e3b0c44298fc1c149afbf4c8996fb924");
    assert_eq!(digest(r#"{"to":"prod"}"#).len(), 32);
    assert_ne!(digest("a"), digest("b"));
}
