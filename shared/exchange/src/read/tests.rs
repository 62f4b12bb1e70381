//! Requests of each API, with what is rare in them.

use proptest::prelude::*;
use serde_json::{Value, json};

use crate::{MessagePiece, ModelApi, ModelRequest, RequestRole};
use model::anomaly::AnomalyCode;
use model::limits::OFFERED_TOOLS_MAX;

const APIS: [ModelApi; 8] = [
    ModelApi::OpenAiChat,
    ModelApi::OpenAiCompletions,
    ModelApi::OpenAiResponses,
    ModelApi::Anthropic,
    ModelApi::Gemini,
    ModelApi::OllamaChat,
    ModelApi::OllamaGenerate,
    ModelApi::Cohere,
];

fn read(api: ModelApi, body: &Value) -> ModelRequest {
    ModelRequest::read(api, "/", body.to_string().as_bytes())
}

/// The pieces as lines: role, then what.
fn lines(request: &ModelRequest) -> Vec<String> {
    let messages = request.messages.iter();
    let pieces = messages.flat_map(|said| said.pieces.iter().map(move |piece| (said.role.as_str(), piece)));
    pieces
        .map(|(role, piece)| match piece {
            MessagePiece::Text(text) => format!("{role}: {text}"),
            MessagePiece::File(file) => format!("{role}: {}", file.placeholder()),
            MessagePiece::Call { id, name, arguments } => format!("{role} {id} {name} {arguments}"),
            MessagePiece::Result { id, name, output, is_error } => {
                format!("{role} {id}{name} {} {}", output.to_text(), if *is_error { "failed" } else { "ok" })
            }
            MessagePiece::Consent { id, approved, .. } => format!("{role} {id} {approved}"),
        })
        .collect()
}

#[test]
fn chat_completions() {
    let request = read(
        ModelApi::OpenAiChat,
        &json!({
            "model": "gpt-4o", "stream": true, "user": "u7",
            "metadata": { "thread_id": "thread_9aF31bQ77x" },
            "tools": [{ "type": "function", "function": { "name": "look", "description": "Looks.",
                "parameters": { "type": "object" } } }],
            "messages": [
                { "role": "developer", "content": "Be" }, { "role": "system", "content": [{ "type": "text", "text": "brief." }] },
                { "role": "user", "content": [{ "type": "text", "text": "See:" },
                    { "type": "image_url", "image_url": { "url": "data:image/png;base64,AAAABBBB" } },
                    { "type": "file", "file": { "filename": "a.pdf", "file_data": "data:application/pdf;base64,AAAA" } },
                    { "type": "input_audio", "input_audio": { "data": "AAAA", "format": "wav" } }] },
                { "role": "assistant", "content": null, "refusal": null, "reasoning_content": "hm",
                    "tool_calls": [{ "id": "c1", "type": "function", "function": { "name": "look", "arguments": "{\"a\":1}" } }] },
                { "role": "tool", "tool_call_id": "c1", "content": [{ "type": "text", "text": "seen" }] },
                { "role": "system", "content": "Mind the time." },
                { "role": "assistant", "function_call": { "name": "old", "arguments": "{}" } },
                { "role": "function", "name": "old", "content": "way" },
            ],
        }),
    );
    assert_eq!(
        (request.model.as_deref(), request.streaming, request.user.as_deref()),
        (Some("gpt-4o"), true, Some("u7"))
    );
    assert_eq!(request.system.as_deref(), Some("Be\n\nbrief."));
    assert_eq!(request.session.as_deref(), Some("thread_9aF31bQ77x"));
    assert_eq!(
        (request.tools[0].name.as_str(), request.tools[0].description.as_deref()),
        ("look", Some("Looks."))
    );
    assert_eq!(
        lines(&request),
        [
            "user: See:",
            "user: [image: image/png, 6 bytes]",
            "user: [file: a.pdf, 3 bytes]",
            "user: [audio: wav, 3 bytes]",
            r#"assistant c1 look {"a":1}"#,
            "tool c1 seen ok",
            "system: Mind the time.",
            "assistant  old {}",
            "tool old way ok",
        ]
    );
    assert_eq!(request.anomalies, []);
}

