//! The last words of a running conversation, put together from what its rows say.
//!
//! A row has the end of the last text ([`said`](model::frame::ConversationRow::said)), twice a second at most. The ends
//! overlap, so that more than one of them can be shown.

/// The most characters that are kept of a conversation: what a large tile has room for.
const WORDS_CHARS_MAX: usize = 600;

/// The fewest characters by which two ends are recognised as the same text.
const OVERLAP_CHARS: usize = 8;

/// `kept` with what `said` adds to it. A text that does not continue `kept` stands on a line of its own.
pub fn stitch(kept: &str, said: &str) -> String {
    if said.is_empty() || kept.ends_with(said) {
        return kept.to_owned();
    }
    let line = kept.rsplit('\n').next().unwrap_or_default();
    let ends = said.char_indices().map(|(at, letter)| at + letter.len_utf8());
    let overlaps = ends.enumerate().filter(|(number, end)| {
        let is_known = *number + 1 >= OVERLAP_CHARS || *end == line.len();
        is_known && said.get(..*end).is_some_and(|begin| line.ends_with(begin))
    });
    let mut words = kept.to_owned();
    if let Some((_, end)) = overlaps.last() {
        words.push_str(said.get(end..).unwrap_or_default());
    } else {
        if !words.is_empty() {
            words.push('\n');
        }
        words.push_str(said);
    }
    let extra = words.chars().count().saturating_sub(WORDS_CHARS_MAX);
    if extra > 0 { words.chars().skip(extra).collect() } else { words }
}

#[cfg(test)]
mod tests {
    //! Tests of how ends are joined.

    use proptest::prelude::*;

    use super::*;

    #[test]
    fn ends_of_one_text_are_joined_and_another_text_begins_a_line() {
        let cases = [
            ("", "", ""),
            ("", "Let", "Let"),
            ("Let", "Let me see", "Let me see"),
            ("Let me see", "Let me see", "Let me see"),
            (
                "I read the list of suppliers",
                "the list of suppliers of EMEA",
                "I read the list of suppliers of EMEA",
            ),
            ("I read the list", "Done.", "I read the list\nDone."),
            ("Done.\nNow", "Now what", "Done.\nNow what"),
        ];
        for (kept, said, wanted) in cases {
            assert_eq!(stitch(kept, said), wanted, "{kept:?} {said:?}");
        }
    }

    proptest! {
        #[test]
        fn the_words_end_with_what_was_said_and_are_bounded(ends in proptest::collection::vec("[ab é]{0,30}", 0..60)) {
            let mut words = String::new();
            for said in &ends {
                words = stitch(&words, said);
                prop_assert!(words.ends_with(said.as_str()));
                prop_assert!(words.chars().count() <= WORDS_CHARS_MAX);
            }
        }

        #[test]
        fn a_text_that_is_followed_is_whole(steps in proptest::collection::vec(1..60_usize, 1..12)) {
            let text = (0..200).map(|n| format!("w{n}")).collect::<Vec<_>>().join(" ");
            let (mut words, mut until) = (String::new(), 0);
            for step in steps {
                until += step;
                let said = text.get(until.saturating_sub(120)..until).unwrap();
                words = stitch(&words, said);
                let shown = text.get(until.saturating_sub(WORDS_CHARS_MAX)..until).unwrap();
                prop_assert_eq!(words.as_str(), shown);
            }
        }
    }
}
