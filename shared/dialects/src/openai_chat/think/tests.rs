//! What is thought and what is said. Texts are fed whole and character by character: tags may be cut anywhere.

use super::{LEAD_BYTES_MAX, ThinkTags, ThinkToken};
use model::event::PartKind;

/// What `pieces` come to: (reasoning, answer).
fn split<'a>(pieces: impl Iterator<Item = &'a str>) -> (String, String) {
    let (mut thinking, mut answer) = (String::new(), String::new());
    let mut take = |thought: ThinkToken<'_>| match thought {
        ThinkToken::Piece(PartKind::Thinking, text) => thinking.push_str(text),
        ThinkToken::Piece(_, text) => answer.push_str(text),
        ThinkToken::Retract(text) => {
            assert!(text.starts_with(answer.trim_end_matches('\n')), "all of the answer so far");
            thinking.push_str(text);
            answer.clear();
        }
    };
    let mut tags = ThinkTags::in_text();
    for piece in pieces {
        tags.push(piece, &mut take);
    }
    tags.flush(&mut take);
    (thinking, answer)
}

fn check(text: &str, thinking: &str, answer: &str) {
    let expected = (thinking.to_owned(), answer.to_owned());
    assert_eq!(split(std::iter::once(text)), expected, "{text:?} whole");
    let cuts = text.char_indices().map(|(at, c)| text.get(at..at + c.len_utf8()).unwrap_or_default());
    assert_eq!(split(cuts), expected, "{text:?} cut");
}

#[test]
fn tags_at_the_beginning_part_thought_from_answer() {
    check("<think>a</think>b", "a", "b");
    check("\n <think>\na\n</think>\n\nb", "a\n", "b");
    check("<think></think>b", "", "b");
    check("<think>a </thin k> b", "a </thin k> b", "");
    check("<think>a</think>b<think>c</think>", "a", "b<think>c</think>");
}

#[test]
fn tags_elsewhere_are_text() {
    check("a <think>b</think>", "", "a <think>b</think>");
    check("<thinking>b", "", "<thinking>b");
    check("<th", "", "<th");
    check("  ", "", "  ");
    check("a</think>\nb", "", "a</think>\nb");
    check("a\n</think> b", "", "a\n</think> b");
}

#[test]
fn a_closing_tag_on_a_line_of_its_own_makes_a_thought_of_what_was_before() {
    check("a\nb\n</think>\n\nc", "a\nb", "c");
    check("</think>\n\nc", "", "c");
    check("a\n</think>", "", "a\n</think>");
}

#[test]
fn only_a_bounded_beginning_is_kept_to_be_taken_back() {
    let long = "word ".repeat(LEAD_BYTES_MAX / 5 + 1);
    let text = format!("{long}\n</think>\nb");
    let (thinking, answer) = split([long.as_str(), "\n</think>\nb"].into_iter());
    assert_eq!((thinking.as_str(), answer.as_str()), ("", text.as_str()));
}
