//! What an outline has, and that it is bounded.

use model::{Envelope, fold::fold};

use super::*;

#[test]
fn headings_are_lines_with_marks_outside_of_code() {
    let text = "# One\ntext\n## **Two** ##\n```sh\n# a comment\n```\n    # code\n#none\n####### none\n  ### Three\n~~~\n```\n# x\n~~~\n###### Six";
    assert_eq!(headings(text), [(1, "One"), (2, "**Two**"), (3, "Three"), (6, "Six")]);
    assert_eq!(letters("**Two** 2: ü"), "Two2ü");
}

fn take(view: &mut View, line: &str) {
    let mut envelope = Envelope::parse(line).unwrap();
    envelope.seq = view.seq + 1;
    fold(view, &envelope, &mut |_| {});
}

#[test]
fn questions_headings_and_failures_stand_in_the_order_of_the_conversation() {
    let mut view = View::default();
    for line in [
        r#"{"k":"message","message":"m","role":"user","text":"Why\nso slow?"}"#,
        r#"{"k":"message","message":"s","role":"system","text":"no question"}"#,
        r#"{"k":"run.start","run":"r"}"#,
        r#"{"k":"part.start","run":"r","part":"t","kind":"thinking"}"#,
        r##"{"k":"part.delta","run":"r","part":"t","text":"# no heading"}"##,
        r#"{"k":"tool.call","run":"r","tool":"c","name":"sql","arguments":"{}"}"#,
        r#"{"k":"tool.result","run":"r","tool":"c","output":"no such\ntable","is_error":true}"#,
        r#"{"k":"part.start","run":"r","part":"p","kind":"text"}"#,
        r##"{"k":"part.delta","run":"r","part":"p","text":"# Found\ntext\n## Cause\n"}"##,
        r#"{"k":"error","run":"r","code":"timeout","message":"it took too long"}"#,
        r#"{"k":"run.end","run":"r","status":"error"}"#,
    ] {
        take(&mut view, line);
    }
    let outline = outline(&view);
    let said: Vec<(EntryKind, &str, usize)> =
        outline.entries.iter().map(|entry| (entry.kind, entry.text.as_str(), entry.number)).collect();
    let expected = [
        (EntryKind::Question, "Why so slow?", 0),
        (EntryKind::FailedCall, "sql: no such table", 0),
        (EntryKind::Heading(1), "Found", 0),
        (EntryKind::Heading(2), "Cause", 1),
        (EntryKind::FailedRun, "The run failed: it took too long", 0),
    ];
    assert_eq!(said, expected);
    for n in 0..ENTRIES_MAX {
        take(&mut view, &format!(r#"{{"k":"message","message":"n{n}","role":"user","text":"{n}"}}"#));
    }
    let outline = super::outline(&view);
    assert_eq!((outline.entries.len(), outline.left_out), (ENTRIES_MAX, 5));
}