#[test]
fn documents_of_cohere_are_results_of_tools() {
    let document = |data: Value| json!([{ "type": "document", "document": { "data": data } }]);
    let body = json!({
        "model": "command-a",
        "messages": [
            { "role": "user", "content": "Weather?" },
            { "role": "assistant", "tool_calls": [
                { "id": "c1", "type": "function", "function": { "name": "look", "arguments": "{}" } },
                { "id": "c2", "type": "function", "function": { "name": "look", "arguments": "{}" } }] },
            { "role": "tool", "tool_call_id": "c1", "content": document(json!("{\"degrees\": 21}")) },
            { "role": "tool", "tool_call_id": "c2", "content": document(json!({ "degrees": 22 })) },
        ],
    });
    let request = read(ModelApi::Cohere, &body);
    let told = lines(&request);
    assert_eq!(told.get(3).map(String::as_str), Some(r#"tool c1 {"degrees": 21} ok"#), "{told:?}");
    assert_eq!(told.get(4).map(String::as_str), Some(r#"tool c2 {"degrees":22} ok"#), "{told:?}");
    assert_eq!(request.anomalies, []);
}

#[test]
fn responses() {
    let request = read(
        ModelApi::OpenAiResponses,
        &json!({
            "model": "gpt-5", "instructions": "Be brief.", "previous_response_id": "resp_1",
            "prompt_cache_key": "0b6e9a54-7c3d-4e1f-9a2b-3c4d5e6f7a8b",
            "tools": [{ "type": "function", "name": "look", "parameters": {} }, { "type": "web_search" }],
            "input": [
                { "role": "developer", "content": "More." },
                { "type": "message", "role": "user", "content": [{ "type": "input_text", "text": "hi" },
                    { "type": "input_image", "image_url": "https://x/y.png" }, { "type": "input_file", "file_id": "file-1" }] },
                { "type": "reasoning", "summary": [], "encrypted_content": "x" },
                { "type": "message", "role": "assistant", "content": [{ "type": "output_text", "text": "ok", "annotations": [] }] },
                { "type": "function_call", "call_id": "c1", "name": "look", "arguments": "{}" },
                { "type": "custom_tool_call", "call_id": "c2", "name": "sh", "input": "ls" },
                { "type": "local_shell_call", "call_id": "c3", "action": { "command": ["ls"] } },
                { "type": "function_call_output", "call_id": "c1", "output": "{\"a\":1}" },
                { "type": "custom_tool_call_output", "call_id": "c2", "output": [{ "type": "input_text", "text": "a" },
                    { "type": "input_image", "image_url": "data:image/png;base64,AAAA" }] },
                { "type": "mcp_approval_response", "approval_request_id": "mcpr_1", "approve": true },
                { "type": "item_reference", "id": "x" },
            ],
        }),
    );
    assert_eq!(request.previous.as_deref(), Some("resp_1"));
    assert_eq!(request.session, None, "a key of a cache is no session");
    assert_eq!(request.system.as_deref(), Some("Be brief.\n\nMore."));
    assert_eq!(
        request.tools.iter().map(|tool| tool.name.as_str()).collect::<Vec<_>>(),
        ["look", "web_search"]
    );
    assert_eq!(
        lines(&request),
        [
            "user: hi",
            "user: [image: https://x/y.png]",
            "user: [file: file-1]",
            "assistant: ok",
            "assistant c1 look {}",
            "assistant c2 sh ls",
            r#"assistant c3 local_shell {"command":["ls"]}"#,
            r#"tool c1 {"a":1} ok"#,
            "tool c2 a\n[image: image/png, 3 bytes] ok",
            "tool mcpr_1 true",
        ]
    );
    assert_eq!(request.anomalies, []);
    let text = read(ModelApi::OpenAiResponses, &json!({ "input": "hi", "conversation": { "id": "conv_1" } }));
    assert!(text.continues && text.session.as_deref() == Some("conv_1"));
    assert_eq!(lines(&text), ["user: hi"]);
}

#[test]
fn messages() {
    let request = read(
        ModelApi::Anthropic,
        &json!({
            "model": "claude", "stream": true, "max_tokens": 1,
            "metadata": { "user_id": "{\"device_id\":\"d\",\"session_id\":\"0b6e9a54-7c3d-4e1f-9a2b-3c4d5e6f7a8b\"}" },
            "system": [{ "type": "text", "text": "Be brief.", "cache_control": { "type": "ephemeral" } }],
            "tools": [{ "name": "look", "input_schema": { "type": "object" } }, { "type": "bash_20250124", "name": "bash" }],
            "messages": [
                { "role": "user", "content": "hi" },
                { "role": "assistant", "content": [{ "type": "thinking", "thinking": "hm", "signature": "s" },
                    { "type": "redacted_thinking", "data": "x" }, { "type": "text", "text": "ok" },
                    { "type": "server_tool_use", "id": "s1", "name": "web_search", "input": {} },
                    { "type": "web_search_tool_result", "tool_use_id": "s1", "content": [] },
                    { "type": "tool_use", "id": "t1", "name": "look", "input": { "a": 1 } }] },
                { "role": "user", "content": [
                    { "type": "tool_result", "tool_use_id": "t1", "is_error": true, "content": [
                        { "type": "text", "text": "no" },
                        { "type": "image", "source": { "type": "base64", "media_type": "image/png", "data": "AAAA" } }] },
                    { "type": "document", "title": "D", "source": { "type": "url", "url": "https://x/d.pdf" } }] },
            ],
        }),
    );
    assert_eq!(request.session.as_deref(), Some("0b6e9a54-7c3d-4e1f-9a2b-3c4d5e6f7a8b"));
    assert_eq!(request.system.as_deref(), Some("Be brief."));
    assert_eq!(
        lines(&request),
        [
            "user: hi",
            "assistant: ok",
            r#"assistant t1 look {"a":1}"#,
            "user t1 no\n[image: image/png, 3 bytes] failed",
            "user: [document: https://x/d.pdf]",
        ]
    );
    assert_eq!(request.anomalies, []);
}

#[test]
fn contents() {
    let request = ModelRequest::read(
        ModelApi::Gemini,
        "/v1beta/models/gemini-2.5-flash:streamGenerateContent?alt=sse",
        json!({
            "system_instruction": { "parts": [{ "text": "Be brief." }] },
            "tools": [{ "functionDeclarations": [{ "name": "look", "parametersJsonSchema": {} }] }, { "googleSearch": {} }],
            "contents": [
                { "parts": [{ "text": "hi" }, { "inlineData": { "mimeType": "image/png", "data": "AAAA" } },
                    { "fileData": { "mimeType": "video/mp4", "fileUri": "gs://b/v.mp4" } }] },
                { "role": "model", "parts": [{ "text": "hm", "thought": true }, { "text": "ok" },
                    { "functionCall": { "name": "look", "args": { "a": 1 } }, "thoughtSignature": "x" },
                    { "executableCode": { "code": "1" } }] },
                { "role": "user", "parts": [{ "functionResponse": { "name": "look", "response": { "error": "no" } } }] },
            ],
        })
        .to_string()
        .as_bytes(),
    );
    assert_eq!((request.model.as_deref(), request.streaming), (Some("gemini-2.5-flash"), true));
    assert_eq!(request.system.as_deref(), Some("Be brief."));
    assert_eq!(request.tools.len(), 2);
    assert_eq!(
        lines(&request),
        [
            "user: hi",
            "user: [image: image/png, 3 bytes]",
            "user: [video: gs://b/v.mp4]",
            "assistant: ok",
            r#"assistant  look {"a":1}"#,
            r#"user look {"error":"no"} failed"#,
        ]
    );
    assert_eq!(request.anomalies, []);
}

#[test]
fn ollama_and_prompts() {
    let chat = read(
        ModelApi::OllamaChat,
        &json!({ "model": "qwen3", "messages": [{ "role": "user", "content": "hi", "images": ["AAAA"] },
            { "role": "assistant", "content": "", "thinking": "hm", "tool_calls": [{ "function": { "name": "look", "arguments": { "a": 1 } } }] },
            { "role": "tool", "tool_name": "look", "content": "x" }] }),
    );
    assert!(chat.streaming, "unless it is told not to");
    assert_eq!(
        lines(&chat),
        ["user: hi", "user: [image: 3 bytes]", r#"assistant  look {"a":1}"#, "tool look x ok"]
    );
    let generate = read(ModelApi::OllamaGenerate, &json!({ "prompt": "hi", "system": "s", "stream": false }));
    assert!(!generate.streaming);
    assert_eq!((generate.system.as_deref(), lines(&generate)), (Some("s"), vec!["user: hi".to_owned()]));
    let legacy = read(ModelApi::OpenAiCompletions, &json!({ "prompt": ["a", "b"] }));
    assert_eq!(lines(&legacy), ["user: a", "user: b"]);
}

#[test]
fn what_nobody_knows_is_an_anomaly_and_costs_nothing_else() {
    let request = read(
        ModelApi::Anthropic,
        &json!({ "messages": [{ "role": "user", "content": [{ "type": "hologram" }, { "type": "text", "text": "hi" }] },
            { "role": "oracle", "content": "yes" }] }),
    );
    assert_eq!(lines(&request), ["user: hi", "oracle: yes"]);
    assert_eq!(request.messages[1].role, RequestRole::Other("oracle".into()));
    assert_eq!(request.anomalies.len(), 1);
    for body in ["", "[]", "{", "\"x\"", "null", "\u{feff}"] {
        let request = ModelRequest::read(ModelApi::OpenAiChat, "/", body.as_bytes());
        assert!(!request.is_read && request.anomalies[0].code == AnomalyCode::Malformed, "{body}");
    }
    let request = ModelRequest::read(ModelApi::OpenAiChat, "/", b"{\"model\":\"\xff\"}");
    assert!(request.is_read && request.anomalies.len() == 1);
}

#[test]
fn i7_tools_are_bounded() {
    let tools: Vec<Value> = (0..=OFFERED_TOOLS_MAX)
        .map(|n| json!({ "name": format!("t{n}"), "input_schema": { "x": "y".repeat(20_000) } }))
        .collect();
    let request = read(ModelApi::Anthropic, &json!({ "tools": tools }));
    assert_eq!(request.tools.len(), OFFERED_TOOLS_MAX);
    assert_eq!(request.tools[0].schema, None);
    assert_eq!(request.anomalies.len(), 1);
}

/// JSON of any shape, with the words of the APIs in it.
fn wild() -> impl Strategy<Value = Value> {
    const WORDS: [&str; 30] = [
        "messages",
        "input",
        "contents",
        "parts",
        "role",
        "content",
        "type",
        "text",
        "tool_calls",
        "function",
        "name",
        "arguments",
        "id",
        "call_id",
        "tool_use_id",
        "tool_result",
        "tool_use",
        "functionCall",
        "user",
        "functionResponse",
        "image_url",
        "source",
        "tools",
        "system",
        "metadata",
        "user_id",
        "prompt",
        "images",
        "assistant",
        "function_call_output",
    ];
    let word = || proptest::sample::select(WORDS.to_vec()).prop_map(str::to_owned);
    let leaf = prop_oneof![
        word().prop_map(Value::from),
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i32>().prop_map(Value::from),
        Just(json!("\u{0}\"\\ 🙂")),
    ];
    leaf.prop_recursive(8, 96, 6, move |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
            proptest::collection::hash_map(word(), inner, 0..6)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

proptest! {
    #[test]
    fn i3_any_body_is_read(value in wild(), cut in any::<prop::sample::Index>()) {
        let body = value.to_string().into_bytes();
        for api in APIS {
            ModelRequest::read(api, "/", &body);
            ModelRequest::read(api, "/", &body[..cut.index(body.len() + 1)]);
        }
    }

    #[test]
    fn i3_any_bytes_are_read(body in proptest::collection::vec(any::<u8>(), 0..200)) {
        for api in APIS {
            ModelRequest::read(api, "/x/models/", &body);
        }
    }
}
