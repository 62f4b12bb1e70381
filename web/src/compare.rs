//! Compares two conversations: how much of their beginnings is the same, where they part, and which ones can
//! be compared.
//!
//! ```text
//! one     m r m r m      items: messages (m) and runs (r), compared in order
//! other   m r m r'
//!         └ common ┘└ parting: "After 3 steps: read_file with different arguments."
//! ```
//!
//! After the first difference the two are shown beside each other, [`Tally`] adds up the rest of each, and `steps` aligns the
//! steps of that rest (`align`).

use indexmap::IndexMap;
use model::ConversationId;
use model::event::{PartKind, ToolState, Usage};
use model::frame::ConversationRow;
use model::view::{Item, RunView, ToolView, TopItem, View};

use crate::fleet::status_word;
use crate::format;

mod align;
mod steps;

pub use align::{AlignedPair, align};
pub use steps::{ComparedStep, DiffLine, STEPS_MAX, StepRow, diff, line, step_rows, words};

/// How many messages and runs at the beginnings of two conversations are the same. Only content counts
/// (messages, calls, results), not times or ids.
pub fn common(one: &View, other: &View) -> usize {
    let pairs = one.items.iter().zip(&other.items);
    pairs.take_while(|(a, b)| is_same(one, a, other, b)).count()
}

/// Whether two items of the conversations have the same content.
fn is_same(one: &View, a: &TopItem, other: &View, b: &TopItem) -> bool {
    match (a, b) {
        (TopItem::Message(a), TopItem::Message(b)) => match (one.messages.get(a), other.messages.get(b)) {
            (Some(a), Some(b)) => a.role == b.role && a.text == b.text,
            _ => false,
        },
        (TopItem::Run(a), TopItem::Run(b)) => match (one.runs.get(a), other.runs.get(b)) {
            (Some(a), Some(b)) => is_same_run(a, b),
            _ => false,
        },
        _ => false,
    }
}

/// Whether two runs ended alike with the same steps.
fn is_same_run(a: &RunView, b: &RunView) -> bool {
    a.status == b.status && a.items.len() == b.items.len() && steps_in_common(a, b) == a.items.len()
}

/// How many steps at the beginnings of two runs are the same.
fn steps_in_common(a: &RunView, b: &RunView) -> usize {
    a.items.iter().zip(&b.items).take_while(|(x, y)| is_same_step((a, x), (b, y))).count()
}

/// Whether two steps have the same content. Sub-agents and notes always do.
fn is_same_step((a, x): (&RunView, &Item), (b, y): (&RunView, &Item)) -> bool {
    match (x, y) {
        (Item::Part(x), Item::Part(y)) => match (a.parts.get(x), b.parts.get(y)) {
            (Some(x), Some(y)) => x.kind == y.kind && x.body.text == y.body.text,
            _ => false,
        },
        (Item::Tool(x), Item::Tool(y)) => match (a.tools.get(x), b.tools.get(y)) {
            (Some(x), Some(y)) => x.name == y.name && other_of_call(x, y).is_none(),
            _ => false,
        },
        (Item::Agent(_), Item::Agent(_)) | (Item::Note(_), Item::Note(_)) => true,
        _ => false,
    }
}

/// What differs between two calls of the same tool; `None` if nothing does. Arguments are compared as texts,
/// so that other spaces are different arguments.
fn other_of_call(x: &ToolView, y: &ToolView) -> Option<&'static str> {
    if x.arguments.text != y.arguments.text {
        Some("different arguments")
    } else if x.state != y.state {
        Some("a different outcome")
    } else if x.result != y.result || x.output.text != y.output.text {
        Some("a different result")
    } else {
        None
    }
}

