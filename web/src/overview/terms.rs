//! What is typed on the page `/search`: words, and conditions such as `tool:run_sql` or `since:7d`. It is all that the page's address
//! says, `/search?q=…`, and becomes one request to the hub.
//!
//! ```text
//! "exit code" fail* tool:run_sql since:2026-11-20      all must hold
//! ```
//!
//! | condition | holds if |
//! |---|---|
//! | `kind:` | the text is a `message`, an `answer`, `thinking`, `arguments` or a `result` |
//! | `tool:` | it is given to, or comes from, a tool whose name contains it |
//! | `agent:` | the name of the main agent of the conversation's newest run contains it |
//! | `state:` | that run is in the state; `failed` and `done` are read as `error` and `complete` |
//! | `tag:` | a tag of the conversation is it, letter for letter |
//! | `is:archived` | somebody archived the conversation |
//! | `in:` | it is the conversation |
//! | `since:` `until:` | the hub took the text then or later, or not later: `24h`, `7d` ago, or `2026-11-20`, `2026-11-20T14:30` |
//!
//! The words for conditions are those of the list, the wall and the table of runs ([`crate::fleet`]); those that time alone changes
//! (`state:silent`, `slower:`) cannot be searched for. A value with spaces stands in quotes: `agent:"night coder"`. A condition without a
//! value holds for all texts.

use std::collections::BTreeSet;

use model::frame::ConversationRow;

use crate::search::encoded;

/// The keys of conditions, with the values that are always offered.
pub const KEYS: [(&str, &[&str]); 9] = [
    ("kind", &["message", "answer", "thinking", "arguments", "result"]),
    ("tool", &[]),
    ("agent", &[]),
    ("state", &["running", "complete", "error", "cancelled", "interrupted"]),
    ("since", &["1h", "24h", "7d", "30d"]),
    ("until", &["1h", "24h", "7d", "30d"]),
    ("tag", &[]),
    ("is", &["archived"]),
    ("in", &[]),
];

/// The most completions that are offered.
const COMPLETIONS_MAX: usize = 12;

/// The hits that one request brings.
pub const HITS: usize = 50;

/// A word, a phrase in quotes or a condition, as it was typed.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Piece<'a> {
    text: &'a str,
    /// The key and the value without quotes, if it is a condition.
    condition: Option<(&'static str, String)>,
}

/// A moment, as it was typed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Moment {
    /// So many milliseconds ago.
    Ago(u64),
    /// A minute of the reader's calendar: year, month from 1, day, hour, minute.
    At([u32; 5]),
    /// A day of it: year, month from 1, day. Since its beginning, or until its end.
    Day([u32; 3]),
}

/// The clock of the reader.
#[derive(Clone, Copy)]
#[expect(missing_debug_implementations, reason = "a calendar is a function")]
pub struct Clock<'a> {
    /// Now, by the hub, in milliseconds since 1970.
    pub now: u64,
    /// A minute of the reader's calendar (year, month from 1, day, hour, minute) in milliseconds since 1970. A day beyond the end of a
    /// month is one of the next.
    pub local: &'a dyn Fn([u32; 5]) -> u64,
}

/// What is searched for.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SearchTerms {
    /// The words and phrases, as the hub takes them; empty if there is none.
    pub words: String,
    /// The conditions, by their keys. No key is there twice, and each value is one of its key.
    conditions: Vec<(&'static str, String)>,
}

impl SearchTerms {
    /// Parses what was typed. The error says which condition cannot be searched for, and what can.
    pub fn parse(text: &str) -> Result<Self, String> {
        let mut terms = Self::default();
        for Piece { text, condition } in pieces(text) {
            let Some((key, value)) = condition else {
                terms.words.extend([if terms.words.is_empty() { "" } else { " " }, text]);
                continue;
            };
            if value.is_empty() {
                continue;
            }
            if terms.value(key).is_some() {
                return Err(format!("{key}: stands twice; use it once"));
            }
            terms.conditions.push((key, checked(key, value)?));
        }
        if terms.value("tool").is_some()
            && terms.value("kind").is_some_and(|kind| !matches!(kind, "arguments" | "result"))
        {
            return Err("tool: goes with kind:arguments or kind:result, or without kind:".to_owned());
        }
        Ok(terms)
    }

    /// The value of a condition.
    pub fn value(&self, key: &str) -> Option<&str> {
        self.conditions.iter().find(|(known, _)| *known == key).map(|(_, value)| value.as_str())
    }

    /// Whether there are conditions beside the words.
    pub fn has_conditions(&self) -> bool {
        !self.conditions.is_empty()
    }

