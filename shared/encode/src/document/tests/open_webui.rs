//! Content for Open WebUI, read back by its rules.

use std::collections::BTreeMap;

use pulldown_cmark::{Event, Parser};
use serde_json::{Value, json};

use super::{HOSTILE, everywhere, view};
use crate::document::markdown::tame::OPTIONS;
use crate::document::open_webui::{OpenWebUiOptions, OpenWebUiStream, ResultForm, chat, content};
use model::testkit::{events, folded, history, logged};
use proptest::prelude::*;

/// A block as Open WebUI reads it.
#[derive(Debug, PartialEq)]
struct Block {
    attributes: BTreeMap<String, String>,
    body: String,
}

/// Reads `content`: blocks that begin a line, their attributes between quotes, their end where as many have ended as have
/// begun. What stands between them must hold no HTML of its own.
fn blocks(content: &str) -> Vec<Block> {
    let mut blocks = Vec::new();
    let mut between = String::new();
    let mut rest = content;
    while !rest.is_empty() {
        if !rest.starts_with("<details ") {
            let (line, after) = rest.split_once('\n').unwrap_or((rest, ""));
            between.push_str(line);
            between.push('\n');
            rest = after;
            continue;
        }
        let (tag, _) = rest.split_once('>').unwrap();
        assert!(
            rest.get(tag.len()..).unwrap().starts_with(">\n<summary>"),
            "the tag has no end of its own: {rest}"
        );
        let (mut depth, mut end) = (0, 0);
        for (at, _) in rest.char_indices() {
            let here = rest.split_at(at).1;
            depth += i32::from(here.starts_with("<details"));
            if here.starts_with("</details>") {
                depth -= 1;
                if depth == 0 {
                    end = at;
                    break;
                }
            }
        }
        let (block, after) = rest.split_at(end);
        let (_, body) = block.split_once("</summary>\n").unwrap();
        blocks.push(Block { attributes: attributes(tag), body: body.to_owned() });
        rest = after.strip_prefix("</details>").unwrap();
        between.push_str("\n\n");
    }
    for event in Parser::new_ext(&between, OPTIONS) {
        if let Event::Html(html) | Event::InlineHtml(html) = event {
            assert_eq!(html.trim(), "<br>", "between blocks: {between}");
        }
    }
    blocks
}

fn attributes(tag: &str) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    let mut rest = tag.strip_prefix("<details").unwrap();
    while let Some((name, after)) = rest.split_once("=\"") {
        let (value, after) = after.split_once('"').expect("a quote ends it");
        assert!(!value.contains(['\n', '\r', '\u{2028}', '\u{2029}', '<', '>', '\'']), "{value}");
        found.insert(name.trim().to_owned(), unescaped(value));
        rest = after;
    }
    assert_eq!(rest.trim(), "", "{tag}");
    found
}

fn unescaped(text: &str) -> String {
    let pairs = [
        ("&lt;", "<"),
        ("&gt;", ">"),
        ("&quot;", "\""),
        ("&#39;", "'"),
        ("&#10;", "\n"),
        ("&#13;", "\r"),
        ("&#9;", "\t"),
        ("&#8232;", "\u{2028}"),
        ("&#8233;", "\u{2029}"),
        ("&amp;", "&"),
    ];
    pairs.iter().fold(text.to_owned(), |text, (from, to)| text.replace(from, to))
}

fn options(form: ResultForm) -> OpenWebUiOptions {
    OpenWebUiOptions { form, ..OpenWebUiOptions::default() }
}

const TURN: &str = r#"
    {"k":"run.start","run":"r"}
    {"k":"part.start","run":"r","part":"h","kind":"thinking"}
    {"k":"part.delta","run":"r","part":"h","text":"one\ntwo"}
    {"k":"part.end","run":"r","part":"h","duration_ms":2400}
    {"k":"part.start","run":"r","part":"a","kind":"text"}
    {"k":"part.delta","run":"r","part":"a","text":"Let me check."}
    {"k":"tool.call","run":"r","tool":"call_abc","name":"list","arguments":"{\"q\": \"a \\\"b\\\"\"}"}
    {"k":"tool.state","run":"r","tool":"call_abc","state":"executing"}
