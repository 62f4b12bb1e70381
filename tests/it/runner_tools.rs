//! Tools of the hub's own agents: executed while the model still speaks, side by side or one after the other, and servers
//! that hang, crash, lie and say far too much.

use serde_json::{Value, json};
use tests::wait::{patiently_until, until, within};
use tests::{ScriptedServer, ServerStep, TestHub};

use super::proxy::{END, STREAM, piece};
use super::runner::{answer, command, events, hub_with_tools, last_run, messages, runs, say};

/// The program of the server with tools.
const SERVER: &str = env!("CARGO_BIN_EXE_tool_server");

/// A piece of an answer that calls a tool.
fn call(number: usize, id: &str, name: &str, arguments: &Value) -> Vec<u8> {
    let function = json!({"name": format!("t__{name}"), "arguments": arguments.to_string()});
    let calls = json!([{"index": number, "id": id, "type": "function", "function": function}]);
    let event = json!({"id": "x", "model": "m", "choices": [{"index": 0, "delta": {"tool_calls": calls}}]});
    format!("data: {event}\n\n").into_bytes()
}

/// An answer with calls.
fn calls(calls: &[(&str, &str, Value)]) -> Vec<ServerStep> {
    let mut steps = vec![ServerStep::begin("200 OK", &STREAM)];
    let pieces =
        calls.iter().enumerate().map(|(number, (id, name, arguments))| call(number, id, name, arguments));
    steps.extend(pieces.map(|bytes| ServerStep::piece(&bytes)));
    steps.extend([ServerStep::piece(END), ServerStep::end(&[])]);
    steps
}

/// A model that first calls, and answers `Done.` when it has results.
pub(crate) async fn calling(called: Vec<(&'static str, &'static str, Value)>) -> ScriptedServer {
    ScriptedServer::start(move |asked| {
        let has_results = messages(asked).iter().any(|message| message["role"] == "tool");
        if has_results { answer("Done.") } else { calls(&called) }
    })
    .await
}

/// A hub whose helper has the tools of the server as `t`. `more` is put into its table.
pub(crate) async fn hub(origin: &ScriptedServer, more: &str) -> (TestHub, tempfile::TempDir) {
    let server = format!("[mcp.t]\ncommand = [{SERVER:?}]");
    hub_with_tools(origin, &format!("tools = [\"t\"]\n{more}"), &server).await
}

/// The calls of the newest run, once it is over, by their ids.
pub(crate) async fn called(hub: &TestHub) -> Vec<Value> {
    let run = last_run(hub).await;
    assert_eq!((run["status"].as_str(), run["text"].as_str()), (Some("complete"), Some("Done.")), "{run}");
    run["tool_calls"].as_array().unwrap().clone()
}

