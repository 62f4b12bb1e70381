//! nginx and Caddy of the system's packages before a hub, each with the files of the documents: the page, sockets, streams in both directions,
//! large bodies, and what the hub believes of headers.
//!
//! The hub believes the proxy whatever it says, and who somebody is, too. So what a client claims must not get through.

use std::path::Path;

use futures_util::{SinkExt as _, StreamExt as _};
use http::Request;
use http_body_util::{BodyExt as _, StreamBody};
use hyper::body::{Bytes, Frame};
use model::frame::{BearerToken, ClientFrame, SUBPROTOCOL, VERSION};
use rcgen::SanType;
use serde_json::Value;
use tests::TestHub;
use tests::front_proxy::{FrontProxy, FrontSettings};
use tests::wait::within;
use tokio_tungstenite::client_async;
use tokio_tungstenite::tungstenite::client::IntoClientRequest as _;
use tokio_tungstenite::tungstenite::{Error, Message};

use super::commands::story;
use super::http2::{Client, certificate_with, read_until, refusal, tls_to};

/// The name in all files.
const NAME: &str = "fanlight.example";

/// Where browsers find the page.
const ORIGIN: &str = "https://fanlight.example";

/// What the documents say that is set behind a proxy, and what a hub is set to whose proxy logs people in.
const SETTINGS: &str = "hosts = [\"fanlight.example\"]\ntrusted_proxies = [\"127.0.0.1\"]\n\n[access]\nmode = \"tokens\"\nproxies = [\"127.0.0.1\"]\n\n\
                        [[access.rules]]\nclaim = \"user\"\nvalue = \"root\"\ngrants = [\"admin\"]\n";

/// An address that a client claims to have.
const CLAIMED: &str = "203.0.113.9";

/// A hub with a proxy before it.
struct FrontedHub {
    hub: TestHub,
    proxy: FrontProxy,
    certificate: rcgen::Certificate,
    token: String,
    _place: tempfile::TempDir,
}

/// Which proxy a file is for.
#[derive(Debug, Clone, Copy)]
enum Kind {
    Nginx,
    Caddy,
}

impl FrontedHub {
    /// A hub behind the proxy that `site`, the text of a file, sets up.
    async fn start(kind: Kind, site: &str) -> Self {
        let place = tempfile::tempdir().unwrap();
        let certificate = certificate_with(place.path(), |params| {
            params.subject_alt_names = vec![SanType::DnsName(NAME.try_into().unwrap())];
        });
        let config = place.path().join("fanlight.toml");
        std::fs::write(&config, SETTINGS).unwrap();
        let hub = TestHub::start_with(&["--config", config.to_str().unwrap()]).await;
        let token = hub.token_for("ann", &["view:*", "publish:*"]).await;
        let settings = FrontSettings { hub: hub.address(), certificate: place.path() };
        let proxy = match kind {
            Kind::Nginx => FrontProxy::nginx(site, &settings).await,
            Kind::Caddy => FrontProxy::caddy(site, &settings).await,
        };
        Self { hub, proxy, certificate, token, _place: place }
    }

    /// A client with one connection over HTTP/2.
    async fn client(&self) -> Client {
        let tls = tls_to(self.proxy.tls, NAME, &self.certificate, &["h2", "http/1.1"]).await;
        Client::over(tls, ORIGIN.to_owned()).await
    }

    /// Opens a socket over HTTP/1.1 as a page of `origin` and says hello: the first frame of the hub, or the status of the refusal.
    async fn socket(&self, origin: &str) -> Result<String, u16> {
        let tls = tls_to(self.proxy.tls, NAME, &self.certificate, &["http/1.1"]).await;
        let mut request = format!("wss://{NAME}/v1/ws").into_client_request().unwrap();
        request.headers_mut().insert("sec-websocket-protocol", SUBPROTOCOL.parse().unwrap());
        request.headers_mut().insert("origin", origin.parse().unwrap());
        let (mut socket, _answer) = match within("the upgrade", client_async(request, Box::new(tls))).await {
            Ok(opened) => opened,
            Err(Error::Http(answer)) => return Err(answer.status().as_u16()),
            Err(error) => panic!("{error}"),
        };
        let token = Some(BearerToken::new(&self.token));
        let hello = ClientFrame::Hello { versions: vec![VERSION.into()], client: None, token };
        let hello = serde_json::to_string(&hello).unwrap();
        socket.send(Message::text(hello)).await.unwrap();
        let first = within("the first frame", socket.next()).await.unwrap().unwrap();
        Ok(first.into_text().unwrap().to_string())
    }
}

