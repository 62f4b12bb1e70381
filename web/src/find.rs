//! Finding a word in everything that a conversation holds: answers, thinking, arguments, results and messages, whether
//! they are on the page or not. Looked up again while the conversation grows: only texts that changed are read again.

use std::collections::HashMap;
use std::ops::Range;

use shared::event::PartKind;
use shared::view::{Item, RunView, ToolView, TopItem};
use shared::{MessageId, PartId, RunId, ToolCallId, View};

/// Most hits that are listed.
pub const HITS_MAX: usize = 200;

/// Most hits in one text: the others are counted.
const HITS_IN_TEXT_MAX: usize = 20;

/// Characters before and behind a hit.
const AROUND_CHARS: usize = 40;

/// Shortest word that is looked for, in bytes: one letter is everywhere.
const QUERY_BYTES_MIN: usize = 2;

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
}

impl Found {
    /// How many there are.
    pub fn total(&self) -> usize {
        self.counts.iter().sum()
    }
}

/// What is known of a text since the last look.
#[derive(Debug, Default)]
struct Seen {
    len: usize,
    count: usize,
    hits: Vec<Hit>,
}

/// Looks for one word, again and again.
#[derive(Debug, Default)]
pub struct Finder {
    query: String,
    seen: HashMap<(Place, Kind), Seen>,
}

impl Finder {
    /// Where `query` stands in `view`. Upper and lower case are the same.
    pub fn look(&mut self, view: &View, query: &str) -> Found {
        let query = query.trim().to_lowercase();
        if self.query != query {
            self.seen.clear();
            query.clone_into(&mut self.query);
        }
        let mut found = Found::default();
        if query.len() < QUERY_BYTES_MIN {
            return found;
        }
        for item in &view.items {
            match item {
                TopItem::Message(id) => {
                    if let Some(message) = view.messages.get(id) {
                        let place = || Place::Message(id.clone());
                        self.text(&mut found, Kind::Message, place, &message.role, &message.text);
                    }
                }
                TopItem::Run(id) => {
                    if let Some(run) = view.runs.get(id) {
                        self.run(&mut found, id, run);
                    }
                }
            }
        }
        found
    }

    /// Another conversation: its texts may have the same names.
    pub fn forget(&mut self) {
        self.seen.clear();
    }

    fn run(&mut self, found: &mut Found, id: &RunId, run: &RunView) {
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
                    self.text(found, kind, place, "", &part.body.text);
                }
                Item::Tool(tool_id) => {
                    if let Some(tool) = run.tools.get(tool_id) {
                        self.tool(found, || Place::Tool(id.clone(), tool_id.clone()), tool);
                    }
                }
                Item::Agent(_) | Item::Note(_) => {}
            }
        }
    }

    fn tool(&mut self, found: &mut Found, place: impl Fn() -> Place, tool: &ToolView) {
        self.text(found, Kind::Arguments, &place, &tool.name, &tool.arguments.text);
        match &tool.result {
            Some(result) => self.text(found, Kind::Result, &place, &tool.name, &result.to_text()),
            None => self.text(found, Kind::Result, &place, &tool.name, &tool.output.text),
        }
    }

    /// Adds the hits of a text, which is read only when it is another than before.
    fn text(&mut self, found: &mut Found, kind: Kind, place: impl Fn() -> Place, name: &str, text: &str) {
        let place = place();
        let seen = self.seen.entry((place.clone(), kind)).or_default();
        if seen.len != text.len() {
            seen.len = text.len();
            seen.hits.clear();
            seen.count = 0;
            for range in ranges(text, &self.query) {
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

/// Where `query`, in lower case, stands in `text`; hits do not overlap.
pub fn ranges<'a>(text: &'a str, query: &'a str) -> impl Iterator<Item = Range<usize>> + 'a {
    let first = query.chars().next();
    let mut from = 0;
    std::iter::from_fn(move || {
        let first = first?;
        let rest = text.get(from..)?;
        for (at, c) in rest.char_indices() {
            if (c == first
                || (!c.is_ascii() || c.is_ascii_uppercase()) && c.to_lowercase().next() == Some(first))
                && let Some(len) = begins(rest.get(at..)?, query)
            {
                let start = from.saturating_add(at);
                from = start.saturating_add(len.max(1));
                return Some(start..start.saturating_add(len));
            }
        }
        from = text.len().saturating_add(1);
        None
    })
}

/// How many bytes of `text` are `query` when case does not count; nothing when it begins otherwise.
fn begins(text: &str, query: &str) -> Option<usize> {
    let mut wanted = query.chars();
    let mut next = wanted.next();
    for (at, c) in text.char_indices() {
        if next.is_none() {
            return Some(at);
        }
        for lower in c.to_lowercase() {
            if next != Some(lower) {
                return None;
            }
            next = wanted.next();
        }
    }
    next.is_none().then_some(text.len())
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
