//! Markdown that grows: each block is given out once when it is final, only the rest is parsed again.
//!
//! A block is final when a later block begins on a line that is whole (a table: on two): no text that is still to come can then reach
//! back into it. The only exception is a link whose definition comes later; for its sake [`Stream::finish`] parses the
//! whole text once more where it holds definitions.

use super::node::{Node, Tag};
use super::parse::{Block, Definitions, blocks, parse};

/// Bytes before the end of what is final that must not have changed, else the text is another one.
const TAIL: usize = 64;

/// How far into a growing text the blocks are final.
#[derive(Debug, Default)]
pub struct Stream {
    /// Bytes of the text whose blocks were given out.
    done: usize,
    /// The end of those bytes, to notice that a text was replaced.
    tail: String,
    definitions: Definitions,
}

/// What a page does to follow the text.
#[derive(Debug, PartialEq, Eq)]
pub struct Update {
    /// Whether everything that was given out before is void.
    pub restart: bool,
    /// Blocks that are final now; they come before what is pending.
    pub done: Vec<Node>,
    /// The rest of the text, as it looks now.
    pub pending: Vec<Node>,
}

impl Stream {
    /// Looks at `text`, which begins with what it was at the last call.
    pub fn advance(&mut self, text: &str) -> Update {
        let restart = self.was_replaced(text);
        if restart {
            *self = Self::default();
        }
        let rest = text.get(self.done..).unwrap_or_default();
        let found = blocks(rest, &mut self.definitions);
        let starts: Vec<usize> = found.iter().map(|(_, range)| line_start(rest, range.start)).collect();
        // The last block whose first line is whole: all before it are final. A table is one by its second line.
        let is_whole = |(start, (block, _)): (&usize, &Block)| {
            let lines = if matches!(block, Node::Element(Tag::Table, _)) { 2 } else { 1 };
            let ends = rest.get(*start..).unwrap_or_default().bytes().filter(|byte| *byte == b'\n');
            ends.take(lines).count() == lines
        };
        let cut = starts.iter().zip(&found).rposition(is_whole).unwrap_or(0);
        let bytes = starts.get(cut).copied().unwrap_or(0);
        let mut done: Vec<Node> = found.into_iter().map(|(node, _)| node).collect();
        let pending = done.split_off(cut.min(done.len()));
        if cut > 0 {
            self.move_to(text, self.done.saturating_add(bytes));
        }
        Update { restart, done, pending }
    }

    /// Looks at `text` for the last time: nothing is pending afterwards.
    pub fn finish(&mut self, text: &str) -> Update {
        let mut update = self.advance(text);
        if self.definitions.is_empty() {
            update.done.append(&mut update.pending);
        } else {
            update = Update { restart: true, done: parse(text), pending: Vec::new() };
        }
        self.move_to(text, text.len());
        update
    }

    fn move_to(&mut self, text: &str, done: usize) {
        self.done = done;
        let before = text.get(..done).unwrap_or_default();
        let from = before.char_indices().rev().nth(TAIL).map_or(0, |(at, _)| at);
        before.get(from..).unwrap_or_default().clone_into(&mut self.tail);
    }

    fn was_replaced(&self, text: &str) -> bool {
        text.get(..self.done).is_none_or(|before| !before.ends_with(&self.tail))
    }
}

/// Where the line that holds byte `at` begins: the spaces before a block belong to it. A carriage return alone ends a line too.
fn line_start(text: &str, at: usize) -> usize {
    text.get(..at).and_then(|before| before.rfind(['\n', '\r'])).map_or(0, |end| end.saturating_add(1))
}
