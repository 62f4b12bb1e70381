//! Calls of models through the hub: what passes, unchanged, and what is said of it.

use std::sync::atomic::{AtomicU64, Ordering};

pub(crate) use tests::model::{END, STREAM};
use tests::raw::{self, RawMessage};
use tests::wait::{until, within};
use tests::{ScriptedServer, ServerStep, TestHub};

/// A request for a stream.
pub(crate) const ASKS: &str =
    r#"{"model":"m","stream":true,"messages":[{"role":"user","content":"Hello?"}]}"#;

/// A piece of an answer in OpenAI's words.
pub(crate) fn piece(text: &str) -> Vec<u8> {
    let event = format!(
        "data: {{\"id\":\"x\",\"model\":\"m\",\"choices\":[{{\"index\":0,\"delta\":{{\"content\":\"{text}\"}}}}]}}\n\n"
    );
    event.into_bytes()
}

/// A hub that passes calls of `x` on to `origin`.
pub(crate) async fn hub_before(origin: &ScriptedServer) -> TestHub {
    TestHub::start_with(&["--upstream", &origin.named("x")]).await
}

/// The one run of a conversation, once it is over.
pub(crate) async fn run_of(hub: &TestHub, conversation: &str) -> serde_json::Value {
    let path = format!("/v1/conversations/{conversation}?summary");
    let is_over = |summary: &serde_json::Value| {
        let run = &summary["runs"][0];
        run["status"].is_string() && run["status"] != "running"
    };
    hub.json_until(&path, is_over).await["runs"][0].clone()
}

#[tokio::test(flavor = "multi_thread")]
async fn i12_headers_status_body_and_trailers_are_those_of_the_upstream() {
    let origin = ScriptedServer::start(|_| {
        let headers = [
            ("X-First", "1"),
            ("Set-Cookie", "a=1"),
            ("X-Middle", "ümlaut"),
            ("set-cookie", "b=2"),
            ("Server", "Origin/1"),
            ("Keep-Alive", "timeout=5"),
            ("Trailer", "x-sum"),
            ("content-encoding", "own"),
        ];
        vec![
            ServerStep::begin("299 Rather Odd", &headers),
            ServerStep::piece(b"\x00\xff binary "),
            ServerStep::piece(b"and more"),
            ServerStep::end(&[("x-sum", "42")]),
        ]
    })
    .await;
    let hub = hub_before(&origin).await;
    let headers = [
        ("Authorization", "Bearer sk-1"),
        ("X-One", "1"),
        ("cookie", "c=1"),
        ("x-Two", "a"),
        ("x-two", "b"),
        ("Accept-Encoding", "own, gzip"),
        ("TE", "trailers"),
        ("User-Agent", "Test/1"),
        ("Connection", "X-Hop"),
        ("X-Hop", "stays here"),
    ];
    let direct = raw::call(origin.address(), &raw::post("/v1/things%2F?a=%20b&c", &headers, "{}")).await;
    let proxied =
        raw::call(hub.address(), &raw::post("/proxy/x/v1/things%2F?a=%20b&c", &headers, "{}")).await;
    assert_eq!(proxied.start, direct.start);
    assert_eq!(proxied.body, direct.body);
    assert_eq!(proxied.trailers, direct.trailers);
    assert!(proxied.is_whole);
    assert_eq!(sorted(&proxied, &[]), sorted(&direct, &[]));

    let asked = origin.asked();
    let [first, second] = asked.as_slice() else { panic!("{asked:?}") };
    assert_eq!(second.start, "POST /v1/things%2F?a=%20b&c HTTP/1.1");
    assert_eq!(second.body, first.body);
    assert_eq!(sorted(second, &["host", "x-hop"]), sorted(first, &["host", "x-hop"]));
    assert_eq!(second.header("host"), Some(origin.address().to_string().as_str()));
    assert_eq!(second.header("x-hop"), None);
    // What is called as no model is, is nobody's conversation.
    assert_eq!(hub.json("/v1/conversations").await["total"], 0);
}

/// The headers by name, those of one name in their order.
fn sorted(message: &RawMessage, without: &[&str]) -> Vec<(String, String)> {
    let mut headers = message.without(without);
    headers.sort_by_key(|(name, _)| name.to_ascii_lowercase());
    headers
}

