//! Tests of snippets.

use proptest::prelude::*;

use super::*;

fn marked(text: &str) -> (String, Vec<String>) {
    let (snippet, marks) = around_first(&text.replace('[', "\u{fdd0}").replace(']', "\u{fdd1}"));
    let found = marks.iter().map(|Span(from, to)| snippet.get(*from..*to).unwrap().to_owned()).collect();
    (snippet, found)
}

#[test]
fn a_short_text_is_whole_and_its_matches_are_named() {
    let (snippet, found) = marked("why [EMEA grew] and [EMEA] fell");
    assert_eq!(snippet, "why EMEA grew and EMEA fell");
    assert_eq!(found, ["EMEA grew", "EMEA"]);
}

#[test]
fn a_long_text_is_cut_around_its_first_match_between_words() {
    let (snippet, found) = marked(&format!("{}[hit]{}", "before ".repeat(50), " after".repeat(80)));
    assert!(snippet.starts_with("…before ") && snippet.ends_with('…'), "{snippet}");
    assert_eq!(found, ["hit"]);
    assert!(snippet.len() <= LENGTH + '…'.len_utf8());
}

#[test]
fn a_match_longer_than_the_snippet_is_marked_as_far_as_it_goes() {
    let (snippet, found) = marked(&format!("[{}]", "x".repeat(1_000)));
    assert_eq!(found, ["x".repeat(LENGTH)]);
    assert_eq!(snippet.chars().count(), LENGTH + 1);
}

proptest! {
    #[test]
    fn any_text_is_cut_at_characters(text in "[\\[\\]aé漢🙂 \n]{0,400}") {
        let (snippet, marks) = around_first(&text.replace('[', "\u{fdd0}").replace(']', "\u{fdd1}"));
        for Span(from, to) in marks {
            prop_assert!(snippet.get(from..to).is_some());
        }
    }
}
