//! What the graph says beside its messages and what its tools report, read as either dialect and told again.

use serde_json::{Value, json};

use crate::{DecodeOptions, Decoded, decoder};
use encode::{EncodeOptions, encoding};
use model::event::{Kind, RunStatus, ToolProgress, ToolState};
use model::testkit::{folded, logged};
use model::view::View;

fn decoded(dialect: &str, stream: &str) -> Decoded {
    let (mut decoder, mut out) = (decoder(dialect, DecodeOptions::default()).unwrap(), Decoded::default());
    decoder.feed(stream.as_bytes(), &mut out);
    decoder.end(&mut out);
    out
}

fn view(out: Decoded) -> View {
    folded(&logged(out.envelopes.into_iter().map(|envelope| envelope.event).collect()))
}

/// A tuple of mode `messages`, in each of the two forms in which it travels.
fn both_forms(tuples: &[Value]) -> [String; 2] {
    let lines: Vec<_> = tuples.iter().map(|tuple| format!("{}\n", json!(["messages", tuple]))).collect();
    let events: Vec<_> = tuples.iter().map(|tuple| format!("event: messages\ndata: {tuple}\n\n")).collect();
    [lines.concat(), events.concat()]
}

fn piece(text: &str) -> Value {
    json!({"type": "AIMessageChunk", "id": "m1", "content": text})
}

fn about(more: &Value) -> Value {
    let mut about = json!({"langgraph_node": "callModel", "langgraph_path": "callModel -> tools",
        "langgraph_step": 1, "tags": ["main"]});
    about.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    about
}

fn call(id: &str, arguments: &str) -> Value {
    json!({"id": id, "type": "function", "function": {"name": "get_weather", "arguments": arguments}})
}

/// Two calls in pieces beside the message, what one gives back, the answer, and the tokens.
fn talk() -> Vec<Value> {
    vec![
        json!([piece("Looking."), about(&json!({}))]),
        json!([piece(""), about(&json!({"tool_calls": [call("c1", "{\"city\": "), call("c2", "{}")]}))]),
        json!([piece(""), about(&json!({"tool_calls": [call("c1", "\"Oslo\"}")]}))]),
        json!([{"type": "AIMessageChunk", "id": "m1", "content": "", "response_metadata": {"finish_reason": "tool_calls"}},
            about(&json!({"usage": {"prompt_tokens": 7, "completion_tokens": 3, "total_tokens": 10}}))]),
        json!([{"type": "tool", "tool_call_id": "c1", "content": "4 C"},
            {"langgraph_node": "tools", "langgraph_step": 2}]),
        json!([{"type": "AIMessageChunk", "id": "m2", "content": "It is 4 C.", "chunk_position": "last"},
            {"langgraph_node": "callModel", "langgraph_step": 3, "usage": {"prompt_tokens": 20, "completion_tokens": 5}}]),
    ]
}

#[test]
fn calls_beside_a_message_are_its_calls() {
    for dialect in ["langgraph", "bernard"] {
        for stream in both_forms(&talk()) {
            let view = view(decoded(dialect, &stream));
            let run = &view.runs[0];
            assert_eq!(run.dialect.as_deref(), Some(dialect));
            assert_eq!((run.answer().as_str(), run.status), ("Looking.It is 4 C.", RunStatus::Complete));
            let calls: Vec<_> = run
                .tools
                .iter()
                .map(|(id, tool)| (id.as_str(), tool.name.as_str(), tool.arguments.text.as_str()))
                .collect();
            assert_eq!(
                calls,
                [("c1", "get_weather", "{\"city\": \"Oslo\"}"), ("c2", "get_weather", "{}")],
                "{dialect}: {stream}"
            );
            assert_eq!(run.tools[0].result.as_ref().unwrap().to_text(), "4 C");
            let usage = run.usage.unwrap();
            assert_eq!((usage.input_tokens, usage.output_tokens), (27, 8), "{dialect}");
            assert_eq!(view.anomalies.total, 0, "{:?}", view.anomalies);
        }
    }
}

