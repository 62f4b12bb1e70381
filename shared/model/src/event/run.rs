//! Payloads of events about runs and agents.

use compact_str::CompactString;
use serde::{Deserialize, Serialize};

use super::Cost;
use crate::ids::{AgentId, ToolCallId};

/// The code of the failure that the hub notes when it ends a run whose publisher was lost.
pub const PUBLISHER_LOST: &str = "publisher_lost";

/// See [`super::Kind::RunStart`].
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RunStart {
    /// The name of the model.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<String>"))]
    pub model: Option<CompactString>,
    /// The name of the dialect in which the run came.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<String>"))]
    pub dialect: Option<CompactString>,
    /// The title of the run, and so of the conversation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// The name of the main agent.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<String>"))]
    pub name: Option<CompactString>,
    /// The name of the machine that the agent runs on.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<String>"))]
    pub host: Option<CompactString>,
}

/// See [`super::Kind::RunUpdate`]. What is absent stays as it was.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RunUpdate {
    /// The name of the model.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<String>"))]
    pub model: Option<CompactString>,
    /// The title of the run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// The reason why the model stopped, in the provider's word.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<String>"))]
    pub finish_reason: Option<CompactString>,
    /// The tokens of one more model call, added to those of the run and of the sub-agent that the event names.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
}

/// See [`super::Kind::RunEnd`].
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RunEnd {
    /// The status with which the run ended.
    pub status: RunStatus,
    /// The reason why the model stopped, in the provider's word.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<String>"))]
    pub finish_reason: Option<CompactString>,
    /// The tokens of the whole run, which replace what was added up.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
    /// Nobody said so but the hub, for a publisher that was lost. Whatever else comes of the run lets it go on with all
    /// that was open.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub lost: bool,
}

/// See [`super::Kind::AgentStart`].
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct AgentStart {
    /// The name of the sub-agent.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<String>"))]
    pub name: Option<CompactString>,
    /// The id of the sub-agent that called it; `None` for the main agent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent: Option<AgentId>,
    /// The depth of the sub-agent, 1 for a child of the main agent; computed from the parent where absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub depth: Option<u32>,
    /// The id of the tool call that started it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool: Option<ToolCallId>,
    /// The task of the sub-agent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// The name of the model; absent to keep the one that was known.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<String>"))]
    pub model: Option<CompactString>,
    /// Tokens that it has used before, where it goes on; what was known where absent. The run's stay as they are.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
}

/// See [`super::Kind::AgentEnd`].
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct AgentEnd {
    /// The status with which the sub-agent ended.
    pub status: RunStatus,
    /// The name of the model; absent to keep the one that was known.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<String>"))]
    pub model: Option<CompactString>,
    /// Tokens that it has used itself, without the agents that it called; replaces what was added up for it. The run's
    /// stay as they are.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
}

impl AgentEnd {
    /// An end with `status` and no further fields.
    pub fn of(status: RunStatus) -> Self {
        Self { status, ..Self::default() }
    }
}

/// The status of a run or of a sub-agent.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum RunStatus {
    /// The run or agent has not ended.
    #[default]
    Running,
    /// The run or agent completed.
    Complete,
    /// The run or agent failed.
    Error,
    /// Somebody stopped the run or agent.
    Cancelled,
    /// The run or agent broke off: the stream ended without its end, or the publisher was lost.
    Interrupted,
}

/// Counts of tokens. Absent means that nobody said.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Usage {
    /// Input tokens, read by the model.
    pub input_tokens: u64,
    /// Output tokens, written by the model.
    pub output_tokens: u64,
    /// Output tokens that were spent on reasoning.
    pub reasoning_tokens: u64,
    /// Input tokens that were read from a cache.
    pub cached_tokens: u64,
    /// The cost of the tokens, as far as anybody knows.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<super::CostShape>"))]
    pub cost: Option<Cost>,
}

impl Usage {
    /// The sum of input and output tokens.
    pub fn tokens(&self) -> u64 {
        self.input_tokens.saturating_add(self.output_tokens)
    }

    /// The total, as somebody counted it who need not know what it costs: then what was known of that stays.
    #[must_use]
    pub fn total_after(self, known: Option<Self>) -> Self {
        Self { cost: self.cost.or_else(|| known.and_then(|known| known.cost)), ..self }
    }

    /// The sum of the tokens of two model calls.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        Self {
            input_tokens: self.input_tokens.saturating_add(other.input_tokens),
            output_tokens: self.output_tokens.saturating_add(other.output_tokens),
            reasoning_tokens: self.reasoning_tokens.saturating_add(other.reasoning_tokens),
            cached_tokens: self.cached_tokens.saturating_add(other.cached_tokens),
            cost: self.cost.map_or(other.cost, |cost| Some(other.cost.map_or(cost, |more| cost.plus(more)))),
        }
    }
}
