//! What a browser takes, and what it has already.

use super::*;

fn taken(accepted: &str) -> Vec<&'static str> {
    packings(accepted).map(Packing::word).collect()
}

#[test]
fn the_smallest_form_that_is_taken_comes_first() {
    assert_eq!(taken("gzip, deflate, br, zstd"), ["br", "gzip"]);
    assert_eq!(taken("gzip"), ["gzip"]);
    assert_eq!(taken("GZIP;q=0.5 , BR ; q=0.1"), ["br", "gzip"]);
    assert_eq!(taken("*"), ["br", "gzip"]);
    assert_eq!(taken("br;q=0, *;q=0.2"), ["gzip"]);
    for nothing in ["", "identity", "br;q=0", "gzip;q=0.0, *;q=0", "brotli", "br;q=nonsense"] {
        assert_eq!(taken(nothing), Vec::<&str>::new(), "{nothing}");
    }
}

#[test]
fn a_tag_is_known_among_others_and_when_it_was_weakened() {
    for tags in ["\"a\"", "\"b\", \"a\"", "W/\"a\"", "*"] {
        assert!(is_known(tags, "\"a\""), "{tags}");
    }
    assert!(!is_known("", "\"a\"") && !is_known("\"ab\"", "\"a\""));
}

#[test]
fn names_with_a_hash_are_kept_for_ever() {
    for path in ["page-692bf45c8a372e47.js", "fanlight-3f2a2c8565dde716_bg.wasm"] {
        assert!(kept(path).contains("immutable"), "{path}");
    }
    for path in ["index.html", "favicon.svg", "page-of-tests.js"] {
        assert_eq!(kept(path), "no-cache", "{path}");
    }
}
