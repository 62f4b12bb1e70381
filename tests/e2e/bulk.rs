//! What is done to many conversations of the table at once, and what leaves it by itself.

use serde_json::{Value, json};
use tests::browser::DESKTOP;
use tests::{BrowserPage, TestHub};

use crate::screens::{PicturedView, pictured};

/// Which conversations the table shows, in order.
const ROWS: &str = "return [...document.querySelectorAll('[data-t=run-row]')].filter(it => it.checkVisibility({visibilityProperty: true}))
    .sort((a, b) => a.dataset.place - b.dataset.place).map(it => it.dataset.conversation).join()";

/// A hub with `count` conversations that are complete, named `c0000` and so on, the newest last.
async fn hub_with(count: usize) -> TestHub {
    let hub = TestHub::start().await;
    for n in 0..count {
        let run = format!(
            "{{\"k\":\"run.start\",\"run\":\"r\",\"title\":\"Case {n}\",\"name\":\"agent-{}\"}}\n{{\"k\":\"run.end\",\"run\":\"r\",\"status\":\"complete\"}}",
            n % 12
        );
        let path = format!("/v1/conversations/c{n:04}/events");
        let request = hub.request("POST", &path).header("fanlight-durability", "memory").body(run);
        let told = request.send().await.expect("an answer");
        assert!(told.status().is_success(), "{told:?}");
    }
    hub
}

async fn table(hub: &TestHub, address: &str) -> BrowserPage {
    let page = BrowserPage::open(DESKTOP).await;
    page.goto(&hub.url(address)).await;
    page.holds("return document.querySelectorAll('[data-t=run-row]').length > 0 && document.querySelector('[data-t=connection]')?.dataset.state === 'live'").await;
    page
}

async fn select(page: &BrowserPage, names: &[&str]) {
    for name in names {
        page.holds(&format!("return !!document.querySelector('[data-conversation={name}] .pick input')"))
            .await;
        page.run(&format!("document.querySelector('[data-conversation={name}] .pick input').click()")).await;
    }
    let selected = format!("{} selected", names.len());
    page.text_until("selected", |text| text.starts_with(&selected)).await;
}

async fn click(page: &BrowserPage, selector: &str) {
    page.holds(&format!("return document.querySelector({}) !== null", json!(selector))).await;
    page.run(&format!("document.querySelector({}).click()", json!(selector))).await;
}

