//! Nine questions of an operator on 40 agents, each answered within two clicks, or one key and a word. The count is printed.
//!
//! | question | answered on |
//! |---|---|
//! | which is silent, which waits, which loops, which costs most | the table of runs: a condition, or the head of a column |
//! | why is this one slow | the conversation: its timeline |
//! | what happened since noon | the dashboard: a bar, then everything since |
//! | where did a tool return this yesterday | a conversation: Find, the word |
//! | compare two | the conversation: the picker, the other's name |
//! | send a colleague this very moment | the conversation: a link with the moment |

use std::time::{SystemTime, UNIX_EPOCH};

use serde_json::{Value, json};
use tests::browser::DESKTOP;
use tests::{BrowserPage, TestHub};

use crate::overview::yesterday;

const HOUR_MS: u64 = 3_600_000;

/// What a tool returned yesterday, and nothing else says.
const WORD: &str = "zebra4711";

/// Lets the page copy into `copied`.
const CLIPBOARD: &str =
    "window.copied = null; Object.defineProperty(navigator, 'clipboard', {configurable: true, value: {
    writeText: text => (window.copied = text, Promise.resolve())}})";

/// Which conversations the table shows, in order.
const ROWS: &str = "return [...document.querySelectorAll('[data-t=run-row]')].filter(it => it.checkVisibility({visibilityProperty: true}))
    .sort((a, b) => a.dataset.place - b.dataset.place).map(it => it.dataset.conversation)";

/// What a task took of its reader.
#[derive(Debug, Clone, Copy)]
struct Effort {
    clicks: usize,
    keys: usize,
    words: usize,
}

const fn clicks(clicks: usize) -> Effort {
    Effort { clicks, keys: 0, words: 0 }
}

const KEY: Effort = Effort { clicks: 0, keys: 1, words: 0 };

const KEY_AND_WORD: Effort = Effort { clicks: 0, keys: 1, words: 1 };

/// What a task took, which must be two clicks at most, or one key and a word, to be printed.
fn took(task: &str, effort: Effort) -> String {
    let Effort { clicks, keys, words } = effort;
    assert!(
        (clicks <= 2 && keys + words == 0) || (clicks == 0 && keys <= 1 && words <= 1),
        "{task}: {effort:?}"
    );
    format!("{task}: {clicks} click(s), {keys} key(s), {words} word(s)")
}

fn now_ms() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).expect("a time");
    u64::try_from(now.as_millis()).expect("a time of today")
}

/// Brings events into the hub as they happened `ago` milliseconds ago, a second apart.
async fn past(hub: &TestHub, name: &str, ago: u64, events: Vec<Value>) {
    let head = r#"{"fanlight":"native","version":1,"conversation":"c"}"#.to_owned();
    let began = now_ms() - ago;
    let lines = events.into_iter().enumerate().map(|(seq, mut event)| {
        let seq = seq as u64;
        let fields = event.as_object_mut().expect("an object");
        fields.insert("seq".to_owned(), json!(seq + 1));
        fields.insert("at".to_owned(), json!(began + seq * 1_000));
        event.to_string()
    });
    let body = std::iter::once(head).chain(lines).collect::<Vec<_>>().join("\n");
    let path = format!("/v1/conversations/{name}/events");
    let taken = hub.request("PUT", &path).body(body).send().await.expect("an answer");
    let status = taken.status();
    assert!(status.is_success(), "{status}: {}", taken.text().await.unwrap_or_default());
}

