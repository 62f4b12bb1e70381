//! Cases of what searches are narrowed to beside their words.

use model::event::RunStatus;

use super::material::{BEGIN, append_with, document, events, found, id, items, query, settle, stored};
use super::{LogUnderTest, cases};
use crate::{QueryCancel, SearchDocument, SearchDocumentKind, SearchQuery, rows};

cases! {
    Lasting:
        a_search_narrows_to_a_time,
        a_search_narrows_to_a_tool,
        a_search_narrows_to_a_state,
        a_search_narrows_to_an_agent,
        a_search_narrows_to_what_people_made_of_conversations,
        all_that_a_search_is_narrowed_to_holds_at_once,
        a_conversation_without_a_row_is_of_no_agent_and_state,
        a_narrowed_search_fills_its_page,
        a_narrowed_search_goes_on_where_it_was_stopped,
        nothing_that_a_search_is_narrowed_to_is_a_fault;
}

/// Appends one event with documents.
fn say(trial: &LogUnderTest<'_>, name: &str, after: u64, documents: Vec<SearchDocument>) {
    let events = events(after + 1, after + 1);
    let ticket = append_with(trial.log(), name, after, &events, |append| append.documents = documents);
    stored(trial.log(), ticket);
}

/// A document of a call of `tool`, or what somebody with that role said.
fn named(kind: SearchDocumentKind, item: &str, seq: u64, name: &str) -> SearchDocument {
    SearchDocument { name: name.into(), ..document(kind, item, seq, "needle") }
}

/// Says of a conversation what its row says of its newest run.
fn describe(trial: &LogUnderTest<'_>, name: &str, state: RunStatus, agent: &str, tags: &[&str]) {
    let mut row = rows::nameless(&id(name));
    row.state = Some(state);
    row.agent = Some(agent.to_owned());
    row.tags = tags.iter().map(|&tag| tag.into()).collect();
    row.archived = !tags.is_empty();
    row.head = 2;
    trial.log().put_rows(vec![row]);
}

/// Two conversations: one with a message, an answer and a call, and an archived one with calls.
fn library(trial: &LogUnderTest<'_>) {
    use SearchDocumentKind::{Arguments, Message, Result, Text};
    say(trial, "c", 0, vec![named(Message, "m1", 1, "user"), named(Text, "p1", 1, "")]);
    say(trial, "c", 1, vec![named(Arguments, "t1", 2, "run_sql")]);
    say(trial, "d", 0, vec![named(Arguments, "t2", 1, "Web_Search")]);
    say(trial, "d", 1, vec![named(Result, "t3", 2, "run_sql")]);
    describe(trial, "c", RunStatus::Running, "Coder \u{1}", &[]);
    describe(trial, "d", RunStatus::Error, "night-coder", &["Prod", "eu"]);
    settle(trial.log());
}

/// What a search for the word of all documents finds if it is narrowed so.
fn narrowed(trial: &LogUnderTest<'_>, narrow: impl FnOnce(&mut SearchQuery)) -> Vec<String> {
    let mut query = query("needle");
    narrow(&mut query);
    items(trial.log(), &query)
}

fn none() -> Vec<String> {
    Vec::new()
}

fn a_search_narrows_to_a_time(trial: &mut LogUnderTest<'_>) {
    library(trial);
    assert_eq!(narrowed(trial, |query| query.since = Some(BEGIN + 2)), ["t3", "t1"]);
    assert_eq!(narrowed(trial, |query| query.until = Some(BEGIN + 2)), ["t2", "p1", "m1"]);
    assert_eq!(narrowed(trial, |query| (query.since, query.until) = (Some(BEGIN), Some(BEGIN))), none());
    assert_eq!(narrowed(trial, |query| query.since = Some(u64::MAX)), none());
    assert_eq!(narrowed(trial, |query| query.until = Some(u64::MAX)).len(), 5);
}

fn a_search_narrows_to_a_tool(trial: &mut LogUnderTest<'_>) {
    library(trial);
    assert_eq!(narrowed(trial, |query| query.tool = Some("run_sql".into())), ["t3", "t1"]);
    assert_eq!(narrowed(trial, |query| query.tool = Some("WEB_s".into())), ["t2"]);
    assert_eq!(narrowed(trial, |query| query.tool = Some("user".into())), none(), "a role is no tool");
    assert_eq!(narrowed(trial, |query| query.tool = Some("run%".into())), none());
    let result = |query: &mut SearchQuery| {
        (query.tool, query.kind) = (Some("run_sql".into()), Some(SearchDocumentKind::Result));
    };
    assert_eq!(narrowed(trial, result), ["t3"]);
}

fn a_search_narrows_to_a_state(trial: &mut LogUnderTest<'_>) {
    library(trial);
    assert_eq!(narrowed(trial, |query| query.state = Some(RunStatus::Error)), ["t3", "t2"]);
    assert_eq!(narrowed(trial, |query| query.state = Some(RunStatus::Running)), ["t1", "p1", "m1"]);
    assert_eq!(narrowed(trial, |query| query.state = Some(RunStatus::Complete)), none());
}

