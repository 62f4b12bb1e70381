//! Whoever comes slowly: heads byte after byte, TLS that is never agreed on, bodies of strangers that never end. Each is cut, is counted, and
//! leaves its place to others.

use std::time::Duration;

use http_body_util::{BodyExt, StreamBody};
use hyper::body::{Bytes, Frame};
use tests::TestHub;
use tests::wait::{patiently, until, within};
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::time::timeout;

use super::jwt::settings;
use crate::access::get;
use crate::http2::{Client, SecureHub};

/// The bounds of the hubs that are attacked: a second for what is slow, and few places for one address.
const HASTY: &str = "[access.limits]\nhead_s = 1\nstranger_body_s = 1\nconnections_per_address = 6\n";

/// How many attack at once: all places but those of who looks.
const ATTACKERS: usize = 4;

/// The pause of an attacker between two bytes.
const BETWEEN_BYTES: Duration = Duration::from_millis(100);

/// Sends `bytes` one after the other, and the last one again and again, until the hub says or ends something; what it says.
async fn drips(stream: &mut (impl AsyncRead + AsyncWrite + Unpin), bytes: &[u8]) -> Vec<u8> {
    let last = bytes.last().copied().into_iter().cycle();
    let mut said = vec![0; 1 << 10];
    for byte in bytes.iter().copied().chain(last) {
        if stream.write_all(&[byte]).await.is_err() || stream.flush().await.is_err() {
            return Vec::new();
        }
        if let Ok(read) = timeout(BETWEEN_BYTES, stream.read(&mut said)).await {
            said.truncate(read.unwrap_or(0));
            return said;
        }
    }
    Vec::new()
}

/// The number of the metric for `what` on this page.
fn number(page: &str, what: &str) -> u64 {
    let line = format!("fanlight_too_slow_total{{what=\"{what}\"}} ");
    page.lines().find_map(|it| it.strip_prefix(&line)?.parse().ok()).unwrap()
}

/// How many were too slow at a hub without TLS. Its own client can be among those without a head: it opens a connection that it then does
/// not need, since another one became free meanwhile.
async fn slow(hub: &TestHub, token: &str, what: &str) -> u64 {
    number(&get(hub, token, "/metrics").await.text().await.unwrap(), what)
}

/// How many were too slow at a hub with TLS.
async fn slow_over_tls(client: &Client, token: &str, what: &str) -> u64 {
    let page = client.get("/metrics", token).await.into_body().collect().await.unwrap().to_bytes();
    number(&String::from_utf8_lossy(&page), what)
}

/// Attacks in so many tasks at once, and waits until each is over.
async fn all_at_once<T: Send + 'static>(attack: impl Fn() -> tokio::task::JoinHandle<T>) -> Vec<T> {
    let attacks: Vec<_> = (0..ATTACKERS).map(|_| attack()).collect();
    let mut ended = Vec::new();
    for attack in attacks {
        ended.push(patiently("the end of an attack", attack).await.unwrap());
    }
    ended
}

/// A head that says nothing, however long it gets.
const HEAD: &[u8] = b"GET /healthz HTTP/1.1\r\nx-slow: aaaa";

#[tokio::test(flavor = "multi_thread")]
async fn attack_heads_that_come_byte_after_byte() {
    let (files, others) = (settings(), settings());
    let (hub, patient) =
        (files.hub(HASTY, &[]).await, others.hub("[access.limits]\nhead_s = 600\n", &[]).await);
    let token = hub.token_for("ann", &["view:*"]).await;
    // The test of the test: where heads have long, the same attack is still going on when the other one is over.
    let address = patient.address();
    let waits = tokio::spawn(async move {
        drips(&mut TcpStream::connect(address).await.unwrap(), HEAD).await;
    });
    let address = hub.address();
    let ended = all_at_once(|| {
        tokio::spawn(async move { drips(&mut TcpStream::connect(address).await.unwrap(), HEAD).await })
    });
    assert!(get(&hub, &token, "/healthz").await.status().is_success(), "others are served meanwhile");
    assert!(ended.await.iter().all(Vec::is_empty), "they are cut");
    assert!(slow(&hub, &token, "head").await >= ATTACKERS as u64);
    assert!(!waits.is_finished());
    waits.abort();
    // Silence is no better, and the places of all are free again.
    all_at_once(|| {
        tokio::spawn(async move {
            let mut stream = TcpStream::connect(address).await.unwrap();
            stream.read(&mut [0]).await.unwrap_or(0)
        })
    })
    .await;
    assert!(slow(&hub, &token, "head").await >= 2 * ATTACKERS as u64);
}

