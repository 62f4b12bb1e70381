//! The list of conversations: the group and the order of the rows, and the texts of their lines.
//!
//! `filter` parses and applies the reader's filter.

use std::cell::Cell;
use std::collections::HashMap;

use model::ConversationId;
use model::event::RunStatus;
use model::frame::{ConversationRow, RowCall, SilenceThresholds};

use crate::format;
use crate::seen::Seen;

mod filter;

pub use filter::{CHIPS, Filter, completions, has_chip, unknown, with_chip};

/// The groups of the list, in order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Group {
    /// A call waits for consent; the newest run failed or broke off and the reader has not seen it; the run
    /// is stalled; it has been silent for long; or a call takes very long.
    NeedsYou,
    /// A run is active.
    Running,
    /// All other conversations.
    Recent,
}

impl Group {
    /// All groups of the list, in order.
    pub const ALL: [Self; 3] = [Self::NeedsYou, Self::Running, Self::Recent];

    /// The heading of the group.
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
    /// The heading of a group.
    Head(Group),
    /// The row of a conversation.
    Row(ConversationId),
}

/// The list as it is drawn.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct List {
    /// The lines, in order.
    pub lines: Vec<Line>,
    /// How many conversations each group has, in the order of [`Group::ALL`].
    pub counts: [usize; 3],
    /// How many rows are missing or in a wrong group because the list is held.
    pub held_back: usize,
}

thread_local! {
    /// When runs are silent and calls are stuck, as the hub said last. The whole page has one hub.
    static THRESHOLDS: Cell<SilenceThresholds> = Cell::new(SilenceThresholds::default());
}

/// Takes what the hub says of when runs are silent and calls are stuck. What was drawn before follows with the page's next second.
pub fn take_thresholds(said: SilenceThresholds) {
    THRESHOLDS.set(said);
}

/// `ms` milliseconds, if they are as many as `threshold`, of which 0 is never reached.
fn reached(ms: u64, threshold: u64) -> Option<u64> {
    Some(ms).filter(|ms| threshold > 0 && *ms >= threshold)
}

/// How long an active run with the last event at `newest` has been silent, in milliseconds; `None` below the
/// threshold.
pub fn silence(newest: u64, now: u64) -> Option<u64> {
    reached(now.saturating_sub(newest), THRESHOLDS.get().silent_ms)
}

/// How long a running conversation has been silent at the hub's time `now`, in milliseconds. `None` while it
/// waits for consent or for a call. A stalled one is silent since its last event.
pub fn silent(row: &ConversationRow, now: u64) -> Option<u64> {
    let waits = row.approvals > 0 || row.call.is_some();
    match row.state {
        Some(RunStatus::Running) if row.stalled => Some(now.saturating_sub(row.at)),
        Some(RunStatus::Running) if !waits => silence(row.at, now),
        _ => None,
    }
}

/// Says that a run has been stalled for `ms` milliseconds; below a minute, only that it is.
pub fn stalled(ms: u64) -> String {
    if ms < 60_000 { "stalled".to_owned() } else { format!("stalled {}", format::age(ms)) }
}

/// Whether a call that has executed since `since` is stuck at `now`; both by the hub's clock, in milliseconds
/// since 1970.
pub fn is_stuck(since: u64, now: u64) -> bool {
    reached(now.saturating_sub(since), THRESHOLDS.get().stuck_ms).is_some()
}

/// The call of a running conversation that is stuck, if one is.
pub fn stuck(row: &ConversationRow, now: u64) -> Option<&RowCall> {
    row.call.as_ref().filter(|call| row.state == Some(RunStatus::Running) && is_stuck(call.since, now))
}

/// How long something that began at `since` in a running conversation has taken at the hub's time `now`. It
/// is "at least" if the page is not current; for a stalled conversation it ends at the last event.
pub fn lasts(row: &ConversationRow, since: u64, now: u64, is_current: bool) -> String {
    let sure = if is_current && !row.stalled { "" } else { "≥ " };
    let until = if row.stalled { row.at } else { now };
    format!("{sure}{}", format::clock(until.saturating_sub(since)))
}

/// The group of a conversation at the hub's time `now`.
pub fn group(row: &ConversationRow, now: u64, seen: &Seen) -> Group {
    match row.state {
        _ if row.approvals > 0 => Group::NeedsYou,
        Some(RunStatus::Error | RunStatus::Interrupted) if !seen.knows_end(row) => Group::NeedsYou,
        Some(RunStatus::Running) if row.stalled || stuck(row, now).is_some() => Group::NeedsYou,
        Some(RunStatus::Running)
            if silent(row, now).and_then(|ms| reached(ms, THRESHOLDS.get().silent_long_ms)).is_some() =>
        {
            Group::NeedsYou
        }
        Some(RunStatus::Running) => Group::Running,
        _ => Group::Recent,
    }
}

/// The state in one word at the hub's time `now`. Tests, styles and the filter use these words.
pub fn state(row: &ConversationRow, now: u64) -> &'static str {
    match row.state {
        _ if row.approvals > 0 => "approval",
        Some(RunStatus::Running) if row.stalled => "stalled",
        Some(RunStatus::Running) if silent(row, now).is_some() => "silent",
        None => "empty",
        Some(status) => status_word(status),
    }
}

/// The status of a run in one word.
pub fn status_word(status: RunStatus) -> &'static str {
    match status {
        RunStatus::Running => "running",
        RunStatus::Complete => "complete",
        RunStatus::Error => "error",
        RunStatus::Cancelled => "cancelled",
        RunStatus::Interrupted => "interrupted",
    }
}

/// The title of a conversation, or its id.
pub fn title(row: &ConversationRow) -> &str {
    row.title.as_deref().filter(|title| !title.trim().is_empty()).unwrap_or(row.conversation.as_str())
}

