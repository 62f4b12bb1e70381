//! Formulas: a part of LaTeX as a tree of `MathML` elements.
//!
//! ```text
//! \frac{a}{2}  ─▶ tokens ─▶ Reader ─▶ Element "mfrac" [ Leaf "mi" "a", Leaf "mn" "2" ]
//! ```
//!
//! Elements and attributes are constants of this module; what a stream says becomes the text of leaves alone.
//! A command that is not known is shown as it was written. A formula whose braces do not match, that is too
//! long or nests too deep has no tree, and its source stays.
//!
//! `symbols` has the names of letters and signs, `reader` the grammar.

mod reader;
mod symbols;

/// The longest formula, in bytes.
pub const FORMULA_BYTES_MAX: usize = 4 << 10;

/// How deep a formula may nest: as deep as Markdown.
const DEPTH_MAX: usize = model::limits::MARKDOWN_DEPTH_MAX;

/// Attributes of an element.
pub type Attributes = &'static [(&'static str, &'static str)];

/// A node of a formula.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MathNode {
    /// An element with a text: an identifier, a number, an operator or words.
    Leaf(&'static str, Attributes, String),
    /// An element with children.
    Element(&'static str, Attributes, Vec<Self>),
}

impl MathNode {
    /// A row of `nodes`; a single one is itself.
    fn row(mut nodes: Vec<Self>) -> Self {
        match nodes.pop() {
            Some(only) if nodes.is_empty() => only,
            last => {
                nodes.extend(last);
                Self::Element("mrow", &[], nodes)
            }
        }
    }

    /// The number of elements in the tree, itself included.
    pub fn elements(&self) -> usize {
        match self {
            Self::Leaf(..) => 1,
            Self::Element(_, _, children) => {
                children.iter().map(Self::elements).sum::<usize>().saturating_add(1)
            }
        }
    }
}

/// The formula of `source`, which has no marks around it. `None` if it cannot be read.
pub fn formula(source: &str) -> Option<MathNode> {
    if source.len() > FORMULA_BYTES_MAX || source.trim().is_empty() {
        return None;
    }
    reader::read(source)
}

/// A formula without its marks, and whether it stands on lines of its own: `\(…\)`, `\[…\]`, `$…$`, `$$…$$`.
pub fn without_marks(marked: &str) -> Option<(&str, bool)> {
    let marks = [("$$", "$$", true), ("\\[", "\\]", true), ("\\(", "\\)", false), ("$", "$", false)];
    marks.into_iter().find_map(|(open, close, is_display)| {
        Some((marked.strip_prefix(open)?.strip_suffix(close)?, is_display))
    })
}

#[cfg(test)]
mod tests;
