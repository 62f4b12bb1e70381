//! LangGraph's package for TypeScript asks agents of the hub as if it were LangGraph's platform: its client, and `useStream`
//! on a page of another origin in a real browser.

use std::path::Path;

use tests::browser::DESKTOP;
use tests::installed;
use tests::raw::RawMessage;
use tests::wait::patiently;
use tests::{BrowserPage, ScriptedServer, ServerStep, TestHub};

use crate::asks::{FOLDER, answer, settings};

#[tokio::test(flavor = "multi_thread")]
async fn the_client_of_langgraphs_platform_asks_an_agent() {
    let origin = ScriptedServer::start(answer).await;
    let place = tempfile::tempdir().unwrap();
    let file = place.path().join("fanlight.toml");
    std::fs::write(&file, settings(&origin)).unwrap();
    let hub = TestHub::start_with(&["--config", file.to_str().unwrap()]).await;
    let program = place.path().join("platform.mjs");
    std::fs::copy(Path::new(FOLDER).join("platform.mjs"), &program).unwrap();
    std::os::unix::fs::symlink(installed::node_modules(), place.path().join("node_modules")).unwrap();
    let asking = installed::node().arg(&program).arg(hub.url("")).kill_on_drop(true).output();
    let done = patiently("the client", asking).await.unwrap();
    let said = String::from_utf8_lossy(&done.stdout);
    assert!(done.status.success(), "{said}{}", String::from_utf8_lossy(&done.stderr));
}

/// The page, built.
async fn build() -> Vec<u8> {
    let place = tempfile::tempdir().unwrap();
    std::fs::copy(Path::new(FOLDER).join("stream.jsx"), place.path().join("stream.jsx")).unwrap();
    std::os::unix::fs::symlink(installed::node_modules(), place.path().join("node_modules")).unwrap();
    let mut esbuild = installed::node();
    let program = installed::node_modules().join("esbuild/bin/esbuild");
    esbuild.arg(program).arg("stream.jsx").current_dir(place.path());
    let mode = "--define:process.env.NODE_ENV=\"production\"";
    esbuild.args(["--bundle", "--format=esm", "--jsx=automatic", mode]);
    let built = patiently("the page", esbuild.kill_on_drop(true).output()).await.unwrap();
    assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
    built.stdout
}

/// Serves the page.
async fn serve() -> ScriptedServer {
    let script = build().await;
    ScriptedServer::start(move |asked: &RawMessage| {
        if asked.start.contains("/stream.js") {
            return ServerStep::answer("200 OK", &[("content-type", "text/javascript")], &script);
        }
        let page = "<!doctype html><div id=root></div><script type=module src=/stream.js></script>";
        ServerStep::answer("200 OK", &[("content-type", "text/html")], page.as_bytes())
    })
    .await
}

/// Waits until the page is at rest and its messages are these, each with its speaker.
async fn rests(page: &BrowserPage, wanted: &str) {
    let script = "const it = document.querySelector('main'); if (it?.dataset.loading !== 'false') return null; \
        return [...it.querySelectorAll('section')].map((one) => `${one.className}: ${one.innerText.replaceAll('\\n', ' ')}`) \
        .join(' | ').replaceAll(/ +/g, ' ')";
    page.run_until(script, |shown| shown.as_str() == Some(wanted)).await;
}

/// Has the page say something.
async fn say(page: &BrowserPage, text: &str, options: &str) {
    let message = format!("{{ messages: [{{ type: 'human', content: {text:?} }}] }}");
    page.run(&format!("window.stream.submit({message}, {options}); return null")).await;
}

/// A hub with agents, their model, and the server of a page with `useStream`.
struct Stage {
    hub: TestHub,
    /// Where the page comes from.
    origin: String,
    _servers: (ScriptedServer, ScriptedServer),
    _place: tempfile::TempDir,
}

impl Stage {
    async fn set() -> Self {
        let (model, pages) = (ScriptedServer::start(answer).await, serve().await);
        let place = tempfile::tempdir().unwrap();
        let file = place.path().join("fanlight.toml");
        std::fs::write(&file, settings(&model) + "[compat]\nbernard = \"helper\"\n").unwrap();
        let origin = format!("http://{}", pages.address());
        let hub = TestHub::start_with(&["--config", file.to_str().unwrap(), "--origin", &origin]).await;
        Self { hub, origin, _servers: (model, pages), _place: place }
    }
}

const TALK: &str = "human: Weather? | ai: Let me look. t__echo {\"city\":\"Rome\"} | tool: {\"city\":\"Rome\"} | ai: It is sunny.";

