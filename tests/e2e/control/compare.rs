//! Two conversations beside each other, from where they part.

use serde_json::json;
use tests::browser::DESKTOP;
use tests::{BrowserPage, ScriptedServer, TestHub};

use super::{act, answer, close, hub_with_agents, last, open, say, shows, types};
use crate::screens::{PicturedView, pictured};

/// A run with two calls, the second of which is asked for QUERY and finds FOUND.
const CALLS: &str = r#"
    {"k":"message","message":"m","role":"user","text":"What is owed?"}
    {"k":"run.start","run":"r","name":"helper"}
    {"k":"tool.call","run":"r","tool":"t1","name":"list","arguments":"{}"}
    {"k":"tool.result","run":"r","tool":"t1","output":"none"}
    {"k":"tool.call","run":"r","tool":"t2","name":"search","arguments":"{\"q\":\"QUERY\"}"}
    {"k":"tool.result","run":"r","tool":"t2","output":FOUND}
    {"k":"part.start","run":"r","part":"p","kind":"text"}
    {"k":"part.delta","run":"r","part":"p","text":"LONG"}
    {"k":"run.end","run":"r","status":"complete","usage":{"input_tokens":1200,"output_tokens":34,"cost":{"amount":"0.004249","currency":"USD"}}}
"#;

/// What such a run took.
const TOKENS: &str = "1,200 → 34 tokens · $0.0042";

/// What each side shows.
const SIDES: &str =
    "return [...document.querySelectorAll('[data-t=pair] > section')].map(it => it.innerText)";

#[tokio::test(flavor = "multi_thread")]
async fn a_fork_is_compared_with_what_it_was_made_of() {
    let origin = ScriptedServer::start(|asked| answer(&format!("About {}", last(asked)))).await;
    let hub = hub_with_agents(&origin, &["helper"]).await;
    let page = open(&hub, "/c/c").await;
    for text in ["One", "Two"] {
        say(&page, text).await;
        shows(&page, &format!("About {text}")).await;
    }
    page.holds("return !document.querySelector('[data-t=stop]')").await;
    page.press("E").await;
    page.holds("return document.activeElement?.closest('[data-t=rewrite]') !== null").await;
    page.run("document.activeElement.select()").await;
    types(&page, "Three").await;
    page.key("Enter", 13, 0).await;
    shows(&page, "About Three").await;
    page.press("g").await;
    page.press("d").await;
    // The dialog may be opened before the list has come.
    page.holds("return document.querySelectorAll('[data-t=choice]').length === 1").await;
    page.screenshot("control-choice-light").await;
    page.run("document.querySelector('[data-t=choice]').click()").await;
    let is_parted = |sides: &serde_json::Value| {
        sides[0].to_string().contains("About Three") && sides[1].to_string().contains("About Two")
    };
    let sides = page.run_until(SIDES, is_parted).await;
    assert!(!sides.to_string().contains("About One"), "{sides}");
    shows(&page, "The same beginning").await;
    page.text_until("parting", |text| text == "The messages differ.").await;
    page.holds("return location.search.startsWith('?compare=c')").await;
    pictured(&page, PicturedView::Compare).await;
    // Who opens the link in another browser sees the same two, parted at the same place.
    let link = page.run("return location.href").await;
    let other = BrowserPage::open(DESKTOP).await;
    other.goto(link.as_str().expect("a link")).await;
    other.run_until(SIDES, is_parted).await;
    other.text_until("parting", |text| text == "The messages differ.").await;
    assert!(!other.run(SIDES).await.to_string().contains("About One"));
    close(other).await;
    // The other one goes on, and so does its picture.
    let body = json!({"id": "1", "command": "say", "agent": "helper", "text": "Four"});
    let said = hub.request("POST", "/v1/conversations/c/commands").body(body.to_string()).send().await;
    said.expect("an answer");
    page.run_until(SIDES, |sides| sides[1].to_string().contains("About Four")).await;
    // This one goes on too, in its own place.
    say(&page, "Five").await;
    let sides = page.run_until(SIDES, |sides| sides[0].to_string().contains("About Five")).await;
    assert!(!sides[1].to_string().contains("Five"), "{sides}");
    act(&page, "end-compare").await;
    page.holds("return !document.querySelector('[data-t=pair]')").await;
    shows(&page, "About One").await;
    close(page).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn runs_that_part_at_a_call_say_at_which() {
    let hub = TestHub::start().await;
    for (conversation, query, found) in [("a", "billing", "{}"), ("b", "invoices", "[1,2]")] {
        let lines = CALLS
            .replace("QUERY", query)
            .replace("FOUND", found)
            .replace("LONG", &"On and on.\\n\\n".repeat(60));
        hub.publisher(conversation).await.says(&lines).await;
    }
    let page = BrowserPage::open(DESKTOP).await;
    page.goto(&hub.url("/c/a?compare=b")).await;
    page.text_until("parting", |text| text == "After 1 step: search with different arguments.").await;
    page.run_until(SIDES, |sides| {
        sides[0].to_string().contains("billing") && sides[1].to_string().contains("invoices")
    })
    .await;
    let told = "return [document.querySelector('.counts-of-run'), ...document.querySelectorAll('.tally')].map(it => it.innerText.replaceAll('\\u00a0', ' '))";
    page.run_until(told, |told| {
        let ends = |at: usize, with: &str| told[at].as_str().is_some_and(|text| text.ends_with(with));
        ends(0, "1.2k tokens · $0.0042") && ends(1, TOKENS) && ends(2, TOKENS)
    })
    .await;
    let in_view = "const it = document.querySelector('[data-t=parting]').getBoundingClientRect(); return it.top > 0 && it.bottom < innerHeight";
    page.holds(in_view).await;
    // The steps after the parting are aligned, and what differs in them is found.
    let rows =
        "return [...document.querySelectorAll('[data-t=aligned] [data-row]')].map(it => it.dataset.row)";
    page.run_until(rows, |rows| rows == &json!(["same", "changed", "same"])).await;
    page.run("document.querySelector('[data-row=changed] button').click()").await;
    let lines = "return [...document.querySelectorAll('[data-row=changed] .diff span')].map(it => it.textContent.trim())";
    let lines = page
        .run_until(lines, |lines| lines.as_array().is_some_and(|lines| lines.len() > 4))
        .await
        .to_string();
    for wanted in [r#"-   \"q\": \"billing\""#, r#"+   \"q\": \"invoices\""#, "- {}", "+   1,"] {
        assert!(lines.contains(wanted), "{wanted} is in {lines}");
    }
    let ids = "const ids = [...document.querySelectorAll('[id]')].map(it => it.id); return ids.length - new Set(ids).size";
    assert_eq!(page.run(ids).await, 0, "no two elements have one id");
    pictured(&page, PicturedView::CompareCalls).await;
    assert_eq!(page.console_errors().await, Vec::<String>::new());
    // A browser itself writes of an answer that is not there.
    page.run("history.pushState(null, '', '?compare=nobody'); dispatchEvent(new PopStateEvent('popstate'))")
        .await;
    page.holds("return document.querySelector('[data-t=pair] [role=status]')?.innerText.length > 0").await;
    let sides = page.run(SIDES).await;
    assert!(
        !sides[1].to_string().contains("invoices"),
        "nothing of one stands under another's name: {sides}"
    );
    page.screenshot("control-compare-nobody").await;
    act(&page, "end-compare").await;
    page.holds("return !document.querySelector('[data-t=pair]')").await;
    page.close().await;
}
