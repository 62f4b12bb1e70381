//! HTTP/2 over TLS: the page in one connection, with every rule that holds over HTTP/1.1.

use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;

use http::{Request, Response, StatusCode, Version};
use http_body_util::{BodyExt as _, Full, StreamBody};
use hyper::body::{Bytes, Frame, Incoming};
use hyper::client::conn::http2::{SendRequest, handshake};
use hyper_util::rt::{TokioExecutor, TokioIo};
use serde_json::Value;
use tests::TestHub;
use tests::origin::{ScriptedServer, ServerStep};
use tests::wait::{patiently, until, within};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;

/// A connection over TLS.
pub(crate) type Tls = tokio_rustls::client::TlsStream<TcpStream>;
/// The body of a request.
pub(crate) type Body = http_body_util::combinators::BoxBody<Bytes, std::io::Error>;

/// A hub that speaks TLS as `localhost`, with access control.
pub(crate) struct SecureHub {
    pub(crate) hub: TestHub,
    certificate: rcgen::Certificate,
    _place: tempfile::TempDir,
}

/// A certificate for `localhost`, as the files that the hub reads.
fn certificate(folder: &Path) -> rcgen::Certificate {
    certificate_with(folder, |_params| {})
}

/// A certificate for `localhost`, after `change`, as the files `cert.pem` and `key.pem` in `folder`.
pub(super) fn certificate_with(
    folder: &Path,
    change: impl FnOnce(&mut rcgen::CertificateParams),
) -> rcgen::Certificate {
    let key = rcgen::KeyPair::generate().unwrap();
    let mut params = rcgen::CertificateParams::new(["localhost".to_owned()]).unwrap();
    change(&mut params);
    let certificate = params.self_signed(&key).unwrap();
    std::fs::write(folder.join("cert.pem"), certificate.pem()).unwrap();
    std::fs::write(folder.join("key.pem"), key.serialize_pem()).unwrap();
    certificate
}

impl SecureHub {
    async fn start() -> Self {
        Self::start_with("").await
    }

    /// Starts one with more settings.
    pub(crate) async fn start_with(settings: &str) -> Self {
        let place = tempfile::tempdir().unwrap();
        let certificate = certificate(place.path());
        let file = |name: &str| place.path().join(name).display().to_string();
        let (cert, key, config) = (file("cert.pem"), file("key.pem"), file("fanlight.toml"));
        std::fs::write(&config, settings).unwrap();
        let options = ["--access", "tokens", "--tls-cert", &cert, "--tls-key", &key, "--config", &config];
        let hub = TestHub::start_at_with("127.0.0.1:0", &options).await;
        Self { hub, certificate, _place: place }
    }

    /// A connection that offers these protocols.
    pub(crate) async fn connect(&self, protocols: &[&str]) -> Tls {
        self.try_connect(protocols).await.unwrap()
    }

    /// The same; nothing where the hub closes it at once.
    pub(crate) async fn try_connect(&self, protocols: &[&str]) -> Option<Tls> {
        try_tls_to(self.hub.address(), "localhost", &self.certificate, protocols).await
    }

    /// A client with one connection over HTTP/2.
    pub(crate) async fn client(&self) -> Client {
        let tls = self.connect(&["h2", "http/1.1"]).await;
        Client::over(tls, format!("https://localhost:{}", self.hub.address().port())).await
    }

    /// A token that the hub knows.
    pub(crate) async fn token(&self, client: &Client, name: &str, grant: &str) -> String {
        let token = self.hub.token(&["create", "--name", name, "--grant", grant]).await;
        until("the hub to know the token", async || {
            let asked = client.get("/v1/access", &token).await;
            asked.status().is_success().then_some(())
        })
        .await;
        token
    }
}

/// A connection to what listens at `address` as `name`, with the protocols that it offers.
pub(super) async fn tls_to(
    address: SocketAddr,
    name: &'static str,
    certificate: &rcgen::Certificate,
    protocols: &[&str],
) -> Tls {
    try_tls_to(address, name, certificate, protocols).await.unwrap()
}

