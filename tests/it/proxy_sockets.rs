//! `WebSocket`s through the proxy: bytes are those of the two sides, and what is said in them is recorded.

use std::net::SocketAddr;

use serde_json::{Value, json};
use tests::TestHub;
use tests::raw::{self, RawMessage, RawSocket};
use tests::secure::FAR;
use tests::wait::within;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

use super::proxy_detour::tunnels;

const ASKS: &str = "connection: keep-alive, Upgrade\r\nupgrade: websocket\r\nsec-websocket-version: 13\r\nsec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\nsec-websocket-protocol: realtime, openai-beta.v1\r\nauthorization: Bearer sk-7c1d5e0f9b3a48d2\r\n";

const SWITCHES: &str = "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\nSec-WebSocket-Protocol: realtime\r\nX-Own: kept\r\nFanlight-Conversation: forged\r\n\r\n";

/// Something that listens, and a hub that passes calls of `x` on to it.
async fn listening() -> (TcpListener, TestHub) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let named = format!("x=http://{}", listener.local_addr().unwrap());
    let hub = TestHub::start_with(&["--upstream", &named]).await;
    (listener, hub)
}

/// A WebSocket through `hub` at `path`: the caller's end and the upstream's, with what each read of the handshake.
async fn opened(
    listener: &TcpListener,
    hub: SocketAddr,
    path: &str,
) -> ((TcpStream, RawMessage), (TcpStream, RawMessage)) {
    let asking = async {
        let mut caller = TcpStream::connect(hub).await.unwrap();
        caller
            .write_all(format!("GET {path} HTTP/1.1\r\nhost: localhost\r\n{ASKS}\r\n").as_bytes())
            .await
            .unwrap();
        let head = RawSocket::new(&mut caller).head().await.unwrap();
        (caller, head)
    };
    let answering = async {
        let (mut upstream, _peer) = listener.accept().await.unwrap();
        let head = RawSocket::new(&mut upstream).head().await.unwrap();
        upstream.write_all(SWITCHES.as_bytes()).await.unwrap();
        (upstream, head)
    };
    within("the handshake", async { tokio::join!(asking, answering) }).await
}

/// A text message, as a server sends it, or a client where there is a `mask`.
fn text(value: &Value, mask: Option<[u8; 4]>) -> Vec<u8> {
    let payload = value.to_string().into_bytes();
    let bit = if mask.is_some() { 0x80 } else { 0 };
    let mut frame = vec![0x81, bit | 0x7e];
    frame.extend(u16::try_from(payload.len()).unwrap().to_be_bytes());
    frame.extend(mask.into_iter().flatten());
    let mask = mask.unwrap_or_default();
    frame.extend(payload.iter().zip(mask.iter().cycle()).map(|(byte, mask)| byte ^ mask));
    frame
}

async fn read(stream: &mut TcpStream, length: usize) -> Vec<u8> {
    let mut bytes = vec![0; length];
    within("the bytes", stream.read_exact(&mut bytes)).await.unwrap();
    bytes
}

async fn rest(stream: &mut TcpStream) -> Vec<u8> {
    let mut bytes = Vec::new();
    within("the end", stream.read_to_end(&mut bytes)).await.unwrap();
    bytes
}

/// The caller says `value`, and the upstream has heard it: so it answers nothing that was not asked yet.
async fn say(caller: &mut TcpStream, upstream: &mut TcpStream, value: &Value) {
    let frame = text(value, Some([9, 8, 7, 6]));
    caller.write_all(&frame).await.unwrap();
    assert!(read(upstream, frame.len()).await == frame);
}

/// The run `at` of a conversation, once it has ended.
async fn run_of(hub: &TestHub, conversation: &str, at: usize) -> Value {
    let path = format!("/v1/conversations/{conversation}?summary");
    let is_over = |summary: &Value| {
        let status = &summary["runs"][at]["status"];
        status.is_string() && *status != "running"
    };
    hub.json_until(&path, is_over).await["runs"][at].clone()
}

