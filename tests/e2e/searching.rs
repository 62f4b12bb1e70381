//! The page `/search`: words and conditions in one field, hits by conversation, the ways to it and from it.

use serde_json::{Value, json};
use tests::browser::DESKTOP;
use tests::{BrowserPage, TestHub};

use crate::overview::yesterday;
use crate::screens::{PicturedView, pictured};

/// Which conversations have hits, in order.
const GROUPS: &str =
    "return [...document.querySelectorAll('[data-t=search-group]')].map(it => it.dataset.conversation)";

/// The kinds of the hits that are drawn.
const KINDS: &str = "return [...new Set([...document.querySelectorAll('[data-t=search-hit]')].map(it => it.dataset.kind))].sort()";

const TYPED: &str = "return document.getElementById('search-field')?.value ?? ''";

/// A hub with runs of the last day, all of whose texts are found.
async fn library(count: u64) -> TestHub {
    let hub = TestHub::start().await;
    yesterday(&hub, count).await;
    hub.json_until("/v1/search?q=region&limit=500", |it| {
        it["hits"].as_array().is_some_and(|hits| hits.len() as u64 >= count)
    })
    .await;
    hub
}

async fn types(page: &BrowserPage, text: &str) {
    page.devtools("Input.insertText", json!({"text": text})).await;
}

/// Replaces what is typed.
async fn search(page: &BrowserPage, text: &str) {
    let text = json!(text);
    page.run(&format!(
        "const it = document.getElementById('search-field'); it.value = {text}; it.dispatchEvent(new Event('input', {{bubbles: true}}))"
    ))
    .await;
}

/// Whether some names are those, in any order.
fn are(found: &Value, wanted: &[&str]) -> bool {
    let mut found: Vec<&str> = found.as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    found.sort_unstable();
    found == wanted
}

