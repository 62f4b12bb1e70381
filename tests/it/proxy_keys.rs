//! Keys pass through the hub and stay nowhere in it.

use std::net::SocketAddr;
use std::path::Path;
use std::process::Stdio;

use model::Lens;
use model::frame::{ClientFrame, ServerFrame, SubscriptionOptions};
use model::ids::ConversationId;
use tests::hub::binary;
use tests::raw;
use tests::secure::{SecureReply, TlsServer};
use tests::wait::{until, within};
use tests::wire::WebSocketWire;
use tests::{ScriptedServer, ServerStep};
use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::process::{Child, Command};

use super::proxy::{ASKS, END, STREAM, piece};

/// In no text that the hub writes by itself.
const KEY: &str = "sk-7c1d5e0f9b3a48d2";

/// A name and a password as they are sent, and as who reads them may repeat them.
const BASIC: &str = "Basic YWdlbnQtc2V2ZW46aHVudGVyLTIyLXBhc3N3b3Jk";
const NAME_AND_PASSWORD: &str = "agent-seven:hunter-22-password";

/// What is to be found nowhere.
const SECRETS: [&str; 5] =
    [KEY, "YWdlbnQtc2V2ZW46aHVudGVyLTIyLXBhc3N3b3Jk", NAME_AND_PASSWORD, "hunter-22-password", "agent-seven"];

/// What an upstream says that answers once on each connection.
const CLOSES: (&str, &str) = ("connection", "close");

/// The head of its stream.
fn begin() -> ServerStep {
    ServerStep::begin("200 OK", &[&STREAM[..], &[CLOSES]].concat())
}

/// Whether there is any secret in `bytes`.
fn is_in(bytes: &[u8]) -> bool {
    SECRETS.iter().any(|secret| bytes.windows(secret.len()).any(|window| window == secret.as_bytes()))
}

/// The files below `place` that hold a secret.
fn found_in(place: &Path, found: &mut Vec<String>) -> usize {
    let mut files = 0;
    for entry in std::fs::read_dir(place).unwrap().flatten() {
        let path = entry.path();
        if path.is_dir() {
            files += found_in(&path, found);
            continue;
        }
        files += 1;
        let bytes = std::fs::read(&path).unwrap();
        if is_in(&bytes) {
            found.push(path.display().to_string());
        }
    }
    files
}

