//! Finding a word in everything that a conversation holds: answers, thinking, arguments, results and messages, whether
//! they are on the page or not. Looked up again while the conversation grows: only texts that changed are read again.

use std::collections::HashMap;
use std::ops::Range;

use model::event::PartKind;
use model::view::{Item, RunView, ToolView, TopItem};
use model::{MessageId, PartId, RunId, ToolCallId, View, format};

mod joined;
mod word;

pub use joined::{Joined, Spot};
pub use word::{Matcher, Word};

/// Most hits that are listed.
pub const HITS_MAX: usize = 200;

/// Most hits in one text: the others are counted.
const HITS_IN_TEXT_MAX: usize = 20;

/// Characters before and behind a hit.
const AROUND_CHARS: usize = 40;

/// What a text is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Kind {
    /// A message of the history.
    Message,
    /// A text of the answer.
    Answer,
    /// Thinking.
    Thinking,
    /// What a call was given.
    Arguments,
    /// What it gave, or printed so far.
    Result,
}

impl Kind {
    /// All, in the order in which they are counted.
    pub const ALL: [Self; 5] = [Self::Message, Self::Answer, Self::Thinking, Self::Arguments, Self::Result];

    /// Its name on the page.
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

/// Where a text stands.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Place {
    /// In a message.
    Message(MessageId),
    /// In a part of a run.
    Part(RunId, PartId),
    /// In a call of a run.
    Tool(RunId, ToolCallId),
}

/// One place where the word stands.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Hit {
    /// What the text is.
    pub kind: Kind,
    /// Where it stands.
    pub place: Place,
    /// The tool, or who speaks.
    pub name: String,
    /// The line, from 1.
    pub line: usize,
    /// What stands before it in the line.
    pub before: String,
    /// The word as it stands there.
    pub word: String,
    /// What stands behind it.
    pub after: String,
    /// Its number in the text, from 0.
    pub number: usize,
}

/// What was found.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Found {
    /// The first hits, in the order of the conversation.
    pub hits: Vec<Hit>,
    /// How many there are of each kind, in the order of [`Kind::ALL`].
    pub counts: [usize; 5],
    /// Results of which only the beginning is here.
    pub partly: usize,
    /// Whether the search took too long, and not everything was read.
    pub is_cut: bool,
}

impl Found {
    /// How many there are.
    pub fn total(&self) -> usize {
        self.counts.iter().sum()
    }

    /// What was found, in words: `answer 2 · result 1`.
    pub fn words(&self) -> String {
        let words = self.words_of_hits();
        if self.is_cut {
            format!("{words} · the pattern takes too long: only part was searched")
        } else {
            words
        }
    }

    fn words_of_hits(&self) -> String {
        let kinds = Kind::ALL.into_iter().zip(self.counts).filter(|(_, count)| *count > 0);
        let kinds: Vec<String> = kinds.map(|(kind, count)| format!("{} {count}", kind.word())).collect();
        let partly = format!("only the beginning of {}", format::counted(self.partly, "large result"));
        match (kinds.is_empty(), self.partly) {
            (true, 0) => "Not in this conversation".to_owned(),
            (true, _) => format!("Not in what is here: {partly} was searched"),
            (false, 0) => kinds.join(" · "),
            (false, _) => format!("{} · {partly} was searched", kinds.join(" · ")),
        }
    }
}

/// A place that somebody wants to see.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sought {
    /// Where the text stands.
    pub place: Place,
    /// What it is.
    pub kind: Kind,
    /// The number of the hit in it, from 0.
    pub number: usize,
}

impl Sought {
    /// The first hit at `place`: for a call in its result, else in its arguments.
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

/// What is known of a text since the last look.
#[derive(Debug, Default)]
struct Seen {
    len: usize,
    count: usize,
    hits: Vec<Hit>,
}

/// Looks for one thing, again and again.
#[derive(Debug, Default)]
pub struct Finder {
    typed: String,
    was_cut: bool,
    seen: HashMap<(Place, Kind), Seen>,
}

impl Finder {
    /// Where what `matcher` looks for stands in `view`. `typed` names it: for another one all is read again.
    pub fn look(&mut self, view: &View, typed: &str, matcher: &dyn Matcher) -> Found {
        // What was not read is read the next time.
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

    /// Another conversation: its texts may have the same names.
    pub fn forget(&mut self) {
        self.seen.clear();
    }

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

    /// Adds the hits of a text with its name; it is read only when it is another than before.
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
