//! The closed list of what Markdown can become on the page.

/// Longest text in one node, in bytes, but for the rest of its last word: browsers lay a text node out as a whole, so
/// the one that grows must stay small.
const TEXT_BYTES: usize = 1024;

/// Longest piece of a code block, in bytes, but for the rest of its last line.
const CODE_BYTES: usize = 2048;

/// Longest run of text that a browser lays out as one, in bytes; see [`Tag::Stretch`].
const STRETCH_BYTES: usize = 4096;

/// A piece of a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Node {
    /// Text as it is.
    Text(String),
    /// Something with content.
    Element(Tag, Vec<Self>),
}

/// What an element is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Tag {
    /// A paragraph.
    Paragraph,
    /// A stretch of a paragraph or of code that is so long that a browser could not lay it out again at each word. It
    /// stands on lines of its own.
    Stretch,
    /// A heading, 1 to 6.
    Heading(u8),
    /// A quotation.
    Quote,
    /// A list; with a first number when it counts.
    List(Option<u64>),
    /// An item of a list.
    Item,
    /// The box of a task, ticked or not.
    Task(bool),
    /// A rule across the page.
    Rule,
    /// The end of a line.
    Break,
    /// *Text*.
    Emphasis,
    /// **Text**.
    Strong,
    /// ~~Text~~.
    Strike,
    /// `Text`.
    Code,
    /// A block of code with its language, if it says one.
    CodeBlock(String),
    /// A link to a place that `safe_link` lets through.
    Link(String),
    /// An image that is not fetched: its children are its description, the text here is where it is, if that is safe.
    Image(String),
    /// HTML as the text that it is.
    Raw,
    /// A table of rows.
    Table,
    /// A row of cells.
    Row,
    /// A cell of the first row or of the others.
    Cell {
        /// Whether it names the column.
        head: bool,
        /// Where its text stands.
        align: Align,
    },
}

/// Where the text of a cell stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Align {
    /// At the start of the line.
    Start,
    /// In the middle.
    Center,
    /// At the end, as numbers do.
    End,
}

/// Joins neighbouring texts and splits long ones again, at places that do not move when text is appended.
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

/// Cuts `text` into pieces: code after a line end, other text after a space.
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

/// Puts the children of a very long paragraph into stretches, at places that do not move when text is appended.
pub(super) fn stretch(children: Vec<Node>) -> Vec<Node> {
    if children.iter().map(Node::text_bytes).sum::<usize>() <= STRETCH_BYTES {
        return children;
    }
    let (mut stretches, mut open, mut bytes) = (Vec::new(), Vec::new(), 0_usize);
    for child in children {
        bytes = bytes.saturating_add(child.text_bytes());
        // Only after a text that ends with a space: elsewhere a word would be torn.
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
    /// Bytes of text in it.
    pub fn text_bytes(&self) -> usize {
        match self {
            Self::Text(text) => text.len(),
            Self::Element(_, children) => children.iter().map(Self::text_bytes).sum(),
        }
    }
}

/// Where the first piece of at least `bytes` ends, if anything comes after it.
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
