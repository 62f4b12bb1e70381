//! Tests of patterns against a plain definition of what they match.

use proptest::prelude::*;

use super::*;

/// What a pattern means, as plainly as it can be said.
fn plainly(pattern: &[char], name: &[char]) -> bool {
    match (pattern, name) {
        ([], []) => true,
        (['*', rest @ ..], _) if plainly(rest, name) => true,
        (['*', ..], [_, behind @ ..]) => plainly(pattern, behind),
        (['\\', '*', rest @ ..], ['*', behind @ ..]) => plainly(rest, behind),
        ([sign, rest @ ..], [first, behind @ ..]) if sign == first && *sign != '\\' => plainly(rest, behind),
        _ => false,
    }
}

proptest! {
    #[test]
    fn a_pattern_matches_what_its_definition_says(pattern in "([ab]|\\*|\\\\\\*){1,8}", name in "[ab*]{0,10}") {
        let parsed = Pattern::parse(&pattern).unwrap();
        let signs = |text: &str| text.chars().collect::<Vec<_>>();
        prop_assert_eq!(parsed.matches(&name), plainly(&signs(&pattern), &signs(&name)), "{} {}", pattern, name);
        prop_assert_eq!(Pattern::parse(&parsed.to_string()).unwrap(), parsed);
    }

    #[test]
    fn an_exact_pattern_matches_its_name_alone(name in "[ab*]{1,6}", other in "[ab*]{1,6}") {
        prop_assert_eq!(Pattern::exactly(&name).matches(&other), name == other);
    }
}

#[test]
fn only_a_star_alone_is_every_conversation() {
    assert!(Pattern::any().is_any() && Pattern::any().matches("anything"));
    assert_eq!(Pattern::parse("*").unwrap(), Pattern::any());
    for narrow in ["a", "a*", "*a", "\\*"] {
        assert!(!Pattern::parse(narrow).unwrap().is_any(), "{narrow}");
    }
}

#[test]
fn what_can_match_nothing_is_refused_by_name() {
    assert_eq!(Pattern::parse(""), Err(PatternError::Empty));
    assert_eq!(Pattern::parse("a/b"), Err(PatternError::Forbidden('/')));
    assert_eq!(Pattern::parse("a\\b"), Err(PatternError::Backslash("a\\b".to_owned())));
    let long = "a".repeat(PATTERN_BYTES_MAX + 1);
    assert_eq!(Pattern::parse(&long), Err(PatternError::TooLong(long.len())));
}
