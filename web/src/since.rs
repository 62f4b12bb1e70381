//! What happened in a conversation since the reader looked, in at most five lines. Without the browser.
//!
//! ```text
//! 3 runs: 2 complete, 1 failed
//! asked: "And the second region?" (and 1 before)
//! 41 calls: run_sql 30, edit_file 9 and 1 other tool · 3 failed
//! deploy waits for approval
//! 120k tokens · $1.20
//! ```

use std::collections::BTreeMap;

use model::event::{RunStatus, ToolState, Usage};
use model::view::{RunView, ToolView};
use model::{Seq, View};

use crate::find::Place;
use crate::{fleet, format, preview};

/// How many events must have come before they are told in lines: fewer are read faster.
pub const MUCH_EVENTS: Seq = 40;

/// How long a page must not have been looked at before a return to it counts, in milliseconds.
pub const AWAY_MS: u64 = 60_000;

/// Most lines in which changes are told.
pub const LINES_MAX: usize = 5;

/// Longest words of a question in a line, in characters.
const QUESTION_CHARS_MAX: usize = 80;

/// Most names in a line.
const NAMES_MAX: usize = 2;

/// What happened since the reader looked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SinceLooked {
    /// When the newest event came that the reader has seen, by the hub's clock, in milliseconds since 1970.
    pub at: u64,
    /// The lines, from 1 to [`LINES_MAX`].
    pub lines: Vec<String>,
    /// The first thing that is new; `None` if that is within something that the reader has seen the beginning of.
    pub first: Option<Place>,
}

/// What happened in `view` since its event `seen`, which came at `at`. `None` if that is little.
pub fn since(view: &View, seen: Seq, at: u64) -> Option<SinceLooked> {
    if view.seq.saturating_sub(seen) < MUCH_EVENTS {
        return None;
    }
    let lines = [runs(view, at), questions(view, at), calls(view, at), waits(view), spent(view, at)];
    let lines: Vec<String> = lines.into_iter().flatten().take(LINES_MAX).collect();
    (!lines.is_empty()).then(|| SinceLooked { at, lines, first: first(view, at) })
}

/// The runs that began or ended, by how they stand.
fn runs(view: &View, at: u64) -> Option<String> {
    let is_new = |run: &&RunView| run.started_at > at || run.ended_at.is_some_and(|end| end > at);
    let mut counts = BTreeMap::<&str, usize>::new();
    let mut all = 0_usize;
    for run in view.runs.values().filter(is_new) {
        all = all.saturating_add(1);
        let word = match run.status {
            RunStatus::Running => "running",
            RunStatus::Error => "failed",
            status => fleet::status_word(status),
        };
        let count = counts.entry(word).or_default();
        *count = count.saturating_add(1);
    }
    let each: Vec<String> = counts.iter().map(|(word, count)| format!("{count} {word}")).collect();
    (all > 0).then(|| format!("{}: {}", format::counted(all, "run"), each.join(", ")))
}

/// The last thing that a person said, and how many more there are.
fn questions(view: &View, at: u64) -> Option<String> {
    let mut said = view.messages.values().filter(|message| message.at > at && message.role == "user");
    let last = said.next_back()?;
    let line = preview::one_line(&last.text);
    let words: String = line.chars().take(QUESTION_CHARS_MAX).collect();
    let dots = if words.len() < line.len() { "…" } else { "" };
    let more = match said.count() {
        0 => String::new(),
        more => format!(" (and {more} before)"),
    };
    Some(format!("asked: \u{201c}{words}{dots}\u{201d}{more}"))
}

/// The calls that began, by tool, the most frequent first, and how many of them failed.
fn calls(view: &View, at: u64) -> Option<String> {
    let new = || tools(view).filter(|tool| tool.started_at > at);
    let mut counts = BTreeMap::<&str, usize>::new();
    for tool in new() {
        let count = counts.entry(&*tool.name).or_default();
        *count = count.saturating_add(1);
    }
    let all = new().count();
    let failed = new().filter(|tool| tool.is_error || tool.state == ToolState::Error).count();
    let mut counts: Vec<(&str, usize)> = counts.into_iter().collect();
    counts.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    let names: Vec<String> =
        counts.iter().take(NAMES_MAX).map(|(name, count)| format!("{name} {count}")).collect();
    let more = match counts.len().saturating_sub(NAMES_MAX) {
        0 => String::new(),
        more => format!(" and {}", format::counted(more, "other tool")),
    };
    let failed = if failed > 0 { format!(" · {failed} failed") } else { String::new() };
    (all > 0).then(|| format!("{}: {}{more}{failed}", format::counted(all, "call"), names.join(", ")))
}

/// What waits for a person now.
fn waits(view: &View) -> Option<String> {
    let waiting = || tools(view).filter(|tool| tool.state == ToolState::Approval);
    let names: Vec<&str> = waiting().map(|tool| &*tool.name).take(NAMES_MAX).collect();
    let who = match waiting().count().saturating_sub(NAMES_MAX) {
        0 => names.join(" and "),
        more => format!("{} and {}", names.join(", "), format::counted(more, "other call")),
    };
    let verb = if names.len() == 1 { "waits" } else { "wait" };
    (!names.is_empty()).then(|| format!("{who} {verb} for approval"))
}

