//! What the models of the hub's own agents are asked: each answer goes back as one, and no request ends with the model's own words.

use std::sync::atomic::{AtomicU32, Ordering};

use serde_json::{Value, json};
use tests::model::{END, STREAM, delta};
use tests::raw::RawMessage;
use tests::wait::until;
use tests::{ScriptedServer, ServerStep, TestHub};

use super::runner::{answer, hub_with_tools, last_run, messages, runs, say};

const SERVER: &str = env!("CARGO_BIN_EXE_tool_server");

fn text(text: &str) -> ServerStep {
    ServerStep::piece(&delta(&json!({"content": text})))
}

/// A piece of an answer that calls `echo`.
fn call(number: usize) -> ServerStep {
    let function = json!({"name": "t__echo", "arguments": "{}"});
    let calls =
        json!([{"index": number, "id": format!("c{number}"), "type": "function", "function": function}]);
    ServerStep::piece(&delta(&json!({"tool_calls": calls})))
}

fn roles(asked: &RawMessage) -> Vec<String> {
    messages(asked).iter().map(|message| message["role"].as_str().unwrap().to_owned()).collect()
}

/// One event of Anthropic's stream.
fn event(object: &Value) -> ServerStep {
    ServerStep::piece(format!("event: {}\ndata: {object}\n\n", object["type"].as_str().unwrap()).as_bytes())
}

fn block(index: usize, block: &Value, delta: &Value) -> [ServerStep; 3] {
    [
        json!({"type": "content_block_start", "index": index, "content_block": block}),
        json!({"type": "content_block_delta", "index": index, "delta": delta}),
        json!({"type": "content_block_stop", "index": index}),
    ]
    .map(|object| event(&object))
}

fn words(index: usize, text: &str) -> [ServerStep; 3] {
    block(index, &json!({"type": "text", "text": ""}), &json!({"type": "text_delta", "text": text}))
}

fn use_of(index: usize) -> [ServerStep; 3] {
    let call = json!({"type": "tool_use", "id": format!("c{index}"), "name": "t__echo", "input": {}});
    block(index, &call, &json!({"type": "input_json_delta", "partial_json": "{}"}))
}

/// An answer in Anthropic's words.
fn anthropic(pieces: Vec<ServerStep>, why: &str) -> Vec<ServerStep> {
    let start = json!({"type": "message_start", "message": {"id": "m1", "type": "message", "role": "assistant", "model": "m",
        "content": [], "usage": {"input_tokens": 10, "output_tokens": 1}}});
    let end = json!({"type": "message_delta", "delta": {"stop_reason": why}, "usage": {"output_tokens": 5}});
    let mut steps = vec![ServerStep::begin("200 OK", &STREAM), event(&start)];
    steps.extend(pieces);
    steps.extend([event(&end), event(&json!({"type": "message_stop"})), ServerStep::end(&[])]);
    steps
}

/// A hub whose helper has the tools of the server as `t`, and a model of that provider.
async fn hub(origin: &ScriptedServer, provider: &str) -> (TestHub, tempfile::TempDir) {
    let place = tempfile::tempdir().unwrap();
    let file = place.path().join("fanlight.toml");
    let url = match provider {
        "openai" => format!("http://{}/v1", origin.address()),
        _ => format!("http://{}", origin.address()),
    };
    // Any variable that tests are given stands for one with a key.
    let settings = format!(
        "[agents.helper]\nkind = \"runner\"\nprovider = \"{provider}\"\nurl = \"{url}\"\nkey_env = \"PATH\"\nmodel = \"m\"\n\
         tools = [\"t\"]\n[mcp.t]\ncommand = [{SERVER:?}]\n"
    );
    std::fs::write(&file, settings).unwrap();
    (TestHub::start_with(&["--config", file.to_str().unwrap()]).await, place)
}

