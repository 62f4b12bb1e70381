//! Makes foreign Markdown safe for the place where it is put: no HTML, no links that run something, no code
//! fence that is left open, no control characters.
//!
//! The text stays Markdown, since models write it on purpose. It is read by the same parser that many
//! renderers use, and only what the parser takes for HTML or for a link to an unsafe place is escaped, by
//! replacing its `<` or `[` with an entity. Escaping changes what the parser finds, so the text is read again
//! until it is clean. This does not depend on one renderer being strict: a `<` that could begin HTML in
//! another context is escaped too.

use std::borrow::Cow;
use std::ops::Range;

use pulldown_cmark::{CodeBlockKind, Event, Options, Parser, Tag, TagEnd};

use model::preview::safe_link;

/// The most rounds of escaping. One round may uncover more (for example a fence that was inside of a
/// comment); after this many rounds everything is escaped.
///
/// It bounds the work on a hostile text, together with the limit of its size.
const ROUNDS_MAX: usize = 8;

/// The extensions of Markdown that the parser reads.
///
/// The HTML writer reads with the same, so both documents show the same structure.
pub(in crate::document) const OPTIONS: Options =
    Options::ENABLE_TABLES.union(Options::ENABLE_STRIKETHROUGH).union(Options::ENABLE_TASKLISTS);

/// `text` without control characters, with line feeds as its only line ends.
///
/// `\r\n` and a lone `\r` become a line feed; tabs stay; any other control character becomes U+FFFD. A text
/// without them is borrowed.
pub(in crate::document) fn plain(text: &str) -> Cow<'_, str> {
    if !text.contains(|c: char| c.is_control() && c != '\n' && c != '\t') {
        return text.into();
    }
    let text = text.replace("\r\n", "\n");
    let one = |c: char| match c {
        '\n' | '\t' => c,
        '\r' => '\n',
        c if c.is_control() => char::REPLACEMENT_CHARACTER,
        c => c,
    };
    text.chars().map(one).collect::<String>().into()
}

/// `text` as safe Markdown that does not change what is around it.
///
/// A text without `<` and `:` is read only once, for its fences. If a text is not clean after `ROUNDS_MAX`
/// rounds, each `<` and each `[` in it is escaped, and with them links of every kind.
pub(in crate::document) fn tame(text: &str) -> String {
    let mut text = plain(text).into_owned();
    for _ in 0..ROUNDS_MAX {
        let unsafe_places = places(&text);
        if unsafe_places.is_empty() {
            return closed(text);
        }
        text = escaped(&text, &unsafe_places);
    }
    closed(text.replace('<', "&lt;").replace('[', "&#91;"))
}

/// The ranges of `text` with HTML, and those where links begin that must not be followed.
///
/// They are sorted by their start. The parser's ranges are byte offsets at the bounds of characters.
fn places(text: &str) -> Vec<Range<usize>> {
    if !text.contains('<') && !text.contains(':') {
        return Vec::new();
    }
    let parser = Parser::new_ext(text, OPTIONS);
    // A link may be defined in one text and used in another one of the same document.
    let defined = parser.reference_definitions().iter().filter(|(_, link)| !may_stay(&link.dest));
    let mut places: Vec<Range<usize>> =
        defined.map(|(_, link)| link.span.start..link.span.start.saturating_add(1)).collect();
    let found = parser.into_offset_iter().filter_map(|(event, range)| match event {
        Event::InlineHtml(html) if is_break(&html) => None,
        Event::Html(_) | Event::InlineHtml(_) | Event::Start(Tag::HtmlBlock) => {
            text.get(range.clone()).is_some_and(|html| html.contains('<')).then_some(range)
        }
        Event::Start(Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. }) if !may_stay(&dest_url) => {
            // Only the bracket: without it there is no link.
            Some(range.start..range.start.saturating_add(2))
        }
        _ => None,
    });
    places.extend(found);
    places.extend(openings(text));
    // A link starts before its content, so only definitions are out of order.
    places.sort_by_key(|place| place.start);
    places
}

