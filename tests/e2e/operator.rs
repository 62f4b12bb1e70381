//! Single points of what an operator does with many conversations, which no other test shows.

use std::time::{SystemTime, UNIX_EPOCH};

use serde_json::{Value, json};
use tests::browser::DESKTOP;
use tests::{BrowserPage, TestHub};

use crate::scene::{OPENING, SUB_AGENT, deploy_command, deployer, hub_and_publisher, hub_with_deployer};
use crate::screens::{PicturedView, pictured};

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
    pictured(&page, PicturedView::AgentInPlace).await;
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

/// What a place of the row of `conversation` says, in the rows that have the name `rows`.
fn place(rows: &str, conversation: &str, place: &str) -> String {
    format!(
        "return document.querySelector('[data-t={rows}][data-conversation={conversation}]{}{place}')?.textContent.trim() ?? null",
        if place.is_empty() { "" } else { " " }
    )
}

/// The time of this machine, in milliseconds since 1970.
pub(crate) fn now_ms() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).expect("a time").as_millis();
    u64::try_from(now).expect("a time of today")
}

/// Brings a conversation into the hub whose events came at these times, in milliseconds since 1970.
pub(crate) async fn happened(hub: &TestHub, name: &str, events: &[(u64, Value)]) {
    let head = r#"{"fanlight":"native","version":1,"conversation":"c"}"#.to_owned();
    let lines = events.iter().enumerate().map(|(seq, (at, event))| {
        let mut event = event.clone();
        let fields = event.as_object_mut().expect("an object");
        fields.insert("seq".to_owned(), json!(seq + 1));
        fields.insert("at".to_owned(), json!(at));
        event.to_string()
    });
    let body = std::iter::once(head).chain(lines).collect::<Vec<_>>().join("\n");
    let taken = hub.request("PUT", &format!("/v1/conversations/{name}/events")).body(body).send().await;
    let taken = taken.expect("an answer");
    let status = taken.status();
    assert!(status.is_success(), "{status}: {}", taken.text().await.unwrap_or_default());
}

/// The same with events that came so many minutes ago each, and a few seconds, so that an age does not change while the test looks.
async fn minutes_ago(hub: &TestHub, name: &str, events: &[(u64, Value)]) {
    let now = now_ms();
    let at = |(ago, event): &(u64, Value)| (now - ago * 60_000 - 5_000, event.clone());
    happened(hub, name, &events.iter().map(at).collect::<Vec<_>>()).await;
}

/// The beginning of each run is much older than its last event, and only the last event tells its age.
#[tokio::test(flavor = "multi_thread")]
async fn ages_of_the_table_and_the_list_are_those_of_the_last_event() {
    let hub = TestHub::start_with(&["--stalled-after", "36000", "--interrupted-after", "72000"]).await;
    let start = json!({"k": "run.start", "run": "r"});
    let call = json!({"k": "tool.call", "run": "r", "tool": "t", "name": "deploy", "arguments": "{}"});
    let asks = json!({"k": "approval.request", "run": "r", "tool": "t", "text": "Deploy?"});
    let says = json!({"k": "part.delta", "run": "r", "part": "p", "text": "I read the next page"});
    let end = json!({"k": "run.end", "run": "r", "status": "complete"});
    let more = json!({"k": "message", "message": "m", "role": "user", "text": "Thank you"});
    minutes_ago(&hub, "asks", &[(180, start.clone()), (170, call), (14, asks)]).await;
    minutes_ago(&hub, "quiet", &[(180, start.clone()), (14, says)]).await;
    minutes_ago(&hub, "done", &[(540, start.clone()), (300, end.clone())]).await;
    minutes_ago(&hub, "thanked", &[(540, start), (300, end), (120, more)]).await;
    let page = BrowserPage::open(DESKTOP).await;
    let ages = [("asks", "14 m"), ("quiet", "14 m"), ("done", "5 h"), ("thanked", "2 h")];
    page.goto(&hub.url("/")).await;
    for (name, age) in ages {
        page.run_until(&place("conversation-row", name, ".t"), |text| text == age).await;
    }
    page.goto(&hub.url("/wall")).await;
    let on_tiles =
        [("asks", "14 m ago"), ("quiet", "silent 14 m"), ("done", "5 h ago"), ("thanked", "2 h ago")];
    for (name, age) in on_tiles {
        page.run_until(&place("tile", name, ".tile-head .meta"), |text| text == age).await;
    }
    page.goto(&hub.url("/runs")).await;
    for (name, age) in ages {
        page.run_until(&place("run-row", name, "[data-column=last]"), |text| text == age).await;
    }
    page.run_until(&place("run-row", "quiet", "[data-column=silent]"), |text| text == "14 m").await;
    page.run_until(&place("run-row", "asks", "[data-column=silent]"), |text| text == "").await;
    page.close().await;
}

