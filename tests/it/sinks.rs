//! Sinks: what goes into a hub goes out into files and other hubs, each event once.

use std::io::Write as _;
use std::path::Path;

use serde_json::Value;
use tempfile::NamedTempFile;
use tests::wait::until;
use tests::{TestHub, TestPublisher};

use super::commands::{nowhere, story};

/// A file with settings.
fn settings(text: &str) -> NamedTempFile {
    let mut file = NamedTempFile::with_suffix(".toml").unwrap();
    file.write_all(text.as_bytes()).unwrap();
    file
}

fn into_hub(url: &str) -> NamedTempFile {
    settings(&format!("[[sinks]]\nkind = \"hub\"\nurl = \"{url}\"\nconversations = \"c*\"\n"))
}

async fn hub_with(listen: &str, settings: &NamedTempFile) -> TestHub {
    TestHub::start_at_with(listen, &["--log", "memory", "--config", settings.path().to_str().unwrap()]).await
}

/// The events of a conversation, without what is a hub's own.
async fn events(hub: &TestHub, conversation: &str) -> Vec<Value> {
    let path = format!("/v1/conversations/{conversation}/events?limit=10000");
    let answer = hub.request("GET", &path).header("accept", "application/x-ndjson").send().await;
    let Ok(answer) = answer else { return Vec::new() };
    if !answer.status().is_success() {
        return Vec::new();
    }
    let text = answer.text().await.unwrap_or_default();
    let lines = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    lines
        .map(|mut event| {
            for own in ["at", "producer_at", "publisher"] {
                event.as_object_mut().unwrap().remove(own);
            }
            event
        })
        .collect()
}

/// Waits until `follower` has exactly the events of `leader`.
async fn follows(leader: &TestHub, follower: &TestHub, conversation: &str) {
    let wanted = events(leader, conversation).await;
    assert!(!wanted.is_empty());
    until("the follower to have the same events", async || {
        (events(follower, conversation).await == wanted).then_some(())
    })
    .await;
}

#[tokio::test]
async fn i10_a_hub_follows_a_hub_through_its_own_restarts() {
    let mut follower = TestHub::start_in_memory().await;
    let settings = into_hub(&follower.url(""));
    let leader = hub_with("127.0.0.1:0", &settings).await;
    let mut publisher = leader.publisher("c1").await;
    let mut other = leader.publisher("other").await;
    other.says(&story(1)).await;
    publisher.says(&story(2_500)).await;
    follows(&leader, &follower, "c1").await;
    for round in 0..3 {
        // A log in memory forgets, and is told everything again.
        follower.kill().await;
        publisher.says(&story(round).replace("\"r\"", &format!("\"r{round}\""))).await;
        follower.start_again().await;
        follows(&leader, &follower, "c1").await;
    }
    // Nothing is published to it twice, and nothing that is not wanted.
    assert_eq!(follower.json("/v1/conversations").await["conversations"].as_array().unwrap().len(), 1);
    let (summary, of_leader) = (follower.summary("c1").await, leader.summary("c1").await);
    assert_eq!(summary["anomalies"], of_leader["anomalies"]);
    assert_eq!(summary["runs"][0]["text"], of_leader["runs"][0]["text"]);
}

#[tokio::test]
async fn i10_a_leader_that_is_killed_goes_on_in_the_follower() {
    let follower = TestHub::start().await;
    let settings = into_hub(&follower.url(""));
    let mut leader = hub_with("127.0.0.1:0", &settings).await;
    leader.publisher("c1").await.says(&story(20)).await;
    follows(&leader, &follower, "c1").await;
    let before = events(&follower, "c1").await.len();
    leader.restart().await;
    // The leader has forgotten; what it is told now comes behind what the follower has.
    leader.publisher("c1").await.says(&story(5).replace("\"r\"", "\"again\"")).await;
    let after = until("the second run", async || {
        let events = events(&follower, "c1").await;
        (events.len() == before + 9).then_some(events)
    })
    .await;
    let runs: Vec<_> = after.iter().map(|event| event["run"].as_str().unwrap()).collect();
    assert!(runs[..before].iter().all(|run| *run == "r") && runs[before..].iter().all(|run| *run == "again"));
}

#[tokio::test]
async fn two_hubs_that_follow_each_other_do_not_go_round_in_circles() {
    let (one, other) = (nowhere().await.to_string(), nowhere().await.to_string());
    let to_other = into_hub(&format!("http://{other}"));
    let to_one = into_hub(&format!("http://{one}"));
    let one = hub_with(&one, &to_other).await;
    let other = hub_with(&other, &to_one).await;
    one.publisher("c1").await.says(&story(10)).await;
    other.publisher("c2").await.says(&story(20)).await;
    follows(&one, &other, "c1").await;
    follows(&other, &one, "c2").await;
    // In one conversation, from both sides.
    other.publisher("c1").await.says("{\"k\":\"status\",\"run\":\"x\",\"text\":\"from the other\"}").await;
    let all = until("all of it here", async || Some(runs(&one).await).filter(|runs| runs.len() == 15)).await;
    one.publisher("c9").await.says(&story(1)).await;
    follows(&one, &other, "c9").await;
    assert_eq!((runs(&one).await, runs(&other).await), (all.clone(), all));
}

