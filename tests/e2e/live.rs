//! Tokens appear while they stream; a call goes through its states.

use tests::browser::DESKTOP;
use tests::{BrowserPage, TestHub};

/// The state of the card of call `t`.
fn state_is(state: &str) -> String {
    format!("return document.querySelector('[data-t=tool-card][data-call=t]')?.dataset.state === '{state}'")
}

#[tokio::test(flavor = "multi_thread")]
async fn a_foreign_stream_shows_token_by_token_and_its_call_goes_from_pending_to_complete() {
    let hub = TestHub::start().await;
    let page = BrowserPage::open(DESKTOP).await;
    page.goto(&hub.url("/c/c")).await;
    page.holds("return !!document.querySelector('[data-t=transcript]')").await;
    let chunk = |delta: &str| {
        format!(
            "data: {{\"model\":\"m\",\"choices\":[{{\"index\":0,\"delta\":{delta},\"finish_reason\":null}}]}}\n\n"
        )
    };
    let mut body = hub.ingest_with("openai-chat", "c", &[("fanlight-run", "r")]);
    let mut text = String::new();
    for word in ["Let ", "me ", "see"] {
        body.write(chunk(&format!("{{\"content\":\"{word}\"}}"))).await;
        text.push_str(word);
        page.text_until("answer", |shown| shown.trim_end() == text.trim_end()).await;
    }
    page.holds("return document.querySelector('[data-t=transcript]').hasAttribute('data-running')").await;
    let call = |name: &str, arguments: &str| {
        chunk(&format!(
            "{{\"tool_calls\":[{{\"index\":0,\"id\":\"t\",\"function\":{{\"name\":\"{name}\",\"arguments\":\"{arguments}\"}}}}]}}"
        ))
    };
    body.write(call("add", "{\\\"a\\\":")).await;
    page.holds(&state_is("writing")).await;
    body.write(call("", "1}")).await;
    body.write("data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"tool_calls\"}]}\n\ndata: [DONE]\n\n").await;
    body.finish().await;
    page.holds(&state_is("pending")).await;
    let mut publisher = hub.publisher("c").await;
    publisher.says(r#"{"k":"tool.state","run":"r","tool":"t","state":"executing"}"#).await;
    page.holds(&state_is("executing")).await;
    publisher.says(r#"{"k":"tool.result","run":"r","tool":"t","output":{"sum":2},"exec_ms":840}"#).await;
    page.holds(&state_is("complete")).await;
    let card = "document.querySelector('[data-t=tool-card][data-call=t]')";
    assert_eq!(page.run(&format!("return {card}.dataset.latencyMs")).await, "840");
    assert_eq!(page.run(&format!("return {card}.dataset.name")).await, "add");
    let shown = page.run(&format!("return {card}.textContent")).await;
    assert!(shown.as_str().unwrap().contains("840 ms"), "{shown}");
    let row = "return document.querySelector('[data-t=tool-row][data-call=t]')?.dataset.state";
    assert_eq!(page.run(row).await, "complete");
    let mut body = hub.ingest_with("openai-chat", "c", &[("fanlight-run", "r")]);
    body.write(chunk("{\"content\":\"It is 2.\"}")).await;
    body.write(
        "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n",
    )
    .await;
    body.finish().await;
    page.holds("return !document.querySelector('[data-t=transcript]').hasAttribute('data-running')").await;
    page.text_until("answer", |shown| shown.contains("Let me see") && shown.contains("It is 2.")).await;
    assert_eq!(page.console_errors().await, Vec::<String>::new());
    page.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_list_shows_every_conversation_with_what_it_does() {
    let hub = TestHub::start().await;
    let page = BrowserPage::open(DESKTOP).await;
    page.goto(&hub.url("/")).await;
    let row = |name: &str, state: &str| {
        format!(
            "return !!document.querySelector('[data-t=conversation-row][data-conversation={name}][data-state={state}]')"
        )
    };
    let mut publisher = hub.publisher("alpha").await;
    publisher.says(crate::scene::OPENING).await;
    page.holds(&row("alpha", "running")).await;
    publisher.says(r#"{"k":"run.end","run":"r","status":"complete"}"#).await;
    page.holds(&row("alpha", "complete")).await;
    hub.publisher("beta").await.says(crate::scene::OPENING).await;
    page.holds(&row("beta", "running")).await;
    page.run("document.querySelector('[data-t=conversation-row][data-conversation=alpha]').click()").await;
    page.holds("return location.pathname === '/c/alpha'").await;
    page.holds(
        "return document.querySelector('[data-t=transcript]')?.textContent.includes('revenue per region')",
    )
    .await;
    assert_eq!(page.console_errors().await, Vec::<String>::new());
    page.close().await;
}
