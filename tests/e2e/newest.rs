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

#[tokio::test(flavor = "multi_thread")]
async fn a_panel_beside_the_conversation_counts_all_of_it() {
    let (hub, head) = long().await;
    let page = opened(DESKTOP, &hub, "/c/c", head).await;
    page.holds("return document.querySelector('.grp .num').textContent.startsWith('250 ')").await;
    page.holds("return !document.querySelector('[data-t=part-of-calls]')").await;
    // The conversation is as it was: at its end.
    page.holds(&has(TURNS - 1)).await;
    page.holds("return !document.querySelector('.jump')").await;
    assert_eq!(page.console_errors().await, Vec::<String>::new());
    page.close().await;
}