/// The words of a gateway that repeats what it was given.
fn echo() -> String {
    format!(r#"{{"error":{{"message":"Received API key = {KEY} in Bearer {KEY}","code":"{KEY}"}}}}"#)
}

/// The answer of a gateway that says all is well and repeats what it was `sent`, and the key: in one piece, in two, in the
/// arguments of a call, in its name and id, and in what is no word of the API.
fn repeated(sent: &str) -> Vec<ServerStep> {
    let (front, back) = KEY.split_at(9);
    let call = format!(
        r#"{{"index":0,"id":"call-{KEY}","type":"function","function":{{"name":"t-{KEY}","arguments":"{{\"k\":\"{front}"}}}}"#
    );
    let rest = format!(r#"{{"index":0,"function":{{"arguments":"{back}\"}}"}}}}"#);
    let delta = |calls: String| {
        format!("data: {{\"choices\":[{{\"index\":0,\"delta\":{{\"tool_calls\":[{calls}]}}}}]}}\n\n")
            .into_bytes()
    };
    let model = format!("data: {{\"model\":\"m-{KEY}\",\"choices\":[]}}\n\n");
    vec![
        begin(),
        ServerStep::piece(model.as_bytes()),
        ServerStep::piece(&piece(&format!("You sent {sent} and {KEY}, which is {front}"))),
        ServerStep::piece(&piece(&format!("{back}. Mind {front}"))),
        ServerStep::piece(&delta(call)),
        ServerStep::piece(&delta(rest)),
        // Nobody waits for the result of the call then.
        ServerStep::piece(format!("data: {}\n\n", echo()).as_bytes()),
        ServerStep::end(&[]),
    ]
}

/// An upstream that answers, refuses, breaks off and says nothing. It says that it closes the connection after each answer, as it
/// does: a call over a connection that closes at that moment may fail, since nobody knows whether the upstream took it.
async fn upstream() -> ScriptedServer {
    ScriptedServer::start(|asked| match asked.header("x-case").unwrap_or_default() {
        "echo" => ServerStep::answer("401 Unauthorized", &[CLOSES], echo().as_bytes()),
        "page" => {
            let page = format!("<html><body>{}<p>{KEY}</p></body></html>", "no such key ".repeat(12));
            ServerStep::answer("502 Bad Gateway", &[("content-type", "text/html"), CLOSES], page.as_bytes())
        }
        "stream" => vec![
            begin(),
            ServerStep::piece(&piece("Hi.")),
            ServerStep::piece(
                format!("data: {{\"warning\":\"key {KEY} is about to expire\"}}\n\n").as_bytes(),
            ),
            ServerStep::piece(format!("data: {}\n\n", echo()).as_bytes()),
            ServerStep::piece(format!("data: {{\"broken {KEY}\n\n").as_bytes()),
            ServerStep::end(&[]),
        ],
        "basic" => {
            let said = format!("{NAME_AND_PASSWORD} is unknown, and {BASIC} with it; {NAME_AND_PASSWORD}");
            let said = format!(r#"{{"error":{{"message":"{said}","code":"agent-seven"}}}}"#);
            // A cookie of the upstream's own passes as well.
            ServerStep::answer(
                "401 Unauthorized",
                &[("set-cookie", &format!("session={KEY}")), CLOSES],
                said.as_bytes(),
            )
        }
        "repeat" => {
            repeated(if asked.header("authorization") == Some(BASIC) { NAME_AND_PASSWORD } else { KEY })
        }
        "cut" => vec![begin(), ServerStep::piece(&piece("Half"))],
        "none" => Vec::new(),
        _ => {
            vec![begin(), ServerStep::piece(&piece("Hi.")), ServerStep::piece(END), ServerStep::end(&[])]
        }
    })
    .await
}

/// A hub that traces all that it can, into the file `trace`.
async fn hub_that_traces(origin: &ScriptedServer, secure: &TlsServer, place: &Path) -> (Child, SocketAddr) {
    let file = secure.place().join("fanlight.toml");
    let (url, ca) = (secure.url(), secure.certificate());
    std::fs::write(&file, format!("[upstreams.safe]\nurl = \"{url}\"\nca = \"{}\"\n", ca.display())).unwrap();
    let mut child = Command::new(binary())
        .args(["serve", "--listen", "127.0.0.1:0", "--trace", "trace", "--upstream", &origin.named("x")])
        .arg("--data-dir")
        .arg(place.join("hub"))
        .arg("--config")
        .arg(file)
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

/// Sends the key in every way, to calls that succeed and fail, to nobody, and in what is no request.
async fn send_keys(address: SocketAddr) -> usize {
    let (bearer, cookie) = (format!("Bearer {KEY}"), format!("session={KEY}"));
    let named = [("authorization", bearer.as_str()), ("cookie", cookie.as_str())];
    let keys = [&named[..], &["x-api-key", "x-goog-api-key", "api-key"].map(|name| (name, KEY))].concat();
    let mut calls = 0;
    for case in ["", "echo", "page", "stream", "repeat", "cut", "none"] {
        for path in ["/v1/chat/completions", "/v1beta/models/g:streamGenerateContent", "/v1/models"] {
            let target = format!("/proxy/x{path}?alt=sse&key={KEY}");
            raw::call(address, &raw::post(&target, &[&keys[..], &[("x-case", case)]].concat(), ASKS)).await;
            calls += 1;
        }
        let target = format!("/proxy/x/~watched/v1/chat/completions?sig={KEY}&code={KEY}");
        raw::call(address, &raw::post(&target, &[&keys[..], &[("x-case", case)]].concat(), ASKS)).await;
        calls += 1;
    }
    for path in ["/v1/chat/completions", "/v1/messages", "/v1beta/models/g:generateContent", "/api/chat"] {
        let headers = [("authorization", BASIC), ("x-case", "basic"), ("x-auth-token", KEY)];
        let answer = raw::call(address, &raw::post(&format!("/proxy/x{path}"), &headers, ASKS)).await;
        assert_eq!(answer.header("set-cookie"), Some(format!("session={KEY}").as_str()));
        assert!(String::from_utf8_lossy(&answer.body).contains(NAME_AND_PASSWORD));
        calls += 1;
    }
    // A query alone, with a signature or a code in place of a key.
    for (name, case) in [("sig", "echo"), ("code", "page"), ("X-Goog-Signature", "repeat")] {
        let target = format!("/proxy/x/v1/chat/completions?api-version=1&{name}={KEY}");
        raw::call(address, &raw::post(&target, &[("x-case", case), ("authorization", BASIC)], ASKS)).await;
        calls += 1;
    }
    // A question with the key in it, and a session of its name.
    let asks = format!(r#"{{"stream":true,"messages":[{{"role":"user","content":"Is {KEY} right?"}}]}}"#);
    let headers = [("authorization", format!("Bearer {KEY}")), ("x-session-id", KEY.to_owned())];
    let headers = headers.each_ref().map(|(name, value)| (*name, value.as_str()));
    raw::call(
        address,
        &raw::post(
            &format!("/proxy/x/v1/chat/completions?key={KEY}"),
            &[&headers[..], &[("cookie", KEY)]].concat(),
            &asks,
        ),
    )
    .await;
    calls += 1;
    let over_two = raw::post("/proxy/safe/~watched/v1/chat/completions", &keys, ASKS);
    assert!(String::from_utf8_lossy(&raw::call(address, &over_two).await.body).contains(KEY));
    for request in [
        raw::post(&format!("/proxy/nobody/v1?key={KEY}"), &keys, ASKS),
        raw::post(&format!("/proxy/x/~%FF/v1?key={KEY}"), &keys, ASKS),
        format!("GET /proxy/x/v1 HTTP/1.1\r\nauthorization: {KEY}\r\nbroken header\r\n\r\n").into_bytes(),
    ] {
        raw::call(address, &request).await;
    }
    calls
}

/// Somebody who watches what is said in `watched`.
async fn watcher(address: SocketAddr) -> WebSocketWire {
    let mut wire = WebSocketWire::connect(address).await;
    let conv = ConversationId::parse("watched").unwrap();
    let wish = SubscriptionOptions::of(Lens::default());
    wire.send(&ClientFrame::Sub { sub: 1, conv, have: None, wish }).await;
    loop {
        if matches!(wire.frame().await, ServerFrame::Subbed { .. }) {
            return wire;
        }
    }
}

/// Watches until it was said four times that a key was struck out, the last time over HTTP/2.
async fn watch(mut wire: WebSocketWire) {
    let mut struck = 0;
    while struck < 4 {
        let text = wire.text().await.unwrap();
        assert!(!text.contains(KEY), "{text}");
        struck += text.matches("Received API key = [key] in [key]").count();
        struck += text.matches("broken [key]").count();
    }
}

/// What the hub at `address` says at `path`.
async fn get(address: SocketAddr, path: &str) -> String {
    let headers = "host: localhost\r\naccept: application/x-ndjson\r\nconnection: close";
    let answer = raw::call(address, format!("GET {path} HTTP/1.1\r\n{headers}\r\n\r\n").as_bytes()).await;
    assert_eq!(answer.status(), 200, "{path}");
    String::from_utf8_lossy(&answer.body).into_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_key_passes_through_and_is_found_nowhere() {
    let origin = upstream().await;
    let place = tempfile::tempdir().unwrap();
    let secure = TlsServer::answering(|_| SecureReply::new(403, "application/json", echo())).await;
    let (mut child, address) = hub_that_traces(&origin, &secure, place.path()).await;
    let watching = tokio::spawn(watch(watcher(address).await));
    let calls = send_keys(address).await;
    within("the last of what is watched", watching).await.unwrap();
    assert!(origin.asked().len() >= calls);
    for asked in origin.asked().iter().filter(|asked| asked.header("authorization") != Some(BASIC)) {
        let said = (asked.header("authorization").unwrap(), asked.header("cookie").unwrap());
        assert!(said.0.ends_with(KEY) && said.1.ends_with(KEY), "{asked:?}");
        assert!(asked.start.contains(&format!("={KEY}")), "{asked:?}");
    }
    let rows = until("the recordings", async || {
        let list: serde_json::Value = serde_json::from_str(&get(address, "/v1/conversations").await).unwrap();
        let rows = list["conversations"].as_array().unwrap().clone();
        let are_over = rows.len() >= 2 && rows.iter().all(|row| row["state"] != "running");
        are_over.then_some(rows)
    })
    .await;
    let mut paths = ["/metrics", "/", "/v1/tools"].map(str::to_owned).to_vec();
    for row in rows {
        let name = row["conversation"].as_str().unwrap();
        let of = ["", "?summary", "/events", "/export/native", "/export/md", "/export/html", "/export/jsonl"];
        paths.extend(of.map(|path| format!("/v1/conversations/{name}{path}")));
    }
    for path in paths {
        assert!(!is_in(get(address, &path).await.as_bytes()), "{path}");
    }
    // As it stands, with what is written ahead; and what a death leaves.
    let mut found = Vec::new();
    assert!(found_in(place.path(), &mut found) >= 3);
    child.kill().await.unwrap();
    found_in(place.path(), &mut found);
    assert_eq!(found, Vec::<String>::new());
    assert!(std::fs::metadata(place.path().join("trace")).unwrap().len() > 0);
}
