//! Cases that test searches.

use model::limits::{DOCUMENT_BYTES_MAX, HITS_MAX};

use super::material::{BEGIN, append_with, document, events, found, id, items, query, stored};
use super::{LogUnderTest, cases};
use crate::{LogError, QueryCancel, SearchDocument, SearchDocumentKind, SearchQuery, TextRange};

cases! {
    Lasting:
        all_words_must_match,
        the_newest_comes_first,
        a_star_finds_how_a_word_begins,
        words_in_quotes_follow_one_another,
        a_phrase_may_end_with_a_beginning_of_nothing,
        case_and_accents_do_not_count,
        scripts_without_spaces_are_words,
        signs_stand_between_words,
        a_search_narrows_to_a_conversation,
        a_search_narrows_to_a_kind,
        a_search_goes_on_behind_a_hit,
        i7_a_search_gives_no_more_than_its_limit,
        a_hit_says_where_it_is_and_what_matched,
        a_text_that_comes_again_is_found_by_its_new_words_only,
        one_item_has_a_text_of_each_kind,
        words_of_a_removed_conversation_are_not_found,
        nothing_that_a_person_types_is_a_fault,
        words_of_the_index_are_words_like_any_other,
        a_query_has_bounds,
        i7_a_search_that_is_stopped_says_how_far_it_came,
        a_search_over_many_documents_finds_all_in_their_order,
        very_long_words_are_found,
        a_document_is_searched_up_to_its_limit,
        any_text_can_be_a_document;
}

/// Appends one event with documents.
fn say(trial: &LogUnderTest<'_>, name: &str, after: u64, documents: Vec<SearchDocument>) {
    stored(
        trial.log(),
        append_with(trial.log(), name, after, &events(after + 1, after + 1), |append| {
            append.documents = documents;
        }),
    );
}