#[test]
fn each_step_is_told_once_with_its_node_and_tags_and_comes_back() {
    let [stream, _] = both_forms(&talk());
    let out = decoded("langgraph", &stream);
    let steps: Vec<Value> = out
        .envelopes
        .iter()
        .filter_map(|envelope| match &envelope.event.kind {
            Kind::Custom { name, value } if name == "langgraph_step" => Some(value.to_value()),
            _ => None,
        })
        .collect();
    let first = json!({"langgraph_node": "callModel", "langgraph_step": 1, "langgraph_path": "callModel -> tools", "tags": ["main"]});
    assert_eq!(
        steps,
        [
            first,
            json!({"langgraph_node": "tools", "langgraph_step": 2}),
            json!({"langgraph_node": "callModel", "langgraph_step": 3})
        ]
    );
    let options = EncodeOptions { modes: vec!["messages-tuple".into()], ..EncodeOptions::default() };
    let mut encoder = encoding("langgraph").unwrap().encoder(&options);
    let mut told = Vec::new();
    for envelope in &out.envelopes {
        encoder.event(envelope, &mut told);
    }
    let told = String::from_utf8(told).unwrap();
    let datas =
        told.lines().filter_map(|line| serde_json::from_str::<Value>(line.strip_prefix("data: ")?).ok());
    let abouts: Vec<Value> = datas.filter_map(|data| data.get(1).cloned()).collect();
    assert_eq!((&abouts[0]["langgraph_node"], &abouts[0]["tags"]), (&json!("callModel"), &json!(["main"])));
    assert!(!told.contains("event: custom"), "a step is no event of the agent's own: {told}");
}

#[test]
fn a_message_that_carries_its_calls_is_not_told_them_twice() {
    let chunk = |name: Value, args: &str| json!({"type": "AIMessageChunk", "id": "m1", "content": "", "tool_call_chunks": [{"index": 0, "id": "c1", "name": name, "args": args}]});
    let [stream, _] = both_forms(&[
        json!([
            chunk(json!("get_weather"), "{\"a\":"),
            about(&json!({"tool_calls": [call("c1", "{\"a\":")]}))
        ]),
        json!([chunk(Value::Null, "1}"), about(&json!({"tool_calls": [call("c1", "1}")]}))]),
        json!([piece(""), about(&json!({"tool_calls": [call("c1", "{\"a\":1}")]}))]),
    ]);
    let view = view(decoded("langgraph", &stream));
    let tools: Vec<_> = view.runs[0].tools.values().map(|tool| tool.arguments.text.as_str()).collect();
    assert_eq!(tools, ["{\"a\":1}"]);
}

#[test]
fn whole_calls_that_are_repeated_with_each_piece_are_told_once() {
    let [stream, _] = both_forms(&[
        json!([piece(""), about(&json!({"tool_calls": [call("c1", "{\"a\":1}")]}))]),
        json!([piece("So"), about(&json!({"tool_calls": [call("c1", "{\"a\":1}")]}))]),
    ]);
    let view = view(decoded("bernard", &stream));
    let tools: Vec<_> = view.runs[0].tools.values().map(|tool| tool.arguments.text.as_str()).collect();
    assert_eq!(tools, ["{\"a\":1}"]);
}

fn report(phase: &str) -> Value {
    json!({"_type": "tool_progress", "tool": "get_weather", "phase": phase, "message": "2/3: stations",
        "data": {"asked": ["Oslo"]}, "timestamp": 1_677_858_242_500_u64})
}

