//! Find: searches everything in a conversation (messages, answers, thinking, arguments, results), on the page
//! or not.
//!
//! The search is repeated while the conversation grows; only texts whose length changed are searched again.
//!
//! `word` matches words; `joined` searches texts that are split over several elements.

use std::collections::HashMap;
use std::ops::Range;

use model::event::PartKind;
use model::view::{Item, RunView, ToolView, TopItem};
use model::{MessageId, PartId, RunId, ToolCallId, View, format};

mod joined;
mod word;

pub use joined::{Joined, Spot};
pub use word::{Matcher, Word};

/// The most hits that are listed.
pub const HITS_MAX: usize = 200;

/// The most hits that are listed of one text; further ones are only counted.
const HITS_IN_TEXT_MAX: usize = 20;

/// How many characters are shown before and after a hit.
const AROUND_CHARS: usize = 40;

/// The kind of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Kind {
    /// A message of the conversation.
    Message,
    /// A text of an answer.
    Answer,
    /// Thinking of a model.
    Thinking,
    /// The arguments of a call.
    Arguments,
    /// The result of a call, or its output so far.
    Result,
}

impl Kind {
    /// All kinds, in the order in which they are counted.
    pub const ALL: [Self; 5] = [Self::Message, Self::Answer, Self::Thinking, Self::Arguments, Self::Result];

    /// The name on the page.
    pub fn word(self) -> &'static str {
        match self {
            Self::Message => "message",
            Self::Answer => "answer",
            Self::Thinking => "thinking",
            Self::Arguments => "arguments",
            Self::Result => "result",
        }
    }
}

/// The item that contains a text.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Place {
    /// A message of the history.
    Message(MessageId),
    /// A part of a run.
    Part(RunId, PartId),
    /// A call of a run.
    Tool(RunId, ToolCallId),
}

/// A match in a text of the conversation.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Hit {
    /// The kind of the text.
    pub kind: Kind,
    /// The item that contains it.
    pub place: Place,
    /// The name of the tool, or the role of the message; empty for parts.
    pub name: String,
    /// The line of the hit, counted from 1.
    pub line: usize,
    /// The text before the hit in its line.
    pub before: String,
    /// The text that matched.
    pub word: String,
    /// The text after the hit in its line.
    pub after: String,
    /// The index of the hit in the text, counted from 0.
    pub number: usize,
}

/// The result of a search.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Found {
    /// The first hits, in the order of the conversation.
    pub hits: Vec<Hit>,
    /// The number of hits of each kind, in the order of [`Kind::ALL`].
    pub counts: [usize; 5],
    /// How many results were searched of which only the beginning is here.
    pub partly: usize,
    /// Whether the search took too long, so that not everything was searched.
    pub is_cut: bool,
}

impl Found {
    /// The number of hits.
    pub fn total(&self) -> usize {
        self.counts.iter().sum()
    }

    /// The counts, in words: `answer 2 · result 1`.
    pub fn words(&self) -> String {
        let words = self.words_of_hits();
        if self.is_cut {
            format!("{words} · the pattern takes too long: only part was searched")
        } else {
            words
        }
    }

    /// The counts, without the remark on an early end.
    fn words_of_hits(&self) -> String {
        let kinds = Kind::ALL.into_iter().zip(self.counts).filter(|(_, count)| *count > 0);
        let kinds: Vec<String> = kinds.map(|(kind, count)| format!("{} {count}", kind.word())).collect();
        let partly = format!("only the beginning of {}", format::counted(self.partly, "large result"));
        match (kinds.is_empty(), self.partly) {
            (true, 0) => "Not found in this conversation".to_owned(),
            (true, _) => format!("Not found here: {partly} was searched"),
            (false, 0) => kinds.join(" · "),
            (false, _) => format!("{} · {partly} was searched", kinds.join(" · ")),
        }
    }
}

/// A hit that is to be shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sought {
    /// The item that contains the text.
    pub place: Place,
    /// The kind of the text.
    pub kind: Kind,
    /// The index of the hit in the text, counted from 0.
    pub number: usize,
}

impl Sought {
    /// The first hit at `place`. A call's result is searched before its arguments.
    pub fn first(view: &View, place: &Place, matcher: &dyn Matcher) -> Option<Self> {
        let kind = match place {
            Place::Message(_) => Kind::Message,
            Place::Part(..) => Kind::Answer,
            Place::Tool(run, id) => {
                let tool = view.runs.get(run)?.tools.get(id)?;
                let holds = |text: &str| !matcher.places(text).is_empty();
                let is_result = match &tool.result {
                    Some(result) => holds(&result.to_text()),
                    None => holds(&tool.output.text),
                };
                if is_result || !holds(&tool.arguments.text) { Kind::Result } else { Kind::Arguments }
            }
        };
        Some(Self { place: place.clone(), kind, number: 0 })
    }
}

/// The hits of a text in the last search.
#[derive(Debug, Default)]
struct Seen {
    len: usize,
    count: usize,
    hits: Vec<Hit>,
}

