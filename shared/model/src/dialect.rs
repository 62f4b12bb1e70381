//! What is known of dialects without reading them: their names, and the words that one crate writes and another looks for.

/// The names of the dialects that can be decoded, in the order in which they are offered.
pub const DECODED: &[&str] = &[
    "fanlight",
    "openai-chat",
    "openai-completions",
    "anthropic",
    "bernard",
    "deep-agent",
    "forge",
    "open-webui",
    "ralph",
    "rye",
    "openai-responses",
    "gemini",
    "gemini-interactions",
    "swe-agent",
    "tau-bench",
    "ag-ui",
    "claude-code",
    "claude-session",
    "codex",
    "cohere",
    "ollama",
    "ai-sdk",
    "langgraph",
    "opencode",
    "agno",
];

/// Words of Rye's transcripts that stay in events.
pub mod rye {
    /// The event that says of a cognition that it broke off, and how much there is of it.
    pub const PARTIAL: &str = "partial_cognition";

    /// The code of the failure that broke off a cognition.
    pub const COGNITION_FAILED: &str = "cognition_failed";
}