/// A sentence on where two conversations part that share the first `same` messages and runs; `None` if they
/// are equal.
pub fn parting(one: &View, other: &View, same: usize) -> Option<String> {
    let (a, b) = (one.items.get(same), other.items.get(same));
    Some(match (a, b) {
        (None, None) => return None,
        (Some(_), None) => "This one goes on; the other one ends here.".to_owned(),
        (None, Some(_)) => "The other one goes on; this one ends here.".to_owned(),
        (Some(TopItem::Run(a)), Some(TopItem::Run(b))) => {
            parting_of_runs(one.runs.get(a)?, other.runs.get(b)?)
        }
        (Some(TopItem::Message(_)), Some(TopItem::Message(_))) => "The messages differ.".to_owned(),
        _ => "One goes on with a message, the other one with a run.".to_owned(),
    })
}

/// A sentence on where two runs part. A step is a part, a call, a sub-agent or a note.
fn parting_of_runs(a: &RunView, b: &RunView) -> String {
    let steps = steps_in_common(a, b);
    let after = match steps {
        0 => "At the first step".to_owned(),
        n => format!("After {}", format::counted(n, "step")),
    };
    let what = match (a.items.get(steps), b.items.get(steps)) {
        (None, None) => {
            return format!(
                "The runs ended differently: {} and {}.",
                status_word(a.status),
                status_word(b.status)
            );
        }
        (Some(Item::Tool(x)), Some(Item::Tool(y))) => match (a.tools.get(x), b.tools.get(y)) {
            (Some(x), Some(y)) if x.name == y.name => {
                format!("{} with {}", x.name, other_of_call(x, y).unwrap_or("a different outcome"))
            }
            (x, y) => {
                let name =
                    |tool: Option<&ToolView>| tool.map_or("a call", |tool| tool.name.as_str()).to_owned();
                format!("{} here, {} there", name(x), name(y))
            }
        },
        (x, y) => {
            let (x, y) = (kind(a, x), kind(b, y));
            if x == y { format!("different {x}") } else { format!("{x} here, {y} there") }
        }
    };
    format!("{after}: {what}.")
}

/// The kind of a step, in a word or two.
fn kind(run: &RunView, item: Option<&Item>) -> String {
    match item {
        None => "the end".to_owned(),
        Some(Item::Tool(id)) => run.tools.get(id).map_or("call", |tool| tool.name.as_str()).to_owned(),
        Some(Item::Agent(_)) => "sub-agent".to_owned(),
        Some(Item::Note(_)) => "note".to_owned(),
        Some(Item::Part(id)) => match run.parts.get(id).map(|part| part.kind) {
            Some(PartKind::Thinking) => "thought".to_owned(),
            _ => "text".to_owned(),
        },
    }
}

/// Totals of a conversation from some item on: what the two cost after they parted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Tally {
    /// The number of tool calls.
    pub calls: usize,
    /// The number of calls that failed.
    pub failed: usize,
    /// The duration of its finished runs together, in milliseconds.
    pub busy_ms: u64,
    /// The tokens and the cost of all its runs, as far as they were reported.
    pub usage: Usage,
}

impl Tally {
    /// The totals after the first `same` messages and runs.
    pub fn of(view: &View, same: usize) -> Self {
        let mut tally = Self::default();
        let runs = view.items.iter().skip(same).filter_map(|item| match item {
            TopItem::Run(id) => view.runs.get(id),
            TopItem::Message(_) => None,
        });
        for run in runs {
            tally.calls = tally.calls.saturating_add(run.tools.len());
            let failed = run.tools.values().filter(|tool| tool.state == ToolState::Error).count();
            tally.failed = tally.failed.saturating_add(failed);
            let took = run.ended_at.map_or(0, |end| end.saturating_sub(run.started_at));
            tally.busy_ms = tally.busy_ms.saturating_add(took);
            tally.usage = tally.usage.plus(run.usage.unwrap_or_default());
        }
        tally
    }

    /// The totals in one line. Parts that are 0 or unknown are left out, except the calls.
    pub fn words(self) -> String {
        let mut words = vec![format::counted(self.calls, "call")];
        if self.failed > 0 {
            words.push(format!("{} failed", self.failed));
        }
        if self.busy_ms > 0 {
            words.push(format::duration(self.busy_ms));
        }
        if self.usage.output_tokens > 0 {
            let (read, written) = (self.usage.input_tokens, self.usage.output_tokens);
            words.push(format!("{} → {} tokens", format::grouped(read), format::grouped(written)));
        }
        words.extend(self.usage.cost.map(format::cost));
        words.join(" · ")
    }
}

