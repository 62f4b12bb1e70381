//! All conversations at once.

use serde_json::json;
use tests::BrowserPage;
use tests::browser::{DESKTOP, Screen};

use crate::scene::{ANSWER, CALLS, OPENING, THINKING, hub_and_publisher};

/// Presses a key that writes nothing.
async fn key(page: &BrowserPage, key: &str, code: u32) {
    for kind in ["rawKeyDown", "keyUp"] {
        let event = json!({"type": kind, "key": key, "windowsVirtualKeyCode": code});
        page.devtools("Input.dispatchKeyEvent", event).await;
    }
}

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
    key(&page, "ArrowDown", 40).await;
    key(&page, "ArrowRight", 39).await;
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
    key(&page, "Escape", 27).await;
    page.run_until("return location.pathname", |path| path == "/c/two").await;
    assert_eq!(page.console_errors().await, Vec::<String>::new());
    page.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn more_than_24_tiles_come_in_pages_and_fit_every_screen() {
    let (hub, mut publisher) = hub_and_publisher("quarterly-report").await;
    for lines in [OPENING, THINKING, CALLS, ANSWER] {
        publisher.says(lines).await;
    }
    for n in 0..26 {
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
    for (name, screen) in [("light", DESKTOP), ("dark", Screen { dark: true, ..DESKTOP }), ("narrow", narrow)]
    {
        let page = BrowserPage::open(screen).await;
        page.goto(&hub.url("/wall")).await;
        page.run_until("return document.querySelectorAll('[data-t=tile]').length", |n| n == &json!(24)).await;
        let small = "return [...document.querySelectorAll('[data-t=tile]')].filter(it => it.offsetHeight < 168 || it.offsetWidth < 320).length";
        assert_eq!(page.run(small).await, json!(0), "{name}");
        page.screenshot(&format!("wall-{name}")).await;
        let overflow = page.run("return document.documentElement.scrollWidth - window.innerWidth").await;
        assert!(overflow.as_i64().unwrap() <= 0, "{name} scrolls sideways by {overflow} px");
        page.run("[...document.querySelectorAll('[data-t=pager] button')].at(-1).click()").await;
        page.run_until("return document.querySelectorAll('[data-t=tile]').length", |n| n == &json!(3)).await;
        assert_eq!(page.console_errors().await, Vec::<String>::new(), "{name}");
        page.close().await;
    }
}
