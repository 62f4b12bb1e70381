//! What somebody writes into a stream to harm whoever looks at it.

use serde_json::json;
use tests::BrowserPage;
use tests::browser::DESKTOP;
use tokio::net::TcpListener;

use crate::scene::{CALLS, OPENING, hub_and_publisher};

/// Texts of a few kilobytes that nest thousands of times.
fn bombs() -> Vec<String> {
    vec![
        "- ".repeat(2_000),
        "> ".repeat(5_000),
        "*a _b ".repeat(20_000),
        "1. a\n   ".repeat(2_000),
        "[".repeat(10_000) + &"](http://x.test)".repeat(2_000),
    ]
}

#[tokio::test(flavor = "multi_thread")]
async fn text_that_nests_without_end_leaves_the_page_alive() {
    let (hub, mut publisher) = hub_and_publisher("c").await;
    publisher.says(OPENING).await;
    let page = BrowserPage::open(DESKTOP).await;
    for (at, bomb) in bombs().into_iter().enumerate() {
        let part = format!("p{at}");
        let start = json!({"k": "part.start", "run": "r", "part": part, "kind": "text"});
        let delta = json!({"k": "part.delta", "run": "r", "part": part, "text": bomb});
        publisher.says_all(&[&start.to_string(), &delta.to_string()]).await;
        let (part, text) = (format!("after{at}"), format!("Still **here** after {at}."));
        let start = json!({"k": "part.start", "run": "r", "part": part, "kind": "text"});
        let delta = json!({"k": "part.delta", "run": "r", "part": part, "text": text});
        let head = publisher.says_all(&[&start.to_string(), &delta.to_string()]).await;
        // The newest conversation is what the address without a name shows.
        page.goto(&hub.url("/")).await;
        page.painted(head).await;
        page.text_until("answer", |text| text.contains(&format!("Still here after {at}."))).await;
        page.holds("return !document.querySelector('[data-t=crashed]')").await;
    }
    assert_eq!(page.console_errors().await, Vec::<String>::new());
    page.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn messages_that_nest_without_end_leave_the_page_alive() {
    let (hub, mut publisher) = hub_and_publisher("c").await;
    let page = BrowserPage::open(DESKTOP).await;
    for (at, bomb) in bombs().into_iter().enumerate() {
        let (message, run) = (format!("m{at}"), format!("r{at}"));
        let asked = json!({"k": "message", "message": message, "role": "user", "text": bomb});
        let start = json!({"k": "run.start", "run": run});
        let part = json!({"k": "part.start", "run": run, "part": "p", "kind": "text"});
        let text = format!("Still **here** after {at}.");
        let delta = json!({"k": "part.delta", "run": run, "part": "p", "text": text});
        let head =
            publisher.says(&[asked, start, part, delta].map(|event| event.to_string()).join("\n")).await.seq;
        page.goto(&hub.url("/")).await;
        page.painted(head).await;
        page.holds(&format!(
            "return [...document.querySelectorAll('[data-t=answer]')].some(it => it.innerText.includes('Still here after {at}.'))"
        ))
        .await;
        page.holds("return !document.querySelector('[data-t=crashed]')").await;
    }
    assert_eq!(page.console_errors().await, Vec::<String>::new());
    page.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn five_hundred_agents_below_one_another_are_shown_with_what_the_deepest_asks() {
    let (hub, mut publisher) = hub_and_publisher("c").await;
    publisher.says(OPENING).await;
    let starts: Vec<String> = (0..500)
        .map(|at: usize| {
            let parent = at.checked_sub(1).map(|above| format!("a{above}"));
            json!({"k": "agent.start", "run": "r", "agent": format!("a{at}"), "parent": parent, "name": format!("agent {at}")})
                .to_string()
        })
        .collect();
    publisher.says(&starts.join("\n")).await;
    let head = publisher
        .says(
            r#"{"k":"tool.call","run":"r","agent":"a499","tool":"deep","name":"deploy","arguments":"{}"}
            {"k":"tool.state","run":"r","tool":"deep","state":"approval"}"#,
        )
        .await
        .seq;
    let page = BrowserPage::open(DESKTOP).await;
    for level in ["Answer", "Steps", "All"] {
        page.goto(&hub.url(&format!("/c/c?level={level}"))).await;
        page.painted(head).await;
        page.holds("return !!document.querySelector('[data-call=deep]')").await;
    }
    assert_eq!(page.console_errors().await, Vec::<String>::new());
    page.close().await;
}

/// A module whose one function traps: `(module (func (export "f") unreachable))`.
const TRAP: &str = "new WebAssembly.Instance(new WebAssembly.Module(new Uint8Array(
    [0, 97, 115, 109, 1, 0, 0, 0, 1, 4, 1, 96, 0, 0, 3, 2, 1, 0, 7, 5, 1, 1, 102, 0, 0, 10, 5, 1, 3, 0, 0, 11]))).exports.f()";

