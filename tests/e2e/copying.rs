//! What is copied is what there is, byte for byte, and only what was copied is called so.

use serde_json::json;
use tests::Page;
use tests::browser::DESKTOP;

use crate::scene::{OPENING, hub_and_publisher};

/// Lets the page copy into `copied`, or be refused.
const CLIPBOARD: &str = "window.copied = null; window.refuses = false; Object.defineProperty(navigator, 'clipboard', {configurable: true, value: {
    writeText: text => window.refuses ? Promise.reject(new Error('refused')) : (window.copied = text, Promise.resolve())}})";

const COPY: &str = "document.querySelector('[data-t=tool-card][data-call=big] .foot .copy')";

async fn press_copy(page: &Page) {
    page.holds(&format!("return !!{COPY}")).await;
    page.run(&format!("{COPY}.focus(); {COPY}.click()")).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn of_a_large_result_everything_is_copied_and_shown_once() {
    let (hub, mut publisher) = hub_and_publisher("c").await;
    publisher.says(OPENING).await;
    let whole: String = (0..40_000).map(|n| format!("row {n}\n")).collect();
    let call = json!({"k": "tool.call", "run": "r", "tool": "big", "name": "read", "arguments": "{}"});
    let result = json!({"k": "tool.result", "run": "r", "tool": "big", "output": whole, "exec_ms": 5});
    let head = publisher.says(&format!("{call}\n{result}")).await.seq;
    let page = Page::open(DESKTOP).await;
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
    let page = Page::open(DESKTOP).await;
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
