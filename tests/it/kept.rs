//! What is kept while the disk is full or the database is held by somebody else, and what is said of it until all is written.

use std::fmt::Write as _;
use std::fs::File;
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, fcntl_lock};
use serde_json::Value;
use tests::wait::until;
use tests::{TestHub, hub};

/// Bytes of a text that fills the log.
const TEXT_BYTES: usize = 512 << 10;

/// A hub with its log in `folder`.
async fn hub_in(folder: &Path, options: &[&str]) -> TestHub {
    let log = format!("sqlite:{}", database(folder).display());
    TestHub::start_with(&[&["--log", &log], options].concat()).await
}

fn database(folder: &Path) -> PathBuf {
    folder.join("log.db")
}

/// Text that does not compress below half of its size, another one for each `seed`.
fn noise(seed: u64, bytes: usize) -> String {
    let mut number = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut text = String::with_capacity(bytes + 16);
    while text.len() < bytes {
        number ^= number << 13;
        number ^= number >> 7;
        number ^= number << 17;
        write!(text, "{number:016x}").unwrap();
    }
    text
}

fn message(name: &str, seed: u64) -> String {
    format!(r#"{{"k":"message","message":"{name}","role":"user","text":"{}"}}"#, noise(seed, TEXT_BYTES))
}

/// Posts `body` into `conversation`; the status of the answer.
async fn post(hub: &TestHub, conversation: &str, durability: &str, body: String) -> u16 {
    let path = format!("/v1/conversations/{conversation}/events");
    let request = hub.request("POST", &path).header("fanlight-durability", durability).body(body);
    request.send().await.unwrap().status().as_u16()
}

/// Says so much in `conversation` that the log is full.
async fn fill(hub: &TestHub, conversation: &str) {
    for number in 0..64 {
        let text = message(&format!("f{number}"), 1_000 + number);
        assert_eq!(post(hub, conversation, "memory", text).await, 200);
        if ready(hub).await.0 == 503 {
            return;
        }
    }
    let full =
        until("a full disk", async || Some(ready(hub).await).filter(|(status, _)| *status == 503)).await;
    assert_eq!(full.1["code"], "disk_full");
}

async fn ready(hub: &TestHub) -> (u16, Value) {
    let answer = hub.request("GET", "/readyz").send().await.unwrap();
    (answer.status().as_u16(), answer.json().await.unwrap_or_default())
}

async fn get(hub: &TestHub, path: &str) -> (u16, String) {
    let answer = hub.request("GET", &format!("/v1/conversations/{path}")).send().await.unwrap();
    (answer.status().as_u16(), answer.text().await.unwrap())
}

/// All events of `conversation`, page by page.
async fn pages(hub: &TestHub, conversation: &str) -> Vec<Value> {
    let (mut events, mut after) = (Vec::new(), String::new());
    loop {
        let path = format!("/v1/conversations/{conversation}/events?limit=7{after}");
        let request = hub.request("GET", &path).header("accept", "application/x-ndjson");
        let answer = request.send().await.unwrap();
        assert_eq!(answer.status(), 200, "after {} events", events.len());
        let position = answer.headers()["fanlight-position"].to_str().unwrap().to_owned();
        let text = answer.text().await.unwrap();
        if text.is_empty() {
            return events;
        }
        events.extend(text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap()));
        after = format!("&after={position}");
    }
}