/// The call `id` among `calls`: its state and what it gave back.
pub(crate) fn came(calls: &[Value], id: &str) -> (String, String) {
    let call = calls.iter().find(|call| call["id"] == id).unwrap();
    let text = |field: &str| match &call[field] {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    (text("state"), text("result"))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_model_is_offered_the_tools_and_told_what_they_gave_back() {
    let origin = calling(vec![("a", "echo", json!({"x": 1}))]).await;
    let (hub, _place) = hub(&origin, "").await;
    say(&hub, "Hello").await;
    assert_eq!(came(&called(&hub).await, "a"), ("complete".into(), "{\"x\":1}".into()));
    let asked = origin.asked();
    let body: Value = serde_json::from_slice(&asked[0].body).unwrap();
    let echo = json!({
        "type": "function",
        "function": {"name": "t__echo", "description": "gives its arguments back", "parameters": {"type": "object"}},
    });
    assert!(body["tools"].as_array().unwrap().contains(&echo), "{}", body["tools"]);
    let told = json!({"role": "tool", "tool_call_id": "a", "content": "{\"x\":1}"});
    assert_eq!(messages(&asked[1]).last().unwrap(), &told);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_result_is_in_the_log_before_the_model_has_ended() {
    let origin = ScriptedServer::start(|asked| {
        if messages(asked).len() > 1 {
            return answer("Done.");
        }
        vec![
            ServerStep::begin("200 OK", &STREAM),
            ServerStep::piece(&call(0, "a", "echo", &json!({"x": 1}))),
            ServerStep::piece(&piece("I go on.")),
            ServerStep::Wait,
            ServerStep::piece(END),
            ServerStep::end(&[]),
        ]
    })
    .await;
    let (hub, _place) = hub(&origin, "").await;
    say(&hub, "Hello").await;
    let all =
        runs(&hub, |runs| runs.first().is_some_and(|run| run["tool_calls"][0]["state"] == "complete")).await;
    assert_eq!((all[0]["status"].as_str(), all[0]["text"].as_str()), (Some("running"), Some("I go on.")));
    origin.go_on();
    assert_eq!(last_run(&hub).await["status"], "complete");
}

#[tokio::test(flavor = "multi_thread")]
async fn ten_tools_of_one_answer_are_executed_side_by_side() {
    const IDS: [&str; 10] = ["0", "1", "2", "3", "4", "5", "6", "7", "8", "9"];
    // None of them is over before all have begun.
    let meets = IDS.map(|id| (id, "meet", json!({"room": "ten", "count": 10, "n": id})));
    let origin = calling(meets.to_vec()).await;
    let (hub, _place) = hub(&origin, "call_seconds = 20").await;
    say(&hub, "Hello").await;
    let calls = called(&hub).await;
    assert!(IDS.iter().all(|id| came(&calls, id) == ("complete".into(), "met".into())), "{calls:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn those_about_one_thing_go_one_after_the_other() {
    let spans = ["a", "b", "c", "d"].map(|id| (id, "span", json!({"item_id": "one", "n": id})));
    let origin = calling(spans.to_vec()).await;
    let (hub, _place) = hub(&origin, "").await;
    say(&hub, "Hello").await;
    let calls = called(&hub).await;
    let spans: Vec<_> = ["a", "b", "c", "d"].iter().map(|id| came(&calls, id).1).collect();
    assert_eq!(spans, ["[0,1]", "[2,3]", "[4,5]", "[6,7]"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn all_kinds_of_content_come_through() {
    let origin = calling(vec![("a", "kinds", json!({}))]).await;
    let (hub, _place) = hub(&origin, "").await;
    say(&hub, "Hello").await;
    called(&hub).await;
    let events = events(&hub).await;
    let result = events.iter().find(|event| event["k"] == "tool.result").unwrap();
    let texts: Vec<_> =
        result["output"].as_array().unwrap().iter().map(|it| it["text"].as_str().unwrap()).collect();
    assert_eq!((texts[0], texts[1]), ("a text", "[image: image/png, 6 bytes]"));
    assert_eq!(result["files"][0]["url"], "data:image/png;base64,aW1hZ2U=");
    assert_eq!(result["files"][3]["url"], "https://example.org/c");
}

#[tokio::test(flavor = "multi_thread")]
async fn progress_is_seen_while_a_call_goes_on() {
    let room = json!({"room": "steps", "count": 2});
    let origin = calling(vec![("a", "steps", room.clone()), ("b", "meet", room)]).await;
    // One waits for the other, which is not let in before it was seen how far it is.
    let (hub, _place) = hub(&origin, "confirm = [\"t__meet\"]").await;
    let mut viewer = hub.view("c").await;
    viewer.live().await;
    say(&hub, "Hello").await;
    let third = "\"k\":\"tool.progress\",\"tool\":\"a\",\"text\":\"step 3\",\"current\":3,\"total\":3";
    within("the third step", async {
        while !serde_json::to_string(&viewer.step().await).unwrap().contains(third) {}
    })
    .await;
    runs(&hub, |runs| runs[0]["tool_calls"][1]["state"] == "approval").await;
    assert_eq!(command(&hub, json!({"id": "1", "command": "approve", "tool": "b"})).await.0, 200);
    let calls = called(&hub).await;
    assert_eq!((came(&calls, "a").1, came(&calls, "b").1), ("done".into(), "met".into()));
}

#[tokio::test(flavor = "multi_thread")]
async fn i8_a_tool_that_hangs_harms_only_its_own_call_and_is_told_to_stop() {
    let place = tempfile::tempdir().unwrap();
    let file = place.path().join("hung");
    let hang = json!({"file": file.to_str().unwrap()});
    let origin = calling(vec![("a", "hang", hang), ("b", "echo", json!({}))]).await;
    let (hub, _place) = hub(&origin, "call_seconds = 1").await;
    say(&hub, "Hello").await;
    let calls = called(&hub).await;
    assert_eq!(came(&calls, "a"), ("error".into(), "timed out after 1 s".into()));
    assert_eq!(came(&calls, "b").0, "complete");
    let said = until("the server to be told", async || std::fs::read_to_string(&file).ok()).await;
    assert_eq!(said, "cancelled\n");
}

#[tokio::test(flavor = "multi_thread")]
async fn i8_a_server_that_crashes_is_started_again_for_the_next_call() {
    let origin = ScriptedServer::start(|asked| {
        match messages(asked).iter().filter(|message| message["role"] == "tool").count() {
            0 => calls(&[("a", "crash", json!({}))]),
            1 => calls(&[("b", "echo", json!({"x": 2}))]),
            _ => answer("Done."),
        }
    })
    .await;
    let (hub, _place) = hub(&origin, "").await;
    say(&hub, "Hello").await;
    let calls = called(&hub).await;
    assert_eq!(came(&calls, "a").0, "error");
    assert_eq!(came(&calls, "b"), ("complete".into(), "{\"x\":2}".into()));
}

#[tokio::test(flavor = "multi_thread")]
async fn i8_a_server_that_lies_harms_only_its_own_call() {
    let lies = ["garbage", "stranger", "shape", "error"];
    let mut wanted: Vec<_> = lies.iter().map(|how| (*how, "lie", json!({"how": how}))).collect();
    wanted.push(("true", "echo", json!({})));
    let origin = calling(wanted).await;
    let (hub, _place) = hub(&origin, "call_seconds = 2").await;
    say(&hub, "Hello").await;
    let calls = called(&hub).await;
    for how in lies {
        assert_eq!(came(&calls, how).0, "error", "{how}");
    }
    assert!(came(&calls, "error").1.contains("out of order"), "{calls:?}");
    assert_eq!(came(&calls, "true").0, "complete");
}

#[tokio::test(flavor = "multi_thread")]
async fn i7_a_result_of_50_mb_is_kept_whole_and_told_in_short() {
    const BYTES: usize = 50 << 20;
    let origin = calling(vec![("a", "big", json!({"bytes": BYTES})), ("b", "echo", json!({}))]).await;
    let (hub, _place) = hub(&origin, "").await;
    say(&hub, "Hello").await;
    let calls = patiently_until("so much to come through", async || {
        let run = hub.summary("c").await["runs"][0].clone();
        (run["status"] == "complete").then(|| run["tool_calls"].as_array().unwrap().clone())
    })
    .await;
    assert_eq!((came(&calls, "a").0.as_str(), came(&calls, "b").0.as_str()), ("complete", "complete"));
    let events = events(&hub).await;
    let result = events.iter().find(|event| event["k"] == "tool.result" && event["tool"] == "a").unwrap();
    assert_eq!(result["ref"]["bytes"], BYTES + 2);
    assert!(origin.asked()[1].body.len() < 100_000, "the model is told the beginning");
}

#[tokio::test(flavor = "multi_thread")]
async fn keys_of_the_hub_are_not_for_the_programs_of_tools() {
    let origin = calling(vec![("a", "environment", json!({}))]).await;
    // Something that the hub itself is given, as a key would be.
    assert!(std::env::var_os("CARGO_MANIFEST_DIR").is_some());
    let server = format!("[mcp.t]\ncommand = [{SERVER:?}]\nenv = {{ OWN = \"1\" }}");
    let (hub, _place) = hub_with_tools(&origin, "tools = [\"t\"]", &server).await;
    say(&hub, "Hello").await;
    let names = came(&called(&hub).await, "a").1;
    let has = |name: &str| names.split(' ').any(|it| it == name);
    assert!(has("OWN") && has("PATH") && !has("CARGO_MANIFEST_DIR"), "{names}");
}

#[tokio::test(flavor = "multi_thread")]
async fn tools_that_are_not_there_are_missing_and_nothing_else() {
    let origin = ScriptedServer::start(|_| answer("Done.")).await;
    let server = "[mcp.t]\ncommand = [\"/nowhere/at/all\"]";
    let (hub, _place) = hub_with_tools(&origin, "tools = [\"t\"]", server).await;
    say(&hub, "Hello").await;
    assert!(called(&hub).await.is_empty());
    let events = events(&hub).await;
    let status = events.iter().find(|event| event["k"] == "status").unwrap();
    assert!(status["text"].as_str().unwrap().starts_with("the tools t are not there: "), "{status}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_that_needs_consent_waits_for_it() {
    let origin = calling(vec![
        ("yes", "echo", json!({"to": "prod"})),
        ("no", "echo", json!({"to": "mars"})),
        ("free", "span", json!({})),
    ])
    .await;
    let (hub, _place) = hub(&origin, "confirm = [\"t__ec*\"]").await;
    say(&hub, "Hello").await;
    let waits = |id: &str, run: &Value| {
        let calls = run["tool_calls"].as_array().cloned().unwrap_or_default();
        calls.iter().any(|call| call["id"] == id && call["state"] == "approval")
    };
    runs(&hub, |runs| runs.first().is_some_and(|run| waits("yes", run) && waits("no", run))).await;
    let yes = json!({"id": "1", "command": "approve", "tool": "yes", "arguments": {"to": "test"}});
    assert_eq!(command(&hub, yes).await.0, 200);
    let no = json!({"id": "2", "command": "reject", "tool": "no", "text": "not today"});
    assert_eq!(command(&hub, no).await.0, 200);
    let again = json!({"id": "3", "command": "approve", "tool": "free"});
    assert_eq!(command(&hub, again).await.0, 409);
    let calls = called(&hub).await;
    assert_eq!(came(&calls, "yes"), ("complete".into(), "{\"to\":\"test\"}".into()));
    assert_eq!(came(&calls, "no").0, "cancelled");
    assert_eq!(came(&calls, "free").0, "complete");
    let told = messages(&origin.asked()[1]);
    assert!(told.iter().any(|it| it["role"] == "user" && it["content"] == "not today"), "{told:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn finished_calls_are_not_executed_again_when_the_hub_was_killed() {
    let place = tempfile::tempdir().unwrap();
    let file = place.path().join("done");
    let count = json!({"file": file.to_str().unwrap(), "line": "once"});
    let origin = calling(vec![("a", "count", count), ("b", "hang", json!({"file": "/dev/null"}))]).await;
    let (mut hub, _place) = hub(&origin, "").await;
    say(&hub, "Hello").await;
    runs(&hub, |runs| {
        let state = |number: usize| runs.first().map(|run| run["tool_calls"][number]["state"].clone());
        state(0) == Some("complete".into()) && state(1) == Some("executing".into())
    })
    .await;
    let before = programs(&hub);
    assert_eq!(before.len(), 1, "{before:?}");
    until("the log to have it", async || (hub.number("log_queue_bytes").await == 0).then_some(())).await;
    hub.restart().await;
    let run = last_run(&hub).await;
    let calls = run["tool_calls"].as_array().unwrap();
    assert_eq!(came(calls, "a"), ("complete".into(), "1".into()));
    assert_eq!(came(calls, "b").0, "interrupted");
    assert_eq!((run["status"].as_str(), run["text"].as_str()), (Some("complete"), Some("Done.")));
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "once\n");
    let asked = messages(&origin.asked()[1]);
    let told = asked.iter().find(|message| message["tool_call_id"] == "b").unwrap();
    assert!(told["content"].as_str().unwrap().contains("may have had effects"), "{told}");
    until("the programs of the dead hub to be gone", async || {
        let lives = |pid: &u32| std::path::Path::new(&format!("/proc/{pid}")).exists();
        (!before.iter().any(lives)).then_some(())
    })
    .await;
}

/// The programs that the hub has started.
fn programs(hub: &TestHub) -> Vec<u32> {
    let tasks = std::fs::read_dir(format!("/proc/{}/task", hub.pid())).unwrap();
    let children =
        tasks.flatten().filter_map(|task| std::fs::read_to_string(task.path().join("children")).ok());
    children
        .flat_map(|list| list.split_whitespace().filter_map(|pid| pid.parse().ok()).collect::<Vec<_>>())
        .collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn i1_two_hundred_runs_at_once_lose_nothing() {
    const RUNS: usize = 200;
    let echoes = ["a", "b", "c", "d", "e"].map(|id| (id, "echo", json!({"n": id})));
    let origin = calling(echoes.to_vec()).await;
    let (hub, _place) = hub(&origin, "").await;
    let say = async |number: usize| {
        let path = format!("/v1/conversations/c{number}/commands");
        let body = json!({"id": "1", "command": "say", "agent": "helper", "text": "Hello"});
        let answer = hub.request("POST", &path).body(body.to_string()).send().await.unwrap();
        assert_eq!(answer.status(), 200);
    };
    futures_util::future::join_all((0..RUNS).map(say)).await;
    for number in 0..RUNS {
        let name = format!("c{number}");
        let run = patiently_until("all runs to end", async || {
            let run = hub.summary(&name).await["runs"][0].clone();
            (run["status"] != "running").then_some(run)
        })
        .await;
        let calls = run["tool_calls"].as_array().unwrap();
        assert!(calls.len() == 5 && calls.iter().all(|call| call["state"] == "complete"), "{run}");
        assert_eq!((run["status"].as_str(), run["text"].as_str()), (Some("complete"), Some("Done.")));
        let path = format!("/v1/conversations/{name}/events");
        let request = hub.request("GET", &path).header("accept", "application/x-ndjson");
        let body = request.send().await.unwrap().text().await.unwrap();
        let events = body.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
        let seqs: Vec<u64> = events.map(|event| event["seq"].as_u64().unwrap()).collect();
        assert!(seqs.iter().copied().eq(1..=seqs.len() as u64), "{seqs:?}");
    }
    assert_eq!(origin.asked().len(), 2 * RUNS);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_agent_takes_its_answers_as_its_streaming_file_says() {
    let origin = ScriptedServer::start(|asked| {
        if messages(asked).iter().any(|message| message["role"] == "tool") {
            return answer("Done and said at length.");
        }
        let call = |id: &str| {
            let written = format!("<run id=\"{id}\" name=\"t__echo\">{{\"x\":\"{id}\"}}</run>");
            piece(Value::from(written).to_string().trim_matches('"'))
        };
        vec![
            ServerStep::begin("200 OK", &STREAM),
            ServerStep::piece(&call("a")),
            ServerStep::piece(&call("b")),
            ServerStep::Wait,
            ServerStep::piece(END),
            ServerStep::end(&[]),
        ]
    })
    .await;
    let place = tempfile::tempdir().unwrap();
    let file = place.path().join("streaming.yaml");
    // The delay alone would hold the calls back for longer than the test has patience.
    let settings = "streaming_config:\n  tool_batch_size: 2\n  tool_batch_delay: 60\n  text_buffer_max: 8\n  formats:\n    xml:\n      tag_open: <run>\n";
    std::fs::write(&file, settings).unwrap();
    let (hub, _place) =
        hub(&origin, &format!("text_calls = \"xml\"\nstreaming = {:?}", file.to_str().unwrap())).await;
    say(&hub, "Hello").await;
    // Both are executed while the model still speaks.
    let are_done = |runs: &[Value]| {
        let calls = runs.first().and_then(|run| run["tool_calls"].as_array());
        calls.is_some_and(|calls| calls.len() == 2 && calls.iter().all(|call| call["state"] == "complete"))
    };
    let all = runs(&hub, are_done).await;
    assert_eq!(all[0]["status"], "running");
    origin.go_on();
    let run = last_run(&hub).await;
    assert_eq!((run["status"].as_str(), run["text"].as_str()), (Some("complete"), Some("Done and")));
    let events = events(&hub).await;
    let odd: Vec<_> = events.iter().filter(|event| event["k"] == "anomaly").collect();
    assert_eq!((odd.len(), odd[0]["code"].as_str()), (1, Some("too_large")), "{odd:?}");
}
