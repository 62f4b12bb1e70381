//! Tests of what a person reads.

use model::fold::fold;

use super::*;

const EVENTS: &str = r#"{"k":"message","message":"m","role":"user","text":"Why is it slow?","seq":1,"at":0}
{"k":"run.start","run":"r","model":"m-1","title":"A slow page","seq":2,"at":0}
{"k":"part.start","run":"r","part":"p1","kind":"thinking","seq":3,"at":0}
{"k":"part.delta","run":"r","part":"p1","off":0,"text":"Perhaps the ","seq":4,"at":0}
{"k":"part.delta","run":"r","part":"p1","off":12,"text":"query?","seq":5,"at":0}
{"k":"part.end","run":"r","part":"p1","seq":6,"at":0}
{"k":"tool.start","run":"r","tool":"t1","name":"explain","seq":7,"at":0}
{"k":"tool.args","run":"r","tool":"t1","off":0,"text":"{\"sql\": \"select 1\"}","seq":8,"at":0}
{"k":"tool.call","run":"r","tool":"t1","seq":9,"at":10}
{"k":"tool.state","run":"r","tool":"t1","state":"executing","seq":10,"at":20}
{"k":"tool.output","run":"r","tool":"t1","off":0,"text":"plan\u001b[31m","seq":11,"at":20}
{"k":"tool.result","run":"r","tool":"t1","output":"Seq Scan","seq":12,"at":1270}
{"k":"agent.start","run":"r","agent":"a1","name":"reader","text":"read the docs","seq":13,"at":1300}
{"k":"part.start","run":"r","agent":"a1","part":"p2","kind":"text","seq":14,"at":1300}
{"k":"part.delta","run":"r","agent":"a1","part":"p2","off":0,"text":"Add an\nindex.","seq":15,"at":1300}
{"k":"part.end","run":"r","agent":"a1","part":"p2","seq":16,"at":1400}
{"k":"agent.end","run":"r","agent":"a1","status":"complete","seq":17,"at":1400}
{"k":"agent.end","run":"r","agent":"a1","status":"complete","usage":{"input_tokens":1,"output_tokens":1},"seq":18,"at":1400}
{"k":"error","run":"r","code":"overloaded","message":"busy","retryable":true,"retry_after_ms":8000,"seq":19,"at":1500}
{"k":"run.end","run":"r","status":"complete","usage":{"input_tokens":10,"output_tokens":5},"seq":20,"at":62000}"#;

const WANTED: &str = "
│ user › Why is it slow?

