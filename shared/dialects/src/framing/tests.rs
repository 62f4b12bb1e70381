//! The rules of each framing. That cuts do not matter is tested on whole streams, with the decoders (I11).

use super::{BodyFraming, FramedItem, RecordSplitter, SseSplitter, StreamPiece, ValueSplitter, excerpt};
use model::limits::LINE_BYTES_MAX;

/// What a frame is, as one line.
fn told(frame: StreamPiece<'_>) -> String {
    let StreamPiece { line, body } = frame;
    match body {
        FramedItem::Event { name, data } => format!("{line} event {name:?} {data:?}"),
        FramedItem::Json(text) => format!("{line} json {text}"),
        FramedItem::ErrorField(text) => format!("{line} error {text}"),
        FramedItem::Stray(text) => format!("{line} stray {text:?}"),
        FramedItem::TooLarge(bytes) => format!("{line} too large {bytes}"),
        FramedItem::Cut(text) => format!("{line} cut {text}"),
    }
}

fn sse(stream: &[u8]) -> Vec<String> {
    let (mut splitter, mut frames) = (SseSplitter::default(), Vec::new());
    splitter.feed(stream, &mut |frame| frames.push(told(frame)));
    splitter.end(&mut |frame| frames.push(told(frame)));
    frames
}

fn body(stream: &[u8]) -> Vec<String> {
    let (mut splitter, mut frames) = (BodyFraming::default(), Vec::new());
    for piece in stream.chunks(3) {
        splitter.feed(piece, &mut |frame| frames.push(told(frame)));
    }
    splitter.end(&mut |frame| frames.push(told(frame)));
    frames
}

fn values(mut splitter: ValueSplitter, stream: &[u8]) -> Vec<String> {
    let mut frames = Vec::new();
    splitter.feed(stream, &mut |frame| frames.push(told(frame)));
    splitter.end(&mut |frame| frames.push(told(frame)));
    frames
}

#[test]
fn any_line_end_will_do() {
    let expected = ["1 event \"\" \"a\"", "3 event \"\" \"b\""];
    assert_eq!(sse(b"data: a\n\ndata: b\n\n"), expected);
    assert_eq!(sse(b"data: a\r\n\r\ndata: b\r\n\r\n"), expected);
    assert_eq!(sse(b"data: a\r\rdata: b\r\r"), expected);
    assert_eq!(sse(b"\xEF\xBB\xBFdata: a\n\ndata: b"), expected);
}

#[test]
fn an_r_at_the_end_of_a_piece_and_the_n_after_it_are_one_line_end() {
    let (mut splitter, mut frames) = (SseSplitter::default(), Vec::new());
    for piece in [&b"data: a\r"[..], b"", b"\ndata: b\r", b"\r", b"\ndata: c\r\n\r", b"\n"] {
        splitter.feed(piece, &mut |frame| frames.push(told(frame)));
    }
    assert_eq!(frames, ["1 event \"\" \"a\\nb\"", "4 event \"\" \"c\""]);
}

#[test]
fn fields_are_read_by_the_standard() {
    assert_eq!(sse(b"data:a\ndata:  b\ndata\n\n"), ["1 event \"\" \"a\\n b\\n\""]);
    assert_eq!(sse(b"id: 1\nevent: x\nretry: 5\n: note\ndata: d\n\n"), ["2 event \"x\" \"d\""]);
    // A name alone is no event, and does not go to the next one.
    assert_eq!(sse(b"event: x\n\ndata: d\n\n"), ["3 event \"\" \"d\""]);
    assert_eq!(sse(b"data:\n\n"), ["1 event \"\" \"\""]);
    assert_eq!(sse(b"nonsense\n\n"), ["1 stray \"nonsense\""]);
}

#[test]
fn what_real_servers_do_is_survived() {
    assert_eq!(sse(b"data: a"), ["1 event \"\" \"a\""]);
    assert_eq!(sse(b" data: a\n\n"), ["1 event \"\" \"a\""]);
    assert_eq!(sse(b"data: a\nerror: {\"m\":1}\n\n"), ["1 event \"\" \"a\"", "2 error {\"m\":1}"]);
    assert_eq!(sse(b"error: none\n\n"), ["1 stray \"error: none\""]);
    assert_eq!(
        sse(b"event: x\ndata: {\n  \"a\": \"}\",\n  \"b\": [\n    1\n  ]\n}\n\ndata: 2\n\n"),
        [
            "1 event \"x\" \"{\\n  \\\"a\\\": \\\"}\\\",\\n  \\\"b\\\": [\\n    1\\n  ]\\n}\"",
            "9 event \"\" \"2\""
        ]
    );
    // JSON that is whole does not go on: the line is something else.
    assert_eq!(sse(b"data: {}\nfoo\n\n"), ["2 stray \"foo\"", "1 event \"\" \"{}\""]);
}

