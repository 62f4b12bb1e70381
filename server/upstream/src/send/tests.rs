//! Tests of the way out.

use std::net::SocketAddr;

use hyper_util::client::proxy::matcher::Matcher;
use rustls::RootCertStore;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;

use super::*;

type Empty = http_body_util::Full<Bytes>;

fn nothing_outside() -> Outside {
    Outside { roots: Arc::new(RootCertStore::empty()), proxies: Matcher::builder().build() }
}

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
    let request = Request::get(format!("http://{}/", mute().await)).body(Empty::default()).unwrap();
    let answer = tokio::time::timeout(Duration::from_secs(20), client.request(request)).await;
    let fault = answer.expect("it is given up in time").expect_err("nobody answers");
    assert!(reason(&fault).contains("keep-alive timed out"), "{}", reason(&fault));
}

#[test]
fn few_calls_share_a_lane() {
    let upstream = Upstream::new("x", "https://127.0.0.1:1", crate::Api::OpenAi).unwrap();
    let sender = Sender::<Empty>::new(&upstream, &nothing_outside()).unwrap();
    let most = CALLS_PER_LANE_MAX as usize;
    // As long as nobody knows how many may share one, none do.
    let first = [sender.take_seat().1, sender.take_seat().1];
    assert_eq!(sender.lanes.lock().len(), 2);
    drop(first);
    sender.linking.room().learn(u32::MAX);
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
    sender.linking.room().learn(2);
    let seats: Vec<_> = (0..5).map(|_| sender.take_seat().1).collect();
    assert_eq!(calls(&sender), [2, 2, 1]);
    drop(seats);
    // Those that let none through are asked all the same: they may do so soon.
    sender.linking.room().learn(0);
    let _seat = sender.take_seat();
    assert_eq!(calls(&sender), [1, 0, 0]);
}

/// Reads a request whose body ends with `}` from `stream`, and answers it with `headers`.
fn answer_one(stream: &mut std::net::TcpStream, headers: &str) -> String {
    use std::io::{Read as _, Write as _};
    let mut said = Vec::new();
    while !said.ends_with(b"}") {
        let mut more = [0; 1_024];
        let read = stream.read(&mut more).unwrap();
        assert!(read > 0, "the request breaks off");
        said.extend_from_slice(more.get(..read).unwrap());
    }
    stream.write_all(format!("HTTP/1.1 200 OK\r\n{headers}content-length: 2\r\n\r\nok").as_bytes()).unwrap();
    String::from_utf8(said).unwrap()
}

/// An upstream whose every connection is answered once, with `headers`, and kept.
struct Once {
    listener: std::net::TcpListener,
    sender: Sender<Empty>,
    url: String,
    headers: &'static str,
}

impl Once {
    fn start(headers: &'static str) -> Self {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let upstream = Upstream::new("x", &url, crate::Api::OpenAi).unwrap();
        let sender = Sender::new(&upstream, &nothing_outside()).unwrap();
        Self { listener, sender, url, headers }
    }

    /// Takes the next connection. A thread that waits in vain ends with the test.
    fn accept(&self) -> std::thread::JoinHandle<(std::net::TcpStream, String)> {
        let (listener, headers) = (self.listener.try_clone().unwrap(), self.headers);
        std::thread::spawn(move || {
            let mut stream = listener.accept().unwrap().0;
            let said = answer_one(&mut stream, headers);
            (stream, said)
        })
    }

    /// Sends a request, and leaves the connection at rest.
    async fn call(&self, number: u32) {
        use http_body_util::BodyExt as _;
        let body = Empty::from(format!("{{\"call\":{number}}}"));
        let request = Request::post(format!("{}/v1/x", self.url)).body(body).unwrap();
        let answer = tokio::time::timeout(Duration::from_secs(20), self.sender.send(request)).await;
        let answer = answer.expect("an answer in time").expect("an answer");
        assert_eq!(answer.into_body().collect().await.unwrap().to_bytes(), "ok");
        for _ in 0..100 {
            tokio::task::yield_now().await;
        }
    }
}

