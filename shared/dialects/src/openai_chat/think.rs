//! `<think>…</think>` inside of text: some models write their reasoning into the answer. The tags may be cut
//! anywhere, and the opening one is missing where the template of the prompt has written it already.
//!
//! ```text
//! <think>          reasoning, up to </think>; only at the beginning of the answer
//! Let me see.
//! </think>
//! It is noon.      the answer
//!
//! Let me see.      written as text at first; the lone closing tag on a line of its own shows
//! </think>         that it was reasoning, and it is taken back
//! It is noon.
//! ```
//!
//! Bytes are held back only while they may be a tag.

use model::event::PartKind;

/// The tag that begins reasoning.
const OPEN: &str = "<think>";
/// The tag that ends reasoning.
const CLOSE: &str = "</think>";

/// Longest beginning of an answer that is kept to be taken back as reasoning when a lone closing tag follows,
/// in bytes. After more than that the closing tag is text.
const LEAD_BYTES_MAX: usize = 256 << 10;

/// Longest white space that is held back before an opening tag, in bytes.
const BLANK_BYTES_MAX: usize = 4 << 10;

/// A piece of the text, as it was recognised.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum ThinkToken<'a> {
    /// More text of this kind.
    Piece(PartKind, &'a str),
    /// All text so far was reasoning: this is the whole of it, including what was passed on as text before.
    Retract(&'a str),
}

/// The place of the text in the answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ThinkState {
    /// Nothing but white space so far: an opening tag may come.
    Start,
    /// Reasoning, between the tags.
    Inside,
    /// The answer. Its beginning is kept in `lead` as long as a lone closing tag is possible.
    Answer,
}

/// Takes the tags out of one text. It is owned by the choice that writes the text.
#[derive(Debug)]
pub(super) struct ThinkTags {
    state: ThinkState,
    /// What everything outside of the tags is: text, or reasoning.
    kind: PartKind,
    /// The end of what was received, which may be the beginning of a tag.
    held: String,
    /// Line ends are dropped until other text comes: they belong to the tag.
    trim: bool,
    /// The answer so far, while a lone closing tag could take it back; nothing once that is impossible.
    lead: Option<String>,
}

impl ThinkTags {
    /// Takes tags out of an answer.
    pub(super) fn in_text() -> Self {
        let lead = Some(String::new());
        Self { state: ThinkState::Start, kind: PartKind::Text, held: String::new(), trim: false, lead }
    }

    /// Takes tags out of reasoning, where they are only noise.
    pub(super) fn in_reasoning() -> Self {
        Self { kind: PartKind::Thinking, lead: None, ..Self::in_text() }
    }

    /// Takes more text and passes what is recognised to `take`.
    pub(super) fn push(&mut self, text: &str, take: &mut dyn FnMut(ThinkToken<'_>)) {
        let joined = if self.held.is_empty() {
            std::borrow::Cow::Borrowed(text)
        } else {
            let mut held = std::mem::take(&mut self.held);
            held.push_str(text);
            std::borrow::Cow::Owned(held)
        };
        let mut rest: &str = &joined;
        loop {
            rest = match self.state {
                ThinkState::Start => match self.start(rest) {
                    Some(rest) => rest,
                    None => return,
                },
                ThinkState::Inside => match self.inside(rest, take) {
                    Some(rest) => rest,
                    None => return,
                },
                ThinkState::Answer => return self.answer(rest, take),
            };
        }
    }

    /// Passes on what was held back, since something else comes, or nothing more. A lone closing tag
    /// afterwards takes nothing back.
    pub(super) fn flush(&mut self, take: &mut dyn FnMut(ThinkToken<'_>)) {
        self.lead = None;
        let held = std::mem::take(&mut self.held);
        if held.is_empty() {
            return;
        }
        let kind = if self.state == ThinkState::Inside { PartKind::Thinking } else { self.kind };
        if self.state == ThinkState::Start {
            self.state = ThinkState::Answer;
        }
        take(ThinkToken::Piece(kind, &held));
    }

    /// Decides what the text begins with, and returns the rest; nothing while that is open.
    fn start<'a>(&mut self, text: &'a str) -> Option<&'a str> {
        let begun = text.trim_start();
        if let Some(rest) = begun.strip_prefix(OPEN) {
            (self.state, self.trim, self.lead) = (ThinkState::Inside, true, None);
            return Some(rest);
        }
        if OPEN.starts_with(begun) && text.len() <= BLANK_BYTES_MAX {
            text.clone_into(&mut self.held);
            return None;
        }
        self.state = ThinkState::Answer;
        Some(text)
    }

