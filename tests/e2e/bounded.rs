//! A page of any conversation has a few thousand elements, whatever it is made of.

use serde_json::{Value, json};
use tests::browser::DESKTOP;
use tests::{BrowserPage, TestPublisher};

use crate::scene::{OPENING, hub_and_publisher};

/// Most elements of a page (docs/performance.md).
const ELEMENTS_MAX: u64 = 4_000;

/// A piece of an answer with all that Markdown has.
const RICH: &str = "## Revenue by region\n\nNet revenue rose **8.4 %** on the quarter, see [the report](https://example.com/q3) for \
`net` and *gross*.\n\n| Region | Q2 | Q3 |\n|---|--:|--:|\n| EMEA | 41.2 M | 48.9 M |\n| Americas | 63.0 M | 63.4 M |\n| APAC | 22.8 M \
| 24.1 M |\n\n1. `enterprise` renewals,\n2. the new price list,\n3. a weaker dollar.\n\n```python\nreturn 100 * (after - before) / before\n```\n\n";

async fn elements(page: &BrowserPage) -> u64 {
    page.run("return document.querySelectorAll('*').length").await.as_u64().expect("a number")
}

/// Says it in frames of so many events.
async fn says(publisher: &mut TestPublisher, events: &[Value]) -> u64 {
    let mut head = 0;
    for frame in events.chunks(40) {
        let lines: Vec<String> = frame.iter().map(Value::to_string).collect();
        head = publisher.says(&lines.join("\n")).await.seq;
    }
    head
}

#[tokio::test(flavor = "multi_thread")]
async fn texts_between_calls_leave_the_page_as_large_as_it_was() {
    let (hub, mut publisher) = hub_and_publisher("c").await;
    for number in 0..120 {
        hub.publisher(&format!("other{number}")).await.says(OPENING).await;
    }
    publisher.says(OPENING).await;
    let page = BrowserPage::open(DESKTOP).await;
    page.goto(&hub.url("/c/c")).await;
    page.holds("return document.querySelectorAll('[data-t=conversation-row]').length > 90").await;
    let mut seen = Vec::new();
    for block in 0..4 {
        let mut events = Vec::new();
        for round in 0..50 {
            let name = format!("{block}.{round}");
            events.push(json!({"k": "part.delta", "run": "r", "part": format!("p{name}"), "text": RICH}));
            for call in 0..3 {
                let tool = format!("t{name}.{call}");
                events.push(json!({"k": "tool.call", "run": "r", "tool": tool, "name": format!("look{call}"), "arguments": "{}"}));
                events.push(json!({"k": "tool.result", "run": "r", "tool": tool, "output": "x"}));
            }
        }
        page.painted(says(&mut publisher, &events).await).await;
        seen.push(elements(&page).await);
    }
    assert!(seen.iter().all(|n| *n <= ELEMENTS_MAX), "{seen:?}");
    let is_at_end = "const it = document.getElementById('transcript'); return it.scrollHeight - it.clientHeight - it.scrollTop < 8 && !document.querySelector('.jump')";
    page.holds(is_at_end).await;
    // What is not there is one click away.
    page.run("document.querySelector('button.more').click()").await;
    page.run_until("return document.querySelectorAll('*').length", |n| n.as_u64() > seen.last().copied())
        .await;
    page.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn one_endless_text_leaves_the_page_as_large_as_it_was() {
    let (hub, mut publisher) = hub_and_publisher("c").await;
    publisher.says(OPENING).await;
    let page = BrowserPage::open(DESKTOP).await;
    page.goto(&hub.url("/c/c")).await;
    let mut seen = Vec::new();
    for _ in 0..4 {
        let events: Vec<Value> =
            (0..60).map(|_| json!({"k": "part.delta", "run": "r", "part": "p", "text": RICH})).collect();
        page.painted(says(&mut publisher, &events).await).await;
        seen.push(elements(&page).await);
    }
    assert!(seen.iter().all(|n| *n <= 2_000), "{seen:?}");
    // The beginning comes back when somebody asks for it, and the end is as it was.
    page.run("document.querySelector('button.more').click()").await;
    page.run_until("return document.querySelectorAll('[data-t=answer] :is(h2, h3, h4)').length", |n| {
        *n == 240
    })
    .await;
    page.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn everything_open_leaves_the_page_as_large_as_it_was() {
    let (hub, mut publisher) = hub_and_publisher("c").await;
    publisher.says(OPENING).await;
    let rows: Vec<Value> =
        (0..40).map(|row| json!({"region": format!("r{row}"), "net": row, "share": 0.5})).collect();
    let mut events = Vec::new();
    for call in 0..150 {
        let tool = format!("t{call}");
        events.push(json!({"k": "tool.call", "run": "r", "tool": tool, "name": "run_sql", "arguments": "{\"q\":\"select\"}"}));
        events.push(json!({"k": "tool.result", "run": "r", "tool": tool, "output": rows}));
    }
    let head = says(&mut publisher, &events).await;
    let page = BrowserPage::open(DESKTOP).await;
    page.goto(&hub.url("/c/c?level=All")).await;
    page.painted(head).await;
    page.holds("return document.querySelectorAll('[data-t=transcript] table').length > 0").await;
    assert!(elements(&page).await <= ELEMENTS_MAX, "{}", elements(&page).await);
    // Those that one opens count too.
    page.goto(&hub.url("/c/c?level=Steps")).await;
    page.painted(head).await;
    page.holds("return document.querySelectorAll('[data-t=tool-card]').length > 100").await;
    page.run(
        "document.querySelectorAll('[data-t=tool-card] > button').forEach((it, at) => at % 4 || it.click())",
    )
    .await;
    page.press("End").await;
    page.run_until("return document.querySelectorAll('*').length", |n| {
        n.as_u64().is_some_and(|n| n <= ELEMENTS_MAX)
    })
    .await;
    page.close().await;
}
