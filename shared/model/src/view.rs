//! The folded state of a conversation: what a person sees. Made only by [`crate::fold`]; serialised as the snapshot.
//!
//! Order is order of arrival: runs and messages stand in [`View::items`], parts, calls, agents and notes of a run in
//! [`RunView::items`]. Everything is reached by id in O(1). Times are the hub's, in milliseconds since 1970.

use compact_str::CompactString;
use indexmap::{IndexMap, IndexSet};
use serde::{Deserialize, Serialize};

use crate::anomaly::Anomalies;
use crate::event::{ErrorFact, MessageFile, Origin, PartKind, ResultRef, RunStatus, ToolState, Usage};
use crate::ids::{AgentId, MessageId, PartId, RunId, ToolCallId};
use crate::instructions::told_apart;
use crate::json::Json;
use crate::position::Seq;
use crate::preview;
use crate::text::SharedText;

mod label;
mod streamed;

pub use label::ConversationLabels;
pub use streamed::{DeltaOddities, Streamed};

/// A conversation as it stands after the event [`View::seq`].
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct View {
    /// The seq of the last event that is in the view.
    pub seq: Seq,
    /// What the conversation is about, as the newest run said it.
    pub title: Option<String>,
    /// Where the conversation was taken from, when it is a fork: all up to [`Origin::seq`] was said there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub forked_from: Option<Origin>,
    /// What people made of it: a title, a pin, tags.
    #[serde(default, skip_serializing_if = "ConversationLabels::is_clear")]
    pub label: ConversationLabels,
    /// What lies before this view, where it has only the newest part of the conversation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub earlier: Option<Earlier>,
    /// Messages and runs, in order.
    pub items: Vec<TopItem>,
    /// The messages, by id, in order.
    pub messages: IndexMap<MessageId, MessageView>,
    /// The runs, by id, in order.
    pub runs: IndexMap<RunId, RunView>,
    /// The anomalies: what the streams did that they should not have done.
    pub anomalies: Anomalies,
    /// Whether more runs or messages came than a view holds.
    pub full: bool,
}

/// What lies before a view that has only the newest part of its conversation.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Earlier {
    /// The name of the part that the view has: a viewer that comes back with a position says it.
    #[cfg_attr(feature = "schema", schemars(with = "String"))]
    pub window: CompactString,
    /// The number of messages that are left out.
    pub messages: u64,
    /// The number of runs of which nothing is there.
    pub runs: u64,
    /// The number of items that are left out of the runs of which something is there.
    pub items: u64,
    /// About how many bytes all of that has. Roles from whom something is hidden are not told.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes: Option<u64>,
}

/// Longest title that is made of a question, in characters.
const HEADLINE_CHARS_MAX: usize = 72;

impl View {
    /// Whether any of its runs goes on.
    pub fn is_running(&self) -> bool {
        self.runs.values().any(RunView::is_running)
    }

    /// What the conversation is called: the title that somebody gave it, else that of its runs, else the first words that the user said,
    /// without what a client put around them; nothing where nobody has said any.
    pub fn headline(&self) -> Option<String> {
        let titles = [&self.label.title, &self.title].into_iter().flatten();
        if let Some(title) = titles.into_iter().find(|title| !title.trim().is_empty()) {
            return Some(title.clone());
        }
        let said = self.messages.values().take(16).filter(|message| message.role == "user");
        let mut lines = said.map(|message| preview::one_line(told_apart(&message.text).words));
        let line = lines.find(|line| !line.is_empty())?;
        if line.chars().count() <= HEADLINE_CHARS_MAX {
            return Some(line);
        }
        let start: String = line.chars().take(HEADLINE_CHARS_MAX).collect();
        // No word is torn, unless it is the only one.
        let words = start.rsplit_once(' ').map_or(start.as_str(), |(words, _)| words);
        Some(format!("{}…", words.trim_end()))
    }
}

/// An item at the top level of a conversation.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum TopItem {
    /// A message of the history.
    Message(MessageId),
    /// A run of an agent.
    Run(RunId),
}

/// A message of the history.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct MessageView {
    /// The role of the speaker, such as `user`.
    #[cfg_attr(feature = "schema", schemars(with = "String"))]
    pub role: CompactString,
    /// The text of the message.
    #[cfg_attr(feature = "schema", schemars(with = "String"))]
    pub text: SharedText,
    /// The files that came with the message.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<MessageFile>,
    /// When the hub took the message, in milliseconds since 1970.
    pub at: u64,
    /// The place where the message was said, if that was inside a run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub within: Option<Within>,
}

/// A place inside a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Within {
    /// The id of the run.
    pub run: RunId,
    /// The number of the run's items before the message.
    pub items: usize,
}

