//! Safe from the first day: who may talk to the hub, and what a page of it may do.

use tests::TestHub;

const UPGRADE: [(&str, &str); 5] = [
    ("connection", "upgrade"),
    ("upgrade", "websocket"),
    ("sec-websocket-version", "13"),
    ("sec-websocket-key", "dGhlIHNhbXBsZSBub25jZQ=="),
    ("sec-websocket-protocol", "fanlight.v1"),
];

async fn send(hub: &TestHub, method: &str, path: &str, headers: &[(&str, &str)]) -> reqwest::Response {
    let mut request = hub.request(method, path);
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    request.send().await.unwrap()
}

/// The code of a refusal.
async fn refusal(answer: reqwest::Response) -> (u16, String) {
    let status = answer.status().as_u16();
    let problem: serde_json::Value = answer.json().await.unwrap();
    (status, problem["code"].as_str().unwrap().to_owned())
}

#[tokio::test]
async fn a_page_of_another_site_can_neither_publish_nor_view() {
    let hub = TestHub::start().await;
    let forbidden = (403, "forbidden_origin".to_owned());
    for origin in ["http://evil.example", "null", "http://127.0.0.1.evil.example"] {
        let headers = [("origin", origin)];
        assert_eq!(
            refusal(send(&hub, "POST", "/v1/ingest/fanlight/c", &headers).await).await,
            forbidden,
            "{origin}"
        );
        let headers = [&UPGRADE[..], &headers].concat();
        assert_eq!(refusal(send(&hub, "GET", "/v1/ws", &headers).await).await, forbidden, "{origin}");
    }
    let own = format!("http://{}", hub.address());
    let headers = [("origin", own.as_str())];
    assert_eq!(send(&hub, "POST", "/v1/ingest/fanlight/c", &headers).await.status(), 200);
    let headers = [&UPGRADE[..], &headers].concat();
    assert_eq!(send(&hub, "GET", "/v1/ws", &headers).await.status(), 101);
}

#[tokio::test]
async fn a_name_that_was_bent_to_this_address_is_refused() {
    let hub = TestHub::start().await;
    let answer = send(&hub, "GET", "/v1/conversations", &[("host", "rebound.example")]).await;
    assert_eq!(refusal(answer).await, (403, "forbidden_origin".to_owned()));
    let local = format!("localhost:{}", hub.address().port());
    assert_eq!(send(&hub, "GET", "/v1/conversations", &[("host", local.as_str())]).await.status(), 200);
}

#[tokio::test]
async fn every_answer_forbids_what_a_page_does_not_need() {
    let hub = TestHub::start().await;
    for path in ["/", "/c/anything", "/v1/conversations", "/v1/nothing", "/image"] {
        let answer = send(&hub, "GET", path, &[]).await;
        let header =
            |name: &str| answer.headers().get(name).map_or("", |value| value.to_str().unwrap()).to_owned();
        let policy = header("content-security-policy");
        assert!(policy.contains("default-src 'none'"), "{path}: {policy}");
        assert!(!policy.contains("unsafe-inline") && !policy.contains("'unsafe-eval'"), "{path}: {policy}");
        assert_eq!(header("x-content-type-options"), "nosniff", "{path}");
        assert_eq!(header("referrer-policy"), "no-referrer", "{path}");
    }
}

#[tokio::test]
async fn only_the_document_for_images_may_load_from_elsewhere_and_it_holds_nothing() {
    let hub = TestHub::start().await;
    let policy = async |path: &str| {
        let answer = send(&hub, "GET", path, &[]).await;
        let policy = answer.headers()["content-security-policy"].to_str().unwrap().to_owned();
        (policy, answer.text().await.unwrap())
    };
    let (page, _) = policy("/").await;
    // A frame that the page, or a document with its policy, holds goes to no other address of the hub.
    let framed = format!("; frame-src {0}/image {0}/embed", hub.address());
    assert!(page.contains("img-src 'self' data:;") && page.ends_with(&framed), "{page}");
    // Whatever the address says, nothing of it gets into the document.
    let (image, document) = policy("/image?src=https://example.org/a.png").await;
    assert!(image.contains("img-src http: https:;") && image.contains("frame-ancestors 'self'"), "{image}");
    assert!(image.contains("sandbox") && !image.contains("script"), "{image}");
    assert!(!document.contains("src") && !document.contains("example"), "{document}");
}

#[tokio::test]
async fn the_document_for_scripts_of_embeds_has_no_origin_and_reaches_nothing() {
    let hub = TestHub::start().await;
    let answer = send(&hub, "GET", "/embed?x=<b>", &[]).await;
    let header = |name: &str| answer.headers()[name].to_str().unwrap().to_owned();
    let policy = header("content-security-policy");
    let rules: Vec<&str> = policy.split(';').map(str::trim).collect();
    for rule in [
        "default-src 'none'",
        "script-src 'unsafe-inline'",
        "img-src data: blob:",
        "form-action 'none'",
        "base-uri 'none'",
        "frame-ancestors 'self'",
        "webrtc 'block'",
        "sandbox allow-scripts",
    ] {
        assert!(rules.contains(&rule), "{rule} in {policy}");
    }
    assert!(
        !["http", "'self';", "connect-src", "frame-src", "*"]
            .iter()
            .any(|it| policy.replace("frame-ancestors 'self'", "").contains(it)),
        "{policy}"
    );
    assert_eq!(header("connection-allowlist"), "()");
    assert!(!answer.text().await.unwrap().contains("<b>"), "nothing of the address gets into it");
}

#[tokio::test]
async fn what_asks_by_a_name_that_no_policy_can_hold_gets_no_frame() {
    let hub = TestHub::start().await;
    let answer = send(&hub, "GET", "/", &[("host", "[::1]:4600")]).await;
    assert_eq!(answer.status(), 200);
    let policy = answer.headers()["content-security-policy"].to_str().unwrap();
    assert!(policy.contains("default-src 'none'") && !policy.contains("frame-src"), "{policy}");
}

#[tokio::test]
async fn a_hub_without_access_control_does_not_listen_to_the_world() {
    let output = tokio::process::Command::new(tests::hub::binary())
        .args(["serve", "--log", "memory", "--listen", "0.0.0.0:0"])
        .kill_on_drop(true)
        .output();
    let output = tests::wait::within("the refusal", output).await.unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(!output.status.success());
    assert!(
        said.contains("0.0.0.0") && said.contains("other machines") && said.contains("127.0.0.1"),
        "{said}"
    );
}
