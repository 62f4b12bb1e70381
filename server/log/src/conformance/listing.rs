//! Cases of the list of conversations and the figures of tools.

use model::event::RunStatus;
use model::limits::{ID_BYTES_MAX, TOOLS_MAX};
use model::testkit;

use super::material::{
    BEGIN, append, append_with, at, events, everything, id, names, row, settle, status, stored,
};
use super::{LogUnderTest, cases};
use crate::{Append, EndedToolCall, ListQuery, ToolFigures};

cases! {
    Lasting:
        the_newest_activity_comes_first_and_names_decide_the_rest,
        what_people_make_of_a_conversation_does_not_move_it,
        the_list_pages_whatever_the_size_of_a_page,
        the_list_narrows_to_a_state,
        the_list_is_narrowed_to_what_people_made_of_conversations,
        a_row_is_kept_as_it_was_given,
        a_conversation_without_a_row_is_listed,
        a_row_says_where_the_conversation_stands_now,
        an_older_row_does_not_replace_a_newer,
        a_row_of_an_unknown_conversation_is_nothing,
        a_state_brings_its_row,
        what_is_listed_is_nobodys_viewer,
        names_are_in_the_order_of_their_bytes,
        the_list_begins_behind_what_is_not_there,
        what_did_not_end_or_went_on_since_its_row_is_unfinished,
        calls_add_up_over_commits_and_conversations,
        a_tool_without_latencies_has_no_quantiles,
        quantiles_come_close,
        tools_have_bounded_names_and_a_bounded_number;
}

/// Appends a conversation with one event at `time`.
fn one(trial: &LogUnderTest<'_>, name: &str, time: u64) {
    let mut envelope = model::Envelope::clone(&status(1, String::from("x")));
    envelope.at = time;
    append(trial.log(), name, 0, &[envelope.into()]);
}

/// The names on all pages of the list with `limit` rows each.
fn pages(trial: &LogUnderTest<'_>, state: Option<RunStatus>, limit: usize) -> Vec<String> {
    let mut found: Vec<(u64, model::ConversationId)> = Vec::new();
    loop {
        let query = ListQuery { after: found.last().cloned(), state, limit, ..ListQuery::default() };
        let page = trial.log().list(&query).expect("it lists");
        if page.is_empty() {
            return found.into_iter().map(|(_, name)| name.to_string()).collect();
        }
        assert!(page.len() <= limit);
        found.extend(page.into_iter().map(|row| (row.at, row.conversation)));
    }
}

fn the_newest_activity_comes_first_and_names_decide_the_rest(trial: &mut LogUnderTest<'_>) {
    for (name, time) in [("b", 5), ("a", 5), ("new", 9), ("old", 1), ("c", 5)] {
        one(trial, name, BEGIN + time);
    }
    settle(trial.log());
    assert_eq!(names(trial.log(), &everything()), ["new", "a", "b", "c", "old"]);
    append(trial.log(), "old", 1, &events(2, 2_000));
    settle(trial.log());
    assert_eq!(names(trial.log(), &everything()), ["old", "new", "a", "b", "c"]);
}

fn what_people_make_of_a_conversation_does_not_move_it(trial: &mut LogUnderTest<'_>) {
    for (name, time) in [("a", 1), ("b", 5)] {
        one(trial, name, BEGIN + time);
    }
    let mut label = model::Envelope::clone(&status(2, String::from("x")));
    label.at = BEGIN + 9;
    label.event = model::Event::new(&model::RunId::none(), model::Kind::Label(Box::default()));
    append(trial.log(), "a", 1, &[label.into()]);
    settle(trial.log());
    assert_eq!(names(trial.log(), &everything()), ["b", "a"]);
    let rows = trial.log().list(&everything()).expect("it lists");
    assert_eq!(rows.last().map(|row| (row.head, row.at)), Some((2, BEGIN + 1)));
    let mut later = model::Envelope::clone(&status(3, String::from("x")));
    later.at = BEGIN + 10;
    append(trial.log(), "a", 2, &[later.into()]);
    settle(trial.log());
    assert_eq!(names(trial.log(), &everything()), ["a", "b"]);
}

