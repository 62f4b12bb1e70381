//! What the tests of served contracts have in common.

use serde_json::{Value, json};
use tests::model::delta;
use tests::wait::{patiently, within};
use tests::{ScriptedServer, ServerStep, TestHub};

use super::proxy::{END, STREAM, piece};
use super::runner::{answer, hub_with_tools, messages};

/// The program of the server with tools.
const SERVER: &str = env!("CARGO_BIN_EXE_tool_server");

/// A piece of an answer that calls the tool `name`.
pub(crate) fn call(id: &str, name: &str, arguments: &Value) -> Vec<u8> {
    let function = json!({"name": name, "arguments": arguments.to_string()});
    let calls = json!([{"index": 0, "id": id, "type": "function", "function": function}]);
    delta(&json!({"tool_calls": calls}))
}

/// A model that thinks, says something, calls a tool of the hub's, and with its result says the rest.
pub(crate) async fn storyteller() -> ScriptedServer {
    ScriptedServer::start(|asked| {
        let all = messages(asked);
        let last = all.last().unwrap();
        if last["role"] == "tool" {
            return answer("It is sunny.");
        }
        if all.iter().filter(|message| message["role"] == "user").count() > 1 {
            return answer(&format!("{} messages", all.len()));
        }
        vec![
            ServerStep::begin("200 OK", &STREAM),
            ServerStep::piece(&delta(&json!({"reasoning_content": "Hm."}))),
            ServerStep::piece(&piece("Let me look.")),
            ServerStep::piece(&call("call_1", "t__echo", &json!({"city": "Rome"}))),
            ServerStep::piece(END),
            ServerStep::end(&[]),
        ]
    })
    .await
}

/// A model that calls a tool of its caller's, and says what it gave back.
pub(crate) async fn handing_over() -> ScriptedServer {
    ScriptedServer::start(|asked| {
        let all = messages(asked);
        if let Some(result) = all.iter().find(|message| message["role"] == "tool") {
            return answer(&format!("It says {}.", result["content"].as_str().unwrap()));
        }
        vec![
            ServerStep::begin("200 OK", &STREAM),
            ServerStep::piece(&piece("I ask.")),
            ServerStep::piece(&call("call_9", "ask_user", &json!({"what": "colour"}))),
            ServerStep::piece(END),
            ServerStep::end(&[]),
        ]
    })
    .await
}

/// A hub whose `helper` has the tools of the server as `t`; `tables` are put behind.
pub(crate) async fn hub_of(origin: &ScriptedServer, tables: &str) -> (TestHub, tempfile::TempDir) {
    let server = format!("[mcp.t]\ncommand = [{SERVER:?}]\n{tables}");
    hub_with_tools(origin, "tools = [\"t\"]", &server).await
}

/// The same, and it asks before it calls them.
pub(crate) async fn careful_hub_of(origin: &ScriptedServer) -> (TestHub, tempfile::TempDir) {
    let server = format!("[mcp.t]\ncommand = [{SERVER:?}]");
    hub_with_tools(origin, "tools = [\"t\"]\nconfirm = [\"t__*\"]", &server).await
}

/// Posts `body` as JSON to `path` of the hub.
pub(crate) async fn post(hub: &TestHub, path: &str, body: &Value) -> reqwest::Response {
    let asked = hub.request("POST", path).header("content-type", "application/json").body(body.to_string());
    within(path, asked.send()).await.unwrap()
}

/// The text of an answer, and the conversation that it names.
pub(crate) async fn told(answer: reqwest::Response) -> (String, String) {
    let name = answer.headers().get("fanlight-conversation").map(|name| name.to_str().unwrap().to_owned());
    let body = patiently("the end of an answer", answer.text()).await.unwrap();
    (body, name.unwrap_or_default())
}

/// The objects of a stream of server-sent events, and the names of the events where there are any.
pub(crate) fn objects(body: &str) -> Vec<(String, Value)> {
    let body = body.replace("\r\n", "\n");
    let events =
        body.split("\n\n").filter(|event| event.contains("data: ") && !event.contains("data: [DONE]"));
    let object = |event: &str| {
        let field = |name: &str| event.lines().find_map(|line| line.strip_prefix(name)).unwrap_or_default();
        (field("event: ").to_owned(), serde_json::from_str(field("data: ")).unwrap())
    };
    events.map(object).collect()
}

/// All of one conversation, in short, once its newest run is over.
pub(crate) async fn seen(hub: &TestHub, conversation: &str) -> Value {
    let is_over = |summary: &Value| {
        let runs = summary["runs"].as_array();
        runs.and_then(|runs| runs.last()).is_some_and(|run| run["status"] != "running")
    };
    hub.json_until(&format!("/v1/conversations/{conversation}?summary"), is_over).await
}

/// The texts of the messages of a conversation.
pub(crate) fn said(summary: &Value) -> Vec<String> {
    let messages = summary["messages"].as_array().unwrap();
    messages.iter().map(|message| message["text"].as_str().unwrap().to_owned()).collect()
}

/// A model that begins to speak and waits.
pub(crate) async fn slow() -> ScriptedServer {
    ScriptedServer::start(|_| {
        vec![
            ServerStep::begin("200 OK", &STREAM),
            ServerStep::piece(&piece("Well")),
            ServerStep::Wait,
            ServerStep::piece(&piece(" then.")),
            ServerStep::piece(END),
            ServerStep::end(&[]),
        ]
    })
    .await
}

/// Reads an answer until it says `what`.
pub(crate) async fn until(answer: &mut reqwest::Response, what: &str) -> String {
    let mut said = String::new();
    while !said.contains(what) {
        let piece = within(what, answer.chunk()).await.unwrap().expect("the stream goes on");
        said.push_str(std::str::from_utf8(&piece).unwrap());
    }
    said
}
