//! When callers wait for the keys of an address.

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;
use upstream::Api;

use super::*;

/// Answers one request with a JWKS that has one key.
async fn answer_once(listener: TcpListener) {
    let (mut stream, _) = listener.accept().await.unwrap();
    let mut head = [0; 4096];
    let _read = stream.read(&mut head).await.unwrap();
    let keys = r#"{"keys":[{"kty":"OKP","crv":"Ed25519","kid":"k","x":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"}]}"#;
    let answer = format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n{keys}", keys.len());
    stream.write_all(answer.as_bytes()).await.unwrap();
}

#[tokio::test]
async fn whoever_finds_no_key_waits_until_the_keys_of_the_address_were_taken() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/jwks", listener.local_addr().unwrap());
    let answering = tokio::spawn(answer_once(listener));
    let upstream = Upstream::new("issuer", &url, Api::OpenAi).unwrap();
    let ring = KeyRing::new(vec![KeySource::Remote(Box::new(upstream))], |_, _| {}).unwrap();
    let waited = Mutex::new(None);
    // Whoever looked for a key before this moment did not find it, and asks now.
    let take = |_number: usize, _keys: JwtKeys| *waited.lock() = Some(ring.ask().is_some());
    let (looked, egress) = (Notify::new(), Egress::direct());
    tokio::select! {
        () = ring.keep(&egress, take, || looked.notify_one()) => {}
        () = looked.notified() => {}
    }
    answering.await.unwrap();
    assert_eq!(*waited.lock(), Some(true));
    assert!(ring.ask().is_none(), "the address was just asked");
}
