//! Detects the dialect of a stream from its beginning, for `auto` and for files that are dropped on the page.
//!
//! A dialect has no header that names it. Each has a few texts that only its streams contain, such as a type
//! of event or a key; the first dialect of the table that has one in the first bytes is taken. Nothing is
//! parsed, so that a cut or damaged beginning is recognised too.

/// How many bytes of the beginning are examined.
const LOOKED_AT_BYTES: usize = 4 << 10;

/// The marks of each dialect: one of them in the beginning of a stream is enough. The more specific ones come
/// first, since a dialect may contain the events of another: Claude Code passes on events of the Messages
/// API.
const MARKS: &[(&str, &[&str])] = &[
    (
        super::claude_session::NAME,
        &[
            "\"parentUuid\":",
            "\"isSidechain\":",
            "\"type\":\"file-history-snapshot\"",
            "\"type\":\"queue-operation\"",
            "\"leafUuid\":",
        ],
    ),
    (
        super::claude_code::NAME,
        &[
            "\"subtype\":\"init\"",
            "\"parent_tool_use_id\":",
            "\"claude_code_version\":",
            "\"apiKeySource\":",
            "\"type\":\"stream_event\"",
            "\"type\":\"control_re",
        ],
    ),
    (super::openai_responses::NAME, &["event: response.", "\"type\":\"response.", "\"object\":\"response\""]),
    (
        super::codex::NAME,
        &["\"type\":\"thread.started\"", "\"type\":\"turn.started\"", "\"type\":\"item.completed\""],
    ),
    (
        super::opencode::NAME,
        &[
            "\"type\":\"server.connected\"",
            "\"type\":\"session.",
            "\"type\":\"message.part.",
            "\"type\":\"message.updated\"",
            "\"sessionID\":\"ses_",
        ],
    ),
    (super::ag_ui::NAME, &["\"type\":\"RUN_STARTED\"", "\"type\":\"TEXT_MESSAGE_", "\"type\":\"RUN_ERROR\""]),
    (
        super::anthropic::NAME,
        &[
            "event: message_start",
            "event:message_start",
            "\"type\":\"message_start\"",
            "\"type\":\"message\",\"role\"",
        ],
    ),
    (
        super::deep_agent::NAME,
        &["\"agent_depth\":", "\"type\":\"agent_start\"", "\"type\":\"token\",\"data\":{"],
    ),
    (
        super::bernard::NAME,
        &["\"_type\":\"tool_progress\"", "{\"event\":\"messages/partial\"", "\"model\":\"bernard"],
    ),
    (super::forge::NAME, &["\"cumulative\":"]),
    (
        super::rye::NAME,
        &[
            "\"event_type\":\"thread_started\"",
            "\"event_type\":\"cognition_",
            "\"event_type\":\"tool_call_",
            "\"type\":\"cognition_",
        ],
    ),
    (
        super::open_webui::NAME,
        &[
            "\"type\":\"chat:",
            "<details type=\\\"tool_calls",
            "<details type=\\\"reasoning",
            "\"type\":\"message\",\"data\":{",
            "\"type\":\"status\",\"data\":{",
            "\"type\":\"replace\",\"data\":{",
        ],
    ),
    (
        super::ralph::NAME,
        &[
            "\"type\":\"message\",\"content\":\"",
            "\"type\":\"status\",\"content\":",
            "\"type\":\"tool_call_start\",\"tool_call_id\":",
        ],
    ),
    (
        super::openai_chat::NAME,
        &[
            "\"object\":\"chat.completion",
            "\"object\":\"text_completion",
            "\"choices\":[",
            ": OPENROUTER PROCESSING",
        ],
    ),
    (
        super::gemini_interactions::NAME,
        &["event: interaction.", "\"event_type\":\"interaction.", "\"object\":\"interaction\""],
    ),
    (
        super::swe_agent::NAME,
        &[
            "\"trajectory\":[",
            "\"message_type\":\"system_prompt\"",
            "\"trajectory_format\":\"mini-swe-agent",
            "mswea_bash_command",
        ],
    ),
    (super::gemini::NAME, &["\"candidates\":[", "\"usageMetadata\":{", "\"promptFeedback\":{"]),
    (
        super::agno::NAME,
        &[
            "\"event\":\"RunStarted\"",
            "\"event\":\"TeamRunStarted\"",
            "\"event\":\"WorkflowStarted\"",
            "\"event\":\"RunContent\"",
            "\"event\":\"TeamRunContent\"",
            "\"event\":\"RunContinued\"",
            "\"event\":\"RunResponse",
            "event: RunStarted",
        ],
    ),
    (
        super::langgraph::NAME,
        &[
            "event: metadata",
            "event: messages/",
            "event: messages|",
            "\"langgraph_",
            "\"lc\":1,",
            "\"AIMessageChunk\"",
            "\"method\":\"lifecycle\"",
            "\"event\":\"on_chain_start\"",
            "\"event\":\"on_chat_model_st",
            "[\"messages\",",
            "[\"values\",",
            "[\"updates\",",
        ],
    ),
    (
        super::cohere::NAME,
        &[
            "event: message-start",
            "\"type\":\"message-start\"",
            "\"tool_plan\":",
            "\"finish_reason\":\"COMPLETE\"",
        ],
    ),
    (super::ollama::NAME, &["},\"done\":false", "\",\"response\":\"", "\"done_reason\":", "\"eval_count\":"]),
    (
        super::ai_sdk::NAME,
        &[
            "\"type\":\"start\"",
            "\"type\":\"start-step\"",
            "\"type\":\"text-start\"",
            "\"type\":\"tool-input-start\"",
            "f:{\"messageId\":",
            "\n0:\"",
        ],
    ),
    (super::fanlight::NAME, &["\"k\":\"", "\"t\":\"batch\"", "\"t\":\"snap\""]),
    // Last, since the streams of other dialects may contain messages too.
    (super::tau_bench::NAME, &["\"traj\":[", "{\"role\":\"system\",\"content\":"]),
];

/// The dialect of a stream that begins with `bytes`; nothing if it cannot be determined. A space behind the
/// colons and commas of JSON does not matter. Of more than 4 KiB only the beginning is examined; with less,
/// the answer may become known when there is more.
pub fn detect(bytes: &[u8]) -> Option<&'static str> {
    let beginning = bytes.get(..LOOKED_AT_BYTES).unwrap_or(bytes);
    let text = String::from_utf8_lossy(beginning);
    let squeezed = text.replace("\": ", "\":").replace(", \"", ",\"");
    MARKS.iter().find_map(|(name, marks)| marks.iter().any(|mark| squeezed.contains(mark)).then_some(*name))
}

#[cfg(test)]
mod tests;
