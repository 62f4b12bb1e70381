//! The row of a conversation in the list, made of its view each time that the row is shown. The usage is that
//! of all runs; most other fields describe the newest run.

use compact_str::CompactString;
use model::event::{PartKind, RunStatus, ToolState, Usage};
use model::frame::{ConversationRow, RowCall};
use model::limits::{ROW_MORE_CALLS_MAX, ROW_TOOLS_MAX};
use model::preview;
use model::view::{Item, PartView, RunView, View};
use model::{ConversationId, Epoch};

use super::measure::reason;

/// The longest title, activity and name in a row, in characters.
const TEXT_CHARS_MAX: usize = 200;

/// The longest beginning of an answer in a row, in characters: about what a tile of the wall has room for.
const ANSWER_CHARS_MAX: usize = 160;

/// Longest end of a text that is being written, in characters.
const SAID_CHARS_MAX: usize = 120;

/// The longest beginning of the last words that is taken for the rest of a word, in characters.
const WORD_CHARS_MAX: usize = 24;

/// What decides where a conversation stands in the list.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct ListStanding {
    /// When its newest event was taken that is activity, in milliseconds since 1970.
    pub(super) at: u64,
    /// The status of its newest run.
    pub(super) state: Option<RunStatus>,
    /// Whether somebody pinned it.
    pub(super) pinned: bool,
}

/// Makes the row of the conversation `id`. `at` is when its newest event was taken, in milliseconds since
/// 1970. Most fields describe the newest run.
pub(crate) fn row(
    id: &ConversationId,
    epoch: &Epoch,
    view: &View,
    at: u64,
    viewers: usize,
) -> ConversationRow {
    let newest = view.runs.last().map(|(_, run)| run);
    let calls = |wanted: &dyn Fn(ToolState, bool) -> bool| {
        let tools = newest.into_iter().flat_map(|run| run.tools.values());
        tools.filter(|tool| wanted(tool.state, tool.is_error)).count() as u64
    };
    let mut executing = newest.filter(|run| run.is_running()).map(executing).unwrap_or_default().into_iter();
    let rated =
        |good: bool| view.label.ratings.iter().filter(|rating| rating.good == Some(good)).count() as u64;
    ConversationRow {
        conversation: id.clone(),
        title: view.headline().as_deref().map(short),
        forked_from: view.forked_from.clone(),
        state: newest.map(|run| run.status),
        stalled: newest.is_some_and(|run| run.stalled_at.is_some()),
        activity: newest.and_then(activity),
        reason: newest
            .filter(|run| run.status != RunStatus::Complete && !run.is_running())
            .map(|run| short(reason(run))),
        epoch: epoch.clone(),
        head: view.seq,
        started_at: newest.map_or(0, |run| run.started_at),
        ended_at: newest.and_then(|run| run.ended_at),
        at,
        runs: view.runs.len() as u64,
        tools: newest.map_or(0, |run| run.tools.len() as u64),
        failed: calls(&|state, is_error| state == ToolState::Error || is_error),
        approvals: calls(&|state, _| state == ToolState::Approval),
        agents: newest.map_or(0, |run| run.agents.len() as u64),
        anomalies: view.anomalies.total,
        viewers: viewers as u64,
        call: executing.next(),
        more_calls: executing.take(ROW_MORE_CALLS_MAX).collect(),
        written: newest.map_or(0, written),
        asks: newest.and_then(asking),
        model: newest.and_then(|run| run.model.as_deref().map(short)),
        agent: newest.and_then(|run| run.name.as_deref().map(short)),
        host: newest.and_then(|run| run.host.as_deref().map(short)),
        usage: usage(view),
        said: newest.filter(|run| run.is_running()).and_then(said),
        answer: newest.and_then(answer),
        used: newest.map(used).unwrap_or_default(),
        pinned: view.label.pinned,
        archived: view.label.archived,
        tags: view.label.tags.clone(),
        good: rated(true),
        bad: rated(false),
    }
}

/// What the run does now, or how it ended: the error of a run that failed, the reason for which a run ended,
/// the status that a running one gave, or the tool that it calls.
fn activity(run: &RunView) -> Option<String> {
    // A run that completed has recovered from its errors.
    let has_ended_badly = !run.is_running() && run.status != RunStatus::Complete;
    if let Some(error) = run.error.as_ref().filter(|_| has_ended_badly) {
        return Some(short(&error.message));
    }
    if !run.is_running() {
        return run.finish_reason.as_deref().map(short);
    }
    if let Some(text) = &run.activity {
        return Some(short(text));
    }
    let open = run.tools.values().rev().take(64).find(|tool| !tool.state.is_final())?;
    Some(short(&open.name))
}

