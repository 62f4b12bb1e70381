//! Conversations as files: over HTTP and on the command line.

use serde_json::Value;
use tests::wait::within;
use tests::{TestHub, hub};
use tokio::process::Command;

const TURN: &str = r#"
    {"k":"message","message":"m","role":"user","text":"How much?"}
    {"k":"run.start","run":"r","model":"m-1","title":"A <b>sum</b>"}
    {"k":"tool.call","run":"r","tool":"t1","name":"add","arguments":"{\"a\":1}"}
    {"k":"tool.result","run":"r","tool":"t1","output":"</details><script>alert(1)</script>"}
    {"k":"part.start","run":"r","part":"p","kind":"text"}
    {"k":"part.delta","run":"r","part":"p","text":"It is **2**."}
    {"k":"run.end","run":"r","status":"complete"}
"#;

async fn export(hub: &TestHub, path: &str) -> (reqwest::header::HeaderMap, String) {
    let answer = hub.request("GET", &format!("/v1/conversations/{path}")).send().await.unwrap();
    let status = answer.status();
    let headers = answer.headers().clone();
    let text = answer.text().await.unwrap();
    assert!(status.is_success(), "{path}: {text}");
    (headers, text)
}

#[tokio::test]
async fn a_conversation_can_be_had_as_a_file_of_each_format() {
    let hub = TestHub::start().await;
    hub.publisher("a sum").await.says(TURN).await;
    for (format, kind, part) in [
        ("md", "text/markdown", "It is **2**."),
        ("html", "text/html", "<strong>2</strong>"),
        ("openai", "application/json", "\"tool_call_id\": \"t1\""),
        ("anthropic", "application/json", "\"tool_use_id\": \"t1\""),
        ("open-webui", "text/markdown", "<details type=\"tool_calls\" done=\"true\" id=\"t1\""),
        ("open-webui-chat", "application/json", "\"currentId\": \"m2\""),
        ("jsonl", "application/x-ndjson", "\"k\":\"tool.result\""),
        ("native", "application/x-ndjson", "\"k\":\"run.end\""),
        ("openai-chat", "text/event-stream", "data: [DONE]"),
    ] {
        let (headers, text) = export(&hub, &format!("a%20sum/export/{format}")).await;
        assert!(headers["content-type"].to_str().unwrap().starts_with(kind), "{format}");
        let disposition = headers["content-disposition"].to_str().unwrap();
        assert!(disposition.starts_with("attachment; filename=\"a_sum."), "{disposition}");
        assert!(headers["content-security-policy"].to_str().unwrap().contains("sandbox"));
        assert!(text.contains(part), "{format}: {text}");
        if ["html", "open-webui"].contains(&format) {
            assert!(!text.contains("<script>"), "{format}: {text}");
        }
    }
}

#[tokio::test]
async fn a_file_is_not_sent_twice_and_an_unknown_format_names_those_that_there_are() {
    let hub = TestHub::start().await;
    hub.publisher("c").await.says(TURN).await;
    let (headers, _) = export(&hub, "c/export/html").await;
    let etag = headers["etag"].to_str().unwrap();
    let again =
        hub.request("GET", "/v1/conversations/c/export/html").header("if-none-match", etag).send().await;
    assert_eq!(again.unwrap().status().as_u16(), 304);
    let refused = hub.request("GET", "/v1/conversations/c/export/pdf").send().await.unwrap();
    assert_eq!(refused.status().as_u16(), 404);
    let problem: Value = refused.json().await.unwrap();
    assert_eq!(problem["code"], "unknown_dialect");
    assert!(problem["detail"].as_str().unwrap().contains("open-webui-chat"), "{problem}");
    let refused = hub.request("GET", "/v1/conversations/c/export/md?steps=some").send().await.unwrap();
    assert_eq!(refused.status().as_u16(), 400);
}

/// A second turn behind [`TURN`].
const SECOND: &str = r#"
    {"k":"message","message":"m 2","role":"user","text":"And twice that?"}
    {"k":"run.start","run":"r2"}
    {"k":"part.start","run":"r2","part":"p","kind":"text"}
    {"k":"part.delta","run":"r2","part":"p","text":"It is **4**."}
    {"k":"run.end","run":"r2","status":"complete"}
"#;

