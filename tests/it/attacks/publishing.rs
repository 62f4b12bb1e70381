//! Publishing more than one was let: in the name of another publisher, events of other kinds, by another door; and what becomes of a run
//! whose end its publisher may not say.

use serde_json::{Value, json};
use tests::TestHub;
use tests::wait::until;
use tests::wire::WebSocketWire;

use crate::access::{get, guarded, refusal, tell};

const GRANT: &str = "publish(as=ci-*,kind=status|run.start):ci-*";

fn not_granted() -> (u16, String) {
    (403, "publish_not_granted".to_owned())
}

/// What the hub answers to these events over HTTP, under a publisher id or none.
async fn post(hub: &TestHub, token: &str, publisher: Option<&str>, events: &Value) -> reqwest::Response {
    let mut request = hub.request("POST", "/v1/conversations/ci-1/events").bearer_auth(token);
    if let Some(publisher) = publisher {
        request = request.header("fanlight-publisher", publisher);
    }
    request.body(events.to_string()).send().await.unwrap()
}

/// What the hub answers to a frame with these events.
async fn publish(wire: &mut WebSocketWire, publisher: Option<&str>, events: &Value) -> Value {
    let mut frame = json!({"t": "pub", "id": 1, "conv": "ci-1", "durability": "memory", "events": events});
    if let Some(publisher) = publisher {
        frame["pid"] = publisher.into();
    }
    wire.send_text(frame.to_string()).await;
    serde_json::from_str(&wire.text().await.unwrap()).unwrap()
}

