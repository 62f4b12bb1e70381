//! The dialect of a stream is detected from its beginning.

use dialects::detect;

use crate::own::{fixtures, tested};

#[test]
fn the_fixtures_of_each_dialect_are_detected_and_none_is_taken_for_another() {
    for stream in tested().into_iter().flat_map(fixtures) {
        let found = detect(&stream.bytes);
        // Both names stand for one decoder.
        let known = if stream.dialect == "openai-completions" { "openai-chat" } else { stream.dialect };
        // An odd stream, such as the page of an error, may say too little.
        let is_odd = stream.path.parent().is_some_and(|folder| folder.ends_with("odd"));
        let is_right = found == Some(known) || (is_odd && found.is_none());
        assert!(is_right, "{} {} is taken for {found:?}", stream.dialect, stream.name());
    }
}
