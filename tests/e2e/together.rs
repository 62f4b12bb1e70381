//! The main job: a stream replayed at its pace while two browsers and a terminal watch. All see the same.

use tests::browser::{DESKTOP, Screen};
use tests::recordings::{fixtures, recordings};
use tests::wait::within;
use tests::{BrowserPage, TestHub};

#[tokio::test(flavor = "multi_thread")]
async fn rule_8_two_browsers_and_a_terminal_see_the_same_of_replayed_streams() {
    let hub = TestHub::start().await;
    let dark = Screen { dark: true, ..DESKTOP };
    let (first, second) = (BrowserPage::open(DESKTOP).await, BrowserPage::open(dark).await);
    for (dialect, folder) in [("openai-chat", "openai-chat"), ("anthropic", "anthropic-messages")] {
        let files: Vec<_> = recordings(folder).into_iter().chain(fixtures(dialect)).collect();
        let file = files.iter().max_by_key(|file| file.metadata().unwrap().len().min(60_000)).unwrap();
        let conversation = format!("replayed-{dialect}");
        for page in [&first, &second] {
            page.goto(&hub.url(&format!("/c/{conversation}"))).await;
            page.holds("return !!document.querySelector('[data-t=transcript]')").await;
        }
        let terminal = hub.tail(&conversation, &[]);
        hub.replay(file, dialect, &conversation, "10").await;
        let summary = hub.summary(&conversation).await;
        let head = summary["events"].as_u64().unwrap();
        for page in [&first, &second] {
            page.painted(head).await;
        }
        // The same view as the hub's, computed by the same fold in the browser (I6).
        let expected = hub.view_hash(&conversation).await;
        for page in [&first, &second] {
            page.holds(&format!("return window.fanlightViewHash?.() === '{expected}'")).await;
        }
        assert_eq!(first.text("answer").await, second.text("answer").await);
        let printed = within("the terminal", terminal.wait_with_output()).await.unwrap();
        assert!(printed.status.success() && !printed.stdout.is_empty());
        first.screenshot(&format!("replayed-{dialect}-light")).await;
        second.screenshot(&format!("replayed-{dialect}-dark")).await;
        assert_eq!(first.console_errors().await, Vec::<String>::new());
    }
    first.close().await;
    second.close().await;
}
