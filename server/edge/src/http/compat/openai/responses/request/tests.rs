//! Tests of what is read from requests for a response.

use serde_json::json;

use super::*;

fn read(body: &Value) -> Result<ResponsesRequest, Fault> {
    ResponsesRequest::read(body.to_string().as_bytes())
}

#[test]
fn a_text_and_a_list_of_items_are_read() {
    let wish = read(&json!({"model": "helper", "instructions": "Be brief.", "input": "Weather?"})).unwrap();
    let said: Vec<_> = wish.messages.iter().map(|it| (it.role.as_str(), it.text.as_str())).collect();
    assert_eq!(said, [("system", "Be brief."), ("user", "Weather?")]);
    let items = json!([
        {"role": "user", "content": [{"type": "input_text", "text": "Weather?"}]},
        {"type": "reasoning", "id": "rs_1", "summary": []},
        {"type": "function_call", "call_id": "c1", "name": "look", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "c1", "output": "mild"},
        {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Mild."}]},
        {"role": "user", "content": "And tomorrow?"},
    ]);
    let wish = read(&json!({"model": "helper", "input": items, "stream": true})).unwrap();
    let said: Vec<_> = wish.messages.iter().map(|it| (it.role.as_str(), it.text.as_str())).collect();
    assert_eq!(said, [("user", "Weather?"), ("assistant", "Mild."), ("user", "And tomorrow?")]);
    assert_eq!(wish.results.len(), 1);
    assert!(wish.streams && wish.left_out.is_empty(), "{wish:?}");
}

#[test]
fn fields_for_the_model_have_the_names_of_chat_completions() {
    let wish =
        read(&json!({"model": "m", "input": "x", "temperature": 0.1, "max_output_tokens": 9, "top_p": null,
        "reasoning": {"effort": "low"}, "text": {"verbosity": "low",
            "format": {"type": "json_schema", "name": "n", "schema": {"type": "object"}, "strict": true}}}));
    assert_eq!(
        Value::Object(wish.unwrap().sampling),
        json!({"temperature": 0.1, "max_completion_tokens": 9, "reasoning_effort": "low", "verbosity": "low",
            "response_format": {"type": "json_schema",
                "json_schema": {"name": "n", "schema": {"type": "object"}, "strict": true}}})
    );
}

#[test]
fn functions_are_offered_and_other_tools_are_named() {
    let tools = json!([{"type": "function", "name": "look", "parameters": {"type": "object"}},
        {"type": "web_search"}]);
    let mut body =
        json!({"model": "m", "input": "x", "tools": tools, "include": ["reasoning.encrypted_content"]});
    let wish = read(&body).unwrap();
    assert_eq!(wish.tools.iter().map(|tool| tool.name.as_str()).collect::<Vec<_>>(), ["look"]);
    assert_eq!(wish.left_out, ["tools[1] (web_search)", "include"]);
    body["tool_choice"] = json!("none");
    assert!(read(&body).unwrap().tools.is_empty());
}

#[test]
fn what_cannot_be_done_is_refused_by_name() {
    for (body, param) in [
        (json!({"model": "m"}), "input"),
        (json!({"model": "m", "input": []}), "input"),
        (json!({"model": "m", "input": "x", "background": true}), "background"),
        (json!({"model": "m", "input": "x", "tool_choice": "required"}), "tool_choice"),
    ] {
        let fault = read(&body).unwrap_err();
        assert_eq!((fault.code.as_str(), fault.param.as_deref()), ("invalid_value", Some(param)), "{body}");
    }
    assert_eq!(ResponsesRequest::read(b"[]").unwrap_err().code, "invalid_json");
}
