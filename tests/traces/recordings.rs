//! Recordings of others, each with its dialect.

use tests::recordings::recordings;

use crate::stream::Stream;

/// All that are at hand. Where they are missing the fixtures of `dialects` carry the tests alone.
pub(crate) fn recorded() -> Vec<Stream> {
    let folders = [
        ("openai-chat", "openai-chat"),
        ("openai-completions", "openai-completions-legacy"),
        ("anthropic", "anthropic-messages"),
        ("openai-responses", "openai-responses"),
        ("gemini", "gemini-generatecontent"),
        ("gemini-interactions", "gemini-interactions"),
        ("swe-agent", "trajectory-sweagent"),
        ("tau-bench", "trajectory-taubench"),
        ("ag-ui", "ag-ui"),
        ("codex", "codex-exec-json"),
        ("cohere", "cohere-v2"),
        ("ollama", "ollama-ndjson"),
        ("ai-sdk", "vercel-ui-message-stream"),
        ("claude-code", "claude-stream-json"),
        ("langgraph", "langgraph-platform"),
        ("langgraph", "langgraph-protocol-v3"),
        ("langgraph", "langgraph-stream-tuples"),
        ("langgraph", "langchain-astream-events-v2"),
        ("claude-session", "claude-session-jsonl"),
        ("opencode", "opencode-sse"),
        ("opencode", "opencode-run-json"),
    ];
    let streams = folders
        .into_iter()
        .flat_map(|(dialect, folder)| recordings(folder).into_iter().map(|path| Stream::read(dialect, path)));
    streams.collect()
}
