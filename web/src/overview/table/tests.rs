//! Tests of columns and order.

use super::*;

fn row(name: &str, more: &str) -> ConversationRow {
    let row = format!(
        r#"{{"conversation":"{name}","title":null,"state":"running","activity":null,"epoch":"e","head":1,"started_at":1000,
        "ended_at":null,"at":1000,"runs":1,"tools":0,"failed":0,"approvals":0,"agents":0,"anomalies":0{more}}}"#
    );
    serde_json::from_str(&row).unwrap()
}

fn usage(input: u64, cost: &str) -> String {
    format!(
        r#","usage":{{"input_tokens":{input},"output_tokens":1,"cost":{{"amount":"{cost}","currency":"USD"}}}}"#
    )
}

fn order(wanted: &Wanted, rows: &[ConversationRow], now: u64) -> Vec<usize> {
    wanted.order(rows.iter(), now)
}

#[test]
fn names_are_read_again_and_each_column_has_one() {
    for column in Column::ALL {
        assert_eq!(Column::parse(column.name()), Some(column));
        for descending in [true, false] {
            let sort = Sort { column, descending };
            assert_eq!(Sort::parse(&sort.word()), Some(sort));
        }
    }
    assert_eq!(Sort::parse("colour"), None);
}

#[test]
fn the_dearest_comes_first_and_what_has_no_price_last() {
    let rows = [row("a", ""), row("b", &usage(10, "0.5")), row("c", &usage(9_000, "12"))];
    let sort = Sort::default().clicked(Column::Cost);
    let wanted = Wanted { sort, ..Wanted::default() };
    assert_eq!(order(&wanted, &rows, 2_000), [2, 1, 0]);
    let again = Wanted { sort: sort.clicked(Column::Cost), ..Wanted::default() };
    assert_eq!(order(&again, &rows, 2_000), [0, 1, 2]);
    assert_eq!(Column::Cost.text(&rows[2], 0), format::cost(rows[2].usage.unwrap().cost.unwrap()));
    assert_eq!(Column::Tokens.text(&rows[0], 0), "");
    // Whether 1 EUR is more than 12 USD is not known: the rows of one currency stay together.
    let euro = row("e", &usage(10, "1").replace("USD", "EUR"));
    let [a, b, c] = rows;
    assert_eq!(order(&wanted, &[a, c, euro, b], 2_000), [1, 3, 2, 0]);
}

#[test]
fn hosts_are_a_column_that_is_chosen_and_sorted_by_name() {
    let rows = [row("a", r#","host":"box-2""#), row("b", ""), row("c", r#","host":"box-1""#)];
    let wanted = Wanted { sort: Sort::default().clicked(Column::Host), ..Wanted::default() };
    assert_eq!(order(&wanted, &rows, 2_000), [1, 2, 0]);
    assert_eq!(
        (Column::Host.text(&rows[0], 0), Column::Host.text(&rows[1], 0)),
        ("box-2".into(), String::new())
    );
    assert!(!Column::USUAL.contains(&Column::Host));
}

#[test]
fn the_longest_silent_comes_first_and_the_most_urgent_state() {
    let asks = row("asks", r#","asks":"deploy""#);
    let asks = ConversationRow { approvals: 1, ..asks };
    let late = ConversationRow { at: 500_000, ..row("late", "") };
    let rows = [late, row("silent", ""), asks];
    let silent = Wanted { sort: Sort::default().clicked(Column::Silent), ..Wanted::default() };
    assert_eq!(order(&silent, &rows, 600_000)[0], 1);
    assert_eq!(Column::Silent.text(&rows[1], 600_000), format::age(599_000));
    let stalled = ConversationRow { stalled: true, at: 590_000, ..row("stalled", "") };
    assert_eq!(Column::Silent.text(&stalled, 600_000), "< 1 m");
    // What it called is not known to go on: no time of a stalled run grows.
    let calls = row("calls", r#","call":{"name":"run_sql","since":2000}"#);
    assert_eq!(Column::Call.text(&calls, 62_000), "run_sql · 1:00");
    let calls = ConversationRow { stalled: true, at: 9_000, ..calls };
    for now in [62_000, 600_000] {
        assert_eq!(
            (Column::Call.text(&calls, now), Column::Took.text(&calls, now)),
            ("run_sql · ≥ 0:07".into(), "0:08".into())
        );
    }
    let state = Wanted { sort: Sort { column: Column::State, descending: false }, ..Wanted::default() };
    assert_eq!(order(&state, &rows, 600_000), [2, 0, 1]);
    assert_eq!(Column::Call.text(&rows[2], 0), "deploy · waiting for approval");
}

#[test]
fn rows_are_those_of_the_filter_and_of_the_time() {
    let done = ConversationRow { state: Some(RunStatus::Complete), at: 9_000, ..row("done", "") };
    let rows = [row("run", r#","model":"m-1""#), done];
    let filtered = Wanted { filter: Filter::parse("state:complete"), ..Wanted::default() };
    assert_eq!(order(&filtered, &rows, 9_500), [1]);
    let then = |from, to| Wanted { time: Some((from, to)), ..Wanted::default() };
    assert_eq!(order(&then(0, 999), &rows, 9_500), Vec::<usize>::new());
    assert_eq!(order(&then(0, 1_001), &rows, 9_500), [1, 0]);
    assert_eq!(order(&then(2_000, 9_000), &rows, 9_500), [1]);
}

#[test]
fn the_last_words_are_those_that_are_being_written() {
    let said = row("a", r#","said":"and then the ledger""#);
    assert_eq!(Column::Words.text(&said, 0), "and then the ledger");
    assert_eq!(Column::Words.text(&row("b", ""), 0), "working");
}

#[test]
fn many_rows_are_summed_up() {
    let rows = [row("a", &usage(999, "1")), row("b", &usage(0, "0.5"))];
    let told = RowSums::of(rows.iter()).words(9);
    assert!(told.starts_with("2 of 9 conversations · 2 running · ") && told.contains("tokens"), "{told}");
    assert_eq!(RowSums::default().words(0), "0 of 0 conversations");
}