#[tokio::test(flavor = "multi_thread")]
async fn a_page_that_stops_says_which_conversation_it_was_and_offers_a_way_out() {
    let (hub, mut publisher) = hub_and_publisher("c").await;
    let head = publisher.says_all(&[OPENING, CALLS]).await;
    for crash in [TRAP, "(function f() { f() })()"] {
        let page = BrowserPage::open(DESKTOP).await;
        page.goto(&hub.url("/c/c")).await;
        page.painted(head).await;
        // What a driver runs is not the page's own, so that the browser tells nobody what it threw: the event is sent by hand.
        let thrown = "dispatchEvent(new ErrorEvent('error', { error, message: error.message }))";
        page.run(&format!("const error = new Error('of somebody else'); {thrown}")).await;
        page.run(&format!("try {{ {crash} }} catch (error) {{ {thrown} }}")).await;
        page.text_until("crashed", |text| text.contains("The page cannot show “c”")).await;
        page.text_until("crashed", |text| text.contains("Address: http://127.0.0.1")).await;
        page.screenshot("crashed").await;
        page.run("[...document.querySelectorAll('[data-t=crashed] a')].find(it => it.textContent === 'All conversations').click()")
            .await;
        page.holds("return location.pathname === '/wall' && !document.querySelector('[data-t=crashed]')")
            .await;
        page.close().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pattern_that_backtracks_for_minutes_holds_nothing_up() {
    let (hub, mut publisher) = hub_and_publisher("c").await;
    publisher.says(OPENING).await;
    let text = format!("{}!", "a".repeat(50_000));
    let delta = json!({"k": "part.delta", "run": "r", "part": "p", "text": text});
    let head = publisher
        .says(&format!("{{\"k\":\"part.start\",\"run\":\"r\",\"part\":\"p\",\"kind\":\"text\"}}\n{delta}"))
        .await
        .seq;
    let page = BrowserPage::open(DESKTOP).await;
    page.goto(&hub.url("/c/c?find=(a%2B)%2B%24&pattern=1")).await;
    page.painted(head).await;
    page.text_until("found", |text| text == "Not found in this conversation").await;
    page.goto(&hub.url("/c/c?find=(%3F%3Aa%7Caa)%2B!&pattern=1")).await;
    page.painted(head).await;
    page.text_until("found", |text| text == "answer 1").await;
    page.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_opened_embed_connects_to_nobody() {
    let elsewhere = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let there = format!("http://{}", elsewhere.local_addr().unwrap());
    let (hub, mut publisher) = hub_and_publisher("c").await;
    publisher.says(OPENING).await;
    publisher.says(r#"{"k":"tool.call","run":"r","tool":"t","name":"draw","arguments":"{}"}"#).await;
    let embed = format!(
        "<h1>A chart</h1><iframe src='{there}/a'></iframe><link rel=preconnect href='{there}'><link rel=dns-prefetch href='{there}'>\
         <iframe srcdoc=\"<link rel=preconnect href='{there}'>\"></iframe><a href='{there}/b'>more</a><a href='#end'>end</a>\
         <template shadowrootmode=open><iframe src='{there}/c'></iframe></template>\
         <math><mtext><table><mglyph><style><!--</style><img title='--&gt;&lt;iframe src={there}/d&gt;'>"
    );
    let result = json!({"k": "tool.result", "run": "r", "tool": "t", "output": "done", "embeds": [embed]});
    let head = publisher.says(&result.to_string()).await.seq;
    let page = BrowserPage::open(DESKTOP).await;
    page.goto(&hub.url("/c/c?level=All")).await;
    page.painted(head).await;
    page.holds("return !!document.querySelector('[data-t=open-embed]')").await;
    page.run(
        "document.addEventListener('load', it => { if (it.target.dataset?.t === 'embed') window.has_loaded = true }, true);
         document.querySelector('[data-t=open-embed]').click()",
    )
    .await;
    page.holds("return window.has_loaded === true").await;
    let shown = page.run("return document.querySelector('[data-t=embed]').srcdoc").await;
    let shown = shown.as_str().unwrap();
    assert!(shown.contains("A chart") && shown.contains("#end"), "{shown}");
    assert!(!shown.contains(&there) || !shown.contains("<iframe"), "{shown}");
    // A connection that the browser has opened by now is in the queue of the listener, and comes before this one.
    let own = tokio::net::TcpStream::connect(elsewhere.local_addr().unwrap()).await.unwrap();
    let (_, from) = elsewhere.accept().await.unwrap();
    assert_eq!(from, own.local_addr().unwrap(), "somebody else had connected before");
    page.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn steps_fold_when_the_answer_starts_where_the_dialect_does_so_or_the_reader_wants_it() {
    let (hub, mut publisher) = hub_and_publisher("c").await;
    publisher
        .says(
            &OPENING.replace(
                r#""k":"run.start","run":"r""#,
                r#""k":"run.start","run":"r","dialect":"deep-agent""#,
            ),
        )
        .await;
    let head = publisher.says(CALLS).await.seq;
    let page = BrowserPage::open(DESKTOP).await;
    page.goto(&hub.url("/c/c")).await;
    page.painted(head).await;
    let open = "return document.querySelector('.steps')?.getAttribute('aria-expanded')";
    page.run_until(open, |it| it == "true").await;
    let answer = r#"{"k":"part.start","run":"r","part":"p","kind":"text"}
        {"k":"part.delta","run":"r","part":"p","text":"Revenue grew."}"#;
    publisher.says(answer).await;
    page.run_until(open, |it| it == "false").await;
    // A click wins, and so does the setting.
    page.run("document.querySelector('.steps').click()").await;
    page.run_until(open, |it| it == "true").await;
    page.run("localStorage.clear()").await;
    page.press("g").await;
    page.press("s").await;
    page.holds("return !!document.querySelector('[data-setting=steps-open]')").await;
    page.run("document.querySelector('[data-setting=steps-open]').click()").await;
    page.reload().await;
    page.run_until(open, |it| it == "true").await;
    page.close().await;
}
