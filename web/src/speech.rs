//! What is announced to screen readers, and how often.

use std::collections::VecDeque;

use model::ConversationId;
use model::frame::ConversationRow;

use crate::fleet;

/// The shortest time between two polite announcements, in milliseconds.
pub const GAP_MS: u64 = 3_000;

/// The most polite announcements that wait; the oldest are dropped.
pub const WAITING_MAX: usize = 4;

/// What to do next with the polite announcements.
#[derive(Debug, PartialEq, Eq)]
pub enum Next {
    /// Do nothing; none waits.
    Rest,
    /// Announce this text.
    Say(String),
    /// Ask again after this many milliseconds.
    Wait(u64),
}

/// The polite announcements that wait.
#[derive(Debug, Default)]
pub struct Speech {
    waiting: VecDeque<(String, About)>,
    said_at: Option<u64>,
}

/// The subject of an announcement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum About {
    /// An action of the reader: announced wherever the reader is by then.
    ReaderAction,
    /// An event in the open conversation: dropped when the reader leaves it.
    Here,
}

impl Speech {
    /// Adds an announcement. An empty one and a repetition are ignored.
    pub fn add(&mut self, words: String, about: About) {
        if words.is_empty() || self.waiting.back().is_some_and(|(last, _)| *last == words) {
            return;
        }
        if self.waiting.len() >= WAITING_MAX {
            self.waiting.pop_front();
        }
        self.waiting.push_back((words, about));
    }

    /// Drops what is about the conversation that the reader leaves.
    pub fn leave(&mut self) {
        self.waiting.retain(|(_, about)| *about == About::ReaderAction);
    }

    /// What to do at `now`, in milliseconds of one clock.
    pub fn next(&mut self, now: u64) -> Next {
        // A clock that was set back does not tell how long ago the last one was.
        let said_at = self.said_at.map(|at| at.min(now));
        self.said_at = said_at;
        let since = said_at.map_or(GAP_MS, |at| now.saturating_sub(at));
        match GAP_MS.saturating_sub(since) {
            _ if self.waiting.is_empty() => Next::Rest,
            0 => {
                self.said_at = Some(now);
                self.waiting.pop_front().map_or(Next::Rest, |(words, _)| Next::Say(words))
            }
            wait => Next::Wait(wait),
        }
    }
}

/// The end of the list: the time and the id of its last row.
type End = (u64, ConversationId);

/// The conversations that wait for a person, as far as known.
#[derive(Debug, Default)]
pub struct Asking(Option<Heard>);

/// The waiting conversations in the last list, each with its number of calls, and where that list ended.
#[derive(Debug)]
struct Heard {
    asking: Vec<(ConversationId, u64)>,
    end: Option<End>,
}

impl Asking {
    /// Takes the list and its end. Returns an announcement if more calls wait than before. Calls that wait in
    /// the first list, or appear because the list was extended, are not announced.
    pub fn hear<'a>(
        &mut self,
        rows: impl Iterator<Item = &'a ConversationRow>,
        end: Option<&End>,
    ) -> Option<String> {
        let asking: Vec<&ConversationRow> = rows.filter(|row| row.approvals > 0).collect();
        let now = asking.iter().map(|row| (row.conversation.clone(), row.approvals)).collect();
        let Heard { asking: before, end } = self.0.replace(Heard { asking: now, end: end.cloned() })?;
        let known = |row: &ConversationRow| before.iter().find(|(id, _)| *id == row.conversation);
        // Newer rows are above the previous end of the list.
        let is_old = |row: &ConversationRow| {
            end.as_ref().is_some_and(|(at, id)| (*at, &row.conversation) > (row.at, id))
        };
        let is_new = |row: &&ConversationRow| known(row).map_or(!is_old(row), |(_, n)| row.approvals > *n);
        let new: Vec<&ConversationRow> = asking.into_iter().filter(is_new).collect();
        match new.as_slice() {
            [] => None,
            [row] => Some(format!("Needs approval: {}", fleet::title(row))),
            rows => Some(format!("{} conversations need approval", rows.len())),
        }
    }
}

/// Whether a run ended while the reader watched. `was` and `now` are what is shown and whether it runs.
pub fn has_ended<T: PartialEq>(was: Option<&(T, bool)>, now: &(T, bool)) -> bool {
    was.is_some_and(|(looked, ran)| *looked == now.0 && *ran && !now.1)
}

/// The announcement of a failed call, with its duration in milliseconds, if known.
pub fn failure(tool: &str, took_ms: Option<u64>) -> String {
    match took_ms {
        Some(ms) if ms >= 1_000 => format!("{tool} failed after {}", spoken(ms)),
        _ => format!("{tool} failed"),
    }
}

/// A duration in words for speech.
fn spoken(ms: u64) -> String {
    let seconds = ms.saturating_add(500) / 1000;
    let said = |n: u64, unit: &str| {
        let n = usize::try_from(n).unwrap_or(usize::MAX);
        (n > 0).then(|| crate::format::counted(n, unit))
    };
    let words =
        [said(seconds / 3600, "hour"), said(seconds / 60 % 60, "minute"), said(seconds % 60, "second")];
    words.into_iter().flatten().take(2).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests;
