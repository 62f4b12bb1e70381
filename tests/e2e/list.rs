//! The list of conversations: what its rows say, what is new, conditions, pages; and how wide it stands.

use serde_json::{Value, json};
use tests::browser::DESKTOP;
use tests::wait::within;
use tests::{BrowserPage, TestHub};

use crate::scene::{OPENING, hub_and_publisher};

const NAMES: &str = "return [...document.querySelectorAll('[data-t=conversation-row]')].map(it => it.dataset.conversation).sort().join()";

const GROUPS: &str =
    "return [...document.querySelectorAll('nav.list h2')].map(head => head.textContent.trim()).join()";

/// A call that executes.
const EXECUTES: &str = r#"
    {"k":"tool.call","run":"r","tool":"t","name":"run_sql","arguments":"{}"}
    {"k":"tool.state","run":"r","tool":"t","state":"executing"}
"#;

/// A call that failed, and the run with it.
const FAILS: &str = r#"
    {"k":"tool.call","run":"r","tool":"t","name":"look","arguments":"{}"}
    {"k":"tool.result","run":"r","tool":"t","output":"gone","is_error":true,"exec_ms":5}
    {"k":"run.end","run":"r","status":"error"}
"#;

/// What the row of `conversation` has at `part`.
fn part_of(conversation: &str, part: &str) -> String {
    format!(
        "return document.querySelector('[data-t=conversation-row][data-conversation={conversation}] {part}')?.textContent ?? null"
    )
}

async fn types(page: &BrowserPage, text: &str) {
    page.run(&format!(
        "const it = document.getElementById('filter'); it.value = {}; it.dispatchEvent(new Event('input', {{bubbles: true}}))",
        json!(text)
    ))
    .await;
}

