//! What is copied is what there is, byte for byte, and only what was copied is called so.

use serde_json::json;
use tests::BrowserPage;
use tests::browser::DESKTOP;

use crate::scene::{CALLS, OPENING, SUB_AGENT, THINKING, hub_and_publisher};

/// Lets the page copy into `copied`, or be refused.
const CLIPBOARD: &str = "window.copied = null; window.refuses = false; Object.defineProperty(navigator, 'clipboard', {configurable: true, value: {
    writeText: text => window.refuses ? Promise.reject(new Error('refused')) : (window.copied = text, Promise.resolve())}})";

const COPY: &str = "document.querySelector('[data-t=tool-card][data-call=big] .foot .copy')";

async fn press_copy(page: &BrowserPage) {
    page.holds(&format!("return !!{COPY}")).await;
    page.run(&format!("{COPY}.focus(); {COPY}.click()")).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn of_a_large_result_everything_is_copied_and_shown_once() {
    let (hub, mut publisher) = hub_and_publisher("c").await;
    publisher.says(OPENING).await;
    let whole = (0..40_000).map(|n| format!("row {n}\n")).collect::<Vec<_>>().concat();
    let call = json!({"k": "tool.call", "run": "r", "tool": "big", "name": "read", "arguments": "{}"});
    let result = json!({"k": "tool.result", "run": "r", "tool": "big", "output": whole, "exec_ms": 5});
    let head = publisher.says(&format!("{call}\n{result}")).await.seq;
    let page = BrowserPage::open(DESKTOP).await;
    page.goto(&hub.url("/c/c?level=All&run=r&tool=big")).await;
    page.painted(head).await;
    page.run(CLIPBOARD).await;
    page.holds("return !!document.querySelector('[data-call=big] [data-t=load-all]')").await;
    press_copy(&page).await;
    page.run_until("return window.copied?.length ?? 0", |length| length == whole.len()).await;
    assert_eq!(page.run("return window.copied").await, json!(whole));
    page.holds(&format!("return {COPY}.textContent.trim() === 'Copied'")).await;
    // It is loaded now: it stands where its beginning stood.
    page.holds("return !document.querySelector('[data-call=big] [data-t=load-all]')").await;
    assert_eq!(page.run("return document.querySelectorAll('[data-call=big] .pre').length").await, json!(1));
    page.holds("return document.querySelector('[data-call=big] .pre').textContent.includes('row 9000')")
        .await;
    // The key copies the same.
    page.run(
        "window.copied = null; document.querySelector('[data-t=tool-card][data-call=big] > button').focus()",
    )
    .await;
    page.press("y").await;
    page.run_until("return window.copied?.length ?? 0", |length| length == whole.len()).await;
    // Raw has no word of the page in it.
    page.run("[...document.querySelectorAll('[data-call=big] [role=tab]')].find(it => it.textContent === 'Raw').click()")
        .await;
    page.holds("return document.querySelector('[data-call=big] .pre').textContent.startsWith('{}')").await;
    press_copy(&page).await;
    let raw = format!("{{}}\n{}", json!(whole));
    page.run_until("return window.copied?.length ?? 0", |length| length == raw.len()).await;
    assert_eq!(page.run("return window.copied").await, json!(raw));
    // Where the browser refuses, nothing says "Copied".
    page.run("window.refuses = true").await;
    press_copy(&page).await;
    page.holds(&format!("return {COPY}.textContent.trim() === 'Not copied'")).await;
    page.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_way_without_a_clipboard_leaves_the_focus_where_it_was() {
    let (hub, mut publisher) = hub_and_publisher("c").await;
    publisher.says(OPENING).await;
    let call = json!({"k": "tool.call", "run": "r", "tool": "big", "name": "read", "arguments": "{}"});
    let result = json!({"k": "tool.result", "run": "r", "tool": "big", "output": "short", "exec_ms": 5});
    let head = publisher.says(&format!("{call}\n{result}")).await.seq;
    let page = BrowserPage::open(DESKTOP).await;
    page.goto(&hub.url("/c/c?level=All")).await;
    page.painted(head).await;
    page.run(
        "Object.defineProperty(navigator, 'clipboard', {configurable: true, value: undefined});
         document.execCommand = () => { window.copied = document.activeElement.value; return true }",
    )
    .await;
    press_copy(&page).await;
    page.run_until("return window.copied ?? ''", |text| text == "short").await;
    page.holds(&format!("return document.activeElement === {COPY}")).await;
    page.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_card_tells_when_it_ran_and_copies_its_error_and_thinking_is_copied() {
    let (hub, mut publisher) = hub_and_publisher("c").await;
    let head = publisher.says_all(&[OPENING, THINKING, CALLS, SUB_AGENT]).await;
    let page = BrowserPage::open(DESKTOP).await;
    page.goto(&hub.url("/c/c?level=All")).await;
    page.painted(head).await;
    page.run(CLIPBOARD).await;
    let button = |within: &str, words: &str| {
        format!(
            "[...document.querySelectorAll('{within} button')].find(it => it.textContent.trim() === '{words}')"
        )
    };
    for (within, words, copied) in [
        ("[data-call=t2] .foot", "Copy error", "401 token expired at 2026-11-21T22:00:00Z"),
        (
            "[data-t=thinking]",
            "Copy thinking",
            "The numbers are in the sales table. I compare the third quarter with the second, region by region.",
        ),
    ] {
        let button = button(within, words);
        page.holds(&format!("return !!{button}")).await;
        page.run(&format!("{button}.click()")).await;
        page.run_until("return window.copied", |text| text == copied).await;
    }
    let foot = "return document.querySelector('[data-call=t2] .foot > span').textContent";
    page.run_until(foot, |times| {
        let times = times.as_str().unwrap_or_default();
        times.starts_with("started ") && times.ends_with(" · queue 40 ms · run 2.3 s")
    })
    .await;
    // The header says what it opens.
    let controlled = "const it = document.querySelector('[data-t=tool-card][data-call=t2] > button');
        return document.getElementById(it.getAttribute('aria-controls'))?.classList.contains('body') === true";
    page.holds(controlled).await;
    // The end of a sub-agent makes its answer one that can be copied.
    let more = [
        json!({"k": "part.start", "run": "r", "agent": "a1", "part": "sub", "kind": "text"}),
        json!({"k": "part.delta", "run": "r", "part": "sub", "text": "**three** filings"}),
        json!({"k": "part.end", "run": "r", "part": "sub"}),
        json!({"k": "agent.end", "run": "r", "agent": "a1", "status": "complete"}),
    ];
    publisher.says(&more.map(|line| line.to_string()).join("\n")).await;
    let button = button(".sub", "Copy its answer");
    page.holds(&format!("return !!{button}")).await;
    page.run(&format!("{button}.click()")).await;
    page.run_until("return window.copied", |text| text == "**three** filings").await;
    page.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn one_turn_is_saved_alone() {
    let (hub, mut publisher) = hub_and_publisher("c").await;
    publisher.says_all(&[OPENING, CALLS, SUB_AGENT]).await;
    let second = r#"
        {"k":"run.end","run":"r","status":"complete"}
        {"k":"message","message":"m2","role":"user","text":"And why?"}
        {"k":"run.start","run":"s","title":"Reasons"}
        {"k":"run.end","run":"s","status":"complete"}"#;
    let head = publisher.says(second).await.seq;
    let page = BrowserPage::open(DESKTOP).await;
    page.goto(&hub.url("/c/c")).await;
    page.painted(head).await;
    let link = |message: &str| {
        format!("document.querySelector('[data-message={message}] a[data-act=export-turn][download]')")
    };
    page.holds(&format!("return !!{}", link("m2"))).await;
    let saved = async |message: &str| {
        let saved = page.run(&format!("return fetch({}.href).then(it => it.text())", link(message))).await;
        saved.as_str().unwrap_or_default().to_owned()
    };
    let (first, last) = (saved("m1").await, saved("m2").await);
    assert!(first.contains("How did revenue per region") && !first.contains("And why?"), "{first}");
    assert!(last.contains("And why?") && !last.contains("How did revenue per region"), "{last}");
    // It can be seen by who goes there with the keyboard.
    page.run(&format!("{}.focus()", link("m1"))).await;
    page.holds(&format!("return getComputedStyle({}.closest('.acts')).opacity === '1'", link("m1"))).await;
    page.close().await;
}
