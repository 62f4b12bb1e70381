//! A long conversation: its newest part comes first, the rest when the reader scrolls up or asks for something of it.

use serde_json::json;
use tests::browser::{DESKTOP, Screen};
use tests::{BrowserPage, TestHub};

use crate::scene::hub_and_publisher;

const TURNS: usize = 250;

/// A hub with a conversation of [`TURNS`] turns, of which the fourth has a word of its own, and its head. It is several times as long as what the page
/// asks for first.
async fn long() -> (TestHub, u64) {
    let (hub, mut publisher) = hub_and_publisher("c").await;
    let turn = |n: usize| {
        let odd = if n == 3 { "pineapple" } else { "apple" };
        format!(
            "{}\n{}\n{}\n{}\n{}\n{}\n",
            json!({"k": "message", "message": format!("m{n}"), "role": "user", "text": format!("question {n}")}),
            json!({"k": "run.start", "run": format!("r{n}")}),
            json!({"k": "tool.call", "run": format!("r{n}"), "tool": "t", "name": "look", "arguments": "{}"}),
            json!({"k": "tool.result", "run": format!("r{n}"), "tool": "t", "output": "seen"}),
            json!({"k": "part.delta", "run": format!("r{n}"), "part": "p",
                "text": format!("answer {n}: {odd} {}", "and more words ".repeat(120))}),
            json!({"k": "run.end", "run": format!("r{n}"), "status": "complete"}),
        )
    };
    let mut head = 0;
    for first in (0..TURNS).step_by(50) {
        head = publisher.says(&(first..first + 50).map(turn).collect::<String>()).await.seq;
    }
    (hub, head)
}

/// A screen without room for the panel beside the conversation.
const WITHOUT_PANEL: Screen = Screen { width: 1_100, ..DESKTOP };

async fn opened(screen: Screen, hub: &TestHub, path: &str, head: u64) -> BrowserPage {
    let page = BrowserPage::open(screen).await;
    page.goto(&hub.url(path)).await;
    page.painted(head).await;
    page
}

/// How far one turn of the wheel goes, in CSS pixels.
const WHEEL_PX: i32 = 3_000;

async fn wheel(page: &BrowserPage, delta: i32) {
    let turn = json!({"type": "mouseWheel", "x": 700, "y": 400, "deltaX": 0, "deltaY": delta});
    page.devtools("Input.dispatchMouseEvent", turn).await;
}

/// Whether the question of turn `n` is in the document.
fn has(n: usize) -> String {
    format!("return !!document.querySelector('[data-message=m{n}]')")
}

/// Notes by how many pixels a message on the screen moves in a frame in which the conversation grows: no more than the wheel turns. What is
/// painted is known where sizes are observed, after all else in a frame.
const NOTE_JUMPS: &str = "window.jumped = 0;
    const box = document.getElementById('transcript');
    const first = () => [...box.querySelectorAll('[data-message]')].find(it => it.getBoundingClientRect().top > 60);
    let held, top, height;
    const note = () => { held = first(), top = held?.getBoundingClientRect().top, height = box.scrollHeight };
    note();
    new ResizeObserver(() => {
        if (held?.isConnected && box.scrollHeight > height + 500) {
            window.jumped = Math.max(window.jumped, Math.abs(held.getBoundingClientRect().top - top));
        }
        note();
    }).observe(box.firstElementChild);
    const look = () => { if (box.scrollHeight === height) note(); requestAnimationFrame(look) };
    look();";