    /// Passes on reasoning up to the closing tag, and returns what follows it; nothing if the tag was not
    /// received yet.
    fn inside<'a>(&mut self, text: &'a str, take: &mut dyn FnMut(ThinkToken<'_>)) -> Option<&'a str> {
        if let Some((thought, rest)) = text.split_once(CLOSE) {
            self.give(PartKind::Thinking, thought, take);
            (self.state, self.trim) = (ThinkState::Answer, true);
            return Some(rest);
        }
        let safe = text.len().saturating_sub(tag_begun(text, CLOSE));
        let (sure, open) = text.split_at(safe);
        self.give(PartKind::Thinking, sure, take);
        open.clone_into(&mut self.held);
        None
    }

    /// Passes on text of the answer, or takes the answer back at a lone closing tag.
    fn answer(&mut self, text: &str, take: &mut dyn FnMut(ThinkToken<'_>)) {
        let Some(mut lead) = self.lead.take() else { return self.give(self.kind, text, take) };
        // Nearly every text: nothing in it is a tag or the beginning of one.
        if memchr::memchr(b'<', text.as_bytes()).is_none() {
            lead.push_str(text);
            self.lead = (lead.len() <= LEAD_BYTES_MAX).then_some(lead);
            return self.give(self.kind, text, take);
        }
        // Only a closing tag on a line of its own counts: an answer may well talk about tags.
        if let Some(at) = lone_tag(&lead, text) {
            let (thought, rest) = text.split_at(at);
            lead.push_str(thought);
            take(ThinkToken::Retract(lead.trim_end_matches('\n')));
            self.trim = true;
            return self.give(self.kind, rest.strip_prefix(CLOSE).unwrap_or(rest), take);
        }
        let begun = tag_begun(text, "</think>\n");
        let (sure, open) = text.split_at(text.len().saturating_sub(begun));
        let at_line_start = if sure.is_empty() { ends_line(&lead) } else { ends_line(sure) };
        let (sure, open) = if at_line_start { (sure, open) } else { (text, "") };
        lead.push_str(sure);
        self.lead = (lead.len() <= LEAD_BYTES_MAX).then_some(lead);
        open.clone_into(&mut self.held);
        self.give(self.kind, sure, take);
    }

    /// Passes on text of a kind, without the line ends that belong to a tag.
    fn give(&mut self, kind: PartKind, text: &str, take: &mut dyn FnMut(ThinkToken<'_>)) {
        let text = if self.trim { text.trim_start_matches(['\n', '\r']) } else { text };
        if !text.is_empty() {
            self.trim = false;
            take(ThinkToken::Piece(kind, text));
        }
    }
}

/// Whether a tag right after `text` would begin a line.
fn ends_line(text: &str) -> bool {
    text.is_empty() || text.ends_with('\n')
}

/// How many bytes at the end of `text` may be the beginning of `tag`; less than the whole tag.
fn tag_begun(text: &str, tag: &str) -> usize {
    (1..tag.len()).rev().find(|len| tag.get(..*len).is_some_and(|begun| text.ends_with(begun))).unwrap_or(0)
}

/// Where in `text`, which follows `lead`, a closing tag is on a line of its own.
fn lone_tag(lead: &str, text: &str) -> Option<usize> {
    text.match_indices(CLOSE).map(|(at, _)| at).find(|at| {
        let before = text.get(..*at).unwrap_or_default();
        let after = text.get(at.saturating_add(CLOSE.len())..).unwrap_or_default();
        after.starts_with(['\n', '\r'])
            && if before.is_empty() { ends_line(lead) } else { before.ends_with('\n') }
    })
}

#[cfg(test)]
mod tests;
