//! A server with tools for tests, which speaks the Model Context Protocol over stdin and stdout: tools that meet one another,
//! hang, crash, lie, say far too much. Written by hand, so that it can say what no library would.

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::exit,
    reason = "a test that cannot go on fails right there, and one tool ends its server"
)]

use std::collections::HashMap;
use std::io::{BufRead as _, Write as _};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Condvar, Mutex};
use std::time::Duration;

use serde_json::{Value, json};

/// The tools, each with what it does.
const TOOLS: [(&str, &str); 11] = [
    ("environment", "names the variables of its environment"),
    ("echo", "gives its arguments back"),
    ("meet", "is over when as many calls as `count` are in `room`"),
    ("span", "says when it began and ended, in steps of all such calls"),
    ("count", "adds a line to `file`, and says how many there are"),
    ("hang", "never answers; adds a line to `file` when it is cancelled"),
    ("crash", "ends the server"),
    ("lie", "answers with nonsense"),
    ("big", "gives back `bytes` bytes of text"),
    ("kinds", "gives back all kinds of content"),
    ("steps", "says how far it is, and waits in `room` for `count` calls before it ends"),
];

/// The number of calls in each room.
static ROOMS: Mutex<Option<HashMap<String, u64>>> = Mutex::new(None);
static CAME: Condvar = Condvar::new();
static CLOCK: AtomicU64 = AtomicU64::new(0);
/// The files of calls that hang.
static HANGING: Mutex<Option<HashMap<String, String>>> = Mutex::new(None);

fn main() {
    for line in std::io::stdin().lock().lines() {
        let Ok(line) = line else { return };
        let Ok(message) = serde_json::from_str::<Value>(&line) else { continue };
        let id = message["id"].clone();
        match message["method"].as_str().unwrap_or_default() {
            "initialize" => {
                let version = message["params"]["protocolVersion"].clone();
                let info = json!({"name": "tool-server", "version": "1"});
                answer(
                    &id,
                    json!({"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": info}),
                );
            }
            "ping" => answer(&id, json!({})),
            "tools/list" => {
                let tools = TOOLS.map(|(name, does)| {
                    json!({"name": name, "description": does, "inputSchema": {"type": "object"}})
                });
                answer(&id, json!({"tools": tools}));
            }
            "tools/call" => {
                std::thread::spawn(move || call(&id, &message["params"]));
            }
            "notifications/cancelled" => {
                let id = message["params"]["requestId"].to_string();
                let file = HANGING.lock().unwrap().get_or_insert_default().remove(&id);
                if let Some(file) = file {
                    add_line(&file, "cancelled");
                }
            }
            _ => {}
        }
    }
}

fn call(id: &Value, params: &Value) {
    let (name, arguments) = (params["name"].as_str().unwrap_or_default(), &params["arguments"]);
    let text = |field: &str| arguments[field].as_str().unwrap_or_default().to_owned();
    match name {
        "environment" => {
            let names: Vec<_> = std::env::vars().map(|(name, _)| name).collect();
            say(id, &names.join(" "));
        }
        "echo" => say(id, &arguments.to_string()),
        "meet" => {
            meet(&text("room"), arguments["count"].as_u64().unwrap_or(1));
            say(id, "met");
        }
        "span" => {
            let began = CLOCK.fetch_add(1, Ordering::SeqCst);
            // Long enough for another one to come in between, if it is let.
            let rooms = ROOMS.lock().unwrap();
            drop(CAME.wait_timeout(rooms, Duration::from_millis(50)));
            let ended = CLOCK.fetch_add(1, Ordering::SeqCst);
            say(id, &json!([began, ended]).to_string());
        }
        "count" => {
            let lines = add_line(&text("file"), &text("line"));
            say(id, &lines.to_string());
        }
        "hang" => {
            HANGING.lock().unwrap().get_or_insert_default().insert(id.to_string(), text("file"));
        }
        "crash" => std::process::exit(3),
        "lie" => match text("how").as_str() {
            "garbage" => write("this is not JSON at all\n{\"jsonrpc\":\"2.0\",\"id\":"),
            "stranger" => answer(&json!("nobody asked this"), json!({"content": []})),
            "shape" => answer(id, json!({"content": "a text, and no list"})),
            _ => write(
                &json!({"jsonrpc": "2.0", "id": id, "error": {"code": -32_603, "message": "out of order"}})
                    .to_string(),
            ),
        },
        "big" => {
            let bytes = usize::try_from(arguments["bytes"].as_u64().unwrap_or_default()).unwrap();
            say(id, &"0123456789abcdef".repeat(bytes / 16));
        }
        "kinds" => answer(id, kinds()),
        "steps" => {
            let token = &params["_meta"]["progressToken"];
            for step in 1..=3 {
                let params = json!({"progressToken": token, "progress": step, "total": 3, "message": format!("step {step}")});
                write(
                    &json!({"jsonrpc": "2.0", "method": "notifications/progress", "params": params})
                        .to_string(),
                );
            }
            meet(&text("room"), arguments["count"].as_u64().unwrap_or(1));
            say(id, "done");
        }
        other => {
            let error = json!({"code": -32_602, "message": format!("no tool {other}")});
            write(&json!({"jsonrpc": "2.0", "id": id, "error": error}).to_string());
        }
    }
}

/// Waits until `count` calls have come into `room`.
fn meet(room: &str, count: u64) {
    let mut rooms = ROOMS.lock().unwrap();
    *rooms.get_or_insert_default().entry(room.to_owned()).or_default() += 1;
    CAME.notify_all();
    while rooms.get_or_insert_default()[room] < count {
        rooms = CAME.wait(rooms).unwrap();
    }
}

/// Adds a line, and returns how many lines the file has then.
fn add_line(file: &str, line: &str) -> usize {
    let opened = std::fs::OpenOptions::new().create(true).append(true).open(file);
    writeln!(opened.unwrap(), "{line}").unwrap();
    std::fs::read_to_string(file).unwrap().lines().count()
}

fn kinds() -> Value {
    json!({
        "content": [
            {"type": "text", "text": "a text"},
            {"type": "image", "data": "aW1hZ2U=", "mimeType": "image/png"},
            {"type": "audio", "data": "c291bmQh", "mimeType": "audio/wav"},
            {"type": "resource", "resource": {"uri": "file:///a.txt", "mimeType": "text/plain", "text": "inside"}},
            {"type": "resource", "resource": {"uri": "file:///b.bin", "blob": "YmxvYg=="}},
            {"type": "resource_link", "uri": "https://example.org/c", "name": "c", "description": "elsewhere"},
        ],
        "structuredContent": {"n": 1},
    })
}

fn say(id: &Value, text: &str) {
    answer(id, json!({"content": [{"type": "text", "text": text}]}));
}

#[expect(clippy::needless_pass_by_value, reason = "each is made for this")]
fn answer(id: &Value, result: Value) {
    write(&json!({"jsonrpc": "2.0", "id": id, "result": result}).to_string());
}

fn write(line: &str) {
    let mut out = std::io::stdout().lock();
    // Nobody who reads: the client is gone, and this ends with its input.
    drop(writeln!(out, "{line}").and_then(|()| out.flush()));
}