/// What the runs that began used.
fn spent(view: &View, at: u64) -> Option<String> {
    let new = view.runs.values().filter(|run| run.started_at > at);
    let used = new.filter_map(|run| run.usage).reduce(Usage::plus)?;
    let tokens = Some(used.tokens()).filter(|tokens| *tokens > 0);
    let words =
        [tokens.map(|tokens| format!("{} tokens", format::count(tokens))), used.cost.map(format::cost)];
    let words: Vec<String> = words.into_iter().flatten().collect();
    (!words.is_empty()).then(|| words.join(" · "))
}

/// The first message that is new, else the first text of a run that is.
fn first(view: &View, at: u64) -> Option<Place> {
    let message = view.messages.iter().find(|(_, message)| message.at > at);
    let part = || {
        let run = view.runs.iter().find(|(_, run)| run.started_at > at);
        run.and_then(|(id, run)| Some(Place::Part(id.clone(), run.parts.keys().next()?.clone())))
    };
    message.map(|(id, _)| Place::Message(id.clone())).or_else(part)
}

/// All calls of all runs in `view`.
fn tools(view: &View) -> impl Iterator<Item = &ToolView> {
    view.runs.values().flat_map(|run| run.tools.values())
}

#[cfg(test)]
mod tests {
    //! Tests of the lines.

    use model::Envelope;
    use model::fold::fold;

    use super::*;

    /// The view of lines of events, each a second after the one before.
    fn view_of(lines: &str) -> View {
        let mut view = View::default();
        for (at, line) in lines.lines().map(str::trim).filter(|line| !line.is_empty()).enumerate() {
            let seq = at as u64 + 1;
            let event = model::event::parse_event(line).unwrap();
            let (producer_at, publisher) = (None, None);
            let envelope = Envelope { event, seq, at: seq * 1_000, producer_at, publisher, by_hub: true };
            fold(&mut view, &envelope, &mut |_| {});
        }
        view
    }

    /// Two questions with their runs.
    fn busy() -> String {
        let mut lines = String::from(
            r#"{"k":"message","message":"m1","role":"user","text":"First"}
            {"k":"run.start","run":"r1"}
            {"k":"run.end","run":"r1","status":"complete"}
            {"k":"message","message":"m2","role":"user","text":"And the\nsecond?"}
            {"k":"run.start","run":"r2"}
            {"k":"run.update","run":"r2","usage":{"input_tokens":1000,"output_tokens":20}}
            "#,
        );
        for n in 0..20 {
            let name = ["run_sql", "edit_file", "grep"][n % 3];
            lines.extend([format!("{{\"k\":\"tool.call\",\"run\":\"r2\",\"tool\":\"t{n}\",\"name\":\"{name}\",\"arguments\":\"{{}}\"}}\n")]);
            let is_error = n % 7 == 0;
            lines.extend([format!("{{\"k\":\"tool.result\",\"run\":\"r2\",\"tool\":\"t{n}\",\"output\":1,\"is_error\":{is_error}}}\n")]);
        }
        lines
    }

    #[test]
    fn much_that_is_new_is_told_in_at_most_five_lines() {
        let since = since(&view_of(&busy()), 3, 3_000).unwrap();
        assert_eq!(
            since.lines,
            [
                "1 run: 1 running",
                "asked: \u{201c}And the second?\u{201d}",
                "20 calls: edit_file 7, run_sql 7 and 1 other tool · 3 failed",
                "1.0k tokens",
            ]
        );
        assert_eq!(since.first, Some(Place::Message(model::MessageId::new("m2"))));
        assert!(since.lines.len() <= LINES_MAX);
    }

    #[test]
    fn little_that_is_new_is_not_told() {
        let view = view_of(&busy());
        assert_eq!(since(&view, view.seq - MUCH_EVENTS + 1, 1), None);
        assert!(since(&view, view.seq - MUCH_EVENTS, 1).is_some());
    }

    #[test]
    fn what_waits_is_told_whenever_it_began() {
        let asks = r#"{"k":"tool.call","run":"r2","tool":"x","name":"deploy","arguments":"{}"}
            {"k":"approval.request","run":"r2","tool":"x","text":"Deploy?"}"#;
        let view = view_of(&format!("{}{asks}", busy()));
        let since = since(&view, 0, view.seq * 1_000).unwrap();
        assert_eq!(since.lines, ["deploy waits for approval"]);
        assert_eq!(since.first, None);
    }

    #[test]
    fn of_several_that_wait_two_are_named_and_the_others_counted() {
        let mut lines = busy();
        let mut told = Vec::new();
        for tool in ["deploy", "erase", "pay", "refund"] {
            lines.extend([format!("{{\"k\":\"tool.call\",\"run\":\"r2\",\"tool\":\"w-{tool}\",\"name\":\"{tool}\",\"arguments\":\"{{}}\"}}\n")]);
            lines.extend([format!("{{\"k\":\"approval.request\",\"run\":\"r2\",\"tool\":\"w-{tool}\"}}\n")]);
            told.extend(waits(&view_of(&lines)));
        }
        assert_eq!(
            told,
            [
                "deploy waits for approval",
                "deploy and erase wait for approval",
                "deploy, erase and 1 other call wait for approval",
                "deploy, erase and 2 other calls wait for approval",
            ]
        );
    }
}
