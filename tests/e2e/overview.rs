//! The operator's pages: the table of runs and the dashboard, on runs of the last day.

use std::time::{SystemTime, UNIX_EPOCH};

use serde_json::{Value, json};
use tests::browser::DESKTOP;
use tests::{BrowserPage, TestHub};

use crate::screens::{PicturedView, pictured};

mod dashboard; // each figure is right, by each kind, and leads to its runs

const HOUR_MS: u64 = 3_600_000;

/// Which conversations the table shows, in order.
const ROWS: &str = "return [...document.querySelectorAll('[data-t=run-row]')].filter(it => it.checkVisibility({visibilityProperty: true}))
    .sort((a, b) => a.dataset.place - b.dataset.place).map(it => it.dataset.conversation)";

/// The number of a run decides what becomes of it: every seventh fails, every third is dear.
fn run(n: u64) -> Vec<Value> {
    let (agent, model, tool) = match n % 3 {
        0 => ("coder", "opus-5", "run_sql"),
        1 => ("writer", "gpt-6", "web_search"),
        _ => ("researcher", "qwen4", "edit_file"),
    };
    let cost = if n.is_multiple_of(3) { format!("{}.25", n % 5) } else { "0.012".to_owned() };
    let (input, cached, thinking) = (4_000 + n * 310, 1_500 + n * 97, 120 * (n % 4));
    let (took, failed) = (200 + n * 61, n.is_multiple_of(5));
    let question = format!("Look at case {n} and say what is wrong with it");
    let said = format!("I look at case {n}. The ledger of its region disagrees with the bank. ");
    let usage = json!({"input_tokens": input, "output_tokens": 900 + n, "cached_tokens": cached,
        "reasoning_tokens": thinking, "cost": {"amount": cost, "currency": "USD"}});
    let mut lines = vec![
        json!({"k": "message", "message": "m", "role": "user", "text": question}),
        json!({"k": "run.start", "run": "r", "name": agent, "model": model}),
        json!({"k": "part.start", "run": "r", "part": "p", "kind": "text"}),
        json!({"k": "part.delta", "run": "r", "part": "p", "text": said}),
        json!({"k": "tool.call", "run": "r", "tool": "t", "name": tool, "arguments": "{\"query\":\"select 1\"}"}),
        json!({"k": "tool.result", "run": "r", "tool": "t", "output": "no", "is_error": failed, "exec_ms": took}),
        json!({"k": "run.update", "run": "r", "usage": usage}),
    ];
    let status = if n.is_multiple_of(7) { "error" } else { "complete" };
    if n.is_multiple_of(7) {
        let code = if n.is_multiple_of(2) { "rate_limited" } else { "upstream_refused" };
        lines.push(json!({"k": "error", "run": "r", "code": code, "message": "the provider refused", "retryable": true}));
    }
    lines.push(json!({"k": "run.end", "run": "r", "status": status}));
    lines
}

/// Brings `count` runs of the last day into the hub, one after the other.
pub(super) async fn yesterday(hub: &TestHub, count: u64) {
    let head = r#"{"fanlight":"native","version":1,"conversation":"c"}"#;
    let now = SystemTime::now().duration_since(UNIX_EPOCH).expect("a time");
    let now = u64::try_from(now.as_millis()).expect("a time of today");
    for n in 0..count {
        let began = now - 22 * HOUR_MS + n * 22 * HOUR_MS / count;
        let lines = run(n).into_iter().enumerate().map(|(seq, mut event)| {
            let seq = seq as u64;
            let fields = event.as_object_mut().expect("an object");
            fields.insert("seq".to_owned(), json!(seq + 1));
            fields.insert("at".to_owned(), json!(began + seq * (700 + n * 10)));
            event.to_string()
        });
        let body = std::iter::once(head.to_owned()).chain(lines).collect::<Vec<_>>().join("\n");
        let path = format!("/v1/conversations/case-{n:02}/events");
        let taken = hub.request("PUT", &path).body(body).send().await.expect("an answer");
        let status = taken.status();
        assert!(status.is_success(), "{status}: {}", taken.text().await.unwrap_or_default());
    }
}

