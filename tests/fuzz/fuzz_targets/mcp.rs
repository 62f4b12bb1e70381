//! A server with tools that answers anything: what it says to a call, to the question for its tools and to the greeting,
//! with `-----` between. Each is a result; or, behind a first line `STATUS TYPE`, a whole answer, in which `@id` stands for
//! the number of the request. Whatever it says, the run of the agent that asked is over in time, and its conversation keeps
//! the laws.
#![no_main]

use std::net::SocketAddr;
use std::rc::Rc;
use std::time::Duration;

use fuzz::halves;
use fuzz::hub::{self, Clock, Hub};
use fuzz::talk::{ask, checked};
use libfuzzer_sys::fuzz_target;
use model::limits::TOOL_FILES_BYTES_MAX;
use serde_json::{Value, json};
use edge::Config;
use agents::{AgentConfig, AgentKind, Plan, Provider, Reach, RunnerConfig, ToolServer};
use upstream::{Api, Upstream};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::LocalSet;

/// How long a server with tools, or a call, may take.
const PATIENCE: Duration = Duration::from_millis(150);

/// How long a run may take.
const RUN: Duration = Duration::from_secs(4);

/// What is said to the agent.
const SAY: &[u8] = br#"{"id":"1","command":"say","agent":"helper","text":"Hello"}"#;

/// What the server says, by what it is asked.
#[derive(Default)]
struct Script {
    call: Vec<u8>,
    list: Vec<u8>,
    begin: Vec<u8>,
}

fuzz_target!(|bytes: &[u8]| {
    let (call, rest) = halves(bytes);
    let (list, begin) = halves(rest);
    let script = Rc::new(Script { call: call.to_vec(), list: list.to_vec(), begin: begin.to_vec() });
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    listener.set_nonblocking(true).expect("a socket that does not block");
    let address = listener.local_addr().expect("an address");
    hub::with(Clock::Runs, config(address), async |hub| {
        let local = LocalSet::new();
        local.spawn_local(serve(listener, script));
        local.run_until(converse(hub)).await;
    });
});

fn config(address: SocketAddr) -> Config {
    let url = format!("http://{address}/v1");
    let mut plan = Plan::new("m");
    (plan.batch_calls, plan.batch_ms, plan.attempts_max, plan.steps_max) = (1, 1, 1, 3);
    (plan.call_ms, plan.silence_ms) = (150, 1_000);
    let runner = RunnerConfig {
        provider: Provider::new("openai", Some(&url), None, &[]).expect("a provider"),
        plan,
        system: None,
        files: Vec::new(),
        tools: vec!["t".into()],
        dialect: None,
        text_calls: None,
        text_rules: dialects::text_calls::TextRules::default(),
        notes_max: 64,
        request: serde_json::Map::new(),
        price: None,
        sinks: Vec::new(),
    };
    let url = format!("http://{address}/mcp");
    let upstream = Box::new(Upstream::new("tools", &url, Api::OpenAi).expect("an upstream"));
    let reach = Reach::Http { url, upstream, key_env: None, headers: Vec::new() };
    let server = ToolServer { name: "t".into(), reach, patience: PATIENCE };
    let agent = AgentConfig { name: "helper".into(), kind: AgentKind::Runner(Box::new(runner)) };
    Config { agents: vec![agent], tools: vec![server], ..Config::default() }
}

async fn converse(hub: Hub) {
    let answer = ask(hub, "POST /v1/conversations/c/commands HTTP/1.1", SAY).await.expect("an answer");
    assert_eq!(answer.status, 200, "{answer:?}");
    let wait = async {
        loop {
            let head = "GET /v1/conversations/c/wait?until=run.end&timeout_ms=1000 HTTP/1.1";
            let answer = ask(hub, head, &[]).await.expect("an answer");
            let waited: Value = serde_json::from_slice(&answer.body).expect("JSON");
            if waited["done"] == true {
                return;
            }
        }
    };
    tokio::time::timeout(RUN, wait).await.expect("the run is over in time");
    let view = checked(hub, "c").await.expect("the conversation");
    for run in view.runs.values() {
        assert!(!run.is_running());
        for tool in run.tools.values() {
            let size = |json: &Option<model::Json>| json.as_ref().map_or(0, |json| json.as_str().len());
            assert!(size(&tool.files) + size(&tool.embeds) <= 2 * TOOL_FILES_BYTES_MAX);
        }
    }
}

