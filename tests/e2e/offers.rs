//! With access control the page offers what its reader may do, and says why where something is missing.

use serde_json::{Value, json};
use tests::BrowserPage;
use tests::model::answer;
use tests::wait::until;

use crate::names::logged_in;
use crate::scene::{deploy_command, deployer, hub_with_deployer};

const GUARDED: &str = "[access]\nmode = \"tokens\"\n\n[access.roles.guest]\nhide = [\"arguments\"]\n";

/// Whether something of `selector` is on the page.
async fn has(page: &BrowserPage, selector: &str) -> bool {
    page.run(&format!("return document.querySelector({}) !== null", json!(selector))).await == true
}

/// What only somebody with `control` has a use for.
const OF_CONTROL: [&str; 8] = [
    "#composer",
    "[data-act=approve]",
    "[data-act=reject]",
    "[data-act=fork]",
    "[data-act=ask-again]",
    "[data-t=order]",
    "#rename",
    "[data-t=new]",
];

#[tokio::test(flavor = "multi_thread")]
async fn a_viewer_sees_no_composer_and_reads_why_and_an_operator_is_offered_everything() {
    let origin = deployer(|| answer("Done.")).await;
    let hub = hub_with_deployer(&origin, GUARDED).await;
    let ann = hub.token_for("ann", &["view,control,export:*"]).await;
    let bob = hub.token_for("bob", &["view:*"]).await;
    let asked = hub.request("POST", "/v1/conversations/c/commands").bearer_auth(&ann).body(deploy_command());
    assert!(asked.send().await.unwrap().status().is_success());

    let operates = logged_in(&hub, &ann).await;
    for offered in OF_CONTROL {
        operates.holds(&format!("return document.querySelector({}) !== null", json!(offered))).await;
    }
    assert!(
        !has(&operates, "[data-t=watching-only]").await && has(&operates, "[data-act=export-turn]").await
    );

    let watches = logged_in(&hub, &bob).await;
    watches
        .text_until("watching-only", |text| text.contains("You may only watch") && text.contains("“control”"))
        .await;
    watches.text_until("no-consent", |text| text.contains("“control”")).await;
    for offered in OF_CONTROL {
        assert!(!has(&watches, offered).await, "a viewer is offered {offered}");
    }
    assert!(!has(&watches, "[data-act=export-turn]").await);
    watches.screenshot("offers-viewer").await;
    watches.press("?").await;
    watches.holds("return document.querySelector('[data-t=dialog] dl') !== null").await;
    let keys = watches.run("return document.querySelector('[data-t=dialog]').innerText").await;
    let keys = keys.as_str().unwrap();
    assert!(
        keys.contains("Next row") && !keys.contains("Write a message") && !keys.contains("Approve"),
        "{keys}"
    );
    watches.press("Escape").await;
    for key in ["g", "e"] {
        watches.press(key).await;
    }
    watches.text_until("no-export", |text| text.contains("“export”")).await;
    watches.close().await;

    // Who is thrown out while they write keeps what they wrote, and is told.
    hub.token(&["revoke", "ann"]).await;
    operates.text_until("trouble", |text| text.contains("not logged in any more")).await;
    operates.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_role_that_hides_arguments_may_reject_and_reads_why_it_may_not_approve() {
    let origin = deployer(|| answer("Done.")).await;
    let hub = hub_with_deployer(&origin, GUARDED).await;
    let ann = hub.token_for("ann", &["view,control:*"]).await;
    let create = ["create", "--name", "guest", "--role", "guest", "--grant", "view,control:*"];
    let guest = hub.token(&create).await;
    until("the hub to know the guest", async || {
        let asked = hub.request("GET", "/v1/access").bearer_auth(&guest).send().await.ok()?;
        asked.status().is_success().then_some(())
    })
    .await;
    let asked = hub.request("POST", "/v1/conversations/c/commands").bearer_auth(&ann).body(deploy_command());
    assert!(asked.send().await.unwrap().status().is_success());
    let page = logged_in(&hub, &guest).await;
    page.holds("return document.querySelector('[data-act=reject]') !== null").await;
    page.text_until("consent", |text| text.contains("cannot approve")).await;
    assert!(!has(&page, "[data-act=approve]").await && has(&page, "#composer").await);
    page.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn who_may_begin_conversations_of_a_team_begins_one_with_its_name() {
    let origin = deployer(|| answer("Done.")).await;
    let hub = hub_with_deployer(&origin, GUARDED).await;
    let ann = hub.token_for("ann", &["view:*", "view,control:team-*"]).await;
    let page = logged_in(&hub, &ann).await;
    page.text_until("watching-only", |text| text.contains("“control”")).await;
    page.press("n").await;
    page.holds("return document.activeElement?.id === 'composer'").await;
    page.devtools("Input.insertText", json!({"text": "Hello there"})).await;
    page.run("document.querySelector('[data-t=send]').click(); return null").await;
    let path = "return location.pathname";
    page.run_until(path, |path: &Value| {
        path.as_str().is_some_and(|path| path.starts_with("/c/team-hello-there-"))
    })
    .await;
    page.holds("return document.querySelector('#composer') !== null").await;
    page.close().await;
}
