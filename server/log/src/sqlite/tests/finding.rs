//! What is found: by words, in the list, in figures.

use ::model::event::RunStatus;
use ::model::limits::HITS_MAX;

use super::*;
use crate::sqlite::readers::READERS_MAX;
use crate::{EndedToolCall, QueryCancel, SearchDocument, SearchDocumentKind};

pub(super) fn document(kind: SearchDocumentKind, item: &str, seq: Seq, text: &str) -> SearchDocument {
    SearchDocument { at: seq, ..crate::conformance::document(kind, item, seq, text) }
}

/// Appends one event with documents.
fn say(log: &SqliteLog, name: &str, after: Seq, documents: Vec<SearchDocument>) {
    let more = events(after + 1, after + 1, 4);
    stored(log, append_with(log, name, after, &more, |append| append.documents = documents));
}

pub(super) fn query(text: &str) -> SearchQuery {
    SearchQuery { text: text.to_owned(), limit: 50, ..SearchQuery::default() }
}

/// All that matches.
fn found(log: &SqliteLog, query: &SearchQuery) -> Vec<crate::SearchHit> {
    let found = log.search(query, &QueryCancel::default()).unwrap();
    assert_eq!(found.stopped_at, None);
    found.hits
}

fn items(log: &SqliteLog, query: &SearchQuery) -> Vec<String> {
    found(log, query).into_iter().map(|hit| hit.item.to_string()).collect()
}