/// The usage of all runs of a conversation together.
pub fn spent(view: &View) -> Usage {
    view.runs.values().filter_map(|run| run.usage).fold(Usage::default(), Usage::plus)
}

/// The most forks that are followed from a conversation to its origin. Rows may name each other in a circle.
const FORKS_MAX: usize = 64;

/// The conversation from which `id` was forked, directly or through other forks, as far as the list knows.
/// That may be a conversation that the list does not have.
pub fn origin<'a>(
    id: &'a ConversationId,
    rows: &'a IndexMap<ConversationId, ConversationRow>,
) -> &'a ConversationId {
    let from = |id: &&'a ConversationId| Some(&rows.get(*id)?.forked_from.as_ref()?.conversation);
    std::iter::successors(Some(id), from).take(FORKS_MAX).last().unwrap_or(id)
}

/// The conversations that `id` can be compared with, each with whether it has the same origin. Those with the
/// same origin come first; within each group the newest is first.
pub fn choices<'a>(
    id: &ConversationId,
    rows: &'a IndexMap<ConversationId, ConversationRow>,
) -> Vec<(&'a ConversationRow, bool)> {
    let own = origin(id, rows);
    let others = rows.values().filter(|row| row.conversation != *id);
    let mut choices: Vec<_> = others.map(|row| (row, origin(&row.conversation, rows) == own)).collect();
    choices.sort_by_key(|(row, is_kin)| (!is_kin, std::cmp::Reverse(row.at)));
    choices
}

#[cfg(test)]
mod tests {
    //! Tests of what is the same.

    use model::Envelope;
    use model::event::{Cost, Currency};
    use model::fold::fold;

    use super::*;

    fn view(lines: &[&str], ids: &str) -> View {
        let mut view = View::default();
        for (seq, line) in (1..).zip(lines) {
            let line = line.replace("ID", ids);
            let mut envelope = Envelope::parse(&line).unwrap();
            (envelope.seq, envelope.at) = (seq, 1_000 + seq * ids.len() as u64);
            fold(&mut view, &envelope, &mut |_| {});
        }
        view
    }

    const ONE: [&str; 8] = [
        r#"{"k":"message","message":"ID","role":"user","text":"Hello"}"#,
        r#"{"k":"run.start","run":"ID","name":"helper"}"#,
        r#"{"k":"tool.call","run":"ID","tool":"ID","name":"look","arguments":"{}"}"#,
        r#"{"k":"tool.result","run":"ID","tool":"ID","output":"no"}"#,
        r#"{"k":"part.start","run":"ID","part":"ID","kind":"text"}"#,
        r#"{"k":"part.delta","run":"ID","part":"ID","text":"Hi."}"#,
        r#"{"k":"run.end","run":"ID","status":"complete"}"#,
        r#"{"k":"message","message":"ID2","role":"user","text":"Bye"}"#,
    ];

    #[test]
    fn what_was_said_counts_and_not_when_or_under_which_name() {
        let one = view(&ONE, "a");
        assert_eq!(common(&one, &view(&ONE, "bcd")), 3);
        assert_eq!(common(&one, &view(&ONE[..7], "a")), 2);
        assert_eq!(common(&one, &view(&ONE[..6], "a")), 1, "it goes on");
        for (at, from, to) in [(0, "Hello", "Hallo"), (3, "no", "yes"), (5, "Hi.", "Ho."), (2, "look", "see")]
        {
            let changed = ONE[at].replace(from, to);
            let mut lines = ONE;
            lines[at] = &changed;
            assert_eq!(common(&one, &view(&lines, "a")), usize::from(at > 0), "{changed}");
        }
        assert_eq!(common(&one, &View::default()), 0);
    }

