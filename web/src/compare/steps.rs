//! The steps of two conversations after the place where they part, beside each other, with what differs in them.

use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};

use model::View;
use model::event::PartKind;
use model::view::{Item, RunView, ToolView, TopItem};

use super::align::{AlignedPair, align};
use crate::format;
use crate::preview;

/// The most steps of each conversation that are aligned; the table of scores has the square of that.
pub const STEPS_MAX: usize = 600;

/// The most lines of a text that are compared; the rest is left out and said.
const LINES_MAX: usize = 300;

/// A step: a message, a text, a call or a sub-agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ComparedStep {
    /// What it is: the name of the tool, or a word.
    pub name: String,
    /// The beginning of the step on one line.
    pub hint: String,
    /// How it ended, if that can be said.
    pub end: &'static str,
    /// The duration of the step, in milliseconds.
    pub took: Option<u64>,
    /// The texts of the step, each with a heading: the arguments and the answer of a call.
    pub texts: Vec<(&'static str, String)>,
    /// Whether it is a call: calls of one tool are alike, other steps of one name only a little.
    is_call: bool,
    /// The hash of its name and texts.
    hash: u64,
}

/// A row of two aligned runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StepRow {
    /// So many steps that are the same in both.
    Same(usize),
    /// A step of both with differences.
    Changed(ComparedStep, ComparedStep),
    /// Only in this conversation.
    One(ComparedStep),
    /// Only in the other conversation.
    Other(ComparedStep),
}

/// A line of a difference.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DiffLine {
    /// A line that both conversations have.
    Same(String),
    /// Only in this conversation.
    One(String),
    /// Only in the other conversation.
    Other(String),
    /// So many lines of both are left out.
    Skipped(usize),
}

/// The rows of two conversations after their first `same` messages and runs.
pub fn step_rows(one: &View, other: &View, same: usize) -> Vec<StepRow> {
    let (one, other) = (steps(one, same), steps(other, same));
    let score = |a: usize, b: usize| match (one.get(a), other.get(b)) {
        (Some(a), Some(b)) if a.name != b.name => 0,
        (Some(a), Some(b)) if a.hash == b.hash => 4,
        (Some(a), Some(_)) if a.is_call => 2,
        (Some(_), Some(_)) => 1,
        _ => 0,
    };
    let mut rows: Vec<StepRow> = Vec::new();
    for pair in align(one.len(), other.len(), score) {
        let row = match pair {
            AlignedPair::Both(a, b) => one.get(a).zip(other.get(b)).map(|(a, b)| {
                if a.hash == b.hash { StepRow::Same(1) } else { StepRow::Changed(a.clone(), b.clone()) }
            }),
            AlignedPair::One(a) => one.get(a).cloned().map(StepRow::One),
            AlignedPair::Other(b) => other.get(b).cloned().map(StepRow::Other),
        };
        match (rows.last_mut(), row) {
            (Some(StepRow::Same(count)), Some(StepRow::Same(_))) => *count = count.saturating_add(1),
            (_, row) => rows.extend(row),
        }
    }
    rows
}

/// How many rows are the same, differ, are only here and only there, in words.
pub fn words(rows: &[StepRow]) -> String {
    let mut counts = [0_usize; 4];
    for row in rows {
        let (at, by) = match row {
            StepRow::Same(count) => (0, *count),
            StepRow::Changed(..) => (1, 1),
            StepRow::One(_) => (2, 1),
            StepRow::Other(_) => (3, 1),
        };
        if let Some(count) = counts.get_mut(at) {
            *count = count.saturating_add(by);
        }
    }
    let words = ["the same", "different", "only here", "only there"].into_iter().zip(counts);
    let said = words.filter(|(_, count)| *count > 0).map(|(word, count)| format!("{count} {word}"));
    said.collect::<Vec<_>>().join(" · ")
}

/// The steps after the first `same` messages and runs.
fn steps(view: &View, same: usize) -> Vec<ComparedStep> {
    let items = view.items.iter().skip(same);
    let steps = items.flat_map(|item| match item {
        TopItem::Message(id) => {
            let message = view.messages.get(id);
            message
                .map(|message| step(&message.role, vec![("Text", message.text.to_string())]))
                .into_iter()
                .collect()
        }
        TopItem::Run(id) => view.runs.get(id).map(steps_of_run).unwrap_or_default(),
    });
    steps.take(STEPS_MAX).collect()
}