#[test]
fn an_event_over_the_limit_costs_only_itself() {
    let long = "x".repeat(LINE_BYTES_MAX + 1);
    let stream = format!("data: {long}\n\ndata: after\n\n");
    let frames = sse(stream.as_bytes());
    assert_eq!(frames, [format!("1 too large {}", long.len() + 6), "3 event \"\" \"after\"".to_owned()]);
    // The same in many lines, each of them short enough.
    let line = format!("data: {}\n", "y".repeat(LINE_BYTES_MAX / 4));
    let frames = sse(format!("{}\ndata: after\n\n", line.repeat(5)).as_bytes());
    assert_eq!(frames.len(), 2, "{frames:?}");
    assert!(frames.first().is_some_and(|frame| frame.starts_with("1 too large")));
    let frames = values(ValueSplitter::items(1), format!("{{\"a\":\"{long}\"}}{{\"b\":1}}").as_bytes());
    assert_eq!(frames, [format!("1 too large {}", long.len() + 8), "1 json {\"b\":1}".to_owned()]);
}

#[test]
fn json_falls_into_values_with_or_without_line_ends() {
    assert_eq!(
        values(ValueSplitter::items(1), b"{\"a\":\"}\\\"{\"}{\n \"b\": [1]\n}\n\n[]{}"),
        ["1 json {\"a\":\"}\\\"{\"}", "1 json {\n \"b\": [1]\n}", "5 json {}"]
    );
    assert_eq!(
        values(ValueSplitter::items(1), b"[{\"a\":1},\n[2], 3, \"x,]\" ]"),
        ["1 json {\"a\":1}", "2 json [2]", "2 stray \"3\"", "2 stray \"\\\"x,]\\\" \""]
    );
    assert_eq!(values(ValueSplitter::whole(1), b"[1]\n[2,{}]"), ["1 json [1]", "2 json [2,{}]"]);
    assert_eq!(
        values(ValueSplitter::items(1), b"{\"a\":1}\nnoise {\n{\"b\":2"),
        ["1 json {\"a\":1}", "2 stray \"noise {\"", "3 cut {\"b\":2"]
    );
}

#[test]
fn the_first_byte_decides_what_a_body_is() {
    assert_eq!(body(b"\n \xEF\xBB\xBF{\"error\":1}"), ["2 json {\"error\":1}"]);
    assert_eq!(body(b"\n\ndata: x\n\n"), ["3 event \"\" \"x\""]);
    assert_eq!(body(b""), Vec::<String>::new());
    assert_eq!(body(b" \n "), Vec::<String>::new());
}

fn records(stream: &str) -> Vec<String> {
    let (mut splitter, mut frames) = (RecordSplitter::default(), Vec::new());
    for piece in stream.as_bytes().chunks(3) {
        splitter.feed(piece, &mut |frame| frames.push(told(frame)));
    }
    splitter.end(&mut |frame| frames.push(told(frame)));
    frames
}

#[test]
fn the_output_of_a_program_is_records_and_noise() {
    assert_eq!(
        records("\u{feff}\nstarting\r\n{\"a\":1}\r\n\n  warning: {x}\n{\"b\":{}}"),
        ["2 stray \"starting\"", "3 json {\"a\":1}", "5 stray \"warning: {x}\"", "6 json {\"b\":{}}"]
    );
    assert_eq!(records("data: {\"a\":1}\n\ndata:{\"b\":2}\n"), ["1 json {\"a\":1}", "3 json {\"b\":2}"]);
    assert_eq!(records("[{\"a\":1},\n{\"b\":2}]\n"), ["1 json {\"a\":1}", "2 json {\"b\":2}"]);
    assert_eq!(
        records("{\n  \"a\": [\n {} ]\n}\n{\"b\":2}\n"),
        ["1 json {\n\"a\": [\n{} ]\n}", "5 json {\"b\":2}"]
    );
}

#[test]
fn a_record_that_breaks_off_costs_no_other() {
    assert_eq!(
        records("{\"a\":\"x\n{\"b\":2}\nnoise\n{\"c\":["),
        ["1 cut {\"a\":\"x", "2 json {\"b\":2}", "3 stray \"noise\"", "4 cut {\"c\":["]
    );
    assert_eq!(records(" \n"), [""; 0]);
}

#[test]
fn an_excerpt_is_short_and_whole_characters() {
    assert_eq!(excerpt("short"), "short");
    assert_eq!(excerpt(&"ä".repeat(100)).len(), 120);
    assert_eq!(excerpt(&format!("x{}", "ä".repeat(100))).len(), 119);
}
