//! The dashboard on few runs that are known to the millisecond: each figure, by each kind, by hour and by day, and what is behind it.

use serde_json::{Value, json};
use tests::browser::DESKTOP;
use tests::{BrowserPage, TestHub};

use super::{HOUR_MS, ROWS};
use crate::operator::{happened, now_ms};

/// A run of `agent` with `model` that begins at `at` and does `events`, each at its time after that.
async fn run(hub: &TestHub, name: &str, at: u64, who: (&str, &str), events: Vec<(u64, Value)>) {
    let (agent, model) = who;
    let start = json!({"k": "run.start", "run": "r", "name": agent, "model": model});
    let with_run = |(after, mut event): (u64, Value)| {
        event.as_object_mut().expect("an object").insert("run".to_owned(), json!("r"));
        (at + after, event)
    };
    let all: Vec<_> = std::iter::once((at, start)).chain(events.into_iter().map(with_run)).collect();
    happened(hub, name, &all).await;
}

fn end(after: u64, status: &str) -> (u64, Value) {
    (after, json!({"k": "run.end", "status": status}))
}

/// A call that is made and answered at once, and says how long it took.
fn call(after: u64, tool: &str, name: &str, (took, is_error): (u64, bool)) -> [(u64, Value); 2] {
    [
        (after, json!({"k": "tool.call", "tool": tool, "name": name, "arguments": "{}"})),
        (
            after,
            json!({"k": "tool.result", "tool": tool, "output": "1", "is_error": is_error, "exec_ms": took}),
        ),
    ]
}

fn used(after: u64, input: u64, cost: &str) -> (u64, Value) {
    let usage = json!({"input_tokens": input, "output_tokens": 900, "cached_tokens": 1_500, "reasoning_tokens": 200,
        "cost": {"amount": cost, "currency": "USD"}});
    (after, json!({"k": "run.update", "usage": usage}))
}

/// Runs of the last two days:
///
/// | conversation | hours ago | by | what |
/// |---|--:|---|---|
/// | sums | 5 | coder, opus-5 | 100 calls of `run_sql`: 90 of 10 ms, 8 of 40 ms, 2 of 60 ms, which failed; tokens and money |
/// | refused | 4 | writer, gpt-6 | failed: `upstream_refused` |
/// | limited, limited-too | 3 | writer, gpt-6 | failed: `rate_limited` |
/// | waited | 2 | helper, qwen4 | a person took 90 s to approve `deploy` and 40 s to reject `erase` |
/// | old | 49 | coder, opus-5 | complete |
async fn known() -> TestHub {
    let hub = TestHub::start().await;
    let hours_ago = |hours: u64| now_ms() / HOUR_MS * HOUR_MS - hours * HOUR_MS + 600_000;
    let text = |after: u64| (after, json!({"k": "part.delta", "part": "p", "text": "I look."}));
    let mut sums = vec![text(2_000)];
    for n in 0..100 {
        let took = if n < 90 {
            (10, false)
        } else if n < 98 {
            (40, false)
        } else {
            (60, true)
        };
        sums.extend(call(3_000 + n, &format!("t{n}"), "run_sql", took));
    }
    sums.extend([used(4_000, 4_000, "1.25"), end(5_000, "complete")]);
    run(&hub, "sums", hours_ago(5), ("coder", "opus-5"), sums).await;
    for (name, hours, code) in [
        ("refused", 4, "upstream_refused"),
        ("limited", 3, "rate_limited"),
        ("limited-too", 3, "rate_limited"),
    ] {
        let fails =
            vec![(1_000, json!({"k": "error", "code": code, "message": "later"})), end(1_000, "error")];
        run(&hub, name, hours_ago(hours), ("writer", "gpt-6"), fails).await;
    }
    let asks = |after: u64, name: &str| {
        [
            (after, json!({"k": "tool.call", "tool": name, "name": name, "arguments": "{}"})),
            (after, json!({"k": "approval.request", "tool": name})),
        ]
    };
    let answers = |after: u64, name: &str, is_approved: bool| {
        (after, json!({"k": "approval.answer", "tool": name, "approved": is_approved}))
    };
    let mut waited = Vec::from(asks(1_000, "deploy"));
    waited.extend([
        answers(91_000, "deploy", true),
        (91_000, json!({"k": "tool.state", "tool": "deploy", "state": "executing"})),
        (92_000, json!({"k": "tool.result", "tool": "deploy", "output": "done", "exec_ms": 30})),
    ]);
    waited.extend(asks(100_000, "erase"));
    waited.extend([
        answers(140_000, "erase", false),
        (140_000, json!({"k": "tool.state", "tool": "erase", "state": "cancelled"})),
        end(141_000, "complete"),
    ]);
    run(&hub, "waited", hours_ago(2), ("helper", "qwen4"), waited).await;
    let old = vec![used(1_000, 2_000, "0.75"), end(2_000, "complete")];
    run(&hub, "old", hours_ago(49), ("coder", "opus-5"), old).await;
    hub
}

