//! The pictures of the README, drawn anew by each run of the tests. `cargo xtask screenshots` puts them where the README shows them.

use std::collections::BTreeSet;
use std::path::Path;
use std::time::SystemTime;

use serde_json::Value;
use tests::browser::{DESKTOP, Screen, screenshot_path};
use tests::model::answer;
use tests::wait::patiently_until;
use tests::{BrowserPage, TestHub};

use crate::scene::{agent_table, deploy_command, deployer};

/// Where the pictures are kept, below the screenshots of the tests.
const FOLDER: &str = "readme";

/// The pictures that the README shows.
fn shown() -> BTreeSet<String> {
    let readme = Path::new(env!("CARGO_MANIFEST_DIR")).join("../README.md");
    let readme = std::fs::read_to_string(readme).expect("the README");
    let images = readme.split("(docs/images/").skip(1).filter_map(|rest| rest.split_once(".png)"));
    images.map(|(name, _)| name.to_owned()).collect()
}

/// The conversation of the demo with the most calls among those that are over, once there is one with some.
async fn finished(hub: &TestHub) -> String {
    let tools = |row: &Value| row.get("tools").and_then(Value::as_u64);
    let is_over = |row: &Value| row.get("state").is_some_and(|state| state == "complete");
    patiently_until("a run of the demo with calls that is over", async || {
        let list = hub.json("/v1/conversations").await;
        let rows = list.get("conversations").and_then(Value::as_array)?;
        let with_calls = rows.iter().filter(|row| is_over(row) && tools(row) > Some(3));
        let most = with_calls.max_by_key(|row| tools(row))?;
        most.get("conversation").and_then(Value::as_str).map(str::to_owned)
    })
    .await
}

#[tokio::test(flavor = "multi_thread")]
async fn the_pictures_of_the_readme_are_those_that_are_drawn() {
    let began = SystemTime::now();
    let origin = deployer(|| answer("Done.")).await;
    let agents = agent_table("helper", &origin, "confirm = [\"deploy\"]");
    let hub = TestHub::start_with_settings(&format!("demo = true\n{agents}")).await;
    let mut drawn = BTreeSet::new();
    let mut keep = async |page: &BrowserPage, name: &str| {
        page.picture(&format!("{FOLDER}/{name}")).await;
        drawn.insert(name.to_owned());
    };
    let page = BrowserPage::open(DESKTOP).await;

    page.goto(&hub.url("/wall")).await;
    let tiles = "return document.querySelectorAll('[data-t=tile]').length";
    page.run_until(tiles, |count| count.as_u64() >= Some(5)).await;
    let clocks = "return document.body.innerText.includes('tok/s')";
    page.run_until(clocks, |it| it == true).await;
    let over = finished(&hub).await;
    keep(&page, "wall-light").await;

    page.goto(&hub.url(&format!("/c/{over}"))).await;
    page.painted(1).await;
    page.holds("return !!document.querySelector('[data-t=answer]')").await;
    page.holds("return document.querySelectorAll('[data-t=tool-row]').length > 3").await;
    keep(&page, "conversation-light").await;
    page.press("p").await;
    page.holds("return !!document.querySelector('[data-t=replay]')").await;
    // So far that there is something to see of the past.
    page.holds("return document.querySelectorAll('[data-t=tool-card]').length > 2").await;
    keep(&page, "replay-light").await;

    let said = hub.request("POST", "/v1/conversations/billing/commands").body(deploy_command());
    assert!(said.send().await.expect("the hub answers").status().is_success());
    page.goto(&hub.url("/c/billing")).await;
    page.holds("return !!document.querySelector('[data-t=consent]')").await;
    keep(&page, "consent-light").await;
    page.close().await;

    let page = BrowserPage::open(Screen { dark: true, ..DESKTOP }).await;
    page.goto(&hub.url(&format!("/c/{over}?timeline=lanes"))).await;
    page.holds("return !!document.querySelector('[data-t=timeline-group]')").await;
    keep(&page, "timeline-dark").await;
    page.close().await;
    assert_eq!(drawn, shown(), "each picture of the README is drawn, and no other");
    for name in drawn {
        let path = screenshot_path(&format!("{FOLDER}/{name}"));
        let written = path.metadata().and_then(|file| file.modified()).expect("the picture");
        assert!(written >= began, "{name} is of this run");
    }
}
