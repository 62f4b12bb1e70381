//! The file of a sink as it is found at the start: whatever stands in it, its whole lines stay, the line that a crash has
//! cut goes, and what is said from now on stands behind them, each event once and in order.
#![no_main]

use fuzz::hub::{self, Clock, Hub};
use fuzz::talk::ask;
use libfuzzer_sys::fuzz_target;
use serde_json::Value;
use edge::Config;
use edge::{FileTarget, Flush, Sink, Target};

/// What is said.
const EVENTS: &[u8] = br#"{"k":"status","run":"r","text":"one"}
{"k":"status","run":"r","text":"two"}"#;

fuzz_target!(|bytes: &[u8]| {
    let folder = tempfile::tempdir_in("/dev/shm").expect("a folder");
    let path = folder.path().join("events.jsonl");
    std::fs::write(&path, bytes).expect("a file");
    let target = FileTarget { path: path.clone(), max_bytes: 1 << 20, keep: 1, flush: Flush::Written };
    let sink = Sink { conversations: "*".to_owned(), target: Target::File(target) };
    let config = Config { sinks: vec![sink], ..Config::default() };
    hub::with(Clock::Jumps, config, async |hub: Hub| {
        let answer = ask(hub, "POST /v1/conversations/c/events HTTP/1.1", EVENTS).await.expect("an answer");
        assert_eq!(answer.status, 200, "{answer:?}");
    });
    let whole = bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
    let written = std::fs::read(&path).expect("the file");
    assert!(written.starts_with(&bytes[..whole]), "what stood there is gone");
    let text = std::str::from_utf8(&written[whole..]).expect("what is written is text");
    let lines: Vec<Value> =
        text.lines().map(|line| serde_json::from_str(line).expect("a line is JSON")).collect();
    let seqs: Vec<_> = lines.iter().filter(|line| line["k"] == "status").map(|line| &line["seq"]).collect();
    assert_eq!(seqs, [1, 2], "{text}");
});
