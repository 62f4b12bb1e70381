//! What is seen of each framework when its page is followed.

use serde_json::{Value, json};

use crate::page::follow;

const ANSWER: &str = "It is 21 degrees and sunny in Lisbon ☀.";
const THOUGHT: &str = "I should ask the weather service.";

/// The one run that is seen of the page `name`: it is complete, it has the answer, and nothing was odd but repetitions that the
/// vendor's SDK puts into the stream itself.
async fn run_of(name: &str) -> Value {
    let seen = follow(name).await;
    let odd = seen["anomalies"].as_array().unwrap().iter().filter(|it| it["code"] != "repeated");
    assert_eq!(odd.collect::<Vec<_>>(), Vec::<&Value>::new(), "{name}");
    let [run] = seen["runs"].as_array().unwrap().as_slice() else { panic!("{name}: not one run: {seen:#}") };
    assert_eq!((&run["status"], &run["error"]), (&json!("complete"), &Value::Null), "{name}: {run:#}");
    assert_eq!(run["text"], ANSWER, "{name}");
    run.clone()
}

/// The call of the weather service, with its arguments.
fn weather(run: &Value) -> &Value {
    let calls = run["tool_calls"].as_array().unwrap();
    let call = calls.iter().find(|call| call["name"] == "get_weather").expect("the call");
    assert_eq!(call["arguments"], json!({"city": "Lisbon"}));
    call
}

/// Asserts that the call of the weather service is complete, and what came of it.
fn is_answered(run: &Value) {
    let call = weather(run);
    assert_eq!((&call["state"], &call["is_error"]), (&json!("complete"), &json!(false)), "{run:#}");
    // Most frameworks tell results as the text that the model gets.
    let result = match &call["result"] {
        Value::String(text) => serde_json::from_str(text).unwrap(),
        whole => whole.clone(),
    };
    assert_eq!(result, json!({"city": "Lisbon", "degrees": 21}));
}

#[tokio::test]
async fn openai_chat_completions_show_calls_and_printed_results() {
    let run = run_of("openai-chat").await;
    is_answered(&run);
    assert_eq!(run["model"], "gpt-5");
}

#[tokio::test]
async fn openai_responses_show_thinking_calls_and_printed_results() {
    let run = run_of("openai-responses").await;
    is_answered(&run);
    assert_eq!(run["thinking"], THOUGHT);
}

#[tokio::test]
async fn openai_agents_show_thinking_calls_and_results() {
    let run = run_of("openai-agents").await;
    is_answered(&run);
    assert_eq!(run["thinking"], THOUGHT);
}

#[tokio::test]
async fn anthropic_shows_thinking_and_calls_that_were_handed_over() {
    let run = run_of("anthropic").await;
    assert_eq!(weather(&run)["state"], "pending");
    assert_eq!((&run["thinking"], &run["usage"]["output_tokens"]), (&json!(THOUGHT), &json!(80)));
}

#[tokio::test]
async fn agno_shows_calls_and_results() {
    is_answered(&run_of("agno").await);
}

#[tokio::test]
async fn langgraph_shows_calls_and_results() {
    is_answered(&run_of("langgraph").await);
}

#[tokio::test]
async fn deepagents_show_the_sub_agent_and_its_calls() {
    let run = run_of("deepagents").await;
    is_answered(&run);
    let [agent] = run["agents"].as_array().unwrap().as_slice() else { panic!("not one sub-agent: {run:#}") };
    assert_eq!((&agent["name"], &agent["depth"]), (&json!("scout"), &json!(1)));
    assert_eq!(weather(&run)["agent"], agent["id"]);
    let task = run["tool_calls"].as_array().unwrap().iter().find(|call| call["name"] == "task").unwrap();
    assert_eq!((&task["state"], &task["result"]), (&json!("complete"), &json!(ANSWER)));
}

#[tokio::test]
async fn pydantic_ai_shows_calls_and_results() {
    is_answered(&run_of("pydantic-ai").await);
}

#[tokio::test]
async fn ag_ui_shows_calls_and_results() {
    is_answered(&run_of("ag-ui").await);
}

#[tokio::test]
async fn ai_sdk_shows_thinking_calls_and_results() {
    let run = run_of("ai-sdk").await;
    is_answered(&run);
    assert_eq!(run["thinking"], THOUGHT);
}
