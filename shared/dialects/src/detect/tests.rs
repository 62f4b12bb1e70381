//! What streams are taken for.

use super::detect;

#[test]
fn each_dialect_is_known_by_its_beginning() {
    assert_eq!(detect(b"event: message_start\ndata: {\"type\":\"message_start\"}"), Some("anthropic"));
    assert_eq!(detect(b"data: {\"type\": \"message_start\", \"message\": {}}"), Some("anthropic"));
    assert_eq!(detect(b"data: {\"id\":\"x\",\"object\":\"chat.completion.chunk\""), Some("openai-chat"));
    assert_eq!(detect(b"{\"object\": \"chat.completion\", \"choices\": []}"), Some("openai-chat"));
    assert_eq!(
        detect(b"data: {\"type\": \"tool_start\", \"data\": {\"tool_id\": \"a\", \"agent_depth\": 0}}"),
        Some("deep-agent")
    );
    assert_eq!(detect(b"data: {\"type\":\"token\",\"data\":{\"content\":\"a\"}}"), Some("deep-agent"));
    assert_eq!(
        detect(b"data: {\"object\": \"chat.completion.chunk\", \"model\": \"bernard-v1\"}"),
        Some("bernard")
    );
    assert_eq!(
        detect(b"event: messages/partial\ndata: {\"event\":\"messages/partial\",\"data\":[]}"),
        Some("bernard")
    );
    assert_eq!(
        detect(b"{\"timestamp\": 1.5, \"thread_id\": \"t\", \"event_type\": \"cognition_in\"}"),
        Some("rye")
    );
    assert_eq!(detect(b"{\"type\":\"cognition_out_delta\",\"text\":\"a\"}"), Some("rye"));
    let emitted = b"{\"type\": \"status\", \"data\": {\"description\": \"Thinking\", \"done\": false}}";
    assert_eq!(detect(emitted), Some("open-webui"));
    assert_eq!(detect(b"event: token\ndata: {\"token\":\"a\",\"cumulative\":\"a\"}"), Some("forge"));
    assert_eq!(detect(b"event: message\r\ndata: {\"type\": \"status\", \"content\": \"x\"}"), Some("ralph"));
    assert_eq!(detect(b"event: message-start\ndata: {\"type\":\"message-start\"}"), Some("cohere"));
    assert_eq!(
        detect(b"{\"model\":\"m\",\"created_at\":\"2026\",\"message\":{\"content\":\"a\"},\"done\":false}"),
        Some("ollama")
    );
    assert_eq!(detect(b"{\"model\": \"m\", \"created_at\": \"2026\", \"response\": \"a\"}"), Some("ollama"));
    assert_eq!(detect(b"event: response.created\ndata: {}"), Some("openai-responses"));
    assert_eq!(
        detect(b"{\"id\": \"resp_1\", \"object\": \"response\", \"output\": []}"),
        Some("openai-responses")
    );
    assert_eq!(detect(b"{\"environment\": \"main\", \"trajectory\": [{\"action\""), Some("swe-agent"));
    assert_eq!(detect(b"{\n  \"history\": [{\"message_type\": \"system_prompt\""), Some("swe-agent"));
    assert_eq!(detect(b"{\"role\": \"system\", \"content\": \"# Policy\"}\n"), Some("tau-bench"));
    assert_eq!(detect(b"[{\"task_id\": 3, \"reward\": 1.0, \"traj\": ["), Some("tau-bench"));
    assert_eq!(detect(b"event: interaction.created\ndata: {}"), Some("gemini-interactions"));
    assert_eq!(detect(b"data: {\"event_type\": \"interaction.start\"}"), Some("gemini-interactions"));
    assert_eq!(detect(b"data: {\"candidates\": [{\"content\": "), Some("gemini"));
    assert_eq!(detect(b"[{\n  \"promptFeedback\": {\n"), Some("gemini"));
    assert_eq!(detect(b"data: {\"type\": \"RUN_STARTED\", \"threadId\": \"t\"}\n\n"), Some("ag-ui"));
    assert_eq!(detect(b"{\"type\":\"system\",\"subtype\":\"init\",\"cwd\":\"/w\"}"), Some("claude-code"));
    assert_eq!(detect(b"{\"parentUuid\":null,\"type\":\"user\"}"), Some("claude-session"));
    assert_eq!(detect(b"noise\n{\"type\": \"thread.started\", \"thread_id\": \"t\"}"), Some("codex"));
    assert_eq!(detect(b"data: {\"type\":\"start\"}\n\ndata: {\"type\":\"start-step\"}\n\n"), Some("ai-sdk"));
    assert_eq!(detect(b"f:{\"messageId\":\"m\"}\n0:\"Hi\"\n"), Some("ai-sdk"));
    assert_eq!(detect(b"data: {\"type\":\"server.connected\",\"properties\":{}}\n\n"), Some("opencode"));
    assert_eq!(detect(b"{\"type\":\"step_start\",\"sessionID\":\"ses_1\"}\n"), Some("opencode"));
    assert_eq!(detect(b"\xEF\xBB\xBF{\"k\":\"run.start\",\"run\":\"r1\"}"), Some("fanlight"));
    assert_eq!(detect(b"[{\"k\": \"part.delta\"}]"), Some("fanlight"));
    assert_eq!(detect(b"event: metadata\ndata: {\"run_id\": \"1\"}\n\n"), Some("langgraph"));
    assert_eq!(detect(b"[\"messages\", [{\"type\": \"AIMessageChunk\"}, {}]]\n"), Some("langgraph"));
    assert_eq!(detect(b"{\"event\": \"on_chain_start\", \"run_id\": \"1\"}\n"), Some("langgraph"));
    assert_eq!(detect(b"event: RunStarted\ndata: {\n  \"event\": \"RunStarted\""), Some("agno"));
    assert_eq!(detect(b"{\n  \"created_at\": 1, \n  \"event\": \"RunResponseContent\""), Some("agno"));
}

#[test]
fn what_says_nothing_is_not_guessed() {
    assert_eq!(detect(b""), None);
    assert_eq!(detect(b"<html>"), None);
    assert_eq!(detect(&[0xff, 0xfe, 0x00]), None);
}