fn library(disk: &Disk) -> SqliteLog {
    let log = disk.open();
    say(
        &log,
        "c",
        0,
        vec![document(SearchDocumentKind::Text, "p1", 1, "Revenue grew by 8.4 % in EMEA, as forecast")],
    );
    say(
        &log,
        "c",
        1,
        vec![document(SearchDocumentKind::Thinking, "p2", 2, "Why did EMEA grow? Look at the forecasts")],
    );
    say(
        &log,
        "d",
        0,
        vec![document(SearchDocumentKind::Arguments, "t1", 1, r#"{"query":"select revenue from emea_q3"}"#)],
    );
    say(
        &log,
        "d",
        1,
        vec![document(SearchDocumentKind::Message, "m1", 2, "Überraschend: der Umsatz in Zürich  漢字")],
    );
    log
}

#[test]
fn all_words_must_match_and_the_newest_comes_first() {
    let disk = Disk::new();
    let log = library(&disk);
    assert_eq!(items(&log, &query("emea")), ["t1", "p2", "p1"]);
    assert_eq!(items(&log, &query("EMEA revenue")), ["t1", "p1"]);
    assert_eq!(items(&log, &query("forecast")), ["p1"]);
    assert_eq!(items(&log, &query("forecast*")), ["p2", "p1"]);
    assert_eq!(items(&log, &query("\"emea grow\"")), ["p2"]);
    assert_eq!(items(&log, &query("\"grow emea\"")), Vec::<String>::new());
    assert_eq!(items(&log, &query("uberraschend zurich")), ["m1"]);
    assert_eq!(items(&log, &query("漢字")), ["m1"]);
    assert_eq!(items(&log, &query("nothing of the kind")), Vec::<String>::new());
}

#[test]
fn a_search_narrows_to_a_conversation_a_kind_and_what_is_older() {
    let disk = Disk::new();
    let log = library(&disk);
    let in_c = SearchQuery { conversation: Some(id("c")), ..query("emea") };
    assert_eq!(items(&log, &in_c), ["p2", "p1"]);
    let thinking = SearchQuery { kind: Some(SearchDocumentKind::Thinking), ..query("emea") };
    assert_eq!(items(&log, &thinking), ["p2"]);
    let nowhere = SearchQuery { conversation: Some(id("x")), ..query("emea") };
    assert_eq!(items(&log, &nowhere), Vec::<String>::new());
    let first = found(&log, &SearchQuery { limit: 1, ..query("emea") });
    let older = SearchQuery { before: Some(first[0].id), ..query("emea") };
    assert_eq!(items(&log, &older), ["p2", "p1"]);
    // Words by which the index narrows are not found as text.
    assert_eq!(items(&log, &query("ktext")), Vec::<String>::new());
}

#[test]
fn a_hit_says_where_it_is_and_what_matched() {
    let disk = Disk::new();
    let log = library(&disk);
    let hit = found(&log, &query("grew emea")).remove(0);
    assert_eq!(
        (hit.conversation, hit.run, hit.kind, hit.seq),
        (id("c"), Some("r1".into()), SearchDocumentKind::Text, 1)
    );
    assert_eq!(hit.snippet, "Revenue grew by 8.4 % in EMEA, as forecast");
    assert_eq!(hit.marks, [super::super::super::TextRange(8, 12), super::super::super::TextRange(25, 29)]);
    let hit = found(&log, &query("umsatz")).remove(0);
    assert_eq!(
        hit.snippet, "Überraschend: der Umsatz in Zürich  漢字",
        "what is no letter stands between words"
    );
}

#[test]
fn a_text_that_comes_again_is_found_by_its_new_words_only() {
    let disk = Disk::new();
    let log = library(&disk);
    say(&log, "c", 2, vec![document(SearchDocumentKind::Text, "p1", 3, "Costs fell")]);
    assert_eq!(items(&log, &query("costs")), ["p1"]);
    assert_eq!(items(&log, &query("grew")), Vec::<String>::new());
    stored(&log, log.remove(&id("c")));
    assert_eq!(items(&log, &query("costs")), Vec::<String>::new());
    assert_eq!(items(&log, &query("emea")), ["t1"]);
    let check = "INSERT INTO word (word) VALUES ('integrity-check')";
    log.close().unwrap();
    rusqlite::Connection::open(disk.path()).unwrap().execute_batch(check).unwrap();
}

#[test]
fn nothing_that_a_person_types_is_a_fault() {
    let disk = Disk::new();
    let log = library(&disk);
    let long = "word ".repeat(2_048);
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
        long.as_str(),
    ];
    for text in odd {
        match log.search(&query(text), &QueryCancel::default()) {
            Ok(_) | Err(LogError::BadQuery(_)) => {}
            Err(error) => panic!("{text:?}: {error}"),
        }
    }
    assert!(matches!(log.search(&query(&long), &QueryCancel::default()), Err(LogError::BadQuery(_))));
    assert_eq!(items(&log, &query("emea AND grew")), Vec::<String>::new(), "AND is a word like any other");
}

proptest::proptest! {
    #![proptest_config(proptest::prelude::ProptestConfig { cases: 64, ..Default::default() })]

    #[test]
    fn no_query_is_a_fault_of_the_index(text in "(\\PC|[\"*:^(){} -]|emea|AND|NEAR){0,30}") {
        thread_local! {
            static LIBRARY: (Disk, SqliteLog) = {
                let disk = Disk::new();
                let log = library(&disk);
                (disk, log)
            };
        }
        LIBRARY.with(|(_, log)| {
            let found = log.search(&query(&text), &QueryCancel::default());
            assert!(matches!(found, Ok(_) | Err(LogError::BadQuery(_))), "{text:?}: {found:?}");
        });
    }
}

#[test]
fn i7_a_search_gives_no_more_than_its_limit() {
    let disk = Disk::new();
    let log = disk.open();
    let many =
        (1..=600).map(|n| document(SearchDocumentKind::Text, &format!("p{n}"), 1, "the same word")).collect();
    say(&log, "c", 0, many);
    let all = SearchQuery { limit: 10_000, ..query("word") };
    assert_eq!(found(&log, &all).len(), HITS_MAX + 1);
    assert_eq!(items(&log, &SearchQuery { limit: 2, ..query("word") }), ["p600", "p599"]);
}

#[test]
fn a_search_over_many_windows_finds_all_in_their_order() {
    let disk = Disk::new();
    let log = disk.open();
    let name = |n: u64| if n.is_multiple_of(7) { "a rare word" } else { "a common word" };
    let many = (1..=700).map(|n| document(SearchDocumentKind::Text, &format!("p{n}"), 1, name(n))).collect();
    say(&log, "c", 0, many);
    let rare: Vec<String> = (1..=100).rev().map(|n| format!("p{}", n * 7)).collect();
    assert_eq!(items(&log, &SearchQuery { limit: 500, ..query("rare") }), rare);
    let third = &found(&log, &query("rare"))[2];
    let older = SearchQuery { before: Some(third.id), limit: 500, ..query("rare") };
    assert_eq!(items(&log, &older), rare[3..]);
}

#[test]
fn i7_a_search_that_is_stopped_says_how_far_it_came() {
    let disk = Disk::new();
    let log = library(&disk);
    let stop = QueryCancel::default();
    stop.cancel();
    let came = log.search(&query("emea"), &stop).unwrap();
    assert!(came.hits.is_empty());
    // Whoever goes on from there finds all.
    let rest = SearchQuery { before: came.stopped_at, ..query("emea") };
    assert_eq!(items(&log, &rest), ["t1", "p2", "p1"]);
    // The connection is as good as before.
    assert_eq!(items(&log, &query("emea")), ["t1", "p2", "p1"]);
}

#[test]
fn i8_searches_and_readers_of_conversations_do_not_wait_for_one_another() {
    let disk = Disk::new();
    let log = library(&disk);
    // As many readers as there are, none of which comes back before a search was answered.
    let (began, done) = (std::sync::Barrier::new(READERS_MAX + 1), std::sync::Barrier::new(READERS_MAX + 1));
    std::thread::scope(|scope| {
        for _ in 0..READERS_MAX {
            scope.spawn(|| {
                let read = log.readers.read(|_connection| {
                    began.wait();
                    done.wait();
                    Ok(())
                });
                read.unwrap();
            });
        }
        began.wait();
        assert_eq!(items(&log, &query("emea")).len(), 3);
        done.wait();
    });
}

/// All pages of the list, of `limit` rows each.
fn pages(log: &SqliteLog, state: Option<RunStatus>, limit: usize) -> Vec<String> {
    let mut found: Vec<ConversationRow> = Vec::new();
    loop {
        let after = found.last().map(|row| (row.at, row.conversation.clone()));
        let page = log.list(&ListQuery { after, state, limit, ..ListQuery::default() }).unwrap();
        if page.is_empty() {
            return found.into_iter().map(|row| row.conversation.to_string()).collect();
        }
        found.extend(page);
    }
}

#[test]
fn the_list_pages_by_time_and_name_whatever_the_size_of_a_page() {
    let disk = Disk::new();
    let log = disk.open();
    for n in 0..40_u64 {
        let name = format!("c{n:02}");
        let history = events(1 + n % 5, 1 + n % 5, 4);
        let mut renumbered = Envelope::clone(&history[0]);
        renumbered.seq = 1;
        append(&log, &name, 0, &[Arc::new(renumbered)]);
        if n % 4 != 0 {
            let mut row = row(&name, &::model::View::default(), 7);
            row.state = Some(if n % 4 == 1 { RunStatus::Running } else { RunStatus::Complete });
            row.title = Some(name.clone());
            log.put_rows(vec![row]);
        }
    }
    stored(&log, log.sync());
    let all = pages(&log, None, 100);
    assert_eq!(all.len(), 40);
    assert_eq!(all[..3], ["c04", "c09", "c14"]);
    for limit in [1, 3, 7, 39, 40] {
        assert_eq!(pages(&log, None, limit), all);
    }
    let running = pages(&log, Some(RunStatus::Running), 3);
    assert_eq!(running.len(), 10);
    assert_eq!(running, all.iter().filter(|name| running.contains(name)).cloned().collect::<Vec<_>>());
    let rows = log.list(&ListQuery { limit: 3, ..ListQuery::default() }).unwrap();
    assert_eq!((rows[0].title.as_deref(), rows[0].head, rows[0].at), (None, 1, 1_795_300_000_005));
    assert_eq!((rows[1].title.as_deref(), rows[1].head, rows[1].at), (Some("c09"), 1, 1_795_300_000_005));
    assert_eq!(log.count(), 40);
}

#[test]
fn what_did_not_end_or_went_on_since_its_row_is_unfinished() {
    let disk = Disk::new();
    let log = disk.open();
    for (name, state, behind) in [
        ("runs", Some(RunStatus::Running), 0),
        ("ended", Some(RunStatus::Complete), 0),
        ("went-on", Some(RunStatus::Complete), 1),
        ("none", None, 0),
    ] {
        append(&log, name, 0, &events(1, 3, 4));
        let mut row = row(name, &::model::View::default(), 7);
        (row.state, row.head) = (state, 3 - behind);
        log.put_rows(vec![row]);
    }
    stored(&log, log.sync());
    assert_eq!(log.unfinished().unwrap(), [id("runs"), id("went-on")]);
}

#[test]
fn calls_add_up_over_commits_and_conversations() {
    let disk = Disk::new();
    let log = disk.open();
    let call = |name: &str, failed, latency_ms| EndedToolCall { name: name.into(), failed, latency_ms };
    for n in 0..100_u64 {
        let name = format!("c{}", n % 3);
        let calls = vec![call("run_sql", n % 10 == 0, Some(n * 10)), call("fetch", false, None)];
        append_with(&log, &name, n / 3, &events(n / 3 + 1, n / 3 + 1, 4), |append| append.calls = calls);
    }
    stored(&log, log.sync());
    let figures = log.tools().unwrap();
    assert_eq!(figures.len(), 2);
    let [fetch, sql] = &figures[..] else { panic!("{figures:?}") };
    assert_eq!((fetch.name.as_str(), fetch.calls, fetch.failed, fetch.p50_ms), ("fetch", 100, 0, None));
    assert_eq!((sql.name.as_str(), sql.calls, sql.failed), ("run_sql", 100, 10));
    let within =
        |told: Option<u64>, truth: u64| told.is_some_and(|told| told.abs_diff(truth) * 100 <= truth * 6);
    assert!(within(sql.p50_ms, 490) && within(sql.p95_ms, 940), "{sql:?}");
}
