//! Answers that are packed, and upstreams behind TLS that speak HTTP/2: the bytes pass, and what they say is read.

use std::io::Write as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use bytes::Bytes;
use flate2::Compression;
use flate2::write::{GzEncoder, ZlibEncoder};
use http::HeaderMap;
use hyper::body::Frame;
use tests::raw::{self, RawSocket};
use tests::secure::{AnswerWriter, SecureReply, TlsServer};
use tests::wait::{until, within};
use tests::{ScriptedServer, ServerStep, TestHub};
use tokio::net::{TcpSocket, TcpStream};

use super::proxy::{ASKS, END, hub_before, piece, run_of};

fn stream() -> Vec<u8> {
    [piece("Packed "), piece("words."), END.to_vec()].concat()
}

fn gzip(plain: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(plain).unwrap();
    encoder.finish().unwrap()
}

fn zlib(plain: &[u8]) -> Vec<u8> {
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(plain).unwrap();
    encoder.finish().unwrap()
}

fn brotli(plain: &[u8]) -> Vec<u8> {
    let mut packed = Vec::new();
    ::brotli::CompressorWriter::new(&mut packed, 4096, 9, 22).write_all(plain).unwrap();
    assert!(packed.len() < plain.len());
    packed
}

#[tokio::test(flavor = "multi_thread")]
async fn i12_packed_answers_pass_packed_and_are_read() {
    let packed = [
        ("gzip", gzip(&stream())),
        ("deflate", zlib(&stream())),
        ("br", brotli(&stream())),
        ("zstd", zstd::encode_all(stream().as_slice(), 3).unwrap()),
        ("gzip, zstd", zstd::encode_all(gzip(&stream()).as_slice(), 3).unwrap()),
    ];
    let bodies = packed.clone();
    let origin = ScriptedServer::start(move |asked| {
        let encoding = asked.header("accept-encoding").unwrap();
        let body = &bodies.iter().find(|(name, _)| *name == encoding).unwrap().1;
        let mut steps = vec![ServerStep::begin("200 OK", &[("content-encoding", encoding)])];
        steps.extend(body.chunks(7).map(ServerStep::piece));
        steps.push(ServerStep::end(&[]));
        steps
    })
    .await;
    let hub = hub_before(&origin).await;
    for (number, (encoding, body)) in packed.iter().enumerate() {
        let path = format!("/proxy/x/~c{number}/v1/chat/completions");
        let answer =
            raw::call(hub.address(), &raw::post(&path, &[("accept-encoding", encoding)], ASKS)).await;
        assert_eq!((answer.header("content-encoding"), &answer.body), (Some(*encoding), body));
        let run = run_of(&hub, &format!("c{number}")).await;
        assert_eq!(
            (run["text"].as_str(), run["status"].as_str()),
            (Some("Packed words."), Some("complete")),
            "{encoding}"
        );
    }
}

