//! A run that waits before it asks its model again, as far as it tells.
//!
//! Two things tell it: the line about what goes on ([`RunView::activity`], "retrying model in 8 s (2/5): too busy"), and a
//! failure that may pass and says how long to wait. Both only until the run goes on.

use crate::preview;
use crate::view::{Item, NoteBody, RunView};

/// When a model is asked again, and the words around that time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelRetry {
    /// The words before the time.
    before: String,
    /// The words behind it.
    after: String,
    /// When, in milliseconds since 1970.
    pub at: u64,
    /// Whether these are the words of the line about what goes on, which then need not be said as well.
    pub is_line: bool,
}

impl ModelRetry {
    /// What `run` waits for; nothing where it does not wait, does not say how long, or has nobody who speaks for it.
    pub fn of(run: &RunView) -> Option<Self> {
        if !run.is_running() || run.stalled_at.is_some() {
            return None;
        }
        if let Some(Item::Note(number)) = run.items.last()
            && let Some(note) = run.notes.get(*number)
            && let NoteBody::Error(error) = &note.body
            && let Some(wait) = error.retry_after_ms.filter(|_| error.may_pass())
            && run.activity_at.is_none_or(|said| said <= note.at)
        {
            let at = note.at.saturating_add(wait);
            return Some(Self {
                before: "can be retried ".to_owned(),
                after: String::new(),
                at,
                is_line: false,
            });
        }
        let (text, said) = (run.activity.as_deref()?, run.activity_at?);
        let has_gone_on = match run.items.last() {
            Some(Item::Part(id)) => run.parts.get(id).is_some_and(|it| it.started_at >= said),
            Some(Item::Tool(id)) => run.tools.get(id).is_some_and(|it| it.started_at >= said),
            Some(Item::Agent(id)) => run.agents.get(id).is_some_and(|it| it.started_at >= said),
            Some(Item::Note(number)) => run.notes.get(*number).is_some_and(|it| it.at > said),
            None => false,
        };
        let line = preview::one_line(text);
        let (before, wait, after) = parse(&line).filter(|_| !has_gone_on)?;
        let at = said.saturating_add(wait);
        Some(Self { before: before.to_owned(), after: after.to_owned(), at, is_line: true })
    }

    /// What is to be said of it at the time `now`, in milliseconds since 1970.
    pub fn words(&self, now: u64) -> String {
        let (before, after) = (&self.before, &self.after);
        match self.at.saturating_sub(now).div_ceil(1_000) {
            0 => format!("{before}now{after}"),
            seconds => format!("{before}in {seconds} s{after}"),
        }
    }
}

/// The words before, the milliseconds, and the words behind. Whole seconds and milliseconds are read: `in 8
/// s`, `in 1200 ms`. `None` if the words before them say nothing of another try.
fn parse(line: &str) -> Option<(&str, u64, &str)> {
    line.match_indices("in ").find_map(|(at, word)| {
        let (before, rest) = (line.get(..at)?, line.get(at.saturating_add(word.len())..)?);
        let is_retry = before.ends_with(' ') && ends_in_retry(before);
        let digits = rest.find(|sign: char| !sign.is_ascii_digit())?;
        let (number, rest) = rest.split_at_checked(digits)?;
        let rest = rest.trim_start_matches(' ');
        let seconds = |rest| Some((1_000_u64, str::strip_prefix(rest, "s")?));
        let (unit, after) = rest.strip_prefix("ms").map(|rest| (1, rest)).or_else(|| seconds(rest))?;
        let is_end = !after.starts_with(|sign: char| sign.is_alphanumeric());
        let wait = number.parse::<u64>().ok()?.saturating_mul(unit);
        (is_retry && is_end).then_some((before, wait, after))
    })
}

/// Whether these words end by saying that something is done again: "retrying", "retrying the model", "attempt 2 of 10".
fn ends_in_retry(words: &str) -> bool {
    let mut words = words.split_ascii_whitespace().rev();
    let last = words.next().unwrap_or_default();
    let rest = [words.next(), words.next(), words.next()].map(Option::unwrap_or_default);
    let is = |word: &str, wanted: &str| word.eq_ignore_ascii_case(wanted);
    let is_number = |word: &str| word.parse::<u32>().is_ok();
    match rest {
        _ if is(last, "retry") || is(last, "retrying") => true,
        ["of", number, attempt] if is(attempt, "attempt") => is_number(number) && is_number(last),
        ["the", verb, _] | [verb, ..] => is(verb, "retrying"),
    }
}

