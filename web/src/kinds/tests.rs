//! What is recognised, and what stays text.

use proptest::prelude::*;

use super::*;

fn table_of(text: &str) -> Table {
    match kind("t", text) {
        Kind::Table(table) => table,
        other => panic!("{text}: {other:?}"),
    }
}

#[test]
fn a_few_flat_objects_are_a_table_with_every_field_in_order() {
    let text = r#"[{"region":"EMEA","net":48.50},{"region":"APAC","net":null,"note":"late"},{"net":12345678901234567890}]"#;
    let table = table_of(text);
    assert_eq!(table.columns, ["region", "net", "note"]);
    let texts = |row: usize| table.rows[row].iter().map(|cell| cell.text.as_str()).collect::<Vec<_>>();
    assert_eq!(texts(0), ["EMEA", "48.50", ""], "numbers keep their spelling");
    assert_eq!(texts(1), ["APAC", "", "late"]);
    assert_eq!(texts(2), ["", "12345678901234567890", ""]);
    assert!(table.rows[0][1].is_number && !table.rows[0][0].is_number);
    let wide: Vec<String> = (0..21).map(|n| format!("\"c{n}\":1")).collect();
    let wide = format!("[{0},{0},{0}]", format!("{{{}}}", wide.join(",")));
    for text in [r#"[{"a":1},{"a":2}]"#, r#"[{"a":[1]},{"a":2},{"a":3}]"#, "[1,2,3]", r#"{"a":1}"#, &wide] {
        assert_eq!(kind("t", text), Kind::Json, "{text}");
    }
}

#[test]
fn a_diff_is_told_by_its_heads_and_its_hunks_are_counted() {
    use Change::{Added, Head, Removed, Same};
    let text =
        "diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1,3 +1,2 @@ fn a()\n same\n--- a comment\n-old\n+new\n";
    let Kind::Diff(lines) = kind("t", text) else { panic!("{:?}", kind("t", text)) };
    let changes: Vec<Change> = lines.iter().map(|line| line.change).collect();
    assert_eq!(changes, [Head, Head, Head, Head, Same, Removed, Removed, Added]);
    let whole: Vec<&str> = lines.iter().map(|line| line.text.as_str()).collect();
    assert_eq!(whole.join("\n") + "\n", text, "nothing is left out");
    assert_eq!(kind("t", "- a list\n- of things\n+ and one more"), Kind::Plain);
    assert_eq!(kind("t", "@@ -1 +1 @@\n--- a\n+++ b"), Kind::Plain);
}

#[test]
fn a_terminals_colours_become_looks_and_its_orders_vanish() {
    let text = "ok\u{1b}[1;31mbad\u{1b}[0m \u{1b}[38;5;31mx\u{1b}[2K\u{1b}[92mgood\u{1b}]0;title\u{7}!";
    let Kind::Terminal(pieces) = kind("t", text) else { panic!() };
    let said: String = pieces.iter().map(|piece| piece.text.as_str()).collect();
    assert_eq!(said, "okbad xgood!");
    assert_eq!((pieces[1].colour, pieces[1].is_bold), (Some(1), true));
    assert_eq!((pieces[2].colour, pieces.last().unwrap().colour), (None, Some(2)));
    let Kind::Terminal(pieces) = kind("Bash", "10 %\r50 %\r100 %\ndone\r\n") else { panic!() };
    assert_eq!(pieces[0].text, "100 %\ndone\n", "what was written over is gone");
    assert!(
        is_shell("run_command") && is_shell("local-shell") && !is_shell("publish") && !is_shell("refresh")
    );
}

