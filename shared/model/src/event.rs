//! What can happen in a conversation: the closed list of events, and what the hub may do with each.
//!
//! On the wire an event is one flat JSON object with its kind in `k`, e.g.
//! `{"k":"part.delta","run":"r7","part":"p31","off":512,"text":"…"}`. Kinds that this version does not know are kept
//! as they came ([`Kind::Unknown`]) and count as critical.

use compact_str::CompactString;
use serde::{Deserialize, Serialize};

use crate::anomaly::Anomaly;
use crate::ids::{AgentId, MessageId, PartId, RunId, ToolCallId};
use crate::json::Json;

mod bound;
mod cost;
mod file;
mod fork;
mod label;
mod rating;
mod run;
mod tool;
mod wire;
mod word;

pub use bound::bound;
#[cfg(feature = "schema")]
pub(crate) use cost::CostShape;
pub use cost::{Cost, CostError, Currency};
pub use file::{FileError, FileKind, MessageFile, check_files};
pub use fork::Origin;
pub use label::{LabelChange, LabelError, is_tag};
pub use rating::Rating;
pub use run::{AgentEnd, AgentStart, PUBLISHER_LOST, RunEnd, RunStart, RunStatus, RunUpdate, Usage};
pub use tool::{ResultRef, ToolProgress, ToolResult, ToolStart, ToolState, ToolStateChange};
pub use wire::{EventError, KNOWN as KINDS, parse_event};
pub(crate) use wire::{WireEvent, parse_received, parse_wire};

/// An event, and where in the conversation it belongs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Event {
    /// The kind of the event, with its fields.
    #[serde(flatten)]
    pub kind: Kind,
    /// The run that it belongs to; [`RunId::none`] for events about the conversation.
    #[serde(skip_serializing_if = "RunId::is_none")]
    pub run: RunId,
    /// The sub-agent that did it; nothing for the main agent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent: Option<AgentId>,
}

impl Event {
    /// An event of the main agent of `run`.
    pub fn new(run: &RunId, kind: Kind) -> Self {
        Self { kind, run: run.clone(), agent: None }
    }

    /// Sets the sub-agent that did it; `None` for the main agent.
    #[must_use]
    pub fn by(mut self, agent: Option<AgentId>) -> Self {
        self.agent = agent;
        self
    }
}

/// What the hub may do with an event on its way to a viewer. Follows from the kind, never from the sender.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Class {
    /// Never dropped, never reordered within its part or call.
    Critical,
    /// Deltas: neighbours of one part may be joined.
    Mergeable,
    /// Only the newest for each key counts; not logged, no seq.
    Ephemeral,
}

