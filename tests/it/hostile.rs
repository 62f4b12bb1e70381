//! Hostile neighbours: pages of other origins, odd hosts, bodies that break off, names of megabytes.

use serde_json::{Value, json};
use tests::wait::within;
use tests::{TestHub, raw};

async fn asked(hub: &TestHub, path: &str, headers: &[(&str, &str)]) -> (u16, Value) {
    let mut request = hub.request("GET", path);
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    let answer = within("an answer", request.send()).await.unwrap();
    let status = answer.status().as_u16();
    (status, answer.json().await.unwrap_or_default())
}

#[tokio::test]
async fn i8_a_page_of_another_origin_gets_nothing_done_with_a_get() {
    let hub = TestHub::start().await;
    hub.publisher("c").await.says(r#"{"k":"run.start","run":"r"}"#).await;
    let image =
        [("sec-fetch-site", "cross-site"), ("sec-fetch-mode", "no-cors"), ("sec-fetch-dest", "image")];
    let port = [("sec-fetch-site", "same-site"), ("sec-fetch-mode", "cors"), ("sec-fetch-dest", "empty")];
    let old = [("origin", "http://evil.example")];
    let works = [
        "/v1/search?q=a",
        "/v1/tools",
        "/v1/conversations",
        "/v1/conversations/c",
        "/v1/conversations/c/events",
        "/v1/conversations/c/export/md",
        "/v1/conversations/c/wait",
        "/v1/conversations/c/stream/ag-ui",
        "/v1/events?conversation=c",
        "/v1/agents",
        "/v1/models",
        "/metrics",
    ];
    for headers in [&image[..], &port, &old] {
        for path in works {
            let (status, problem) = asked(&hub, path, headers).await;
            assert_eq!(
                (status, problem["code"].as_str()),
                (403, Some("forbidden_origin")),
                "{path} {headers:?}"
            );
        }
    }
    let click = [
        ("sec-fetch-site", "cross-site"),
        ("sec-fetch-mode", "navigate"),
        ("sec-fetch-dest", "document"),
        ("sec-fetch-user", "?1"),
    ];
    assert_eq!(asked(&hub, "/c/c", &click[..3]).await.0, 200);
    assert_eq!(asked(&hub, "/v1/conversations/c/export/html", &click).await.0, 200);
    assert_eq!(asked(&hub, "/v1/conversations/c", &[("sec-fetch-site", "same-origin")]).await.0, 200);
    assert_eq!(asked(&hub, "/v1/conversations/c", &[]).await.0, 200);
}

#[tokio::test]
async fn a_host_that_only_looks_like_this_machine_is_refused() {
    let hub = TestHub::start().await;
    for host in
        ["l\u{43e}calhost", "[127.0.0.1]evil.com", "evil.com#.localhost", "localhost\r\nhost: evil.com"]
    {
        let request = format!("GET /v1/conversations HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\n\r\n");
        let answer = raw::call(hub.address(), request.as_bytes()).await;
        assert_eq!(answer.status(), 403, "{host}");
    }
}

#[tokio::test]
async fn a_body_that_breaks_off_is_no_large_one_and_a_packed_one_is_named() {
    let hub = TestHub::start().await;
    for (method, path) in [
        ("POST", "/v1/conversations/c/events"),
        ("PUT", "/v1/conversations/c/events"),
        ("POST", "/v1/conversations/c/commands"),
        ("POST", "/v1/traces"),
    ] {
        let head = format!(
            "{method} {path} HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n"
        );
        // A piece that is none ends the body in its middle.
        let request = [head.as_bytes(), b"4\r\n[{\"k\r\nno length\r\n"].concat();
        let answer = raw::call(hub.address(), &request).await;
        assert_eq!(answer.status(), 400, "{method} {path}");
        let packed = hub
            .request(method, path)
            .header("content-encoding", "br")
            .header("content-type", "application/json");
        let answer = packed.body("x").send().await.unwrap();
        assert_eq!(answer.status(), 415, "{method} {path}");
    }
    let whole: Value = hub.json("/v1/conversations/c").await;
    assert_eq!(whole["code"], "unknown_conversation");
}

#[tokio::test]
async fn i7_a_stream_of_a_run_that_never_begins_is_not_waited_for_without_an_end() {
    let hub = TestHub::start().await;
    let mut publisher = hub.publisher("c").await;
    publisher.says(r#"{"k":"run.start","run":"r"}"#).await;
    let nobody = tokio::spawn(hub.request("GET", "/v1/conversations/c/stream/ag-ui?run=nobody").send());
    let later = tokio::spawn(hub.request("GET", "/v1/conversations/c/stream/ag-ui?run=later").send());
    publisher.says(r#"{"k":"run.start","run":"later"}"#).await;
    assert_eq!(within("the run that begins", later).await.unwrap().unwrap().status(), 200);
    let refused = within("the refusal", nobody).await.unwrap().unwrap();
    assert_eq!(refused.status(), 404);
    let problem: Value = refused.json().await.unwrap();
    assert!(problem["detail"].as_str().unwrap().contains("nobody"), "{problem}");
}

#[tokio::test]
async fn i7_a_name_of_megabytes_is_cut_and_named() {
    let hub = TestHub::start().await;
    let events = json!([{"k": "run.start", "run": "r", "model": "m".repeat(8 << 20)}]);
    let answer =
        hub.request("POST", "/v1/conversations/c/events").body(events.to_string()).send().await.unwrap();
    assert_eq!(answer.status(), 200);
    let view = hub.json("/v1/conversations/c").await;
    assert_eq!(view["runs"]["r"]["model"].as_str().unwrap().len(), 1 << 10);
    let anomalies = view["anomalies"].to_string();
    assert!(anomalies.contains("too_large") && anomalies.contains("model: 8388608 bytes"), "{anomalies}");
}

#[tokio::test]
async fn a_search_of_everything_says_that_it_is_whole() {
    let hub = TestHub::start().await;
    let texts: Vec<Value> = (0..8)
        .map(|n| json!({"k": "message", "message": format!("m{n}"), "role": "user", "text": "word ".repeat(50_000)}))
        .collect();
    let answer = hub
        .request("POST", "/v1/conversations/c/events")
        .body(Value::from(texts).to_string())
        .send()
        .await
        .unwrap();
    assert_eq!(answer.status(), 200);
    let found = hub.json(&format!("/v1/search?limit=3&q={}", ["word"; 32].join("+"))).await;
    let hits = found["hits"].as_array().unwrap();
    assert_eq!(hits.len(), 3, "{found}");
    assert!(found["next"].is_u64() && found.get("partial").is_none(), "{found}");
    let hit = &hits[0];
    assert!(hit["snippet"].as_str().unwrap().len() < 300 && hit["marks"][1] == json!([5, 9]), "{hit}");
}
