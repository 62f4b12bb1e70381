//! What somebody has begun to write about a call stays, whatever becomes of the call and of its row.

use std::sync::atomic::{AtomicU32, Ordering};

use serde_json::{Value, json};
use tests::model::{END, STREAM, answer, delta};
use tests::{BrowserPage, ServerStep};

use super::{close, open};
use crate::scene::{asking, head_of};

const AREA: &str = "document.querySelector('[data-t=arguments]')";

/// An answer that waits, and then calls more than a page shows; the one after it ends the run.
fn many() -> Vec<ServerStep> {
    static TIMES: AtomicU32 = AtomicU32::new(0);
    if TIMES.fetch_add(1, Ordering::Relaxed) > 0 {
        return answer("Done.");
    }
    let calls = (0..200).map(|n| {
        let function = json!({"name": "read", "arguments": "{}"});
        json!({"index": n, "id": format!("n{n}"), "type": "function", "function": function})
    });
    let said = delta(&json!({"tool_calls": calls.collect::<Vec<_>>()}));
    vec![
        ServerStep::begin("200 OK", &STREAM),
        ServerStep::Wait,
        ServerStep::piece(&said),
        ServerStep::piece(END),
        ServerStep::end(&[]),
    ]
}

async fn is_kept(page: &BrowserPage) {
    page.holds(&format!("return {AREA}?.mine === true && {AREA}.value === '{{\"service\": \"ledger\"}}'"))
        .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_written_about_a_call_outlives_its_row() {
    let (hub, origin) = asking("c", many).await;
    let head = head_of(&hub, "c").await;
    let page = open(&hub, "/c/c").await;
    page.painted(head).await;
    page.holds("return !!document.querySelector('[data-act=edit]:not([disabled])')").await;
    page.run("document.querySelector('[data-act=edit]').click()").await;
    page.holds(&format!("return !!{AREA} && document.activeElement === {AREA}")).await;
    page.run(&format!("{AREA}.mine = true; {AREA}.select()")).await;
    page.devtools("Input.insertText", json!({"text": "{\"service\": \"ledger\"}"})).await;
    is_kept(&page).await;
    // What is shown is not what the hub has asked about: it refuses, and that is said where it is written.
    page.run(
        "const send = WebSocket.prototype.send;
         WebSocket.prototype.send = function (text) { send.call(this, text.replace(/\"saw\":\"\\w+\"/, '\"saw\":\"0\"')) };
         window.mend = () => { WebSocket.prototype.send = send }",
    )
    .await;
    page.run("document.querySelector('[data-act=approve-edited]').click()").await;
    page.holds("return document.querySelector('[data-t=consent] [data-t=trouble]')?.textContent === 'The arguments changed; look again.'")
        .await;
    page.run("window.mend()").await;
    is_kept(&page).await;
    // It is decided elsewhere.
    let reject = json!({"id": "2", "command": "reject", "tool": "t"}).to_string();
    let rejected = hub.request("POST", "/v1/conversations/c/commands").body(reject).send().await;
    assert!(rejected.expect("the hub answers").status().is_success());
    page.holds(
        "return document.querySelector('[data-t=tool-card][data-call=t]')?.dataset.state === 'cancelled'",
    )
    .await;
    is_kept(&page).await;
    page.holds(&format!("return document.activeElement === {AREA}")).await;
    // The steps are folded away.
    page.run("[...document.querySelectorAll('header.top .seg button')].find(it => it.textContent === 'Answer').click()")
        .await;
    page.holds("return document.querySelector('.steps')?.getAttribute('aria-expanded') === 'false'").await;
    is_kept(&page).await;
    // More rows come than a page shows.
    origin.go_on();
    let has_come = |it: &Value| it.pointer("/runs/0/status").is_some_and(|status| status == "complete");
    hub.json_until("/v1/conversations/c?summary", has_come).await;
    page.painted(head_of(&hub, "c").await).await;
    page.run("[...document.querySelectorAll('header.top .seg button')].find(it => it.textContent === 'Steps').click()")
        .await;
    page.holds("return document.querySelectorAll('[data-t=tool-card]').length > 50").await;
    is_kept(&page).await;
    // The page goes elsewhere and comes back: another element, the same text, and nobody's focus is taken.
    page.run("document.activeElement.blur()").await;
    for _ in 0..2 {
        page.press("g").await;
        page.press("w").await;
    }
    page.holds(&format!(
        "return {AREA}?.value === '{{\"service\": \"ledger\"}}' && document.activeElement !== {AREA}"
    ))
    .await;
    page.run("[...document.querySelectorAll('[data-t=consent] button')].find(it => it.textContent === 'Discard').click()")
        .await;
    page.holds("return !document.querySelector('[data-t=consent]')").await;
    close(page).await;
}
