//! The replay: the page shows any moment of the past exactly, and the present goes on behind it.

use std::time::{SystemTime, UNIX_EPOCH};

use model::fold::fold;
use model::{Envelope, View, snapshot};
use serde_json::json;
use tests::BrowserPage;
use tests::browser::{DESKTOP, Screen};
use tests::recordings::fixtures;

use crate::recording::drop_file;
use crate::scene::{ANSWER, CALLS, CLOSING, OPENING, SUB_AGENT, THINKING, hub_and_publisher};
use crate::screens::{PicturedView, pictured};

const AT: &str = "return Number(document.querySelector('[data-t=replay]')?.dataset.at ?? 0)";
const EVENTS: &str = "return fetch('/v1/conversations/c/events', {headers: {accept: 'application/x-ndjson'}}).then(it => it.text())";

async fn key(page: &BrowserPage, name: &str, code: u32, is_shift: bool) {
    let text = if name.chars().count() == 1 { name } else { "" };
    let kind = if text.is_empty() { "rawKeyDown" } else { "keyDown" };
    let modifiers = if is_shift { 8 } else { 0 };
    let event = json!({"type": kind, "key": name, "text": text, "windowsVirtualKeyCode": code, "modifiers": modifiers});
    page.devtools("Input.dispatchKeyEvent", event).await;
    let event = json!({"type": "keyUp", "key": name, "windowsVirtualKeyCode": code, "modifiers": modifiers});
    page.devtools("Input.dispatchKeyEvent", event).await;
}

/// Presses on the axis, at a part of its length.
async fn press_axis(page: &BrowserPage, part: f64) {
    page.holds("return document.querySelectorAll('[data-t=timeline-row]').length > 3").await;
    let area = page
        .run(&format!(
            "const a = document.querySelector('[data-t=timeline-axis]').getBoundingClientRect(); return {{x: a.left + a.width * {part}, y: a.top + 10}}"
        ))
        .await;
    for kind in ["mousePressed", "mouseReleased"] {
        let press =
            json!({"type": kind, "x": area.get("x"), "y": area.get("y"), "button": "left", "clickCount": 1});
        page.devtools("Input.dispatchMouseEvent", press).await;
    }
}

/// Goes to the moment after `events` events with the slider.
async fn seek(page: &BrowserPage, events: usize) {
    page.run(&format!(
        "const s = document.querySelector('[data-t=replay-slider]'); s.value = {events}; s.dispatchEvent(new Event('input', {{bubbles: true}}))"
    ))
    .await;
    page.run_until(AT, |at| at == events).await;
}

fn after(lines: &str, events: usize) -> String {
    let mut view = View::default();
    for line in lines.lines().take(events) {
        fold(&mut view, &Envelope::parse(line).expect("an event"), &mut |_| {});
    }
    snapshot::hash(&view)
}

