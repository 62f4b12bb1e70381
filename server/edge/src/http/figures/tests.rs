//! Tests of what is asked for and what comes of it.

use event_log::measure::LatencyCounts;
use event_log::{MeasureSum, Measured, Metric};

use super::*;

fn sum(metric: Metric, start: u64, agent: &str, detail: &str, amount: i128) -> MeasureSum {
    let (agent, detail, latencies) = (agent.into(), detail.into(), LatencyCounts::default());
    MeasureSum { metric, start, agent, model: "".into(), tool: "".into(), detail, amount, latencies }
}

fn calls(agent: &str, bucket: u32, count: i64) -> MeasureSum {
    MeasureSum {
        latencies: LatencyCounts::of(bucket, count),
        ..sum(Metric::CallMs, 0, agent, "", i128::from(count))
    }
}

fn told(figures: &[Figure], groups: &[Group], sums: Vec<MeasureSum>) -> serde_json::Value {
    let query = MeasureQuery {
        metrics: Vec::new(),
        from: 0,
        to: 3 * HOUR_MS,
        step_ms: HOUR_MS,
        by: dimensions(groups),
    };
    serde_json::to_value(Series::of(figures, groups, &query, &Measured { sums, since: 7 })).unwrap()
}

#[test]
fn lines_have_a_number_for_each_step_and_the_largest_is_first() {
    let sums = vec![
        sum(Metric::Runs, 0, "a", "", 1),
        sum(Metric::Runs, 2 * HOUR_MS, "b", "", 5),
        sum(Metric::Runs, 2 * HOUR_MS, "a", "", 2),
    ];
    let series = told(&[Figure::Runs], &[Group::Agent], sums);
    let lines = &series["metrics"][0]["series"];
    assert_eq!(series["since"], 7);
    assert_eq!((&lines[0]["agent"], &lines[0]["total"]), (&"b".into(), &5.into()));
    assert_eq!(lines[1]["values"], serde_json::json!([1, 0, 2]));
}

#[test]
fn tokens_are_divided_and_reasons_are_told_apart() {
    let sums = vec![
        sum(Metric::InputTokens, 0, "", "", 100),
        sum(Metric::CachedTokens, 0, "", "", 60),
        sum(Metric::OutputTokens, 0, "", "", 30),
        sum(Metric::ReasoningTokens, 0, "", "", 10),
        sum(Metric::Ended, 0, "", "complete", 4),
        sum(Metric::Ended, 0, "", "rate_limited", 2),
        sum(Metric::Money, 0, "", "USD", 1_500_000_000_000),
        sum(Metric::Money, 0, "", "EUR", 2_000_000),
    ];
    let figures =
        ["fresh_tokens", "cached_tokens", "answer_tokens", "thinking_tokens", "tokens", "failures", "cost"];
    let figures: Vec<Figure> = figures.iter().map(|name| Figure::parse(name).unwrap()).collect();
    let series = told(&figures, &[Group::Reason], sums);
    let total = |n: usize| series["metrics"][n]["series"][0]["total"].as_i64().unwrap();
    assert_eq!([0, 1, 2, 3, 4].map(total), [40, 60, 20, 10, 130]);
    let failures = &series["metrics"][5]["series"];
    assert_eq!((failures.as_array().unwrap().len(), &failures[0]["reason"]), (1, &"rate_limited".into()));
    let cost = &series["metrics"][6]["series"];
    assert_eq!((&cost[0]["currency"], &cost[0]["total"]), (&"USD".into(), &1_500_000.into()));
    assert_eq!((&cost[1]["currency"], &cost[1]["total"]), (&"EUR".into(), &2.into()));
}

#[test]
fn percentiles_are_those_of_all_that_is_together_and_of_none_there_are_none() {
    let figures = ["tool_p50", "tool_p95", "tool_p99"].map(|name| Figure::parse(name).unwrap());
    let values = |sums: Vec<MeasureSum>| {
        let series = told(&figures, &[], sums);
        assert_eq!(series["metrics"][0]["unit"], "ms");
        [0, 1, 2].map(|n| series["metrics"][n]["series"][0]["values"].clone())
    };
    // Of a hundred the last one is beyond all of them.
    let same = serde_json::json!([10, null, null]);
    assert_eq!(values(vec![calls("a", 10, 99), calls("b", 20, 1)]), [same.clone(), same.clone(), same]);
    // The 50th, the 95th and the 99th of a hundred are of three agents.
    let apart = [10, 20, 30].map(|ms| serde_json::json!([ms, null, null]));
    assert_eq!(values(vec![calls("c", 30, 2), calls("a", 10, 90), calls("b", 20, 8)]), apart);
    let edge = [10, 10, 20].map(|ms| serde_json::json!([ms, null, null]));
    assert_eq!(values(vec![calls("a", 10, 95), calls("b", 20, 5)]), edge);
}

#[test]
fn i7_groups_beyond_the_limit_are_one() {
    let many = model::limits::SERIES_GROUPS_MAX + 7;
    let sums = (0..many).map(|n| sum(Metric::Runs, 0, &format!("a{n}"), "", 1 + i128::from(n > 6))).collect();
    let series = told(&[Figure::Runs], &[Group::Agent], sums);
    let lines = series["metrics"][0]["series"].as_array().unwrap();
    assert_eq!(lines.len(), model::limits::SERIES_GROUPS_MAX + 1);
    let others = lines.iter().find(|line| line["agent"] == "(others)").unwrap();
    assert_eq!(others["total"], 7);
}

#[test]
fn i7_what_makes_no_sense_is_refused_with_what_does() {
    let problem = |result: Result<u64, Problem>| format!("{:?}", result.err().unwrap());
    assert!(problem(step("5m")).contains("1h"));
    assert!(problem(step("0h")).contains("step"));
    assert_eq!((step("2d").unwrap(), step("6h").unwrap()), (2 * DAY_MS, 6 * HOUR_MS));
    let long = span(Some(0), Some((SERIES_STEPS_MAX + 1) * HOUR_MS), HOUR_MS);
    assert!(format!("{:?}", long.err().unwrap()).contains("longer"));
    assert!(span(Some(0), Some(SERIES_STEPS_MAX * HOUR_MS), HOUR_MS).is_ok());
    assert!(span(Some(HOUR_MS), Some(HOUR_MS), HOUR_MS).is_err());
    let unknown = list("metric", "runs,walks", Figure::parse).err().unwrap();
    assert!(format!("{unknown:?}").contains("walks") && format!("{unknown:?}").contains("tool_p99"));
    assert_eq!(list("by", "agent, model,agent", Group::parse).unwrap(), [Group::Agent, Group::Model]);
}