    /// The hub's path of the hits, those older than the hit `before`; `None` without words, since the hub searches for nothing then.
    pub fn path(&self, clock: &Clock<'_>, before: Option<u64>) -> Option<String> {
        if !self.words.contains(char::is_alphanumeric) {
            return None;
        }
        let mut path = format!("/v1/search?limit={HITS}&q={}", encoded(&self.words));
        for (key, value) in &self.conditions {
            let (name, value) = match (*key, value.as_str()) {
                ("kind", "answer") => ("kind", "text".to_owned()),
                ("is", _) => ("archived", "only".to_owned()),
                ("in", _) => ("conversation", value.clone()),
                ("since", _) => (*key, moment(value)?.begin(clock).to_string()),
                ("until", _) => (*key, moment(value)?.end(clock).to_string()),
                _ => (*key, value.clone()),
            };
            path.extend(["&", name, "=", &encoded(&value)]);
        }
        if let Some(before) = before {
            path.extend(["&before=", &before.to_string()]);
        }
        Some(path)
    }
}

impl Moment {
    /// The moment at which a time since it begins, in milliseconds since 1970.
    fn begin(self, clock: &Clock<'_>) -> u64 {
        match self {
            Self::Ago(ms) => clock.now.saturating_sub(ms),
            Self::At(minute) => (clock.local)(minute),
            Self::Day([year, month, day]) => (clock.local)([year, month, day, 0, 0]),
        }
    }

    /// The moment at which a time until it ends, likewise: a day counts whole.
    fn end(self, clock: &Clock<'_>) -> u64 {
        match self {
            Self::Day([year, month, day]) => Self::Day([year, month, day.saturating_add(1)]).begin(clock),
            other => other.begin(clock),
        }
    }
}

/// The value of a condition as it is searched for. The error says what there is.
fn checked(key: &'static str, value: String) -> Result<String, String> {
    let lower = value.to_lowercase();
    let known = KEYS.iter().find(|(known, _)| *known == key).map_or(&[][..], |(_, values)| values);
    let value = match (key, lower.as_str()) {
        ("state", "failed") => "error".to_owned(),
        ("state", "done") => "complete".to_owned(),
        ("kind", "text") => "answer".to_owned(),
        ("since" | "until", _) if moment(&value).is_some() => return Ok(value),
        ("kind" | "state" | "is", _) => lower,
        ("since" | "until", _) => {
            return Err(format!("{key}:{value} is not a time; use {key}:24h, {key}:7d or {key}:2026-11-20"));
        }
        _ => return Ok(value),
    };
    if known.contains(&value.as_str()) {
        return Ok(value);
    }
    let values = known.iter().map(|value| format!("{key}:{value}")).collect::<Vec<_>>();
    Err(format!("{key}:{value} cannot be searched for; use {}", values.join(", ")))
}

/// Splits what was typed at the spaces outside of quotes.
fn pieces(text: &str) -> Vec<Piece<'_>> {
    let mut is_quoted = false;
    let ends = move |c: char| {
        is_quoted ^= c == '"';
        !is_quoted && c.is_whitespace()
    };
    text.split(ends)
        .filter(|text| !text.is_empty())
        .map(|text| Piece { text, condition: condition(text) })
        .collect()
}

/// The condition that a piece is.
fn condition(text: &str) -> Option<(&'static str, String)> {
    let (key, value) = text.split_once(':')?;
    let key = key.to_lowercase();
    let (key, _) = KEYS.iter().find(|(known, _)| *known == key)?;
    Some((key, value.replace('"', "")))
}

/// Says which word looks like a condition of a filter but is searched for as a word; `None` if there is none. Any other word with a
/// colon, such as `TypeError:x`, is a word like all.
pub fn unknown(text: &str) -> Option<String> {
    const ELSEWHERE: [&str; 4] = ["model", "has", "depth", "slower"];
    let is_of_filters = |piece: &Piece<'_>| {
        piece.condition.is_none()
            && piece.text.split_once(':').is_some_and(|(key, _)| ELSEWHERE.contains(&key))
    };
    let piece = pieces(text).into_iter().find(is_of_filters)?;
    let (key, _) = piece.text.split_once(':')?;
    let keys = KEYS.iter().map(|(key, _)| format!("{key}:")).collect::<Vec<_>>();
    Some(format!(
        "{key}: is a condition of lists, not of the search: it is searched for as a word. Use {}",
        keys.join(", ")
    ))
}

