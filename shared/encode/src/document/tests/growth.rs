//! How large documents get: a bounded number of bytes for each byte of what is written, whatever it is and however deep it is nested.

use std::fmt::Write as _;

use super::*;
use crate::document::export::{self, DocumentOptions};

/// Most bytes of HTML for each byte of a text. Links to one long address, whose signs are escaped, made 19.7, and a table of empty cells in the
/// middle of their columns 17.7.
const HTML_GROWTH_MAX: usize = 24;

/// The same for Markdown. `<` and `[` behind HTML without an end, which become `&lt;` and `&#91;`, made 4.5.
const MARKDOWN_GROWTH_MAX: usize = 5;

/// The deepest that elements of a document are nested: a text made 56, and sub-agents around it some more.
const DEPTH_MAX: usize = 96;

/// Texts of about so many bytes that are nested or that a reader would make much of, by name.
fn texts(bytes: usize) -> Vec<(&'static str, String)> {
    let times = |text: &str| text.repeat(bytes / text.len());
    let half = |text: &str| text.repeat(bytes / 2 / text.len());
    let stairs = |mark: &str| {
        let mut text = String::new();
        for level in (0..).take_while(|level| level * level < bytes) {
            writeln!(text, "{}{mark} x", "  ".repeat(level)).unwrap();
        }
        text
    };
    let center = ":-:|";
    vec![
        ("lists in a line", times("- ")),
        ("numbers in a line", times("1. ")),
        ("stairs of lists", stairs("-")),
        ("stairs of numbers", stairs("1.")),
        ("stairs of quotes", stairs("- >")),
        ("many short items", times("- \n")),
        ("quotes in a line", times("> ")),
        ("quotes and lists in a line", times("> - ")),
        ("many short quotes", times(">\n\n")),
        ("emphasis that is not closed", times("*a _b ")),
        ("emphasis that is closed", times("**a**_b_~~c~~ ")),
        ("code in a line", times("`a` ")),
        ("blocks of code", times("~~~\n~~~\n")),
        ("paragraphs", times("a\n\n")),
        ("empty lines", times("\n")),
        ("signs of HTML", times("<&\">'")),
        ("HTML without an end", format!("<!-- {}", times("[<"))),
        ("brackets", times("[")),
        ("breaks", times("<br>")),
        ("links", times("[](http://a) ")),
        ("addresses", times("<http://a> ")),
        ("pictures", times("![](http://a) ")),
        ("links to one short address", format!("[a]: http://a\n\n{}", times("[a]"))),
        ("links to one long address", format!("[a]: http://{}\n\n{}", half("a"), half("[a]"))),
        ("links to one address that is escaped", format!("[a]: http://{}\n\n{}", half("&"), half("[a]"))),
        ("pictures at one long address", format!("[a]: http://{}\n\n{}", half("a"), half("![a]"))),
        ("a table of empty cells", format!("|a|a|a|a|\n|{}\n{}", center.repeat(4), times("|||||\n"))),
        (
            "a table of rows that lack cells",
            format!("|{}\n|{}\n{}", "a|".repeat(bytes / 12), center.repeat(bytes / 12), half("|\n")),
        ),
        ("tables", times("a|a\n-|-\n\n")),
        ("checks", times("- [ ] \n")),
        ("control characters", times("\u{1}")),
    ]
}

