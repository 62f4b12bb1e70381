//! Tests of connections that calls share.

use std::time::Duration;

use http_body_util::Full;
use hyper_rustls::MaybeHttpsStream;
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

use super::*;
use crate::connect::KEEP_ALIVE;
use crate::replay::Buffering;

type Connection = Http2<Full<Bytes>>;

/// A connection, and its other side, which says nothing.
async fn connected(keep_alive: KeepAlive) -> (Connection, TcpStream) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let stream = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
    let peer = listener.accept().await.unwrap().0;
    (Http2::new(MaybeHttpsStream::Http(TokioIo::new(stream)), keep_alive).await.unwrap(), peer)
}

/// SETTINGS of an upstream that lets so many calls through, or that leaves it open.
fn settings(streams: Option<u32>) -> Vec<u8> {
    let said = streams.map(|streams| [&[0, 3][..], &streams.to_be_bytes()].concat()).unwrap_or_default();
    let length = u8::try_from(said.len()).unwrap();
    [&[0, 0, length, 4, 0, 0, 0, 0, 0][..], &said].concat()
}

fn head() -> Parts {
    Request::get("http://a.example/").body(()).unwrap().into_parts().0
}

async fn comes_to(connection: &Connection, calls: usize) {
    let reached = async {
        while connection.calls_max() != calls {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(Duration::from_secs(20), reached).await.expect("it is told in time");
}

#[tokio::test]
async fn few_calls_share_one_and_none_do_as_long_as_nobody_knows_how_many_may() {
    let (connection, mut peer) = connected(KEEP_ALIVE).await;
    assert_eq!(connection.calls_max(), 1);
    peer.write_all(&settings(None)).await.unwrap();
    comes_to(&connection, CALLS_MAX as usize).await;
    for (said, calls) in [(2, 2), (100, CALLS_MAX as usize), (0, 1)] {
        peer.write_all(&settings(Some(said))).await.unwrap();
        comes_to(&connection, calls).await;
    }
    assert!(connection.is_shut());
    connection.has_answered.store(true, Ordering::Relaxed);
    // It lets none through for a while: what is on its way goes on.
    assert!(!connection.is_shut());
}

#[tokio::test]
async fn a_connection_that_is_dead_is_given_up() {
    let keep_alive = KeepAlive { interval: Duration::from_millis(20), timeout: Duration::from_millis(20) };
    let (connection, mut peer) = connected(keep_alive).await;
    let mute = tokio::spawn(async move {
        peer.write_all(&settings(None)).await.unwrap();
        let mut said = [0; 1_024];
        while peer.read(&mut said).await.is_ok_and(|read| read > 0) {}
    });
    let body = ReplayBody::new(Full::default()).attempt(Buffering::Short);
    let answer = tokio::time::timeout(Duration::from_secs(20), connection.send(head(), body)).await;
    let error = answer.expect("it is given up in time").expect_err("nobody answers").into_error();
    assert!(reason(&error).contains("keep-alive timed out"), "{}", reason(&error));
    mute.abort();
}
