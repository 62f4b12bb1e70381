//! The text of the message, with `<details>` blocks in it. It comes in pieces or as a whole, and blocks may
//! be cut anywhere. Text is written as it comes, up to what may be the beginning of a block; a block is
//! written when its closing tag is there.

use super::details::{self, DetailsTag};
use super::page::OpenWebUiMessage;
use crate::Decoded;
use crate::writer::EventWriter;
use model::limits::LINE_BYTES_MAX;

/// The beginning of a block's opening tag.
const OPEN: &str = "<details";
/// The closing tag of a block.
const CLOSE: &str = "</details>";

/// The text so far, and how much of it was written. It has at most [`LINE_BYTES_MAX`] bytes (I7); beyond that
/// it begins anew.
#[derive(Debug, Default)]
pub(super) struct ContentReader {
    /// The text so far, with its blocks.
    raw: String,
    /// Where the text or the block begins that is being read, in bytes.
    at: usize,
    /// Up to where the text was written, or the block was searched for its end, in bytes.
    done: usize,
    /// What is at `done`.
    inside: ContentState,
    /// A block is before it: line ends after that belong to it.
    is_after_block: bool,
    /// The whole text is received again.
    is_again: bool,
}

/// What is being read.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum ContentState {
    /// Text of the message.
    #[default]
    Text,
    /// An opening tag that may be one of a block; its end was not received.
    Tag,
    /// A block whose opening tag ends there.
    Block(usize),
}

impl ContentReader {
    /// Whether a block is open.
    pub(super) fn is_inside(&self) -> bool {
        matches!(self.inside, ContentState::Block(_))
    }

    /// Takes more text, and writes the parts and calls that are complete with it.
    pub(super) fn append(
        &mut self,
        text: &str,
        page: &mut OpenWebUiMessage,
        w: &mut EventWriter,
        out: &mut Decoded,
    ) {
        if self.raw.len().saturating_add(text.len()) > LINE_BYTES_MAX {
            self.end(page, w, out);
            *self = Self::default();
        }
        self.raw.push_str(text);
        while self.step(page, w, out) {}
    }

    /// Takes the whole text. If it does not begin with the text so far, all of it is compared with what was
    /// written.
    pub(super) fn set(
        &mut self,
        whole: &str,
        page: &mut OpenWebUiMessage,
        w: &mut EventWriter,
        out: &mut Decoded,
    ) {
        if let Some(rest) = whole.strip_prefix(self.raw.as_str()) {
            return self.append(rest, page, w, out);
        }
        *self = Self { is_again: true, ..Self::default() };
        page.begin_again();
        self.append(whole, page, w, out);
        page.end_again(w, out);
        self.is_again = false;
    }

    /// Takes the end of the text: an open block is written as far as it was received, anything else is text.
    pub(super) fn end(&mut self, page: &mut OpenWebUiMessage, w: &mut EventWriter, out: &mut Decoded) {
        let rest = self.raw.get(self.at..).unwrap_or_default();
        match self.inside {
            ContentState::Block(len) => {
                if let Some(block) = rest.get(..len.saturating_sub(self.at)).and_then(DetailsTag::read) {
                    block.tell(rest.get(len.saturating_sub(self.at)..).unwrap_or_default(), page, w, out);
                }
            }
            ContentState::Tag | ContentState::Text => self.show(self.raw.len(), page, w, out),
        }
    }

    /// Goes one step on; false if more has to come.
    fn step(&mut self, page: &mut OpenWebUiMessage, w: &mut EventWriter, out: &mut Decoded) -> bool {
        let rest = self.raw.get(self.done..).unwrap_or_default();
        match self.inside {
            ContentState::Text => {
                let Some(at) = memchr::memmem::find(rest.as_bytes(), OPEN.as_bytes()) else {
                    let begun =
                        (1..OPEN.len()).rev().find(|len| OPEN.get(..*len).is_some_and(|o| rest.ends_with(o)));
                    self.show(self.raw.len().saturating_sub(begun.unwrap_or(0)), page, w, out);
                    return false;
                };
                self.show(self.done.saturating_add(at), page, w, out);
                (self.inside, self.done) = (ContentState::Tag, self.done.saturating_add(OPEN.len()));
                true
            }
            ContentState::Tag => {
                let Some(end) = memchr::memchr(b'>', rest.as_bytes()) else {
                    self.done = self.raw.len();
                    return false;
                };
                self.done = self.done.saturating_add(end).saturating_add(1);
                self.tag(page, w, out);
                true
            }
            ContentState::Block(len) => {
                let Some(end) = memchr::memmem::find(rest.as_bytes(), CLOSE.as_bytes()) else {
                    let back = self.raw.len().saturating_sub(CLOSE.len()).max(len);
                    self.done = self.raw.floor_char_boundary(back).max(self.done);
                    return false;
                };
                let end = self.done.saturating_add(end);
                let tag = self.raw.get(self.at..len).unwrap_or_default();
                if let Some(block) = DetailsTag::read(tag) {
                    block.tell(self.raw.get(len..end).unwrap_or_default(), page, w, out);
                }
                self.done = end.saturating_add(CLOSE.len());
                (self.at, self.inside, self.is_after_block) = (self.done, ContentState::Text, true);
                true
            }
        }
    }

    /// Decides about a complete tag: that of a block, or text.
    fn tag(&mut self, page: &mut OpenWebUiMessage, w: &mut EventWriter, out: &mut Decoded) {
        let begin = self.raw.get(..self.done).and_then(|raw| raw.rfind(OPEN)).unwrap_or(self.at);
        let tag = self.raw.get(begin..self.done).unwrap_or_default();
        if details::is_block(tag) {
            page.next_text(w, out);
            (self.at, self.inside) = (begin, ContentState::Block(self.done));
        } else {
            let end = self.done;
            self.done = begin;
            self.inside = ContentState::Text;
            self.show(end, page, w, out);
        }
    }

    /// Writes the text up to `end`.
    fn show(&mut self, end: usize, page: &mut OpenWebUiMessage, w: &mut EventWriter, out: &mut Decoded) {
        self.inside = ContentState::Text;
        if self.is_after_block && self.at == self.done {
            let text = self.raw.get(self.done..end).unwrap_or_default();
            let skipped = text.len().saturating_sub(text.trim_start_matches(['\n', '\r']).len());
            self.done = self.done.saturating_add(skipped);
            self.at = self.done;
        }
        let whole = self.raw.get(self.at..end).unwrap_or_default();
        let more = self.raw.get(self.done..end).unwrap_or_default();
        if more.is_empty() {
            return;
        }
        if self.is_again {
            page.set_text(whole, w, out);
        } else {
            page.text(more, whole, w, out);
        }
        self.done = end;
    }
}
