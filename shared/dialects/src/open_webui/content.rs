//! The text of the message, with blocks in it. It comes in pieces or as a whole, and blocks may be cut anywhere.

use super::details::{self, DetailsTag};
use super::page::OpenWebUiMessage;
use crate::Decoded;
use crate::writer::EventWriter;
use model::limits::LINE_BYTES_MAX;

const OPEN: &str = "<details";
const CLOSE: &str = "</details>";

/// The text so far and how much of it has been told.
#[derive(Debug, Default)]
pub(super) struct ContentReader {
    raw: String,
    /// Where the text or the block begins that is being read.
    at: usize,
    /// Up to where the text has been told, or the block has been looked at.
    done: usize,
    inside: ContentState,
    /// A block stands before: line ends after it belong to it.
    is_after_block: bool,
    /// All of it is told again.
    is_again: bool,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum ContentState {
    #[default]
    Text,
    /// An opening tag that may be one of a block; its end has not come.
    Tag,
    /// A block whose opening tag ends there.
    Block(usize),
}

impl ContentReader {
    /// A block goes on.
    pub(super) fn is_inside(&self) -> bool {
        matches!(self.inside, ContentState::Block(_))
    }

    /// Appends text, and tells the parts and calls that are complete with it.
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

    /// The text is `whole` now.
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

    /// Nothing more comes: a block that is open is told as far as it came, anything else is text.
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

    /// Goes on with what is there; false when more has to come.
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

    /// A tag is whole: that of a block, or of something that is text.
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

    /// Tells the text up to `end`.
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
