//! The reader's filter of the list: words, and conditions such as `state:running` or `slower:10s`.
//!
//! ```text
//! import state:running model:qwen      all must hold; case does not matter
//! ```
//!
//! | condition | holds if |
//! |---|---|
//! | `state:` | the state begins so; `failed` and `done` are read as `error` and `complete` |
//! | `reason:` | the newest run did not complete for it, letter for letter but for case: the code of its error |
//! | `model:` `tool:` `agent:` `host:` | the name contains it, of any tool that the newest run called |
//! | `has:error` `has:approval` | a call or the newest run failed; a call waits for consent |
//! | `has:good` `has:bad` | somebody rated one of its runs or messages so |
//! | `depth:>0` `depth:0` | there are sub-agents; there are none |
//! | `tag:` | a tag is it, letter for letter, as in `GET /v1/conversations?tag=` |
//! | `is:pinned` `is:archived` | somebody pinned it; somebody archived it |
//! | `slower:10s` | the executing call, or else the newest run, took longer (`ms`, `s`, `m`, `h`) |
//! | a word | the title, the id or the state contains it |
//!
//! Archived conversations are shown only by a filter with `is:archived`. A condition whose value is still being typed hides nothing. The table of runs uses the same language.

use std::collections::BTreeSet;

use model::event::RunStatus;
use model::frame::ConversationRow;

use super::{state, title};

/// The conditions that the page offers as chips; one that ends in a colon needs a value.
pub const CHIPS: [&str; 10] = [
    "state:",
    "model:",
    "tool:",
    "has:error",
    "has:approval",
    "depth:>0",
    "slower:10s",
    "tag:",
    "is:pinned",
    "is:archived",
];

/// A condition of the filter. Texts are in lower case, except tags.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Term {
    /// The title, the id or the state contains it.
    Word(String),
    /// The state begins with it.
    State(String),
    /// One of these names is it, or contains it.
    Named(Name, String),
    /// A call failed, or the newest run did.
    Error,
    /// A call waits for consent.
    Approval,
    /// Somebody rated something of it good, or bad.
    Rated(bool),
    /// Somebody pinned the conversation.
    Pinned,
    /// Somebody archived the conversation.
    Archived,
    /// Whether the newest run has sub-agents.
    Agents(bool),
    /// The executing call, or else the newest run, took longer than this many milliseconds.
    Slower(u64),
}

/// Names that a row has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Name {
    /// Why the newest run did not complete; a condition names it as a whole.
    Reason,
    /// The model of the newest run.
    Model,
    /// The tools that the newest run called.
    Tool,
    /// The name of the main agent.
    Agent,
    /// The machine of the newest run.
    Host,
    /// The tags; a condition names one as a whole, letter for letter.
    Tag,
}

impl Name {
    /// The names that the condition `key` is about.
    fn of(key: &str) -> Option<Self> {
        Some(match key {
            "reason" => Self::Reason,
            "model" => Self::Model,
            "tool" => Self::Tool,
            "agent" => Self::Agent,
            "host" => Self::Host,
            "tag" => Self::Tag,
            _ => return None,
        })
    }

    /// Shows `see` those of `row`.
    fn visit(self, row: &ConversationRow, see: &mut dyn FnMut(&str)) {
        let one = match self {
            Self::Reason => row.reason.as_deref(),
            Self::Model => row.model.as_deref(),
            Self::Tool => {
                row.used.iter().for_each(|tool| see(tool));
                row.call.iter().for_each(|call| see(&call.name));
                row.asks.as_deref()
            }
            Self::Agent => row.agent.as_deref(),
            Self::Host => row.host.as_deref(),
            Self::Tag => {
                row.tags.iter().for_each(|tag| see(tag));
                None
            }
        };
        one.into_iter().for_each(see);
    }

    /// Whether the condition `word` holds for one of them in `row`.
    fn fits(self, row: &ConversationRow, word: &str) -> bool {
        let mut fits = false;
        self.visit(row, &mut |name| {
            fits |= match self {
                Self::Tag => name == word,
                Self::Reason => name.to_lowercase() == word,
                _ => name.to_lowercase().contains(word),
            };
        });
        fits
    }
}