/// One thread alone, so that nothing is told of a connection between two lines of the test.
#[tokio::test]
async fn a_request_for_which_the_connection_was_closed_already_is_sent_over_another() {
    let upstream = Once::start("");
    let accepting = upstream.accept();
    upstream.call(1).await;
    let (stream, _said) = accepting.join().unwrap();
    let accepting = upstream.accept();
    drop(stream);
    upstream.call(2).await;
    let (_stream, said) = accepting.join().unwrap();
    assert!(said.starts_with("POST /v1/x HTTP/1.1\r\n") && said.ends_with("\r\n\r\n{\"call\":2}"), "{said}");
    assert_eq!(said.matches("{\"call\":2}").count(), 1, "{said}");
}

#[tokio::test]
async fn a_connection_that_the_upstream_is_about_to_close_is_not_used() {
    let upstream = Once::start("keep-alive: max=9, timeout=1\r\n");
    let accepting = upstream.accept();
    upstream.call(1).await;
    let (_kept, _said) = accepting.join().unwrap();
    let accepting = upstream.accept();
    upstream.call(2).await;
    assert!(accepting.join().unwrap().1.ends_with("{\"call\":2}"));
}

#[tokio::test]
async fn i8_a_call_that_runs_well_goes_on_where_another_connection_lets_none_through() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let upstream = Upstream::new("x", &url, crate::Api::OpenAi).unwrap();
    let sender = Sender::<Empty>::new(&upstream, &nothing_outside()).unwrap();
    let request = Request::post(url).body(Empty::from("{}")).unwrap();
    let calling = tokio::spawn({
        let sender = sender.clone();
        async move { sender.send(request).await.map(|answer| answer.status().as_u16()) }
    });
    let (mut stream, _peer) = listener.accept().await.unwrap();
    let mut said = Vec::new();
    while !said.ends_with(b"}") {
        assert!(stream.read_buf(&mut said).await.unwrap() > 0, "the request breaks off");
    }
    // What a new connection says.
    sender.linking.room().learn(0);
    tokio::time::pause();
    tokio::time::advance(PLACE_WITHIN + Duration::from_secs(1)).await;
    for _ in 0..100 {
        tokio::task::yield_now().await;
    }
    stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n").await.unwrap_or_default();
    assert_eq!(calling.await.unwrap().unwrap(), 200);
}

#[tokio::test]
async fn what_an_end_in_order_may_have_met_on_its_way_is_sent_again_where_that_is_known_to_do_no_harm() {
    // Settings, and the end of the connection behind the stream 0.
    const SAID: [u8; 26] = [0, 0, 0, 4, 0, 0, 0, 0, 0, 0, 0, 8, 7, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    tokio::spawn(async move {
        let (mut stream, _peer) = listener.accept().await.unwrap();
        let mut said = Vec::new();
        // The head of the request is the first frame of its kind behind the words that begin a connection.
        while !said.windows(2).any(|kind| kind == [1, 5]) {
            assert!(stream.read_buf(&mut said).await.unwrap() > 0, "no request");
        }
        stream.write_all(&SAID).await.unwrap();
        while stream.read_buf(&mut said).await.is_ok_and(|read| read > 0) {}
    });
    let client: Client<_, Empty> = builder(PULSE).http2_only(true).build(tcp(PULSE));
    let request = Request::post(url).body(Empty::default()).unwrap();
    let answer = tokio::time::timeout(Duration::from_secs(20), client.request(request)).await;
    let error = answer.expect("it ends in time").expect_err("nobody answers");
    assert!(is_left(&error) && !is_refused(&error), "{}", reason(&error));
    for (is_idempotent, has_body, may) in
        [(false, false, false), (false, true, true), (true, false, true), (true, true, true)]
    {
        assert_eq!(
            Nature { is_idempotent, has_body }.may_be_repeated(&error),
            may,
            "{is_idempotent} {has_body}"
        );
    }
}
