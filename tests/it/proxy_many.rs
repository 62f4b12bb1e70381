//! Many agents at once through one key: each has a conversation of its own.

use std::collections::BTreeSet;

use serde_json::{Value, json};
use tests::actor::{self, ANSWER, FAREWELL, PLACES};
use tests::raw;
use tests::wait::until;
use tests::{Hub, wait::within};

/// Agents at once.
const AGENTS: usize = 20;

/// Turns of each; in all but the last the tools are called.
const TURNS: usize = 3;

/// Asks with `messages`, and gives the message that is answered.
async fn ask(hub: &Hub, messages: &[Value]) -> Value {
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
async fn agent(hub: &Hub, number: usize) {
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
    let hub = std::sync::Arc::new(Hub::start_with(&["--upstream", &actor.named("x")]).await);
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
