//! One span of each convention, as its instrumentation writes it.

use serde_json::{Value, json};

use super::{SpanMeaning, SpanMessage, SpanPiece, SpanRole};
use crate::spans::{FinishedSpan, SpanEvent};

fn span(name: &str, facts: Value, events: Vec<(&str, Value)>) -> SpanMeaning {
    let of = |facts: Value| facts.as_object().unwrap().clone().into_iter().collect();
    let events = events.into_iter().map(|(name, facts)| SpanEvent {
        name: name.to_owned(),
        at_ns: 1,
        attributes: of(facts),
    });
    let span = FinishedSpan {
        name: name.to_owned(),
        parent: Some([1; 8]),
        attributes: of(facts),
        events: events.collect(),
        ..FinishedSpan::default()
    };
    SpanMeaning::of(&span)
}

fn call() -> SpanPiece {
    let (id, name) = (String::from("call_1"), String::from("get_weather"));
    SpanPiece::Call { id, name, arguments: String::from("{\"city\":\"Lisbon\"}") }
}

fn answered() -> SpanPiece {
    let output = model::json::Json::of(&json!({"degrees": 21}));
    SpanPiece::Result { id: String::from("call_1"), output, is_error: false }
}

/// A system prompt, a question, a call, its result.
fn history() -> Vec<SpanMessage> {
    let of = |role: &str, piece: SpanPiece| SpanMessage { role: role.to_owned(), pieces: vec![piece] };
    vec![
        SpanMessage::of("system", "Be brief."),
        SpanMessage::of("user", "Weather?"),
        of("assistant", call()),
        of("tool", answered()),
    ]
}

fn is_model(meaning: &SpanMeaning, conversation: Option<&str>) {
    assert_eq!(meaning.role, SpanRole::Model);
    assert_eq!(meaning.input, history());
    assert_eq!(meaning.output, [SpanMessage::of("assistant", "Sunny.")]);
    assert_eq!(meaning.model.as_deref(), Some("gpt-5"));
    let usage = meaning.usage.unwrap();
    assert_eq!((usage.input_tokens, usage.output_tokens), (92, 12));
    assert_eq!(meaning.finish_reason.as_deref(), Some("stop"));
    assert_eq!(meaning.conversation.as_deref(), conversation);
}

fn is_tool(meaning: &SpanMeaning, call: Option<&str>) {
    assert_eq!((meaning.role, meaning.name.as_str()), (SpanRole::Tool, "get_weather"));
    assert_eq!(meaning.call.as_deref(), call);
    assert_eq!(meaning.arguments.as_deref(), Some("{\"city\":\"Lisbon\"}"));
    assert_eq!(meaning.result.as_ref().unwrap().to_value(), json!({"degrees": 21}));
}

#[test]
fn opentelemetry_in_its_newest_form_as_json_or_as_values() {
    let input = json!([
        {"role": "user", "parts": [{"type": "text", "content": "Weather?"}]},
        {"role": "assistant", "parts": [{"type": "tool_call", "id": "call_1", "name": "get_weather", "arguments": {"city": "Lisbon"}}]},
        {"role": "tool", "parts": [{"type": "tool_call_response", "id": "call_1", "response": {"degrees": 21}}]},
    ]);
    let output = json!([{"role": "assistant", "parts": [{"type": "text", "content": "Sunny."}], "finish_reason": "stop"}]);
    let system = json!([{"type": "text", "content": "Be brief."}]);
    for is_text in [true, false] {
        let form = |tree: &Value| if is_text { json!(tree.to_string()) } else { tree.clone() };
        let facts = json!({"gen_ai.operation.name": "chat", "gen_ai.request.model": "gpt", "gen_ai.response.model": "gpt-5",
            "gen_ai.conversation.id": "c7", "gen_ai.system_instructions": form(&system),
            "gen_ai.input.messages": form(&input), "gen_ai.output.messages": form(&output),
            "gen_ai.usage.input_tokens": 92, "gen_ai.usage.output_tokens": 12});
        is_model(&span("chat gpt", facts, vec![]), Some("c7"));
    }
    let facts = json!({"gen_ai.operation.name": "chat", "gen_ai.response.model": "gpt-5",
        "gen_ai.usage.input_tokens": 92, "gen_ai.usage.output_tokens": 12});
    let details = json!({"gen_ai.system_instructions": system, "gen_ai.input.messages": input, "gen_ai.output.messages": output});
    is_model(&span("chat gpt", facts, vec![("gen_ai.client.inference.operation.details", details)]), None);
    let facts = json!({"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "get_weather", "gen_ai.tool.call.id": "call_1",
        "gen_ai.tool.call.arguments": "{\"city\":\"Lisbon\"}", "gen_ai.tool.call.result": "{\"degrees\":21}"});
    is_tool(&span("execute_tool get_weather", facts, vec![]), Some("call_1"));
    let agent = span("invoke_agent scout", json!({"gen_ai.operation.name": "invoke_agent"}), vec![]);
    assert_eq!((agent.role, agent.name.as_str()), (SpanRole::Agent, "scout"));
}