#[test]
fn an_mcp_answer_shows_its_parts_and_fetches_nothing() {
    let text = r#"{"content":[{"type":"text","text":"hi"},{"type":"image","data":"aGk=","mimeType":"image/png"},
        {"type":"image","data":"x\" onerror=","mimeType":"image/png"},
        {"type":"image","data":"aGk=","mimeType":"image/svg+xml"},
        {"type":"resource_link","uri":"https://example.com/x.png","name":"x"},
        {"type":"resource_link","uri":"javascript:alert(1)"},
        {"type":"resource","resource":{"uri":"file:///a.md","mimeType":"text/markdown","text":"*a*"}},
        {"type":"text","text":"{\"a\":1}"}]}"#;
    let Kind::Parts(parts) = kind("t", text) else { panic!() };
    let expected = [
        Part::Text("hi".to_owned()),
        Part::Image("data:image/png;base64,aGk=".to_owned()),
        Part::Other("an image of the type image/png".to_owned()),
        Part::Other("an image of the type image/svg+xml".to_owned()),
        Part::Elsewhere { name: "x".to_owned(), url: "https://example.com/x.png".to_owned() },
        Part::Other("javascript:alert(1)".to_owned()),
        Part::Markdown("*a*".to_owned()),
        Part::Json("{\"a\":1}".to_owned()),
    ];
    assert_eq!(parts, expected);
    assert_eq!(kind("t", r#"[{"type":"text"},{"type":"text"}]"#), Kind::Json);
}

#[test]
fn what_declares_itself_is_taken_at_its_word_but_html_stays_text() {
    let markdown = r##"{"content_type":"text/markdown; charset=utf-8","content":"# a"}"##;
    assert_eq!(kind("t", markdown), Kind::Markdown("# a".to_owned()));
    assert_eq!(kind("t", "# a"), Kind::Plain, "Markdown only where it is declared");
    let html = r#"{"mimeType":"text/html","text":"<b>x</b>"}"#;
    assert_eq!(kind("t", html), Kind::Parts(vec![Part::Text("<b>x</b>".to_owned())]));
    assert_eq!(kind("t", "<html></html>"), Kind::Plain);
}

#[test]
fn files_and_embeds_are_images_links_names_or_pages() {
    let json = r#"[{"type":"image","url":"data:image/png;base64,aGk="},{"name":"a.pdf","url":"https://example.com/a"},"/b.png",{"id":"c"}]"#;
    let expected = [
        Attached::File(Part::Image("data:image/png;base64,aGk=".to_owned())),
        Attached::File(Part::Elsewhere { name: "a.pdf".to_owned(), url: "https://example.com/a".to_owned() }),
        Attached::File(Part::Other("/b.png".to_owned())),
        Attached::File(Part::Other("c".to_owned())),
    ];
    assert_eq!(files(json), expected);
    assert_eq!(embeds(r#"["<p>1</p>"]"#), [Attached::Page("<p>1</p>".to_owned())]);
    assert!(files("not json").is_empty());
}

#[test]
fn json_is_taken_apart_level_by_level_as_it_was_written() {
    let Node::Object(fields) = node(r#"{"b":1.50,"a b":[1,{"c":null}],"é":"ü"}"#) else { panic!() };
    let written: Vec<(&str, &str)> = fields.iter().map(|(key, raw)| (key.as_str(), &**raw)).collect();
    assert_eq!(written, [("b", "1.50"), ("a b", r#"[1,{"c":null}]"#), ("é", "\"ü\"")]);
    assert_eq!(glance(&node(&fields[1].1)), "[2 items]");
    assert_eq!(node("\"ü\\n\""), Node::Text("ü\n".to_owned()));
    assert_eq!(node(" 12 "), Node::Word("12".to_owned()));
    assert_eq!(index_path(&key_path("$", "a b"), 1), "$[\"a b\"][1]");
    assert_eq!(key_path("$", "b"), "$.b");
}

#[test]
fn a_card_says_what_its_result_is() {
    let said = |name: &str, text: &str| {
        summary(name, &PreviewOutput { text: text.to_owned(), is_json: node(text).count().is_some() })
    };
    assert_eq!(said("t", r#"{"a":1,"b":2}"#), "JSON · 2 keys · 13 B");
    assert_eq!(said("t", r#"[{"a":1},{"a":2},{"a":3}]"#), "table · 3 rows · 25 B");
    assert_eq!(said("bash", "ok"), "terminal · 2 B");
    assert_eq!(said("t", "--- a\n+++ b\n@@ -1 +1 @@\n-x\n+y"), "diff · +1 −1 · 29 B");
    assert_eq!(said("t", r#"{"content":[{"type":"text","text":"hi"}]}"#), "text · 41 B");
    assert_eq!(said("t", "hi"), "text · 2 B");
}

proptest! {
    #[test]
    fn whatever_a_tool_prints_is_taken(text in "(\u{1b}|\\[|[0-9;]{0,3}|m|[a-zé]|\n|\\{|\"|\r|\\]){0,60}") {
        let _some = kind("bash", &text);
        let _others = (files(&text), embeds(&text));
    }

    #[test]
    fn a_json_value_is_what_its_levels_say(numbers in proptest::collection::vec("-?[1-9][0-9]{0,20}", 0..8)) {
        let text = format!("[{}]", numbers.join(", "));
        let Node::Array(items) = node(&text) else { panic!("{text}") };
        prop_assert_eq!(items.iter().map(|item| &**item).collect::<Vec<_>>(), numbers);
    }
}

#[test]
fn a_result_of_which_the_beginning_is_here_is_told_by_its_whole_size() {
    let beginning = PreviewOutput { text: "[{\"a\":1},".to_owned(), is_json: false };
    assert_eq!(summary_of_beginning(&beginning, 300 << 10), "JSON · 300 KB");
}

#[test]
fn numbered_lines_of_a_file_are_code_and_csv_is_a_table() {
    let Kind::Numbered(read) = kind("Read", "     9→fn a() {\n    10→\tb\n    11→}\n") else {
        panic!()
    };
    assert_eq!((read.first, read.text.as_str()), (9, "fn a() {\n\tb\n}\n"));
    assert!(matches!(kind("cat -n", "1\ta\n2\tb\n"), Kind::Numbered(_)));
    for text in ["1→a\n3→b\n", "1→a\n", "a→b\nc→d\n", "1→a\n2→b\n\nhint\n"] {
        assert_eq!(kind("t", text), Kind::Plain, "{text}");
    }
    assert!(matches!(kind("bash", "a,b\n1,2\n3,4\n"), Kind::Table(_)));
    let declared = r#"{"mimeType":"text/csv","text":"a,b\n1,2\n3,4\n"}"#;
    assert!(matches!(kind("t", declared), Kind::Table(_)));
    assert!(matches!(kind("t", "*** Begin Patch\n*** Add File: a\n+b\n*** End Patch"), Kind::Diff(_)));
}

#[test]
fn sounds_and_images_of_other_apis_are_parts() {
    let text = r#"[{"type":"audio","data":"aGk=","mimeType":"audio/wav"},
        {"type":"audio","data":"aGk=\" x","mimeType":"audio/wav"},
        {"type":"audio","data":"aGk=","mimeType":"text/html"},
        {"type":"image","source":{"type":"base64","media_type":"image/png","data":"aGk="}},
        {"type":"image_url","image_url":{"url":"data:image/png;base64,aGk="}},
        {"type":"input_image","image_url":"javascript:alert(1)"}]"#;
    let Kind::Parts(parts) = kind("t", text) else { panic!() };
    let image = Part::Image("data:image/png;base64,aGk=".to_owned());
    let expected = [
        Part::Sound("data:audio/wav;base64,aGk=".to_owned()),
        Part::Other("audio of the type audio/wav".to_owned()),
        Part::Other("audio of the type text/html".to_owned()),
        image.clone(),
        image,
        Part::Other("javascript:alert(1)".to_owned()),
    ];
    assert_eq!(parts, expected);
}

#[test]
fn sounds_are_saved_under_names_with_their_endings() {
    let of = |kind: &str| sound_file(&format!("data:{kind};base64,aGk=")).0;
    for (kind, name) in [
        ("audio/mpeg", "audio.mp3"),
        ("audio/x-wav", "audio.wav"),
        ("audio/mp4", "audio.m4a"),
        ("audio/ogg", "audio.ogg"),
    ] {
        assert_eq!(of(kind), name);
    }
}

#[test]
fn a_long_text_begins_with_its_first_lines() {
    let lines = |count: usize| (0..count).map(|n| format!("line {n}\n")).collect::<Vec<_>>().concat();
    assert_eq!(preview_bytes(&lines(20)), lines(20).len(), "a few lines more are shown at once");
    assert_eq!(preview_bytes(&lines(21)), lines(15).len());
    assert_eq!(preview_bytes(&"é".repeat(10_000)), 4096);
    assert_eq!((preview_lines(20), preview_lines(21)), (20, 15));
}

proptest! {
    #[test]
    fn output_without_orders_is_its_text_and_grows_at_its_end(text in "(\u{1b}|\\[|[0-9;]{0,3}|m|[a-zé]|\n|\\]|\u{7}|\\\\){0,40}") {
        let whole = without_orders(&text).into_owned();
        prop_assert!(!whole.contains(char::from(27)), "an order is left");
        for (at, _) in text.char_indices() {
            let before = without_orders(text.split_at(at).0).into_owned();
            prop_assert!(whole.starts_with(&before), "{:?} {:?}", before, whole);
        }
    }

    #[test]
    fn a_terminal_shows_the_text_between_the_orders(words in proptest::collection::vec(("[a-z é\n]{0,5}", 0_u8..110), 0..10)) {
        let text: String = words.iter().map(|(word, number)| format!("{word}\u{1b}[{number}m")).collect::<Vec<_>>().concat();
        let said: String = words.iter().map(|(word, _)| word.as_str()).collect();
        prop_assert_eq!(without_orders(&text), said.as_str());
        let shown: String = lines(terminal::pieces(&text)).into_iter().flatten().map(|piece| piece.text).collect();
        prop_assert_eq!(shown, said);
    }
}