#[tokio::test(flavor = "multi_thread")]
async fn attack_handshakes_that_never_end() {
    let secure = SecureHub::start_with(HASTY).await;
    let client = secure.client().await;
    let token = secure.token(&client, "ann", "view:*").await;
    // The beginning of a hello of TLS that says it has 512 bytes.
    let hello = b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\x00";
    let address = secure.hub.address();
    for round in 1..=2 {
        let ended = all_at_once(|| {
            tokio::spawn(async move {
                let mut stream = TcpStream::connect(address).await.unwrap();
                stream.write_all(hello).await.unwrap();
                let mut said = Vec::new();
                stream.read_to_end(&mut said).await.ok().filter(|read| *read > 0)
            })
        });
        assert!(client.get("/v1/access", &token).await.status().is_success(), "others are served meanwhile");
        assert!(ended.await.iter().all(Option::is_none), "they are cut");
        // In the second round there is a place for each of them again.
        assert_eq!(slow_over_tls(&client, &token, "tls").await, round * ATTACKERS as u64);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn attack_heads_over_tls_of_peers_that_never_hang_up_give_their_places_back() {
    let secure = SecureHub::start_with(HASTY).await;
    let client = secure.client().await;
    let token = secure.token(&client, "ann", "view:*").await;
    let mut held = Vec::new();
    for round in 1..=2 {
        for _ in 0..ATTACKERS {
            let mut stream = until("a place", async || secure.try_connect(&["http/1.1"]).await).await;
            stream.write_all(HEAD).await.unwrap();
            // It is held open until the end of the test, and nothing is read.
            held.push(stream);
        }
        let all = round * ATTACKERS as u64;
        until("the heads to be given up", async || {
            (slow_over_tls(&client, &token, "head").await == all).then_some(())
        })
        .await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn attack_heads_over_http2_that_never_end() {
    let secure = SecureHub::start_with(HASTY).await;
    let client = secure.client().await;
    let token = secure.token(&client, "ann", "view:*").await;
    let mut stream = secure.connect(&["h2"]).await;
    // The preface, settings without anything, and the beginning of the headers of a request without END_HEADERS.
    stream.write_all(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n").await.unwrap();
    stream.write_all(&[0, 0, 0, 4, 0, 0, 0, 0, 0]).await.unwrap();
    stream.write_all(&[0, 0, 1, 1, 0, 0, 0, 0, 1, 0x82]).await.unwrap();
    let mut said = Vec::new();
    drop(patiently("the end of the connection", stream.read_to_end(&mut said)).await);
    // The connection of before had no stream for as long, was asked to end, and did.
    let client = secure.client().await;
    assert_eq!(slow_over_tls(&client, &token, "http2").await, 1);
}

/// The head of a login whose body never comes.
const LOGIN: &[u8] = b"POST /login HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-length: 9000\r\n\r\n";

#[tokio::test(flavor = "multi_thread")]
async fn attack_bodies_of_strangers_that_come_byte_after_byte() {
    let (files, others) = (settings(), settings());
    let (hub, patient) =
        (files.hub(HASTY, &[]).await, others.hub("[access.limits]\nstranger_body_s = 600\n", &[]).await);
    let token = hub.token_for("ann", &["view:*"]).await;
    let attack = |address| {
        tokio::spawn(async move {
            let mut stream = TcpStream::connect(address).await.unwrap();
            stream.write_all(LOGIN).await.unwrap();
            let said = drips(&mut stream, b"token=a").await;
            String::from_utf8_lossy(&said).into_owned()
        })
    };
    let waits = attack(patient.address());
    for said in all_at_once(|| attack(hub.address())).await {
        assert!(said.starts_with("HTTP/1.1 408 ") && said.contains("connection: close"), "{said}");
    }
    assert_eq!(slow(&hub, &token, "body").await, ATTACKERS as u64);
    assert!(!waits.is_finished(), "where bodies have long, it goes on");
    waits.abort();
    // What needs a token is refused without a look at the body.
    let mut stream = TcpStream::connect(hub.address()).await.unwrap();
    let head = "POST /v1/conversations/c/events HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-length: 9000\r\n\r\n";
    stream.write_all(head.as_bytes()).await.unwrap();
    let mut said = vec![0; 12];
    within("the refusal", stream.read_exact(&mut said)).await.unwrap();
    assert_eq!(said, b"HTTP/1.1 401");
}

#[tokio::test(flavor = "multi_thread")]
async fn attack_bodies_of_strangers_over_http2() {
    let secure = SecureHub::start_with(HASTY).await;
    let mut client = secure.client().await;
    let token = secure.token(&client, "ann", "view:*").await;
    let piece = async { Ok::<_, std::io::Error>(Frame::data(Bytes::from("token=a"))) };
    let endless =
        futures_util::StreamExt::chain(futures_util::stream::once(piece), futures_util::stream::pending());
    let request = client.request("POST", "/login").body(BodyExt::boxed(StreamBody::new(endless))).unwrap();
    let answer = patiently("the refusal", client.sender.send_request(request)).await.unwrap();
    assert_eq!(answer.status(), 408);
    assert_eq!(slow_over_tls(&client, &token, "body").await, 1);
}