/// Conversations in which one thing each is `text`: a message of the history, a thought, the task of a sub-agent, its text, an answer.
fn told(text: &str) -> [(&'static str, View); 5] {
    let t = serde_json::to_string(text).unwrap();
    let part = |of: &str, kind: &str| {
        format!(
            "{{\"k\":\"part.start\",\"run\":\"r\"{of},\"part\":\"p\",\"kind\":\"{kind}\"}}\n\
             {{\"k\":\"part.delta\",\"run\":\"r\"{of},\"part\":\"p\",\"text\":{t}}}"
        )
    };
    [
        ("a message", format!(r#"{{"k":"message","message":"m","role":"user","text":{t}}}"#)),
        ("a thought", part("", "thinking")),
        ("a task", format!(r#"{{"k":"agent.start","run":"r","agent":"a","text":{t}}}"#)),
        ("a sub-agent", part(r#","agent":"a""#, "text")),
        ("an answer", part("", "text")),
    ]
    .map(|(place, lines)| (place, view(&lines)))
}

/// How deep elements stand inside of one another in `html`; void elements do not count.
fn depth(html: &str) -> usize {
    let (mut open, mut deepest) = (0_usize, 0);
    for tag in html.split('<').skip(1) {
        let is_void = ["br", "hr", "img", "meta", "!"].iter().any(|void| tag.starts_with(void));
        let is_whole = tag.split('>').next().is_some_and(|inside| inside.ends_with('/'));
        if tag.starts_with('/') {
            open = open.saturating_sub(1);
        } else if !is_void && !is_whole {
            open += 1;
            deepest = deepest.max(open);
        }
    }
    deepest
}

#[test]
fn i7_a_document_is_at_most_so_many_times_its_texts_and_so_deep() {
    // A text of a kilobyte has the most to gain: the parser bounds what it makes of larger ones.
    for bytes in [1_000, 30_000] {
        for (name, text) in texts(bytes) {
            for ((place, view), (_, empty)) in told(&text).into_iter().zip(told("x")) {
                check(&format!("{name} in {place}"), &text, &view, &empty);
            }
        }
    }
}

/// Checks the documents of `view`, which has `text` where `empty` has a letter.
fn check(name: &str, text: &str, view: &View, empty: &View) {
    for steps in [StepsLayout::Each, StepsLayout::OneBlock] {
        let all = html(view, "c", steps);
        let made = all.len().saturating_sub(html(empty, "c", steps).len());
        let most = HTML_GROWTH_MAX * text.len();
        assert!(made <= most, "{name}: {made} bytes of HTML of {}", text.len());
        assert!(depth(&all) <= DEPTH_MAX, "{name}: {} deep", depth(&all));
        let made = markdown(view, "c", steps).len();
        let made = made.saturating_sub(markdown(empty, "c", steps).len());
        let most = MARKDOWN_GROWTH_MAX * text.len();
        assert!(made <= most, "{name}: {made} bytes of Markdown of {}", text.len());
    }
}

#[test]
fn i7_nested_sub_agents_with_nested_texts_make_a_document_of_bounded_depth_and_size() {
    let texts = ["- ".repeat(200), "> ".repeat(200), "[[[[[[[[1,2]]]]]]]]".repeat(20)];
    let texts = texts.map(|text| serde_json::to_string(&text).unwrap());
    let mut lines = String::from("{\"k\":\"run.start\",\"run\":\"r\"}\n");
    for n in 1..300_usize {
        let (parent, text) = (n - 1, &texts[n % 3]);
        let of = format!("\"run\":\"r\",\"agent\":\"a{n}\"");
        writeln!(lines, "{{\"k\":\"agent.start\",{of},\"parent\":\"a{parent}\",\"text\":{text}}}").unwrap();
        writeln!(lines, "{{\"k\":\"part.start\",{of},\"part\":\"p{n}\",\"kind\":\"text\"}}").unwrap();
        writeln!(lines, "{{\"k\":\"part.delta\",{of},\"part\":\"p{n}\",\"text\":{text}}}").unwrap();
        writeln!(lines, "{{\"k\":\"tool.call\",{of},\"tool\":\"t{n}\",\"name\":\"n\",\"arguments\":{text}}}")
            .unwrap();
    }
    let view = view(&lines);
    for steps in [StepsLayout::Each, StepsLayout::OneBlock] {
        let all = html(&view, "c", steps);
        assert!(depth(&all) <= DEPTH_MAX, "{} deep", depth(&all));
        assert!(all.len() <= HTML_GROWTH_MAX * lines.len(), "{} bytes of {}", all.len(), lines.len());
        let all = markdown(&view, "c", steps);
        assert!(all.len() <= MARKDOWN_GROWTH_MAX * lines.len(), "{} bytes of {}", all.len(), lines.len());
    }
}

#[test]
fn links_and_cells_as_people_write_them_are_all_there() {
    let mut text = String::from("[docs]: https://example.com/a/rather/long/address\n\n");
    text.push_str(&"See [docs]. ".repeat(20));
    text.push_str("\n\n|a|b|c|\n|-|-|-|\n|1|\n|2|\n");
    let [.., (_, view)] = told(&text);
    let html = html(&view, "c", StepsLayout::Each);
    assert_eq!(html.matches("href=\"https://example.com/a/rather/long/address\"").count(), 20);
    assert_eq!(html.matches("<td></td>").count(), 4);
}

#[test]
fn i7_a_large_document_is_written_in_pieces_of_its_sections() {
    const TEXT_BYTES: usize = 100_000;
    let mut lines = String::new();
    for n in 0..40 {
        let text = "word ".repeat(TEXT_BYTES / 5);
        writeln!(lines, "{{\"k\":\"message\",\"message\":\"m{n}\",\"role\":\"user\",\"text\":\"{text}\"}}")
            .unwrap();
    }
    let view = view(&lines);
    for name in ["md", "html", "openai", "anthropic"] {
        let format = export::format(name).unwrap();
        let mut pieces = Pieces::default();
        format.write(&view, "c", DocumentOptions::default(), &mut pieces).unwrap();
        assert!(pieces.longest < 5 * TEXT_BYTES, "{name}: a piece of {} bytes", pieces.longest);
        assert_eq!(
            String::from_utf8(pieces.all).unwrap(),
            format.document(&view, "c", DocumentOptions::default())
        );
    }
}

#[test]
fn a_document_that_cannot_be_written_fails() {
    let view = view(TURN);
    for format in export::FORMATS {
        let written = format.write(&view, "c", DocumentOptions::default(), &mut [].as_mut_slice());
        assert!(written.is_err(), "{}", format.name);
    }
}

/// Keeps what is written, and the length of the longest piece.
#[derive(Default)]
struct Pieces {
    all: Vec<u8>,
    longest: usize,
}

impl std::io::Write for Pieces {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.longest = self.longest.max(bytes.len());
        self.all.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}
