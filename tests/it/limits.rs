//! Limits at their edges, over each door: numbers, results, signatures, and references to results that somebody made up.

use serde_json::{Value, json};
use tests::wire::WebSocketWire;
use tests::{TestHub, wait};

/// The largest number that is taken.
const NUMBER_MAX: u64 = 1 << 53;

const MIB: usize = 1 << 20;

async fn post(hub: &TestHub, conversation: &str, lines: &[Value]) -> (u16, Value) {
    let body = lines.iter().map(|line| format!("{line}\n")).collect::<Vec<_>>().concat();
    let request = hub.request("POST", &format!("/v1/conversations/{conversation}/events")).body(body);
    let answer = request.send().await.unwrap();
    (answer.status().as_u16(), answer.json().await.unwrap())
}

async fn import(hub: &TestHub, conversation: &str, lines: &[Value]) -> (u16, Value) {
    let header = json!({"fanlight": "native", "version": 1, "conversation": "c"});
    let lines = std::iter::once(&header).chain(lines);
    let body = lines.map(|line| format!("{line}\n")).collect::<Vec<_>>().concat();
    let request = hub.request("PUT", &format!("/v1/conversations/{conversation}/events")).body(body);
    let answer = request.send().await.unwrap();
    (answer.status().as_u16(), answer.json().await.unwrap())
}

