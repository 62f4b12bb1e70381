//! Converts the events of the Markdown parser into nodes.
//!
//! ```text
//! text ─▶ pulldown-cmark ─▶ Start(Paragraph) Text End(Paragraph) … ─▶ Builder ─▶ blocks: (Node, byte range)
//! ```
//!
//! Tables, strikethrough and task lists are read; footnotes, mathematics and HTML are not: their source stays
//! text. No address is kept that `safe_link` refuses, and no tree is deeper than `MARKDOWN_DEPTH_MAX`, so
//! what is drawn is bounded whatever a model writes (I7).

use std::ops::Range;

use pulldown_cmark::{
    Alignment, BrokenLink, CodeBlockKind, CowStr, Event, Options, Parser, Tag as Mark, TagEnd,
};

use model::limits::MARKDOWN_DEPTH_MAX;
use model::preview::safe_link;

use super::node::{Align, Node, Tag, settle, stretch};

/// Link definitions of a text: label and address.
pub(super) type Definitions = Vec<(String, String)>;

/// A block of a text, and its byte range.
pub(super) type Block = (Node, Range<usize>);

/// The nodes of a complete text. Never fails: any text is Markdown.
pub fn parse(text: &str) -> Vec<Node> {
    blocks(text, &mut Definitions::new()).into_iter().map(|(node, _)| node).collect()
}

/// The blocks of `text`, in order. Link definitions of earlier texts are read from `definitions`, and those
/// of `text` are added. A text that streams is parsed block by block, so a link may be defined in a block
/// that is parsed already.
pub(super) fn blocks(text: &str, definitions: &mut Definitions) -> Vec<Block> {
    let options = Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TASKLISTS;
    let known = definitions.clone();
    let resolve = |link: BrokenLink<'_>| {
        let found = known.iter().find(|(label, _)| label.eq_ignore_ascii_case(&link.reference))?;
        Some((CowStr::from(found.1.clone()), CowStr::from("")))
    };
    let parser = Parser::new_with_broken_link_callback(text, options, Some(resolve));
    for (label, definition) in parser.reference_definitions().iter() {
        if !definitions.iter().any(|(known, _)| known.eq_ignore_ascii_case(label)) {
            definitions.push((label.to_owned(), definition.dest.to_string()));
        }
    }
    let mut builder = Builder { source: text, ..Builder::default() };
    for (event, range) in parser.into_offset_iter() {
        builder.take(event, range);
    }
    // The order of the definitions does not matter: they are searched by label.
    builder.blocks
}

/// An element whose end has not been parsed yet, with what was parsed inside it so far.
struct Open {
    /// The element that it becomes.
    tag: Tag,
    /// Where its source begins, in bytes.
    start: usize,
    /// Its finished children.
    children: Vec<Node>,
}

/// Builds blocks from the parser's events.
#[derive(Default)]
struct Builder<'a> {
    /// The text that is parsed.
    source: &'a str,
    /// The finished blocks.
    blocks: Vec<Block>,
    /// The open elements, from the outermost to the innermost.
    open: Vec<Open>,
    /// How many elements are open below the deepest level; their content goes to the last open element.
    flattened: usize,
    /// The alignments of the open table's columns.
    columns: Vec<Align>,
    /// The index of the next cell in its row.
    column: usize,
    /// Whether the row is the table's header.
    in_head: bool,
}

impl Builder<'_> {
    /// Takes an event of the parser with its byte range.
    fn take(&mut self, event: Event<'_>, range: Range<usize>) {
        match event {
            Event::Start(mark) => self.start(mark, range.start),
            Event::End(end) => self.end(end, range.end),
            Event::Text(text) => {
                let mark = if is_math_mark(self.source, range.start) { "\\" } else { "" };
                self.add(Node::Text(format!("{mark}{text}")), &range);
            }
            Event::Code(text) => self.add(element(Tag::Code, text), &range),
            Event::Html(html) | Event::InlineHtml(html) => self.add(Node::Text(html.into_string()), &range),
            Event::SoftBreak => self.add(Node::Text("\n".to_owned()), &range),
            Event::HardBreak => self.add(Node::Element(Tag::Break, Vec::new()), &range),
            Event::Rule => self.add(Node::Element(Tag::Rule, Vec::new()), &range),
            Event::TaskListMarker(done) => self.add(Node::Element(Tag::Task(done), Vec::new()), &range),
            // Mathematics and footnotes are not enabled; if the parser reports them, they stay text.
            Event::InlineMath(text) | Event::DisplayMath(text) | Event::FootnoteReference(text) => {
                self.add(Node::Text(text.into_string()), &range);
            }
        }
    }

    /// Begins an element, unless the tree is too deep.
    fn start(&mut self, mark: Mark<'_>, start: usize) {
        if self.open.len() >= MARKDOWN_DEPTH_MAX {
            self.flattened = self.flattened.saturating_add(1);
            return;
        }
        let tag = match mark {
            Mark::Heading { level, .. } => Tag::Heading(level as u8),
            Mark::BlockQuote(_) => Tag::Quote,
            Mark::CodeBlock(kind) => Tag::CodeBlock(language(&kind)),
            Mark::HtmlBlock => Tag::Raw,
            Mark::List(first) => Tag::List(first),
            Mark::Item => Tag::Item,
            Mark::Emphasis => Tag::Emphasis,
            Mark::Strong => Tag::Strong,
            Mark::Strikethrough => Tag::Strike,
            Mark::Link { dest_url, .. } => safe_link(&dest_url).map_or(Tag::Raw, Tag::Link),
            Mark::Image { dest_url, .. } => Tag::Image(safe_link(&dest_url).unwrap_or_default()),
            Mark::Table(columns) => {
                self.columns = columns.into_iter().map(align).collect();
                Tag::Table
            }
            Mark::TableHead => {
                (self.in_head, self.column) = (true, 0);
                Tag::Row
            }
            Mark::TableRow => {
                self.column = 0;
                Tag::Row
            }
            Mark::TableCell => {
                let align = self.columns.get(self.column).copied().unwrap_or(Align::Start);
                self.column = self.column.saturating_add(1);
                Tag::Cell { head: self.in_head, align }
            }
            // All other elements are disabled in the parser's options.
            _ => Tag::Paragraph,
        };
        self.open.push(Open { tag, start, children: Vec::new() });
    }

    /// Ends an element. `end` is the byte at which its source ends.
    fn end(&mut self, mark: TagEnd, end: usize) {
        if mark == TagEnd::TableHead {
            self.in_head = false;
        }
        if self.flattened > 0 {
            self.flattened = self.flattened.saturating_sub(1);
            if matches!(mark, TagEnd::Paragraph | TagEnd::Item | TagEnd::CodeBlock | TagEnd::TableRow) {
                self.add(Node::Text("\n".to_owned()), &(end..end));
            }
            return;
        }
        let Some(Open { tag, start, children }) = self.open.pop() else { return };
        let mut children = settle(children, matches!(tag, Tag::CodeBlock(_)));
        match tag {
            Tag::Paragraph => children = stretch(children),
            // Pieces of code end with a line, so that each can be laid out alone.
            Tag::CodeBlock(_) if children.len() > 1 => {
                children =
                    children.into_iter().map(|piece| Node::Element(Tag::Stretch, vec![piece])).collect();
            }
            _ => {}
        }
        let tag = match tag {
            // A column without a name has no header for screen readers.
            Tag::Cell { head: true, align } if children.is_empty() => Tag::Cell { head: false, align },
            tag => tag,
        };
        self.add(Node::Element(tag, children), &(start..end));
    }

    /// Adds a node to the open element, otherwise as a block.
    fn add(&mut self, node: Node, range: &Range<usize>) {
        match self.open.last_mut() {
            Some(open) => open.children.push(node),
            None => self.blocks.push((node, range.clone())),
        }
    }
}

