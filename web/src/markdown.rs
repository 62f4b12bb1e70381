//! Markdown as a tree of safe nodes.
//!
//! The page builds its elements from these nodes with text nodes, so that nothing a model writes becomes
//! markup: there is no node for raw HTML, a script, a style or a remote image.
//!
//! [`parse()`] parses a complete text; [`Stream`] takes one that grows and returns each final block once.

mod formulas;
mod node;
mod parse;
mod stream;

pub use node::{Align, Node, Tag};
pub use parse::parse;
pub use stream::{Stream, Update};

#[cfg(test)]
mod tests;
