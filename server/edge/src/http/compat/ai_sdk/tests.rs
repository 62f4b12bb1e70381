//! Tests of what a chat says.

use serde_json::json;

use super::*;

#[test]
fn a_chat_is_read_with_its_parts() {
    let chat = Chat::of(&json!({
        "id": "chat",
        "trigger": "submit-message",
        "messages": [
            {"id": "1", "role": "user", "parts": [
                {"type": "text", "text": "Look"},
                {"type": "file", "mediaType": "image/png", "url": "data:image/png;base64,AAAA"},
            ]},
            {"id": "run", "role": "assistant", "parts": [
                {"type": "step-start"},
                {"type": "reasoning", "text": "Hm"},
                {"type": "text", "text": "I ask."},
                {"type": "tool-ask", "toolCallId": "c", "state": "output-available", "input": {}, "output": {"a": 1}},
                {"type": "dynamic-tool", "toolName": "ask", "toolCallId": "d", "state": "output-error", "errorText": "no"},
                {"type": "dynamic-tool", "toolName": "ask", "toolCallId": "e", "state": "input-available"},
            ]},
        ],
    }));
    let chat = chat.unwrap();
    let said: Vec<_> = chat.messages.iter().map(|it| (it.role.as_str(), it.text.as_str())).collect();
    assert_eq!(said, [("user", "Look"), ("assistant", "I ask.")]);
    let given = [
        CallResult { tool: "c".into(), output: Json::of(&json!({"a": 1})), is_error: false },
        CallResult { tool: "d".into(), output: Json::string("no"), is_error: true },
    ];
    assert_eq!((chat.results.as_slice(), chat.answer.as_deref()), (given.as_slice(), Some("run")));
    let wrong = |body: Value| Chat::of(&body).unwrap_err().why;
    assert!(wrong(json!({"messages": [{}]})).starts_with("id:"));
    assert!(wrong(json!({"id": "c", "messages": []})).starts_with("messages:"));
    assert!(wrong(json!({"id": "c", "messages": [{}], "trigger": "dance"})).starts_with("trigger:"));
}
