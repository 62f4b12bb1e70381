//! Parses a Markdown text that grows. Each block is returned once when it is final; only the rest is parsed
//! again.
//!
//! A block is final when a later block begins on a complete line (a table: on two), since no later text can
//! change it then. The only exception is a link whose definition follows later: because of it,
//! [`Stream::finish`] parses the whole text again if that has definitions.

use super::node::{Node, Tag};
use super::parse::{Block, Definitions, blocks, parse};

/// How many bytes before the end of the final part are compared, to notice that the text was replaced.
const TAIL: usize = 64;

/// The final part of a growing text.
#[derive(Debug, Default)]
pub struct Stream {
    /// The length of the final part, in bytes.
    done: usize,
    /// The end of the final part.
    tail: String,
    definitions: Definitions,
}

/// What changed since the last call.
#[derive(Debug, PartialEq, Eq)]
pub struct Update {
    /// Whether all blocks that were returned before are invalid.
    pub restart: bool,
    /// The blocks that became final; they are before the pending ones.
    pub done: Vec<Node>,
    /// The blocks of the rest of the text as they are now.
    pub pending: Vec<Node>,
}

impl Stream {
    /// Takes the text, which must begin with that of the last call; otherwise the update restarts.
    pub fn advance(&mut self, text: &str) -> Update {
        let restart = self.was_replaced(text);
        if restart {
            *self = Self::default();
        }
        let rest = text.get(self.done..).unwrap_or_default();
        let found = blocks(rest, &mut self.definitions);
        let starts: Vec<usize> = found.iter().map(|(_, range)| line_start(rest, range.start)).collect();
        // All blocks before the last one whose first lines are complete are final.
        let is_whole = |at: usize| {
            let start = starts.get(at).copied().unwrap_or_default();
            let ends = rest.get(start..).unwrap_or_default().bytes().filter(|byte| *byte == b'\n');
            let before =
                at.checked_sub(1).and_then(|at| found.get(at)).filter(|(_, range)| range.end >= start);
            let lines = lines_that_decide(before, found.get(at));
            ends.take(lines).count() == lines
        };
        let cut = (0..found.len()).rfind(|at| is_whole(*at)).unwrap_or(0);
        let bytes = starts.get(cut).copied().unwrap_or(0);
        let mut done: Vec<Node> = found.into_iter().map(|(node, _)| node).collect();
        let pending = done.split_off(cut.min(done.len()));
        if cut > 0 {
            self.move_to(text, self.done.saturating_add(bytes));
        }
        Update { restart, done, pending }
    }

    /// Takes the complete text. No block is pending afterwards.
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

    /// Makes the first `done` bytes of `text` final.
    fn move_to(&mut self, text: &str, done: usize) {
        self.done = done;
        let before = text.get(..done).unwrap_or_default();
        let from = before.char_indices().rev().nth(TAIL).map_or(0, |(at, _)| at);
        before.get(from..).unwrap_or_default().clone_into(&mut self.tail);
    }

    /// Whether `text` does not begin with the final part.
    fn was_replaced(&self, text: &str) -> bool {
        text.get(..self.done).is_none_or(|before| !before.ends_with(&self.tail))
    }
}

/// How many lines of a block must be complete before it is sure that it begins where it does; `before` is what stands on the line before it.
/// A table begins with two lines, and so does a paragraph that parts another one because it may become a table: it goes back into it otherwise.
fn lines_that_decide(before: Option<&Block>, block: Option<&Block>) -> usize {
    let is_paragraph = |block: Option<&Block>| matches!(block, Some((Node::Element(Tag::Paragraph, _), _)));
    let is_table = matches!(block, Some((Node::Element(Tag::Table, _), _)));
    if is_table || is_paragraph(before) && is_paragraph(block) { 2 } else { 1 }
}

/// The beginning of the line that contains the byte `at`: spaces before a block belong to it. A carriage
/// return alone ends a line too.
fn line_start(text: &str, at: usize) -> usize {
    text.get(..at).and_then(|before| before.rfind(['\n', '\r'])).map_or(0, |end| end.saturating_add(1))
}
