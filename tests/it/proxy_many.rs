//! Many agents at once through one key: each has a conversation of its own.

use std::collections::BTreeSet;

use serde_json::{Value, json};
use tests::actor::{self, ANSWER, FAREWELL, PLACES};
use tests::raw::{self, RawMessage};
use tests::wait::{until, within};
use tests::{ScriptedServer, ServerStep, TestHub, model};

/// Agents at once.
const AGENTS: usize = 20;

/// Turns of each; in all but the last the tools are called.
const TURNS: usize = 3;

/// Asks with `messages`, and gives the message that is answered.
async fn ask(hub: &TestHub, messages: &[Value]) -> Value {
    let tool = json!({"type": "function", "function": {"name": "look_up", "parameters": {"type": "object"}}});
    let body = json!({"model": "gpt-5", "messages": messages, "tools": [tool]}).to_string();
    let request =
        raw::post("/proxy/x/v1/chat/completions", &[("authorization", "Bearer the-one-key")], &body);
    let answer = raw::call(hub.address(), &request).await;
    assert_eq!(answer.status(), 200);
    let answer: Value = serde_json::from_slice(&answer.body).unwrap();
    answer["choices"][0]["message"].clone()
}

/// The loop of one agent, which names itself in all that it says. All begin with the same words.
async fn agent(hub: &TestHub, number: usize) {
    let mut messages = vec![json!({"role": "system", "content": "You look at the weather."})];
    for turn in 1..=TURNS {
        let question = if turn == TURNS { "Thank you!" } else { "How is the weather?" };
        messages.push(
            json!({"role": "user", "content": format!("{question} I am agent {number} in turn {turn}.")}),
        );
        loop {
            let said = ask(hub, &messages).await;
            messages.push(said.clone());
            let Some(calls) = said["tool_calls"].as_array() else { break };
            for call in calls {
                let result = format!("agent {number} in turn {turn} saw {}", call["function"]["arguments"]);
                messages.push(json!({"role": "tool", "tool_call_id": call["id"], "content": result}));
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn agents_with_one_key_do_not_mix() {
    let actor = actor::start().await;
    let hub = std::sync::Arc::new(TestHub::start_with(&["--upstream", &actor.named("x")]).await);
    let agents = (0..AGENTS).map(|number| {
        let hub = std::sync::Arc::clone(&hub);
        tokio::spawn(async move { agent(&hub, number).await })
    });
    for agent in agents.collect::<Vec<_>>() {
        within("an agent", agent).await.unwrap();
    }
    let names = until("all runs to end", async || {
        let list = hub.json("/v1/conversations?limit=100").await;
        let rows = list["conversations"].as_array()?.clone();
        let over = |row: &Value| row["state"] != "running" && row["runs"] == TURNS;
        (rows.len() == AGENTS && rows.iter().all(over)).then_some(rows)
    })
    .await;
    let mut seen = BTreeSet::new();
    for row in names {
        let summary = hub.summary(row["conversation"].as_str().unwrap()).await;
        let users: Vec<_> =
            summary["messages"].as_array().unwrap().iter().filter(|it| it["role"] == "user").collect();
        let first = users[0]["text"].as_str().unwrap();
        let number: usize = first.split_once("agent ").unwrap().1.split_once(' ').unwrap().0.parse().unwrap();
        assert!(seen.insert(number), "two conversations of agent {number}");
        assert_eq!(users.len(), TURNS, "{summary:#}");
        let name = format!("agent {number} in");
        for user in users {
            assert!(user["text"].as_str().unwrap().contains(&name), "{summary:#}");
        }
        let runs = summary["runs"].as_array().unwrap();
        for (turn, run) in runs.iter().enumerate() {
            let last = turn + 1 == TURNS;
            assert_eq!(run["text"], if last { FAREWELL } else { ANSWER });
            let calls = run["tool_calls"].as_array().unwrap();
            assert_eq!(calls.len(), if last { 0 } else { PLACES.len() });
            for call in calls {
                let result = format!("agent {number} in turn {} saw", turn + 1);
                assert!(call["result"].to_string().contains(&result), "{call}");
                assert_eq!(call["state"], "complete");
            }
        }
        assert_eq!(summary["anomalies"], json!([]), "{summary:#}");
    }
    assert_eq!(seen.len(), AGENTS);
}

/// What the model says to `asked`, as a stream: in each turn it calls one tool, always by the same id.
fn say(asked: &RawMessage) -> Vec<ServerStep> {
    let messages = model::messages(asked);
    let of = |role: &str| messages.iter().filter(|it| it["role"] == role).count();
    if of("tool") >= of("user").min(TURNS - 1) {
        return model::answer("It is sunny.");
    }
    let call = json!({"index": 0, "id": "call_0", "type": "function", "function": {"name": "look_up", "arguments": "{}"}});
    let end = json!({"id": "x", "model": "m", "choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls"}]});
    let end = format!("data: {end}\n\ndata: [DONE]\n\n");
    let said = ServerStep::piece(&model::delta(&json!({"tool_calls": [call]})));
    vec![
        ServerStep::begin("200 OK", &model::STREAM),
        said,
        ServerStep::piece(end.as_bytes()),
        ServerStep::end(&[]),
    ]
}

/// The loop of an agent that says what all say; only what its tool gives back is its own.
async fn agent_like_all(hub: &TestHub, number: usize) {
    let mut messages = Vec::new();
    for turn in 1..=TURNS {
        messages.push(json!({"role": "user", "content": format!("And now? ({turn})")}));
        loop {
            let body = json!({"model": "m", "stream": true, "messages": messages}).to_string();
            let headers = [("authorization", "Bearer the-one-key")];
            let answer =
                raw::call(hub.address(), &raw::post("/proxy/x/v1/chat/completions", &headers, &body)).await;
            assert_eq!((answer.status(), answer.is_whole), (200, true));
            if !String::from_utf8_lossy(&answer.body).contains("call_0") {
                messages.push(json!({"role": "assistant", "content": "It is sunny."}));
                break;
            }
            let call = json!({"id": "call_0", "type": "function", "function": {"name": "look_up", "arguments": "{}"}});
            messages.push(json!({"role": "assistant", "content": null, "tool_calls": [call]}));
            let result = format!("agent {number} in turn {turn}");
            messages.push(json!({"role": "tool", "tool_call_id": "call_0", "content": result}));
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn agents_that_differ_in_their_results_alone_do_not_mix() {
    let origin = ScriptedServer::start(say).await;
    let hub = std::sync::Arc::new(TestHub::start_with(&["--upstream", &origin.named("x")]).await);
    let agents = (0..AGENTS).map(|number| {
        let hub = std::sync::Arc::clone(&hub);
        tokio::spawn(async move { agent_like_all(&hub, number).await })
    });
    for agent in agents.collect::<Vec<_>>() {
        within("an agent", agent).await.unwrap();
    }
    let rows = until("all runs to end", async || {
        let list = hub.json("/v1/conversations?limit=100").await;
        let rows = list["conversations"].as_array()?.clone();
        let runs: u64 = rows.iter().filter_map(|row| row["runs"].as_u64()).sum();
        let are_over = rows.iter().all(|row| row["state"] != "running");
        (are_over && runs == (AGENTS * TURNS) as u64).then_some(rows)
    })
    .await;
    let mut seen = BTreeSet::new();
    for row in rows {
        let summary = hub.summary(row["conversation"].as_str().unwrap()).await;
        let runs = summary["runs"].as_array().unwrap();
        let results: Vec<_> = runs
            .iter()
            .flat_map(|run| run["tool_calls"].as_array().unwrap())
            .map(|call| call["result"].as_str().unwrap())
            .collect();
        let number = results[0].split(' ').nth(1).unwrap().to_owned();
        let expected: Vec<_> = (1..TURNS).map(|turn| format!("agent {number} in turn {turn}")).collect();
        assert_eq!(
            (runs.len(), &results),
            (TURNS, &expected.iter().map(String::as_str).collect()),
            "{summary:#}"
        );
        assert_eq!(summary["anomalies"], json!([]), "{summary:#}");
        assert!(seen.insert(number), "two conversations of one agent");
    }
    assert_eq!(seen.len(), AGENTS);
}
