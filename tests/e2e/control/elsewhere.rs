//! Agents elsewhere are commanded from the page like the hub's own.

use serde_json::{Value, json};
use tests::browser::DESKTOP;
use tests::raw::RawMessage;
use tests::{BrowserPage, ScriptedServer, ServerStep, TestHub};

use super::{STREAM, act, close, say, shows, types};

/// An answer in server-sent events.
fn streamed(events: &[(&str, Value)], is_over: bool) -> Vec<ServerStep> {
    let pieces = events
        .iter()
        .map(|(name, body)| ServerStep::piece(format!("event: {name}\ndata: {body}\n\n").as_bytes()));
    let end = if is_over { ServerStep::end(&[]) } else { ServerStep::Silence };
    std::iter::once(ServerStep::begin("200 OK", &STREAM)).chain(pieces).chain([end]).collect()
}

/// A graph that asks how old somebody is, says it, and when it is asked anything else never ends.
fn graph(asked: &RawMessage) -> Vec<ServerStep> {
    let said = |text: &str| {
        let message = json!({"type": "AIMessageChunk", "id": "m1", "content": text});
        ("messages", json!([message, {"langgraph_node": "model"}]))
    };
    let body: Value = serde_json::from_slice(&asked.body).unwrap_or_default();
    if !asked.start.contains("/runs/stream") {
        return ServerStep::answer("200 OK", &[("content-type", "application/json")], b"{}");
    }
    if let Some(answer) = body.pointer("/command/resume") {
        return streamed(&[said(&format!("You are {answer}."))], true);
    }
    if body.to_string().contains("Go on") {
        return streamed(&[said("On and on")], false);
    }
    let asks = json!({"__interrupt__": [{"id": "i1", "value": {"question": "How old are you?"}}]});
    streamed(&[said("Well. "), ("updates", asks)], true)
}

#[tokio::test(flavor = "multi_thread")]
async fn an_agent_elsewhere_asks_and_is_answered_and_stopped() {
    let origin = ScriptedServer::start(graph).await;
    let settings = format!("[agents.far]\nkind = \"langgraph\"\nurl = \"http://{}\"\n", origin.address());
    let hub = TestHub::start_with_settings(&settings).await;
    let page: BrowserPage = super::open(&hub, "/c/c").await;
    say(&page, "Hello").await;
    shows(&page, "How old are you?").await;
    page.resize(DESKTOP).await;
    page.screenshot("control-question-light").await;
    act(&page, "edit").await;
    page.holds("return document.activeElement?.dataset.t === 'arguments'").await;
    types(&page, "forty-two").await;
    page.key("Enter", 13, 2).await;
    shows(&page, "You are \"forty-two\".").await;
    page.holds("return !document.querySelector('[data-t=stop]')").await;
    say(&page, "Go on").await;
    shows(&page, "On and on").await;
    page.press(".").await;
    page.holds("return !document.querySelector('[data-t=stop]')").await;
    shows(&page, "Go on").await;
    page.holds("return document.querySelectorAll('[data-act=go-on]').length === 1").await;
    close(page).await;
}
