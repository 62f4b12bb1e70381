//! The fifth rule, in every list: rows that somebody points at, or has the focus in, keep their order.

use serde_json::{Value, json};
use tests::browser::DESKTOP;
use tests::{BrowserPage, TestHub, TestPublisher};

use super::tab;
use crate::scene::OPENING;

/// The conversations of a list, in the order of the screen.
fn order(rows: &str) -> String {
    format!(
        "return [...document.querySelectorAll('{rows}')].sort((a, b) => {{
            const p = a.getBoundingClientRect(), q = b.getBoundingClientRect(); return p.top - q.top || p.left - q.left
         }}).map(row => row.dataset.conversation).join()"
    )
}

async fn points_at(page: &BrowserPage, x: f64, y: f64) {
    page.devtools("Input.dispatchMouseEvent", json!({"type": "mouseMoved", "x": x, "y": y})).await;
}

async fn conversations(hub: &TestHub, names: &[&str]) -> Vec<TestPublisher> {
    let mut all = Vec::new();
    for name in names {
        let mut publisher = hub.publisher(name).await;
        publisher.says(OPENING).await;
        all.push(publisher);
    }
    all
}

/// More stops of Tab than there are before a row.
const STOPS_MAX: usize = 50;

/// What moves a conversation to the top of every list: its call waits for a person.
const ASKS: &str = r#"
    {"k":"tool.call","run":"r","tool":"t","name":"deploy","arguments":"{}"}
    {"k":"approval.request","run":"r","tool":"t","text":"Deploy?"}
"#;

