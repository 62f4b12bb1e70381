//! Servers with tools of other projects, as they are published, behind an agent of the hub's own.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use tests::wait::{patiently, patiently_until};
use tests::{ScriptedServer, ServerStep, TestHub};
use tokio::process::Command;

use tests::installed;

/// The answer of a model, as server-sent events.
pub(crate) fn stream(deltas: &[Value], why: &str) -> Vec<ServerStep> {
    let mut steps = vec![ServerStep::begin("200 OK", &[("content-type", "text/event-stream")])];
    let event = |delta: &Value, why: Option<&str>| {
        let choice = json!({"index": 0, "delta": delta, "finish_reason": why});
        format!("data: {}\n\n", json!({"id": "x", "model": "m", "choices": [choice]}))
    };
    steps.extend(deltas.iter().map(|delta| ServerStep::piece(event(delta, None).as_bytes())));
    steps.push(ServerStep::piece(event(&json!({}), Some(why)).as_bytes()));
    steps.extend([ServerStep::piece(b"data: [DONE]\n\n"), ServerStep::end(&[])]);
    steps
}

/// A piece of an answer that calls a tool.
pub(crate) fn call((number, (name, arguments)): (usize, &(&str, Value))) -> Value {
    let function = json!({"name": name, "arguments": arguments.to_string()});
    json!({"tool_calls": [{"index": number, "id": name, "type": "function", "function": function}]})
}

/// The settings of a hub with the servers; what they look at is in `place`.
fn settings(place: &Path, origin: &ScriptedServer, url: &str) -> String {
    let package = |name: &str| {
        let program = format!("@modelcontextprotocol/{name}/dist/index.js");
        installed::node_modules().join(program).display().to_string()
    };
    let python = installed::python_program().display().to_string();
    let here = place.display().to_string();
    let server = |name: &str, command: &[&str]| format!("[mcp.{name}]\ncommand = {command:?}\n");
    [
        format!(
            "[agents.helper]\nkind = \"runner\"\nurl = \"http://{}/v1\"\nmodel = \"m\"\ntools = [\"time\", \"git\", \"files\", \"all\", \"far\"]\n",
            origin.address()
        ),
        server("time", &[&python, "-m", "mcp_server_time"]),
        server("git", &[&python, "-m", "mcp_server_git"]),
        server("files", &["node", &package("server-filesystem"), &here]),
        server("all", &["node", &package("server-everything"), "stdio"]),
        format!("[mcp.far]\nurl = {url:?}\n"),
    ]
    .concat()
}

/// A published server that listens on a port of its own, which is given back with it.
async fn listening() -> (tokio::process::Child, String) {
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = free.local_addr().unwrap();
    drop(free);
    let program = installed::node_modules().join("@modelcontextprotocol/server-everything/dist/index.js");
    let mut server = Command::new("node");
    server.arg(program).arg("streamableHttp").env("PORT", address.port().to_string()).kill_on_drop(true);
    let server = server.spawn().unwrap();
    patiently_until("the server to listen", async || tokio::net::TcpStream::connect(address).await.ok())
        .await;
    (server, format!("http://{address}/mcp"))
}

/// A repository with one file.
async fn repository() -> (tempfile::TempDir, PathBuf) {
    let place = tempfile::tempdir().unwrap();
    let folder = place.path().canonicalize().unwrap();
    std::fs::write(folder.join("note.txt"), "remember the milk").unwrap();
    let made = Command::new("git").args(["init", "--quiet"]).current_dir(&folder).status();
    assert!(patiently("git", made).await.unwrap().success());
    (place, folder)
}

#[tokio::test(flavor = "multi_thread")]
async fn published_servers_work_for_an_agent_of_the_hub() {
    let (_repository, folder) = repository().await;
    let note = folder.join("note.txt").display().to_string();
    let wanted = [
        (
            "time__convert_time",
            json!({"source_timezone": "UTC", "time": "12:00", "target_timezone": "Asia/Tokyo"}),
        ),
        ("git__git_status", json!({"repo_path": folder})),
        ("files__read_text_file", json!({"path": note})),
        ("files__read_text_file_", json!({"path": note})),
        ("all__echo", json!({"message": "hello"})),
        ("all__get-tiny-image", json!({})),
        ("far__echo", json!({"message": "from afar"})),
    ];
    let calls: Vec<Value> = wanted.iter().enumerate().map(call).collect();
    let origin = ScriptedServer::start(move |asked| {
        let body: Value = serde_json::from_slice(&asked.body).unwrap();
        let has_results =
            body["messages"].as_array().unwrap().iter().any(|message| message["role"] == "tool");
        if has_results {
            stream(&[json!({"content": "Done."})], "stop")
        } else {
            stream(&calls, "tool_calls")
        }
    })
    .await;
    let (_server, url) = listening().await;
    let place = tempfile::tempdir().unwrap();
    let file = place.path().join("fanlight.toml");
    std::fs::write(&file, settings(&folder, &origin, &url)).unwrap();
    let hub = TestHub::start_with(&["--config", file.to_str().unwrap()]).await;
    let say = json!({"id": "1", "command": "say", "agent": "helper", "text": "What do you know?"});
    let answer =
        hub.request("POST", "/v1/conversations/c/commands").body(say.to_string()).send().await.unwrap();
    assert_eq!(answer.status(), 200);
    let run = patiently_until("the run to end", async || {
        let run = hub.summary("c").await["runs"][0].clone();
        (run["status"] != "running").then_some(run)
    })
    .await;
    let result = |id: &str| {
        let calls = run["tool_calls"].as_array().unwrap();
        let call = calls.iter().find(|call| call["id"] == id).unwrap_or_else(|| panic!("{id}: {run}"));
        (call["state"].as_str().unwrap().to_owned(), call["result"].to_string())
    };
    let has = |id: &str, state: &str, text: &str| {
        let (found, result) = result(id);
        assert!(found == state && result.contains(text), "{id}: {found} {result}");
    };
    has("time__convert_time", "complete", "21:00");
    has("git__git_status", "complete", "note.txt");
    has("files__read_text_file", "complete", "remember the milk");
    has("files__read_text_file_", "error", "there is no tool");
    has("all__echo", "complete", "hello");
    has("far__echo", "complete", "from afar");
    has("all__get-tiny-image", "complete", "image/png");
    assert_eq!((run["status"].as_str(), run["text"].as_str()), (Some("complete"), Some("Done.")));
}
