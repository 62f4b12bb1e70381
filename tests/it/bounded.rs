//! Endless input: a line of a gibibyte, an array that never ends, costs bounded memory and a named anomaly.

use std::process::Stdio;

use serde_json::Value;
use tests::{hub, process::ChildProcess};
use tokio::io::AsyncWriteExt as _;
use tokio::process::Command;

const GIBIBYTE: usize = 1 << 30;
/// What the program may hold at its worst, in bytes: a line of 16 MiB, twice while it grows, and itself.
const PEAK_BYTES_MAX: u64 = 96 << 20;

/// Feeds `head`, then a gibibyte of `filling`; gives the peak of memory in bytes and what was folded.
async fn fold_endless(dialect: &str, head: &str, filling: &str) -> (u64, Value) {
    let mut command = Command::new(hub::binary());
    command.args(["fold", "--dialect", dialect, "--summary"]).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = command.kill_on_drop(true).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(head.as_bytes()).await.unwrap();
    let piece = filling.repeat((1 << 20) / filling.len());
    for _ in 0..GIBIBYTE / piece.len() {
        stdin.write_all(piece.as_bytes()).await.unwrap();
    }
    let peak = ChildProcess::of(child.id().unwrap()).peak_bytes;
    drop(stdin);
    let output = child.wait_with_output().await.unwrap();
    (peak, serde_json::from_slice(&output.stdout).unwrap())
}

#[tokio::test]
async fn i7_a_line_of_a_gibibyte_is_left_out_and_named() {
    let cases = [
        ("openai-chat", "data: {\"choices\":[{\"delta\":{\"content\":\"", "x"),
        ("openai-chat", "{\"choices\":[{\"message\":{\"content\":\"", "x"),
        ("fanlight", "{\"k\":\"run.start\",\"run\":\"r\",\"title\":\"", "x"),
        ("anthropic", "", "["),
        ("anthropic", "no event of any kind ", "<p>"),
    ];
    for (dialect, head, filling) in cases {
        let (peak, summary) = fold_endless(dialect, head, filling).await;
        assert!(peak < PEAK_BYTES_MAX, "{dialect} {head:?}: {peak} bytes");
        let anomalies = summary["anomalies"].to_string();
        assert!(anomalies.contains("too_large") || anomalies.contains("malformed"), "{dialect}: {summary}");
    }
}