/// What the legend of a panel says.
fn legend(panel: &str) -> String {
    format!(
        "return [...document.querySelectorAll('[data-panel={panel}] .legend li')].map(it => it.textContent.trim())"
    )
}

/// The sum beside the heading of a panel.
fn sum(panel: &str) -> String {
    format!("return document.querySelector('[data-panel={panel}] h2 .num')?.textContent")
}

/// The rows of a panel's table that have a number other than 0, each with the texts of its cells behind the time.
fn numbers(panel: &str) -> String {
    format!(
        "return [...document.querySelectorAll('[data-panel={panel}] tbody tr')].map(row => [...row.querySelectorAll('td')].map(it => it.textContent))
            .filter(row => row.some(it => !/^(–|0|0 ms|[$]0([.]0+)?)$/.test(it)))"
    )
}

async fn dashboard(hub: &TestHub, page: &BrowserPage, address: &str) {
    page.goto(&hub.url(address)).await;
    page.holds("return document.querySelectorAll('[data-t=panel]').length === 9 && !document.querySelector('[data-t=dashboard]').innerText.includes('Loading')")
        .await;
}

/// Opens the table of a panel.
async fn opens_table(page: &BrowserPage, panel: &str) {
    page.run(&format!("document.querySelector('[data-panel={panel}] > details > summary').click()")).await;
    page.holds(&format!("return document.querySelectorAll('[data-panel={panel}] tbody tr').length > 0"))
        .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_dashboard_has_reasons_kinds_of_tokens_percentiles_and_waiting_as_they_were() {
    let hub = known().await;
    let page = BrowserPage::open(DESKTOP).await;
    dashboard(&hub, &page, "/dashboard").await;
    page.run_until(&sum("runs"), |it| it == "5").await;
    page.run_until(&legend("runs-that-did-not-complete"), |it| {
        *it == json!(["rate_limited 2", "upstream_refused 1"])
    })
    .await;
    page.run_until(&legend("tokens"), |it| {
        *it == json!(["read 2.5k", "read from cache 1.5k", "written 700", "thinking 200"])
    })
    .await;
    page.run_until(&sum("cost"), |it| it == "$1.25").await;
    page.run_until(&sum("tool-calls-that-failed"), |it| it == "2").await;
    // Ninety, eight and two of a hundred: each percentile is another one.
    opens_table(&page, "duration-of-tool-calls").await;
    let heads = "return [...document.querySelectorAll('[data-panel=duration-of-tool-calls] th[scope=col]')].map(it => it.textContent)";
    page.run_until(heads, |it| *it == json!(["Time", "p50", "p95", "p99"])).await;
    // The newest first: the approved call, then the hundred.
    page.run_until(&numbers("duration-of-tool-calls"), |it| {
        *it == json!([["30 ms", "30 ms", "30 ms"], ["10 ms", "40 ms", "60 ms"]])
    })
    .await;
    // 90 s until yes and 40 s until no.
    page.run_until(&sum("waiting-for-a-person"), |it| it == "2:10").await;
    opens_table(&page, "waiting-for-a-person").await;
    page.run_until(&numbers("waiting-for-a-person"), |it| *it == json!([["2:10"]])).await;
    assert_eq!(page.console_errors().await, Vec::<String>::new());
    page.close().await;
}

/// Presses a button of the choices above the panels.
async fn chooses(page: &BrowserPage, word: &str) {
    page.run(&format!(
        "[...document.querySelectorAll('.controls .seg button')].find(it => it.textContent === '{word}').click()"
    ))
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn figures_are_told_apart_by_agent_model_and_tool_and_stand_by_hour_and_by_day() {
    let hub = known().await;
    let page = BrowserPage::open(DESKTOP).await;
    dashboard(&hub, &page, "/dashboard").await;
    opens_table(&page, "runs").await;
    page.holds("return document.querySelectorAll('[data-panel=runs] tbody tr').length === 24").await;
    page.run_until(&numbers("runs"), |it| *it == json!([["1"], ["2"], ["1"], ["1"]])).await;
    chooses(&page, "agent").await;
    page.run_until("return location.search", |it| it == "?by=agent").await;
    page.run_until(&legend("runs"), |it| *it == json!(["writer 3", "coder 1", "helper 1"])).await;
    chooses(&page, "model").await;
    page.run_until(&legend("runs"), |it| *it == json!(["gpt-6 3", "opus-5 1", "qwen4 1"])).await;
    chooses(&page, "tool").await;
    // Each has its p95 of the whole time.
    page.run_until(&format!("{}.sort()", legend("duration-of-tool-calls")), |it| {
        *it == json!(["deploy 30 ms", "run_sql 40 ms"])
    })
    .await;
    page.run_until(&legend("waiting-for-a-person"), |it| *it == json!(["deploy 1:30", "erase 40 s"])).await;
    // By day there are those of the day before yesterday too.
    chooses(&page, "agent").await;
    chooses(&page, "30d").await;
    page.run_until("return location.search", |it| it == "?range=30d&by=agent").await;
    page.run_until(&legend("runs"), |it| *it == json!(["writer 3", "coder 2", "helper 1"])).await;
    page.run_until(&legend("cost"), |it| it == &json!([])).await;
    page.run_until(&sum("cost"), |it| it == "$2.00").await;
    opens_table(&page, "cost").await;
    page.holds("return document.querySelectorAll('[data-panel=cost] tbody tr').length === 30").await;
    page.run_until(&numbers("cost"), |it| *it == json!([["$1.25"], ["$0.75"]])).await;
    assert_eq!(page.console_errors().await, Vec::<String>::new());
    page.close().await;
}

/// A click on the first bar of a panel.
fn first_bar(panel: &str) -> String {
    format!(
        "const bar = [...document.querySelectorAll('[data-panel={panel}] svg rect')].filter(it => it.getBoundingClientRect().height > 0)
            .sort((a, b) => a.getBoundingClientRect().left - b.getBoundingClientRect().left)[0], at = bar.getBoundingClientRect();
         bar.dispatchEvent(new MouseEvent('click', {{bubbles: true, clientX: at.left + at.width / 2, clientY: at.top + 1}}))"
    )
}

/// A click on the curves of a panel at the step whose row of the opened table has `text`.
fn point(panel: &str, text: &str) -> String {
    format!(
        "const rows = [...document.querySelectorAll('[data-panel={panel}] tbody tr')].reverse();
         const step = rows.findIndex(row => [...row.querySelectorAll('td')].some(it => it.textContent === '{text}'));
         const line = document.querySelector('[data-panel={panel}] svg [data-line]'), at = line.ownerSVGElement.getBoundingClientRect();
         line.dispatchEvent(new MouseEvent('click', {{bubbles: true, clientX: at.left + at.width * (step + 0.5) / rows.length, clientY: at.top + 1}}))"
    )
}

#[tokio::test(flavor = "multi_thread")]
async fn each_point_of_each_panel_opens_the_runs_behind_it_and_no_others() {
    let hub = known().await;
    let page = BrowserPage::open(DESKTOP).await;
    for (address, panel, behind) in [
        ("/dashboard", "runs", &["sums"][..]),
        ("/dashboard", "runs-that-did-not-complete", &["refused"]),
        ("/dashboard", "tokens", &["sums"]),
        ("/dashboard", "cost", &["sums"]),
        ("/dashboard", "tool-calls-that-failed", &["sums"]),
        ("/dashboard", "waiting-for-a-person", &["waited"]),
        ("/dashboard?by=agent", "runs", &["sums"]),
        ("/dashboard?by=model", "runs-that-did-not-complete", &["refused"]),
        ("/dashboard?by=tool", "waiting-for-a-person", &["waited"]),
        ("/dashboard?range=30d", "cost", &["old"]),
    ] {
        dashboard(&hub, &page, address).await;
        page.run(&first_bar(panel)).await;
        page.run_until("return location.pathname", |it| it == "/runs").await;
        page.run_until(ROWS, |rows| *rows == json!(behind)).await;
    }
    for (panel, text, behind) in [
        ("duration-of-tool-calls", "40 ms", "sums"),
        ("duration-of-tool-calls", "30 ms", "waited"),
        ("time-to-first-output", "2.0 s", "sums"),
    ] {
        dashboard(&hub, &page, "/dashboard").await;
        opens_table(&page, panel).await;
        page.run(&point(panel, text)).await;
        page.run_until("return location.pathname", |it| it == "/runs").await;
        page.run_until(ROWS, |rows| *rows == json!([behind])).await;
    }
    assert_eq!(page.console_errors().await, Vec::<String>::new());
    page.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn behind_a_bar_of_failures_are_those_of_its_reason_alone() {
    let hub = TestHub::start().await;
    let at = now_ms() / HOUR_MS * HOUR_MS - 3 * HOUR_MS + 600_000;
    for (name, code) in
        [("limited", "rate_limited"), ("limited-too", "rate_limited"), ("refused", "upstream_refused")]
    {
        let fails =
            vec![(1_000, json!({"k": "error", "code": code, "message": "later"})), end(1_000, "error")];
        run(&hub, name, at, ("writer", "gpt-6"), fails).await;
    }
    let page = BrowserPage::open(DESKTOP).await;
    for (line, reason, behind) in
        [(0, "rate_limited", &["limited", "limited-too"][..]), (1, "upstream_refused", &["refused"])]
    {
        dashboard(&hub, &page, "/dashboard").await;
        page.run_until(&legend("runs-that-did-not-complete"), |it| {
            *it == json!(["rate_limited 2", "upstream_refused 1"])
        })
        .await;
        page.run(&format!(
            "const bar = [...document.querySelectorAll('[data-panel=runs-that-did-not-complete] svg rect[data-line=\"{line}\"]')]
                .find(it => it.getBoundingClientRect().height > 0), at = bar.getBoundingClientRect();
             bar.dispatchEvent(new MouseEvent('click', {{bubbles: true, clientX: at.left + at.width / 2, clientY: at.top + 1}}))"
        ))
        .await;
        page.run_until("return location.pathname", |it| it == "/runs").await;
        let filter = "return document.getElementById('filter')?.value ?? ''";
        page.run_until(filter, |it| *it == json!(format!("reason:{reason}"))).await;
        page.run_until(&format!("{ROWS}.sort()"), |rows| *rows == json!(behind)).await;
    }
    page.close().await;
}