#[tokio::test]
async fn history_that_is_on_the_disk_is_read_while_the_disk_is_full() {
    const STORED: usize = 24;
    let folder = tempfile::tempdir().unwrap();
    let mut hub = hub_in(folder.path(), &["--log-max-bytes", "40000000"]).await;
    // More than memory holds of a conversation.
    for number in 0..STORED {
        assert_eq!(post(&hub, "old", "stored", message(&format!("m{number}"), number as u64)).await, 200);
    }
    fill(&hub, "new").await;
    // One more, which is in memory alone.
    assert_eq!(post(&hub, "old", "memory", message("last", STORED as u64)).await, 200);
    let all: Vec<u64> = (1..=STORED as u64 + 1).collect();
    let seqs =
        |events: &[Value]| events.iter().map(|event| event["seq"].as_u64().unwrap()).collect::<Vec<_>>();
    assert_eq!(seqs(&pages(&hub, "old").await), all);
    for format in ["jsonl", "native", "md", "openai"] {
        let (status, text) = get(&hub, &format!("old/export/{format}")).await;
        assert_eq!(status, 200, "{format}: {text}");
        for number in [0, STORED as u64] {
            assert!(text.contains(&noise(number, 64)), "{format} lacks {number}");
        }
    }
    assert_eq!(ready(&hub).await.0, 503, "it was full all the while");
    // Another start, on the full disk: what was stored is there.
    hub.restart().await;
    let stored = pages(&hub, "old").await;
    assert_eq!(seqs(&stored), all[..STORED]);
}

#[tokio::test]
async fn i13_a_hub_that_stops_on_a_full_disk_says_what_it_drops_and_fails() {
    let folder = tempfile::tempdir().unwrap();
    let said = folder.path().join("said");
    let mut child = tokio::process::Command::new(hub::binary())
        .args(["serve", "--listen", "127.0.0.1:0", "--log-max-bytes", "2000000", "--data-dir"])
        .arg(folder.path())
        .stdout(std::process::Stdio::piped())
        .stderr(File::create(&said).unwrap())
        .kill_on_drop(true)
        .spawn()
        .unwrap();
    let mut lines =
        tokio::io::AsyncBufReadExt::lines(tokio::io::BufReader::new(child.stdout.take().unwrap()));
    let first = tests::wait::within("the hub's first line", lines.next_line()).await.unwrap().unwrap();
    let url = first.strip_prefix("listening on ").unwrap().to_owned();
    let client = reqwest::Client::new();
    for number in 0..20 {
        let post = client.post(format!("{url}/v1/conversations/the%20talk/events"));
        let answer = post.header("fanlight-durability", "memory").body(message("m", number)).send().await;
        assert_eq!(answer.unwrap().status(), 200);
    }
    until("a full disk", async || {
        let ready = client.get(format!("{url}/readyz")).send().await.unwrap();
        (ready.status() == 503).then_some(())
    })
    .await;
    let pid = child.id().unwrap();
    let sent = tokio::process::Command::new("kill").args(["-TERM", &pid.to_string()]).status().await;
    assert!(sent.unwrap().success());
    let code = tests::wait::within("the hub's end", child.wait()).await.unwrap().code();
    let said = std::fs::read_to_string(said).unwrap();
    assert_eq!(code, Some(1), "{said}");
    assert!(said.contains("events of 1 conversations were not written (the talk)"), "{said}");
}

#[tokio::test]
async fn i9_a_hub_whose_write_ahead_log_was_deleted_says_what_is_missing_until_it_is_started_again() {
    let folder = tempfile::tempdir().unwrap();
    let mut hub = hub_in(folder.path(), &[]).await;
    assert_eq!(post(&hub, "c", "synced", message("first", 1)).await, 200);
    // All of it is in the database then.
    assert_eq!(hub.stop().await, Some(0));
    hub.start_again().await;
    assert_eq!(post(&hub, "c", "synced", message("second", 2)).await, 200);
    assert_eq!(post(&hub, "other", "synced", message("third", 3)).await, 200);
    hub.kill().await;
    for lost in ["log.db-wal", "log.db.journal.1", "log.db.journal.2"] {
        std::fs::remove_file(folder.path().join(lost)).unwrap();
    }
    hub.start_again().await;
    let (status, problem) = ready(&hub).await;
    assert_eq!((status, &problem["code"]), (503, &Value::from("log_failed")), "{problem}");
    let detail = problem["detail"].as_str().unwrap();
    assert!(detail.contains("transactions that were acked are missing in the log"), "{detail}");
    assert!(detail.contains("start the hub again to go on without"), "{detail}");
    assert!(hub.number("log_missing").await > 0);
    // Meanwhile it serves what is there, and stores.
    assert_eq!(pages(&hub, "c").await.len(), 1);
    assert_eq!(get(&hub, "other").await.0, 404);
    assert_eq!(post(&hub, "c", "synced", message("fourth", 4)).await, 200);
    assert_eq!(ready(&hub).await.0, 503, "as long as it runs");
    assert_eq!(hub.stop().await, Some(0));
    hub.start_again().await;
    assert_eq!(ready(&hub).await.0, 200, "whoever started it again goes on without");
    assert_eq!(pages(&hub, "c").await.len(), 2);
}

