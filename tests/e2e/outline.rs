//! The outline of a conversation: questions, headings, failures, and the ways to start and end.

use serde_json::json;
use tests::BrowserPage;
use tests::browser::DESKTOP;

use crate::mathematics::run;
use crate::scene::hub_and_publisher;
use crate::screens::{NARROW, PicturedView, pictured_high};

#[tokio::test(flavor = "multi_thread")]
async fn the_outline_leads_to_questions_headings_failures_start_and_end() {
    let (hub, mut publisher) = hub_and_publisher("c").await;
    for line in run() {
        publisher.says(&line).await;
    }
    let long = "\\n\\nIt goes on.".repeat(200);
    let more = format!(
        "{{\"k\":\"run.start\",\"run\":\"s\"}}\n{{\"k\":\"part.start\",\"run\":\"s\",\"part\":\"q\",\"kind\":\"text\"}}\n{{\"k\":\"part.delta\",\"run\":\"s\",\"part\":\"q\",\"text\":\"First.{long}\\n\\n## Later **on**\\n{long}\"}}"
    );
    let head = publisher.says(&more).await.seq;
    let page = BrowserPage::open(DESKTOP).await;
    page.goto(&hub.url("/c/c")).await;
    page.painted(head).await;
    page.press("g").await;
    page.press("h").await;
    let entries = "return [...document.querySelectorAll('[data-t=entry]')].map(it => it.dataset.kind + ': ' + it.querySelector('.pv').textContent)";
    let expected = json!([
        "question: How did revenue per region change this quarter, and why?",
        "failure: run_sql: no such table",
        "heading: Growth",
        "heading: Cases",
        "heading: Later **on**"
    ]);
    page.run_until(entries, |it| it == &expected).await;
    let click = |selector: &str| format!("document.querySelector('{selector}').click()");
    let is_seen = |selector: &str| {
        format!(
            "const it = {selector}?.getBoundingClientRect(); return !!it && it.top >= 0 && it.bottom <= innerHeight"
        )
    };
    page.run("[...document.querySelectorAll('[data-t=entry]')].at(-1).click()").await;
    page.holds(&is_seen("[...document.querySelectorAll('.ans h3')].at(-1)")).await;
    page.run("[...document.querySelectorAll('[data-t=entry]')][1].click()").await;
    page.holds(&is_seen("document.querySelector('[data-t=tool-card][data-call=t]')")).await;
    page.run(&click("[data-t=to-end]")).await;
    page.holds(&is_seen("[...document.querySelectorAll('.ans p')].at(-1)")).await;
    page.run(&click("[data-t=to-start]")).await;
    page.holds(&is_seen("document.querySelector('.user')")).await;
    assert_eq!(page.console_errors().await, Vec::<String>::new());
    page.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_outline_fits_every_screen_in_both_colours() {
    let (hub, mut publisher) = hub_and_publisher("c").await;
    let mut head = 0;
    for line in run() {
        head = publisher.says(&line).await.seq;
    }
    let page = BrowserPage::open(NARROW).await;
    page.goto(&hub.url("/c/c")).await;
    page.painted(head).await;
    page.press("g").await;
    page.press("h").await;
    page.holds("return document.querySelectorAll('[data-t=entry]').length === 4").await;
    pictured_high(&page, PicturedView::Outline, 1_200).await;
    page.close().await;
}
