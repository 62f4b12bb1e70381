//! `<think>…</think>` inside of text: some models write their reasoning into the answer. The tags may be cut anywhere,
//! and the opening one is missing where the prompt's template has written it already.

use model::event::PartKind;

const OPEN: &str = "<think>";
const CLOSE: &str = "</think>";

/// Longest beginning of an answer that is kept to be taken back as reasoning when a lone closing tag follows, in bytes.
const LEAD_BYTES_MAX: usize = 256 << 10;

/// Longest white space that is held back before an opening tag, in bytes.
const BLANK_BYTES_MAX: usize = 4 << 10;

/// A piece of what was written.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum ThinkToken<'a> {
    /// Text of this kind.
    Piece(PartKind, &'a str),
    /// This was reasoning: all the text so far, including what was given as text before.
    Retract(&'a str),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ThinkState {
    /// Nothing but white space so far: an opening tag may come.
    Start,
    /// Between the tags.
    Inside,
    /// The answer. Its beginning is kept in `lead` as long as a lone closing tag is possible.
    Answer,
}

/// Takes the tags out of one text.
#[derive(Debug)]
pub(super) struct ThinkTags {
    state: ThinkState,
    /// What everything outside of the tags is.
    kind: PartKind,
    /// The end of what came, which may be the beginning of a tag.
    held: String,
    /// Drop line ends until text comes: they belong to the tag.
    trim: bool,
    lead: Option<String>,
}

impl ThinkTags {
    /// For an answer.
    pub(super) fn in_text() -> Self {
        let lead = Some(String::new());
        Self { state: ThinkState::Start, kind: PartKind::Text, held: String::new(), trim: false, lead }
    }

    /// For reasoning, where the tags are only noise.
    pub(super) fn in_reasoning() -> Self {
        Self { kind: PartKind::Thinking, lead: None, ..Self::in_text() }
    }

    /// Goes on with `text`.
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

    /// Something else comes, or nothing more: what was held back is text.
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

    /// Decides what the text begins with; nothing when that is still open.
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

    fn answer(&mut self, text: &str, take: &mut dyn FnMut(ThinkToken<'_>)) {
        let Some(mut lead) = self.lead.take() else { return self.give(self.kind, text, take) };
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

    fn give(&mut self, kind: PartKind, text: &str, take: &mut dyn FnMut(ThinkToken<'_>)) {
        let text = if self.trim { text.trim_start_matches(['\n', '\r']) } else { text };
        if !text.is_empty() {
            self.trim = false;
            take(ThinkToken::Piece(kind, text));
        }
    }
}

fn ends_line(text: &str) -> bool {
    text.is_empty() || text.ends_with('\n')
}

/// How many bytes at the end of `text` may be the beginning of `tag`.
fn tag_begun(text: &str, tag: &str) -> usize {
    (1..tag.len()).rev().find(|len| tag.get(..*len).is_some_and(|begun| text.ends_with(begun))).unwrap_or(0)
}

/// Where in `text`, which follows `lead`, a closing tag stands on a line of its own.
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
