//! An operator deletes a conversation on the page.

use tests::BrowserPage;
use tests::browser::DESKTOP;

use crate::scene::{CALLS, OPENING, hub_and_publisher};

#[tokio::test(flavor = "multi_thread")]
async fn a_conversation_is_deleted_behind_a_question_that_names_it() {
    let (hub, mut publisher) = hub_and_publisher("c").await;
    let head = publisher.says_all(&[OPENING, CALLS]).await;
    let page = BrowserPage::open(DESKTOP).await;
    page.goto(&hub.url("/c/c")).await;
    page.painted(head).await;
    for key in ["g", "i"] {
        page.press(key).await;
    }
    let open = "document.querySelector('[data-t=details] [data-act=delete]')";
    let now = "document.querySelector('[data-t=dialog] [data-act=delete-now]')";
    page.holds(&format!("return !!{open}")).await;
    page.run(&format!("{open}.click()")).await;
    page.holds("return document.querySelector('[data-t=delete-name]')?.textContent === 'c'").await;
    page.holds("return !document.querySelector('[data-t=delete-runs]')").await;
    // What cannot be undone looks so.
    let colours = "const probe = document.body.appendChild(document.createElement('i'));
        probe.style.color = 'var(--err)'; const wanted = getComputedStyle(probe).color; probe.remove();
        return [...document.querySelectorAll('[data-t=dialog] .answers button')].map(it => getComputedStyle(it).color === wanted)";
    assert_eq!(page.run(colours).await, serde_json::json!([false, true]));
    // Its run goes on: the hub refuses, and the dialog asks again.
    page.run(&format!("{now}.click()")).await;
    page.holds("return !!document.querySelector('[data-t=delete-runs]')").await;
    page.holds(&format!("return {now}.textContent === 'Stop and delete'")).await;
    page.run(&format!("{now}.click()")).await;
    page.holds("return location.pathname === '/' && !document.querySelector('[data-t=dialog]')").await;
    hub.json_until("/v1/conversations", |list| list["conversations"].as_array().is_some_and(Vec::is_empty))
        .await;
    page.close().await;
}
