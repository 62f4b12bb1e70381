//! Agents that the hub runs itself: a model that is asked and asked again, stopped, cut off; a hub that dies.

use serde_json::{Value, json};
pub(crate) use tests::model::{answer, messages};
use tests::wait::until;
use tests::{ScriptedServer, ServerStep, TestHub};

use super::proxy::{END, STREAM, piece};

/// A hub with the agent `helper`, whose model is at `origin`. `more` is put into its table.
pub(crate) async fn hub_with(origin: &ScriptedServer, more: &str) -> (TestHub, tempfile::TempDir) {
    hub_with_tools(origin, more, "").await
}

/// The same, with `tables` behind.
pub(crate) async fn hub_with_tools(
    origin: &ScriptedServer,
    more: &str,
    tables: &str,
) -> (TestHub, tempfile::TempDir) {
    let place = tempfile::tempdir().unwrap();
    let file = place.path().join("fanlight.toml");
    let url = format!("http://{}/v1", origin.address());
    let settings = format!(
        "[agents.helper]\nkind = \"runner\"\nprovider = \"openai\"\nurl = \"{url}\"\nmodel = \"m\"\n{more}\n{tables}\n"
    );
    std::fs::write(&file, settings).unwrap();
    let hub = TestHub::start_with(&["--config", file.to_str().unwrap()]).await;
    (hub, place)
}

/// Commands something in the conversation `c`; the status and the answer.
pub(crate) async fn command(hub: &TestHub, body: Value) -> (u16, Value) {
    let path = "/v1/conversations/c/commands";
    let answer = hub.request("POST", path).body(body.to_string()).send().await.unwrap();
    (answer.status().as_u16(), answer.json().await.unwrap())
}

/// Says something to the helper.
pub(crate) async fn say(hub: &TestHub, text: &str) -> Value {
    let (status, done) =
        command(hub, json!({"id": text, "command": "say", "agent": "helper", "text": text})).await;
    assert_eq!(status, 200, "{done}");
    done
}

/// The runs of the conversation `c`, once they are as `wanted`.
pub(crate) async fn runs(hub: &TestHub, wanted: impl Fn(&[Value]) -> bool) -> Vec<Value> {
    let of = |summary: &Value| summary["runs"].as_array().cloned().unwrap_or_default();
    let summary = hub.json_until("/v1/conversations/c?summary", |summary| wanted(&of(summary))).await;
    of(&summary)
}

/// The newest run, once it is over.
pub(crate) async fn last_run(hub: &TestHub) -> Value {
    let is_over = |runs: &[Value]| runs.last().is_some_and(|run| run["status"] != "running");
    runs(hub, is_over).await.pop().unwrap()
}

