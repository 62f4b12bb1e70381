//! Tests of snippets.

use proptest::prelude::*;

use super::*;

fn marked(text: &str, terms: &[&str]) -> (String, Vec<String>) {
    let terms: Vec<Term> = terms.iter().filter_map(|term| Term::of(term, false)).collect();
    let (snippet, marks) = around_first(text, &terms);
    let found = marks.iter().map(|TextRange(from, to)| snippet.get(*from..*to).unwrap().to_owned()).collect();
    (snippet, found)
}

#[test]
fn a_short_text_is_whole_and_its_matches_are_named() {
    let (snippet, found) = marked("why EMEA grew and EMEA fell", &["emea grew", "emea"]);
    assert_eq!(snippet, "why EMEA grew and EMEA fell");
    assert_eq!(found, ["EMEA grew", "EMEA"]);
}

#[test]
fn a_long_text_is_cut_around_its_first_match_between_words() {
    let text = format!("{}hit{}", "before ".repeat(50), " after".repeat(80));
    let (snippet, found) = marked(&text, &["hit"]);
    assert!(snippet.starts_with("…before ") && snippet.ends_with('…'), "{snippet}");
    assert_eq!(found, ["hit"]);
    assert!(snippet.len() <= LENGTH + 2 * '…'.len_utf8());
}

#[test]
fn a_match_longer_than_the_snippet_is_marked_as_far_as_it_goes() {
    let (snippet, found) = marked(&"x".repeat(1_000), &["x".repeat(1_000).as_str()]);
    assert_eq!(found, ["x".repeat(LENGTH)]);
    assert_eq!(snippet.chars().count(), LENGTH + 1);
}

#[test]
fn a_text_without_a_match_shows_its_beginning() {
    assert_eq!(marked("some words", &["other"]), ("some words".to_owned(), Vec::new()));
}

#[test]
fn marks_end_with_the_snippet_in_a_text_of_nothing_but_matches() {
    let terms: Vec<Term> = ["w", "w w", "w w w"].iter().filter_map(|term| Term::of(term, false)).collect();
    assert_eq!(around_first(&"w ".repeat(200), &terms), around_first(&"w ".repeat(1 << 20), &terms));
}

proptest! {
    #[test]
    fn any_text_is_cut_at_characters(text in "[abé漢🙂 \n]{0,400}") {
        let terms: Vec<Term> = ["a", "b a", "e", "漢"].iter().filter_map(|term| Term::of(term, true)).collect();
        let (snippet, marks) = around_first(&text, &terms);
        let mut end = 0;
        for TextRange(from, to) in marks {
            prop_assert!(from >= end && snippet.get(from..to).is_some());
            end = to;
        }
    }
}
