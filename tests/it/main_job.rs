//! The main job on real input: streams of both foreign dialects come in at a pace, several viewers and a terminal
//! watch, and all see what the stream alone folds to.

use std::path::{Path, PathBuf};
use std::process::Stdio;

use tests::recordings::{fixtures, recordings};
use tests::wait::within;
use tests::{TestHub, hub};
use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::process::{Child, Command};

/// A few streams of `dialect`: the project's own, and recordings where they are at hand.
fn some(dialect: &str, folder: &str) -> Vec<PathBuf> {
    let recorded = recordings(folder);
    let step = (recorded.len() / 6).max(1);
    let files: Vec<_> = fixtures(dialect).into_iter().chain(recorded.into_iter().step_by(step)).collect();
    assert!(!files.is_empty(), "no stream of {dialect} at all");
    files
}

#[tokio::test(flavor = "multi_thread")]
async fn openai_chat_streams_replayed_end_equal_for_all_who_watch() {
    replay_all("openai-chat", "openai-chat").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn anthropic_streams_replayed_end_equal_for_all_who_watch() {
    replay_all("anthropic", "anthropic-messages").await;
}

async fn replay_all(dialect: &str, folder: &str) {
    let hub = TestHub::start().await;
    for (number, file) in some(dialect, folder).into_iter().enumerate() {
        replay(&hub, &format!("{dialect}-{number}"), dialect, &file).await;
    }
}

async fn replay(hub: &TestHub, conversation: &str, dialect: &str, file: &Path) {
    let (mut first, mut second) = (hub.view(conversation).await, hub.view(conversation).await);
    let terminal = hub.tail(conversation, &["--json"]);
    hub.replay(file, dialect, conversation, "100").await;
    let served = hub.summary(conversation).await;
    let head = served["events"].as_u64().unwrap();
    first.reach(head).await;
    second.reach(head).await;
    assert_eq!(first.hash(), second.hash(), "{}", file.display());
    assert_eq!(first.hash(), hub.view_hash(conversation).await, "{}", file.display());
    let alone = fold_alone(dialect, file).await;
    let runs = |summary: &serde_json::Value| summary["runs"].as_array().unwrap().clone();
    assert_eq!(runs(&alone).len(), runs(&served).len(), "{}", file.display());
    for (alone, served) in runs(&alone).iter().zip(runs(&served)) {
        for field in ["status", "model", "finish_reason", "text", "thinking", "usage"] {
            assert_eq!(alone[field], served[field], "{field} of {}", file.display());
        }
    }
    assert_prints_envelopes(terminal).await;
}

/// What `fanlight fold` makes of the same bytes without a hub.
async fn fold_alone(dialect: &str, file: &Path) -> serde_json::Value {
    let input = std::fs::File::open(file).unwrap();
    let fold = Command::new(hub::binary())
        .args(["fold", "--summary", "--dialect", dialect])
        .stdin(Stdio::from(input))
        .output();
    serde_json::from_slice(&within("fold", fold).await.unwrap().stdout).unwrap()
}

async fn assert_prints_envelopes(mut terminal: Child) {
    let mut lines = BufReader::new(terminal.stdout.take().unwrap()).lines();
    let mut printed = 0;
    while let Some(line) = within("a line of the terminal", lines.next_line()).await.unwrap() {
        model::Envelope::parse(&line).unwrap_or_else(|error| panic!("{error} in {line}"));
        printed += 1;
    }
    assert!(within("the terminal", terminal.wait()).await.unwrap().success());
    assert!(printed > 0);
}