async fn filter(page: &BrowserPage, text: &str) {
    page.run(&format!(
        "const it = document.getElementById('filter'); it.value = {}; it.dispatchEvent(new Event('input', {{bubbles: true}}))",
        json!(text)
    ))
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn those_that_are_selected_are_tagged_archived_and_deleted_together() {
    let hub = hub_with(5).await;
    let page = table(&hub, "/runs?sort=title").await;
    page.run_until(ROWS, |rows| rows == "c0000,c0001,c0002,c0003,c0004").await;
    select(&page, &["c0001", "c0003"]).await;
    click(&page, "[data-act=tag]").await;
    page.holds("return document.activeElement?.id === 'tag-selected'").await;
    page.run("document.activeElement.value = 'prod'").await;
    page.press("Enter").await;
    page.text_until("told", |text| text == "2 of 2 tagged prod.").await;
    page.holds("return document.querySelector('.tagging [data-tag=prod]') !== null").await;
    filter(&page, "tag:prod").await;
    page.run_until(ROWS, |rows| rows == "c0001,c0003").await;
    filter(&page, "tag:pro").await;
    page.run_until(ROWS, |rows| rows == "").await;
    filter(&page, "").await;
    click(&page, "[data-act=archive]").await;
    page.text_until("told", |text| text == "2 of 2 archived.").await;
    page.run_until(ROWS, |rows| rows == "c0000,c0002,c0004").await;
    filter(&page, "is:archived").await;
    page.run_until(ROWS, |rows| rows == "c0001,c0003").await;

    click(&page, "[data-act=delete]").await;
    let names = "return [...document.querySelectorAll('[data-t=question-names] li')].map(it => it.textContent).join()";
    page.run_until(names, |names| names == "Case 1 (c0001),Case 3 (c0003)").await;
    pictured(&page, PicturedView::Delete).await;
    page.press("Escape").await;
    page.holds("return !document.querySelector('[data-t=question]') && document.activeElement?.id === 'delete-selected'").await;
    click(&page, "[data-act=delete]").await;
    click(&page, "[data-act=delete-now]").await;
    page.text_until("told", |text| text == "2 of 2 deleted.").await;
    page.holds(
        "return !document.querySelector('[data-t=question]') && !document.querySelector('[data-t=selected]')",
    )
    .await;
    filter(&page, "").await;
    page.run_until(ROWS, |rows| rows == "c0000,c0002,c0004").await;
    hub.json_until("/v1/conversations?archived=all", |list| {
        list["conversations"].as_array().is_some_and(|all| all.len() == 3)
    })
    .await;
    assert_eq!(page.console_errors().await, Vec::<String>::new());
    page.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_still_runs_is_deleted_only_after_a_second_question() {
    let hub = hub_with(1).await;
    let mut publisher = hub.publisher("goes-on").await;
    publisher.says(r#"{"k":"run.start","run":"r"}"#).await;
    let page = table(&hub, "/runs?sort=title").await;
    select(&page, &["c0000", "goes-on"]).await;
    click(&page, "[data-act=delete]").await;
    click(&page, "[data-act=delete-now]").await;
    page.text_until("question-runs", |text| text.starts_with("One of them still has an active run.")).await;
    page.run_until(ROWS, |rows| rows == "goes-on").await;
    page.holds("return document.querySelector('[data-act=delete-now]').textContent === 'Stop and delete'")
        .await;
    click(&page, "[data-act=delete-now]").await;
    page.run_until(ROWS, |rows| rows == "").await;
    page.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_others_delete_leaves_the_table_at_once_however_old_it_is() {
    // More than the hub tells at first: the oldest are in a page that is asked for.
    let hub = hub_with(640).await;
    let page = table(&hub, "/runs?sort=title").await;
    page.text_until("summary", |text| text.starts_with("640 of 640 conversations")).await;
    page.run_until(ROWS, |rows| rows.as_str().is_some_and(|rows| rows.starts_with("c0000,c0001,"))).await;
    select(&page, &["c0000", "c0001"]).await;
    let gone = hub.request("DELETE", "/v1/conversations/c0000").send().await.expect("an answer");
    assert_eq!(gone.status(), 204);
    page.run_until(ROWS, |rows| rows.as_str().is_some_and(|rows| rows.starts_with("c0001,"))).await;
    page.text_until("summary", |text| text.starts_with("639 of 639 conversations")).await;
    page.text_until("selected", |text| text.starts_with("1 selected")).await;
    page.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pinned_old_conversation_hides_none_of_those_between() {
    let hub = hub_with(640).await;
    let pin = json!({"id": "p", "command": "label", "pinned": true}).to_string();
    let told =
        hub.request("POST", "/v1/conversations/c0000/commands").body(pin).send().await.expect("an answer");
    assert!(told.status().is_success(), "{told:?}");
    let page = table(&hub, "/runs?sort=title").await;
    page.text_until("summary", |text| text.starts_with("640 of 640 conversations")).await;
    page.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn lines_without_a_colour_are_counted_and_reached() {
    let hub = hub_with(24).await;
    let page = BrowserPage::open(DESKTOP).await;
    page.goto(&hub.url("/dashboard?by=agent")).await;
    let more =
        "return document.querySelector('[data-panel=runs] [data-t=more] summary')?.textContent ?? null";
    page.run_until(more, |words| words == "and 5 more").await;
    page.run("document.querySelector('[data-panel=runs] [data-t=more] summary').click()").await;
    let links = "return [...document.querySelectorAll('[data-panel=runs] [data-t=more] a')].map(it => it.getAttribute('href'))";
    let found = page.run_until(links, |links| links.as_array().is_some_and(|links| links.len() == 5)).await;
    let is_link = |link: &Value| {
        link.as_str().is_some_and(|link| link.contains("q=agent%3Aagent-") && link.contains("from="))
    };
    assert!(found.as_array().is_some_and(|links| links.iter().all(is_link)), "{found}");
    page.run("document.querySelector('[data-panel=runs] [data-t=more] a').click()").await;
    page.run_until("return location.pathname", |path| path == "/runs").await;
    page.run_until(ROWS, |rows| rows.as_str().is_some_and(|rows| rows.split(',').count() == 2)).await;
    assert_eq!(page.console_errors().await, Vec::<String>::new());
    page.close().await;
}
