//! What is done over bare connections and sockets.

use std::time::Duration;

use model::frame::SUBPROTOCOL;
use tests::wait::load_for;
use tests::wire::WebSocketWire;
use tests::{TestViewer, raw};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use super::neighbours::NeighbourPlace;

/// Frames of one write.
const AT_ONCE: usize = 4_096;

/// How long a neighbour that only sits there does so.
const SITTING: Duration = Duration::from_secs(5);

/// In the first byte of a frame: the last one of a message; in the second: masked.
const HIGH: u8 = 0x80;

/// Kinds of frames.
const TEXT: u8 = 0x1;
const PING: u8 = 0x9;

/// A frame as a client sends it, masked with zeros, of at most 125 bytes.
fn frame(first: u8, payload: &[u8]) -> Vec<u8> {
    let length = u8::try_from(payload.len()).unwrap();
    [&[first, HIGH | length, 0, 0, 0, 0], payload].concat()
}

/// A WebSocket that has said hello, as bytes.
async fn upgraded(street: &NeighbourPlace) -> Option<TcpStream> {
    let mut stream = TcpStream::connect(street.hub).await.ok()?;
    let request = format!(
        "GET /v1/ws HTTP/1.1\r\nhost: {}\r\nupgrade: websocket\r\nconnection: upgrade\r\nsec-websocket-version: 13\r\n\
         sec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\nsec-websocket-protocol: {SUBPROTOCOL}\r\n\r\n",
        street.hub
    );
    stream.write_all(request.as_bytes()).await.ok()?;
    let mut answer = vec![0; 512];
    let taken = stream.read(&mut answer).await.ok()?;
    answer.starts_with(b"HTTP/1.1 101").then_some(taken)?;
    stream.write_all(&frame(HIGH | TEXT, br#"{"t":"hello","versions":["1"]}"#)).await.ok()?;
    Some(stream)
}

pub(super) async fn pings(street: NeighbourPlace) {
    let Some(mut stream) = upgraded(&street).await else { return };
    let pings = frame(HIGH | PING, &[b'x'; 125]).repeat(AT_ONCE);
    while stream.write_all(&pings).await.is_ok() {}
}

pub(super) async fn fragments(street: NeighbourPlace) {
    let Some(mut stream) = upgraded(&street).await else { return };
    if stream.write_all(&frame(TEXT, b"")).await.is_err() {
        return;
    }
    let pieces = frame(0, b"").repeat(AT_ONCE);
    while stream.write_all(&pieces).await.is_ok() {}
}

/// Subscribes to a large conversation, asks for it again and again, and takes nothing of it.
pub(super) async fn viewer(mut street: NeighbourPlace) {
    let conversation = format!("wide-{}", street.random.between(0, 4));
    let Some(wire) = WebSocketWire::try_connect(street.hub).await else { return };
    let mut viewer = TestViewer::away(street.hub, &conversation);
    viewer.resume_over(wire).await;
    for _ in 0..32 {
        if !viewer.wire().offer_text(String::from(r#"{"t":"resync","sub":1}"#)).await {
            return;
        }
    }
    load_for(SITTING).await;
}

/// Half a head, half a body, or nothing.
pub(super) async fn silence(mut street: NeighbourPlace) {
    let Ok(mut stream) = TcpStream::connect(street.hub).await else { return };
    let mut body = raw::post("/v1/conversations/s/events", &[], "[{\"k\":\"run.start\",\"run\":\"r\"}]");
    body.truncate(body.len() - 9);
    let begun = [Vec::new(), b"GET /v1/conv".to_vec(), body];
    let begun = &begun[street.random.between(0, begun.len() as u64) as usize];
    if stream.write_all(begun).await.is_ok() {
        load_for(SITTING).await;
    }
}
