//! Exactly once from a pipe or a recording into a hub that dies, is not there or does not read (invariant I10).

use std::io::Write as _;
use std::process::Output;

use serde_json::Value;
use tests::TestHub;
use tests::wait::{patiently, within};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::process::{Child, ChildStdin, Command};

use super::commands::{run, said, start, story};

/// A `tee` whose output is read and dropped.
struct Tee {
    child: Child,
    stdin: ChildStdin,
}

impl Tee {
    fn start(hub: &TestHub, options: &[&str]) -> Self {
        let url = hub.url("");
        let into = ["tee", "--dialect", "fanlight", "--conversation", "c", "--wait", "2m", "--url", &url];
        let mut child = start(&[&into[..], options].concat());
        let stdin = child.stdin.take().unwrap();
        let mut stdout = child.stdout.take().unwrap();
        tokio::spawn(async move {
            let mut sink = Vec::new();
            stdout.read_to_end(&mut sink).await
        });
        Self { child, stdin }
    }

    async fn pass(&mut self, text: &str) {
        // Megabytes, on a machine that may have other things to do.
        patiently("the pipe", self.stdin.write_all(text.as_bytes())).await.unwrap();
    }

    async fn finish(self) -> Output {
        drop(self.stdin);
        patiently("the end of tee", self.child.wait_with_output()).await.unwrap()
    }
}

/// What `fold` makes of `text`.
async fn folded(text: &str) -> Value {
    let folded = run(&["fold", "--dialect", "fanlight", "--summary"], text.as_bytes()).await;
    serde_json::from_slice(&folded.stdout).unwrap()
}

/// The hub shows what `fold` makes of the same, which no event less or more would be.
async fn shows_the_same(hub: &TestHub, text: &str) {
    let (served, folded) = (hub.summary("c").await, folded(text).await);
    // Not by assert_eq!, which would print megabytes.
    assert!(served["runs"] == folded["runs"], "the runs differ");
    assert_eq!(served["anomalies"], folded["anomalies"]);
    assert_eq!(served["events"].as_u64(), Some(text.lines().count() as u64));
}

/// Pieces of `text` of whole lines, `count` of them.
fn pieces(text: &str, count: usize) -> Vec<String> {
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    lines.chunks(lines.len().div_ceil(count)).map(<[&str]>::concat).collect()
}

/// Kills the hub again and again while `tee` runs, which must not be seen by anybody.
pub(crate) async fn survives_kills(mut hub: TestHub) {
    let story = story(3_000);
    let mut tee = Tee::start(&hub, &[]);
    for (number, piece) in pieces(&story, 4).iter().enumerate() {
        // Some of it is in flight when the hub dies, and some comes while there is none.
        let (before, after) = piece.split_at(piece.find("line").unwrap() + 4);
        tee.pass(before).await;
        if number > 0 {
            hub.json_until("/v1/conversations/c?summary", |view| view["events"].as_u64() > Some(0)).await;
        }
        hub.kill().await;
        tee.pass(after).await;
        hub.start_again().await;
    }
    let output = tee.finish().await;
    assert_eq!((output.status.code(), said(&output).as_str()), (Some(0), ""));
    shows_the_same(&hub, &story).await;
}

#[tokio::test]
async fn i10_tee_tells_a_hub_that_is_killed_again_and_again_every_event_once() {
    survives_kills(TestHub::start_in_memory().await).await;
}

#[tokio::test]
async fn i10_what_a_hub_has_stored_is_not_told_again_when_it_is_killed() {
    let folder = tempfile::tempdir().unwrap();
    let log = format!("sqlite:{}", folder.path().join("log.db").display());
    survives_kills(TestHub::start_with(&["--log", &log]).await).await;
}

async fn signal(hub: &TestHub, name: &str) {
    let sent = Command::new("kill").args([name, &hub.pid().to_string()]).status().await;
    assert!(sent.unwrap().success());
}

