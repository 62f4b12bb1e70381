//! Tests of what passes at each level.

use shared::fold::fold;

use super::*;

const EVENTS: &str = r#"{"k":"run.start","run":"r","seq":1,"at":1}
{"k":"part.start","run":"r","part":"p","kind":"text","seq":2,"at":2}
{"k":"part.delta","run":"r","part":"p","off":0,"text":"Hel","seq":3,"at":3}
{"k":"tool.start","run":"r","tool":"t","name":"look","seq":4,"at":4}
{"k":"tool.args","run":"r","tool":"t","off":0,"text":"{}","seq":5,"at":5}
{"k":"tool.call","run":"r","tool":"t","seq":6,"at":6}
{"k":"tool.progress","run":"r","tool":"t","text":"half","at":6}
{"k":"part.delta","run":"r","part":"p","off":3,"text":"lo","seq":7,"at":7}
{"k":"part.end","run":"r","part":"p","seq":8,"at":8}
{"k":"tool.output","run":"r","tool":"t","off":0,"text":"…","seq":9,"at":9}
{"k":"run.end","run":"r","status":"complete","seq":10,"at":10}"#;

fn passed(level: Level) -> Vec<Envelope> {
    let mut filter = Filter::new(level);
    let mut view = View::default();
    let mut passed = Vec::new();
    for line in EVENTS.lines() {
        let envelope = Envelope::parse(line).expect("an event");
        fold(&mut view, &envelope, &mut |_| {});
        passed.extend(filter.pass(envelope, &view));
    }
    passed
}

fn seqs(envelopes: &[Envelope]) -> Vec<Seq> {
    envelopes.iter().map(|envelope| envelope.seq).collect()
}

#[test]
fn deltas_are_everything_as_it_comes() {
    assert_eq!(seqs(&passed(Level::Deltas)), [1, 2, 3, 4, 5, 6, 0, 7, 8, 9, 10]);
}

#[test]
fn critical_leaves_texts_out() {
    assert_eq!(seqs(&passed(Level::Critical)), [1, 2, 4, 6, 8, 10]);
}

#[test]
fn parts_gives_each_text_once_it_is_whole() {
    let passed = passed(Level::Parts);
    assert_eq!(seqs(&passed), [1, 2, 4, 6, 3, 8, 10]);
    assert!(matches!(&passed[3].event.kind, Kind::ToolCall { arguments: Some(text), .. } if text == "{}"));
    assert!(matches!(&passed[4].event.kind, Kind::PartDelta { off: Some(0), text, .. } if text == "Hello"));
}