/// A hub with runs of the last day, two that go on, and one that waits for a person.
async fn busy(count: u64) -> (TestHub, Vec<tests::TestPublisher>) {
    let hub = TestHub::start().await;
    yesterday(&hub, count).await;
    let mut publishers = Vec::new();
    for (name, agent) in
        [("nightly-import", "coder"), ("release-notes", "writer"), ("deploy-billing", "helper")]
    {
        let mut publisher = hub.publisher(name).await;
        let start = json!({"k": "run.start", "run": "r", "title": name.replace('-', " "), "name": agent, "model": "opus-5",
            "host": format!("{agent}-box")});
        publisher.says(&start.to_string()).await;
        publisher.says(r#"{"k":"part.start","run":"r","part":"p","kind":"text"}"#).await;
        publisher.says(r#"{"k":"part.delta","run":"r","part":"p","text":"Now I compare both lists of suppliers, row by row"}"#).await;
        publishers.push(publisher);
    }
    let (call, state) = (
        r#"{"k":"tool.call","run":"r","tool":"t","name":"run_sql","arguments":"{}"}"#,
        r#"{"k":"tool.state","run":"r","tool":"t","state":"executing"}"#,
    );
    let [importer, _, deployer] = publishers.as_mut_slice() else { panic!("three publishers") };
    importer.says(&format!("{call}\n{state}")).await;
    let asks = call.replace("run_sql", "deploy");
    deployer.says(&format!("{asks}\n{}", state.replace("executing", "approval"))).await;
    (hub, publishers)
}

/// Goes to the table and waits for its rows.
async fn table(hub: &TestHub, page: &BrowserPage, address: &str) {
    page.goto(&hub.url(address)).await;
    page.holds("return document.querySelectorAll('[data-t=run-row]').length > 0 && document.querySelector('[data-t=connection]')?.dataset.state === 'live'").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_table_is_sorted_filtered_and_alive_and_the_address_says_how() {
    let (hub, mut publishers) = busy(12).await;
    let page = BrowserPage::open(DESKTOP).await;
    table(&hub, &page, "/runs?q=case-").await;
    page.run_until(ROWS, |rows| rows.as_array().is_some_and(|rows| rows.len() == 12)).await;
    // The dearest first, and back.
    page.run("document.querySelector('[data-column=cost]').click()").await;
    page.run_until(ROWS, |rows| rows[0] == "case-09").await;
    page.run_until("return location.search", |it| it == "?q=case-&sort=-cost").await;
    let told = "return document.querySelector('[role=columnheader] [data-column=cost]').parentElement.getAttribute('aria-sort')";
    assert_eq!(page.run(told).await, "descending");
    // The link shows the same.
    page.reload().await;
    page.run_until(ROWS, |rows| rows[0] == "case-09").await;
    // Conditions as those of the list, with a word for what is none.
    let typed = |text: &str| {
        format!(
            "const it = document.querySelector('#filter'); it.value = '{text}'; it.dispatchEvent(new Event('input', {{bubbles: true}}))"
        )
    };
    page.run(&typed("case- state:error agent:coder")).await;
    page.run_until(ROWS, |rows| *rows == json!(["case-00"])).await;
    page.run(&typed("place:x")).await;
    page.text_until("filter-trouble", |text| text.contains("place: is not a condition")).await;
    page.run(&typed("host:")).await;
    let values = "return [...document.querySelectorAll('#filter-values option')].map(it => it.value)";
    page.run_until(values, |values| values.to_string().contains("host:coder-box")).await;
    page.run(&typed("host:writer")).await;
    page.run_until(ROWS, |rows| rows == &json!(["release-notes"])).await;
    page.run(&typed("model:")).await;
    page.run_until(values, |values| values.to_string().contains("model:gpt-6")).await;
    // What runs stands there with its call, and what it says moves.
    page.run(&typed("nightly")).await;
    let cell = |column: &str| {
        format!(
            "return document.querySelector('[data-conversation=nightly-import] [role=gridcell][data-column={column}]')?.textContent.trim()"
        )
    };
    page.run_until(&cell("call"), |it| it.as_str().is_some_and(|it| it.starts_with("run_sql · "))).await;
    publishers[0].says(r#"{"k":"part.delta","run":"r","part":"p","text":" and the third agrees"}"#).await;
    page.run_until(&cell("words"), |it| it.as_str().is_some_and(|it| it.ends_with("and the third agrees")))
        .await;
    publishers[0].says(r#"{"k":"run.end","run":"r","status":"complete"}"#).await;
    page.run_until(&cell("state"), |it| it == "complete").await;
    // Columns are chosen.
    page.run("document.querySelector('.columns [name=runs]').click()").await;
    page.run_until("return location.search", |it| it.as_str().is_some_and(|it| it.contains("runs"))).await;
    page.run_until(&cell("runs"), |it| it == "1").await;
    page.run("document.querySelector('.columns [name=host]').click()").await;
    page.run_until(&cell("host"), |it| it == "coder-box").await;
    page.run(&typed("host:box")).await;
    page.run("document.querySelector('[data-column=host]').click()").await;
    page.run_until(ROWS, |rows| rows == &json!(["nightly-import", "deploy-billing", "release-notes"])).await;
    assert_eq!(page.console_errors().await, Vec::<String>::new());
    page.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn rows_are_reached_selected_compared_and_opened_by_the_keyboard() {
    let (hub, _publishers) = busy(6).await;
    let page = BrowserPage::open(DESKTOP).await;
    table(&hub, &page, "/runs?q=case-&sort=title").await;
    page.run_until(ROWS, |rows| rows[0] == "case-00").await;
    page.run("document.querySelector('[data-t=grid]').focus()").await;
    let key = async |key: &str, code: u32| {
        for kind in ["rawKeyDown", "keyUp"] {
            let event = json!({"type": kind, "key": key, "windowsVirtualKeyCode": code});
            page.devtools("Input.dispatchKeyEvent", event).await;
        }
    };
    let current = "return document.getElementById(document.querySelector('[data-t=grid]').getAttribute('aria-activedescendant'))?.dataset.conversation ?? ''";
    key("ArrowDown", 40).await;
    page.run_until(current, |it| it == "case-00").await;
    key(" ", 32).await;
    key("ArrowDown", 40).await;
    key(" ", 32).await;
    page.text_until("selected", |text| text.starts_with("2 selected")).await;
    let link = "return document.querySelector('[data-t=compare]')?.getAttribute('href')";
    page.run_until(link, |it| it == "/c/case-00?compare=case-01").await;
    // Tab leads to the link, and Enter opens both beside each other.
    let is_there = "return document.activeElement?.matches('[data-t=compare]') === true";
    page.run("document.querySelector('[data-t=selected] button').focus()").await;
    for _ in 0..8 {
        if page.run(is_there).await == true {
            break;
        }
        page.press("Tab").await;
    }
    assert_eq!(page.run(is_there).await, true, "Tab reaches the comparison");
    page.press("Enter").await;
    page.run_until("return location.pathname + location.search", |it| it == "/c/case-00?compare=case-01")
        .await;
    let sides = "return [...document.querySelectorAll('[data-t=pair] > section')].map(it => it.innerText)";
    page.run_until(sides, |sides| {
        sides[0].to_string().contains("I look at case 0.")
            && sides[1].to_string().contains("I look at case 1.")
    })
    .await;
    page.holds("return !!document.querySelector('[data-t=parting]')").await;
    // Another row is opened, and nothing stays selected.
    table(&hub, &page, "/runs?q=case-&sort=title").await;
    page.run_until(ROWS, |rows| rows[0] == "case-00").await;
    page.run("document.querySelector('[data-t=grid]').focus()").await;
    key("Home", 36).await;
    page.run_until(current, |it| it == "case-00").await;
    key(" ", 32).await;
    page.text_until("selected", |text| text.starts_with("1 selected")).await;
    key("End", 35).await;
    page.run_until(current, |it| it == "case-05").await;
    key("Escape", 27).await;
    page.holds("return !document.querySelector('[data-t=selected]')").await;
    key("Enter", 13).await;
    page.run_until("return location.pathname", |it| it == "/c/case-05").await;
    page.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_be_stopped_is_said_by_name() {
    let (hub, _publishers) = busy(0).await;
    let page = BrowserPage::open(DESKTOP).await;
    table(&hub, &page, "/runs?q=nightly").await;
    page.run_until(ROWS, |rows| rows == &json!(["nightly-import"])).await;
    page.run("document.querySelector('[data-conversation=nightly-import] .pick input').click()").await;
    page.text_until("selected", |text| text.starts_with("1 selected")).await;
    page.run("[...document.querySelectorAll('[data-t=selected] button')].find(it => it.textContent === 'Stop').click()").await;
    page.text_until("told", |text| text.contains("0 of 1 stopped.") && text.contains("nightly-import")).await;
    page.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn i7_the_page_has_as_many_rows_as_the_screen_whatever_the_hub_has() {
    let hub = TestHub::start().await;
    for n in 0..1_200 {
        let start = format!(r#"{{"k":"run.start","run":"r","name":"agent-{}"}}"#, n % 7);
        let path = format!("/v1/conversations/c{n:04}/events");
        let told = hub
            .request("POST", &path)
            .body(start)
            .header("fanlight-durability", "memory")
            .send()
            .await
            .unwrap();
        assert!(told.status().is_success(), "{told:?}");
    }
    let page = BrowserPage::open(DESKTOP).await;
    table(&hub, &page, "/runs?sort=title").await;
    page.text_until("summary", |text| text.starts_with("1,200 of 1,200 conversations")).await;
    let elements = "return document.querySelectorAll('*').length";
    let before = page.run(elements).await.as_u64().unwrap();
    assert!(before < 2_000, "{before} elements");
    page.run("const it = document.querySelector('[data-t=grid]'); it.scrollTop = it.scrollHeight").await;
    page.run_until(ROWS, |rows| {
        rows.as_array().is_some_and(|rows| rows.last().is_some_and(|row| row == "c1199"))
    })
    .await;
    assert!(page.run(elements).await.as_u64().unwrap() <= before + 40);
    page.close().await;
}

/// 5,000 conversations, the tokens of which are all different: case `n` of them has the place `n * 7 % 5000`.
#[tokio::test(flavor = "multi_thread")]
async fn many_rows_stay_in_order_while_some_of_them_change_and_the_reader_scrolls() {
    const ALL: u64 = 5_000;
    let hub = TestHub::start().await;
    let (client, url) = (reqwest::Client::new(), hub.url("/v1/conversations"));
    let post = move |n: u64| {
        let usage = json!({"input_tokens": 1_000 + n * 7 % ALL, "output_tokens": 0, "cost": {"amount": "0.01", "currency": "USD"}});
        let lines = [
            json!({"k": "run.start", "run": "r", "name": "agent"}),
            json!({"k": "run.update", "run": "r", "usage": usage}),
            json!({"k": "run.end", "run": "r", "status": "complete"}),
        ];
        let post = client.post(format!("{url}/c{n}/events")).header("fanlight-durability", "memory");
        post.body(lines.map(|line| line.to_string()).join("\n"))
    };
    tests::bulk::send_all(0..ALL, 4, post).await.expect("all are taken");
    let case = |place: u64| {
        let n = (0..ALL).find(|n| n * 7 % ALL == place).expect("7 has an inverse");
        format!("c{n}")
    };
    let page = BrowserPage::open(DESKTOP).await;
    table(&hub, &page, "/runs?sort=tokens").await;
    let money = "5,000 of 5,000 conversations · ";
    page.text_until("summary", |text| text.starts_with(money) && text.ends_with("$50.00")).await;
    // Any place of the order is what it should be, and only what is on the screen is drawn.
    let at = "return [...document.querySelectorAll('[data-t=run-row]:not(.gone)')].map(it => [+it.dataset.place, it.dataset.conversation])";
    for (top, place) in [(0, 0), (2_500 * 32, 2_500), (4_000 * 32, 4_000), (100 * 32, 100)] {
        page.run(&format!("document.querySelector('[data-t=grid]').scrollTop = {top}")).await;
        let drawn = page
            .run_until(at, |rows| rows.as_array().is_some_and(|rows| rows.iter().any(|row| row[0] == place)))
            .await;
        let rows = drawn.as_array().expect("rows");
        assert!(rows.len() < 60, "{} rows are drawn", rows.len());
        for row in rows {
            assert_eq!(row[1], case(row[0].as_u64().expect("a place")), "at {}", row[0]);
        }
    }
    // The fourth becomes the largest: those behind it move up, it stands at the end, and the sums follow.
    let mut publisher = hub.publisher(&case(3)).await;
    publisher.says(r#"{"k":"run.start","run":"r2","name":"agent"}"#).await;
    let usage = r#"{"k":"run.update","run":"r2","usage":{"input_tokens":9000,"output_tokens":0,"cost":{"amount":"2","currency":"USD"}}}"#;
    publisher.says(usage).await;
    page.run("document.querySelector('[data-t=grid]').scrollTop = 0").await;
    let first = "return [...document.querySelectorAll('[data-t=run-row]:not(.gone)')].sort((a, b) => a.dataset.place - b.dataset.place).slice(0, 5).map(it => it.dataset.conversation)";
    let moved = [0, 1, 2, 4, 5].map(case);
    page.run_until(first, |rows| *rows == json!(moved)).await;
    page.text_until("summary", |text| text.contains("1 running") && text.ends_with("$52.00")).await;
    page.run("const it = document.querySelector('[data-t=grid]'); it.scrollTop = it.scrollHeight").await;
    page.run_until(at, |rows| {
        rows.as_array().is_some_and(|rows| rows.iter().any(|row| *row == json!([ALL - 1, case(3)])))
    })
    .await;
    // Under the pointer nothing moves, but for a filter.
    page.run("document.querySelector('.sheet').dispatchEvent(new PointerEvent('pointerenter'))").await;
    publisher.says(r#"{"k":"run.end","run":"r2","status":"complete"}"#).await;
    let state = format!("return document.querySelector('[data-conversation={}]')?.dataset.state", case(3));
    page.run_until(&state, |it| it == "complete").await;
    page.run("const it = document.querySelector('#filter'); it.value = 'c4999'; it.dispatchEvent(new Event('input', {bubbles: true}))").await;
    page.run_until(ROWS, |rows| *rows == json!(["c4999"])).await;
    assert_eq!(page.console_errors().await, Vec::<String>::new());
    page.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_dashboard_draws_what_happened_and_each_point_opens_what_is_behind_it() {
    let (hub, _publishers) = busy(24).await;
    let page = BrowserPage::open(DESKTOP).await;
    page.goto(&hub.url("/dashboard")).await;
    let drawn = |panel: &str| {
        format!("return document.querySelectorAll('[data-panel={panel}] svg [data-line]').length")
    };
    let panels = [
        "runs",
        "runs-that-did-not-complete",
        "tokens",
        "cost",
        "duration-of-runs",
        "duration-of-tool-calls",
        "tool-calls-that-failed",
    ];
    for panel in panels {
        page.run_until(&drawn(panel), |count| count.as_u64().is_some_and(|count| count > 0)).await;
    }
    // The numbers are those of the events.
    page.run_until("return document.querySelector('[data-panel=runs] h2 .num').textContent", |it| it == "27")
        .await;
    page.run("document.querySelector('[data-panel=tokens] summary').click()").await;
    page.run_until("return document.querySelectorAll('[data-panel=tokens] tbody tr').length", |count| {
        count == 24
    })
    .await;
    // By model, and the address says so.
    page.run("[...document.querySelectorAll('.seg button')].find(it => it.textContent === 'model').click()")
        .await;
    page.run_until("return location.search", |it| it == "?by=model").await;
    let legend = "return [...document.querySelectorAll('[data-panel=cost] .legend li')].map(it => it.textContent.trim().split(' ')[0])";
    page.run_until(legend, |names| names.to_string().contains("opus-5")).await;
    // A click on a bar opens the runs of that hour and that model.
    page.run(&bar("cost")).await;
    page.run_until("return location.pathname", |it| it == "/runs").await;
    page.run_until("return location.search", |it| {
        it.as_str().is_some_and(|it| it.contains("model%3Aopus-5") && it.contains("from="))
    })
    .await;
    page.run_until(ROWS, |rows| rows.as_array().is_some_and(|rows| !rows.is_empty())).await;
    page.text_until("time", |text| text.contains(" – ")).await;
    assert_eq!(page.console_errors().await, Vec::<String>::new());
    page.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn both_pages_fit_every_screen_in_both_colours() {
    let (hub, _publishers) = busy(40).await;
    let page = BrowserPage::open(DESKTOP).await;
    table(&hub, &page, "/runs").await;
    page.run_until(ROWS, |rows| rows.as_array().is_some_and(|rows| rows.len() > 8)).await;
    pictured(&page, PicturedView::Runs).await;
    page.goto(&hub.url("/dashboard?by=model")).await;
    page.run_until("return document.querySelectorAll('svg [data-line]').length", |count| {
        count.as_u64().is_some_and(|count| count > 60)
    })
    .await;
    // How charts are used is said once, and a chart under the pointer has its values where nothing stood.
    let said = "return document.body.innerText.split('Shift-click').length - 1";
    assert_eq!(page.run(said).await, 1);
    let readouts = "return [...document.querySelectorAll('.readout')].map(it => it.innerText).join('')";
    assert_eq!(page.run(readouts).await, "");
    let high = "return document.querySelector('[data-panel=runs]').getBoundingClientRect().height";
    let before = page.run(high).await;
    page.run("const it = document.querySelector('[data-panel=runs] .plot'), at = it.getBoundingClientRect();
        it.dispatchEvent(new PointerEvent('pointermove', {bubbles: true, clientX: at.right - 4, clientY: at.top + 9}))").await;
    page.run_until(readouts, |it| it.as_str().is_some_and(|it| it.contains(" · "))).await;
    assert_eq!(page.run(high).await, before, "and moves nothing");
    pictured(&page, PicturedView::Dashboard).await;
    assert_eq!(page.console_errors().await, Vec::<String>::new());
    page.close().await;
}

/// Tasks of an operator on 40 runs, each with the clicks that it takes on the table of runs or the dashboard.
#[tokio::test(flavor = "multi_thread")]
async fn an_operators_questions_are_answered_within_two_clicks() {
    let (hub, _publishers) = busy(40).await;
    let page = BrowserPage::open(DESKTOP).await;
    let chip = |words: &str| {
        format!(
            "[...document.querySelectorAll('[data-t=filter-chips] button')].find(it => it.textContent === '{words}').click()"
        )
    };
    let head = |column: &str| {
        format!("document.querySelector('[role=columnheader] [data-column={column}]').click()")
    };
    let tasks: [(&str, Vec<String>, &str); 4] = [
        ("which waits", vec![chip("has:approval")], "deploy-billing"),
        ("which costs most", vec![head("cost")], "case-39"),
        ("which failed", vec![chip("has:error")], "case-35"),
        ("which used most tokens", vec![head("tokens")], "case-39"),
    ];
    for (task, clicks, found) in tasks {
        table(&hub, &page, "/runs").await;
        for click in &clicks {
            page.run(click).await;
        }
        page.run_until(ROWS, |rows| rows[0] == found).await;
        println!("{task}: {} click(s)", clicks.len());
        assert!(clicks.len() <= 2);
    }
    table(&hub, &page, "/runs").await;
    page.run(&chip("state:running")).await;
    page.run_until(ROWS, |rows| {
        let mut rows: Vec<_> = rows.as_array().into_iter().flatten().filter_map(Value::as_str).collect();
        rows.sort_unstable();
        rows == ["nightly-import", "release-notes"]
    })
    .await;
    println!("which run: 1 click(s)");
    // What filled an hour: the bar of that hour on the dashboard.
    page.goto(&hub.url("/dashboard")).await;
    page.run_until("return document.querySelectorAll('[data-panel=runs] svg rect').length", |count| {
        count.as_u64() > Some(3)
    })
    .await;
    page.run(&bar("runs")).await;
    page.run_until("return location.pathname", |it| it == "/runs").await;
    page.run_until(ROWS, |rows| rows.as_array().is_some_and(|rows| !rows.is_empty() && rows.len() < 5)).await;
    println!("what happened in that hour: 1 click(s)");
    page.close().await;
}

/// A click on the first bar of a panel.
fn bar(panel: &str) -> String {
    format!(
        "const bar = document.querySelector('[data-panel={panel}] svg rect[data-line=\"0\"]'), at = bar.getBoundingClientRect();
         bar.dispatchEvent(new MouseEvent('click', {{bubbles: true, clientX: at.left + at.width / 2, clientY: at.top + 1}}))"
    )
}
