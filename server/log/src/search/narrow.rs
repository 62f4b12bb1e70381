//! What a search is narrowed to beside its words, as conditions of a database. They stand in the statement itself, before its limit, so
//! that a page of hits is full however few documents fit.
//!
//! | of the query | condition |
//! |---|---|
//! | `since`, `until` | the time of the document |
//! | `tool` | its name, and that it belongs to a call |
//! | `state`, `archived`, `tag` | columns of the conversation |
//! | `agent` | the row of the conversation |

use crate::SearchQuery;
use crate::numbers::integer;
use crate::rows::{tag_piece, word};

/// How one database writes the conditions. A document is `d` and its conversation `c` in each statement.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Writing {
    /// What stands before the number of a value: `?` or `$`.
    pub(crate) sign: char,
    /// The function that finds a piece in a text: 0 if it is not in it.
    pub(crate) find: &'static str,
    /// The name of a document, with the ASCII letters in lower case.
    pub(crate) name: &'static str,
    /// The agent in the row of a conversation, likewise.
    pub(crate) agent: &'static str,
    /// A text as it stands in columns.
    pub(crate) stored: fn(&str) -> String,
}

/// A value of a condition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum NarrowValue {
    Number(i64),
    Text(String),
}

/// Conditions, each of which begins with `AND`, and their values in the order of their numbers.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Narrowing {
    pub(crate) conditions: String,
    pub(crate) values: Vec<NarrowValue>,
}

impl Narrowing {
    /// The conditions of `query`, whose values are numbered from `first` on. No text of the query is in the conditions, so there are
    /// at most 192 of them.
    pub(crate) fn of(query: &SearchQuery, writing: Writing, first: usize) -> Self {
        let mut narrowing = Self::default();
        let mut add = |value: NarrowValue, condition: &dyn Fn(&str) -> String| {
            let place = format!("{}{}", writing.sign, first + narrowing.values.len());
            narrowing.conditions.extend([" AND ", &condition(&place)]);
            narrowing.values.push(value);
        };
        let found = |text: &str, place: &str| format!("{}({text}, {place}) > 0", writing.find);
        if let Some(since) = query.since {
            add(NarrowValue::Number(integer(since)), &|place| format!("d.at >= {place}"));
        }
        if let Some(until) = query.until {
            add(NarrowValue::Number(integer(until)), &|place| format!("d.at < {place}"));
        }
        if let Some(tool) = &query.tool {
            let is_it =
                |place: &str| format!("d.kind IN ('arguments', 'result') AND {}", found(writing.name, place));
            add(NarrowValue::Text((writing.stored)(&tool.as_str().to_ascii_lowercase())), &is_it);
        }
        if let Some(state) = query.state {
            add(NarrowValue::Text(word(state).to_owned()), &|place| format!("c.state = {place}"));
        }
        if let Some(tag) = &query.tag {
            add(NarrowValue::Text(tag_piece(&(writing.stored)(tag))), &|place| found("c.tags", place));
        }
        if let Some(agent) = &query.agent {
            // It is compared with what JSON holds, where columns have no say. No database gives the character NUL out of JSON.
            let agent = agent.as_str().to_ascii_lowercase().replace('\0', "\u{fffd}");
            add(NarrowValue::Text(agent), &|place| found(writing.agent, place));
        }
        if let Some(archived) = query.archived {
            narrowing.conditions.push_str(if archived {
                " AND c.archived = 1"
            } else {
                " AND c.archived = 0"
            });
        }
        narrowing
    }
}
