//! A peer that takes its bytes slowly.

use std::net::SocketAddr;
use std::time::Duration;

use tokio::io::AsyncReadExt as _;
use tokio::net::{TcpSocket, TcpStream};
use tokio::time::{interval, timeout};
use tokio_tungstenite::client_async;
use tokio_tungstenite::tungstenite::client::IntoClientRequest as _;

use super::{LIMIT, Socket, TestHub};
use crate::config::Config;

/// What it reads in one go, and how often.
const HELPING_BYTES: usize = 16 << 10;
const PACE: Duration = Duration::from_millis(50);

/// A greeted socket whose kernel keeps little.
async fn narrow(address: SocketAddr) -> Socket {
    let socket = TcpSocket::new_v4().unwrap();
    socket.set_recv_buffer_size(8 << 10).unwrap();
    let stream = socket.connect(address).await.unwrap();
    let mut request = format!("ws://{address}/v1/ws").into_client_request().unwrap();
    request.headers_mut().insert("sec-websocket-protocol", "fanlight.v1".parse().unwrap());
    let mut socket = Socket(client_async(request, stream).await.unwrap().0);
    socket.say(r#"{"t":"hello","versions":["1"]}"#).await;
    socket.hear().await;
    socket
}

/// Reads a helping at a time up to `end`; false when the socket ends before.
async fn crawl(mut stream: TcpStream, end: &[u8]) -> bool {
    let (mut seen, mut helping) = (Vec::new(), vec![0; HELPING_BYTES]);
    let mut pace = interval(PACE);
    loop {
        pace.tick().await;
        let Ok(count @ 1..) = stream.read(&mut helping).await else { return false };
        // The end may lie across two helpings.
        seen.drain(..seen.len().saturating_sub(end.len()));
        seen.extend_from_slice(&helping[..count]);
        if seen.windows(end.len()).any(|window| window == end) {
            return true;
        }
    }
}

#[tokio::test]
async fn i8_a_peer_that_takes_byte_after_byte_is_slow_and_not_dead() {
    let no_progress = Duration::from_millis(800);
    let hub = TestHub::start(Config { no_progress, ..Config::default() }).await;
    let mut slow = narrow(hub.address).await;
    slow.view(1, "c").await;
    let mut publisher = hub.greeted().await;
    let published = async {
        // Much more than it takes in that time: a kernel that kept it all would ask for more only after several times as long.
        let text = "x".repeat(200_000);
        for _ in 0..50 {
            publisher.publish("c", &text).await;
            publisher.hear().await;
        }
        publisher.publish("c", "the very last word").await;
        publisher.hear().await;
    };
    // It reads all the while: one that waits for the end of that takes nothing for as long as the machine likes.
    let seen = timeout(LIMIT, crawl(slow.0.into_inner(), b"the very last word"));
    let ((), seen) = tokio::join!(published, seen);
    assert!(seen.expect("what it missed is conflated, not queued"), "it was cut");
    hub.stop().await;
}
