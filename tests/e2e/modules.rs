//! The modules of the page: what the first list costs, what is fetched behind it, and what is said when a part cannot be fetched.

use serde_json::json;
use tests::browser::DESKTOP;
use tests::{BrowserPage, TestHub};

use crate::scene::{ANSWER, CALLS, OPENING, hub_and_publisher};
use crate::screens::{PicturedView, pictured};

/// Most bytes that travel before the list is shown: scripts, WebAssembly.
const FIRST_LIST_BYTES: u64 = 350 << 10;

/// The modules, by the names of their files.
const MODULES: usize = 10;

const ROWS: &str = "[...document.querySelectorAll('[data-t=timeline-group]')]";

/// What the browser fetched whose name begins so.
fn fetched(begin: &str) -> String {
    format!(
        "performance.getEntriesByType('resource').filter(it => new URL(it.name).pathname.startsWith('/{begin}'))"
    )
}

#[tokio::test(flavor = "multi_thread")]
async fn first_list_travels_within_its_budget_and_the_rest_is_fetched_behind_it() {
    let hub = TestHub::start_in_memory().await;
    let page = BrowserPage::open(DESKTOP).await;
    page.goto(&hub.url("/wall")).await;
    page.holds("return !!document.querySelector('[data-t=connection][data-state=live]')").await;
    let sizes = format!("[...{}, ...{}, ...{}]", fetched("fanlight-"), fetched("page-"), fetched("boot-"));
    let bytes = page.run(&format!("return {sizes}.reduce((sum, it) => sum + it.encodedBodySize, 0)")).await;
    let bytes = bytes.as_u64().unwrap();
    assert!((200 << 10..=FIRST_LIST_BYTES).contains(&bytes), "{bytes} bytes for the first list");
    // Nobody clicks anything.
    page.run_until(&format!("return {}.length", fetched("module-")), |n| n == &json!(MODULES)).await;
    assert_eq!(page.console_errors().await, Vec::<String>::new());
    page.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_part_that_cannot_be_fetched_says_so_and_is_drawn_when_it_can() {
    let (hub, mut publisher) = hub_and_publisher("c").await;
    let head = publisher.says_all(&[OPENING, CALLS, ANSWER]).await;
    let page = BrowserPage::open(DESKTOP).await;
    page.devtools("Network.enable", json!({})).await;
    page.devtools("Network.setBlockedURLs", json!({"urls": ["*/module-timeline-*"]})).await;
    page.goto(&hub.url("/c/c")).await;
    page.painted(head).await;
    page.press("t").await;
    page.holds("return !!document.querySelector('[data-t=module-missing] [data-t=module-reload]')").await;
    pictured(&page, PicturedView::ModuleMissing).await;
    let again = "document.querySelector('[data-t=module-missing] [data-t=module-again]').click()";
    page.run(again).await;
    page.holds("return !!document.querySelector('[data-t=module-missing]')").await;
    page.devtools("Network.setBlockedURLs", json!({"urls": []})).await;
    page.run(again).await;
    page.holds(&format!("return {ROWS}.length > 0")).await;
    assert_eq!(page.run("return !!document.querySelector('[data-t=module-missing]')").await, json!(false));
    page.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_conversation_whose_part_cannot_be_fetched_leaves_the_list_usable() {
    let (hub, mut publisher) = hub_and_publisher("c").await;
    publisher.says_all(&[OPENING, CALLS, ANSWER]).await;
    let page = BrowserPage::open(DESKTOP).await;
    page.devtools("Network.enable", json!({})).await;
    page.devtools("Network.setBlockedURLs", json!({"urls": ["*/module-conversation-*"]})).await;
    page.goto(&hub.url("/c/c")).await;
    page.holds("return !!document.querySelector('#transcript [data-t=module-missing]')").await;
    page.holds("return document.querySelectorAll('a[href=\"/c/c\"]').length > 0").await;
    page.screenshot("module-missing-conversation").await;
    page.devtools("Network.setBlockedURLs", json!({"urls": []})).await;
    page.run("document.querySelector('#transcript [data-t=module-again]').click()").await;
    page.holds("return document.querySelectorAll('#transcript [data-t=answer]').length > 0").await;
    page.close().await;
}

/// Notes what time limits the page asks for, and ends them when the test says so instead of after minutes.
const CLOCK: &str = "window.limits = [];
    AbortSignal.timeout = (ms) => {
      const limit = new AbortController();
      window.limits.push({ ms, pass: () => limit.abort(new DOMException('signal timed out', 'TimeoutError')) });
      return limit.signal;
    };";

#[tokio::test(flavor = "multi_thread")]
async fn i7_a_part_whose_connection_stalls_is_given_up_after_two_minutes_and_said_to_be_missing() {
    let (hub, mut publisher) = hub_and_publisher("c").await;
    let head = publisher.says_all(&[OPENING, CALLS, ANSWER]).await;
    let page = BrowserPage::open(DESKTOP).await;
    page.devtools("Page.addScriptToEvaluateOnNewDocument", json!({"source": CLOCK})).await;
    // Nobody lets the requests that are paused go on.
    page.devtools("Fetch.enable", json!({"patterns": [{"urlPattern": "*/module-timeline-*"}]})).await;
    page.goto(&hub.url("/c/c")).await;
    page.painted(head).await;
    page.press("t").await;
    page.holds("return !!document.querySelector('.at-time[data-t=module-wait]')").await;
    assert_eq!(page.run("return [...new Set(window.limits.map(it => it.ms))]").await, json!([120_000]));
    page.run("window.limits.forEach(it => it.pass())").await;
    page.text_until("module-missing", |text| text.contains("could not be loaded")).await;
    page.devtools("Fetch.disable", json!({})).await;
    page.run("document.querySelector('[data-t=module-missing] [data-t=module-again]').click()").await;
    page.holds(&format!("return {ROWS}.length > 0")).await;
    page.close().await;
}