fn the_list_pages_whatever_the_size_of_a_page(trial: &mut LogUnderTest<'_>) {
    for n in 0..40 {
        one(trial, &format!("c{n:02}"), BEGIN + n % 5);
    }
    settle(trial.log());
    let all = pages(trial, None, 100);
    assert_eq!(all.len(), 40);
    assert_eq!(all.get(..3), Some(&[String::from("c04"), String::from("c09"), String::from("c14")][..]));
    for limit in [1, 3, 7, 39, 40] {
        assert_eq!(pages(trial, None, limit), all);
    }
}

fn the_list_narrows_to_a_state(trial: &mut LogUnderTest<'_>) {
    let states = [
        RunStatus::Running,
        RunStatus::Complete,
        RunStatus::Error,
        RunStatus::Cancelled,
        RunStatus::Interrupted,
    ];
    for (n, state) in (0..10).zip(states.into_iter().cycle()) {
        let name = format!("c{n}");
        one(trial, &name, BEGIN + n);
        let mut row = row(&name, &model::View::default(), 1);
        row.state = Some(state);
        trial.log().put_rows(vec![row]);
    }
    one(trial, "none", BEGIN);
    settle(trial.log());
    for (n, state) in (0..).zip(states) {
        let wanted = [format!("c{}", n + 5), format!("c{n}")];
        for limit in [1, 2, 9] {
            assert_eq!(pages(trial, Some(state), limit), wanted);
        }
    }
}

fn the_list_is_narrowed_to_what_people_made_of_conversations(trial: &mut LogUnderTest<'_>) {
    let made = [
        ("a", true, false, "x"),
        ("b", false, true, "x xy"),
        ("c", true, true, ""),
        ("d", false, false, "xy"),
    ];
    let folded = testkit::folded(&events(1, 1));
    for (name, pinned, archived, tags) in made {
        one(trial, name, BEGIN + 5);
        let tags = tags.split_whitespace().map(Into::into).collect();
        let row = model::frame::ConversationRow { pinned, archived, tags, ..row(name, &folded, BEGIN + 5) };
        trial.log().put_rows(vec![row]);
    }
    settle(trial.log());
    let of = |pinned, archived, tag: Option<&str>, state| {
        let query = ListQuery { pinned, archived, tag: tag.map(Into::into), state, ..everything() };
        names(trial.log(), &query).concat()
    };
    assert_eq!(of(None, None, None, None), "abcd");
    assert_eq!(
        (of(Some(true), None, None, None), of(Some(false), None, None, None)),
        ("ac".into(), "bd".into())
    );
    assert_eq!(
        (of(None, Some(true), None, None), of(None, Some(false), None, None)),
        ("bc".into(), "ad".into())
    );
    assert_eq!(
        (of(None, None, Some("x"), None), of(None, None, Some("xy"), None)),
        ("ab".into(), "bd".into())
    );
    assert_eq!(of(Some(false), Some(true), Some("x"), None), "b");
    let state = folded.runs.last().map(|(_, run)| run.status);
    assert_eq!(of(Some(false), None, Some("xy"), state), "bd", "beside a state");
    assert_eq!(of(None, None, Some("nobody's"), state), "");
    let after = ListQuery { pinned: Some(true), after: Some((BEGIN + 5, id("a"))), ..everything() };
    assert_eq!(names(trial.log(), &after), ["c"], "pages go on");
}

fn a_row_is_kept_as_it_was_given(trial: &mut LogUnderTest<'_>) {
    append(trial.log(), "c", 0, &events(1, 3));
    let mut given = row("c", &testkit::folded(&events(1, 3)), BEGIN + 3);
    given.title = Some(String::from("a \"title\" with \0 and 漢字"));
    given.activity = Some(String::from("\u{1}"));
    (given.tools, given.failed, given.approvals, given.agents, given.anomalies) = (1, 2, 3, 4, 5);
    given.used = vec!["m1".into(), "m2".into()];
    (given.pinned, given.archived, given.tags) = (true, true, vec!["prod".into(), "漢字".into()]);
    given.state = Some(RunStatus::Running);
    trial.log().put_rows(vec![given.clone()]);
    settle(trial.log());
    assert_eq!(trial.log().list(&everything()), Ok(vec![given]));
}

