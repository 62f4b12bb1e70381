//! The timeline in lanes: packed, summed up, fitted, followed, and chosen in.

use serde_json::{Value, json};
use tests::browser::DESKTOP;
use tests::{BrowserPage, TestHub};

use crate::scene::{ANSWER, CALLS, CLOSING, OPENING, SUB_AGENT, THINKING, hub_and_publisher};
use crate::screens::{PicturedView, SCREENS, pictured, resized};

/// What the canvas of the lanes says of itself.
fn drawn(name: &str) -> String {
    format!("return Number(document.querySelector('[data-t=timeline-lanes] canvas')?.dataset.{name} ?? 0)")
}

/// A number that everything on the time line goes by.
fn number(name: &str) -> String {
    format!("return Number(document.querySelector('[data-t=timeline]').style.getPropertyValue('--{name}'))")
}

/// What on the time line was drawn for another size or for other colours than the page has now.
const OTHER_LOOKS: &str = "
    const root = document.querySelector('[data-t=timeline]'), found = [];
    const text = it => { const range = document.createRange(); range.selectNodeContents(it); return range.getBoundingClientRect() };
    const labels = [...root.querySelectorAll('.tl-tick')].map(text);
    if (labels.some((it, at) => at > 0 && labels[at - 1].right > it.left)) found.push('labels of the axis overlap');
    const rgb = name => { const hex = getComputedStyle(root).getPropertyValue('--' + name).trim().slice(1); return [0, 2, 4].map(at => parseInt(hex.slice(at, at + 2), 16)) };
    for (const [selector, tone] of [['.tl-canvas', 'run'], ['.tl-map', 'text2']]) {
        const canvas = root.querySelector(selector), box = canvas.getBoundingClientRect();
        if (Math.abs(canvas.width / devicePixelRatio - box.width) > 4 || Math.abs(canvas.height / devicePixelRatio - box.height) > 1) found.push(selector + ' is stretched');
        const copy = Object.assign(document.createElement('canvas'), {width: canvas.width, height: canvas.height}).getContext('2d', {willReadFrequently: true});
        copy.drawImage(canvas, 0, 0);
        const data = copy.getImageData(0, 0, canvas.width, canvas.height).data, wanted = rgb(tone);
        let is = false;
        for (let at = 0; at < data.length && !is; at += 4) is = data[at + 3] > 250 && wanted.every((value, n) => Math.abs(data[at + n] - value) < 4);
        if (!is) found.push(selector + ' has no ' + tone);
    }
    return found";

/// Moves the pointer to a place of the window and clicks there.
async fn click_at(page: &BrowserPage, x: f64, y: f64) {
    for kind in ["mouseMoved", "mousePressed", "mouseReleased"] {
        let event = json!({"type": kind, "x": x, "y": y, "button": if kind == "mouseMoved" { "none" } else { "left" }, "clickCount": 1});
        page.devtools("Input.dispatchMouseEvent", event).await;
    }
}

/// A run of ten seconds: a model for 1 s, a tool for 7 s with one beside it, waiting for 2 s.
fn timed(run: &str, from: u64) -> String {
    let lines = [
        json!({"k": "run.start", "run": run, "name": "lead", "at": from}),
        json!({"k": "part.start", "run": run, "part": "p", "kind": "text", "at": from}),
        json!({"k": "part.delta", "run": run, "part": "p", "text": "I look.", "at": from}),
        json!({"k": "part.end", "run": run, "part": "p", "at": from + 1_000}),
        json!({"k": "tool.call", "run": run, "tool": format!("{run}-a"), "name": "look", "arguments": "{}", "at": from + 1_000}),
        json!({"k": "tool.state", "run": run, "tool": format!("{run}-a"), "state": "executing", "at": from + 1_000}),
        json!({"k": "tool.call", "run": run, "tool": format!("{run}-b"), "name": "beside", "arguments": "{}", "at": from + 2_000}),
        json!({"k": "tool.state", "run": run, "tool": format!("{run}-b"), "state": "executing", "at": from + 2_000}),
        json!({"k": "tool.result", "run": run, "tool": format!("{run}-b"), "output": "x", "at": from + 4_000}),
        json!({"k": "tool.result", "run": run, "tool": format!("{run}-a"), "output": "x", "at": from + 8_000}),
        json!({"k": "run.end", "run": run, "status": "complete", "at": from + 10_000}),
    ];
    lines.map(|line| line.to_string()).join("\n")
}

