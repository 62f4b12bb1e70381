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
    assert_eq!(
        said("mermaid", "flowchart LR\n  a[\"Ask\"] --> b %% then\n  end"),
        [("flowchart", Keyword), ("LR", Keyword), ("\"Ask\"", Text), ("%% then", Comment), ("end", Keyword)]
    );
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

#[test]
fn a_piece_is_cut_where_its_colours_change() {
    use Token::{Comment, Keyword};
    let tokens = [(2..4, Keyword), (4..6, Comment), (8..20, Comment)];
    assert_eq!(
        cuts(&tokens, 0..10),
        [(0..2, None), (2..4, Some(Keyword)), (4..6, Some(Comment)), (6..8, None), (8..10, Some(Comment))]
    );
    assert_eq!(
        cuts(&tokens, 10..22),
        [(10..20, Some(Comment)), (20..22, None)],
        "it goes on in the next piece"
    );
    assert_eq!(cuts(&[], 3..5), [(3..5, None)]);
    assert_eq!(cuts(&tokens, 5..5), []);
}

proptest! {
    #[test]
    fn cuts_are_the_whole_piece(code in "[a-z\"/* \n0-9]{0,60}", at in 0..60_usize) {
        let at = at.min(code.len());
        let tokens = tokens("rust", &code);
        let both = cuts(&tokens, 0..at).into_iter().chain(cuts(&tokens, at..code.len()));
        let said: String = both.filter_map(|(range, _)| code.get(range)).collect();
        prop_assert_eq!(said, code);
    }
}
