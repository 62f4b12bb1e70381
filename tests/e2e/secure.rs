//! The hub's own TLS: the page and all of its parts come over HTTP/2, and what is published shows at once.

use serde_json::json;
use tests::browser::DESKTOP;
use tests::{BrowserPage, TestHub};

/// A hub with a certificate for `localhost` that it signed itself; it goes with the folder.
async fn secure_hub() -> (TestHub, tempfile::TempDir) {
    let place = tempfile::tempdir().expect("a directory");
    let key = rcgen::KeyPair::generate().expect("a key");
    let names = ["localhost".to_owned()];
    let certificate =
        rcgen::CertificateParams::new(names).and_then(|it| it.self_signed(&key)).expect("a certificate");
    let (cert_file, key_file) = (place.path().join("cert.pem"), place.path().join("key.pem"));
    std::fs::write(&cert_file, certificate.pem()).expect("the certificate is written");
    std::fs::write(&key_file, key.serialize_pem()).expect("the key is written");
    let (cert, key) = (cert_file.display().to_string(), key_file.display().to_string());
    let options = ["--tls-cert", &cert, "--tls-key", &key];
    (TestHub::start_at_with("127.0.0.1:0", &options).await, place)
}

/// Publishes `events` from the page, as it would send a command.
async fn publish(page: &BrowserPage, events: &serde_json::Value) {
    let body = serde_json::Value::from(events.to_string());
    let send = format!(
        "return fetch('/v1/conversations/c/events', {{method: 'POST', body: {body}}}).then(it => it.status)"
    );
    assert_eq!(page.run(&send).await, 200, "{events}");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_page_opens_over_http2_with_the_tls_of_the_hub_and_streams_live() {
    let (hub, _place) = secure_hub().await;
    let page = BrowserPage::open(DESKTOP).await;
    // Nobody vouches for the certificate.
    page.devtools("Security.setIgnoreCertificateErrors", json!({"ignore": true})).await;
    page.goto(&format!("https://localhost:{}/c/c", hub.address().port())).await;
    page.holds("return !!document.querySelector('[data-t=transcript]')").await;
    publish(
        &page,
        &json!([
            {"k": "run.start", "run": "r"},
            {"k": "part.start", "run": "r", "part": "p", "kind": "text"},
            {"k": "part.delta", "run": "r", "part": "p", "text": "Over "},
        ]),
    )
    .await;
    let mut text = String::from("Over");
    page.text_until("answer", |shown| shown.trim_end() == text).await;
    for word in [" one", " connection."] {
        publish(&page, &json!([{"k": "part.delta", "run": "r", "part": "p", "text": word.trim_start()}]))
            .await;
        text.push_str(word.trim_start());
        page.text_until("answer", |shown| shown.replace(' ', "") == text.replace(' ', "")).await;
    }
    // The document, its styles, the modules of the program and what was published; what the cache had names no protocol.
    let how = page
        .run(
            "return [...performance.getEntriesByType('navigation'), ...performance.getEntriesByType('resource')]
                .filter(it => it.name.startsWith('https:')).map(it => [it.nextHopProtocol, new URL(it.name).pathname])",
        )
        .await;
    let how = how.as_array().unwrap();
    let others: Vec<_> = how.iter().filter(|it| it[0] != "h2" && it[0] != "").collect();
    assert!(others.is_empty(), "{others:?}");
    assert_eq!(how[0], json!(["h2", "/c/c"]));
    let over_h2 = |end: &str| how.iter().any(|it| it[0] == "h2" && it[1].as_str().unwrap().ends_with(end));
    assert!(over_h2(".wasm") && over_h2(".css") && over_h2("/events"), "{how:?}");
    assert_eq!(page.console_errors().await, Vec::<String>::new());
    page.close().await;
}
