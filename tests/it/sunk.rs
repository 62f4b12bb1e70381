//! Sinks and names that are used again: whatever was dropped under a name, and whatever a folder had before, all that comes
//! after it is passed on.

use std::io::Write as _;
use std::path::Path;

use serde_json::Value;
use tempfile::NamedTempFile;
use tests::wait::until;
use tests::{TestHub, TestPublisher};

use super::commands::story;

/// Settings with a sink into the hub at `url` and one into the file at `path`.
fn settings(url: &str, path: &Path) -> NamedTempFile {
    let mut file = NamedTempFile::with_suffix(".toml").unwrap();
    let text = format!(
        "[[sinks]]\nkind = \"hub\"\nurl = \"{url}\"\n[[sinks]]\nkind = \"file\"\npath = \"{}\"\n",
        path.display()
    );
    file.write_all(text.as_bytes()).unwrap();
    file
}

async fn leader(log: &Path, more: &[&str]) -> TestHub {
    let log = format!("sqlite:{}", log.display());
    TestHub::start_with(&[&["--log", &log], more].concat()).await
}

/// The texts of the deltas that the follower has in `c`, in their order.
async fn told(follower: &TestHub) -> Vec<String> {
    let request = follower.request("GET", "/v1/conversations/c/export/jsonl");
    let Ok(answer) = request.send().await else { return Vec::new() };
    if !answer.status().is_success() {
        return Vec::new();
    }
    texts(&answer.text().await.unwrap())
}

fn texts(lines: &str) -> Vec<String> {
    let lines = lines.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    lines
        .filter(|line| line["k"] == "part.delta")
        .map(|line| line["text"].as_str().unwrap().to_owned())
        .collect()
}

/// Publishes `count` lines that begin with `word`, and gives back the texts.
async fn say(hub: &TestHub, word: &str, count: usize) -> Vec<String> {
    let lines = story(count).replace("\"line ", &format!("\"{word} "));
    TestPublisher::named(word, hub.address(), "c").await.says(&lines).await;
    texts(&lines)
}

/// Waits until both sinks have exactly `wanted`.
async fn passed_on(follower: &TestHub, path: &Path, wanted: &[String]) {
    until("the other hub", async || (told(follower).await == wanted).then_some(())).await;
    until("the file", async || {
        let text = std::fs::read_to_string(path).unwrap_or_default();
        (texts(&text) == wanted).then_some(())
    })
    .await;
}

/// Has the log at `path` drop all that it has.
async fn drop_all(log: &Path) {
    let mut hub = leader(log, &["--retain-conversations", "0"]).await;
    hub.json_until("/v1/conversations", |list| list["total"] == 0).await;
    assert_eq!(hub.stop().await, Some(0));
}

#[tokio::test]
async fn i10_a_name_that_is_used_again_is_passed_on_from_its_first_event() {
    let folder = tempfile::tempdir().unwrap();
    let (log, path) = (folder.path().join("log.db"), folder.path().join("events.jsonl"));
    let follower = TestHub::start().await;
    let settings = settings(&follower.url(""), &path);
    let with_sinks = ["--config", settings.path().to_str().unwrap()];
    let mut all = Vec::new();
    // More, fewer and as many as before.
    for (word, count) in [("first", 20), ("more", 40), ("fewer", 10), ("alike", 10)] {
        let mut hub = leader(&log, &with_sinks).await;
        all.extend(say(&hub, word, count).await);
        passed_on(&follower, &path, &all).await;
        assert_eq!(hub.stop().await, Some(0));
        drop_all(&log).await;
    }
}

#[tokio::test]
async fn i10_a_new_data_folder_beside_an_old_file_is_passed_on_from_its_first_event() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("events.jsonl");
    let follower = TestHub::start().await;
    let settings = settings(&follower.url(""), &path);
    let with_sinks = ["--config", settings.path().to_str().unwrap()];
    let mut all = Vec::new();
    for (number, count) in [20, 40, 10].into_iter().enumerate() {
        let log = folder.path().join(format!("log{number}.db"));
        let mut hub = leader(&log, &with_sinks).await;
        all.extend(say(&hub, &format!("folder{number}"), count).await);
        passed_on(&follower, &path, &all).await;
        // A hub that dies goes on in a new epoch, with the same events: they are not passed on twice.
        hub.restart().await;
        all.extend(say(&hub, &format!("again{number}"), 5).await);
        passed_on(&follower, &path, &all).await;
        hub.kill().await;
    }
}