"#;

const RESULT: &str = r#"
    {"k":"tool.result","run":"r","tool":"call_abc","output":[{"label":"it's"}],"files":[{"type":"image"}]}
    {"k":"part.start","run":"r","part":"b","kind":"text"}
    {"k":"part.delta","run":"r","part":"b","text":"It shows."}
    {"k":"run.end","run":"r","status":"complete"}
"#;

#[test]
fn a_call_that_is_done_stands_where_the_pending_one_stood() {
    let pending = content(&view(TURN).runs[0], options(ResultForm::Body));
    assert_eq!(
        pending,
        "<details type=\"reasoning\" done=\"true\" duration=\"2\">\n<summary>Thought for 2 seconds</summary>\n\
         &gt; one\n&gt; two\n</details>\n\nLet me check.\n\n\
         <details type=\"tool_calls\" done=\"false\" id=\"call_abc\" name=\"list\" \
         arguments=\"{&quot;q&quot;: &quot;a \\&quot;b\\&quot;&quot;}\">\n<summary>Executing...</summary>\n</details>\n"
    );
    let done = content(&view(&[TURN, RESULT].concat()).runs[0], options(ResultForm::Body));
    assert!(
        done.ends_with(
            "files=\"[{&quot;type&quot;:&quot;image&quot;}]\">\n<summary>Tool Executed</summary>\n\
         [{&quot;label&quot;:&quot;it&#39;s&quot;}]\n</details>\n\nIt shows."
        ),
        "{done}"
    );
    assert_eq!(blocks(&done).len(), 2, "one block for the call, not two");
}

