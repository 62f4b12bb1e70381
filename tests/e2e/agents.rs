//! Sub-agents: one line in the conversation, everything in the panel, and the page reduced to one of them.

use serde_json::json;
use tests::BrowserPage;
use tests::browser::DESKTOP;

use crate::scene::{CALLS, OPENING, SUB_AGENT, hub_and_publisher};
use crate::screens::{NARROW, PicturedView, pictured};

/// Agents under the one of the scene, one below the other.
const DEEP: &str = r#"
    {"k":"agent.start","run":"r","agent":"a2","parent":"a1","name":"web","text":"find the filings"}
    {"k":"tool.call","run":"r","agent":"a2","tool":"t6","name":"fetch_page","arguments":"{\"url\":\"https://example.com/q2\"}"}
    {"k":"tool.result","run":"r","agent":"a2","tool":"t6","output":"gone","is_error":true}
    {"k":"agent.start","run":"r","agent":"a3","parent":"a2","name":"pdf","text":"read page 12"}
    {"k":"agent.start","run":"r","agent":"a4","parent":"a3","name":"table","text":"the third table"}
    {"k":"tool.call","run":"r","agent":"a4","tool":"t7","name":"read_table","arguments":"{\"page\":12}"}
    {"k":"tool.state","run":"r","agent":"a4","tool":"t7","state":"executing"}
"#;

/// What the run used, and what of it a sub-agent used.
const USED: &str = r#"
    {"k":"run.update","run":"r","usage":{"input_tokens":30000,"output_tokens":100}}
    {"k":"run.update","run":"r","agent":"a1","usage":{"input_tokens":8000,"output_tokens":100,"cost":{"amount":"0.0042","currency":"USD"}}}
"#;

const PANEL: &str = "document.querySelector('[data-t=agent-transcript]')";

#[tokio::test(flavor = "multi_thread")]
async fn a_line_opens_the_sub_agent_in_the_panel_with_a_way_back() {
    let (hub, mut publisher) = hub_and_publisher("c").await;
    let head = publisher.says_all(&[OPENING, CALLS, SUB_AGENT, DEEP, USED]).await;
    for screen in [DESKTOP, NARROW] {
        let page = BrowserPage::open(screen).await;
        page.goto(&hub.url("/c/c")).await;
        page.painted(head).await;
        page.text_until("agent-card", |text| text.contains("researcher") && text.contains("✓ 1")).await;
        page.text_until("agent-ticker", |text| text.contains("fetch_page") && text.contains("web")).await;
        assert_eq!(
            page.run("return !!document.querySelector('[data-t=transcript] [data-call=t5]')").await,
            json!(false)
        );
        page.run("document.querySelector('[data-t=agent-card][data-agent=a1] button').click()").await;
        page.holds(&format!("return !!{PANEL}?.querySelector('[data-call=t5]')")).await;
        page.text_until("agent-path", |text| text.starts_with("main") && text.ends_with("researcher")).await;
        // What was opened over a narrow page stands beside a wide one too.
        if screen.width == NARROW.width {
            pictured(&page, PicturedView::Agent).await;
            page.resize(screen).await;
        }
        // Down to the deepest, and back by the path.
        for agent in ["a2", "a3", "a4"] {
            let line = format!("{PANEL}.querySelector('[data-agent={agent}] button')");
            page.holds(&format!("return !!{line}")).await;
            page.run(&format!("{line}.click()")).await;
        }
        page.text_until("agent-path", |text| text.ends_with("researcher ▸ web ▸ pdf ▸ table")).await;
        page.run("document.querySelectorAll('[data-t=agent-path] .crumb-to')[2].click()").await;
        page.text_until("agent-path", |text| text.ends_with("researcher ▸ web")).await;
        page.run("document.querySelector('[data-t=agent-path] [aria-label=\"All agents\"]').click()").await;
        let rows = "return [...document.querySelectorAll('[data-t=agent-row]')].map(it => it.querySelector('.nm').textContent).join()";
        page.run_until(rows, |rows| rows == "analyst,researcher,web,pdf,table").await;
        let used = "return [...document.querySelectorAll('[data-t=agent-row] [data-t=agent-used]')].map(it => it.textContent).join()";
        page.run_until(used, |used| used == "38.2k tokens · $0.0042,8.1k tokens · $0.0042,,,").await;
        if screen.width == NARROW.width {
            pictured(&page, PicturedView::Agents).await;
            page.resize(screen).await;
        }
        page.run("document.querySelectorAll('.panel-tabs ~ .chips .chip')[0].click()").await;
        page.run_until(rows, |rows| rows == "analyst,researcher").await;
        assert_eq!(page.console_errors().await, Vec::<String>::new(), "{screen:?}");
        page.close().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn only_this_agent_reduces_conversation_tools_and_timeline_together() {
    let (hub, mut publisher) = hub_and_publisher("c").await;
    let head = publisher.says_all(&[OPENING, CALLS, SUB_AGENT, DEEP]).await;
    let page = BrowserPage::open(DESKTOP).await;
    page.goto(&hub.url("/c/c?timeline=320")).await;
    page.painted(head).await;
    page.run("document.querySelector('[data-t=agent-card][data-agent=a1] button').click()").await;
    page.holds("return !!document.querySelector('[data-t=only-agent]')").await;
    page.run("document.querySelector('[data-t=only-agent]').click()").await;
    page.text_until("only", |text| text.contains("main ▸ researcher")).await;
    let cards = "return [...document.querySelectorAll('[data-t=transcript] [data-t=tool-card]')].map(it => it.dataset.call).join()";
    page.run_until(cards, |cards| cards == "t5").await;
    let first = "return document.querySelector('[data-t=timeline-row] .nm')?.textContent";
    page.run_until(first, |name| name == "researcher").await;
    page.run("document.querySelector('[data-tab=Tools]').click()").await;
    let calls =
        "return [...document.querySelectorAll('[data-t=tool-row]')].map(it => it.dataset.call).sort().join()";
    page.run_until(calls, |calls| calls == "t5,t6,t7").await;
    page.screenshot("only-agent-light").await;
    page.run("document.querySelector('[data-t=only] button').click()").await;
    page.run_until(calls, |calls| calls == "t1,t2,t3,t4,t5,t6,t7").await;
    page.run_until(first, |name| name == "analyst").await;
    assert_eq!(page.console_errors().await, Vec::<String>::new());
    page.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn agents_deeper_than_three_show_their_path() {
    let (hub, mut publisher) = hub_and_publisher("c").await;
    let head = publisher.says_all(&[OPENING, SUB_AGENT, DEEP]).await;
    let page = BrowserPage::open(DESKTOP).await;
    page.goto(&hub.url("/c/c?level=All")).await;
    page.painted(head).await;
    page.holds("return document.querySelector('[data-t=transcript] [data-agent=a4] .path-chip')?.textContent === 'main ▸ researcher ▸ web ▸ pdf ▸ table'").await;
    page.holds("return !document.querySelector('[data-t=transcript] [data-agent=a3] .path-chip')").await;
    page.screenshot("agents-deep").await;
    page.close().await;
}