#[tokio::test(flavor = "multi_thread")]
async fn from_the_palette_by_keyboard_to_a_hit_to_its_moment_and_back() {
    let hub = library(6).await;
    let page = BrowserPage::open(DESKTOP).await;
    page.goto(&hub.url("/c/case-02")).await;
    page.holds("return document.querySelector('[data-t=connection]')?.dataset.state === 'live'").await;
    page.key("k", 75, 2).await;
    page.holds("return document.activeElement?.getAttribute('role') === 'combobox'").await;
    types(&page, "ledger region").await;
    let last = "return [...document.querySelectorAll('[data-t=option] .n')].at(-1)?.textContent ?? ''";
    page.run_until(last, |it| it == "Search all conversations for “ledger region”").await;
    page.key("ArrowUp", 38, 0).await;
    page.press("Enter").await;
    page.run_until("return location.pathname + location.search", |it| it == "/search?q=ledger%20region")
        .await;
    page.run_until(GROUPS, |it| it.as_array().is_some_and(|all| all.len() == 6)).await;
    page.text_until("search-summary", |text| text == "6 hits in 6 conversations").await;
    // The field has the focus; Enter goes to the hits, arrows walk through them, Escape goes back.
    page.holds("return document.activeElement?.id === 'search-field'").await;
    page.press("Enter").await;
    let place =
        "return [...document.querySelectorAll('[data-t=search-hit]')].indexOf(document.activeElement)";
    page.run_until(place, |at| at == 0).await;
    page.key("ArrowDown", 40, 0).await;
    page.key("ArrowDown", 40, 0).await;
    page.run_until(place, |at| at == 2).await;
    page.key("ArrowUp", 38, 0).await;
    page.run_until(place, |at| at == 1).await;
    let marked = "return [...document.activeElement.querySelectorAll('mark')].map(it => it.textContent)";
    page.run_until(marked, |it| are(it, &["ledger", "region"])).await;
    page.key("Escape", 27, 0).await;
    page.holds("return document.activeElement?.id === 'search-field'").await;
    page.key("ArrowDown", 40, 0).await;
    page.run_until(place, |at| at == 0).await;
    let wanted =
        page.run("return document.activeElement.closest('[data-conversation]').dataset.conversation").await;
    page.press("Enter").await;
    page.run_until("return location.pathname", |it| *it == format!("/c/{}", wanted.as_str().unwrap())).await;
    // The moment is shown, with the word marked.
    page.holds("return document.getElementById('find-word')?.value === 'ledger'").await;
    page.holds(
        "const part = document.querySelector('[data-t=answer]'), box = part?.getBoundingClientRect();
         return part?.innerText.includes('ledger') && box.bottom > 44 && box.top < innerHeight",
    )
    .await;
    page.run("history.back()").await;
    page.run_until(TYPED, |it| it == "ledger region").await;
    page.run_until(GROUPS, |it| it.as_array().is_some_and(|all| all.len() == 6)).await;
    // The browser says so of each page with a socket that it keeps for Back.
    let errors = page.console_errors().await;
    let own: Vec<&String> = errors.iter().filter(|error| !error.contains("Back-Forward Cache")).collect();
    assert_eq!(own, Vec::<&String>::new());
    page.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_search_is_narrowed_by_typing_and_by_controls_and_the_address_says_how() {
    let hub = library(14).await;
    let page = BrowserPage::open(DESKTOP).await;
    page.goto(&hub.url("/search")).await;
    page.text_until("search-hints", |text| text.contains("tool:run_sql")).await;
    search(&page, "select tool:run_sql").await;
    page.run_until(GROUPS, |it| are(it, &["case-00", "case-03", "case-06", "case-09", "case-12"])).await;
    page.run_until(KINDS, |it| are(it, &["arguments"])).await;
    // Controls show what is typed, and change it.
    let value = |name: &str| format!("return document.querySelector('[data-key={name}]').value");
    page.run_until(&value("tool"), |it| it == "run_sql").await;
    let choose = |name: &str, value: &str| {
        format!(
            "const it = document.querySelector('select[data-key={name}]'); it.value = '{value}'; it.dispatchEvent(new Event('change', {{bubbles: true}}))"
        )
    };
    page.run(&choose("state", "error")).await;
    page.run_until(TYPED, |it| it == "select tool:run_sql state:error").await;
    page.run_until(GROUPS, |it| are(it, &["case-00"])).await;
    page.run(&choose("time", "1h")).await;
    page.text_until("search-nothing", |text| text.contains("The filters leave some texts out")).await;
    page.run_until("return location.search", |it| {
        it == "?q=select%20tool%3Arun_sql%20state%3Aerror%20since%3A1h"
    })
    .await;
    page.reload().await;
    page.text_until("search-nothing", |text| text.contains("Search without filters")).await;
    page.run_until(&value("state"), |it| it == "error").await;
    // A button that goes with what it did leaves the focus to the field.
    let press =
        |button: &str| format!("document.querySelector('{button}').focus(); document.activeElement.click()");
    let in_field = "return document.activeElement?.id === 'search-field'";
    page.run(&press("[data-t=search-clear]")).await;
    page.run_until(TYPED, |it| it == "select").await;
    page.holds(in_field).await;
    page.run_until(GROUPS, |it| it.as_array().is_some_and(|all| all.len() == 14)).await;
    // One conversation alone.
    page.run(&press("[data-conversation=case-05] header .link")).await;
    page.run_until(GROUPS, |it| are(it, &["case-05"])).await;
    page.run_until(TYPED, |it| it == "select in:case-05").await;
    page.holds(in_field).await;
    page.run(&press(".removable[data-key=in]")).await;
    page.run_until(GROUPS, |it| it.as_array().is_some_and(|all| all.len() == 14)).await;
    page.holds(in_field).await;
    // Values are offered, and what is none is said.
    search(&page, "select agent:").await;
    let values = "return [...document.querySelectorAll('#search-values option')].map(it => it.value)";
    page.run_until(values, |it| it.to_string().contains("select agent:coder")).await;
    search(&page, "select state:silent").await;
    page.text_until("search-trouble", |text| text.starts_with("state:silent cannot be searched for")).await;
    search(&page, "select model:opus").await;
    page.text_until("search-odd", |text| text.starts_with("model: is a condition of lists")).await;
    search(&page, "state:error").await;
    page.text_until("search-summary", |text| text.starts_with("Type a word as well")).await;
    assert_eq!(page.console_errors().await, Vec::<String>::new());
    page.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn older_hits_are_asked_for_and_all_hits_of_a_conversation_are_unfolded() {
    let hub = library(3).await;
    let mut publisher = hub.publisher("many").await;
    publisher.says(r#"{"k":"run.start","run":"r","title":"Many answers"}"#).await;
    for n in 0..70 {
        let lines = [
            json!({"k": "part.start", "run": "r", "part": format!("p{n}"), "kind": "text"}),
            json!({"k": "part.delta", "run": "r", "part": format!("p{n}"), "text": format!("Region number {n}")}),
            json!({"k": "part.end", "run": "r", "part": format!("p{n}")}),
        ];
        publisher.says(&lines.map(|line| line.to_string()).join("\n")).await;
    }
    hub.json_until("/v1/search?q=region&limit=500", |it| {
        it["hits"].as_array().is_some_and(|it| it.len() >= 73)
    })
    .await;
    let page = BrowserPage::open(DESKTOP).await;
    page.goto(&hub.url("/search?q=region")).await;
    page.text_until("search-summary", |text| text == "50 hits in 1 conversation so far").await;
    let drawn = "return document.querySelectorAll('[data-t=search-hit]').length";
    page.run_until(drawn, |count| count == 5).await;
    page.text_until("search-more-of-one", |text| text == "45 more here").await;
    page.run("document.querySelector('[data-t=search-more-of-one]').focus(); document.activeElement.click()")
        .await;
    page.run_until(drawn, |count| count == 50).await;
    // The button is gone; the focus is on the first hit that it brought.
    let place =
        "return [...document.querySelectorAll('[data-t=search-hit]')].indexOf(document.activeElement)";
    page.run_until(place, |at| at == 5).await;
    page.text_until("search-rest", |text| text.contains("There are older hits.")).await;
    // A page of older hits that cannot be fetched is asked for again, and what was found stays.
    page.devtools("Network.enable", json!({})).await;
    page.devtools("Network.setBlockedURLs", json!({"urls": ["*/v1/search?*before=*"]})).await;
    page.run("document.querySelector('[data-t=search-on]').click()").await;
    page.text_until("search-trouble", |text| text.contains("Try again")).await;
    page.devtools("Network.setBlockedURLs", json!({"urls": []})).await;
    page.run("performance.clearResourceTimings()").await;
    page.run("document.querySelector('[data-t=search-again]').focus(); document.activeElement.click()").await;
    page.text_until("search-summary", |text| text == "73 hits in 4 conversations").await;
    let asked = "return performance.getEntriesByType('resource').filter(it => it.name.includes('/v1/search?')).map(it => it.name.includes('&before='))";
    assert_eq!(page.run(asked).await, json!([true]));
    page.holds("return document.querySelector('[data-t=search-rest]') === null").await;
    // What asked is gone; the focus is not lost with it.
    page.holds("return document.activeElement?.dataset.t === 'search-hit'").await;
    page.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hub_without_a_search_says_so_and_lists_lead_to_the_page() {
    let hub = TestHub::start_in_memory().await;
    hub.publisher("c").await.says(r#"{"k":"run.start","run":"r","title":"Nightly import"}"#).await;
    let page = BrowserPage::open(DESKTOP).await;
    page.goto(&hub.url("/search?q=needle")).await;
    page.text_until("search-trouble", |text| {
        text.contains("the log in memory is not searched")
            && text.contains("Try again")
            && !text.contains("/help")
    })
    .await;
    // What the help says of the code is a click away, in the documents of this hub.
    let help = page.run("return document.querySelector('[data-t=search-trouble] [data-t=help]').href").await;
    let (document, code) = help.as_str().and_then(|address| address.split_once('#')).unwrap();
    let text = reqwest::get(document).await.unwrap().text().await.unwrap();
    assert!(document.ends_with("/help/protocol") && text.contains(&format!("id=\"{code}\"")), "{help}");
    for (place, field) in [("/c/c", "filter"), ("/wall", "wall-filter"), ("/runs", "filter")] {
        page.goto(&hub.url(place)).await;
        page.holds(&format!("return !!document.getElementById('{field}')")).await;
        page.run(&format!(
            "const it = document.getElementById('{field}'); it.value = 'nightly'; it.dispatchEvent(new Event('input', {{bubbles: true}}))"
        ))
        .await;
        let link = "return document.querySelector('[data-t=search-texts]')?.getAttribute('href') ?? ''";
        page.run_until(link, |it| it == "/search?q=nightly").await;
        // The filter is in the address, so that it can be sent.
        page.run_until("return new URLSearchParams(location.search).get('q')", |it| it == "nightly").await;
        page.reload().await;
        page.run_until(&format!("return document.getElementById('{field}')?.value"), |it| it == "nightly")
            .await;
    }
    page.goto(&hub.url("/c/c?q=night")).await;
    page.run_until("return document.getElementById('filter')?.value", |it| it == "night").await;
    page.run("document.querySelector('.list [data-t=search-texts]').click()").await;
    page.run_until(TYPED, |it| it == "night").await;
    page.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_search_fits_every_screen_in_both_colours() {
    let hub = library(30).await;
    let page = BrowserPage::open(DESKTOP).await;
    let narrowed = "/search?q=region+since:2026-11-01+until:2026-11-30+is:archived+tag:prod+agent:coder";
    for (address, what, view) in [
        ("/search?q=region", "group] a", PicturedView::Search),
        ("/search", "hints]", PicturedView::SearchEmpty),
        (narrowed, "nothing]", PicturedView::SearchNothing),
    ] {
        page.goto(&hub.url(address)).await;
        page.holds(&format!("return !!document.querySelector('[data-t=search-{what}')")).await;
        pictured(&page, view).await;
    }
    assert_eq!(page.console_errors().await, Vec::<String>::new());
    page.close().await;
}
