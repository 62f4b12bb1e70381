//! When Find has the focus, and when it marks.

use tests::BrowserPage;
use tests::browser::DESKTOP;

use super::{HITS, types};
use crate::scene::{ANSWER, OPENING, THINKING, hub_and_publisher};

#[tokio::test(flavor = "multi_thread")]
async fn only_who_asks_for_find_gets_its_focus() {
    let (hub, mut publisher) = hub_and_publisher("c").await;
    let head = publisher.says_all(&[OPENING, THINKING]).await;
    let page = BrowserPage::open(DESKTOP).await;
    page.goto(&hub.url("/c/c?find=region")).await;
    page.painted(head).await;
    page.run_until(HITS, |hits| hits.as_array().is_some_and(|hits| hits.len() >= 2)).await;
    let has_focus = "return document.activeElement?.id === 'find-word'";
    assert_eq!(page.run(has_focus).await, false);
    // Nor is it given when the panel comes back.
    for place in ["/wall", "/c/c"] {
        page.press("g").await;
        page.press("w").await;
        page.run_until("return location.pathname", |path| path == place).await;
    }
    page.run_until(HITS, |hits| hits.as_array().is_some_and(|hits| hits.len() >= 2)).await;
    assert_eq!(page.run(has_focus).await, false);
    for asks in
        ["document.querySelector('[data-tab=Find]')", "document.querySelector('.top [aria-label=Find]')"]
    {
        page.run(&format!("document.activeElement?.blur(); {asks}.click()")).await;
        page.holds(has_focus).await;
    }
    // What stands there is typed over.
    types(&page, "sales").await;
    page.run_until("return document.getElementById('find-word').value", |word| word == "sales").await;
    page.key("Escape", 27, 0).await;
    page.press("/").await;
    page.holds(has_focus).await;
    page.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_marked_under_a_dialog() {
    let (hub, mut publisher) = hub_and_publisher("c").await;
    let head = publisher.says_all(&[OPENING, THINKING]).await;
    let page = BrowserPage::open(DESKTOP).await;
    page.goto(&hub.url("/c/c?find=region")).await;
    page.painted(head).await;
    let is_marked = "return CSS.highlights.has('find')";
    page.holds(is_marked).await;
    page.press("g").await;
    page.press("s").await;
    page.holds("return !!document.querySelector('[data-t=dialog]')").await;
    assert_eq!(page.run(is_marked).await, false);
    // Nor what comes meanwhile.
    let before = page.run(HITS).await.as_array().map_or(0, Vec::len);
    publisher.says(ANSWER).await;
    page.run_until(HITS, |hits| hits.as_array().is_some_and(|hits| hits.len() > before)).await;
    page.run("window.frames_seen = 0; requestAnimationFrame(() => requestAnimationFrame(() => window.frames_seen = 2))").await;
    page.holds("return window.frames_seen === 2").await;
    assert_eq!(page.run(is_marked).await, false);
    page.key("Escape", 27, 0).await;
    page.holds(is_marked).await;
    page.close().await;
}
