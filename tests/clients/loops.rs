//! Real agent loops whose one change is the base URL: what is seen of each, while its tools run and afterwards.

use std::path::Path;
use std::process::Stdio;
use std::time::Instant;

use serde_json::{Value, json};
use tempfile::TempDir;
use tests::actor::{self, ANSWER, FAREWELL, PLACES, TOOL};
use tests::browser::DESKTOP;
use tests::wait::{patiently, patiently_until};
use tests::{BrowserPage, TestHub};

use tests::installed;

/// Where the agent programs of these tests are.
const AGENTS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/clients/agents");

/// The place that is looked up in vain, at once.
const FAILING: &str = "Atlantis";

/// Starts the agent in `file`, whose calls go through `hub`.
fn start(file: &str, folder: &TempDir, hub: &TestHub) -> tokio::process::Child {
    for name in [file, "tools.py"] {
        std::fs::copy(Path::new(AGENTS).join(name), folder.path().join(name)).unwrap();
    }
    let mut agent = installed::python();
    agent.env_clear().env("PATH", std::env::var_os("PATH").unwrap()).env("HOME", folder.path());
    agent.env("OPENAI_BASE_URL", hub.url("/proxy/openai/v1")).env("OPENAI_API_KEY", "sk-none");
    agent.env("ANTHROPIC_BASE_URL", hub.url("/proxy/anthropic")).env("ANTHROPIC_API_KEY", "sk-none");
    // What the frameworks tell their makers stays here.
    agent.env("OPENAI_AGENTS_DISABLE_TRACING", "1").env("AGNO_TELEMETRY", "false");
    agent.arg(file).current_dir(folder.path()).kill_on_drop(true);
    agent.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

/// The one conversation that there is, in short, once it is as `wanted`.
async fn seen(hub: &TestHub, what: &str, wanted: impl Fn(&Value) -> bool) -> Value {
    patiently_until(what, async || {
        let list = hub.json("/v1/conversations").await;
        let name = list["conversations"].get(0)?["conversation"].as_str()?.to_owned();
        let summary = hub.summary(&name).await;
        wanted(&summary).then_some(summary)
    })
    .await
}

/// The state of the call for `place`.
fn state_of(summary: &Value, place: &str) -> Option<String> {
    let calls = summary["runs"][0]["tool_calls"].as_array()?;
    let call = calls.iter().find(|call| call["arguments"] == json!({"place": place}))?;
    Some(call["state"].as_str()?.to_owned())
}

/// Looks at the conversation in a browser while its tools work.
async fn watch(hub: &TestHub, file: &str) {
    let list = hub.json("/v1/conversations").await;
    let name = list["conversations"][0]["conversation"].as_str().unwrap();
    let page = BrowserPage::open(DESKTOP).await;
    page.goto(&hub.url(&format!("/c/{name}"))).await;
    let executing = "return document.querySelectorAll('[data-t=tool-card][data-state=executing]').length";
    page.run_until(executing, |count| *count == json!(PLACES.len())).await;
    page.screenshot(&format!("loop-{}", file.trim_end_matches(".py"))).await;
    page.close().await;
}

/// Follows the agent in `file` through its two turns. The call that fails ends as `failing`.
async fn follow(file: &str, failing: &str) {
    let actor = actor::start().await;
    let (openai, anthropic) = (actor.named("openai"), actor.named("anthropic"));
    let hub = TestHub::start_with(&["--upstream", &openai, "--upstream", &anthropic]).await;
    let folder = TempDir::new().unwrap();
    let begun = Instant::now();
    let mut agent = start(file, &folder, &hub);
    // The tools wait for the test: as long as they do, this is what is seen.
    let at_work =
        |summary: &Value| PLACES.iter().all(|place| state_of(summary, place).as_deref() == Some("executing"));
    let executing = tokio::select! {
        summary = seen(&hub, "the calls to be executed", at_work) => summary,
        ended = agent.wait() => {
            let said = agent.wait_with_output().await.unwrap();
            panic!("{file} ended {ended:?}: {}", String::from_utf8_lossy(&said.stderr));
        }
    };
    let held = Instant::now();
    assert_eq!(executing["runs"][0]["status"], "running", "{file}: {executing:#}");
    watch(&hub, file).await;
    let held_ms = held.elapsed().as_millis();
    for place in PLACES {
        std::fs::write(folder.path().join(place), "").unwrap();
    }
    let ended = patiently(file, agent.wait_with_output()).await.unwrap();
    let whole_ms = begun.elapsed().as_millis();
    let (said, errors) = (String::from_utf8_lossy(&ended.stdout), String::from_utf8_lossy(&ended.stderr));
    assert!(ended.status.success(), "{file}: {errors}");
    assert_eq!(said.trim().lines().collect::<Vec<_>>(), [ANSWER, FAREWELL], "{file}: {errors}");
    let over = |summary: &Value| {
        let runs = summary["runs"].as_array().unwrap();
        runs.len() >= 2 && runs.iter().all(|run| run["status"] != "running")
    };
    let summary = seen(&hub, "the end", over).await;
    assert_eq!(hub.json("/v1/conversations").await["total"], 1, "{file}: one loop is one conversation");
    let [first, second] = summary["runs"].as_array().unwrap().as_slice() else {
        panic!("{file}: {summary:#}")
    };
    for (run, text) in [(first, ANSWER), (second, FAREWELL)] {
        assert_eq!(
            (&run["status"], &run["text"], &run["error"]),
            (&json!("complete"), &json!(text), &Value::Null),
            "{file}: {run:#}"
        );
    }
    let calls = first["tool_calls"].as_array().unwrap();
    assert_eq!(calls.len(), PLACES.len(), "{file}: {first:#}");
    for (call, place) in calls.iter().zip(PLACES) {
        assert_eq!((&call["name"], &call["arguments"]), (&json!(TOOL), &json!({"place": place})), "{file}");
        let latency_ms = u128::from(call["latency_ms"].as_u64().unwrap());
        // The hub's times are whole milliseconds: two of them may be less than one too near.
        let least_ms = if place == FAILING { 0 } else { held_ms.saturating_sub(1) };
        let true_ms = least_ms..=whole_ms.saturating_add(1);
        assert!(true_ms.contains(&latency_ms), "{file}: {true_ms:?} {call:#}");
        let result = call["result"].to_string();
        let (wanted, state) =
            if place == FAILING { ("no such place", failing) } else { ("is sunny", "complete") };
        assert!(result.contains(wanted), "{file}: {call:#}");
        assert_eq!(call["state"], state, "{file}: {call:#}");
    }
    let asked: Vec<_> = summary["messages"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|it| it["role"] == "user")
        .map(|it| it["text"].clone())
        .collect();
    assert_eq!(asked, ["How is the weather?", "Thank you!"], "{file}");
    assert_eq!(summary["anomalies"], json!([]), "{file}");
}

/// Anthropic's API has a word for results that are failures.
const FAILED: &str = "error";

/// OpenAI's has none: what a tool said about its failure is its answer.
const ANSWERED: &str = "complete";

#[tokio::test(flavor = "multi_thread")]
async fn openai_agents_are_seen_at_work() {
    follow("openai_agents.py", ANSWERED).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn pydantic_ai_is_seen_at_work() {
    follow("pydantic_agent.py", ANSWERED).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn agno_is_seen_at_work() {
    follow("agno_agent.py", ANSWERED).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn langgraph_is_seen_at_work() {
    follow("langgraph_agent.py", ANSWERED).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn deep_agents_are_seen_at_work() {
    follow("deep_agent.py", ANSWERED).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_loop_over_anthropics_messages_is_seen_at_work() {
    follow("anthropic_loop.py", FAILED).await;
}
