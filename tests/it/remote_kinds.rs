//! Agents elsewhere, one kind after the other: each is asked in its own words, what was said before with it, and what it
//! streams in its own words is a run of the hub.

use serde_json::{Value, json};
use tests::raw::RawMessage;
use tests::{ScriptedServer, ServerStep, TestHub};

use super::proxy::STREAM;
use super::runner::{command, runs};

/// A kind, what it streams, and how it is to be asked.
struct Kind {
    name: &'static str,
    /// Behind the address of the stand-in.
    url: &'static str,
    model: &'static str,
    /// The lines of the stream.
    stream: Vec<String>,
    /// Where the request for the second answer goes.
    asked: &'static str,
    /// Whether what it streams has a call.
    calls: bool,
    second: fn(&RawMessage),
}

/// Asks an agent of that kind twice.
async fn ask_twice(it: Kind) {
    let kind = it.name;
    let stream = it.stream.concat();
    let origin = ScriptedServer::start(move |_| {
        vec![ServerStep::begin("200 OK", &STREAM), ServerStep::piece(stream.as_bytes()), ServerStep::end(&[])]
    })
    .await;
    let (hub, _place) = hub_with(&origin, kind, it.url, &format!("model = \"{}\"", it.model)).await;
    let mut viewer = hub.view("c").await;
    for (number, text) in ["Hello", "And \"Oslo\"?"].into_iter().enumerate() {
        let done = say(&hub, text).await;
        let all = runs(&hub, |runs| runs.len() == number + 1 && runs[number]["status"] != "running").await;
        let run = &all[number];
        assert_eq!((&run["id"], &run["text"]), (&done["run"], &json!("Seven degrees.")), "{kind}: {run}");
        assert_eq!(run["status"], "complete", "{kind}: {run}");
    }
    viewer.until(|view| view.runs.values().filter(|run| !run.is_running()).count() == 2).await;
    let view = viewer.view();
    for run in view.runs.values() {
        assert_eq!(run.name.as_deref(), Some("far"), "{kind}");
        assert_eq!(run.tools.len(), usize::from(it.calls), "{kind}: {:?}", run.tools);
        for tool in run.tools.values() {
            assert_eq!(tool.name, "look_up", "{kind}");
            assert_eq!(
                tool.result.as_ref().map(|it| it.to_text().into_owned()).as_deref(),
                Some("7 °C"),
                "{kind}"
            );
        }
        let roles: Vec<_> = view.messages.values().map(|message| message.role.as_str()).collect();
        assert_eq!(roles, ["user", "user"], "{kind}: nothing is said twice");
    }
    let asked = origin.asked();
    assert_eq!(asked.len(), 2, "{kind}");
    let target = asked[1].start.split(' ').nth(1).unwrap();
    assert_eq!(target, it.asked, "{kind}");
    assert_eq!(asked[1].header("accept"), Some("text/event-stream"), "{kind}");
    (it.second)(&asked[1]);
}

/// A hub with the agent `far` of that kind at `origin`.
pub(super) async fn hub_with(
    origin: &ScriptedServer,
    name: &str,
    path: &str,
    more: &str,
) -> (TestHub, tempfile::TempDir) {
    hub_at(&format!("http://{}{path}", origin.address()), name, more).await
}

/// The same with an agent at `url`.
pub(super) async fn hub_at(url: &str, kind: &str, more: &str) -> (TestHub, tempfile::TempDir) {
    let place = tempfile::tempdir().unwrap();
    let file = place.path().join("fanlight.toml");
    std::fs::write(&file, format!("[agents.far]\nkind = \"{kind}\"\nurl = \"{url}\"\n{more}\n")).unwrap();
    (TestHub::start_with(&["--config", file.to_str().unwrap()]).await, place)
}

/// Says something to it.
pub(super) async fn say(hub: &TestHub, text: &str) -> Value {
    let (status, done) =
        command(hub, json!({"id": text, "command": "say", "agent": "far", "text": text})).await;
    assert_eq!(status, 200, "{done}");
    done
}

fn body(asked: &RawMessage) -> Value {
    serde_json::from_slice(&asked.body).unwrap()
}

/// Server-sent events of a payload each.
fn sse(payloads: &[Value]) -> Vec<String> {
    payloads.iter().map(|payload| format!("data: {payload}\n\n")).collect()
}

/// The same with names.
fn named(events: &[(&str, Value)]) -> Vec<String> {
    events.iter().map(|(name, payload)| format!("event: {name}\ndata: {payload}\n\n")).collect()
}

