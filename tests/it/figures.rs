//! What runs, calls and models took and cost, over HTTP.

use std::collections::BTreeMap;
use std::time::{SystemTime, UNIX_EPOCH};

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

const HOUR_MS: u64 = 3_600_000;

/// The beginning of the hour that was three hours ago, in milliseconds since 1970.
fn an_hour() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_millis();
    (u64::try_from(now).unwrap() / HOUR_MS - 3) * HOUR_MS
}

/// Brings a conversation into the hub whose run `r` did these events, each so many milliseconds after `began`.
async fn happened(hub: &TestHub, name: &str, began: u64, events: &[(u64, Value)]) {
    let head = r#"{"fanlight":"native","version":1,"conversation":"c"}"#.to_owned();
    let lines = events.iter().enumerate().map(|(seq, (after, event))| {
        let mut event = event.clone();
        let fields = event.as_object_mut().unwrap();
        fields.extend(
            [("run", json!("r")), ("seq", json!(seq + 1)), ("at", json!(began + after))]
                .map(|(name, value)| (name.to_owned(), value)),
        );
        event.to_string()
    });
    let body = std::iter::once(head).chain(lines).collect::<Vec<_>>().join("\n");
    let taken =
        hub.request("PUT", &format!("/v1/conversations/{name}/events")).body(body).send().await.unwrap();
    assert!(taken.status().is_success(), "{}", taken.text().await.unwrap());
}

/// A run of an agent with a model, which begins at 0 and does `events`.
fn run(agent: &str, model: &str, events: Vec<(u64, Value)>) -> Vec<(u64, Value)> {
    let start = (0, json!({"k": "run.start", "name": agent, "model": model}));
    std::iter::once(start).chain(events).collect()
}

/// A call that is made and answered at once, and says how long it took.
fn call(after: u64, id: &str, tool: &str, (took, is_error): (u64, bool)) -> Vec<(u64, Value)> {
    let called = json!({"k": "tool.call", "tool": id, "name": tool, "arguments": "{}"});
    let result =
        json!({"k": "tool.result", "tool": id, "output": "1", "is_error": is_error, "exec_ms": took});
    vec![(after, called), (after, result)]
}

fn used(after: u64, tokens: [u64; 4], cost: Option<(&str, &str)>) -> (u64, Value) {
    let [input_tokens, cached_tokens, output_tokens, reasoning_tokens] = tokens;
    let mut usage = json!({"input_tokens": input_tokens, "cached_tokens": cached_tokens, "output_tokens": output_tokens,
        "reasoning_tokens": reasoning_tokens});
    if let Some((amount, currency)) = cost {
        usage["cost"] = json!({"amount": amount, "currency": currency});
    }
    (after, json!({"k": "run.update", "usage": usage}))
}

fn end(after: u64, status: &str) -> (u64, Value) {
    (after, json!({"k": "run.end", "status": status}))
}

