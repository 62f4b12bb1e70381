//! What comes out folds to what the hub would have.

use dialects::recording::RecordingReader;
use model::envelope::Envelope;
use model::recording::DecodedRecording;

use super::*;

const STREAM: &str = concat!(
    "event: message_start\n",
    r#"data: {"type":"message_start","message":{"id":"m","role":"assistant","model":"x","content":[],"usage":{"input_tokens":3,"output_tokens":0}}}"#,
    "\n\nevent: content_block_start\n",
    r#"data: {"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"t","name":"look","input":{}}}"#,
    "\n\nevent: content_block_delta\n",
    r#"data: {"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":"{\"q\":\"größer\"}"}}"#,
    "\n\nevent: content_block_stop\ndata: {\"type\":\"content_block_stop\",\"index\":0}\n\nnonsense\n\n",
);

#[test]
fn i6_events_that_went_through_lines_fold_to_the_same_view() {
    let mut whole = RecordingReader::new(decoder("anthropic", DecodeOptions::default()).unwrap());
    whole.feed(STREAM.as_bytes(), &mut |_| {});
    whole.end(&mut |_| {});
    let mut told = DecodedRecording::default();
    let mut reader = Reader::of("anthropic").unwrap();
    let mut lines: Vec<String> = STREAM.as_bytes().chunks(7).map(|piece| reader.feed(piece)).collect();
    lines.push(reader.end());
    for line in lines.iter().flat_map(|lines| lines.lines()) {
        told.absorb([Envelope::parse(line).unwrap()], &mut |_| {});
    }
    told.end(&mut |_| {});
    assert_eq!(told.view(), whole.view());
    assert_eq!(told.view().runs[0].tools[0].arguments.text, r#"{"q":"größer"}"#);
}

#[test]
fn a_dialect_that_nobody_knows_has_no_reader() {
    assert!(Reader::of("klingon").is_none());
}

#[test]
fn a_pattern_that_would_make_a_browser_try_for_minutes_takes_no_time() {
    let text = format!("{}!\nSum net 12", "a".repeat(200_000));
    let mut never = || false;
    for (source, expect) in [("(a+)+$", 0), ("(a|aa)+b", 0), ("sum.net", 1), ("^sum", 1), ("\\d+$", 1)] {
        let places = Pattern::new(source).unwrap().places(&text, &mut never);
        assert!(places.is_whole, "{source}");
        assert_eq!(places.ranges.len(), expect, "{source}");
        assert!(places.ranges.iter().all(|range| text.get(range.clone()).is_some()), "{source}");
    }
    let lines = "hay\n".repeat(100_000);
    assert_eq!(Pattern::new("^hay$").unwrap().places(&lines, &mut never).ranges.len(), PLACES_MAX);
    let text = format!("{}needle", "hay\n".repeat(20_000));
    let found = Pattern::new("needle$").unwrap().places(&text, &mut never).ranges;
    assert_eq!(found.first(), Some(&(80_000..80_006)), "{found:?}");
    let late = Pattern::new("!").unwrap().places(&text, &mut || true);
    assert_eq!(late, Places { ranges: Vec::new(), is_whole: false });
}

#[test]
fn a_pattern_that_is_wrong_or_too_large_says_so() {
    assert_eq!(Pattern::new("(").unwrap_err(), "unclosed group");
    let why = Pattern::new("((a{100}){100}){100}").unwrap_err();
    assert!(why.contains(&PATTERN_BYTES_MAX.to_string()), "{why}");
}
