//! The rules of a page that moves while somebody reads and touches it, one test for each, by its number. The sixth, seventh
//! and eighth stand in `heal` and `together`.

use serde_json::{Value, json};
use tests::browser::DESKTOP;
use tests::{BrowserPage, TestHub, TestPublisher};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use crate::scene::{ANSWER, CALLS, CLOSING, OPENING, THINKING, hub_and_publisher};

mod keyboard;
mod lists;

/// An answer that goes on until it is stopped, one word an event, as fast as the hub takes them.
struct RuleWords {
    stop: oneshot::Sender<()>,
    task: JoinHandle<TestPublisher>,
}

impl RuleWords {
    /// Goes on with the text `part`.
    fn begin(mut publisher: TestPublisher, part: &'static str) -> Self {
        let (stop, mut stopped) = oneshot::channel();
        let task = tokio::spawn(async move {
            let mut number = 0_u64;
            while stopped.try_recv().is_err() {
                number += 1;
                let end = if number.is_multiple_of(40) { "\\n\\n" } else { " " };
                let text = format!("word{number}{end}");
                publisher
                    .says(&format!(r#"{{"k":"part.delta","run":"r","part":"{part}","text":"{text}"}}"#))
                    .await;
            }
            publisher
        });
        Self { stop, task }
    }

    /// Ends it, and gives the publisher back.
    async fn end(self) -> TestPublisher {
        self.stop.send(()).expect("it goes on");
        self.task.await.expect("it ends well")
    }
}

/// Waits until so many more events are painted.
async fn goes_on(page: &BrowserPage, events: u64) {
    let shown = page.run("return Number(document.querySelector('[data-t=transcript]').dataset.seq)").await;
    page.painted(shown.as_u64().expect("a number") + events).await;
}

/// How far it is to the end, and where it stands.
const TO_END: &str = "const s = document.querySelector('[data-t=transcript]'); return s.scrollHeight - s.clientHeight - s.scrollTop";
const TOP: &str = "return Math.round(document.querySelector('[data-t=transcript]').scrollTop)";

/// The conversation with something of everything, its answer so long that it scrolls, on a page that follows it.
async fn long_answer(page: &BrowserPage) -> (TestHub, TestPublisher) {
    let (hub, mut publisher) = hub_and_publisher("c").await;
    let mut head = publisher.says_all(&[OPENING, THINKING, CALLS, ANSWER]).await;
    for number in 0..30 {
        let text = format!("Paragraph {number}. {}\\n\\n", "It goes on and on. ".repeat(20));
        head = publisher
            .says(&format!(r#"{{"k":"part.delta","run":"r","part":"p","text":"{text}"}}"#))
            .await
            .seq;
    }
    page.goto(&hub.url("/c/c")).await;
    page.painted(head).await;
    page.run_until(TO_END, |px| px.as_f64().is_some_and(|px| px <= 8.0)).await;
    (hub, publisher)
}

/// Presses Tab, as somebody does who has no mouse.
async fn tab(page: &BrowserPage) {
    for kind in ["keyDown", "keyUp"] {
        let key = json!({"type": kind, "key": "Tab", "code": "Tab", "windowsVirtualKeyCode": 9});
        page.devtools("Input.dispatchKeyEvent", key).await;
    }
}

/// More turns of the wheel than any way to the end takes.
const TURNS_MAX: usize = 200;

async fn wheel(page: &BrowserPage, delta: i32) {
    let turn = json!({"type": "mouseWheel", "x": 700, "y": 400, "deltaX": 0, "deltaY": delta});
    page.devtools("Input.dispatchMouseEvent", turn).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn rule_1_what_a_person_opened_or_closed_is_never_undone() {
    let (hub, mut publisher) = hub_and_publisher("c").await;
    let page = BrowserPage::open(DESKTOP).await;
    page.goto(&hub.url("/c/c")).await;
    publisher.says(OPENING).await;
    let thought = |text: &str| format!(r#"{{"k":"part.delta","run":"r","part":"th","text":"{text}"}}"#);
    let begins = r#"{"k":"part.start","run":"r","part":"th","kind":"thinking"}"#;
    page.painted(publisher.says_all(&[begins, &thought("First I look at the numbers. ")]).await).await;
    let is_open = |selector: &str, open: bool| {
        format!("return document.querySelector('{selector}')?.getAttribute('aria-expanded') === '{open}'")
    };
    let click = |selector: &str| format!("document.querySelector('{selector}').click()");
    // A preview that is closed while it grows stays closed, also when it ends.
    page.holds(&is_open(".think", true)).await;
    page.run(&click(".think")).await;
    let end = r#"{"k":"part.end","run":"r","part":"th","duration_ms":6100}"#;
    page.painted(publisher.says_all(&[&thought("Then at the regions."), end]).await).await;
    page.holds(&is_open(".think", false)).await;
    // One that is opened stays open, whatever comes after it.
    page.run(&click(".think")).await;
    let (first, failed) = ("[data-call=t1] > button", "[data-call=t9] > button");
    publisher.says(CALLS).await;
    page.holds(&format!("return !!document.querySelector('{first}')")).await;
    page.run(&click(first)).await;
    // A call that fails last opens by itself; closed, it stays closed.
    let fails = r#"
        {"k":"tool.call","run":"r","tool":"t9","name":"look","arguments":"{}"}
        {"k":"tool.result","run":"r","tool":"t9","output":"no such table","is_error":true}
    "#;
    page.painted(publisher.says(fails).await.seq).await;
    page.holds(&is_open(failed, true)).await;
    page.run(&click(failed)).await;
    let more = r#"{"k":"tool.progress","run":"r","tool":"t3","text":"half"}"#;
    page.painted(publisher.says_all(&[more, ANSWER, CLOSING]).await).await;
    for (selector, open) in [(".think", true), (first, true), (failed, false)] {
        page.holds(&is_open(selector, open)).await;
    }
    // Nor do the steps open again that were closed while the run went on.
    let next = OPENING.replace("\"r\"", "\"r2\"").replace("m1", "m2");
    let calls = |run: &str| CALLS.replace("\"r\"", run);
    page.painted(publisher.says_all(&[&next, &calls("\"r2\"")]).await).await;
    let steps = "[data-run=r2] .steps";
    page.holds(&is_open(steps, true)).await;
    page.run(&click(steps)).await;
    let late = calls("\"r2\"").replace("\"t", "\"u");
    page.painted(publisher.says(&late).await.seq).await;
    page.holds(&is_open(steps, false)).await;
    page.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn rule_2_a_clicked_header_stays_where_it_is_and_the_end_is_let_go() {
    let page = BrowserPage::open(DESKTOP).await;
    let (_hub, publisher) = long_answer(&page).await;
    let words = RuleWords::begin(publisher, "p");
    for selector in [".think", "[data-call=t3] > button", "[data-call=t1] > button", ".steps", ".steps"] {
        page.press("f").await;
        page.run_until(TO_END, |px| px.as_f64().unwrap() <= 8.0).await;
        // Clicked where it can be seen, and looked at again two frames later.
        page.run(&format!(
            "const head = document.querySelector('{selector}'), y = () => head.getBoundingClientRect().top;
             head.scrollIntoView({{block: 'center'}}); window.before = y(); window.after = null; head.click();
             requestAnimationFrame(() => requestAnimationFrame(() => window.after = y()))"
        ))
        .await;
        let ys = page.run_until("return [window.before, window.after]", |ys| ys[1].is_number()).await;
        let moved = ys[1].as_f64().unwrap() - ys[0].as_f64().unwrap();
        assert!(moved.abs() <= 1.0, "{selector} moved by {moved} px");
        let top = page.run(TOP).await;
        goes_on(&page, 40).await;
        assert_eq!(page.run(TOP).await, top, "the text moved after {selector} was clicked");
    }
    words.end().await;
    page.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn rule_3_one_turn_of_the_wheel_lets_go_and_only_the_reader_comes_back() {
    let page = BrowserPage::open(DESKTOP).await;
    let (_hub, publisher) = long_answer(&page).await;
    let words = RuleWords::begin(publisher, "p");
    for way_back in ["wheel", "End", "pill"] {
        wheel(&page, -120).await;
        page.run_until(TO_END, |px| px.as_f64().unwrap() > 60.0).await;
        page.holds("return !!document.querySelector('.jump')").await;
        let top = page.run_until(TOP, Value::is_number).await;
        goes_on(&page, 300).await;
        // The page hears of the wheel before the browser has scrolled, so that the text may still have moved up.
        let later = page.run(TOP).await;
        assert!(later.as_f64() <= top.as_f64(), "it snapped back from {top} to {later}");
        let top = later;
        // Down, but not to the end.
        wheel(&page, 40).await;
        page.run_until(TOP, |now| now.as_f64() > top.as_f64()).await;
        let top = page.run(TOP).await;
        goes_on(&page, 100).await;
        assert!(
            page.run(TO_END).await.as_f64().unwrap() > 8.0,
            "it follows before the end was reached: {top}"
        );
        match way_back {
            "wheel" => {
                // The end goes on while the wheel turns.
                for _ in 0..TURNS_MAX {
                    wheel(&page, 20_000).await;
                    if page.run("return !document.querySelector('.jump')").await == true {
                        break;
                    }
                }
            }
            "End" => {
                let key =
                    json!({"type": "keyDown", "key": "End", "code": "End", "windowsVirtualKeyCode": 35});
                page.devtools("Input.dispatchKeyEvent", key).await;
            }
            _ => drop(page.run("document.querySelector('.jump').click()").await),
        }
        page.holds("return !document.querySelector('.jump')").await;
        goes_on(&page, 100).await;
        page.run_until(TO_END, |px| px.as_f64().unwrap() <= 8.0).await;
    }
    words.end().await;
    page.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn rule_4_selected_text_stays_selected_while_others_stream() {
    let page = BrowserPage::open(DESKTOP).await;
    let (_hub, publisher) = long_answer(&page).await;
    page.run(
        "const text = [...document.querySelectorAll('[data-t=answer] p')].find(p => p.textContent.startsWith('Paragraph 20.')).firstChild;
         const range = document.createRange(); range.setStart(text, 3); range.setEnd(text, 120);
         getSelection().removeAllRanges(); getSelection().addRange(range)",
    )
    .await;
    let selected = "return getSelection().toString()";
    let before = page.run(selected).await;
    assert_eq!(before.as_str().map(str::len), Some(117));
    let words = RuleWords::begin(publisher, "p");
    goes_on(&page, 300).await;
    let mut publisher = words.end().await;
    page.painted(publisher.says(CLOSING).await.seq).await;
    assert_eq!(page.run(selected).await, before);
    page.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn rule_9_nothing_new_takes_the_focus() {
    let (hub, mut publisher) = hub_and_publisher("c").await;
    let page = BrowserPage::open(DESKTOP).await;
    page.goto(&hub.url("/c/c")).await;
    page.painted(publisher.says(OPENING).await.seq).await;
    let asks = r#"{"k":"approval.request","run":"r","tool":"t4","text":"May it?"}"#;
    let fails = r#"{"k":"error","run":"r","code":"overloaded","message":"busy","retryable":true}"#;
    let told = [THINKING, CALLS, asks, fails, ANSWER, CLOSING];
    for (place, run) in [("#filter", "r2"), ("[data-t=transcript]", "r3"), ("body", "r4")] {
        page.run(&format!(
            "document.activeElement.blur(); const e = document.querySelector('{place}'); if (e !== document.body) e.focus(); window.focused = document.activeElement; window.moves = 0;
             document.addEventListener('focusin', () => window.moves++)"
        ))
        .await;
        if place == "#filter" {
            page.devtools("Input.insertText", json!({"text": "c"})).await;
        }
        let run = format!("\"{run}\"");
        let opening = OPENING.replace("\"r\"", &run).replace("m1", &run.replace('"', "m"));
        let mut head = publisher.says(&opening).await.seq;
        for lines in told {
            head = publisher.says(&lines.replace("\"r\"", &run)).await.seq;
            page.painted(head).await;
        }
        hub.publisher(&format!("c-{}", run.trim_matches('"'))).await.says(OPENING).await;
        page.painted(head).await;
        page.holds("return window.focused === document.activeElement && window.moves === 0").await;
        if place == "#filter" {
            assert_eq!(page.run("return document.querySelector('#filter').value").await, "c");
        }
    }
    page.close().await;
}