/// A hub with an hour in which everything happened that is counted: runs that ended in each way, with and without a name of their agent
/// that has to be escaped, calls of all lengths, some of which failed, tokens of each kind of two models and of one without a price,
/// money in two currencies, first outputs, and two calls that waited for a person.
async fn eventful_hour() -> (TestHub, u64) {
    let (hub, began) = (TestHub::start().await, an_hour() + 600_000);
    let says = |after: u64| (after, json!({"k": "part.delta", "part": "p", "text": "I look."}));
    let mut sums = vec![says(2_000)];
    for n in 0..100 {
        let took = match n {
            0..90 => (10, false),
            90..98 => (400, false),
            _ => (70_000, true),
        };
        sums.extend(call(3_000 + n, &format!("t{n}"), "run_sql", took));
    }
    sums.extend(call(3_200, "s", "web_search", (3_000, false)));
    sums.extend([used(4_000, [4_000, 1_500, 900, 200], Some(("1.25", "USD"))), end(5_000, "complete")]);
    happened(&hub, "sums", began, &run("coder", "opus-5", sums)).await;
    for (name, code) in
        [("refused", "upstream_refused"), ("limited", "rate_limited"), ("limited-too", "rate_limited")]
    {
        let error = (1_000, json!({"k": "error", "code": code, "message": "later"}));
        happened(
            &hub,
            name,
            began,
            &run("a \"writer\"", "gpt-6", vec![says(700), error, end(1_000, "error")]),
        )
        .await;
    }
    let euros = vec![used(1_000, [300, 100, 50, 20], Some(("0.5", "EUR"))), end(2_000, "cancelled")];
    happened(&hub, "euros", began, &run("coder", "gpt-6", euros)).await;
    happened(
        &hub,
        "free",
        began,
        &run("helper", "own", vec![used(1_000, [70, 0, 7, 0], None), end(2_000, "interrupted")]),
    )
    .await;
    let mut waited = Vec::new();
    for (after, tool, took, is_approved) in
        [(1_000, "deploy", 90_000, true), (100_000, "erase", 40_000, false)]
    {
        let state = if is_approved { "executing" } else { "cancelled" };
        waited.extend([
            (after, json!({"k": "tool.call", "tool": tool, "name": tool, "arguments": "{}"})),
            (after, json!({"k": "approval.request", "tool": tool})),
            (after + took, json!({"k": "approval.answer", "tool": tool, "approved": is_approved})),
            (after + took, json!({"k": "tool.state", "tool": tool, "state": state})),
        ]);
    }
    waited.push((150_000, json!({"k": "tool.result", "tool": "deploy", "output": "done", "exec_ms": 30})));
    // One goes on.
    happened(&hub, "waited", began, &run("helper", "own", waited)).await;
    (hub, began)
}

/// The lines of a family of `/metrics`, by the values of `labels`; those without the labels that are asked for are under empty words.
fn family(page: &str, name: &str, labels: &[&str]) -> BTreeMap<Vec<String>, f64> {
    let lines = page.lines().filter_map(|line| {
        let rest = line.strip_prefix(name).filter(|rest| rest.starts_with(['{', ' ']))?;
        let (told, value) = rest.rsplit_once(' ')?;
        let told = told.trim_start_matches('{').trim_end_matches('}');
        let of = |label: &&str| {
            let from = told.find(&format!("{label}=\""))? + label.len() + 2;
            let value = told.get(from..)?;
            let end = value
                .match_indices('"')
                .map(|(at, _)| at)
                .find(|at| !value.get(..*at).is_some_and(|it| it.ends_with('\\')))?;
            Some(value.get(..end)?.replace("\\\"", "\""))
        };
        let values = labels.iter().map(|label| of(label).unwrap_or_default()).collect();
        Some((values, value.parse().unwrap()))
    });
    lines.collect()
}

/// The totals of a figure of an hour by the names `by`, those that are not 0.
async fn of_hour(hub: &TestHub, metric: &str, by: &[&str], hour: u64) -> BTreeMap<Vec<String>, f64> {
    let path = format!("/v1/series?metric={metric}&by={}&from={hour}&to={}", by.join(","), hour + HOUR_MS);
    let answer = hub.json(&path).await;
    // What is money of which currency stands in the line, whatever it is divided by.
    let names: Vec<&str> = by.iter().copied().chain((metric == "cost").then_some("currency")).collect();
    let lines = answer["metrics"][0]["series"].as_array().unwrap_or_else(|| panic!("{answer}")).clone();
    let told =
        |line: &Value| names.iter().map(|name| line[*name].as_str().unwrap_or_default().to_owned()).collect();
    lines
        .iter()
        .map(|line| (told(line), line["total"].as_f64().unwrap_or_else(|| panic!("{line}"))))
        .collect()
}

