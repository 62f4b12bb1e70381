//! Tests of deltas.

use model::Envelope;
use model::View;
use model::fold::{complete, fold, mismatch};

use super::*;
use crate::marks::tests::redactor;

fn envelopes(lines: &[&str]) -> Vec<Envelope> {
    lines.iter().map(|line| Envelope::received(line).unwrap()).collect()
}

/// The view after `lines`, each published alone.
fn folded(lines: &[&str]) -> (View, Vec<String>) {
    let redactor = redactor();
    let mut streams = EventStreams::default();
    let mut view = View::default();
    let mut all = Vec::new();
    for line in lines {
        let mut events = envelopes(&[line]);
        for envelope in &mut events {
            redactor.event(&mut envelope.event);
        }
        streams.take(&redactor, &mut events);
        for mut envelope in events {
            assert_eq!(mismatch(&view, &envelope.event), None, "{line}");
            envelope.seq = view.seq + 1;
            complete(&view, &mut envelope.event);
            all.push(serde_json::to_string(&envelope).unwrap());
            fold(&mut view, &envelope, &mut |_| {});
        }
    }
    assert!(!streams.is_holding());
    (view, all)
}

#[test]
fn deltas_stay_whole_with_offsets_and_hashes_of_what_was_said() {
    let key = "a1B2c3D4e5F6g7H8i9J0k1L2";
    let text = format!("it is sk-proj-{key} ok");
    let mut lines = vec![
        r#"{"k":"run.start","run":"r"}"#.to_owned(),
        r#"{"k":"part.start","run":"r","part":"p","kind":"text"}"#.to_owned(),
    ];
    let mut off = 0;
    let (one, rest) = text.split_at(9);
    let (two, rest) = rest.split_at(11);
    let (three, four) = rest.split_at(17);
    for piece in [one, two, three, four] {
        lines.push(format!(r#"{{"k":"part.delta","run":"r","part":"p","off":{off},"text":"{piece}"}}"#));
        off += piece.len();
    }
    let hash = "0123456789abcdef";
    lines.push(format!(r#"{{"k":"part.end","run":"r","part":"p","len":{off},"hash":"{hash}"}}"#));
    lines.push(r#"{"k":"run.end","run":"r","status":"complete"}"#.to_owned());
    let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
    let (view, all) = folded(&lines);
    assert_eq!(view.anomalies.total, 0, "{all:#?}");
    let body = view.runs.values().next().unwrap().parts.values().next().unwrap().body.text.to_string();
    assert!(body.starts_with("it is sk-[redacted:openai-key:") && body.ends_with("] ok"), "{body}");
    assert!(!all.concat().contains("c3D4"), "{all:#?}");
}

#[test]
fn what_is_held_at_the_end_of_a_part_comes_before_the_end() {
    for end in
        [r#"{"k":"part.end","run":"r","part":"p"}"#, r#"{"k":"run.end","run":"r","status":"complete"}"#]
    {
        let (view, _) = folded(&[
            r#"{"k":"run.start","run":"r"}"#,
            r#"{"k":"part.start","run":"r","part":"p","kind":"text"}"#,
            r#"{"k":"part.delta","run":"r","part":"p","text":"see sk-lea"}"#,
            end,
        ]);
        let body = view.runs.values().next().unwrap().parts.values().next().unwrap().body.text.to_string();
        assert_eq!(body, "see sk-lea");
        assert_eq!(view.anomalies.total, 0);
    }
}

#[test]
fn a_part_that_is_replaced_is_looked_at_anew() {
    let (view, all) = folded(&[
        r#"{"k":"run.start","run":"r"}"#,
        r#"{"k":"part.start","run":"r","part":"p","kind":"text"}"#,
        r#"{"k":"part.delta","run":"r","part":"p","text":"see sk-proj-a1"}"#,
        r#"{"k":"part.replace","run":"r","part":"p","text":"see sk-proj-a1B2c3D4e5F6g7"}"#,
        r#"{"k":"part.delta","run":"r","part":"p","off":26,"text":"H8i9J0k1L2 "}"#,
        r#"{"k":"run.end","run":"r","status":"complete"}"#,
    ]);
    assert!(!all.concat().contains("a1B2") && !all.concat().contains("H8i9"), "{all:#?}");
    assert_eq!(view.anomalies.total, 0, "{all:#?}");
}

#[test]
fn arguments_and_outputs_are_texts_of_their_own() {
    let (_, all) = folded(&[
        r#"{"k":"run.start","run":"r"}"#,
        r#"{"k":"part.start","run":"r","part":"p","kind":"text"}"#,
        r#"{"k":"tool.start","run":"r","tool":"t","name":"n"}"#,
        r#"{"k":"tool.args","run":"r","tool":"t","text":"{\"k\":\"ghp_a1B2c3D4e5F6"}"#,
        r#"{"k":"part.delta","run":"r","part":"p","text":"between"}"#,
        r#"{"k":"tool.args","run":"r","tool":"t","text":"g7H8i9J0k1L2m3N4o5P6q7R8\"}"}"#,
        r#"{"k":"tool.call","run":"r","tool":"t"}"#,
        r#"{"k":"tool.output","run":"r","tool":"t","text":"out: AKIAABCDEFGH"}"#,
        r#"{"k":"tool.output","run":"r","tool":"t","text":"IJKLMNOP"}"#,
        r#"{"k":"tool.result","run":"r","tool":"t","output":"4111 1111 1111 1111"}"#,
        r#"{"k":"run.end","run":"r","status":"complete"}"#,
    ]);
    let all = all.concat();
    for left in ["a1B2", "i9J0", "ABCDEFGH", "IJKL", "1111"] {
        assert!(!all.contains(left), "{left} in {all}");
    }
    for mark in ["github-token", "aws-access-key", "card"] {
        assert!(all.contains(&format!("[redacted:{mark}:")), "{all}");
    }
}

#[test]
fn i7_the_number_of_texts_is_bounded() {
    let redactor = redactor();
    let mut streams = EventStreams::default();
    for number in 0..2 * OPEN_TEXTS_MAX {
        let line = format!(r#"{{"k":"part.delta","run":"r","part":"p{number}","text":"sk-proj-a1b2"}}"#);
        let mut events = envelopes(&[&line]);
        streams.take(&redactor, &mut events);
        assert!(!serde_json::to_string(&events).unwrap().contains("a1b2"));
        assert!(streams.open.len() <= OPEN_TEXTS_MAX);
    }
}