/// The model and the server with tools, behind one address.
async fn serve(listener: std::net::TcpListener, script: Rc<Script>) {
    let listener = TcpListener::from_std(listener).expect("a socket");
    while let Ok((stream, _)) = listener.accept().await {
        tokio::task::spawn_local(exchange(stream, Rc::clone(&script)));
    }
}

async fn exchange(mut stream: TcpStream, script: Rc<Script>) {
    stream.set_zero_linger().expect("a socket");
    let mut came = Vec::new();
    let (head, body) = loop {
        if let Some(request) = request(&came) {
            break request;
        }
        if !matches!(stream.read_buf(&mut came).await, Ok(count) if count > 0) {
            return;
        }
    };
    let message: Value = serde_json::from_slice(&body).unwrap_or_default();
    let answer = match (head.starts_with("POST"), head.contains("/mcp")) {
        (true, true) => tools(&message, &script),
        (true, false) => model(&message),
        _ => whole("405 -", ""),
    };
    drop(stream.write_all(&answer).await);
    drop(stream.shutdown().await);
    // What was written is read before the socket goes.
    drop(tokio::time::timeout(PATIENCE, stream.read_buf(&mut came)).await);
}

/// The head and the body of a request that is whole.
fn request(came: &[u8]) -> Option<(String, Vec<u8>)> {
    let end = came.windows(4).position(|window| window == b"\r\n\r\n")? + 4;
    let head = String::from_utf8_lossy(&came[..end]).into_owned();
    let length = head.lines().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        name.eq_ignore_ascii_case("content-length").then(|| value.trim().parse::<usize>().ok())?
    });
    Some((head, came.get(end..end + length.unwrap_or(0))?.to_vec()))
}

fn tools(message: &Value, script: &Script) -> Vec<u8> {
    let version = &message["params"]["protocolVersion"];
    let info = json!({"name": "s", "version": "1"});
    let begun = json!({"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": info});
    let (said, usual) = match message["method"].as_str().unwrap_or_default() {
        "initialize" => (&script.begin, begun),
        "tools/list" => {
            (&script.list, json!({"tools": [{"name": "echo", "inputSchema": {"type": "object"}}]}))
        }
        "tools/call" => (&script.call, json!({"content": [{"type": "text", "text": "it is me"}]})),
        _ if message.get("id").is_none() => return whole("202 -", ""),
        _ => return whole("400 text/plain", "which session?"),
    };
    let id = message["id"].to_string();
    let text = if said.is_empty() { usual.to_string() } else { String::from_utf8_lossy(said).into_owned() };
    let is_whole =
        text.as_bytes().first_chunk::<3>().is_some_and(|status| status.iter().all(u8::is_ascii_digit));
    match text.split_once('\n') {
        Some((first, body)) if is_whole => whole(first, &body.replace("@id", &id)),
        _ => whole("200 application/json", &format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{text}}}"#)),
    }
}

/// Calls the tool, and is content with what it gave back.
fn model(message: &Value) -> Vec<u8> {
    let messages = message["messages"].as_array().expect("messages");
    let delta = if messages.iter().any(|message| message["role"] == "tool") {
        json!({"content": "Done."})
    } else {
        let function = json!({"name": "t__echo", "arguments": "{}"});
        json!({"tool_calls": [{"index": 0, "id": "a", "type": "function", "function": function}]})
    };
    let event = json!({"id": "x", "model": "m", "choices": [{"index": 0, "delta": delta}]});
    let end =
        json!({"id": "x", "model": "m", "choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]});
    whole("200 text/event-stream", &format!("data: {event}\n\ndata: {end}\n\ndata: [DONE]\n\n"))
}

/// An answer; `first` has its status and its type.
fn whole(first: &str, body: &str) -> Vec<u8> {
    let (status, kind) = first.split_once(' ').unwrap_or((first, "-"));
    let kind: String = kind.chars().filter(|c| !c.is_control()).collect();
    let length = body.len();
    format!("HTTP/1.1 {status} x\r\nconnection: close\r\ncontent-type: {kind}\r\ncontent-length: {length}\r\n\r\n{body}").into_bytes()
}
