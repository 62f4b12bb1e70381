//! The served responses: any client of OpenAI's Responses API.

use serde_json::{Value, json};
use tests::TestHub;

use super::doors::{handing_over, hub_of, objects, post, said, seen, slow, storyteller, told, until};

const RESPONSES: &str = "/v1/responses";

/// Asks, and returns the response as an object and the conversation.
async fn ask(hub: &TestHub, body: Value) -> (Value, String) {
    let answer = post(hub, RESPONSES, &body).await;
    let status = answer.status();
    let (body, name) = told(answer).await;
    assert_eq!(status, 200, "{body}");
    (serde_json::from_str(&body).unwrap(), name)
}

/// The texts of the messages in an output.
fn texts(response: &Value) -> Vec<&str> {
    let items = response["output"].as_array().unwrap().iter().filter(|item| item["type"] == "message");
    items.map(|item| item["content"][0]["text"].as_str().unwrap()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stream_has_the_answer_and_no_calls_that_the_client_would_execute() {
    let origin = storyteller().await;
    let (hub, _place) = hub_of(&origin, "").await;
    let body = json!({"model": "helper", "input": "Weather?", "stream": true});
    let answer = post(&hub, RESPONSES, &body).await;
    assert_eq!(answer.headers()["content-type"], "text/event-stream");
    let (body, name) = told(answer).await;
    assert!(!body.contains("function_call") && !body.contains("t__echo"), "{body}");
    let events = objects(&body);
    let deltas = |kind: &str| -> String {
        events
            .iter()
            .filter(|(event, _)| event == kind)
            .map(|(_, it)| it["delta"].as_str().unwrap())
            .collect()
    };
    assert_eq!(deltas("response.output_text.delta"), "Let me look.It is sunny.");
    assert_eq!(deltas("response.reasoning_summary_text.delta"), "Hm.");
    let (last, ended) = events.last().unwrap();
    assert_eq!(last, "response.completed");
    assert_eq!(texts(&ended["response"]), ["Let me look.", "It is sunny."]);
    let summary = seen(&hub, &name).await;
    assert_eq!(summary["runs"][0]["tool_calls"][0]["state"], "complete", "everybody else sees the call");

    // The response can be read again, and the conversation in this form by whoever watches it.
    let id = ended["response"]["id"].as_str().unwrap();
    let again = hub.json(&format!("{RESPONSES}/{id}")).await;
    assert_eq!(texts(&again), ["Let me look.", "It is sunny."]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_previous_response_is_continued_and_an_older_one_in_a_fork() {
    let origin = storyteller().await;
    let (hub, _place) = hub_of(&origin, "").await;
    let (first, name) = ask(&hub, json!({"model": "helper", "input": "Weather?"})).await;
    assert_eq!((&first["object"], &first["status"]), (&json!("response"), &json!("completed")));
    let next = |text: &str| json!({"model": "helper", "input": text, "previous_response_id": first["id"]});
    let (second, same) = ask(&hub, next("And tomorrow?")).await;
    assert_eq!(same, name);
    assert_eq!(said(&seen(&hub, &name).await), ["Weather?", "And tomorrow?"]);
    let (_, fork) = ask(&hub, next("And in Rome?")).await;
    assert_ne!(fork, name);
    assert_eq!(said(&seen(&hub, &fork).await), ["Weather?", "And in Rome?"]);
    assert_eq!(said(&seen(&hub, &name).await), ["Weather?", "And tomorrow?"], "what was said stays");
    // The branch that was there first goes on by the id of its own response, though there is a newer fork.
    let third = json!({"model": "helper", "input": "And then?", "previous_response_id": second["id"]});
    let (_, same) = ask(&hub, third).await;
    assert_eq!(same, name);
    assert_eq!(said(&seen(&hub, &name).await), ["Weather?", "And tomorrow?", "And then?"]);
    let output = json!([{"type": "function_call_output", "call_id": "call_x", "output": "blue"}]);
    let stray = json!({"model": "helper", "input": output, "previous_response_id": first["id"]});
    assert_eq!(post(&hub, RESPONSES, &stray).await.status(), 400, "a result that no call waits for");

    let unknown = json!({"model": "helper", "input": "x", "previous_response_id": "resp_nobody.nothing"});
    let answer = post(&hub, RESPONSES, &unknown).await;
    assert_eq!(answer.status(), 400);
    let (body, _) = told(answer).await;
    let body: Value = serde_json::from_str(&body).unwrap();
    assert_eq!(body["error"]["code"], "previous_response_not_found", "{body}");
    assert_eq!(body["error"]["param"], "previous_response_id");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_whole_history_goes_on_in_its_conversation() {
    let origin = storyteller().await;
    let (hub, _place) = hub_of(&origin, "").await;
    let (first, name) = ask(&hub, json!({"model": "helper", "input": "Weather?"})).await;
    let mut items = vec![json!({"role": "user", "content": "Weather?"})];
    items.extend(first["output"].as_array().unwrap().iter().cloned());
    items.push(json!({"role": "user", "content": [{"type": "input_text", "text": "And tomorrow?"}]}));
    let (_, same) = ask(&hub, json!({"model": "helper", "input": items})).await;
    assert_eq!(same, name);
    assert_eq!(said(&seen(&hub, &name).await), ["Weather?", "And tomorrow?"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_response_that_goes_on_is_in_progress_and_one_that_was_stopped_is_cancelled() {
    let origin = slow().await;
    let (hub, _place) = hub_of(&origin, "").await;
    let body = json!({"model": "helper", "input": "Weather?", "stream": true});
    let mut answer = post(&hub, RESPONSES, &body).await;
    let name = answer.headers()["fanlight-conversation"].to_str().unwrap().to_owned();
    let begun = until(&mut answer, "Well").await;
    drop(answer);
    let id = objects(&begun)[0].1["response"]["id"].as_str().unwrap().to_owned();
    let response = hub.json(&format!("{RESPONSES}/{id}")).await;
    assert_eq!((&response["status"], &response["error"]), (&json!("in_progress"), &Value::Null));
    assert_eq!(response["output"][0]["status"], "in_progress", "{response}");
    assert_eq!(texts(&response), ["Well"]);
    let run = id.trim_start_matches("resp_").split('.').next();
    let stop = json!({"id": "one", "command": "stop", "run": run});
    let path = format!("/v1/conversations/{name}/commands");
    let stopped = post(&hub, &path, &stop).await;
    assert_eq!(stopped.status(), 200, "{}", stopped.text().await.unwrap());
    seen(&hub, &name).await;
    assert_eq!(hub.json(&format!("{RESPONSES}/{id}")).await["status"], "cancelled");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_executes_its_own_functions() {
    let origin = handing_over().await;
    let (hub, _place) = hub_of(&origin, "").await;
    let tool = json!({"type": "function", "name": "ask_user", "parameters": {"type": "object"}});
    let mut body = json!({"model": "helper", "input": "Colour?", "tools": [tool]});
    let (first, name) = ask(&hub, body.clone()).await;
    let call =
        first["output"].as_array().unwrap().iter().find(|item| item["type"] == "function_call").unwrap();
    assert_eq!((&call["name"], &call["call_id"]), (&json!("ask_user"), &json!("call_9")));
    body["previous_response_id"] = first["id"].clone();
    body["input"] = json!([{"type": "function_call_output", "call_id": "call_9", "output": "blue"}]);
    let (second, same) = ask(&hub, body).await;
    assert_eq!((texts(&second), same), (vec!["It says blue."], name));
}

#[tokio::test(flavor = "multi_thread")]
async fn ids_of_items_stand_for_the_answers_that_the_hub_has() {
    let origin = handing_over().await;
    let (hub, _place) = hub_of(&origin, "").await;
    let tool = json!({"type": "function", "name": "ask_user", "parameters": {"type": "object"}});
    let question = json!({"role": "user", "content": "Colour?"});
    let mut body = json!({"model": "helper", "input": [question.clone()], "tools": [tool]});
    let (first, name) = ask(&hub, body.clone()).await;
    let reference = |item: &Value| json!({"type": "item_reference", "id": item["id"]});
    let mut items = vec![question];
    items.extend(first["output"].as_array().unwrap().iter().map(reference));
    items.push(json!({"type": "function_call_output", "call_id": "call_9", "output": "blue"}));
    body["input"] = items.into();
    let (second, same) = ask(&hub, body.clone()).await;
    assert_eq!((texts(&second), same), (vec!["It says blue."], name));
    body["input"] = json!([{"type": "item_reference", "id": "msg_0.nobody.nothing"}]);
    assert_eq!(post(&hub, RESPONSES, &body).await.status(), 400);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_that_is_wrong_is_refused_in_the_form_of_openai() {
    let origin = storyteller().await;
    let (hub, _place) = hub_of(&origin, "").await;
    for (body, status, code) in [
        (json!({"model": "gpt-9", "input": "x"}), 404, "model_not_found"),
        (json!({"input": "x"}), 400, "invalid_value"),
        (json!({"model": "helper"}), 400, "invalid_value"),
        (json!({"model": "helper", "input": "x", "background": true}), 400, "invalid_value"),
    ] {
        let answer = post(&hub, RESPONSES, &body).await;
        assert_eq!(answer.status(), status, "{body}");
        let (refusal, _) = told(answer).await;
        let refusal: Value = serde_json::from_str(&refusal).unwrap();
        assert_eq!(refusal["error"]["code"], code, "{body}: {refusal}");
    }
    let answer = hub.request("GET", &format!("{RESPONSES}/resp_none")).send().await.unwrap();
    assert_eq!(answer.status(), 404);
}