/// A hub with 40 agents: 34 that did their work, one that fell silent, one that waits for a person, one that calls the same tool again
/// and again, one that waits long for a call, one of yesterday, and one that works.
async fn forty() -> (TestHub, Vec<tests::TestPublisher>) {
    let hub = TestHub::start_with(&["--stalled-after", "3600", "--interrupted-after", "7200"]).await;
    yesterday(&hub, 34).await;
    let start =
        |name: &str| json!({"k": "run.start", "run": "r", "name": name, "model": "opus-5", "title": name});
    let text = |words: &str| json!({"k": "part.delta", "run": "r", "part": "p", "text": words});
    past(&hub, "quiet-crawler", 14 * 60_000, vec![start("crawler"), text("I read the next page")]).await;
    let mut calls = vec![start("triage")];
    for n in 0..60 {
        calls.push(json!({"k": "tool.call", "run": "r", "tool": format!("t{n}"), "name": "list_tickets", "arguments": "{\"page\":1}"}));
        calls.push(json!({"k": "tool.result", "run": "r", "tool": format!("t{n}"), "output": "no ticket"}));
    }
    calls.push(json!({"k": "run.end", "run": "r", "status": "complete"}));
    past(&hub, "triage-loop", 10 * 60_000, calls).await;
    let ledger = vec![
        start("ledger"),
        json!({"k": "tool.call", "run": "r", "tool": "t", "name": "read_ledger", "arguments": "{\"of\":\"march\"}"}),
        json!({"k": "tool.result", "run": "r", "tool": "t", "output": format!("account {WORD} is closed")}),
        json!({"k": "run.end", "run": "r", "status": "complete"}),
    ];
    past(&hub, "ledger-march", 26 * HOUR_MS, ledger).await;
    let mut publishers = Vec::new();
    for name in ["deploy-billing", "nightly-import", "release-notes"] {
        let mut publisher = hub.publisher(name).await;
        publisher.says(&start(name).to_string()).await;
        publishers.push(publisher);
    }
    let [billing, import, notes] = publishers.as_mut_slice() else { panic!("three publishers") };
    billing.says(r#"{"k":"tool.call","run":"r","tool":"t","name":"deploy","arguments":"{}"}"#).await;
    billing.says(r#"{"k":"approval.request","run":"r","tool":"t","text":"Deploy?"}"#).await;
    import.says(r#"{"k":"tool.call","run":"r","tool":"t","name":"run_sql","arguments":"{}"}"#).await;
    import.says(r#"{"k":"tool.state","run":"r","tool":"t","state":"executing"}"#).await;
    notes.says(&text("The first draft is ready").to_string()).await;
    hub.json_until("/v1/conversations", |list| list["total"] == 40).await;
    (hub, publishers)
}

/// Goes to a page of the operator and waits for its rows.
async fn table(hub: &TestHub, page: &BrowserPage) {
    page.goto(&hub.url("/runs")).await;
    page.holds("return document.querySelectorAll('[data-t=run-row]').length > 0 && document.querySelector('[data-t=connection]')?.dataset.state === 'live'").await;
}

async fn conversation(hub: &TestHub, page: &BrowserPage, name: &str) {
    page.goto(&hub.url(&format!("/c/{name}"))).await;
    page.holds("return Number(document.querySelector('[data-t=transcript]')?.dataset.seq ?? 0) > 0").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn four_questions_are_answered_by_the_table() {
    let (hub, _publishers) = forty().await;
    let page = BrowserPage::open(DESKTOP).await;
    let chip = |words: &str| {
        format!(
            "[...document.querySelectorAll('[data-t=filter-chips] button')].find(it => it.textContent === '{words}').click()"
        )
    };
    let head = |column: &str| {
        format!("document.querySelector('[role=columnheader] [data-column={column}]').click()")
    };
    for (task, click, found) in [
        ("which is silent", chip("state:silent"), "quiet-crawler"),
        ("which waits", chip("has:approval"), "deploy-billing"),
        ("which loops", head("calls"), "triage-loop"),
        ("which costs most", head("cost"), "case-24"),
    ] {
        table(&hub, &page).await;
        page.run(&click).await;
        page.run_until(ROWS, |rows| rows[0] == found).await;
        println!("{}", took(task, clicks(1)));
    }
    page.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_slow_and_what_happened_since_noon_is_seen() {
    let (hub, _publishers) = forty().await;
    let page = BrowserPage::open(DESKTOP).await;
    conversation(&hub, &page, "nightly-import").await;
    page.press("t").await;
    page.text_until("timeline-summary", |text| text.contains("tools 100")).await;
    println!("{}", took("why is this one slow", KEY));

    page.goto(&hub.url("/dashboard")).await;
    page.run_until("return document.querySelectorAll('[data-panel=runs] svg rect').length", |count| {
        count.as_u64() > Some(3)
    })
    .await;
    // The bar in the middle stands for noon.
    page.run(
        "const bars = document.querySelectorAll('[data-panel=runs] svg rect[data-line=\"0\"]'), bar = bars[Math.floor(bars.length / 2)], at = bar.getBoundingClientRect();
         bar.dispatchEvent(new MouseEvent('click', {bubbles: true, clientX: at.left + at.width / 2, clientY: at.top + 1}))",
    )
    .await;
    page.run_until("return location.pathname", |path| path == "/runs").await;
    page.holds("return !!document.querySelector('[data-t=time-until-now]')").await;
    let of_an_hour = page.run_until(ROWS, |rows| rows.as_array().is_some_and(|rows| !rows.is_empty())).await;
    let of_an_hour = of_an_hour.as_array().map_or(0, Vec::len);
    page.run("document.querySelector('[data-t=time-until-now]').click()").await;
    page.run_until(ROWS, |rows| rows.as_array().is_some_and(|rows| rows.len() > of_an_hour + 5)).await;
    page.text_until("time", |text| text.starts_with("since ")).await;
    println!("{}", took("what happened since noon", clicks(2)));
    page.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_word_finds_what_a_tool_returned_and_the_other_conversation() {
    let (hub, _publishers) = forty().await;
    let page = BrowserPage::open(DESKTOP).await;
    conversation(&hub, &page, "release-notes").await;
    page.press("/").await;
    page.holds("return document.activeElement?.id === 'find-word'").await;
    page.devtools("Input.insertText", json!({"text": WORD})).await;
    let link = "return document.querySelector('[data-t=other-hit]')?.getAttribute('href') ?? ''";
    page.run_until(link, |link| {
        link.as_str().is_some_and(|it| it.starts_with("/c/ledger-march?run=r&tool=t"))
    })
    .await;
    println!("{}", took("where did a tool return X yesterday", KEY_AND_WORD));

    page.run("document.activeElement.blur()").await;
    page.press("g").await;
    page.press("d").await;
    page.holds("return document.activeElement?.matches('[data-t=dialog] input') === true").await;
    page.devtools("Input.insertText", json!({"text": "triage"})).await;
    page.holds("return document.querySelectorAll('[data-t=choice]').length === 1").await;
    page.press("Enter").await;
    page.run_until("return location.search", |query| {
        query.as_str().is_some_and(|query| query.contains("compare=triage-loop"))
    })
    .await;
    println!("{}", took("compare two", KEY_AND_WORD));
    page.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_link_shows_a_colleague_this_very_moment() {
    let (hub, mut publishers) = forty().await;
    let page = BrowserPage::open(DESKTOP).await;
    conversation(&hub, &page, "release-notes").await;
    page.run(CLIPBOARD).await;
    page.press("g").await;
    page.press("y").await;
    let link = page
        .run_until("return window.copied", |link| link.as_str().is_some_and(|link| link.contains("moment=")))
        .await;
    println!("{}", took("send a colleague this very moment", KEY));
    // What is said afterwards is not what the colleague is shown.
    publishers[2].says(r#"{"k":"part.delta","run":"r","part":"p","text":" and thrown away"}"#).await;
    page.holds("return document.querySelector('[data-t=transcript]').textContent.includes('thrown away')")
        .await;
    let other = BrowserPage::open(DESKTOP).await;
    other.goto(link.as_str().expect("a link")).await;
    other.holds("const it = document.querySelector('[data-t=transcript]')?.textContent ?? ''; return it.includes('The first draft is ready') && !it.includes('thrown away')").await;
    other.close().await;
    page.close().await;
}