#[tokio::test(flavor = "multi_thread")]
async fn i12_a_socket_has_the_handshake_the_bytes_and_the_ends_of_its_two_sides() {
    let (listener, hub) = listening().await;
    let path = "/proxy/x/v1/realtime?model=m&x=%2F";
    let ((mut caller, answered), (mut upstream, asked)) = opened(&listener, hub.address(), path).await;
    assert_eq!(asked.start, "GET /v1/realtime?model=m&x=%2F HTTP/1.1");
    assert_eq!(asked.all("host"), [listener.local_addr().unwrap().to_string()]);
    assert_eq!((asked.header("upgrade"), asked.header("connection")), (Some("websocket"), Some("Upgrade")));
    assert_eq!(asked.header("sec-websocket-key"), Some("dGhlIHNhbXBsZSBub25jZQ=="));
    assert_eq!(asked.header("sec-websocket-protocol"), Some("realtime, openai-beta.v1"));
    assert_eq!(asked.header("authorization"), Some("Bearer sk-7c1d5e0f9b3a48d2"));
    assert_eq!((answered.status(), answered.header("upgrade")), (101, Some("websocket")));
    assert_eq!(answered.header("sec-websocket-accept"), Some("s3pPLMBiTxaQ9kYGzzhZRbK+xOo="));
    assert_eq!(answered.all("sec-websocket-protocol"), ["realtime"]);
    assert_eq!((answered.header("x-own"), answered.header("fanlight-conversation")), (Some("kept"), None));
    // Fragments, a ping between them, something binary, something long, and what is no frame at all.
    let long = [&[0x82, 127, 0, 0, 0, 0, 0, 4, 0, 0][..], &vec![7; 4 << 16]].concat();
    for bytes in [&b"\x01\x03one\x89\x02hi\x80\x03two"[..], b"\x82\x02\x00\xff", &long, b"\xff\xff nonsense"]
    {
        let (sent, came) = tokio::join!(upstream.write_all(bytes), read(&mut caller, bytes.len()));
        sent.unwrap();
        assert!(came == bytes);
        let (sent, came) = tokio::join!(caller.write_all(bytes), read(&mut upstream, bytes.len()));
        sent.unwrap();
        assert!(came == bytes);
    }
    // Half a close: the other side still speaks.
    caller.write_all(b"\x88\x82\x00\x00\x00\x00\x03\xe8").await.unwrap();
    caller.shutdown().await.unwrap();
    assert_eq!(rest(&mut upstream).await, b"\x88\x82\x00\x00\x00\x00\x03\xe8");
    upstream.write_all(b"\x81\x04last\x88\x06\x0f\xa0bye!").await.unwrap();
    drop(upstream);
    assert_eq!(rest(&mut caller).await, b"\x81\x04last\x88\x06\x0f\xa0bye!");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_loop_over_a_socket_shows_as_one_over_http() {
    let (listener, hub) = listening().await;
    let path = "/proxy/x/~socket/v1/responses";
    let ((mut caller, answered), (mut upstream, _)) = opened(&listener, hub.address(), path).await;
    assert_eq!(answered.header("fanlight-conversation"), Some("socket"));
    let said = |text: &str| json!([{ "type": "message", "role": "user", "content": [{ "type": "input_text", "text": text }] }]);
    let create = json!({ "type": "response.create", "model": "m", "instructions": "Be brief.", "input": said("Look!") });
    say(&mut caller, &mut upstream, &create).await;
    let call = json!({ "type": "function_call", "id": "f", "call_id": "call_a8fK2mQ9xLw0", "name": "look", "arguments": "{}" });
    let of = |kind: &str, id: &str| json!({ "type": kind, "response": { "id": id, "object": "response", "model": "m", "status": "completed", "output": [] } });
    for event in [
        of("response.created", "resp_1"),
        json!({ "type": "response.output_item.done", "output_index": 0, "item": call }),
        of("response.completed", "resp_1"),
    ] {
        upstream.write_all(&text(&event, None)).await.unwrap();
    }
    let executing = |state: &Value| state.to_string().contains("\"executing\"");
    hub.json_until("/v1/conversations/socket", executing).await;
    let gave = json!([{ "type": "function_call_output", "call_id": "call_a8fK2mQ9xLw0", "output": "blue" }]);
    let next =
        json!({ "type": "response.create", "model": "m", "previous_response_id": "resp_1", "input": gave });
    say(&mut caller, &mut upstream, &next).await;
    for event in [
        of("response.created", "resp_2"),
        json!({ "type": "codex.rate_limits", "left": 7 }),
        json!({ "type": "response.output_text.delta", "item_id": "m", "output_index": 0, "content_index": 0, "delta": "It is blue." }),
        of("response.completed", "resp_2"),
    ] {
        upstream.write_all(&text(&event, None)).await.unwrap();
    }
    let run = run_of(&hub, "socket", 0).await;
    assert_eq!(
        (run["status"].as_str(), run["text"].as_str()),
        (Some("complete"), Some("It is blue.")),
        "{run}"
    );
    let state = hub.json("/v1/conversations/socket").await.to_string();
    for said in ["Be brief.", "Look!", "\"look\"", "blue"] {
        assert!(state.contains(said), "{said}: {state}");
    }
    // A failure is the answer's, and the connection goes on.
    say(
        &mut caller,
        &mut upstream,
        &json!({ "type": "response.create", "model": "m", "input": said("More!") }),
    )
    .await;
    let refused = json!({ "type": "error", "status": 429, "error": { "type": "usage_limit_reached", "message": "no more of sk-7c1d5e0f9b3a48d2" } });
    upstream.write_all(&text(&refused, None)).await.unwrap();
    let run = run_of(&hub, "socket", 1).await;
    assert_eq!(run["status"], "error", "{run}");
    // One that breaks off in the middle.
    say(
        &mut caller,
        &mut upstream,
        &json!({ "type": "response.create", "model": "m", "input": said("Still?") }),
    )
    .await;
    upstream.write_all(&text(&of("response.created", "resp_4"), None)).await.unwrap();
    hub.json_until("/v1/conversations/socket?summary", |it| it["runs"][2]["status"] == "running").await;
    drop(upstream);
    let run = run_of(&hub, "socket", 2).await;
    assert_eq!(run["status"], "error", "{run}");
    let state = hub.json("/v1/conversations/socket").await.to_string();
    assert!(state.contains("upstream_cut") && state.contains("[key]"), "{state}");
    assert!(!state.contains("sk-7c1d5e0f9b3a48d2"), "{state}");
}

#[tokio::test(flavor = "multi_thread")]
async fn realtime_shows_what_is_said_and_heard() {
    let (listener, hub) = listening().await;
    let path = "/proxy/x/~voice/v1/realtime?model=gpt-realtime";
    let ((mut caller, _), (mut upstream, _)) = opened(&listener, hub.address(), path).await;
    let item =
        json!({ "type": "message", "role": "user", "content": [{ "type": "input_text", "text": "Hello?" }] });
    for message in
        [json!({ "type": "conversation.item.create", "item": item }), json!({ "type": "response.create" })]
    {
        caller.write_all(&text(&message, Some([1, 2, 3, 4]))).await.unwrap();
        read(&mut upstream, text(&message, Some([1, 2, 3, 4])).len()).await;
    }
    // Until the recorder has begun with what the caller said.
    hub.json_until("/v1/conversations/voice?summary", |it| it["runs"][0]["status"] == "running").await;
    for event in [
        json!({ "type": "response.created", "response": { "id": "resp_1", "object": "realtime.response", "status": "in_progress" } }),
        json!({ "type": "response.output_audio.delta", "delta": "UklGRg==" }),
        json!({ "type": "response.output_audio_transcript.delta", "output_index": 0, "content_index": 0, "delta": "Hi there." }),
        json!({ "type": "response.done", "response": { "id": "resp_1", "object": "realtime.response", "status": "completed", "output": [] } }),
    ] {
        upstream.write_all(&text(&event, None)).await.unwrap();
    }
    let run = run_of(&hub, "voice", 0).await;
    assert_eq!(
        (run["status"].as_str(), run["text"].as_str()),
        (Some("complete"), Some("Hi there.")),
        "{run}"
    );
    let state = hub.json("/v1/conversations/voice").await.to_string();
    assert!(
        state.contains("Hello?") && state.contains("gpt-realtime") && !state.contains("UklGRg"),
        "{state}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_handshake_that_the_upstream_refuses_is_refused_in_its_words() {
    let (listener, hub) = listening().await;
    tokio::spawn(async move {
        let (mut upstream, _peer) = listener.accept().await.unwrap();
        RawSocket::new(&mut upstream).head().await.unwrap();
        let answer = "HTTP/1.1 401 Who are you\r\nx-own: kept\r\ncontent-length: 4\r\n\r\nno!\n";
        upstream.write_all(answer.as_bytes()).await.unwrap();
        rest(&mut upstream).await;
    });
    let request = format!("GET /proxy/x/v1/realtime HTTP/1.1\r\nhost: localhost\r\n{ASKS}\r\n");
    let answer = raw::call(hub.address(), request.as_bytes()).await;
    assert_eq!((answer.start.as_str(), answer.header("x-own")), ("HTTP/1.1 401 Who are you", Some("kept")));
    assert_eq!(answer.body, b"no!\n");
    let nobody = TestHub::start_with(&["--upstream", "x=http://127.0.0.1:1"]).await;
    let answer = raw::call(nobody.address(), request.as_bytes()).await;
    assert_eq!(answer.status(), 502);
    assert!(String::from_utf8_lossy(&answer.body).contains("upstream_unreachable"));
}

#[tokio::test(flavor = "multi_thread")]
async fn i12_a_socket_goes_through_the_proxy_of_the_environment() {
    let (proxy, asked) = tunnels().await;
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let proxy = format!("http://agent:hunter-22@{proxy}");
    let variables = [("HTTP_PROXY", proxy.as_str()), ("http_proxy", ""), ("NO_PROXY", ""), ("no_proxy", "")];
    let named = format!("x=http://{FAR}:{port}");
    let hub = TestHub::start_among(&variables, "127.0.0.1:0", &["--upstream", &named]).await;
    let ((mut caller, _), (mut upstream, head)) =
        opened(&listener, hub.address(), "/proxy/x/v1/realtime").await;
    assert_eq!(head.header("host"), Some(format!("{FAR}:{port}").as_str()));
    assert_eq!(head.header("proxy-authorization"), None, "the tunnel's key is the proxy's");
    assert!(
        asked.lock().unwrap().iter().any(|asked| asked.start.starts_with(&format!("CONNECT {FAR}:{port}")))
    );
    caller.write_all(b"\x81\x82\x00\x00\x00\x00hi").await.unwrap();
    assert_eq!(read(&mut upstream, 8).await, b"\x81\x82\x00\x00\x00\x00hi");
}

#[tokio::test(flavor = "multi_thread")]
async fn i13_a_hub_that_stops_closes_sockets_between_two_messages() {
    let (listener, mut hub) = listening().await;
    let path = "/proxy/x/~c/v1/responses";
    let ((mut caller, _), (mut upstream, _)) = opened(&listener, hub.address(), path).await;
    upstream.write_all(b"\x81\x05he").await.unwrap();
    assert_eq!(read(&mut caller, 4).await, b"\x81\x05he");
    hub.signal("TERM").await;
    // The caller's direction is between two messages: the upstream is told.
    let told = read(&mut upstream, 8).await;
    let code: Vec<u8> =
        told.iter().skip(6).zip(told.iter().skip(2)).map(|(byte, mask)| byte ^ mask).collect();
    assert_eq!((told.get(..2), code.as_slice()), (Some(&[0x88, 0x82][..]), &1001_u16.to_be_bytes()[..]));
    // The other one is in the middle of a message, which comes to its end.
    upstream.write_all(b"llo").await.unwrap();
    assert_eq!(rest(&mut caller).await, b"llo\x88\x02\x03\xf4");
    drop((caller, upstream));
    assert_eq!(within("the end of the hub", hub.stop()).await, Some(0));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_websocket_through_the_proxy_ends_when_its_token_is_revoked() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let named = format!("x=http://{}", listener.local_addr().unwrap());
    let hub = TestHub::start_with(&["--access", "tokens", "--upstream", &named]).await;
    let revoked = hub.token_for("ann", &["publish:*"]).await;
    let stays = hub.token_for("bob", &["publish:*"]).await;
    let path = |token: &str| format!("/proxy/x/v1/realtime HTTP/1.1\r\nfanlight-token: {token}\r\nx-rest: ");
    let ((mut caller, _), (mut upstream, _)) = opened(&listener, hub.address(), &path(&revoked)).await;
    let ((mut other, _), (mut other_upstream, _)) = opened(&listener, hub.address(), &path(&stays)).await;
    let said = text(&json!({ "type": "session.update" }), Some([1, 2, 3, 4]));
    caller.write_all(&said).await.unwrap();
    assert_eq!(read(&mut upstream, said.len()).await, said, "it was open");
    hub.token(&["revoke", "ann"]).await;
    rest(&mut caller).await;
    rest(&mut upstream).await;
    other.write_all(&said).await.unwrap();
    assert_eq!(read(&mut other_upstream, said.len()).await, said, "whoever has another token goes on");
}