/// Waits until the first call has its result.
async fn first_is_over(hub: &TestHub) {
    runs(hub, |runs| runs.first().is_some_and(|run| run["tool_calls"][0]["state"] == "complete")).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn five_calls_of_one_answer_and_the_texts_between_them_go_back_as_one() {
    let times = AtomicU32::new(0);
    let origin = ScriptedServer::start(move |_| {
        if times.fetch_add(1, Ordering::Relaxed) > 0 {
            return answer("Done.");
        }
        // A call is written when the next one begins.
        let mut steps =
            vec![ServerStep::begin("200 OK", &STREAM), text("I look."), call(0), call(1), ServerStep::Wait];
        steps.extend([text("And now"), call(2), call(3), call(4), text(" I wait.")]);
        steps.extend([ServerStep::piece(END), ServerStep::end(&[])]);
        steps
    })
    .await;
    let (hub, _place) = hub(&origin, "openai").await;
    say(&hub, "Hello").await;
    first_is_over(&hub).await;
    origin.go_on();
    assert_eq!(last_run(&hub).await["status"], "complete");
    let asked = &origin.asked()[1];
    assert_eq!(roles(asked), ["user", "assistant", "tool", "tool", "tool", "tool", "tool"]);
    let said = &messages(asked)[1];
    assert_eq!(said["tool_calls"].as_array().map(Vec::len), Some(5), "{said}");
    let words = said["content"].as_str().unwrap();
    assert!(
        words.starts_with("I look.") && words.contains("And now") && words.ends_with("I wait."),
        "{words:?}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn anthropic_gets_each_answer_back_as_one_too() {
    let times = AtomicU32::new(0);
    let origin = ScriptedServer::start(move |_| {
        if times.fetch_add(1, Ordering::Relaxed) > 0 {
            return anthropic(words(0, "Done.").into(), "end_turn");
        }
        let mut pieces = Vec::from(words(0, "I look."));
        pieces.extend(use_of(1));
        pieces.push(ServerStep::Wait);
        (2..6).for_each(|index| pieces.extend(use_of(index)));
        pieces.extend(words(6, "I wait."));
        anthropic(pieces, "tool_use")
    })
    .await;
    let (hub, _place) = hub(&origin, "anthropic").await;
    say(&hub, "Hello").await;
    first_is_over(&hub).await;
    origin.go_on();
    assert_eq!(last_run(&hub).await["status"], "complete");
    let asked = &origin.asked()[1];
    assert_eq!(roles(asked), ["user", "assistant", "user"]);
    let kinds = |at: usize| {
        let content = messages(asked)[at]["content"].as_array().unwrap().clone();
        content.iter().map(|block| block["type"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(kinds(1), ["text", "tool_use", "tool_use", "tool_use", "tool_use", "tool_use"]);
    assert_eq!(kinds(2), ["tool_result"; 5]);
    assert_eq!(messages(asked)[1]["content"][0]["text"], "I look.\n\nI wait.");
}

#[tokio::test(flavor = "multi_thread")]
async fn after_a_hub_that_died_answers_are_as_they_were_and_the_torn_one_is_marked_once() {
    const NOTE: &str = "[Previous response was interrupted at ?%]";
    let times = AtomicU32::new(0);
    let origin = ScriptedServer::start(move |_| match times.fetch_add(1, Ordering::Relaxed) {
        0 => vec![
            ServerStep::begin("200 OK", &STREAM),
            call(0),
            call(1),
            ServerStep::Wait,
            text("I wait."),
            ServerStep::piece(END),
            ServerStep::end(&[]),
        ],
        1 => vec![ServerStep::begin("200 OK", &STREAM), text("One half"), ServerStep::Silence],
        2 => answer("and the other."),
        _ => answer("More."),
    })
    .await;
    let (mut hub, _place) = hub(&origin, "openai").await;
    say(&hub, "Hello").await;
    first_is_over(&hub).await;
    origin.go_on();
    until("the half to be stored", async || {
        let run = hub.summary("c").await["runs"][0].clone();
        let has_half = run["text"].as_str().is_some_and(|text| text.ends_with("One half"));
        (has_half && hub.number("log_queue_bytes").await == 0).then_some(())
    })
    .await;
    hub.restart().await;
    assert_eq!(last_run(&hub).await["status"], "complete");
    let resumed = origin.asked()[2].clone();
    assert_eq!(roles(&resumed), ["user", "assistant", "tool", "tool", "assistant", "system"]);
    let said = messages(&resumed);
    assert_eq!(said[1]["tool_calls"].as_array().map(Vec::len), Some(2), "{said:?}");
    assert_eq!((&said[4]["content"], &said[5]["content"]), (&json!("One half"), &json!(NOTE)));
    say(&hub, "And more?").await;
    runs(&hub, |runs| runs.len() == 2 && runs[1]["status"] == "complete").await;
    let later = messages(&origin.asked()[3]);
    let tail: Vec<&Value> = later.iter().skip(4).map(|message| &message["content"]).collect();
    assert_eq!(tail, ["One half", NOTE, "and the other.", "And more?"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn no_request_ends_with_the_words_of_the_model() {
    let times = AtomicU32::new(0);
    let origin = ScriptedServer::start(move |_| {
        if times.fetch_add(1, Ordering::Relaxed) > 0 {
            return anthropic(words(0, "so I am.").into(), "end_turn");
        }
        // The text is whole, and the answer is not.
        let mut steps = anthropic(words(0, "I think,").into(), "end_turn");
        steps.truncate(5);
        steps.push(ServerStep::Silence);
        steps
    })
    .await;
    let (mut hub, _place) = hub(&origin, "anthropic").await;
    say(&hub, "Hello").await;
    until("the end of the text to be stored", async || {
        let view = hub.json("/v1/conversations/c").await;
        let run = view["runs"].as_object()?.values().next()?.clone();
        let part = run["parts"].as_object()?.values().next()?.clone();
        (part["ended_at"].is_u64() && hub.number("log_queue_bytes").await == 0).then_some(())
    })
    .await;
    hub.restart().await;
    assert_eq!(last_run(&hub).await["text"], "I think,so I am.");
    let asked = messages(&origin.asked()[1]);
    assert_eq!(roles(&origin.asked()[1]), ["user", "assistant", "user"]);
    assert_eq!(asked[2]["content"][0]["text"], "[Previous response was interrupted at ?%]");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_break_of_somebody_elses_run_is_told_once() {
    let origin = ScriptedServer::start(|_| answer("Yes.")).await;
    let (hub, _place) = hub_with_tools(&origin, "", "").await;
    let torn = r#"
        {"k":"message","message":"m","role":"user","text":"Hello"}
        {"k":"run.start","run":"r","name":"far"}
        {"k":"part.delta","run":"r","part":"p","text":"One half"}
        {"k":"error","run":"r","code":"upstream_cut","message":"cut"}
        {"k":"run.end","run":"r","status":"interrupted"}
    "#;
    hub.publisher("c").await.says(torn).await;
    say(&hub, "Are you there?").await;
    runs(&hub, |runs| runs.len() == 2 && runs[1]["status"] == "complete").await;
    say(&hub, "Still?").await;
    runs(&hub, |runs| runs.len() == 3 && runs[2]["status"] == "complete").await;
    let asked = messages(&origin.asked()[1]);
    let notes = asked.iter().filter(|it| it["content"].as_str().unwrap_or_default().contains("interrupted"));
    assert_eq!(notes.count(), 1, "{asked:?}");
    assert_eq!(asked.last().unwrap()["content"], "Still?");
}
