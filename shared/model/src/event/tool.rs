//! Payloads of events about tool calls.

use compact_str::CompactString;
use serde::{Deserialize, Serialize};

use crate::ids::ToolCallId;
use crate::json::Json;

/// See [`super::Kind::ToolStart`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ToolStart {
    /// The id of the tool call.
    pub tool: ToolCallId,
    /// The name of the tool, as far as it is known.
    #[cfg_attr(feature = "schema", schemars(with = "String"))]
    pub name: CompactString,
    /// Whether the provider executes the call itself (web search and the like).
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub server: bool,
    /// The id that the source gives it, where another call of the run had that id before.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<String>"))]
    pub given_id: Option<CompactString>,
}

/// See [`super::Kind::ToolState`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ToolStateChange {
    /// The id of the tool call.
    pub tool: ToolCallId,
    /// The new state of the call.
    pub state: ToolState,
    /// The time that the call waited before it was executed, in milliseconds, by the publisher.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub queued_ms: Option<u64>,
    /// The time for which the call was executed, in milliseconds, by the publisher.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exec_ms: Option<u64>,
}

/// See [`super::Kind::ToolResult`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ToolResult {
    /// The id of the tool call.
    pub tool: ToolCallId,
    /// The result of the call: a string or any JSON.
    pub output: Json,
    /// Whether the tool call failed.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub is_error: bool,
    /// The time that the call waited before it was executed, in milliseconds, by the publisher.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub queued_ms: Option<u64>,
    /// The time for which the call was executed, in milliseconds, by the publisher.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exec_ms: Option<u64>,
    /// Files that came with the result.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub files: Option<Json>,
    /// Things to embed that came with the result.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub embeds: Option<Json>,
    /// Where the whole output is, when this is only its beginning, as a string.
    #[serde(rename = "ref", skip_serializing_if = "Option::is_none")]
    pub reference: Option<ResultRef>,
}

impl ToolResult {
    /// A result of `tool` with nothing else that is known of it. `null` becomes an empty text: written as it is, readers would take
    /// it for a result that is not said.
    pub fn new(tool: ToolCallId, output: Json, is_error: bool) -> Self {
        let output = if output.as_str() == "null" { Json::string("") } else { output };
        Self {
            tool,
            output,
            is_error,
            queued_ms: None,
            exec_ms: None,
            files: None,
            embeds: None,
            reference: None,
        }
    }
}

/// A result that is kept beside its event.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ResultRef {
    /// The size of the result as JSON, in bytes.
    pub bytes: u64,
    /// The first 128 bits of their SHA-256, 32 hex digits: its name in the conversation. 16 hex digits in older logs.
    #[cfg_attr(feature = "schema", schemars(with = "String"))]
    pub hash: CompactString,
}

/// See [`super::Kind::ToolProgress`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ToolProgress {
    /// The id of the tool call.
    pub tool: ToolCallId,
    /// The text of the report: what the tool does now.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// The number of units that are done.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub current: Option<u64>,
    /// The number of all units.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub total: Option<u64>,
    /// The kind of the report, where it is more than how far the call is: `step`, `complete`, `error`, or a word of the
    /// tool's own.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<String>"))]
    pub phase: Option<CompactString>,
    /// What the tool reports beside the text, in a form of its own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub data: Option<Json>,
}

impl ToolProgress {
    /// A report of `tool` that says nothing yet.
    pub fn new(tool: ToolCallId) -> Self {
        Self { tool, text: None, current: None, total: None, phase: None, data: None }
    }
}

/// The life of a tool call:
///
/// ```text
/// writing → pending → approval? → executing → complete | error | cancelled | interrupted
/// ```
///
/// It only goes forward; the last four are final.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum ToolState {
    /// The model is still writing the arguments.
    #[default]
    Writing,
    /// The call is written, and not executed yet.
    Pending,
    /// The call waits for a person.
    Approval,
    /// The tool is executing.
    Executing,
    /// The tool gave a result.
    Complete,
    /// The tool failed.
    Error,
    /// A person or the agent stopped the call.
    Cancelled,
    /// The run ended before a result was recorded.
    Interrupted,
}

impl ToolState {
    /// Whether the state is final.
    pub fn is_final(self) -> bool {
        self >= Self::Complete
    }

    /// The word for it on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Writing => "writing",
            Self::Pending => "pending",
            Self::Approval => "approval",
            Self::Executing => "executing",
            Self::Complete => "complete",
            Self::Error => "error",
            Self::Cancelled => "cancelled",
            Self::Interrupted => "interrupted",
        }
    }
}
