//! The lines of `docs/integrations/coding-agents.md`, typed as they stand there with a recorded stream for the program.

use std::path::{Path, PathBuf};
use std::process::Stdio;

use serde_json::json;
use tests::TestHub;
use tests::hub::binary;
use tests::wait::within;
use tokio::process::Command;

const PAGE: &str = include_str!("../../docs/integrations/coding-agents.md");

/// A stream of each dialect, whole.
fn recorded(dialect: &str) -> PathBuf {
    let name = match dialect {
        "claude-code" => "claude-code/partial-messages.ndjson",
        "codex" => "codex/turn.ndjson",
        "opencode" => "opencode/answer.sse",
        "claude-session" => "claude-session/session.ndjson",
        other => panic!("nothing is recorded of {other}"),
    };
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../shared/dialects/fixtures")).join(name)
}

#[tokio::test]
async fn lines_for_coding_agents_pass_bytes_on_and_show_them() {
    let lines = PAGE.lines().filter_map(|line| line.split_once(" | fanlight tee "));
    let lines: Vec<_> = lines.filter(|(_, tee)| tee.starts_with("--dialect")).collect();
    assert_eq!(lines.len(), 5, "a line was added or has changed its form");
    for (program, tee) in lines {
        let hub = TestHub::start_in_memory().await;
        let words: Vec<_> = tee.split_whitespace().collect();
        let ["--dialect", dialect, "--conversation", conversation] = words.as_slice() else {
            panic!("{program}: {tee}")
        };
        let file = recorded(dialect);
        let mut command = Command::new(binary());
        command.arg("tee").args(&words).args(["--url", &hub.url("")]).kill_on_drop(true);
        let said = command.stdin(Stdio::from(std::fs::File::open(&file).unwrap())).output();
        let said = within(program, said).await.unwrap();
        assert!(said.status.success(), "{program}: {}", String::from_utf8_lossy(&said.stderr));
        assert!(said.stdout == std::fs::read(&file).unwrap(), "{program}: the bytes are not the same");
        let summary = hub.summary(conversation).await;
        assert_eq!(summary["anomalies"], json!([]), "{program}");
        assert_eq!(summary["runs"][0]["status"], "complete", "{program}: {summary:#}");
        assert_ne!(summary["runs"][0]["text"], "", "{program}: {summary:#}");
    }
}