/// One execution of an agent.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RunView {
    /// The status of the run.
    pub status: RunStatus,
    /// An agent of the hub does it, or did: the hub itself has begun it, and nobody else can write into it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub own: bool,
    /// The name of the model.
    #[cfg_attr(feature = "schema", schemars(with = "Option<String>"))]
    pub model: Option<CompactString>,
    /// The name of the dialect in which the run came.
    #[cfg_attr(feature = "schema", schemars(with = "Option<String>"))]
    pub dialect: Option<CompactString>,
    /// The title of the run.
    pub title: Option<String>,
    /// The name of the main agent.
    #[cfg_attr(feature = "schema", schemars(with = "Option<String>"))]
    pub name: Option<CompactString>,
    /// The name of the machine that the agent runs on, where its publisher said so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<String>"))]
    pub host: Option<CompactString>,
    /// When the run began, in milliseconds since 1970.
    pub started_at: u64,
    /// When the run ended, in milliseconds since 1970.
    pub ended_at: Option<u64>,
    /// The reason why the model stopped, in the provider's word.
    #[cfg_attr(feature = "schema", schemars(with = "Option<String>"))]
    pub finish_reason: Option<CompactString>,
    /// The tokens of the run, if anybody said.
    pub usage: Option<Usage>,
    /// The last failure of the run.
    pub error: Option<ErrorFact>,
    /// The newest line about what goes on.
    pub activity: Option<String>,
    /// When `activity` was said, in milliseconds since 1970.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub activity_at: Option<u64>,
    /// Parts, calls, agents and notes, in order.
    pub items: Vec<Item>,
    /// The streamed texts of the run, by id.
    pub parts: IndexMap<PartId, PartView>,
    /// The tool calls of the run, by id.
    pub tools: IndexMap<ToolCallId, ToolView>,
    /// The sub-agents of the run, by id.
    pub agents: IndexMap<AgentId, AgentView>,
    /// The notes of the run: errors and the agent's own events.
    pub notes: Vec<Note>,
    /// Bytes of raw events that are in the log, kept or not. The first [`crate::limits::RAW_BYTES_PER_RUN_MAX`] are kept.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub raw_bytes: u64,
    /// Parts, calls and agents that have not ended.
    pub open: IndexSet<Item>,
    /// Since when the hub has not heard of it, once it said so; nothing as soon as more comes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stalled_at: Option<u64>,
    /// What the loss of its publisher closed, as long as nobody has come back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub loss: Option<Box<Loss>>,
    /// Whether events came after the end.
    pub late: bool,
    /// Whether more items came than a run holds.
    pub full: bool,
}

/// The state of a run before the hub ended it because its publisher was lost. It has at most what was open then.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Loss {
    /// The last failure before the loss.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<ErrorFact>,
    /// The newest line about what went on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub activity: Option<String>,
    /// When `activity` was said, in milliseconds since 1970.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub activity_at: Option<u64>,
    /// The parts, calls and sub-agents that were open, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub open: Vec<Closed>,
}

/// A part, call or sub-agent that was open when its run was lost.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Closed {
    /// The part, call or sub-agent that was open.
    pub item: Item,
    /// For a call, its state at that moment.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state: Option<ToolState>,
}

/// An item of a run.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Item {
    /// A streamed text, by its id.
    Part(PartId),
    /// A tool call, by its id.
    Tool(ToolCallId),
    /// A sub-agent begins here.
    Agent(AgentId),
    /// A note, by its number in [`RunView::notes`].
    Note(usize),
}

/// A streamed text, thinking or file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PartView {
    /// The kind of the part.
    pub kind: PartKind,
    /// The id of the sub-agent that wrote it; `None` for the main agent.
    pub agent: Option<AgentId>,
    /// The text of the part.
    #[serde(flatten)]
    pub body: Streamed,
    /// When the part began, in milliseconds since 1970.
    pub started_at: u64,
    /// When the part ended, in milliseconds since 1970; nothing while it streams.
    pub ended_at: Option<u64>,
    /// The duration by the publisher's own clock, in milliseconds.
    pub duration_ms: Option<u64>,
    /// Whether the provider keeps the text to itself.
    pub hidden: bool,
    /// The provider's mark on its thinking, without which it does not take the text back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signature: Option<String>,
}

/// A call of a tool.
#[expect(clippy::struct_excessive_bools, reason = "each is a fact of its own that travels as one field")]
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ToolView {
    /// The name of the tool.
    #[cfg_attr(feature = "schema", schemars(with = "String"))]
    pub name: CompactString,
    /// The id of the sub-agent that called it; `None` for the main agent.
    pub agent: Option<AgentId>,
    /// The state of the call.
    pub state: ToolState,
    /// Whether the provider executes the call itself.
    pub server: bool,
    /// The id that the source gives it, where another call of the run had that id before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<String>"))]
    pub given_id: Option<CompactString>,
    /// The arguments as the model wrote them; JSON in most dialects.
    pub arguments: Streamed,
    /// The output that the tool has printed so far.
    pub output: Streamed,
    /// The result of the call.
    pub result: Option<Json>,
    /// Bytes of the result that were over the limit; the result is then its beginning, as a string.
    pub result_cut: u64,
    /// Where the whole result is, when this is only its beginning, as a string.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result_ref: Option<ResultRef>,
    /// Whether the call failed.
    pub is_error: bool,
    /// Files that came with the result.
    pub files: Option<Json>,
    /// Things to embed that came with the result.
    pub embeds: Option<Json>,
    /// The question that a person is asked, while the call waits for approval.
    pub question: Option<String>,
    /// Whether a person was asked and has agreed to it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub approved: bool,
    /// Whether a person was asked and has declined it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub rejected: bool,
    /// When the model began to write the call, in milliseconds since 1970.
    pub started_at: u64,
    /// When the call was written, in milliseconds since 1970.
    pub pending_at: Option<u64>,
    /// When it last began to wait for a person. Views of older versions do not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub asked_at: Option<u64>,
    /// When the call began to execute, in milliseconds since 1970.
    pub executing_at: Option<u64>,
    /// When the call was over, in milliseconds since 1970.
    pub ended_at: Option<u64>,
    /// The time that the call waited, in milliseconds, by the publisher.
    pub queued_ms: Option<u64>,
    /// The time for which the call was executed, in milliseconds, by the publisher.
    pub exec_ms: Option<u64>,
}

