//! Dialects over the whole way: calls in plain text, dialects that users describe, one dialect made into another.

use std::path::Path;
use std::process::Stdio;

use serde_json::{Value, json};
use tests::recordings::fixtures;
use tests::wait::within;
use tests::{TestHub, hub};
use tokio::io::AsyncWriteExt as _;
use tokio::process::Command;

/// What a command makes of `input`.
async fn made(arguments: &[&str], input: &[u8]) -> Vec<u8> {
    let mut command = Command::new(hub::binary());
    let mut child = command
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let feed = async {
        stdin.write_all(input).await.unwrap();
        drop(stdin);
    };
    let (output, ()) =
        within("the command's end", async { tokio::join!(child.wait_with_output(), feed) }).await;
    let output = output.unwrap();
    assert!(output.status.success(), "{arguments:?}");
    output.stdout
}

async fn folded(dialect: &str, stream: &[u8]) -> Value {
    serde_json::from_slice(&made(&["fold", "--dialect", dialect, "--summary"], stream).await).unwrap()
}

#[tokio::test]
async fn calls_in_plain_text_are_found_where_they_are_asked_for() {
    let hub = TestHub::start().await;
    let pieces =
        ["I look. <tool_u", "se id=\\\"c1\\\" name=\\\"look\\\">{\\\"at\\\":1}</tool", "_use> Done."];
    let delta = |text: &str| format!("data: {{\"choices\":[{{\"delta\":{{\"content\":\"{text}\"}}}}]}}\n\n");
    let stream = pieces.map(delta).concat() + "data: [DONE]\n\n";
    for (query, calls) in [("found?text_calls", 1), ("left", 0)] {
        let mut body = hub.ingest("openai-chat", query);
        body.write(stream.clone()).await;
        assert_eq!(body.finish().await.0, 200);
        let run = hub.summary(query.trim_end_matches("?text_calls")).await["runs"][0].clone();
        assert_eq!(run["tool_calls"].as_array().unwrap().len(), calls, "{run}");
        if calls == 1 {
            assert_eq!(run["tool_calls"][0]["arguments"], json!({"at": 1}));
            assert_eq!(run["text"], "I look.  Done.");
        }
    }
}

#[tokio::test]
async fn what_is_converted_says_the_same_in_the_other_dialect() {
    let path =
        fixtures("anthropic").into_iter().find(|path| path.ends_with("thinking-and-calls.sse")).unwrap();
    let stream = std::fs::read(path).unwrap();
    let original = folded("anthropic", &stream).await;
    for dialect in ["openai-chat", "ag-ui", "ai-sdk", "fanlight", "anthropic"] {
        let other = made(&["convert", "--from", "anthropic", "--to", dialect], &stream).await;
        let converted = folded(dialect, &other).await;
        for field in ["text", "thinking"] {
            assert_eq!(converted["runs"][0][field], original["runs"][0][field], "{field} in {dialect}");
        }
        let calls = |summary: &Value| -> Vec<Value> {
            let calls = summary["runs"][0]["tool_calls"].as_array().unwrap().iter();
            calls.map(|call| json!([call["id"], call["name"], call["arguments"]])).collect()
        };
        assert_eq!(calls(&converted), calls(&original), "{dialect}");
        assert_eq!(converted["anomalies"], json!([]), "{dialect}");
    }
}

#[tokio::test]
async fn a_dialect_that_a_user_described_is_read_by_command_and_hub() {
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/dialects/user-defined.md");
    let page = std::fs::read_to_string(docs).unwrap();
    let (_, rest) = page.split_once("```yaml\n").unwrap();
    let (rules, _) = rest.split_once("\n```").unwrap();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("described.yaml");
    std::fs::write(&file, rules).unwrap();
    let stranger = folded(file.to_str().unwrap(), b"data: {\"nothing\":\"known\"}\n\n").await;
    assert_eq!(stranger["runs"][0]["status"], "interrupted", "{stranger}");
    let wrong = folder.path().join("wrong.yaml");
    std::fs::write(&wrong, "provider: {name: x}\nstream:\n  format: sse\n  extract:\n    text: \"$[\"\n")
        .unwrap();
    let mut command = Command::new(hub::binary());
    let output = command.args(["fold", "--dialect", wrong.to_str().unwrap()]).stdin(Stdio::null()).output();
    let output = output.await.unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(!output.status.success() && said.contains("text") && said.contains("line 5"), "{said}");
}

#[tokio::test]
async fn a_described_dialect_does_not_stand_in_for_one_that_the_hub_reads() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("anthropic.yaml");
    std::fs::write(&file, "provider: {name: anthropic}\nstream:\n  extract:\n    text: $.delta.text\n")
        .unwrap();
    let path = file.to_str().unwrap();
    let stream = b"data: {\"delta\":{\"text\":\"Hi\"}}\n\ndata: [DONE]\n\n";
    assert_eq!(folded(path, stream).await["runs"][0]["text"], "Hi", "by its path it is meant");
    let mut command = Command::new(hub::binary());
    let output = command.args(["serve", "--dialects", path]).stdin(Stdio::null()).output().await.unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.code() == Some(2) && said.contains("anthropic is a dialect already"), "{said}");
}
