//! What runs, calls and models took and cost, over HTTP.

use serde_json::{Value, json};
use tests::TestHub;

const RUN: &str = r#"
    {"k":"run.start","run":"r","name":"coder","model":"m-1"}
    {"k":"tool.call","tool":"t1","name":"run_sql","arguments":"{}","run":"r"}
    {"k":"tool.result","tool":"t1","output":"42","exec_ms":840,"run":"r"}
    {"k":"run.update","usage":{"input_tokens":1000,"output_tokens":200,"cached_tokens":600,"reasoning_tokens":50,"cost":{"amount":"0.0125","currency":"USD"}},"run":"r"}
    {"k":"run.end","status":"complete","run":"r"}
    {"k":"run.start","run":"r2","name":"writer","model":"m-2"}
    {"k":"error","code":"rate_limited","message":"later","run":"r2"}
    {"k":"run.end","status":"error","run":"r2"}
"#;

fn total(series: &Value, metric: &str) -> Value {
    let metrics = series["metrics"].as_array().unwrap_or_else(|| panic!("{series}"));
    let found = metrics.iter().find(|it| it["metric"] == metric).unwrap();
    found["series"].as_array().unwrap().iter().map(|line| line["total"].clone()).collect()
}

#[tokio::test]
async fn series_and_tables_have_what_runs_took_and_cost_and_keep_it_over_a_crash() {
    let mut hub = TestHub::start().await;
    hub.publisher("c").await.says(RUN).await;
    for _ in 0..2 {
        let series: Value =
            hub.json("/v1/series?metric=runs,failures,calls,tool_p50,fresh_tokens,cached_tokens,answer_tokens,thinking_tokens,cost&by=reason").await;
        assert_eq!(total(&series, "runs"), json!([2]));
        assert_eq!(total(&series, "failures"), json!([1]));
        assert_eq!(total(&series, "calls"), json!([1]));
        let tokens = ["fresh_tokens", "cached_tokens", "answer_tokens", "thinking_tokens"];
        assert_eq!(tokens.map(|metric| total(&series, metric)), [400, 600, 150, 50].map(|n| json!([n])));
        assert_eq!(total(&series, "cost"), json!([12_500]));
        let p50 = total(&series, "tool_p50")[0].as_u64().unwrap();
        assert!((840..=870).contains(&p50), "{p50}");
        assert_eq!(series["metrics"][0]["series"][0]["values"].as_array().unwrap().len(), 24);
        let table: Value = hub.json("/v1/usage?by=agent,model").await;
        let rows = table["rows"].as_array().unwrap();
        assert_eq!((rows.len(), &rows[0]["agent"], &rows[1]["failures"]), (2, &json!("coder"), &json!(1)));
        assert_eq!(rows[0]["cost"], json!([{"amount":"0.0125","currency":"USD"}]));
        let by_tool: Value = hub.json("/v1/usage?by=tool").await;
        let sql = by_tool["rows"].as_array().unwrap().iter().find(|row| row["tool"] == "run_sql").unwrap();
        assert_eq!(sql["calls"], 1);
        hub.restart().await;
    }
    let csv = hub.request("GET", "/v1/usage?by=day,agent").header("accept", "text/csv").send().await.unwrap();
    assert_eq!(csv.headers()["content-type"], "text/csv; charset=utf-8");
    let csv = csv.text().await.unwrap();
    assert!(csv.starts_with("day,agent,runs,") && csv.contains(",coder,1,0,1,"), "{csv}");
    let metrics = hub.request("GET", "/metrics").send().await.unwrap().text().await.unwrap();
    for line in [
        "fanlight_runs_ended_total{agent=\"writer\",model=\"m-2\",reason=\"rate_limited\"} 1",
        "fanlight_cost_total{model=\"m-1\",currency=\"USD\"} 0.012500",
    ] {
        assert!(metrics.contains(line), "{line}");
    }
}

#[tokio::test]
async fn the_log_in_memory_has_the_same_figures() {
    let hub = TestHub::start_in_memory().await;
    hub.publisher("c").await.says(RUN).await;
    let series: Value = hub.json("/v1/series?metric=runs,cost&by=agent").await;
    assert_eq!((total(&series, "runs"), total(&series, "cost")), (json!([1, 1]), json!([12_500])));
}

#[tokio::test]
async fn what_makes_no_sense_is_refused_by_name() {
    let hub = TestHub::start().await;
    for (path, word) in [
        ("/v1/series?metric=walks", "walks"),
        ("/v1/series?metric=", "metric"),
        ("/v1/series?metric=runs&by=colour", "colour"),
        ("/v1/series?metric=runs&by=day", "step=1d"),
        ("/v1/series?metric=runs&step=5m", "step"),
        ("/v1/series?metric=runs&from=0&to=99999999999999", "steps"),
        ("/v1/usage?by=reason", "reason"),
    ] {
        let answer = hub.request("GET", path).send().await.unwrap();
        assert_eq!(answer.status(), 400, "{path}");
        let problem: Value = answer.json().await.unwrap();
        assert!(problem["detail"].as_str().unwrap().contains(word), "{path}: {problem}");
    }
}
