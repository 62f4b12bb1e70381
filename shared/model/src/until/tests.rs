//! Tests of waiting.

use super::*;
use crate::fold::fold;
use crate::testkit::{events, logged};

const STORY: &str = r#"
    {"k":"run.start","run":"r"}
    {"k":"part.start","run":"r","part":"t","kind":"thinking"}
    {"k":"part.delta","run":"r","part":"t","text":"good morning"}
    {"k":"part.delta","run":"r","part":"p","text":"good mor"}
    {"k":"part.delta","run":"r","part":"p","text":"ning é"}
    {"k":"tool.start","run":"r","tool":"t1","name":"look"}
    {"k":"approval.request","run":"r","tool":"t1"}
    {"k":"approval.answer","run":"r","tool":"t1","approved":true}
    {"k":"tool.result","run":"r","tool":"t1","output":1}
    {"k":"error","run":"r","code":"e","message":"m"}
    {"k":"run.end","run":"r","status":"complete"}"#;

/// The seq at which it happens first, when a look is taken after every event.
fn met(words: &str, run: Option<&str>) -> Option<Seq> {
    let mut watch = UntilWatch::new(words.parse().unwrap(), run.map(RunId::new));
    let mut view = View::default();
    logged(events(STORY)).iter().find_map(|envelope| {
        fold(&mut view, envelope, &mut |_| {});
        watch.is_met(&view).then_some(view.seq)
    })
}

#[test]
fn each_thing_is_seen_when_it_happens() {
    let cases = [
        ("run.end", 11),
        ("approval", 7),
        ("error", 10),
        ("tool:look", 9),
        ("text:good morning", 5),
        ("text:é", 5),
        ("seq:4", 4),
    ];
    for (words, seq) in cases {
        assert_eq!(met(words, None), Some(seq), "{words}");
        assert_eq!(met(words, Some("r")), Some(seq), "{words}");
    }
    assert_eq!(met("text:good evening", None), None);
    assert_eq!(met("run.end", Some("another")), None);
}

#[test]
fn other_words_are_refused_by_name() {
    for words in ["", "run", "tool:", "text:", "seq:x", "seq:-1", "lunch:now"] {
        assert!(Until::from_str(words).unwrap_err().to_string().contains("run.end, approval"), "{words}");
    }
}
