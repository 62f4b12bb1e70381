//! Several hubs on one log: doors, calls through the proxy, spans and streams of several conversations, each at whichever hub is asked.

use std::hash::{BuildHasher as _, Hasher as _, RandomState};

use serde_json::{Value, json};
use tests::raw::{self, RawSocket};
use tests::wait::{patiently, patiently_until, until, within};
use tests::{ScriptedServer, ServerStep, TestHub};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

use crate::cluster::{Cluster, status, statuses};
use crate::doors::{call, post, said, told};
use crate::proxy::{END, STREAM, piece};
use crate::runner::{answer, command, messages, runs};
use crate::runner_tools::{called, came};
use crate::several_moves::{move_to, moves};

/// Hubs whose `helper` asks `origin`, and where their settings are.
async fn with_helper(origin: &ScriptedServer, count: usize) -> (Cluster, tempfile::TempDir) {
    let place = tempfile::tempdir().unwrap();
    let file = place.path().join("fanlight.toml");
    let url = format!("http://{}/v1", origin.address());
    let agent = format!(
        "[agents.helper]\nkind = \"runner\"\nprovider = \"openai\"\nurl = \"{url}\"\nmodel = \"m\"\n"
    );
    std::fs::write(&file, agent).unwrap();
    (Cluster::start_with(count, &["--config", file.to_str().unwrap()]).await, place)
}

/// A model that says how many messages it was told.
async fn counting() -> ScriptedServer {
    ScriptedServer::start(|asked| answer(&format!("{} messages", messages(asked).len()))).await
}

fn user(text: &str) -> Value {
    json!({"role": "user", "content": text})
}

fn chat(messages: &Value) -> Value {
    json!({"model": "helper", "messages": messages})
}

const CHAT: &str = "/v1/chat/completions";

