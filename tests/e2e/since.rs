//! What is told of a conversation to whoever comes back to it, and what people think of its runs.

use serde_json::{Value, json};
use tests::BrowserPage;
use tests::browser::DESKTOP;

use crate::scene::hub_and_publisher;
use crate::screens::{PicturedView, pictured};

/// The lines that tell what is new.
const LINES: &str = "return [...document.querySelectorAll('[data-t=since] li')].map(it => it.textContent)";

async fn click(page: &BrowserPage, selector: &str) {
    page.holds(&format!("return document.querySelector({}) !== null", json!(selector))).await;
    page.run(&format!("document.querySelector({}).click()", json!(selector))).await;
}

/// Two questions with their runs: one failed after many calls of many tools, the other waits for people.
fn much() -> Vec<Value> {
    let call = |run: &str, tool: &str, name: &str| json!({"k": "tool.call", "run": run, "tool": tool, "name": name, "arguments": "{}"});
    let mut events = vec![
        json!({"k": "message", "message": "m2", "role": "user", "text": "And the second?"}),
        json!({"k": "run.start", "run": "r2"}),
    ];
    for n in 0..34 {
        let (tool, name) = (
            format!("t{n}"),
            if n < 20 {
                "run_sql"
            } else if n < 30 {
                "edit_file"
            } else {
                "grep"
            },
        );
        events.push(call("r2", &tool, name));
        events
            .push(json!({"k": "tool.result", "run": "r2", "tool": tool, "output": "1", "is_error": n == 3}));
    }
    let usage =
        json!({"input_tokens": 11_000, "output_tokens": 1_000, "cost": {"amount": "0.5", "currency": "USD"}});
    events.extend([
        json!({"k": "run.update", "run": "r2", "usage": usage}),
        json!({"k": "run.end", "run": "r2", "status": "error"}),
        json!({"k": "message", "message": "m3", "role": "user", "text": "And the third?"}),
        json!({"k": "run.start", "run": "r3"}),
    ]);
    for name in ["deploy", "erase", "pay"] {
        events.push(call("r3", name, name));
        events.push(json!({"k": "approval.request", "run": "r3", "tool": name}));
    }
    events
}

/// What the page says of [`much`]: everything, in five lines.
const FIVE: [&str; 5] = [
    "2 runs: 1 failed, 1 running",
    "asked: \u{201c}And the third?\u{201d} (and 1 before)",
    "37 calls: run_sql 20, edit_file 10 and 4 other tools · 1 failed",
    "deploy, erase and 1 other call wait for approval",
    "12.0k tokens · $0.50",
];

#[tokio::test(flavor = "multi_thread")]
async fn whoever_comes_back_is_told_in_five_lines_what_happened() {
    let (hub, mut publisher) = hub_and_publisher("c").await;
    let head = publisher
        .says("{\"k\":\"message\",\"message\":\"m1\",\"role\":\"user\",\"text\":\"First\"}\n{\"k\":\"run.start\",\"run\":\"r1\"}\n{\"k\":\"run.end\",\"run\":\"r1\",\"status\":\"complete\"}")
        .await
        .seq;
    let page = BrowserPage::open(DESKTOP).await;
    page.goto(&hub.url("/c/c")).await;
    page.painted(head).await;
    page.holds("return document.querySelector('[data-t=since]') === null").await;
    // What is seen is noted once a second, and kept when the page is left.
    let kept = "dispatchEvent(new Event('pagehide')); return localStorage.getItem('fanlight.seen') ?? ''";
    page.run_until(kept, |kept| kept.as_str().is_some_and(|kept| kept.contains("[\"c\","))).await;
    page.goto(&hub.url("/runs")).await;
    let events = much();
    assert_eq!(events.len(), 80);
    let lines = events.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n");
    let head = publisher.says(&lines).await.seq;
    page.goto(&hub.url("/c/c")).await;
    page.painted(head).await;
    page.run_until(LINES, |lines| *lines == json!(FIVE)).await;
    pictured(&page, PicturedView::Since).await;
    click(&page, "[data-t=since-go]").await;
    page.holds("return document.querySelector('[data-t=since]') === null").await;
    // It was seen now.
    page.reload().await;
    page.painted(head).await;
    page.holds("return document.querySelector('[data-t=since]') === null").await;
    assert_eq!(page.console_errors().await, Vec::<String>::new());
    page.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_is_rated_with_a_reason_and_the_rating_is_taken_back() {
    let (hub, mut publisher) = hub_and_publisher("c").await;
    let head = publisher
        .says("{\"k\":\"run.start\",\"run\":\"r\"}\n{\"k\":\"part.delta\",\"run\":\"r\",\"part\":\"p\",\"text\":\"It is 4 %.\"}\n{\"k\":\"run.end\",\"run\":\"r\",\"status\":\"complete\"}")
        .await
        .seq;
    let page = BrowserPage::open(DESKTOP).await;
    page.goto(&hub.url("/c/c")).await;
    page.painted(head).await;
    click(&page, "[data-act=rate-bad]").await;
    page.holds(
        "return document.querySelector('[data-act=rate-bad]').getAttribute('aria-pressed') === 'true'",
    )
    .await;
    page.holds("return document.activeElement?.dataset.t === 'rating-why'").await;
    page.run("document.activeElement.value = 'the wrong table'").await;
    page.press("Enter").await;
    page.text_until("rating-said", |text| text == "the wrong table").await;
    pictured(&page, PicturedView::Rating).await;
    hub.json_until("/v1/conversations/c", |view| {
        view["label"]["ratings"] == json!([{"run": "r", "good": false, "why": "the wrong table"}])
    })
    .await;
    hub.json_until("/v1/conversations", |list| list["conversations"][0]["bad"] == 1).await;
    click(&page, "[data-act=rate-bad]").await;
    page.holds(
        "return document.querySelector('[data-act=rate-bad]').getAttribute('aria-pressed') === 'false'",
    )
    .await;
    hub.json_until("/v1/conversations/c", |view| view["label"]["ratings"].is_null()).await;
    assert_eq!(page.console_errors().await, Vec::<String>::new());
    page.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_that_came_as_a_message_is_rated_too() {
    let (hub, mut publisher) = hub_and_publisher("c").await;
    let head = publisher
        .says("{\"k\":\"message\",\"message\":\"m1\",\"role\":\"assistant\",\"text\":\"It is 4 %.\",\"run\":\"\"}")
        .await
        .seq;
    let page = BrowserPage::open(DESKTOP).await;
    page.goto(&hub.url("/c/c")).await;
    page.painted(head).await;
    click(&page, "[data-message=m1] [data-act=rate-good]").await;
    page.holds(
        "return document.querySelector('[data-message=m1] [data-act=rate-good]').getAttribute('aria-pressed') === 'true'",
    )
    .await;
    hub.json_until("/v1/conversations/c", |view| {
        view["label"]["ratings"] == json!([{"message": "m1", "good": true}])
    })
    .await;
    hub.json_until("/v1/conversations", |list| list["conversations"][0]["good"] == 1).await;
    click(&page, "[data-message=m1] [data-act=rate-good]").await;
    hub.json_until("/v1/conversations/c", |view| view["label"]["ratings"].is_null()).await;
    assert_eq!(page.console_errors().await, Vec::<String>::new());
    page.close().await;
}
