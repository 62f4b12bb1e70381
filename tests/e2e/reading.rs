//! Nothing jumps while somebody reads, and what a person chose stays.

use serde_json::json;
use tests::browser::{DESKTOP, Screen};
use tests::{BrowserPage, TestPublisher};

use crate::scene::{CALLS, OPENING, THINKING, hub_and_publisher};
use crate::screens::{PicturedView, pictured};

/// The element that scrolls.
const SCROLLER: &str = "const s = (function f(e) { while (e && !(e.scrollHeight > e.clientHeight + 1 && /auto|scroll/.test(getComputedStyle(e).overflowY))) e = e.parentElement; return e })(document.querySelector('[data-t=transcript]')) ?? document.scrollingElement;";

fn paragraph(number: usize) -> String {
    let text = format!("Paragraph {number}. {}\\n\\n", "It goes on and on. ".repeat(20));
    format!("{{\"k\":\"part.delta\",\"run\":\"r\",\"part\":\"p\",\"text\":\"{text}\"}}")
}

/// An answer that goes on, of forty paragraphs so far.
async fn says_forty(publisher: &mut TestPublisher) -> u64 {
    publisher.says(OPENING).await;
    publisher.says(r#"{"k":"part.start","run":"r","part":"p","kind":"text"}"#).await;
    let mut head = 0;
    for number in 0..40 {
        head = publisher.says(&paragraph(number)).await.seq;
    }
    head
}

#[tokio::test(flavor = "multi_thread")]
async fn scrolling_up_releases_the_end_and_coming_back_holds_it() {
    let (hub, mut publisher) = hub_and_publisher("c").await;
    let mut head = says_forty(&mut publisher).await;
    let page = BrowserPage::open(DESKTOP).await;
    page.goto(&hub.url("/c/c")).await;
    page.painted(head).await;
    let distance = format!("{SCROLLER} return s.scrollHeight - s.clientHeight - s.scrollTop");
    page.run_until(&distance, |px| px.as_f64().unwrap() <= 8.0).await;
    let wheel = |delta: i32| serde_json::json!({"type": "mouseWheel", "x": 700, "y": 400, "deltaX": 0, "deltaY": delta});
    page.devtools("Input.dispatchMouseEvent", wheel(-300)).await;
    page.run_until(&distance, |px| px.as_f64().unwrap() > 100.0).await;
    let top = format!("{SCROLLER} return Math.round(s.scrollTop)");
    let reading = page.run(&top).await;
    for number in 40..60 {
        head = publisher.says(&paragraph(number)).await.seq;
    }
    page.painted(head).await;
    assert_eq!(page.run(&top).await, reading, "the text moved under the reader");
    page.run("document.activeElement?.blur?.()").await;
    page.devtools(
        "Input.dispatchKeyEvent",
        serde_json::json!({"type": "keyDown", "key": "End", "code": "End", "windowsVirtualKeyCode": 35}),
    )
    .await;
    page.run_until(&distance, |px| px.as_f64().unwrap() <= 8.0).await;
    let head = publisher.says(&paragraph(60)).await.seq;
    page.painted(head).await;
    page.run_until(&distance, |px| px.as_f64().unwrap() <= 8.0).await;
    page.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_card_that_was_opened_stays_open_where_it_is() {
    let (hub, mut publisher) = hub_and_publisher("c").await;
    for lines in [OPENING, THINKING, CALLS] {
        publisher.says(lines).await;
    }
    let page = BrowserPage::open(DESKTOP).await;
    page.goto(&hub.url("/c/c")).await;
    page.holds("return !!document.querySelector('[data-t=tool-card][data-call=t1] button')").await;
    let button = "document.querySelector('[data-t=tool-card][data-call=t1] button')";
    let y = format!("return Math.round({button}.getBoundingClientRect().top)");
    let before = page.run(&y).await.as_i64().unwrap();
    page.run(&format!("{button}.click()")).await;
    page.holds(&format!("return {button}.getAttribute('aria-expanded') === 'true'")).await;
    let after = page.run(&y).await.as_i64().unwrap();
    assert!((before - after).abs() <= 1, "the header moved from {before} to {after}");
    // What happens to others does not close it.
    let head = publisher.says(r#"{"k":"run.end","run":"r","status":"complete"}"#).await.seq;
    page.painted(head).await;
    assert_eq!(page.run(&format!("return {button}?.getAttribute('aria-expanded')")).await, "true");
    page.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn one_key_leaves_only_the_answer() {
    let (hub, mut publisher) = hub_and_publisher("c").await;
    for lines in [OPENING, THINKING, CALLS, crate::scene::ANSWER] {
        publisher.says(lines).await;
    }
    let head = publisher.says(crate::scene::CLOSING).await.seq;
    let page = BrowserPage::open(DESKTOP).await;
    page.goto(&hub.url("/c/c")).await;
    page.painted(head).await;
    page.holds("return document.querySelectorAll('[data-t=tool-card]').length === 4").await;
    page.press("c").await;
    page.holds("return document.querySelectorAll('[data-t=tool-card]:not([data-state=error])').length === 0")
        .await;
    assert!(page.text("answer").await.contains("Revenue by region"));
    page.press("c").await;
    page.holds("return document.querySelectorAll('[data-t=tool-card]').length === 4").await;
    page.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_read_stays_also_in_a_browser_that_does_not_hold_it() {
    let (hub, mut publisher) = hub_and_publisher("c").await;
    let head = says_forty(&mut publisher).await;
    let page = BrowserPage::open(DESKTOP).await;
    // As where the property is not known: it cannot be set, and nothing is held.
    let source = "const set = CSSStyleDeclaration.prototype.setProperty;
        CSSStyleDeclaration.prototype.setProperty = function (name, ...rest) { if (name !== 'overflow-anchor') set.call(this, name, ...rest) }";
    page.devtools("Page.addScriptToEvaluateOnNewDocument", serde_json::json!({"source": source})).await;
    page.goto(&hub.url("/c/c")).await;
    page.painted(head).await;
    page.run("const sheet = new CSSStyleSheet(); sheet.replaceSync('#transcript { overflow-anchor: none }'); document.adoptedStyleSheets = [sheet]").await;
    let distance = format!("{SCROLLER} return s.scrollHeight - s.clientHeight - s.scrollTop");
    page.run_until(&distance, |px| px.as_f64().unwrap() <= 8.0).await;
    let turn = serde_json::json!({"type": "mouseWheel", "x": 700, "y": 400, "deltaX": 0, "deltaY": -900});
    page.devtools("Input.dispatchMouseEvent", turn).await;
    // A wheel turns smoothly: the page stands when it was asked twice and had not moved.
    let stands = format!(
        "{SCROLLER} const was = window.was; window.was = s.scrollTop; return s.scrollHeight - s.clientHeight - s.scrollTop > 800 && was === window.was"
    );
    page.holds(&stands).await;
    for px in ["300px", "40px"] {
        // What stands above all becomes larger, then smaller; looked at again two frames later.
        page.run(&format!(
            "const read = [...document.querySelectorAll('[data-t=answer] p')].find(p => p.getBoundingClientRect().top > 100), y = () => read.getBoundingClientRect().top;
             window.before = y(); window.after = null; document.querySelector('.col [data-row]').style.paddingTop = '{px}';
             requestAnimationFrame(() => requestAnimationFrame(() => window.after = y()))"
        ))
        .await;
        let ys = page.run_until("return [window.before, window.after]", |ys| ys[1].is_number()).await;
        let moved = ys[1].as_f64().unwrap() - ys[0].as_f64().unwrap();
        assert!(moved.abs() <= 1.0, "the text moved by {moved} px");
    }
    page.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn keys_that_scroll_let_go_of_the_end_without_a_click_and_earlier_runs_come_by_themselves() {
    let (hub, mut publisher) = hub_and_publisher("c").await;
    let words = "It goes on and on. ".repeat(60);
    let mut head = 0;
    for number in 0..120 {
        let lines = [
            serde_json::json!({"k": "message", "message": format!("m{number}"), "role": "user", "text": format!("Question {number}")}),
            serde_json::json!({"k": "run.start", "run": format!("r{number}")}),
            serde_json::json!({"k": "part.start", "run": format!("r{number}"), "part": "p", "kind": "text"}),
            serde_json::json!({"k": "part.delta", "run": format!("r{number}"), "part": "p", "text": words}),
            serde_json::json!({"k": "run.end", "run": format!("r{number}"), "status": "complete"}),
        ];
        head = publisher.says(&lines.map(|line| line.to_string()).join("\n")).await.seq;
    }
    let page = BrowserPage::open(DESKTOP).await;
    page.goto(&hub.url("/c/c")).await;
    page.painted(head).await;
    let distance = format!("{SCROLLER} return s.scrollHeight - s.clientHeight - s.scrollTop");
    page.run_until(&distance, |px| px.as_f64().unwrap() <= 8.0).await;
    let press = async |name: &str, code: u32| {
        for kind in ["rawKeyDown", "keyUp"] {
            let event =
                serde_json::json!({"type": kind, "key": name, "code": name, "windowsVirtualKeyCode": code});
            page.devtools("Input.dispatchKeyEvent", event).await;
        }
    };
    // Nothing was clicked, so nothing in the page has the focus.
    press("PageUp", 33).await;
    page.run_until(&distance, |px| px.as_f64().unwrap() > 300.0).await;
    press("End", 35).await;
    page.run_until(&distance, |px| px.as_f64().unwrap() <= 8.0).await;
    press("ArrowUp", 38).await;
    page.run_until(&distance, |px| px.as_f64().unwrap() > 20.0).await;
    // Whoever is at the beginning of what is there gets what was before.
    let first = "return document.querySelector('[data-t=transcript]').textContent.includes('Question 0')";
    for _ in 0..40 {
        press("Home", 36).await;
        page.run_until(&format!("{SCROLLER} return s.scrollTop"), |px| px.as_f64().is_some()).await;
        if page.run(first).await == true {
            break;
        }
    }
    page.holds(first).await;
    page.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn tables_scroll_on_a_phone_and_their_words_and_numbers_stay_whole() {
    let (hub, mut publisher) = hub_and_publisher("c").await;
    let table = "| Region | Representative | Net revenue | Change |\\n|---|---|--:|---|\\n| Europe, the Middle East and Africa | Featherstonehaugh | 48,900,000.00 | +18.7 % |\\n\
                 | Americas | Wolfeschlegelsteinhausen | 63,400,000.00 | +0.6 % |\\n\\nDone.";
    publisher.says(OPENING).await;
    let start = r#"{"k":"part.start","run":"r","part":"p","kind":"text"}"#;
    let delta = format!("{{\"k\":\"part.delta\",\"run\":\"r\",\"part\":\"p\",\"text\":\"{table}\"}}");
    let end = r#"{"k":"run.end","run":"r","status":"complete"}"#;
    let head = publisher.says(&format!("{start}\n{delta}\n{end}")).await.seq;
    let page = BrowserPage::open(Screen { width: 390, height: 844, dark: false }).await;
    page.goto(&hub.url("/c/c")).await;
    page.painted(head).await;
    page.holds("const box = document.querySelector('.ans .table'); return box.scrollWidth > box.clientWidth && document.documentElement.scrollWidth <= innerWidth").await;
    let broken = "const broken = [];
        for (const cell of document.querySelectorAll('.ans .table :is(th, td)')) {
            const text = cell.firstChild, range = document.createRange();
            for (const {0: word, index} of text.data.matchAll(/[^ ]+/g)) {
                range.setStart(text, index);
                range.setEnd(text, index + word.length);
                if (range.getClientRects().length !== 1) broken.push(word);
            }
        }
        return broken";
    assert_eq!(page.run(broken).await, serde_json::json!([]));
    let aligned = "return [...document.querySelectorAll('.ans td')].filter(it => getComputedStyle(it).textAlign === 'right').length";
    assert_eq!(page.run(aligned).await, 4);
    page.screenshot("table-narrow").await;
    page.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_client_put_around_the_words_of_its_user_is_folded() {
    let (hub, mut publisher) = hub_and_publisher("c").await;
    let text = "<system-reminder>\nToday is Monday. Use the todo list.\n</system-reminder>\n\nFix the build.";
    let asked = json!({"k": "message", "message": "m", "role": "user", "text": text});
    let head = publisher.says(&asked.to_string()).await.seq;
    let page = BrowserPage::open(DESKTOP).await;
    page.goto(&hub.url("/c/c")).await;
    page.painted(head).await;
    let shown = "return document.querySelector('.user').innerText";
    let folded =
        page.run_until(shown, |it| it.as_str().is_some_and(|it| it.contains("Fix the build."))).await;
    let folded = folded.as_str().unwrap();
    assert!(
        folded.starts_with("Fix the build.") && folded.contains("Instructions from the client"),
        "{folded}"
    );
    assert!(!folded.contains("Monday"), "{folded}");
    page.run("document.querySelector('[data-t=instructions] button').click()").await;
    page.run_until(shown, |it| it.as_str().is_some_and(|it| it.contains("Today is Monday."))).await;
    page.holds("return document.querySelector('[data-t=instructions] button').ariaExpanded === 'true'").await;
    pictured(&page, PicturedView::Instructions).await;
    page.run("document.querySelector('[data-t=instructions] button').click()").await;
    page.run_until(shown, |it| it.as_str().is_some_and(|it| !it.contains("Monday"))).await;
    page.close().await;
}