/// Holds the database in `folder` as another program would that reads all of it: the hub writes nothing until the file is
/// dropped.
fn held(folder: &Path) -> File {
    let index = folder.join("log.db-shm");
    let file = File::open(index).unwrap();
    fcntl_lock(&file, FlockOperation::LockShared).unwrap();
    file
}

/// Three texts that replace one another, of 4 MiB each.
fn replaced(letter: char) -> String {
    let text = letter.to_string().repeat((4 << 20) - 64);
    let line = format!("{{\"k\":\"part.replace\",\"run\":\"r\",\"part\":\"p\",\"text\":\"{text}\"}}\n");
    line.repeat(3)
}

#[tokio::test]
async fn i9_after_an_overflow_nobody_is_told_that_all_is_well_before_all_is_written() {
    let folder = tempfile::tempdir().unwrap();
    let mut hub = hub_in(folder.path(), &[]).await;
    let begin = "{\"k\":\"run.start\",\"run\":\"r\"}\n{\"k\":\"part.start\",\"run\":\"r\",\"part\":\"p\"}";
    assert_eq!(post(&hub, "c", "synced", begin.to_owned()).await, 200);
    let holder = held(folder.path());
    // Over the 64 MiB that may wait.
    for letter in 'a'..='g' {
        assert_eq!(post(&hub, "c", "memory", replaced(letter)).await, 200, "viewers see it all the same");
    }
    let end = "{\"k\":\"part.end\",\"run\":\"r\",\"part\":\"p\"}\n{\"k\":\"run.end\",\"run\":\"r\",\"status\":\"complete\"}";
    assert_eq!(post(&hub, "c", "memory", end.to_owned()).await, 200);
    let (status, problem) = ready(&hub).await;
    // SQLite waits 10 s for whoever holds the database. A machine on which it took longer to say all this is told of that first.
    let said =
        if problem["code"] == "disk_failing" { "database is locked" } else { "queue of the log was full" };
    assert_eq!(status, 503, "{problem}");
    assert!(["log_failed", "disk_failing"].contains(&problem["code"].as_str().unwrap()), "{problem}");
    assert!(problem["detail"].as_str().unwrap().contains(said), "{problem}");
    assert!(hub.number("log_unstored").await > 0);
    drop(holder);
    until("the word that all is well", async || (ready(&hub).await.0 == 200).then_some(())).await;
    let shown = hub.view_hash("c").await;
    hub.kill().await;
    hub.start_again().await;
    assert_eq!(hub.view_hash("c").await, shown, "it was not written when that was said");
    until("nothing that waits", async || (hub.number("log_unstored").await == 0).then_some(())).await;
    // What is not there one by one is there as a state, which makes the same conversation elsewhere.
    let (status, native) = get(&hub, "c/export/native").await;
    assert_eq!(status, 200, "{native}");
    let put = hub.request("PUT", "/v1/conversations/copy/events").body(native).send().await.unwrap();
    assert_eq!(put.status(), 200, "{:?}", put.text().await);
    assert_eq!(hub.view_hash("copy").await, shown);
    let (status, _) = get(&hub, "c/export/jsonl").await;
    assert_eq!(status, 410, "they are not there one by one");
}