/// The calls that execute, the longest first.
fn executing(run: &RunView) -> Vec<RowCall> {
    let open = run.open.iter().filter_map(|item| match item {
        Item::Tool(id) => run.tools.get(id).filter(|tool| tool.state == ToolState::Executing),
        _ => None,
    });
    let mut started: Vec<_> = open.map(|tool| (tool.executing_at.unwrap_or(tool.started_at), tool)).collect();
    started.sort_by_key(|(since, _)| *since);
    started.truncate(ROW_MORE_CALLS_MAX.saturating_add(1));
    started.into_iter().map(|(since, tool)| RowCall { name: short(&tool.name).into(), since }).collect()
}

/// Bytes of the texts, the thinking and the arguments of the run.
fn written(run: &RunView) -> u64 {
    let is_written = |part: &&PartView| part.kind != PartKind::File;
    let parts = run.parts.values().filter(is_written).map(|part| part.body.len);
    parts.chain(run.tools.values().map(|tool| tool.arguments.len)).fold(0, u64::saturating_add)
}

/// The names of the tools that the run called, each once, at most `ROW_TOOLS_MAX`.
fn used(run: &RunView) -> Vec<CompactString> {
    let mut used = Vec::new();
    for tool in run.tools.values().filter(|tool| !tool.name.is_empty()) {
        let name = CompactString::from(short(&tool.name));
        if used.len() >= ROW_TOOLS_MAX {
            break;
        }
        if !used.contains(&name) {
            used.push(name);
        }
    }
    used
}

/// The tool of the first call that waits for a person.
fn asking(run: &RunView) -> Option<String> {
    let tool = run.tools.values().find(|tool| tool.state == ToolState::Approval)?;
    Some(short(&tool.name))
}

/// The beginning of the last text of a completed run, on one line. Texts of sub-agents do not count.
fn answer(run: &RunView) -> Option<String> {
    if run.status != RunStatus::Complete {
        return None;
    }
    let is_text = |part: &&PartView| part.agent.is_none() && part.kind == PartKind::Text;
    let mut texts = run.parts.values().rev().filter(is_text).map(|part| part.body.text.trim());
    let last = texts.find(|text| !text.is_empty())?;
    Some(preview::one_line(&plain(last, ANSWER_CHARS_MAX)).chars().take(ANSWER_CHARS_MAX).collect())
}

/// What all runs used together.
fn usage(view: &View) -> Option<Usage> {
    view.runs.values().filter_map(|run| run.usage).reduce(Usage::plus)
}

/// The end of what the run wrote last, on one line, without the marks of Markdown.
fn said(run: &RunView) -> Option<String> {
    let parts = run.parts.values().rev().take(16);
    let last = parts.filter(|part| part.kind == PartKind::Text).map(|part| part.body.text.trim_end());
    let last = last.into_iter().find(|text| !text.is_empty())?;
    let from = last.floor_char_boundary(last.len().saturating_sub(4 * SAID_CHARS_MAX));
    // All of it on one line: a preview would be cut at its end, which is what counts here.
    let line = plain(last.get(from..)?, usize::MAX);
    let skipped = line.chars().count().saturating_sub(SAID_CHARS_MAX);
    let end: String = line.chars().skip(skipped).collect();
    // What is left of a word reads as another one. A text without blanks between its words, such as a Chinese one, stays.
    let is_cut = |(word, _): &(&str, &str)| skipped > 0 && word.chars().count() <= WORD_CHARS_MAX;
    let whole = end.split_once(' ').filter(is_cut).map(|(_, whole)| whole.to_owned());
    Some(whole.unwrap_or(end))
}

/// The first `words_max` words of a Markdown text without the marks that mean nothing on a single line.
fn plain(text: &str, words_max: usize) -> String {
    preview::plain_words(text).take(words_max).collect::<Vec<_>>().join(" ")
}

/// The beginning of `text`, at most `TEXT_CHARS_MAX` characters.
fn short(text: &str) -> String {
    text.chars().take(TEXT_CHARS_MAX).collect()
}

#[cfg(test)]
mod tests;
