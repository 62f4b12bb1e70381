//! Questions stand above their answers, on the page and in a terminal, in whatever order a program sends them: the cases in which they
//! once stood below. Everything goes over the real hub.

use std::process::Stdio;

use serde_json::{Value, json};
use tests::browser::DESKTOP;
use tests::hub::binary;
use tests::model::answer;
use tests::wait::{until, within};
use tests::{BrowserPage, TestHub};
use tokio::process::Command;

use crate::scene::asking;

/// The words of the conversation, in the order in which they stand one below the other.
const WORDS: &str = "return document.getElementById('transcript')?.innerText ?? ''";

/// Whether `words` stand in `text` in this order, each once.
fn in_order(text: &str, words: &[&str]) -> bool {
    let places: Vec<_> =
        words.iter().map(|word| text.match_indices(word).map(|(at, _)| at).collect::<Vec<_>>()).collect();
    places.iter().all(|places| places.len() == 1) && places.is_sorted()
}

/// Looks at a conversation on the page, then at what a terminal that comes to it is shown of it.
async fn stands_in_order(hub: &TestHub, conversation: &str, words: &[&str]) {
    let page = BrowserPage::open(DESKTOP).await;
    page.goto(&hub.url(&format!("/c/{conversation}"))).await;
    page.run_until(WORDS, |text| {
        text.as_str().is_some_and(|text| words.iter().all(|word| text.contains(word)))
    })
    .await;
    let text = page.run(WORDS).await;
    assert!(in_order(text.as_str().unwrap_or_default(), words), "{conversation}: {words:?} in {text}");
    page.close().await;
}

/// What `fanlight tail` says of a conversation from its beginning on until it is over.
async fn tail_says(hub: &TestHub, conversation: &str) -> String {
    let mut tail = Command::new(binary());
    tail.args(["tail", conversation, "--until", "run.end", "--url", &hub.url("")])
        .stdout(Stdio::piped())
        .kill_on_drop(true);
    let output = within("the end of tail", tail.output()).await.expect("the program runs");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// A program that begins its run and then says what was asked, as many do that have the question in the run's input.
#[tokio::test(flavor = "multi_thread")]
async fn a_question_that_is_published_after_its_run_began_stands_above_the_answer() {
    let hub = TestHub::start().await;
    let mut publisher = hub.publisher("late").await;
    let lines = [
        json!({"k": "run.start", "run": "r", "title": "Weather"}),
        json!({"k": "message", "message": "m", "role": "user", "text": "How warm is Lisbon?"}),
        json!({"k": "part.start", "run": "r", "part": "p", "kind": "text"}),
        json!({"k": "part.delta", "run": "r", "part": "p", "text": "It has 21 degrees."}),
    ];
    let words = ["How warm is Lisbon?", "It has 21 degrees."];
    publisher.says(&lines.map(|line| line.to_string()).join("\n")).await;
    stands_in_order(&hub, "late", &words).await;
    // A terminal that comes later gets the state, not the events.
    until("the page is gone", async || Some(hub.viewers("late").await).filter(|viewers| *viewers == 0)).await;
    let (said, ()) = tokio::join!(tail_says(&hub, "late"), async {
        until("tail watches", async || Some(hub.viewers("late").await).filter(|viewers| *viewers > 0)).await;
        publisher.says("{\"k\":\"part.end\",\"run\":\"r\",\"part\":\"p\"}\n{\"k\":\"run.end\",\"run\":\"r\",\"status\":\"complete\"}").await;
    });
    assert!(in_order(&said, &words), "{said}");
    stands_in_order(&hub, "late", &words).await;
}

/// A span of the trace `0b0b…`, in OTLP's JSON.
fn span(number: u8, parent: &str, times: (u64, u64), facts: &Value) -> Value {
    let told = facts.as_object().expect("an object").iter();
    let attributes: Vec<_> =
        told.map(|(key, value)| json!({"key": key, "value": {"stringValue": value}})).collect();
    json!({
        "traceId": "0b".repeat(16), "spanId": format!("{number:02x}").repeat(8), "parentSpanId": parent,
        "name": format!("span {number}"), "attributes": attributes, "status": {},
        "startTimeUnixNano": (times.0 * 1_000_000).to_string(), "endTimeUnixNano": (times.1 * 1_000_000).to_string(),
    })
}

/// A trace has the question in the attributes of a model's span, which comes after the agent's span has begun its run.
#[tokio::test(flavor = "multi_thread")]
async fn the_question_of_a_trace_stands_above_the_answer() {
    let hub = TestHub::start().await;
    let spoken = |role: &str, text: &str| {
        json!([{"role": role, "parts": [{"type": "text", "content": text}]}]).to_string()
    };
    let agent = json!({"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "forecaster", "gen_ai.conversation.id": "traced"});
    let model = json!({"gen_ai.operation.name": "chat", "gen_ai.conversation.id": "traced", "gen_ai.response.model": "m",
        "gen_ai.input.messages": spoken("user", "How warm is Lisbon?"), "gen_ai.output.messages": spoken("assistant", "It has 21 degrees.")});
    let spans = [span(2, &"01".repeat(8), (10, 100), &model), span(1, "", (0, 110), &agent)];
    // The model's span is over first, and is sent first.
    for span in spans {
        let name = json!({"key": "service.name", "value": {"stringValue": "weather"}});
        let export = json!({"resourceSpans": [{"resource": {"attributes": [name]}, "scopeSpans": [{"scope": {"name": "t"}, "spans": [span]}]}]});
        let sent = hub
            .request("POST", "/v1/traces")
            .header("content-type", "application/json")
            .body(export.to_string())
            .send()
            .await;
        assert!(sent.expect("an answer").status().is_success());
    }
    stands_in_order(&hub, "traced", &["How warm is Lisbon?", "It has 21 degrees."]).await;
}

/// The reason of who rejects a call is a message; it stands behind the call, above what the agent says to it.
#[tokio::test(flavor = "multi_thread")]
async fn the_reason_of_a_rejection_stands_between_the_call_and_the_answer() {
    let (hub, _origin) = asking("rejected", || answer("Then not.")).await;
    let reject = json!({"id": "2", "command": "reject", "tool": "t", "text": "Not on a Friday"}).to_string();
    let sent = hub.request("POST", "/v1/conversations/rejected/commands").body(reject).send().await;
    let sent = sent.expect("an answer");
    assert!(sent.status().is_success(), "{sent:?}");
    hub.json_until("/v1/conversations/rejected?summary", |it| it.to_string().contains("Then not.")).await;
    stands_in_order(
        &hub,
        "rejected",
        &["Deploy billing", "I deploy it, if you agree.", "Not on a Friday", "Then not."],
    )
    .await;
}
