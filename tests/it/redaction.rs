//! Secrets that come in are stored and shown nowhere, whatever dialect they come in, and those that were stored before are found and
//! erased.

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::path::Path;
use std::process::Stdio;

use dialects::{DecodeOptions, Decoded, decoder};
use model::dialect::DECODED;
use model::event::Kind;
use serde_json::Value;
use tests::TestHub;
use tests::hub::binary;
use tests::publisher::{StreamingBody, TestPublisher};
use tests::recordings::fixtures;
use tests::viewer::TestViewer;
use tests::wait::{patiently, within};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::process::{Child, Command};

/// A key that nobody has.
pub(super) const SECRET: &str = "sk-proj-Z9y8X7w6V5u4T3s2R1q0P9o8N7m6L5k4";

/// A piece of it, behind what everybody knows.
pub(super) const PIECE: &str = "X7w6V5u4";

/// The events of a stream as lines of JSON.
fn decoded(dialect: &str, bytes: &[u8]) -> Vec<String> {
    let mut decoder = decoder(dialect, DecodeOptions::default()).unwrap();
    let mut out = Decoded::default();
    decoder.feed(bytes, &mut out);
    decoder.end(&mut out);
    let said = |it: &&model::Envelope| {
        matches!(
            it.event.kind,
            Kind::PartDelta { .. }
                | Kind::ToolArgs { .. }
                | Kind::ToolCall { .. }
                | Kind::ToolResult(_)
                | Kind::Message(_)
        )
    };
    out.envelopes.iter().filter(said).map(|it| serde_json::to_string(&it.event).unwrap()).collect()
}

/// A fixture of `dialect` in which the key stands where a word stood that somebody reads.
fn stream_with_key(dialect: &str) -> Option<Vec<u8>> {
    fixtures(dialect).iter().find_map(|path| {
        let text = std::fs::read_to_string(path).ok()?;
        let said = decoded(dialect, text.as_bytes()).concat();
        let words = said.split(|letter: char| !letter.is_ascii_alphabetic()).filter(|word| word.len() >= 4);
        let words: BTreeSet<&str> = words.collect();
        words.into_iter().find_map(|word| {
            let changed = text.replace(word, SECRET);
            decoded(dialect, changed.as_bytes())
                .iter()
                .any(|event| event.contains(SECRET))
                .then(|| changed.into_bytes())
        })
    })
}

/// A hub that traces all that it can into `place`.
pub(super) async fn hub_that_traces(place: &Path) -> (Child, SocketAddr) {
    let mut child = Command::new(binary())
        .args(["serve", "--listen", "127.0.0.1:0", "--trace", "trace", "--data-dir"])
        .arg(place.join("hub"))
        .env("RUST_LOG", "trace")
        .stdout(Stdio::piped())
        .stderr(std::fs::File::create(place.join("trace")).unwrap())
        .kill_on_drop(true)
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let line = within("the first line", lines.next_line()).await.unwrap().unwrap();
    (child, line.strip_prefix("listening on http://").unwrap().parse().unwrap())
}

/// The files below `place` that hold `text`, and how many there are.
pub(super) fn found_in(place: &Path, text: &str) -> (usize, Vec<String>) {
    let (mut files, mut found) = (0, Vec::new());
    for entry in std::fs::read_dir(place).unwrap().flatten() {
        let path = entry.path();
        if path.is_dir() {
            let (more, below) = found_in(&path, text);
            files += more;
            found.extend(below);
            continue;
        }
        files += 1;
        let bytes = std::fs::read(&path).unwrap();
        if bytes.windows(text.len()).any(|window| window == text.as_bytes()) {
            found.push(path.display().to_string());
        }
    }
    (files, found)
}