/// A filter: all its conditions must hold. The empty one shows everything.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Filter(Vec<Term>);

impl Filter {
    /// Parses `text`. Never fails: a word that is not a condition is searched as a word, and [`unknown`]
    /// names it.
    pub fn parse(text: &str) -> Self {
        Self(text.split_whitespace().filter_map(term).collect())
    }

    /// Whether the filter has no condition.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether the filter shows `row` at the hub's time `now`.
    pub fn fits(&self, row: &ConversationRow, now: u64) -> bool {
        let is_shown = !row.archived || self.0.contains(&Term::Archived);
        is_shown && self.0.iter().all(|term| term.fits(row, now))
    }
}

/// The condition that `word` is, in any case; `None` while its value is missing.
fn term(typed: &str) -> Option<Term> {
    let word = typed.to_lowercase();
    let word = word.as_str();
    let plain = || Some(Term::Word(word.to_owned()));
    let Some((key, value)) = word.split_once(':') else { return plain() };
    if value.is_empty() && KEYS.iter().any(|(known, _)| *known == key) {
        return None;
    }
    if let Some(name) = Name::of(key) {
        // Tags are told apart by case.
        let typed = typed.split_once(':').filter(|_| name == Name::Tag);
        return Some(Term::Named(name, typed.map_or(value, |(_, tag)| tag).to_owned()));
    }
    match (key, value) {
        ("state", "failed") => Some(Term::State("error".to_owned())),
        ("state", "done") => Some(Term::State("complete".to_owned())),
        ("state", _) => Some(Term::State(value.to_owned())),
        ("has", "error") => Some(Term::Error),
        ("has", "approval") => Some(Term::Approval),
        ("has", "good") => Some(Term::Rated(true)),
        ("has", "bad") => Some(Term::Rated(false)),
        ("is", "pinned") => Some(Term::Pinned),
        ("is", "archived") => Some(Term::Archived),
        ("depth", ">0") => Some(Term::Agents(true)),
        ("depth", "0") => Some(Term::Agents(false)),
        ("slower", _) => duration(value).map(Term::Slower).or_else(plain),
        _ => plain(),
    }
}

/// The keys of conditions, with values that are always offered.
const KEYS: [(&str, &[&str]); 11] = [
    ("state", &["running", "silent", "stalled", "approval", "complete", "error", "cancelled", "interrupted"]),
    ("reason", &[]),
    ("model", &[]),
    ("tool", &[]),
    ("agent", &[]),
    ("host", &[]),
    ("has", &["error", "approval", "good", "bad"]),
    ("depth", &[">0", "0"]),
    ("slower", &["10s", "1m", "10m"]),
    ("tag", &[]),
    ("is", &["pinned", "archived"]),
];

/// Says which word of `text` looks like a condition but is none, for the reader; `None` if there is none.
/// Such a word is searched as it is.
pub fn unknown(text: &str) -> Option<String> {
    let text = text.to_lowercase();
    let is_word = |key: &str| !key.is_empty() && key.bytes().all(|byte| byte.is_ascii_lowercase());
    let odd = text.split_whitespace().find_map(|word| {
        let (key, value) = word.split_once(':')?;
        let is_plain = matches!(term(word), Some(Term::Word(_)));
        (is_plain && is_word(key) && !value.starts_with('/')).then_some((key, word))
    });
    let (key, word) = odd?;
    Some(if let Some((key, values)) = KEYS.iter().find(|(known, _)| *known == key) {
        let values = values.iter().map(|value| format!("{key}:{value}")).collect::<Vec<_>>();
        format!("{word} is not a condition; use {}", values.join(", "))
    } else {
        let keys = KEYS.iter().map(|(key, _)| format!("{key}:")).collect::<Vec<_>>();
        format!("{key}: is not a condition; use {}", keys.join(", "))
    })
}