    #[test]
    fn where_they_part_is_said_in_words() {
        let one = view(&ONE, "a");
        let parted = |lines: &[&str]| {
            let other = view(lines, "b");
            parting(&one, &other, common(&one, &other))
        };
        assert_eq!(parted(&ONE), None);
        let goes_on = parted(&ONE[..7]).unwrap();
        assert_eq!(goes_on, "This one goes on; the other one ends here.");
        for (at, from, to, said) in [
            (0, "Hello", "Hallo", "The messages differ."),
            (2, "look", "see", "At the first step: look here, see there."),
            (2, "{}", "{1}", "At the first step: look with different arguments."),
            (3, "no", "yes", "At the first step: look with a different result."),
            (5, "Hi.", "Ho.", "After 1 step: different text."),
            (4, "text", "thinking", "After 1 step: text here, thought there."),
            (6, "complete", "error", "The runs ended differently: complete and error."),
        ] {
            let changed = ONE[at].replace(from, to);
            let mut lines = ONE;
            lines[at] = &changed;
            assert_eq!(parted(&lines).as_deref(), Some(said), "{changed}");
        }
    }

    #[test]
    fn what_it_took_is_counted_behind_the_common_beginning() {
        let one = view(&ONE, "a");
        let took = Tally { calls: 1, busy_ms: 5, ..Tally::default() };
        assert_eq!((Tally::of(&one, 1), Tally::of(&one, 2)), (took, Tally::default()));
        let cost = Some(Cost::new(4_249_000_000, Currency::USD));
        let usage = Usage { input_tokens: 1_200, output_tokens: 34, cost, ..Usage::default() };
        let much = Tally { calls: 2, failed: 1, busy_ms: 1_500, usage };
        assert_eq!(much.words(), "2 calls · 1 failed · 1.5 s · 1,200 → 34 tokens · $0.0042");
    }

    #[test]
    fn what_a_conversation_has_used_is_that_of_all_its_runs() {
        let view = view(
            &[
                r#"{"k":"run.start","run":"a"}"#,
                r#"{"k":"run.end","run":"a","usage":{"input_tokens":100,"output_tokens":10}}"#,
                r#"{"k":"run.start","run":"b"}"#,
                r#"{"k":"run.end","run":"b","usage":{"input_tokens":50,"output_tokens":5}}"#,
            ],
            "x",
        );
        let used = spent(&view);
        assert_eq!((used.input_tokens, used.output_tokens), (150, 15));
    }

    #[test]
    fn what_goes_back_to_the_same_is_offered_first() {
        let id = |name: &str| ConversationId::parse(name).unwrap();
        let row = |name: &str, at: u64, from: &str| -> (ConversationId, ConversationRow) {
            let from = match from {
                "" => "null".to_owned(),
                from => format!(r#"{{"conversation":"{from}","epoch":"e","seq":1}}"#),
            };
            let json = format!(
                r#"{{"conversation":"{name}","title":null,"state":null,"activity":null,"epoch":"e","head":1,"started_at":0,"ended_at":null,"at":{at},"runs":0,"tools":0,"failed":0,"approvals":0,"agents":0,"anomalies":0,"forked_from":{from}}}"#
            );
            (id(name), serde_json::from_str(&json).unwrap())
        };
        let rows = IndexMap::from([
            row("new", 9, ""),
            row("c", 1, ""),
            row("f", 2, "c"),
            row("g", 3, "f"),
            row("other", 4, "gone"),
            row("round", 5, "trip"),
            row("trip", 6, "round"),
        ]);
        let names = |of: &str| {
            let chosen = choices(&id(of), &rows);
            chosen.into_iter().map(|(row, _)| row.conversation.to_string()).collect::<Vec<_>>()
        };
        assert_eq!(names("f")[..3], ["g", "c", "new"]);
        assert_eq!(choices(&id("f"), &rows).iter().filter(|(_, is_kin)| *is_kin).count(), 2);
        assert_eq!(origin(&id("g"), &rows), &id("c"));
        assert_eq!(origin(&id("other"), &rows), &id("gone"), "what went away was still the same");
    }
}
