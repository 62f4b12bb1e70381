//! Connections to the upstream that end while a request is on its way.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use tests::TestHub;
use tests::raw::{self, RawMessage, RawSocket};
use tests::wait::within;
use tokio::net::{TcpListener, TcpStream};

use super::proxy::{ASKS, run_of};

/// An answer after which the connection stays.
const ANSWER: &[u8] =
    b"HTTP/1.1 200 OK\r\ndate: Sun, 06 Nov 1994 08:49:37 GMT\r\ncontent-length: 2\r\n\r\n{}";

type Asked = Arc<Mutex<Vec<(usize, RawMessage)>>>;

/// An upstream that answers the first request of a connection, and closes at the second one instead. It notes what it was
/// asked, with the number of the connection.
async fn fickle() -> (SocketAddr, Asked) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let asked = Asked::default();
    let noted = Arc::clone(&asked);
    tokio::spawn(async move {
        let mut number = 0;
        while let Ok((stream, _peer)) = listener.accept().await {
            number += 1;
            tokio::spawn(answer_once(number, RawSocket::new(stream), Arc::clone(&noted)));
        }
    });
    (address, asked)
}

async fn answer_once(number: usize, mut wire: RawSocket<TcpStream>, asked: Asked) {
    let mut is_first = true;
    loop {
        let message = wire.message().await;
        if message.start.is_empty() {
            return;
        }
        asked.lock().unwrap().push((number, message));
        if !std::mem::take(&mut is_first) || !wire.try_send(ANSWER).await {
            return;
        }
    }
}

/// On which connections it was asked what.
fn seen(asked: &Asked) -> Vec<(usize, String)> {
    asked.lock().unwrap().iter().map(|(number, message)| (*number, message.start.clone())).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn what_does_no_harm_is_asked_again_where_an_old_connection_ends_in_place_of_an_answer() {
    let (address, asked) = fickle().await;
    let hub = TestHub::start_with(&["--upstream", &format!("x=http://{address}")]).await;
    let get = b"GET /proxy/x/v1/models HTTP/1.1\r\nhost: localhost\r\n\r\n";
    for _ in 0..2 {
        let answer = raw::call(hub.address(), get).await;
        assert_eq!((answer.status(), answer.body.as_slice()), (200, b"{}".as_slice()));
    }
    let line = String::from("GET /v1/models HTTP/1.1");
    assert_eq!(seen(&asked), [(1, line.clone()), (1, line.clone()), (2, line)]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_that_the_upstream_took_is_sent_once_and_said_to_have_failed() {
    let (address, asked) = fickle().await;
    let hub = TestHub::start_with(&["--upstream", &format!("x=http://{address}")]).await;
    let call = raw::post("/proxy/x/~c/v1/chat/completions", &[], ASKS);
    assert_eq!(raw::call(hub.address(), &call).await.status(), 200);
    within("the first run", run_of(&hub, "c")).await;
    let answer = raw::call(hub.address(), &call).await;
    let problem: serde_json::Value = serde_json::from_slice(&answer.body).unwrap();
    assert_eq!((answer.status(), problem["code"].as_str()), (502, Some("upstream_failed")), "{problem}");
    let line = String::from("POST /v1/chat/completions HTTP/1.1");
    assert_eq!(seen(&asked), [(1, line.clone()), (1, line)]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_new_connection_that_ends_in_place_of_an_answer_is_the_answer() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let hub = TestHub::start_with(&["--upstream", &format!("x=http://{address}")]).await;
    let mut wire = raw::connect(hub.address()).await;
    wire.send(b"GET /proxy/x/v1/models HTTP/1.1\r\nhost: localhost\r\n\r\n").await;
    let mut upstream = RawSocket::new(within("a connection", listener.accept()).await.unwrap().0);
    within("the request", upstream.message()).await;
    drop(upstream);
    // Nobody takes another connection, and none is wanted.
    assert_eq!(within("the answer", wire.message()).await.status(), 502);
}