/// What the conversation is doing, or how it ended.
pub fn activity(row: &ConversationRow) -> String {
    let said = row.activity.as_deref().filter(|text| !text.trim().is_empty());
    let took = row.ended_at.map(|end| format::duration(end.saturating_sub(row.started_at)));
    match (row.state, said) {
        (None, _) => "no run yet".to_owned(),
        (Some(RunStatus::Running), _) if row.stalled => "stalled · no word from its publisher".to_owned(),
        _ if row.approvals > 0 => match row.asks.as_deref() {
            Some(tool) => format!("waiting for approval · {tool}"),
            None => "waiting for approval".to_owned(),
        },
        (Some(RunStatus::Complete), _) => {
            if let Some(answer) = row.answer.as_deref().filter(|text| !text.trim().is_empty()) {
                return crate::preview::one_line(answer);
            }
            let tools = usize::try_from(row.tools).unwrap_or(usize::MAX);
            let tools =
                if tools > 0 { format!(" · {}", format::counted(tools, "tool")) } else { String::new() };
            took.map_or_else(|| format!("Done{tools}"), |took| format!("Done in {took}{tools}"))
        }
        (_, Some(text)) => crate::preview::one_line(text),
        (Some(RunStatus::Running), None) => "working".to_owned(),
        (Some(RunStatus::Error), None) => "failed".to_owned(),
        (Some(RunStatus::Cancelled), None) => "cancelled".to_owned(),
        (Some(RunStatus::Interrupted), None) => "interrupted".to_owned(),
    }
}

/// What the conversation is doing at the hub's time `now`; names a call that is stuck.
pub fn line(row: &ConversationRow, now: u64) -> String {
    match stuck(row, now) {
        Some(call) if row.approvals == 0 && !row.stalled => {
            format!("{} has run for {}", call.name, format::age(now.saturating_sub(call.since)))
        }
        None if row.approvals == 0 => match silent(row, now) {
            Some(ms) if row.stalled => format!("{} · no word from its publisher", stalled(ms)),
            Some(ms) => format!("silent {}", format::short_age(ms)),
            None => activity(row),
        },
        _ => activity(row),
    }
}

/// The call whose growing time a row shows; `None` if the row says something more important.
pub fn call(row: &ConversationRow, now: u64) -> Option<&RowCall> {
    let is_plain = row.state == Some(RunStatus::Running) && row.approvals == 0 && !row.stalled;
    row.call.as_ref().filter(|call| is_plain && !is_stuck(call.since, now))
}

/// Says that there are more conversations than rows; `None` if there are not.
pub fn extent(rows: usize, total: u64) -> Option<String> {
    (total > rows as u64)
        .then(|| format!("newest {} of {}", format::grouped(rows as u64), format::grouped(total)))
}

/// Says that `count` conversations need a person; `None` if none does.
pub fn needing(count: usize) -> Option<String> {
    let verb = if count == 1 { "needs" } else { "need" };
    (count > 0).then(|| format!("{} {verb} you", format::grouped(count as u64)))
}

/// What the order depends on besides the rows.
#[derive(Debug, Clone, Copy)]
pub struct Wish<'a> {
    /// The filter of the reader.
    pub filter: &'a Filter,
    /// The hub's time, in milliseconds since 1970.
    pub now: u64,
    /// What the reader has seen.
    pub seen: &'a Seen,
}

/// Filters and orders `rows`. In each group pinned ones come first. Running ones are ordered by their start, so that progress does not move them;
/// all others by their newest event. With `frozen` (the lines that are drawn now), no line moves and none is
/// added.
///
/// Lines that left the filter stay in a frozen list too; [`List::held_back`] counts only those that are new
/// or in another group.
pub fn arrange<'a>(
    rows: impl Iterator<Item = &'a ConversationRow>,
    wish: Wish<'_>,
    frozen: Option<&List>,
) -> List {
    let Wish { filter, now, seen } = wish;
    let fits = rows.filter(|row| filter.fits(row, now));
    let mut rows: Vec<(Group, &ConversationRow)> = fits.map(|row| (group(row, now, seen), row)).collect();
    rows.sort_by_key(|(group, row)| {
        let time = if *group == Group::Running { row.started_at } else { row.at };
        (*group, !row.pinned, std::cmp::Reverse(time))
    });
    let counts = Group::ALL.map(|wanted| rows.iter().filter(|(group, _)| *group == wanted).count());
    let mut lines = Vec::with_capacity(rows.len().saturating_add(3));
    let mut last = None;
    for (group, row) in rows {
        if last != Some(group) {
            last = Some(group);
            lines.push(Line::Head(group));
        }
        lines.push(Line::Row(row.conversation.clone()));
    }
    match frozen {
        Some(frozen) if !frozen.lines.is_empty() => hold(&lines, frozen),
        _ => List { lines, counts, held_back: 0 },
    }
}

/// The lines of `frozen`, with the number of new lines that are not among them or in another group.
fn hold(lines: &[Line], frozen: &List) -> List {
    let drawn: HashMap<&ConversationId, Group> = grouped(&frozen.lines).collect();
    let held_back = grouped(lines).filter(|(id, group)| drawn.get(id) != Some(group)).count();
    List { held_back, ..frozen.clone() }
}

/// The conversations of `lines`, each with the group whose heading is above it.
fn grouped(lines: &[Line]) -> impl Iterator<Item = (&ConversationId, Group)> {
    let mut under = Group::Recent;
    lines.iter().filter_map(move |line| match line {
        Line::Head(group) => {
            under = *group;
            None
        }
        Line::Row(id) => Some((id, under)),
    })
}

#[cfg(test)]
mod tests;