/// Has the page open these lines as a recording, in which times are what they say.
async fn open_recording(page: &BrowserPage, hub: &TestHub, lines: &str) {
    page.goto(&hub.url("/")).await;
    page.holds("return !!document.querySelector('[data-t=open-recording] input, input[type=file]')").await;
    let file = json!(lines);
    page.run(&format!(
        "const data = new DataTransfer(); data.items.add(new File([{file}], 'r.ndjson'));
         const input = document.querySelector('input[type=file]'); input.files = data.files;
         input.dispatchEvent(new Event('change', {{bubbles: true}}))"
    ))
    .await;
    page.holds("return document.querySelectorAll('[data-run]').length > 0").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_run_in_view_is_summed_up_and_fitted() {
    let hub = TestHub::start().await;
    let from = 1_795_300_000_000;
    let page = BrowserPage::open(DESKTOP).await;
    let lines = format!("{}\n{}", timed("r1", from), timed("r2", from + 100_000));
    open_recording(&page, &hub, &lines).await;
    page.press("t").await;
    let words = "lead · 10 s · model 10 % · tools 70 % · waiting 20 % · critical path 8.0 s";
    page.text_until("timeline-summary", |text| text == words).await;
    // Of 110 s, the last run takes ten.
    page.run_until(&number("span"), |span| {
        span.as_f64().is_some_and(|span| (9_000.0..12_000.0).contains(&span))
    })
    .await;
    page.run_until(&number("from"), |from| from.as_f64().is_some_and(|from| from > 95_000.0)).await;
    page.run_until(&drawn("steps"), |steps| steps == 3).await;
    // One group for both runs, and two lanes: what overlaps.
    let groups =
        "return [...document.querySelectorAll('[data-t=timeline-group]')].map(it => it.textContent.trim())";
    assert_eq!(page.run(groups).await, json!(["lead × 2"]));
    let high = "return document.querySelector('[data-t=timeline-lanes] .tl-sheet').style.height";
    assert_eq!(page.run(high).await, "52px");
    page.run("document.querySelector('[data-t=timeline-fit]').click()").await;
    page.run_until(&number("span"), |span| span.as_f64().is_some_and(|span| span > 100_000.0)).await;
    page.run_until(&drawn("steps"), |steps| steps == 6).await;
    page.screenshot("lanes-recording").await;
    page.run("document.querySelector('[data-t=timeline-fit-run]').click()").await;
    page.run_until(&number("span"), |span| span.as_f64().is_some_and(|span| span < 12_000.0)).await;
    assert_eq!(page.console_errors().await, Vec::<String>::new());
    page.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn arrows_choose_a_step_enter_shows_it_and_so_does_a_click() {
    let (hub, mut publisher) = hub_and_publisher("c").await;
    let page = BrowserPage::open(DESKTOP).await;
    page.goto(&hub.url("/c/c?timeline=lanes")).await;
    // Each after the one before is seen, so that the whole takes some time by the hub's clock.
    for lines in [OPENING, THINKING, CALLS, SUB_AGENT, ANSWER, CLOSING] {
        page.painted(publisher.says(lines).await.seq).await;
    }
    page.run_until(&drawn("steps"), |steps| steps.as_u64().is_some_and(|steps| steps >= 6)).await;
    page.run("document.querySelector('[data-t=timeline-lanes]').focus()").await;
    page.key("ArrowRight", 39, 0).await;
    page.text_until("timeline-step", |text| text.starts_with("thinking · complete")).await;
    for _ in 0..3 {
        page.key("ArrowRight", 39, 0).await;
    }
    page.text_until("timeline-step", |text| text.contains(" · ") && !text.starts_with("thinking")).await;
    page.key("Enter", 13, 0).await;
    page.holds("return !!document.querySelector('[data-t=tool-card].flash')").await;
    // The sub-agent has lanes of its own, below those of the main agent.
    for _ in 0..8 {
        page.key("ArrowDown", 40, 0).await;
    }
    page.text_until("timeline-step", |text| text.starts_with("fetch_page")).await;
    page.run("document.querySelector('[data-t=timeline-form]').click()").await;
    page.run("document.querySelector('[data-t=timeline-form]').click()").await;
    // A click on the last step of the main agent chooses it in the place of the one before.
    page.run_until(&drawn("steps"), |steps| steps.as_u64().is_some_and(|steps| steps >= 6)).await;
    let at = page
        .run("const it = document.querySelector('[data-t=timeline-lanes] canvas').getBoundingClientRect(); return [it.right - 3, it.top + 28]")
        .await;
    click_at(&page, at[0].as_f64().unwrap(), at[1].as_f64().unwrap()).await;
    page.text_until("timeline-step", |text| text.contains(" · ") && !text.starts_with("fetch_page")).await;
    assert_eq!(page.console_errors().await, Vec::<String>::new());
    page.close().await;
}

/// The middles of the marks of the critical path in the column of the canvas that shows the moment `at`, in CSS pixels of the canvas, and the x
/// of that column in the window.
fn marks_at(at: u64) -> String {
    format!(
        "const canvas = document.querySelector('[data-t=timeline-lanes] canvas'), box = canvas.getBoundingClientRect();
         const root = document.querySelector('[data-t=timeline]'), of = name => Number(root.style.getPropertyValue('--' + name));
         const hex = getComputedStyle(root).getPropertyValue('--text').trim().slice(1);
         const text = [0, 2, 4].map(at => parseInt(hex.slice(at, at + 2), 16));
         const scale = canvas.height / box.height, x = ({at} - of('from')) / of('span') * box.width;
         const copy = Object.assign(document.createElement('canvas'), {{width: 1, height: canvas.height}}).getContext('2d', {{willReadFrequently: true}});
         copy.drawImage(canvas, -Math.round(x * scale), 0);
         const column = copy.getImageData(0, 0, 1, canvas.height).data;
         const is = y => column[4 * y + 3] > 200 && text.every((value, at) => Math.abs(column[4 * y + at] - value) < 12);
         const marks = [];
         for (let y = 0; y < canvas.height; y++) if (is(y)) {{
           let end = y; while (end < canvas.height && is(end)) end++;
           marks.push(Math.round((y + end) / 2 / scale)); y = end;
         }}
         return [marks, box.left + x, box.top]"
    )
}

#[tokio::test(flavor = "multi_thread")]
async fn the_critical_path_is_drawn_below_the_steps_it_has_and_a_click_chooses_the_step_under_it() {
    let hub = TestHub::start().await;
    let page = BrowserPage::open(DESKTOP).await;
    open_recording(&page, &hub, &timed("r1", 1_795_300_000_000)).await;
    page.press("t").await;
    page.run_until(&drawn("steps"), |steps| steps == 3).await;
    page.run_until(&number("span"), |span| {
        span.as_f64().is_some_and(|span| (9_000.0..12_000.0).contains(&span))
    })
    .await;
    // The model until 1 s and the long call until 8 s are what the end waited for; the call beside it, from 2 to 4 s in the lane below, is not.
    let at = async |ms: u64| page.run(&marks_at(ms)).await;
    let [model, call, both, waiting] = [at(900).await, at(5_000).await, at(3_000).await, at(9_000).await];
    let marks = &call[0];
    assert_eq!(marks.as_array().map(Vec::len), Some(1), "one line below the long call: {call}");
    assert_eq!((&model[0], &both[0], &waiting[0]), (marks, marks, &json!([])), "{model} {both} {waiting}");
    let line = marks[0].as_f64().unwrap();
    // Bars are above their line, and lanes 16 px apart.
    for (ms, below, name, is_critical) in
        [(5_000, -8.0, "look", true), (3_000, 8.0, "beside", false), (3_000, -8.0, "look", true)]
    {
        let place = at(ms).await;
        let (x, y) = (place[1].as_f64().unwrap(), place[2].as_f64().unwrap() + line + below);
        click_at(&page, x, y).await;
        page.text_until("timeline-step", |text| {
            text.starts_with(&format!("{name} · ")) && text.contains("on the critical path") == is_critical
        })
        .await;
        let id = format!("r1-{}", if name == "look" { "a" } else { "b" });
        page.run("document.querySelector('[data-t=timeline-lanes]').focus()").await;
        page.key("Enter", 13, 0).await;
        page.holds(&format!("return !!document.querySelector('[data-t=tool-card][data-call={id}].flash')"))
            .await;
    }
    assert_eq!(page.console_errors().await, Vec::<String>::new());
    page.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_present_is_followed_and_a_part_of_the_map_is_chosen() {
    let (hub, mut publisher) = hub_and_publisher("c").await;
    let mut head = publisher.says_all(&[OPENING, THINKING, CALLS]).await;
    let page = BrowserPage::open(DESKTOP).await;
    page.goto(&hub.url("/c/c?timeline=lanes")).await;
    page.painted(head).await;
    page.run_until(&drawn("steps"), |steps| steps.as_u64().is_some_and(|steps| steps >= 4)).await;
    for (name, screen) in SCREENS {
        resized(&page, screen).await;
        let high = "return document.querySelector('[data-t=timeline]').offsetHeight / innerHeight";
        let high = page.run(high).await.as_f64().unwrap();
        // In a low window it has what it needs.
        assert!(screen.height < 600 || (0.35..=0.41).contains(&high), "{name}: {high} of the height");
        let edges = "return ['.tl-axis', '.tl-canvas', '.tl-map'].map(it => document.querySelector(it).getBoundingClientRect()).map(it => [Math.round(it.left), Math.round(it.right)])";
        let edges = page.run(edges).await;
        // The border of the map takes some pixels.
        let near = |one: &Value, other: &Value| {
            (0..2).all(|at| one[at].as_i64().zip(other[at].as_i64()).is_some_and(|(a, b)| (a - b).abs() <= 4))
        };
        assert!(
            near(&edges[0], &edges[1]) && near(&edges[0], &edges[2]),
            "{name}: axis, lanes and map: {edges}"
        );
        assert_eq!(page.run(OTHER_LOOKS).await, json!([]), "{name}: drawn for another screen");
    }
    pictured(&page, PicturedView::Lanes).await;
    assert_eq!(page.console_errors().await, Vec::<String>::new());
    page.close().await;
    let page = BrowserPage::open(DESKTOP).await;
    page.goto(&hub.url("/c/c?timeline=lanes")).await;
    head = publisher.says(SUB_AGENT).await.seq;
    page.painted(head).await;
    page.run_until(&number("span"), |span| span.as_f64().is_some_and(|span| span > 1_500.0)).await;
    let at = page
        .run("const it = document.querySelector('[data-t=timeline-map]').getBoundingClientRect(); return [it.left, it.width, it.top + 10]")
        .await;
    let [left, width, y] = [0, 1, 2].map(|at_index| at[at_index].as_f64().unwrap());
    for (kind, part) in [("mousePressed", 0.25), ("mouseMoved", 0.5), ("mouseReleased", 0.5)] {
        let event = json!({"type": kind, "x": left + width * part, "y": y, "button": "left", "buttons": 1, "clickCount": 1});
        page.devtools("Input.dispatchMouseEvent", event).await;
    }
    let stays = page.run_until(&number("from"), |from| from.as_f64().is_some_and(|from| from > 100.0)).await;
    let now = page.run(&number("now")).await.as_f64().unwrap();
    page.run_until(&number("now"), |later| later.as_f64().unwrap() > now + 600.0).await;
    assert_eq!(page.run(&number("from")).await, stays, "a part that was chosen stays");
    page.run("document.querySelector('[data-t=timeline-follow]').click()").await;
    let edge = "const it = document.querySelector('[data-t=timeline]').style, of = name => Number(it.getPropertyValue(name)); return of('--from') + of('--span') - of('--now')";
    page.run_until(edge, |edge| edge.as_f64().is_some_and(|edge| edge.abs() < 2.0)).await;
    let followed = page.run(&number("from")).await.as_f64().unwrap();
    page.run_until(&number("from"), |from| from.as_f64().unwrap() > followed + 600.0).await;
    assert_eq!(page.console_errors().await, Vec::<String>::new());
    page.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_thousand_calls_are_as_few_elements_and_no_more_marks_than_pixels() {
    let hub = TestHub::start().await;
    let mut publisher = hub.publisher("c").await;
    publisher.says(OPENING).await;
    let page = BrowserPage::open(DESKTOP).await;
    page.goto(&hub.url("/c/c?timeline=lanes")).await;
    let mut counts: Vec<Value> = Vec::new();
    for wanted in [0..1, 1..20] {
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
        let steps = if counts.is_empty() { "50 steps" } else { "1000 steps" };
        page.holds(&format!("return document.querySelector('.tl-head .meta').textContent === '{steps}'"))
            .await;
        counts.push(page.run("return document.querySelectorAll('.tl-lanes *').length").await);
    }
    assert_eq!(counts[0], counts[1], "elements do not grow with calls");
    let marks = page.run(&drawn("marks")).await.as_u64().unwrap();
    assert!(marks < 3_000, "{marks}");
    assert_eq!(page.console_errors().await, Vec::<String>::new());
    page.close().await;
}