/// An event with `number` in each of some fields that hold numbers.
fn with_number(number: u64) -> [(&'static str, Value); 6] {
    [
        ("at", json!({"k": "run.start", "run": "r", "at": number})),
        ("producer_at", json!({"k": "run.start", "run": "r", "producer_at": number})),
        ("duration_ms", json!({"k": "part.end", "run": "r", "part": "p", "duration_ms": number})),
        (
            "exec_ms",
            json!({"k": "tool.state", "run": "r", "tool": "t", "state": "complete", "exec_ms": number}),
        ),
        (
            "retry_after_ms",
            json!({"k": "error", "run": "r", "code": "c", "message": "", "retry_after_ms": number}),
        ),
        (
            "input_tokens",
            json!({"k": "run.end", "run": "r", "status": "complete", "usage": {"input_tokens": number, "output_tokens": 0, "reasoning_tokens": 0, "cached_tokens": 0}}),
        ),
    ]
}

#[tokio::test]
async fn i7_numbers_up_to_2_53_are_taken_and_the_next_one_is_refused_over_every_door() {
    let hub = TestHub::start().await;
    let mut wire = WebSocketWire::connect(hub.address()).await;
    for (number, is_taken) in [(NUMBER_MAX, true), (NUMBER_MAX + 1, false)] {
        for (field, event) in with_number(number) {
            let name = format!("{field}-{is_taken}");
            let (status, said) = post(&hub, &format!("post-{name}"), std::slice::from_ref(&event)).await;
            assert_eq!(status, if is_taken { 200 } else { 400 }, "{field} {said}");
            let refused = |said: &Value| {
                let text = said.to_string();
                said["code"] == "bad_event" && text.contains(field) && text.contains(&number.to_string())
            };
            assert!(is_taken || refused(&said), "{said}");

            let mut stored = event.clone();
            stored["seq"] = json!(1);
            let (status, said) = import(&hub, &format!("import-{name}"), &[stored]).await;
            assert_eq!(status, if is_taken { 200 } else { 400 }, "{field} {said}");
            assert!(is_taken || refused(&said), "{said}");

            let frame = json!({"t": "pub", "id": 1, "conv": format!("socket-{name}"), "events": [event]});
            wire.send_text(frame.to_string()).await;
            let said = wait::within("an answer", wire.text()).await.unwrap();
            let said: Value = serde_json::from_str(&said).unwrap();
            assert_eq!(said["t"], if is_taken { "ack" } else { "error" }, "{field} {said}");
            assert!(is_taken || refused(&said), "{said}");
        }
    }
    // The seq and the time of a state, and the number of an event behind it.
    for (seq, at, status) in
        [(NUMBER_MAX - 1, NUMBER_MAX, 200), (NUMBER_MAX + 1, 1, 400), (1, NUMBER_MAX + 1, 400)]
    {
        let state = json!({"state": {"seq": seq, "title": null, "items": [], "messages": {}, "runs": {},
            "anomalies": {"total": 0, "first": []}, "full": false}, "at": at});
        let (found, said) = import(&hub, &format!("state-{seq}-{at}"), &[state]).await;
        assert_eq!(found, status, "{said}");
    }
    // The hub goes on with whatever was taken: all of it is there after a start.
    let mut hub = hub;
    assert_eq!(hub.stop().await, Some(0));
    hub.start_again().await;
    for (field, _) in with_number(0) {
        assert_eq!(
            hub.json(&format!("/v1/conversations/post-{field}-true")).await["code"],
            Value::Null,
            "{field}"
        );
    }
}

fn call_and_result(tool: &str, output: &Value) -> [Value; 2] {
    [
        json!({"k": "tool.call", "run": "r", "tool": tool, "name": "query", "arguments": "{}"}),
        json!({"k": "tool.result", "run": "r", "tool": tool, "output": output}),
    ]
}

/// The whole result that the call `tool` refers to, and the bytes that came by its reference.
async fn whole(hub: &TestHub, conversation: &str, tool: &str) -> (String, u64) {
    let view = hub.json(&format!("/v1/conversations/{conversation}")).await;
    let reference = &view["runs"]["r"]["tools"][tool]["result_ref"];
    let hash = reference["hash"].as_str().unwrap_or_else(|| panic!("no reference: {view}")).to_owned();
    let answer = hub.request("GET", &format!("/v1/conversations/{conversation}/results/{hash}")).send().await;
    (answer.unwrap().json().await.unwrap(), reference["bytes"].as_u64().unwrap())
}

#[tokio::test]
async fn i7_of_a_result_over_4_mib_the_first_4_mib_are_kept_whoever_sends_it() {
    let hub = TestHub::start().await;
    for (bytes, kept) in [(4 * MIB, 4 * MIB), (4 * MIB + 1, 4 * MIB), (9 * MIB, 4 * MIB)] {
        let name = format!("c{bytes}");
        let events = call_and_result("t", &Value::from("x".repeat(bytes)));
        assert_eq!(post(&hub, &name, &events).await.0, 200);
        let stored: Vec<Value> = (1..)
            .zip(&events)
            .map(|(seq, event)| {
                let mut event = event.clone();
                event["seq"] = json!(seq);
                event["at"] = json!(1_795_300_000_000_u64);
                event
            })
            .collect();
        let copy = format!("copy{bytes}");
        assert_eq!(import(&hub, &copy, &stored).await.0, 200);
        for name in [&name, &copy] {
            let (text, came) = whole(&hub, name, "t").await;
            assert_eq!((text.len(), came), (kept, bytes as u64 + 2), "{name}: with its quotes");
        }
    }
}

#[tokio::test]
async fn i7_a_signature_over_64_kib_is_left_out_and_named_whoever_sends_it() {
    let hub = TestHub::start().await;
    for (bytes, is_kept) in [(64 << 10, true), ((64 << 10) + 1, false)] {
        let events = [
            json!({"k": "part.start", "run": "r", "part": "p", "kind": "thinking"}),
            json!({"k": "part.end", "run": "r", "part": "p", "signature": "s".repeat(bytes)}),
        ];
        let name = format!("c{bytes}");
        let (status, said) = post(&hub, &name, &events).await;
        assert_eq!(status, 200, "{said}");
        let view = hub.json(&format!("/v1/conversations/{name}")).await;
        let found = view["runs"]["r"]["parts"]["p"]["signature"].as_str().map_or(0, str::len);
        assert_eq!(found, if is_kept { bytes } else { 0 });
        let anomalies = view["anomalies"].to_string();
        assert_eq!(anomalies.contains("too_large"), !is_kept, "{anomalies}");
    }
}

#[tokio::test]
async fn i7_a_reference_that_a_publisher_makes_up_makes_no_export_grow() {
    let hub = TestHub::start().await;
    let real = Value::from("0123456789abcdef".repeat(3 * MIB / 16));
    assert_eq!(post(&hub, "c", &call_and_result("real", &real)).await.0, 200);
    let view = hub.json("/v1/conversations/c").await;
    let hash = view["runs"]["r"]["tools"]["real"]["result_ref"]["hash"].clone();
    assert!(hash.is_string(), "{view}");
    // Each says that its whole is that result, and that it is small.
    let forged: Vec<Value> = (0..300)
        .flat_map(|number| {
            let [call, mut result] = call_and_result(&format!("t{number}"), &json!("a"));
            result["ref"] = json!({"bytes": 1, "hash": hash});
            [call, result]
        })
        .collect();
    assert_eq!(post(&hub, "c", &forged).await.0, 200);
    // The same in a history, with the result in its middle.
    let history: Vec<Value> = (1..)
        .zip(call_and_result("real", &real).into_iter().chain(forged))
        .map(|(seq, mut event)| {
            event["seq"] = json!(seq);
            event
        })
        .collect();
    assert_eq!(import(&hub, "copy", &history).await.0, 200);
    let before = hub.process().peak_bytes;
    for name in ["c", "copy"] {
        for format in ["md", "html", "openai", "jsonl", "native", "openai-chat", "deep-agent"] {
            let request = hub.request("GET", &format!("/v1/conversations/{name}/export/{format}"));
            let bytes = request.send().await.unwrap().bytes().await.unwrap().len();
            assert!(bytes < 8 * MIB, "{name} as {format}: {bytes} bytes");
        }
    }
    let grown = hub.process().peak_bytes - before;
    // Without the bound one export is 900 MiB. What the allocator keeps of freed memory is no part of it.
    assert!(grown < 256 * MIB as u64, "the hub has grown by {grown} bytes");
}

#[tokio::test]
async fn i7_a_command_with_an_id_over_the_limit_is_refused() {
    let hub = TestHub::start().await;
    assert_eq!(post(&hub, "c", &[json!({"k": "run.start", "run": "r"})]).await.0, 200);
    for (bytes, status, code) in
        [(160, 200, None), (161, 400, Some("bad_request")), (2 * MIB, 413, Some("too_large"))]
    {
        let body = json!({"id": "i".repeat(bytes), "command": "fork", "into": format!("d{bytes}")});
        let request = hub.request("POST", "/v1/conversations/c/commands").body(body.to_string());
        let answer = request.send().await.unwrap();
        assert_eq!(answer.status().as_u16(), status, "{bytes}");
        let said: Value = answer.json().await.unwrap();
        assert_eq!(said["code"].as_str(), code, "{bytes}");
    }
}
