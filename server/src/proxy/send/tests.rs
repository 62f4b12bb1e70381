//! Tests of the way out.

use std::net::SocketAddr;

use axum::body::Body as Empty;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;

use super::*;

/// An upstream that takes connections of HTTP/2, and is mute then.
async fn mute() -> SocketAddr {
    const SETTINGS: [u8; 9] = [0, 0, 0, 4, 0, 0, 0, 0, 0];
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        while let Ok((mut stream, _peer)) = listener.accept().await {
            tokio::spawn(async move {
                stream.write_all(&SETTINGS).await.unwrap();
                let mut said = [0; 1_024];
                while stream.read(&mut said).await.is_ok_and(|read| read > 0) {}
            });
        }
    });
    address
}

#[tokio::test]
async fn a_connection_that_is_dead_is_given_up() {
    let pulse = Pulse { every: Duration::from_millis(20), patience: Duration::from_millis(20) };
    let client: Client<_, Empty> = builder(pulse).http2_only(true).build(tcp(pulse));
    let request = Request::get(format!("http://{}/", mute().await)).body(Empty::empty()).unwrap();
    let answer = tokio::time::timeout(Duration::from_secs(20), client.request(request)).await;
    let fault = answer.expect("it is given up in time").expect_err("nobody answers");
    assert!(reason(&fault).contains("keep-alive timed out"), "{}", reason(&fault));
}

#[test]
fn few_calls_share_a_lane() {
    let upstream = Upstream::new("x", "http://127.0.0.1:1", super::super::upstream::Api::OpenAi).unwrap();
    let sender = Sender::<Empty>::new(&upstream, &Roots(Arc::new(RootCertStore::empty()))).unwrap();
    let most = CALLS_PER_LANE_MAX as usize;
    let mut seats: Vec<_> = (0..=most).map(|_| sender.take_seat().1).collect();
    let calls = |sender: &Sender<Empty>| {
        sender.lanes.lock().iter().map(|lane| lane.calls.load(Ordering::Relaxed)).collect::<Vec<_>>()
    };
    assert_eq!(calls(&sender), [most, 1]);
    // One that goes makes room, in the first lane before all others.
    drop(seats.swap_remove(0));
    seats.push(Sender::clone(&sender).take_seat().1);
    assert_eq!(calls(&sender), [most, 1]);
    drop(seats);
    assert_eq!(calls(&sender), [0, 0]);
}