/// The same sums come by two ways out of the log: every family that both have is compared, line by line.
#[tokio::test]
async fn metrics_and_series_have_the_same_figures_line_by_line() {
    let (hub, began) = eventful_hour().await;
    let hour = began / HOUR_MS * HOUR_MS;
    let page = hub.request("GET", "/metrics").send().await.unwrap().text().await.unwrap();
    let nonzero = |mut all: BTreeMap<Vec<String>, f64>| {
        all.retain(|_, value| *value != 0.0);
        all
    };
    for (name, labels, metric, unit, lines) in [
        ("runs_started_total", &[][..], "runs", 1.0, 1),
        ("runs_ended_total", &["agent", "model", "reason"], "ended", 1.0, 5),
        ("tool_calls_total", &["tool"], "calls", 1.0, 3),
        ("tool_calls_failed_total", &["tool"], "call_failures", 1.0, 1),
        ("cost_total", &["model", "currency"], "cost", 1e-6, 2),
        ("waits_total", &[], "waits", 1.0, 1),
        ("wait_seconds_total", &[], "wait_ms", 1e-3, 1),
    ] {
        let counted = nonzero(family(&page, &format!("fanlight_{name}"), labels));
        assert_eq!(counted.len(), lines, "{name}: {counted:?}");
        let by: Vec<&str> = labels.iter().copied().filter(|label| *label != "currency").collect();
        let mut series = nonzero(of_hour(&hub, metric, &by, hour).await);
        for value in series.values_mut() {
            *value = (*value * unit * 1e6).round() / 1e6;
        }
        assert_eq!(counted, series, "{name}");
    }
    // What did not complete is what `failures` tells apart by reason.
    let mut by_reason = BTreeMap::new();
    for (labels, count) in family(&page, "fanlight_runs_ended_total", &["agent", "model", "reason"]) {
        if labels[2] != "complete" {
            *by_reason.entry(vec![labels[2].clone()]).or_insert(0.0) += count;
        }
    }
    assert_eq!(by_reason, of_hour(&hub, "failures", &["reason"], hour).await);
    for kind in ["fresh", "cached", "answer", "thinking"] {
        let mut counted = family(&page, "fanlight_tokens_total", &["model", "kind"]);
        counted.retain(|labels, value| labels[1] == kind && *value != 0.0);
        let counted: BTreeMap<_, _> =
            counted.into_iter().map(|(labels, value)| (vec![labels[0].clone()], value)).collect();
        assert!(counted.len() >= 2, "{kind}: {counted:?}");
        assert_eq!(
            counted,
            nonzero(of_hour(&hub, &format!("{kind}_tokens"), &["model"], hour).await),
            "{kind}"
        );
    }
    latencies_agree(&hub, &page, hour).await;
}

/// Counts of histograms are those of the calls, sums what the calls took within 1/32, and each percentile lies where the buckets have it.
async fn latencies_agree(hub: &TestHub, page: &str, hour: u64) {
    let calls = of_hour(hub, "calls", &["tool"], hour).await;
    assert_eq!(family(page, "fanlight_tool_seconds_count", &["tool"]), calls);
    let firsts = family(page, "fanlight_first_output_seconds_count", &["model"]);
    let wanted =
        [("gpt-6", 3.0), ("opus-5", 1.0), ("own", 1.0)].map(|(model, count)| (vec![model.to_owned()], count));
    assert_eq!(firsts, wanted.into());
    let runs = family(page, "fanlight_run_seconds_count", &["model"]);
    let ended = of_hour(hub, "ended", &["model"], hour).await;
    assert_eq!(runs, ended, "each run that ended took some time");
    let sums = family(page, "fanlight_tool_seconds_sum", &["tool"]);
    for (tool, took) in
        [("run_sql", 90.0 * 0.01 + 8.0 * 0.4 + 2.0 * 70.0), ("web_search", 3.0), ("deploy", 0.03)]
    {
        let sum = sums[&vec![tool.to_owned()]];
        assert!((took..=took * 33.0 / 32.0 + 0.1).contains(&sum), "{tool}: {sum} for {took}");
    }
    for (name, label, metric) in [
        ("tool_seconds", "tool", "tool"),
        ("first_output_seconds", "model", "first"),
        ("run_seconds", "model", "run"),
    ] {
        let counts = family(page, &format!("fanlight_{name}_count"), &[label]);
        let buckets = family(page, &format!("fanlight_{name}_bucket"), &[label, "le"]);
        for percent in [50_u32, 95, 99] {
            let series = of_hour(hub, &format!("{metric}_p{percent}"), &[label], hour).await;
            assert_eq!(series.keys().collect::<Vec<_>>(), counts.keys().collect::<Vec<_>>(), "{name}");
            for (labels, ms) in series {
                let of_label = buckets.iter().filter(|(it, _)| it[0] == labels[0]);
                let at_most = |le: &str| le.parse::<f64>().unwrap_or(f64::INFINITY);
                let part = counts[&labels] * f64::from(percent) / 100.0;
                for (it, below) in of_label {
                    // A bucket has as many as the percentile asks for just when the percentile is within it.
                    assert_eq!(
                        *below >= part,
                        ms / 1_000.0 <= at_most(&it[1]),
                        "{name} p{percent} {it:?}: {below} of {part}, {ms} ms"
                    );
                }
            }
        }
    }
}

