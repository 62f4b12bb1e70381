//! Single points of what an operator does with many conversations, which no other test shows.

use serde_json::json;
use tests::browser::DESKTOP;
use tests::{BrowserPage, TestHub};

use crate::scene::{OPENING, SUB_AGENT, deploy_command, deployer, hub_and_publisher, hub_with_deployer};

/// The conversations that the picker of a comparison offers, in order.
const CHOICES: &str = "return [...document.querySelectorAll('[data-t=choice]')].map(it => it.textContent)";

#[tokio::test(flavor = "multi_thread")]
async fn the_choice_for_a_comparison_stands_still_while_others_work() {
    let (hub, mut first) = hub_and_publisher("first").await;
    first.says(&OPENING.replace("Quarterly report", "Nightly import")).await;
    hub.publisher("second").await.says(&OPENING.replace("Quarterly report", "Weekly digest")).await;
    hub.publisher("open").await.says(OPENING).await;
    let page = BrowserPage::open(DESKTOP).await;
    page.goto(&hub.url("/c/open")).await;
    page.painted(1).await;
    page.press("g").await;
    page.press("d").await;
    let before = page.run_until(CHOICES, |rows| rows.as_array().is_some_and(|rows| rows.len() == 2)).await;
    // The other one works: the list behind the dialog has it on top, and the choice stays.
    first.says(r#"{"k":"status","run":"r","text":"page 14 of 220"}"#).await;
    let row = "return document.querySelector('[data-t=conversation-row][data-conversation=first]')?.textContent ?? ''";
    page.run_until(row, |text| text.as_str().is_some_and(|text| text.contains("page 14 of 220"))).await;
    assert_eq!(page.run(CHOICES).await, before);
    // By the title that is shown, which is not the name, and Enter opens it.
    page.holds("return document.activeElement?.matches('[data-t=dialog] input') === true").await;
    page.devtools("Input.insertText", json!({"text": "weekly dig"})).await;
    page.run_until(CHOICES, |rows| rows.as_array().is_some_and(|rows| rows.len() == 1)).await;
    page.press("Enter").await;
    page.run_until("return location.search", |query| {
        query.as_str().is_some_and(|query| query.contains("compare=second"))
    })
    .await;
    page.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_sub_agent_is_opened_in_its_place() {
    let (hub, mut publisher) = hub_and_publisher("c").await;
    let head = publisher.says_all(&[OPENING, SUB_AGENT]).await;
    let page = BrowserPage::open(DESKTOP).await;
    page.goto(&hub.url("/c/c")).await;
    page.painted(head).await;
    let inside = "return !!document.querySelector('.sub [data-t=tool-card][data-name=fetch_page]')";
    assert_eq!(page.run(inside).await, false);
    page.run("document.querySelector('.sub .unfold').click()").await;
    page.run_until(inside, |shown| shown == true).await;
    assert_eq!(page.run("return document.querySelector('.sub .unfold').ariaExpanded").await, "true");
    // It stays so while it goes on.
    publisher
        .says(r#"{"k":"tool.call","run":"r","agent":"a1","tool":"t6","name":"fetch_more","arguments":"{}"}"#)
        .await;
    page.holds("return !!document.querySelector('.sub [data-t=tool-card][data-name=fetch_more]')").await;
    page.run("document.querySelector('.sub .unfold').click()").await;
    page.run_until(inside, |shown| shown == false).await;
    page.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn conditions_of_the_list_and_of_the_table_are_whole_at_1440_pixels() {
    let (hub, mut publisher) = hub_and_publisher("c").await;
    publisher.says(OPENING).await;
    let page = BrowserPage::open(DESKTOP).await;
    for path in ["/c/c", "/wall", "/runs"] {
        page.goto(&hub.url(path)).await;
        page.holds("return document.querySelectorAll('[data-t=filter-chips] button').length >= 5").await;
        let cut = "return [...document.querySelectorAll('[data-t=filter-chips]')].flatMap(group => {
            const edge = group.getBoundingClientRect().right + 1;
            return [...group.querySelectorAll('button')].filter(it => it.scrollWidth > it.clientWidth + 1
                || it.getBoundingClientRect().right > edge || it.offsetHeight > 30).map(it => it.textContent)})";
        assert_eq!(page.run(cut).await, json!([]), "{path}");
    }
    page.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn several_runs_are_stopped_and_saved_together() {
    let origin = deployer(|| tests::model::answer("Done.")).await;
    let hub = hub_with_deployer(&origin, "").await;
    for name in ["one", "two"] {
        let path = format!("/v1/conversations/{name}/commands");
        let said = hub.request("POST", &path).body(deploy_command()).send().await.expect("the hub answers");
        assert!(said.status().is_success(), "{said:?}");
    }
    let page = BrowserPage::open(DESKTOP).await;
    page.goto(&hub.url("/runs?q=has:approval")).await;
    page.holds("return document.querySelectorAll('[data-t=run-row]:not(.gone) .pick input').length === 2")
        .await;
    page.run(
        "document.querySelectorAll('[data-t=run-row]:not(.gone) .pick input').forEach(it => it.click())",
    )
    .await;
    page.text_until("selected", |text| text.starts_with("2 selected")).await;
    let press = |word: &str| {
        format!(
            "[...document.querySelectorAll('[data-t=selected] button')].find(it => it.textContent === '{word}').click()"
        )
    };
    // What is saved are links that the browser follows: they are noted here instead.
    page.run(
        "window.saved = [];
        document.addEventListener('click', event => {
            const link = event.target.closest?.('a[download]');
            if (link) { event.preventDefault(); saved.push(link.getAttribute('href')); }
        }, true)",
    )
    .await;
    page.run(&press("Export")).await;
    let saved = page
        .run_until("return window.saved", |saved| saved.as_array().is_some_and(|saved| saved.len() == 2))
        .await
        .to_string();
    for name in ["one", "two"] {
        assert!(saved.contains(&format!("/v1/conversations/{name}/export/md")), "{saved}");
    }
    page.run(&press("Stop")).await;
    page.text_until("told", |text| text.contains("2 of 2 stopped")).await;
    for name in ["one", "two"] {
        let path = format!("/v1/conversations/{name}?summary");
        hub.json_until(&path, |it| it.pointer("/runs/0/status").is_some_and(|it| it == "cancelled")).await;
    }
    page.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn ages_of_the_table_and_the_list_are_those_of_the_last_event() {
    let hub = TestHub::start_with(&["--stalled-after", "3600", "--interrupted-after", "7200"]).await;
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).expect("a time").as_millis();
    let at = u64::try_from(now).expect("a time of today") - 14 * 60_000 - 5_000;
    let asks = [
        json!({"k": "run.start", "run": "r", "seq": 1, "at": at}),
        json!({"k": "tool.call", "run": "r", "tool": "t", "name": "deploy", "arguments": "{}", "seq": 2, "at": at}),
        json!({"k": "approval.request", "run": "r", "tool": "t", "text": "Deploy?", "seq": 3, "at": at}),
    ];
    let quiet = [json!({"k": "run.start", "run": "r", "seq": 1, "at": at})];
    for (name, events) in [("asks", &asks[..]), ("quiet", &quiet[..])] {
        let head = r#"{"fanlight":"native","version":1,"conversation":"c"}"#.to_owned();
        let lines = std::iter::once(head).chain(events.iter().map(ToString::to_string));
        let body = lines.collect::<Vec<_>>().join("\n");
        let taken = hub.request("PUT", &format!("/v1/conversations/{name}/events")).body(body).send().await;
        assert!(taken.expect("an answer").status().is_success());
    }
    let page = BrowserPage::open(DESKTOP).await;
    for (path, rows) in [("/wall", "tile"), ("/", "conversation-row"), ("/runs", "run-row")] {
        page.goto(&hub.url(path)).await;
        for name in ["asks", "quiet"] {
            let row = format!(
                "return document.querySelector('[data-t={rows}][data-conversation={name}]')?.innerText ?? ''"
            );
            page.run_until(&row, |text| {
                text.as_str().is_some_and(|text| text.contains("14 m") || text.contains("14:"))
            })
            .await;
        }
    }
    page.close().await;
}