/// `text` with the condition `key:value` in the place of all of that key; without it where `value` is empty. A quote that is still
/// open is closed, or it would take the condition in.
pub fn with_condition(text: &str, key: &str, value: &str) -> String {
    let is_other = |piece: &Piece<'_>| piece.condition.as_ref().is_none_or(|(known, _)| *known != key);
    let closed = |piece: Piece<'_>| {
        let is_open = !piece.text.matches('"').count().is_multiple_of(2);
        format!("{}{}", piece.text.trim_end(), if is_open { "\"" } else { "" })
    };
    // A quote alone would become a phrase without words.
    let has_more = |piece: &Piece<'_>| piece.text.trim() != "\"";
    let others = pieces(text).into_iter().filter(is_other).filter(has_more);
    let mut words: Vec<String> = others.map(closed).collect();
    let value = value.trim().replace('"', "");
    if !value.is_empty() {
        words.push(said(key, &value));
    }
    words.join(" ")
}

/// The value of the condition `key` in `text`, as it was typed and without quotes; empty if there is none.
pub fn condition_of(text: &str, key: &str) -> String {
    let found = pieces(text).into_iter().filter_map(|piece| piece.condition).find(|(known, _)| *known == key);
    found.map(|(_, value)| value).unwrap_or_default()
}

/// `text` without its conditions.
pub fn words_of(text: &str) -> String {
    let words = pieces(text).into_iter().filter(|piece| piece.condition.is_none()).map(|piece| piece.text);
    words.collect::<Vec<_>>().join(" ")
}

/// A condition as it is typed.
fn said(key: &str, value: &str) -> String {
    if value.contains(char::is_whitespace) { format!("{key}:\"{value}\"") } else { format!("{key}:{value}") }
}

/// Completions of `text`: the values of the condition that its last word is, or the conditions that begin as it does. Each is the whole
/// new text, at most `COMPLETIONS_MAX` of them. Agents and tags are those of the rows, tools also those of `tools`.
pub fn completions<'a>(
    text: &str,
    tools: &[String],
    rows: impl Iterator<Item = &'a ConversationRow>,
) -> Vec<String> {
    let Some(last) = pieces(text).pop().filter(|_| !text.ends_with(char::is_whitespace)) else {
        return Vec::new();
    };
    let before = text.strip_suffix(last.text).unwrap_or_default();
    let Some((key, begun)) = last.condition else {
        let word = last.text.to_lowercase();
        let begins = |(key, _): &&(&str, _)| key.starts_with(&word);
        return KEYS.iter().filter(begins).map(|(key, _)| format!("{before}{key}:")).collect();
    };
    let begun = begun.to_lowercase();
    let fits = |value: &String| value.to_lowercase().contains(&begun) && value.to_lowercase() != begun;
    let values = values(key, tools, rows).into_iter().filter(fits).take(COMPLETIONS_MAX);
    values.map(|value| format!("{before}{}", said(key, &value))).collect()
}

/// All values that are known of a condition.
pub fn values<'a>(
    key: &str,
    tools: &[String],
    rows: impl Iterator<Item = &'a ConversationRow>,
) -> BTreeSet<String> {
    let known = KEYS.iter().find(|(known, _)| *known == key).map_or(&[][..], |(_, values)| values);
    let mut found: BTreeSet<String> = known.iter().map(|&value| value.to_owned()).collect();
    let mut note = |name: &str| {
        // A call may have no name.
        if !name.is_empty() && !found.contains(name) {
            found.insert(name.to_owned());
        }
    };
    match key {
        "tool" => {
            for tool in tools {
                note(tool);
            }
            rows.flat_map(|row| &row.used).for_each(|tool| note(tool));
        }
        "agent" => rows.filter_map(|row| row.agent.as_deref()).for_each(note),
        "tag" => rows.flat_map(|row| &row.tags).for_each(|tag| note(tag)),
        _ => {}
    }
    found
}

/// The moment that a value of `since:` or `until:` names.
pub fn moment(value: &str) -> Option<Moment> {
    let digits = value.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let scale = match value.strip_prefix(digits)? {
        "m" => Some(60_000),
        "h" => Some(3_600_000),
        "d" => Some(86_400_000),
        "w" => Some(604_800_000),
        _ => None,
    };
    if let Some(scale) = scale {
        return Some(Moment::Ago(digits.parse::<u64>().ok()?.checked_mul(scale)?));
    }
    let (day, time) = value.split_once(['T', 't']).map_or((value, None), |(day, time)| (day, Some(time)));
    let mut numbers = day.splitn(3, '-').map(|number| number.parse::<u32>().ok());
    let (year, month, date) = (numbers.next()??, numbers.next()??, numbers.next()??);
    if !(1970..=9999).contains(&year) || !(1..=12).contains(&month) || !(1..=31).contains(&date) {
        return None;
    }
    let Some(time) = time else { return Some(Moment::Day([year, month, date])) };
    let (hour, minute) = time.split_once(':')?;
    let (hour, minute) = (hour.parse::<u32>().ok()?, minute.parse::<u32>().ok()?);
    (hour < 24 && minute < 60).then_some(Moment::At([year, month, date, hour, minute]))
}

#[cfg(test)]
mod tests;
