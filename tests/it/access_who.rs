//! Who did what stands in the conversation: with access control each command leaves the name of whoever gave it in its run.

use serde_json::{Value, json};
use tests::TestHub;
use tests::wait::until;

use super::access::get;
use super::runner_tools::{calling, hub};

const GUARDED: &str = r#"confirm = ["t__*"]

[access]
mode = "tokens"

[access.roles.guest]
hide = ["users"]
"#;

async fn commanded(hub: &TestHub, token: &str, body: Value) {
    let request =
        hub.request("POST", "/v1/conversations/c/commands").bearer_auth(token).body(body.to_string());
    let answer = request.send().await.unwrap();
    assert!(answer.status().is_success(), "{}", answer.text().await.unwrap());
}

/// Everything that a reader is told of the conversation, once it holds `what`.
async fn told(hub: &TestHub, token: &str, what: &str) -> String {
    until(what, async || {
        let text = get(hub, token, "/v1/conversations/c/export/jsonl").await.text().await.ok()?;
        text.contains(what).then_some(text)
    })
    .await
}

#[tokio::test(flavor = "multi_thread")]
async fn who_said_and_who_approved_stands_in_the_run_and_nobody_else_can_write_it_there() {
    let origin = calling(vec![("a", "echo", json!({"to": "prod"}))]).await;
    let (hub, _place) = hub(&origin, GUARDED).await;
    let ann = hub.token_for("ann", &["view,control,export:*"]).await;
    let bob = hub.token_for("bob", &["view,control,export:*"]).await;
    let guest =
        hub.token(&["create", "--name", "guest", "--role", "guest", "--grant", "view,export:*"]).await;
    commanded(&hub, &ann, json!({"id": "1", "command": "say", "agent": "helper", "text": "Hello"})).await;
    until("the question", async || {
        let view = get(&hub, &ann, "/v1/conversations/c").await.text().await.ok()?;
        view.contains("\"state\":\"approval\"").then_some(())
    })
    .await;
    commanded(&hub, &bob, json!({"id": "2", "command": "approve", "tool": "a"})).await;
    let told = told(&hub, &ann, r#""by":"bob","command":"approve","tool":"a""#).await;
    assert!(told.contains(r#""by":"ann","command":"say""#), "{told}");
    let notes = told.lines().filter(|line| line.contains("fanlight.command"));
    let of_hub = notes.clone().filter(|line| line.contains(r#""by_hub":true"#)).count();
    assert_eq!((notes.count(), of_hub), (2, 2), "each once, by the hub: {told}");
    let seen = until("the guest to be known", async || {
        let answer = get(&hub, &guest, "/v1/conversations/c/export/jsonl").await;
        let is_known = answer.status().is_success();
        answer.text().await.ok().filter(|_| is_known)
    })
    .await;
    assert!(!seen.contains("bob") && !seen.contains("\"ann\""), "a role that hides users: {seen}");
}

#[tokio::test(flavor = "multi_thread")]
async fn who_approved_with_other_arguments_is_said_to_have_edited_them() {
    let origin = calling(vec![("a", "echo", json!({"to": "prod"}))]).await;
    let (hub, _place) = hub(&origin, GUARDED).await;
    let ann = hub.token_for("ann", &["view,control,export:*"]).await;
    commanded(&hub, &ann, json!({"id": "1", "command": "say", "agent": "helper", "text": "Hello"})).await;
    until("the question", async || {
        let view = get(&hub, &ann, "/v1/conversations/c").await.text().await.ok()?;
        view.contains("\"state\":\"approval\"").then_some(())
    })
    .await;
    let other = json!({"id": "2", "command": "approve", "tool": "a", "arguments": {"to": "test"}});
    commanded(&hub, &ann, other).await;
    let told = told(&hub, &ann, r#""command":"approve""#).await;
    assert!(told.contains(r#""by":"ann","command":"approve","tool":"a","edited":true"#), "{told}");
    assert!(!told.contains(r#""command":"say","edited""#), "{told}");
}

#[tokio::test(flavor = "multi_thread")]
async fn without_access_control_nobody_is_named() {
    let origin = calling(vec![("a", "echo", json!({"to": "prod"}))]).await;
    let (hub, _place) = hub(&origin, "").await;
    super::runner::say(&hub, "Hello").await;
    super::runner_tools::called(&hub).await;
    let events = super::runner::events(&hub).await;
    assert!(events.iter().all(|event| event["name"] != "fanlight.command"));
}