/// The same; nothing where the other end closes it at once.
async fn try_tls_to(
    address: SocketAddr,
    name: &'static str,
    certificate: &rcgen::Certificate,
    protocols: &[&str],
) -> Option<Tls> {
    let mut roots = rustls::RootCertStore::empty();
    roots.add(certificate.der().clone()).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = rustls::ClientConfig::builder_with_provider(provider);
    let config = config.with_safe_default_protocol_versions().unwrap();
    let mut config = config.with_root_certificates(roots).with_no_client_auth();
    config.alpn_protocols = protocols.iter().map(|name| name.as_bytes().to_vec()).collect();
    let stream = TcpStream::connect(address).await.unwrap();
    let connector = TlsConnector::from(Arc::new(config));
    within("TLS", connector.connect(name.try_into().unwrap(), stream)).await.ok()
}

/// Requests over one connection.
pub(crate) struct Client {
    pub(crate) sender: SendRequest<Body>,
    pub(crate) origin: String,
}

impl Client {
    /// A client of what is at `origin`, over a connection on which HTTP/2 was chosen.
    pub(crate) async fn over(tls: Tls, origin: String) -> Self {
        assert_eq!(tls.get_ref().1.alpn_protocol(), Some(&b"h2"[..]));
        let (sender, connection) = handshake(TokioExecutor::new(), TokioIo::new(tls)).await.unwrap();
        // Ends with the client.
        tokio::spawn(connection);
        Self { sender, origin }
    }

    pub(crate) fn request(&self, method: &str, path: &str) -> http::request::Builder {
        Request::builder().method(method).uri(format!("{}{path}", self.origin))
    }

    pub(super) async fn send(&self, request: http::request::Builder, body: &str) -> Response<Incoming> {
        let body = Full::new(Bytes::from(body.to_owned())).map_err(|never| match never {}).boxed();
        let sent = self.sender.clone().send_request(request.body(body).unwrap());
        let answer = within("an answer over HTTP/2", sent).await.unwrap();
        assert_eq!(answer.version(), Version::HTTP_2);
        answer
    }

    pub(crate) async fn get(&self, path: &str, token: &str) -> Response<Incoming> {
        let request = self.request("GET", path).header("authorization", format!("Bearer {token}"));
        self.send(request, "").await
    }
}

/// Status and code of a refusal.
pub(super) async fn refusal(answer: Response<Incoming>) -> (u16, String) {
    let status = answer.status().as_u16();
    let body = within("a body", answer.into_body().collect()).await.unwrap().to_bytes();
    let problem: Value = serde_json::from_slice(&body).unwrap_or_default();
    (status, problem["code"].as_str().unwrap_or_default().to_owned())
}

/// The events of a stream until one contains `text`.
pub(super) async fn read_until(events: &mut Incoming, text: &str) -> String {
    let mut said = String::new();
    while !said.contains(text) {
        let frame =
            within("events", events.frame()).await.unwrap_or_else(|| panic!("no {text} in {said}")).unwrap();
        said.push_str(&String::from_utf8_lossy(&frame.into_data().unwrap_or_default()));
    }
    said
}

