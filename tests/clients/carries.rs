//! The project's own packages: their examples publish and watch while the network is cut and the hub dies, and nothing is
//! lost, doubled or out of order; their own tests and checks hold.

use std::process::Stdio;

use serde_json::Value;
use tests::tampering_proxy::TamperingProxy;
use tests::wait::patiently;
use tests::{CuttableRelay, TestHub};
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::process::{Child, Command};

use crate::own::{Installed, package, printed, python_behaves, python_example, told};
use tests::installed;

/// How many steps the publishing example takes; with its pauses that is some seconds, room for a cut and a death.
const STEPS: u64 = 800;

/// Events around the steps: start and end of the run and of its text.
const AROUND: u64 = 4;

async fn has(hub: &TestHub, seq: u64) {
    let is_there = |list: &Value| list["conversations"][0]["head"].as_u64().is_some_and(|head| head >= seq);
    hub.json_until("/v1/conversations", is_there).await;
}

/// Runs the two examples while the network is cut and the hub is killed.
async fn carry(publishing: impl Fn(&str) -> Command, watching: impl Fn(&str) -> Command) {
    let mut hub = TestHub::start().await;
    let relay = CuttableRelay::open_to(hub.address()).await;
    let url = format!("http://{}", relay.address());
    let watcher = watching(&url).arg("story").spawn().unwrap();
    let mut publisher = publishing(&url).args(["story", &STEPS.to_string()]).spawn().unwrap();
    has(&hub, STEPS / 4).await;
    relay.cut();
    has(&hub, STEPS / 2).await;
    assert!(publisher.try_wait().unwrap().is_none(), "the example was over before the hub died");
    hub.restart().await;
    printed("the publisher", publisher).await;
    let seen = printed("the watcher", watcher).await;

    let steps: Vec<String> = (1..=STEPS).map(|step| step.to_string()).collect();
    assert_eq!(seen.split_whitespace().collect::<Vec<_>>(), steps, "what the watcher saw");
    let summary = hub.summary("story").await;
    assert_eq!(summary["anomalies"], serde_json::json!([]));
    assert_eq!(summary["runs"][0]["text"].as_str().unwrap().trim_end(), steps.join(" "), "what the hub has");
    let list = hub.json("/v1/conversations").await;
    assert_eq!(list["conversations"][0]["head"], STEPS + AROUND, "each event once");
}

#[tokio::test]
async fn i10_python_publishes_exactly_once_and_watches_without_a_hole_through_a_cut_and_a_kill() {
    carry(|url| python_example("publish.py", url), |url| python_example("subscribe.py", url)).await;
}

