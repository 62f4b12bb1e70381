//! Tests of words.

use proptest::prelude::*;

use super::*;

fn all(text: &str) -> Vec<(String, &str)> {
    let (mut found, mut word, mut all) = (words(text), String::new(), Vec::new());
    while let Some(range) = found.next_into(&mut word) {
        all.push((word.clone(), text.get(range).unwrap()));
    }
    all
}

#[test]
fn words_are_compared_in_lower_case_and_without_accents() {
    let found = all("Überraschend: ZU\u{308}RICH, 漢字 x_2");
    let words: Vec<&str> = found.iter().map(|(word, _)| word.as_str()).collect();
    assert_eq!(words, ["uberraschend", "zurich", "漢字", "x", "2"]);
    assert_eq!(found[1].1, "ZU\u{308}RICH");
}

#[test]
fn a_term_is_words_that_follow_one_another() {
    let term = Term::of("select-from", true).unwrap();
    let latest = |words: &'static [&'static str]| move |back: usize| words.iter().rev().nth(back).copied();
    assert!(term.ends(latest(&["select", "fromage"])));
    assert!(!term.ends(latest(&["selects", "from"])));
    assert!(!term.ends(latest(&["from"])));
    assert_eq!(Term::of("…", false), None);
}

proptest! {
    #[test]
    fn words_stand_in_order_at_characters(text in "[aÉé\u{301}漢🙂 \n.]{0,200}") {
        let (mut found, mut word, mut end) = (words(&text), String::new(), 0);
        while let Some(range) = found.next_into(&mut word) {
            prop_assert!(range.start >= end && range.end > range.start && text.get(range.clone()).is_some());
            end = range.end;
        }
    }
}
