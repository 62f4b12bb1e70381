//! A run that waits before it asks its model again: what is left of the wait, and who can end it.

use tests::browser::DESKTOP;
use tests::model::answer;
use tests::{BrowserPage, ScriptedServer, ServerStep, TestHub};

use super::{act, close, open, say, shows};
use crate::scene::{OPENING, agent_table, hub_and_publisher};
use crate::screens::{PicturedView, pictured};

const BUTTONS: &str = "return document.querySelectorAll('[data-act=go-on], [data-act=stop-retry]').length";

/// A model that is busy for ten minutes, then answers.
async fn busy() -> ScriptedServer {
    let times = std::sync::atomic::AtomicU32::new(0);
    ScriptedServer::start(move |_| match times.fetch_add(1, std::sync::atomic::Ordering::Relaxed) {
        0 => {
            let busy = br#"{"error":{"message":"Overloaded","code":"overloaded"}}"#;
            let head = [("content-type", "application/json"), ("retry-after", "600")];
            ServerStep::answer("503 Service Unavailable", &head, busy)
        }
        _ => answer("Here I am."),
    })
    .await
}

async fn hub_at(origin: &ScriptedServer) -> TestHub {
    TestHub::start_with_settings(&agent_table("helper", origin, "")).await
}

/// The seconds between `before` and `after`; nothing where the text is another.
fn seconds(text: &str, before: &str, after: &str) -> Option<u64> {
    text.strip_prefix(before)?.strip_suffix(after)?.parse().ok()
}

fn counts_down(text: &str) -> bool {
    seconds(text, "retrying model in ", " s (2/5): Overloaded").is_some_and(|left| left < 599)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_busy_model_is_asked_at_once_by_who_does_not_want_to_wait() {
    let origin = busy().await;
    let hub = hub_at(&origin).await;
    let page = open(&hub, "/c/c").await;
    say(&page, "Hello").await;
    page.text_until("retry", counts_down).await;
    page.run_until(BUTTONS, |n| *n == 2).await;
    page.holds("return document.querySelector('[data-act=go-on]').textContent.startsWith('Retry now')").await;
    pictured(&page, PicturedView::Waits).await;
    // Also for who comes now.
    let other = BrowserPage::open(DESKTOP).await;
    other.goto(&hub.url("/c/c")).await;
    other.text_until("retry", counts_down).await;
    other.close().await;
    act(&page, "go-on").await;
    shows(&page, "Here I am.").await;
    page.run_until(BUTTONS, |n| *n == 0).await;
    page.holds("return !document.querySelector('[data-t=retry]')").await;
    close(page).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_that_waits_for_its_model_can_be_stopped() {
    let origin = busy().await;
    let hub = hub_at(&origin).await;
    let page = open(&hub, "/c/c").await;
    say(&page, "Hello").await;
    page.text_until("retry", counts_down).await;
    act(&page, "stop-retry").await;
    shows(&page, "Cancelled").await;
    page.holds("return !document.querySelector('[data-act=stop-retry]')").await;
    close(page).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn of_a_run_that_is_only_watched_the_wait_is_told_and_nothing_offered() {
    let (hub, mut publisher) = hub_and_publisher("c").await;
    publisher.says(OPENING).await;
    let waits = r#"{"k":"status","run":"r","text":"retrying model in 600 s (2/5): Overloaded"}"#;
    let head = publisher.says(waits).await.seq;
    let page = BrowserPage::open(DESKTOP).await;
    page.goto(&hub.url("/c/c")).await;
    page.painted(head).await;
    page.text_until("retry", counts_down).await;
    assert_eq!(page.run(BUTTONS).await, 0);
    page.holds("return !document.querySelector('.turn .activity')").await;
    page.holds(
        "return document.querySelector('[data-t=conversation-row]')?.textContent.includes('retrying model in 600 s (2/5)')",
    )
    .await;
    publisher.says(r#"{"k":"part.start","run":"r","part":"p","kind":"text"}"#).await;
    page.holds("return !document.querySelector('[data-t=retry]')").await;
    // What counts no more stands as it was said.
    page.holds(
        "return document.querySelector('.turn .activity')?.textContent.includes('retrying model in 600 s')",
    )
    .await;
    let fails =
        r#"{"k":"error","run":"r","code":"busy","message":"later","retryable":true,"retry_after_ms":600000}"#;
    publisher.says(fails).await;
    page.text_until("retry", |text| seconds(text, "can be retried in ", " s").is_some_and(|left| left < 599))
        .await;
    assert_eq!(page.run(BUTTONS).await, 0);
    close(page).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_failure_that_is_permanent_offers_no_retry_and_says_so() {
    let json = [("content-type", "application/json")];
    let refused = br#"{"error":{"message":"Incorrect API key","code":"invalid_api_key"}}"#;
    let broken = br#"{"error":{"message":"The server had an error","code":"server_error"}}"#;
    let odd = b"data: {\"error\":{\"message\":\"Something odd\"}}\n\n";
    let cases = [
        (ServerStep::answer("401 Unauthorized", &json, refused), "Incorrect API key", Some(false)),
        (
            ServerStep::answer("500 Internal Server Error", &json, broken),
            "The server had an error",
            Some(true),
        ),
        (ServerStep::answer("200 OK", &tests::model::STREAM, odd), "Something odd", None),
    ];
    for (steps, message, retryable) in cases {
        let origin = ScriptedServer::start(move |_| steps.clone()).await;
        let hub = super::hub_with_agents(&origin, &["helper"]).await;
        let page = open(&hub, "/c/c").await;
        say(&page, "Hello").await;
        shows(&page, message).await;
        hub.json_until("/v1/conversations/c?summary", |it| it["runs"][0]["status"] == "error").await;
        let error = hub.summary("c").await["runs"][0]["error"].clone();
        assert_eq!(error["retryable"].as_bool(), retryable, "{error}");
        let hint = "return document.querySelector('.failure .meta')?.textContent ?? ''";
        if retryable == Some(false) {
            page.run_until(hint, |it| it.as_str().is_some_and(|it| it.contains("Permanent"))).await;
            assert_eq!(page.run(BUTTONS).await, 0);
            page.press(",").await;
        } else {
            page.run_until(BUTTONS, |n| *n == 1).await;
            let hint = page.run(hint).await;
            let hint = hint.as_str().unwrap_or_default();
            assert_eq!(
                (hint.contains("Permanent"), hint.contains("Can be retried")),
                (false, retryable.is_some()),
                "{hint}"
            );
            act(&page, "go-on").await;
            tests::wait::until("the model is asked again", async || {
                (origin.asked().len() == 2).then_some(())
            })
            .await;
        }
        if retryable == Some(false) {
            assert_eq!(origin.asked().len(), 1, "nobody has asked again");
        }
        close(page).await;
    }
}
