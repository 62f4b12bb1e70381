//! What has a shape and what has not; and streams for the tests of dialects that use shapes: generated, damaged, cut, they
//! must give the same events with shapes as without.

use std::borrow::Cow;

use proptest::prelude::*;
use proptest::sample::{Index, select};

use super::{Gap, Shapes};
use crate::field::ForeignField;
use crate::{Decode, Decoded};

/// The contents of strings: usual ones, escapes, and what is not allowed in them.
fn content() -> impl Strategy<Value = String> {
    let odd = select(vec![
        "",
        "<think>",
        "</think>\\n",
        "\\n",
        "\\u00e9",
        "\\ud83d",
        "\\ud83d\\ude00",
        "\\x",
        "\\u12",
        "\t",
        "\\\"",
        "\\\\",
        "tool",
        "{\\\"a\\\":1}",
        "\",\"b\":\"",
    ]);
    prop_oneof![3 => "[a-zé ]{0,20}", 1 => odd.prop_map(str::to_owned)]
}

/// Numbers, and what stands in their place.
fn number() -> impl Strategy<Value = &'static str> {
    let odd = select(vec![
        "0",
        "007",
        "-1",
        "1.0",
        "1e3",
        "9007199254740992",
        "9007199254740993",
        "99999999999999999999",
        "null",
        "\"12\"",
        "123456789012345",
        "[1,{}]",
        "{\"a\":[]}",
        "",
        "nul",
    ]);
    prop_oneof![3 => select(vec!["1", "12", "1795300000"]), 1 => odd]
}

/// Lines of a stream, made of `templates` in which `$T` is the content of a string and `$N` a number. Most follow one of
/// the same template, and some are damaged.
pub(crate) fn stream(templates: &'static [&'static str]) -> impl Strategy<Value = Vec<u8>> {
    let filled = (prop::collection::vec(content(), 4), prop::collection::vec(number(), 5));
    let damage = prop::option::weighted(0.1, (any::<Index>(), select(b"\"\\{}[],:0 \n\x01x".to_vec())));
    let alike = (select(templates), prop::collection::vec((filled, damage), 1..6));
    prop::collection::vec(alike, 1..12).prop_map(|groups| {
        let mut stream = Vec::new();
        for (template, lines) in groups {
            for ((texts, numbers), damage) in lines {
                let mut line = template.to_owned();
                for text in &texts {
                    line = line.replacen("$T", text, 1);
                }
                for number in &numbers {
                    line = line.replacen("$N", number, 1);
                }
                let mut line = line.into_bytes();
                if let Some((at, byte)) = damage {
                    let at = at.index(line.len());
                    line.splice(at..=at, [byte]);
                }
                stream.extend(line);
            }
        }
        stream
    })
}

/// What `decoder` makes of `stream` in pieces of this size.
pub(crate) fn events(mut decoder: Box<dyn Decode>, stream: &[u8], piece: usize) -> Decoded {
    let mut out = Decoded::default();
    for piece in stream.chunks(piece) {
        decoder.feed(piece, &mut out);
    }
    decoder.end(&mut out);
    out
}

const LEARNED: &str = r#"{"id":"c-1","n":7,"x":[1],"said":"Hel"}"#;

/// Shapes of which one is known.
fn learned() -> Shapes<()> {
    let mut shapes = Shapes::default();
    let fields = ForeignField::parse_read(LEARNED).fields();
    let gaps = [
        (fields.get("x"), Gap::Unread),
        (fields.get("said"), Gap::Text(0)),
        (fields.get("n"), Gap::Number(1)),
        (fields.get("id"), Gap::Unread),
    ];
    shapes.learn(LEARNED, &gaps, ());
    shapes
}

/// The text and the number of a text with the known shape.
fn found(text: &str) -> Option<(String, u64)> {
    let mut shapes = learned();
    let ((), [said, number, ..]) = shapes.find(text)?;
    Some((said.text()?.into_owned(), number.count()?))
}

#[test]
fn only_the_values_may_be_others() {
    let told = |text: &str, number| Some((text.to_owned(), number));
    assert_eq!(found(LEARNED), told("Hel", 7));
    assert_eq!(
        found(r#"{"id":null,"n":123456789012345,"x":"","said":"\u006co\n"}"#),
        told("lo\n", 123_456_789_012_345)
    );
    for other in [
        r#"{"id":"c-1","n":7,"x":[1],"said":"Hel"},"#,
        r#"{"id":"c-1","n":7,"x":[1],"said":"Hel""#,
        r#"{"id":"c-1","n":7,"x":[1],"says":"Hel"}"#,
        r#"{"id":"c-1","n":7,"x":[1],"said":7}"#,
        r#"{"id":"c-1","n":7,"x":[1],"said":"a\x"}"#,
        r#"{"id":"c-1","n":7,"x":[1}],"said":""}"#,
        r#"{"id":"c-1","n":07,"x":[1],"said":""}"#,
        r#"{"id":"c-1","n":-7,"x":[1],"said":""}"#,
        r#"{"id":"c-1","n":7.0,"x":[1],"said":""}"#,
        r#"{"id":"c-1","n":1234567890123456,"x":[1],"said":""}"#,
        r#"{"id":"c-1","n":7,"x":[1],"said":"","said":""}"#,
        "",
    ] {
        assert_eq!(found(other), None, "{other}");
    }
}

#[test]
fn what_is_no_piece_of_the_text_is_not_learned() {
    let mut shapes = Shapes::default();
    let other = String::from("\"Hel\"");
    shapes.learn(LEARNED, &[(ForeignField::parse_read(&other), Gap::Text(0))], ());
    assert!(shapes.find(LEARNED).is_none());
}

#[test]
fn a_stream_in_which_nothing_repeats_is_soon_read_without_looking() {
    let mut shapes: Shapes<()> = Shapes::default();
    assert!(shapes.is_learning());
    let looked =
        std::iter::repeat_with(|| shapes.is_learning()).take_while(|is_learning| *is_learning).count();
    assert!(looked < 20, "{looked}");
    let mut shapes = learned();
    while shapes.is_learning() {}
    assert!(shapes.find(LEARNED).is_some());
    assert!(shapes.is_learning(), "what was recognised counts");
}

proptest! {
    #[test]
    fn what_has_a_shape_is_valid(stream in stream(&[r#"{"id":"$T","n":$N,"x":$N,"said":"$T"}"#])) {
        let text = String::from_utf8_lossy(&stream);
        for line in text.split_inclusive('}') {
            if let Some((said, number)) = found(line) {
                let whole = ForeignField::parse(line);
                prop_assert!(whole.is_some(), "{line}");
                let fields = whole.unwrap_or_default().fields();
                prop_assert_eq!(fields.get("said").text().map(Cow::into_owned), Some(said));
                prop_assert_eq!(fields.get("n").count(), Some(number));
            }
        }
    }
}