#[tokio::test]
async fn i10_what_a_hub_does_not_read_waits_on_disk_and_comes_in_order() {
    let hub = TestHub::start_in_memory().await;
    let mut text = story(0);
    let end = text.split_off(text.find("{\"k\":\"part.end\"").unwrap());
    for number in 0..350 {
        let words = format!("{number} ").repeat(16 << 10);
        let line =
            format!("{{\"k\":\"part.delta\",\"run\":\"r\",\"part\":\"p{number}\",\"text\":\"{words}\"}}\n");
        text.push_str(&line);
    }
    text.push_str(&end);
    assert!(text.len() > 20 << 20, "more than what waits in memory");
    signal(&hub, "-STOP").await;
    let mut tee = Tee::start(&hub, &[]);
    tee.pass(&text).await;
    signal(&hub, "-CONT").await;
    let output = tee.finish().await;
    assert_eq!((output.status.code(), said(&output).as_str()), (Some(0), ""));
    shows_the_same(&hub, &text).await;
}

#[tokio::test]
async fn tee_says_what_did_not_fit_and_delivers_what_did() {
    let hub = TestHub::start_in_memory().await;
    signal(&hub, "-STOP").await;
    let mut tee = Tee::start(&hub, &["--buffer", "0"]);
    let line = format!(
        "{{\"k\":\"part.delta\",\"run\":\"r\",\"part\":\"p\",\"text\":\"{}\"}}\n",
        "x".repeat(100_000)
    );
    let text = format!("{}{}", story(10), line.repeat(250));
    tee.pass(&text).await;
    signal(&hub, "-CONT").await;
    let output = tee.finish().await;
    assert!(output.status.success());
    assert!(
        said(&output).contains("slower than the pipe") && said(&output).contains("--buffer"),
        "{output:?}"
    );
    let summary = hub.summary("c").await;
    assert!(summary["runs"][0]["text"].as_str().unwrap().starts_with("line 0\nline 1\n"), "{summary}");
}

#[tokio::test]
async fn i10_replay_goes_on_where_it_was_when_the_hub_comes_back() {
    let mut hub = TestHub::start_in_memory().await;
    let story = story(400);
    let mut file = tempfile::NamedTempFile::new().unwrap();
    file.write_all(story.as_bytes()).unwrap();
    let (path, url) = (file.path().to_str().unwrap(), hub.url(""));
    let into = ["--dialect", "fanlight", "--conversation", "c", "--speed", "20", "--url", &url];
    let replay = start(&[&["replay", path][..], &into].concat());
    hub.json_until("/v1/conversations/c?summary", |view| view["events"].as_u64() > Some(20)).await;
    hub.restart().await;
    let output = within("the end", replay.wait_with_output()).await.unwrap();
    assert!(output.status.success(), "{}", said(&output));
    assert!(said(&output).contains("trying again"), "{}", said(&output));
    let line = String::from_utf8(output.stdout).unwrap();
    assert!(line.starts_with("published 404 events; c stands at "), "{line}");
    shows_the_same(&hub, &story).await;
}

#[tokio::test]
async fn an_event_that_fits_into_no_frame_is_delivered_in_its_place() {
    let hub = TestHub::start().await;
    let mut text = String::from("{\"k\":\"run.start\",\"run\":\"r\"}\n");
    for number in 0..4 {
        let result = "y".repeat(3 << 20);
        let line = format!("{{\"k\":\"tool.start\",\"run\":\"r\",\"tool\":\"t{number}\",\"name\":\"n\"}}\n");
        text.push_str(&line);
        let line = format!(
            "{{\"k\":\"tool.result\",\"run\":\"r\",\"tool\":\"t{number}\",\"output\":\"{result}\"}}\n"
        );
        text.push_str(&line);
    }
    text.push_str("{\"k\":\"run.end\",\"run\":\"r\"}\n");
    let mut tee = Tee::start(&hub, &[]);
    tee.pass(&text).await;
    let output = tee.finish().await;
    assert_eq!((output.status.code(), said(&output).as_str()), (Some(0), ""));
    let file = hub.request("GET", "/v1/conversations/c/export/native").send().await.unwrap();
    let file = file.text().await.unwrap();
    let events = file.lines().skip(1).map(|line| serde_json::from_str::<Value>(line).unwrap());
    let results: Vec<_> = events.map(|event| event["output"].as_str().map_or(0, str::len)).collect();
    let (none, large) = (0, 3 << 20);
    assert_eq!(results, [none, none, large, none, large, none, large, none, large, none]);
}
