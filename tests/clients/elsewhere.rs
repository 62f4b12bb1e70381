//! Servers of other projects that the hub asks as agents elsewhere.

use std::path::Path;

use serde_json::{Value, json};
use tests::wait::patiently_until;
use tests::{TestHub, installed};
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
    (server, format!("http://{address}"))
}

/// A hub with the agent `far` behind AG-UI at `url`.
async fn hub_at(url: &str) -> (TestHub, tempfile::TempDir) {
    let place = tempfile::tempdir().unwrap();
    let file = place.path().join("fanlight.toml");
    std::fs::write(&file, format!("[agents.far]\nkind = \"ag-ui\"\nurl = \"{url}\"\n")).unwrap();
    (TestHub::start_with(&["--config", file.to_str().unwrap()]).await, place)
}

async fn command(hub: &TestHub, command: Value) {
    let sent = hub.request("POST", "/v1/conversations/c/commands").body(command.to_string());
    assert_eq!(sent.send().await.unwrap().status().as_u16(), 200, "{command}");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_agent_behind_ag_ui_is_asked_and_knows_what_was_said() {
    let (_server, url) = listening().await;
    let (hub, _place) = hub_at(&format!("{url}/agent")).await;
    for (number, text) in ["How is the weather?", "And now?"].into_iter().enumerate() {
        command(&hub, json!({"id": text, "command": "say", "agent": "far", "text": text})).await;
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

#[tokio::test(flavor = "multi_thread")]
async fn an_agent_behind_ag_ui_that_asks_before_it_calls_is_answered() {
    let (_server, url) = listening().await;
    let (hub, _place) = hub_at(&format!("{url}/careful")).await;
    for (number, (verb, state, says)) in
        [("approve", "complete", "b is gone"), ("reject", "cancelled", "not mine")].into_iter().enumerate()
    {
        // Its model calls but once in a conversation.
        let conversation = format!("c{number}");
        let commands = format!("/v1/conversations/{conversation}/commands");
        let post = async |body: Value| {
            let sent = hub.request("POST", &commands).body(body.to_string()).send().await.unwrap();
            assert_eq!(sent.status().as_u16(), 200, "{body}");
        };
        post(json!({"id": "s", "command": "say", "agent": "far", "text": "Tidy up"})).await;
        let path = format!("/v1/conversations/{conversation}?summary");
        let waits = |summary: &Value| summary["runs"][0]["tool_calls"][0]["state"] == "approval";
        let summary = hub.json_until(&path, waits).await;
        let tool = &summary["runs"][0]["tool_calls"][0]["id"];
        let mut answer = json!({"id": "a", "command": verb, "tool": tool});
        let more =
            if verb == "approve" { ("arguments", json!({"file": "b"})) } else { ("text", json!("not mine")) };
        answer[more.0] = more.1;
        post(answer).await;
        let over =
            |summary: &Value| summary["runs"][0]["status"].as_str().is_some_and(|status| status != "running");
        let summary = hub.json_until(&path, over).await;
        let run = &summary["runs"][0];
        let came =
            (&run["status"], &run["tool_calls"][0]["state"], run["tool_calls"].as_array().map(Vec::len));
        assert_eq!(came, (&json!("complete"), &json!(state), Some(1)), "{run}");
        assert!(run["text"].as_str().unwrap().contains(says), "{run}");
    }
}
