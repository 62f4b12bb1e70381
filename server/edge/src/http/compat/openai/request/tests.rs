//! Tests of what requests ask.

use agents::SAMPLING_BYTES_MAX;
use serde_json::json;

use super::*;

fn read(body: &Value) -> Result<ChatRequest, Fault> {
    ChatRequest::read(body.to_string().as_bytes())
}

#[test]
fn what_was_said_is_heard_in_order_and_files_come_with_it() {
    let image = json!({"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}});
    let wish = read(&json!({
        "model": "helper",
        "stream": true,
        "stream_options": {"include_usage": true},
        "temperature": 0.1,
        "messages": [
            {"role": "developer", "content": "Be brief."},
            {"role": "user", "content": "One"},
            {"role": "assistant", "content": "A", "tool_calls": [{"id": "t", "type": "function", "function": {"name": "f", "arguments": "{}"}}]},
            {"role": "tool", "tool_call_id": "t", "content": "out"},
            {"role": "user", "content": [{"type": "text", "text": "Two"}, image]},
        ],
    }))
    .unwrap();
    let said: Vec<_> = wish.messages.iter().map(|it| (it.role.as_str(), it.text.as_str())).collect();
    assert_eq!(said, [("system", "Be brief."), ("user", "One"), ("assistant", "A"), ("user", "Two")]);
    let files = &wish.messages[3].files;
    assert_eq!(
        (files.len(), files[0].mime.as_str(), files[0].data.as_deref()),
        (1, "image/png", Some("AAAA"))
    );
    assert_eq!(wish.results.len(), 1);
    assert_eq!((wish.left_out.as_slice(), &wish.sampling["temperature"]), (&[][..], &json!(0.1)));
    assert!(wish.streams && wish.wants_usage && !wish.shows_tools);
}

#[test]
fn what_cannot_be_had_is_refused_by_its_name() {
    let with = |name: &str, value: Value| {
        let mut body = json!({"model": "m", "messages": [{"role": "user", "content": "x"}]});
        body[name] = value;
        read(&body).unwrap_err().param.unwrap()
    };
    assert_eq!(with("messages", json!([])), "messages");
    assert_eq!(with("n", json!(2)), "n");
    let long = json!({"type": "json_schema", "json_schema": {"name": "x".repeat(SAMPLING_BYTES_MAX)}});
    assert_eq!(with("response_format", long), "response_format");
    assert_eq!(with("modalities", json!(["text", "audio"])), "modalities");
    assert_eq!(with("functions", json!([{"name": "f"}])), "functions");
    assert_eq!(with("tools", json!([{"type": "custom"}])), "tools[0].type");
    assert_eq!(with("tool_choice", json!("required")), "tool_choice");
    assert_eq!(read(&json!([])).unwrap_err().code, "invalid_json");
}

#[test]
fn a_caller_brings_tools_of_its_own() {
    let tool = json!({"type": "function", "function": {"name": "f", "description": "does", "parameters": {"type": "object"}}});
    let body = json!({"model": "m", "messages": [{"role": "user", "content": "x"}], "tools": [tool]});
    let wish = read(&body).unwrap();
    assert_eq!((wish.tools.len(), wish.tools[0].name.as_str()), (1, "f"));
}

#[test]
fn a_file_that_is_elsewhere_is_named_and_left_out() {
    let elsewhere = json!({"type": "image_url", "image_url": {"url": "https://example.com/a.png"}});
    let body =
        json!({"model": "m", "messages": [{"role": "user", "content": [elsewhere]}], "logprobs": true});
    let wish = read(&body).unwrap();
    assert!(wish.messages[0].files.is_empty() && wish.messages[0].text.contains("https://example.com/a.png"));
    assert_eq!(wish.left_out.len(), 2, "{:?}", wish.left_out);
}

#[test]
fn a_message_of_files_alone_is_said_by_their_names() {
    let image = json!({"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}});
    let wish = read(&json!({"model": "m", "messages": [{"role": "user", "content": [image]}]})).unwrap();
    assert_eq!((wish.messages[0].files.len(), wish.left_out.len()), (1, 0));
    assert_eq!(wish.messages[0].text, "[image: image/png, 3 bytes]");
}