/// A file of the source tree.
fn document(path: &str) -> String {
    std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(path)).unwrap()
}

/// The block of docs/access.md that begins by naming the file `path`.
fn block_for(path: &str) -> String {
    let text = document("docs/access.md");
    let mut blocks = text.split("```").skip(1).step_by(2);
    let is_it = |block: &&str| block.lines().nth(1).is_some_and(|line| line == format!("# {path}"));
    let block = blocks.find(is_it).unwrap_or_else(|| panic!("a block for {path}"));
    // Behind the name of the language.
    block.split_once('\n').unwrap().1.to_owned()
}

/// All that holds behind any proxy.
async fn serves(front: &FrontedHub) {
    let client = front.client().await;
    logs_in(front, &client).await;
    let welcome = front.socket(ORIGIN).await.expect("a socket");
    assert!(welcome.contains("welcome"), "{welcome}");
    assert_eq!(front.socket("https://evil.example").await, Err(403), "a page of another origin");
    streams(front, &client).await;
    takes_large_bodies(front, &client).await;
    believes_the_proxy_alone(front, &client).await;
}

/// A browser logs in over TLS and gets the page, whatever it claims of itself.
async fn logs_in(front: &FrontedHub, client: &Client) {
    let form = |token: &str| format!("token={token}&next=/");
    let login = || client.request("POST", "/login").header("x-forwarded-proto", "http");
    let done = client.send(login().header("origin", ORIGIN), &form(&front.token)).await;
    let cookie = done.headers()["set-cookie"].to_str().unwrap();
    assert!(done.status() == 303 && cookie.starts_with("__Host-fanlight="), "{} {cookie}", done.status());
    assert!(cookie.contains("Secure"), "{cookie}");
    let cookie = cookie.split(';').next().unwrap().to_owned();
    let page = client.send(client.request("GET", "/").header("cookie", &cookie), "").await;
    assert_eq!(page.status(), 200);
    let page = within("the page", page.into_body().collect()).await.unwrap().to_bytes();
    assert!(String::from_utf8_lossy(&page).contains("Fanlight"), "the page comes whole");
    let foreign = client.send(login().header("origin", "https://evil.example"), &form(&front.token)).await;
    assert_eq!(refusal(foreign).await, (403, "forbidden_origin".to_owned()));
}