#[test]
fn opentelemetry_in_its_older_form_with_events() {
    let facts = json!({"gen_ai.operation.name": "chat", "gen_ai.response.model": "gpt-5", "gen_ai.response.finish_reasons": ["stop"],
        "gen_ai.usage.input_tokens": 92, "gen_ai.usage.output_tokens": 12});
    let calls = json!([{"id": "call_1", "type": "function", "function": {"name": "get_weather", "arguments": "{\"city\":\"Lisbon\"}"}}]);
    let events = vec![
        ("gen_ai.system.message", json!({"content": "Be brief."})),
        ("gen_ai.user.message", json!({"content": "Weather?"})),
        ("gen_ai.assistant.message", json!({"tool_calls": calls.to_string()})),
        ("gen_ai.tool.message", json!({"id": "call_1", "content": "{\"degrees\":21}"})),
        (
            "gen_ai.choice",
            json!({"index": 0, "finish_reason": "stop", "message": "{\"content\":\"Sunny.\"}"}),
        ),
    ];
    is_model(&span("chat gpt", facts, events), None);
}

#[test]
fn openinference() {
    let facts = json!({"openinference.span.kind": "LLM", "session.id": "c7", "llm.model_name": "gpt-5", "llm.finish_reason": "stop",
        "input.value": "{\"messages\":[]}", "input.mime_type": "application/json",
        "llm.input_messages.0.message.role": "system", "llm.input_messages.0.message.content": "Be brief.",
        "llm.input_messages.1.message.role": "user",
        "llm.input_messages.1.message.contents.0.message_content.type": "text",
        "llm.input_messages.1.message.contents.0.message_content.text": "Weather?",
        "llm.input_messages.2.message.role": "assistant",
        "llm.input_messages.2.message.tool_calls.0.tool_call.id": "call_1",
        "llm.input_messages.2.message.tool_calls.0.tool_call.function.name": "get_weather",
        "llm.input_messages.2.message.tool_calls.0.tool_call.function.arguments": "{\"city\":\"Lisbon\"}",
        "llm.input_messages.3.message.role": "tool", "llm.input_messages.3.message.tool_call_id": "call_1",
        "llm.input_messages.3.message.content": "{\"degrees\":21}",
        "llm.output_messages.0.message.role": "assistant", "llm.output_messages.0.message.content": "Sunny.",
        "llm.token_count.prompt": 92, "llm.token_count.completion": 12});
    is_model(&span("ChatCompletion", facts, vec![]), Some("c7"));
    // LangChain's: the arguments are what the function was given, the result is a message.
    let facts = json!({"openinference.span.kind": "TOOL", "tool.name": "get_weather", "input.value": "{\"city\":\"Lisbon\"}",
        "output.value": json!({"type": "tool", "data": {"content": "{\"degrees\": 21}", "tool_call_id": "call_1"}}).to_string()});
    is_tool(&span("get_weather", facts, vec![]), Some("call_1"));
    let chain = span(
        "LangGraph",
        json!({"openinference.span.kind": "CHAIN", "metadata": "{\"thread_id\":\"t1\"}"}),
        vec![],
    );
    assert_eq!((chain.role, chain.conversation.as_deref()), (SpanRole::Step, Some("t1")));
}

