//! Tests of the way out.

use hyper_rustls::MaybeHttpsStream;
use hyper_util::rt::TokioIo;
use tokio::io::AsyncReadExt as _;
use tokio::net::{TcpListener, TcpStream};

use super::*;
use crate::config::Api;
use crate::connect::KEEP_ALIVE;
use crate::egress::Egress;
use crate::http2::Http2;

type Text = http_body_util::Full<Bytes>;

fn sender(url: &str) -> Sender<Text> {
    let upstream = Upstream::new("x", url, Api::OpenAi).unwrap();
    Egress::direct().sender(&upstream).unwrap()
}

async fn in_time<T>(work: impl Future<Output = T>) -> T {
    tokio::time::timeout(Duration::from_secs(20), work).await.expect("it is done in time")
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
    sender: Sender<Text>,
    url: String,
    headers: &'static str,
}

impl Once {
    fn start(headers: &'static str) -> Self {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        Self { listener, sender: sender(&url), url, headers }
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
        let body = Text::from(format!("{{\"call\":{number}}}"));
        let request = Request::post(format!("{}/v1/x", self.url)).body(body).unwrap();
        let answer = in_time(self.sender.send(request)).await.expect("an answer");
        assert_eq!(answer.into_body().collect().await.unwrap().to_bytes(), "ok");
        for _ in 0..100 {
            tokio::task::yield_now().await;
        }
    }
}

#[tokio::test]
async fn a_connection_is_used_again() {
    let upstream = Once::start("");
    let accepting = upstream.accept();
    upstream.call(1).await;
    let (mut stream, _said) = accepting.join().unwrap();
    let second = std::thread::spawn(move || answer_one(&mut stream, ""));
    upstream.call(2).await;
    let said = second.join().unwrap();
    let host = upstream.url.strip_prefix("http://").unwrap();
    assert_eq!(
        said,
        format!("POST /v1/x HTTP/1.1\r\nhost: {host}\r\ncontent-length: 10\r\n\r\n{{\"call\":2}}")
    );
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
async fn a_new_connection_that_takes_nothing_is_the_answer() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    tokio::spawn(async move { while listener.accept().await.is_ok() {} });
    let request = Request::post(&url).body(Text::from("{}")).unwrap();
    let failed = in_time(sender(&url).send(request)).await.expect_err("nobody answers");
    assert!(matches!(failed, SendError::Failed(_)), "{failed}");
}

/// Both ends of a connection over HTTP/2.
async fn http2() -> (Http2<Text>, TcpStream) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let stream = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
    let peer = listener.accept().await.unwrap().0;
    (Http2::new(MaybeHttpsStream::Http(TokioIo::new(stream)), KEEP_ALIVE).await.unwrap(), peer)
}

#[tokio::test]
async fn a_request_that_the_upstream_refused_is_sent_again_as_a_whole() {
    let (connection, peer) = http2().await;
    let serving = tokio::spawn(async move {
        let mut serving = h2::server::handshake(peer).await.unwrap();
        let (refused, mut respond) = serving.accept().await.unwrap().unwrap();
        drop(refused);
        respond.send_reset(h2::Reason::REFUSED_STREAM);
        let (request, mut respond) = serving.accept().await.unwrap().unwrap();
        respond.send_response(Response::new(()), true).unwrap();
        let mut body = request.into_body();
        tokio::spawn(async move { while serving.accept().await.is_some() {} });
        let mut said = Vec::new();
        while let Some(piece) = body.data().await {
            said.extend_from_slice(&piece.unwrap());
        }
        said
    });
    let sender = sender("http://127.0.0.1:1");
    sender.pool.share(Arc::new(connection));
    let request = Request::post("http://127.0.0.1:1/v1/x").body(Text::from("{\"call\":1}")).unwrap();
    assert_eq!(in_time(sender.send(request)).await.expect("an answer").status(), 200);
    assert_eq!(in_time(serving).await.unwrap(), b"{\"call\":1}");
}

#[tokio::test]
async fn what_an_end_in_order_may_have_met_on_its_way_is_sent_again_where_that_is_known_to_do_no_harm() {
    // Settings, and the end of the connection behind the stream 0.
    const SAID: [u8; 26] = [0, 0, 0, 4, 0, 0, 0, 0, 0, 0, 0, 8, 7, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
    use tokio::io::AsyncWriteExt as _;
    let (connection, mut peer) = http2().await;
    tokio::spawn(async move {
        let mut said = Vec::new();
        // The head of the request is the first frame of its kind behind the words that begin a connection.
        while !said.windows(2).any(|kind| kind == [1, 5]) {
            assert!(peer.read_buf(&mut said).await.unwrap() > 0, "no request");
        }
        peer.write_all(&SAID).await.unwrap();
        while peer.read_buf(&mut said).await.is_ok_and(|read| read > 0) {}
    });
    let head = Request::post("http://a.example/").body(()).unwrap().into_parts().0;
    let body = ReplayBody::new(Text::default()).attempt(Buffering::Short);
    let error = in_time(connection.send(head, body)).await.expect_err("nobody answers").into_error();
    assert!(is_graceful_shutdown(&error) && !is_refused(&error), "{}", reason(&error));
    for (is_idempotent, has_body, may) in
        [(false, false, false), (false, true, true), (true, false, true), (true, true, true)]
    {
        let traits = RequestTraits { is_idempotent, has_body };
        assert_eq!(traits.may_be_repeated(&error, false), may, "{is_idempotent} {has_body}");
    }
}
