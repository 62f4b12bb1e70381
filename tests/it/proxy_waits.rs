//! What becomes of a loop between its calls: while its tools are at work, and when the hub stops meanwhile.

use serde_json::{Value, json};
use tests::actor::{self, ANSWER, PLACES};
use tests::model::messages;
use tests::wait::{until, within};
use tests::{ScriptedServer, ServerStep, TestHub, raw};

use super::proxy::{END, STREAM, hub_before, piece};

/// Asks with `messages` in the conversation `c`, and gives the message that is answered.
async fn ask(hub: &TestHub, messages: &[Value]) -> Value {
    let body = json!({"model": "gpt-5", "messages": messages}).to_string();
    let answer = raw::call(hub.address(), &raw::post("/proxy/x/~c/v1/chat/completions", &[], &body)).await;
    assert_eq!(answer.status(), 200);
    let answer: Value = serde_json::from_slice(&answer.body).unwrap();
    answer["choices"][0]["message"].clone()
}

fn question() -> Vec<Value> {
    vec![json!({"role": "user", "content": "How is the weather?"})]
}

/// The messages with the results of all calls of `said`.
fn with_results(said: &Value) -> Vec<Value> {
    let results = said["tool_calls"].as_array().unwrap().iter();
    let results = results.map(|call| json!({"role": "tool", "tool_call_id": call["id"], "content": "sunny"}));
    question().into_iter().chain([said.clone()]).chain(results).collect()
}

