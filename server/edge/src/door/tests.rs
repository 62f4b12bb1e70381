//! Tests of the tables of doors.

use encode::encoding;

use super::*;

/// The dialect in which a door answers. It has the door's name, but for OpenAI's, which has two APIs.
fn dialect(door: &str) -> &str {
    if door == "openai" { "openai-chat" } else { door }
}

#[test]
fn each_door_has_an_encoder_of_its_dialect() {
    let bare: Vec<_> = DOORS.into_iter().filter(|door| encoding(dialect(door)).is_none()).collect();
    assert!(bare.is_empty(), "not in `encode::ENCODINGS`, so each request would fail: {bare:?}");
}

#[test]
fn doors_without_names_of_agents_are_doors() {
    assert!(DOORS_WITHOUT_AGENT_NAME.iter().all(|door| DOORS.contains(door)));
}
