//! The panel's facts: what is known of a conversation and stands nowhere else on the page.

use serde_json::Value;
use tests::BrowserPage;
use tests::browser::{DESKTOP, Screen};

use crate::scene::{ANSWER, CALLS, CLOSING, OPENING, SUB_AGENT, hub_and_publisher, live_behind_a_relay};

/// What the fact `name` under the head `head` says; null where there is none.
fn fact(head: &str, name: &str) -> String {
    format!(
        "const head = [...document.querySelectorAll('[data-t=details] h3')].find(it => it.textContent === '{head}');
        const names = [...head?.nextElementSibling.querySelectorAll('dt') ?? []];
        return names.find(it => it.textContent === '{name}')?.nextElementSibling.textContent ?? null"
    )
}

async fn open_details(page: &BrowserPage) {
    page.press("g").await;
    page.press("i").await;
    page.holds("return document.querySelector('[data-tab=Details]')?.ariaSelected === 'true'").await;
}

fn has(value: &Value, words: &str) -> bool {
    value.as_str().is_some_and(|text| text.contains(words))
}

#[tokio::test(flavor = "multi_thread")]
async fn facts_follow_what_happens_and_what_is_odd_is_said() {
    let (hub, mut publisher) = hub_and_publisher("c").await;
    let head = publisher.says_all(&[OPENING, CALLS, SUB_AGENT]).await;
    let page = BrowserPage::open(DESKTOP).await;
    page.goto(&hub.url("/c/c")).await;
    page.painted(head).await;
    open_details(&page).await;
    page.run_until(&fact("Conversation", "name"), |it| it == "c").await;
    page.run_until(&fact("Conversation", "contains"), |it| it == "1 run · 1 message").await;
    page.run_until(&fact("Quarterly report", "state"), |it| it == "running").await;
    page.run_until(&fact("Quarterly report", "model"), |it| it == "test-model").await;
    page.run_until(&fact("Quarterly report", "agent"), |it| it == "analyst").await;
    page.run_until(&fact("Quarterly report", "tokens"), Value::is_null).await;
    page.run_until(&fact("Warnings", "total"), |it| has(it, "none")).await;
    page.run_until(&fact("Connection", "link"), |it| has(it, "no reconnection")).await;
    publisher.says_all(&[ANSWER, CLOSING]).await;
    let odd = r#"{"k":"part.delta","run":"r","part":"never","text":"late"}"#;
    let head = publisher.says(odd).await.seq;
    page.run_until(&fact("Quarterly report", "state"), |it| it == "complete").await;
    page.run_until(&fact("Quarterly report", "tokens"), |it| it == "18,200 in · 940 out").await;
    page.run_until(&fact("Quarterly report", "finish reason"), |it| it == "stop").await;
    page.run_until(&fact("Warnings", "total"), |it| it.is_string() && !has(it, "none")).await;
    page.run_until(&fact("Conversation", "position"), |it| {
        it.as_str().is_some_and(|at| at.ends_with(&format!(":{head}")))
    })
    .await;
    page.screenshot("details-light").await;
    page.close().await;
    // On a phone it is a sheet, and nothing stands out of it.
    let narrow = BrowserPage::open(Screen { width: 390, height: 844, dark: true }).await;
    narrow.goto(&hub.url("/c/c")).await;
    narrow.painted(head).await;
    open_details(&narrow).await;
    narrow.run_until(&fact("Quarterly report", "state"), |it| it == "complete").await;
    narrow
        .holds(
            "const it = document.querySelector('[data-t=details]');
            return it.scrollWidth <= it.clientWidth && document.documentElement.scrollWidth <= innerWidth",
        )
        .await;
    narrow.screenshot("details-dark-narrow").await;
    narrow.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn facts_of_the_past_are_those_of_its_moment() {
    let (hub, mut publisher) = hub_and_publisher("c").await;
    let head = publisher.says_all(&[OPENING, CALLS, SUB_AGENT, ANSWER, CLOSING]).await;
    let page = BrowserPage::open(DESKTOP).await;
    page.goto(&hub.url("/c/c")).await;
    page.painted(head).await;
    open_details(&page).await;
    page.run_until(&fact("Quarterly report", "state"), |it| it == "complete").await;
    page.press("p").await;
    page.run_until("return Number(document.querySelector('[data-t=replay-slider]')?.max ?? 0)", |max| {
        *max == head
    })
    .await;
    // The slider is dragged and held: time stands still, although the replay plays.
    page.run(
        "const s = document.querySelector('[data-t=replay-slider]'); s.value = 4; s.dispatchEvent(new Event('input', {bubbles: true}))",
    )
    .await;
    page.run_until(&fact("Quarterly report", "state"), |it| it == "running").await;
    page.run_until(&fact("Quarterly report", "tokens"), Value::is_null).await;
    page.run_until(&fact("Conversation", "position"), |it| has(it, &format!(":4, the newest is {head}")))
        .await;
    // Let go, and back in the present.
    page.run("const s = document.querySelector('[data-t=replay-slider]'); s.dispatchEvent(new Event('change', {bubbles: true}))")
        .await;
    page.run("[...document.querySelectorAll('button')].find(it => it.textContent.includes('Back to live')).click()").await;
    page.run_until(&fact("Quarterly report", "state"), |it| it == "complete").await;
    page.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_marks_of_the_connection_stay_after_they_have_left_the_conversation() {
    let (_hub, mut publisher, relay, page) = live_behind_a_relay().await;
    open_details(&page).await;
    relay.cut();
    let head = publisher.says(ANSWER).await.seq;
    page.painted(head).await;
    let words = page.run_until(&fact("Connection", "link"), |it| has(it, "reconnected ")).await;
    page.holds("return !document.querySelector('[data-t=mark]')").await;
    assert_eq!(page.run(&fact("Connection", "link")).await, words);
    page.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_header_says_what_the_conversation_used_what_has_no_price_and_what_fills_its_context() {
    let (hub, mut publisher) = hub_and_publisher("c").await;
    let page = BrowserPage::open(DESKTOP).await;
    page.goto(&hub.url("/c/c")).await;
    let text = "x".repeat(8_000);
    let start = serde_json::json!({"k": "part.start", "run": "r", "part": "p", "kind": "text"});
    let delta = serde_json::json!({"k": "part.delta", "run": "r", "part": "p", "text": text});
    let end =
        r#"{"k":"run.end","run":"r","status":"complete","usage":{"input_tokens":18200,"output_tokens":800}}"#;
    let head = publisher.says(&format!("{OPENING}\n{start}\n{delta}\n{end}")).await.seq;
    page.painted(head).await;
    // Parts have spaces that break no line.
    let totals = "return document.querySelector('[data-t=totals]').textContent.replaceAll('\u{a0}', ' ')";
    page.run_until(totals, |it| has(it, "~2.0k context · 19.0k tokens · no price")).await;
    let second = r#"
        {"k":"run.start","run":"s","model":"test-model"}
        {"k":"run.end","run":"s","status":"complete","usage":{"input_tokens":1000,"output_tokens":0,"cost":{"amount":"0.25","currency":"USD"}}}"#;
    let head = publisher.says(second).await.seq;
    page.painted(head).await;
    page.run_until(totals, |it| has(it, "~2.0k context · 20.0k tokens · $0.25+")).await;
    let title = page.run("return document.querySelector('[data-t=totals]').title").await;
    assert!(
        has(
            &title,
            "No price is known for 19.0k of the tokens.\nIn the context: about 2.0k tokens: turns 100\u{a0}%."
        ),
        "{title}"
    );
    // Where there is no room for all of them, the last ones are left out, and none is cut.
    let narrow = |px: u32| {
        format!(
            "const it = document.querySelector('[data-t=totals]'), text = document.createRange();
             it.style.maxWidth = '{px}px';
             text.selectNodeContents(it);
             const box = it.getBoundingClientRect();
             const seen = [...text.getClientRects()].filter(line => line.top < box.bottom - 2);
             // A button and its words are two boxes of one line.
             const lines = new Set(seen.map(line => Math.round((line.top + line.bottom) / 8)));
             return [it.scrollHeight > it.clientHeight + 2, lines.size, seen.every(line => line.right <= box.right + 1)]"
        )
    };
    for px in [90, 120, 150, 180] {
        assert_eq!(page.run(&narrow(px)).await, serde_json::json!([true, 1, true]), "{px}");
    }
    page.run("document.querySelector('[data-t=totals]').style.maxWidth = ''").await;
    open_details(&page).await;
    page.run_until(&fact("Conversation", "context"), |it| has(it, "about 2.0k tokens: turns 100\u{a0}%"))
        .await;
    page.screenshot("header-totals").await;
    page.close().await;
}
