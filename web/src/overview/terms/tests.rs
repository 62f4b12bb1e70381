//! Tests of what is typed.

use super::*;

/// A calendar in which every month has 31 days and every year 12 months, from 1970 on.
fn local([year, month, day, hour, minute]: [u32; 5]) -> u64 {
    let days = u64::from((year - 1970) * 372 + (month - 1) * 31 + day - 1);
    (days * 24 + u64::from(hour)) * 3_600_000 + u64::from(minute) * 60_000
}

fn path(text: &str) -> String {
    let clock = Clock { now: 10 * 86_400_000, local: &local };
    SearchTerms::parse(text).unwrap().path(&clock, None).unwrap_or_default()
}

#[test]
fn words_and_conditions_become_one_request() {
    let begin = format!("/v1/search?limit={HITS}&q=");
    let cases = [
        ("exit code", "exit%20code"),
        ("\"exit code\" fail*", "%22exit%20code%22%20fail%2A"),
        ("x kind:answer", "x&kind=text"),
        ("KIND:Result x TOOL:Run_SQL", "x&kind=result&tool=Run_SQL"),
        ("x agent:\"Night coder\" state:failed", "x&agent=Night%20coder&state=error"),
        ("x is:archived tag:Prod in:\"a b\"", "x&archived=only&tag=Prod&conversation=a%20b"),
        ("x since:7d until:24h", "x&since=259200000&until=777600000"),
        ("x since:1970-01-02 until:1970-01-02", "x&since=86400000&until=172800000"),
        ("x since:1970-01-01T01:30", "x&since=5400000"),
        // A condition that is still being typed holds for all texts.
        ("x kind: tool:", "x"),
        // Code is words, and so is a condition in quotes.
        ("TypeError:x http://y", "TypeError%3Ax%20http%3A%2F%2Fy"),
        ("\"state:error y\"", "%22state%3Aerror%20y%22"),
    ];
    for (text, wanted) in cases {
        assert_eq!(path(text), format!("{begin}{wanted}"), "{text}");
    }
    let clock = Clock { now: 0, local: &local };
    let older = SearchTerms::parse("x").unwrap().path(&clock, Some(7));
    assert_eq!(older, Some(format!("{begin}x&before=7")));
}

#[test]
fn without_a_word_nothing_is_asked() {
    for text in ["", "  ", "tool:run_sql", "\"\"", "* -- kind:result"] {
        assert_eq!(path(text), "", "{text}");
    }
}

#[test]
fn what_cannot_be_searched_for_is_said_with_what_can() {
    let of = |text| SearchTerms::parse(text).unwrap_err();
    assert_eq!(
        of("x state:silent"),
        "state:silent cannot be searched for; use state:running, state:complete, state:error, state:cancelled, state:interrupted"
    );
    assert_eq!(of("is:pinned"), "is:pinned cannot be searched for; use is:archived");
    assert_eq!(of("since:soon"), "since:soon is not a time; use since:24h, since:7d or since:2026-11-20");
    assert_eq!(of("tool:a tool:b"), "tool: stands twice; use it once");
    assert_eq!(of("tool:a kind:message"), "tool: goes with kind:arguments or kind:result, or without kind:");
    for odd in ["2026-13-01", "2026-1", "99", "1x", "2026-01-01T25:00", "-1d", "d", "18446744073709551615d"] {
        assert_eq!(moment(odd), None, "{odd}");
    }
    assert!(unknown("x model:qwen").is_some_and(|said| said.starts_with("model: is a condition of lists")));
    assert_eq!((unknown("TypeError:x tool:y"), unknown("\"model:x\"")), (None, None));
}

#[test]
fn a_condition_is_put_in_changed_and_taken_out() {
    assert_eq!(with_condition("a \"b c\"", "kind", "result"), "a \"b c\" kind:result");
    assert_eq!(with_condition("kind:result a", "kind", "answer"), "a kind:answer");
    assert_eq!(with_condition("a kind:result", "kind", ""), "a");
    assert_eq!(with_condition("a", "agent", "night coder"), "a agent:\"night coder\"");
    assert_eq!(condition_of("a agent:\"night coder\"", "agent"), "night coder");
    assert_eq!(condition_of("a", "agent"), "");
    assert_eq!(words_of("a kind:result \"b c\" tool:x"), "a \"b c\"");
}

#[test]
fn values_are_offered_for_the_condition_that_is_typed() {
    let row = |more: &str| {
        let row = format!(
            r#"{{"conversation":"c","title":"T","state":"running","activity":null,"epoch":"e","head":1,"started_at":1,"ended_at":null,
            "at":1,"runs":1,"tools":0,"anomalies":0,"failed":0,"approvals":0,"agents":0,{more}}}"#
        );
        serde_json::from_str::<ConversationRow>(&row).unwrap()
    };
    let rows =
        [row(r#""agent":"night coder","used":["grep",""],"tags":["Prod"]"#), row(r#""agent":"writer""#)];
    // What has no name is no value: it would be taken for any tool.
    let tools = [String::new(), "run_sql".to_owned()];
    let of = |text| completions(text, &tools, rows.iter());
    assert_eq!(of("x tool:"), ["x tool:grep", "x tool:run_sql"]);
    assert_eq!(of("x agent:n"), ["x agent:\"night coder\""]);
    assert_eq!(of("x kind:ar"), ["x kind:arguments"]);
    assert_eq!(of("x s"), ["x state:", "x since:"]);
    assert_eq!((of(""), of("x "), of("x tool:grep"), of("xyz")), (vec![], vec![], vec![], vec![]));
}

#[test]
fn a_quote_that_is_open_is_closed_before_a_condition_is_added() {
    let cases = [
        ("\"exit code", "\"exit code\" tool:run_sql"),
        ("\"exit code ", "\"exit code\" tool:run_sql"),
        ("x agent:\"night cod", "x agent:\"night cod\" tool:run_sql"),
        ("\"exit code\" x", "\"exit code\" x tool:run_sql"),
        // One of the same key goes, open or not.
        ("x tool:\"a b", "x tool:run_sql"),
    ];
    for (text, wanted) in cases {
        let put = with_condition(text, "tool", "run_sql");
        assert_eq!(put, wanted, "{text}");
        assert_eq!(condition_of(&put, "tool"), "run_sql", "{text}");
    }
    assert_eq!(with_condition("\"exit code", "tool", ""), "\"exit code\"");
}