/// The most completions that are offered.
const COMPLETIONS_MAX: usize = 12;

/// Completions of `text`: the values of the condition that its last word is, those of the rows among them, or the conditions that
/// begin as the last word does. Each completion is the whole new text, at most `COMPLETIONS_MAX` of them. Values with spaces are
/// not offered, since a condition is one word.
pub fn completions<'a>(text: &str, rows: impl Iterator<Item = &'a ConversationRow>) -> Vec<String> {
    let at = text.rfind(char::is_whitespace).map_or(0, |at| at.saturating_add(1));
    let (before, word) = text.split_at_checked(at).unwrap_or_default();
    let Some((key, begun)) = word.split_once(':') else {
        let word = word.to_lowercase();
        let begins = |(key, _): &&(&str, _)| !word.is_empty() && key.starts_with(&word);
        return KEYS.iter().filter(begins).map(|(key, _)| format!("{before}{key}:")).collect();
    };
    let (key, begun) = (key.to_lowercase(), begun.to_lowercase());
    let Some((key, values)) = KEYS.iter().find(|(known, _)| *known == key) else { return Vec::new() };
    let mut found: BTreeSet<String> = values.iter().map(|&value| value.to_owned()).collect();
    if let Some(name) = Name::of(key) {
        rows.for_each(|row| name.visit(row, &mut |name| note(&mut found, name)));
    }
    let fits = |value: &String| {
        value.to_lowercase().contains(&begun) && *value != begun && !value.contains(char::is_whitespace)
    };
    let fitting = found.into_iter().filter(fits).take(COMPLETIONS_MAX);
    fitting.map(|value| format!("{before}{key}:{value}")).collect()
}

/// Puts a name into a set: few are new where there are many rows.
fn note(found: &mut BTreeSet<String>, name: &str) {
    if !found.contains(name) {
        found.insert(name.to_owned());
    }
}

/// A duration such as `10s`, `500ms`, `2m` or `1h`, in milliseconds. A number alone means seconds; `None` if
/// it is none of these.
fn duration(text: &str) -> Option<u64> {
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let scale = match text.strip_prefix(digits)? {
        "ms" => 1,
        "" | "s" => 1_000,
        "m" => 60_000,
        "h" => 3_600_000,
        _ => return None,
    };
    digits.parse::<u64>().ok()?.checked_mul(scale)
}

impl Term {
    /// Whether the condition holds for `row` at the hub's time `now`.
    fn fits(&self, row: &ConversationRow, now: u64) -> bool {
        let has = |text: &str, word: &str| text.to_lowercase().contains(word);
        match self {
            Self::Word(word) => {
                has(title(row), word) || has(row.conversation.as_str(), word) || has(state(row, now), word)
            }
            Self::State(word) => state(row, now).starts_with(word),
            Self::Named(name, word) => name.fits(row, word),
            Self::Pinned => row.pinned,
            Self::Archived => row.archived,
            Self::Error => row.failed > 0 || row.state == Some(RunStatus::Error),
            Self::Approval => row.approvals > 0,
            Self::Rated(good) => (if *good { row.good } else { row.bad }) > 0,
            Self::Agents(wanted) => (row.agents > 0) == *wanted,
            Self::Slower(ms) => took(row, now) > *ms,
        }
    }
}

/// How long the executing call has taken, or else the newest run, in milliseconds.
fn took(row: &ConversationRow, now: u64) -> u64 {
    match (&row.call, row.ended_at) {
        (Some(call), _) => now.saturating_sub(call.since),
        (None, Some(end)) => end.saturating_sub(row.started_at),
        (None, None) if row.state == Some(RunStatus::Running) => now.saturating_sub(row.started_at),
        (None, None) => 0,
    }
}

/// Whether `text` has the condition `chip`; of one that ends in a colon, with any value.
pub fn has_chip(text: &str, chip: &str) -> bool {
    text.split_whitespace()
        .any(|word| if chip.ends_with(':') { word.starts_with(chip) } else { word == chip })
}