/// Repeats a search, and keeps the hits of texts that did not change.
#[derive(Debug, Default)]
pub struct Finder {
    /// The query of the last search.
    /// Whether the last search ended early.
    typed: String,
    was_cut: bool,
    seen: HashMap<(Place, Kind), Seen>,
}

impl Finder {
    /// Searches `view` with `matcher`. `typed` is the query: another one begins a new search.
    pub fn look(&mut self, view: &View, typed: &str, matcher: &dyn Matcher) -> Found {
        // Texts that were not searched are searched the next time.
        if self.typed != typed || std::mem::take(&mut self.was_cut) {
            self.seen.clear();
            typed.clone_into(&mut self.typed);
        }
        let mut found = Found::default();
        for item in &view.items {
            match item {
                TopItem::Message(id) => {
                    if let Some(message) = view.messages.get(id) {
                        let place = || Place::Message(id.clone());
                        let text = (message.role.as_str(), message.text.as_str());
                        self.text(&mut found, matcher, Kind::Message, place, text);
                    }
                }
                TopItem::Run(id) => {
                    if let Some(run) = view.runs.get(id) {
                        self.run(&mut found, matcher, id, run);
                    }
                }
            }
        }
        found.is_cut = matcher.is_cut();
        self.was_cut = found.is_cut;
        found
    }

    /// Forgets the last search. To be called for another conversation, whose items may have the same ids.
    pub fn forget(&mut self) {
        self.seen.clear();
    }

    /// Adds the hits in a run.
    fn run(&mut self, found: &mut Found, matcher: &dyn Matcher, id: &RunId, run: &RunView) {
        for item in &run.items {
            match item {
                Item::Part(part_id) => {
                    let Some(part) = run.parts.get(part_id) else { continue };
                    let kind = match part.kind {
                        PartKind::Thinking => Kind::Thinking,
                        PartKind::File => continue,
                        _ => Kind::Answer,
                    };
                    let place = || Place::Part(id.clone(), part_id.clone());
                    self.text(found, matcher, kind, place, ("", &part.body.text));
                }
                Item::Tool(tool_id) => {
                    if let Some(tool) = run.tools.get(tool_id) {
                        self.tool(found, matcher, || Place::Tool(id.clone(), tool_id.clone()), tool);
                    }
                }
                Item::Agent(_) | Item::Note(_) => {}
            }
        }
    }

    /// Adds the hits in a call.
    fn tool(&mut self, found: &mut Found, matcher: &dyn Matcher, place: impl Fn() -> Place, tool: &ToolView) {
        let name = tool.name.as_str();
        self.text(found, matcher, Kind::Arguments, &place, (name, &tool.arguments.text));
        match &tool.result {
            Some(result) => self.text(found, matcher, Kind::Result, &place, (name, &result.to_text())),
            None => self.text(found, matcher, Kind::Result, &place, (name, &tool.output.text)),
        }
        let is_part = tool.result_ref.is_some() || tool.result_cut > 0;
        found.partly = found.partly.saturating_add(usize::from(is_part));
    }

    /// Adds the hits in a text. It is searched only if its length changed since the last search.
    fn text(
        &mut self,
        found: &mut Found,
        matcher: &dyn Matcher,
        kind: Kind,
        place: impl Fn() -> Place,
        (name, text): (&str, &str),
    ) {
        let place = place();
        let seen = self.seen.entry((place.clone(), kind)).or_default();
        if seen.len != text.len() {
            seen.len = text.len();
            seen.hits.clear();
            seen.count = 0;
            for range in matcher.places(text) {
                if seen.count < HITS_IN_TEXT_MAX {
                    seen.hits.push(hit(kind, &place, name, text, &range, seen.count));
                }
                seen.count = seen.count.saturating_add(1);
            }
        }
        let kind_at = Kind::ALL.iter().position(|it| *it == kind).unwrap_or(0);
        if let Some(count) = found.counts.get_mut(kind_at) {
            *count = count.saturating_add(seen.count);
        }
        let room = HITS_MAX.saturating_sub(found.hits.len());
        found.hits.extend(seen.hits.iter().take(room).cloned());
    }
}

/// The hit at `range` of `text`.
fn hit(kind: Kind, place: &Place, name: &str, text: &str, range: &Range<usize>, number: usize) -> Hit {
    let (head, rest) = text.split_at_checked(range.start).unwrap_or((text, ""));
    let (word, tail) = rest.split_at_checked(range.len()).unwrap_or((rest, ""));
    let line_head = head.rsplit('\n').next().unwrap_or_default();
    let line_tail = tail.split('\n').next().unwrap_or_default();
    let before: String = {
        let last: Vec<char> = line_head.chars().rev().take(AROUND_CHARS).collect();
        last.into_iter().rev().collect()
    };
    Hit {
        kind,
        place: place.clone(),
        name: name.to_owned(),
        line: head.bytes().filter(|byte| *byte == b'\n').count().saturating_add(1),
        before: before.trim_start().to_owned(),
        word: word.to_owned(),
        after: line_tail.chars().take(AROUND_CHARS).collect(),
        number,
    }
}

#[cfg(test)]
mod tests;
