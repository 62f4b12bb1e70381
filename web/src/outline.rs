//! The outline of a conversation: what was asked, the headings of the answers, and what failed, in the order
//! of the conversation.

use model::event::{PartKind, RunStatus, ToolState};
use model::view::{Item, RunView, TopItem};
use model::{RunId, View};

use crate::find::Place;
use crate::preview::{PreviewOutput, cut, one_line};

/// The most entries; of a longer outline the newest are kept.
pub const ENTRIES_MAX: usize = 500;

/// The longest text whose headings are read, in bytes.
const TEXT_BYTES_MAX: usize = 1 << 20;

/// The longest entry, in characters.
const ENTRY_CHARS: usize = 120;

/// What an entry is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum EntryKind {
    /// A message of the user.
    Question,
    /// A heading of an answer, with its level from 1 to 6.
    Heading(u8),
    /// A call that failed.
    FailedCall,
    /// A run that did not end well.
    FailedRun,
}

impl EntryKind {
    /// The kind in a word.
    pub fn word(self) -> &'static str {
        match self {
            Self::Question => "question",
            Self::Heading(_) => "heading",
            Self::FailedCall | Self::FailedRun => "failure",
        }
    }
}

/// The place in the conversation that an entry of the outline leads to.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum EntryTarget {
    /// An item of the conversation.
    Item(Place),
    /// A run of the conversation.
    Run(RunId),
}

/// A line of the outline.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Entry {
    /// What it is about.
    pub kind: EntryKind,
    /// The text of the entry, in one line.
    pub text: String,
    /// The place that it leads to.
    pub target: EntryTarget,
    /// How many entries with this target stand before it.
    pub number: usize,
}

/// The outline of a conversation, bounded.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Outline {
    /// The newest entries, in order.
    pub entries: Vec<Entry>,
    /// The number of earlier entries that are left out.
    pub left_out: usize,
}

/// The outline of a conversation.
pub fn outline(view: &View) -> Outline {
    let mut entries = Vec::new();
    for item in &view.items {
        match item {
            TopItem::Message(id) => {
                let message = view.messages.get(id).filter(|message| message.role == "user");
                if let Some(message) = message {
                    let text = one_line(&message.text);
                    push(
                        &mut entries,
                        EntryKind::Question,
                        &text,
                        &EntryTarget::Item(Place::Message(id.clone())),
                        0,
                    );
                }
            }
            TopItem::Run(id) => {
                if let Some(run) = view.runs.get(id) {
                    of_run(id, run, &mut entries);
                }
            }
        }
    }
    let left_out = entries.len().saturating_sub(ENTRIES_MAX);
    entries.drain(..left_out);
    Outline { entries, left_out }
}

/// Appends an entry, if it has a text.
fn push(entries: &mut Vec<Entry>, kind: EntryKind, text: &str, target: &EntryTarget, number: usize) {
    let text = cut(text.trim(), ENTRY_CHARS).0.to_owned();
    if !text.is_empty() {
        entries.push(Entry { kind, text, target: target.clone(), number });
    }
}

/// Appends the headings and failures of a run, and how it ended, if not well.
fn of_run(id: &RunId, run: &RunView, entries: &mut Vec<Entry>) {
    for item in &run.items {
        match item {
            Item::Part(part) => {
                let Some(it) = run.parts.get(part).filter(|it| it.kind == PartKind::Text) else { continue };
                let target = EntryTarget::Item(Place::Part(id.clone(), part.clone()));
                for (number, (level, text)) in headings(&it.body.text).into_iter().enumerate() {
                    push(entries, EntryKind::Heading(level), text, &target, number);
                }
            }
            Item::Tool(call) => {
                let Some(tool) = run.tools.get(call).filter(|tool| tool.state == ToolState::Error) else {
                    continue;
                };
                let said = tool.result.as_ref().map(|result| one_line(&PreviewOutput::of(result).text));
                let name = if tool.name.is_empty() { "tool" } else { &tool.name };
                let text = format!("{name}: {}", said.unwrap_or_else(|| "failed".to_owned()));
                let target = EntryTarget::Item(Place::Tool(id.clone(), call.clone()));
                push(entries, EntryKind::FailedCall, &text, &target, 0);
            }
            Item::Agent(_) | Item::Note(_) => {}
        }
    }
    let how = match run.status {
        RunStatus::Error => "The run failed",
        RunStatus::Interrupted => "The run was interrupted",
        RunStatus::Cancelled => "Cancelled",
        RunStatus::Running | RunStatus::Complete => return,
    };
    let why = run.error.as_ref().map(|error| format!("{how}: {}", one_line(&error.message)));
    push(entries, EntryKind::FailedRun, why.as_deref().unwrap_or(how), &EntryTarget::Run(id.clone()), 0);
}

/// The headings of a Markdown text, each with its level: lines that begin with `#`, outside of code.
fn headings(text: &str) -> Vec<(u8, &str)> {
    let mut found = Vec::new();
    if text.len() > TEXT_BYTES_MAX || !text.contains('#') {
        return found;
    }
    let mut fence: Option<char> = None;
    for line in text.lines() {
        let line = line.trim_end();
        let start = line.trim_start_matches(' ');
        if line.len().saturating_sub(start.len()) > 3 {
            continue;
        }
        let mark = start.chars().next().filter(|c| matches!(c, '`' | '~'));
        if let Some(mark) = mark.filter(|mark| start.chars().take_while(|c| c == mark).count() >= 3) {
            fence = match fence {
                None => Some(mark),
                Some(open) if open == mark => None,
                open => open,
            };
            continue;
        }
        let level = start.bytes().take_while(|byte| *byte == b'#').count();
        let rest = start.get(level..).unwrap_or_default();
        if fence.is_none() && (1..=6).contains(&level) && rest.starts_with(' ') {
            let text = rest.trim().trim_end_matches('#').trim_end();
            found.push((u8::try_from(level).unwrap_or(6), text));
        }
    }
    found
}

/// The letters and digits of a heading, by which its element is found: marks of emphasis are not in it.
pub fn letters(text: &str) -> String {
    text.chars().filter(|c| c.is_alphanumeric()).collect()
}

#[cfg(test)]
mod tests;