/// Adds the condition `chip` to `text`, or removes it if it is there.
pub fn with_chip(text: &str, chip: &str) -> String {
    let is_other = |word: &&str| !has_chip(word, chip);
    let mut words: Vec<&str> = text.split_whitespace().filter(is_other).collect();
    if !has_chip(text, chip) {
        words.push(chip);
    }
    words.join(" ")
}

#[cfg(test)]
mod tests {
    //! Tests of the conditions.

    use super::*;

    fn row(more: &str) -> ConversationRow {
        let row = format!(
            r#"{{"conversation":"night-import","title":"Nightly Import","state":"running","activity":null,"epoch":"e","head":1,
            "started_at":1000,"ended_at":null,"at":1,"runs":1,"tools":0,"anomalies":0,{more}}}"#
        );
        serde_json::from_str(&row).unwrap()
    }

    fn rows() -> [ConversationRow; 3] {
        [
            row(
                r#""failed":0,"approvals":0,"agents":2,"model":"Qwen3-4B","host":"Box-1","used":["grep_files"],"call":{"name":"run_sql","since":1000}"#,
            ),
            row(r#""failed":1,"approvals":1,"agents":0,"model":"gpt-5","asks":"deploy""#),
            ConversationRow {
                state: Some(RunStatus::Error),
                reason: Some("Rate_limited".into()),
                ended_at: Some(3_000),
                ..row(r#""failed":0,"approvals":0,"agents":0"#)
            },
        ]
    }

    /// The indices of the rows that the filter `text` lets through at `now`.
    fn fits(text: &str, now: u64) -> Vec<usize> {
        let filter = Filter::parse(text);
        rows().iter().enumerate().filter(|(_, row)| filter.fits(row, now)).map(|(at, _)| at).collect()
    }

    #[test]
    fn every_condition_finds_what_it_says() {
        let cases: [(&str, &[usize]); 25] = [
            ("", &[0, 1, 2]),
            ("state:running", &[0]),
            ("state:run", &[0]),
            ("STATE:Approval", &[1]),
            ("state:failed", &[2]),
            ("reason:rate_limited", &[2]),
            ("REASON:Rate_Limited", &[2]),
            // A whole reason, so that what is behind a bar is of that bar.
            ("reason:rate", &[]),
            ("reason:", &[0, 1, 2]),
            ("model:qwen", &[0]),
            ("host:box", &[0]),
            ("tool:sql", &[0]),
            ("tool:deploy", &[1]),
            ("has:error", &[1, 2]),
            ("has:approval", &[1]),
            ("depth:>0", &[0]),
            ("depth:0", &[1, 2]),
            ("nightly", &[0, 1, 2]),
            ("night model:gpt", &[1]),
            ("has:error has:approval", &[1]),
            ("import approval", &[1]),
            ("nothing", &[]),
            // A condition that is still being typed hides nothing.
            ("state:", &[0, 1, 2]),
            ("night slower:", &[0, 1, 2]),
            ("model:nothing", &[]),
        ];
        for (text, wanted) in cases {
            assert_eq!(fits(text, 2_000), wanted, "{text}");
        }
    }

    #[test]
    fn slower_asks_the_call_that_executes_else_the_run() {
        assert_eq!(fits("slower:10s", 2_000), Vec::<usize>::new());
        assert_eq!(fits("slower:10s", 21_000), [0, 1]);
        assert_eq!(fits("slower:1500ms", 1_000), [2]);
        assert_eq!(fits("slower:1", 1_000), [2]);
        assert_eq!(
            (duration("2m"), duration("1h"), duration("s"), duration("9x")),
            (Some(120_000), Some(3_600_000), None, None)
        );
    }

    #[test]
    fn what_is_no_condition_is_a_word() {
        for text in ["who:me", "has:wings", "slower:soon", "depth:>1", "http://x"] {
            assert_eq!(Filter::parse(text).0, [Term::Word(text.to_owned())], "{text}");
        }
        assert!(Filter::parse("  model: ").is_empty());
    }

    #[test]
    fn what_looks_like_a_condition_and_is_none_is_named() {
        let of = |text| unknown(text).unwrap_or_default();
        assert_eq!(
            of("night place:helper"),
            "place: is not a condition; use state:, reason:, model:, tool:, agent:, host:, has:, depth:, slower:, tag:, is:"
        );
        assert_eq!(of("is:gone"), "is:gone is not a condition; use is:pinned, is:archived");
        assert_eq!(
            of("has:wings"),
            "has:wings is not a condition; use has:error, has:approval, has:good, has:bad"
        );
        for fine in ["", "night", "state:", "state:run model:x", "http://x", "slower:5s"] {
            assert_eq!(unknown(fine), None, "{fine}");
        }
    }

    #[test]
    fn values_are_offered_for_the_condition_that_is_typed() {
        let rows = rows();
        let of = |text| completions(text, rows.iter());
        assert_eq!(of("night model:"), ["night model:Qwen3-4B", "night model:gpt-5"]);
        assert_eq!((of("host:"), of("ho")), (vec!["host:Box-1".into()], vec!["host:".to_owned()]));
        assert_eq!(of("tool:grep"), ["tool:grep_files"]);
        assert_eq!(
            (of("reason:"), of("re")),
            (vec!["reason:Rate_limited".into()], vec!["reason:".to_owned()])
        );
        assert_eq!(of("state:s"), ["state:silent", "state:stalled"]);
        assert_eq!((of("night"), of("who:"), of("has:error")), (vec![], vec![], vec![]));
        assert_eq!(
            (of("night s"), of("T")),
            (vec!["night state:".into(), "night slower:".into()], vec!["tool:".to_owned(), "tag:".into()])
        );
        assert_eq!(of("night "), Vec::<String>::new());
        assert_eq!(fits("tool:grep", 2_000), [0], "also a tool that is not at work now");
    }

    #[test]
    fn what_people_made_of_a_conversation_is_found_and_archived_ones_only_when_asked_for() {
        let plain = r#""failed":0,"approvals":0,"agents":0"#;
        let rows = [
            row(&format!(r#"{plain},"pinned":true,"tags":["Prod","eu"]"#)),
            row(&format!(r#"{plain},"archived":true,"tags":["prod"]"#)),
            row(plain),
        ];
        let fits = |text| {
            let filter = Filter::parse(text);
            rows.iter()
                .enumerate()
                .filter(|(_, row)| filter.fits(row, 2_000))
                .map(|(at, _)| at)
                .collect::<Vec<_>>()
        };
        assert_eq!((fits(""), fits("is:pinned"), fits("is:archived")), (vec![0, 2], vec![0], vec![1]));
        assert_eq!(
            (fits("TAG:Prod"), fits("tag:prod is:archived"), fits("tag:x")),
            (vec![0], vec![1], vec![])
        );
        assert_eq!((fits("tag:prod"), fits("tag:pro")), (vec![], vec![]), "a whole tag, as at the hub");
        let rated = row(&format!(r#"{plain},"bad":2"#));
        let is_shown = |text| Filter::parse(text).fits(&rated, 2_000);
        assert!(is_shown("has:bad") && !is_shown("has:good"));
        assert_eq!(
            (fits("tag:"), fits("is:")),
            (vec![0, 2], vec![0, 2]),
            "a value that is missing hides nothing"
        );
        assert_eq!(completions("tag:p", rows.iter()), ["tag:Prod", "tag:prod"]);
        assert_eq!(completions("is:", rows.iter()), ["is:archived", "is:pinned"]);
    }

    #[test]
    fn a_chip_is_put_in_and_taken_out() {
        assert_eq!(with_chip("", "has:error"), "has:error");
        assert_eq!(with_chip("night has:error", "has:error"), "night");
        assert_eq!(with_chip("night", "state:"), "night state:");
        assert_eq!(with_chip("state:run night", "state:"), "night");
        assert!(has_chip("state:run", "state:") && !has_chip("has:errors", "has:error"));
    }
}