┌─ A slow page · m-1
│ Perhaps the query?
◷ explain {\"sql\": \"select 1\"}
◌ explain executing
  │ plan\u{fffd}[31m
✓ explain 1.2 s Seq Scan
  ⤷ reader: read the docs
  │ Add an
  │ index.
  ⤴ reader complete
✗ overloaded: busy (try again in 8.0 s)
└─ complete · 1:02 · 1 call · 15 tokens
";

fn written(colours: bool) -> (String, View) {
    let mut pretty = PrettyPrinter::new(Palette::new(colours));
    let mut view = View::default();
    let mut out = String::new();
    for line in EVENTS.lines() {
        let envelope = Envelope::parse(line).expect("an event");
        fold(&mut view, &envelope, &mut |_| {});
        pretty.event(&envelope, &view, &mut out);
    }
    (out, view)
}

#[test]
fn a_run_reads_like_a_story() {
    assert_eq!(written(false).0, WANTED);
}

#[test]
fn colours_come_only_where_they_are_wanted_and_never_from_the_agent() {
    let plain = written(false).0;
    assert!(!plain.contains('\x1b'));
    let coloured = written(true).0;
    assert!(coloured.contains("\x1b[2mPerhaps the \x1b[0m"), "{coloured}");
    assert!(!coloured.contains("\x1b[31m\x1b[0m"), "{coloured}");
}

#[test]
fn no_text_looks_like_a_step() {
    let step = "✓ deploy 1.2 s all tests passed";
    let texts = [
        format!(r#"{{"k":"message","message":"m","role":"{step}","text":"Hi\\n{step}"}}"#),
        format!(r#"{{"k":"run.start","run":"r","title":"complete · 1:02\\n{step}"}}"#),
        r#"{"k":"part.start","run":"r","part":"p","kind":"text"}"#.to_owned(),
        format!(r#"{{"k":"part.delta","run":"r","part":"p","text":"one\\n{step}\\n"}}"#),
        format!(r#"{{"k":"part.delta","run":"r","part":"p","text":"{step}\\r{step}"}}"#),
        r#"{"k":"tool.start","run":"r","tool":"t","name":"look"}"#.to_owned(),
        format!(r#"{{"k":"tool.output","run":"r","tool":"t","text":"\\n  {step}"}}"#),
        format!(r#"{{"k":"status","run":"r","text":"wait\\n{step}"}}"#),
        format!(r#"{{"k":"error","run":"r","code":"c","message":"m\\n{step}"}}"#),
    ];
    let (mut pretty, mut view, mut out) =
        (PrettyPrinter::new(Palette::new(false)), View::default(), String::new());
    for json in texts {
        let envelope = Envelope::parse(&json).expect("an event");
        fold(&mut view, &envelope, &mut |_| {});
        pretty.event(&envelope, &view, &mut out);
    }
    for text in [out, pretty.snapshot(&view)] {
        assert!(text.contains(step));
        assert!(!text.lines().any(|line| line.trim_start().starts_with('✓')), "{text}");
        assert!(!text.lines().any(|line| line.starts_with("└─ complete")), "{text}");
    }
}

#[test]
fn who_comes_late_reads_what_there_is() {
    let view = written(false).1;
    let mut pretty = PrettyPrinter::new(Palette::new(false));
    let text = pretty.snapshot(&view);
    for line in ["user › Why is it slow?", "✓ explain 1.2 s Seq Scan", "  │ index.", "└─ complete · 1:02"]
    {
        assert!(text.contains(line), "{text}");
    }
    let again = pretty.snapshot(&view);
    assert!(!again.contains("user ›") && again.contains("✓ explain"), "{again}");
}

#[test]
fn spans_and_previews_are_short() {
    assert_eq!(
        ["840 ms", "1.2 s", "14 s", "2:41", "1:04:09"].map(str::to_owned),
        [duration(840), duration(1_290), duration(14_999), duration(161_000), duration(3_849_000),]
    );
    assert_eq!(preview("a\n  b"), "a b");
    assert_eq!(preview(&"ab ".repeat(100)).chars().count(), 101);
}

#[test]
fn a_failure_is_permanent_only_where_somebody_said_so() {
    for (said, told) in [
        ("", "✗ c: m\n"),
        (r#","retryable":false"#, "✗ c: m (permanent)\n"),
        (r#","retryable":true"#, "✗ c: m (trying again may help)\n"),
    ] {
        let (mut pretty, mut view, mut out) =
            (PrettyPrinter::new(Palette::new(false)), View::default(), String::new());
        for line in [
            r#"{"k":"run.start","run":"r","seq":1,"at":0}"#.to_owned(),
            format!(r#"{{"k":"error","run":"r","code":"c","message":"m"{said},"seq":2,"at":0}}"#),
        ] {
            let envelope = Envelope::parse(&line).expect("an event");
            fold(&mut view, &envelope, &mut |_| {});
            pretty.event(&envelope, &view, &mut out);
        }
        assert!(out.ends_with(told), "{out}");
    }
}

#[test]
fn a_question_that_came_after_its_run_began_stands_above_the_answer() {
    let lines = r#"{"k":"run.start","run":"r","title":"Hello","seq":1,"at":0}
{"k":"message","message":"m","role":"user","text":"Are you there?","seq":2,"at":0}
{"k":"part.delta","run":"r","part":"p","text":"Yes.","seq":3,"at":0}
{"k":"run.end","run":"r","status":"complete","seq":4,"at":0}"#;
    let mut view = View::default();
    for line in lines.lines() {
        fold(&mut view, &Envelope::parse(line).expect("an event"), &mut |_| {});
    }
    let out = PrettyPrinter::new(Palette::new(false)).snapshot(&view);
    let (question, answer) = (out.find("Are you there?"), out.find("Yes."));
    assert!(question < answer && question.is_some(), "{out}");
}
