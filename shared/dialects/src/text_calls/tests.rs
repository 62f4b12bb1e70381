//! Calls are found in text, however it is cut, and broken ones cost nothing but themselves.

use proptest::prelude::*;

use super::{TextCallToken, TextCalls, TextForm, TextRules};
use model::limits::TEXT_CALL_BYTES_MAX;

/// What was found, text joined; an error is only what was written.
#[derive(Debug, PartialEq, Eq, Clone)]
enum Seen {
    Text(String),
    Call(String, String, String),
    Broken(String),
}

fn seen<'a>(form: TextForm, pieces: impl Iterator<Item = &'a str>) -> Vec<Seen> {
    seen_by(form, &TextRules::default(), pieces)
}

fn seen_by<'a>(form: TextForm, rules: &TextRules, pieces: impl Iterator<Item = &'a str>) -> Vec<Seen> {
    let (mut calls, mut seen) = (TextCalls::by(form, rules), Vec::new());
    let mut take = |found: TextCallToken<'_>| match (found, seen.last_mut()) {
        (TextCallToken::Text(more), Some(Seen::Text(text))) => text.push_str(more),
        (TextCallToken::Text(text), _) => seen.push(Seen::Text(text.to_owned())),
        (TextCallToken::Call(call), _) => seen.push(Seen::Call(call.id, call.name, call.arguments)),
        (TextCallToken::Error { written, .. }, _) => seen.push(Seen::Broken(written.to_owned())),
    };
    for piece in pieces {
        calls.feed(piece, &mut take);
    }
    calls.end(&mut take);
    seen
}

/// What is found in `text`; the same in one piece, in characters, and cut once anywhere.
fn found(form: TextForm, text: &str) -> Vec<Seen> {
    let whole = seen(form, std::iter::once(text));
    let by_char = text.char_indices().filter_map(|(at, c)| text.get(at..at + c.len_utf8()));
    assert_eq!(seen(form, by_char), whole, "in characters: {text}");
    for cut in 0..text.len() {
        if let Some((head, tail)) = text.split_at_checked(cut) {
            assert_eq!(seen(form, [head, tail].into_iter()), whole, "cut at {cut}: {text}");
        }
    }
    whole
}

fn text(text: &str) -> Seen {
    Seen::Text(text.to_owned())
}

fn call(id: &str, name: &str, arguments: &str) -> Seen {
    Seen::Call(id.to_owned(), name.to_owned(), arguments.to_owned())
}

fn broken(written: &str) -> Seen {
    Seen::Broken(written.to_owned())
}