#[tokio::test]
async fn one_turn_is_exported_alone_in_each_format() {
    let hub = TestHub::start().await;
    let mut publisher = hub.publisher("c").await;
    publisher.says(TURN).await;
    publisher.says(SECOND).await;
    for format in ["md", "html", "openai", "anthropic", "open-webui-chat", "jsonl", "rye"] {
        let (headers, second) = export(&hub, &format!("c/export/{format}?message=m%202")).await;
        let disposition = headers["content-disposition"].to_str().unwrap();
        assert!(disposition.starts_with("attachment; filename=\"c-m_2."), "{disposition}");
        let is_said = second.contains("**4**") || second.contains("<strong>4</strong>");
        assert!(is_said && !second.contains("How much?"), "{format}: {second}");
        assert!(!second.contains("alert(1)"), "{format}: {second}");
        let (_, first) = export(&hub, &format!("c/export/{format}?message=m")).await;
        assert!(first.contains("alert(1)") && !first.contains("And twice that?"), "{format}: {first}");
    }
    let (_, run) = export(&hub, "c/export/md?run=r2").await;
    assert!(run.contains("It is **4**.") && !run.contains("And twice that?"), "{run}");
    // Its events alone make the same turn again.
    let (_, lines) = export(&hub, "c/export/jsonl?message=m%202").await;
    assert_eq!(lines.lines().count(), 5);
    let again = hub.request("POST", "/v1/conversations/d/events").body(lines).send().await.unwrap();
    assert!(again.status().is_success());
    assert_eq!(hub.summary("d").await["runs"][0]["text"], "It is **4**.");
    for (path, status, code) in [
        ("md?message=nobody", 404, "not_found"),
        ("jsonl?run=nobody", 404, "not_found"),
        ("native?message=m", 400, "bad_request"),
    ] {
        let refused = hub.request("GET", &format!("/v1/conversations/c/export/{path}")).send().await.unwrap();
        assert_eq!(refused.status().as_u16(), status, "{path}");
        assert_eq!(refused.json::<Value>().await.unwrap()["code"], code, "{path}");
    }
    let written = program(&["export", "c", "--format", "md", "--run", "r2", "--url", &hub.url("")], "").await;
    assert_eq!(String::from_utf8(written.stdout).unwrap(), run);
}

#[tokio::test]
async fn exported_events_published_again_are_the_same_conversation() {
    let hub = TestHub::start().await;
    hub.publisher("c").await.says(TURN).await;
    let (_, lines) = export(&hub, "c/export/jsonl").await;
    assert_eq!(lines.lines().count(), 7);
    let again = hub.request("POST", "/v1/conversations/d/events").body(lines).send().await.unwrap();
    assert!(again.status().is_success());
    assert_eq!(hub.summary("c").await, hub.summary("d").await);
}

#[tokio::test]
async fn the_command_writes_the_file_to_stdout_and_says_what_is_wrong() {
    let hub = TestHub::start().await;
    hub.publisher("c").await.says(TURN).await;
    let url = hub.url("");
    let run = async |arguments: &[&str]| {
        let mut command = Command::new(hub::binary());
        command.arg("export").args(arguments).args(["--url", &url]).kill_on_drop(true);
        within("the export", command.output()).await.unwrap()
    };
    let written = run(&["c", "--format", "md", "--steps", "one-block"]).await;
    let text = String::from_utf8(written.stdout).unwrap();
    assert_eq!(written.status.code(), Some(0));
    assert!(text.contains("Execution Steps (1 tool)") && text.ends_with("It is **2**.\n"), "{text}");
    let refused = run(&["c", "--format", "pdf"]).await;
    let said = String::from_utf8(refused.stderr).unwrap();
    assert_eq!(refused.status.code(), Some(1), "{said}");
    assert!(said.contains("there are jsonl, native, md"), "{said}");
    assert!(refused.stdout.is_empty());
    let refused = run(&["nobody", "--format", "md"]).await;
    assert!(String::from_utf8(refused.stderr).unwrap().contains("unknown_conversation"));
}

/// Runs the program on `input`.
async fn program(arguments: &[&str], input: &str) -> std::process::Output {
    super::commands::run(arguments, input.as_bytes()).await
}

#[tokio::test]
async fn an_exported_conversation_is_imported_as_it_was() {
    let (hub, other) = (TestHub::start().await, TestHub::start().await);
    let mut publisher = hub.publisher("c").await;
    publisher.says(TURN).await;
    let large = "z".repeat(700_000);
    publisher
        .says(&format!("{{\"k\":\"tool.result\",\"run\":\"r2\",\"tool\":\"t\",\"output\":\"{large}\"}}"))
        .await;
    let (_, file) = export(&hub, "c/export/native").await;
    assert!(file.starts_with("{\"fanlight\":\"native\",\"version\":1,\"conversation\":\"c\"}\n"));
    assert!(file.contains(&large));
    // Into another hub under the same name, into the same under another.
    let imported = program(&["import", "--url", &other.url("")], &file).await;
    let said = String::from_utf8(imported.stdout).unwrap();
    assert!(said.starts_with("imported 8 events; c stands at "), "{said} {:?}", imported.stderr);
    assert!(export(&other, "c/export/native").await.1 == file, "the files differ");
    let imported = program(&["import", "--conversation", "d", "--url", &hub.url("")], &file).await;
    assert!(imported.status.success());
    let (_, copy) = export(&hub, "d/export/native").await;
    assert_eq!(copy.split_once('\n').unwrap().1, file.split_once('\n').unwrap().1);
    assert_eq!(hub.view_hash("d").await, hub.view_hash("c").await);
    // What has events is not written over.
    let refused = program(&["import", "--url", &hub.url("")], &file).await;
    let said = String::from_utf8(refused.stderr).unwrap();
    assert_eq!(refused.status.code(), Some(1));
    assert!(said.contains("conversation_exists") && said.contains("--conversation"), "{said}");
    // It goes on as any other.
    assert_eq!(
        other.publisher("c").await.says("{\"k\":\"status\",\"run\":\"r\",\"text\":\"more\"}").await.seq,
        9
    );
}

