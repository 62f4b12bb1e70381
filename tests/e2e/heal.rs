//! A reload shows the same screen; a crash of the hub heals by itself.

use std::io::Write as _;
use std::process::Stdio;

use serde_json::json;
use tests::browser::DESKTOP;
use tests::hub::binary;
use tests::model::{STREAM, delta};
use tests::wait::patiently;
use tests::{BrowserPage, ScriptedServer, ServerStep, TestHub};
use tokio::process::Command;

use crate::scene::{ANSWER, CALLS, NOTE_MARKS, OPENING, THINKING, hub_and_publisher, marked};

/// What stands on the screen, without what moves with the clock.
const SCREEN: &str = "
    const t = document.querySelector('[data-t=transcript]');
    const cards = [...t.querySelectorAll('[data-t=tool-card]')].map(c => [c.dataset.call, c.dataset.name, c.dataset.state, c.dataset.latencyMs ?? null]);
    const rows = [...document.querySelectorAll('[data-t=tool-row]')].map(c => [c.dataset.call, c.dataset.state]);
    const answers = [...t.querySelectorAll('[data-t=answer]')].map(a => a.innerText);
    return JSON.stringify({cards, rows, answers, thinking: t.querySelectorAll('[data-t=thinking]').length, seq: t.dataset.seq});";

