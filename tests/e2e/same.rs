//! I6: the same events give the same view in the browser (WASM) and in the hub (native), whatever the events.

use std::sync::Arc;

use model::Envelope;
use model::testkit::history;
use proptest::strategy::{Strategy as _, ValueTree as _};
use proptest::test_runner::TestRunner;
use tests::browser::DESKTOP;
use tests::{BrowserPage, TestHub};

/// How many random histories, and how many events in each.
const HISTORIES: usize = 12;
const EVENTS: usize = 250;

fn as_lines(history: &[Arc<Envelope>]) -> String {
    history
        .iter()
        .map(|envelope| serde_json::to_string(&**envelope).expect("an event can be written") + "\n")
        .collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn i6_random_histories_have_the_same_view_in_the_browser() {
    let hub = TestHub::start().await;
    let page = BrowserPage::open(DESKTOP).await;
    let mut runner = TestRunner::deterministic();
    for number in 0..HISTORIES {
        let conversation = format!("random-{number}");
        let lines = as_lines(&history(EVENTS).new_tree(&mut runner).unwrap().current());
        let mut publisher = hub.publisher(&conversation).await;
        // The first half is there before the page: it comes as a snapshot. The second half comes as events.
        let half = lines.lines().count() / 2;
        let (before, after): (Vec<_>, Vec<_>) = lines.lines().enumerate().partition(|(line, _)| *line < half);
        let text =
            |part: Vec<(usize, &str)>| part.into_iter().map(|(_, line)| line).collect::<Vec<_>>().join("\n");
        publisher.says(&text(before)).await;
        page.goto(&hub.url(&format!("/c/{conversation}"))).await;
        page.holds("return !!document.querySelector('[data-t=transcript]')").await;
        page.holds("return window.fanlightViewHash !== undefined").await;
        let head = publisher.says(&text(after)).await.seq;
        let expected = hub.view_hash(&conversation).await;
        page.painted(head).await;
        assert_eq!(page.run("return window.fanlightViewHash()").await, expected, "history {number}");
    }
    assert_eq!(page.console_errors().await, Vec::<String>::new());
    page.close().await;
}