/// A hub that crashes may have less than it had shown, and the publisher says the rest again: it must not be printed twice.
async fn prints_once(watching: impl Fn(&str) -> Command) {
    const BEGIN: &str = r#"{"k":"run.start","run":"r"}
        {"k":"part.start","run":"r","part":"p","kind":"text"}"#;
    let says = |words: &str| format!(r#"{{"k":"part.delta","run":"r","part":"p","text":"{words}"}}"#);
    let mut hub = TestHub::start_in_memory().await;
    let mut watcher = watching(&hub.url("")).arg("story").spawn().unwrap();
    hub.publisher("story").await.says_all(&[BEGIN, &says("1 2 ")]).await;
    let mut printing = watcher.stdout.take().unwrap();
    let mut seen = [0; 4];
    patiently("the watcher to print", printing.read_exact(&mut seen)).await.unwrap();
    // This one forgets everything.
    hub.restart().await;
    let mut publisher = hub.publisher("story").await;
    publisher.says(BEGIN).await;
    // It comes back before the words do, so that it sees less than it has printed.
    hub.json_until("/v1/conversations", |list| list["conversations"][0]["viewers"] == 1).await;
    let end = r#"{"k":"run.end","run":"r","status":"complete"}"#;
    publisher.says_all(&[&says("1 "), &says("2 3"), end]).await;
    let mut rest = String::new();
    patiently("the watcher to end", printing.read_to_string(&mut rest)).await.unwrap();
    assert_eq!((seen.as_slice(), rest.trim_end()), (b"1 2 ".as_slice(), "3"));
    printed("the watcher", watcher).await;
}

#[tokio::test]
async fn python_prints_once_what_is_said_again_after_a_crash() {
    prints_once(|url| python_example("subscribe.py", url)).await;
}

#[tokio::test]
async fn typescript_prints_once_what_is_said_again_after_a_crash() {
    let package = Installed::build().await;
    prints_once(|url| package.example("subscribe.mjs", url)).await;
}

/// What a vendor said.
const STREAM: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures/upstream/messages/call.sse");

async fn passes_on(hub: &TestHub, mut example: Command) {
    example.args(["anthropic", "stream"]).stdin(std::fs::File::open(STREAM).unwrap());
    assert!(printed("the example", example.spawn().unwrap()).await.contains(" 0 anomalies"));
    let summary = hub.summary("stream").await;
    assert_eq!(summary["runs"][0]["tool_calls"][0]["name"], "get_weather");
}

/// Cuts the network in the middle of a stream. It has no numbers, so it cannot resume: who passes it on is told, and what had
/// come stays, also when the hub dies.
async fn is_told_of_a_cut(passing: impl Fn(&str) -> Command) {
    let mut hub = TestHub::start().await;
    let relay = CuttableRelay::open_to(hub.address()).await;
    let mut example = passing(&format!("http://{}", relay.address()));
    let mut example = example.args(["anthropic", "stream"]).stdin(Stdio::piped()).spawn().unwrap();
    let stream = std::fs::read(STREAM).unwrap();
    let (first, rest) = stream.split_at(stream.len() / 2);
    let mut source = example.stdin.take().unwrap();
    source.write_all(first).await.unwrap();
    has(&hub, 2).await;
    relay.cut();
    // It may have ended by itself.
    source.write_all(rest).await.unwrap_or_default();
    drop(source);
    let ended = patiently("the example", example.wait_with_output()).await.unwrap();
    let complaint = String::from_utf8_lossy(&ended.stderr);
    assert!(!ended.status.success() && complaint.contains("Unreachable"), "{complaint}");
    let is_over = |summary: &Value| summary["runs"][0]["status"] == "interrupted";
    let before = hub.json_until("/v1/conversations/stream?summary", is_over).await;
    hub.restart().await;
    assert_eq!(hub.summary("stream").await["runs"], before["runs"]);
}

#[tokio::test]
async fn python_is_told_of_a_stream_that_is_cut() {
    is_told_of_a_cut(|url| python_example("ingest.py", url)).await;
}

#[tokio::test]
async fn typescript_is_told_of_a_stream_that_is_cut() {
    let package = Installed::build().await;
    is_told_of_a_cut(|url| package.example("ingest.mjs", url)).await;
}

#[tokio::test]
async fn python_passes_a_stream_of_a_vendor_on() {
    let hub = TestHub::start().await;
    passes_on(&hub, python_example("ingest.py", &hub.url(""))).await;
}

#[tokio::test]
async fn python_keeps_its_own_rules() {
    let checks: [&[&str]; 4] = [
        &["-m", "unittest", "discover", "--start-directory", "tests"],
        &["-m", "ruff", "check", "--no-cache", "."],
        &["-m", "ruff", "format", "--no-cache", "--check", "."],
        &["-m", "mypy", "--cache-dir", "/dev/null"],
    ];
    for check in checks {
        let mut command = told(installed::python(), "");
        command.args(check).current_dir(package("python"));
        printed(&check.join(" "), command.spawn().unwrap()).await;
    }
}

#[tokio::test]
async fn i10_typescript_publishes_exactly_once_and_watches_without_a_hole_through_a_cut_and_a_kill() {
    let package = Installed::build().await;
    carry(|url| package.example("publish.mjs", url), |url| package.example("subscribe.mjs", url)).await;
}

#[tokio::test]
async fn typescript_passes_a_stream_of_a_vendor_on() {
    let (hub, package) = (TestHub::start().await, Installed::build().await);
    passes_on(&hub, package.example("ingest.mjs", &hub.url(""))).await;
}

#[tokio::test]
async fn typescript_keeps_its_own_rules() {
    let package = Installed::build().await;
    let mut command = told(installed::node(), "");
    command.arg("--test").current_dir(package.folder.path().join("tests"));
    printed("node --test", command.spawn().unwrap()).await;
}

/// Waits until a program says that it is ready.
async fn is_ready(program: &mut Child) {
    let mut said = BufReader::new(program.stdout.take().unwrap()).lines();
    let line = patiently("the program's word", said.next_line()).await.unwrap();
    assert_eq!(line.as_deref(), Some("ready"));
}

/// Runs `program` against a hub whose words are changed on their way: in events, not in snapshots.
async fn notices(mut program: Command) {
    let hub = TestHub::start().await;
    let tampering_proxy = TamperingProxy::start(hub.address(), |frame| {
        if frame.contains(r#""t":"batch""#) { frame.replace("honest", "bogus!") } else { frame }
    });
    let tampering_proxy = tampering_proxy.await;
    let url = format!("http://{}", tampering_proxy.address());
    let mut publisher = hub.publisher("changed").await;
    let mut child = program.args([&url, "changed"]).spawn().unwrap();
    is_ready(&mut child).await;
    publisher.says(r#"{"k":"run.start","run":"r"}"#).await;
    publisher.says(r#"{"k":"part.delta","run":"r","part":"p","text":"a honest word"}"#).await;
    publisher.says(r#"{"k":"part.end","run":"r","part":"p"}"#).await;
    printed("the program", child).await;
}

/// Runs `program` against a hub without a log, which dies when the program says that it is ready.
async fn tells_again(mut program: Command) {
    let mut hub = TestHub::start_in_memory().await;
    let mut child = program.arg(hub.url("")).arg("memory").stdin(Stdio::piped()).spawn().unwrap();
    is_ready(&mut child).await;
    hub.restart().await;
    child.stdin.take().unwrap().write_all(b"go on\n").await.unwrap();
    printed("the program", child).await;
    let summary = hub.json("/v1/conversations").await;
    assert_eq!(summary["conversations"][0]["head"], 200, "what the first hub had forgotten is there as well");
}

#[tokio::test]
async fn python_keeps_its_word_at_its_borders() {
    let hub = TestHub::start().await;
    printed("the program", python_behaves().arg(hub.url("")).spawn().unwrap()).await;
}

#[tokio::test]
async fn python_tells_a_hub_that_forgot_everything_again() {
    tells_again(python_behaves()).await;
}

#[tokio::test]
async fn typescript_keeps_its_word_at_its_borders() {
    let (hub, package) = (TestHub::start().await, Installed::build().await);
    printed("the program", package.behaves().arg(hub.url("")).spawn().unwrap()).await;
}

#[tokio::test]
async fn typescript_tells_a_hub_that_forgot_everything_again() {
    let package = Installed::build().await;
    tells_again(package.behaves()).await;
}

#[tokio::test]
async fn python_notices_a_text_that_was_changed_on_its_way() {
    notices(python_behaves()).await;
}

#[tokio::test]
async fn typescript_notices_a_text_that_was_changed_on_its_way() {
    let package = Installed::build().await;
    notices(package.behaves()).await;
}
