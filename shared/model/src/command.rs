//! What a person can have done in a conversation: a command with an id, and the answer to it. The same over HTTP and over a
//! socket. A command that comes again with its id is not done again, and has the same answer.

use compact_str::CompactString;
use serde::{Deserialize, Serialize};

use crate::event::MessageFile;
use crate::ids::{ConversationId, MessageId, RunId, ToolCallId};
use crate::position::{Position, Seq};

/// The name of the event `custom` in which the hub says who commanded something in a run.
pub const COMMANDED: &str = "fanlight.command";

/// A command of a person. One that comes again with its id is not carried out again and gets the same answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Command {
    /// Chosen by whoever commands; names the answer.
    #[cfg_attr(feature = "schema", schemars(with = "String"))]
    pub id: CompactString,
    /// The action that the command asks for.
    #[serde(flatten)]
    pub action: CommandAction,
}

/// The actions that a command can ask for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "command", rename_all = "snake_case")]
pub enum CommandAction {
    /// A message to an agent, which answers it. One that is at work here is told with its next request.
    Say {
        /// The name of the agent that is to answer.
        #[cfg_attr(feature = "schema", schemars(with = "String"))]
        agent: CompactString,
        /// The text of the message.
        text: String,
        /// Files that come with it, with their contents.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        files: Vec<MessageFile>,
    },
    /// A run is to stop at once.
    Stop {
        /// The run; the newest where it is not said.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        run: Option<RunId>,
    },
    /// A call that waits for approval may be executed.
    Approve {
        /// The run; the newest where it is not said.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        run: Option<RunId>,
        /// The id of the tool call.
        tool: ToolCallId,
        /// Arguments that replace those of the model; absent to keep those.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        arguments: Option<serde_json::Value>,
        /// The arguments that the person saw: the first 16 bytes of SHA-256 over their text in the view, as 32 hex digits.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[cfg_attr(feature = "schema", schemars(with = "Option<String>"))]
        saw: Option<CompactString>,
    },
    /// A call that waits for approval may not be executed.
    Reject {
        /// The run; the newest where it is not said.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        run: Option<RunId>,
        /// The id of the tool call.
        tool: ToolCallId,
        /// Why; the model is told.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        text: Option<String>,
    },
    /// A run that ended before it was complete is to go on. One that waits before it asks its model again waits no longer.
    Retry {
        /// The run; the newest where it is not said.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        run: Option<RunId>,
    },
    /// What people make of the conversation changes: its title, pin, archive, tags, note. What is absent stays as it is.
    Label {
        /// The title; empty to go back to the one that its runs say.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        title: Option<String>,
        /// Whether it stands before the others in the list.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pinned: Option<bool>,
        /// Whether the list leaves it out unless it is asked for.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        archived: Option<bool>,
        /// All tags of the conversation; an empty list removes them.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[cfg_attr(feature = "schema", schemars(with = "Option<Vec<String>>"))]
        tags: Option<Vec<CompactString>>,
        /// A note about it; empty for none.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        note: Option<String>,
    },
    /// Somebody thinks that a run or a message is good or bad. Of each the last rating counts.
    Rate {
        /// The id of the run that is rated, in the place of a message.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        run: Option<RunId>,
        /// The message, in the place of a run.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        message: Option<MessageId>,
        /// Whether it is good; absent takes the rating back.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        good: Option<bool>,
        /// The reason, in a few words.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        why: Option<String>,
    },
    /// A new conversation with what was said in this one, up to a place. With an agent and a text the agent answers it there:
    /// so a message is edited and run again, and what was is as it was.
    Fork {
        /// The last event that the new one has; all where it is not said.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        at: Option<Seq>,
        /// The message that the new one ends before, where that is how the place is said.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        before: Option<MessageId>,
        /// The name of the new one; made up where it is not said.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        into: Option<ConversationId>,
        /// The agent that is to answer.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[cfg_attr(feature = "schema", schemars(with = "Option<String>"))]
        agent: Option<CompactString>,
        /// What it is told.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        text: Option<String>,
    },
}

/// The hub's answer to a command that was carried out.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Done {
    /// The id of the command that this answers.
    #[cfg_attr(feature = "schema", schemars(with = "String"))]
    pub id: CompactString,
    /// The conversation in which it shows: of a fork the new one.
    pub conversation: ConversationId,
    /// The run that it began or was about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<RunId>,
    /// Where the conversation stood before: what came of it comes after.
    pub after: Position,
}