#[tokio::test(flavor = "multi_thread")]
async fn rule_7_a_reload_in_the_middle_of_a_run_shows_the_same_screen() {
    let (hub, mut publisher) = hub_and_publisher("c").await;
    let page = BrowserPage::open(DESKTOP).await;
    page.goto(&hub.url("/c/c")).await;
    let mut head = 0;
    for lines in [OPENING, THINKING, CALLS, ANSWER] {
        head = publisher.says(lines).await.seq;
        page.painted(head).await;
    }
    let before = page.run(SCREEN).await;
    page.reload().await;
    page.holds("return !!document.querySelector('[data-t=transcript]')").await;
    page.painted(head).await;
    page.run_until(SCREEN, |after| *after == before).await;
    assert_eq!(page.console_errors().await, Vec::<String>::new());
    page.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_crash_of_the_hub_heals_by_itself_and_the_page_shows_the_new_life() {
    let (mut hub, mut publisher) = hub_and_publisher("c").await;
    let page = BrowserPage::open(DESKTOP).await;
    page.goto(&hub.url("/c/c")).await;
    let head = publisher.says(OPENING).await.seq;
    page.painted(head).await;
    let connection = "return document.querySelector('[data-t=connection]')?.dataset.state";
    page.run_until(connection, |state| state == "live").await;
    page.run(NOTE_MARKS).await;
    hub.kill().await;
    page.run_until(connection, |state| state != "live").await;
    // The page does not know whether the run goes on, and says so.
    page.text_until("pill", |text| text.contains("Was running")).await;
    // What was there stays readable.
    assert!(page.text("transcript").await.contains("revenue per region"));
    let address = hub.address().to_string();
    hub = TestHub::start_at(&address).await;
    page.run_until(connection, |state| state == "live").await;
    marked(&page, "history reloaded").await;
    let mut publisher = hub.publisher("c").await;
    publisher
        .says(&OPENING.replace("How did revenue per region change", "After the crash, how did it change"))
        .await;
    let head = publisher.says(ANSWER).await.seq;
    page.painted(head).await;
    page.text_until("transcript", |text| text.contains("After the crash")).await;
    assert!(!page.text("transcript").await.contains("revenue per region change"));
    page.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_through_the_proxy_whose_hub_was_killed_has_broken_off() {
    let body =
        json!({"model": "m", "stream": true, "messages": [{"role": "user", "content": "Why?"}]}).to_string();
    let origin = ScriptedServer::start(|_| {
        let said = ServerStep::piece(&delta(&json!({"content": "Because of"})));
        vec![ServerStep::begin("200 OK", &STREAM), said, ServerStep::Silence]
    })
    .await;
    let folder = tempfile::tempdir().unwrap();
    let log = format!("sqlite:{}", folder.path().join("log.db").display());
    let settings = ["--log", &log, "--stalled-after", "1", "--interrupted-after", "3600"];
    let upstream = origin.named("slow");
    let mut hub = TestHub::start_with(&[&settings[..], &["--upstream", &upstream]].concat()).await;
    let call = hub.request("POST", "/proxy/slow/~c/v1/chat/completions").body(body).send();
    let answer = call.await.expect("the upstream's answer");
    let page = BrowserPage::open(DESKTOP).await;
    page.goto(&hub.url("/c/c")).await;
    page.text_until("answer", |text| text.contains("Because of")).await;
    page.text_until("pill", |text| text.contains("Running")).await;
    hub.restart().await;
    drop(answer);
    // The hub waits for an hour for other publishers; this one died with it.
    page.text_until("pill", |text| text.contains("Interrupted")).await;
    let row =
        "return document.querySelector('[data-t=conversation-row][data-conversation=c]')?.dataset.state";
    page.run_until(row, |state| state == "interrupted").await;
    assert!(page.text("answer").await.contains("Because of"), "what was said stays");
    page.close().await;
}

/// Counts the ticks of the page's clocks from the beginning of a document on, and sets its time `ahead` of the machine's.
const CLOCK: &str = "[window.ticks, window.ahead] = [0, 0];
    const [every, now] = [window.setInterval.bind(window), Date.now.bind(Date)];
    window.setInterval = (work, ms, ...more) =>
        every(ms === 1000 ? (...all) => { work(...all); ticks++; } : work, ms, ...more);
    Date.now = () => now() + ahead;";

#[tokio::test(flavor = "multi_thread")]
async fn while_the_hub_is_away_a_call_was_waiting_for_approval_and_its_clock_stands_still() {
    let (mut hub, mut publisher) = hub_and_publisher("c").await;
    let page = BrowserPage::open(DESKTOP).await;
    page.devtools("Page.addScriptToEvaluateOnNewDocument", json!({"source": CLOCK})).await;
    page.goto(&hub.url("/c/c")).await;
    let asks = r#"{"k":"tool.call","run":"r","tool":"t","name":"deploy","arguments":"{}"}
        {"k":"approval.request","run":"r","tool":"t","text":"Deploy?"}"#;
    let head = publisher.says_all(&[OPENING, asks]).await;
    page.painted(head).await;
    page.text_until("pill", |text| text.contains("Waits for approval") && text.contains("0:")).await;
    hub.kill().await;
    page.text_until("pill", |text| text.contains("Was waiting for approval") && text.contains("≥ 0:")).await;
    let before = page.text("pill").await;
    // An hour later by the clock of the machine it says the same.
    page.run("ahead += 3600000; window.then = ticks").await;
    page.run_until("return document.querySelector('[data-t=connection]').dataset.state", |it| it == "stale")
        .await;
    page.holds("return ticks > then + 2").await;
    assert_eq!(page.text("pill").await, before);
    page.close().await;
}

/// A run in native events: lines of text, each once, and a call after every tenth.
fn story(lines: usize) -> String {
    let mut story = String::from(
        "{\"k\":\"run.start\",\"run\":\"r\"}\n{\"k\":\"part.start\",\"run\":\"r\",\"part\":\"p\",\"kind\":\"text\"}\n",
    );
    for line in 0..lines {
        story +=
            &json!({"k": "part.delta", "run": "r", "part": "p", "text": format!("line{line}. ")}).to_string();
        story.push('\n');
        if line % 10 == 0 {
            let tool = format!("t{line}");
            for event in [
                json!({"k": "tool.call", "run": "r", "tool": tool, "name": "look", "arguments": "{}"}),
                json!({"k": "tool.state", "run": "r", "tool": tool, "state": "executing"}),
                json!({"k": "tool.result", "run": "r", "tool": tool, "output": "seen"}),
            ] {
                story += &event.to_string();
                story.push('\n');
            }
        }
    }
    story.push_str("{\"k\":\"part.end\",\"run\":\"r\",\"part\":\"p\"}\n{\"k\":\"run.end\",\"run\":\"r\"}\n");
    story
}

#[tokio::test(flavor = "multi_thread")]
async fn rule_6_kills_of_the_hub_lose_and_double_nothing_on_the_page() {
    let mut hub = TestHub::start().await;
    let page = BrowserPage::open(DESKTOP).await;
    page.goto(&hub.url("/c/c")).await;
    let mut file = tempfile::NamedTempFile::new().unwrap();
    file.write_all(story(300).as_bytes()).unwrap();
    let replay = Command::new(binary())
        .args(["replay", file.path().to_str().unwrap(), "--dialect", "fanlight", "--conversation", "c"])
        .args(["--speed", "20", "--url", &hub.url("")])
        .stderr(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .unwrap();
    for line in [40, 150] {
        page.text_until("answer", |text| text.contains(&format!("line{line}."))).await;
        hub.restart().await;
    }
    let output = patiently("the end of the replay", replay.wait_with_output()).await.unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let expected = hub.view_hash("c").await;
    page.holds(&format!("return window.fanlightViewHash?.() === '{expected}'")).await;
    page.holds("return !document.querySelector('[data-t=transcript]').hasAttribute('data-running')").await;
    let all: Vec<String> = (0..300).map(|line| format!("line{line}.")).collect();
    page.text_until("answer", |text| text.split_whitespace().eq(all.iter().map(String::as_str))).await;
    let cards = "return [...document.querySelectorAll('[data-t=tool-row]')].map(card => card.dataset.call + card.dataset.state).join()";
    let wanted: Vec<String> = (0..300).step_by(10).map(|line| format!("t{line}complete")).collect();
    page.run_until(cards, |shown| *shown == wanted.join(",")).await;
    page.close().await;
}