fn agno_stream() -> Vec<String> {
    let tool = |result: Value| json!({"tool_call_id": "call_1", "tool_name": "look_up", "tool_args": {"place": "Oslo"}, "tool_call_error": null, "result": result, "requires_confirmation": null});
    let event = |name: &str, mut more: Value| {
        for (key, value) in [
            ("event", name),
            ("run_id", "ar-1"),
            ("agent_id", "weather"),
            ("agent_name", "Weather"),
            ("session_id", "c"),
        ] {
            more[key] = value.into();
        }
        more["created_at"] = 1_760_000_000.into();
        (name.to_owned(), more)
    };
    let events = [
        event("RunStarted", json!({"model": "gpt-5", "model_provider": "OpenAI"})),
        event("ToolCallStarted", json!({"tool": tool(Value::Null)})),
        event(
            "ToolCallCompleted",
            json!({"tool": tool(json!("7 °C")), "content": "look_up(place=Oslo) completed in 0.1s."}),
        ),
        event("RunContent", json!({"content": "Seven ", "content_type": "str"})),
        event("RunContent", json!({"content": "degrees.", "content_type": "str"})),
        event("RunContentCompleted", json!({})),
        event(
            "RunCompleted",
            json!({"content": "Seven degrees.", "metrics": {"input_tokens": 7, "output_tokens": 3}}),
        ),
    ];
    events.iter().map(|(name, payload)| format!("event: {name}\ndata: {payload}\n\n")).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn agno() {
    ask_twice(Kind {
        name: "agno",
        url: "",
        model: "weather",
        stream: agno_stream(),
        asked: "/agents/weather/runs",
        calls: true,
        second: |asked| {
            let media = asked.header("content-type").unwrap();
            let boundary = media.strip_prefix("multipart/form-data; boundary=").unwrap();
            let text = String::from_utf8(asked.body.clone()).unwrap();
            let fields = [("message", "And \"Oslo\"?"), ("stream", "true"), ("session_id", "c")];
            let field = |(name, value)| {
                format!("--{boundary}\r\nContent-Disposition: form-data; name=\"{name}\"\r\n\r\n{value}\r\n")
            };
            let expected = fields.map(field).concat();
            assert_eq!(text, format!("{expected}--{boundary}--\r\n"));
        },
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn langgraph() {
    let meta = json!({"langgraph_node": "agent", "langgraph_step": 1, "langgraph_checkpoint_ns": "agent:1"});
    let chunk = |id: &str, content: &str, calls: Value| json!([{"type": "AIMessageChunk", "id": id, "content": content, "tool_call_chunks": calls}, meta]);
    let call = json!([{"name": "look_up", "args": "{\"place\":\"Oslo\"}", "id": "call_1", "index": 0}]);
    let result = json!([{"type": "tool", "id": "t1", "name": "look_up", "tool_call_id": "call_1", "content": "7 °C", "status": "success"}, {"langgraph_node": "tools", "langgraph_step": 2}]);
    ask_twice(Kind {
        name: "langgraph",
        url: "/base/",
        model: "weather",
        stream: named(&[
            ("metadata", json!({"run_id": "1ef", "attempt": 1})),
            ("messages", chunk("ai-1", "", call)),
            ("messages", result),
            ("messages", chunk("ai-2", "Seven ", json!([]))),
            ("messages", chunk("ai-2", "degrees.", json!([]))),
            ("updates", json!({"agent": {"messages": [{"type": "ai", "id": "ai-2", "content": "Seven degrees.", "tool_calls": []}]}})),
        ]),
        asked: "/base/threads/9fea60e5-4b32-8ddd-a9a0-ddb2fda9f590/runs/stream",
        calls: true,
        second: |asked| {
            let body = body(asked);
            assert_eq!(body["assistant_id"], "weather");
            assert_eq!(body["input"], json!({"messages": [{"role": "user", "content": "And \"Oslo\"?"}]}));
            assert_eq!(body["stream_mode"], json!(["messages-tuple", "updates", "custom"]));
            assert_eq!((&body["if_not_exists"], &body["on_disconnect"]), (&json!("create"), &json!("cancel")));
        },
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn ag_ui() {
    ask_twice(Kind {
        name: "ag-ui",
        url: "/agent/",
        model: "",
        stream: sse(&[
            json!({"type": "RUN_STARTED", "threadId": "c", "runId": "x"}),
            json!({"type": "TOOL_CALL_START", "toolCallId": "call_1", "toolCallName": "look_up"}),
            json!({"type": "TOOL_CALL_ARGS", "toolCallId": "call_1", "delta": "{\"place\":\"Oslo\"}"}),
            json!({"type": "TOOL_CALL_END", "toolCallId": "call_1"}),
            json!({"type": "TOOL_CALL_RESULT", "messageId": "m1", "toolCallId": "call_1", "content": "7 °C"}),
            json!({"type": "TEXT_MESSAGE_START", "messageId": "m2", "role": "assistant"}),
            json!({"type": "TEXT_MESSAGE_CONTENT", "messageId": "m2", "delta": "Seven degrees."}),
            json!({"type": "TEXT_MESSAGE_END", "messageId": "m2"}),
            json!({"type": "MESSAGES_SNAPSHOT", "messages": [
                {"id": "m1", "role": "user", "content": "Hello"},
                {"id": "m2", "role": "assistant", "content": "Seven degrees."},
            ]}),
            json!({"type": "RUN_FINISHED", "threadId": "c", "runId": "x"}),
        ]),
        asked: "/agent/",
        calls: true,
        second: |asked| {
            let body = body(asked);
            let call = json!({"id": "call_1", "type": "function", "function": {"name": "look_up", "arguments": "{\"place\":\"Oslo\"}"}});
            assert_eq!(
                body["messages"],
                json!([
                    {"id": "m1", "role": "user", "content": "Hello"},
                    {"id": "m2", "role": "assistant", "toolCalls": [call]},
                    {"id": "m3", "role": "tool", "toolCallId": "call_1", "content": "7 °C"},
                    {"id": "m4", "role": "assistant", "content": "Seven degrees."},
                    {"id": "m5", "role": "user", "content": "And \"Oslo\"?"},
                ])
            );
            assert_eq!(body["threadId"], "c");
            assert!(body["runId"].is_string());
            for (field, empty) in [("state", json!({})), ("tools", json!([])), ("context", json!([])), ("forwardedProps", json!({}))] {
                assert_eq!(body[field], empty, "{field}");
            }
        },
    })
    .await;
}

/// The messages of those who are told texts alone.
fn texts() -> Value {
    json!([
        {"role": "user", "content": "Hello"},
        {"role": "assistant", "content": "Seven degrees."},
        {"role": "user", "content": "And \"Oslo\"?"},
    ])
}

#[tokio::test(flavor = "multi_thread")]
async fn deep_agent() {
    ask_twice(Kind {
        name: "deep-agent",
        url: "",
        model: "",
        stream: sse(&[
            json!({"type": "status", "data": {"description": "Thinking...", "agent_depth": 0}}),
            json!({"type": "tool_start", "data": {"tool_id": "call_1", "name": "look_up", "agent_depth": 0}}),
            json!({"type": "tool_end", "data": {"tool_id": "call_1", "name": "look_up", "result": "7 °C", "agent_depth": 0}}),
            json!({"type": "token", "data": {"content": "Seven degrees.", "agent_depth": 0}}),
            json!({"type": "done"}),
        ]),
        asked: "/chat/stream",
        calls: true,
        second: |asked| assert_eq!(body(asked), json!({"messages": texts(), "stream": true})),
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn forge() {
    ask_twice(Kind {
        name: "forge",
        url: "/chat/stream",
        model: "anthropic/claude-sonnet-4",
        stream: named(&[
            ("tool_call", json!({"id": "call_1", "tool_name": "look_up", "arguments": {"place": "Oslo"}, "status": "executing"})),
            ("tool_result", json!({"tool_call_id": "call_1", "result": "7 °C", "is_error": false, "latency_ms": 12})),
            ("token", json!({"token": "Seven ", "cumulative": "Seven "})),
            ("token", json!({"token": "degrees.", "cumulative": "Seven degrees."})),
            ("complete", json!({"response": "Seven degrees.", "usage": {"prompt_tokens": 7, "completion_tokens": 3}})),
        ]),
        asked: "/chat/stream",
        calls: true,
        second: |asked| {
            let before = json!([
                {"role": "user", "content": "Hello"},
                {"role": "assistant", "content": "Seven degrees."},
            ]);
            let expected = json!({"user_message": "And \"Oslo\"?", "messages": before, "model": "anthropic/claude-sonnet-4", "enable_tools": true});
            assert_eq!(body(asked), expected);
        },
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn ralph() {
    let message = |payload: Value| format!("event: message\r\ndata: {payload}\r\n\r\n");
    ask_twice(Kind {
        name: "ralph",
        url: "",
        model: "",
        stream: vec![
            message(json!({"type": "status", "content": "Initializing workspace..."})),
            String::from(": ping - 2026-11-22 21:00:00\r\n\r\n"),
            message(json!({"type": "tool_call_start", "tool_call_id": "call_1", "tool_name": "look_up", "tool_args": {"place": "Oslo"}})),
            message(json!({"type": "tool_call_complete", "tool_call_id": "call_1", "tool_name": "look_up", "result": "7 °C"})),
            message(json!({"type": "message", "content": "Seven degrees."})),
            message(json!({"type": "done"})),
        ],
        asked: "/chat/stream",
        calls: true,
        second: |asked| {
            assert_eq!(body(asked), json!({"user_id": "fanlight", "chat_id": "c", "messages": texts()}));
        },
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn openai() {
    let chunk = |delta: Value, finish: Value| json!({"id": "x", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]});
    let call = json!([{"index": 0, "id": "call_1", "type": "function", "function": {"name": "look_up", "arguments": "{\"place\":\"Oslo\"}"}}]);
    let mut stream = sse(&[
        chunk(json!({"role": "assistant", "tool_calls": call}), Value::Null),
        json!({"type": "tool_progress", "data": {"_type": "tool_progress", "tool": "look_up", "phase": "start", "message": "looking"}}),
        chunk(json!({"role": "tool", "tool_call_id": "call_1", "content": "7 °C"}), Value::Null),
        chunk(json!({"role": "assistant", "content": "Seven degrees."}), Value::Null),
        chunk(json!({}), json!("stop")),
    ]);
    stream.push(String::from("data: [DONE]\n\n"));
    ask_twice(Kind {
        name: "openai",
        url: "/v1",
        model: "m",
        stream,
        asked: "/v1/chat/completions",
        calls: true,
        second: |asked| {
            let body = body(asked);
            let call = json!({"id": "call_1", "type": "function", "function": {"name": "look_up", "arguments": "{\"place\":\"Oslo\"}"}});
            assert_eq!(
                body["messages"],
                json!([
                    {"role": "user", "content": "Hello"},
                    {"role": "assistant", "tool_calls": [call]},
                    {"role": "tool", "tool_call_id": "call_1", "content": "7 °C"},
                    {"role": "assistant", "content": "Seven degrees."},
                    {"role": "user", "content": "And \"Oslo\"?"},
                ])
            );
            assert_eq!((&body["model"], &body["stream"]), (&json!("m"), &json!(true)));
        },
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn anthropic() {
    let typed = |payload: Value| (payload["type"].as_str().unwrap().to_owned(), payload);
    let events = [
        typed(
            json!({"type": "message_start", "message": {"id": "msg_1", "type": "message", "role": "assistant", "model": "m", "content": [], "stop_reason": null, "usage": {"input_tokens": 7, "output_tokens": 1}}}),
        ),
        typed(
            json!({"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}}),
        ),
        typed(
            json!({"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "Seven degrees."}}),
        ),
        typed(json!({"type": "content_block_stop", "index": 0})),
        typed(
            json!({"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 3}}),
        ),
        typed(json!({"type": "message_stop"})),
    ];
    ask_twice(Kind {
        name: "anthropic",
        url: "",
        model: "m",
        stream: events.iter().map(|(name, payload)| format!("event: {name}\ndata: {payload}\n\n")).collect(),
        asked: "/v1/messages",
        calls: false,
        second: |asked| {
            let text =
                |role: &str, text: &str| json!({"role": role, "content": [{"type": "text", "text": text}]});
            let body = body(asked);
            let said =
                [text("user", "Hello"), text("assistant", "Seven degrees."), text("user", "And \"Oslo\"?")];
            assert_eq!(body["messages"], json!(said));
            assert_eq!((&body["model"], &body["stream"]), (&json!("m"), &json!(true)));
            assert_eq!(asked.header("anthropic-version"), Some("2023-06-01"));
        },
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn ai_sdk() {
    let mut stream = sse(&[
        json!({"type": "start", "messageId": "m"}),
        json!({"type": "start-step"}),
        json!({"type": "tool-input-start", "toolCallId": "call_1", "toolName": "look_up"}),
        json!({"type": "tool-input-available", "toolCallId": "call_1", "toolName": "look_up", "input": {"place": "Oslo"}}),
        json!({"type": "tool-output-available", "toolCallId": "call_1", "output": "7 °C"}),
        json!({"type": "finish-step"}),
        json!({"type": "start-step"}),
        json!({"type": "text-start", "id": "t"}),
        json!({"type": "text-delta", "id": "t", "delta": "Seven degrees."}),
        json!({"type": "text-end", "id": "t"}),
        json!({"type": "finish-step"}),
        json!({"type": "finish"}),
    ]);
    stream.push(String::from("data: [DONE]\n\n"));
    ask_twice(Kind {
        name: "ai-sdk",
        url: "/api/chat",
        model: "",
        stream,
        asked: "/api/chat",
        calls: true,
        second: |asked| {
            let call = json!({"type": "tool-look_up", "toolCallId": "call_1", "state": "output-available", "input": {"place": "Oslo"}, "output": "7 °C"});
            let answer = json!([
                {"type": "step-start"}, call,
                {"type": "step-start"}, {"type": "text", "text": "Seven degrees.", "state": "done"},
            ]);
            let expected = json!({"id": "c", "trigger": "submit-message", "messages": [
                {"id": "m1", "role": "user", "parts": [{"type": "text", "text": "Hello"}]},
                {"id": "m2", "role": "assistant", "parts": answer},
                {"id": "m3", "role": "user", "parts": [{"type": "text", "text": "And \"Oslo\"?"}]},
            ]});
            assert_eq!(body(asked), expected);
        },
    })
    .await;
}