async fn greeted(hub: &TestHub, token: &str) -> WebSocketWire {
    let mut wire = WebSocketWire::connect_in_silence(hub.address()).await;
    wire.send_text(format!(r#"{{"t":"hello","versions":["1"],"token":"{token}"}}"#)).await;
    assert!(wire.text().await.unwrap().contains("welcome"));
    wire
}

/// Attacks, each with the word that its refusal names.
fn attacks() -> [(Option<&'static str>, Value, &'static str); 5] {
    let status = json!({"k": "status", "run": "r", "text": "forged words"});
    let message = json!({"k": "message", "run": "r", "message": "m", "role": "user", "text": "forged words"});
    let forged = json!({"k": "status", "run": "r", "text": "forged words", "publisher": "ann"});
    [
        (Some("ann"), json!([status]), "ann"),
        (Some("CI-7"), json!([status]), "CI-7"),
        (None, json!([status]), "publisher id"),
        (Some("ci-7"), json!([status, message]), "message"),
        (Some("ci-7"), json!([forged]), "ann"),
    ]
}

#[tokio::test(flavor = "multi_thread")]
async fn attack_publishing_in_the_name_of_others_and_what_was_not_granted() {
    let hub = guarded().await;
    let ci = hub.token_for("ci", &[GRANT]).await;
    let reader = hub.token_for("reader", &["view:*"]).await;
    let mut wire = greeted(&hub, &ci).await;
    for (publisher, events, named) in attacks() {
        let numbered = publisher.map(|publisher| format!("{publisher}/1/1"));
        let answer = post(&hub, &ci, numbered.as_deref(), &events).await;
        assert_eq!(answer.status(), 403, "{publisher:?} {events}");
        let said: Value = answer.json().await.unwrap();
        assert_eq!(said["code"], "publish_not_granted");
        assert!(said["detail"].as_str().unwrap().contains(named), "{said}");
        let said = publish(&mut wire, publisher, &events).await;
        assert_eq!((&said["t"], &said["code"]), (&json!("error"), &json!("publish_not_granted")), "{events}");
        assert!(said["message"].as_str().unwrap().contains(named), "{said}");
    }
    let elsewhere = tell(&hub, &ci, "other", "forged words").await;
    assert_eq!(
        refusal(elsewhere).await,
        (403, "forbidden".to_owned()),
        "no grant is about that conversation"
    );
    // What it may, it can, by both doors, and nothing else was taken: not a part of a frame either.
    let status = json!([{"k": "status", "run": "r", "text": "true words"}]);
    assert!(post(&hub, &ci, Some("ci-7/1/1"), &status).await.status().is_success());
    assert_eq!(publish(&mut wire, Some("ci-8"), &status).await["t"], "ack");
    let seen = get(&hub, &reader, "/v1/conversations/ci-1").await.text().await.unwrap();
    assert!(seen.contains("true words") && !seen.contains("forged words"), "{seen}");
}

#[tokio::test(flavor = "multi_thread")]
async fn without_the_limit_of_a_grant_each_of_these_is_taken() {
    let hub = guarded().await;
    let all = hub.token_for("all", &["publish:ci-*"]).await;
    let mut wire = greeted(&hub, &all).await;
    for (life, (publisher, events, _)) in attacks().into_iter().enumerate() {
        let numbered = publisher.map(|publisher| format!("{publisher}/{life}/1"));
        let answer = post(&hub, &all, numbered.as_deref(), &events).await;
        assert!(answer.status().is_success(), "{publisher:?} {events}: {}", answer.text().await.unwrap());
        assert_eq!(publish(&mut wire, None, &events).await["t"], "ack", "{events}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn attack_publishing_what_was_not_granted_by_another_door() {
    let hub = guarded().await;
    let named = hub.token_for("named", &[GRANT]).await;
    let kinds = hub.token_for("kinds", &["publish(kind=run.*|part.*):*"]).await;
    let ingest = async |token: &str, body: &str| {
        let request = hub.request("POST", "/v1/ingest/openai-chat/ci-1").bearer_auth(token);
        refusal(request.body(body.to_owned()).send().await.unwrap()).await
    };
    let chunk = |delta: Value| {
        let choice = json!({"index": 0, "delta": delta, "finish_reason": null});
        format!(
            "data: {}\n\n",
            json!({"id": "a", "object": "chat.completion.chunk", "model": "m", "choices": [choice]})
        )
    };
    let text = chunk(json!({"role": "assistant", "content": "words"}));
    let call =
        json!({"index": 0, "id": "t", "type": "function", "function": {"name": "f", "arguments": "{}"}});
    let call = chunk(json!({"role": "assistant", "tool_calls": [call]}));
    assert_eq!(ingest(&named, &text).await, not_granted(), "a stream has no publisher id");
    assert_eq!(ingest(&kinds, &call).await, not_granted(), "calls are no texts");
    let taken = ingest(&kinds, &format!("{text}data: [DONE]\n\n")).await;
    assert_eq!(taken, (200, String::new()), "texts are");
    for token in [&named, &kinds] {
        let spans =
            hub.request("POST", "/v1/traces").bearer_auth(token).header("content-type", "application/json");
        assert_eq!(refusal(spans.body(r#"{"resourceSpans":[]}"#).send().await.unwrap()).await.0, 403);
        let call = hub.request("POST", "/proxy/openai/v1/chat/completions").header("fanlight-token", token);
        let call = call.header("fanlight-conversation", "ci-1").body("{}").send().await.unwrap();
        assert_eq!(call.status(), 403, "through the proxy");
        let import = hub.request("PUT", "/v1/conversations/ci-1/events").bearer_auth(token).body("{}");
        assert_eq!(refusal(import.send().await.unwrap()).await, (403, "forbidden".to_owned()), "as a file");
    }
}

/// A piece of an answer in OpenAI's words.
fn words(delta: &Value) -> String {
    let choice = json!({"index": 0, "delta": delta, "finish_reason": null});
    let chunk = json!({"id": "a", "object": "chat.completion.chunk", "model": "m", "choices": [choice]});
    format!("data: {chunk}\n\n")
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_whose_stream_breaks_off_ends_at_once_though_its_publisher_may_not_say_so() {
    let hub = guarded().await;
    let reader = hub.token_for("reader", &["view:*"]).await;
    let kinds = hub.token_for("kinds", &["publish(kind=run.start|part.*):*"]).await;
    let bearer = format!("Bearer {kinds}");
    // By default the hub waits 15 s before it calls such a run stalled, and 5 min before it ends it.
    let run = async |conversation: &str, is: &dyn Fn(&Value) -> bool| {
        let path = format!("/v1/conversations/{conversation}?summary");
        until("the run", async || {
            let summary: Value = get(&hub, &reader, &path).await.json().await.ok()?;
            Some(summary["runs"][0].clone()).filter(|run| is(run))
        })
        .await
    };
    let begun = async |conversation: &str, run_named: Option<&str>| {
        let mut headers = vec![("authorization", bearer.as_str())];
        headers.extend(run_named.map(|name| ("fanlight-run", name)));
        let mut body = hub.ingest_with("openai-chat", conversation, &headers);
        body.write(words(&json!({"role": "assistant", "content": "Once upon"}))).await;
        run(conversation, &|run| run["text"] == "Once upon").await;
        body
    };
    let lost = |run: &Value| run["status"] == "interrupted" && run["error"]["code"] == "publisher_lost";
    begun("breaks-off", None).await.abort().await;
    run("breaks-off", &lost).await;
    // The same where a kind that comes is refused, be it in the middle or at the end.
    let mut refused = begun("refused", None).await;
    let call =
        json!({"index": 0, "id": "t", "type": "function", "function": {"name": "f", "arguments": "{}"}});
    refused.write(words(&json!({"tool_calls": [call]}))).await;
    assert_eq!(refused.finish().await.1["code"], "publish_not_granted");
    run("refused", &lost).await;
    let mut whole = begun("whole", None).await;
    whole.write("data: [DONE]\n\n").await;
    assert_eq!(whole.finish().await.1["code"], "publish_not_granted");
    run("whole", &lost).await;
    // A run with a name may go on in another body: it is waited for.
    let mut named = begun("named", Some("r")).await;
    named.write("data: [DONE]\n\n").await;
    assert_eq!(named.finish().await.1["code"], "publish_not_granted");
    run("named", &|run| run["status"] == "running").await;
}