#[tokio::test(flavor = "multi_thread")]
async fn every_guard_holds_over_http2_too() {
    let secure = SecureHub::start().await;
    let client = secure.client().await;
    let ask = async |request: http::request::Builder| refusal(client.send(request, "").await).await;
    let list = || client.request("GET", "/v1/conversations");
    assert_eq!(ask(list()).await, (401, "unauthenticated".to_owned()));
    let token = secure.token(&client, "ann", "view:*").await;
    let bearer = format!("Bearer {token}");
    let known = || list().header("authorization", &bearer);
    assert_eq!(ask(known()).await.0, 200);
    // The host that is named decides, in whichever place.
    let port = secure.hub.address().port();
    let elsewhere = Request::get(format!("https://evil.test:{port}/v1/conversations"));
    assert_eq!(ask(elsewhere.header("authorization", &bearer)).await, (403, "forbidden_origin".to_owned()));
    assert_eq!(ask(known().header("host", "evil.test")).await, (400, "bad_request".to_owned()));
    let user = Request::get(format!("https://localhost@evil.test:{port}/v1/conversations"));
    assert_eq!(ask(user.header("authorization", &bearer)).await, (403, "forbidden_origin".to_owned()));
    assert_eq!(
        ask(known().header("sec-fetch-site", "cross-site")).await,
        (403, "forbidden_origin".to_owned())
    );
    // A session counts for the hub's own page alone, also where its cookie comes in crumbs.
    let login = client.request("POST", "/login").header("origin", &client.origin);
    let done = client.send(login, &format!("token={token}&next=/")).await;
    let cookie = done.headers()["set-cookie"].to_str().unwrap();
    assert!(done.status() == 303 && cookie.starts_with("__Host-fanlight=fls_"), "{} {cookie}", done.status());
    let cookie = cookie.split(';').next().unwrap().to_owned();
    let page = || list().header("cookie", "theme=dark").header("cookie", &cookie);
    assert_eq!(ask(page()).await.0, 200);
    assert_eq!(ask(page().header("origin", "https://evil.test")).await, (403, "forbidden_origin".to_owned()));
    assert_eq!(ask(client.request("GET", "/v1/ws").header("cookie", &cookie)).await.0, 400);
    // Whoever offers no HTTP/2 gets none: sockets are opened so.
    assert_eq!(secure.connect(&["http/1.1"]).await.get_ref().1.alpn_protocol(), Some(&b"http/1.1"[..]));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_revoked_token_ends_its_streams_and_leaves_the_connection_to_others() {
    let secure = SecureHub::start().await;
    let client = secure.client().await;
    let ann = secure.token(&client, "ann", "view,publish:*").await;
    let bob = secure.token(&client, "bob", "view,publish:*").await;
    let told = |text: &str| {
        format!(
            r#"[{{"k":"run.start","run":"{text}"}},{{"k":"run.end","run":"{text}","status":"complete"}}]"#
        )
    };
    let publish = async |token: &str, text: &str| {
        let request = client.request("POST", "/v1/conversations/c/events");
        client.send(request.header("authorization", format!("Bearer {token}")), &told(text)).await.status()
    };
    assert_eq!(publish(&ann, "r1").await, StatusCode::OK);
    let mut events = client.get("/v1/conversations/c/events", &ann).await.into_body();
    let mut stays = client.get("/v1/conversations/c/events", &bob).await.into_body();
    let mut dialect = client.get("/v1/conversations/c/stream/openai-chat", &ann).await.into_body();
    read_until(&mut events, "r1").await;
    read_until(&mut stays, "r1").await;
    // A body that goes on for hours.
    let (feed, fed) = tokio::sync::mpsc::channel::<Result<Frame<Bytes>, std::io::Error>>(1);
    let fed = futures_util::stream::unfold(fed, |mut fed| async { Some((fed.recv().await?, fed)) });
    let ingest =
        client.request("POST", "/v1/ingest/openai-chat/c").header("authorization", format!("Bearer {ann}"));
    let ingest = client.sender.clone().send_request(ingest.body(StreamBody::new(fed).boxed()).unwrap());
    let ingest = tokio::spawn(ingest);
    feed.send(Ok(Frame::data(Bytes::from_static(b"data: {}\n\n")))).await.unwrap();
    secure.hub.token(&["revoke", "ann"]).await;
    assert!(read_until(&mut events, "bye").await.contains("4401"));
    assert!(within("the end", events.frame()).await.is_none_or(|last| last.is_err()));
    let mut was_cut = false;
    while let Some(frame) = within("the cut", dialect.frame()).await {
        was_cut = frame.is_err();
        if was_cut {
            break;
        }
    }
    assert!(was_cut, "streams in other dialects are reset");
    assert_eq!(refusal(within("the body's end", ingest).await.unwrap().unwrap()).await.0, 401);
    assert_eq!(refusal(client.get("/v1/conversations/c", &ann).await).await.0, 401);
    // The other one goes on in the same connection.
    assert_eq!(publish(&bob, "r2").await, StatusCode::OK);
    read_until(&mut stays, "r2").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn bounds_of_a_principal_count_streams_and_not_connections() {
    let secure = SecureHub::start_with("[access.limits]\nrequests_per_principal = 2\n").await;
    let client = secure.client().await;
    let ann = secure.token(&client, "ann", "view,publish:*").await;
    let wait = || client.get("/v1/conversations/c/events", &ann);
    let publish = client.request("POST", "/v1/conversations/c/events");
    let publish = publish.header("authorization", format!("Bearer {ann}"));
    assert_eq!(client.send(publish, r#"[{"k":"run.start","run":"r"}]"#).await.status(), StatusCode::OK);
    let open = [wait().await, wait().await];
    assert!(open.iter().all(|answer| answer.status() == StatusCode::OK));
    assert_eq!(refusal(wait().await).await, (429, "too_many".to_owned()));
    drop(open);
    until("the places to be free", async || {
        let answer = client.get("/v1/conversations/c", &ann).await;
        (answer.status() == StatusCode::OK).then_some(())
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn heads_over_the_bound_and_bodies_that_stop_are_answered() {
    let secure = SecureHub::start().await;
    let client = secure.client().await;
    let large = client.request("GET", "/healthz").header("x-large", "x".repeat(70 << 10));
    assert_eq!(client.send(large, "").await.status(), StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE);
    // A body before anybody is known.
    let (feed, fed) = tokio::sync::mpsc::channel::<Result<Frame<Bytes>, std::io::Error>>(1);
    let fed = futures_util::stream::unfold(fed, |mut fed| async { Some((fed.recv().await?, fed)) });
    let login = client.request("POST", "/login").header("origin", &client.origin);
    let login = client.sender.clone().send_request(login.body(StreamBody::new(fed).boxed()).unwrap());
    feed.send(Ok(Frame::data(Bytes::from_static(b"token=")))).await.unwrap();
    let answer = patiently("the end of patience", login).await.unwrap();
    assert_eq!(refusal(answer).await, (408, "body_timeout".to_owned()));
    assert_eq!(client.send(client.request("GET", "/healthz"), "").await.status(), StatusCode::OK);
    drop(feed);
}

/// Calls that break off: the bytes before the end and the end itself race each time.
const CUTS: usize = 20;

#[tokio::test(flavor = "multi_thread")]
async fn i12_a_call_that_the_upstream_cuts_is_reset_after_its_last_byte_and_others_go_on() {
    let said = vec![b'x'; 40_000];
    let body = said.clone();
    let origin = ScriptedServer::start(move |_| {
        let head = b"HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\ncontent-length: 50000\r\n\r\n".to_vec();
        vec![ServerStep::Say(head), ServerStep::Say(body.clone())]
    })
    .await;
    let upstream = format!("[upstreams.x]\nurl = \"http://{}\"\n", origin.address());
    let secure = SecureHub::start_with(&upstream).await;
    let client = secure.client().await;
    let ann = secure.token(&client, "ann", "publish:*").await;
    for _ in 0..CUTS {
        let call = client.request("GET", "/proxy/x/file").header("fanlight-token", &ann);
        let mut answer = client.send(call, "").await;
        assert_eq!(answer.status(), StatusCode::OK);
        let mut bytes = Vec::new();
        let cut = loop {
            match within("a piece", answer.frame()).await {
                Some(Ok(frame)) => bytes.extend_from_slice(&frame.into_data().unwrap()),
                end => break end,
            }
        };
        assert!(cut.is_some_and(|cut| cut.is_err()), "a part is not the whole");
        assert_eq!(bytes.len(), said.len());
    }
    assert_eq!(client.send(client.request("GET", "/healthz"), "").await.status(), StatusCode::OK);
}

/// Kinds of frames (RFC 9113, 6).
const HEADERS: u8 = 1;
const RST_STREAM: u8 = 3;
const SETTINGS: u8 = 4;
const GOAWAY: u8 = 7;

/// One frame on the wire.
fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let length = u32::try_from(payload.len()).unwrap().to_be_bytes();
    [&length[1..], &[kind, flags], &stream.to_be_bytes(), payload].concat()
}

/// `HEADERS` of a request for `path`, whose body follows: `END_HEADERS` without `END_STREAM`.
fn opening(stream: u32, path: &str) -> Vec<u8> {
    // Of the static table (RFC 7541, appendix A): `:method: POST` and `:scheme: https`; then `:path` and `:authority`.
    let text = |value: &str| [&[u8::try_from(value.len()).unwrap()], value.as_bytes()].concat();
    let block = [vec![0x83, 0x87, 0x04], text(path), vec![0x01], text("localhost")].concat();
    frame(HEADERS, 0x4, stream, &block)
}

/// A connection that has sent the preface, its settings and `frames`.
async fn raw(secure: &SecureHub, frames: &[Vec<u8>]) -> Tls {
    let mut tls = secure.connect(&["h2"]).await;
    let begin = [b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".to_vec(), frame(SETTINGS, 0, 0, &[])].concat();
    tls.write_all(&[begin, frames.concat()].concat()).await.unwrap();
    tls
}

/// The next frame: kind, stream, payload.
async fn received(tls: &mut Tls) -> Option<(u8, u32, Vec<u8>)> {
    let mut head = [0; 9];
    within("a frame", tls.read_exact(&mut head)).await.ok()?;
    let mut payload = vec![0; u32::from_be_bytes([0, head[0], head[1], head[2]]) as usize];
    within("its payload", tls.read_exact(&mut payload)).await.ok()?;
    Some((head[3], u32::from_be_bytes([head[5], head[6], head[7], head[8]]), payload))
}

/// The payload of the first frame of that kind and stream.
async fn first(tls: &mut Tls, kind: u8, stream: u32) -> Vec<u8> {
    loop {
        let (its, on, payload) =
            received(tls).await.unwrap_or_else(|| panic!("the connection ended before {kind}"));
        if (its, on) == (kind, stream) {
            return payload;
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn one_stream_more_than_a_connection_may_have_is_refused() {
    let secure = SecureHub::start().await;
    let number = |nth: u32| 2 * nth + 1;
    let streams: Vec<Vec<u8>> = (0..=100).map(|nth| opening(number(nth), "/login")).collect();
    let mut tls = raw(&secure, &streams).await;
    let settings = first(&mut tls, SETTINGS, 0).await;
    // SETTINGS_MAX_CONCURRENT_STREAMS and SETTINGS_MAX_HEADER_LIST_SIZE.
    for told in [[0, 3, 0, 0, 0, 100], [0, 6, 0, 1, 0, 0]] {
        assert!(settings.chunks(6).any(|setting| setting == told), "{settings:?}");
    }
    assert_eq!(first(&mut tls, RST_STREAM, number(100)).await, [0, 0, 0, 7], "REFUSED_STREAM");
}

#[tokio::test(flavor = "multi_thread")]
async fn attack_streams_that_are_reset_at_once_end_their_connection_alone() {
    let secure = SecureHub::start().await;
    let client = secure.client().await;
    // They fit into one record, so that all of them are sent before the hub ends the connection.
    let flood = (0..64_u32).flat_map(|nth| {
        let stream = 2 * nth + 1;
        [opening(stream, "/login"), frame(RST_STREAM, 0, stream, &[0, 0, 0, 8])]
    });
    let mut tls = raw(&secure, &flood.collect::<Vec<_>>()).await;
    let goaway = first(&mut tls, GOAWAY, 0).await;
    assert_eq!(goaway[4..8], [0, 0, 0, 11], "ENHANCE_YOUR_CALM");
    assert_eq!(client.send(client.request("GET", "/healthz"), "").await.status(), StatusCode::OK);
}