/// What was said in a conversation, as any hub tells it.
async fn asked_in(hub: &TestHub, name: &str) -> Vec<String> {
    said(&hub.summary(name).await)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_history_goes_on_in_its_conversation_whichever_hub_is_asked_and_after_their_deaths() {
    let origin = counting().await;
    let (mut cluster, _place) = with_helper(&origin, 3).await;
    let mut history = json!([user("One?")]);
    let mut names = Vec::new();
    // The first hub that is asked serves this caller; the others pass on what it sends.
    for (at, question) in ["Two?", "Three?", "Four?"].into_iter().enumerate() {
        let (body, name) = told(post(&cluster.hubs[at], CHAT, &chat(&history)).await).await;
        let body: Value = serde_json::from_str(&body).expect(&body);
        let all = history.as_array_mut().unwrap();
        all.push(body["choices"][0]["message"].clone());
        all.push(user(question));
        names.push(name);
    }
    assert_eq!(names, vec![names[0].clone(); 3]);
    let mut first = cluster.hubs.remove(0);
    // Somebody watches at the last hub, which takes the conversation over. The other one is asked.
    let mut viewer = cluster.hubs[1].view(&names[0]).await;
    viewer.live().await;
    // What it has not stored dies with it.
    until("all that was answered to be stored", async || {
        (first.number("log_unstored").await == 0).then_some(())
    })
    .await;
    first.kill().await;
    let next = patiently_until("the next hub to serve the caller", async || {
        let answered = post(&cluster.hubs[0], CHAT, &chat(&history)).await;
        if answered.status().is_success() { Some(told(answered).await.1) } else { None }
    })
    .await;
    assert_eq!(next, names[0], "what was said is in the log");
    assert_eq!(asked_in(&cluster.hubs[1], &next).await, ["One?", "Two?", "Three?", "Four?"]);
    let all = history.as_array_mut().unwrap();
    all.push(json!({"role": "assistant", "content": "7 messages"}));
    all.push(user("Five?"));
    let (_, name) = told(post(&cluster.hubs[1], CHAT, &chat(&history)).await).await;
    assert_eq!(name, next);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_thread_that_its_caller_names_is_served_by_the_hub_that_has_it() {
    let origin = counting().await;
    let (cluster, _place) = with_helper(&origin, 3).await;
    let [a, b, c] = &cluster.hubs[..] else { panic!() };
    // Somebody has opened the page of the thread before anything was said in it.
    let mut viewer = c.view("thread").await;
    viewer.live().await;
    let run = |run: &str, text: &str| {
        let messages = json!([{"id": run, "role": "user", "content": text}]);
        json!({"threadId": "thread", "runId": run, "messages": messages, "tools": [], "context": [], "state": {}})
    };
    for (number, hub) in [a, b, c, a].into_iter().enumerate() {
        let body = run(&format!("r{number}"), &format!("{number}?"));
        let (body, name) = told(post(hub, "/compat/ag-ui/helper", &body).await).await;
        assert!(body.contains("RUN_FINISHED"), "{body}");
        assert_eq!(name, "thread");
    }
    assert_eq!(asked_in(b, "thread").await, ["0?", "1?", "2?", "3?"]);
    viewer.until(|view| view.runs.len() == 4 && view.runs.values().all(|run| !run.is_running())).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_thread_of_the_platform_is_known_to_every_hub() {
    let origin = counting().await;
    let (cluster, _place) = with_helper(&origin, 3).await;
    let [a, b, c] = &cluster.hubs[..] else { panic!() };
    let path = |rest: &str| format!("/compat/langgraph/threads{rest}");
    let made = post(a, &path(""), &json!({"thread_id": "t", "metadata": {"of": "ann"}})).await;
    assert_eq!(made.status(), 200);
    let again = post(b, &path(""), &json!({"thread_id": "t"})).await;
    assert_eq!(again.status(), 409, "b passes it on, and a has it");
    let input =
        json!({"assistant_id": "helper", "input": {"messages": [{"role": "user", "content": "Hello?"}]}});
    let ran = post(b, &path("/t/runs/wait"), &input).await;
    let values: Value = ran.json().await.unwrap();
    assert_eq!(values["messages"][1]["content"], "1 messages", "{values}");
    let known = c.json(&path("/t")).await;
    assert_eq!((&known["metadata"]["of"], &known["status"]), (&json!("ann"), &json!("idle")), "{known}");
    // From the log, in which the answer is a moment later.
    until("the answer in the log", async || {
        let found = post(c, &path("/search"), &json!({"ids": ["t"]})).await;
        let found: Value = found.json().await.ok()?;
        (found[0]["values"]["messages"][1]["content"] == "1 messages").then_some(())
    })
    .await;
}

/// A vendor that answers "Hi."
async fn vendor() -> ScriptedServer {
    ScriptedServer::start(|_| {
        vec![
            ServerStep::begin("200 OK", &STREAM),
            ServerStep::piece(&piece("Hi.")),
            ServerStep::piece(END),
            ServerStep::end(&[]),
        ]
    })
    .await
}

#[tokio::test(flavor = "multi_thread")]
async fn calls_of_one_agent_are_one_conversation_whichever_hub_passes_them() {
    let origin = vendor().await;
    let cluster = Cluster::start_with(3, &["--upstream", &origin.named("x")]).await;
    let key = [("authorization", "Bearer sk-one"), ("content-type", "application/json")];
    let mut history = json!([user("Hello?")]);
    for (number, hub) in cluster.hubs.iter().enumerate() {
        let body = json!({"model": "m", "stream": true, "messages": history}).to_string();
        let asked = raw::post("/proxy/x/v1/chat/completions", &key, &body);
        let answered = raw::call(hub.address(), &asked).await;
        assert_eq!(answered.status(), 200);
        assert_eq!(answered.header("content-security-policy"), None, "the answer is the vendor's");
        let all = history.as_array_mut().unwrap();
        all.push(json!({"role": "assistant", "content": "Hi."}));
        all.push(user(&format!("Number {number}?")));
    }
    let list = cluster.hubs[2]
        .json_until("/v1/conversations", |list| list["conversations"][0]["runs"] == 3 || list["total"] == 3)
        .await;
    let rows = list["conversations"].as_array().unwrap();
    assert_eq!(rows.len(), 1, "{rows:?}");
    let name = rows[0]["conversation"].as_str().unwrap();
    assert_eq!(asked_in(&cluster.hubs[1], name).await, ["Hello?", "Number 0?", "Number 1?"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_whose_session_names_a_conversation_of_another_hub_is_recorded_there() {
    let origin = vendor().await;
    let cluster = Cluster::start_with(2, &["--upstream", &origin.named("x")]).await;
    let [a, b] = &cluster.hubs[..] else { panic!() };
    let session = "0b6e9a54-7c3d-4e1f-9a2b-3c4d5e6f7a8b";
    let mut viewer = b.view(&format!("x-{session}")).await;
    viewer.live().await;
    let headers = [("authorization", "Bearer sk-one"), ("x-session-id", session)];
    let body = json!({"model": "m", "stream": true, "messages": [user("Hello?")]}).to_string();
    let answered = raw::call(a.address(), &raw::post("/proxy/x/v1/chat/completions", &headers, &body)).await;
    assert_eq!(answered.status(), 200);
    viewer.until(|view| view.runs.values().any(|run| !run.is_running() && run.answer() == "Hi.")).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn i12_a_socket_through_the_proxy_reaches_the_hub_that_has_its_conversation() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let named = format!("x=http://{}", listener.local_addr().unwrap());
    let cluster = Cluster::start_with(2, &["--upstream", &named]).await;
    let [a, b] = &cluster.hubs[..] else { panic!() };
    a.publisher("c").await.says(r#"{"k":"run.start","run":"r"}"#).await;
    let head = "GET /proxy/x/~c/v1/responses HTTP/1.1\r\nhost: localhost\r\nconnection: Upgrade\r\nupgrade: websocket\r\n\
        sec-websocket-version: 13\r\nsec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\nauthorization: Bearer sk-one\r\n\r\n";
    let mut caller = TcpStream::connect(b.address()).await.unwrap();
    caller.write_all(head.as_bytes()).await.unwrap();
    let (mut upstream, _) = within("the handshake", listener.accept()).await.unwrap();
    let asked = within("its head", RawSocket::new(&mut upstream).head()).await.unwrap();
    assert_eq!(
        (asked.header("authorization"), asked.header("fanlight-token")),
        (Some("Bearer sk-one"), None)
    );
    let switches = "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\
        Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n\r\n";
    upstream.write_all(switches.as_bytes()).await.unwrap();
    let answered = within("the answer", RawSocket::new(&mut caller).head()).await.unwrap();
    assert_eq!((answered.status(), answered.header("fanlight-conversation")), (101, Some("c")));
    for (from, to) in [(&mut caller, &mut upstream)] {
        let mut bytes = [0; 5];
        from.write_all(b"\x81\x03one").await.unwrap();
        within("what the caller says", to.read_exact(&mut bytes)).await.unwrap();
        assert_eq!(&bytes, b"\x81\x03one");
        to.write_all(b"\x81\x03two").await.unwrap();
        within("what the upstream says", from.read_exact(&mut bytes)).await.unwrap();
        assert_eq!(&bytes, b"\x81\x03two");
    }
    drop(upstream);
    assert_eq!(within("the end", caller.read(&mut [0; 8])).await.unwrap_or(0), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn spans_of_one_trace_are_one_run_whichever_hubs_take_them() {
    let cluster = Cluster::start(3).await;
    let [a, b, c] = &cluster.hubs[..] else { panic!() };
    // The conversation is that of the hub where somebody looks first.
    let mut viewer = c.view("weather").await;
    viewer.live().await;
    let id = |number: u8| format!("{number:02x}").repeat(8);
    let span = |number: u8, parent: &str, facts: Value| {
        let facts = facts.as_object().unwrap().clone().into_iter();
        let facts: Vec<_> =
            facts.map(|(key, value)| json!({"key": key, "value": {"stringValue": value}})).collect();
        json!({"traceId": "0a".repeat(16), "spanId": id(number), "parentSpanId": parent, "name": "span", "attributes": facts,
            "status": {}, "startTimeUnixNano": "1000000", "endTimeUnixNano": "9000000"})
    };
    let output = json!([{"role": "assistant", "parts": [{"type": "text", "content": "Sunny."}]}]).to_string();
    let model = span(
        2,
        &id(1),
        json!({"gen_ai.operation.name": "chat", "gen_ai.conversation.id": "weather",
        "gen_ai.output.messages": output}),
    );
    let agent =
        span(1, "", json!({"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "forecaster"}));
    for (hub, span) in [(a, model), (b, agent)] {
        let export = json!({"resourceSpans": [{"scopeSpans": [{"scope": {"name": "t"}, "spans": [span]}]}]});
        assert_eq!(post(hub, "/v1/traces", &export).await.status(), 200);
    }
    viewer
        .until(|view| {
            view.runs.len() == 1
                && view.runs.values().all(|run| !run.is_running() && run.answer() == "Sunny.")
        })
        .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn one_stream_has_conversations_of_several_hubs() {
    let cluster = Cluster::start(3).await;
    let [a, b, c] = &cluster.hubs[..] else { panic!() };
    let begin = async |hub: &TestHub, name: &str| {
        let asked = hub.request("POST", &format!("/v1/conversations/{name}/events")).body(status(name));
        assert!(patiently(name, asked.send()).await.unwrap().status().is_success());
    };
    begin(a, "one").await;
    begin(b, "two").await;
    let asked = c.request("GET", "/v1/events?conversation=one&conversation=two").send();
    let mut stream = within("the stream", asked).await.unwrap();
    assert_eq!(stream.status(), 200);
    let mut text = String::new();
    let mut later = false;
    while !(text.contains("later one") && text.contains("later two")) {
        let piece = within("a piece", stream.chunk()).await.unwrap().expect("it goes on");
        text.push_str(&String::from_utf8_lossy(&piece));
        if !later && text.matches("event: ").count() >= 2 {
            later = true;
            for (hub, name) in [(b, "one"), (c, "two")] {
                let path = format!("/v1/conversations/{name}/events");
                let asked = hub.request("POST", &path).body(status(&format!("later {name}")));
                assert!(patiently(name, asked.send()).await.unwrap().status().is_success());
            }
        }
    }
    assert_eq!(statuses(a, "two").await, ["two", "later two"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn responses_go_on_in_their_conversation_whichever_hub_is_asked() {
    let origin = counting().await;
    let (cluster, _place) = with_helper(&origin, 3).await;
    let mut chance = RandomState::new().build_hasher().finish();
    println!("the chance by which hubs are asked begins at {chance}");
    let mut ask = async |input: &str, previous: Option<&str>| {
        chance = chance.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let hub = &cluster.hubs[usize::try_from((chance >> 33) % 3).unwrap()];
        let body = json!({"model": "helper", "input": input, "previous_response_id": previous});
        let (body, name) = told(post(hub, "/v1/responses", &body).await).await;
        let response: Value = serde_json::from_str(&body).expect(&body);
        assert_eq!(response["status"], "completed", "{body}");
        (response["id"].as_str().unwrap().to_owned(), name)
    };
    let mut told_before = Vec::<(String, String)>::new();
    let questions: Vec<String> = (0..10).map(|number| format!("{number}?")).collect();
    for question in &questions {
        let previous = told_before.last().map(|(id, _)| id.as_str());
        let answered = ask(question, previous).await;
        assert!(told_before.iter().all(|(_, name)| *name == answered.1), "one conversation");
        told_before.push(answered);
    }
    let name = &told_before[0].1;
    assert_eq!(asked_in(&cluster.hubs[0], name).await, questions);
    // An older one is continued in a fork, at any hub, and the branch goes on by the newest.
    let (_, fork) = ask("Else?", Some(&told_before[1].0)).await;
    assert_ne!(fork, *name);
    assert_eq!(asked_in(&cluster.hubs[2], &fork).await, ["0?", "1?", "Else?"]);
    let (_, same) = ask("And?", Some(&told_before[9].0)).await;
    assert_eq!(same, *name);
    for hub in &cluster.hubs {
        let known = hub.json(&format!("/v1/responses/{}", told_before[4].0)).await;
        assert_eq!(known["id"], told_before[4].0.as_str());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_thread_of_the_platform_goes_on_in_a_fork_that_another_hub_has_taken_over() {
    let origin = counting().await;
    let (cluster, _place) = with_helper(&origin, 3).await;
    let [a, b, c] = &cluster.hubs[..] else { panic!() };
    let path = |rest: &str| format!("/compat/langgraph/threads{rest}");
    assert_eq!(post(a, &path(""), &json!({"thread_id": "t"})).await.status(), 200);
    let run = async |hub: &TestHub, text: &str, checkpoint: Option<&str>| {
        let input = json!({"assistant_id": "helper", "input": {"messages": [user(text)]}, "checkpoint_id": checkpoint});
        let ran = post(hub, &path("/t/runs/wait"), &input).await;
        assert_eq!(ran.status(), 200, "{text}");
        let values: Value = patiently("the values", ran.json()).await.unwrap();
        values["messages"].as_array().map_or(0, Vec::len)
    };
    assert_eq!(run(a, "One?", None).await, 2);
    let before = a.json(&path("/t/state")).await;
    let checkpoint = before["checkpoint"]["checkpoint_id"].as_str().unwrap();
    assert_eq!(run(b, "Two?", None).await, 4);
    assert_eq!(run(c, "Else?", Some(checkpoint)).await, 4, "it goes on after the first answer");
    let fork = until("the fork", async || {
        let list = a.json("/v1/conversations").await;
        let names = list["conversations"].as_array()?.iter().filter_map(|row| row["conversation"].as_str());
        names.map(str::to_owned).find(|name| name.starts_with("t-fork-"))
    })
    .await;
    // Another hub comes to have the fork, and not the thread.
    moves(a, &fork, b).await;
    assert_eq!(run(c, "Three?", None).await, 6);
    // And the thread goes to another hub than its fork, which was told more than the new one knows.
    moves(b, "t", c).await;
    assert_eq!(run(b, "Four?", None).await, 8);
    moves(b, "t", a).await;
    assert_eq!(run(b, "Five?", None).await, 10);
    assert_eq!(asked_in(c, &fork).await, ["One?", "Else?", "Three?", "Four?", "Five?"]);
}

/// A model that calls a tool for each question, and with its result is done.
async fn careful() -> ScriptedServer {
    ScriptedServer::start(|asked| {
        let all = messages(asked);
        if all.last().is_some_and(|last| last["role"] == "tool") {
            return answer("Done.");
        }
        let questions = all.iter().filter(|message| message["role"] == "user").count();
        let called = call(&format!("a{questions}"), "t__echo", &json!({"to": "prod"}));
        vec![
            ServerStep::begin("200 OK", &STREAM),
            ServerStep::piece(&called),
            ServerStep::piece(END),
            ServerStep::end(&[]),
        ]
    })
    .await
}

#[tokio::test(flavor = "multi_thread")]
async fn what_waits_for_approval_stays_and_after_a_move_approvals_reach_the_hub_that_has_it() {
    let origin = careful().await;
    let place = tempfile::tempdir().unwrap();
    let file = place.path().join("fanlight.toml");
    let url = format!("http://{}/v1", origin.address());
    let server = env!("CARGO_BIN_EXE_tool_server");
    let agent = format!(
        "[agents.helper]\nkind = \"runner\"\nprovider = \"openai\"\nurl = \"{url}\"\nmodel = \"m\"\n"
    );
    let tools = format!("tools = [\"t\"]\nconfirm = [\"t__*\"]\n[mcp.t]\ncommand = [{server:?}]\n");
    std::fs::write(&file, agent + &tools).unwrap();
    let cluster = Cluster::start_with(3, &["--config", file.to_str().unwrap()]).await;
    let [a, b, c] = &cluster.hubs[..] else { panic!() };
    let waits = |runs: &[Value]| runs.last().is_some_and(|run| run["tool_calls"][0]["state"] == "approval");
    let approve = |number: u64| json!({"id": format!("ok {number}"), "command": "approve", "tool": format!("a{number}")});
    let ask = |number: u64| json!({"id": format!("ask {number}"), "command": "say", "agent": "helper", "text": "Go"});
    assert_eq!(command(a, ask(1)).await.0, 200);
    runs(b, waits).await;
    let (code, answer) = move_to(c, "c", b).await;
    assert_eq!((code, answer["code"].as_str()), (409, Some("still_running")), "{answer}");
    assert_eq!(command(c, approve(1)).await.0, 200);
    assert_eq!(came(&called(b).await, "a1").0, "complete");
    moves(c, "c", b).await;
    // The hub that has it now asks its own agent, and is told by whichever hub.
    assert_eq!(command(a, ask(2)).await.0, 200);
    runs(c, waits).await;
    assert_eq!(move_to(a, "c", c).await.0, 409, "it waits at the hub that has it");
    assert_eq!(command(c, approve(2)).await.0, 200);
    assert_eq!(came(&called(a).await, "a2").0, "complete");
    moves(b, "c", a).await;
    assert_eq!(asked_in(c, "c").await, ["Go", "Go"]);
}
