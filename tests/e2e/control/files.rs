//! Files in a question: chosen, pasted, dropped; shown before they are sent and in the message.

use serde_json::{Value, json};
use tests::model::{answer, messages};
use tests::{BrowserPage, ScriptedServer};

use super::{close, hub_with_agents, open, say, shows, types};
use crate::screens::{PicturedView, pictured};

/// A picture of one pixel.
const PIXEL: &str =
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg==";

/// Makes `files`, a list of files in JavaScript, come to the page by `way`.
async fn bring(page: &BrowserPage, files: &str, way: &str) {
    let pixel = format!("Uint8Array.from(atob('{PIXEL}'), sign => sign.charCodeAt(0))");
    let script = format!(
        "const pixel = {pixel}; const brought = new DataTransfer(); for (const file of {files}) brought.items.add(file); {way}; return null"
    );
    page.run(&script).await;
}

const CHOOSE: &str = "const input = document.querySelector('[data-t=attach-file]'); input.files = brought.files; \
    input.dispatchEvent(new Event('change', {bubbles: true}))";
const PASTE: &str = "document.getElementById('composer').dispatchEvent(new ClipboardEvent('paste', \
    {clipboardData: brought, bubbles: true, cancelable: true}))";
const DROP: &str = "const place = document.querySelector('form.composer').getBoundingClientRect(); \
    document.dispatchEvent(new DragEvent('drop', {dataTransfer: brought, bubbles: true, cancelable: true, \
    clientX: place.left + 20, clientY: place.top + 20}))";

/// Waits until so many files are attached.
async fn attached(page: &BrowserPage, count: usize) {
    page.holds(&format!("return document.querySelectorAll('[data-t=attached]').length === {count}")).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn files_are_chosen_pasted_dropped_and_shown_before_and_after_they_are_sent() {
    let origin = ScriptedServer::start(|_| answer("A pixel and some code.")).await;
    let hub = hub_with_agents(&origin, &["helper"]).await;
    let page = open(&hub, "/new").await;
    bring(&page, "[new File([pixel], 'a.png', {type: 'image/png'})]", CHOOSE).await;
    attached(&page, 1).await;
    page.holds("return document.querySelector('[data-t=attached] img')?.naturalWidth === 1").await;
    bring(&page, "[new File(['fn main() {}'], 'main.rs', {type: ''})]", PASTE).await;
    attached(&page, 2).await;
    bring(&page, "[new File(['PK\\x00'], 'a.zip', {type: 'application/zip'})]", DROP).await;
    page.text_until("not-attached", |text| text.contains("a.zip")).await;
    bring(&page, "[new File(['x'], 'gone.txt', {type: 'text/plain'})]", DROP).await;
    attached(&page, 3).await;
    pictured(&page, PicturedView::Attached).await;
    page.run("document.querySelectorAll('[data-t=attached] button')[2].click(); return null").await;
    attached(&page, 2).await;

    page.run("document.getElementById('composer').focus(); return null").await;
    types(&page, "What are these?").await;
    page.run("document.querySelector('[data-t=send]').click(); return null").await;
    shows(&page, "A pixel and some code.").await;
    attached(&page, 0).await;
    page.holds("return document.querySelectorAll('[data-t=message-file]').length === 2").await;
    page.holds("return document.querySelector('[data-t=message-file] img')?.naturalWidth === 1").await;
    page.holds("return !document.querySelector('[data-t=unheard]')").await;
    pictured(&page, PicturedView::Sent).await;
    let said = messages(&origin.asked()[0]).pop().unwrap();
    let kinds: Vec<_> = said["content"].as_array().unwrap().iter().map(|part| part["type"].clone()).collect();
    assert_eq!(kinds, [json!("text"), json!("image_url"), json!("text")]);
    assert_eq!(said["content"][2]["text"], "[file: main.rs]\nfn main() {}");

    // Everybody else sees them too, and after a reload.
    page.reload().await;
    page.holds("return document.querySelector('[data-t=message-file] img')?.naturalWidth === 1").await;
    say(&page, "And now?").await;
    page.holds("return document.querySelectorAll('.user:not(.unheard)').length === 2").await;
    close(page).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_question_that_is_refused_comes_back_with_its_files() {
    let origin = ScriptedServer::start(|_| answer("Never.")).await;
    let hub = hub_with_agents(&origin, &["helper"]).await;
    let page = open(&hub, "/c/c").await;
    bring(&page, "[new File([pixel], 'a.png', {type: 'image/png'})]", CHOOSE).await;
    attached(&page, 1).await;
    // The hub is asked for an agent that it does not have.
    let post = "const real = window.fetch; window.fetch = (path, init) => real(path, init && init.body ? \
        {...init, body: init.body.replace('\"agent\":\"helper\"', '\"agent\":\"nobody\"')} : init); return null";
    page.run(post).await;
    page.run("document.getElementById('composer').focus(); return null").await;
    types(&page, "What is it?").await;
    page.run("document.querySelector('[data-t=send]').click(); return null").await;
    page.text_until("trouble", |text| text.contains("nobody")).await;
    attached(&page, 1).await;
    let draft = page.run("return document.getElementById('composer').value").await;
    assert_eq!(draft, Value::from("What is it?"));
    page.close().await;
}