/// Whether all calls of the first run are in `state`.
fn all_are(summary: &Value, state: &str) -> bool {
    let calls = summary["runs"][0]["tool_calls"].as_array();
    calls.is_some_and(|calls| calls.len() == PLACES.len() && calls.iter().all(|call| call["state"] == state))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_whose_tools_are_at_work_is_not_taken_for_lost() {
    let actor = actor::start().await;
    let options = ["--upstream", &actor.named("x"), "--stalled-after", "1", "--interrupted-after", "2"];
    let hub = TestHub::start_with(&options).await;
    let said = ask(&hub, &question()).await;
    hub.json_until("/v1/conversations/c?summary", |summary| all_are(summary, "executing")).await;
    // Somebody who spoke later than that and is silent is given up.
    let event = r#"{"k":"run.start","run":"r1"}"#;
    let posted = hub.request("POST", "/v1/conversations/other/events").body(event).send().await.unwrap();
    assert_eq!(posted.status(), 200);
    let lost = |summary: &Value| summary["runs"][0]["status"] == "interrupted";
    hub.json_until("/v1/conversations/other?summary", lost).await;
    let summary = hub.summary("c").await;
    assert!(all_are(&summary, "executing") && summary["runs"][0]["status"] == "running", "{summary:#}");
    ask(&hub, &with_results(&said)).await;
    let over = |summary: &Value| summary["runs"][0]["status"] == "complete";
    let summary = hub.json_until("/v1/conversations/c?summary", over).await;
    assert!(all_are(&summary, "complete"), "{summary:#}");
    assert_eq!((&summary["runs"][0]["text"], &summary["anomalies"]), (&json!(ANSWER), &json!([])));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_loop_goes_on_in_its_conversation_after_the_hub_was_stopped() {
    let actor = actor::start().await;
    let mut hub = TestHub::start_with(&["--upstream", &actor.named("x")]).await;
    let said = ask(&hub, &question()).await;
    hub.json_until("/v1/conversations/c?summary", |summary| all_are(summary, "executing")).await;
    assert_eq!(hub.stop().await, Some(0));
    hub.start_again().await;
    let summary = hub.summary("c").await;
    assert!(all_are(&summary, "interrupted") && summary["runs"][0]["status"] == "interrupted", "{summary:#}");
    assert_eq!(ask(&hub, &with_results(&said)).await["content"], ANSWER);
    let answered = |summary: &Value| {
        let runs = summary["runs"].as_array().unwrap();
        runs.last().is_some_and(|run| run["text"] == ANSWER && run["status"] == "complete")
    };
    let summary = hub.json_until("/v1/conversations/c?summary", answered).await;
    assert!(all_are(&summary, "complete"), "{summary:#}");
    assert_eq!(hub.json("/v1/conversations").await["total"], 1);
}

/// The state of the only run of `conversation`, and the code of its error.
async fn state_of(hub: &TestHub, conversation: &str) -> (Value, Value) {
    let run = hub.summary(conversation).await["runs"][0].clone();
    (run["status"].clone(), run["error"]["code"].clone())
}

#[tokio::test(flavor = "multi_thread")]
async fn calls_end_with_the_hub_that_is_killed_and_others_are_waited_for() {
    let actor = actor::start().await;
    let origin = ScriptedServer::start(|_| {
        vec![
            ServerStep::begin("200 OK", &STREAM),
            ServerStep::piece(&piece("Because of")),
            ServerStep::Silence,
        ]
    })
    .await;
    let upstreams = [actor.named("x"), origin.named("slow")];
    let options = ["--upstream", &upstreams[0], "--upstream", &upstreams[1]];
    // The hub waits for other publishers for as long as this test takes.
    let patience = ["--stalled-after", "0", "--interrupted-after", "3600"];
    let mut hub = TestHub::start_with(&[&options[..], &patience].concat()).await;
    let said = ask(&hub, &question()).await;
    hub.json_until("/v1/conversations/c?summary", |summary| all_are(summary, "executing")).await;
    let call = hub.request("POST", "/proxy/slow/~answering/v1/chat/completions").body(super::proxy::ASKS);
    let answer = call.send().await.unwrap();
    let begins = |summary: &Value| summary["runs"][0]["text"] == "Because of";
    hub.json_until("/v1/conversations/answering?summary", begins).await;
    // What is over stays what it was.
    let short = hub.request("POST", "/proxy/x/~over/v1/chat/completions");
    let short = short.body(json!({"model": "gpt-5", "messages": with_results(&said)}).to_string());
    assert_eq!(short.send().await.unwrap().status(), 200);
    hub.json_until("/v1/conversations/over?summary", |it| it["runs"][0]["status"] == "complete").await;
    let begun = r#"{"k":"run.start","run":"r1"}"#;
    // What is stored last is stored with all that came before.
    let posted =
        hub.request("POST", "/v1/conversations/other/events").header("fanlight-durability", "stored");
    let posted = posted.body(begun).send().await.unwrap();
    assert_eq!(posted.status(), 200);
    hub.restart().await;
    drop(answer);
    let lost = |summary: &Value| summary["runs"][0]["error"]["code"] == "publisher_lost";
    for conversation in ["c", "answering"] {
        hub.json_until(&format!("/v1/conversations/{conversation}?summary"), lost).await;
        assert_eq!(state_of(&hub, conversation).await.0, "interrupted");
    }
    assert_eq!(state_of(&hub, "other").await, (json!("running"), Value::Null));
    assert_eq!(state_of(&hub, "over").await.0, "complete");
    // The client whose tools were at work meanwhile goes on with its run.
    assert_eq!(ask(&hub, &with_results(&said)).await["content"], ANSWER);
    let over = |summary: &Value| summary["runs"][0]["status"] == "complete" && all_are(summary, "complete");
    let summary = hub.json_until("/v1/conversations/c?summary", over).await;
    assert_eq!(summary["runs"].as_array().unwrap().len(), 1, "{summary:#}");
}

/// What the conversation `c` has as messages.
fn said(summary: &Value) -> Vec<&str> {
    summary["messages"].as_array().unwrap().iter().map(|it| it["text"].as_str().unwrap()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_history_that_the_hub_has_is_not_told_again_after_it_was_stopped() {
    let actor = actor::start().await;
    let mut hub = TestHub::start_with(&["--upstream", &actor.named("x")]).await;
    let mut history =
        vec![json!({"role": "system", "content": "Be brief."}), json!({"role": "user", "content": "Hello?"})];
    let first = ask(&hub, &history).await;
    let are_over = |runs: usize| {
        move |summary: &Value| {
            let known = summary["runs"].as_array();
            known.is_some_and(|all| all.len() == runs && all.iter().all(|run| run["status"] == "complete"))
        }
    };
    hub.json_until("/v1/conversations/c?summary", are_over(1)).await;
    assert_eq!(hub.stop().await, Some(0));
    hub.start_again().await;
    history.extend([first, json!({"role": "user", "content": "And you?"})]);
    ask(&hub, &history).await;
    let summary = hub.json_until("/v1/conversations/c?summary", are_over(2)).await;
    assert_eq!(said(&summary), ["Be brief.", "Hello?", "And you?"], "{summary:#}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_conversation_that_another_publisher_filled_is_not_told_a_history() {
    let actor = actor::start().await;
    let hub = TestHub::start_with(&["--upstream", &actor.named("x")]).await;
    let events = concat!(
        r#"{"k":"message","message":"m1","role":"user","text":"Hello?"}"#,
        "\n",
        r#"{"k":"run.start","run":"r1","title":"Theirs"}"#,
        "\n",
        r#"{"k":"run.end","run":"r1","status":"complete"}"#
    );
    let posted = hub.request("POST", "/v1/conversations/c/events").body(events).send().await.unwrap();
    assert_eq!(posted.status(), 200);
    let history = [
        json!({"role": "user", "content": "Hello?"}),
        json!({"role": "assistant", "content": "Hello."}),
        json!({"role": "user", "content": "And you?"}),
    ];
    ask(&hub, &history).await;
    let answered = |summary: &Value| summary["runs"][1]["status"] == "complete";
    let summary = hub.json_until("/v1/conversations/c?summary", answered).await;
    assert_eq!(said(&summary), ["Hello?", "And you?"], "{summary:#}");
    assert_eq!(hub.json("/v1/conversations").await["conversations"][0]["title"], "Theirs");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_loop_goes_on_before_the_body_of_its_answer_is_over() {
    let origin = ScriptedServer::start(|asked| {
        let is_first = messages(asked).len() == 1;
        let said = ServerStep::piece(&piece(if is_first { "Hi." } else { "Bye." }));
        let mut steps = vec![ServerStep::begin("200 OK", &STREAM), said, ServerStep::piece(END)];
        steps.extend(is_first.then_some(ServerStep::Wait));
        steps.push(ServerStep::end(&[]));
        steps
    })
    .await;
    let hub = hub_before(&origin).await;
    let ask = |messages: Value| {
        let body = json!({"model": "m", "stream": true, "messages": messages}).to_string();
        raw::post("/proxy/x/v1/chat/completions", &[("authorization", "Bearer k")], &body)
    };
    let mut wire = raw::connect(hub.address()).await;
    wire.send(&ask(json!([{"role": "user", "content": "Hello?"}]))).await;
    within("the head", wire.head()).await.unwrap();
    for said in [piece("Hi."), END.to_vec()] {
        assert_eq!(within("a piece", wire.piece()).await, Some(said));
    }
    // The client has all that it wants.
    let history = json!([{"role": "user", "content": "Hello?"}, {"role": "assistant", "content": "Hi."},
        {"role": "user", "content": "Goodbye."}]);
    let answer = raw::call(hub.address(), &ask(history)).await;
    assert_eq!(answer.body, [piece("Bye."), END.to_vec()].concat());
    let are_over = |list: &Value| {
        let rows = list["conversations"].as_array().unwrap();
        rows.iter().all(|row| row["state"] == "complete")
            && rows.iter().filter_map(|row| row["runs"].as_u64()).sum::<u64>() == 2
    };
    let list = hub.json_until("/v1/conversations", are_over).await;
    assert_eq!(list["conversations"].as_array().unwrap().len(), 1, "{list:#}");
    origin.go_on();
    assert_eq!(within("the end", wire.piece()).await, Some(Vec::new()));
    until("the recording to end", async || (hub.number("proxy_recording").await == 0).then_some(())).await;
    let conversation = list["conversations"][0]["conversation"].as_str().unwrap();
    assert_eq!(hub.summary(conversation).await["anomalies"], json!([]));
}
