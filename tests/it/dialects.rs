//! Dialects over the whole way: calls in plain text, dialects that users describe, one dialect made into another.

use std::path::Path;
use std::process::Stdio;

use serde_json::{Value, json};
use tests::recordings::fixtures;
use tests::wait::within;
use tests::watcher::{ListWatcher, WatcherMessage};
use tests::{TestHub, hub};
use tokio::io::AsyncWriteExt as _;
use tokio::process::Command;

use super::commands::{run, said};

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

/// A stream as OpenAI's chat completions send it.
fn chat(text: &str) -> String {
    let chunk = |delta: Value, finish: Value| {
        let chunk = json!({"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m",
            "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]});
        format!("data: {chunk}\n\n")
    };
    let begin = chunk(json!({"role": "assistant", "content": ""}), Value::Null);
    begin
        + &chunk(json!({"content": text}), Value::Null)
        + &chunk(json!({}), json!("stop"))
        + "data: [DONE]\n\n"
}

/// Runs `tee` on `stream`, or `replay` on a file with it, into `conversation` of the hub. Returns what it wrote to stdout and to stderr.
async fn published(
    hub: &TestHub,
    program: &str,
    dialect: &[&str],
    conversation: &str,
    stream: &str,
) -> (String, String) {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("stream.txt");
    std::fs::write(&file, stream).unwrap();
    let url = hub.url("");
    let mut arguments = vec![program];
    arguments.extend(dialect);
    arguments.extend(["--conversation", conversation, "--url", &url]);
    if program == "replay" {
        arguments.extend(["--speed", "1000", file.to_str().unwrap()]);
    }
    let output = run(&arguments, stream.as_bytes()).await;
    assert!(output.status.success(), "{arguments:?}: {}", said(&output));
    (String::from_utf8(output.stdout.clone()).unwrap(), said(&output))
}

#[tokio::test(flavor = "multi_thread")]
async fn tee_and_replay_tell_a_missing_dialect_and_say_that_a_given_one_is_wrong() {
    let hub = TestHub::start().await;
    let stream = chat("It is sunny.");
    for program in ["tee", "replay"] {
        let name = format!("{program}-none");
        let (copied, complaint) = published(&hub, program, &[], &name, &stream).await;
        assert_eq!(complaint, "", "{program}");
        let run = hub.summary(&name).await["runs"][0].clone();
        assert_eq!(
            (&run["text"], &run["status"]),
            (&json!("It is sunny."), &json!("complete")),
            "{program}: {run}"
        );
        let view = hub.json(&format!("/v1/conversations/{name}")).await;
        let dialects: Vec<_> =
            view["runs"].as_object().unwrap().values().map(|run| run["dialect"].clone()).collect();
        assert_eq!(dialects, ["openai-chat"], "{program}");
        if program == "tee" {
            assert_eq!(copied, stream);
        }
        // A wrong one is said where the command was typed, with the right one, and kept for who looks at the page.
        let name = format!("{program}-wrong");
        let (copied, complaint) = published(&hub, program, &["--dialect", "anthropic"], &name, &stream).await;
        let detail = "nothing in the stream is anthropic; it looks like openai-chat";
        assert!(
            complaint.contains(detail) && complaint.contains("name it with --dialect, or leave that out"),
            "{program}: {complaint}"
        );
        assert_eq!(complaint.matches(detail).count(), 1, "{program}: {complaint}");
        let summary = hub.summary(&name).await;
        assert!(summary["anomalies"].to_string().contains("wrong_dialect"), "{program}: {summary}");
        let view = hub.json(&format!("/v1/conversations/{name}")).await;
        assert!(view.to_string().contains(detail), "{program}: {view}");
        if program == "tee" {
            assert_eq!(copied, stream, "the pipe is not disturbed");
        }
    }
}

/// A stream of Anthropic's API as the helper of its SDK passes it on: behind each delta the same again, mostly with all that came before it.
/// Returns the stream and the words in it.
fn repeated(words_bytes: usize) -> (String, String) {
    use std::fmt::Write as _;
    let mut lines = String::new();
    let mut say = |event: Value| writeln!(lines, "{event}").unwrap();
    let mut all = String::new();
    say(
        json!({"type": "message_start", "message": {"id": "m", "type": "message", "role": "assistant", "model": "c", "content": [],
        "usage": {"input_tokens": 1, "output_tokens": 1}}}),
    );
    let parts = [
        ("thinking", json!({"type": "thinking", "thinking": ""}), words_bytes / 4),
        ("text", json!({"type": "text", "text": ""}), words_bytes / 2),
        ("input_json", json!({"type": "tool_use", "id": "t", "name": "write", "input": {}}), words_bytes / 4),
    ];
    for (index, (kind, block, bytes)) in parts.into_iter().enumerate() {
        say(json!({"type": "content_block_start", "index": index, "content_block": block}));
        let mut said = if kind == "input_json" { r#"{"text":""#.to_owned() } else { String::new() };
        let mut delta = said.clone();
        let mut n = 0;
        while said.len() < bytes {
            let word = format!("word{n} ");
            n += 1;
            delta.push_str(&word);
            said.push_str(&word);
            all.push_str(&word);
            let (name, field) = match kind {
                "thinking" => ("thinking_delta", "thinking"),
                "text" => ("text_delta", "text"),
                _ => ("input_json_delta", "partial_json"),
            };
            say(
                json!({"type": "content_block_delta", "index": index, "delta": {"type": name, field: delta}}),
            );
            say(match kind {
                "thinking" => json!({"type": "thinking", "thinking": delta, "snapshot": said}),
                "text" => json!({"type": "text", "text": delta, "snapshot": said}),
                _ => json!({"type": "input_json", "partial_json": delta, "snapshot": {"text": said}}),
            });
            delta.clear();
        }
        match kind {
            "thinking" => {
                say(
                    json!({"type": "content_block_delta", "index": index, "delta": {"type": "signature_delta", "signature": "c2ln"}}),
                );
                say(json!({"type": "signature", "signature": "c2ln"}));
            }
            "text" => {
                let citation = json!({"type": "char_location", "cited_text": "word0", "document_index": 0, "document_title": "D",
                    "start_char_index": 0, "end_char_index": 5});
                say(
                    json!({"type": "content_block_delta", "index": index, "delta": {"type": "citations_delta", "citation": citation}}),
                );
                say(json!({"type": "citation", "citation": citation, "citations_snapshot": [citation]}));
            }
            _ => say(
                json!({"type": "content_block_delta", "index": index, "delta": {"type": "input_json_delta", "partial_json": "\"}"}}),
            ),
        }
        say(json!({"type": "content_block_stop", "index": index}));
    }
    say(
        json!({"type": "message_delta", "delta": {"stop_reason": "tool_use"}, "usage": {"output_tokens": 9}}),
    );
    say(json!({"type": "message_stop"}));
    (lines, all)
}

/// The size of the snapshot that a viewer of `conversation` gets, and those of its exports by their formats, in bytes.
async fn sizes(hub: &TestHub, conversation: &str) -> Vec<(&'static str, usize)> {
    let mut watcher = ListWatcher::connect(hub.address(), conversation).await;
    let WatcherMessage::Snapshot(snapshot) = watcher.next().await else {
        panic!("a viewer that has nothing gets a snapshot");
    };
    let mut sizes = vec![("snapshot", snapshot.len())];
    for format in ["md", "html", "openai", "anthropic", "jsonl", "native"] {
        let path = format!("/v1/conversations/{conversation}/export/{format}");
        let exported = hub.request("GET", &path).send().await.unwrap();
        assert_eq!(exported.status(), 200, "{format}");
        sizes.push((format, exported.bytes().await.unwrap().len()));
    }
    sizes
}

/// The helper's events once made 38 MB of 26 KB. What is read is at most twice as large as the words; the exports that have each event, and
/// so some bytes around each word, are as large as those of the same stream without the helper.
#[tokio::test(flavor = "multi_thread")]
async fn all_events_of_anthropics_helper_leave_exports_and_snapshots_as_large_as_the_words() {
    let hub = TestHub::start().await;
    let (stream, words) = repeated(26 << 10);
    assert!(
        words.len() > 25 << 10 && stream.len() > 200 * words.len(),
        "{} of {}",
        stream.len(),
        words.len()
    );
    let plain: String = stream
        .split_inclusive('\n')
        .filter(|line| !line.contains("\"snapshot\"") && !line.contains("_snapshot\""))
        .collect();
    let plain = plain.replace("{\"signature\":\"c2ln\",\"type\":\"signature\"}\n", "");
    assert_eq!(
        stream.lines().count() - plain.lines().count(),
        words.split_whitespace().count() + 2,
        "the helper's events are left out"
    );
    for (conversation, stream) in [("helped", stream), ("plain", plain)] {
        let mut body = hub.ingest("anthropic", conversation);
        body.write(stream).await;
        assert_eq!(body.finish().await.0, 200);
        let summary = hub.summary(conversation).await;
        assert_eq!(summary["runs"][0]["status"], "complete", "{summary}");
        let codes: Vec<_> =
            summary["anomalies"].as_array().unwrap().iter().map(|it| it["code"].clone()).collect();
        assert_eq!(codes, if conversation == "helped" { vec!["repeated"] } else { vec![] }, "{summary}");
    }
    let (helped, plain) = (sizes(&hub, "helped").await, sizes(&hub, "plain").await);
    for ((what, helped), (_, plain)) in helped.into_iter().zip(plain) {
        // How many deltas are joined to one event depends on when the hub read them; the helper's events would make it a hundred times as much.
        assert!(helped <= plain + plain / 8, "{what}: {helped} bytes, and {plain} without the helper");
        assert!(
            what == "jsonl" || what == "native" || helped <= 2 * words.len(),
            "{what}: {helped} bytes for {} of words",
            words.len()
        );
    }
}