/// The places of each `<` outside of code that could begin HTML. Together with what is around the text (such
/// as the mark of a quote on its next line), some readers take it for HTML although it is none by itself.
fn openings(text: &str) -> Vec<Range<usize>> {
    let mut in_code = false;
    let mut found = Vec::new();
    for (event, range) in Parser::new_ext(text, OPTIONS).into_offset_iter() {
        match event {
            Event::Start(Tag::CodeBlock(_)) => in_code = true,
            Event::End(TagEnd::CodeBlock) => in_code = false,
            Event::Text(_) if !in_code => {
                let signs = text.get(range.clone()).unwrap_or_default().match_indices('<');
                let starts = signs.map(|(at, _)| range.start.saturating_add(at));
                found.extend(starts.filter(|at| opens(text, *at)).map(|at| at..at.saturating_add(1)));
            }
            _ => {}
        }
    }
    found
}

/// Whether the character after the `<` at `at` could be the beginning of HTML.
fn opens(text: &str, at: usize) -> bool {
    let next = text.get(at.saturating_add(1)..).and_then(|rest| rest.chars().next());
    next.is_some_and(|c| c.is_ascii_alphabetic() || matches!(c, '!' | '?' | '/'))
}

/// Whether `html` is a line break: the only HTML that is allowed. Models need it in cells of tables, and it
/// cannot stay open.
pub(in crate::document) fn is_break(html: &str) -> bool {
    matches!(html, "<br>" | "<br/>" | "<br />")
}

/// Whether a link may stay: its scheme is safe, or it has none and leads to a place in the document.
/// `mailto:`, `http:` and `https:` are safe (see `safe_link`). A relative address has no `:` before its first
/// `/`, `?` or `#`, not even as an entity or percent-encoded, and does not begin with `//`, which would lead
/// to another host.
fn may_stay(url: &str) -> bool {
    let head: String = url.chars().take_while(|c| !matches!(c, '/' | '?' | '#')).collect();
    safe_link(url).is_some() || !head.contains([':', '&', '%']) && !url.starts_with("//")
}

/// `text` with each `<` and `[` in the ranges escaped.
///
/// The ranges must be sorted by start; they may overlap. Anything else in them is unchanged.
fn escaped(text: &str, places: &[Range<usize>]) -> String {
    let mut out = String::with_capacity(text.len().saturating_add(text.len() / 8));
    let mut places = places.iter().peekable();
    let mut end = 0;
    for (at, c) in text.char_indices() {
        while let Some(place) = places.next_if(|place| place.start <= at) {
            end = end.max(place.end);
        }
        match c {
            '<' if at < end => out.push_str("&lt;"),
            '[' if at < end => out.push_str("&#91;"),
            c => out.push(c),
        }
    }
    out
}

/// Closes a block of code that is open at the end: it would include what comes after the text.
/// Only a fence at the outermost level is closed: one in a list or a quote ends with that.
fn closed(mut text: String) -> String {
    let mut depth = 0_usize;
    let mut fence = None;
    for (event, range) in Parser::new_ext(&text, OPTIONS).into_offset_iter() {
        match event {
            Event::Start(tag) => {
                if depth == 0 && matches!(tag, Tag::CodeBlock(CodeBlockKind::Fenced(_))) {
                    fence = text.get(range).map(|block| (block.trim_start(), block));
                }
                depth = depth.saturating_add(1);
            }
            Event::End(_) => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    let Some((block, whole)) = fence else { return text };
    if !text.trim_end().ends_with(whole.trim_end()) {
        return text;
    }
    let Some(sign) = block.chars().next() else { return text };
    let opening: String = block.chars().take_while(|c| *c == sign).collect();
    let last = block.trim_end().lines().skip(1).last().unwrap_or_default().trim();
    let is_closed = last.len() >= opening.len() && last.chars().all(|c| c == sign);
    if !is_closed {
        text.push('\n');
        text.push_str(&opening);
    }
    text
}

/// `text` as a block of code, with a fence that is longer than any in it.
///
/// `language` must come from this crate. The result ends with a line feed.
pub(in crate::document) fn code(language: &str, text: &str) -> String {
    let text = plain(text);
    let mut longest = 0_usize;
    let mut run = 0_usize;
    for c in text.chars() {
        run = if c == '`' { run.saturating_add(1) } else { 0 };
        longest = longest.max(run);
    }
    let fence = "`".repeat(longest.saturating_add(1).max(3));
    let end = if text.ends_with('\n') || text.is_empty() { "" } else { "\n" };
    format!("{fence}{language}\n{text}{end}{fence}\n")
}
