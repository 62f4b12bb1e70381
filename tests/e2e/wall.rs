//! All conversations at once.

use serde_json::json;
use tests::browser::{DESKTOP, Screen};
use tests::{BrowserPage, TestHub};

use crate::scene::{ANSWER, CALLS, OPENING, THINKING, hub_and_publisher};
use crate::screens::{PicturedView, pictured, pictured_high};

/// A run that fails.
const FAILS: &str = r#"
    {"k":"error","run":"r","code":"x","message":"the upstream refused"}
    {"k":"run.end","run":"r","status":"error"}
"#;

/// A call that waits for a person.
const ASKS: &str = r#"
    {"k":"tool.call","run":"r","tool":"t","name":"deploy","arguments":"{}"}
    {"k":"tool.state","run":"r","tool":"t","state":"approval","text":"Deploy to production?"}
"#;

const TILES: &str =
    "return [...document.querySelectorAll('[data-t=tile]')].map(it => it.dataset.conversation)";

/// What the tile of `conversation` says.
fn text_of(conversation: &str, part: &str) -> String {
    format!(
        "return document.querySelector('[data-t=tile][data-conversation={conversation}] {part}')?.textContent ?? ''"
    )
}

/// What a tile under the pointer makes of words with marks.
const PLAIN: &str = "\nThe import ran twice, by sync.";

