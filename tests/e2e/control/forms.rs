//! What somebody has begun to write about a call stays, whatever becomes of the call and of its row.

use serde_json::json;
use tests::{Hub, Page};

use super::{close, open};

/// A call of a sub-agent of the hub's agent, which waits for consent.
const ASKS: &str = r#"
    {"k":"run.start","run":"r","dialect":"runner","name":"helper","title":"Deploy billing"}
    {"k":"agent.start","run":"r","agent":"a1","name":"deployer","text":"deploy it"}
    {"k":"tool.call","run":"r","agent":"a1","tool":"t","name":"deploy","arguments":"{\"service\":\"billing\"}"}
    {"k":"approval.request","run":"r","tool":"t","text":"Deploy to production?"}
"#;

const AREA: &str = "document.querySelector('[data-t=arguments]')";

async fn is_kept(page: &Page) {
    page.holds(&format!("return {AREA}?.mine === true && {AREA}.value === '{{\"service\": \"ledger\"}}'"))
        .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_written_about_a_call_outlives_its_row() {
    let place = tempfile::tempdir().expect("a folder");
    let file = place.path().join("fanlight.toml");
    let agent = "[agents.helper]\nkind = \"runner\"\nprovider = \"openai\"\nurl = \"http://127.0.0.1:9/v1\"\nmodel = \"m\"\n";
    std::fs::write(&file, agent).expect("a file");
    let hub = Hub::start_with(&["--config", file.to_str().expect("a plain path")]).await;
    let mut publisher = hub.publisher("c").await;
    let head = publisher.says(ASKS).await.seq;
    let page = open(&hub, "/c/c").await;
    page.painted(head).await;
    page.holds("return !!document.querySelector('[data-act=edit]:not([disabled])')").await;
    page.run("document.querySelector('[data-act=edit]').click()").await;
    page.holds(&format!("return !!{AREA} && document.activeElement === {AREA}")).await;
    page.run(&format!("{AREA}.mine = true; {AREA}.select()")).await;
    page.devtools("Input.insertText", json!({"text": "{\"service\": \"ledger\"}"})).await;
    is_kept(&page).await;
    // No agent of the hub has this run: the hub refuses, and says why where it is written.
    page.run("document.querySelector('[data-act=approve-edited]').click()").await;
    page.holds("return document.querySelector('[data-t=consent] [data-t=trouble]')?.textContent.includes('not go on in an agent of this hub')")
        .await;
    is_kept(&page).await;
    // It is decided elsewhere: nothing of the closed sub-agent waits any more.
    let head = publisher
        .says(r#"{"k":"tool.result","run":"r","agent":"a1","tool":"t","output":"deployed","exec_ms":5}"#)
        .await
        .seq;
    page.painted(head).await;
    page.holds(
        "return document.querySelector('[data-t=tool-card][data-call=t]')?.dataset.state === 'complete'",
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
    let many: Vec<String> = (0..200)
        .map(|n| {
            json!({"k": "tool.call", "run": "r", "tool": format!("n{n}"), "name": "read", "arguments": "{}"})
                .to_string()
        })
        .collect();
    let head = publisher.says(&many.join("\n")).await.seq;
    page.painted(head).await;
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
