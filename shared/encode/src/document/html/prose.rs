//! Writes the Markdown of an answer as HTML, from the parser's events: only known elements, with text
//! escaped. HTML in the text is shown as text, links are made only for safe addresses, images are never
//! loaded.
//!
//! | Markdown | HTML |
//! |---|---|
//! | heading of level 1 or 2, 3, 4, 5 or 6 | `h3`, `h4`, `h5`, `h6`: `h1` is the title of the document |
//! | fenced code | `div.code` with the language, if there is one, and `pre` |
//! | table | `div.table`, whose cells have a class for their alignment |
//! | item with a check box | `li.task` with ☑ or ☐ |
//! | link | `a` if the address is http, https or mailto and absolute, else `span.raw` |
//! | image | its description, as a link where that is safe |
//! | HTML | its source; only `<br>` has its meaning |
//!
//! The parser repeats an address for each link that names its definition, and completes short rows of a table with empty cells: both could
//! make hundreds of bytes of each one. So there are at most as many cells as bytes of Markdown, and [`LINK_BYTES`] bytes of addresses for
//! each of them; what is more is left out, but not its text.
//!
//! Attributes that come from the text are the address of a link, which is escaped, and the number at which a
//! list begins.

use pulldown_cmark::{Alignment, CodeBlockKind, CowStr, Event, Parser, Tag, TagEnd};

use super::escape::text;
use crate::document::markdown::tame::{OPTIONS, is_break};
use model::limits::MARKDOWN_DEPTH_MAX;
use model::preview::safe_link;

/// Most bytes of addresses in links for each byte of Markdown. An address that stands in each of its links takes less than one.
const LINK_BYTES: usize = 4;

/// Appends `markdown` as HTML. All elements that it opens are closed.
pub(super) fn put(markdown: &str, out: &mut String) {
    let mut writer = ProseWriter {
        out,
        open: Vec::new(),
        columns: Vec::new(),
        column: 0,
        in_head: false,
        cells_left: markdown.len(),
        link_bytes_left: markdown.len().saturating_mul(LINK_BYTES),
    };
    let mut events = Parser::new_ext(markdown, OPTIONS).peekable();
    while let Some(event) = events.next() {
        let is_task = matches!(events.peek(), Some(Event::TaskListMarker(_)));
        match event {
            Event::Start(Tag::Item) if is_task => writer.start_task(),
            event => writer.take(event),
        }
    }
    while let Some(close) = writer.open.pop() {
        writer.out.push_str(close);
    }
}

/// Writes the start of a link. `url` must be safe; it is escaped here.
pub(super) fn open_link(url: &str, out: &mut String) {
    out.push_str("<a rel=\"noopener noreferrer nofollow\" href=\"");
    text(url, out);
    out.push_str("\">");
}

/// Writes HTML for the events of the parser. Elements nested deeper than [`MARKDOWN_DEPTH_MAX`] are left out,
/// but not their text.
///
/// The parser sends a start and an end for each element, properly nested. Each start pushes exactly one end
/// tag, if need be an empty one, and each end pops one, so all elements are balanced whatever the text is.
struct ProseWriter<'a> {
    /// The text that the HTML is appended to.
    out: &'a mut String,
    /// The end tags of the elements that are open, the innermost last.
    open: Vec<&'static str>,
    /// How the columns of the innermost table are aligned.
    columns: Vec<Alignment>,
    /// The number of the next cell in its row, from 0.
    column: usize,
    /// Whether the row is the head of its table: its cells are `th`.
    in_head: bool,
    /// How many more cells are written.
    cells_left: usize,
    /// How many more bytes of addresses are written.
    link_bytes_left: usize,
}

