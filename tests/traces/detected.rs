//! No recording is taken for one of another dialect by its beginning, and each that says something is known.

use std::fmt::Write as _;

use dialects::{Decoded, detect};
use model::event::Kind;

use crate::recordings::recorded;

#[test]
fn recordings_are_known_by_their_beginning() {
    let mut wrong = String::new();
    for stream in recorded() {
        let known = detect(&stream.bytes);
        // The legacy completions API has the same frame.
        let expected = if stream.dialect == "openai-completions" { "openai-chat" } else { stream.dialect };
        // A recording that says nothing in its dialect need not be known, but must not be taken for another.
        let is_right = known == Some(expected) || (known.is_none() && !says_something(&stream.decoded()));
        if !is_right {
            writeln!(wrong, "{} is {expected}, taken for {known:?}", stream.path.display()).unwrap();
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

fn says_something(decoded: &Decoded) -> bool {
    decoded.envelopes.iter().any(|e| matches!(e.event.kind, Kind::PartDelta { .. } | Kind::ToolStart(_)))
}
