//! Servers of other projects that the hub asks as agents elsewhere.

use std::path::Path;

use serde_json::{Value, json};
use tests::wait::patiently_until;
use tests::{Hub, installed};
use tokio::process::Child;

/// A published server, at the URL that is given back with it.
async fn listening() -> (Child, String) {
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = free.local_addr().unwrap();
    drop(free);
    let program = Path::new(env!("CARGO_MANIFEST_DIR")).join("clients/agents/ag_ui_server.py");
    let mut server = installed::python();
    let server = server.arg(program).arg(address.port().to_string()).kill_on_drop(true).spawn().unwrap();
    patiently_until("the server to listen", async || tokio::net::TcpStream::connect(address).await.ok())
        .await;
    (server, format!("http://{address}/agent"))
}

#[tokio::test(flavor = "multi_thread")]
async fn an_agent_behind_ag_ui_is_asked_and_knows_what_was_said() {
    let (_server, url) = listening().await;
    let place = tempfile::tempdir().unwrap();
    let file = place.path().join("fanlight.toml");
    std::fs::write(&file, format!("[agents.far]\nkind = \"ag-ui\"\nurl = \"{url}\"\n")).unwrap();
    let hub = Hub::start_with(&["--config", file.to_str().unwrap()]).await;
    for (number, text) in ["How is the weather?", "And now?"].into_iter().enumerate() {
        let command = json!({"id": text, "command": "say", "agent": "far", "text": text}).to_string();
        let sent = hub.request("POST", "/v1/conversations/c/commands").body(command).send().await.unwrap();
        assert_eq!(sent.status().as_u16(), 200);
        let over = |summary: &Value| {
            summary["runs"][number]["status"].as_str().is_some_and(|status| status != "running")
        };
        let summary = hub.json_until("/v1/conversations/c?summary", over).await;
        let run = &summary["runs"][number];
        assert_eq!(run["status"], "complete", "{run}");
        // Asked once more, its model finds what came of the call among the messages.
        assert!(run["text"].as_str().unwrap().contains("a is sunny"), "{run}");
        assert_eq!(run["tool_calls"].as_array().map(Vec::len), Some(1 - number), "{run}");
    }
}
