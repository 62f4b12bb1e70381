//! A reload shows the same screen; a crash of the hub heals by itself.

use tests::browser::DESKTOP;
use tests::{Hub, Page};

use crate::scene::{ANSWER, CALLS, OPENING, THINKING, hub_and_publisher};

/// What stands on the screen, without what moves with the clock.
const SCREEN: &str = "
    const t = document.querySelector('[data-t=transcript]');
    const cards = [...t.querySelectorAll('[data-t=tool-card]')].map(c => [c.dataset.call, c.dataset.name, c.dataset.state, c.dataset.latencyMs ?? null]);
    const rows = [...document.querySelectorAll('[data-t=tool-row]')].map(c => [c.dataset.call, c.dataset.state]);
    const answers = [...t.querySelectorAll('[data-t=answer]')].map(a => a.innerText);
    return JSON.stringify({cards, rows, answers, thinking: t.querySelectorAll('[data-t=thinking]').length, seq: t.dataset.seq});";

#[tokio::test(flavor = "multi_thread")]
async fn a_reload_in_the_middle_of_a_run_shows_the_same_screen() {
    let (hub, mut publisher) = hub_and_publisher("c").await;
    let page = Page::open(DESKTOP).await;
    page.goto(&hub.url("/c/c")).await;
    let mut head = 0;
    for lines in [OPENING, THINKING, CALLS, ANSWER] {
        head = publisher.says(lines).await.seq;
        page.painted(head).await;
    }
    let before = page.run(SCREEN).await;
    page.reload().await;
    page.holds("return !!document.querySelector('[data-t=transcript]')").await;
    page.painted(head).await;
    page.run_until(SCREEN, |after| *after == before).await;
    assert_eq!(page.console_errors().await, Vec::<String>::new());
    page.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_crash_of_the_hub_heals_by_itself_and_the_page_shows_the_new_life() {
    let (mut hub, mut publisher) = hub_and_publisher("c").await;
    let page = Page::open(DESKTOP).await;
    page.goto(&hub.url("/c/c")).await;
    let head = publisher.says(OPENING).await.seq;
    page.painted(head).await;
    let connection = "return document.querySelector('[data-t=connection]')?.dataset.state";
    page.run_until(connection, |state| state == "live").await;
    hub.kill().await;
    page.run_until(connection, |state| state != "live").await;
    // What was there stays readable.
    assert!(page.text("transcript").await.contains("revenue per region"));
    let address = hub.address().to_string();
    hub = Hub::start_at(&address).await;
    page.run_until(connection, |state| state == "live").await;
    page.text_until("mark", |text| text.starts_with("history reloaded")).await;
    let mut publisher = hub.publisher("c").await;
    publisher
        .says(&OPENING.replace("How did revenue per region change", "After the crash, how did it change"))
        .await;
    let head = publisher.says(ANSWER).await.seq;
    page.painted(head).await;
    page.text_until("transcript", |text| text.contains("After the crash")).await;
    assert!(!page.text("transcript").await.contains("revenue per region change"));
    page.close().await;
}
