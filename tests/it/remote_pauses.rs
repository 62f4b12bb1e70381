//! Agents elsewhere that pause for a person: what they ask is a call that waits for consent, whoever answers it here is
//! heard there, in their own words, and the run goes on.

use serde_json::{Value, json};
use tests::raw::RawMessage;
use tests::{ScriptedServer, ServerStep, TestHub};

use super::proxy::STREAM;
use super::remote_kinds::{hub_with, say};
use super::runner::{command, events, last_run, runs};

fn streamed(events: &[(&str, Value)]) -> Vec<ServerStep> {
    let said = events.iter().map(|(name, payload)| {
        let name = if name.is_empty() { String::new() } else { format!("event: {name}\n") };
        ServerStep::piece(format!("{name}data: {payload}\n\n").as_bytes())
    });
    std::iter::once(ServerStep::begin("200 OK", &STREAM)).chain(said).chain([ServerStep::end(&[])]).collect()
}

fn body(asked: &RawMessage) -> Value {
    serde_json::from_slice(&asked.body).unwrap()
}

/// A field of a form.
fn field(asked: &RawMessage, name: &str) -> String {
    let text = String::from_utf8(asked.body.clone()).unwrap();
    let (_, rest) = text.split_once(&format!("name=\"{name}\"\r\n\r\n")).unwrap();
    rest.split_once("\r\n--").unwrap().0.to_owned()
}

/// The calls of the newest run, once one of them waits.
async fn waiting(hub: &TestHub) -> Vec<Value> {
    let waits = |run: &Value| {
        let mut calls = run["tool_calls"].as_array().into_iter().flatten();
        calls.any(|call| call["state"] == "approval")
    };
    let mut all = runs(hub, |runs| runs.last().is_some_and(waits)).await;
    let run = all.pop().unwrap();
    assert_eq!(run["status"], "running", "{run}");
    run["tool_calls"].as_array().unwrap().clone()
}

async fn commanded(hub: &TestHub, body: Value) {
    let (status, done) = command(hub, body).await;
    assert_eq!(status, 200, "{done}");
}

async fn completed(hub: &TestHub, text: &str) -> Value {
    let run = last_run(hub).await;
    assert_eq!((&run["status"], &run["text"]), (&json!("complete"), &json!(text)), "{run}");
    run
}

fn agno_event(name: &str, mut more: Value) -> (&str, Value) {
    for (key, value) in [("event", name), ("run_id", "ar-1"), ("agent_id", "weather"), ("session_id", "c")] {
        more[key] = value.into();
    }
    (name, more)
}

fn agno_tool(id: &str, more: &Value) -> Value {
    let mut tool = json!({"tool_call_id": id, "tool_name": "delete", "tool_args": {"file": id}, "result": null,
        "requires_confirmation": true, "confirmed": null, "requires_user_input": null, "user_input_schema": null});
    for (key, value) in more.as_object().unwrap() {
        tool[key] = value.clone();
    }
    tool
}

