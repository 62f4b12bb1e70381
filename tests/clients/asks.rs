//! Other projects' clients ask an agent of the hub, each in its own contract; the programs say themselves what is wrong.

use std::path::Path;

use serde_json::{Value, json};
use tempfile::TempDir;
use tests::raw::RawMessage;
use tests::wait::patiently;
use tests::{ScriptedServer, ServerStep, TestHub};
use tokio::process::Command;

use tests::installed;

use crate::tools::{call, stream};

/// Where the client programs of these tests are.
pub(crate) const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/clients");

/// The program of the server with tools.
const SERVER: &str = env!("CARGO_BIN_EXE_tool_server");

/// What the model answers. The last question says what is wanted of it.
pub(crate) fn answer(asked: &RawMessage) -> Vec<ServerStep> {
    let body: Value = serde_json::from_slice(&asked.body).unwrap();
    let messages = body["messages"].as_array().unwrap();
    let question = messages.iter().rfind(|message| message["role"] == "user").unwrap();
    let results = messages.iter().skip_while(|message| *message != question);
    let result = results.filter(|message| message["role"] == "tool").last();
    let text = |text: &str| json!({"content": text});
    match (question["content"].as_str().unwrap(), result) {
        ("fail", _) => ServerStep::answer("401 Unauthorized", &[], b"{}"),
        ("wait", _) => {
            let mut steps = stream(&[text("Well")], "stop");
            steps.truncate(2);
            steps.push(ServerStep::Silence);
            steps
        }
        ("Colour?", None) => stream(&[text("I ask."), call((0, &("ask_user", json!({}))))], "tool_calls"),
        ("Colour?", Some(given)) => {
            stream(&[text(&format!("It says {}.", given["content"].as_str().unwrap()))], "stop")
        }
        (_, None) => {
            let thinks = json!({"reasoning_content": "Hm."});
            let calls = call((0, &("t__echo", json!({"city": "Rome"}))));
            with_usage(stream(&[thinks, text("Let me look."), calls], "tool_calls"))
        }
        (_, Some(_)) => with_usage(stream(&[text("It is sunny.")], "stop")),
    }
}

/// The same, with the tokens in front of the end.
fn with_usage(mut steps: Vec<ServerStep>) -> Vec<ServerStep> {
    let usage = json!({"prompt_tokens": 7, "completion_tokens": 3, "total_tokens": 10});
    let event = format!("data: {}\n\n", json!({"id": "x", "model": "m", "choices": [], "usage": usage}));
    let end = steps.len() - 2;
    steps.insert(end, ServerStep::piece(event.as_bytes()));
    steps
}

/// The settings of a hub with an agent whose model is `model`, and one that asks before it calls its tools.
pub(crate) fn settings(model: &ScriptedServer) -> String {
    let model = model.address();
    let agent = |name: &str, more: &str| {
        format!(
            "[agents.{name}]\nkind = \"runner\"\nurl = \"http://{model}/v1\"\nmodel = \"m\"\ntools = [\"t\"]\n{more}\n"
        )
    };
    let (helper, careful) = (agent("helper", ""), agent("careful", "confirm = [\"t__*\"]"));
    format!("{helper}{careful}[mcp.t]\ncommand = [{SERVER:?}]\n")
}

/// Lets a program ask. Afterwards the runs that it has hung up on still go on.
async fn ask(mut client: Command, program: &Path) {
    let origin = ScriptedServer::start(answer).await;
    let place = tempfile::tempdir().unwrap();
    let file = place.path().join("fanlight.toml");
    std::fs::write(&file, settings(&origin)).unwrap();
    let hub = TestHub::start_with(&["--config", file.to_str().unwrap()]).await;
    let asking = client.arg(program).arg(hub.url("")).kill_on_drop(true).output();
    let done = patiently("the clients", asking).await.unwrap();
    let said = String::from_utf8_lossy(&done.stdout).into_owned();
    assert!(done.status.success(), "{said}{}", String::from_utf8_lossy(&done.stderr));
    let last: Value = serde_json::from_str(said.lines().last().unwrap()).unwrap();
    let left = match &last["left"] {
        Value::Array(all) => all.clone(),
        one => vec![one.clone()],
    };
    for name in left {
        let summary = hub.summary(name.as_str().unwrap()).await;
        let run = &summary["runs"][0];
        assert_eq!((&run["status"], &run["text"]), (&json!("running"), &json!("Well")), "{name}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_python_package_of_openai_asks_an_agent() {
    ask(installed::python(), &Path::new(FOLDER).join("asks.py")).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_python_package_and_the_agents_sdk_ask_through_responses() {
    ask(installed::python(), &Path::new(FOLDER).join("asks_responses.py")).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn javascript_clients_ask_an_agent() {
    let folder = TempDir::new().unwrap();
    let program = folder.path().join("asks.mjs");
    std::fs::copy(Path::new(FOLDER).join("asks.mjs"), &program).unwrap();
    std::os::unix::fs::symlink(installed::node_modules(), folder.path().join("node_modules")).unwrap();
    ask(installed::node(), &program).await;
}