pub(super) async fn fetched(address: SocketAddr, path: &str) -> String {
    let client = reqwest::Client::new();
    let asked = client.get(format!("http://{address}{path}")).header("accept", "application/x-ndjson, */*");
    let answer = asked.send().await.unwrap();
    assert!(answer.status().is_success(), "{path}: {}", answer.status());
    answer.text().await.unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_key_in_a_stream_of_any_dialect_is_nowhere_afterwards() {
    let place = tempfile::tempdir().unwrap();
    let (mut hub, address) = hub_that_traces(place.path()).await;
    let client = reqwest::Client::new();
    let mut carried = Vec::new();
    for dialect in DECODED {
        let Some(stream) = stream_with_key(dialect) else { continue };
        let url = format!("http://{address}/v1/ingest/{dialect}/{dialect}");
        let mut body = StreamingBody::post(&client, &url, &[]);
        // In pieces, so that a delta is a publication of its own.
        for piece in stream.chunks(61) {
            body.write(piece.to_vec()).await;
        }
        let (status, answer) = body.finish().await;
        assert_eq!(status, 200, "{dialect}: {answer}");
        carried.push(*dialect);
    }
    assert!(carried.len() >= 22, "few dialects carry it: {carried:?}");
    let mut told = fetched(address, "/v1/search?q=redacted").await;
    assert!(told.contains("openai-key"), "{told}");
    for id in &carried {
        let mut viewer = TestViewer::connect(address, id).await;
        viewer.live().await;
        let view = serde_json::to_string(viewer.view()).unwrap();
        assert!(view.contains("[redacted:openai-key:"), "{id}: {view}");
        told += &view;
        let exports =
            encode::document::export::FORMATS.iter().map(|format| format.name).chain(["jsonl", "native"]);
        let exports = exports.map(|format| format!("/export/{format}")).collect::<Vec<_>>();
        assert!(exports.len() > 4, "{exports:?}");
        for path in exports.iter().map(String::as_str).chain(["", "/events?limit=10000"]) {
            let text = fetched(address, &format!("/v1/conversations/{id}{path}")).await;
            // A request to a model leaves out what models are not told.
            let is_whole = !path.contains("/export/") || path.ends_with("jsonl") || path.ends_with("native");
            assert!(!is_whole || text.contains("redacted:openai-key:"), "{id}{path}: {text}");
            told += &text;
        }
    }
    told += &fetched(address, "/v1/conversations").await;
    assert!(!told.contains(PIECE), "somebody was told");
    let metrics = fetched(address, "/metrics").await;
    assert!(metrics.contains("fanlight_redactions_total{rule=\"openai-key\"}"), "{metrics}");
    let pid = rustix::process::Pid::from_raw(i32::try_from(hub.id().unwrap()).unwrap()).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
    patiently("the end", hub.wait()).await.unwrap();
    let (files, found) = found_in(place.path(), PIECE);
    assert!(files >= 3 && found.is_empty(), "{files} files, and {found:?}");
    // Blocks are packed: what they hold is looked at, too.
    let (lines, _) = stored(&place.path().join("hub"), &["scan"], "").await;
    assert_eq!(lines, "", "nothing is found in what is stored");
}

/// What `fanlight` says of what is stored in `folder`: stdout, and whether all went well.
pub(super) async fn stored(folder: &Path, arguments: &[&str], stdin: &str) -> (String, bool) {
    let mut command = Command::new(binary());
    command
        .args(arguments)
        .arg("--data-dir")
        .arg(folder)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut child = command.kill_on_drop(true).spawn().unwrap();
    let mut to = child.stdin.take().unwrap();
    // Who does not read it has ended.
    drop(to.write_all(stdin.as_bytes()).await);
    drop(to);
    let output = patiently("the command", child.wait_with_output()).await.unwrap();
    (String::from_utf8(output.stdout).unwrap(), output.status.success())
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_stored_before_is_found_and_erased() {
    let place = tempfile::tempdir().unwrap();
    let config = place.path().join("fanlight.toml");
    std::fs::write(&config, "[redact]\noff = true\n").unwrap();
    let mut hub = TestHub::start_with(&["--config", config.to_str().unwrap(), "--log", "sqlite"]).await;
    let folder = hub.folder().to_path_buf();
    let (front, back) = SECRET.split_at(14);
    let mut publisher = TestPublisher::connect(hub.address(), "c").await;
    publisher.says(r#"{"k":"run.start","run":"r"}"#).await;
    publisher.says(r#"{"k":"part.start","run":"r","part":"p","kind":"text"}"#).await;
    publisher.says(&format!(r#"{{"k":"part.delta","run":"r","part":"p","text":"use {front}"}}"#)).await;
    publisher.says(&format!(r#"{{"k":"part.delta","run":"r","part":"p","text":"{back} now"}}"#)).await;
    publisher.says(r#"{"k":"part.end","run":"r","part":"p"}"#).await;
    publisher
        .says(&format!(r#"{{"k":"tool.result","run":"r","tool":"t","output":{{"env":"KEY={SECRET}"}}}}"#))
        .await;
    let large = "word ".repeat(80_000);
    publisher
        .says(&format!(r#"{{"k":"tool.result","run":"r","tool":"u","output":"{large}{SECRET}"}}"#))
        .await;
    publisher.says(r#"{"k":"run.end","run":"r","status":"complete"}"#).await;
    let mut other = TestPublisher::connect(hub.address(), "other").await;
    other.says(r#"{"k":"message","message":"m","role":"user","text":"unmistakable words"}"#).await;
    assert!(!stored(&folder, &["scan"], "").await.1, "the hub is running");
    assert_eq!(hub.stop().await, Some(0));

    let (lines, went_well) = stored(&folder, &["scan"], "").await;
    assert!(went_well && !lines.contains(PIECE), "{lines}");
    let found: Vec<Vec<&str>> = lines.lines().map(|line| line.split('\t').collect()).collect();
    assert!(found.iter().all(|it| it[0] == "c" && it[2] == "openai-key"), "{lines}");
    let seqs: BTreeSet<&str> = found.iter().map(|it| it[1]).collect();
    assert_eq!(seqs, BTreeSet::from(["3", "6", "7"]), "{lines}");

    let (said, went_well) = stored(&folder, &["erase"], &format!("{SECRET}\n")).await;
    assert!(went_well && said.contains("no file holds it"), "{said}");
    assert_eq!(found_in(&folder, PIECE).1, Vec::<String>::new());
    assert_eq!(stored(&folder, &["scan"], "").await, (String::new(), true));
    assert!(!stored(&folder, &["erase"], "abc").await.1, "too short to be one");

    let (said, went_well) = stored(&folder, &["erase", "--conversation", "other"], "").await;
    assert!(went_well && said.contains("no file holds it"), "{said}");
    assert_eq!(found_in(&folder, "unmistakable").1, Vec::<String>::new());

    hub.start_again().await;
    let state: Value = hub.json("/v1/conversations/c").await;
    let text = state.to_string();
    assert!(text.contains("[redacted:erased:") && text.contains("use "), "{text}");
    assert_eq!(hub.json("/v1/conversations").await["conversations"].as_array().map(Vec::len), Some(1));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pattern_that_cannot_be_used_is_refused_at_the_start() {
    let place = tempfile::tempdir().unwrap();
    let config = place.path().join("fanlight.toml");
    std::fs::write(&config, "[redact]\npatterns = [\"ACME-[0-9]+\", \"(open\"]\n").unwrap();
    let mut command = Command::new(binary());
    command.args(["serve", "--listen", "127.0.0.1:0", "--log", "memory", "--config"]).arg(&config);
    let output = patiently("the hub", command.kill_on_drop(true).output()).await.unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(!output.status.success() && said.contains("redact.patterns: pattern 2 (\"(open\")"), "{said}");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_erased_conversation_takes_the_copies_behind_frozen_links_along_and_no_others() {
    let place = tempfile::tempdir().unwrap();
    let config = place.path().join("fanlight.toml");
    std::fs::write(&config, "[access]\nmode = \"tokens\"\n").unwrap();
    let mut hub = TestHub::start_with(&["--config", config.to_str().unwrap(), "--log", "sqlite"]).await;
    let folder = hub.folder().to_path_buf();
    let admin = hub.token_for("admin", &["admin"]).await;
    for (name, words) in [("c", "unmistakable words"), ("d", "kept words")] {
        let events = serde_json::json!([{"k": "message", "message": "m", "role": "user", "text": words}]);
        super::links::publish(&hub, &admin, name, &events).await;
        let frozen = serde_json::json!({"conversation": name, "frozen": true});
        super::links::made(&hub, &admin, frozen).await;
    }
    assert_eq!(hub.stop().await, Some(0));
    let (said, went_well) = stored(&folder, &["erase", "--conversation", "c"], "").await;
    assert!(
        went_well
            && said.contains("is erased with 1 copy behind a frozen link")
            && said.contains("no file holds it"),
        "{said}"
    );
    assert_eq!(found_in(&folder, "unmistakable").1, Vec::<String>::new());
    assert_ne!(found_in(&folder, "kept words").1, Vec::<String>::new());
    let (said, went_well) = stored(&folder, &["erase"], "kept words").await;
    assert!(went_well && said.contains("no file holds it"), "{said}");
    // Both are in the audit log, which holds nothing of the value and is whole.
    let told = std::fs::read_to_string(folder.join("audit.jsonl")).unwrap();
    let told: Vec<Value> = told.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let told: Vec<_> = told.iter().filter(|entry| entry["deed"] == "erase").collect();
    assert_eq!(told.len(), 2, "{told:?}");
    assert_eq!(told[0]["conversation"], "c");
    assert!(told[0]["detail"].as_str().unwrap().contains("1 copy behind a frozen link"), "{told:?}");
    assert!(told[1]["detail"].as_str().unwrap().starts_with("fanlight erase: a value, from "), "{told:?}");
    let (said, is_whole) = stored(&folder, &["audit", "verify"], "").await;
    assert!(is_whole, "{said}");
    hub.start_again().await;
    let newest: Value = super::access::get(&hub, &admin, "/v1/audit").await.json().await.unwrap();
    assert_eq!((&newest["entries"][0]["deed"], newest["entries"][0].get("failed")), (&"start".into(), None));
}
