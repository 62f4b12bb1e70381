//! Tests of what the input of a run says.

use serde_json::json;

use super::*;

#[test]
fn an_input_is_read_whole_and_what_has_no_place_is_named() {
    let input = Input::of(&json!({
        "threadId": "t",
        "runId": "r",
        "state": {"a": 1},
        "context": [],
        "messages": [
            {"id": "0", "role": "system", "content": "Be brief."},
            {"id": "1", "role": "user", "content": [
                {"type": "text", "text": "Look"},
                {"type": "image", "source": {"type": "data", "mimeType": "image/png", "value": "AAAA"}},
            ]},
            {"id": "2", "role": "reasoning", "content": "Hm"},
            {"id": "3", "role": "assistant", "content": "I ask.", "toolCalls": []},
            {"id": "4", "role": "tool", "toolCallId": "c", "content": "blue"},
        ],
        "tools": [{"name": "ask", "description": "asks", "parameters": {"type": "object"}}],
    }));
    let input = input.unwrap();
    let said: Vec<_> = input.messages.iter().map(|it| (it.role.as_str(), it.text.as_str())).collect();
    assert_eq!(said, [("system", "Be brief."), ("user", "Look"), ("assistant", "I ask.")]);
    assert_eq!(input.messages[1].id, Some(MessageId::new("1")));
    let given = CallResult { tool: "c".into(), output: Json::string("blue"), is_error: false };
    assert_eq!((input.results, input.tools.len()), (vec![given], 1));
    assert_eq!(input.left_out, ["state"]);
    let files: Vec<_> = input.messages.iter().flat_map(|it| &it.files).map(|it| it.mime.as_str()).collect();
    assert_eq!(files, ["image/png"]);
    let wrong = |body: Value| Input::of(&body).unwrap_err().why;
    assert_eq!(wrong(json!({"runId": "r", "messages": []})), "threadId: a text is expected");
    assert_eq!(wrong(json!({"threadId": "t", "runId": "r"})), "messages: a list is expected");
}