impl ProseWriter<'_> {
    /// Writes what one event stands for.
    fn take(&mut self, event: Event<'_>) {
        match event {
            Event::Start(tag) => self.start(tag),
            Event::End(end) => self.end(end),
            Event::InlineHtml(html) if is_break(&html) => self.out.push_str("<br>"),
            Event::Text(content) | Event::Html(content) | Event::InlineHtml(content) => {
                text(&content, self.out);
            }
            Event::Code(content) => self.code(&content),
            // The parser's options do not enable these; if they come nevertheless, they are written as text.
            Event::InlineMath(content) | Event::DisplayMath(content) | Event::FootnoteReference(content) => {
                text(&content, self.out);
            }
            Event::SoftBreak => self.out.push('\n'),
            Event::HardBreak => self.out.push_str("<br>"),
            Event::Rule => self.out.push_str("<hr>"),
            Event::TaskListMarker(true) => self.out.push_str("☑ "),
            Event::TaskListMarker(false) => self.out.push_str("☐ "),
        }
    }

    /// Writes code within a line.
    fn code(&mut self, content: &str) {
        self.out.push_str("<code>");
        text(content, self.out);
        self.out.push_str("</code>");
    }

    /// Begins an element. Beyond the depth limit only an empty end tag is pushed.
    fn start(&mut self, tag: Tag<'_>) {
        if self.open.len() >= MARKDOWN_DEPTH_MAX {
            self.open.push("");
            return;
        }
        let (start, close): (&str, &'static str) = match tag {
            Tag::Heading { level, .. } => match level as u8 {
                1 | 2 => ("<h3>", "</h3>"),
                3 => ("<h4>", "</h4>"),
                4 => ("<h5>", "</h5>"),
                _ => ("<h6>", "</h6>"),
            },
            Tag::BlockQuote(_) => ("<blockquote>", "</blockquote>"),
            Tag::CodeBlock(kind) => return self.code_block(&kind),
            Tag::HtmlBlock => ("<div class=\"raw\">", "</div>"),
            Tag::List(first) => return self.list(first),
            Tag::Item => ("<li>", "</li>"),
            Tag::Emphasis => ("<em>", "</em>"),
            Tag::Strong => ("<strong>", "</strong>"),
            Tag::Strikethrough => ("<del>", "</del>"),
            Tag::Link { dest_url, .. } => return self.link(&dest_url),
            Tag::Image { dest_url, .. } => return self.image(&dest_url),
            Tag::Table(columns) => {
                self.columns = columns;
                ("<div class=\"table\"><table>", "</table></div>")
            }
            Tag::TableHead => {
                (self.in_head, self.column) = (true, 0);
                ("<tr>", "</tr>")
            }
            Tag::TableRow => {
                self.column = 0;
                ("<tr>", "</tr>")
            }
            Tag::TableCell => return self.cell(),
            // The parser's options do not enable any other tag.
            _ => ("<p>", "</p>"),
        };
        self.put(start, close);
    }

    /// Begins an item of a list whose bullet is a check box.
    fn start_task(&mut self) {
        if self.open.len() >= MARKDOWN_DEPTH_MAX {
            self.open.push("");
        } else {
            self.put("<li class=\"task\">", "</li>");
        }
    }

    /// Writes a start tag and remembers its end tag.
    fn put(&mut self, start: &str, close: &'static str) {
        self.out.push_str(start);
        self.open.push(close);
    }

    /// Ends the innermost element. A line feed after a block keeps the file readable.
    fn end(&mut self, end: TagEnd) {
        if end == TagEnd::TableHead {
            self.in_head = false;
        }
        if let Some(close) = self.open.pop() {
            self.out.push_str(close);
        }
        if matches!(end, TagEnd::Paragraph | TagEnd::Item | TagEnd::TableRow | TagEnd::CodeBlock) {
            self.out.push('\n');
        }
    }

    /// Begins a block of code. The language is the first word behind the fence, at most 40 characters of it.
    fn code_block(&mut self, kind: &CodeBlockKind<'_>) {
        let words: &CowStr<'_> = match kind {
            CodeBlockKind::Fenced(words) => words,
            CodeBlockKind::Indented => &CowStr::Borrowed(""),
        };
        let language: String =
            words.split([' ', ',', '{']).next().unwrap_or_default().chars().take(40).collect();
        self.out.push_str("<div class=\"code\">");
        if !language.is_empty() {
            super::element("div", "code-head", &language, self.out);
        }
        self.put("<pre><code>", "</code></pre></div>");
    }

    /// Begins a list: bullets, or numbers from `first`.
    fn list(&mut self, first: Option<u64>) {
        match first {
            Some(1) => self.put("<ol>", "</ol>"),
            Some(first) => self.put(&format!("<ol start=\"{first}\">"), "</ol>"),
            None => self.put("<ul>", "</ul>"),
        }
    }

    /// Begins a link; the text of a link to an unsafe place is shown without one.
    fn link(&mut self, url: &str) {
        match self.address(url) {
            Some(url) => {
                open_link(&url, self.out);
                self.open.push("</a>");
            }
            None => self.put("<span class=\"raw\">", "</span>"),
        }
    }

    /// Writes the description of an image with a link to it. Loading it would tell its server who reads the
    /// document.
    ///
    /// An image inside of a link gets no link of its own, since links must not be nested.
    fn image(&mut self, url: &str) {
        self.out.push_str("<span class=\"image\">");
        let url = if self.open.contains(&"</a>") { None } else { self.address(url) };
        match url {
            Some(url) => {
                open_link(&url, self.out);
                self.open.push("</a></span>");
            }
            None => self.open.push("</span>"),
        }
    }

    /// The address of a link to `url`, if it is safe and there is room for it.
    fn address(&mut self, url: &str) -> Option<String> {
        let url = safe_link(url)?;
        self.link_bytes_left = self.link_bytes_left.checked_sub(url.len())?;
        Some(url)
    }

    /// Begins a cell, aligned as its column. Cells beyond the columns of the table are aligned to the left.
    fn cell(&mut self) {
        let align = self.columns.get(self.column).copied().unwrap_or(Alignment::None);
        self.column = self.column.saturating_add(1);
        let Some(left) = self.cells_left.checked_sub(1) else { return self.open.push("") };
        self.cells_left = left;
        let class = match align {
            Alignment::None | Alignment::Left => "",
            Alignment::Center => " class=\"center\"",
            Alignment::Right => " class=\"right\"",
        };
        if self.in_head {
            self.put(&format!("<th{class}>"), "</th>");
        } else {
            self.put(&format!("<td{class}>"), "</td>");
        }
    }
}
