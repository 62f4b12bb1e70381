//! Conversations are put in order on the page: renamed in place, pinned, archived, tagged.

use serde_json::{Value, json};
use tests::browser::DESKTOP;
use tests::{BrowserPage, TestHub};

use crate::screens::{PicturedView, pictured};

const ROWS: &str = "return [...document.querySelectorAll('[data-t=conversation-row]')].map(it => it.dataset.conversation).join()";

const TITLE: &str = "return document.querySelector('h1.title')?.textContent ?? null";

/// The label of the open conversation, as the hub has it.
async fn label(hub: &TestHub, wanted: impl Fn(&Value) -> bool) {
    hub.json_until("/v1/conversations/b", |view| wanted(&view["label"])).await;
}

/// A hub with three conversations that are complete, the newest last.
async fn hub_with_three() -> TestHub {
    let hub = TestHub::start().await;
    for name in ["a", "b", "c"] {
        let run = format!(
            "{{\"k\":\"run.start\",\"run\":\"r\",\"title\":\"Run {name}\"}}\n{{\"k\":\"run.end\",\"run\":\"r\",\"status\":\"complete\"}}"
        );
        hub.publisher(name).await.says(&run).await;
    }
    hub
}

/// Puts `text` into the element that has the focus.
async fn fills(page: &BrowserPage, text: &str) {
    page.run(&format!("document.activeElement.value = {}", json!(text))).await;
}

async fn click(page: &BrowserPage, selector: &str) {
    page.holds(&format!("return document.querySelector({}) !== null", json!(selector))).await;
    page.run(&format!("document.querySelector({}).click()", json!(selector))).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_title_is_changed_in_place_and_escape_changes_nothing() {
    let hub = hub_with_three().await;
    let page = BrowserPage::open(DESKTOP).await;
    page.goto(&hub.url("/c/b")).await;
    page.run_until(TITLE, |title| title == "Run b").await;
    let field = "return document.activeElement?.dataset.t === 'rename-field'";
    let button = "return document.activeElement?.id === 'rename'";
    click(&page, "#rename").await;
    page.holds(field).await;
    fills(&page, "Never").await;
    page.press("Escape").await;
    page.holds(button).await;
    assert_eq!(page.run(TITLE).await, "Run b");
    click(&page, "#rename").await;
    page.holds(field).await;
    fills(&page, "The numbers").await;
    page.press("Enter").await;
    page.holds(button).await;
    page.run_until(TITLE, |title| title == "The numbers").await;
    label(&hub, |label| label["title"] == "The numbers").await;
    let row = "return document.querySelector('[data-conversation=b] .n')?.textContent ?? null";
    page.run_until(row, |title| title == "The numbers").await;
    assert_eq!(page.console_errors().await, Vec::<String>::new());
    page.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn pins_come_first_archived_ones_wait_to_be_asked_for_and_tags_are_found() {
    let hub = hub_with_three().await;
    let page = BrowserPage::open(DESKTOP).await;
    page.goto(&hub.url("/c/b")).await;
    page.run_until(TITLE, |title| title == "Run b").await;
    click(&page, "[data-t=order]").await;
    click(&page, "[data-t=label-pin]").await;
    page.holds("return document.querySelector('[data-t=label-pin]').getAttribute('aria-pressed') === 'true'")
        .await;
    page.run("document.getElementById('label-tag').focus()").await;
    for tag in ["prod", "eu"] {
        fills(&page, tag).await;
        page.press("Enter").await;
        page.holds(&format!("return document.querySelector('[data-tag={tag}]') !== null")).await;
    }
    label(&hub, |label| label["pinned"] == true && label["tags"] == json!(["prod", "eu"])).await;
    click(&page, "[data-tag=eu] button").await;
    page.run("document.getElementById('label-note').value = 'look'").await;
    click(&page, "[data-t=label-note-save]").await;
    label(&hub, |label| label["tags"] == json!(["prod"]) && label["note"] == "look").await;
    pictured(&page, PicturedView::Label).await;
    page.press("Escape").await;
    page.run_until(ROWS, |rows| rows.as_str().is_some_and(|rows| rows.starts_with("b,"))).await;
    page.holds("return document.querySelector('[data-conversation=b] [data-t=pinned]') !== null").await;
    page.holds("return document.querySelector('[data-conversation=b] [data-t=tag]')?.textContent === 'prod'")
        .await;
    click(&page, "[data-t=order]").await;
    click(&page, "[data-t=label-archive]").await;
    page.run_until(ROWS, |rows| rows == "c,a").await;
    page.press("Escape").await;
    for (filter, wanted) in
        [("is:archived", "b"), ("tag:prod", ""), ("tag:prod is:archived", "b"), ("", "c,a")]
    {
        page.run(&format!(
            "const it = document.getElementById('filter'); it.value = {}; it.dispatchEvent(new Event('input', {{bubbles: true}}))",
            json!(filter)
        ))
        .await;
        page.run_until(ROWS, |rows| rows == wanted).await;
    }
    assert_eq!(page.console_errors().await, Vec::<String>::new());
    page.close().await;
}