async fn chip(page: &BrowserPage, name: &str) {
    page.run(&format!(
        "[...document.querySelectorAll('[data-t=filter-chips] button')].find(it => it.textContent === {}).click()",
        json!(name)
    ))
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn rows_say_what_is_done_now_and_conditions_find_them() {
    let (hub, mut alpha) = hub_and_publisher("alpha").await;
    alpha.says_all(&[OPENING, EXECUTES]).await;
    let mut beta = hub.publisher("beta").await;
    beta.says_all(&[&OPENING.replace("test-model", "Qwen3-4B"), FAILS]).await;
    let mut gamma = hub.publisher("gamma").await;
    let asks = r#"
        {"k":"tool.call","run":"r","tool":"t","name":"deploy","arguments":"{}"}
        {"k":"approval.request","run":"r","tool":"t","text":"Deploy?"}"#;
    gamma.says_all(&[OPENING, asks]).await;
    let mut delta = hub.publisher("delta").await;
    let answers = r#"
        {"k":"part.delta","run":"r","part":"p","text":"Revenue rose\nby 4 %."}
        {"k":"run.end","run":"r","status":"complete"}"#;
    delta.says_all(&[OPENING, answers]).await;
    let page = BrowserPage::open(DESKTOP).await;
    page.goto(&hub.url("/c/alpha")).await;
    let says =
        |text: &'static str| move |shown: &Value| shown.as_str().is_some_and(|it| it.starts_with(text));
    page.run_until(&part_of("alpha", ".d"), says("run_sql · 0:")).await;
    page.run_until(&part_of("gamma", ".d"), says("waiting for approval · deploy")).await;
    page.run_until(&part_of("delta", ".d"), says("Revenue rose by 4 %.")).await;
    page.run_until(&part_of("beta", ".e"), says("1 failed")).await;
    // Times end at the same edge, whatever stands below them.
    let edges = "return new Set([...document.querySelectorAll('.conv .t')].map(it => Math.round(it.getBoundingClientRect().right))).size";
    assert_eq!(page.run(edges).await, 1);
    for (text, wanted) in [
        ("has:error", "beta"),
        ("has:approval", "gamma"),
        ("model:qwen", "beta"),
        ("tool:sql", "alpha"),
        ("tool:deploy", "gamma"),
        ("state:complete", "delta"),
        ("slower:1h", ""),
        ("depth:>0", ""),
        ("delta", "delta"),
        ("", "alpha,beta,delta,gamma"),
    ] {
        types(&page, text).await;
        page.run_until(NAMES, |names| names == wanted).await;
    }
    // The chips put them in and take them out.
    chip(&page, "has:error").await;
    page.run_until(NAMES, |names| names == "beta").await;
    page.holds("return document.getElementById('filter').value === 'has:error' && document.activeElement.id === 'filter'")
        .await;
    page.screenshot("list-filtered-light").await;
    chip(&page, "has:error").await;
    page.run_until(NAMES, |names| names == "alpha,beta,delta,gamma").await;
    assert_eq!(page.console_errors().await, Vec::<String>::new());
    page.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_came_since_is_marked_and_a_failure_that_was_seen_asks_for_nobody() {
    let (hub, mut alpha) = hub_and_publisher("alpha").await;
    let head = alpha.says(OPENING).await.seq;
    let page = BrowserPage::open(DESKTOP).await;
    page.goto(&hub.url("/c/alpha")).await;
    page.painted(head).await;
    let mut beta = hub.publisher("beta").await;
    let failed = beta.says_all(&[OPENING, FAILS]).await;
    let needs = |shown: &Value| shown.as_str().is_some_and(|heads| heads.starts_with("Needs you1"));
    page.run_until(GROUPS, needs).await;
    let unread = "return [...document.querySelectorAll('.unread')].map(it => it.closest('a').dataset.conversation).join()";
    page.run_until(unread, |names| names == "beta").await;
    page.run("document.querySelector('[data-t=conversation-row][data-conversation=beta]').click()").await;
    page.painted(failed).await;
    page.run_until(GROUPS, |heads| heads == "Running1,Recent1").await;
    page.run("document.querySelector('[data-t=conversation-row][data-conversation=alpha]').click()").await;
    page.holds("return location.pathname === '/c/alpha'").await;
    page.reload().await;
    page.painted(head).await;
    page.run_until(GROUPS, |heads| heads == "Running1,Recent1").await;
    page.run_until(unread, |names| names == "").await;
    // It fails again.
    beta.says_all(&[
        &OPENING.replace(r#""run":"r""#, r#""run":"s""#).replace("m1", "m2"),
        &FAILS.replace(r#""run":"r""#, r#""run":"s""#),
    ])
    .await;
    page.run_until(GROUPS, needs).await;
    page.run_until(unread, |names| names == "beta").await;
    page.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_that_was_lost_needs_somebody_until_it_was_seen() {
    let hub =
        TestHub::start_with(&["--log", "memory", "--stalled-after", "1", "--interrupted-after", "2"]).await;
    let mut alpha = hub.publisher("alpha").await;
    let ends = r#"{"k":"run.end","run":"r","status":"complete"}"#;
    let head = alpha.says_all(&[OPENING, ends]).await;
    let page = BrowserPage::open(DESKTOP).await;
    page.goto(&hub.url("/c/alpha")).await;
    page.painted(head).await;
    let mut beta = hub.publisher("beta").await;
    beta.says_all(&[OPENING, EXECUTES]).await;
    drop(beta);
    // Its publisher is gone, and then it is given up: it needs somebody all the while.
    let state = "return document.querySelector('[data-t=conversation-row][data-conversation=beta]')?.dataset.state ?? ''";
    page.run_until(state, |state| state == "interrupted").await;
    let needs = |shown: &Value| shown.as_str().is_some_and(|heads| heads.starts_with("Needs you1"));
    page.run_until(GROUPS, needs).await;
    // That the page was loaded again is no look at it.
    page.reload().await;
    page.painted(head).await;
    page.run_until(GROUPS, needs).await;
    page.run("document.querySelector('[data-t=conversation-row][data-conversation=beta]').click()").await;
    page.holds("return location.pathname === '/c/beta'").await;
    page.text_until("transcript", |text| text.contains("The stream broke off before its end")).await;
    page.run_until(GROUPS, |heads| heads == "Recent2").await;
    page.run("document.querySelector('[data-t=conversation-row][data-conversation=alpha]').click()").await;
    page.holds("return location.pathname === '/c/alpha'").await;
    page.reload().await;
    page.painted(head).await;
    page.run_until(GROUPS, |heads| heads == "Recent2").await;
    page.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn more_conversations_than_are_sent_are_paged_to() {
    let hub = TestHub::start().await;
    for number in 0..510 {
        let words = r#"{"k":"run.start","run":"r"}"#;
        let path = format!("/v1/conversations/c{number:03}/events");
        within("an answer", hub.request("POST", &path).body(words).send()).await.unwrap();
    }
    let page = BrowserPage::open(DESKTOP).await;
    page.goto(&hub.url("/")).await;
    page.text_until("older", |text| text.starts_with("newest 500 of 510")).await;
    page.text_until("list-pager", |text| text.contains("page 1 of 6")).await;
    page.run("document.querySelector('[data-t=older] button').click()").await;
    page.holds("return !document.querySelector('[data-t=older]')").await;
    page.run("[...document.querySelectorAll('[data-t=list-pager] button')].at(-1).click()").await;
    page.text_until("list-pager", |text| text.contains("page 2 of 6")).await;
    page.holds("return !document.querySelector('nav.list h2')").await;
    types(&page, "c000").await;
    page.run_until(NAMES, |names| names == "c000").await;
    assert_eq!(page.console_errors().await, Vec::<String>::new());
    page.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn edges_are_moved_by_keys_and_pointer_and_stay() {
    let (hub, mut publisher) = hub_and_publisher("c").await;
    let head = publisher.says(OPENING).await.seq;
    let page = BrowserPage::open(DESKTOP).await;
    page.goto(&hub.url("/c/c")).await;
    page.painted(head).await;
    let widths =
        "return ['nav.list', 'aside.tools'].map(it => document.querySelector(it).offsetWidth).join()";
    page.run_until(widths, |widths| widths == "280,384").await;
    for (edge, key) in [("list-width", "ArrowRight"), ("panel-width", "ArrowLeft")] {
        page.run(&format!("document.querySelector('[data-edge={edge}]').focus()")).await;
        for kind in ["rawKeyDown", "keyUp"] {
            page.devtools("Input.dispatchKeyEvent", json!({"type": kind, "key": key})).await;
        }
    }
    page.run_until(widths, |widths| widths == "296,400").await;
    let pull = [("mousePressed", 294, 1), ("mouseMoved", 254, 1), ("mouseReleased", 254, 0)];
    for (kind, x, buttons) in pull {
        let event =
            json!({"type": kind, "x": x, "y": 600, "button": "left", "buttons": buttons, "clickCount": 1});
        page.devtools("Input.dispatchMouseEvent", event).await;
    }
    page.run_until(widths, |widths| widths == "256,400").await;
    page.reload().await;
    page.painted(head).await;
    page.run_until(widths, |widths| widths == "256,400").await;
    page.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn more_than_twelve_rings_stand_still() {
    let hub = TestHub::start().await;
    let mut all = Vec::new();
    for number in 0..14 {
        let mut publisher = hub.publisher(&format!("c{number:02}")).await;
        publisher.says(OPENING).await;
        all.push(publisher);
    }
    let page = BrowserPage::open(DESKTOP).await;
    page.goto(&hub.url("/wall")).await;
    let turns =
        "const it = document.querySelector('.spin'); return it ? getComputedStyle(it).animationName : ''";
    page.run_until(turns, |name| name == "none").await;
    for publisher in all.iter_mut().take(8) {
        publisher.says(r#"{"k":"run.end","run":"r","status":"complete"}"#).await;
    }
    page.run_until(turns, |name| name == "turn").await;
    page.close().await;
}
