//! Laws of the nodes: nothing unsafe whatever the input, and a text that grows looks like the whole one at every step.

use proptest::prelude::*;

use super::*;

/// The nodes as short text: `p(a strong(b))`.
fn print(nodes: &[Node]) -> String {
    let one = |node: &Node| match node {
        Node::Text(text) => format!("{text:?}"),
        Node::Element(tag, children) => format!("{tag:?}({})", print(children)),
    };
    nodes.iter().map(one).collect::<Vec<_>>().join(" ")
}

fn text_of(nodes: &[Node]) -> String {
    let one = |node: &Node| match node {
        Node::Text(text) => text.clone(),
        Node::Element(_, children) => text_of(children),
    };
    nodes.iter().map(one).collect()
}

fn links(nodes: &[Node], found: &mut Vec<String>) {
    for node in nodes {
        if let Node::Element(tag, children) = node {
            if let Tag::Link(url) | Tag::Image(url) = tag {
                found.push(url.clone());
            }
            links(children, found);
        }
    }
}

#[test]
fn common_markdown_becomes_the_nodes_that_it_names() {
    let check = |text: &str, expect: &str| assert_eq!(print(&parse(text)), expect, "{text}");
    check("a **b** `c`", r#"Paragraph("a " Strong("b") " " Code("c"))"#);
    check("## h", r#"Heading(2)("h")"#);
    check("1. a\n2. b", r#"List(Some(1))(Item("a") Item("b"))"#);
    check("- [x] a", r#"List(None)(Item(Task(true)() "a"))"#);
    check("```rust ignore\nfn x() {}\n```", r#"CodeBlock("rust")("fn x() {}\n")"#);
    check(
        "|a|b|\n|-|-:|\n|1|2|",
        "Table(Row(Cell { head: true, align: Start }(\"a\") Cell { head: true, align: End }(\"b\")) \
         Row(Cell { head: false, align: End }(\"1\") Cell { head: false, align: End }(\"2\")))",
    );
}

#[test]
fn numbers_stand_right_where_a_table_names_no_alignment() {
    let aligned = |table: &str| {
        let printed = print(&parse(table));
        let cells = printed.split("head: false, align: ").skip(1);
        cells.map(|cell| cell.starts_with("End")).collect::<Vec<_>>()
    };
    let unsaid = "|a|\n|-|\n";
    for number in ["1", "-1,200.50", "+18.7 %", "€ 48", "0.6"] {
        assert_eq!(aligned(&format!("{unsaid}|{number}|")), [true], "{number}");
    }
    for text in ["x 3", "-", "3rd", "**4**", ""] {
        assert_eq!(aligned(&format!("{unsaid}|{text}|")), [false], "{text}");
    }
    // A table that says where its column stands is obeyed.
    assert_eq!(aligned("|a|b|\n|:-|:-:|\n|1|2|"), [false, false]);
}

#[test]
fn html_is_the_text_that_it_is() {
    let text = "<script>alert(1)</script>\n\nx <img src=x onerror=alert(1)> y";
    let nodes = parse(text);
    assert!(print(&nodes).starts_with("Raw("), "{}", print(&nodes));
    assert_eq!(text_of(&nodes).replace('\n', ""), text.replace('\n', ""));
}

#[test]
fn only_safe_links_stay_links() {
    let mut found = Vec::new();
    let text = "[a](https://x.y) [b](javascript:alert) [c](JAVASCRIPT:x) [d](data:text/html,x) [e](/c/x) \
                [f](mailto:a@b.c) ![g](http://i/j.png) ![h](javascript:x) <https://z.z> [i](java\u{1}script:x)";
    links(&parse(text), &mut found);
    assert_eq!(found, ["https://x.y", "mailto:a@b.c", "http://i/j.png", "", "https://z.z"]);
}

#[test]
fn long_texts_are_split_where_appending_does_not_move_the_cuts() {
    let words = "word ".repeat(700);
    let before = parse(&words);
    let after = parse(&format!("{words}and more of it"));
    let pieces = |nodes: &[Node]| match nodes {
        [Node::Element(_, children)] => children.clone(),
        other => other.to_vec(),
    };
    let (before, after) = (pieces(&before), pieces(&after));
    assert!(before.len() > 2);
    assert_eq!(before[..before.len() - 1], after[..before.len() - 1]);
}

#[test]
fn a_very_long_paragraph_stands_in_stretches_that_stay() {
    let words = "some **strong** words ".repeat(600);
    let stretches = |text: &str| match parse(text).as_slice() {
        [Node::Element(Tag::Paragraph, children)] => children.clone(),
        other => panic!("{other:?}"),
    };
    let (before, after) = (stretches(&words), stretches(&format!("{words}and more")));
    assert!(before.len() > 2 && before.iter().all(|it| matches!(it, Node::Element(Tag::Stretch, _))));
    assert_eq!(before[..before.len() - 1], after[..before.len() - 1]);
    assert_eq!(text_of(&before), words.replace("**", "").trim_end());
}

#[test]
fn long_code_stands_in_stretches_of_whole_lines() {
    let code = "let x = compute();\n".repeat(600);
    let nodes = parse(&format!("```rust\n{code}```"));
    let [Node::Element(Tag::CodeBlock(_), stretches)] = nodes.as_slice() else { panic!("{nodes:?}") };
    assert!(stretches.len() > 2);
    assert!(stretches.iter().all(|it| text_of(std::slice::from_ref(it)).ends_with('\n')));
    assert_eq!(text_of(&nodes), code);
}

#[test]
fn a_replaced_text_starts_again() {
    let mut stream = Stream::default();
    assert_eq!(stream.advance("one\n\ntwo\n\nthree\n").done.len(), 2);
    assert!(!stream.advance("one\n\ntwo\n\nthree\n\nfour\n").restart);
    let update = stream.advance("another text");
    assert!(update.restart);
    assert_eq!(print(&update.pending), r#"Paragraph("another text")"#);
}

#[test]
fn a_definition_at_the_end_reaches_back_when_the_text_is_whole() {
    let text = "see [one]\n\nand [two][one]\n\n[one]: https://x.y\n";
    let mut stream = Stream::default();
    stream.advance(text);
    let update = stream.finish(text);
    assert!(update.restart && update.pending.is_empty());
    assert_eq!(update.done, parse(text));
}

#[test]
fn a_carriage_return_alone_ends_a_line_and_no_block_is_given_out_twice() {
    grows("some <b>raw\r\r</b>\n\n- item\n");
}

#[test]
fn a_line_that_is_no_second_line_of_a_table_after_all_stays_in_its_paragraph() {
    grows("words\n|b|\n|-|-:|\n|1|2|\n\n- item\n");
    grows("words\n|b|\n|-|\n|1|\n\n- item\n");
    // The parser parts the paragraph before it finds that its second half is no table either.
    grows("words\n|a\\\n|-\u{1f}|-:|\n|1|a|b|\n");
}

/// The text looks like the whole one at every step.
fn grows(text: &str) {
    let (mut stream, mut shown) = (Stream::default(), Vec::new());
    for end in 0..=text.len() {
        let update = stream.advance(text.split_at(end).0);
        shown.extend(update.done);
        let all: Vec<Node> = shown.iter().cloned().chain(update.pending).collect();
        assert_eq!(print(&all), print(&parse(text.split_at(end).0)), "at {end}");
    }
}

/// Lines that stress where blocks begin and end.
fn lines() -> impl Strategy<Value = String> {
    let line = prop_oneof![
        Just("para"),
        Just(""),
        Just("- item"),
        Just("  more"),
        Just("1. one"),
        Just("2. two"),
        Just("```"),
        Just("~~~ rs"),
        Just("    code"),
        Just("> quote"),
        Just("| a | b |"),
        Just("|---|--:|"),
        Just("# head"),
        Just("==="),
        Just("---"),
        Just("***"),
        Just("<div>"),
        Just("</div>"),
        Just("**b"),
        Just("b** `c"),
        Just("   - nested"),
        Just("<!-- c"),
        Just("-->"),
        Just("\ttab"),
        Just("* star"),
        Just("+"),
        Just("é 漢字 🙂"),
        Just("a\rb"),
        Just("raw\r</div>"),
        Just("\r- c\r"),
    ];
    prop::collection::vec(line, 0..14).prop_map(|lines| lines.join("\n"))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn a_growing_text_looks_like_the_whole_one_at_every_step(text in lines()) {
        let mut stream = Stream::default();
        let mut shown: Vec<Node> = Vec::new();
        for end in (0..=text.len()).filter(|end| text.is_char_boundary(*end)) {
            let prefix = text.split_at(end).0;
            let update = stream.advance(prefix);
            prop_assert!(!update.restart);
            shown.extend(update.done);
            let all: Vec<Node> = shown.iter().cloned().chain(update.pending).collect();
            prop_assert_eq!(print(&all), print(&parse(prefix)), "{:?}", prefix);
        }
        shown.extend(stream.finish(&text).done);
        prop_assert_eq!(print(&shown), print(&parse(&text)));
    }

    #[test]
    fn any_text_gives_only_safe_links(text in any::<String>()) {
        let mut found = Vec::new();
        links(&parse(&text), &mut found);
        for url in found {
            let safe = ["http:", "https:", "mailto:"].iter().any(|s| url.to_ascii_lowercase().starts_with(s));
            prop_assert!(url.is_empty() || safe, "{}", url);
        }
    }
}

/// How deep the nodes are nested.
fn depth(nodes: &[Node]) -> usize {
    let one = |node: &Node| match node {
        Node::Text(_) => 0,
        Node::Element(_, children) => depth(children).saturating_add(1),
    };
    nodes.iter().map(one).max().unwrap_or(0)
}

/// A page has a stack of one megabyte, and needs most of it for what it does with the nodes.
const STACK_BYTES: usize = 256 << 10;

#[test]
fn markdown_that_nests_without_end_is_laid_flat_and_keeps_its_words() {
    let bombs = [
        ("- ".repeat(2_000), 0),
        ("> ".repeat(5_000), 0),
        ("*a _b ".repeat(20_000), 40_000),
        ("1. a\n   ".repeat(200), 200),
        ("[".repeat(10_000) + &"](http://x.test)".repeat(2_000), 0),
        ("**a ".repeat(3_000) + &"**".repeat(3_000), 3_000),
    ];
    for (bomb, letters) in bombs {
        let check = move || {
            let nodes = parse(&bomb);
            let start: String = bomb.chars().take(12).collect();
            assert!(depth(&nodes) <= model::limits::MARKDOWN_DEPTH_MAX + 1, "{start}: {}", depth(&nodes));
            let kept = text_of(&nodes).chars().filter(char::is_ascii_lowercase).count();
            assert!(kept >= letters, "{start}: {kept} of {letters} letters");
            let mut stream = Stream::default();
            drop(stream.advance(&bomb));
            drop(stream.finish(&bomb));
        };
        let thread = std::thread::Builder::new().stack_size(STACK_BYTES).spawn(check).unwrap();
        thread.join().unwrap();
    }
}

#[test]
fn formulas_keep_their_source_and_are_told_from_money() {
    let check = |text: &str, expect: &str| assert_eq!(print(&parse(text)), expect, "{text}");
    check(r"So \(a_1*b*c\) holds", r#"Paragraph("So " Formula(false)("\\(a_1*b*c\\)") " holds")"#);
    check(r"\[ E = mc^2 \]", r#"Paragraph(Formula(true)("\\[ E = mc^2 \\]"))"#);
    check("\\[\nE = mc^2\n\\]", r#"Paragraph(Formula(true)("\\[\nE = mc^2\n\\]"))"#);
    check("$x$ and $$y^2$$", r#"Paragraph(Formula(false)("$x$") " and " Formula(true)("$$y^2$$"))"#);
    check("`\\(a\\)`", r#"Paragraph(Code("\\(a\\)"))"#);
    check("```\n\\(a\\)\n```", r#"CodeBlock("")("\\(a\\)\n")"#);
    for text in [
        "It costs $5 or $10, and $5-$10 for two.",
        "Set $HOME=/x:$PATH and $A/$B.",
        "$5/month or 10$ a year",
        "a $ b $ c",
        "a [x] b",
    ] {
        check(text, &format!("Paragraph({text:?})"));
    }
    assert_eq!(
        text_of(&parse(r"\[x\] is no task, \*not bold\*, \( alone")),
        "[x] is no task, *not bold*, ( alone"
    );
    let broken = r"Broken: \( \frac{a \) and \(x\), \[ = { \] too.";
    assert_eq!(text_of(&parse(broken)), broken, "what is no formula after all is as it was written");
    grows("So \\(a\\) and $x$.\n\n\\[ a = b \\]\n\nend\n");
}

#[test]
fn footnotes_are_marks_and_notes_when_the_text_is_whole() {
    let text = "A claim[^1] and [^none].\n\n[^1]: Its *source*.\n";
    let expect = r#"Paragraph("A claim" NoteMark("1") " and [^none].") Note("1")(Paragraph("Its " Emphasis("source") "."))"#;
    assert_eq!(print(&parse(text)), expect);
    let mut stream = Stream::default();
    for end in 0..text.len() {
        stream.advance(text.split_at(end).0);
    }
    let update = stream.finish(text);
    assert!(update.restart && update.pending.is_empty());
    assert_eq!(update.done, parse(text));
}

proptest! {
    #[test]
    fn a_formula_loses_nothing_of_its_source(text in "(\\\\\\(|\\\\\\)|\\\\\\[|\\\\\\]|\\$|\\$\\$|=|x|\\^| |\n|`|\\||é){0,30}") {
        for node in parse(&text) {
            formulas(&node, &mut |source| {
                assert!(text.contains(source), "{source:?} of {text:?}");
                assert!(crate::mathematics::without_marks(source).is_some(), "{source:?}");
            });
        }
    }
}

/// Calls `with` with the source of each formula.
fn formulas(node: &Node, with: &mut dyn FnMut(&str)) {
    if let Node::Element(tag, children) = node {
        if let (Tag::Formula(_), [Node::Text(source)]) = (tag, children.as_slice()) {
            with(source);
        }
        for child in children {
            formulas(child, with);
        }
    }
}