#[cfg(test)]
mod tests {
    //! Tests of what is read out of lines, and of how long it counts.

    use super::*;
    use crate::{Envelope, View, fold::fold};

    fn retry(more: &[&str]) -> Option<ModelRetry> {
        let mut view = View::default();
        let start = r#"{"k":"run.start","run":"r","seq":1,"at":1000}"#;
        for line in [start].iter().chain(more) {
            fold(&mut view, &Envelope::parse(line).unwrap(), &mut |_| {});
        }
        ModelRetry::of(&view.runs[0])
    }

    const SAID: &str =
        r#"{"k":"status","run":"r","text":"retrying model in 8 s (2/5): too busy","seq":2,"at":2000}"#;

    #[test]
    fn lines_of_the_hub_and_of_others_are_read() {
        assert_eq!(parse("retrying model in 8 s (2/5): x"), Some(("retrying model ", 8_000, " (2/5): x")));
        assert_eq!(parse("retrying the model in 8 s"), Some(("retrying the model ", 8_000, "")));
        assert_eq!(
            parse("busy 529: attempt 2 of 10 in 1200 ms"),
            Some(("busy 529: attempt 2 of 10 ", 1_200, ""))
        );
        assert_eq!(parse("Retrying in 3s"), Some(("Retrying ", 3_000, "")));
        assert_eq!(parse("busy, will retry in 3 s"), Some(("busy, will retry ", 3_000, "")));
        for line in [
            "looking in 8 s",
            "retrying within 8 s",
            "retrying in 8 steps",
            "retrying in 1.5 s",
            "retry",
            "",
            "in 8 s",
            "Retry succeeded in 3 s",
            "attempt 2: limit 50 requests in 60 s",
            "sending telemetry in 5 s",
        ] {
            assert_eq!(parse(line), None, "{line}");
        }
    }

    #[test]
    fn what_is_left_is_said_until_there_is_nothing_left() {
        let retry = retry(&[SAID]).unwrap();
        assert_eq!(retry.at, 10_000);
        assert_eq!(retry.words(2_000), "retrying model in 8 s (2/5): too busy");
        assert_eq!(retry.words(9_001), "retrying model in 1 s (2/5): too busy");
        assert_eq!(retry.words(10_000), "retrying model now (2/5): too busy");
    }

    #[test]
    fn of_a_run_that_nobody_speaks_for_nothing_counts() {
        let stalled = r#"{"k":"run.stalled","run":"r","since":2500,"seq":3,"at":3000}"#;
        assert!(retry(&[SAID]).is_some_and(|it| it.is_line));
        assert_eq!(retry(&[SAID, stalled]), None);
    }

    #[test]
    fn it_is_over_when_the_run_goes_on_or_ends() {
        let part = r#"{"k":"part.start","run":"r","part":"p","kind":"text","seq":3,"at":2500}"#;
        let end = r#"{"k":"run.end","run":"r","status":"error","seq":3,"at":2500}"#;
        let other = r#"{"k":"status","run":"r","text":"reading","seq":3,"at":2500}"#;
        for more in [part, end, other] {
            assert_eq!(retry(&[SAID, more]), None, "{more}");
        }
        // What is kept of an answer that broke off is told with the line.
        let kept = r#"{"k":"custom","run":"r","name":"partial_answer","value":{},"seq":2,"at":2000}"#;
        assert!(retry(&[kept, SAID]).is_some());
    }

    #[test]
    fn a_failure_that_says_how_long_to_wait_counts_until_the_run_goes_on() {
        let error = |more: &str| {
            format!(
                r#"{{"k":"error","run":"r","code":"busy","message":"later","retry_after_ms":8000{more},"seq":2,"at":2000}}"#
            )
        };
        let told = error(r#","retryable":true"#);
        let waits = retry(&[&told]).unwrap();
        assert_eq!((waits.words(4_000).as_str(), waits.is_line), ("can be retried in 6 s", false));
        assert_eq!(retry(&[&error("")]), None, "trying again does not help");
        let call = r#"{"k":"tool.start","run":"r","tool":"t","name":"x","seq":3,"at":2500}"#;
        assert_eq!(retry(&[&told, call]), None);
    }
}