#[tokio::test(flavor = "multi_thread")]
async fn i12_a_stream_passes_piece_by_piece_and_shows_meanwhile() {
    let words = ["One ", "two ", "three."];
    let origin = ScriptedServer::start(move |_| {
        let mut steps = vec![ServerStep::begin("200 OK", &STREAM)];
        for word in words {
            steps.extend([ServerStep::piece(&piece(word)), ServerStep::Wait]);
        }
        steps.extend([ServerStep::piece(END), ServerStep::end(&[])]);
        steps
    })
    .await;
    let hub = hub_before(&origin).await;
    let mut viewer = hub.view("c").await;
    let mut wire = raw::connect(hub.address()).await;
    wire.send(&raw::post("/proxy/x/~c/v1/chat/completions", &[], ASKS)).await;
    let head = within("the head", wire.head()).await.unwrap();
    assert_eq!((head.status(), head.header("fanlight-conversation")), (200, Some("c")));
    let mut text = String::new();
    for word in words {
        assert_eq!(within("a piece", wire.piece()).await, Some(piece(word)));
        text.push_str(word);
        viewer.until(|view| view.runs.values().any(|run| run.is_running() && run.answer() == text)).await;
        origin.go_on();
    }
    assert_eq!(within("a piece", wire.piece()).await.as_deref(), Some(END));
    assert_eq!(within("the end", wire.piece()).await.as_deref(), Some(&[][..]));
    let run = run_of(&hub, "c").await;
    assert_eq!((run["text"].as_str(), run["status"].as_str()), (Some("One two three."), Some("complete")));
    assert_eq!(origin.asked()[0].start, "POST /v1/chat/completions HTTP/1.1");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_conversation_is_named_by_header_or_path_or_made() {
    let origin = ScriptedServer::start(|_| {
        vec![
            ServerStep::begin("200 OK", &STREAM),
            ServerStep::piece(&piece("Hi.")),
            ServerStep::piece(END),
            ServerStep::end(&[]),
        ]
    })
    .await;
    let hub = hub_before(&origin).await;
    let call = async |path: &str, headers: &[(&str, &str)]| {
        let answer = raw::call(hub.address(), &raw::post(path, headers, ASKS)).await;
        assert_eq!((answer.status(), answer.is_whole), (200, true));
        answer.header("fanlight-conversation").map(str::to_owned)
    };
    let name = call("/proxy/x/v1/chat/completions", &[("Fanlight-Conversation", "from%20a header")]).await;
    assert_eq!(name.as_deref(), Some("from a header"));
    assert_eq!(run_of(&hub, "from%20a%20header").await["text"], "Hi.");
    let name = call("/proxy/x/~f%C3%BCr%20dich/v1/chat/completions", &[]).await;
    assert_eq!(name.as_deref(), Some("f%C3%BCr dich"));
    assert_eq!(run_of(&hub, "f%C3%BCr%20dich").await["text"], "Hi.");
    let name = call("/proxy/x/~b/v1/chat/completions", &[("fanlight-conversation", "a")]).await;
    assert_eq!(name.as_deref(), Some("a"));
    assert_eq!(run_of(&hub, "a").await["text"], "Hi.");
    for asked in origin.asked() {
        assert!(
            asked.headers.iter().all(|(name, _)| !name.to_lowercase().starts_with("fanlight")),
            "{asked:?}"
        );
        assert_eq!(asked.start, "POST /v1/chat/completions HTTP/1.1");
    }
    // One that is made is in the list, whether its name was known in time or not.
    call("/proxy/x/v1/chat/completions", &[]).await;
    let list = hub.json_until("/v1/conversations", |list| list["total"] == 4).await;
    let names: Vec<_> =
        list["conversations"].as_array().unwrap().iter().map(|row| &row["conversation"]).collect();
    assert!(names.iter().any(|name| name.as_str().unwrap().starts_with("x-")), "{names:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_whole_answer_is_read_too() {
    let body = r#"{"id":"x","model":"m","choices":[{"index":0,"message":{"role":"assistant","content":"Whole."},"finish_reason":"stop"}],"usage":{"prompt_tokens":3,"completion_tokens":2}}"#;
    let origin = ScriptedServer::start(|_| {
        ServerStep::answer("200 OK", &[("content-type", "application/json")], body.as_bytes())
    })
    .await;
    let hub = hub_before(&origin).await;
    let request = raw::post("/proxy/x/~c/v1/chat/completions", &[], &ASKS.replace("true", "false"));
    let answer = raw::call(hub.address(), &request).await;
    assert_eq!((answer.status(), answer.body.as_slice()), (200, body.as_bytes()));
    assert_eq!(answer.header("content-length"), Some(body.len().to_string().as_str()));
    let run = run_of(&hub, "c").await;
    assert_eq!((run["text"].as_str(), run["status"].as_str()), (Some("Whole."), Some("complete")));
    assert_eq!(run["usage"]["input_tokens"], 3);
}

#[tokio::test(flavor = "multi_thread")]
async fn redirects_head_and_empty_answers_pass_as_they_are() {
    let origin = ScriptedServer::start(|asked| match asked.start.split(' ').nth(1).unwrap() {
        "/moved" => {
            ServerStep::answer("307 Temporary Redirect", &[("location", "https://elsewhere.example/v1")], b"")
        }
        "/nothing" => vec![ServerStep::Say(b"HTTP/1.1 204 No Content\r\nx-a: 1\r\n\r\n".to_vec())],
        "/length" => vec![ServerStep::Say(b"HTTP/1.1 200 OK\r\ncontent-length: 77\r\n\r\n".to_vec())],
        other => panic!("{other}"),
    })
    .await;
    let hub = hub_before(&origin).await;
    let moved = raw::call(hub.address(), b"GET /proxy/x/moved HTTP/1.1\r\nhost: localhost\r\n\r\n").await;
    assert_eq!((moved.status(), moved.header("location")), (307, Some("https://elsewhere.example/v1")));
    let nothing =
        raw::call(hub.address(), b"DELETE /proxy/x/nothing HTTP/1.1\r\nhost: localhost\r\n\r\n").await;
    assert_eq!((nothing.status(), nothing.header("x-a")), (204, Some("1")));
    let mut wire = raw::connect(hub.address()).await;
    wire.send(b"HEAD /proxy/x/length HTTP/1.1\r\nhost: localhost\r\n\r\n").await;
    let head = within("the head", wire.head()).await.unwrap();
    assert_eq!((head.status(), head.header("content-length")), (200, Some("77")));
    assert_eq!(origin.asked()[2].start, "HEAD /length HTTP/1.1");
}

#[tokio::test(flavor = "multi_thread")]
async fn who_waits_to_be_asked_for_the_body_is_asked() {
    let origin = ScriptedServer::start(|asked| ServerStep::answer("200 OK", &[], &asked.body)).await;
    let hub = hub_before(&origin).await;
    let mut wire = raw::connect(hub.address()).await;
    let head =
        "PUT /proxy/x/file HTTP/1.1\r\nhost: localhost\r\nexpect: 100-continue\r\ncontent-length: 5\r\n\r\n";
    wire.send(head.as_bytes()).await;
    let asks = within("the wish for the body", wire.head()).await.unwrap();
    assert_eq!(asks.status(), 100);
    wire.send(b"bytes").await;
    let answer = within("the answer", wire.message()).await;
    assert_eq!((answer.status(), answer.body.as_slice()), (200, &b"bytes"[..]));
}

#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_be_passed_on_is_refused_with_the_reason() {
    let origin = ScriptedServer::start(|_| ServerStep::answer("200 OK", &[], b"<script>")).await;
    let hub = hub_before(&origin).await;
    let code = async |method: &str, path: &str, headers: &[(&str, &str)]| {
        let headers = raw::lines(headers);
        let request = format!("{method} {path} HTTP/1.1\r\nhost: {}\r\n{headers}\r\n", hub.address());
        let answer = raw::call(hub.address(), request.as_bytes()).await;
        let problem: serde_json::Value = serde_json::from_slice(&answer.body).unwrap_or_default();
        (
            answer.status(),
            problem["code"].as_str().unwrap_or_default().to_owned(),
            problem["detail"].to_string(),
        )
    };
    let (status, code_of, detail) = code("GET", "/proxy/nobody/v1/models", &[]).await;
    assert_eq!((status, code_of.as_str()), (404, "unknown_upstream"));
    assert!(detail.contains("openai") && detail.contains(" x, "), "{detail}");
    let upgrade = [("connection", "upgrade"), ("upgrade", "websocket"), ("origin", "http://evil.example")];
    let (status, code_of, _) = code("GET", "/proxy/x/v1/realtime", &upgrade).await;
    assert_eq!((status, code_of.as_str()), (403, "forbidden_origin"));
    let pages = [
        ("GET", vec![("origin", "http://evil.example")]),
        ("OPTIONS", vec![("origin", "http://evil.example"), ("access-control-request-method", "POST")]),
        ("GET", vec![("sec-fetch-site", "cross-site"), ("sec-fetch-dest", "image")]),
        ("GET", vec![("sec-fetch-site", "none"), ("sec-fetch-dest", "document")]),
        ("POST", vec![("sec-fetch-site", "same-site"), ("sec-fetch-dest", "empty")]),
        ("GET", vec![("accept", "text/html,application/xhtml+xml")]),
    ];
    for (method, headers) in pages {
        let (status, code_of, _) = code(method, "/proxy/x/page", &headers).await;
        assert_eq!((status, code_of.as_str()), (403, "forbidden_origin"), "{method} {headers:?}");
    }
    assert_eq!(origin.asked().len(), 0);
    // As Node sends it.
    assert_eq!(code("GET", "/proxy/x/page", &[("sec-fetch-mode", "cors"), ("accept", "*/*")]).await.0, 200);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_hub_waits_for_a_slow_reader_and_so_does_the_upstream() {
    let origin = ScriptedServer::start(|_| {
        vec![
            ServerStep::begin("200 OK", &[]),
            ServerStep::Pour([b"10000\r\n".as_slice(), &[b'x'; 0x10000], b"\r\n"].concat()),
        ]
    })
    .await;
    let hub = hub_before(&origin).await;
    let mut wire = raw::connect(hub.address()).await;
    wire.send(&raw::post("/proxy/x/v1/files/content", &[], "{}")).await;
    within("the head", wire.head()).await.unwrap();
    // The reader reads nothing: what the upstream could say comes to an end.
    let before = AtomicU64::new(0);
    let stands = until("the upstream to wait", async || {
        let now = origin.poured();
        let stands = before.swap(now, Ordering::Relaxed) == now && now > 0;
        stands.then_some(now)
    })
    .await;
    let held = hub.process().resident_bytes;
    assert!(stands < 64 << 20, "{stands} bytes were taken for a reader that takes none");
    assert!(held < 256 << 20, "{held}");
    drop(wire);
    origin.until_left().await;
}