#[tokio::test(flavor = "multi_thread")]
async fn rule_5_conversations_keep_their_order_under_pointer_and_focus() {
    for (address, list, place, away) in [
        ("/", "nav.list", (120.0, 300.0), (700.0, 880.0)),
        ("/wall", ".wall", (900.0, 200.0), (120.0, 880.0)),
    ] {
        let hub = TestHub::start().await;
        let mut publishers = conversations(&hub, &["alpha", "beta", "gamma"]).await;
        let page = BrowserPage::open(DESKTOP).await;
        page.goto(&hub.url(address)).await;
        let rows = order(&format!("{list} [data-conversation]"));
        let is_whole = |shown: &Value| shown.as_str().is_some_and(|names| names.split(',').count() == 3);
        let before = page.run_until(&rows, is_whole).await;
        let last = before.as_str().unwrap().rsplit(',').next().unwrap().to_owned();
        points_at(&page, place.0, place.1).await;
        let its = ["alpha", "beta", "gamma"].iter().position(|name| **name == last).unwrap();
        publishers[its].says(ASKS).await;
        page.holds("return !!document.querySelector('.resort')").await;
        assert_eq!(page.run(&rows).await, before, "{address} moved under the pointer");
        // Away from it, the one that needs somebody comes first.
        points_at(&page, away.0, away.1).await;
        let is_first = |name: &str| {
            let start = format!("{name},");
            move |shown: &Value| shown.as_str().is_some_and(|names| names.starts_with(&start))
        };
        let before = page.run_until(&rows, is_first(&last)).await;
        // The same with the focus of a keyboard on a row.
        let next = before.as_str().unwrap().rsplit(',').next().unwrap().to_owned();
        page.run(&format!("document.querySelector('{list}').focus()")).await;
        let is_on_row = format!("return !!document.activeElement.closest('{list} [data-conversation]')");
        for _ in 0..STOPS_MAX {
            tab(&page).await;
            if page.run(&is_on_row).await == true {
                break;
            }
        }
        page.holds(&is_on_row).await;
        let its = ["alpha", "beta", "gamma"].iter().position(|name| **name == next).unwrap();
        publishers[its].says(ASKS).await;
        page.holds("return !!document.querySelector('.resort')").await;
        assert_eq!(page.run(&rows).await, before, "{address} moved under the focus");
        page.run("document.querySelector('.resort').click()").await;
        page.run_until(&rows, |shown| *shown != before).await;
        page.close().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn rule_5_calls_keep_their_order_under_the_pointer() {
    let hub = TestHub::start().await;
    let mut publisher = hub.publisher("c").await;
    let page = BrowserPage::open(DESKTOP).await;
    page.goto(&hub.url("/c/c")).await;
    let call = |name: &str| {
        format!(
            "{{\"k\":\"tool.call\",\"run\":\"r\",\"tool\":\"{name}\",\"name\":\"look\",\"arguments\":\"{{}}\"}}\n{{\"k\":\"tool.state\",\"run\":\"r\",\"tool\":\"{name}\",\"state\":\"executing\"}}"
        )
    };
    let ends = |name: &str, ms: u32| {
        format!(r#"{{"k":"tool.result","run":"r","tool":"{name}","output":"x","exec_ms":{ms}}}"#)
    };
    page.painted(
        publisher.says_all(&[OPENING, &call("a"), &call("b"), &ends("a", 500), &ends("b", 400)]).await,
    )
    .await;
    let rows =
        "return [...document.querySelectorAll('[data-t=tool-row]')].map(row => row.dataset.call).join()";
    page.run("const sort = document.querySelector('[data-t=tools] select, .chips select'); sort.value = [...sort.options].find(o => /longest|duration/i.test(o.textContent)).value; sort.dispatchEvent(new Event('change', {bubbles: true}))").await;
    page.run_until(rows, |shown| shown == "a,b").await;
    let place = page
        .run("const r = document.querySelector('[data-t=tool-rows]').getBoundingClientRect(); return [r.left + r.width / 2, r.top + 10]")
        .await;
    points_at(&page, place[0].as_f64().unwrap(), place[1].as_f64().unwrap()).await;
    // The longest of all would stand first; while the rows are pointed at it comes last.
    page.painted(publisher.says_all(&[&call("z"), &ends("z", 9_000)]).await).await;
    page.run_until(rows, |shown| shown == "a,b,z").await;
    points_at(&page, 600.0, 500.0).await;
    page.run_until(rows, |shown| shown == "z,a,b").await;
    page.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_list_of_calls_follows_its_own_end() {
    let hub = TestHub::start().await;
    let mut publisher = hub.publisher("c").await;
    let call =
        |n: u32| format!(r#"{{"k":"tool.call","run":"r","tool":"n{n}","name":"look","arguments":"{{}}"}}"#);
    let many: Vec<String> = (0..60).map(call).collect();
    let head = publisher.says_all(&[OPENING, &many.join("\n")]).await;
    let page = BrowserPage::open(DESKTOP).await;
    page.goto(&hub.url("/c/c")).await;
    page.painted(head).await;
    let is_seen = |n: u32| {
        format!(
            "const row = document.querySelector('[data-t=tool-row][data-call=n{n}]')?.getBoundingClientRect(),
                 list = document.querySelector('[data-t=tool-rows]').getBoundingClientRect();
             return !!row && row.top >= list.top - 1 && row.bottom <= list.bottom + 1"
        )
    };
    // The reader is elsewhere in the conversation: the list still shows the newest.
    page.press("k").await;
    page.painted(publisher.says(&call(60)).await.seq).await;
    page.holds(&is_seen(60)).await;
    // The reader goes up in the list: it stays there, though nobody points at it any more.
    let place = page
        .run("const r = document.querySelector('[data-t=tool-rows]').getBoundingClientRect(); return [r.left + r.width / 2, r.top + 50]")
        .await;
    let (x, y) = (place[0].as_f64().unwrap(), place[1].as_f64().unwrap());
    points_at(&page, x, y).await;
    let turn = json!({"type": "mouseWheel", "x": x, "y": y, "deltaX": 0, "deltaY": -600});
    page.devtools("Input.dispatchMouseEvent", turn).await;
    page.run_until(&is_seen(60), |is_seen| is_seen == false).await;
    points_at(&page, 600.0, 500.0).await;
    page.painted(publisher.says(&call(61)).await.seq).await;
    page.holds("return !!document.querySelector('[data-t=tool-row][data-call=n61]')").await;
    assert_eq!(page.run(&is_seen(61)).await, json!(false));
    page.close().await;
}
