//! A row of the list of conversations.

use compact_str::CompactString;
use serde::{Deserialize, Serialize};

use crate::event::{Origin, RunStatus, Usage};
use crate::ids::ConversationId;
use crate::position::{Epoch, Seq};

/// A conversation in the list: enough to draw its row.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ConversationRow {
    /// The id of the conversation.
    pub conversation: ConversationId,
    /// The title of the conversation.
    pub title: Option<String>,
    /// The place that it was taken from, when it is a fork.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub forked_from: Option<Origin>,
    /// The status of the newest run; nothing before the first.
    pub state: Option<RunStatus>,
    /// Whether that run goes on but nobody has spoken for it for a while.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub stalled: bool,
    /// What the newest run does now, or how it ended, in a few words.
    pub activity: Option<String>,
    /// Why its newest run did not complete, as figures over time name it: the code of its error, else `error`, `interrupted` or
    /// `cancelled`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The epoch: the life of the log.
    pub epoch: Epoch,
    /// The newest seq of the conversation.
    pub head: Seq,
    /// When the newest run began, in milliseconds since 1970.
    pub started_at: u64,
    /// When the newest run ended, in milliseconds since 1970.
    pub ended_at: Option<u64>,
    /// When the newest event was taken, in milliseconds since 1970.
    pub at: u64,
    /// The number of runs in the conversation.
    pub runs: u64,
    /// The number of calls of the newest run.
    pub tools: u64,
    /// The number of calls of the newest run that failed.
    pub failed: u64,
    /// The number of calls of the newest run that wait for a person.
    pub approvals: u64,
    /// The number of sub-agents of the newest run.
    pub agents: u64,
    /// The number of all anomalies of the conversation.
    pub anomalies: u64,
    /// The number of viewers of the conversation.
    #[serde(default)]
    pub viewers: u64,
    /// The call of the newest run that executes longest.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call: Option<RowCall>,
    /// Further executing calls of the newest run, the longest first, at most [`crate::limits::ROW_MORE_CALLS_MAX`].
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub more_calls: Vec<RowCall>,
    /// Bytes of texts, thinking and arguments that the models of the newest run have written; 0 for roles that do not see all of it.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub written: u64,
    /// The tool of the first call of the newest run that waits for a person.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub asks: Option<String>,
    /// The name of the newest run's model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// The name of the main agent of the newest run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// The name of the machine that the agent of the newest run runs on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host: Option<String>,
    /// The tokens and costs of all runs together, as far as anybody said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
    /// The end of the last text of the newest run, while that goes on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub said: Option<String>,
    /// The beginning of the last text of the newest run, once that is complete.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer: Option<String>,
    /// The tools that the newest run called, each once, the first [`crate::limits::ROW_TOOLS_MAX`] of them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(feature = "schema", schemars(with = "Vec<String>"))]
    pub used: Vec<CompactString>,
    /// The number of its runs and messages that people rated good.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub good: u64,
    /// The number of its runs and messages that people rated bad.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub bad: u64,
    /// Whether somebody pinned it: it stands before the others.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub pinned: bool,
    /// Whether somebody archived it: lists leave it out unless it is asked for.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub archived: bool,
    /// The tags that somebody gave it, at most [`crate::limits::LABEL_TAGS_MAX`].
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(feature = "schema", schemars(with = "Vec<String>"))]
    pub tags: Vec<CompactString>,
}

/// A call that is executing, in a row of the list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RowCall {
    /// The name of the tool.
    #[cfg_attr(feature = "schema", schemars(with = "String"))]
    pub name: CompactString,
    /// When the call began to execute by the hub's clock, in milliseconds since 1970.
    pub since: u64,
}

/// Whether a count is left out of what is sent.
fn is_zero<T: Default + PartialEq>(count: &T) -> bool {
    *count == T::default()
}
