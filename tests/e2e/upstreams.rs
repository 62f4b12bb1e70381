//! Calls through the proxy whose upstream fails: the page names what happened, says whether trying again may help, and keeps
//! what had come.

use serde_json::json;
use tests::browser::DESKTOP;
use tests::model::{STREAM, delta};
use tests::wait::within;
use tests::{BrowserPage, ScriptedServer, ServerStep, TestHub, raw};

const ASKS: &str = r#"{"model":"m","stream":true,"messages":[{"role":"user","content":"Hello?"}]}"#;

/// The upstream: refuses who asks for `limited`, and breaks off before all others, half way.
async fn upstream() -> ScriptedServer {
    ScriptedServer::start(|asked| match asked.header("x-case") {
        Some("limited") => {
            let headers = [("content-type", "application/json"), ("retry-after", "7")];
            let body =
                br#"{"error":{"message":"Rate limit reached","type":"requests","code":"rate_limit_exceeded"}}"#;
            ServerStep::answer("429 Too Many Requests", &headers, body)
        }
        _ => vec![
            ServerStep::begin("200 OK", &STREAM),
            ServerStep::piece(&delta(&json!({"content": "Half of what"}))),
            ServerStep::Wait,
            ServerStep::Reset,
        ],
    })
    .await
}

fn call(case: &str) -> Vec<u8> {
    raw::post(&format!("/proxy/x/~{case}/v1/chat/completions"), &[("x-case", case)], ASKS)
}

/// What is written about the failure in the transcript.
const FAILURE: &str = "return [...document.querySelectorAll('[data-t=transcript] .failure')].map(it => it.textContent).join('|')";

#[tokio::test(flavor = "multi_thread")]
async fn an_upstream_that_refuses_or_breaks_off_is_named_with_what_helps() {
    let origin = upstream().await;
    let hub = TestHub::start_with(&["--upstream", &origin.named("x")]).await;
    let page = BrowserPage::open(DESKTOP).await;

    assert_eq!(raw::call(hub.address(), &call("limited")).await.status(), 429);
    page.goto(&hub.url("/c/limited")).await;
    let said = |failure: &serde_json::Value, words: &[&str]| {
        let failure = failure.as_str().unwrap_or_default();
        // Once, and not again at the end of the run.
        !failure.contains('|') && words.iter().all(|word| failure.contains(word))
    };
    let limited = ["rate_limit_exceeded", "Rate limit reached", "Can be retried, after 7.0 s"];
    page.run_until(FAILURE, |failure| said(failure, &limited)).await;
    page.screenshot("upstream-limited").await;

    let mut wire = raw::connect(hub.address()).await;
    wire.send(&call("cut")).await;
    within("the head", wire.head()).await.unwrap();
    within("a piece", wire.piece()).await.unwrap();
    page.goto(&hub.url("/c/cut")).await;
    page.text_until("transcript", |text| text.contains("Half of what")).await;
    assert_eq!(page.run(FAILURE).await, json!(""));
    origin.go_on();
    page.run_until(FAILURE, |failure| said(failure, &["upstream_cut", "Can be retried"])).await;
    // What had come stays.
    page.text_until("transcript", |text| text.contains("Half of what")).await;
    page.screenshot("upstream-cut").await;
    page.close().await;
}