/// A call, one report of its tool, and what follows, in the chunks of `bernard` or as `[mode, value]`.
fn reported(dialect: &str, phase: &str, result: Option<&str>) -> String {
    let mut lines = Vec::new();
    if dialect == "bernard" {
        let chunk = |delta: Value| {
            let choice = json!({"index": 0, "delta": delta, "finish_reason": null});
            format!(
                "data: {}\n\n",
                json!({"id": "x", "object": "chat.completion.chunk", "choices": [choice]})
            )
        };
        let progress = json!({"type": "tool_progress", "request_id": "x", "data": report(phase)});
        lines.push(chunk(json!({"tool_calls": [call("c1", "{}")]})));
        lines.push(format!("data: {progress}\n\n"));
        let given = |text| chunk(json!({"role": "tool", "tool_call_id": "c1", "content": text}));
        lines.extend(result.map(given));
        lines.push("data: [DONE]\n\n".to_owned());
    } else {
        let message = json!([piece(""), about(&json!({"tool_calls": [call("c1", "{}")]}))]);
        let mut values = vec![json!(["messages", message]), json!(["custom", report(phase)])];
        let given = |text| json!(["messages", [{"type": "tool", "tool_call_id": "c1", "content": text}, {}]]);
        values.extend(result.map(given));
        lines.extend(values.iter().map(|value| format!("{value}\n")));
    }
    lines.concat()
}

fn progress_in(out: &Decoded) -> (Option<u64>, ToolProgress) {
    let mut all = out.envelopes.iter().filter_map(|envelope| match &envelope.event.kind {
        Kind::ToolProgress(progress) => Some((envelope.producer_at, progress.clone())),
        _ => None,
    });
    all.next().unwrap_or_else(|| panic!("no progress in {out:?}"))
}

#[test]
fn reports_keep_their_phase_data_and_time_and_come_back_as_they_were() {
    for dialect in ["bernard", "langgraph"] {
        for phase in ["step", "progress", "complete", "error", "paused"] {
            let out = decoded(dialect, &reported(dialect, phase, None));
            let (time, progress) = progress_in(&out);
            assert_eq!((time, progress.tool.as_str()), (Some(1_677_858_242_500), "c1"));
            assert_eq!(
                (progress.current, progress.total, progress.text.as_deref()),
                (Some(2), Some(3), Some("stations"))
            );
            assert_eq!(progress.phase.as_deref().unwrap_or("progress"), phase);
            assert_eq!(progress.data.as_ref().unwrap().to_value(), json!({"asked": ["Oslo"]}));
            let options = EncodeOptions { modes: vec!["custom".into()], ..EncodeOptions::default() };
            let mut encoder = encoding(dialect).unwrap().encoder(&options);
            let mut told = Vec::new();
            for envelope in &out.envelopes {
                encoder.event(envelope, &mut told);
            }
            let told = String::from_utf8(told).unwrap();
            let objects = told
                .lines()
                .filter_map(|line| serde_json::from_str::<Value>(line.strip_prefix("data: ")?).ok());
            let mut reports = objects.filter_map(|it| {
                if it["_type"] == "tool_progress" {
                    Some(it)
                } else {
                    it.get("data").filter(|_| it["type"] == "tool_progress").cloned()
                }
            });
            let mut back = reports.next().unwrap();
            back.as_object_mut().unwrap().remove("tool_call_id");
            assert_eq!(back, report(phase), "{dialect}");
        }
    }
}

#[test]
fn a_tool_that_says_that_it_failed_has_failed_whatever_it_gives_back() {
    for dialect in ["bernard", "langgraph"] {
        for (phase, result, state) in [
            ("error", Some("no station"), ToolState::Error),
            ("error", None, ToolState::Error),
            ("complete", Some("4 C"), ToolState::Complete),
        ] {
            let view = view(decoded(dialect, &reported(dialect, phase, result)));
            let tool = &view.runs[0].tools[0];
            assert_eq!(tool.state, state, "{dialect} {phase} {result:?}");
            assert_eq!(view.anomalies.total, 0, "{:?}", view.anomalies);
        }
    }
}

#[test]
fn a_report_of_a_tool_that_nobody_has_called_is_an_event_of_its_own() {
    let stream = format!("event: custom\ndata: {}\n\n", report("step"));
    let out = decoded("langgraph", &stream);
    assert!(
        out.envelopes
            .iter()
            .any(|it| matches!(&it.event.kind, Kind::Custom { name, .. } if name == "custom"))
    );
}
