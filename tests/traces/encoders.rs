//! The table of docs/dialects/encoders.md: a dialect says something of each fact, or has a dash there. Each row is probed
//! with two runs that differ in that fact alone.

use std::collections::BTreeSet;
use std::path::Path;

use encode::{ENCODINGS, EncodeOptions, encoding};

use crate::seeds::native;

const CALL: &str = r#"{"k":"tool.call","tool":"t","name":"read","arguments":"{}"}
    {"k":"tool.state","tool":"t","state":"executing"}"#;
const RESULT: &str = r#"{"k":"tool.result","tool":"t","output":"seen"}"#;
const END: &str = r#"{"k":"run.end","status":"complete"}"#;
const FAILED: &str = r#"{"k":"error","code":"torn","message":"a wire","retryable":true}"#;
const ASKS: &str = r#"{"k":"approval.request","tool":"t","text":"May I?"}"#;

/// A row, and two runs: without its fact, and with it.
type Probe = (&'static str, [String; 2]);

/// A whole run with these events in it.
fn run(inner: &str) -> String {
    format!("{{\"k\":\"run.start\"}}\n{inner}\n{END}")
}

fn part(kind: &str, text: &str) -> String {
    format!(
        "{{\"k\":\"part.start\",\"part\":\"p\",\"kind\":\"{kind}\"}}\n\
         {{\"k\":\"part.delta\",\"part\":\"p\",\"text\":\"{text}\"}}\n{{\"k\":\"part.end\",\"part\":\"p\"}}"
    )
}

fn call(rest: &str) -> String {
    run(&format!("{CALL}\n{rest}"))
}

/// Nothing comes of the call, and its run is interrupted.
fn waits(rest: &str) -> String {
    let begun = r#"{"k":"run.start"}
        {"k":"tool.call","tool":"t","name":"read","arguments":"{}"}"#;
    format!("{begun}\n{rest}\n{{\"k\":\"run.end\",\"status\":\"interrupted\"}}")
}

fn ended(status: &str) -> String {
    run(&part("text", "Hm")).replace("complete", status)
}

fn spent() -> String {
    let usage = "\"complete\",\"usage\":{\"input_tokens\":7,\"output_tokens\":3}";
    run(&part("text", "Hm")).replace("\"complete\"", usage)
}

/// The result comes behind the run that left the call to its reader, and before the next run.
fn late(result: &str) -> String {
    let begun = r#"{"k":"run.start"}
        {"k":"tool.call","tool":"t","name":"read","arguments":"{}"}
        {"k":"run.end","status":"complete","finish_reason":"tool_calls"}"#;
    let next = r#"{"run":"q","k":"run.start"}
        {"run":"q","k":"run.end","status":"complete"}"#;
    format!("{begun}\n{result}\n{next}")
}

fn added(line: &str) -> [String; 2] {
    [run(""), run(line)]
}

fn of_texts_and_calls() -> Vec<Probe> {
    let progress = r#"{"k":"tool.progress","tool":"t","text":"half","current":1,"total":2}"#;
    let printed = r#"{"k":"tool.output","tool":"t","text":"printed"}"#;
    vec![
        ("text", added(&part("text", "Hm"))),
        ("thinking", added(&part("thinking", "Hm"))),
        ("refusal", added(&part("refusal", "No"))),
        ("files", added(&part("file", "data:image/png;base64,AAAA"))),
        ("calls: name", [call(RESULT), call(RESULT).replace("read", "write")]),
        ("arguments", [call(RESULT), call(RESULT).replace(r#""{}""#, r#""{\"a\":1}""#)]),
        ("results", [call(""), call(RESULT)]),
        ("a result is an error", [call(RESULT), call(&RESULT.replace('}', ",\"is_error\":true}"))]),
        ("results after the end of the run", [late(""), late(RESULT)]),
        ("progress of calls", [call(RESULT), call(&format!("{progress}\n{RESULT}"))]),
        ("printed output of calls", [call(RESULT), call(&format!("{printed}\n{RESULT}"))]),
        ("durations of calls", [call(RESULT), call(&RESULT.replace('}', ",\"exec_ms\":1234}"))]),
    ]
}

fn of_consent() -> Vec<Probe> {
    let state = r#"{"k":"tool.state","tool":"t","state":"approval"}"#;
    let cancelled = r#"{"k":"tool.state","tool":"t","state":"cancelled"}"#;
    let no = r#"{"k":"approval.answer","tool":"t","approved":false,"text":"No"}"#;
    vec![
        ("approval asked", [waits(""), waits(ASKS)]),
        ("approval asked", [waits(""), waits(ASKS)].map(|run| run.replace("interrupted", "complete"))),
        ("approval asked", [waits(""), waits(&format!("{state}\n{ASKS}"))]),
        ("approved or rejected", [waits(ASKS), waits(&format!("{ASKS}\n{no}"))]),
        (
            "approved or rejected",
            [call(&format!("{ASKS}\n{cancelled}")), call(&format!("{ASKS}\n{no}\n{cancelled}"))],
        ),
    ]
}

fn of_the_rest() -> Vec<Probe> {
    let agent = r#"{"k":"agent.start","agent":"a","name":"helper"}
        {"k":"agent.end","agent":"a","status":"complete"}"#;
    let message = r#"{"k":"message","run":"","message":"m","role":"user","text":"Hello"}"#;
    let said = part("text", "Hm");
    let named = spent().replace("\"run.start\"", "\"run.start\",\"model\":\"m-1\"");
    let error =
        format!("{{\"k\":\"run.start\"}}\n{said}\n{FAILED}\n{{\"k\":\"run.end\",\"status\":\"error\"}}");
    let second = ended("complete").replace("{\"k\"", "{\"run\":\"q\",\"k\"");
    vec![
        ("sub-agents", added(agent)),
        ("status lines", added(r#"{"k":"status","text":"Reading"}"#)),
        ("failures on the way", [run(&said), run(&format!("{FAILED}\n{said}"))]),
        ("custom events, state", added(r#"{"k":"custom","name":"weather","value":{"sky":"grey"}}"#)),
        ("raw events", added(r#"{"k":"raw","name":"odd","value":{"a":1}}"#)),
        ("messages of the history", added(message)),
        ("model", [spent(), named]),
        ("usage", [run(&said), spent()]),
        ("run failed", [ended("complete"), error]),
        ("run cancelled", [ended("complete"), ended("cancelled")]),
        ("run broke off", [ended("complete"), ended("interrupted")]),
        ("several runs", [ended("complete"), format!("{}\n{second}", ended("complete"))]),
    ]
}

/// What the encoder of `dialect` says of `lines`, in all modes that it has.
fn told(dialect: &str, lines: &str) -> Vec<u8> {
    let encoding = encoding(dialect).unwrap();
    let modes = encoding.modes.iter().map(|mode| (*mode).into()).collect();
    let options = EncodeOptions { conversation: "c".into(), modes, ..EncodeOptions::default() };
    let (mut encoder, mut out) = (encoding.encoder(&options), Vec::new());
    for envelope in native(lines) {
        encoder.event(&envelope, &mut out);
    }
    encoder.end(&mut out);
    out
}

#[test]
fn the_table_of_encoders_says_what_each_of_them_tells() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/dialects/encoders.md");
    let page = std::fs::read_to_string(page).unwrap();
    let cells = |line: &str| -> Vec<String> {
        line.trim_matches('|').split('|').map(|cell| cell.trim().to_owned()).collect()
    };
    let table: Vec<_> = page.lines().filter(|line| line.starts_with('|')).map(cells).collect();
    let [head, _, rows @ ..] = &table[..] else { panic!("no table") };
    let mut known: Vec<_> = ENCODINGS.iter().map(|encoding| encoding.name).collect();
    let mut columns: Vec<_> = head.iter().skip(1).map(String::as_str).collect();
    known.sort_unstable();
    columns.sort_unstable();
    assert_eq!(columns, known, "the columns are the encoders");
    // A dialect tells a fact where it tells the runs of one of its pairs apart.
    let probes = [of_texts_and_calls(), of_consent(), of_the_rest()].concat();
    let named: BTreeSet<_> = rows.iter().map(|row| row[0].as_str()).collect();
    let probed: BTreeSet<_> = probes.iter().map(|(name, _)| *name).collect();
    assert_eq!(named, probed, "each row has its probes");
    let mut wrong = Vec::new();
    for row in rows {
        let pairs: Vec<_> = probes.iter().filter(|(name, _)| *name == row[0]).map(|(_, pair)| pair).collect();
        for (dialect, cell) in head.iter().zip(row).skip(1) {
            let tells = pairs.iter().any(|[without, with]| told(dialect, without) != told(dialect, with));
            if tells == (cell == "–") {
                let what = if tells { "tells it, and has a dash" } else { "does not tell it" };
                wrong.push(format!("{}: {dialect} {what}", row[0]));
            }
        }
    }
    assert_eq!(wrong, Vec::<String>::new());
}
