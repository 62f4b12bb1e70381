//! A page with the AI SDK's `useChat`, in a real browser and on an origin of its own, asks an agent of the hub.

use std::path::Path;

use serde_json::{Value, json};
use tests::browser::DESKTOP;
use tests::raw::RawMessage;
use tests::wait::patiently;
use tests::{BrowserPage, ScriptedServer, ServerStep, TestHub};

use tests::installed;

use crate::asks::{FOLDER, answer, settings};

/// The page, built.
async fn build() -> Vec<u8> {
    let place = tempfile::tempdir().unwrap();
    let page = place.path().join("chat.jsx");
    std::fs::copy(Path::new(FOLDER).join("chat.jsx"), &page).unwrap();
    std::os::unix::fs::symlink(installed::node_modules(), place.path().join("node_modules")).unwrap();
    let mut esbuild = installed::node();
    esbuild
        .arg(installed::node_modules().join("esbuild/bin/esbuild"))
        .arg("chat.jsx")
        .current_dir(place.path());
    esbuild.args([
        "--bundle",
        "--format=esm",
        "--jsx=automatic",
        "--define:process.env.NODE_ENV=\"production\"",
    ]);
    let built = patiently("the page", esbuild.kill_on_drop(true).output()).await.unwrap();
    assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
    built.stdout
}

/// Serves the page.
async fn serve() -> ScriptedServer {
    let script = build().await;
    ScriptedServer::start(move |asked: &RawMessage| {
        let (kind, body) = if asked.start.contains("/chat.js") {
            ("text/javascript", script.clone())
        } else {
            let page = "<!doctype html><div id=root></div><script type=module src=/chat.js></script>";
            ("text/html", page.as_bytes().to_vec())
        };
        ServerStep::answer("200 OK", &[("content-type", kind)], &body)
    })
    .await
}

/// What the page shows of the last answer, once it is as `wanted`.
async fn shows(page: &BrowserPage, wanted: &str) {
    let script = "const all = document.querySelectorAll('section.assistant'); \
        return [document.querySelector('main')?.dataset.status, all[all.length - 1]?.innerText.replaceAll('\\n', ' ') ?? ''].join(': ')";
    page.run_until(script, |shown| {
        shown.as_str().is_some_and(|shown| shown.split_whitespace().eq(wanted.split_whitespace()))
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_page_with_use_chat_asks_an_agent() {
    let (model, pages) = (ScriptedServer::start(answer).await, serve().await);
    let place = tempfile::tempdir().unwrap();
    let file = place.path().join("fanlight.toml");
    std::fs::write(&file, settings(&model)).unwrap();
    let origin = format!("http://{}", pages.address());
    let hub = TestHub::start_with(&["--config", file.to_str().unwrap(), "--origin", &origin]).await;
    let page = BrowserPage::open(DESKTOP).await;
    let url = |chat: &str, more: &str| format!("{origin}/?hub={}&chat={chat}{more}", hub.url(""));
    let say = |text: &str| format!("window.chat.sendMessage({{ text: {text:?} }}); return null");
    let told = "ready: Hm. Let me look. t__echo output-available {\"city\":\"Rome\"} It is sunny.";

    page.goto(&url("one", "")).await;
    page.holds("return window.chat !== undefined").await;
    page.run(&say("Weather?")).await;
    shows(&page, told).await;
    // The page's own tool: the answer goes on by itself, in the same message.
    page.run(&say("Colour?")).await;
    shows(&page, "ready: I ask. ask_user output-available blue It says blue.").await;
    assert_eq!(page.run("return window.chat.messages.length").await, json!(4));
    let summary = hub.summary("one").await;
    assert_eq!(
        (summary["runs"].as_array().unwrap().len(), summary["messages"].as_array().unwrap().len()),
        (3, 2)
    );
    // Another answer to the same question is told in a fork.
    let before = hub.view_hash("one").await;
    page.run("window.chat.regenerate().then(() => { window.isAskedAgain = true }); return null").await;
    page.holds("return window.isAskedAgain === true").await;
    shows(&page, "ready: I ask. ask_user output-available blue It says blue.").await;
    assert_eq!(hub.view_hash("one").await, before);
    // A failure.
    page.run(&say("fail")).await;
    page.run_until("return window.chat.status", |status| status == "error").await;
    // Stopping the page leaves the run, and another page comes back to it.
    page.goto(&url("two", "")).await;
    page.holds("return window.chat !== undefined").await;
    page.run(&say("wait")).await;
    shows(&page, "streaming: Well").await;
    page.run("window.chat.stop(); return null").await;
    shows(&page, "ready: Well").await;
    assert_eq!(hub.summary("two").await["runs"][0]["status"], "running");
    page.goto(&url("two", "&resume")).await;
    shows(&page, "streaming: Well").await;
    page.screenshot("use-chat").await;
    let stop = json!({"id": "s", "command": "stop"}).to_string();
    let stopped = hub.request("POST", "/v1/conversations/two/commands").body(stop).send().await.unwrap();
    assert_eq!(stopped.status(), 200);
    page.run_until("return window.chat.status", |status: &Value| status != "streaming").await;
    page.close().await;
}