/// The kinds of events. Field names are the names on the wire.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "k")]
pub enum Kind {
    /// The conversation is a fork: everything before this was said in another one.
    #[serde(rename = "fork")]
    Fork {
        /// The conversation that it was taken from, and the place in it.
        from: Origin,
    },
    /// Somebody changed what people made of the conversation: its title, pin, archive, tags or note. Only the hub writes it.
    #[serde(rename = "label")]
    Label(Box<LabelChange>),
    /// A run begins, or a run that had ended goes on.
    #[serde(rename = "run.start")]
    RunStart(RunStart),
    /// More is known about a run that goes on.
    #[serde(rename = "run.update")]
    RunUpdate(RunUpdate),
    /// Nobody has spoken for a run for a while, and nobody is there who did. The hub says so; whatever else comes of the
    /// run takes it back.
    #[serde(rename = "run.stalled")]
    RunStalled {
        /// When the run was last heard of, in milliseconds since 1970 by the hub's clock.
        since: u64,
    },
    /// A run is over. Its open parts and executing calls are closed with it.
    #[serde(rename = "run.end")]
    RunEnd(RunEnd),
    /// A sub-agent begins; [`Event::agent`] is its id.
    #[serde(rename = "agent.start")]
    AgentStart(AgentStart),
    /// A sub-agent is done; [`Event::agent`] is its id.
    #[serde(rename = "agent.end")]
    AgentEnd(AgentEnd),
    /// A whole message of the history.
    #[serde(rename = "message")]
    Message(Message),
    /// A streamed text begins.
    #[serde(rename = "part.start")]
    PartStart {
        /// The id of the part, unique in its run.
        part: PartId,
        /// The kind of the part: text, thinking or file.
        kind: PartKind,
    },
    /// More text of a part.
    #[serde(rename = "part.delta")]
    PartDelta {
        /// The id of the part.
        part: PartId,
        /// Where the text starts in the part, in bytes of UTF-8; the hub fills it in when the publisher does not.
        #[serde(skip_serializing_if = "Option::is_none")]
        off: Option<u64>,
        /// The text to append.
        #[cfg_attr(feature = "schema", schemars(with = "String"))]
        text: CompactString,
    },
    /// The text of a part is replaced as a whole (dialects that repeat or correct themselves).
    #[serde(rename = "part.replace")]
    PartReplace {
        /// The id of the part.
        part: PartId,
        /// The whole new text.
        text: String,
    },
    /// A part is whole.
    #[serde(rename = "part.end")]
    PartEnd(PartEnd),
    /// The model begins to write a call.
    #[serde(rename = "tool.start")]
    ToolStart(ToolStart),
    /// More text of a call's arguments.
    #[serde(rename = "tool.args")]
    ToolArgs {
        /// The id of the tool call.
        tool: ToolCallId,
        /// Where the text starts in the arguments, in bytes.
        #[serde(skip_serializing_if = "Option::is_none")]
        off: Option<u64>,
        /// The text to append to the arguments.
        #[cfg_attr(feature = "schema", schemars(with = "String"))]
        text: CompactString,
    },
    /// A call is written: its name and arguments are final, it waits to be executed.
    #[serde(rename = "tool.call")]
    ToolCall {
        /// The id of the tool call.
        tool: ToolCallId,
        /// The name of the tool, where it differs from the one at the start or the start was not seen.
        #[serde(skip_serializing_if = "Option::is_none")]
        #[cfg_attr(feature = "schema", schemars(with = "Option<String>"))]
        name: Option<CompactString>,
        /// The whole arguments as text (JSON in most dialects); nothing when the streamed ones are final.
        #[serde(skip_serializing_if = "Option::is_none")]
        arguments: Option<String>,
    },
    /// A call changes its state.
    #[serde(rename = "tool.state")]
    ToolState(ToolStateChange),
    /// More of what a call that still executes has printed.
    #[serde(rename = "tool.output")]
    ToolOutput {
        /// The id of the tool call.
        tool: ToolCallId,
        /// Where the text starts in the output, in bytes.
        #[serde(skip_serializing_if = "Option::is_none")]
        off: Option<u64>,
        /// The text to append to the output.
        #[cfg_attr(feature = "schema", schemars(with = "String"))]
        text: CompactString,
    },
    /// What a call gave back; closes it.
    #[serde(rename = "tool.result")]
    ToolResult(ToolResult),
    /// The progress of a tool call. Ephemeral.
    #[serde(rename = "tool.progress")]
    ToolProgress(ToolProgress),
    /// A line about what goes on ("retrying model in 8 s").
    #[serde(rename = "status")]
    Status {
        /// The text of the line.
        text: String,
    },
    /// Something failed. It does not end the run by itself.
    #[serde(rename = "error")]
    Error(ErrorFact),
    /// A call waits for a person's approval.
    #[serde(rename = "approval.request")]
    ApprovalRequest {
        /// The id of the tool call.
        tool: ToolCallId,
        /// The question that the person is asked.
        #[serde(skip_serializing_if = "Option::is_none")]
        text: Option<String>,
    },
    /// A person's answer to an approval request.
    #[serde(rename = "approval.answer")]
    ApprovalAnswer {
        /// The id of the tool call.
        tool: ToolCallId,
        /// Whether the call may be executed.
        approved: bool,
        /// The reason, in the person's words.
        #[serde(skip_serializing_if = "Option::is_none")]
        text: Option<String>,
    },
    /// An event of the agent's own, passed through.
    #[serde(rename = "custom")]
    Custom {
        /// The name of the event, chosen by the publisher.
        #[cfg_attr(feature = "schema", schemars(with = "String"))]
        name: CompactString,
        /// The content of the event, as JSON.
        value: Json,
    },
    /// A foreign event that the decoder has no other name for, as it came.
    #[serde(rename = "raw")]
    Raw {
        /// The name of the dialect.
        #[cfg_attr(feature = "schema", schemars(with = "String"))]
        name: CompactString,
        /// The foreign event, as JSON.
        value: Json,
    },
    /// The stream did something that it should not have done. Decoding went on.
    #[serde(rename = "anomaly")]
    Anomaly(Anomaly),
    /// The rate at which tokens arrive. Ephemeral.
    #[serde(rename = "rate")]
    Rate {
        /// Tokens in the last second.
        tokens: u64,
    },
    /// An event of a kind that only a later version knows.
    #[serde(untagged)]
    #[cfg_attr(feature = "schema", schemars(skip))]
    Unknown(Unknown),
}

