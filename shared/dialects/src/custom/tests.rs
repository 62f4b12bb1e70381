//! What users may describe, and what they are told when they err.

use super::UserDialect;
use crate::{DecodeOptions, Decoded};
use model::event::{Kind, RunStatus};
use model::summary::summary;
use model::testkit::{folded, logged};
use serde_json::{Value, json};

fn decoded(yaml: &str, stream: &str, piece: usize) -> Decoded {
    let (mut decoder, mut out) =
        (UserDialect::parse(yaml).unwrap().decoder(DecodeOptions::default()), Decoded::default());
    for bytes in stream.as_bytes().chunks(piece) {
        decoder.feed(bytes, &mut out);
    }
    decoder.end(&mut out);
    out
}

/// The short form of what the stream says, the same however it is cut.
fn told(yaml: &str, stream: &str) -> Value {
    let out = decoded(yaml, stream, usize::MAX);
    assert_eq!(out, decoded(yaml, stream, 1));
    let view = folded(&logged(out.envelopes.into_iter().map(|envelope| envelope.event).collect()));
    serde_json::to_value(summary(&view)).unwrap()
}

const SEED_LIKE: &str = r#"
provider:
  name: "claude-like"
  api_url: "https://example.org/v1/messages"
stream:
  enabled: true
  format: "sse"
  sinks:
    - type: file
      path: "x.jsonl"
  extract:
    text: "$.delta.text"
    reasoning: "$.content_blocks[?type=='thinking']"
    tool_calls: "$.content_blocks[?type=='tool_use']"
    stop_reason: "$.stop_reason"
"#;

#[test]
fn a_description_with_the_usual_names_needs_only_paths() {
    let stream = concat!(
        "data: {\"delta\":{\"text\":\"Let \"}}\n\n",
        "data: {\"delta\":{\"text\":\"me\"}}\n\n",
        "data: {\"content_blocks\":[{\"type\":\"thinking\",\"thinking\":\"Hm\"},{\"type\":\"tool_use\",\"id\":\"c1\",\"name\":\"grep\",\"input\":{\"q\":1}}]}\n\n",
        "data: {\"stop_reason\":\"tool_use\"}\n\n",
    );
    let run = &told(SEED_LIKE, stream)["runs"][0];
    assert_eq!(
        (&run["text"], &run["thinking"], &run["status"]),
        (&json!("Let me"), &json!("Hm"), &json!("complete"))
    );
    let call = &run["tool_calls"][0];
    assert_eq!(
        (&call["id"], &call["name"], &call["arguments"]),
        (&json!("c1"), &json!("grep"), &json!({"q": 1}))
    );
    assert_eq!((&call["state"], &run["finish_reason"]), (&json!("pending"), &json!("tool_use")));
}

/// The block of `language` in the documentation.
fn documented(language: &str) -> &'static str {
    const PAGE: &str = include_str!("../../../../docs/dialects/user-defined.md");
    let (_, rest) = PAGE.split_once(&format!("```{language}\n")).unwrap();
    rest.split_once("```").unwrap().0
}

#[test]
fn the_example_of_the_documentation_works() {
    let summary = told(documented("yaml"), documented("text"));
    let run = &summary["runs"][0];
    assert_eq!(
        (&run["text"], &run["thinking"]),
        (&json!("I ask. It is grey."), &json!("They want the weather."))
    );
    let call = &run["tool_calls"][0];
    assert_eq!((&call["arguments"], &call["result"]), (&json!({"city": "Oslo"}), &json!({"sky": "grey"})));
    assert_eq!((&run["model"], &run["usage"]["output_tokens"]), (&json!("acme-2"), &json!(9)));
    assert_eq!((&run["status"], &run["finish_reason"]), (&json!("complete"), &json!("stop")));
    assert_eq!(summary["anomalies"], json!([]));
}

