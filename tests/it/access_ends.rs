//! What was let in ends with what let it in: a token that is revoked or expires cuts sockets, streams, waits and bodies.

use futures_util::StreamExt as _;
use tests::wait::{until, within};
use tests::wire::WebSocketWire;
use tests::{TestHub, raw};

use super::access::{get, guarded, refusal, tell, unauthenticated};

/// A socket that was let in with `token`.
async fn socket(hub: &TestHub, token: &str) -> WebSocketWire {
    let mut wire = WebSocketWire::connect_in_silence(hub.address()).await;
    wire.send_text(format!(r#"{{"t":"hello","versions":["1"],"token":"{token}"}}"#)).await;
    assert!(wire.text().await.unwrap().contains("welcome"));
    wire
}

/// All that a stream still says, as text; whether it was cut.
async fn rest(answer: reqwest::Response) -> (String, bool) {
    let mut stream = answer.bytes_stream();
    let mut said = Vec::new();
    loop {
        match within("the end of a stream", stream.next()).await {
            Some(Ok(piece)) => said.extend_from_slice(&piece),
            Some(Err(_cut)) => return (String::from_utf8_lossy(&said).into_owned(), true),
            None => return (String::from_utf8_lossy(&said).into_owned(), false),
        }
    }
}

/// Bodies that are open when their token is revoked.
const BODIES: usize = 12;

#[tokio::test(flavor = "multi_thread")]
async fn a_revoked_token_ends_sockets_events_waits_and_bodies_with_a_word_on_what_helps() {
    let hub = guarded().await;
    let token = hub.token_for("ann", &["view,publish:*"]).await;
    let other = hub.token_for("bob", &["view,publish:*"]).await;
    assert!(tell(&hub, &token, "c", "hello").await.status().is_success());
    let (mut wire, mut stays) = (socket(&hub, &token).await, socket(&hub, &other).await);
    wire.send_text(r#"{"t":"sub","sub":1,"conv":"c"}"#.to_owned()).await;
    assert!(wire.text().await.unwrap().contains("subbed"));
    let events = get(&hub, &token, "/v1/conversations/c/events").await;
    let dialect = get(&hub, &token, "/v1/conversations/c/stream/openai-chat").await;
    let waiting =
        hub.request("GET", "/v1/conversations/later/wait?timeout_ms=60000").bearer_auth(&token).send();
    let waiting = tokio::spawn(waiting);
    let bearer = format!("Bearer {token}");
    // Several, since the handler of a body that is cut and the guard around it answer at the same moment.
    let mut bodies = Vec::new();
    for _ in 0..BODIES {
        let mut body = hub.ingest_with("openai-chat", "c", &[("authorization", &bearer)]);
        body.write("data: {}\n\n").await;
        bodies.push(body);
    }
    hub.token(&["revoke", "ann"]).await;
    let (said, closed) = wire.end().await;
    assert_eq!((said, closed), (Some(4401), Some(4401)));
    let (events, was_cut) = rest(events).await;
    assert!(!was_cut && events.contains("event: bye") && events.contains("4401"), "{events}");
    let (dialect, was_cut) = rest(dialect).await;
    assert!(was_cut && !dialect.contains("bye"), "a stream of others is cut: {dialect}");
    assert_eq!(refusal(within("the wait", waiting).await.unwrap().unwrap()).await, unauthenticated());
    for body in bodies {
        assert_eq!(body.finish().await.0, 401, "a body that goes on for hours ends too");
    }
    assert_eq!(refusal(get(&hub, &token, "/v1/conversations/c").await).await, unauthenticated());
    // Whoever has another token goes on.
    stays.send_text(r#"{"t":"sub","sub":1,"conv":"c"}"#.to_owned()).await;
    assert!(stays.text().await.unwrap().contains("subbed"));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_expired_token_ends_its_sockets_and_lets_nobody_in() {
    let hub = guarded().await;
    let arguments = ["create", "--name", "brief", "--grant", "view:*", "--expires", "4s"];
    let token = hub.token(&arguments).await;
    // On a slow machine its time may be over before the hub knows of it; then that is all there is to see.
    let is_known = async || {
        let asked = get(&hub, &token, "/v1/access").await;
        let status = asked.status().as_u16();
        let told = asked.text().await.ok()?;
        (status == 200 || told.contains("expired")).then_some(status == 200)
    };
    if until("the token to be known", is_known).await {
        let mut wire = WebSocketWire::connect_in_silence(hub.address()).await;
        wire.send_text(format!(r#"{{"t":"hello","versions":["1"],"token":"{token}"}}"#)).await;
        assert_eq!(wire.end().await, (Some(4401), Some(4401)));
    }
    let answer = get(&hub, &token, "/v1/access").await;
    assert_eq!(answer.status(), 401);
    assert!(answer.text().await.unwrap().contains("expired"));
}

#[tokio::test(flavor = "multi_thread")]
async fn who_may_nothing_over_a_socket_is_told_by_its_code() {
    let hub = guarded().await;
    let token = hub.token_for("files", &["import,export:*"]).await;
    let mut wire = WebSocketWire::connect_in_silence(hub.address()).await;
    wire.send_text(format!(r#"{{"t":"hello","versions":["1"],"token":"{token}"}}"#)).await;
    assert_eq!(wire.end().await, (Some(4403), Some(4403)));
    let mut wire = WebSocketWire::connect_in_silence(hub.address()).await;
    wire.send_text(r#"{"t":"hello","versions":["1"]}"#.to_owned()).await;
    assert_eq!(wire.end().await, (Some(4401), Some(4401)));
}

#[tokio::test]
async fn an_answer_before_the_end_of_a_body_says_that_the_connection_ends() {
    let hub = guarded().await;
    let mut body = raw::connect(hub.address()).await;
    let head =
        "POST /v1/ingest/openai-chat/c HTTP/1.1\r\nhost: 127.0.0.1\r\ntransfer-encoding: chunked\r\n\r\n";
    body.send(format!("{head}8\r\ndata: {{}}\r\n").as_bytes()).await;
    let answer = body.message().await;
    assert_eq!((answer.status(), answer.header("connection")), (401, Some("close")), "{answer:?}");
    within("the end of the connection", body.closed()).await;
    // What was read to its end leaves the connection open for the next request.
    let mut whole = raw::connect(hub.address()).await;
    for _ in 0..2 {
        whole.send(b"POST /login HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-length: 0\r\n\r\n").await;
        assert_eq!(whole.message().await.header("connection"), None);
    }
}
