//! Converts the events of the Markdown parser into nodes.
//!
//! ```text
//! text ─▶ pulldown-cmark ─▶ Start(Paragraph) Text End(Paragraph) … ─▶ Builder ─▶ blocks: (Node, byte range)
//! ```
//!
//! Tables, strikethrough, task lists, footnotes and formulas are read; HTML is not: its source stays text. No
//! address is kept that `safe_link` refuses, and no tree is deeper than `MARKDOWN_DEPTH_MAX`, so
//! what is drawn is bounded whatever a model writes (I7).

use std::ops::Range;

use pulldown_cmark::{
    Alignment, BrokenLink, CodeBlockKind, CowStr, Event, Options, Parser, Tag as Mark, TagEnd,
};

use crate::mathematics::without_marks;
use model::limits::MARKDOWN_DEPTH_MAX;
use model::preview::safe_link;

use super::formulas::{Masked, is_formula_in_dollars};
use super::node::{Align, Node, Tag, settle, stretch};

/// Link definitions of a text: label and address. Footnotes are among them, with `^` before their label.
pub(super) type Definitions = Vec<(String, String)>;

/// A block of a text, and its byte range.
pub(super) type Block = (Node, Range<usize>);

/// What is read besides plain Markdown.
pub(super) const OPTIONS: Options = Options::ENABLE_TABLES
    .union(Options::ENABLE_STRIKETHROUGH)
    .union(Options::ENABLE_TASKLISTS)
    .union(Options::ENABLE_FOOTNOTES)
    .union(Options::ENABLE_MATH);

/// The nodes of a complete text. Never fails: any text is Markdown.
pub fn parse(text: &str) -> Vec<Node> {
    blocks(text, &mut Definitions::new()).into_iter().map(|(node, _)| node).collect()
}

/// The blocks of `text`, in order. Link definitions of earlier texts are read from `definitions`, and those
/// of `text` are added. A text that streams is parsed block by block, so a link may be defined in a block
/// that is parsed already.
pub(super) fn blocks(text: &str, definitions: &mut Definitions) -> Vec<Block> {
    let known = definitions.clone();
    let resolve = |link: BrokenLink<'_>| {
        let found = known.iter().find(|(label, _)| label.eq_ignore_ascii_case(&link.reference))?;
        (!found.0.starts_with('^')).then(|| (CowStr::from(found.1.clone()), CowStr::from("")))
    };
    let masked = Masked::of(text);
    let parser = Parser::new_with_broken_link_callback(masked.text(text), OPTIONS, Some(resolve));
    for (label, definition) in parser.reference_definitions().iter() {
        if !definitions.iter().any(|(known, _)| known.eq_ignore_ascii_case(label)) {
            definitions.push((label.to_owned(), definition.dest.to_string()));
        }
    }
    let mut builder = Builder { source: text, ..Builder::default() };
    for (event, range) in parser.into_offset_iter() {
        if let Event::Start(Mark::FootnoteDefinition(label)) = &event {
            definitions.push((format!("^{label}"), String::new()));
        }
        builder.take(masked.restored(text, event, &range), range);
    }
    // The order of the definitions does not matter: they are searched by label.
    builder.blocks
}

/// An element whose end has not been parsed yet, with what was parsed inside it so far.
struct Open {
    /// The element that it becomes.
    tag: Tag,
    /// The byte at which its source begins.
    start: usize,
    /// The finished children of the element.
    children: Vec<Node>,
}

/// Builds blocks from the parser's events.
#[derive(Default)]
struct Builder<'a> {
    /// The text that is parsed.
    source: &'a str,
    /// The blocks that are finished.
    blocks: Vec<Block>,
    /// The open elements, from the outermost to the innermost.
    open: Vec<Open>,
    /// How many elements are open below the deepest level; their content goes to the last open element.
    flattened: usize,
    /// The alignments of the open table's columns; `None` where the table names none.
    columns: Vec<Option<Align>>,
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
            Event::Text(text) => self.add(Node::Text(text.into_string()), &range),
            Event::Code(text) => self.add(element(Tag::Code, text), &range),
            Event::Html(html) | Event::InlineHtml(html) => self.add(Node::Text(html.into_string()), &range),
            Event::SoftBreak => self.add(Node::Text("\n".to_owned()), &range),
            Event::HardBreak => self.add(Node::Element(Tag::Break, Vec::new()), &range),
            Event::Rule => self.add(Node::Element(Tag::Rule, Vec::new()), &range),
            Event::TaskListMarker(done) => self.add(Node::Element(Tag::Task(done), Vec::new()), &range),
            Event::InlineMath(_) | Event::DisplayMath(_) => {
                let node = self.formula(&range);
                self.add(node, &range);
            }
            Event::FootnoteReference(label) => self.add(element(Tag::NoteMark, label), &range),
        }
    }

    /// The formula at `range`, or its source as text if it is more likely about money or variables of a shell.
    fn formula(&self, range: &Range<usize>) -> Node {
        let source = self.source.get(range.clone()).unwrap_or_default();
        let text = Node::Text(source.to_owned());
        let after = self.source.get(range.end..).and_then(|rest| rest.chars().next());
        match without_marks(source) {
            Some((_, is_display)) if is_display || source.starts_with('\\') => {
                Node::Element(Tag::Formula(is_display), vec![text])
            }
            Some((inside, _)) if is_formula_in_dollars(inside, after) => {
                Node::Element(Tag::Formula(false), vec![text])
            }
            _ => text,
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
            Mark::FootnoteDefinition(label) => Tag::Note(label.chars().take(40).collect()),
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
                let align = self.columns.get(self.column).copied().flatten().unwrap_or(Align::Start);
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
            Tag::Cell { head: false, .. } if self.is_aligned_as_number(&children) => {
                Tag::Cell { head: false, align: Align::End }
            }
            tag => tag,
        };
        self.add(Node::Element(tag, children), &(start..end));
    }

    /// Whether the cell that ends is a number in a column without an alignment. Each cell is looked at by itself, so that rows which come
    /// later move nothing.
    fn is_aligned_as_number(&self, cell: &[Node]) -> bool {
        let column = self.columns.get(self.column.saturating_sub(1));
        matches!((column, cell), (Some(None), [Node::Text(text)]) if is_number(text))
    }

    /// Adds a node to the open element, otherwise as a block.
    fn add(&mut self, node: Node, range: &Range<usize>) {
        match self.open.last_mut() {
            Some(open) => open.children.push(node),
            None => self.blocks.push((node, range.clone())),
        }
    }
}

/// An element with one text.
fn element(tag: Tag, text: CowStr<'_>) -> Node {
    Node::Element(tag, vec![Node::Text(text.into_string())])
}

/// The alignment of a column, if it has one.
fn align(column: Alignment) -> Option<Align> {
    match column {
        Alignment::None => None,
        Alignment::Left => Some(Align::Start),
        Alignment::Center => Some(Align::Center),
        Alignment::Right => Some(Align::End),
    }
}

/// Whether `text` has digits, and else only what numbers, percentages and amounts of money are written with.
fn is_number(text: &str) -> bool {
    text.contains(|letter: char| letter.is_ascii_digit())
        && text.chars().all(|letter| letter.is_ascii_digit() || ".,+-%$€£ ".contains(letter))
}

/// The first word after the fence of a code block, at most 40 characters; empty if there is none.
fn language(kind: &CodeBlockKind<'_>) -> String {
    let CodeBlockKind::Fenced(words) = kind else { return String::new() };
    words.split([' ', ',', '{']).next().unwrap_or_default().chars().take(40).collect()
}
