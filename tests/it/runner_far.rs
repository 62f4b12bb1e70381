//! Tools that are reached over https: their keys, the certificates that are trusted, and servers that fail in the middle.

use std::sync::Mutex;

use serde_json::{Value, json};
use tests::secure::{ReceivedRequest, SecureReply, TlsServer};
use tests::{ScriptedServer, ServerStep, TestHub};

use super::proxy::{END, STREAM};
use super::runner::{answer, events, hub_with_tools, last_run, messages, say};

const JSON: &str = "application/json";
const EVENTS: &str = "text/event-stream";

/// The tools of the server, each named for what becomes of a call.
const TOOLS: [&str; 7] = ["echo", "resumed", "drops", "stops", "secret", "busy", "lies"];

fn result(id: &Value, result: &Value) -> String {
    json!({"jsonrpc": "2.0", "id": id, "result": result}).to_string()
}

fn text(id: &Value, text: &str) -> String {
    result(id, &json!({"content": [{"type": "text", "text": text}]}))
}

/// A server with tools that has sessions and wants a key. `given` is what it gives to who comes back for an answer.
fn serve(asked: &ReceivedRequest, given: &Mutex<String>) -> SecureReply {
    let header = |name: &str| asked.headers.get(name).map(|value| value.to_str().unwrap().to_owned());
    if header("authorization") != std::env::var("HOME").ok().map(|home| format!("Token {home}!")) {
        return SecureReply::new(401, "text/plain", "who?").with("www-authenticate", "Token realm=\"far\"");
    }
    if asked.target == "/mcp" {
        return SecureReply::new(307, "text/plain", "").with("location", "/mcp/");
    }
    if asked.method == "GET" {
        if header("last-event-id").as_deref() != Some("7") {
            return SecureReply::new(405, "text/plain", "");
        }
        return SecureReply::new(200, EVENTS, format!("data: {}\n\n", given.lock().unwrap()));
    }
    if asked.method == "DELETE" {
        return SecureReply::new(200, "text/plain", "");
    }
    let message: Value = serde_json::from_slice(&asked.body).unwrap();
    let (id, method) = (&message["id"], message["method"].as_str().unwrap_or_default());
    if method != "initialize" && header("mcp-session-id").as_deref() != Some("s1") {
        return SecureReply::new(400, "text/plain", "which session?");
    }
    match method {
        "initialize" => {
            let begun = json!({
                "protocolVersion": message["params"]["protocolVersion"],
                "capabilities": {"tools": {}},
                "serverInfo": {"name": "far", "version": "1"},
            });
            SecureReply::new(200, JSON, result(id, &begun)).with("mcp-session-id", "s1")
        }
        "tools/list" => {
            let tools = TOOLS.map(|name| json!({"name": name, "inputSchema": {"type": "object"}}));
            SecureReply::new(200, JSON, result(id, &json!({"tools": tools})))
        }
        "tools/call" => match message["params"]["name"].as_str().unwrap() {
            "echo" => SecureReply::new(200, EVENTS, format!(": hello\n\ndata: {}\n\n", text(id, "it is me"))),
            "resumed" => {
                *given.lock().unwrap() = text(id, "after all");
                SecureReply::new(200, EVENTS, "id: 7\nretry: 10\ndata:\n\n")
            }
            "drops" => SecureReply::new(200, EVENTS, "data: {\"jsonrpc\"").cut(),
            "stops" => SecureReply::new(200, EVENTS, ": that is all\n\n"),
            "secret" => {
                SecureReply::new(403, "text/plain", "").with("www-authenticate", "Token scope=\"more\"")
            }
            "busy" => SecureReply::new(503, "text/plain", "later").with("retry-after", "1"),
            _ => SecureReply::new(200, JSON, "{\"is\": \"nothing\"}"),
        },
        _ => SecureReply::new(202, "text/plain", ""),
    }
}

/// A model that first calls `tools`, and answers `Done.` when it has results.
async fn calling(tools: &'static [&'static str]) -> ScriptedServer {
    ScriptedServer::start(move |asked| {
        if messages(asked).iter().any(|message| message["role"] == "tool") {
            return answer("Done.");
        }
        let mut steps = vec![ServerStep::begin("200 OK", &STREAM)];
        for (number, name) in tools.iter().enumerate() {
            let call = json!({"index": number, "id": name, "type": "function",
                "function": {"name": format!("far__{name}"), "arguments": "{}"}});
            let event =
                json!({"id": "x", "model": "m", "choices": [{"index": 0, "delta": {"tool_calls": [call]}}]});
            steps.push(ServerStep::piece(format!("data: {event}\n\n").as_bytes()));
        }
        steps.extend([ServerStep::piece(END), ServerStep::end(&[])]);
        steps
    })
    .await
}