#[tokio::test]
async fn a_fork_knows_where_it_comes_from_wherever_it_goes() {
    let (mut hub, other) = (TestHub::start().await, TestHub::start().await);
    hub.publisher("c").await.says(TURN).await;
    let fork = r#"{"id": "f", "command": "fork", "at": 3, "into": "d"}"#;
    let done = hub.request("POST", "/v1/conversations/c/commands").body(fork).send().await.unwrap();
    assert_eq!(done.status(), 200);
    let from = hub.json("/v1/conversations/d").await["forked_from"].clone();
    assert_eq!((from["conversation"].as_str(), from["seq"].as_u64()), (Some("c"), Some(3)), "{from}");
    hub.restart().await;
    assert_eq!(hub.json("/v1/conversations/d").await["forked_from"], from);
    let list = hub.json("/v1/conversations").await;
    let rows = list["conversations"].as_array().unwrap();
    let row = |name: &str| rows.iter().find(|row| row["conversation"] == name).unwrap();
    assert_eq!((&row("d")["forked_from"], row("c").get("forked_from")), (&from, None), "{list}");
    let (_, file) = export(&hub, "d/export/native").await;
    let imported = program(&["import", "--url", &other.url("")], &file).await;
    assert!(imported.status.success(), "{imported:?}");
    assert_eq!(other.json("/v1/conversations/d").await["forked_from"], from);
}

#[tokio::test]
async fn a_bad_file_is_refused_with_its_line_and_nothing_is_imported() {
    let hub = TestHub::start().await;
    hub.publisher("c").await.says(TURN).await;
    let (_, file) = export(&hub, "c/export/native").await;
    let lines: Vec<_> = file.lines().collect();
    let bad = [&lines[..4], &lines[5..]].concat().join("\n");
    let refused = hub.request("PUT", "/v1/conversations/d/events").body(bad).send().await.unwrap();
    assert_eq!(refused.status().as_u16(), 400);
    let problem: Value = refused.json().await.unwrap();
    assert!(problem["detail"].as_str().unwrap().contains("line 5"), "{problem}");
    let refused = hub.request("GET", "/v1/conversations/d").send().await.unwrap();
    assert_eq!(refused.status().as_u16(), 404);
}

#[tokio::test]
async fn what_has_lost_its_first_events_is_exported_as_a_state() {
    let hub = TestHub::start_in_memory().await;
    let mut publisher = hub.publisher("c").await;
    publisher.says(TURN).await;
    for _ in 0..3 {
        publisher.says(&"{\"k\":\"status\",\"run\":\"r\",\"text\":\"on it\"}\n".repeat(8_000)).await;
    }
    let (_, file) = export(&hub, "c/export/native").await;
    assert_eq!(file.lines().count(), 2);
    let imported = program(&["import", "--conversation", "d", "--url", &hub.url("")], &file).await;
    assert!(imported.status.success(), "{imported:?}");
    assert_eq!(hub.view_hash("d").await, hub.view_hash("c").await);
    let (_, copy) = export(&hub, "d/export/native").await;
    assert_eq!(copy.split_once('\n').unwrap().1, file.split_once('\n').unwrap().1);
    let mut publisher = hub.publisher("d").await;
    assert_eq!(publisher.says("{\"k\":\"status\",\"run\":\"r\",\"text\":\"more\"}").await.seq, 24_008);
}

#[tokio::test]
async fn the_log_on_disk_imports_and_exports_the_same_and_drops_the_oldest_by_rule() {
    let folder = tempfile::tempdir().unwrap();
    let log = format!("sqlite:{}", folder.path().join("log.db").display());
    let mut hub = TestHub::start_with(&["--log", &log]).await;
    hub.publisher("c").await.says(TURN).await;
    let (_, file) = export(&hub, "c/export/native").await;
    for name in ["d", "e", "f"] {
        let imported = program(&["import", "--conversation", name, "--url", &hub.url("")], &file).await;
        assert!(imported.status.success(), "{imported:?}");
    }
    assert_eq!(hub.stop().await, Some(0));
    let hub = TestHub::start_with(&["--log", &log, "--retain-conversations", "2"]).await;
    let list = hub
        .json_until("/v1/conversations", |list| list["conversations"].as_array().map(Vec::len) == Some(2))
        .await;
    let names: Vec<_> =
        list["conversations"].as_array().unwrap().iter().map(|row| &row["conversation"]).collect();
    for name in names {
        let name = name.as_str().unwrap();
        let (_, copy) = export(&hub, &format!("{name}/export/native")).await;
        assert_eq!(copy.split_once('\n').unwrap().1, file.split_once('\n').unwrap().1, "{name}");
    }
}
