//! `fanlight doctor` beside things that are really broken.

use std::net::SocketAddr;

use axum::Router;
use axum::extract::Request;
use axum::http::StatusCode;
use axum::response::{IntoResponse as _, Response};
use serde_json::Value;
use tests::wait::patiently;
use tests::{TestHub, hub};
use tokio::net::TcpListener;
use tokio::process::Command;

use crate::commands::nowhere;

/// The key that it is given.
const KEY: &str = "sk-secret";

/// Whether `secret` stands in what it says.
fn shows(lines: &str, secret: &str) -> bool {
    lines.contains(secret)
}

/// Its findings by check, and its exit code. `set` is all that it sees of the environment.
async fn doctor(url: &str, options: &[&str], set: &[(&str, &str)]) -> (Vec<Value>, Option<i32>) {
    let mut command = Command::new(hub::binary());
    command.args(["doctor", "--json", "--url", url]).args(options).env_clear().envs(set.iter().copied());
    let output = patiently("the doctor", command.kill_on_drop(true).output()).await.unwrap();
    let lines = String::from_utf8(output.stdout).unwrap();
    assert!(!shows(&lines, KEY), "{lines}");
    (lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect(), output.status.code())
}

/// What it says of `check`: whether it is well, and what was seen.
fn of<'a>(findings: &'a [Value], check: &str) -> (bool, &'a str) {
    let finding = findings.iter().find(|finding| finding["check"] == check);
    let finding = finding.unwrap_or_else(|| panic!("no {check}: {findings:#?}"));
    assert_eq!(finding["ok"] == true, finding["mend"].is_null(), "{finding}");
    (finding["ok"] == true, finding["seen"].as_str().unwrap())
}

