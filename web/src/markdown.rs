//! Markdown as a tree of safe nodes. The page builds its elements from these nodes with text nodes, so that nothing a
//! model writes can become markup: there is no node for raw HTML, for a script, for a style or for a remote image.
//!
//! [`parse()`] takes a whole text; [`Stream`] takes one that grows and gives out each block once.

mod node;
mod parse;
mod stream;

pub use node::{Align, Node, Tag};
pub use parse::parse;
pub use stream::{Stream, Update};

#[cfg(test)]
mod tests;