impl ToolView {
    /// About how many bytes of the result are not here.
    pub fn left_out(&self) -> u64 {
        let kept = self.result.as_ref().map_or(0, |result| result.to_text().len() as u64);
        // What a reference counts is the result as it came, also what is not kept of it anywhere.
        self.result_ref.as_ref().map_or(self.result_cut, |whole| whole.bytes.saturating_sub(kept))
    }

    /// How long it took, in milliseconds: the publisher's figure, else the hub's clock from execution (or, if nobody
    /// said when that began, from the end of writing) to the end. Nothing while it is open or when it was interrupted:
    /// nobody knows its end.
    pub fn latency_ms(&self) -> Option<u64> {
        if self.state == ToolState::Interrupted || !self.state.is_final() {
            return None;
        }
        self.exec_ms.or_else(|| {
            let from = self.executing_at.or(self.pending_at)?;
            self.ended_at.map(|to| to.saturating_sub(from))
        })
    }
}

/// A sub-agent of a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct AgentView {
    /// The name of the sub-agent.
    #[cfg_attr(feature = "schema", schemars(with = "Option<String>"))]
    pub name: Option<CompactString>,
    /// The id of the sub-agent that called it; `None` for the main agent.
    pub parent: Option<AgentId>,
    /// The depth of the sub-agent; 1 for a child of the main agent.
    pub depth: u32,
    /// The id of the tool call that started it.
    pub tool: Option<ToolCallId>,
    /// The task of the sub-agent.
    pub task: Option<String>,
    /// The status of the sub-agent.
    pub status: RunStatus,
    /// When the sub-agent began, in milliseconds since 1970.
    pub started_at: u64,
    /// When the sub-agent ended, in milliseconds since 1970.
    pub ended_at: Option<u64>,
    /// The model that answers, when anybody said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<String>"))]
    pub model: Option<CompactString>,
    /// Tokens that it used itself, without the agents that it called, when anybody said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
}

/// A note: something that happened once in a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Note {
    /// When it happened, in milliseconds since 1970.
    pub at: u64,
    /// The id of the sub-agent it happened in; `None` for the main agent.
    pub agent: Option<AgentId>,
    /// What happened.
    pub body: NoteBody,
}

/// See [`Note`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum NoteBody {
    /// Something failed.
    Error(ErrorFact),
    /// An event of the agent's own.
    Custom {
        /// The name of the event, chosen by the publisher.
        #[cfg_attr(feature = "schema", schemars(with = "String"))]
        name: CompactString,
        /// The content of the event, as JSON.
        value: Json,
    },
    /// A foreign event, or one of a later version.
    Raw {
        /// The name of the foreign event's dialect, or the kind of the later version's event.
        #[cfg_attr(feature = "schema", schemars(with = "String"))]
        name: CompactString,
        /// The content of the event, as JSON.
        value: Json,
    },
}

fn is_zero<T: Default + PartialEq>(number: &T) -> bool {
    *number == T::default()
}

impl RunView {
    /// Whether the run goes on.
    pub fn is_running(&self) -> bool {
        self.status == RunStatus::Running
    }

    /// The visible answer of the main agent: all its text parts, in order.
    pub fn answer(&self) -> String {
        self.answer_texts().collect()
    }

    /// The texts that [`answer`](Self::answer) joins.
    pub(crate) fn answer_texts(&self) -> impl Iterator<Item = &str> + Clone {
        self.texts(|kind| matches!(kind, PartKind::Text | PartKind::Refusal))
    }

    /// The reasoning of the main agent, all of it, in order.
    pub fn thinking(&self) -> String {
        self.thinking_texts().collect()
    }

    /// The texts that [`thinking`](Self::thinking) joins.
    pub(crate) fn thinking_texts(&self) -> impl Iterator<Item = &str> + Clone {
        self.texts(|kind| kind == PartKind::Thinking)
    }

    fn texts(&self, wanted: fn(PartKind) -> bool) -> impl Iterator<Item = &str> + Clone {
        let parts = self.parts.values().filter(move |part| part.agent.is_none() && wanted(part.kind));
        parts.map(|part| part.body.text.as_str())
    }
}
