//! Finding, links, the palette and the other keys.

use serde_json::json;
use tests::BrowserPage;
use tests::browser::DESKTOP;

use crate::scene::{ANSWER, CALLS, OPENING, THINKING, hub_and_publisher};
use crate::screens::{PicturedView, pictured};

mod asked; // when Find has the focus, and when it marks

/// Types into what has the focus.
async fn types(page: &BrowserPage, text: &str) {
    page.devtools("Input.insertText", json!({"text": text})).await;
}

const HITS: &str = "return [...document.querySelectorAll('[data-t=hit]')].map(it => it.dataset.kind)";

#[tokio::test(flavor = "multi_thread")]
async fn a_word_is_found_everywhere_also_while_it_streams_and_a_click_shows_it() {
    let (hub, mut publisher) = hub_and_publisher("c").await;
    let head = publisher.says_all(&[OPENING, THINKING, CALLS]).await;
    let page = BrowserPage::open(DESKTOP).await;
    page.goto(&hub.url("/c/c")).await;
    page.painted(head).await;
    page.press("/").await;
    page.holds("return document.activeElement?.id === 'find-word'").await;
    types(&page, "REGION").await;
    let kinds = ["message", "thinking", "thinking", "arguments", "arguments", "arguments", "arguments"];
    page.run_until(HITS, |hits| hits.as_array().is_some_and(|hits| hits.len() >= 5)).await;
    let hits = page.run(HITS).await;
    assert!(hits.as_array().unwrap().iter().all(|hit| kinds.contains(&hit.as_str().unwrap())), "{hits}");
    let before = hits.as_array().unwrap().clone();
    publisher.says(ANSWER).await;
    let grown = page.run_until(HITS, |hits| hits.as_array().is_some_and(|it| it.len() > before.len())).await;
    assert_eq!(&grown.as_array().unwrap()[..before.len()], before.as_slice(), "the list only grows");
    page.text_until("found", |text| text.contains("answer") && text.contains("thinking")).await;
    pictured(&page, PicturedView::Find).await;
    // A hit in arguments opens its card and brings it into view.
    page.run("[...document.querySelectorAll('[data-t=hit]')].filter(it => it.dataset.kind === 'arguments').at(-1).click()")
        .await;
    page.holds(
        "const card = document.querySelector('[data-t=tool-card][data-call=t4]'), box = card?.getBoundingClientRect();
         return card?.querySelector('button').getAttribute('aria-expanded') === 'true' && box.top > 44 && box.top < innerHeight",
    )
    .await;
    assert_eq!(page.console_errors().await, Vec::<String>::new());
    page.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn other_conversations_are_searched_and_a_link_goes_to_the_very_place() {
    let (hub, mut publisher) = hub_and_publisher("old").await;
    for lines in [OPENING, THINKING, CALLS, ANSWER] {
        publisher.says(lines).await;
    }
    publisher.says(r#"{"k":"run.end","run":"r","status":"complete"}"#).await;
    let mut other = hub.publisher("new").await;
    other.says(r#"{"k":"run.start","run":"n"}"#).await;
    let page = BrowserPage::open(DESKTOP).await;
    page.goto(&hub.url("/c/new?find=expired")).await;
    page.holds("return document.getElementById('find-word')?.value === 'expired'").await;
    let link = "return document.querySelector('[data-t=other-hit]')?.getAttribute('href') ?? ''";
    page.run_until(link, |link| link.as_str().is_some_and(|it| it.starts_with("/c/old?run=r&tool=t2"))).await;
    page.run("document.querySelector('[data-t=other-hit]').click()").await;
    page.run_until("return location.pathname", |path| path == "/c/old").await;
    let in_view = "const card = document.querySelector('[data-t=tool-card][data-call=t2]'), box = card?.getBoundingClientRect();
         return card?.querySelector('button').getAttribute('aria-expanded') === 'true' && box.top > 44 && box.top < innerHeight";
    page.holds(in_view).await;
    // The address alone is enough, for another browser too.
    let another = BrowserPage::open(DESKTOP).await;
    another.goto(&hub.url("/c/old?level=Steps&run=r&tool=t2")).await;
    another.holds(in_view).await;
    // A place is gone from the address once it is shown; a reload goes where the reader is then.
    another.holds("return !/run=|tool=/.test(location.search)").await;
    another.close().await;
    page.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_address_holds_what_is_looked_at() {
    let (hub, mut publisher) = hub_and_publisher("c").await;
    let head = publisher.says_all(&[OPENING, THINKING, CALLS]).await;
    let page = BrowserPage::open(DESKTOP).await;
    page.goto(&hub.url("/c/c?level=All&find=sales")).await;
    page.painted(head).await;
    let says = |name: &str| format!("return new URLSearchParams(location.search).get('{name}')");
    let level = "return document.querySelector('.seg [aria-pressed=true]').textContent";
    page.run_until(level, |level| level == "All").await;
    page.run_until(&says("level"), |level| level == "All").await;
    page.run("document.activeElement.blur()").await;
    page.press("1").await;
    page.run_until(&says("level"), |level| level == "Answer").await;
    page.run_until(&says("find"), |word| word == "sales").await;
    page.run("const it = document.getElementById('find-word'); it.value = 'region'; it.dispatchEvent(new Event('input', {bubbles: true}))").await;
    page.run_until(&says("find"), |word| word == "region").await;
    page.reload().await;
    page.painted(head).await;
    page.run_until(level, |level| level == "Answer").await;
    page.run_until("return document.getElementById('find-word')?.value", |word| word == "region").await;
    page.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn commands_are_found_by_a_few_letters_and_settings_stay() {
    let (hub, mut publisher) = hub_and_publisher("c").await;
    let head = publisher.says(OPENING).await.seq;
    hub.publisher("nightly-import").await.says(OPENING).await;
    let page = BrowserPage::open(DESKTOP).await;
    page.goto(&hub.url("/c/c")).await;
    page.painted(head).await;
    page.key("k", 75, 2).await;
    page.holds("return document.activeElement?.getAttribute('role') === 'combobox'").await;
    types(&page, "sett").await;
    let first = "return document.querySelector('[data-t=option] .n')?.textContent";
    page.run_until(first, |it| it == "Settings").await;
    pictured(&page, PicturedView::Palette).await;
    page.key("Enter", 13, 0).await;
    page.run("document.querySelector('[data-setting=theme-dark]').click()").await;
    page.run("document.querySelector('[data-setting=contrast-more]').click()").await;
    page.screenshot("settings-dark-contrast").await;
    page.key("Escape", 27, 0).await;
    page.holds("return !document.querySelector('[data-t=dialog]')").await;
    page.reload().await;
    page.holds(
        "const it = document.documentElement.dataset; return it.theme === 'dark' && it.contrast === 'more'",
    )
    .await;
    // Conversations are there too.
    page.painted(head).await;
    page.key("k", 75, 2).await;
    page.holds("return document.activeElement?.getAttribute('role') === 'combobox'").await;
    types(&page, "quarterly").await;
    page.holds("return document.querySelectorAll('[data-t=option]').length >= 2").await;
    page.key("Escape", 27, 0).await;
    page.holds("return !document.querySelector('[data-t=palette]')").await;
    page.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn everything_has_a_key_and_the_keys_are_explained() {
    let (hub, mut publisher) = hub_and_publisher("c").await;
    let head = publisher.says_all(&[OPENING, THINKING, CALLS]).await;
    let page = BrowserPage::open(DESKTOP).await;
    page.goto(&hub.url("/c/c")).await;
    page.painted(head).await;
    let focused = "return document.activeElement?.closest('[data-call]')?.dataset.call ?? ''";
    page.press("e").await;
    page.run_until(focused, |call| call == "t2").await;
    page.press("r").await;
    page.run_until(focused, |call| call == "t3").await;
    page.press("o").await;
    let open = "return document.querySelector('[data-call=t3] > button').getAttribute('aria-expanded')";
    page.run_until(open, |open| open == "true").await;
    page.press("?").await;
    page.holds("return document.querySelectorAll('[data-t=dialog] dt').length >= 20").await;
    page.key("Escape", 27, 0).await;
    page.press("g").await;
    page.press("e").await;
    page.run_until("return document.querySelector('[data-export=md]')?.getAttribute('href') ?? ''", |href| {
        href == "/v1/conversations/c/export/md"
    })
    .await;
    page.close().await;
}

/// Looks for `word` instead of what was looked for.
async fn looks_for(page: &BrowserPage, word: &str) {
    page.run("const it = document.getElementById('find-word'); it.focus(); it.select()").await;
    types(page, word).await;
    page.holds(&format!("return document.getElementById('find-word').value === {}", json!(word))).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hit_is_marked_where_it_stands_whatever_hid_it() {
    let (hub, mut publisher) = hub_and_publisher("c").await;
    publisher.says(OPENING).await;
    let calls = [
        ("t1", json!({"path": "needle-arg"}), json!({"a": {"b": {"c": {"d": ["needle-deep"]}}}})),
        ("t2", json!({"path": "/var"}), json!(format!("{}needle-late", "a line of a log\n".repeat(200)))),
    ];
    let mut head = 0;
    for (name, arguments, output) in calls {
        let call = json!({"k": "tool.call", "run": "r", "tool": name, "name": "read", "arguments": arguments.to_string()});
        let result = json!({"k": "tool.result", "run": "r", "tool": name, "output": output, "exec_ms": 5});
        head = publisher.says(&format!("{call}\n{result}")).await.seq;
    }
    let page = BrowserPage::open(DESKTOP).await;
    page.goto(&hub.url("/c/c")).await;
    page.painted(head).await;
    page.press("/").await;
    page.holds("return document.activeElement?.id === 'find-word'").await;
    for (word, kind, call, tab) in [
        ("needle-deep", "result", "t1", "Output"),
        ("needle-arg", "arguments", "t1", "Input"),
        ("needle-late", "result", "t2", "Output"),
    ] {
        looks_for(&page, word).await;
        page.run_until(HITS, |hits| hits == &json!([kind])).await;
        page.run("document.querySelector('[data-t=hit]').click()").await;
        // The very word is marked in the open side of the card, and can be seen in its box.
        page.holds(&format!(
            "const body = document.querySelector('[data-t=tool-card][data-call={call}] .body'), box = body?.querySelector('.pre')?.getBoundingClientRect();
             const marks = [...(CSS.highlights.get('find') ?? [])].filter(it => body?.contains(it.startContainer));
             const mark = marks[0]?.getBoundingClientRect(), tab = body?.querySelector('[role=tab][aria-selected=true]')?.textContent;
             return tab === '{tab}' && marks.length === 1 && marks[0].toString() === '{word}' && mark.top >= box.top && mark.bottom <= box.bottom
                && mark.top >= 44 && mark.bottom <= innerHeight"
        ))
        .await;
    }
    // Its own form is one click away.
    looks_for(&page, "needle-deep").await;
    page.run_until(HITS, |hits| hits == &json!(["result"])).await;
    page.run("document.querySelector('[data-t=hit]').click()").await;
    page.holds("return !!document.querySelector('[data-call=t1] [data-t=own-form]')").await;
    page.run("document.querySelector('[data-call=t1] [data-t=own-form]').click()").await;
    page.holds("return !!document.querySelector('[data-call=t1] [data-t=json]')").await;
    // Nothing is marked any more when nothing is looked for.
    looks_for(&page, "n").await;
    page.holds("return !CSS.highlights.has('find')").await;
    page.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hit_over_two_coloured_stretches_of_code_is_marked_whole() {
    let (hub, mut publisher) = hub_and_publisher("c").await;
    let head = publisher.says_all(&[OPENING, ANSWER]).await;
    let page = BrowserPage::open(DESKTOP).await;
    page.goto(&hub.url("/c/c")).await;
    page.painted(head).await;
    page.holds("return document.querySelector('.ans .code pre .kw')?.textContent === 'select'").await;
    page.press("/").await;
    page.holds("return document.activeElement?.id === 'find-word'").await;
    types(&page, "select region, sum").await;
    page.run_until(HITS, |hits| hits == &json!(["answer"])).await;
    page.holds(
        "const marks = [...(CSS.highlights.get('find') ?? [])];
         return marks.length === 1 && marks[0].toString() === 'select region, sum' && marks[0].startContainer !== marks[0].endContainer
            && marks[0].startContainer.parentElement.className === 'kw'",
    )
    .await;
    // Loaded with the word, its code is coloured no less.
    page.goto(&hub.url("/c/c?find=select%20region")).await;
    page.painted(head).await;
    page.holds(
        "const mark = [...(CSS.highlights.get('find') ?? [])].find(it => it.toString() === 'select region');
         return document.querySelector('.ans .code pre .kw')?.textContent === 'select' && mark?.startContainer.parentElement.className === 'kw'",
    )
    .await;
    page.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pattern_finds_too_and_a_wrong_one_says_so() {
    let (hub, mut publisher) = hub_and_publisher("c").await;
    let head = publisher.says_all(&[OPENING, THINKING, CALLS]).await;
    let page = BrowserPage::open(DESKTOP).await;
    page.goto(&hub.url("/c/c")).await;
    page.painted(head).await;
    page.press("/").await;
    page.holds("return document.activeElement?.id === 'find-word'").await;
    looks_for(&page, "token (expired|renewed) at \\d{4}-").await;
    page.text_until("found", |text| text == "Not found in this conversation").await;
    page.run("document.querySelector('[data-t=pattern]').click()").await;
    page.run_until(HITS, |hits| hits == &json!(["result"])).await;
    page.text_until("not-elsewhere", |text| text == "Not searched. Patterns are for this conversation only.")
        .await;
    page.run_until("return document.querySelector('[data-t=hit] mark').textContent", |it| {
        it == "token expired at 2026-"
    })
    .await;
    page.run("document.querySelector('[data-t=hit]').click()").await;
    page.holds("return [...(CSS.highlights.get('find') ?? [])].some(it => it.startContainer.parentElement.closest('[data-call=t2] .body'))")
        .await;
    looks_for(&page, "(expired").await;
    page.text_until("found", |text| text.starts_with("Not a valid pattern: ")).await;
    page.run_until(HITS, |hits| hits == &json!([])).await;
    assert_eq!(page.console_errors().await, Vec::<String>::new());
    page.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hub_that_does_not_search_says_itself_why() {
    let hub = tests::TestHub::start_in_memory().await;
    let head = hub.publisher("c").await.says_all(&[OPENING, CALLS]).await;
    let page = BrowserPage::open(DESKTOP).await;
    page.goto(&hub.url("/c/c?find=revenue")).await;
    page.painted(head).await;
    page.text_until("not-elsewhere", |text| {
        text.starts_with("Not searched. The hub says: the log in memory is not searched")
            && text.contains("Help")
    })
    .await;
    // A pattern travels with the link.
    page.goto(&hub.url("/c/c?find=sum.net&pattern=1")).await;
    page.run_until(HITS, |hits| hits == &json!(["arguments"])).await;
    page.close().await;
}