#[test]
fn calls_may_come_in_pieces_by_their_places() {
    let yaml = r"
provider: {name: pieces}
stream:
  format: ndjson
  extract:
    text: $.choices[*].delta.content
    tool_calls:
      path: $.choices[*].delta.tool_calls[*]
      id: $.id
      index: $.index
      name: $.function.name
      arguments: $.function.arguments
    results: {id: $.call, result: $.gave, error: $.broke}
    usage: $.usage
    errors: $.error
    done: $.done
";
    let stream = concat!(
        "{\"choices\":[{\"delta\":{\"tool_calls\":[{\"index\":0,\"id\":\"a\",\"function\":{\"name\":\"x\",\"arguments\":\"\"}},{\"index\":1,\"id\":\"b\",\"function\":{\"name\":\"y\",\"arguments\":\"{\\\"k\"}}]}}]}\n",
        "noise\n",
        "{\"choices\":[{\"delta\":{\"tool_calls\":[{\"index\":1,\"function\":{\"arguments\":\"\\\":2}\"}}]}}]}\n",
        "{\"call\":\"b\",\"gave\":[1]}\n{\"call\":\"a\",\"broke\":\"no\"}\n{\"unheard\":1}\n",
        "{\"choices\":[{\"delta\":{\"content\":\"Done.\"}}]}\n{\"usage\":{\"prompt_tokens\":3,\"completion_tokens\":4}}\n{\"done\":true}\n",
    );
    let run = &told(yaml, stream)["runs"][0];
    let calls = run["tool_calls"].as_array().unwrap();
    let shown: Vec<_> = calls
        .iter()
        .map(|call| (&call["id"], &call["arguments"], &call["result"], &call["is_error"]))
        .collect();
    assert_eq!(
        shown,
        [
            (&json!("a"), &json!({}), &json!("no"), &json!(true)),
            (&json!("b"), &json!({"k": 2}), &json!([1]), &json!(false)),
        ]
    );
    assert_eq!(
        (&run["text"], &run["status"], &run["usage"]["output_tokens"]),
        (&json!("Done."), &json!("complete"), &json!(4))
    );
}

#[test]
fn what_is_not_described_is_kept_and_failures_are_told() {
    let yaml = "provider: {name: few}\nstream: {format: json, extract: {text: $.t, errors: $.error}}\n";
    let out = decoded(
        yaml,
        "[{\"t\":\"Half\"},{\"new\":1},{\"t\":7},{\"error\":{\"code\":\"overloaded\",\"message\":\"later\"}}]",
        5,
    );
    let kinds: Vec<_> = out.envelopes.iter().map(|envelope| &envelope.event.kind).collect();
    assert_eq!(kinds.iter().filter(|kind| matches!(kind, Kind::Raw { .. })).count(), 2);
    assert!(
        kinds
            .iter()
            .any(|kind| matches!(kind, Kind::Error(error) if error.may_pass() && error.message == "later"))
    );
    assert!(matches!(kinds.last(), Some(Kind::RunEnd(end)) if end.status == RunStatus::Error));
    let cut = decoded(yaml, "{\"t\":\"Half\"}", 5);
    assert!(
        matches!(cut.envelopes.last().map(|e| &e.event.kind), Some(Kind::RunEnd(end)) if end.status == RunStatus::Interrupted)
    );
}

#[test]
fn errors_name_the_line_and_the_key() {
    let error = |yaml: &str| UserDialect::parse(yaml).unwrap_err();
    let bad_path = error("provider:\n  name: x\nstream:\n  extract:\n    text: \"$.a[\"\n");
    assert_eq!((bad_path.line, bad_path.key.as_str()), (5, "text"), "{bad_path}");
    assert!(bad_path.why.contains("JSONPath"), "{bad_path}");
    let unknown = error("provider:\n  name: x\nstream:\n  extract:\n    txet: $.a\n");
    assert_eq!((unknown.line, unknown.key.as_str()), (5, "txet"), "{unknown}");
    let format = error("provider:\n  name: x\nstream:\n  format: xml\n  extract: {}\n");
    assert_eq!((format.line, format.key.as_str()), (4, "format"), "{format}");
    let name = error("provider:\n  name: My Dialect\nstream:\n  extract: {}\n");
    assert_eq!((name.line, name.key.as_str()), (2, "name"), "{name}");
    let nested = error(
        "provider:\n  name: x\nstream:\n  extract:\n    tool_calls:\n      - path: $.a\n        idd: $.b\n",
    );
    assert_eq!((nested.line, nested.key.as_str()), (7, "idd"), "{nested}");
    assert!(error("a: [").to_string().starts_with("line "));
    assert!(error("").why.contains("provider") || !error("").why.is_empty());
}

#[test]
fn i7_a_path_that_is_too_long_or_too_deep_is_refused_by_name() {
    let described = |path: &str| {
        let yaml = format!("provider: {{name: x}}\nstream:\n  extract:\n    text: \"{path}\"\n");
        UserDialect::parse(&yaml).map(|_dialect| ())
    };
    let nested = |depth: usize| format!("$[?{}@.a{}]", "(".repeat(depth), ")".repeat(depth));
    described(&nested(15)).unwrap();
    for path in
        ["$".to_owned() + &"[".repeat(20_000), nested(20_000), nested(17), "$".to_owned() + &".a".repeat(600)]
    {
        let error = described(&path).unwrap_err();
        assert_eq!((error.line, error.key.as_str()), (4, "text"), "{error}");
        assert!(
            error.why.contains("the limit is 1024") || error.why.contains("more than 16 brackets"),
            "{error}"
        );
    }
}