#[test]
fn test_xml_format_single_tool() {
    for written in [
        r#"<tool_use id="c1" name="weather">{"city": "Oslo"}</tool_use>"#,
        r#"<tool_use name='weather' id='c1'><input>{"city": "Oslo"}</input></tool_use>"#,
        r#"<tool_use>{"id":"c1","name":"weather","input":{"city": "Oslo"}}</tool_use>"#,
        r#"<tool_use>{"id":"c1","name":"weather","arguments":"{\"city\": \"Oslo\"}"}</tool_use>"#,
        "<tool_use>\n<id>c1</id>\n<name>weather</name>\n<input>{\"city\": \"Oslo\"}</input>\n</tool_use>",
        r#"<tool_use id="c1" name="weather">{&quot;city&quot;: &quot;Oslo&quot;}</tool_use>"#,
        r#"<tool_use id="c1" name="weather"><![CDATA[{"city": "Oslo"}]]></tool_use>"#,
        r#"<tool_call>{"id":"c1","name":"weather","arguments":{"city": "Oslo"}}</tool_call>"#,
    ] {
        assert_eq!(
            found(TextForm::Both, written),
            [call("c1", "weather", r#"{"city": "Oslo"}"#)],
            "{written}"
        );
    }
    let fields = "<tool_use name=\"add\"><a>1</a><b>&lt;x&gt;</b><c>[2]</c></tool_use>";
    assert_eq!(found(TextForm::Xml, fields), [call("", "add", r#"{"a":"1","b":"<x>","c":[2]}"#)]);
    for nothing in ["<tool_use name=\"now\"/>", "<tool_use name=\"now\"> </tool_use>"] {
        assert_eq!(found(TextForm::Xml, nothing), [call("", "now", "{}")]);
    }
}

#[test]
fn test_xml_format_multiple_tools() {
    let written = r#"<tool_use id="a" name="x">{}</tool_use><tool_use id="b" name="y">{"n":2}</tool_use>"#;
    assert_eq!(found(TextForm::Xml, written), [call("a", "x", "{}"), call("b", "y", r#"{"n":2}"#)]);
}

#[test]
fn test_partial_accumulation() {
    let mut calls = TextCalls::new(TextForm::Xml);
    let mut count = 0;
    for piece in ["So: <tool", "_use id=\"a\" na", "me=\"x\">{\"q\":", "\"é\"}</tool_us"] {
        calls.feed(piece, &mut |found| assert_eq!(found, TextCallToken::Text("So: ")));
    }
    calls.feed("e> done", &mut |found| {
        count += 1;
        match found {
            TextCallToken::Call(call) => assert_eq!((count, call.arguments.as_str()), (1, "{\"q\":\"é\"}")),
            other => assert_eq!((count, other), (2, TextCallToken::Text(" done"))),
        }
    });
    assert_eq!(count, 2);
}

#[test]
fn test_text_between_tools() {
    let written = "First <b>bold</b> & a < b.\n<tool_use name=\"x\">{}</tool_use>\nthen {\n  ok\n}\n<tool_use name=\"y\"/> [1, 2] end";
    let expected = [
        text("First <b>bold</b> & a < b.\n"),
        call("", "x", "{}"),
        text("\nthen {\n  ok\n}\n"),
        call("", "y", "{}"),
        text(" [1, 2] end"),
    ];
    assert_eq!(found(TextForm::Both, written), expected);
}

#[test]
fn test_json_format_single_tool() {
    let written = r#"{"type": "tool_use", "id": "c1", "name": "weather", "input": {"city": "}]\"{"}}"#;
    assert_eq!(found(TextForm::Json, written), [call("c1", "weather", r#"{"city": "}]\"{"}"#)]);
    let turned = "{\n \"name\": \"now\",\n \"type\": \"tool_use\"\n}";
    assert_eq!(found(TextForm::Json, turned), [call("", "now", "{}")]);
}

#[test]
fn json_format_list_of_tools() {
    let one = r#"{"type":"tool_use","id":"a","name":"x","input":{}}"#;
    let two = r#"{"type":"tool_use","id":"b","name":"y","input":{"n":[1]}}"#;
    let expected = [text("Calls: "), call("a", "x", "{}"), call("b", "y", r#"{"n":[1]}"#), text(".")];
    assert_eq!(found(TextForm::Json, &format!("Calls: [{one}, {two}].")), expected);
}

#[test]
fn test_mixed_text_and_tools() {
    let written = r#"See {"name": "Bob"} and [{"id": 1}] and {"a": {"b": 1}}: {"type":"tool_use","name":"x","input":{}} ok"#;
    let expected = [
        text(r#"See {"name": "Bob"} and [{"id": 1}] and {"a": {"b": 1}}: "#),
        call("", "x", "{}"),
        text(" ok"),
    ];
    assert_eq!(found(TextForm::Both, written), expected);
    assert_eq!(found(TextForm::Xml, r#"{"type":"tool_use","name":"x","input":{}}"#).len(), 1);
}

#[test]
fn test_malformed_tool_handling() {
    let good = r#"<tool_use name="x">{}</tool_use>"#;
    for bad in [
        r#"<tool_use name="x">{"a": }</tool_use>"#,
        r#"<tool_use name="x">plain</tool_use>"#,
        r#"<tool_use>{"input":{}}</tool_use>"#,
        r#"<tool_use name="x">{"a": "never closed}</tool_use>"#,
        "<tool_use><name>x</name><input>{</input></tool_use>",
        "<tool_use name=\"x\">{\"a\": \"line\n}</tool_use>",
        r#"{"type":"tool_use","name":"x","input":[1]}"#,
        r#"{"type":"tool_use","input":{}}"#,
        r#"{"type":"tool_use","name":}"#,
    ] {
        let expected = [text("a "), broken(bad), text(" b "), call("", "x", "{}"), text(" c")];
        assert_eq!(found(TextForm::Both, &format!("a {bad} b {good} c")), expected, "{bad}");
    }
    let unclosed = "{\"type\":\"tool_use\",\"name\":\"x\",\"input\":{\"a\":\"b}}";
    let expected = [broken(unclosed), text("\n"), call("", "x", "{}")];
    assert_eq!(found(TextForm::Both, &format!("{unclosed}\n{good}")), expected);
}

#[test]
fn a_string_may_talk_about_the_closing_tag() {
    let written = r#"<tool_use name="write">{"text":"</tool_use> ends it"}</tool_use>."#;
    let expected = [call("", "write", r#"{"text":"</tool_use> ends it"}"#), text(".")];
    assert_eq!(found(TextForm::Xml, written), expected);
}

#[test]
fn what_is_open_at_the_end_is_broken_or_text() {
    for open in
        ["<tool_use name=\"x", "<tool_use name=\"x\">{\"a\":1}", "{\"type\":\"tool_use\",\"name\":\"x\""]
    {
        assert_eq!(found(TextForm::Both, &format!("a {open}")), [text("a "), broken(open)]);
    }
    for plain in [
        "a <tool_us",
        "a <",
        "a {",
        "a [ {\"ty",
        "a {\"name\": \"Bob",
        "<tool_user> is a type",
        "if (a[0] < b) {",
    ] {
        assert_eq!(found(TextForm::Both, plain), [text(plain)]);
    }
}

#[test]
fn test_buffer_overflow_protection() {
    let long = "x".repeat(TEXT_CALL_BYTES_MAX);
    let good = r#"<tool_use name="x">{}</tool_use>"#;
    for bad in [
        format!("<tool_use name=\"y\">{{\"a\":\"{long}"),
        format!("{{\"type\":\"tool_use\",\"name\":\"{long}"),
    ] {
        let written = format!("{bad}\n{good}");
        let whole = seen(TextForm::Both, std::iter::once(written.as_str()));
        let Some([Seen::Broken(kept), Seen::Text(_), last]) = whole.get(..3) else {
            panic!("{}", whole.len())
        };
        assert_eq!((kept.len(), last), (TEXT_CALL_BYTES_MAX, &call("", "x", "{}")));
        let (head, tail) = written.split_at(TEXT_CALL_BYTES_MAX);
        assert!(seen(TextForm::Both, [head, tail].into_iter()) == whole);
        let (head, tail) = written.split_at(TEXT_CALL_BYTES_MAX + 7);
        assert!(seen(TextForm::Both, [head, tail].into_iter()) == whole);
    }
    let other = format!("{{\"name\":\"{long}\"}}");
    assert!(seen(TextForm::Both, std::iter::once(other.as_str())) == [text(&other)]);
}

#[test]
fn calls_have_the_element_and_the_length_that_are_set() {
    let rules = TextRules { bytes_max: 40, element: Some("call".to_owned()) };
    let written = r#"<call name="a">{}</call> <tool_use name="b">{}</tool_use> <call name="c">{"long":"0123456789012345678901234567890"}</call>"#;
    for cut in 0..=written.len() {
        let pieces = written.split_at(cut);
        let found = seen_by(TextForm::Xml, &rules, [pieces.0, pieces.1].into_iter());
        assert_eq!(found[0], call("", "a", "{}"));
        assert_eq!(found[1], text(r#" <tool_use name="b">{}</tool_use> "#));
        assert!(matches!(&found[2], Seen::Broken(written) if written.len() == 40), "{found:?}");
    }
}

#[test]
fn many_marks_in_one_piece_cost_no_more_than_others() {
    for mark in
        ["[", "{", "<", "{\"t", "<tool_use ", "<tool_use>", "<tool_use>{\"</tool_use>", "{\"name\":\""]
    {
        let many = mark.repeat(200_000 / mark.len());
        let _found = seen(TextForm::Both, std::iter::once(many.as_str()));
    }
}

proptest! {
    #[test]
    fn any_text_is_found_the_same_however_it_is_cut(
        pieces in prop::collection::vec(
            prop::sample::select(vec![
                "<tool_use", " id=\"a\"", " name='x'", ">", "/>", "</tool_use>", "<input>", "</input>", "{", "}", "[",
                "]", "\"", "\\", ":", ",", "\n", " ", "\"type\"", "\"tool_use\"", "\"name\":\"x\"", "\"input\":{}", "é", "&lt;",
            ]),
            0..40,
        ),
    ) {
        found(TextForm::Both, &pieces.concat());
    }
}