fn a_conversation_without_a_row_is_listed(trial: &mut LogUnderTest<'_>) {
    append(trial.log(), "c", 0, &events(1, 3));
    settle(trial.log());
    let rows = trial.log().list(&everything()).expect("it lists");
    let row = rows.first().expect("one");
    assert_eq!((row.title.as_ref(), row.state, row.head, row.at), (None, None, 3, BEGIN + 3));
    assert_eq!(row.epoch, at(0).epoch);
}

fn a_row_says_where_the_conversation_stands_now(trial: &mut LogUnderTest<'_>) {
    append(trial.log(), "c", 0, &events(1, 3));
    trial.log().put_rows(vec![row("c", &testkit::folded(&events(1, 3)), 1)]);
    append(trial.log(), "c", 3, &events(4, 9));
    settle(trial.log());
    let rows = trial.log().list(&everything()).expect("it lists");
    assert_eq!(rows.first().map(|row| (row.head, row.at)), Some((9, BEGIN + 9)));
}

fn an_older_row_does_not_replace_a_newer(trial: &mut LogUnderTest<'_>) {
    append(trial.log(), "c", 0, &events(1, 9));
    for (head, title) in [(9, "new"), (4, "old")] {
        let mut row = row("c", &model::View::default(), 1);
        (row.head, row.title) = (head, Some(String::from(title)));
        trial.log().put_rows(vec![row]);
        settle(trial.log());
    }
    let rows = trial.log().list(&everything()).expect("it lists");
    assert_eq!(rows.first().and_then(|row| row.title.as_deref()), Some("new"));
}

fn a_row_of_an_unknown_conversation_is_nothing(trial: &mut LogUnderTest<'_>) {
    trial.log().put_rows(vec![row("c", &model::View::default(), 1)]);
    settle(trial.log());
    assert_eq!((trial.log().list(&everything()), trial.log().count()), (Ok(Vec::new()), 0));
}

fn a_state_brings_its_row(trial: &mut LogUnderTest<'_>) {
    append(trial.log(), "c", 0, &events(1, 4));
    let mut kept = super::material::checkpoint("c", &events(1, 4), 0);
    kept.row.title = Some(String::from("of the state"));
    trial.log().keep(kept);
    settle(trial.log());
    let rows = trial.log().list(&everything()).expect("it lists");
    assert_eq!(rows.first().and_then(|row| row.title.as_deref()), Some("of the state"));
}

fn what_is_listed_is_nobodys_viewer(trial: &mut LogUnderTest<'_>) {
    append(trial.log(), "c", 0, &events(1, 1));
    let mut row = row("c", &testkit::folded(&events(1, 1)), 1);
    row.viewers = 5;
    trial.log().put_rows(vec![row]);
    settle(trial.log());
    let rows = trial.log().list(&everything()).expect("it lists");
    assert_eq!(rows.first().map(|row| row.viewers), Some(0));
}

fn names_are_in_the_order_of_their_bytes(trial: &mut LogUnderTest<'_>) {
    let mut wanted = ["Z", "a", "B", "_", "-", "0", "é", "z", "~", "漢", "a b", "a.b", "ab", "A"];
    for name in wanted {
        one(trial, name, BEGIN);
    }
    settle(trial.log());
    wanted.sort_unstable();
    assert_eq!(names(trial.log(), &everything()), wanted);
    assert_eq!(pages(trial, None, 3), wanted);
}

fn the_list_begins_behind_what_is_not_there(trial: &mut LogUnderTest<'_>) {
    for (name, time) in [("a", 1), ("c", 1), ("e", 0)] {
        one(trial, name, BEGIN + time);
    }
    settle(trial.log());
    let after = |time, name| ListQuery { after: Some((BEGIN + time, id(name))), ..everything() };
    assert_eq!(names(trial.log(), &after(1, "b")), ["c", "e"]);
    assert_eq!(names(trial.log(), &after(2, "z")), ["a", "c", "e"]);
    assert_eq!(names(trial.log(), &after(0, "e")), Vec::<String>::new());
    assert_eq!(names(trial.log(), &ListQuery { limit: 0, ..everything() }), Vec::<String>::new());
}

