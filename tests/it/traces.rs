//! Spans of OpenTelemetry become runs while they arrive.

use serde_json::{Value, json};
use tests::TestHub;

/// A span of the trace `0a0a…`, in OTLP's JSON.
fn span(number: u8, parent: Option<u8>, times: (u64, u64), facts: &Value) -> Value {
    let id = |number: u8| format!("{number:02x}").repeat(8);
    let attributes: Vec<_> = facts
        .as_object()
        .unwrap()
        .iter()
        .map(|(key, value)| json!({"key": key, "value": {"stringValue": value}}))
        .collect();
    json!({
        "traceId": "0a".repeat(16), "spanId": id(number), "parentSpanId": parent.map(id).unwrap_or_default(),
        "name": format!("span {number}"), "attributes": attributes, "status": {},
        "startTimeUnixNano": (times.0 * 1_000_000).to_string(), "endTimeUnixNano": (times.1 * 1_000_000).to_string(),
    })
}

fn export(spans: &[Value]) -> String {
    let name = |key: &str, name: &str| json!({"key": key, "value": {"stringValue": name}});
    let resource =
        json!({"attributes": [name("service.name", "weather-service"), name("host.name", "box-1")]});
    json!({"resourceSpans": [{"resource": resource, "scopeSpans": [{"scope": {"name": "t"}, "spans": spans}]}]}).to_string()
}

fn model(number: u8, times: (u64, u64), output: &Value) -> Value {
    let facts = json!({"gen_ai.operation.name": "chat", "gen_ai.conversation.id": "weather", "gen_ai.response.model": "gpt-5",
        "gen_ai.input.messages": json!([{"role": "user", "parts": [{"type": "text", "content": "Weather?"}]}]).to_string(),
        "gen_ai.output.messages": json!([{"role": "assistant", "parts": [output]}]).to_string(),
        "gen_ai.usage.input_tokens": "9", "gen_ai.usage.output_tokens": "3"});
    span(number, Some(1), times, &facts)
}

async fn post(hub: &TestHub, body: Vec<u8>, headers: &[(&str, &str)]) -> (u16, Value) {
    let mut request = hub.request("POST", "/v1/traces").body(body);
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    let answer = request.send().await.unwrap();
    (answer.status().as_u16(), serde_json::from_slice(&answer.bytes().await.unwrap()).unwrap_or_default())
}

const JSON: (&str, &str) = ("content-type", "application/json");

#[tokio::test(flavor = "multi_thread")]
async fn spans_show_as_they_arrive_and_the_run_ends_with_its_root() {
    let hub = TestHub::start().await;
    let mut viewer = hub.view("weather").await;
    let call =
        json!({"type": "tool_call", "id": "call_1", "name": "get_weather", "arguments": {"city": "Lisbon"}});
    let first = export(&[model(2, (10, 100), &call)]);
    assert_eq!(post(&hub, first.into_bytes(), &[JSON]).await, (200, json!({})));
    viewer.until(|view| view.runs.values().any(|run| run.is_running() && run.tools.len() == 1)).await;
    let tool = json!({"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "get_weather", "gen_ai.tool.call.id": "call_1",
        "gen_ai.tool.call.result": "{\"degrees\":21}"});
    let rest = export(&[
        span(3, Some(1), (110, 350), &tool),
        model(4, (360, 400), &json!({"type": "text", "content": "Sunny."})),
        span(
            1,
            None,
            (0, 410),
            &json!({"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "forecaster"}),
        ),
    ]);
    assert_eq!(post(&hub, rest.into_bytes(), &[JSON]).await, (200, json!({})));
    viewer.until(|view| view.runs.values().all(|run| !run.is_running())).await;
    viewer.until(|view| view.runs.values().all(|run| run.host.as_deref() == Some("box-1"))).await;
    let seen = hub.summary("weather").await;
    let run = &seen["runs"][0];
    assert_eq!(
        (&run["status"], &run["text"], &seen["anomalies"]),
        (&json!("complete"), &json!("Sunny."), &json!([]))
    );
    let tool = &run["tool_calls"][0];
    assert_eq!((&tool["latency_ms"], &tool["result"]), (&json!(240), &json!({"degrees": 21})));
    assert_eq!(run["usage"]["input_tokens"], 18);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_no_export_is_refused_and_what_is_no_span_is_rejected() {
    let hub = TestHub::start().await;
    let protobuf = ("content-type", "application/x-protobuf");
    let refused = [
        (b"<html>".to_vec(), vec![JSON], 400, "bad_request"),
        (b"<html>".to_vec(), vec![protobuf], 400, "bad_request"),
        (b"{}".to_vec(), vec![JSON, ("content-encoding", "gzip")], 400, "bad_request"),
        (b"{}".to_vec(), vec![JSON, ("content-encoding", "br")], 415, "unsupported_encoding"),
        (b"{}".to_vec(), vec![("content-type", "text/plain")], 415, "unsupported_encoding"),
        (vec![b' '; (16 << 20) + 1], vec![JSON], 413, "too_large"),
    ];
    for (body, headers, status, code) in refused {
        let (answered, problem) = post(&hub, body, &headers).await;
        assert_eq!((answered, &problem["code"]), (status, &json!(code)), "{headers:?}");
    }
    let mut nameless = model(2, (1, 2), &json!({}));
    nameless["spanId"] = json!("xyz");
    let (status, answer) = post(&hub, export(&[nameless]).into_bytes(), &[JSON]).await;
    assert_eq!((status, &answer["partialSuccess"]["rejectedSpans"]), (200, &json!("1")));
    let list = hub.json("/v1/conversations").await;
    assert_eq!(list["total"], 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn spans_that_wait_when_the_hub_stops_are_told() {
    let mut hub = TestHub::start().await;
    let answer = json!({"type": "text", "content": "Sunny."});
    let (status, _) = post(&hub, export(&[model(2, (10, 100), &answer)]).into_bytes(), &[JSON]).await;
    assert_eq!(status, 200);
    assert_eq!(hub.stop().await, Some(0));
    hub.start_again().await;
    assert_eq!(hub.summary("weather").await["runs"][0]["text"], "Sunny.");
}
