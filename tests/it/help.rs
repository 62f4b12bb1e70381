//! The built-in help: what problems lead to, and what a reader without a network gets.

use serde_json::Value;
use tests::TestHub;
use tests::wait::within;

async fn read(hub: &TestHub, path: &str) -> (reqwest::StatusCode, reqwest::header::HeaderMap, String) {
    let answer = within(path, hub.request("GET", path).send()).await.unwrap();
    let (status, headers) = (answer.status(), answer.headers().clone());
    (status, headers, answer.text().await.unwrap())
}

#[tokio::test]
async fn a_problem_leads_to_the_line_that_explains_it() {
    let hub = TestHub::start().await;
    let (status, _headers, problem) = read(&hub, "/v1/conversations/nobody").await;
    assert_eq!(status, 404);
    let problem: Value = serde_json::from_str(&problem).unwrap();
    let (path, anchor) = problem["type"].as_str().unwrap().split_once('#').unwrap();
    assert_eq!(anchor, "code-unknown_conversation");
    let (status, _headers, page) = read(&hub, path).await;
    assert_eq!(status, 200);
    let line = page.split(&format!("id=\"{anchor}\"")).nth(1).unwrap();
    let line = line.split("</tr>").next().unwrap();
    assert!(line.contains("no conversation of that name"), "{line}");
}

#[tokio::test]
async fn the_help_is_read_without_scripts_and_kept_by_its_tag() {
    let hub = TestHub::start().await;
    let (status, headers, contents) = read(&hub, "/help").await;
    assert_eq!(status, 200);
    assert!(contents.contains("href=\"/help/operations\""), "{contents}");
    let policy = headers["content-security-policy"].to_str().unwrap();
    assert!(policy.starts_with("default-src 'none'; style-src 'sha256-"), "{policy}");
    assert!(!policy.contains("script-src") && !contents.contains("<script"), "{policy}");

    let tag = headers["etag"].clone();
    let again = hub.request("GET", "/help").header("if-none-match", tag);
    let again = within("/help", again.send()).await.unwrap();
    assert_eq!(again.status(), 304);
    // A browser goes by the headers that came last: with those of other pages it refuses the style of a page that it kept.
    assert_eq!(again.headers()["content-security-policy"], policy);
    let packed = hub.request("GET", "/help/protocol").header("accept-encoding", "gzip");
    let packed = within("/help/protocol", packed.send()).await.unwrap();
    assert_eq!(packed.headers()["content-encoding"], "gzip");
}

#[tokio::test]
async fn a_document_that_is_not_there_is_named() {
    let hub = TestHub::start().await;
    for path in ["/help/nothing", "/help/decisions/none", "/help/..%2f..%2fCargo"] {
        let (status, _headers, problem) = read(&hub, path).await;
        assert_eq!(status, 404, "{path}");
        let problem: Value = serde_json::from_str(&problem).unwrap();
        assert!(problem["detail"].as_str().unwrap().contains("/help lists all"), "{path}: {problem}");
    }
}
