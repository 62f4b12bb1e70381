//! What the hub found, grouped by conversations, and the words about it.
//!
//! ```text
//! {"hits":[…],"next":812,"partial":true} ─▶ SearchAnswer ─▶ SearchFound (all pages so far) ─▶ groups, words
//! ```

use indexmap::IndexMap;
use serde_json::Value;

use crate::format;
use crate::search::{self, Hit};

/// How many hits of a conversation are drawn before the reader asks for all of them.
pub const HITS_OF_ONE: usize = 5;

/// An answer of the hub to a search.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SearchAnswer {
    hits: Vec<Hit>,
    /// The hit before which the next page goes on; `None` if all was searched.
    next: Option<u64>,
    /// Whether the time was up before all was searched.
    is_partial: bool,
}

impl SearchAnswer {
    /// Reads an answer; `None` if it is not one of a search.
    pub fn parse(answer: &str) -> Option<Self> {
        let read: Value = serde_json::from_str(answer).ok()?;
        read.get("hits")?.as_array()?;
        Some(Self {
            hits: search::hits(answer),
            next: read.get("next").and_then(Value::as_u64),
            is_partial: read.get("partial").and_then(Value::as_bool).unwrap_or(false),
        })
    }
}

/// The hits that were found so far.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SearchFound {
    /// By conversation, the one with the newest hit first. In each the newest hit comes first.
    pub groups: IndexMap<String, Vec<Hit>>,
    /// The hit before which the next page goes on.
    pub next: Option<u64>,
    /// Whether the last page ended because its time was up.
    pub is_partial: bool,
}

impl SearchFound {
    /// Adds a page of older hits.
    pub fn add(&mut self, page: SearchAnswer) {
        for hit in page.hits {
            self.groups.entry(hit.conversation.clone()).or_default().push(hit);
        }
        (self.next, self.is_partial) = (page.next, page.is_partial);
    }

    /// The number of hits.
    pub fn count(&self) -> usize {
        self.groups.values().map(Vec::len).sum()
    }

    /// The numbers of hits and conversations, for the reader.
    pub fn words(&self) -> String {
        let so_far = if self.next.is_some() { " so far" } else { "" };
        match self.count() {
            0 if self.next.is_some() => "Nothing found so far".to_owned(),
            0 => "Nothing found".to_owned(),
            count => format!(
                "{} in {}{so_far}",
                format::counted(count, "hit"),
                format::counted(self.groups.len(), "conversation")
            ),
        }
    }

    /// What is missing and the word on the button that brings it; `None` if all was searched.
    pub fn rest(&self) -> Option<(&'static str, &'static str)> {
        self.next?;
        Some(if self.is_partial {
            ("The search was stopped after 2 s: older texts are not searched yet.", "Keep searching")
        } else {
            ("There are older hits.", "Show older hits")
        })
    }
}

/// What a hit is in, for the reader.
pub fn place(hit: &Hit) -> String {
    let kind = match hit.kind.as_str() {
        "text" => "answer",
        kind => kind,
    };
    match (kind, hit.name.as_str()) {
        (kind, "") => kind.to_owned(),
        ("message", role) => format!("message · {role}"),
        (kind, tool) => format!("{tool} · {kind}"),
    }
}

/// The word of a hit that Find marks in the conversation: the first that matched. Words that do not stand together would not be found.
pub fn found_word(hit: &Hit) -> &str {
    hit.pieces.get(1).map(String::as_str).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    //! Tests of groups and words.

    use super::*;

    fn page(hits: &[(&str, &str, &str)], more: &str) -> SearchAnswer {
        let hit = |(conversation, kind, name): &(&str, &str, &str)| {
            format!(
                r#"{{"id":3,"conversation":"{conversation}","run":"r","kind":"{kind}","item":"t","name":"{name}","seq":4,"at":5,
                "snippet":"the exit code","marks":[[4,8]]}}"#
            )
        };
        let hits = hits.iter().map(hit).collect::<Vec<_>>().join(",");
        SearchAnswer::parse(&format!(r#"{{"hits":[{hits}]{more}}}"#)).unwrap()
    }

    #[test]
    fn hits_are_grouped_by_conversations_over_all_pages() {
        let mut found = SearchFound::default();
        assert_eq!((found.words().as_str(), found.rest()), ("Nothing found", None));
        found.add(page(
            &[("b", "result", "sql"), ("a", "text", ""), ("b", "message", "user")],
            r#","next":9"#,
        ));
        assert_eq!(found.groups.keys().collect::<Vec<_>>(), ["b", "a"]);
        assert_eq!(found.words(), "3 hits in 2 conversations so far");
        assert_eq!(found.rest().map(|it| it.1), Some("Show older hits"));
        found.add(page(&[("a", "thinking", "")], ""));
        assert_eq!((found.words().as_str(), found.rest()), ("4 hits in 2 conversations", None));
        assert_eq!(found.groups["a"].len(), 2);
        let places: Vec<String> = found.groups.values().flatten().map(place).collect();
        assert_eq!(places, ["sql · result", "message · user", "answer", "thinking"]);
        assert!(found.groups.values().flatten().all(|hit| found_word(hit) == "exit"));
    }

    #[test]
    fn a_search_that_was_stopped_says_so_even_if_it_found_nothing() {
        let mut found = SearchFound::default();
        found.add(page(&[], r#","next":9,"partial":true"#));
        assert_eq!(found.words(), "Nothing found so far");
        assert_eq!(found.rest().map(|it| it.1), Some("Keep searching"));
        assert_eq!(model::limits::SEARCH_MS, 2_000);
        assert_eq!(SearchAnswer::parse("<html>"), None);
        assert_eq!(SearchAnswer::parse("{}"), None);
    }
}
