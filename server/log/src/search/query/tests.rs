//! Tests of the reading of queries.

use super::*;

#[test]
fn words_phrases_and_beginnings_become_terms() {
    assert_eq!(parse("revenue grew").unwrap().index, r#"text : ("revenue" AND "grew")"#);
    assert_eq!(
        parse(r#"why "EMEA grew" fore*"#).unwrap().index,
        r#"text : ("why" AND "EMEA grew" AND "fore"*)"#
    );
    assert_eq!(parse(r#""never closed"#).unwrap().index, r#"text : ("never closed")"#);
    assert_eq!(parse("-- || *** run_sql").unwrap().index, r#"text : ("run_sql")"#);
}

#[test]
fn what_is_looked_for_is_known_word_by_word() {
    let parsed = parse(r#"why "EMEA grew" fore*"#).unwrap();
    let terms = [("why", false), ("emea grew", false), ("fore", true)];
    assert_eq!(parsed.terms, terms.map(|(text, is_beginning)| Term::of(text, is_beginning).unwrap()));
}

#[test]
fn a_query_without_a_word_or_with_too_many_is_refused() {
    for text in ["", "   ", "\"\"", "*", "-- ()", "\0"] {
        assert!(matches!(parse(text), Err(LogError::BadQuery(_))), "{text:?}");
    }
    assert!(matches!(parse(&"a ".repeat(5_000)), Err(LogError::BadQuery(_))));
    assert!(matches!(parse(&"a ".repeat(33)), Err(LogError::BadQuery(_))));
    parse(&"a ".repeat(32)).unwrap();
}