/// What a call gave back: its state and its text.
fn came(run: &Value, id: &str) -> (String, String) {
    let calls = run["tool_calls"].as_array().unwrap();
    let call = calls.iter().find(|call| call["id"] == id).unwrap();
    (call["state"].as_str().unwrap().to_owned(), call["result"].as_str().unwrap_or_default().to_owned())
}

/// A hub whose helper has the tools at `far`, with `more` in its table.
async fn hub(origin: &ScriptedServer, far: &TlsServer, more: &str) -> (TestHub, tempfile::TempDir) {
    let table = format!("[mcp.far]\nurl = \"{}/mcp\"\n{more}", far.url());
    hub_with_tools(origin, "tools = [\"far\"]\ncall_seconds = 20", &table).await
}

fn trusting(far: &TlsServer) -> String {
    format!("ca = \"{}\"\n", far.certificate().display())
}

const KEY: &str = "headers = { Authorization = \"Token ${HOME}!\" }\n";

#[tokio::test(flavor = "multi_thread")]
async fn i8_tools_over_https_are_called_and_each_failure_harms_its_own_call_alone() {
    let given = Mutex::new(String::new());
    let far = TlsServer::answering(move |asked| serve(asked, &given)).await;
    let origin = calling(&TOOLS).await;
    let (hub, _place) = hub(&origin, &far, &(KEY.to_owned() + &trusting(&far))).await;
    say(&hub, "Hello").await;
    let run = last_run(&hub).await;
    assert_eq!((run["status"].as_str(), run["text"].as_str()), (Some("complete"), Some("Done.")), "{run}");
    assert_eq!(came(&run, "echo"), ("complete".into(), "it is me".into()));
    assert_eq!(came(&run, "resumed"), ("complete".into(), "after all".into()), "{run}");
    for (id, why) in [
        // Whether its head came before the cut is a race.
        ("drops", ""),
        ("stops", "the answer of the server ended without a result"),
        ("secret", "it answered 403 Forbidden: it wants a key, or another one (Token scope=\"more\")"),
        ("busy", "it answered HTTP 503"),
        ("lies", "its answer is not a message of the protocol"),
    ] {
        let (state, said) = came(&run, id);
        assert!(state == "error" && said.starts_with(why), "{id}: {state}, {said}");
    }
    assert!(far.asked().iter().all(|asked| asked.version == http::Version::HTTP_2));
    // The key is nowhere but there.
    let told = events(&hub).await.iter().map(Value::to_string).collect::<String>();
    assert!(!told.contains("Token /"), "{told}");
}

#[tokio::test(flavor = "multi_thread")]
async fn i8_a_server_that_cannot_be_trusted_or_wants_a_key_is_left_out_and_named() {
    let without = "headers = { Authorization = \"Token ${FANLIGHT_IS_NEVER_SET}\" }\n";
    let cases: [(&str, bool, &str); 3] = [
        (KEY, false, "it cannot be reached: "),
        ("", true, "it answered 401 Unauthorized: it wants a key, or another one (Token realm=\"far\")"),
        (
            without,
            true,
            "of its header authorization: the environment variable FANLIGHT_IS_NEVER_SET is not set",
        ),
    ];
    for (table, trusted, why) in cases {
        let given = Mutex::new(String::new());
        let far = TlsServer::answering(move |asked| serve(asked, &given)).await;
        let origin = calling(&["echo"]).await;
        let ca = if trusted { trusting(&far) } else { String::new() };
        let (hub, _place) = hub(&origin, &far, &(table.to_owned() + &ca)).await;
        say(&hub, "Hello").await;
        let run = last_run(&hub).await;
        assert_eq!(
            (run["status"].as_str(), came(&run, "echo").0.as_str()),
            (Some("complete"), "error"),
            "{run}"
        );
        let events = events(&hub).await;
        let status = events.iter().find(|event| event["k"] == "status").unwrap();
        let text = status["text"].as_str().unwrap();
        assert!(text.starts_with("the tools far are not there: ") && text.contains(why), "{text}");
        assert!(trusted || text.contains("certificate"), "{text}");
        if !trusted {
            assert!(far.asked().is_empty(), "nothing was sent to it");
        }
    }
}