#[tokio::test]
async fn i10_hubs_with_logs_on_disk_go_on_where_they_were_when_they_are_killed() {
    let folder = tempfile::tempdir().unwrap();
    let log = |name: &str| format!("sqlite:{}", folder.path().join(name).display());
    let mut follower = TestHub::start_with(&["--log", &log("follower.db")]).await;
    let path = folder.path().join("events.jsonl");
    let settings = settings(&format!(
        "[[sinks]]\nkind = \"hub\"\nurl = \"{}\"\n[[sinks]]\nkind = \"file\"\npath = {path:?}\n",
        follower.url("")
    ));
    let log = log("leader.db");
    let mut leader =
        TestHub::start_with(&["--log", &log, "--config", settings.path().to_str().unwrap()]).await;
    for round in 0..4 {
        let story = story(300).replace("\"r\"", &format!("\"r{round}\""));
        TestPublisher::named(&format!("round {round}"), leader.address(), "c1").await.says(&story).await;
        if round % 2 == 0 {
            leader.restart().await;
        } else {
            follower.restart().await;
        }
        follows(&leader, &follower, "c1").await;
    }
    let seqs = until("the file", async || {
        let seqs: Vec<_> = lines(&path).iter().map(|line| line["seq"].as_u64().unwrap()).collect();
        (seqs.len() >= 4 * 304).then_some(seqs)
    })
    .await;
    assert_eq!(seqs, (1..=4 * 304).collect::<Vec<_>>());
}

/// The runs of a conversation's events, sorted.
async fn runs(hub: &TestHub) -> Vec<String> {
    let mut runs: Vec<_> = events(hub, "c1").await.iter().map(|event| event["run"].to_string()).collect();
    runs.sort_unstable();
    runs
}

/// The events in a file.
fn lines(path: &Path) -> Vec<Value> {
    let text = std::fs::read_to_string(path).unwrap_or_default();
    let lines = text.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    // Those that hold no event say where the file begins.
    lines.filter(|line| line["k"].is_string()).collect()
}

#[tokio::test]
async fn a_new_file_is_there_before_anything_is_taken_and_gets_the_first_event() {
    let folder = tempfile::tempdir().unwrap();
    for number in 0..8 {
        let path = folder.path().join(format!("{number}/events.jsonl"));
        let settings = settings(&format!("[[sinks]]\nkind = \"file\"\npath = {path:?}\n"));
        let hub = hub_with("127.0.0.1:0", &settings).await;
        hub.publisher("c").await.says(&story(1)).await;
        assert!(path.exists(), "what was published would count as said before the sink was set up");
        until("the events", async || (lines(&path).len() == 5).then_some(())).await;
    }
}

#[tokio::test]
async fn a_file_gets_every_event_once_and_is_renamed_when_it_is_full() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("logs/events.jsonl");
    let settings = settings(&format!(
        "[[sinks]]\nkind = \"file\"\npath = {path:?}\nmax_bytes = \"200KB\"\nkeep = 2\nflush = \"synced\"\n"
    ));
    let mut hub = hub_with("127.0.0.1:0", &settings).await;
    let mut publisher = hub.publisher("c").await;
    let ack = publisher.says(&story(500)).await;
    let written = until("the file", async || Some(lines(&path)).filter(|lines| lines.len() == 504)).await;
    let seqs: Vec<_> = written.iter().map(|line| line["seq"].as_u64().unwrap()).collect();
    assert_eq!(seqs, (1..=504).collect::<Vec<_>>());
    assert_eq!(
        (written[0]["conversation"].as_str(), written[0]["epoch"].as_str()),
        (Some("c"), Some(ack.epoch.as_str()))
    );
    assert_eq!(written[0]["k"], "run.start");
    for round in 0..20 {
        publisher.says(&story(500).replace("\"r\"", &format!("\"r{round}\""))).await;
    }
    let older = |number: usize| lines(&folder.path().join(format!("logs/events.jsonl.{number}")));
    until("the last event", async || {
        let last = lines(&path).last().and_then(|line| line["seq"].as_u64());
        (last == Some(504 * 21)).then_some(())
    })
    .await;
    let kept: Vec<_> = [older(2), older(1), lines(&path)].concat();
    let seqs: Vec<_> = kept.iter().map(|line| line["seq"].as_u64().unwrap()).collect();
    assert!(seqs.windows(2).all(|pair| pair[0] + 1 == pair[1]) && seqs.last() == Some(&(504 * 21)));
    assert!(!older(1).is_empty() && !older(2).is_empty() && older(3).is_empty());
    // Another life of the log begins again at 1, behind what is there.
    hub.restart().await;
    let ack = hub.publisher("c").await.says(&story(1)).await;
    until("the new life", async || {
        let last = lines(&path).last().cloned()?;
        (last["epoch"] == ack.epoch.as_str() && last["seq"] == 5).then_some(())
    })
    .await;
}

#[tokio::test]
async fn a_sink_with_a_word_that_nobody_knows_is_refused() {
    for (text, word) in [
        ("[[sinks]]\nkind = \"file\"\npath = \"x\"\nsize = 3\n", "size"),
        ("[[sinks]]\nkind = \"pigeon\"\n", "pigeon"),
        ("[[sinks]]\nkind = \"hub\"\nurl = \"ftp://x\"\n", "https://"),
    ] {
        let settings = settings(text);
        let arguments = ["serve", "--listen", "127.0.0.1:0", "--config", settings.path().to_str().unwrap()];
        let output = super::commands::run(&arguments, b"").await;
        assert_eq!(output.status.code(), Some(2), "{text}");
        assert!(String::from_utf8_lossy(&output.stderr).contains(word), "{output:?}");
    }
}
