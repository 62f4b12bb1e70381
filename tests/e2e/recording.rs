//! Recordings that are dropped on the page: the same decoders, in the browser, with and without a hub.

use dialects::recording::RecordingReader;
use dialects::{DecodeOptions, decoder, detect};
use model::dialect::DECODED;
use model::{View, snapshot};
use serde_json::{Value, json};
use tests::browser::{DESKTOP, Screen};
use tests::recordings::fixtures;
use tests::wait::until;
use tests::{BrowserPage, TestHub};

use crate::screens::{PicturedView, pictured};

const DIALECT: &str = "return document.querySelector('[data-t=recording-dialect]')?.value ?? null";

/// Drops a file as the browser does.
pub(crate) async fn drop_file(page: &BrowserPage, name: &str, bytes: &[u8]) {
    let script = format!(
        "const files = new DataTransfer(); files.items.add(new File([new Uint8Array({})], {}));
         document.body.dispatchEvent(new DragEvent('drop', {{dataTransfer: files, bubbles: true, cancelable: true}}))",
        json!(bytes),
        json!(name)
    );
    page.run(&script).await;
}

fn native(dialect: &str, bytes: &[u8]) -> View {
    let mut recording =
        RecordingReader::new(decoder(dialect, DecodeOptions::default()).expect("it is known"));
    recording.feed(bytes, &mut |_| {});
    recording.end(&mut |_| {});
    recording.into_view()
}

#[tokio::test(flavor = "multi_thread")]
async fn i6_a_dropped_recording_of_any_dialect_shows_what_the_hub_would_show() {
    let hub = TestHub::start().await;
    let page = BrowserPage::open(DESKTOP).await;
    page.goto(&hub.url("/")).await;
    page.holds("return !!document.querySelector('[data-t=transcript]')").await;
    for dialect in DECODED {
        for path in fixtures(dialect) {
            let bytes = std::fs::read(&path).unwrap();
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            drop_file(&page, &name, &bytes).await;
            let shown = "return document.querySelector('[data-t=recording] .name')?.textContent";
            page.run_until(shown, |shown| shown == &Value::String(name.clone())).await;
            let told = detect(&bytes).unwrap_or_default();
            page.run_until(DIALECT, |it| it == told).await;
            if told != *dialect {
                let choose = format!(
                    "const it = document.querySelector('[data-t=recording-dialect]'); it.value = {};
                     it.dispatchEvent(new Event('change', {{bubbles: true}}))",
                    json!(dialect)
                );
                page.run(&choose).await;
                page.run_until(DIALECT, |it| it == dialect).await;
            }
            let hash = snapshot::hash(&native(dialect, &bytes));
            until(&format!("the view of {name} in {dialect}"), async || {
                Some(page.run("return window.fanlightViewHash()").await).filter(|it| *it == json!(hash))
            })
            .await;
        }
    }
    assert_eq!(page.console_errors().await, Vec::<String>::new());
    page.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn after_the_first_a_recording_needs_no_hub_and_makes_room_for_a_conversation_again() {
    let mut hub = TestHub::start().await;
    let mut publisher = hub.publisher("live").await;
    publisher.says(crate::scene::OPENING).await;
    let page = BrowserPage::open(Screen { dark: true, ..DESKTOP }).await;
    page.goto(&hub.url("/c/live")).await;
    page.text_until("transcript", |text| text.contains("revenue per region")).await;
    // The first one brings the decoder.
    drop_file(&page, "first.txt", b"buy milk\n").await;
    page.text_until("recording", |text| text.contains("choose one")).await;
    hub.kill().await;
    let path =
        fixtures("anthropic").into_iter().find(|path| path.ends_with("thinking-and-calls.sse")).unwrap();
    let bytes = std::fs::read(path).unwrap();
    drop_file(&page, "thinking-and-calls.sse", &bytes).await;
    let cards = "return document.querySelectorAll('[data-t=tool-card]').length";
    let calls = native("anthropic", &bytes).runs[0].tools.len();
    page.run_until(cards, |n| n == &json!(calls)).await;
    assert!(!page.text("transcript").await.contains("revenue per region"));
    pictured(&page, PicturedView::Recording).await;
    // Nothing tells what it is, until the reader does.
    drop_file(&page, "notes.txt", b"buy milk\n").await;
    page.run_until(DIALECT, |it| it == "").await;
    page.text_until("recording", |text| text.contains("choose one")).await;
    page.run("history.back()").await;
    page.text_until("transcript", |text| text.contains("revenue per region")).await;
    assert_eq!(page.run("return document.querySelectorAll('[data-t=recording]').length").await, json!(0));
    page.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_decoder_travels_with_the_first_recording_alone_and_comes_again_after_a_failure() {
    let mut hub = TestHub::start().await;
    let page = BrowserPage::open(DESKTOP).await;
    page.goto(&hub.url("/")).await;
    page.holds("return !!document.querySelector('[data-t=connection][data-state=live]')").await;
    let fetched =
        "return performance.getEntriesByType('resource').filter(it => it.name.includes('/decoder-')).length";
    assert_eq!(page.run(fetched).await, json!(0));
    hub.kill().await;
    let path = fixtures("openai-chat").into_iter().next().unwrap();
    let bytes = std::fs::read(path).unwrap();
    drop_file(&page, "stream.sse", &bytes).await;
    page.text_until("recording", |text| text.contains("cannot be loaded")).await;
    hub.start_again().await;
    drop_file(&page, "stream.sse", &bytes).await;
    page.run_until(DIALECT, |it| it == "openai-chat").await;
    assert!(page.run(fetched).await.as_u64().is_some_and(|n| n >= 2));
    page.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_filter_of_the_list_stays_in_the_address_beside_a_recording() {
    let hub = TestHub::start().await;
    hub.publisher("night").await.says(crate::scene::OPENING).await;
    let page = BrowserPage::open(DESKTOP).await;
    page.goto(&hub.url("/c/night?q=night")).await;
    page.text_until("transcript", |text| text.contains("revenue per region")).await;
    let path = fixtures("openai-chat").into_iter().next().unwrap();
    drop_file(&page, "stream.sse", &std::fs::read(path).unwrap()).await;
    page.run_until(DIALECT, |it| it == "openai-chat").await;
    page.run_until("return location.pathname + location.search", |it| it == "/?q=night").await;
    assert_eq!(page.run("return document.getElementById('filter').value").await, "night");
    page.run("history.back()").await;
    page.run_until("return location.pathname + location.search", |it| it == "/c/night?q=night").await;
    page.close().await;
}
