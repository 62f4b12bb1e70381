//! The list of conversations: which group a row stands in, in which order, and what its lines say.

use shared::ConversationId;
use shared::event::RunStatus;
use shared::frame::{ConversationRow, RowCall};

use crate::format;

/// The groups, in the order in which they stand.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Group {
    /// A call waits for consent, the newest run failed, nobody speaks for it any more, or a call does not come back.
    NeedsYou,
    /// A run goes on.
    Running,
    /// Everything else.
    Recent,
}

impl Group {
    /// All, in order.
    pub const ALL: [Self; 3] = [Self::NeedsYou, Self::Running, Self::Recent];

    /// What stands above the group.
    pub fn title(self) -> &'static str {
        match self {
            Self::NeedsYou => "Needs you",
            Self::Running => "Running",
            Self::Recent => "Recent",
        }
    }
}

/// A line of the list.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Line {
    /// The head of a group.
    Head(Group),
    /// A conversation.
    Row(ConversationId),
}

/// The list as it is to be drawn.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct List {
    /// The lines, in order.
    pub lines: Vec<Line>,
    /// How many conversations each group has, in the order of [`Group::ALL`].
    pub counts: [usize; 3],
    /// Rows that would stand elsewhere, or are not shown yet, because the reader's pointer is in the list.
    pub held_back: usize,
}

/// From so many milliseconds on a call is thought to hang.
const STUCK_MS: u64 = 300_000;

/// Whether a call that executes since `since` is thought to hang at `now`, both by the hub's clock.
pub fn is_stuck(since: u64, now: u64) -> bool {
    now.saturating_sub(since) >= STUCK_MS
}

/// The call of a running conversation that is thought to hang.
pub fn stuck(row: &ConversationRow, now: u64) -> Option<&RowCall> {
    row.call.as_ref().filter(|call| row.state == Some(RunStatus::Running) && is_stuck(call.since, now))
}

/// Where a conversation stands at the hub's time `now`.
pub fn group(row: &ConversationRow, now: u64) -> Group {
    match row.state {
        _ if row.approvals > 0 => Group::NeedsYou,
        Some(RunStatus::Error) => Group::NeedsYou,
        Some(RunStatus::Running) if row.stalled || stuck(row, now).is_some() => Group::NeedsYou,
        Some(RunStatus::Running) => Group::Running,
        _ => Group::Recent,
    }
}

/// The state in one word, as tests and styles know it.
pub fn state(row: &ConversationRow) -> &'static str {
    match row.state {
        _ if row.approvals > 0 => "approval",
        Some(RunStatus::Running) if row.stalled => "stalled",
        None => "empty",
        Some(status) => status_word(status),
    }
}

/// A run's state in one word.
pub fn status_word(status: RunStatus) -> &'static str {
    match status {
        RunStatus::Running => "running",
        RunStatus::Complete => "complete",
        RunStatus::Error => "error",
        RunStatus::Cancelled => "cancelled",
        RunStatus::Interrupted => "interrupted",
    }
}

/// The title, else the name.
pub fn title(row: &ConversationRow) -> &str {
    row.title.as_deref().filter(|title| !title.trim().is_empty()).unwrap_or(row.conversation.as_str())
}

/// What the conversation does now, or how it ended.
pub fn activity(row: &ConversationRow) -> String {
    let said = row.activity.as_deref().filter(|text| !text.trim().is_empty());
    let took = row.ended_at.map(|end| format::duration(end.saturating_sub(row.started_at)));
    match (row.state, said) {
        (None, _) => "no run yet".to_owned(),
        (Some(RunStatus::Running), _) if row.stalled => "stalled · no word from its publisher".to_owned(),
        (Some(RunStatus::Complete), _) => {
            let tools = usize::try_from(row.tools).unwrap_or(usize::MAX);
            let tools =
                if tools > 0 { format!(" · {}", format::counted(tools, "tool")) } else { String::new() };
            took.map_or_else(|| format!("Done{tools}"), |took| format!("Done in {took}{tools}"))
        }
        (_, Some(text)) => crate::preview::one_line(text),
        (Some(RunStatus::Running), None) if row.approvals > 0 => "waiting for approval".to_owned(),
        (Some(RunStatus::Running), None) => "working".to_owned(),
        (Some(RunStatus::Error), None) => "failed".to_owned(),
        (Some(RunStatus::Cancelled), None) => "cancelled".to_owned(),
        (Some(RunStatus::Interrupted), None) => "broke off".to_owned(),
    }
}

/// What the conversation does at the hub's time `now`, and whether a call of it hangs.
pub fn line(row: &ConversationRow, now: u64) -> String {
    match stuck(row, now) {
        Some(call) if row.approvals == 0 && !row.stalled => {
            format!("{} has run for {}", call.name, format::age(now.saturating_sub(call.since)))
        }
        _ => activity(row),
    }
}

/// Orders `rows` as they stand at the hub's time `now`. Those that run stand by their start, so that work does not shuffle them; the others by their newest
/// event. With `frozen`, the lines that were drawn before, nothing moves and nothing new comes in between.
pub fn arrange<'a>(
    rows: impl Iterator<Item = &'a ConversationRow>,
    filter: &str,
    now: u64,
    frozen: Option<&List>,
) -> List {
    let filter = filter.trim().to_lowercase();
    let matches = |row: &&ConversationRow| {
        let hit = |text: &str| text.to_lowercase().contains(&filter);
        filter.is_empty() || hit(title(row)) || hit(row.conversation.as_str()) || hit(state(row))
    };
    let mut rows: Vec<&ConversationRow> = rows.filter(matches).collect();
    rows.sort_by_key(|row| {
        let time = if group(row, now) == Group::Running { row.started_at } else { row.at };
        (group(row, now), std::cmp::Reverse(time))
    });
    let counts = Group::ALL.map(|wanted| rows.iter().filter(|row| group(row, now) == wanted).count());
    let mut lines = Vec::with_capacity(rows.len().saturating_add(3));
    let mut last = None;
    for row in rows {
        let group = group(row, now);
        if last != Some(group) {
            last = Some(group);
            lines.push(Line::Head(group));
        }
        lines.push(Line::Row(row.conversation.clone()));
    }
    let List { lines, held_back, .. } = match frozen {
        Some(frozen) if !frozen.lines.is_empty() => hold(&lines, frozen),
        _ => List { lines, ..List::default() },
    };
    List { lines, counts, held_back }
}

/// The old lines, and how many of the new ones stand elsewhere.
fn hold(lines: &[Line], frozen: &List) -> List {
    let elsewhere =
        |(at, line): &(usize, &Line)| matches!(line, Line::Row(_)) && frozen.lines.get(*at) != Some(*line);
    let held_back = lines.iter().enumerate().filter(elsewhere).count();
    List { lines: frozen.lines.clone(), held_back, ..List::default() }
}

#[cfg(test)]
mod tests;