fn a_search_narrows_to_an_agent(trial: &mut LogUnderTest<'_>) {
    library(trial);
    assert_eq!(narrowed(trial, |query| query.agent = Some("CODER".into())).len(), 5);
    assert_eq!(narrowed(trial, |query| query.agent = Some("night-coder".into())), ["t3", "t2"]);
    assert_eq!(narrowed(trial, |query| query.agent = Some("coder \u{1}".into())), ["t1", "p1", "m1"]);
    assert_eq!(narrowed(trial, |query| query.agent = Some("agent".into())), none());
}

fn a_search_narrows_to_what_people_made_of_conversations(trial: &mut LogUnderTest<'_>) {
    library(trial);
    assert_eq!(narrowed(trial, |query| query.tag = Some("Prod".into())), ["t3", "t2"]);
    assert_eq!(narrowed(trial, |query| query.tag = Some("prod".into())), none());
    assert_eq!(narrowed(trial, |query| query.tag = Some("Pro".into())), none());
    assert_eq!(narrowed(trial, |query| query.archived = Some(true)), ["t3", "t2"]);
    assert_eq!(narrowed(trial, |query| query.archived = Some(false)), ["t1", "p1", "m1"]);
}

fn all_that_a_search_is_narrowed_to_holds_at_once(trial: &mut LogUnderTest<'_>) {
    library(trial);
    let all = |query: &mut SearchQuery| {
        (query.since, query.until) = (Some(BEGIN + 1), Some(BEGIN + 3));
        (query.tool, query.agent) = (Some("run_sql".into()), Some("night".into()));
        (query.state, query.archived) = (Some(RunStatus::Error), Some(true));
        (query.tag, query.kind) = (Some("eu".into()), Some(SearchDocumentKind::Result));
        query.conversation = Some(id("d"));
    };
    assert_eq!(narrowed(trial, all), ["t3"]);
    let but_one = |query: &mut SearchQuery| {
        all(query);
        query.state = Some(RunStatus::Complete);
    };
    assert_eq!(narrowed(trial, but_one), none());
}

fn a_conversation_without_a_row_is_of_no_agent_and_state(trial: &mut LogUnderTest<'_>) {
    say(trial, "c", 0, vec![named(SearchDocumentKind::Result, "t1", 1, "run_sql")]);
    assert_eq!(narrowed(trial, |query| query.agent = Some("c".into())), none());
    assert_eq!(narrowed(trial, |query| query.state = Some(RunStatus::Running)), none());
    assert_eq!(narrowed(trial, |query| query.archived = Some(false)), ["t1"]);
}

fn a_narrowed_search_fills_its_page(trial: &mut LogUnderTest<'_>) {
    let tool = |n: u64| if n.is_multiple_of(50) { "rare" } else { "common" };
    let many = (1..=600).map(|n| named(SearchDocumentKind::Result, &format!("t{n}"), 1, tool(n))).collect();
    say(trial, "c", 0, many);
    let rare = SearchQuery { tool: Some("rare".into()), limit: 5, ..query("needle") };
    assert_eq!(items(trial.log(), &rare), ["t600", "t550", "t500", "t450", "t400"]);
    let last = found(trial.log(), &rare).last().map(|hit| hit.id);
    let next = SearchQuery { before: last, limit: 50, ..rare };
    assert_eq!(items(trial.log(), &next), ["t350", "t300", "t250", "t200", "t150", "t100", "t50"]);
}

fn a_narrowed_search_goes_on_where_it_was_stopped(trial: &mut LogUnderTest<'_>) {
    library(trial);
    let query = SearchQuery { state: Some(RunStatus::Error), since: Some(BEGIN), ..query("needle") };
    let stop = QueryCancel::default();
    stop.cancel();
    let came = trial.log().search(&query, &stop).expect("it ends");
    assert!(came.hits.is_empty() && came.stopped_at.is_some());
    assert_eq!(items(trial.log(), &SearchQuery { before: came.stopped_at, ..query }), ["t3", "t2"]);
}

fn nothing_that_a_search_is_narrowed_to_is_a_fault(trial: &mut LogUnderTest<'_>) {
    library(trial);
    for text in
        ["'", "\"", "\\", "%", "_", "\0", "\u{1}", "\u{1}0", "?1", "$1", "\n", "'; DROP TABLE word; --", "漢"]
    {
        for place in 0..3 {
            let mut query = query("needle");
            let narrow = [&mut query.tool, &mut query.agent, &mut query.tag];
            for (_, field) in narrow.into_iter().enumerate().filter(|(at, _)| *at == place) {
                *field = Some(text.into());
            }
            trial
                .log()
                .search(&query, &QueryCancel::default())
                .unwrap_or_else(|error| panic!("{text:?}: {error}"));
        }
    }
}
