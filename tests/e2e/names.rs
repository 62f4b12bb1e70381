//! The page of a hub with access control: it is entered with a token, and shows viewers and whoever decides by name.

use serde_json::Value;
use tests::browser::DESKTOP;
use tests::model::answer;
use tests::{BrowserPage, TestHub};

use crate::scene::{deploy_command, deployer, hub_with_deployer};

/// A browser that has logged in with `token` and shows the conversation `c`.
pub(crate) async fn logged_in(hub: &TestHub, token: &str) -> BrowserPage {
    let page = BrowserPage::open(DESKTOP).await;
    page.goto(&hub.url("/c/c")).await;
    page.holds("return document.querySelector('#token') !== null").await;
    let typed = format!(
        "document.querySelector('#token').value = {token:?}; document.querySelector('form button').click(); return null"
    );
    page.run(&typed).await;
    page.holds("return document.querySelector('[data-t=connection]')?.dataset.state === 'live'").await;
    page
}

#[tokio::test(flavor = "multi_thread")]
async fn viewers_and_whoever_approves_are_shown_by_name() {
    let origin = deployer(|| answer("Done.")).await;
    let hub = hub_with_deployer(&origin, "[access]\nmode = \"tokens\"\n").await;
    let ann = hub.token_for("ann", &["view,control:*"]).await;
    let bob = hub.token_for("bob", &["view:*"]).await;
    let asked = hub.request("POST", "/v1/conversations/c/commands").bearer_auth(&ann).body(deploy_command());
    assert!(asked.send().await.unwrap().status().is_success());

    let (decides, watches) = (logged_in(&hub, &ann).await, logged_in(&hub, &bob).await);
    for page in [&decides, &watches] {
        page.text_until("watching", |text| text.starts_with("2 watching") && text.ends_with(": ann, bob"))
            .await;
        page.holds("return document.querySelector('[data-t=tool-card][data-state=approval]') !== null").await;
    }
    let offered = "return document.querySelector('[data-act=approve]:not([disabled])') !== null";
    decides.holds(offered).await;
    decides.run("document.querySelector('[data-act=approve]').click(); return null").await;
    for page in [&decides, &watches] {
        let decided = "return document.querySelector('[data-t=decided]')?.innerText ?? null";
        page.run_until(decided, |text: &Value| text == "approved by ann").await;
    }
    watches.screenshot("names-decided").await;
    decides.close().await;
    watches.close().await;
}
