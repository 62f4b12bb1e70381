//! Browsers: logging in with a token, links to one conversation, and TLS with a certificate that changes.

use std::sync::Arc;

use reqwest::redirect::Policy;
use reqwest::{Client, Response};
use serde_json::Value;
use tests::TestHub;
use tests::wait::{until, within};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;

use super::access::{forbidden, guarded, refusal, tell, unauthenticated};

/// Follows nothing by itself, so that cookies and redirections can be looked at.
pub(super) fn browser() -> Client {
    Client::builder().redirect(Policy::none()).build().unwrap()
}

fn header(answer: &Response, name: &str) -> String {
    answer.headers().get(name).map_or_else(String::new, |value| value.to_str().unwrap().to_owned())
}

/// The pair of name and value that a browser would send back.
pub(super) fn cookie(answer: &Response) -> String {
    header(answer, "set-cookie").split(';').next().unwrap_or_default().to_owned()
}

pub(super) async fn log_in(hub: &TestHub, token: &str, next: &str) -> Response {
    let origin = hub.url("");
    let form = format!("token={token}&next={next}");
    let request = browser().post(hub.url("/login")).header("origin", origin).body(form);
    request.header("content-type", "application/x-www-form-urlencoded").send().await.unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_browser_logs_in_with_a_token_and_out_again() {
    let hub = guarded().await;
    let token = hub.token_for("ann", &["view:*"]).await;
    let asked = browser().get(hub.url("/c/name?view=bare")).send().await.unwrap();
    assert_eq!(asked.status(), 401);
    let policy = header(&asked, "content-security-policy");
    assert!(policy.contains("form-action 'self'") && !policy.contains("unsafe"), "{policy}");
    let form = asked.text().await.unwrap();
    assert!(form.contains("action=\"/login\"") && form.contains("value=\"/c/name?view=bare\""), "{form}");
    let wrong = log_in(&hub, "fanlight_wrong", "%2F").await;
    assert_eq!((wrong.status().as_u16(), cookie(&wrong)), (401, String::new()));
    let done = log_in(&hub, &token, "%2Fc%2Fname").await;
    assert_eq!((done.status().as_u16(), header(&done, "location").as_str()), (303, "/c/name"));
    let set = header(&done, "set-cookie");
    assert!(set.starts_with("fanlight=fls_") && set.contains("HttpOnly; SameSite=Strict"), "{set}");
    assert!(!set.contains(&token), "the token itself stays out of the browser: {set}");
    let known = cookie(&done);
    let with = |path: &str| browser().get(hub.url(path)).header("cookie", &known).send();
    for path in ["/", "/v1/conversations", "/v1/access"] {
        assert!(with(path).await.unwrap().status().is_success(), "{path}");
    }
    let out = browser().post(hub.url("/logout")).header("cookie", &known).header("origin", hub.url(""));
    assert_eq!(out.send().await.unwrap().status(), 303);
    assert_eq!(with("/v1/access").await.unwrap().status(), 401);
    let elsewhere = log_in(&hub, &token, "%2F%2Fevil.example").await;
    assert_eq!(header(&elsewhere, "location"), "/");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_link_shows_one_conversation_as_often_and_as_long_as_it_says() {
    let hub = guarded().await;
    let all = hub.token_for("all", &["view,publish,export:*"]).await;
    let looker = hub.token_for("looker", &["view:*"]).await;
    for name in ["shared", "other"] {
        assert!(tell(&hub, &all, name, "hello").await.status().is_success());
    }
    let wish = |body: &str, token: &str| {
        hub.request("POST", "/v1/shares").bearer_auth(token).body(body.to_owned()).send()
    };
    let made = wish(r#"{"conversation":"shared","views":1,"expires_s":600}"#, &all).await.unwrap();
    assert_eq!(made.status(), 201);
    let made: Value = made.json().await.unwrap();
    let url = made["url"].as_str().unwrap();
    let followed = browser().get(hub.url(url)).send().await.unwrap();
    assert_eq!((followed.status().as_u16(), header(&followed, "location").as_str()), (303, "/c/shared"));
    let known = cookie(&followed);
    let with = |path: &str| browser().get(hub.url(path)).header("cookie", &known).send();
    assert!(with("/v1/conversations/shared").await.unwrap().status().is_success());
    assert!(with("/c/shared").await.unwrap().status().is_success());
    for path in [
        "/v1/conversations/other",
        "/v1/conversations/shared/export/md",
        "/v1/tools",
        "/metrics",
        "/v1/search?q=hello&conversation=other",
    ] {
        assert_eq!(refusal(with(path).await.unwrap()).await, forbidden(), "{path}");
    }
    let list: Value = with("/v1/conversations").await.unwrap().json().await.unwrap();
    assert_eq!(list["conversations"].as_array().unwrap().len(), 1, "{list}");
    let further =
        browser().post(hub.url("/v1/shares")).header("cookie", &known).header("origin", hub.url(""));
    let further = further.body(r#"{"conversation":"shared"}"#).send().await.unwrap();
    assert_eq!(refusal(further).await, forbidden(), "who came by a link passes none on");
    let again = browser().get(hub.url(url)).send().await.unwrap();
    assert_eq!(refusal(again).await.0, 401, "it may be followed once");
    let guessed =
        browser().get(hub.url("/s/flk_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA")).send().await.unwrap();
    assert_eq!(refusal(guessed).await, unauthenticated());
    // To take back what others shared takes an operator.
    let path = format!("/v1/shares/{}", made["id"].as_str().unwrap());
    let taken = hub.request("DELETE", &path).bearer_auth(&looker).send().await.unwrap();
    assert_eq!(taken.status(), 404);
    let taken = hub.request("DELETE", &path).bearer_auth(&all).send().await.unwrap();
    assert_eq!(taken.status(), 204);
    assert_eq!(with("/v1/conversations/shared").await.unwrap().status(), 401, "who follows it is cut off");
    assert_eq!(refusal(wish(r#"{"conversation":"shared"}"#, &looker).await.unwrap()).await, forbidden());
}

/// A certificate for `localhost`, as the files that the hub reads.
fn certificate(folder: &std::path::Path) -> rcgen::Certificate {
    let key = rcgen::KeyPair::generate().unwrap();
    let certificate =
        rcgen::CertificateParams::new(["localhost".to_owned()]).unwrap().self_signed(&key).unwrap();
    std::fs::write(folder.join("cert.pem"), certificate.pem()).unwrap();
    std::fs::write(folder.join("key.pem"), key.serialize_pem()).unwrap();
    certificate
}

type Tls = tokio_rustls::client::TlsStream<TcpStream>;

/// A connection to the hub that trusts `certificate` alone.
async fn connect(hub: &TestHub, certificate: &rcgen::Certificate) -> std::io::Result<Tls> {
    let mut roots = rustls::RootCertStore::empty();
    roots.add(certificate.der().clone()).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = rustls::ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
    let config = config.unwrap().with_root_certificates(roots).with_no_client_auth();
    let stream = TcpStream::connect(hub.address()).await?;
    TlsConnector::from(Arc::new(config)).connect("localhost".try_into().unwrap(), stream).await
}

/// What the hub answers over a connection that stays.
async fn ask(tls: &mut Tls, request: &str) -> String {
    tls.write_all(request.as_bytes()).await.unwrap();
    let mut said = Vec::new();
    let mut piece = [0; 4096];
    while !is_whole(&String::from_utf8_lossy(&said)) {
        let count = within("an answer over TLS", tls.read(&mut piece)).await.unwrap();
        assert!(count > 0, "the hub closed the connection");
        said.extend_from_slice(&piece[..count]);
    }
    String::from_utf8(said).unwrap()
}

/// Whether an answer is there, its body included.
fn is_whole(answer: &str) -> bool {
    let Some((head, body)) = answer.split_once("\r\n\r\n") else { return false };
    let length = head.lines().find_map(|line| line.strip_prefix("content-length: ")?.parse().ok());
    body.len() >= length.unwrap_or(0)
}

#[tokio::test(flavor = "multi_thread")]
async fn over_tls_others_are_served_and_a_new_certificate_cuts_nobody() {
    let place = tempfile::tempdir().unwrap();
    let first = certificate(place.path());
    let file = |name: &str| place.path().join(name).display().to_string();
    let (cert, key) = (file("cert.pem"), file("key.pem"));
    let options = ["--access", "tokens", "--tls-cert", &cert, "--tls-key", &key];
    let hub = TestHub::start_at_with("0.0.0.0:0", &options).await;
    let mut tls = connect(&hub, &first).await.unwrap();
    let request = "GET /v1/conversations HTTP/1.1\r\nhost: localhost\r\n\r\n";
    assert!(ask(&mut tls, request).await.starts_with("HTTP/1.1 401"));
    let token = hub.token(&["create", "--name", "ann", "--grant", "view:*"]).await;
    let body = format!("token={token}");
    let length = body.len();
    let login = format!("POST /login HTTP/1.1\r\nhost: localhost\r\ncontent-length: {length}\r\n\r\n{body}");
    let answer = until("the token to be known", async || {
        let answer = ask(&mut connect(&hub, &first).await.ok()?, &login).await;
        answer.starts_with("HTTP/1.1 303").then_some(answer)
    })
    .await;
    assert!(answer.contains("set-cookie: __Host-fanlight=fls_") && answer.contains("; Secure"), "{answer}");
    let second = certificate(place.path());
    until("the new certificate", async || connect(&hub, &second).await.ok()).await;
    assert!(connect(&hub, &first).await.is_err(), "the one before is shown to nobody any more");
    assert!(ask(&mut tls, request).await.starts_with("HTTP/1.1 401"), "who was connected stays so");
    // Without TLS nobody is served.
    let mut plain = TcpStream::connect(hub.address()).await.unwrap();
    plain.write_all(request.as_bytes()).await.unwrap();
    let mut said = Vec::new();
    drop(within("the end of a plain connection", plain.read_to_end(&mut said)).await);
    assert!(!String::from_utf8_lossy(&said).contains("HTTP/1.1"), "{said:?}");
}
