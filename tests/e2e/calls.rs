//! The panel of calls: filters, orders, what is slow, keys; and what stays visible when the steps are folded.

use serde_json::json;
use tests::BrowserPage;
use tests::browser::DESKTOP;

use crate::scene::{ANSWER, CALLS, OPENING, SUB_AGENT, hub_and_publisher};

/// Presses a key that writes nothing.
async fn key(page: &BrowserPage, key: &str, code: u32, text: &str) {
    for kind in ["keyDown", "keyUp"] {
        let event = json!({"type": kind, "key": key, "code": if key == " " { "Space" } else { key },
            "windowsVirtualKeyCode": code, "text": if kind == "keyDown" { text } else { "" }});
        page.devtools("Input.dispatchKeyEvent", event).await;
    }
}

const ROWS: &str = "return [...document.querySelectorAll('[data-t=tool-row]')].map(it => it.dataset.call)";

/// Chooses `value` in a list.
async fn choose(page: &BrowserPage, list: &str, value: &str) {
    page.run(&format!(
        "const it = document.querySelector('[data-t={list}]'); it.value = {value:?}; it.dispatchEvent(new Event('change', {{bubbles: true}}))"
    ))
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn calls_are_filtered_ordered_and_gone_through_by_keys() {
    let (hub, mut publisher) = hub_and_publisher("c").await;
    let mut head = publisher.says_all(&[OPENING, CALLS, SUB_AGENT]).await;
    for (n, ms) in [(1, 4_000), (2, 4_100), (3, 40_000)] {
        let call = json!({"k": "tool.call", "run": "r", "tool": format!("s{n}"), "name": "scan", "arguments": "{\"path\":\"/var\"}"});
        let result = json!({"k": "tool.result", "run": "r", "tool": format!("s{n}"), "output": "x".repeat(n * 50), "exec_ms": ms});
        head = publisher.says(&format!("{call}\n{result}")).await.seq;
    }
    let page = BrowserPage::open(DESKTOP).await;
    page.goto(&hub.url("/c/c")).await;
    page.painted(head).await;
    page.run_until(ROWS, |rows| rows == &json!(["t1", "t2", "t3", "t4", "t5", "s1", "s2", "s3"])).await;
    choose(&page, "sort", "largest first").await;
    page.run_until(ROWS, |rows| rows[0] == "s3" && rows[1] == "s2").await;
    choose(&page, "sort", "longest first").await;
    page.run_until(ROWS, |rows| rows[0] == "s3").await;
    page.holds("return document.querySelector('.slow-word')?.textContent.includes('9.7× usual (p95 4.1 s)') === true").await;
    page.holds("return document.querySelector('.slow-word use')?.getAttribute('href') === '#hourglass'")
        .await;
    // Out of the order by tool a row has its name; to listeners also its state.
    let row = |call: &str, part: &str| {
        format!(
            "return document.querySelector('[data-t=tool-row][data-call={call}] {part}')?.textContent.trim() ?? ''"
        )
    };
    page.run_until(&row("s3", ".nm"), |name| name == "scan").await;
    page.run_until(&row("t5", "[data-t=row-agent]"), |agent| agent == "researcher").await;
    page.run_until(
        "return document.querySelector('[data-t=tool-row][data-call=t5] svg').getAttribute('aria-label')",
        |said| said == "complete",
    )
    .await;
    assert_eq!(page.run(&row("s3", "[data-t=row-agent]")).await, json!(""));
    page.screenshot("tools-sorted-light").await;
    let chip = |word: &str| {
        format!(
            "[...document.querySelectorAll('.tools .chip')].find(it => it.textContent.startsWith('{word}')).click()"
        )
    };
    page.run(&chip("slow")).await;
    page.run_until(ROWS, |rows| rows == &json!(["s3"])).await;
    page.run(&chip("slow")).await;
    page.run(&chip("failed")).await;
    page.run_until(ROWS, |rows| rows == &json!(["t2"])).await;
    page.run(&chip("failed")).await;
    choose(&page, "by-agent", "1").await;
    page.run_until(ROWS, |rows| rows == &json!(["t5"])).await;
    choose(&page, "by-agent", "all").await;
    choose(&page, "sort", "by tool").await;
    page.run_until(ROWS, |rows| rows.as_array().unwrap().len() == 8).await;
    page.run(
        "[...document.querySelectorAll('button.grp')].find(it => it.textContent.startsWith('scan')).click()",
    )
    .await;
    page.run_until(ROWS, |rows| rows == &json!(["s1", "s2", "s3"])).await;
    // The keys: down, content in place, and the card in the conversation.
    page.run("document.querySelector('[data-t=tool-row]').focus()").await;
    key(&page, "ArrowDown", 40, "").await;
    let focused = "return document.activeElement?.dataset.call ?? ''";
    page.run_until(focused, |call| call == "s2").await;
    key(&page, " ", 32, " ").await;
    page.holds("return document.querySelector('[data-t=details]')?.textContent.includes('xxxx') === true")
        .await;
    page.run_until(focused, |call| call == "s2").await;
    key(&page, " ", 32, " ").await;
    page.holds("return !document.querySelector('[data-t=details]')").await;
    key(&page, "Enter", 13, "\r").await;
    page.holds("const box = document.querySelector('[data-t=tool-card][data-call=s2]')?.getBoundingClientRect(); return !!box && box.top > 44 && box.top < innerHeight").await;
    assert_eq!(page.console_errors().await, Vec::<String>::new());
    page.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn no_chip_is_cut_or_broken_however_narrow_the_panel_is() {
    let (hub, mut publisher) = hub_and_publisher("c").await;
    let head = publisher.says_all(&[OPENING, CALLS, SUB_AGENT]).await;
    let page = BrowserPage::open(DESKTOP).await;
    page.goto(&hub.url("/c/c")).await;
    page.painted(head).await;
    // One tool alone has a chip of its own beside the two lists.
    page.holds("return !!document.querySelector('button.grp')").await;
    page.run("document.querySelector('button.grp').click()").await;
    page.holds("return !!document.querySelector('[data-t=only-tool]')").await;
    page.run("document.querySelector('.tools').style.width = '240px'").await;
    page.holds(
        "const panel = document.querySelector('.tools'), edge = panel.getBoundingClientRect().right;
         const chips = [...panel.querySelectorAll('.chips > *')].map(it => it.getBoundingClientRect());
         return chips.length === 7 && chips.every(it => it.right <= edge && it.width > 30 && it.height < 30)",
    )
    .await;
    page.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_that_waits_for_approval_is_counted_at_once() {
    let (hub, mut publisher) = hub_and_publisher("c").await;
    for lines in [OPENING, CALLS] {
        publisher.says(lines).await;
    }
    let page = BrowserPage::open(DESKTOP).await;
    page.goto(&hub.url("/c/c")).await;
    let chip = "[...document.querySelectorAll('.tools .chip')].find(it => it.textContent.startsWith('approval'))?.textContent.trim()";
    page.run_until(&format!("return {chip}"), |text| text == "approval 0").await;
    // What the chip says in each frame in which the card says that the call waits.
    page.run(&format!(
        "window.counted = []; (function look() {{
            if (document.querySelector('[data-t=transcript] [data-state=approval]')) counted.push({chip});
            requestAnimationFrame(() => setTimeout(look));
        }})()"
    ))
    .await;
    publisher
        .says(r#"{"k":"tool.state","run":"r","tool":"t4","state":"approval","text":"May I draw it?"}"#)
        .await;
    let counted = page.run_until("return counted", |it| it.as_array().is_some_and(|it| it.len() >= 5)).await;
    assert!(counted.as_array().unwrap().iter().all(|it| it == "approval 1"), "{counted}");
    // The header says so too, in the place of "Running".
    page.text_until("pill", |text| text.starts_with("Waits for approval")).await;
    page.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn failed_calls_and_open_approvals_stay_visible_when_the_steps_are_folded() {
    let (hub, mut publisher) = hub_and_publisher("c").await;
    for lines in [OPENING, CALLS, ANSWER] {
        publisher.says(lines).await;
    }
    let ask = r#"{"k":"tool.state","run":"r","tool":"t4","state":"approval","text":"May I draw it?"}"#;
    let head = publisher.says(ask).await.seq;
    let page = BrowserPage::open(DESKTOP).await;
    page.goto(&hub.url("/c/c?level=Answer")).await;
    page.painted(head).await;
    let cards = "return [...document.querySelectorAll('[data-t=transcript] [data-t=tool-card]')].map(it => it.dataset.call)";
    page.run_until(cards, |cards| cards == &json!(["t2", "t4"])).await;
    page.text_until("answer", |text| text.contains("weaker dollar")).await;
    page.screenshot("answer-level-light").await;
    page.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_that_failed_without_a_word_says_that_it_failed() {
    let (hub, mut publisher) = hub_and_publisher("c").await;
    let call = r#"
        {"k":"tool.call","run":"r","tool":"t","name":"look","arguments":"{}"}
        {"k":"tool.result","run":"r","tool":"t","output":null,"is_error":true,"exec_ms":5}"#;
    let head = publisher.says_all(&[OPENING, call]).await;
    let page = BrowserPage::open(DESKTOP).await;
    page.goto(&hub.url("/c/c")).await;
    page.painted(head).await;
    page.holds("return document.querySelector('[data-t=tool-card]')?.dataset.state === 'error'").await;
    page.run("const it = document.querySelector('[data-t=tool-card] button'); if (it.ariaExpanded !== 'true') it.click()").await;
    page.text_until("no-reason", |text| text == "It failed and gave no message.").await;
    let card = page.run("return document.querySelector('[data-t=tool-card]').textContent").await;
    assert!(!card.as_str().unwrap().contains("completed"), "{card}");
    page.close().await;
}
