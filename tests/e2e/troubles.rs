//! What the page says when something is wrong, or was: a publisher that is gone, a cut of the network, a full disk, a call
//! that was tried again.

use serde_json::json;
use tests::browser::{DESKTOP, Screen};
use tests::wait::within;
use tests::{BrowserPage, TestHub};

use crate::recording::drop_file;
use crate::scene::{
    ANSWER, CALLS, NOTE_MARKS, OPENING, SUB_AGENT, hub_and_publisher, live_behind_a_relay, marked,
};
use crate::screens::{NARROW, PicturedView, SCREENS, pictured, resized};

#[tokio::test(flavor = "multi_thread")]
async fn a_run_whose_publisher_is_gone_is_stalled_and_needs_somebody() {
    let hub =
        TestHub::start_with(&["--log", "memory", "--stalled-after", "1", "--interrupted-after", "600"]).await;
    let mut publisher = hub.publisher("c").await;
    publisher.says_all(&[OPENING, CALLS, ANSWER]).await;
    let page = BrowserPage::open(DESKTOP).await;
    page.goto(&hub.url("/c/c")).await;
    page.text_until("pill", |text| text.contains("Running")).await;
    drop(publisher);
    page.text_until("pill", |text| text.contains("Stalled")).await;
    // Its text does not look as if it were being written.
    page.text_until("answer", |text| text.contains("weaker dollar")).await;
    page.holds("return !document.querySelector('[data-t=answer] .caret').checkVisibility()").await;
    // For how long, which grows.
    let is_said = |text: &str| text.contains("no word from its publisher for ");
    page.text_until("stalled", is_said).await;
    let said = page.text("stalled").await;
    page.text_until("stalled", |text| is_said(text) && text != said).await;
    let groups =
        "return [...document.querySelectorAll('nav.list h2')].map(head => head.textContent.trim()).join()";
    page.run_until(groups, |shown| shown.as_str().is_some_and(|heads| heads.starts_with("Needs you1"))).await;
    // What ran is not known to run: no card spins, and no time grows.
    let shape = "return document.querySelector('[data-t=tool-card][data-call=t3] use').getAttribute('href')";
    page.run_until(shape, |shape| shape == "#hollow").await;
    page.holds(
        "return document.querySelectorAll('.card .spin, .row .spin, [data-t=pill] .spin').length === 0",
    )
    .await;
    page.text_until("pill", |text| text.contains('≥')).await;
    pictured(&page, PicturedView::Stalled).await;
    // On a phone every button is in the window, of the bar and of the timeline.
    page.run("document.querySelector('[data-t=timeline-toggle]').click()").await;
    page.run_until("return document.querySelector('[data-t=timeline-summary]')?.textContent ?? ''", |text| {
        text.as_str().is_some_and(|text| text.contains(" · ≥ "))
    })
    .await;
    let stands = "return document.querySelector('[data-t=timeline-summary]').textContent + document.querySelector('[data-t=timeline]').style.getPropertyValue('--span')";
    let before = page.run(stands).await;
    for form in ["lanes", "rows"] {
        resized(&page, NARROW).await;
        let cut = "return [...document.querySelectorAll('.top button, .tl-head button')].filter(it => it.checkVisibility()).filter(it => {
            const box = it.getBoundingClientRect(); return box.left < 0 || box.right > innerWidth
        }).map(it => it.ariaLabel ?? it.textContent)";
        assert_eq!(page.run(cut).await, json!([]), "{form}");
        resized(&page, DESKTOP).await;
        if form == "lanes" {
            // What is not known to go on does not grow: the time line is as long as it was.
            let then = page.text("stalled").await;
            page.text_until("stalled", |text| is_said(text) && text != then).await;
            assert_eq!(page.run(stands).await, before);
        }
        page.run("document.querySelector('[data-t=timeline-form]').click()").await;
    }
    page.run("document.querySelector('[data-t=timeline-toggle]').click()").await;
    // Nor on the wall.
    page.press("g").await;
    page.press("w").await;
    let call = "return document.querySelector('[data-t=tile] .tile-call')?.textContent ?? ''";
    page.run_until(call, |call| call.as_str().is_some_and(|it| it.contains("run_sql") && it.contains('≥')))
        .await;
    page.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_whose_run_was_lost_says_that_nothing_was_recorded() {
    let hub =
        TestHub::start_with(&["--log", "memory", "--stalled-after", "1", "--interrupted-after", "2"]).await;
    let mut publisher = hub.publisher("c").await;
    publisher.says_all(&[OPENING, CALLS]).await;
    drop(publisher);
    let page = BrowserPage::open(DESKTOP).await;
    page.goto(&hub.url("/c/c")).await;
    // The header says so too, whether the page saw it happen or comes later.
    page.text_until("pill", |text| text.contains("Interrupted after")).await;
    page.reload().await;
    page.text_until("pill", |text| text.contains("Interrupted after")).await;
    let card = "document.querySelector('[data-t=tool-card][data-call=t3]')";
    page.holds(&format!("return {card}?.dataset.state === 'interrupted'")).await;
    page.run(&format!("{card}.querySelector('button').click()")).await;
    let said = format!("return {card}.querySelector('.body .none')?.textContent ?? ''");
    page.run_until(&said, |said| {
        said.as_str().is_some_and(|it| {
            it.starts_with("No result was recorded. The run ended at ") && it.ends_with('.')
        })
    })
    .await;
    page.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn after_a_cut_the_page_says_that_it_is_back() {
    let (_hub, mut publisher, relay, page) = live_behind_a_relay().await;
    // Readers who listen are told at once.
    page.run(HEAR).await;
    page.run(NOTE_MARKS).await;
    relay.cut();
    let head = publisher.says(ANSWER).await.seq;
    page.run_until("return window.heard.alarm", |heard| heard[0] == "Connection lost").await;
    page.painted(head).await;
    // How much that is depends on whether the words or the cut are faster.
    marked(&page, "reconnected ").await;
    page.holds("return document.querySelector('[data-t=connection]').dataset.state === 'live'").await;
    page.close().await;
}

/// Notes what is said to readers who listen, from here on.
const HEAR: &str = "window.heard = {polite: [], alarm: []};
    for (const name of ['polite', 'alarm']) {
        const region = document.querySelector(`[data-t=${name}]`);
        new MutationObserver(() => region.textContent && window.heard[name].push(region.textContent))
            .observe(region, {childList: true, characterData: true, subtree: true});
    }";

#[tokio::test(flavor = "multi_thread")]
async fn what_happens_is_said_to_readers_who_listen_and_nothing_that_did_not() {
    let (hub, mut publisher) = hub_and_publisher("c").await;
    let head = publisher.says(OPENING).await.seq;
    let mut other = hub.publisher("done").await;
    other.says_all(&[OPENING, r#"{"k":"run.end","run":"r","status":"complete"}"#]).await;
    let page = BrowserPage::open(DESKTOP).await;
    page.goto(&hub.url("/c/c")).await;
    page.painted(head).await;
    page.holds("return document.querySelectorAll('[data-t=conversation-row]').length === 2").await;
    page.run(HEAR).await;
    let fails = r#"
        {"k":"tool.call","run":"r","tool":"t","name":"run_sql","arguments":"{}"}
        {"k":"tool.result","run":"r","tool":"t","output":"no","is_error":true,"exec_ms":4020}"#;
    publisher.says(fails).await;
    let polite = "return window.heard.polite.join()";
    page.run_until(polite, |said| said == "run_sql failed after 4 seconds").await;
    let asks = r#"
        {"k":"tool.call","run":"r","tool":"u","name":"deploy","arguments":"{}"}
        {"k":"approval.request","run":"r","tool":"u","text":"Deploy?"}"#;
    publisher.says(asks).await;
    page.run_until("return window.heard.alarm.join()", |said| said == "Needs approval: Quarterly report")
        .await;
    // From a run that goes on to one that is over: nothing ended.
    page.run("document.querySelector('[data-t=conversation-row][data-conversation=done]').click()").await;
    page.holds("return !document.querySelector('[data-t=transcript]').hasAttribute('data-running')").await;
    page.run("document.querySelector('[data-t=conversation-row][data-conversation=c]').click()").await;
    page.painted(head).await;
    page.holds("return document.querySelector('[data-t=transcript]').hasAttribute('data-running')").await;
    publisher.says(r#"{"k":"run.end","run":"r","status":"cancelled"}"#).await;
    page.run_until(polite, |said| said == "run_sql failed after 4 seconds,The run was cancelled").await;
    page.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_full_disk_is_told_to_everybody_also_on_a_phone() {
    let folder = tempfile::tempdir().unwrap();
    let log = format!("sqlite:{}", folder.path().join("log.db").display());
    let hub = TestHub::start_with(&["--log", &log, "--log-max-bytes", "1048576", "--trace", "error"]).await;
    let narrow = BrowserPage::open(Screen { width: 390, height: 844, dark: true }).await;
    narrow.goto(&hub.url("/c/c")).await;
    narrow.holds("return document.querySelector('[data-t=connection]')?.dataset.state === 'live'").await;
    // What cannot be packed small fills a megabyte soon.
    let mut seed = 1_u64;
    for _ in 0..400 {
        let noise: String = std::iter::repeat_with(|| {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            format!("{seed:016x}")
        })
        .take(1_000)
        .collect();
        let words = format!(r#"{{"k":"part.delta","run":"r","part":"p","text":"{noise}"}}"#);
        let said = hub.request("POST", "/v1/conversations/c/events").body(words).send();
        if within("an answer", said).await.unwrap().status() == 503 {
            break;
        }
    }
    narrow.text_until("log", |text| text.contains("The hub's disk has been full since")).await;
    let fits = "const bar = document.querySelector('[data-t=log]').getBoundingClientRect();
        return bar.left >= 0 && bar.right <= innerWidth && bar.bottom <= innerHeight && bar.height > 10
            && document.documentElement.scrollWidth <= innerWidth";
    narrow.holds(fits).await;
    pictured(&narrow, PicturedView::DiskFull).await;
    narrow.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_that_was_tried_again_says_so_and_lists_its_attempts() {
    let (hub, mut publisher) = hub_and_publisher("c").await;
    let attempts = r#"
        {"k":"tool.start","run":"r","tool":"x","name":"fetch"}
        {"k":"tool.call","run":"r","tool":"x","arguments":"{\"url\":\"https://example.com\"}"}
        {"k":"tool.result","run":"r","tool":"x","output":"503 busy","is_error":true,"exec_ms":120}
        {"k":"tool.start","run":"r","tool":"x.2","name":"fetch","given_id":"x"}
        {"k":"tool.call","run":"r","tool":"x.2","arguments":"{\"url\":\"https://example.com\"}"}
        {"k":"tool.result","run":"r","tool":"x.2","output":"found","exec_ms":340}"#;
    let head = publisher.says_all(&[OPENING, attempts]).await;
    let page = BrowserPage::open(DESKTOP).await;
    page.goto(&hub.url("/c/c")).await;
    page.painted(head).await;
    let card = "document.querySelector('[data-t=tool-card][data-call=\"x.2\"]')";
    page.run_until(&format!("return {card}.querySelector('.again')?.textContent"), |text| text == "×2").await;
    page.run(&format!("{card}.querySelector('button').click()")).await;
    page.holds(&format!("return !!{card}.querySelector('[role=tab]')")).await;
    page.run(&format!(
        "[...{card}.querySelectorAll('[role=tab]')].find(tab => tab.textContent.includes('Timing')).click()"
    ))
    .await;
    page.run_until(&format!("return {card}.textContent"), |text| {
        let text = text.as_str().unwrap_or_default();
        text.contains("attempt 1") && text.contains("error after 120 ms") && text.contains("340 ms")
    })
    .await;
    page.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn code_is_coloured_once_its_block_is_closed() {
    let (hub, mut publisher) = hub_and_publisher("c").await;
    let page = BrowserPage::open(DESKTOP).await;
    page.goto(&hub.url("/c/c")).await;
    let open = r#"
        {"k":"part.start","run":"r","part":"p","kind":"text"}
        {"k":"part.delta","run":"r","part":"p","text":"```rust\nfn main() { let answer = \"42\"; }\n"}"#;
    page.painted(publisher.says_all(&[OPENING, open]).await).await;
    let painted = "return document.querySelectorAll('pre code span:not(.caret)').length";
    assert_eq!(page.run(painted).await, json!(0), "an open block has no colours");
    let close = r#"{"k":"part.delta","run":"r","part":"p","text":"```\n\nThat is it.\n"}"#;
    page.painted(publisher.says(close).await.seq).await;
    // `fn`, `let` and the text.
    page.run_until(painted, |n| *n == 3).await;
    // The text is as it came.
    let code = page.run("return document.querySelector('pre code').textContent").await;
    assert_eq!(code, json!("fn main() { let answer = \"42\"; }\n"));
    // Out of view it is a text again, so that a long conversation has no more elements for it.
    let more = json!({"k": "part.delta", "run": "r", "part": "p", "text": "A line.\n\n".repeat(200)});
    page.painted(publisher.says(&more.to_string()).await.seq).await;
    page.run_until(painted, |n| *n == 0).await;
    page.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_waits_for_consent_comes_out_of_a_closed_sub_agent_at_every_level() {
    let (hub, mut publisher) = hub_and_publisher("c").await;
    let asks = r#"
        {"k":"agent.start","run":"r","agent":"a2","parent":"a1","name":"deployer","text":"ship it"}
        {"k":"tool.call","run":"r","agent":"a2","tool":"t7","name":"deploy","arguments":"{\"to\":\"production\"}"}
        {"k":"approval.request","run":"r","agent":"a2","tool":"t7","text":"Deploy to production?"}"#;
    let head = publisher.says_all(&[OPENING, CALLS, SUB_AGENT, asks]).await;
    let page = BrowserPage::open(DESKTOP).await;
    let card = "[data-t=transcript] [data-t=tool-card][data-call=t7]";
    for level in ["Answer", "Steps"] {
        page.goto(&hub.url(&format!("/c/c?level={level}"))).await;
        page.painted(head).await;
        page.run_until(&format!("return document.querySelector('{card}')?.textContent"), |text| {
            text.as_str().is_some_and(|text| {
                text.contains("Deploy to production?") && text.matches("production").count() > 1
            })
        })
        .await;
        // Nothing else of the agent does.
        let others = "return document.querySelectorAll('[data-t=transcript] [data-call=t5]').length";
        assert_eq!(page.run(others).await, json!(0), "{level}");
    }
    pictured(&page, PicturedView::AgentAsks).await;
    let answer = r#"{"k":"approval.answer","run":"r","agent":"a2","tool":"t7","approved":true}"#;
    page.painted(publisher.says(answer).await.seq).await;
    page.holds(&format!("return !document.querySelector('{card}')")).await;
    page.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stream_of_another_dialect_is_named_and_did_not_break_off() {
    let hub = TestHub::start().await;
    let anthropic = r#"event: message_start
data: {"type":"message_start","message":{"id":"m","role":"assistant","model":"m","content":[]}}

event: content_block_start
data: {"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}

event: content_block_delta
data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"The answer is here."}}

event: message_stop
data: {"type":"message_stop"}

"#;
    let mut body = hub.ingest("openai-chat", "c");
    body.write(anthropic).await;
    assert_eq!(body.finish().await.0, 200);
    let page = BrowserPage::open(DESKTOP).await;
    page.goto(&hub.url("/c/c")).await;
    let origin = hub.url("");
    page.text_until("wrong-dialect", |text| {
        text.contains("looks like anthropic")
            && text.contains(&format!("fanlight tee --url {origin} --dialect anthropic --conversation=c"))
    })
    .await;
    assert!(!page.text("transcript").await.contains("broke off"));
    pictured(&page, PicturedView::WrongDialect).await;
    // Without an answer to copy, the rating stands where that button would.
    let edges = "return ['.answer-foot', '.rating'].map(it => document.querySelector(it).getBoundingClientRect().left)";
    let edges = page.run(edges).await;
    assert_eq!(edges[0], edges[1]);
    for (name, screen) in SCREENS {
        resized(&page, screen).await;
        let lines = "return [...document.querySelectorAll('[data-t=wrong-dialect] button')].map(it => {
            const text = document.createRange();
            text.selectNodeContents(it);
            return new Set([...text.getClientRects()].map(box => Math.round(box.top))).size})";
        assert_eq!(page.run(lines).await, json!([1, 1]), "{name}: no button breaks its words");
    }
    page.resize(DESKTOP).await;
    // What the hub kept is read again in the right dialect, and the conversation stays as it is.
    let before = hub.view_hash("c").await;
    page.run("document.querySelector('[data-act=read-as]').click()").await;
    page.text_until("answer", |text| text == "The answer is here.").await;
    page.holds("return document.querySelector('[data-t=recording-dialect]').value === 'anthropic'").await;
    page.holds("return !document.querySelector('[data-t=wrong-dialect]')").await;
    page.screenshot("wrong-dialect-read-again").await;
    assert_eq!(hub.view_hash("c").await, before);
    // A recording is read again as a whole.
    page.run("[...document.querySelectorAll('[data-t=recording] button')].find(it => it.textContent === 'Close').click()").await;
    drop_file(&page, "stream.sse", anthropic.as_bytes()).await;
    page.text_until("answer", |text| text == "The answer is here.").await;
    page.run("const it = document.querySelector('[data-t=recording-dialect]'); it.value = 'openai-chat'; it.dispatchEvent(new Event('change'))").await;
    page.text_until("wrong-dialect", |text| text.contains("Read as anthropic")).await;
    page.run("document.querySelector('[data-act=read-as]').click()").await;
    page.text_until("answer", |text| text == "The answer is here.").await;
    assert_eq!(page.console_errors().await, Vec::<String>::new());
    page.close().await;
}