/// A plain server that answers with `respond`.
async fn server<F, R>(respond: F) -> SocketAddr
where
    F: Fn(Request) -> R + Clone + Send + Sync + 'static,
    R: Future<Output = Response> + Send + 'static,
{
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let app = Router::new().fallback(respond);
    tokio::spawn(async move { axum::serve(listener, app).await.unwrap() });
    address
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hub_that_works_is_well_and_keeps_no_trace_of_the_visit() {
    let hub = TestHub::start().await;
    let (findings, _) = doctor(&hub.url(""), &[], &[]).await;
    for check in ["hub", "log", "websocket", "publishing", "environment"] {
        assert!(of(&findings, check).0, "{findings:#?}");
    }
    assert_eq!(hub.json("/v1/conversations").await["total"], 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn nobody_and_somebody_else_at_the_port_are_told_apart() {
    let (findings, code) = doctor(&format!("http://{}", nowhere().await), &[], &[]).await;
    let (ok, seen) = of(&findings, "hub");
    assert!(!ok && seen.starts_with("nobody answers"), "{seen}");
    assert_eq!(code, Some(1));
    let other = server(|_| async { "hello".into_response() }).await;
    let (findings, code) = doctor(&format!("http://{other}"), &[], &[]).await;
    let (ok, seen) = of(&findings, "hub");
    assert!(!ok && seen.contains("not Fanlight"), "{seen}");
    assert_eq!(code, Some(1));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reverse_proxy_that_eats_the_upgrade_is_named() {
    let hub = TestHub::start().await;
    let root = hub.url("");
    let between = server(move |request: Request| {
        let url = format!("{root}{}", request.uri());
        async move {
            let (method, body) = (request.method().clone(), request.into_body());
            let body = axum::body::to_bytes(body, 1 << 20).await.unwrap();
            let answer = reqwest::Client::new().request(method, url).body(body).send().await.unwrap();
            let status = StatusCode::from_u16(answer.status().as_u16()).unwrap();
            (status, answer.bytes().await.unwrap()).into_response()
        }
    });
    let (findings, code) = doctor(&format!("http://{}", between.await), &[], &[]).await;
    assert!(of(&findings, "hub").0 && of(&findings, "publishing").0, "{findings:#?}");
    assert!(!of(&findings, "websocket").0, "{findings:#?}");
    assert_eq!(code, Some(1));
}

#[tokio::test(flavor = "multi_thread")]
async fn variables_that_lead_to_the_wrong_path_are_named() {
    let hub = TestHub::start().await;
    let wrong = hub.url("/v1");
    let (findings, code) = doctor(&hub.url(""), &[], &[("OPENAI_BASE_URL", &wrong)]).await;
    assert!(!of(&findings, "base url").0, "{findings:#?}");
    assert_eq!(code, Some(1));
}

/// What is said of an upstream that answers with `respond`.
async fn upstream<F, R>(options: &[&str], respond: F) -> Vec<Value>
where
    F: Fn(Request) -> R + Clone + Send + Sync + 'static,
    R: Future<Output = Response> + Send + 'static,
{
    let address = server(respond).await;
    let hub = TestHub::start_with(&["--upstream", &format!("x=http://{address}")]).await;
    let options: Vec<_> = ["--upstream", "x"].iter().chain(options).copied().collect();
    doctor(&hub.url(""), &options, &[("X_API_KEY", "sk-secret")]).await.0
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refused_key_and_a_wrong_base_path_are_named() {
    let findings = upstream(&[], |_| async { StatusCode::UNAUTHORIZED.into_response() }).await;
    assert!(of(&findings, "upstream").1.contains("refuses the key"), "{findings:#?}");
    let findings = upstream(&[], |_| async { StatusCode::NOT_FOUND.into_response() }).await;
    assert!(of(&findings, "upstream").1.contains("no such path"), "{findings:#?}");
    let hub = TestHub::start().await;
    let (wrong, nobody) = (hub.url("/v1"), format!("x=http://{}", nowhere().await));
    let (findings, _) = doctor(&hub.url(""), &["--upstream", "openai", "--base-url", &wrong], &[]).await;
    assert!(of(&findings, "base url").1.contains("not its proxy"), "{findings:#?}");
    let hub = TestHub::start_with(&["--upstream", &nobody]).await;
    let (findings, _) = doctor(&hub.url(""), &["--upstream", "x"], &[]).await;
    assert!(of(&findings, "key").0 && !of(&findings, "upstream").0, "{findings:#?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_search_for_the_key_finds_what_the_doctor_shows() {
    let shown = format!("{KEY}-in-an-address").replace("secret", "shown");
    let hub = TestHub::start().await;
    let wrong = hub.url(&format!("/{shown}/v1"));
    let (findings, _) = doctor(&hub.url(""), &["--upstream", "openai", "--base-url", &wrong], &[]).await;
    let said: String = findings.iter().map(Value::to_string).collect();
    assert!(shows(&said, &shown) && !shows(&said, KEY), "an address is shown as it is: {said}");
}

/// What is said of an upstream of `api` that answers with `respond`, and is asked for an answer too.
async fn upstream_of<F, R>(api: &str, respond: F) -> Vec<Value>
where
    F: Fn(Request) -> R + Clone + Send + Sync + 'static,
    R: Future<Output = Response> + Send + 'static,
{
    let address = server(respond).await;
    let place = tempfile::tempdir().unwrap();
    let file = place.path().join("fanlight.toml");
    std::fs::write(&file, format!("[upstreams.x]\nurl = \"http://{address}\"\napi = \"{api}\"\n")).unwrap();
    let hub = TestHub::start_with(&["--config", &file.display().to_string()]).await;
    let options = ["--upstream", "x", "--model", "m"];
    doctor(&hub.url(""), &options, &[("X_API_KEY", "sk-secret")]).await.0
}

#[tokio::test(flavor = "multi_thread")]
async fn each_api_is_asked_in_its_own_words() {
    let cases = [
        ("openai", "/v1/models", "/v1/chat/completions", "authorization", "Bearer sk-secret", "data: {}\n\n"),
        ("anthropic", "/v1/models", "/v1/messages", "x-api-key", "sk-secret", "data: {}\n\n"),
        (
            "gemini",
            "/v1beta/models",
            "/v1beta/models/m:streamGenerateContent",
            "x-goog-api-key",
            "sk-secret",
            "data: {}\n\n",
        ),
        ("ollama", "/api/tags", "/api/chat", "authorization", "Bearer sk-secret", "{}\n"),
    ];
    for (api, list, ask, header, key, event) in cases {
        let findings = upstream_of(api, move |request: Request| async move {
            if request.headers().get(header).is_none_or(|value| value != key) {
                return StatusCode::UNAUTHORIZED.into_response();
            }
            match request.uri().path() {
                path if path == list => "{}".into_response(),
                path if path == ask => event.repeat(40_000).into_response(),
                _ => StatusCode::NOT_FOUND.into_response(),
            }
        })
        .await;
        for check in ["key", "upstream", "streaming", "recorded"] {
            assert!(of(&findings, check).0, "{api}: {findings:#?}");
        }
    }
}

/// As many events as are more than any buffer on the way holds, so that they come in pieces.
const MANY: usize = 40_000;

/// What a vendor answers: no models to the question for them, else a stream of `count` events.
fn counted(request: &Request, count: usize) -> Response {
    let event = "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"one \"}}]}\n\n";
    if request.uri().path().ends_with("/models") {
        "{}".into_response()
    } else {
        event.repeat(count).into_response()
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn its_call_is_followed_to_where_it_is_shown_and_one_past_the_hub_is_named() {
    let address = server(|request| async move { counted(&request, MANY) }).await;
    let hub = TestHub::start_with(&["--upstream", &format!("x=http://{address}")]).await;
    let options = ["--upstream", "x", "--model", "m"];
    let (findings, _) = doctor(&hub.url(""), &options, &[("X_API_KEY", KEY)]).await;
    let (ok, seen) = of(&findings, "recorded");
    assert!(ok, "{findings:#?}");
    let shown = seen.strip_prefix("the call is shown at ").unwrap().rsplit('/').next().unwrap();
    hub.json_until(&format!("/v1/conversations/{shown}"), |view| {
        view["messages"].to_string().contains("Count from one to twenty")
    })
    .await;
    // An agent whose base URL is the vendor's own is not seen.
    let past = format!("http://{address}/v1");
    let (findings, code) =
        doctor(&hub.url(""), &[&options[..], &["--base-url", &past]].concat(), &[("X_API_KEY", KEY)]).await;
    let (ok, seen) = of(&findings, "recorded");
    assert!(!ok && seen.ends_with("it did not come through the hub"), "{findings:#?}");
    assert_eq!(code, Some(1));
    assert_eq!(hub.json("/v1/conversations").await["total"], 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_that_does_not_stream_is_named() {
    for api in ["openai", "anthropic", "gemini", "ollama"] {
        let findings = upstream_of(api, |_| async { r#"{"done":true}"#.into_response() }).await;
        assert!(of(&findings, "streaming").1.contains("came as a whole"), "{api}: {findings:#?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn streams_and_what_buffers_them_are_told_apart() {
    // A few events come in one piece.
    for (count, streams) in [(4, false), (MANY, true)] {
        let findings =
            upstream(&["--model", "m"], move |request| async move { counted(&request, count) }).await;
        assert_eq!(of(&findings, "streaming").0, streams, "{findings:#?}");
    }
}

/// What is said of the base URL where `OPENAI_BASE_URL` is `value`, beside a hub with the upstream `openai`; its exit code.
async fn base_url(hub: &TestHub, value: &str) -> (bool, String, Option<i32>) {
    let (findings, code) = doctor(&hub.url(""), &[], &[("OPENAI_BASE_URL", value)]).await;
    let (ok, seen) = of(&findings, "base url");
    (ok, seen.to_owned(), code)
}

#[tokio::test(flavor = "multi_thread")]
async fn each_wrong_base_url_has_a_finding_of_its_own_and_a_right_one_leads_to_a_call_that_is_shown() {
    let address = server(|request| async move { counted(&request, MANY) }).await;
    let hub = TestHub::start_with(&["--upstream", &format!("openai=http://{address}")]).await;
    let another = TestHub::start().await;
    let nobody = nowhere().await;
    let wrong = [
        (format!("http://{nobody}/proxy/openai/v1"), "where nobody answers"),
        (another.url("/proxy/openai/v1"), "which is another hub than"),
        (
            hub.url("/proxy/openai/v1").replace("http://", "https://"),
            "with https, which this hub does not speak",
        ),
        (hub.url("/proxy/opnai/v1"), "the hub has no upstream \"opnai\""),
        (hub.url("/v1"), "which is the hub itself and not its proxy"),
        (hub.url("/proxy/openai"), "without the /v1 at its end"),
        (hub.url("/proxy/openai/v1/v1"), "with /v1 doubled"),
    ];
    for (value, why) in wrong {
        let (ok, seen, code) = base_url(&hub, &value).await;
        assert!(!ok && seen.contains(&value) && seen.contains(why), "{value}: {seen}");
        assert_eq!(code, Some(1), "{value}");
    }
    // Somebody else's server is no mistake, but it is said that the hub sees nothing of it; so it is without any variable.
    let (ok, seen, code) = base_url(&hub, &format!("http://{address}/v1")).await;
    assert!(ok && seen.contains("its calls do not pass through the hub"), "{seen}");
    assert_eq!(code, Some(0));
    let (findings, code) = doctor(&hub.url(""), &[], &[]).await;
    let (ok, seen) = of(&findings, "base url");
    assert!(ok && seen.starts_with("none is set"), "{findings:#?}");
    assert_eq!(code, Some(0));

    let right = hub.url("/proxy/openai/v1");
    let options = ["--upstream", "openai", "--base-url", &right, "--model", "m"];
    let set = [("OPENAI_BASE_URL", right.as_str()), ("OPENAI_API_KEY", KEY)];
    let (findings, code) = doctor(&hub.url(""), &options, &set).await;
    assert!(findings.iter().all(|finding| finding["ok"] == true), "{findings:#?}");
    assert_eq!(code, Some(0));
    let said: Vec<_> = findings.iter().filter(|finding| finding["check"] == "base url").collect();
    assert!(
        said.iter().any(|it| it["seen"].as_str().unwrap().contains("leads through the proxy")),
        "{said:#?}"
    );
    let seen = of(&findings, "recorded").1;
    let shown = seen.strip_prefix("the call is shown at ").unwrap().rsplit('/').next().unwrap();
    hub.json_until(&format!("/v1/conversations/{shown}"), |view| {
        view["messages"].to_string().contains("Count from one to twenty")
    })
    .await;
}