/// The steps of a run, in order.
fn steps_of_run(run: &RunView) -> Vec<ComparedStep> {
    let of_item = |item: &Item| match item {
        Item::Part(id) => run.parts.get(id).map(|part| {
            let name = match part.kind {
                PartKind::Thinking => "thought",
                PartKind::File => "file",
                PartKind::Text | PartKind::Refusal => "text",
            };
            let took = part.ended_at.map(|end| end.saturating_sub(part.started_at));
            ComparedStep {
                took: part.duration_ms.or(took),
                ..step(name, vec![("Text", part.body.text.to_string())])
            }
        }),
        Item::Tool(id) => run.tools.get(id).map(step_of_call),
        Item::Agent(id) => run.agents.get(id).map(|agent| {
            let name = format!("sub-agent {}", agent.name.as_deref().unwrap_or_default());
            step(name.trim(), vec![("Task", agent.task.as_deref().unwrap_or_default().to_owned())])
        }),
        Item::Note(_) => None,
    };
    run.items.iter().filter_map(of_item).collect()
}

/// A call as a step.
fn step_of_call(tool: &ToolView) -> ComparedStep {
    let answer = match &tool.result {
        Some(result) => readable(&result.to_text()),
        None => tool.output.text.to_string(),
    };
    let texts = vec![("Arguments", readable(&tool.arguments.text)), ("Answer", answer)];
    let mut step = step(&tool.name, texts);
    step.hint = preview::arguments(&tool.arguments.text);
    (step.is_call, step.end, step.took) = (true, tool.state.as_str(), tool.latency_ms());
    step.hash = hash(&(step.hash, step.end));
    step
}

