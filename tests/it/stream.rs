//! Streams in foreign dialects, live.

use futures_util::StreamExt as _;
use tests::TestHub;
use tests::wait::within;

const BEGINNING: &str = r#"
    {"k":"run.start","run":"r","model":"m"}
    {"k":"part.start","run":"r","part":"p","kind":"text"}
    {"k":"part.delta","run":"r","part":"p","text":"Hel"}
    {"k":"part.delta","run":"r","part":"p","text":"lo"}
"#;

const END: &str = r#"
    {"k":"part.end","run":"r","part":"p"}
    {"k":"run.end","run":"r","status":"complete"}
"#;

/// Reads `answer` until it says `what`; all that it said.
async fn until(
    answer: &mut (impl futures_util::Stream<Item = reqwest::Result<bytes::Bytes>> + Unpin),
    what: &str,
) -> String {
    let mut said = String::new();
    while !said.contains(what) {
        let bytes = within(what, answer.next()).await.expect("the stream goes on").unwrap();
        said.push_str(std::str::from_utf8(&bytes).unwrap());
    }
    said
}

#[tokio::test]
async fn who_joins_late_is_told_what_there_is_and_then_follows() {
    let hub = TestHub::start().await;
    let mut publisher = hub.publisher("c").await;
    publisher.says(BEGINNING).await;
    let answer = hub.request("GET", "/v1/conversations/c/stream/openai-chat").send().await.unwrap();
    assert_eq!(answer.headers()["content-type"], "text/event-stream");
    let mut answer = answer.bytes_stream();
    let said = until(&mut answer, "Hello").await;
    assert_eq!(said.matches("\"content\"").count(), 2, "the role and one text: {said}");
    publisher.says(r#"{"k":"part.delta","run":"r","part":"p","text":" there"}"#).await;
    assert!(!until(&mut answer, " there").await.contains("Hello"));
}

#[tokio::test]
async fn a_stream_may_end_with_its_run_in_every_dialect() {
    let hub = TestHub::start().await;
    let mut publisher = hub.publisher("c").await;
    publisher.says(BEGINNING).await;
    let streams = encode::ENCODINGS.iter().map(|encoding| {
        let path = format!("/v1/conversations/c/stream/{}?run=latest&until=run.end", encoding.name);
        hub.request("GET", &path).send()
    });
    let answers = futures_util::future::join_all(streams).await;
    publisher.says(END).await;
    for (encoding, answer) in encode::ENCODINGS.iter().zip(answers) {
        let answer = answer.unwrap();
        assert_eq!(answer.headers()["content-type"], encoding.content_type, "{}", encoding.name);
        for (name, value) in encoding.headers {
            assert_eq!(answer.headers()[*name], *value);
        }
        let body = within(encoding.name, answer.text()).await.unwrap();
        assert!(body.contains("Hello") || body.contains("lo"), "{}: {body}", encoding.name);
    }
}

#[tokio::test]
async fn a_client_that_can_only_post_is_told_the_newest_run_to_its_end() {
    let hub = TestHub::start().await;
    let mut publisher = hub.publisher("c").await;
    publisher.says(&format!("{BEGINNING}{END}").replace("\"r\"", "\"old\"").replace("Hel", "Ol")).await;
    publisher.says(&format!("{BEGINNING}{END}")).await;
    let path = "/v1/conversations/c/stream/openai-chat/chat/completions";
    let answer = hub.request("POST", path).body("{\"messages\":[]}").send().await.unwrap();
    let body = within("the end", answer.text()).await.unwrap();
    assert!(body.contains("Hello") && !body.contains("Ollo") && body.ends_with("data: [DONE]\n\n"), "{body}");
}

#[tokio::test]
async fn the_next_run_can_be_waited_for() {
    let hub = TestHub::start().await;
    let mut publisher = hub.publisher("c").await;
    publisher.says(&format!("{BEGINNING}{END}")).await;
    let path = "/v1/conversations/c/stream/ralph?run=next&until=run.end";
    let answer = hub.request("GET", path).send().await.unwrap();
    publisher.says(&format!("{BEGINNING}{END}").replace("\"r\"", "\"new\"").replace("Hel", "New")).await;
    let body = within("the end", answer.text()).await.unwrap();
    assert!(body.contains("New") && !body.contains("Hel") && body.contains("done"), "{body}");
}

#[tokio::test]
async fn what_cannot_be_streamed_is_a_problem() {
    let hub = TestHub::start().await;
    let refused = async |path: &str| {
        let answer = hub.request("GET", path).send().await.unwrap();
        assert_eq!(answer.headers()["content-type"], "application/problem+json");
        let problem: serde_json::Value = answer.json().await.unwrap();
        problem["code"].as_str().unwrap().to_owned()
    };
    assert_eq!(refused("/v1/conversations/c/stream/morse").await, "unknown_dialect");
    assert_eq!(refused("/v1/conversations/c/stream/rye?until=noon").await, "bad_request");
}