/// The events of the conversation `c`.
pub(crate) async fn events(hub: &TestHub) -> Vec<Value> {
    let request = hub.request("GET", "/v1/conversations/c/events").header("accept", "application/x-ndjson");
    let body = request.send().await.unwrap().text().await.unwrap();
    body.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn an_agent_answers_and_knows_what_was_said() {
    let origin = ScriptedServer::start(|asked| answer(&format!("{} messages", messages(asked).len()))).await;
    let (hub, _place) = hub_with(&origin, "system = \"Be brief.\"\nrequest = { temperature = 0.5 }").await;
    let done = say(&hub, "Hello").await;
    let run = last_run(&hub).await;
    assert_eq!((&run["id"], &run["text"]), (&done["run"], &json!("2 messages")));
    assert_eq!((run["status"].as_str(), run["finish_reason"].as_str()), (Some("complete"), Some("stop")));
    let machine = rustix::system::uname();
    let list = hub.json("/v1/conversations").await;
    assert_eq!(list["conversations"][0]["host"].as_str(), machine.nodename().to_str().ok(), "{list}");
    say(&hub, "And again").await;
    let all = runs(&hub, |runs| runs.len() == 2 && runs[1]["status"] == "complete").await;
    assert_eq!(all[1]["text"], "4 messages");
    let asked = origin.asked();
    let body: Value = serde_json::from_slice(&asked[1].body).unwrap();
    let said = json!([
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "Hello"},
        {"role": "assistant", "content": "2 messages"},
        {"role": "user", "content": "And again"},
    ]);
    assert_eq!(
        (&body["messages"], &body["temperature"], &body["stream"]),
        (&said, &json!(0.5), &json!(true))
    );
    assert!(asked[1].start.contains("/v1/chat/completions"), "{}", asked[1].start);
    assert_eq!(asked[1].header("authorization"), None, "no key was set");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_command_that_comes_again_is_not_done_again() {
    let origin = ScriptedServer::start(|_| answer("Once")).await;
    let (hub, _place) = hub_with(&origin, "").await;
    let first = say(&hub, "Hello").await;
    assert_eq!(say(&hub, "Hello").await, first);
    last_run(&hub).await;
    assert_eq!(origin.asked().len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_be_done_is_refused_by_name() {
    let origin = ScriptedServer::start(|_| answer("Hello")).await;
    let elsewhere = "[agents.far]\nkind = \"agno\"\nmodel = \"weather\"\nurl = \"http://127.0.0.1:9\"";
    let (hub, _place) = hub_with_tools(&origin, "", elsewhere).await;
    let list = json!([
        {"name": "far", "kind": "agno", "dialect": "agno", "model": "weather", "files": []},
        {"name": "helper", "kind": "runner", "dialect": "runner", "model": "m", "files": ["image", "pdf", "text"]},
    ]);
    assert_eq!(hub.json("/v1/agents").await["agents"], list);
    let refusal = async |body: Value| {
        let (status, problem) = command(&hub, body).await;
        (status, problem["code"].as_str().unwrap().to_owned())
    };
    let say = |agent: &str, text: &str| json!({"id": "1", "command": "say", "agent": agent, "text": text});
    assert_eq!(refusal(say("nobody", "x")).await, (404, "unknown_agent".into()));
    assert_eq!(refusal(say("helper", " ")).await, (400, "bad_request".into()));
    assert_eq!(refusal(json!({"id": "1", "command": "dance"})).await, (400, "bad_request".into()));
    assert_eq!(refusal(json!({"id": "1", "command": "stop"})).await, (404, "unknown_conversation".into()));
    self::say(&hub, "Hello").await;
    last_run(&hub).await;
    assert_eq!(refusal(json!({"id": "1", "command": "stop"})).await, (409, "not_running".into()));
    assert_eq!(refusal(json!({"id": "1", "command": "retry"})).await, (409, "not_resumable".into()));
    assert_eq!(
        refusal(json!({"id": "1", "command": "approve", "tool": "t"})).await,
        (409, "not_running".into())
    );
    // What was refused may be tried again with its id.
    assert_eq!(command(&hub, say("helper", "Hello")).await.0, 200);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_that_is_stopped_lets_go_of_its_model() {
    let origin = ScriptedServer::start(|_| {
        vec![ServerStep::begin("200 OK", &STREAM), ServerStep::piece(&piece("Well")), ServerStep::Silence]
    })
    .await;
    let (hub, _place) = hub_with(&origin, "").await;
    let done = say(&hub, "Hello").await;
    runs(&hub, |runs| runs.first().is_some_and(|run| run["text"] == "Well")).await;
    let (status, stopped) = command(&hub, json!({"id": "s", "command": "stop"})).await;
    assert_eq!((status, &stopped["run"]), (200, &done["run"]));
    let run = last_run(&hub).await;
    assert_eq!((run["status"].as_str(), run["text"].as_str()), (Some("cancelled"), Some("Well")));
    origin.until_left().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_said_while_an_agent_works_is_answered_too() {
    let origin = ScriptedServer::start(|asked| {
        if messages(asked).len() > 1 {
            return answer("Both");
        }
        vec![
            ServerStep::begin("200 OK", &STREAM),
            ServerStep::piece(&piece("One")),
            ServerStep::Wait,
            ServerStep::piece(END),
            ServerStep::end(&[]),
        ]
    })
    .await;
    let (hub, _place) = hub_with(&origin, "").await;
    let first = say(&hub, "Hello").await;
    runs(&hub, |runs| runs.first().is_some_and(|run| run["text"] == "One")).await;
    let second = say(&hub, "One more thing").await;
    assert_eq!(first["run"], second["run"], "it is at work, and will hear of it");
    origin.go_on();
    let all = runs(&hub, |runs| runs.len() == 2 && runs[1]["status"] == "complete").await;
    assert_eq!((&all[0]["text"], &all[1]["text"]), (&json!("One"), &json!("Both")));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_model_that_is_busy_is_asked_again_and_the_person_is_told() {
    let busy = br#"{"error":{"message":"Overloaded","type":"overloaded_error","code":"overloaded"}}"#;
    let origin = {
        let times = std::sync::atomic::AtomicU32::new(0);
        ScriptedServer::start(move |_| {
            let json = [("content-type", "application/json"), ("retry-after-ms", "20")];
            match times.fetch_add(1, std::sync::atomic::Ordering::Relaxed) {
                0 => ServerStep::answer("503 Service Unavailable", &json, busy),
                1 => vec![
                    ServerStep::begin("200 OK", &STREAM),
                    ServerStep::piece(&piece("The solution involves")),
                    ServerStep::Reset,
                ],
                _ => answer(" patience."),
            }
        })
        .await
    };
    let (hub, _place) = hub_with(&origin, "").await;
    say(&hub, "Hello").await;
    let run = last_run(&hub).await;
    assert_eq!(run["text"], "The solution involves patience.");
    assert_eq!((run["status"].as_str(), run["error"].is_null()), (Some("complete"), true));
    let asked = messages(&origin.asked()[2]);
    assert_eq!(asked[1], json!({"role": "assistant", "content": "The solution involves"}));
    assert_eq!(asked[2], json!({"role": "system", "content": "[Previous response was interrupted at ?%]"}));
    let events = events(&hub).await;
    let hint = events.iter().find(|event| event["k"] == "status").unwrap();
    assert_eq!(hint["text"], "retrying model in 1 s (2/5): Overloaded");
    let partial = events.iter().find(|event| event["k"] == "custom").unwrap();
    assert_eq!((&partial["name"], &partial["value"]["is_partial"]), (&json!("partial_answer"), &json!(true)));
}

#[tokio::test(flavor = "multi_thread")]
async fn who_does_not_want_to_wait_has_a_busy_model_asked_at_once() {
    let times = std::sync::atomic::AtomicU32::new(0);
    let origin =
        ScriptedServer::start(move |_| match times.fetch_add(1, std::sync::atomic::Ordering::Relaxed) {
            0 => {
                let busy = br#"{"error":{"message":"Overloaded","code":"overloaded"}}"#;
                let json = [("content-type", "application/json"), ("retry-after", "600")];
                ServerStep::answer("503 Service Unavailable", &json, busy)
            }
            _ => answer("Here"),
        })
        .await;
    let (hub, _place) = hub_with(&origin, "").await;
    let done = say(&hub, "Hello").await;
    let hint = "retrying model in 600 s (2/5): Overloaded";
    hub.json_until("/v1/conversations", |list| list["conversations"][0]["activity"] == hint).await;
    let (status, came) = command(&hub, json!({"id": "now", "command": "retry"})).await;
    assert_eq!((status, &came["run"]), (200, &done["run"]));
    let run = last_run(&hub).await;
    assert_eq!((run["status"].as_str(), run["text"].as_str()), (Some("complete"), Some("Here")));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_conversation_that_is_too_long_for_its_model_is_named() {
    let origin = ScriptedServer::start(|_| {
        let body = br#"{"error":{"message":"This model's maximum context length is 8 tokens.","code":"context_length_exceeded"}}"#;
        ServerStep::answer("400 Bad Request", &[("content-type", "application/json")], body)
    })
    .await;
    let (hub, _place) = hub_with(&origin, "").await;
    say(&hub, "Hello").await;
    let run = last_run(&hub).await;
    assert_eq!(
        (run["status"].as_str(), run["error"]["code"].as_str()),
        (Some("error"), Some("context_limit"))
    );
    assert_eq!(origin.asked().len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_that_failed_goes_on_when_it_is_told_to() {
    let times = std::sync::atomic::AtomicU32::new(0);
    let origin =
        ScriptedServer::start(move |_| match times.fetch_add(1, std::sync::atomic::Ordering::Relaxed) {
            0 => ServerStep::answer("401 Unauthorized", &[], b"{}"),
            _ => answer("Now it works."),
        })
        .await;
    let (hub, _place) = hub_with(&origin, "").await;
    let done = say(&hub, "Hello").await;
    assert_eq!(last_run(&hub).await["error"]["code"], "http_401");
    let (status, again) = command(&hub, json!({"id": "r", "command": "retry"})).await;
    assert_eq!((status, &again["run"]), (200, &done["run"]));
    let run = runs(&hub, |runs| runs[0]["status"] == "complete").await.remove(0);
    assert_eq!((&run["text"], &run["error"]), (&json!("Now it works."), &Value::Null));
    assert_eq!(messages(&origin.asked()[1]).len(), 1, "nothing was said that could have broken off");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_message_is_edited_and_run_again_in_a_fork() {
    let origin =
        ScriptedServer::start(|asked| answer(messages(asked).last().unwrap()["content"].as_str().unwrap()))
            .await;
    let (hub, _place) = hub_with(&origin, "").await;
    say(&hub, "One").await;
    last_run(&hub).await;
    let said = say(&hub, "Two").await;
    runs(&hub, |runs| runs.len() == 2 && runs[1]["status"] == "complete").await;
    let before = hub.view_hash("c").await;
    let at = &said["after"]["seq"];
    let fork =
        json!({"id": "f", "command": "fork", "at": at, "into": "d", "agent": "helper", "text": "Three"});
    let (status, done) = command(&hub, fork.clone()).await;
    assert_eq!((status, &done["conversation"]), (200, &json!("d")), "{done}");
    assert_eq!(command(&hub, fork).await.1, done, "it is done once");
    let edited =
        hub.json_until("/v1/conversations/d?summary", |it| it["runs"][1]["status"] == "complete").await;
    assert_eq!((&edited["runs"][0]["text"], &edited["runs"][1]["text"]), (&json!("One"), &json!("Three")));
    assert_eq!(edited["messages"].as_array().unwrap().len(), 2);
    assert_eq!(hub.view_hash("c").await, before, "what was stays as it was");
    let from = json!({"conversation": "c", "epoch": said["after"]["epoch"], "seq": at});
    assert_eq!(hub.json("/v1/conversations/d").await["forked_from"], from);
    let (status, done) = command(&hub, json!({"id": "g", "command": "fork", "at": 3})).await;
    let name = done["conversation"].as_str().unwrap();
    assert!(status == 200 && name.starts_with("c-fork-"), "{done}");
    let cut = hub.json(&format!("/v1/conversations/{name}?summary")).await;
    assert_eq!(cut["runs"][0]["status"], "interrupted");
    let first = hub.json("/v1/conversations/c").await["items"][2]["message"].clone();
    let fork = json!({"id": "i", "command": "fork", "before": first, "into": "e"});
    assert_eq!(command(&hub, fork).await.0, 200);
    let cut = hub.json("/v1/conversations/e?summary").await;
    assert_eq!((cut["runs"].as_array().unwrap().len(), cut["runs"][0]["text"].as_str()), (1, Some("One")));
    let refused = command(&hub, json!({"id": "j", "command": "fork", "before": "nobody"})).await;
    assert_eq!((refused.0, refused.1["code"].as_str()), (400, Some("bad_request")));
    let refused = command(&hub, json!({"id": "h", "command": "fork", "into": "d"})).await;
    assert_eq!((refused.0, refused.1["code"].as_str()), (409, Some("conversation_exists")));
}

/// One that says half of its answer, and the other half when it is asked again.
async fn halves() -> ScriptedServer {
    ScriptedServer::start(|asked| {
        if messages(asked).iter().any(|message| message["role"] == "assistant") {
            return answer(" and the other half.");
        }
        vec![ServerStep::begin("200 OK", &STREAM), ServerStep::piece(&piece("One half")), ServerStep::Silence]
    })
    .await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_goes_on_when_its_hub_was_killed() {
    let origin = halves().await;
    let (mut hub, _place) = hub_with(&origin, "").await;
    let done = say(&hub, "Hello").await;
    stored(&hub, "One half").await;
    hub.restart().await;
    let run = last_run(&hub).await;
    assert_eq!((&run["id"], run["status"].as_str()), (&done["run"], Some("complete")));
    assert_eq!(run["text"], "One half and the other half.");
    assert_eq!(
        messages(&origin.asked()[1]).last().unwrap()["content"],
        "[Previous response was interrupted at ?%]"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_is_interrupted_when_its_hub_stops_and_goes_on_when_it_is_back() {
    let origin = halves().await;
    let (mut hub, _place) = hub_with(&origin, "").await;
    say(&hub, "Hello").await;
    stored(&hub, "One half").await;
    assert_eq!(hub.stop().await, Some(0));
    hub.start_again().await;
    let run = last_run(&hub).await;
    assert_eq!(
        (run["status"].as_str(), run["text"].as_str()),
        (Some("complete"), Some("One half and the other half."))
    );
}

/// Waits until the log has the text of the first run.
async fn stored(hub: &TestHub, text: &str) {
    until("the text to be stored", async || {
        let run = hub.summary("c").await["runs"][0].clone();
        (run["text"] == text && hub.number("log_queue_bytes").await == 0).then_some(())
    })
    .await;
}
