//! Upstreams that are reached through the proxy that the environment names.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use tests::raw::{self, RawMessage, RawSocket};
use tests::secure::{FAR, SecureReply, TlsServer};
use tests::wait::within;
use tests::{ScriptedServer, ServerStep, TestHub};
use tokio::net::{TcpListener, TcpStream};

use super::proxy::ASKS;

/// `agent:hunter-22`, as a proxy is told.
const KEY: &str = "Basic YWdlbnQ6aHVudGVyLTIy";

pub(crate) type Asked = Arc<Mutex<Vec<RawMessage>>>;

/// A proxy that makes tunnels, all of them to this machine; who shows no key is refused.
pub(crate) async fn tunnels() -> (SocketAddr, Asked) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let asked = Asked::default();
    let noted = Arc::clone(&asked);
    tokio::spawn(async move {
        while let Ok((stream, _peer)) = listener.accept().await {
            tokio::spawn(tunnel(stream, Arc::clone(&noted)));
        }
    });
    (address, asked)
}

async fn tunnel(mut stream: TcpStream, asked: Asked) {
    // Nothing comes behind the head before the tunnel is there.
    let mut wire = RawSocket::new(&mut stream);
    let Some(head) = wire.head().await else { return };
    asked.lock().unwrap().push(head.clone());
    if head.header("proxy-authorization") != Some(KEY) {
        wire.try_send(b"HTTP/1.1 407 Who are you\r\ncontent-length: 0\r\n\r\n").await;
        return;
    }
    let port: u16 = head.start.split([' ', ':']).nth(2).unwrap().parse().unwrap();
    let mut there = TcpStream::connect(("127.0.0.1", port)).await.unwrap();
    wire.send(b"HTTP/1.1 200 Go on\r\n\r\n").await;
    // Either side may leave first.
    tokio::io::copy_bidirectional(&mut stream, &mut there).await.unwrap_or_default();
}

/// A hub that reaches `secure` by a name of which no machine knows where it is.
async fn hub_behind(proxy: &str, no: &str, secure: &TlsServer) -> TestHub {
    let file = secure.place().join("fanlight.toml");
    let port = secure.url().rsplit(':').next().unwrap().to_owned();
    let ca = secure.certificate();
    let settings = format!("[upstreams.far]\nurl = \"https://{FAR}:{port}\"\nca = \"{}\"\n", ca.display());
    std::fs::write(&file, settings).unwrap();
    let variables = [("HTTPS_PROXY", proxy), ("NO_PROXY", no), ("https_proxy", ""), ("no_proxy", "")];
    TestHub::start_among(&variables, "127.0.0.1:0", &["--config", &file.display().to_string()]).await
}

fn call(upstream: &str) -> Vec<u8> {
    raw::post(&format!("/proxy/{upstream}/v1/chat/completions"), &[("authorization", "Bearer k")], ASKS)
}

/// The code and the words of a call that was not answered.
async fn refusal(hub: &TestHub) -> (String, String) {
    let answer = within("the answer", raw::call(hub.address(), &call("far"))).await;
    let problem: serde_json::Value = serde_json::from_slice(&answer.body).unwrap();
    assert_eq!(answer.status(), 502, "{problem}");
    (problem["code"].as_str().unwrap().to_owned(), problem["detail"].as_str().unwrap().to_owned())
}

#[tokio::test(flavor = "multi_thread")]
async fn calls_go_through_a_tunnel_of_the_proxy_which_sees_nothing_of_them() {
    let (proxy, asked) = tunnels().await;
    let secure = TlsServer::answering(|_| SecureReply::new(200, "application/json", "{}")).await;
    let hub = hub_behind(&format!("http://agent:hunter-22@{proxy}"), "", &secure).await;
    for _ in 0..2 {
        let answer = raw::call(hub.address(), &call("far")).await;
        assert_eq!((answer.status(), answer.body.as_slice()), (200, b"{}".as_slice()));
    }
    let heads = asked.lock().unwrap().clone();
    let [head] = heads.as_slice() else { panic!("one connection is enough: {heads:?}") };
    assert!(head.start.starts_with(&format!("CONNECT {FAR}:")), "{head:?}");
    assert_eq!((head.header("authorization"), head.header("proxy-authorization")), (None, Some(KEY)));
    assert!(secure.asked().iter().all(|asked| asked.headers.get("proxy-authorization").is_none()));
    assert_eq!(secure.asked().len(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_proxy_that_refuses_or_is_of_another_kind_is_named_and_its_key_is_not() {
    let (proxy, _asked) = tunnels().await;
    let secure = TlsServer::answering(|_| SecureReply::new(200, "application/json", "{}")).await;
    let hub = hub_behind(&format!("http://agent:wrong-word@{proxy}"), "", &secure).await;
    let (code, words) = refusal(&hub).await;
    assert_eq!(code, "upstream_unreachable");
    assert!(words.contains(&format!("through the proxy {proxy} of the environment")), "{words}");
    assert!(words.contains("authorization required") && !words.contains("wrong-word"), "{words}");
    let hub = hub_behind(&format!("socks5://agent:wrong-word@{proxy}"), "", &secure).await;
    let (code, words) = refusal(&hub).await;
    assert_eq!(code, "upstream_unreachable");
    assert!(words.contains("of the kind socks5") && !words.contains("wrong-word"), "{words}");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_excepted_is_reached_without_the_proxy() {
    let (proxy, asked) = tunnels().await;
    let secure = TlsServer::answering(|_| SecureReply::new(200, "application/json", "{}")).await;
    let hub = hub_behind(&format!("http://{proxy}"), "other.test, .test", &secure).await;
    // Nobody knows where it is.
    let (_code, words) = refusal(&hub).await;
    assert!(!words.contains("proxy"), "{words}");
    assert!(asked.lock().unwrap().is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_not_protected_is_asked_of_the_proxy_and_what_is_near_is_not() {
    let near = ScriptedServer::start(|_| ServerStep::answer("200 OK", &[], b"near")).await;
    let proxy = ScriptedServer::start(|_| ServerStep::answer("200 OK", &[], b"far")).await;
    let place = format!("http://agent:hunter-22@{}", proxy.address());
    let far = format!("far=http://{FAR}:81/base");
    let options = ["--upstream", &near.named("near"), "--upstream", &far];
    let variables = [("HTTP_PROXY", place.as_str()), ("NO_PROXY", ""), ("no_proxy", "")];
    let hub = TestHub::start_among(&variables, "127.0.0.1:0", &options).await;
    assert_eq!(raw::call(hub.address(), &call("near")).await.body, b"near");
    assert_eq!(raw::call(hub.address(), &call("far")).await.body, b"far");
    let asked = proxy.asked();
    assert_eq!(asked.len(), 1);
    assert_eq!(asked[0].start, format!("POST http://{FAR}:81/base/v1/chat/completions HTTP/1.1"));
    assert_eq!(asked[0].header("host"), Some(format!("{FAR}:81").as_str()));
    assert_eq!(
        (asked[0].header("proxy-authorization"), asked[0].header("authorization")),
        (Some(KEY), Some("Bearer k"))
    );
    assert_eq!(near.asked()[0].header("proxy-authorization"), None);
}
