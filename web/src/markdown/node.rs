//! The closed list of nodes that Markdown can become.

/// The longest text of one node, in bytes, except for the rest of its last word. Browsers lay a text node out
/// as a whole, so the one that grows must stay small.
const TEXT_BYTES: usize = 1024;

/// The longest piece of a code block, in bytes, except for the rest of its last line.
const CODE_BYTES: usize = 2048;

/// The longest text that a browser lays out as one, in bytes; see [`Tag::Stretch`].
const STRETCH_BYTES: usize = 4096;

/// A node of the tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Node {
    /// A plain text.
    Text(String),
    /// An element with its children.
    Element(Tag, Vec<Self>),
}

/// The kind of an element.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Tag {
    /// A paragraph of text.
    Paragraph,
    /// A stretch of a paragraph or code that is too long for a browser to lay out again at each word. It
    /// begins on a line of its own.
    Stretch,
    /// A heading of the level 1 to 6.
    Heading(u8),
    /// A quotation in a block.
    Quote,
    /// A list; with its first number if it is ordered.
    List(Option<u64>),
    /// An item of a list.
    Item,
    /// The checkbox of a task, and whether it is checked.
    Task(bool),
    /// A horizontal rule between blocks.
    Rule,
    /// A line break inside a paragraph.
    Break,
    /// Emphasis, as in *text*.
    Emphasis,
    /// Strong emphasis, as in **text**.
    Strong,
    /// Struck text, as in ~~text~~.
    Strike,
    /// Inline code, as in `text`.
    Code,
    /// A code block with its language; empty if it names none.
    CodeBlock(String),
    /// A link to an address that `safe_link` accepts.
    Link(String),
    /// An image, which is not fetched. Its children are the description; the value is its address, empty if
    /// that is not safe.
    Image(String),
    /// HTML, shown as text.
    Raw,
    /// A formula; its child is its source with its marks. Whether it stands on lines of its own.
    Formula(bool),
    /// The mark of a footnote in a text; its child is the label.
    NoteMark,
    /// A footnote with this label.
    Note(String),
    /// A table with its rows.
    Table,
    /// A row of a table.
    Row,
    /// A cell of a table.
    Cell {
        /// Whether it is a heading.
        head: bool,
        /// The alignment of its text.
        align: Align,
    },
}

/// The alignment of a cell's text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Align {
    /// At the start of the line.
    Start,
    /// In the middle of the cell.
    Center,
    /// At the end of the line.
    End,
}

/// Joins neighbouring texts and splits long ones, at places that do not move when text is appended.
pub(super) fn settle(children: Vec<Node>, is_code: bool) -> Vec<Node> {
    let mut settled: Vec<Node> = Vec::with_capacity(children.len());
    let mut text = String::new();
    for child in children {
        match child {
            Node::Text(more) if text.is_empty() => text = more,
            Node::Text(more) => text.push_str(&more),
            element @ Node::Element(..) => {
                split(std::mem::take(&mut text), is_code, &mut settled);
                settled.push(element);
            }
        }
    }
    split(text, is_code, &mut settled);
    settled
}

/// Splits `text` into nodes: code after the end of a line, other text after a space.
fn split(text: String, is_code: bool, into: &mut Vec<Node>) {
    let (bytes, end) = if is_code { (CODE_BYTES, '\n') } else { (TEXT_BYTES, ' ') };
    let mut rest = text.as_str();
    while let Some(at) = cut_at(rest, bytes, end) {
        let Some((piece, left)) = rest.split_at_checked(at) else { break };
        into.push(Node::Text(piece.to_owned()));
        rest = left;
    }
    if rest.len() == text.len() && !text.is_empty() {
        into.push(Node::Text(text));
    } else if !rest.is_empty() {
        into.push(Node::Text(rest.to_owned()));
    }
}

/// Groups the children of a very long paragraph into stretches, at places that do not move when text is
/// appended.
pub(super) fn stretch(children: Vec<Node>) -> Vec<Node> {
    if children.iter().map(Node::text_bytes).sum::<usize>() <= STRETCH_BYTES {
        return children;
    }
    let (mut stretches, mut open, mut bytes) = (Vec::new(), Vec::new(), 0_usize);
    for child in children {
        bytes = bytes.saturating_add(child.text_bytes());
        // Only after a space, since a word must not be split.
        let may_end = matches!(&child, Node::Text(text) if text.ends_with([' ', '\n']));
        open.push(child);
        if bytes >= STRETCH_BYTES && may_end {
            stretches.push(Node::Element(Tag::Stretch, std::mem::take(&mut open)));
            bytes = 0;
        }
    }
    if !open.is_empty() {
        stretches.push(Node::Element(Tag::Stretch, open));
    }
    stretches
}

impl Node {
    /// The length of the text in it, in bytes.
    pub fn text_bytes(&self) -> usize {
        match self {
            Self::Text(text) => text.len(),
            Self::Element(_, children) => children.iter().map(Self::text_bytes).sum(),
        }
    }
}

/// The end of the first piece of at least `bytes`, if something follows it.
fn cut_at(text: &str, bytes: usize, end: char) -> Option<usize> {
    let mut from = bytes;
    while !text.is_char_boundary(from) {
        from = from.saturating_add(1);
        if from >= text.len() {
            return None;
        }
    }
    let at = from.saturating_add(text.get(from..)?.find(end)?).saturating_add(1);
    (at < text.len()).then_some(at)
}