#[test]
fn openllmetry() {
    let facts = json!({"llm.request.type": "chat", "gen_ai.response.model": "gpt-5", "gen_ai.usage.prompt_tokens": 92, "gen_ai.usage.completion_tokens": 12,
        "traceloop.association.properties.session_id": "c7",
        "gen_ai.prompt.0.role": "system", "gen_ai.prompt.0.content": "Be brief.",
        "gen_ai.prompt.1.role": "user", "gen_ai.prompt.1.content": "Weather?",
        "gen_ai.prompt.2.role": "assistant", "gen_ai.prompt.2.tool_calls.0.id": "call_1",
        "gen_ai.prompt.2.tool_calls.0.name": "get_weather", "gen_ai.prompt.2.tool_calls.0.arguments": "{\"city\":\"Lisbon\"}",
        "gen_ai.prompt.3.role": "tool", "gen_ai.prompt.3.tool_call_id": "call_1", "gen_ai.prompt.3.content": "{\"degrees\":21}",
        "gen_ai.completion.0.role": "assistant", "gen_ai.completion.0.content": "Sunny.", "gen_ai.completion.0.finish_reason": "stop"});
    is_model(&span("openai.chat", facts, vec![]), Some("c7"));
    let facts = json!({"traceloop.span.kind": "tool", "traceloop.entity.name": "get_weather",
        "traceloop.entity.input": "{\"args\":[],\"kwargs\":{\"city\":\"Lisbon\"}}", "traceloop.entity.output": "{\"degrees\":21}"});
    is_tool(&span("get_weather.tool", facts, vec![]), None);
    let agent =
        span("x.agent", json!({"traceloop.span.kind": "agent", "traceloop.entity.name": "scout"}), vec![]);
    assert_eq!((agent.role, agent.name.as_str()), (SpanRole::Agent, "scout"));
}

#[test]
fn pydantic_ai_and_logfire() {
    let all = json!([
        {"event.name": "gen_ai.system.message", "content": "Be brief.", "role": "system"},
        {"event.name": "gen_ai.user.message", "content": "Weather?", "role": "user"},
        {"event.name": "gen_ai.assistant.message", "role": "assistant", "tool_calls":
            [{"id": "call_1", "type": "function", "function": {"name": "get_weather", "arguments": {"city": "Lisbon"}}}]},
        {"event.name": "gen_ai.tool.message", "role": "tool", "id": "call_1", "content": {"degrees": 21}},
        {"event.name": "gen_ai.choice", "index": 0, "message": {"role": "assistant", "content": "Sunny."}},
    ]);
    let facts = json!({"gen_ai.operation.name": "chat", "gen_ai.response.model": "gpt-5", "events": all.to_string(),
        "gen_ai.response.finish_reasons": "[\"stop\"]", "gen_ai.usage.input_tokens": 92, "gen_ai.usage.output_tokens": 12});
    is_model(&span("chat gpt-5", facts, vec![]), None);
    let facts = json!({"gen_ai.tool.name": "get_weather", "gen_ai.tool.call.id": "call_1",
        "tool_arguments": "{\"city\":\"Lisbon\"}", "tool_response": "{\"degrees\":21}", "logfire.msg": "running tool: get_weather"});
    is_tool(&span("running tool", facts, vec![]), Some("call_1"));
    let agent = span(
        "agent run",
        json!({"agent_name": "scout", "model_name": "gpt-5", "all_messages_events": all.to_string()}),
        vec![],
    );
    assert_eq!((agent.role, agent.name.as_str()), (SpanRole::Agent, "scout"));
    assert_eq!(agent.output, [SpanMessage::of("assistant", "Sunny.")]);
    let facts = json!({"gen_ai.request.model": "gpt-5", "request_data": json!({"messages": [{"role": "user", "content": "Hi"}]}).to_string(),
        "response_data": json!({"message": {"role": "assistant", "content": "Hello."}}).to_string()});
    let model = span("Chat Completion with 'gpt-5'", facts, vec![]);
    assert_eq!((model.role, model.output), (SpanRole::Model, vec![SpanMessage::of("assistant", "Hello.")]));
}