/// An agent of Agno's that asks before it deletes `a` and `b`, and then says what came of it.
fn agno(asked: &RawMessage) -> Vec<ServerStep> {
    if asked.start.contains("/cancel") {
        return ServerStep::answer("200 OK", &[], b"{}");
    }
    let wants = [agno_tool("a", &json!({})), agno_tool("b", &json!({}))];
    if !asked.start.contains("/continue") {
        return streamed(&[
            agno_event("RunStarted", json!({"model": "m"})),
            agno_event("RunContent", json!({"content": "Well. "})),
            agno_event(
                "RunPaused",
                json!({"content": "I have tools to execute, but I need confirmation.", "tools": wants}),
            ),
        ]);
    }
    let tools: Value = serde_json::from_str(&field(asked, "tools")).unwrap();
    let mut said = vec![agno_event("RunContinued", json!({}))];
    for tool in tools.as_array().unwrap().iter().filter(|tool| tool["confirmed"] == true) {
        let mut done = tool.clone();
        done["result"] = "gone".into();
        said.push(agno_event("ToolCallStarted", json!({"tool": tool})));
        said.push(agno_event("ToolCallCompleted", json!({"tool": done, "content": "delete() completed"})));
    }
    said.push(agno_event("RunContent", json!({"content": "Done."})));
    said.push(agno_event(
        "RunCompleted",
        json!({"content": "Done.", "metrics": {"input_tokens": 7, "output_tokens": 3}}),
    ));
    streamed(&said)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_of_agno_that_has_paused_goes_on_with_what_a_person_said() {
    let origin = ScriptedServer::start(agno).await;
    let (mut hub, _place) = hub_with(&origin, "agno", "", "model = \"weather\"").await;
    let done = say(&hub, "Tidy up").await;
    let calls = waiting(&hub).await;
    assert_eq!(calls.len(), 2, "{calls:?}");
    commanded(&hub, json!({"id": "1", "command": "approve", "tool": "a", "arguments": {"file": "a2"}})).await;
    let states = |run: &Value| json!([run["tool_calls"][0]["state"], run["tool_calls"][1]["state"]]);
    let is_half = |all: &[Value]| all.last().is_some_and(|run| states(run) == json!(["pending", "approval"]));
    runs(&hub, is_half).await;
    // What was answered already is not asked again, whether the hub stopped or died.
    hub.stop().await;
    hub.restart().await;
    runs(&hub, is_half).await;
    hub.kill().await;
    hub.restart().await;
    runs(&hub, is_half).await;
    commanded(&hub, json!({"id": "2", "command": "reject", "tool": "b", "text": "It is mine"})).await;
    let run = completed(&hub, "Well. Done.").await;
    assert_eq!(run["id"], done["run"]);
    assert_eq!(states(&run), json!(["complete", "cancelled"]), "{run}");
    let asked = origin.asked();
    assert_eq!(asked.len(), 2);
    assert_eq!(asked[1].start, "POST /agents/weather/runs/ar-1/continue HTTP/1.1");
    let tools: Value = serde_json::from_str(&field(&asked[1], "tools")).unwrap();
    let answers = [("a2", json!(true), Value::Null), ("b", json!(false), json!("It is mine"))];
    for (tool, (file, confirmed, note)) in tools.as_array().unwrap().iter().zip(answers) {
        assert_eq!((&tool["tool_args"]["file"], &tool["confirmed"]), (&json!(file), &confirmed), "{tool}");
        assert_eq!(tool["confirmation_note"], note);
    }
    assert_eq!((field(&asked[1], "session_id"), field(&asked[1], "stream")), ("c".into(), "true".into()));
    let starts = events(&hub).await.into_iter().filter(|event| event["k"] == "tool.start").count();
    assert_eq!(starts, 2, "a call that goes on is no new one");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_that_waits_elsewhere_outlives_a_hub_that_stops_and_may_be_stopped() {
    let origin = ScriptedServer::start(agno).await;
    let (mut hub, _place) = hub_with(&origin, "agno", "", "model = \"weather\"").await;
    say(&hub, "Tidy up").await;
    waiting(&hub).await;
    hub.stop().await;
    hub.restart().await;
    waiting(&hub).await;
    commanded(&hub, json!({"id": "s", "command": "stop"})).await;
    assert_eq!(last_run(&hub).await["status"], "cancelled");
    let asked = tests::wait::until("the cancelling", async || origin.asked().into_iter().nth(1)).await;
    assert_eq!(asked.start, "POST /agents/weather/runs/ar-1/cancel HTTP/1.1");
    let (status, problem) = command(&hub, json!({"id": "a", "command": "approve", "tool": "a"})).await;
    assert_eq!((status, problem["code"].as_str()), (409, Some("not_running")));
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_tool_of_agno_must_know_is_given_with_the_consent() {
    let schema = json!([{"name": "to", "field_type": "str", "value": null}, {"name": "text", "field_type": "str", "value": "Hi"}]);
    let wants = agno_tool(
        "m",
        &json!({"requires_confirmation": null, "requires_user_input": true, "user_input_schema": schema, "tool_args": {}}),
    );
    let origin = ScriptedServer::start(move |asked| {
        if asked.start.contains("/continue") {
            return agno_continued();
        }
        streamed(&[agno_event("RunStarted", json!({})), agno_event("RunPaused", json!({"tools": [wants]}))])
    })
    .await;
    let (hub, _place) = hub_with(&origin, "agno", "", "model = \"weather\"").await;
    say(&hub, "Write").await;
    assert_eq!(waiting(&hub).await.len(), 1);
    commanded(&hub, json!({"id": "1", "command": "approve", "tool": "m", "arguments": {"to": "Ada"}})).await;
    completed(&hub, "Done.").await;
    let tools: Value = serde_json::from_str(&field(&origin.asked()[1], "tools")).unwrap();
    assert_eq!(tools[0]["answered"], true);
    let values = (&tools[0]["user_input_schema"][0]["value"], &tools[0]["user_input_schema"][1]["value"]);
    assert_eq!(values, (&json!("Ada"), &json!("Hi")));
}

fn agno_continued() -> Vec<ServerStep> {
    streamed(&[
        agno_event("RunContinued", json!({})),
        agno_event("RunContent", json!({"content": "Done."})),
        agno_event("RunCompleted", json!({"content": "Done."})),
    ])
}

#[tokio::test(flavor = "multi_thread")]
async fn answers_that_an_agent_elsewhere_did_not_take_are_told_again() {
    let times = std::sync::atomic::AtomicU32::new(0);
    let origin = ScriptedServer::start(move |asked| {
        let is_first = asked.start.contains("/continue")
            && times.fetch_add(1, std::sync::atomic::Ordering::Relaxed) == 0;
        if is_first { ServerStep::answer("503 Service Unavailable", &[], b"{}") } else { agno(asked) }
    })
    .await;
    let (hub, _place) = hub_with(&origin, "agno", "", "model = \"weather\"").await;
    say(&hub, "Tidy up").await;
    waiting(&hub).await;
    for tool in ["a", "b"] {
        commanded(&hub, json!({"id": tool, "command": "approve", "tool": tool})).await;
    }
    let run = last_run(&hub).await;
    assert_eq!((&run["status"], &run["error"]["code"]), (&json!("error"), &json!("http_503")), "{run}");
    commanded(&hub, json!({"id": "r", "command": "retry"})).await;
    runs(&hub, |all| all[0]["status"] == "complete").await;
    let asked = origin.asked();
    assert_eq!(asked.len(), 3);
    assert_eq!(field(&asked[1], "tools"), field(&asked[2], "tools"));
}

fn hitl(interrupts: &Value) -> Vec<ServerStep> {
    let meta = json!({"langgraph_node": "model", "langgraph_step": 1, "langgraph_checkpoint_ns": "model:1"});
    let calls = json!([
        {"name": "delete", "args": "{\"file\":\"a\"}", "id": "call_1", "index": 0},
        {"name": "send", "args": "{\"to\":\"b\"}", "id": "call_2", "index": 1},
    ]);
    streamed(&[
        ("metadata", json!({"run_id": "run-1", "attempt": 1})),
        (
            "messages",
            json!([{"type": "AIMessageChunk", "id": "ai-1", "content": "Well. ", "tool_call_chunks": calls}, meta]),
        ),
        ("updates", json!({"__interrupt__": interrupts})),
    ])
}

fn resumed() -> Vec<ServerStep> {
    let meta = json!({"langgraph_node": "model", "langgraph_step": 3, "langgraph_checkpoint_ns": "model:2"});
    let tool = |id: &str, name: &str, text: &str| json!({"type": "tool", "id": format!("t-{id}"), "name": name, "tool_call_id": id, "content": text, "status": "success"});
    let calls = json!([{"name": "delete", "args": {"file": "a"}, "id": "call_1", "type": "tool_call"}, {"name": "send", "args": {"to": "b"}, "id": "call_2", "type": "tool_call"}]);
    let ai = json!({"type": "ai", "id": "ai-1", "content": "Well. ", "tool_calls": calls});
    streamed(&[
        ("metadata", json!({"run_id": "run-2", "attempt": 1})),
        ("values", json!({"messages": [{"type": "human", "id": "h", "content": "Tidy up"}, ai]})),
        ("updates", json!({"HumanInTheLoopMiddleware.after_model": {"messages": [ai]}})),
        (
            "updates",
            json!({"tools": {"messages": [tool("call_1", "delete", "gone"), tool("call_2", "send", "sent")]}}),
        ),
        ("messages", json!([{"type": "AIMessageChunk", "id": "ai-2", "content": "Done."}, meta])),
        (
            "updates",
            json!({"model": {"messages": [{"type": "ai", "id": "ai-2", "content": "Done.", "tool_calls": []}]}}),
        ),
    ])
}

/// Lets a graph that asks `interrupts` go on with what `answers` command; what it was told as the answer.
async fn graph(interrupts: Value, answers: &[Value]) -> Value {
    let origin =
        ScriptedServer::start(
            move |asked| {
                if body(asked)["command"].is_null() { hitl(&interrupts) } else { resumed() }
            },
        )
        .await;
    let (hub, _place) = hub_with(&origin, "langgraph", "", "").await;
    say(&hub, "Tidy up").await;
    waiting(&hub).await;
    for (number, answer) in answers.iter().enumerate() {
        let mut answer = answer.clone();
        answer["id"] = number.to_string().into();
        if answer["tool"].is_null() {
            let calls = waiting(&hub).await;
            answer["tool"] = calls.iter().find(|call| call["state"] == "approval").unwrap()["id"].clone();
        }
        commanded(&hub, answer).await;
    }
    let run = completed(&hub, "Well. Done.").await;
    let is_known = |call: &Value| {
        call["name"] == "question" || ["call_1", "call_2"].contains(&call["id"].as_str().unwrap())
    };
    assert!(
        run["tool_calls"].as_array().unwrap().iter().all(is_known),
        "a call that goes on is no new one: {run}"
    );
    let asked = origin.asked();
    let (first, second) = (body(&asked[0]), body(&asked[1]));
    assert_eq!(asked[0].start, asked[1].start, "the same thread");
    assert_eq!((&second["input"], &first["command"]), (&Value::Null, &Value::Null));
    second["command"]["resume"].clone()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_graph_that_was_interrupted_is_told_what_was_decided_of_each_call() {
    let requests = json!([{"name": "delete", "args": {"file": "a"}, "description": "Delete a?"}, {"name": "send", "args": {"to": "b"}}]);
    let value = json!({"action_requests": requests, "review_configs": []});
    let answers = [
        json!({"command": "reject", "tool": "call_2", "text": "Not to b"}),
        json!({"command": "approve", "tool": "call_1", "arguments": {"file": "c"}}),
    ];
    let resume = graph(json!([{"id": "i1", "value": value}]), &answers).await;
    let edited = json!({"type": "edit", "edited_action": {"name": "delete", "args": {"file": "c"}}});
    assert_eq!(resume, json!({"decisions": [edited, {"type": "reject", "message": "Not to b"}]}));
}

#[tokio::test(flavor = "multi_thread")]
async fn interrupts_of_a_graph_that_come_together_are_answered_by_their_ids() {
    let asks = |id: &str, name: &str, args: Value| json!({"type": "tool_approval", "tool_call_id": id, "name": name, "args": args, "description": "May I?"});
    let interrupts = json!([
        {"id": "i1", "value": asks("call_1", "delete", json!({"file": "a"}))},
        {"id": "i2", "value": asks("call_2", "send", json!({"to": "b"}))},
    ]);
    let answers =
        [json!({"command": "approve", "tool": "call_1"}), json!({"command": "reject", "tool": "call_2"})];
    assert_eq!(
        graph(interrupts, &answers).await,
        json!({"i1": {"type": "approve"}, "i2": {"type": "reject"}})
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_question_of_a_graph_that_is_about_no_call_is_a_call_of_its_own() {
    let interrupts = json!([{"id": "i1", "value": {"question": "How old are you?"}}]);
    let answers = [json!({"command": "approve", "arguments": 42})];
    // The calls of the answer before are open, and it goes on with them too.
    assert_eq!(graph(interrupts, &answers).await, json!(42));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_agent_behind_ag_ui_that_was_interrupted_is_told_what_was_said() {
    let event = |kind: &str, mut more: Value| {
        more["type"] = kind.into();
        ("", more)
    };
    let origin = ScriptedServer::start(move |asked| {
        let input = body(asked);
        let run = json!({"threadId": input["threadId"], "runId": input["runId"]});
        let mut said = vec![event("RUN_STARTED", run.clone())];
        if input["resume"].is_null() {
            for id in ["call_1", "call_2"] {
                said.push(event("TOOL_CALL_START", json!({"toolCallId": id, "toolCallName": "delete"})));
                said.push(event("TOOL_CALL_ARGS", json!({"toolCallId": id, "delta": "{\"file\":\"a\"}"})));
                said.push(event("TOOL_CALL_END", json!({"toolCallId": id})));
            }
            let interrupts = ["1", "2"].map(|n| json!({"id": format!("int-{n}"), "reason": "tool_call", "message": "May I?", "toolCallId": format!("call_{n}")}));
            let mut end = run;
            end["outcome"] = json!({"type": "interrupt", "interrupts": interrupts});
            said.push(event("RUN_FINISHED", end));
        } else {
            said.push(event("TOOL_CALL_RESULT", json!({"messageId": "m1", "toolCallId": "call_1", "content": "gone"})));
            said.push(event("TEXT_MESSAGE_CHUNK", json!({"messageId": "m2", "role": "assistant", "delta": "Done."})));
            said.push(event("RUN_FINISHED", run));
        }
        streamed(&said)
    })
    .await;
    let (hub, _place) = hub_with(&origin, "ag-ui", "/agent", "").await;
    say(&hub, "Tidy up").await;
    assert_eq!(waiting(&hub).await.len(), 2);
    commanded(&hub, json!({"id": "1", "command": "approve", "tool": "call_1", "arguments": {"file": "b"}}))
        .await;
    commanded(&hub, json!({"id": "2", "command": "reject", "tool": "call_2", "text": "No"})).await;
    let run = completed(&hub, "Done.").await;
    assert_eq!(run["tool_calls"][0]["state"], "complete", "{run}");
    let input = body(&origin.asked()[1]);
    let expected = json!([
        {"interruptId": "int-1", "status": "resolved", "payload": {"approved": true, "editedArgs": {"file": "b"}}},
        {"interruptId": "int-2", "status": "resolved", "payload": {"approved": false, "reason": "No"}},
    ]);
    assert_eq!(input["resume"], expected);
    let roles: Vec<&Value> = input["messages"].as_array().unwrap().iter().map(|it| &it["role"]).collect();
    assert_eq!(roles, ["user", "assistant"], "no results are made up: {input}");
    assert_eq!(input["messages"][1]["toolCalls"].as_array().map(Vec::len), Some(2));
}

#[tokio::test(flavor = "multi_thread")]
async fn who_answers_before_a_graph_has_fallen_silent_is_heard_when_it_has() {
    let requests = json!([{"name": "delete", "args": {"file": "a"}}, {"name": "send", "args": {"to": "b"}}]);
    let interrupts = json!([{"id": "i1", "value": {"action_requests": requests}}]);
    let origin = ScriptedServer::start(move |asked| {
        if !body(asked)["command"].is_null() {
            return resumed();
        }
        let mut steps = hitl(&interrupts);
        // The interrupt is told, and the stream stays open.
        steps.insert(steps.len() - 1, ServerStep::Wait);
        steps
    })
    .await;
    let (hub, _place) = hub_with(&origin, "langgraph", "", "").await;
    say(&hub, "Tidy up").await;
    let all_wait = |all: &[Value]| {
        let calls = all.last().and_then(|run| run["tool_calls"].as_array());
        calls.is_some_and(|calls| calls.len() == 2 && calls.iter().all(|call| call["state"] == "approval"))
    };
    runs(&hub, all_wait).await;
    for tool in ["call_1", "call_2"] {
        commanded(&hub, json!({"id": tool, "command": "approve", "tool": tool})).await;
    }
    origin.go_on();
    completed(&hub, "Well. Done.").await;
    let resume = &body(&origin.asked()[1])["command"]["resume"];
    assert_eq!(*resume, json!({"decisions": [{"type": "approve"}, {"type": "approve"}]}));
}

#[tokio::test(flavor = "multi_thread")]
async fn answers_are_not_told_again_by_a_hub_that_died_while_it_told_them() {
    let times = std::sync::atomic::AtomicU32::new(0);
    let origin = ScriptedServer::start(move |asked| {
        let is_first = asked.start.contains("/continue")
            && times.fetch_add(1, std::sync::atomic::Ordering::Relaxed) == 0;
        if is_first { vec![ServerStep::Silence] } else { agno(asked) }
    })
    .await;
    let (mut hub, _place) = hub_with(&origin, "agno", "", "model = \"weather\"").await;
    say(&hub, "Tidy up").await;
    waiting(&hub).await;
    for tool in ["a", "b"] {
        commanded(&hub, json!({"id": tool, "command": "approve", "tool": tool})).await;
    }
    tests::wait::until("the answers", async || origin.asked().into_iter().nth(1)).await;
    hub.kill().await;
    hub.restart().await;
    let run = last_run(&hub).await;
    assert_eq!((&run["status"], &run["error"]["code"]), (&json!("interrupted"), &json!("hub_died")), "{run}");
    assert_eq!(origin.asked().len(), 2);
    commanded(&hub, json!({"id": "r", "command": "retry"})).await;
    runs(&hub, |all| all[0]["status"] == "complete").await;
    let asked = origin.asked();
    assert_eq!(field(&asked[1], "tools"), field(&asked[2], "tools"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pause_that_is_too_large_to_be_remembered_ends_the_run() {
    let wants = agno_tool("a", &json!({"tool_args": {"file": "x".repeat(1 << 20)}}));
    let origin = ScriptedServer::start(move |asked| {
        if asked.start.contains("/cancel") {
            return ServerStep::answer("200 OK", &[], b"{}");
        }
        streamed(&[agno_event("RunStarted", json!({})), agno_event("RunPaused", json!({"tools": [wants]}))])
    })
    .await;
    let (hub, _place) = hub_with(&origin, "agno", "", "model = \"weather\"").await;
    say(&hub, "Tidy up").await;
    let run = last_run(&hub).await;
    assert_eq!((&run["status"], &run["error"]["code"]), (&json!("error"), &json!("pause_too_large")));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_team_of_agno_whose_member_paused_first_waits_for_the_call_of_the_member() {
    let event = |name: &'static str, run: &str, mut more: Value| {
        (more["event"], more["run_id"]) = (name.into(), run.into());
        (name, more)
    };
    let wants = agno_tool("a", &json!({}));
    let origin = ScriptedServer::start(move |asked| {
        if asked.start.contains("/continue") {
            return streamed(&[
                event("TeamRunContinued", "tr-1", json!({"team_id": "crew"})),
                event("TeamRunContent", "tr-1", json!({"team_id": "crew", "content": "Done."})),
                event("TeamRunCompleted", "tr-1", json!({"team_id": "crew", "content": "Done."})),
            ]);
        }
        let member = json!({"agent_id": "m", "parent_run_id": "tr-1", "tools": [wants]});
        let team = json!({"team_id": "crew", "requirements": [{"id": "q", "tool_execution": wants}]});
        streamed(&[
            event("TeamRunStarted", "tr-1", json!({"team_id": "crew"})),
            event("RunStarted", "mr-1", json!({"agent_id": "m", "parent_run_id": "tr-1"})),
            event("RunPaused", "mr-1", member),
            event("TeamRunPaused", "tr-1", team),
        ])
    })
    .await;
    let (hub, _place) = hub_with(&origin, "agno", "", "model = \"teams/crew\"").await;
    say(&hub, "Tidy up").await;
    assert_eq!(waiting(&hub).await.len(), 1);
    commanded(&hub, json!({"id": "1", "command": "approve", "tool": "a"})).await;
    completed(&hub, "Done.").await;
    let asked = origin.asked();
    assert_eq!(asked[1].start, "POST /teams/crew/runs/tr-1/continue HTTP/1.1");
    let requirements: Value = serde_json::from_str(&field(&asked[1], "requirements")).unwrap();
    assert_eq!(requirements[0]["tool_execution"]["confirmed"], true);
}
