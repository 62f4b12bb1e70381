//! What is coloured.

use proptest::prelude::*;

use super::*;

fn said<'a>(name: &str, code: &'a str) -> Vec<(&'a str, Token)> {
    tokens(name, code).into_iter().filter_map(|(range, token)| Some((code.get(range)?, token))).collect()
}

#[test]
fn the_words_strings_comments_and_numbers_of_a_language_are_told() {
    use Token::{Comment, Keyword, Number, Text};
    assert_eq!(
        said("rust", "fn a<'x>(b: &'x str) { b.type; \"q\\\"\" } // 1\n0x1F"),
        [("fn", Keyword), ("\"q\\\"\"", Text), ("// 1", Comment), ("0x1F", Number)]
    );
    assert_eq!(
        said("sql", "SELECT 'it''s' -- x"),
        [("SELECT", Keyword), ("'it'", Text), ("'s'", Text), ("-- x", Comment)]
    );
    assert_eq!(
        said("python", "def f():\n  \"\"\"a\nb\"\"\" # c"),
        [("def", Keyword), ("\"\"\"a\nb\"\"\"", Text), ("# c", Comment)]
    );
    assert_eq!(said("bash", "echo $# it's"), [("echo", Keyword)]);
    assert_eq!(said("ts", "`a\n${b}`"), [("`a\n${b}`", Text)]);
    assert_eq!(said("brainfuck", "if 1"), []);
    assert_eq!(said("rust", &"if ".repeat(BYTES_MAX)), []);
}

proptest! {
    #[test]
    fn any_text_is_taken_and_stretches_stand_in_order(code in "([a-zé_]{1,4}|[0-9]|\"|'|`|\\\\|\n|/\\*|\\*/|//|#|--| |\"\"\"|漢){0,40}", at in 0..8_usize) {
        let name = ["rust", "ts", "python", "sql", "bash", "html", "css", "json"][at];
        let mut end = 0;
        for (range, _) in tokens(name, &code) {
            prop_assert!(range.start >= end && range.end > range.start);
            prop_assert!(code.get(range.clone()).is_some(), "{:?} splits a letter", range);
            end = range.end;
        }
    }
}