#[tokio::test(flavor = "multi_thread")]
async fn every_moment_is_shown_as_it_was_while_the_present_goes_on() {
    let (hub, mut publisher) = hub_and_publisher("c").await;
    let head = publisher.says_all(&[OPENING, THINKING, CALLS, SUB_AGENT, ANSWER]).await;
    let page = BrowserPage::open(DESKTOP).await;
    page.goto(&hub.url("/c/c?timeline=168")).await;
    page.painted(head).await;
    // The very beginning: all was said so fast that a little later is after all of it, which is the present.
    press_axis(&page, 0.0).await;
    page.run_until(AT, |at| at.as_u64() >= Some(1)).await;
    let lines = page.run(EVENTS).await.as_str().unwrap().to_owned();
    assert_eq!(lines.lines().count() as u64, head);
    page.run_until("return Number(document.querySelector('[data-t=replay-slider]').max)", |max| *max == head)
        .await;
    for events in [9, 1, 14, 13, 20, 3] {
        seek(&page, events).await;
        page.holds(&format!("return window.fanlightViewHash() === '{}'", after(&lines, events))).await;
        page.holds(&format!(
            "return document.querySelector('[data-t=transcript]').dataset.seq === '{events}'"
        ))
        .await;
    }
    seek(&page, 14).await;
    page.holds(
        "return document.querySelector('[data-t=tool-card][data-call=t2]')?.dataset.state === 'executing'",
    )
    .await;
    page.holds(
        "return document.querySelector('[data-t=tool-row][data-call=t2]')?.dataset.state === 'executing'",
    )
    .await;
    pictured(&page, PicturedView::Replay).await;
    // What comes meanwhile is counted, not shown.
    let head = publisher.says(CLOSING).await.seq;
    page.holds("return document.querySelector('[data-t=replay-behind]')?.textContent === '+6 new'").await;
    assert_eq!(page.run(AT).await, 14);
    key(&page, "ArrowRight", 39, false).await;
    page.run_until(AT, |at| at == 15).await;
    key(&page, "ArrowLeft", 37, false).await;
    key(&page, "ArrowLeft", 37, true).await;
    page.run_until(AT, |at| at.as_u64() < Some(14)).await;
    key(&page, ">", 190, true).await;
    page.text_until("replay-when", |text| text.ends_with("2×")).await;
    key(&page, " ", 32, false).await;
    page.holds("return !!document.querySelector('[data-t=replay][data-playing]') || !document.querySelector('[data-t=replay]')").await;
    key(&page, "Escape", 27, false).await;
    page.holds("return !document.querySelector('[data-t=replay]')").await;
    page.painted(head).await;
    let expected = hub.view_hash("c").await;
    page.holds(&format!("return window.fanlightViewHash() === '{expected}'")).await;
    assert_eq!(page.console_errors().await, Vec::<String>::new());
    page.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_drag_on_the_axis_goes_back_and_playing_comes_to_the_end() {
    let (hub, mut publisher) = hub_and_publisher("c").await;
    let head = publisher.says_all(&[OPENING, THINKING, CALLS, SUB_AGENT, ANSWER, CLOSING]).await;
    for (name, screen) in [
        ("dark", Screen { dark: true, ..DESKTOP }),
        ("narrow", Screen { width: 390, height: 844, dark: false }),
    ] {
        let page = BrowserPage::open(screen).await;
        page.goto(&hub.url("/c/c?timeline=168")).await;
        page.painted(head).await;
        press_axis(&page, 0.6).await;
        page.run_until(AT, |at| at.as_u64().is_some_and(|at| at >= 1 && at < head)).await;
        let overflow = page.run("return document.documentElement.scrollWidth - window.innerWidth").await;
        assert!(overflow.as_i64().unwrap() <= 0, "{name} scrolls sideways by {overflow} px");
        page.run("document.querySelector('[data-t=replay-play]').click()").await;
        page.run_until(AT, |at| at.as_u64() == Some(head)).await;
        page.holds("return !document.querySelector('[data-t=replay][data-playing]')").await;
        page.run("document.querySelector('[data-t=replay-back]').click()").await;
        page.holds("return !document.querySelector('[data-t=replay]')").await;
        assert_eq!(page.console_errors().await, Vec::<String>::new(), "{name}");
        page.close().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_dropped_recording_can_be_replayed() {
    let hub = tests::TestHub::start().await;
    let page = BrowserPage::open(DESKTOP).await;
    page.goto(&hub.url("/")).await;
    page.holds("return !!document.querySelector('[data-t=transcript]')").await;
    let path = fixtures("openai-chat").into_iter().next().unwrap();
    drop_file(&page, "stream.sse", &std::fs::read(path).unwrap()).await;
    page.text_until("recording", |text| text.contains(" events") && !text.contains("reading")).await;
    let whole = page.run("return window.fanlightViewHash()").await;
    page.press("p").await;
    // It plays to its end, and waits there.
    page.holds(
        "const bar = document.querySelector('[data-t=replay]');
         return bar && bar.dataset.playing === undefined && bar.dataset.at === document.querySelector('[data-t=replay-slider]').max",
    )
    .await;
    let last = page
        .run_until("return Number(document.querySelector('[data-t=replay-slider]')?.max ?? 0)", |max| {
            max.as_u64() > Some(3)
        })
        .await;
    seek(&page, 2).await;
    page.holds("return document.querySelector('[data-t=transcript]').dataset.seq === '2'").await;
    seek(&page, usize::try_from(last.as_u64().unwrap()).unwrap()).await;
    page.holds("return window.fanlightViewHash().length === 16").await;
    page.run("document.querySelector('[data-t=replay-back]').click()").await;
    page.run_until("return window.fanlightViewHash()", |now| *now == whole).await;
    assert_eq!(page.console_errors().await, Vec::<String>::new());
    page.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_list_is_that_of_today_while_the_past_is_shown() {
    let (hub, mut other) = hub_and_publisher("other").await;
    other.says(OPENING).await;
    // A run of two hours ago that took half an hour.
    let now = SystemTime::now().duration_since(UNIX_EPOCH).expect("a time").as_millis();
    let began = u64::try_from(now).expect("a time of today") - 2 * 3_600_000;
    let lines = [OPENING, THINKING, CALLS, SUB_AGENT, ANSWER, CLOSING].concat();
    let lines: Vec<&str> = lines.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    let count = lines.len() as u64;
    let events = (0..).zip(lines).map(|(n, line)| {
        let mut event: serde_json::Value = serde_json::from_str(line).expect("an event");
        event["seq"] = (n + 1).into();
        event["at"] = (began + n * 1_800_000 / count).into();
        event.to_string()
    });
    let head = r#"{"fanlight":"native","version":1,"conversation":"c"}"#.to_owned();
    let body = std::iter::once(head).chain(events).collect::<Vec<_>>().join("\n");
    let taken = hub.request("PUT", "/v1/conversations/c/events").body(body).send().await.expect("an answer");
    assert!(taken.status().is_success(), "{}", taken.text().await.unwrap_or_default());
    let page = BrowserPage::open(DESKTOP).await;
    page.goto(&hub.url("/c/c?timeline=168")).await;
    page.painted(count).await;
    let row = "return document.querySelector('[data-t=conversation-row][data-conversation=c]').textContent";
    page.run_until(row, |text| text.as_str().is_some_and(|text| text.contains("1 h"))).await;
    let before = page.run(row).await;
    press_axis(&page, 0.0).await;
    page.run_until(AT, |at| at.as_u64().is_some_and(|at| at >= 1 && at < count)).await;
    page.holds("return document.querySelector('[data-t=tool-card]') === null").await;
    assert_eq!(page.run(row).await, before, "its state and its age are those of today");
    page.close().await;
}
