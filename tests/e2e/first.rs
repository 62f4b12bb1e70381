//! The first minutes: an empty hub says how to connect an agent, and says when one has.

use serde_json::json;
use tests::browser::DESKTOP;
use tests::{BrowserPage, TestHub};

use crate::scene::{CALLS, OPENING, hub_and_publisher};

/// What stands in the lines that are to be copied: a piece of each.
const WAYS: [&str; 13] = [
    "OPENAI_BASE_URL",
    "/proxy/anthropic",
    "/proxy/gemini",
    "/proxy/ollama",
    "/proxy/vllm/v1",
    "--dialect claude-code",
    "--dialect codex",
    "--dialect opencode",
    "your-agent | fanlight tee",
    "/v1/traces OTEL_EXPORTER_OTLP_TRACES_PROTOCOL=http/protobuf",
    "pip install",
    "npm install",
    "/v1/ingest/",
];

/// Notes each state that the line about the first event takes from here on, and on which path.
const LIT: &str = "window.lit = [];
    const note = ({target}) => target.dataset.t === 'waiting'
        && window.lit.push(`${target.dataset.state} at ${location.pathname}`);
    new MutationObserver(seen => seen.forEach(note))
        .observe(document.body, {subtree: true, attributeFilter: ['data-state']})";

#[tokio::test(flavor = "multi_thread")]
async fn an_empty_page_waits_for_the_first_event_and_goes_there() {
    let hub = TestHub::start_in_memory().await;
    let page = BrowserPage::open(DESKTOP).await;
    page.goto(&hub.url("/")).await;
    page.holds("return document.querySelector('[data-t=waiting]')?.dataset.state === 'waiting'").await;
    let lines =
        page.run("return [...document.querySelectorAll('.paste pre')].map(it => it.textContent)").await;
    let lines: Vec<&str> = lines.as_array().unwrap().iter().map(|line| line.as_str().unwrap()).collect();
    let origin = hub.url("");
    assert!(lines.iter().all(|line| line.contains(origin.trim_end_matches('/'))), "{lines:?}");
    for way in WAYS {
        assert!(lines.iter().any(|line| line.contains(way)), "{way} in {lines:?}");
    }
    // The first way is open; the others open with a click.
    let open = "return [...document.querySelectorAll('[data-t=starts] details')].map(way => way.open)";
    assert_eq!(page.run(open).await, json!([true, false, false, false, false]));
    page.run("document.querySelectorAll('[data-t=starts] summary')[1].click()").await;
    page.holds("return document.querySelectorAll('.paste pre')[5].checkVisibility()").await;
    page.screenshot("first-run-agents").await;
    page.run("document.querySelectorAll('[data-t=starts] summary')[1].click()").await;
    let buttons = "return document.querySelectorAll('.paste .copy').length";
    assert_eq!(page.run(buttons).await, json!(lines.len()));
    page.screenshot("first-run-light").await;
    // It lights up before it leads to what has come.
    page.run(LIT).await;
    hub.publisher("my-agent").await.says(OPENING).await;
    page.run_until("return location.pathname", |path| path == "/c/my-agent").await;
    assert_eq!(page.run("return window.lit[0]").await, json!("heard at /"));
    page.text_until("transcript", |text| text.contains("revenue per region")).await;
    assert_eq!(page.console_errors().await, Vec::<String>::new());
    page.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_that_fails_last_opens_by_itself_and_never_against_the_reader() {
    let (hub, mut publisher) = hub_and_publisher("c").await;
    let page = BrowserPage::open(DESKTOP).await;
    publisher.says(OPENING).await;
    page.goto(&hub.url("/c/c")).await;
    let call =
        |id: &str| format!(r#"{{"k":"tool.call","run":"r","tool":"{id}","name":"look","arguments":"{{}}"}}"#);
    let failure = |id: &str| {
        format!(r#"{{"k":"tool.result","run":"r","tool":"{id}","output":"401 expired","is_error":true}}"#)
    };
    let state = |id: &str| {
        format!(
            "return document.querySelector('[data-call={id}] > button')?.getAttribute('aria-expanded') ?? null"
        )
    };
    publisher.says(&call("x1")).await;
    page.run_until(&state("x1"), |open| open == "false").await;
    publisher.says(&failure("x1")).await;
    page.run_until(&state("x1"), |open| open == "true").await;
    // Nothing closes by itself, and what the reader closed stays closed.
    publisher.says(&call("x2")).await;
    page.run_until(&state("x2"), |open| open == "false").await;
    assert_eq!(page.run(&state("x1")).await, json!("true"));
    page.run("document.querySelector('[data-call=x2] > button').click()").await;
    page.run_until(&state("x2"), |open| open == "true").await;
    page.run("document.querySelector('[data-call=x2] > button').click()").await;
    page.run_until(&state("x2"), |open| open == "false").await;
    let head = publisher.says(&failure("x2")).await.seq;
    page.painted(head).await;
    page.holds("return document.querySelector('[data-call=x2]').dataset.state === 'error'").await;
    assert_eq!(page.run(&state("x2")).await, json!("false"));
    page.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn who_else_watches_is_told() {
    let (hub, mut publisher) = hub_and_publisher("c").await;
    publisher.says(CALLS).await;
    let (one, other) = (BrowserPage::open(DESKTOP).await, BrowserPage::open(DESKTOP).await);
    one.goto(&hub.url("/c/c")).await;
    one.holds("return !!document.querySelector('[data-t=connection][data-state=live]')").await;
    assert_eq!(one.text("watching").await, "");
    other.goto(&hub.url("/c/c")).await;
    one.text_until("watching", |text| text.contains("2 watching")).await;
    other.close().await;
    one.text_until("watching", str::is_empty).await;
    one.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_address_with_a_typing_error_makes_no_conversation_and_another_one_is_the_page() {
    let (hub, mut publisher) = hub_and_publisher("real").await;
    publisher.says(OPENING).await;
    let page = BrowserPage::open(DESKTOP).await;
    page.goto(&hub.url("/c/typo")).await;
    let rows = "return [...document.querySelectorAll('[data-t=conversation-row]')].map(it => it.dataset.conversation)";
    page.run_until(rows, |it| *it == json!(["real"])).await;
    page.holds("return document.querySelector('[data-t=connection]')?.dataset.state === 'live'").await;
    assert_eq!(hub.json("/v1/conversations").await["total"], 1);
    page.goto(&hub.url("/nosuch/place")).await;
    page.run_until(rows, |it| *it == json!(["real"])).await;
    page.close().await;
}
