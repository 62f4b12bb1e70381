//! What fills the context, in the header: a bar, a button for the keyboard, and a row for each part.

use serde_json::json;
use tests::BrowserPage;
use tests::browser::DESKTOP;

use crate::scene::hub_and_publisher;

/// The rows that are shown; nothing while they are not.
const ROWS: &str = "return [...document.querySelectorAll('#context:popover-open li')].map(it => it.textContent.replaceAll('\u{a0}', ' '))";

#[tokio::test(flavor = "multi_thread")]
async fn the_header_shows_what_fills_the_context_and_a_key_opens_its_rows() {
    let (hub, mut publisher) = hub_and_publisher("c").await;
    let page = BrowserPage::open(DESKTOP).await;
    page.goto(&hub.url("/c/c")).await;
    let text = "x".repeat(4_000);
    let file = json!({"name": "b.txt", "type": "text/plain", "bytes": 8_000});
    let lines = [
        json!({"k": "message", "message": "m", "role": "user", "text": text, "files": [file]}),
        json!({"k": "run.start", "run": "r", "model": "test-model"}),
        json!({"k": "tool.call", "run": "r", "tool": "t", "name": "look", "arguments": json!({"a": text}).to_string()}),
        json!({"k": "tool.result", "run": "r", "tool": "t", "output": "x".repeat(15_990)}),
    ];
    let head = publisher.says(&lines.map(|line| line.to_string()).join("\n")).await.seq;
    page.painted(head).await;
    page.run_until("return document.querySelector('[data-t=context]')?.textContent ?? ''", |it| {
        it.as_str().is_some_and(|it| it.contains("8.0k"))
    })
    .await;
    // The bar has a part for each, as long as its share: 1,000 of turns, 5,000 of tools, 2,000 of files.
    let bar = "const it = document.querySelector('[data-t=context]'), style = getComputedStyle(it);
        return [style.getPropertyValue('--turns'), style.getPropertyValue('--tools'), style.backgroundImage.startsWith('linear-gradient'), it.offsetWidth > 40, it.getBoundingClientRect().bottom <= it.parentElement.getBoundingClientRect().bottom + 1]";
    page.run_until(bar, |it| it == &json!(["13%", "76%", true, true, true])).await;
    assert_eq!(page.run(ROWS).await, json!([]));
    page.run("document.querySelector('[data-t=context]').focus()").await;
    page.press("Enter").await;
    let words =
        json!(["turns 13 % · ~1.0k tokens", "tools 63 % · ~5.0k tokens", "files 25 % · ~2.0k tokens"]);
    page.run_until(ROWS, |rows| *rows == words).await;
    let inside = "const a = document.querySelector('#context').getBoundingClientRect(); return a.top > 0 && a.left >= 0 && a.right <= innerWidth && a.bottom <= innerHeight";
    page.holds(inside).await;
    page.press("Escape").await;
    page.run_until(ROWS, |rows| rows.as_array().is_some_and(Vec::is_empty)).await;
    page.holds("return document.activeElement?.dataset.t === 'context'").await;
    // More of it, while the rows are shown.
    page.run("document.querySelector('[data-t=context]').click()").await;
    let more = json!({"k": "message", "message": "n", "role": "user", "text": "x".repeat(32_000)});
    publisher.says(&more.to_string()).await;
    page.run_until(ROWS, |rows| rows[0].as_str().is_some_and(|row| row.contains("~9.0k"))).await;
    assert_eq!(page.console_errors().await, Vec::<String>::new());
    page.close().await;
}