/// A step of this name with these texts.
fn step(name: &str, texts: Vec<(&'static str, String)>) -> ComparedStep {
    let hint = texts.first().map(|(_, text)| preview::one_line(text)).unwrap_or_default();
    let hash = hash(&(name, &texts));
    ComparedStep { name: name.to_owned(), hint, end: "", took: None, texts, is_call: false, hash }
}

/// A hash by which steps of this page are told apart.
fn hash(value: &impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}

/// JSON with a line for each value, and strings that are texts as they are; anything else as it is.
fn readable(text: &str) -> String {
    match serde_json::from_str::<serde_json::Value>(text) {
        Ok(serde_json::Value::String(text)) => text,
        Ok(value) => serde_json::to_string_pretty(&value).unwrap_or_else(|_| text.to_owned()),
        Err(_) => text.to_owned(),
    }
}

/// What two texts differ in, line by line, at most `LINES_MAX` of each. Of what is the same only the lines beside a
/// difference are kept. Empty if nothing differs.
pub fn diff(one: &str, other: &str) -> Vec<DiffLine> {
    if one == other {
        return Vec::new();
    }
    let (a, b): (Vec<&str>, Vec<&str>) = (lines(one), lines(other));
    let alike = |x: usize, y: usize| u32::from(a.get(x) == b.get(y));
    let mut found = Vec::new();
    let mut same: Vec<&str> = Vec::new();
    let line = |text: &[&str], at: usize| text.get(at).copied().unwrap_or_default().to_owned();
    for pair in align(a.len(), b.len(), alike) {
        match pair {
            AlignedPair::Both(at, _) => same.extend(a.get(at)),
            AlignedPair::One(at) => {
                keep_beside(&mut found, &mut same);
                found.push(DiffLine::One(line(&a, at)));
            }
            AlignedPair::Other(at) => {
                keep_beside(&mut found, &mut same);
                found.push(DiffLine::Other(line(&b, at)));
            }
        }
    }
    let cut = one.lines().count().max(other.lines().count()).saturating_sub(LINES_MAX);
    if found.is_empty() {
        // The ends of lines differ, or what was left out.
        return if cut > 0 { vec![DiffLine::Skipped(same.len().saturating_add(cut))] } else { found };
    }
    // After the last difference one line is enough.
    let left = same.len().saturating_sub(1).saturating_add(cut);
    found.extend(same.first().map(|line| DiffLine::Same((*line).to_owned())));
    found.extend((left > 0).then_some(DiffLine::Skipped(left)));
    found
}

/// The lines that are compared.
fn lines(text: &str) -> Vec<&str> {
    text.lines().take(LINES_MAX).collect()
}

/// Adds the lines that are the same before a difference: the first, if a difference is before it, and the last.
fn keep_beside(found: &mut Vec<DiffLine>, same: &mut Vec<&str>) {
    let lines = std::mem::take(same);
    let (first, last) = (usize::from(!found.is_empty()), 1);
    if lines.len() <= first + last {
        found.extend(lines.into_iter().map(|line| DiffLine::Same(line.to_owned())));
        return;
    }
    found.extend(lines.iter().take(first).map(|line| DiffLine::Same((*line).to_owned())));
    found.push(DiffLine::Skipped(lines.len() - first - last));
    found.extend(lines.last().map(|line| DiffLine::Same((*line).to_owned())));
}

/// A step in one line: what it was given, how it ended, how long it took.
pub fn line(step: &ComparedStep) -> String {
    let mut words = vec![step.hint.clone(), step.end.to_owned()];
    words.extend(step.took.map(format::duration));
    words.retain(|word| !word.is_empty());
    words.join(" · ")
}

#[cfg(test)]
mod tests {
    //! Tests of what is the same and what differs.

    use model::Envelope;
    use model::fold::fold;
    use proptest::prelude::*;

    use super::*;

    fn view(calls: &[(&str, &str, &str)]) -> View {
        let mut lines = vec![r#"{"k":"run.start","run":"r"}"#.to_owned()];
        for (number, (name, arguments, answer)) in calls.iter().enumerate() {
            let arguments = serde_json::to_string(arguments).unwrap();
            lines.push(format!(
                r#"{{"k":"tool.call","run":"r","tool":"t{number}","name":"{name}","arguments":{arguments}}}"#
            ));
            lines.push(format!(r#"{{"k":"tool.result","run":"r","tool":"t{number}","output":{answer}}}"#));
        }
        let mut view = View::default();
        for (seq, line) in (1..).zip(lines) {
            let mut envelope = Envelope::parse(&line).unwrap();
            envelope.seq = seq;
            fold(&mut view, &envelope, &mut |_| {});
        }
        view
    }

    #[test]
    fn steps_are_aligned_and_what_differs_is_found_in_arguments_and_answers() {
        let one = view(&[
            ("list", "{}", "1"),
            ("search", r#"{"q":"a","n":1}"#, r#""x""#),
            ("read", "{}", "2"),
            ("write", "{}", "3"),
        ]);
        let other = view(&[
            ("list", "{}", "1"),
            ("search", r#"{"q":"b","n":1}"#, r#""x""#),
            ("write", "{}", "3"),
            ("test", "{}", "4"),
        ]);
        let rows = step_rows(&one, &other, 0);
        assert_eq!(words(&rows), "2 the same · 1 different · 1 only here · 1 only there");
        assert!(matches!(&rows[0], StepRow::Same(1)));
        let StepRow::Changed(a, b) = &rows[1] else { panic!("{rows:?}") };
        let differ: Vec<_> = a.texts.iter().zip(&b.texts).map(|(a, b)| (a.0, diff(&a.1, &b.1))).collect();
        let wanted = [
            DiffLine::Skipped(1),
            DiffLine::Same(r#"  "n": 1,"#.to_owned()),
            DiffLine::One(r#"  "q": "a""#.to_owned()),
            DiffLine::Other(r#"  "q": "b""#.to_owned()),
            DiffLine::Same("}".to_owned()),
        ];
        assert_eq!(differ[1], ("Answer", vec![]));
        assert_eq!(
            differ[0].1.iter().filter(|line| matches!(line, DiffLine::One(_) | DiffLine::Other(_))).count(),
            2
        );
        assert_eq!(differ[0].1.len(), wanted.len(), "{differ:?}");
        assert!(matches!(&rows[2], StepRow::One(step) if step.name == "read"));
    }

    #[test]
    fn the_same_conversation_is_the_same() {
        let one = view(&[("list", "{}", "1"), ("search", "{}", "2")]);
        assert_eq!(step_rows(&one, &one, 0), [StepRow::Same(2)]);
        assert_eq!(words(&step_rows(&one, &one, 1)), "");
    }

    proptest! {
        #[test]
        fn a_difference_is_empty_only_between_the_same_and_tells_every_line_that_is_not_in_both(one in "[abc\n]{0,60}", other in "[abc\n]{0,60}") {
            let lines = diff(&one, &other);
            if one == other {
                prop_assert!(lines.is_empty());
            }
            let of = |wanted: fn(&DiffLine) -> Option<usize>| lines.iter().filter_map(wanted).sum::<usize>();
            let shared = of(|line| match line { DiffLine::Same(_) => Some(1), DiffLine::Skipped(n) => Some(*n), _ => None });
            let here = of(|line| matches!(line, DiffLine::One(_)).then_some(1));
            let there = of(|line| matches!(line, DiffLine::Other(_)).then_some(1));
            if !lines.is_empty() && here + there > 0 {
                prop_assert_eq!(shared + here, one.lines().count());
                prop_assert_eq!(shared + there, other.lines().count());
            }
        }
    }
}
