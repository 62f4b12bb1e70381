//! Foreign streams come in as they are, and show while they still arrive.

use tests::TestHub;

fn chunk(content: &str) -> String {
    format!(
        "data: {{\"id\":\"x\",\"model\":\"m\",\"choices\":[{{\"index\":0,\"delta\":{{\"content\":\"{content}\"}}}}]}}\n\n"
    )
}

const FINISH: &str = concat!(
    r#"data: {"id":"x","model":"m","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}"#,
    "\n\ndata: [DONE]\n\n"
);

const CALL: &str = concat!(
    r#"data: {"model":"m","choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"call_1","function":{"name":"add","arguments":"{\"a\":1}"}}]}}]}"#,
    "\n\n",
    r#"data: {"model":"m","choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]}"#,
    "\n\ndata: [DONE]\n\n"
);

#[tokio::test(flavor = "multi_thread")]
async fn events_show_while_the_body_still_arrives() {
    let hub = TestHub::start().await;
    let mut viewer = hub.view("c").await;
    let mut body = hub.ingest("openai-chat", "c");
    let mut text = String::new();
    for word in ["One ", "two ", "three."] {
        body.write(chunk(word)).await;
        text.push_str(word);
        viewer.until(|view| view.runs.values().any(|run| run.is_running() && run.answer() == text)).await;
    }
    body.write(FINISH).await;
    let (status, answer) = body.finish().await;
    let said = (status, answer["anomalies"].as_u64(), answer["durability"].as_str());
    assert_eq!(said, (200, Some(0), Some("stored")));
    let head = answer["position"]["seq"].as_u64().unwrap();
    assert_eq!(answer["events"].as_u64(), Some(head));
    viewer.reach(head).await;
    let run = &hub.summary("c").await["runs"][0];
    assert_eq!((run["text"].as_str(), run["status"].as_str()), (Some("One two three."), Some("complete")));
}

#[tokio::test(flavor = "multi_thread")]
async fn i11_a_body_cut_inside_characters_shows_whole_ones() {
    let hub = TestHub::start().await;
    let stream = chunk("naïve 漢字 🙂") + FINISH;
    let mut body = hub.ingest("openai-chat", "c");
    for byte in stream.into_bytes() {
        body.write(vec![byte]).await;
    }
    let (_, answer) = body.finish().await;
    assert_eq!(answer["anomalies"].as_u64(), Some(0));
    assert_eq!(hub.summary("c").await["runs"][0]["text"], "naïve 漢字 🙂");
}

#[tokio::test(flavor = "multi_thread")]
async fn model_calls_of_one_agent_loop_are_one_run_and_its_tools_have_latencies() {
    let hub = TestHub::start().await;
    let named = [("fanlight-run", "loop-1")];
    let mut body = hub.ingest_with("openai-chat", "c", &named);
    body.write(CALL).await;
    body.finish().await;
    let run = &hub.summary("c").await["runs"][0];
    assert_eq!(
        (run["status"].as_str(), run["tool_calls"][0]["state"].as_str()),
        (Some("running"), Some("pending"))
    );
    let mut publisher = hub.publisher("c").await;
    publisher.says(r#"{"k":"tool.state","run":"loop-1","tool":"call_1","state":"executing"}"#).await;
    publisher.says(r#"{"k":"tool.result","run":"loop-1","tool":"call_1","output":{"sum":3}}"#).await;
    let mut body = hub.ingest_with("openai-chat", "c", &named);
    body.write(chunk("It is 3.") + FINISH).await;
    body.finish().await;
    let summary = hub.summary("c").await;
    assert_eq!(summary["runs"].as_array().unwrap().len(), 1);
    assert_eq!(summary["anomalies"].as_array().unwrap().len(), 0, "{summary}");
    let run = &summary["runs"][0];
    assert_eq!((run["status"].as_str(), run["text"].as_str()), (Some("complete"), Some("It is 3.")));
    let call = &run["tool_calls"][0];
    assert_eq!((call["state"].as_str(), call["result"]["sum"].as_u64()), (Some("complete"), Some(3)));
    assert!(call["latency_ms"].is_u64());
}

#[tokio::test(flavor = "multi_thread")]
async fn streams_of_two_conversations_do_not_mix() {
    let hub = TestHub::start().await;
    let (mut a, mut b) = (hub.ingest("openai-chat", "a"), hub.ingest("openai-chat", "b"));
    for _ in 0..20 {
        a.write(chunk("A")).await;
        b.write(chunk("B")).await;
    }
    a.write(FINISH).await;
    b.write(FINISH).await;
    a.finish().await;
    b.finish().await;
    assert_eq!(hub.summary("a").await["runs"][0]["text"], "A".repeat(20));
    assert_eq!(hub.summary("b").await["runs"][0]["text"], "B".repeat(20));
}