fn library(trial: &LogUnderTest<'_>) {
    say(
        trial,
        "c",
        0,
        vec![document(SearchDocumentKind::Text, "p1", 1, "Revenue grew by 8.4 % in EMEA, as forecast")],
    );
    say(
        trial,
        "c",
        1,
        vec![document(SearchDocumentKind::Thinking, "p2", 2, "Why did EMEA grow? Look at the forecasts")],
    );
    say(
        trial,
        "d",
        0,
        vec![document(SearchDocumentKind::Arguments, "t1", 1, r#"{"query":"select revenue from emea_q3"}"#)],
    );
    say(
        trial,
        "d",
        1,
        vec![document(SearchDocumentKind::Message, "m1", 2, "Überraschend: der Umsatz in Zürich  漢字")],
    );
}

fn none() -> Vec<String> {
    Vec::new()
}

fn all_words_must_match(trial: &mut LogUnderTest<'_>) {
    library(trial);
    assert_eq!(items(trial.log(), &query("EMEA revenue")), ["t1", "p1"]);
    assert_eq!(items(trial.log(), &query("emea grew revenue")), ["p1"]);
    assert_eq!(items(trial.log(), &query("emea umsatz")), none());
    assert_eq!(items(trial.log(), &query("nothing of the kind")), none());
}

fn the_newest_comes_first(trial: &mut LogUnderTest<'_>) {
    library(trial);
    assert_eq!(items(trial.log(), &query("emea")), ["t1", "p2", "p1"]);
}

fn a_star_finds_how_a_word_begins(trial: &mut LogUnderTest<'_>) {
    library(trial);
    assert_eq!(items(trial.log(), &query("forecast")), ["p1"]);
    assert_eq!(items(trial.log(), &query("forecast*")), ["p2", "p1"]);
    assert_eq!(items(trial.log(), &query("forecasts*")), ["p2"]);
    assert_eq!(items(trial.log(), &query("re* em*")), ["t1", "p1"]);
}

fn words_in_quotes_follow_one_another(trial: &mut LogUnderTest<'_>) {
    library(trial);
    assert_eq!(items(trial.log(), &query("\"emea grow\"")), ["p2"]);
    assert_eq!(items(trial.log(), &query("\"grow emea\"")), none());
    assert_eq!(items(trial.log(), &query("\"grew by 8\" emea")), ["p1"]);
    assert_eq!(items(trial.log(), &query("\"never closed emea")), none());
}

fn a_phrase_may_end_with_a_beginning_of_nothing(trial: &mut LogUnderTest<'_>) {
    library(trial);
    assert_eq!(items(trial.log(), &query("emea_q*")), ["t1"]);
    assert_eq!(items(trial.log(), &query("emea_x*")), none());
}

fn case_and_accents_do_not_count(trial: &mut LogUnderTest<'_>) {
    library(trial);
    assert_eq!(items(trial.log(), &query("uberraschend ZURICH")), ["m1"]);
    assert_eq!(items(trial.log(), &query("zu\u{308}rich")), ["m1"]);
}

fn scripts_without_spaces_are_words(trial: &mut LogUnderTest<'_>) {
    library(trial);
    assert_eq!(items(trial.log(), &query("漢字")), ["m1"]);
    assert_eq!(items(trial.log(), &query("漢*")), ["m1"]);
    assert_eq!(items(trial.log(), &query("字")), none());
}

fn signs_stand_between_words(trial: &mut LogUnderTest<'_>) {
    library(trial);
    assert_eq!(items(trial.log(), &query("8.4")), ["p1"]);
    assert_eq!(items(trial.log(), &query("query")), ["t1"]);
    assert_eq!(items(trial.log(), &query("select-revenue")), ["t1"]);
}

fn a_search_narrows_to_a_conversation(trial: &mut LogUnderTest<'_>) {
    library(trial);
    let inside = |name| SearchQuery { conversation: Some(id(name)), ..query("emea") };
    assert_eq!(items(trial.log(), &inside("c")), ["p2", "p1"]);
    assert_eq!(items(trial.log(), &inside("d")), ["t1"]);
    assert_eq!(items(trial.log(), &inside("x")), none());
}

fn a_search_narrows_to_a_kind(trial: &mut LogUnderTest<'_>) {
    library(trial);
    let of = |kind| SearchQuery { kind: Some(kind), ..query("emea") };
    assert_eq!(items(trial.log(), &of(SearchDocumentKind::Thinking)), ["p2"]);
    assert_eq!(items(trial.log(), &of(SearchDocumentKind::Arguments)), ["t1"]);
    assert_eq!(items(trial.log(), &of(SearchDocumentKind::Message)), none());
    let both = SearchQuery { conversation: Some(id("c")), ..of(SearchDocumentKind::Text) };
    assert_eq!(items(trial.log(), &both), ["p1"]);
}

fn a_search_goes_on_behind_a_hit(trial: &mut LogUnderTest<'_>) {
    library(trial);
    let mut seen = Vec::new();
    let mut before = None;
    loop {
        let page = found(trial.log(), &SearchQuery { limit: 1, before, ..query("emea") });
        let Some(hit) = page.first() else { break };
        assert!(before.is_none_or(|before| hit.id < before));
        before = Some(hit.id);
        seen.push(hit.item.to_string());
    }
    assert_eq!(seen, ["t1", "p2", "p1"]);
}

fn i7_a_search_gives_no_more_than_its_limit(trial: &mut LogUnderTest<'_>) {
    let many =
        (1..=600).map(|n| document(SearchDocumentKind::Text, &format!("p{n}"), 1, "the same word")).collect();
    say(trial, "c", 0, many);
    assert_eq!(found(trial.log(), &SearchQuery { limit: 10_000, ..query("word") }).len(), HITS_MAX + 1);
    assert_eq!(items(trial.log(), &SearchQuery { limit: 2, ..query("word") }), ["p600", "p599"]);
}

fn a_hit_says_where_it_is_and_what_matched(trial: &mut LogUnderTest<'_>) {
    library(trial);
    let hits = found(trial.log(), &query("grew emea"));
    let hit = hits.first().expect("one");
    assert_eq!(
        (&hit.conversation, hit.run.clone(), hit.kind),
        (&id("c"), Some("r1".into()), SearchDocumentKind::Text)
    );
    assert_eq!((hit.item.as_str(), hit.name.as_str(), hit.seq, hit.at), ("p1", "n", 1, BEGIN + 1));
    assert_eq!(hit.snippet, "Revenue grew by 8.4 % in EMEA, as forecast");
    assert_eq!(hit.marks, [TextRange(8, 12), TextRange(25, 29)]);
}

fn a_text_that_comes_again_is_found_by_its_new_words_only(trial: &mut LogUnderTest<'_>) {
    library(trial);
    say(trial, "c", 2, vec![document(SearchDocumentKind::Text, "p1", 3, "Costs fell in EMEA")]);
    assert_eq!(items(trial.log(), &query("costs")), ["p1"]);
    assert_eq!(items(trial.log(), &query("grew")), none());
    assert_eq!(items(trial.log(), &query("emea")), ["p1", "t1", "p2"], "it is the newest now");
    let twice = ["first", "second"].map(|word| document(SearchDocumentKind::Text, "p9", 4, word));
    say(trial, "c", 3, twice.into());
    assert_eq!(
        (items(trial.log(), &query("first")), items(trial.log(), &query("second"))),
        (none(), vec![String::from("p9")])
    );
}

fn one_item_has_a_text_of_each_kind(trial: &mut LogUnderTest<'_>) {
    let both = [SearchDocumentKind::Arguments, SearchDocumentKind::Result]
        .map(|kind| document(kind, "t1", 1, "needle"));
    say(trial, "c", 0, both.into());
    assert_eq!(items(trial.log(), &query("needle")), ["t1", "t1"]);
}

fn words_of_a_removed_conversation_are_not_found(trial: &mut LogUnderTest<'_>) {
    library(trial);
    stored(trial.log(), trial.log().remove(&id("c")));
    assert_eq!(items(trial.log(), &query("emea")), ["t1"]);
    say(trial, "c", 0, vec![document(SearchDocumentKind::Text, "p1", 1, "EMEA again")]);
    assert_eq!(items(trial.log(), &query("emea")), ["p1", "t1"]);
}

fn nothing_that_a_person_types_is_a_fault(trial: &mut LogUnderTest<'_>) {
    library(trial);
    let odd = [
        "",
        " ",
        "\"",
        "\"\"",
        "*",
        "**",
        "emea*revenue",
        "text:emea",
        "{text}: emea",
        "place : c1",
        "NEAR(emea grew, 2)",
        "emea AND",
        "AND OR NOT",
        "NOT emea",
        "^emea",
        "-emea",
        "emea + grew",
        "(emea",
        "emea)",
        "a\0b",
        "\0",
        "'; DROP TABLE word; --",
        "\"emea\" \"",
        "\u{fdd0}emea\u{fdd1}",
        "🙂",
        "é*",
        "\u{301}",
        "\u{ff21}",
        "²",
        "ℵ½",
        "a & b | !c",
        "a:*b",
        "'a'",
        "\\",
        "a\\'b",
        "<->",
    ];
    for text in odd {
        match trial.log().search(&query(text), &QueryCancel::default()) {
            Ok(_) | Err(LogError::BadQuery(_)) => {}
            Err(error) => panic!("{text:?}: {error}"),
        }
    }
}

fn words_of_the_index_are_words_like_any_other(trial: &mut LogUnderTest<'_>) {
    library(trial);
    for text in ["emea AND grew", "emea OR nothing", "ktext", "emea NOT grew"] {
        assert_eq!(items(trial.log(), &query(text)), none(), "{text}");
    }
}

fn a_query_has_bounds(trial: &mut LogUnderTest<'_>) {
    library(trial);
    for text in ["", "   ", "\"\"", "*", "-- ()", "\0"] {
        let refused = trial.log().search(&query(text), &QueryCancel::default());
        assert!(matches!(refused, Err(LogError::BadQuery(_))), "{text:?}");
    }
    for text in ["a ".repeat(5_000), "a ".repeat(33)] {
        let refused = trial.log().search(&query(&text), &QueryCancel::default());
        assert!(matches!(refused, Err(LogError::BadQuery(_))));
    }
    trial.log().search(&query(&"a ".repeat(32)), &QueryCancel::default()).expect("so many words are allowed");
}

fn i7_a_search_that_is_stopped_says_how_far_it_came(trial: &mut LogUnderTest<'_>) {
    library(trial);
    let stop = QueryCancel::default();
    stop.cancel();
    let came = trial.log().search(&query("emea"), &stop).expect("it ends");
    assert!(came.hits.is_empty() && came.stopped_at.is_some());
    // A search that continues there finds the rest, and the next search is not affected.
    let rest = SearchQuery { before: came.stopped_at, ..query("emea") };
    assert_eq!(items(trial.log(), &rest), ["t1", "p2", "p1"]);
    assert_eq!(items(trial.log(), &query("emea")), ["t1", "p2", "p1"]);
}

fn a_search_over_many_documents_finds_all_in_their_order(trial: &mut LogUnderTest<'_>) {
    let text = |n: u64| if n.is_multiple_of(7) { "a rare word" } else { "a common word" };
    let many = (1..=700).map(|n| document(SearchDocumentKind::Text, &format!("p{n}"), 1, text(n))).collect();
    say(trial, "c", 0, many);
    let rare: Vec<String> = (1..=100).rev().map(|n| format!("p{}", n * 7)).collect();
    let hits = found(trial.log(), &SearchQuery { limit: 500, ..query("rare") });
    assert_eq!(hits.iter().map(|hit| hit.item.to_string()).collect::<Vec<_>>(), rare);
    let third = hits.get(2).map(|hit| hit.id);
    let older = items(trial.log(), &SearchQuery { before: third, limit: 500, ..query("rare") });
    assert_eq!(Some(older.as_slice()), rare.get(3..));
}

fn very_long_words_are_found(trial: &mut LogUnderTest<'_>) {
    let (one, other) = (format!("{}1", "x".repeat(900)), format!("{}2", "x".repeat(900)));
    let text = format!("{one} {}", "y".repeat(9_000));
    say(
        trial,
        "c",
        0,
        vec![
            document(SearchDocumentKind::Text, "p1", 1, &text),
            document(SearchDocumentKind::Text, "p2", 1, &other),
        ],
    );
    assert_eq!(items(trial.log(), &query(&one)), ["p1"]);
    assert_eq!(items(trial.log(), &query(&format!("{}*", "x".repeat(500)))), ["p2", "p1"]);
    assert_eq!(items(trial.log(), &query(&"x".repeat(900))), none());
    assert_eq!(items(trial.log(), &query("yyyy*")), ["p1"]);
}

fn a_document_is_searched_up_to_its_limit(trial: &mut LogUnderTest<'_>) {
    let text = format!("begin {} end", "word ".repeat(DOCUMENT_BYTES_MAX / 5));
    say(trial, "c", 0, vec![document(SearchDocumentKind::Result, "t1", 1, &text)]);
    assert_eq!(items(trial.log(), &query("begin")), ["t1"]);
    assert_eq!(items(trial.log(), &query("end")), none());
    // Words far behind one another, and phrases anywhere in it.
    let numbered = (0..20_000).map(|n| format!("w{n}")).collect::<Vec<_>>().join(" ");
    say(trial, "c", 1, vec![document(SearchDocumentKind::Result, "t2", 1, &numbered)]);
    assert_eq!(items(trial.log(), &query("w1 w19999")), ["t2"]);
    assert_eq!(items(trial.log(), &query("\"w19998 w19999\"")), ["t2"]);
    assert_eq!(items(trial.log(), &query("\"w19999 w19998\"")), none());
}

fn any_text_can_be_a_document(trial: &mut LogUnderTest<'_>) {
    let mut odd =
        document(SearchDocumentKind::Text, "p\0\u{1}1", 1, "a\0b \u{fdd0} ' \" \\ needle 🙂 \u{ffff}");
    odd.run = model::RunId::new("r\0");
    odd.name = "n\0".into();
    say(trial, "c", 0, vec![odd, document(SearchDocumentKind::Message, "m", 1, "")]);
    let hits = found(trial.log(), &query("needle"));
    let hit = hits.first().expect("one");
    assert_eq!(
        (hit.item.as_str(), hit.name.as_str(), hit.run.clone()),
        ("p\0\u{1}1", "n\0", Some("r\0".into()))
    );
    assert_eq!(items(trial.log(), &query("a b")), ["p\0\u{1}1"]);
}
