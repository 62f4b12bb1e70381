//! Tests of the names; sinks as a whole are tested with real hubs.

use model::wildcard::matches;

#[test]
fn a_star_stands_for_anything() {
    for (pattern, name, expected) in [
        ("*", "", true),
        ("*", "anything at all", true),
        ("nightly-*", "nightly-import", true),
        ("nightly-*", "weekly-nightly-", false),
        ("*-import", "nightly-import", true),
        ("a*b*c", "a1b2b3c", true),
        ("a*b*c", "acb", false),
        ("a*a", "a", false),
        ("exact", "exact", true),
        ("exact", "exactly", false),
        ("", "", true),
        ("", "x", false),
        ("**", "x", true),
        ("*ü*", "grün", true),
    ] {
        assert_eq!(matches(pattern, name), expected, "{pattern} {name}");
    }
}
