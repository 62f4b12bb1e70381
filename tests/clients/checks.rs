//! The package Schemathesis makes requests of the OpenAPI document, right ones and wrong ones, and compares what the hub answers with it: no
//! failure of the hub, no status, media type or field that the document does not name. Its requests are the same each time, by their seed.

use std::path::PathBuf;
use std::process::Output;

use serde_json::json;
use tests::wait::{patiently, until};
use tests::{ScriptedServer, ServerStep, TestHub, installed};

/// The seed of the requests.
const SEED: &str = "7";

/// Requests of each operation with fields by chance, beside those that try its bounds one by one.
const EXAMPLES: &str = "3";

/// What is looked at in each answer.
const CHECKS: &str =
    "not_a_server_error,status_code_conformance,content_type_conformance,response_schema_conformance";

/// Left out: streams without an end, waits, the second address of LangGraph's platform, and what calls servers that are named in the request.
const LEFT_OUT: &str = r"(/events|/stream.*|/ws|/join|/wait|/runs/wait|/runs/stream)$|^/compat/bernard|/mcp/validate|/models/fetch";

/// Fewest operations that are tried: a document that names few of them would be found right.
const OPERATIONS_MIN: usize = 90;

/// So that the bounds of one address and one principal, which the requests would cross, refuse nothing.
const SETTINGS: &str = "[access]\n[access.limits]\nfailed_logins_per_minute = 1000000\npublishes_per_second = 1000000\n\
                        searches_per_minute = 1000000\nconversations_per_minute = 1000000\n\
                        exports_per_minute = 1000000\nimports_per_minute = 1000000\n\
                        [access.roles.guest]\nhide = [\"thinking\", \"arguments\", \"results\", \"costs\", \"users\"]\n";

/// Runs it against the document at `url`, with `token` if there is one.
async fn checked(url: &str, token: Option<&str>) -> Output {
    let place = tempfile::tempdir().unwrap();
    let program: PathBuf = installed::python_program().with_file_name("schemathesis");
    let mut run = tokio::process::Command::new(program);
    // It keeps examples that failed beside it.
    run.current_dir(place.path()).kill_on_drop(true);
    run.args(["run", url, "--checks", CHECKS, "--exclude-path-regex", LEFT_OUT, "--seed", SEED]);
    run.args(["--phases", "coverage,fuzzing", "--max-examples", EXAMPLES, "--request-timeout", "30"]);
    run.args(["--continue-on-failure", "--no-color"]);
    if let Some(token) = token {
        run.args(["--header", &format!("Authorization: Bearer {token}")]);
    }
    patiently("Schemathesis", run.output()).await.unwrap()
}

/// Fails with what it says, where the hub answers otherwise than its document says or where too little was tried.
fn is_as_documented(output: &Output) {
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{said}\n{}", String::from_utf8_lossy(&output.stderr));
    let tested = said.lines().find_map(|line| line.trim().strip_prefix("Tested: ")?.parse::<usize>().ok());
    assert!(tested.is_some_and(|tested| tested >= OPERATIONS_MIN), "{tested:?} operations\n{said}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hub_without_access_control_answers_as_its_document_says() {
    let hub = TestHub::start().await;
    is_as_documented(&checked(&hub.url("/openapi.json"), None).await);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hub_answers_an_operator_as_its_document_says() {
    let hub = TestHub::start_with_settings(SETTINGS).await;
    let token = hub.token_for("operator", &["admin,view,publish,control,import,export:*"]).await;
    is_as_documented(&checked(&hub.url("/openapi.json"), Some(&token)).await);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hub_answers_a_viewer_with_a_role_as_its_document_says() {
    let hub = TestHub::start_with_settings(SETTINGS).await;
    let token = hub.token(&["create", "--name", "guest", "--grant", "view:*", "--role", "guest"]).await;
    until("the hub to know the token", async || {
        let asked = hub.request("GET", "/v1/access").bearer_auth(&token).send().await.ok()?;
        asked.status().is_success().then_some(())
    })
    .await;
    is_as_documented(&checked(&hub.url("/openapi.json"), Some(&token)).await);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_answers_otherwise_is_found() {
    let document = json!({
        "openapi": "3.1.0",
        "info": {"title": "t", "version": "1"},
        "paths": {"/a": {"get": {"responses": {"200": {"description": "ok"}}}}},
    });
    let server = ScriptedServer::start(move |asked| {
        let (status, body) = if asked.start.contains("/openapi.json") {
            ("200 OK", document.to_string())
        } else {
            ("500 Internal Server Error", String::from("{}"))
        };
        ServerStep::answer(status, &[("content-type", "application/json")], body.as_bytes())
    })
    .await;
    let output = checked(&format!("http://{}/openapi.json", server.address()), None).await;
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(!output.status.success() && said.contains("GET /a"), "{said}");
}
