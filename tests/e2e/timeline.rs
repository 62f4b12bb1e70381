//! The timeline: a waterfall that grows by itself, whose cost does not grow with the conversation.

use serde_json::{Value, json};
use tests::browser::DESKTOP;
use tests::{BrowserPage, TestHub};

use crate::scene::{ANSWER, CALLS, CLOSING, OPENING, SUB_AGENT, THINKING, hub_and_publisher};
use crate::screens::{NARROW, PicturedView, pictured};

const ROWS: &str = "[...document.querySelectorAll('[data-t=timeline-row]')]";

/// A number that all bars go by.
fn number(name: &str) -> String {
    format!("return Number(document.querySelector('[data-t=timeline]').style.getPropertyValue('--{name}'))")
}

/// The middle of an element on the screen.
async fn middle(page: &BrowserPage, selector: &str) -> (f64, f64) {
    let script = format!(
        "const a = document.querySelector('{selector}').getBoundingClientRect(); return {{x: a.left + a.width / 2, y: a.top + a.height / 2}}"
    );
    let value = page.run(&script).await;
    let number = |name: &str| value.get(name).and_then(Value::as_f64).expect("a number");
    (number("x"), number("y"))
}

#[tokio::test(flavor = "multi_thread")]
async fn one_key_shows_agents_with_their_calls_and_the_address_keeps_it() {
    let (hub, mut publisher) = hub_and_publisher("c").await;
    let mut head = publisher.says_all(&[OPENING, THINKING, CALLS, SUB_AGENT, ANSWER]).await;
    for screen in [DESKTOP, NARROW] {
        let page = BrowserPage::open(screen).await;
        page.goto(&hub.url("/c/c")).await;
        page.painted(head).await;
        assert_eq!(page.run("return !!document.querySelector('[data-t=timeline]')").await, json!(false));
        page.press("t").await;
        page.holds("return location.search === '?timeline=lanes'").await;
        page.holds(
            "return Number(document.querySelector('[data-t=timeline-lanes] canvas')?.dataset.steps) > 3",
        )
        .await;
        page.run("document.querySelector('[data-t=timeline-form]').click()").await;
        page.holds(&format!("return {ROWS}.length >= 6")).await;
        page.holds("return location.search === '?timeline=320'").await;
        page.run("document.querySelector('[data-t=timeline] [aria-label=\"Fewer rows\"]').click()").await;
        page.holds("return location.search === '?timeline=168'").await;
        page.run("document.querySelector('[data-t=timeline] [aria-label=\"More rows\"]').click()").await;
        page.holds("return location.search === '?timeline=320'").await;
        if screen.width < 800 {
            // Names stand above their bars.
            page.holds(&format!(
                "const row = {ROWS}[0], a = row.querySelector('.nm').getBoundingClientRect(), b = row.querySelector('.tl-track').getBoundingClientRect();
                 return a.bottom <= b.top + 1 && b.width > 300"
            ))
            .await;
        }
        if screen.width == DESKTOP.width {
            pictured(&page, PicturedView::Timeline).await;
        }
        page.reload().await;
        page.painted(head).await;
        page.holds(&format!("return {ROWS}.length > 3")).await;
        let states = page.run(&format!("return {ROWS}.map(row => row.dataset.state)")).await;
        assert!(states.as_array().unwrap().contains(&json!("executing")), "{states}");
        page.press("t").await;
        page.holds("return location.search === '' && !document.querySelector('[data-t=timeline]')").await;
        assert_eq!(page.console_errors().await, Vec::<String>::new(), "{screen:?}");
        page.close().await;
    }
    head = publisher.says(CLOSING).await.seq;
    let page = BrowserPage::open(DESKTOP).await;
    page.goto(&hub.url("/c/c?timeline=320")).await;
    page.painted(head).await;
    let agents = format!(
        "return {ROWS}.filter(row => row.classList.contains('agent')).map(row => row.querySelector('.nm').textContent).join()"
    );
    page.run_until(&agents, |names| names == "analyst,researcher").await;
    // Enter on a row shows the card in the conversation.
    page.run("document.querySelector('[data-t=timeline-row][data-call=t1]').focus()").await;
    page.run("document.activeElement.click()").await;
    page.holds("return !!document.querySelector('[data-t=tool-card][data-call=t1].flash')").await;
    page.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn running_bars_grow_by_numbers_on_the_root_alone() {
    let (hub, mut publisher) = hub_and_publisher("c").await;
    publisher.says(OPENING).await;
    let head = publisher.says(CALLS).await.seq;
    let page = BrowserPage::open(DESKTOP).await;
    page.goto(&hub.url("/c/c?timeline=320")).await;
    page.painted(head).await;
    page.holds("return !!document.querySelector('[data-t=timeline-row][data-call=t3] .tl-bar.on')").await;
    page.run(
        "window.touched = 0; new MutationObserver(all => window.touched += all.filter(it => it.attributeName !== 'aria-label').length)
            .observe(document.querySelector('.tl-sheet .tl-track'), {attributes: true, childList: true, subtree: true})",
    )
    .await;
    // A part of time that stays, so that the bar itself grows.
    page.run("for (let n = 0; n < 2; n++) document.querySelector('[data-t=timeline] [aria-label=\"Zoom in\"]').click()").await;
    let from = page.run(&number("now")).await.as_f64().unwrap();
    page.run_until(&number("now"), |now| now.as_f64().unwrap() > from + 600.0).await;
    assert_eq!(page.run("return window.touched").await, json!(0));
    page.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_wheel_zooms_a_drag_moves_and_a_double_click_shows_everything() {
    let (hub, mut publisher) = hub_and_publisher("c").await;
    publisher.says(OPENING).await;
    let page = BrowserPage::open(DESKTOP).await;
    page.goto(&hub.url("/c/c?timeline=320")).await;
    // Each after the one before is seen, so that the whole takes some time by the hub's clock.
    for lines in [THINKING, CALLS, SUB_AGENT, ANSWER, CLOSING] {
        page.painted(publisher.says(lines).await.seq).await;
    }
    // The timeline moves on with its own beat: what is measured is the whole only once it has the end too.
    page.holds(&format!(
        "return {ROWS}.length > 5 && {ROWS}.every(row => ['complete', 'error'].includes(row.dataset.state))"
    ))
    .await;
    let whole = page.run(&number("span")).await.as_f64().unwrap();
    assert!(whole > 1.0, "{whole}");
    let (x, y) = middle(&page, ".tl-row .tl-track").await;
    let wheel = json!({"type": "mouseWheel", "x": x, "y": y, "deltaX": 0, "deltaY": -150, "modifiers": 2});
    page.devtools("Input.dispatchMouseEvent", wheel).await;
    page.run_until(&number("span"), |span| span.as_f64().unwrap() < whole * 0.8).await;
    let from = page.run(&number("from")).await.as_f64().unwrap();
    let mouse = |kind: &str, x: f64, clicks: u32| json!({"type": kind, "x": x, "y": y, "button": "left", "buttons": u32::from(kind != "mouseReleased"), "clickCount": clicks});
    for event in
        [mouse("mousePressed", x, 1), mouse("mouseMoved", x + 60.0, 1), mouse("mouseReleased", x + 60.0, 1)]
    {
        page.devtools("Input.dispatchMouseEvent", event).await;
    }
    page.run_until(&number("from"), |now| now.as_f64().unwrap() < from).await;
    for event in [("mousePressed", 1), ("mouseReleased", 1), ("mousePressed", 2), ("mouseReleased", 2)] {
        page.devtools("Input.dispatchMouseEvent", mouse(event.0, x, event.1)).await;
    }
    page.run_until(&number("span"), |span| (span.as_f64().unwrap() - whole).abs() < 2.0).await;
    assert_eq!(page.console_errors().await, Vec::<String>::new());
    page.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn five_thousand_calls_are_as_many_elements_as_fifty() {
    let hub = TestHub::start().await;
    let mut publisher = hub.publisher("c").await;
    publisher.says(OPENING).await;
    let page = BrowserPage::open(DESKTOP).await;
    page.goto(&hub.url("/c/c?timeline=320")).await;
    let mut counts: Vec<Value> = Vec::new();
    for wanted in [50..51, 51..101] {
        let mut head = 0;
        for block in wanted {
            let calls = (0..50).map(|n| {
                let call = block * 50 + n;
                format!(
                    "{{\"k\":\"tool.call\",\"run\":\"r\",\"tool\":\"t{call}\",\"name\":\"look\",\"arguments\":\"{{}}\"}}\n{{\"k\":\"tool.result\",\"run\":\"r\",\"tool\":\"t{call}\",\"output\":\"x\"}}\n"
                )
            });
            head = publisher.says(&calls.collect::<String>()).await.seq;
        }
        page.painted(head).await;
        let last = format!(
            "return !!document.querySelector('[data-t=timeline-row][data-call=t{}]')",
            if counts.is_empty() { 2549 } else { 5049 }
        );
        page.holds(&last).await;
        counts.push(page.run("return document.querySelectorAll('.tl-rows *').length").await);
    }
    assert_eq!(counts[0], counts[1]);
    assert!(counts[1].as_u64().unwrap() < 400, "{counts:?}");
    // By keyboard from one end to the other.
    page.run("document.querySelector('[data-t=timeline-row][data-call=t5049]').focus()").await;
    let home = json!({"type": "rawKeyDown", "key": "Home", "code": "Home", "windowsVirtualKeyCode": 36});
    page.devtools("Input.dispatchKeyEvent", home).await;
    page.holds("return document.activeElement.dataset.at === '0'").await;
    let down =
        json!({"type": "rawKeyDown", "key": "ArrowDown", "code": "ArrowDown", "windowsVirtualKeyCode": 40});
    page.devtools("Input.dispatchKeyEvent", down).await;
    page.holds("return document.activeElement.dataset.call === 't2500'").await;
    assert_eq!(page.console_errors().await, Vec::<String>::new());
    page.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn axis_and_rows_agree_beside_a_scrollbar() {
    let (hub, mut publisher) = hub_and_publisher("c").await;
    let head = publisher.says_all(&[OPENING, THINKING, CALLS, SUB_AGENT, ANSWER]).await;
    let page = BrowserPage::open(DESKTOP).await;
    page.goto(&hub.url("/c/c?timeline=168")).await;
    page.painted(head).await;
    page.holds(
        "const rows = document.querySelector('.tl-rows'); return rows?.scrollHeight > rows?.clientHeight",
    )
    .await;
    // Tests hide scrollbars: what is seen of them is the room that is kept for one.
    let room = "return ['.tl-top', '.tl-rows'].map(it => document.querySelector(it)).map(it => it.offsetWidth - it.clientWidth)";
    let room = page.run(room).await;
    assert!(room[0].as_f64().unwrap() > 0.0 && room[0] == room[1], "{room}");
    let edges = "return ['.tl-axis', '.tl-row .tl-track'].map(it => document.querySelector(it).getBoundingClientRect()).map(it => [it.left, it.right])";
    let edges = page.run(edges).await;
    assert_eq!(edges[0], edges[1]);
    page.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_row_shows_its_card_however_long_ago_that_was() {
    let hub = TestHub::start().await;
    let mut publisher = hub.publisher("c").await;
    let mut head = 0;
    for run in 0..8 {
        let calls = (0..150).map(|n| {
            format!(
                "{{\"k\":\"tool.call\",\"run\":\"r{run}\",\"tool\":\"t{run}-{n}\",\"name\":\"look\",\"arguments\":\"{{}}\"}}\n{{\"k\":\"tool.result\",\"run\":\"r{run}\",\"tool\":\"t{run}-{n}\",\"output\":\"x\"}}\n"
            )
        });
        let start = format!("{{\"k\":\"run.start\",\"run\":\"r{run}\"}}\n");
        let end = format!("\n{{\"k\":\"run.end\",\"run\":\"r{run}\",\"status\":\"complete\"}}");
        let twice = if run == 0 {
            calls.clone().map(|line| line.replace("t0-", "u0-")).collect()
        } else {
            String::new()
        };
        head = publisher.says(&(start + &calls.collect::<String>() + &twice + end.trim_start())).await.seq;
    }
    let page = BrowserPage::open(DESKTOP).await;
    page.goto(&hub.url("/c/c?timeline=320")).await;
    page.painted(head).await;
    let card = |call: &str| {
        format!("document.querySelector('[data-t=transcript] [data-t=tool-card][data-call={call}]')")
    };
    page.holds(&format!("return !{} && !!{}", card("t0-3"), card("t7-149"))).await;
    // The beginning of the first run, of which only the newest rows would be shown.
    page.run("document.querySelector('.tl-rows').scrollTop = 0").await;
    let row = "document.querySelector('[data-t=timeline-row][data-call=t0-3]')";
    page.holds(&format!("return !!{row}")).await;
    page.run(&format!("{row}.click()")).await;
    page.holds(&format!("return {}?.classList.contains('flash')", card("t0-3"))).await;
    let nodes = page.run("return document.querySelectorAll('*').length").await;
    assert!(nodes.as_u64().unwrap() <= 4_000, "{nodes} elements");
    // Back at the end the newest are there again.
    page.press("f").await;
    page.holds(&format!("return !{} && !!{}", card("t0-3"), card("t7-149"))).await;
    assert_eq!(page.console_errors().await, Vec::<String>::new());
    page.close().await;
}