#[test]
fn the_older_form_has_the_result_in_an_attribute() {
    let done = content(&view(&[TURN, RESULT].concat()).runs[0], options(ResultForm::Attributes));
    let blocks = blocks(&done);
    assert_eq!(blocks[0].body, "> one\n> two\n");
    assert_eq!((blocks[1].attributes["done"].as_str(), blocks[1].body.as_str()), ("true", ""));
    assert_eq!(blocks[1].attributes["result"], r#"[{"label":"it's"}]"#);
}

#[test]
fn hostile_texts_neither_end_a_block_nor_begin_one() {
    for text in HOSTILE {
        for form in [ResultForm::Attributes, ResultForm::Body] {
            check(text, form);
        }
    }
}

/// A reasoning block, four calls; nothing that looks like more.
fn check(text: &str, form: ResultForm) {
    let view = everywhere(text);
    let made = content(&view.runs[0], options(form));
    let blocks = blocks(&made);
    let kinds: Vec<&str> = blocks.iter().map(|block| block.attributes["type"].as_str()).collect();
    let calls = kinds.iter().filter(|kind| **kind == "tool_calls").count();
    assert_eq!((kinds.len() - calls, calls), (1, view.runs[0].tools.len()), "{made}");
}

proptest! {
    #[test]
    fn any_text_stays_in_its_place(text in prop_oneof!["[<>&\"'`~/a-z \n#*_:=\\\\-]{0,60}", any::<String>()]) {
        check(&text, ResultForm::Attributes);
        check(&text, ResultForm::Body);
    }

    #[test]
    fn the_last_content_of_a_stream_is_that_of_the_whole(history in history(0..60)) {
        let of_one = history.iter().map(|envelope| envelope.event.clone()).filter(|event| event.run.as_str() == "r1");
        let history = logged(of_one.collect());
        let (mut live, mut told) = (OpenWebUiStream::new(ResultForm::Body), Vec::new());
        for envelope in &history {
            live.event(envelope, &mut told);
        }
        live.end(&mut told);
        let contents: Vec<&str> = told.iter().filter_map(|event| event["data"]["content"].as_str()).collect();
        for content in &contents {
            blocks(content);
        }
        let whole = folded(&history).runs.first().map(|(_, run)| content(run, options(ResultForm::Body)));
        prop_assert_eq!(contents.last().copied().unwrap_or_default(), whole.unwrap_or_default());
    }
}

#[test]
fn a_stream_tells_states_and_replaces_the_whole_content() {
    let mut told = Vec::new();
    let mut live = OpenWebUiStream::new(ResultForm::Body);
    for envelope in logged(events(&[TURN, RESULT].concat())) {
        live.event(&envelope, &mut told);
    }
    live.end(&mut told);
    let statuses: Vec<&Value> =
        told.iter().filter(|event| event["type"] == "status").map(|event| &event["data"]).collect();
    assert_eq!(
        statuses,
        [
            &json!({"description": "Executing list…", "done": false}),
            &json!({"description": "Complete", "done": true})
        ]
    );
    let replaced: Vec<&str> = told
        .iter()
        .filter(|event| event["type"] == "replace")
        .map(|event| event["data"]["content"].as_str().unwrap())
        .collect();
    assert!(replaced.iter().any(|content| content.contains("done=\"false\" id=\"call_abc\"")));
    assert!(replaced.last().is_some_and(|content| content.ends_with("It shows.")));
    assert!(replaced.windows(2).all(|pair| pair[0] != pair[1]), "nothing is sent twice");
}

#[test]
fn the_end_of_a_sub_agent_is_told_once() {
    let lines = r#"{"k":"run.start","run":"r"}
{"k":"agent.start","run":"r","agent":"a","name":"reader"}
{"k":"agent.end","run":"r","agent":"a","status":"complete"}
{"k":"agent.end","run":"r","agent":"a","status":"complete","usage":{"input_tokens":1,"output_tokens":1}}"#;
    let (mut told, mut live) = (Vec::new(), OpenWebUiStream::new(ResultForm::Body));
    for envelope in logged(events(lines)) {
        live.event(&envelope, &mut told);
    }
    let ends = told.iter().filter(|event| event["data"]["description"] == "Sub-agent completed");
    assert_eq!(ends.count(), 1, "{told:?}");
}

#[test]
fn a_text_that_grows_fast_is_not_sent_with_each_word() {
    let mut lines = String::from("{\"k\":\"part.start\",\"run\":\"r\",\"part\":\"p\",\"kind\":\"text\"}\n");
    for _ in 0..1000 {
        lines.push_str("{\"k\":\"part.delta\",\"run\":\"r\",\"part\":\"p\",\"text\":\"word \"}\n");
    }
    let (mut told, mut live) = (Vec::new(), OpenWebUiStream::new(ResultForm::Body));
    for envelope in logged(events(&lines)) {
        live.event(&envelope, &mut told);
    }
    live.end(&mut told);
    // 1000 events, 3 ms apart; one content in 100 ms.
    assert!((20..40).contains(&told.len()), "{}", told.len());
    assert_eq!(told.last().unwrap()["data"]["content"].as_str().unwrap().len(), 5 * 1000);
}

#[test]
fn long_results_are_shortened_where_they_are_sent_again_and_again() {
    let lines = format!(
        r#"{{"k":"tool.call","run":"r","tool":"t","name":"n","arguments":"{{}}"}}
        {{"k":"tool.result","run":"r","tool":"t","output":"{}"}}"#,
        "é".repeat(100_000)
    );
    let view = view(&lines);
    assert!(content(&view.runs[0], options(ResultForm::Body)).len() > 200_000);
    let short = content(&view.runs[0], OpenWebUiOptions { bytes_max: 999, ..OpenWebUiOptions::default() });
    assert!(short.contains("… (194 KB more)&quot;\n</details>"), "{short}");
}

#[test]
fn a_chat_to_import_is_a_chain_of_messages() {
    let lines = format!(r#"{{"k":"message","message":"m","role":"user","text":"Hi"}}{TURN}{RESULT}"#);
    let lines = lines.replace("}\n    {\"k\":\"run.start\"", "}\n{\"k\":\"run.start\"");
    let made = chat(&view(&lines), "c", OpenWebUiOptions::default());
    let history = &made[0]["chat"]["history"];
    assert_eq!(history["currentId"], "m2");
    assert_eq!(history["messages"]["m1"]["childrenIds"], json!(["m2"]));
    assert_eq!(history["messages"]["m2"]["parentId"], "m1");
    assert_eq!(blocks(history["messages"]["m2"]["content"].as_str().unwrap()).len(), 2);
}