/// See [`Kind::Message`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Message {
    /// The id of the message; a message that comes again replaces itself.
    pub message: MessageId,
    /// `user`, `system`, `assistant`, `developer`, `tool` or what the dialect says.
    #[cfg_attr(feature = "schema", schemars(with = "String"))]
    pub role: CompactString,
    /// The text of the message.
    pub text: String,
    /// The files that come with the message.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<MessageFile>,
}

impl Message {
    /// A message without files.
    pub fn new(message: MessageId, role: CompactString, text: String) -> Self {
        Self { message, role, text, files: Vec::new() }
    }
}

/// What a part is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum PartKind {
    /// The answer, or a piece of it.
    Text,
    /// Reasoning of the model.
    Thinking,
    /// The model declined; shown as text, marked as such.
    Refusal,
    /// A file or an image: the text is its URL or `data:` URL.
    File,
}

/// See [`Kind::PartEnd`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PartEnd {
    /// The id of the part.
    pub part: PartId,
    /// Length of the whole text in bytes; the hub fills it in.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub len: Option<u64>,
    /// FNV-1a 64 of the whole text, 16 hex digits; the hub fills it in.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<String>"))]
    pub hash: Option<CompactString>,
    /// The duration by the publisher's own clock, in milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub duration_ms: Option<u64>,
    /// The provider keeps the text to itself (encrypted thinking).
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub hidden: bool,
    /// The provider's mark on its thinking, without which it does not take the text back.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub signature: Option<String>,
}

/// See [`Kind::Error`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ErrorFact {
    /// The name of the failure, as the source has it.
    #[cfg_attr(feature = "schema", schemars(with = "String"))]
    pub code: CompactString,
    /// What went wrong, for a person.
    pub message: String,
    /// Whether trying again may help; false is a failure that is permanent. Absent where nobody said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retryable: Option<bool>,
    /// How long to wait before another attempt, in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_after_ms: Option<u64>,
}

impl ErrorFact {
    /// Whether it was said that trying again may help.
    pub fn may_pass(&self) -> bool {
        self.retryable == Some(true)
    }

    /// Whether it was said that trying again does not help.
    pub fn is_permanent(&self) -> bool {
        self.retryable == Some(false)
    }
}

/// An event of a kind that this version does not know: passed on untouched.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Unknown {
    /// The name of the kind (`k` on the wire).
    pub k: CompactString,
    /// All its other fields, but for those of the envelope.
    #[serde(flatten)]
    pub fields: serde_json::Map<String, serde_json::Value>,
}

impl Kind {
    /// What the hub may do with it.
    pub fn class(&self) -> Class {
        match self {
            Self::PartDelta { .. } | Self::ToolArgs { .. } | Self::ToolOutput { .. } => Class::Mergeable,
            Self::ToolProgress(_) | Self::Rate { .. } => Class::Ephemeral,
            _ => Class::Critical,
        }
    }

    /// Whether it is activity of the conversation, which decides where that stands in lists and how old it is: everything but what
    /// people only make of it, and the hub's word that nothing comes of a run.
    pub fn is_activity(&self) -> bool {
        !matches!(self, Self::Label(_) | Self::RunStalled { .. })
    }

    /// Whether only the hub may say it: whoever else does is not believed.
    pub fn is_of_hub(&self) -> bool {
        matches!(self, Self::Fork { .. } | Self::Label(_) | Self::RunStalled { .. })
    }

    /// Whether it is an event about the conversation, which makes no run and says nothing about one.
    pub fn is_of_conversation(&self) -> bool {
        matches!(self, Self::Fork { .. } | Self::Label(_) | Self::Message(_) | Self::Anomaly(_))
    }
}

#[cfg(test)]
mod tests;