#[test]
fn the_ai_sdk() {
    let messages = json!([
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": [{"type": "text", "text": "Weather?"}]},
        {"role": "assistant", "content": [{"type": "tool-call", "toolCallId": "call_1", "toolName": "get_weather", "input": {"city": "Lisbon"}}]},
        {"role": "tool", "content": [{"type": "tool-result", "toolCallId": "call_1", "toolName": "get_weather", "output": {"type": "json", "value": {"degrees": 21}}}]},
    ]);
    let facts = json!({"ai.operationId": "ai.streamText.doStream", "ai.model.id": "gpt-5", "ai.prompt.messages": messages.to_string(),
        "ai.response.text": "Sunny.", "ai.response.finishReason": "stop", "ai.telemetry.metadata.sessionId": "c7",
        "ai.usage.inputTokens": 92, "ai.usage.outputTokens": 12});
    is_model(&span("ai.streamText.doStream", facts, vec![]), Some("c7"));
    let facts = json!({"ai.operationId": "ai.toolCall", "ai.toolCall.name": "get_weather", "ai.toolCall.id": "call_1",
        "ai.toolCall.args": "{\"city\":\"Lisbon\"}", "ai.toolCall.result": "{\"degrees\":21}"});
    is_tool(&span("ai.toolCall", facts, vec![]), Some("call_1"));
    let calls =
        json!([{"toolCallId": "call_1", "toolName": "get_weather", "input": "{\"city\":\"Lisbon\"}"}]);
    let facts = json!({"ai.operationId": "ai.generateText.doGenerate", "ai.response.toolCalls": calls.to_string(), "ai.response.reasoning": "Hm."});
    let model = span("ai.generateText.doGenerate", facts, vec![]);
    assert_eq!(model.output[0].pieces, [SpanPiece::Thinking(String::from("Hm.")), call()]);
    let facts = json!({"ai.operationId": "ai.streamText", "ai.telemetry.functionId": "scout", "ai.prompt": "{\"prompt\":\"Weather?\"}", "ai.response.text": "Sunny."});
    let agent = span("ai.streamText", facts, vec![]);
    assert_eq!(
        (agent.role, agent.name.as_str(), agent.input),
        (SpanRole::Agent, "scout", vec![SpanMessage::of("user", "Weather?")])
    );
}