#[tokio::test(flavor = "multi_thread")]
async fn a_page_with_use_stream_asks_an_agent() {
    let stage = Stage::set().await;
    let (hub, page) = (&stage.hub, BrowserPage::open(DESKTOP).await);
    let url = |door: &str, agent: &str, more: &str| {
        format!("{}/?hub={}&door={door}&agent={agent}{more}", stage.origin, hub.url(""))
    };

    // A thread is made, and what is streamed is what its history says.
    page.goto(&url("/compat/langgraph", "helper", "")).await;
    page.holds("return window.stream !== undefined").await;
    say(&page, "Weather?", "{}").await;
    rests(&page, TALK).await;
    let thread = page.run("return window.threadId").await.as_str().unwrap().to_owned();
    assert_eq!(hub.summary(&thread).await["runs"][0]["status"], "complete");
    // The page is loaded anew and knows its thread.
    page.goto(&url("/compat/langgraph", "helper", &format!("&thread={thread}"))).await;
    rests(&page, TALK).await;
    // A question is edited at its checkpoint: a fork, and the page can go back to the other branch.
    let before = hub.view_hash(&thread).await;
    let at = "{ checkpoint: window.stream.getMessagesMetadata(window.stream.messages[0]).firstSeenState.parent_checkpoint }";
    say(&page, "Sunny?", at).await;
    rests(&page, &TALK.replace("Weather?", "Sunny?")).await;
    assert_eq!(hub.view_hash(&thread).await, before, "what was said stays");
    page.holds("return document.querySelector('section.human').dataset.branches === '2'").await;
    page.run("const meta = window.stream.getMessagesMetadata(window.stream.messages[0]); window.stream.setBranch(meta.branchOptions[0]); return null")
        .await;
    rests(&page, TALK).await;
    // Another answer to the same question.
    page.run("window.stream.submit(undefined, { checkpoint: window.stream.getMessagesMetadata(window.stream.messages[1]).firstSeenState.parent_checkpoint }); return null")
        .await;
    page.holds("return document.querySelector('section.ai')?.dataset.branches === '2'").await;
    rests(&page, TALK).await;
    // A failure.
    say(&page, "fail", "{}").await;
    page.holds(
        "return document.querySelector('main').dataset.error !== undefined && !window.stream.isLoading",
    )
    .await;
    page.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_page_with_use_stream_gives_consent_stops_and_comes_back() {
    let stage = Stage::set().await;
    let (hub, page) = (&stage.hub, BrowserPage::open(DESKTOP).await);
    let url = |door: &str, agent: &str, more: &str| {
        format!("{}/?hub={}&door={door}&agent={agent}{more}", stage.origin, hub.url(""))
    };

    // A call that waits for consent stops the graph; `Command` brings the answer.
    page.goto(&url("/compat/langgraph", "careful", "")).await;
    page.holds("return window.stream !== undefined").await;
    say(&page, "Weather?", "{}").await;
    page.holds(
        "return document.querySelector('main').dataset.interrupt === 't__echo' && !window.stream.isLoading",
    )
    .await;
    let resume = "{ command: { resume: { decisions: [{ type: 'edit', edited_action: { name: 't__echo', args: { city: 'Oslo' } } }] } } }";
    page.run(&format!("window.stream.submit(undefined, {resume}); return null")).await;
    let shown = "return document.querySelector('main').innerText.includes('It is sunny.') && !window.stream.isLoading";
    page.holds(shown).await;
    page.holds("return document.querySelector('section.tool').innerText.includes('Oslo')").await;
    page.holds("return document.querySelector('main').dataset.interrupt === undefined").await;
    // Stopping the page stops the run, as with the platform. Bernard's page has the same API at its own address.
    page.goto(&url("/compat/bernard", "bernard_agent", "")).await;
    page.holds("return window.stream !== undefined").await;
    say(&page, "wait", "{}").await;
    page.holds("return document.querySelector('main').innerText.includes('Well')").await;
    let thread = page.run("return window.threadId").await.as_str().unwrap().to_owned();
    page.run("window.stream.stop(); return null").await;
    hub.json_until(&format!("/v1/conversations/{thread}?summary"), |seen| {
        seen["runs"][0]["status"] == "cancelled"
    })
    .await;
    // A page that is to come back leaves the run, and is told what it missed.
    page.goto(&url("/compat/bernard/api", "bernard_agent", "&resume")).await;
    page.holds("return window.stream !== undefined").await;
    say(&page, "wait", "{}").await;
    page.holds("return document.querySelector('main').innerText.includes('Well')").await;
    let thread = page.run("return window.threadId").await.as_str().unwrap().to_owned();
    page.goto(&url("/compat/bernard/api", "bernard_agent", &format!("&resume&thread={thread}"))).await;
    page.holds(
        "return document.querySelector('main')?.innerText.includes('Well') && window.stream.isLoading",
    )
    .await;
    assert_eq!(hub.summary(&thread).await["runs"][0]["status"], "running");
    page.screenshot("use-stream").await;
    page.close().await;
}
