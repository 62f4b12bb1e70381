//! What the trace says of requests: one span each, with the route, and nothing of what callers sent.

use std::process::Stdio;

use tests::hub::binary;
use tests::wait::{patiently, within};
use tokio::io::AsyncBufReadExt as _;
use tokio::process::Command;

/// A word that stands in paths, queries and headers of the requests below, and so may not be in the trace.
const CANARY: &str = "canary-of-callers";

/// Runs a hub whose trace has the `level`, asks it several things, the first as `ann`, and returns what it wrote to stderr, and the token.
async fn trace_at(level: &str) -> (String, String) {
    let place = tempfile::tempdir().unwrap();
    let made = Command::new(binary())
        .args(["token", "create", "--name", "ann", "--grant", "view:*", "--data-dir"])
        .arg(place.path())
        .output();
    let token =
        String::from_utf8(within("a token", made).await.unwrap().stdout).unwrap().trim_end().to_owned();
    let mut hub = Command::new(binary())
        .args(["serve", "--listen", "127.0.0.1:0", "--access", "tokens", "--trace", level, "--data-dir"])
        .arg(place.path())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .unwrap();
    let mut lines = tokio::io::BufReader::new(hub.stdout.take().unwrap()).lines();
    let line = within("the first line", lines.next_line()).await.unwrap().unwrap();
    let url = line.strip_prefix("listening on ").unwrap().to_owned();
    let client = reqwest::Client::new();
    let asks = async |method: &str, path: &str, token: &str| {
        let request = client.request(method.parse().unwrap(), format!("{url}{path}?q={CANARY}"));
        let request = request.header("x-note", CANARY);
        let request = if token.is_empty() { request } else { request.bearer_auth(token) };
        within("an answer", request.send()).await.unwrap().status().as_u16()
    };
    assert_eq!(asks("GET", &format!("/v1/conversations/{CANARY}"), &token).await, 404);
    assert_eq!(asks("POST", &format!("/v1/conversations/{CANARY}/events"), &token).await, 403);
    assert_eq!(asks("GET", "/v1/conversations", "").await, 401);
    assert_eq!(asks("GET", "/healthz", "").await, 200);
    assert_eq!(asks("GET", &format!("/{CANARY}"), &token).await, 404);
    let killed = Command::new("kill").args(["-TERM", &hub.id().unwrap().to_string()]).status();
    assert!(within("kill", killed).await.unwrap().success());
    let ended = patiently("the hub's end", hub.wait_with_output()).await.unwrap();
    (String::from_utf8_lossy(&ended.stderr).into_owned(), token)
}

#[tokio::test(flavor = "multi_thread")]
async fn each_request_has_a_span_with_its_route_and_without_what_its_caller_sent() {
    let (trace, token) = trace_at("debug").await;
    for span in [
        r#"request{method=GET route=/v1/conversations/{conversation} principal="ann" status=404 latency_ms="#,
        r#"request{method=POST route=/v1/conversations/{conversation}/events principal="ann" status=403 latency_ms="#,
        "request{method=GET route=/v1/conversations status=401 latency_ms=",
        "request{method=GET route=/healthz status=200 latency_ms=",
        r#"request{method=GET route=none principal="ann" status=404 latency_ms="#,
    ] {
        let answered = trace.lines().filter(|line| line.contains(span) && line.ends_with("answered"));
        assert_eq!(answered.count(), 1, "{span} in {trace}");
    }
    for hidden in [CANARY, &token] {
        assert!(!trace.contains(hidden), "{hidden} in {trace}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn at_the_usual_level_requests_are_not_traced() {
    let (trace, _token) = trace_at("info").await;
    assert!(trace.contains("listening") && !trace.contains("request{"), "{trace}");
}