#[tokio::test(flavor = "multi_thread")]
async fn the_newest_turn_is_there_first_and_scrolling_up_gets_all_without_a_jump() {
    let (hub, head) = long().await;
    let page = opened(WITHOUT_PANEL, &hub, "/c/c", head).await;
    page.holds(&has(TURNS - 1)).await;
    page.run(NOTE_JUMPS).await;
    let came = async {
        while page.run(&has(0)).await != true {
            wheel(&page, -WHEEL_PX).await;
            // A wheel turns smoothly: the page stands when it was asked twice and had not moved.
            let place = "const { scrollTop, scrollHeight } = document.getElementById('transcript');
                const place = [scrollTop, scrollHeight].join(), was = window.was; window.was = place; return place === was";
            page.holds(place).await;
        }
    };
    tests::wait::patiently("the first turn", came).await;
    page.holds("return !document.querySelector('[data-t=earlier-turns]')").await;
    let jumped = page.run("return window.jumped").await.as_f64().unwrap();
    assert!(jumped <= f64::from(WHEEL_PX) + 100.0, "something moved by {jumped} pixels");
    assert_eq!(page.console_errors().await, Vec::<String>::new());
    page.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn find_and_links_reach_what_lies_before_the_newest_part() {
    let (hub, head) = long().await;
    let page = opened(WITHOUT_PANEL, &hub, "/c/c", head).await;
    page.holds(&has(TURNS - 1)).await;
    page.press("/").await;
    page.holds("return document.activeElement?.id === 'find-word'").await;
    page.devtools("Input.insertText", json!({"text": "pineapple"})).await;
    page.run_until("return document.querySelectorAll('[data-t=hit]').length", |hits| hits == 1).await;
    page.run("document.querySelector('[data-t=hit]').click()").await;
    let in_view = "const it = document.querySelector('[data-run=r3]')?.getBoundingClientRect();
        return !!it && it.top < innerHeight && it.bottom > 44";
    page.holds(in_view).await;
    page.close().await;
    let linked = opened(WITHOUT_PANEL, &hub, "/c/c?run=r3&part=p", head).await;
    linked.holds(in_view).await;
    assert_eq!(linked.console_errors().await, Vec::<String>::new());
    linked.close().await;
}

/// Keeps the subscriptions that a page asks for.
const KEEP_SUBSCRIPTIONS: &str = r#"window.subs = [];
    const send = WebSocket.prototype.send;
    WebSocket.prototype.send = function (frame) {
        if (typeof frame === 'string' && frame.includes('"conv"')) window.subs.push(JSON.parse(frame).newest ?? 0);
        return send.call(this, frame);
    }"#;

#[tokio::test(flavor = "multi_thread")]
async fn a_panel_beside_the_conversation_counts_all_of_it_after_the_end_is_there() {
    let (hub, head) = long().await;
    let page = BrowserPage::open(DESKTOP).await;
    page.devtools("Page.addScriptToEvaluateOnNewDocument", json!({"source": KEEP_SUBSCRIPTIONS})).await;
    page.goto(&hub.url("/c/c")).await;
    page.painted(head).await;
    page.holds("return document.querySelector('.grp .num')?.textContent.startsWith('250 ')").await;
    page.holds("return !document.querySelector('[data-t=part-of-calls]')").await;
    assert_eq!(page.run("return window.subs").await, json!([262_144, 0]));
    // The conversation is as it was: at its end.
    page.holds(&has(TURNS - 1)).await;
    page.holds("return !document.querySelector('.jump')").await;
    assert_eq!(page.console_errors().await, Vec::<String>::new());
    page.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_page_that_becomes_wide_enough_for_the_panel_counts_all_calls() {
    let (hub, head) = long().await;
    let page = opened(WITHOUT_PANEL, &hub, "/c/c", head).await;
    page.holds(&has(TURNS - 1)).await;
    page.resize(DESKTOP).await;
    page.holds("return document.querySelector('.grp .num')?.textContent.startsWith('250 ')").await;
    page.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn each_failure_stands_there_once_when_the_beginning_of_its_run_comes() {
    let (hub, mut publisher) = hub_and_publisher("c").await;
    let error = |n: usize| json!({"k": "error", "run": "r", "code": format!("e{n}"), "message": "no"});
    let part = |n: usize| json!({"k": "part.delta", "run": "r", "part": format!("p{n}"), "text": "word ".repeat(24_000)});
    let first = [json!({"k": "run.start", "run": "r"}), error(1), part(1), part(2)];
    let second =
        [part(3), error(2), error(3), error(4), json!({"k": "run.end", "run": "r", "status": "complete"})];
    let third = [
        json!({"k": "message", "message": "m", "role": "user", "text": "And?"}),
        json!({"k": "run.start", "run": "r2"}),
        json!({"k": "part.delta", "run": "r2", "part": "p", "text": "Done."}),
        json!({"k": "run.end", "run": "r2", "status": "complete"}),
    ];
    let mut head = 0;
    for events in [&first[..], &second, &third] {
        let lines: Vec<String> = events.iter().map(ToString::to_string).collect();
        head = publisher.says(&lines.join("\n")).await.seq;
    }
    let page = opened(WITHOUT_PANEL, &hub, "/c/c", head).await;
    let failures = "return [...document.querySelectorAll('.failure .what')].map(it => it.textContent)";
    page.run_until(failures, |codes| *codes == json!(["e2", "e3", "e4"])).await;
    page.run("document.querySelector('[data-t=earlier-turns]').click()").await;
    page.run_until(failures, |codes| *codes == json!(["e1", "e2", "e3", "e4"])).await;
    assert_eq!(page.console_errors().await, Vec::<String>::new());
    page.close().await;
}