/// As far as it is with `plain`, and no end.
fn begun(encoding: &str, plain: &[u8]) -> Vec<u8> {
    match encoding {
        "gzip" => {
            let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
            encoder.write_all(plain).and_then(|()| encoder.flush()).unwrap();
            encoder.get_ref().clone()
        }
        "br" => {
            let mut encoder = ::brotli::CompressorWriter::new(Vec::new(), 4096, 9, 22);
            encoder.write_all(plain).and_then(|()| encoder.flush()).unwrap();
            encoder.get_ref().clone()
        }
        _ => {
            let mut encoder = zstd::stream::write::Encoder::new(Vec::new(), 3).unwrap();
            encoder.write_all(plain).and_then(|()| encoder.flush()).unwrap();
            encoder.get_ref().clone()
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn i12_a_packed_stream_that_is_cut_has_what_came_before() {
    let origin = ScriptedServer::start(|asked| {
        let encoding = asked.header("accept-encoding").unwrap();
        vec![
            ServerStep::begin("200 OK", &[("content-encoding", encoding)]),
            ServerStep::piece(&begun(encoding, &piece("Half"))),
            ServerStep::Wait,
            ServerStep::Reset,
        ]
    })
    .await;
    let hub = hub_before(&origin).await;
    for encoding in ["gzip", "br", "zstd"] {
        let mut wire = raw::connect(hub.address()).await;
        let path = format!("/proxy/x/~{encoding}/v1/chat/completions");
        wire.send(&raw::post(&path, &[("accept-encoding", encoding)], ASKS)).await;
        within("the head", wire.head()).await.unwrap();
        assert_eq!(within("a piece", wire.piece()).await, Some(begun(encoding, &piece("Half"))));
        origin.go_on();
        assert_eq!(within("the cut", wire.piece()).await, None);
        let run = run_of(&hub, encoding).await;
        let seen = (run["text"].as_str(), run["error"]["code"].as_str());
        assert_eq!(seen, (Some("Half"), Some("upstream_cut")), "{encoding} {run}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_be_unpacked_passes_and_is_said() {
    let origin = ScriptedServer::start(|asked| {
        let encoding = asked.header("accept-encoding").unwrap();
        ServerStep::answer("200 OK", &[("content-encoding", encoding)], b"neither this nor that")
    })
    .await;
    let hub = hub_before(&origin).await;
    for encoding in ["gzip", "own"] {
        let path = format!("/proxy/x/~{encoding}/v1/chat/completions");
        let answer =
            raw::call(hub.address(), &raw::post(&path, &[("accept-encoding", encoding)], ASKS)).await;
        assert_eq!(answer.body, b"neither this nor that");
        run_of(&hub, encoding).await;
        let summary = hub.summary(encoding).await;
        let codes: Vec<_> = summary["anomalies"].as_array().unwrap().iter().map(|it| &it["code"]).collect();
        assert!(codes.contains(&&"copy_lost".into()), "{summary}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn packed_requests_pass_packed_and_are_read() {
    let origin = ScriptedServer::start(|_| ServerStep::answer("200 OK", &[], &stream())).await;
    let hub = hub_before(&origin).await;
    let body = gzip(ASKS.as_bytes());
    let head = format!(
        "POST /proxy/x/~c/v1/chat/completions HTTP/1.1\r\nhost: localhost\r\ncontent-encoding: gzip\r\ncontent-length: {}\r\n\r\n",
        body.len()
    );
    let answer = raw::call(hub.address(), &[head.as_bytes(), &body].concat()).await;
    assert_eq!(answer.status(), 200);
    assert_eq!(origin.asked()[0].body, body);
    run_of(&hub, "c").await;
    assert_eq!(hub.summary("c").await["messages"][0]["text"], "Hello?");
}

/// A hub that trusts `upstream`, by its file of settings.
pub(crate) async fn hub_that_trusts(upstream: &TlsServer) -> TestHub {
    let file = upstream.place().join("fanlight.toml");
    let (url, ca) = (upstream.url(), upstream.certificate());
    let settings =
        format!("[upstreams.safe]\nurl = \"{url}/base\"\napi = \"openai\"\nca = \"{}\"\n", ca.display());
    std::fs::write(&file, settings).unwrap();
    TestHub::start_with(&["--config", &file.display().to_string()]).await
}

#[tokio::test(flavor = "multi_thread")]
async fn i12_calls_go_over_http_2_where_the_upstream_speaks_it() {
    let mut upstream = TlsServer::start().await;
    let hub = hub_that_trusts(&upstream).await;
    let mut wire = raw::connect(hub.address()).await;
    let headers = [("authorization", "Bearer k"), ("te", "trailers"), ("cookie", "a=1")];
    wire.send(&raw::post("/proxy/safe/~c/v1/chat/completions?q=1", &headers, ASKS)).await;
    let speaker = upstream.speaker().await;
    let head = within("the head", wire.head()).await.unwrap();
    assert_eq!(
        (head.start.as_str(), head.header("content-type")),
        ("HTTP/1.1 200 OK", Some("text/event-stream"))
    );
    for text in [piece("Over "), piece("two."), END.to_vec()] {
        speaker.send(Ok(Frame::data(Bytes::from(text.clone())))).await.unwrap();
        assert_eq!(within("a piece", wire.piece()).await, Some(text));
    }
    drop(speaker);
    assert_eq!(within("the end", wire.piece()).await, Some(Vec::new()));
    let asked = &upstream.asked()[0];
    assert_eq!(
        (asked.version, asked.target.as_str()),
        (http::Version::HTTP_2, "/base/v1/chat/completions?q=1")
    );
    assert_eq!(
        (&asked.body[..], &asked.headers["authorization"]),
        (ASKS.as_bytes(), &"Bearer k".parse().unwrap())
    );
    let run = run_of(&hub, "c").await;
    assert_eq!((run["text"].as_str(), run["status"].as_str()), (Some("Over two."), Some("complete")));
}

#[tokio::test(flavor = "multi_thread")]
async fn i12_cuts_and_hanging_up_go_through_http_2() {
    let mut upstream = TlsServer::start().await;
    let hub = hub_that_trusts(&upstream).await;
    let mut wire = raw::connect(hub.address()).await;
    wire.send(&raw::post("/proxy/safe/~cut/v1/chat/completions", &[], ASKS)).await;
    let speaker = upstream.speaker().await;
    within("the head", wire.head()).await.unwrap();
    speaker.send(Ok(Frame::data(Bytes::from(piece("Half"))))).await.unwrap();
    assert_eq!(within("a piece", wire.piece()).await, Some(piece("Half")));
    speaker.send(Err(std::io::Error::other("cut"))).await.unwrap();
    assert_eq!(within("the cut", wire.piece()).await, None);
    let run = run_of(&hub, "cut").await;
    assert_eq!((run["text"].as_str(), run["error"]["code"].as_str()), (Some("Half"), Some("upstream_cut")));

    let mut wire = raw::connect(hub.address()).await;
    wire.send(&raw::post("/proxy/safe/~left/v1/chat/completions", &[], ASKS)).await;
    let speaker = upstream.speaker().await;
    within("the head", wire.head()).await.unwrap();
    drop(wire);
    within("the upstream to be left", speaker.closed()).await;
    assert_eq!(run_of(&hub, "left").await["status"], "cancelled");
}

#[tokio::test(flavor = "multi_thread")]
async fn i12_trailers_and_refusals_go_through_http_2() {
    const LIMIT: &str =
        r#"{"error":{"message":"Rate limit reached","type":"requests","code":"rate_limit_exceeded"}}"#;
    let upstream = TlsServer::answering(|asked| {
        if asked.target.ends_with("/limited/v1/chat/completions") {
            return SecureReply::new(429, "application/json", LIMIT).with("retry-after", "7");
        }
        let trailers = HeaderMap::from_iter([("x-sum".parse().unwrap(), "42".parse().unwrap())]);
        SecureReply::new(200, "text/event-stream", stream()).with("trailer", "x-sum").ending_with(trailers)
    })
    .await;
    let hub = hub_that_trusts(&upstream).await;
    let call =
        async |path: &str| raw::call(hub.address(), &raw::post(path, &[("te", "trailers")], ASKS)).await;
    let answer = call("/proxy/safe/~c/v1/chat/completions").await;
    assert_eq!((answer.status(), &answer.body), (200, &stream()));
    assert_eq!(answer.trailers, [("x-sum".to_owned(), "42".to_owned())]);
    assert_eq!(run_of(&hub, "c").await["text"], "Packed words.");
    let refused = call("/proxy/safe/~limit/limited/v1/chat/completions").await;
    assert_eq!(
        (refused.start.as_str(), refused.header("retry-after")),
        ("HTTP/1.1 429 Too Many Requests", Some("7"))
    );
    assert_eq!(refused.body, LIMIT.as_bytes());
    let run = run_of(&hub, "limit").await;
    let error = &run["error"];
    assert_eq!(
        (error["code"].as_str(), error["retry_after_ms"].as_u64()),
        (Some("rate_limit_exceeded"), Some(7_000)),
        "{run}"
    );
    assert!(error["retryable"] == true && run["status"] == "error", "{run}");
}

/// Calls `conversation` over `wire`, up to the head of the answer.
async fn begin(
    upstream: &mut TlsServer,
    wire: &mut RawSocket<TcpStream>,
    conversation: &str,
) -> AnswerWriter {
    wire.send(&raw::post(&format!("/proxy/safe/~{conversation}/v1/chat/completions"), &[], ASKS)).await;
    let speaker = upstream.speaker().await;
    let head = within("the head", wire.head()).await.unwrap();
    assert_eq!(head.status(), 200);
    speaker
}

/// Sees that what is said comes.
async fn hear(speaker: &AnswerWriter, wire: &mut RawSocket<TcpStream>) {
    speaker.send(Ok(Frame::data(Bytes::from(piece("Here."))))).await.unwrap();
    assert_eq!(within("a piece", wire.piece()).await, Some(piece("Here.")));
}

#[tokio::test(flavor = "multi_thread")]
async fn i8_calls_do_not_wait_for_each_other_where_a_connection_carries_few() {
    let mut upstream = TlsServer::narrow(8).await;
    let hub = hub_that_trusts(&upstream).await;
    let mut open = Vec::new();
    for number in 0..20 {
        let mut wire = raw::connect(hub.address()).await;
        let speaker = begin(&mut upstream, &mut wire, &format!("c{number}")).await;
        open.push((speaker, wire));
    }
    for (speaker, wire) in &mut open {
        hear(speaker, wire).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn i8_readers_that_do_not_read_hold_up_no_other_call() {
    /// Their windows together are more than a connection has by default; the call that is not held up shares one with seven.
    const READERS: usize = 23;
    let mut upstream = TlsServer::start().await;
    let hub = hub_that_trusts(&upstream).await;
    let poured = Arc::<AtomicU64>::default();
    let mut open = Vec::new();
    for number in 0..READERS {
        let socket = TcpSocket::new_v4().unwrap();
        socket.set_recv_buffer_size(4 << 10).unwrap();
        let mut wire = RawSocket::new(within("a connection", socket.connect(hub.address())).await.unwrap());
        let speaker = begin(&mut upstream, &mut wire, &format!("slow{number}")).await;
        let poured = Arc::clone(&poured);
        tokio::spawn(async move {
            let piece = Bytes::from(vec![b'x'; 64 << 10]);
            while speaker.send(Ok(Frame::data(piece.clone()))).await.is_ok() {
                poured.fetch_add(1, Ordering::Relaxed);
            }
        });
        open.push(wire);
    }
    // Nothing more is taken for them.
    let before = AtomicU64::new(0);
    until("the upstream to wait", async || {
        let now = poured.load(Ordering::Relaxed);
        (before.swap(now, Ordering::Relaxed) == now && now > READERS as u64).then_some(())
    })
    .await;
    let mut wire = raw::connect(hub.address()).await;
    let speaker = begin(&mut upstream, &mut wire, "quick").await;
    hear(&speaker, &mut wire).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_certificate_that_nobody_vouches_for_is_refused() {
    let upstream = TlsServer::start().await;
    let hub = TestHub::start_with(&["--upstream", &format!("safe={}", upstream.url())]).await;
    let answer = raw::call(hub.address(), &raw::post("/proxy/safe/v1/chat/completions", &[], ASKS)).await;
    let problem: serde_json::Value = serde_json::from_slice(&answer.body).unwrap();
    assert_eq!((answer.status(), problem["code"].as_str()), (502, Some("upstream_unreachable")));
    assert!(problem["detail"].as_str().unwrap().contains("certificate"), "{problem}");
}