/// Divided by everything at once, each number stands once, and the rows add up to what they are without any division.
#[tokio::test]
async fn usage_is_told_apart_by_agent_model_tool_and_day_at_once() {
    let (hub, began) = eventful_hour().await;
    let second = began - 24 * HOUR_MS;
    let again = run(
        "coder",
        "opus-5",
        [
            call(1_000, "t", "run_sql", (5, true)),
            vec![used(2_000, [10, 0, 1, 0], None), end(3_000, "complete")],
        ]
        .concat(),
    );
    happened(&hub, "the-day-before", second, &again).await;
    let path = format!("/v1/usage?by=agent,model,tool,day&from={}&to={}", second, began + HOUR_MS);
    let table: Value = hub.json(&path).await;
    let rows = table["rows"].as_array().unwrap();
    let word = |row: &Value, name: &str| row[name].as_str().unwrap_or_default().to_owned();
    let found = |agent: &str, tool: &str| -> Vec<&Value> {
        rows.iter().filter(|row| row["agent"] == agent && word(row, "tool") == tool).collect()
    };
    let mut sql = found("coder", "run_sql");
    sql.sort_by_key(|row| word(row, "day"));
    let told: Vec<_> = sql
        .iter()
        .map(|row| (word(row, "model"), row["calls"].clone(), row["call_failures"].clone()))
        .collect();
    assert_eq!(
        told,
        [("opus-5".to_owned(), json!(1), json!(1)), ("opus-5".to_owned(), json!(100), json!(2))]
    );
    assert!(word(sql[0], "day") < word(sql[1], "day"), "{table}");
    let keys: std::collections::BTreeSet<_> =
        rows.iter().map(|row| ["agent", "model", "tool", "day"].map(|name| word(row, name))).collect();
    assert_eq!(keys.len(), rows.len(), "each group stands once: {table}");
    let whole = hub.json(&format!("/v1/usage?by=day&from={}&to={}", second, began + HOUR_MS)).await;
    let sum = |rows: &Value, name: &str| {
        rows.as_array().unwrap().iter().filter_map(|row| row[name].as_u64()).sum::<u64>()
    };
    for name in [
        "runs",
        "failures",
        "calls",
        "call_failures",
        "fresh_tokens",
        "cached_tokens",
        "answer_tokens",
        "thinking_tokens",
        "waits",
        "wait_ms",
    ] {
        assert!(sum(&whole["rows"], name) > 0, "{name}: {whole}");
        assert_eq!(sum(&table["rows"], name), sum(&whole["rows"], name), "{name}");
    }
    let csv = hub.request("GET", &format!("{path}&format=csv")).send().await.unwrap().text().await.unwrap();
    assert!(csv.starts_with("day,agent,model,tool,") && csv.lines().count() == rows.len() + 1, "{csv}");
}