/// What is published while a body goes on is seen at once by a reader of server-sent events.
async fn streams(front: &FrontedHub, client: &Client) {
    let bearer = format!("Bearer {}", front.token);
    let start = client.request("POST", "/v1/conversations/c/events").header("authorization", &bearer);
    let started = client.send(start, r#"[{"k":"run.start","run":"first"}]"#).await;
    assert_eq!(started.status(), 200);
    let mut events = client.get("/v1/conversations/c/events", &front.token).await.into_body();
    read_until(&mut events, "first").await;
    let (feed, fed) = tokio::sync::mpsc::channel::<Result<Frame<Bytes>, std::io::Error>>(1);
    let fed = futures_util::stream::unfold(fed, |mut fed| async { Some((fed.recv().await?, fed)) });
    let ingest = client.request("POST", "/v1/ingest/fanlight/c").header("authorization", &bearer);
    let ingest = client
        .sender
        .clone()
        .send_request(ingest.body(http_body_util::BodyExt::boxed(StreamBody::new(fed))).unwrap());
    let ingest = tokio::spawn(ingest);
    let say = async |line: &str| feed.send(Ok(Frame::data(Bytes::from(format!("{line}\n"))))).await.unwrap();
    say(r#"{"k":"run.start","run":"second"}"#).await;
    read_until(&mut events, "second").await;
    say(r#"{"k":"status","run":"second","text":"still going on"}"#).await;
    read_until(&mut events, "still going on").await;
    assert!(!ingest.is_finished(), "its body goes on");
    say(r#"{"k":"run.end","run":"second","status":"complete"}"#).await;
    drop(feed);
    assert_eq!(within("the receipt", ingest).await.unwrap().unwrap().status(), 200);
}

/// A body of several MiB, more than proxies take unless they are told.
async fn takes_large_bodies(front: &FrontedHub, client: &Client) {
    let body = story(60_000);
    assert!(body.len() > 3 << 20, "{}", body.len());
    let ingest = client.request("POST", "/v1/ingest/fanlight/large");
    let taken = client.send(ingest.header("authorization", format!("Bearer {}", front.token)), &body).await;
    assert_eq!(taken.status(), 200);
}

/// Of what a client claims nothing gets through: its address, who it is, another host.
async fn believes_the_proxy_alone(front: &FrontedHub, client: &Client) {
    let claims = |request: http::request::Builder| {
        request.header("x-forwarded-for", CLAIMED).header("forwarded", format!("for={CLAIMED}"))
    };
    let wrong = claims(client.request("POST", "/login")).header("origin", ORIGIN);
    assert_eq!(client.send(wrong, "token=fanlight_wrong&next=/").await.status(), 401);
    let audit = std::fs::read_to_string(front.hub.folder().join("audit.jsonl")).unwrap();
    let mut entries = audit.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let refused = entries.rfind(|entry| entry["deed"] == "log_in").expect("it is noted");
    assert!(refused.to_string().contains("127.0.0.1") && !audit.contains(CLAIMED), "{refused}");
    for name in ["x-forwarded-user", "X-Forwarded-User"] {
        let root = claims(client.request("GET", "/v1/access")).header(name, "root");
        assert_eq!(refusal(client.send(root, "").await).await, (401, "unauthenticated".to_owned()));
    }
    let elsewhere = Request::get("https://evil.example/v1/access");
    let elsewhere = elsewhere.header("authorization", format!("Bearer {}", front.token));
    let answer = client.send(elsewhere, "").await;
    let body = within("a body", answer.into_body().collect()).await.unwrap().to_bytes();
    assert!(!String::from_utf8_lossy(&body).contains("grants"), "another name is served by nobody");
}

#[tokio::test(flavor = "multi_thread")]
async fn nginx_with_the_file_of_deploy_serves_a_hub_and_hides_its_figures() {
    let front = FrontedHub::start(Kind::Nginx, &document("deploy/nginx.conf")).await;
    serves(&front).await;
    let client = front.client().await;
    assert_eq!(client.get("/metrics", &front.token).await.status(), 404);
    let plain = front.proxy.plain.expect("it listens for http://");
    let asked = tests::raw::call(
        plain,
        b"GET /c/name HTTP/1.1\r\nhost: fanlight.example\r\nconnection: close\r\n\r\n",
    );
    let redirected = asked.await;
    assert_eq!(redirected.status(), 308);
    assert_eq!(redirected.header("location"), Some("https://fanlight.example/c/name"));
}

#[tokio::test(flavor = "multi_thread")]
async fn nginx_with_the_block_of_the_document_about_access_serves_a_hub() {
    serves(&FrontedHub::start(Kind::Nginx, &block_for("/etc/nginx/conf.d/fanlight.conf")).await).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn caddy_with_the_file_of_deploy_serves_a_hub_and_hides_its_figures() {
    let front = FrontedHub::start(Kind::Caddy, &document("deploy/Caddyfile")).await;
    serves(&front).await;
    assert_eq!(front.client().await.get("/metrics", &front.token).await.status(), 404);
}

#[tokio::test(flavor = "multi_thread")]
async fn caddy_with_the_block_of_the_document_about_access_serves_a_hub() {
    serves(&FrontedHub::start(Kind::Caddy, &block_for("/etc/caddy/Caddyfile")).await).await;
}