fn what_did_not_end_or_went_on_since_its_row_is_unfinished(trial: &mut LogUnderTest<'_>) {
    for (name, state, behind) in [
        ("runs", Some(RunStatus::Running), 0),
        ("ended", Some(RunStatus::Complete), 0),
        ("went-on", Some(RunStatus::Complete), 1),
        ("none", None, 0),
    ] {
        append(trial.log(), name, 0, &events(1, 3));
        let mut row = row(name, &model::View::default(), 7);
        (row.state, row.head) = (state, 3 - behind);
        trial.log().put_rows(vec![row]);
    }
    settle(trial.log());
    assert_eq!(trial.log().unfinished(), Ok(vec![id("runs"), id("went-on")]));
}

fn call(name: &str, failed: impl Into<Option<()>>, latency_ms: Option<u64>) -> EndedToolCall {
    EndedToolCall { name: name.into(), failed: failed.into().is_some(), latency_ms }
}

/// Appends an event with `calls`.
fn calls(trial: &LogUnderTest<'_>, name: &str, after: u64, calls: Vec<EndedToolCall>) {
    append_with(trial.log(), name, after, &events(after + 1, after + 1), |append| append.calls = calls);
}

fn figures(trial: &LogUnderTest<'_>) -> Vec<ToolFigures> {
    settle(trial.log());
    trial.log().tools().expect("figures")
}

fn calls_add_up_over_commits_and_conversations(trial: &mut LogUnderTest<'_>) {
    for n in 0..40 {
        let failed = (n % 10 == 0).then_some(());
        let both = vec![call("run_sql", failed, Some(n)), call("fetch", (), None), call("fetch", None, None)];
        calls(trial, &format!("c{}", n % 2), n / 2, both);
        if n % 7 == 0 {
            settle(trial.log());
        }
    }
    let told: Vec<_> =
        figures(trial).into_iter().map(|tool| (tool.name.to_string(), tool.calls, tool.failed)).collect();
    assert_eq!(told, [(String::from("fetch"), 80, 40), (String::from("run_sql"), 40, 4)]);
}

fn a_tool_without_latencies_has_no_quantiles(trial: &mut LogUnderTest<'_>) {
    assert!(figures(trial).is_empty());
    calls(trial, "c", 0, vec![call("fetch", None, None)]);
    let tools = figures(trial);
    assert_eq!(tools.first().map(|tool| (tool.p50_ms, tool.p95_ms)), Some((None, None)));
}

fn quantiles_come_close(trial: &mut LogUnderTest<'_>) {
    for n in 0..100 {
        calls(trial, "c", n, vec![call("run_sql", None, Some(n * 10))]);
    }
    let within =
        |told: Option<u64>, truth: u64| told.is_some_and(|told| told.abs_diff(truth) * 100 <= truth * 6);
    let tools = figures(trial);
    let sql = tools.first().expect("one");
    assert!(within(sql.p50_ms, 490) && within(sql.p95_ms, 940), "{sql:?}");
}

fn tools_have_bounded_names_and_a_bounded_number(trial: &mut LogUnderTest<'_>) {
    let long = "ä".repeat(ID_BYTES_MAX);
    let many = (0..TOOLS_MAX + 3).map(|n| call(&format!("t{n:06}"), None, Some(1))).collect();
    let ticket = trial
        .log()
        .append(Append {
            calls: vec![call(&long, None, None), call("a\0b", None, None)],
            ..Append::of(&id("c"), &at(0), &events(1, 1))
        })
        .expect("it continues");
    stored(trial.log(), ticket);
    calls(trial, "c", 1, many);
    let tools = figures(trial);
    assert_eq!(tools.len(), TOOLS_MAX + 1, "so many, and all others as one");
    assert!(tools.iter().all(|tool| tool.name.len() <= ID_BYTES_MAX));
    let others = tools.iter().find(|tool| tool.name == "(others)").expect("the others");
    assert_eq!(others.calls, 5);
}
