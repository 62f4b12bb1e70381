//! What is said to readers who listen: what is worth a word, and not more often than they can hear.

use std::collections::VecDeque;

use model::ConversationId;
use model::frame::ConversationRow;

use crate::fleet;

/// Between two polite messages, in milliseconds.
pub const GAP_MS: u64 = 3_000;

/// Polite messages that wait; of more the oldest are left out.
pub const WAITING_MAX: usize = 4;

/// What is to be done next with the polite messages.
#[derive(Debug, PartialEq, Eq)]
pub enum Next {
    /// None waits.
    Rest,
    /// Say this.
    Say(String),
    /// Look again after so many milliseconds.
    Wait(u64),
}

/// The polite messages that wait.
#[derive(Debug, Default)]
pub struct Speech {
    waiting: VecDeque<(String, About)>,
    said_at: Option<u64>,
}

/// What a message is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum About {
    /// What the reader did: it is told wherever the reader is by then.
    Deed,
    /// What happened in the conversation that is looked at: elsewhere it is out of place.
    Here,
}

impl Speech {
    /// Takes a message.
    pub fn add(&mut self, words: String, about: About) {
        if words.is_empty() || self.waiting.back().is_some_and(|(last, _)| *last == words) {
            return;
        }
        if self.waiting.len() >= WAITING_MAX {
            self.waiting.pop_front();
        }
        self.waiting.push_back((words, about));
    }

    /// The reader looks at another conversation.
    pub fn leave(&mut self) {
        self.waiting.retain(|(_, about)| *about == About::Deed);
    }

    /// What to do at `now`, by any one clock.
    pub fn next(&mut self, now: u64) -> Next {
        // A clock that was set back does not tell how long it is since.
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

/// Where the list ends: the time and the name of its last row.
type End = (u64, ConversationId);

/// The conversations that wait for a person, as far as is known.
#[derive(Debug, Default)]
pub struct Asking(Option<Heard>);

/// What the list told of them, and where it ended.
#[derive(Debug)]
struct Heard {
    asking: Vec<(ConversationId, u64)>,
    end: Option<End>,
}

impl Asking {
    /// Takes the list as it is now, and where it ends; what to say, if more calls wait than before. What waits when the list
    /// first comes is there to be read, and so is what comes into it because it became longer.
    pub fn hear<'a>(
        &mut self,
        rows: impl Iterator<Item = &'a ConversationRow>,
        end: Option<&End>,
    ) -> Option<String> {
        let asking: Vec<&ConversationRow> = rows.filter(|row| row.approvals > 0).collect();
        let now = asking.iter().map(|row| (row.conversation.clone(), row.approvals)).collect();
        let Heard { asking: before, end } = self.0.replace(Heard { asking: now, end: end.cloned() })?;
        let known = |row: &ConversationRow| before.iter().find(|(id, _)| *id == row.conversation);
        // What happened since stands above the end of the list as it was.
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

/// Whether what was looked at has ended before the reader's eyes: `was` and `now` say what is looked at and whether it runs.
pub fn has_ended<T: PartialEq>(was: Option<&(T, bool)>, now: &(T, bool)) -> bool {
    was.is_some_and(|(looked, ran)| *looked == now.0 && *ran && !now.1)
}

/// A call that failed, after so many milliseconds where that is known.
pub fn failure(tool: &str, took_ms: Option<u64>) -> String {
    match took_ms {
        Some(ms) if ms >= 1_000 => format!("{tool} failed after {}", spoken(ms)),
        _ => format!("{tool} failed"),
    }
}

/// A duration as it is said aloud.
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