/// How far from a formula's mark its other mark is searched, in bytes.
const MATH_BYTES_MAX: usize = 4 << 10;

/// Whether the bracket at `at` of `source`, which a backslash precedes, marks a formula as in `\(…\)` or
/// `\[…\]`. Markdown reads the backslash as an escape, but a formula cannot be read without it. Since square
/// brackets are escaped for other reasons too, the text between them must look like a formula.
fn is_math_mark(source: &str, at: usize) -> bool {
    let Some(before) = source.get(..at).and_then(|before| before.strip_suffix('\\')) else { return false };
    let Some(bracket) = source.get(at..).and_then(|rest| rest.chars().next()) else { return false };
    let end = source.floor_char_boundary(at.saturating_add(MATH_BYTES_MAX));
    let behind = || first_block(source.get(at.saturating_add(1)..end).unwrap_or_default());
    let start = source.floor_char_boundary(before.len().saturating_sub(MATH_BYTES_MAX));
    let ahead = || last_block(before.get(start..).unwrap_or_default());
    let is_formula = |text: &str| text.contains(['\\', '^', '_', '=']);
    match bracket {
        '(' => behind().contains("\\)"),
        ')' => ahead().contains("\\("),
        '[' => behind().split_once("\\]").is_some_and(|(inside, _)| is_formula(inside)),
        ']' => ahead().rsplit_once("\\[").is_some_and(|(_, inside)| is_formula(inside)),
        _ => false,
    }
}

/// Beginnings of lines that may begin a block. A formula does not extend over two blocks, and a final block
/// does not know the next one.
const BLOCK_STARTS: [&str; 15] =
    ["#", ">", "|", "`", "~", "<", "- ", "* ", "+ ", "---", "***", "___", "===", "1.", "1)"];

/// Whether `line` may begin a block; an empty line may.
fn begins_block(line: &str) -> bool {
    let line = line.trim_start();
    line.is_empty() || BLOCK_STARTS.iter().any(|start| line.starts_with(start))
}

/// The lines of `text` up to the first that may begin a block. The first line belongs to the text before it.
fn first_block(text: &str) -> &str {
    let mut end = 0_usize;
    for (number, line) in text.split_inclusive('\n').enumerate() {
        if number > 0 && begins_block(line) {
            break;
        }
        end = end.saturating_add(line.len());
    }
    text.get(..end).unwrap_or_default()
}

/// The last line of `text` that may begin a block, and all lines after it.
fn last_block(text: &str) -> &str {
    let mut start = text.len();
    for line in text.split_inclusive('\n').rev() {
        start = start.saturating_sub(line.len());
        if begins_block(line) {
            break;
        }
    }
    text.get(start..).unwrap_or_default()
}

/// An element with one text.
fn element(tag: Tag, text: CowStr<'_>) -> Node {
    Node::Element(tag, vec![Node::Text(text.into_string())])
}

/// The alignment of a column.
fn align(column: Alignment) -> Align {
    match column {
        Alignment::None | Alignment::Left => Align::Start,
        Alignment::Center => Align::Center,
        Alignment::Right => Align::End,
    }
}

/// The first word after the fence of a code block, at most 40 characters; empty if there is none.
fn language(kind: &CodeBlockKind<'_>) -> String {
    let CodeBlockKind::Fenced(words) = kind else { return String::new() };
    words.split([' ', ',', '{']).next().unwrap_or_default().chars().take(40).collect()
}