#[tokio::test(flavor = "multi_thread")]
async fn the_wall_shows_what_every_conversation_does_now() {
    let (hub, mut publisher) = hub_and_publisher("one").await;
    let head = publisher.says(OPENING).await.seq;
    publisher.says(CALLS).await;
    let mut other = hub.publisher("two").await;
    other.says(&OPENING.replace("Quarterly report", "Nightly import")).await;
    let page = BrowserPage::open(DESKTOP).await;
    page.goto(&hub.url("/c/one")).await;
    page.painted(head).await;
    page.press("g").await;
    page.press("w").await;
    page.run_until("return location.pathname", |path| path == "/wall").await;
    page.run_until(TILES, |tiles| tiles == &json!(["two", "one"])).await;
    // Made of the list alone: the hub counts no viewer.
    page.run_until(&text_of("one", ".tile-call"), |it| it.as_str().is_some_and(|it| it.contains("run_sql")))
        .await;
    assert_eq!(page.run("return document.querySelectorAll('[data-subscribed]').length").await, json!(0));
    other.says(r#"{"k":"status","run":"r","text":"reading the supplier list"}"#).await;
    let says =
        |line: &'static str| move |it: &serde_json::Value| it.as_str().is_some_and(|it| it.contains(line));
    page.run_until(&text_of("two", ".ticker"), says("reading the supplier list")).await;
    // What needs a person comes first.
    publisher.says(r#"{"k":"tool.state","run":"r","tool":"t4","state":"approval","text":"May I?"}"#).await;
    page.run_until(TILES, |tiles| tiles == &json!(["one", "two"])).await;
    // Under the focus nothing moves, and the tile is subscribed to.
    page.key("ArrowDown", 40, 0).await;
    page.key("ArrowRight", 39, 0).await;
    page.run_until("return document.activeElement?.dataset.conversation", |it| it == "two").await;
    page.holds("return document.querySelector('[data-subscribed]')?.dataset.conversation === 'two'").await;
    other.says(r#"{"k":"tool.call","run":"r","tool":"s","name":"list_suppliers","arguments":"{\"region\":\"EMEA\"}"}"#).await;
    page.run_until(&text_of("two", ".ticker"), says("list_suppliers EMEA")).await;
    other.says(r#"{"k":"error","run":"r","code":"x","message":"no such table"}"#).await;
    other.says(r#"{"k":"run.end","run":"r","status":"error"}"#).await;
    page.holds("return document.querySelector('.wall .resort')?.textContent.includes('sort again') === true")
        .await;
    assert_eq!(page.run(TILES).await, json!(["one", "two"]));
    page.run("document.querySelector('.wall .resort').click()").await;
    page.run_until(TILES, |tiles| tiles == &json!(["two", "one"])).await;
    page.run("document.querySelector('[data-t=tile][data-conversation=two]').click()").await;
    page.run_until("return location.pathname", |path| path == "/c/two").await;
    page.holds("return !document.querySelector('[data-t=wall]') && document.querySelectorAll('[data-run]').length > 0").await;
    // Back, and out again to where the reader was.
    page.press("g").await;
    page.press("w").await;
    page.holds("return !!document.querySelector('[data-t=wall]')").await;
    page.key("Escape", 27, 0).await;
    page.run_until("return location.pathname", |path| path == "/c/two").await;
    assert_eq!(page.console_errors().await, Vec::<String>::new());
    page.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_page_of_the_wall_has_what_the_screen_holds() {
    let (hub, mut publisher) = hub_and_publisher("quarterly-report").await;
    for lines in [OPENING, THINKING, CALLS, ANSWER] {
        publisher.says(lines).await;
    }
    for n in 0..71 {
        let mut other = hub.publisher(&format!("import-{n:02}")).await;
        other.says(&OPENING.replace("Quarterly report", &format!("Nightly import {n}"))).await;
        match n % 5 {
            0 => other.says(CALLS).await,
            1 => other.says(r#"{"k":"run.end","run":"r","status":"complete"}"#).await,
            2 => other.says(r#"{"k":"status","run":"r","text":"reading the supplier list of the third region, page 14 of 220"}"#).await,
            3 => other.says(FAILS).await,
            _ => other.says(ASKS).await,
        };
    }
    let narrow = Screen { width: 390, height: 844, dark: false };
    let large = Screen { width: 2560, height: 1440, dark: false };
    for (name, screen, least, most) in [
        ("light", DESKTOP, 24, 40),
        ("dark", Screen { dark: true, ..DESKTOP }, 24, 40),
        ("narrow", narrow, 24, 24),
        ("2560", large, 60, 72),
    ] {
        let page = BrowserPage::open(screen).await;
        page.goto(&hub.url("/wall")).await;
        page.holds("return document.querySelectorAll('[data-t=tile]').length >= 24").await;
        let count = "return document.querySelectorAll('[data-t=tile]').length";
        page.run_until(count, |count| count.as_u64().is_some_and(|count| (least..=most).contains(&count)))
            .await;
        // What the browser lays out is what was computed: beyond the least number no tile is below the screen.
        let below = "const wall = document.querySelector('.wall').getBoundingClientRect();
            const tiles = [...document.querySelectorAll('[data-t=tile]')];
            return tiles.slice(24).filter(it => it.getBoundingClientRect().bottom > wall.bottom).length";
        page.run_until(below, |below| below == &json!(0)).await;
        let cut = "return [...document.querySelectorAll('.tile-feet')].filter(it => it.getBoundingClientRect().bottom > it.closest('.tile').getBoundingClientRect().bottom).length";
        assert_eq!(page.run(cut).await, json!(0), "{name}: feet are cut off");
        if name != "2560" {
            let first = "return document.querySelector('[data-t=tile]').dataset.conversation";
            let was = page.run(first).await;
            page.run("[...document.querySelectorAll('[data-t=pager] button')].at(-1).click()").await;
            page.run_until(first, |now| *now != was).await;
        }
        if name == "light" {
            pictured(&page, PicturedView::Wall).await;
        }
        assert_eq!(page.console_errors().await, Vec::<String>::new(), "{name}");
        page.close().await;
    }
}

/// The tiles that cut their last line, whatever came after their size was chosen, or whose words do not begin below their title.
const CUT: &str = "return [...document.querySelectorAll('[data-t=tile]')].filter(it => {
    const box = it.getBoundingClientRect(), of = part => it.querySelector(part).getBoundingClientRect();
    return of('.tile-foot').bottom > box.bottom || of('.lines').top - of('.tile-head').bottom > 4
}).map(it => it.dataset.conversation)";

/// Pictures the wall once no tile cuts anything.
async fn pictured_whole(page: &BrowserPage, name: &str) {
    page.run_until(CUT, |cut| cut == &json!([])).await;
    page.screenshot(name).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tile_shows_the_last_words_as_they_stream_its_speed_model_cost_and_calls() {
    let (hub, mut publisher) = hub_and_publisher("one").await;
    let mut other = hub.publisher("two").await;
    publisher.says(OPENING).await;
    publisher.says(r#"{"k":"run.update","run":"r","usage":{"input_tokens":1200,"output_tokens":34,"cost":{"amount":"0.004249","currency":"USD"}}}"#).await;
    other.says(OPENING).await;
    let page = BrowserPage::open(DESKTOP).await;
    page.goto(&hub.url("/wall")).await;
    page.run_until(TILES, |tiles| tiles.as_array().is_some_and(|tiles| tiles.len() == 2)).await;
    page.run_until(&text_of("one", ".tile-cost"), |it| {
        it.as_str().is_some_and(|it| it.contains("test-model") && it.contains("$0.0042"))
    })
    .await;
    publisher.says(r#"{"k":"part.start","run":"r","part":"p","kind":"text"}"#).await;
    let mut said = String::new();
    for n in 0..12 {
        let words = format!("Step {n} of the answer that is being written. ");
        said.push_str(&words);
        let delta = json!({"k": "part.delta", "run": "r", "part": "p", "text": words}).to_string();
        publisher.says(&delta).await;
        let ends = format!("Step {n} of the answer that is being written.");
        page.run_until(&text_of("one", ".says"), |it| it.as_str().is_some_and(|it| it.ends_with(&ends)))
            .await;
    }
    // What the rows said of the text is joined: the tile has more of it than one row.
    let words = page.run(&text_of("one", ".says")).await;
    let words = words.as_str().unwrap();
    assert!(words.len() > 200 && said.ends_with(&format!("{words} ")), "{words}");
    page.holds("return document.querySelector('[data-conversation=one] .spark path')?.getAttribute('d')?.startsWith('M0 ') === true").await;
    page.run_until(&text_of("one", ".speed"), |it| {
        it.as_str().is_some_and(|it| it.starts_with("≈ ") && it.ends_with(" tok/s"))
    })
    .await;
    assert_eq!(
        page.run("return document.querySelector('[data-conversation=two] .spark path').getAttribute('d')")
            .await,
        json!(null)
    );
    publisher
        .says(
            &(CALLS.replace("\"t1\"", "\"u1\"")
                + r#"
        {"k":"tool.state","run":"r","tool":"t4","state":"executing"}"#),
        )
        .await;
    let calls = "return [...document.querySelectorAll('[data-conversation=one] .tile-call > span')].map(it => it.textContent.trim())";
    let calls = page.run_until(calls, |calls| calls.as_array().is_some_and(|calls| calls.len() == 2)).await;
    assert!(
        calls[0].as_str().unwrap().starts_with("run_sql") && calls[0].to_string().contains("0:0"),
        "{calls}"
    );
    assert!(calls[1].as_str().unwrap().starts_with("make_chart"), "{calls}");
    pictured_whole(&page, "wall-stream-light").await;
    // Under the pointer it has the newest steps, and its words are as plain.
    publisher
        .says(
            r#"{"k":"part.start","run":"r","part":"q","kind":"text"}
            {"k":"part.delta","run":"r","part":"q","text":"The **import** ran **twice**, by `sync`."}"#,
        )
        .await;
    let enters = |event: &str| {
        format!(
            "document.querySelector('[data-t=tile][data-conversation=one]').dispatchEvent(new PointerEvent('{event}'))"
        )
    };
    page.run(&enters("pointerenter")).await;
    page.holds("return document.querySelector('[data-subscribed]')?.dataset.conversation === 'one'").await;
    page.run_until(&text_of("one", ".says"), |it| it.as_str().is_some_and(|it| it.ends_with(PLAIN))).await;
    page.run(&enters("pointerleave")).await;
    // The filter is that of the list.
    page.run("const it = document.querySelector('#wall-filter'); it.value = 'tool:run_sql'; it.dispatchEvent(new Event('input', {bubbles: true}))").await;
    page.run_until(TILES, |tiles| tiles == &json!(["one"])).await;
    assert_eq!(page.console_errors().await, Vec::<String>::new());
    page.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn three_hundred_running_conversations_have_tiles_as_high_as_their_words_and_stay_live() {
    const COUNT: usize = 300;
    let hub = TestHub::start_in_memory().await;
    let mut publishers = Vec::new();
    for n in 0..COUNT {
        let mut publisher = hub.publisher(&format!("run-{n:03}")).await;
        let start = json!({"k": "run.start", "run": "r", "title": format!("Import of region {n}"), "model": "test-model"});
        let part = r#"{"k":"part.start","run":"r","part":"p","kind":"text"}"#;
        let words = "The ledger of this region agrees. ".repeat(n % 4);
        let delta = json!({"k": "part.delta", "run": "r", "part": "p", "text": format!("{words}I go on.")});
        publisher.says(&format!("{start}\n{part}\n{delta}")).await;
        publishers.push(publisher);
    }
    for (name, screen) in [
        ("2560", Screen { width: 2560, height: 1440, dark: false }),
        ("dark", Screen { dark: true, ..DESKTOP }),
        ("narrow", Screen { width: 390, height: 844, dark: false }),
    ] {
        let page = BrowserPage::open(screen).await;
        page.goto(&hub.url("/wall")).await;
        page.run_until("return document.querySelector('.wall-head').textContent", |head| {
            head.as_str()
                .is_some_and(|head| head.contains("300 conversations") && head.contains("300 running"))
        })
        .await;
        // No tile has room for a line that is not there, and words of different lengths have tiles of different heights.
        let room = "return Math.max(...[...document.querySelectorAll('.tile.medium .ticker')].map(it =>
            it.clientHeight - [...it.children].reduce((sum, child) => sum + child.getBoundingClientRect().height, 0)))";
        page.run_until(room, |room| room.as_f64().is_some_and(|room| room <= 24.0)).await;
        let heights =
            "return new Set([...document.querySelectorAll('.tile.medium')].map(it => it.offsetHeight)).size";
        assert!(page.run(heights).await.as_u64().unwrap() > 1, "{name}: all tiles are equally high");
        // Every conversation has a tile on one of the pages.
        let mut found = std::collections::BTreeSet::new();
        loop {
            let tiles = page.run(TILES).await;
            let tiles = tiles.as_array().unwrap();
            let first = tiles[0].clone();
            found.extend(tiles.iter().map(ToString::to_string));
            let next = "const it = [...document.querySelectorAll('[data-t=pager] button')].at(-1); if (!it || it.disabled) return false; it.click(); return true";
            // The last page has what is left.
            if page.run(next).await == json!(false) {
                break;
            }
            assert!(tiles.len() >= 12, "{name}: a page with {} tiles", tiles.len());
            page.run_until(TILES, |tiles| tiles[0] != first).await;
        }
        assert_eq!(found.len(), COUNT, "{name}: conversations without a tile");
        // Words arrive at a tile of the last page.
        let last = page.run(TILES).await.as_array().unwrap().last().unwrap().as_str().unwrap().to_owned();
        let number: usize = last.trim_start_matches("run-").parse().unwrap();
        let word = format!("Fresh words for {name}.");
        let delta = json!({"k": "part.delta", "run": "r", "part": "p", "text": format!(" {word}")});
        publishers[number].says(&delta.to_string()).await;
        page.run_until(&text_of(&last, ".says"), |it| it.as_str().is_some_and(|it| it.ends_with(&word)))
            .await;
        if name == "dark" {
            page.goto(&hub.url("/wall")).await;
            page.run_until(TILES, |tiles| tiles.as_array().is_some_and(|tiles| tiles.len() >= 12)).await;
            pictured_high(&page, PicturedView::WallFull, 1_440).await;
        }
        assert_eq!(page.console_errors().await, Vec::<String>::new(), "{name}");
        page.close().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn busy_tiles_are_drawn_larger_than_silent_ones_and_those_than_what_is_over() {
    let hub = TestHub::start().await;
    let mut busy = hub.publisher("busy").await;
    let part = r#"{"k":"part.start","run":"r","part":"p","kind":"text"}"#;
    let delta = |text: &str| json!({"k": "part.delta", "run": "r", "part": "p", "text": text}).to_string();
    for name in ["silent", "over"] {
        let mut publisher = hub.publisher(name).await;
        publisher.says(&format!("{OPENING}\n{part}\n{}", delta("I wait."))).await;
        if name == "over" {
            publisher.says(r#"{"k":"run.end","run":"r","status":"complete"}"#).await;
        }
    }
    busy.says(&format!("{OPENING}\n{part}")).await;
    let page = BrowserPage::open(DESKTOP).await;
    page.goto(&hub.url("/wall")).await;
    page.run_until(TILES, |tiles| tiles.as_array().is_some_and(|tiles| tiles.len() == 3)).await;
    for n in 0..12 {
        busy.says(&delta(&format!("Step {n} of the answer that is being written, with some more words. ")))
            .await;
        let ends = format!("Step {n} of the answer that is being written, with some more words.");
        page.run_until(&text_of("busy", ".says"), |it| it.as_str().is_some_and(|it| it.ends_with(&ends)))
            .await;
    }
    let boxes = "return ['busy', 'silent', 'over'].map(name => document.querySelector(`[data-t=tile][data-conversation=${name}]`).getBoundingClientRect())
        .map(it => [it.width, it.height, it.left, it.top, it.right, it.bottom])";
    let of = |boxes: &serde_json::Value, tile: usize, side: usize| boxes[tile][side].as_f64().unwrap();
    // The sizes follow the list, at the latest when the clock of the order has gone on.
    let boxes = page
        .run_until(boxes, |boxes| {
            let area = |tile| of(boxes, tile, 0) * of(boxes, tile, 1);
            of(boxes, 0, 0) > 1.8 * of(boxes, 1, 0) && area(0) > 2.0 * area(1) && area(1) > 1.1 * area(2)
        })
        .await;
    // Larger, and none over another or out of the screen.
    for (one, other) in [(0, 1), (0, 2), (1, 2)] {
        let apart = |from: usize, to: usize| {
            of(&boxes, one, to) <= of(&boxes, other, from) || of(&boxes, other, to) <= of(&boxes, one, from)
        };
        assert!(apart(2, 4) || apart(3, 5), "{boxes}");
    }
    assert_eq!(page.console_errors().await, Vec::<String>::new());
    page.close().await;
}