#[test]
fn strands_by_default_has_blocks_in_events() {
    let facts = json!({"gen_ai.operation.name": "chat", "gen_ai.system": "strands-agents", "gen_ai.request.model": "gpt-5",
        "session.id": "c7", "gen_ai.usage.input_tokens": 92, "gen_ai.usage.output_tokens": 12});
    let use_block =
        json!([{"toolUse": {"toolUseId": "call_1", "name": "get_weather", "input": {"city": "Lisbon"}}}]);
    let result = json!([{"toolResult": {"toolUseId": "call_1", "status": "success", "content": [{"json": {"degrees": 21}}]}}]);
    let events = vec![
        ("gen_ai.system.message", json!({"content": "[{\"text\": \"Be brief.\"}]"})),
        ("gen_ai.user.message", json!({"content": "[{\"text\": \"Weather?\"}]"})),
        ("gen_ai.assistant.message", json!({"content": use_block.to_string()})),
        ("gen_ai.tool.message", json!({"content": result.to_string()})),
        ("gen_ai.choice", json!({"finish_reason": "stop", "message": "[{\"text\": \"Sunny.\"}]"})),
    ];
    is_model(&span("chat", facts.clone(), events), Some("c7"));
    let thought = json!([{"reasoningContent": {"reasoningText": {"text": "Hm."}}}, use_block[0].clone()]);
    let chosen = json!({"finish_reason": "tool_use", "message": thought.to_string()});
    let calling = span("chat", facts, vec![("gen_ai.choice", chosen)]);
    assert_eq!(calling.output[0].pieces, [SpanPiece::Thinking(String::from("Hm.")), call()]);
    let facts = json!({"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "get_weather", "gen_ai.tool.call.id": "call_1"});
    let asked = json!({"role": "tool", "content": "{\"city\":\"Lisbon\"}", "id": "call_1"});
    let returned = json!({"message": "[{\"json\": {\"degrees\": 21}}]", "id": "call_1"});
    let events = vec![("gen_ai.tool.message", asked), ("gen_ai.choice", returned)];
    is_tool(&span("execute_tool get_weather", facts, events), Some("call_1"));
    let facts = json!({"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "Boss"});
    let agent = span("invoke_agent Boss", facts, vec![("gen_ai.choice", json!({"message": "Sunny."}))]);
    assert_eq!(agent.output, [SpanMessage::of("assistant", "Sunny.")]);
}

#[test]
fn results_of_strands_are_shown_without_blocks() {
    let of = |result: Value| {
        let facts = json!({"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "get_weather",
            "gen_ai.tool.call.id": "call_1", "gen_ai.tool.call.result": result.to_string()});
        span("execute_tool get_weather", facts, vec![]).result.unwrap().to_value()
    };
    assert_eq!(of(json!([{"text": "21 in Lisbon"}])), json!("21 in Lisbon"));
    assert_eq!(of(json!([{"text": "21"}, {"text": "22"}])), json!("21\n22"));
    assert_eq!(of(json!([{"text": "21", "at": 1}])), json!([{"text": "21", "at": 1}]), "no block");
}

#[test]
fn arguments_are_read_out_of_the_parameters_of_python_functions() {
    let of = |input: Value| {
        let facts = json!({"openinference.span.kind": "TOOL", "tool.name": "get_weather", "input.value": input.to_string()});
        span("SimpleTool", facts, vec![]).arguments.unwrap()
    };
    let smolagents = json!({"args": [], "sanitize_inputs_outputs": true, "kwargs": {"city": "Lisbon"}});
    assert_eq!(of(smolagents), "{\"city\":\"Lisbon\"}");
    assert_eq!(of(json!({"args": ["Rome"], "kwargs": {}})), "[\"Rome\"]");
    let both = "{\"args\":[\"Rome\"],\"kwargs\":{\"days\":2}}";
    assert_eq!(of(json!({"args": ["Rome"], "kwargs": {"days": 2}})), both);
    let facts = json!({"traceloop.span.kind": "tool", "traceloop.entity.name": "get_weather", "traceloop.entity.output": "\"21 in Rome\""});
    assert_eq!(span("get_weather.tool", facts, vec![]).result.unwrap().to_value(), json!("21 in Rome"));
}

#[test]
fn failures_have_the_name_and_the_reason_of_what_was_thrown() {
    let thrown = json!({"exception.type": "RateLimitError", "exception.message": "slow down"});
    let span = FinishedSpan {
        failed: true,
        status_message: String::from("RateLimitError: slow down"),
        events: vec![SpanEvent {
            name: String::from("exception"),
            at_ns: 0,
            attributes: thrown.as_object().unwrap().clone().into_iter().collect(),
        }],
        ..FinishedSpan::default()
    };
    let error = SpanMeaning::of(&span).error.unwrap();
    assert_eq!((error.code.as_str(), error.message.as_str()), ("RateLimitError", "slow down"));
}