/// The hub was away, so that nobody knows since when the publisher is gone: its last word is what is known.
#[tokio::test(flavor = "multi_thread")]
async fn a_run_of_before_a_restart_is_stalled_since_its_last_event() {
    let folder = tempfile::tempdir().expect("a folder");
    let log = format!("sqlite:{}", folder.path().join("log.db").display());
    let mut hub =
        TestHub::start_with(&["--log", &log, "--stalled-after", "1", "--interrupted-after", "36000"]).await;
    let start = json!({"k": "run.start", "run": "r"});
    let says = json!({"k": "part.delta", "run": "r", "part": "p", "text": "I read the next page"});
    minutes_ago(&hub, "quiet", &[(180, start), (14, says)]).await;
    hub.restart().await;
    hub.json_until("/v1/conversations", |list| list["conversations"][0]["stalled"] == true).await;
    let page = BrowserPage::open(DESKTOP).await;
    page.goto(&hub.url("/c/quiet")).await;
    page.text_until("pill", |text| text.contains("Stalled")).await;
    page.text_until("stalled", |text| text.contains("no word from its publisher for 14")).await;
    page.run_until(&place("conversation-row", "quiet", ".t"), |text| text == "14 m").await;
    page.run_until(&place("conversation-row", "quiet", ""), |text| {
        text.as_str().is_some_and(|text| text.contains("stalled 14 m · no word from its publisher"))
    })
    .await;
    page.goto(&hub.url("/wall")).await;
    page.run_until(&place("tile", "quiet", ".tile-head .meta"), |text| text == "stalled 14 m").await;
    page.goto(&hub.url("/runs")).await;
    for column in ["last", "silent"] {
        let cell = format!("[data-column={column}]");
        page.run_until(&place("run-row", "quiet", &cell), |text| text == "14 m").await;
    }
    page.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_row_of_the_table_says_all_that_there_is_of_its_run() {
    let hub = TestHub::start_with(&["--stalled-after", "36000", "--interrupted-after", "72000"]).await;
    let usage = json!({"input_tokens": 41_000, "output_tokens": 1_000, "cost": {"amount": "1.25", "currency": "USD"}});
    let start = json!({"k": "run.start", "run": "r", "title": "Import the ledger", "name": "importer", "model": "opus-5"});
    let used = json!({"k": "run.update", "run": "r", "usage": usage});
    let call = |tool: &str, name: &str| json!({"k": "tool.call", "run": "r", "tool": tool, "name": name, "arguments": "{}"});
    let failed = json!({"k": "tool.result", "run": "r", "tool": "t1", "output": "no", "is_error": true});
    let says = |words: &str| json!({"k": "part.delta", "run": "r", "part": "p", "text": words});
    let executes = json!({"k": "tool.state", "run": "r", "tool": "t2", "state": "executing"});
    let quiet = [
        (180, start.clone()),
        (170, call("t1", "read_file")),
        (160, failed.clone()),
        (150, used.clone()),
        (14, says("I read the next page")),
    ];
    minutes_ago(&hub, "quiet", &quiet).await;
    let busy = [
        (180, start),
        (170, call("t1", "read_file")),
        (160, failed),
        (150, used),
        (20, says("I ask the bank")),
        (15, call("t2", "run_sql")),
        (14, executes),
    ];
    minutes_ago(&hub, "busy", &busy).await;
    let page = BrowserPage::open(DESKTOP).await;
    page.goto(&hub.url("/runs")).await;
    let of_both = [
        ("title", "Import the ledger"),
        ("agent", "importer"),
        ("model", "opus-5"),
        ("tokens", "42.0k"),
        ("cost", "$1.25"),
        ("failed", "1"),
        ("last", "14 m"),
    ];
    for name in ["quiet", "busy"] {
        for (column, wanted) in of_both {
            page.run_until(&place("run-row", name, &format!("[data-column={column}]")), |text| {
                text == wanted
            })
            .await;
        }
    }
    let own = [
        ("quiet", "state", "silent"),
        ("quiet", "silent", "14 m"),
        ("quiet", "call", ""),
        ("quiet", "calls", "1"),
        ("quiet", "words", "I read the next page"),
        ("busy", "state", "running"),
        ("busy", "silent", ""),
        ("busy", "calls", "2"),
        ("busy", "words", "I ask the bank"),
    ];
    for (name, column, wanted) in own {
        page.run_until(&place("run-row", name, &format!("[data-column={column}]")), |text| text == wanted)
            .await;
    }
    page.run_until(&place("run-row", "busy", "[data-column=call]"), |text| {
        text.as_str().is_some_and(|text| text.starts_with("run_sql · 14:"))
    })
    .await;
    assert_eq!(page.console_errors().await, Vec::<String>::new());
    page.close().await;
}
