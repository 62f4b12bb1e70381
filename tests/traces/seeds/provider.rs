//! Seed 4: what a provider of one's own says, as its YAML describes it, and calls that a model writes into its text.

use dialects::custom::UserDialect;
use dialects::text_calls::{TextCallToken, TextCalls, TextForm};
use dialects::{DecodeOptions, Decoded};
use model::limits::{PART_BYTES_MAX, TEXT_CALL_BYTES_MAX};

use super::Seed;
use crate::events::lines;

#[test]
fn provider_configuration() {
    let seed = Seed::open(4);
    let dialect = UserDialect::parse(&seed.block("Provider Configuration", 0)).unwrap();
    assert_eq!(dialect.name(), "orchard");
    let stream = concat!(
        "data: {\"content_blocks\":[{\"type\":\"thinking\",\"thinking\":\"Step by step.\"}]}\n\n",
        "data: {\"delta\":{\"text\":\"Let me \"}}\n\n",
        "data: {\"delta\":{\"text\":\"look.\"}}\n\n",
        "data: {\"content_blocks\":[{\"type\":\"tool_use\",\"id\":\"c1\",\"name\":\"grep\",\"input\":{\"q\":\"x\"}}]}\n\n",
        "data: {\"stop_reason\":\"tool_use\"}\n\n",
    );
    let told = |piece: usize| {
        let (mut decoder, mut out) = (dialect.decoder(DecodeOptions::default()), Decoded::default());
        for bytes in stream.as_bytes().chunks(piece) {
            decoder.feed(bytes, &mut out);
        }
        decoder.end(&mut out);
        lines(&out)
    };
    assert_eq!(told(1), told(usize::MAX), "cut at every byte");
    let expected = r#"
        r1 run.start dialect="orchard"
        r1 part.start p1 kind="thinking"
        r1 part.delta p1 @0 text="Step by step."
        r1 part.end p1
        r1 part.start p2 kind="text"
        r1 part.delta p2 @0 text="Let me "
        r1 part.delta p2 @7 text="look."
        r1 part.end p2
        r1 tool.start c1 name="grep"
        r1 tool.args c1 @0 text="{\"q\":\"x\"}"
        r1 tool.call c1
        r1 run.end finish_reason="tool_use" status="complete"
    "#;
    assert_eq!(told(1).trim(), expected.trim().replace("\n        ", "\n"));
}

/// The number that stands behind `key` in a YAML file.
fn number(yaml: &str, key: &str) -> f64 {
    let line = yaml.lines().find_map(|line| line.trim().strip_prefix(key)?.strip_prefix(": ")).unwrap();
    line.split(' ').next().unwrap().parse().unwrap()
}

#[test]
fn configuration_constants() {
    let seed = Seed::open(4);
    let yaml = seed.block("Configuration Constants", 0);
    let same = |key: &str, ours: usize| assert_eq!(number(&yaml, key).to_string(), ours.to_string(), "{key}");
    same("tool_parse_buffer_max", TEXT_CALL_BYTES_MAX);
    same("text_buffer_max", PART_BYTES_MAX);
    // The runner's own tests hold it to five calls, or a tenth of a second.
    same("tool_batch_size", 5);
    assert!(yaml.contains("tool_batch_delay: 0.1 "));
    for word in [
        "tag_open: \"<tool_use>\"",
        "tag_close: \"</tool_use>\"",
        "attributes: [id, name]",
        "required: [type, name, input]",
    ] {
        assert!(yaml.contains(word), "{word}");
    }
    let xml = r#"Well. <tool_use id="c1" name="read">{"path":"a"}</tool_use> Then."#;
    let json = r#"Well. {"type":"tool_use","id":"c1","name":"read","input":{"path":"a"}} Then."#;
    for (form, text) in [(TextForm::Xml, xml), (TextForm::Json, json)] {
        for cut in 0..=text.len() {
            assert_eq!(found(form, text.split_at(cut)), "Well. |c1 read {\"path\":\"a\"}| Then.");
        }
    }
}

/// Text, and calls between bars.
fn found(form: TextForm, (head, tail): (&str, &str)) -> String {
    let (mut calls, mut told) = (TextCalls::new(form), String::new());
    let mut take = |found: TextCallToken<'_>| match found {
        TextCallToken::Text(text) => told.push_str(text),
        TextCallToken::Call(call) => {
            told += &["|", &call.id, " ", &call.name, " ", &call.arguments, "|"].concat();
        }
        TextCallToken::Error { message, .. } => panic!("{message}"),
    };
    calls.feed(head, &mut take);
    calls.feed(tail, &mut take);
    calls.end(&mut take);
    told
}
