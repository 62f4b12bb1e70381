//! After how long runs are silent and calls stuck is a setting of the hub; every page goes by it.

use serde_json::json;
use tests::browser::DESKTOP;
use tests::{BrowserPage, TestHub};

/// The state of the conversation `name` in elements called `element`.
fn state(element: &str, name: &str) -> String {
    format!(
        "return document.querySelector('[data-t={element}][data-conversation={name}]')?.dataset.state ?? ''"
    )
}

/// A hub with a run that says nothing and one that waits for its call.
async fn hub(options: &[&str]) -> TestHub {
    let hub = TestHub::start_with(options).await;
    hub.publisher("quiet").await.says(r#"{"k":"run.start","run":"r","title":"Quiet"}"#).await;
    let calls = r#"{"k":"run.start","run":"r","title":"Calls"}
        {"k":"tool.call","run":"r","tool":"t","name":"look","arguments":"{}"}
        {"k":"tool.state","run":"r","tool":"t","state":"executing"}"#;
    hub.publisher("calls").await.says(calls).await;
    hub
}

#[tokio::test(flavor = "multi_thread")]
async fn list_wall_table_and_header_go_by_the_hubs_thresholds() {
    // Their publishers are gone, and nothing is stalled, so that silence is what is seen.
    let options = ["--stalled-after", "0", "--interrupted-after", "0"];
    let short = ["--silent-after", "1", "--silent-long-after", "2", "--stuck-after", "2"];
    let hub = hub(&[&options[..], &short[..]].concat()).await;
    let page = BrowserPage::open(DESKTOP).await;
    page.goto(&hub.url("/c/quiet")).await;
    page.text_until("pill", |text| text.starts_with("Silent")).await;
    page.run_until(&state("conversation-row", "quiet"), |state| state == "silent").await;
    let heads = "return [...document.querySelectorAll('.list h2')].map(it => it.textContent.trim())";
    page.run_until(heads, |heads| heads == &json!(["Needs you2"])).await;
    assert_eq!(page.run(&state("conversation-row", "calls")).await, "running", "it waits for its call");
    page.goto(&hub.url("/wall")).await;
    page.run_until(&state("tile", "quiet"), |state| state == "silent").await;
    page.holds("return !!document.querySelector('[data-t=tile][data-conversation=calls].stuck')").await;
    page.goto(&hub.url("/runs?q=state:silent")).await;
    let rows = "return [...document.querySelectorAll('[data-t=run-row]:not(.gone)')].map(it => it.dataset.conversation)";
    page.run_until(rows, |rows| rows == &json!(["quiet"])).await;
    assert_eq!(page.console_errors().await, Vec::<String>::new());
    page.close().await;
}
