//! The commands that a person can give in a conversation, each with an id, and the answer to one. They are the same over HTTP and over a socket. A
//! command that comes again with its id is not carried out again, and gets the same answer.

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
    /// The id of the command, chosen by its sender; the answer names it.
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
    /// Sends a message to an agent, which answers it. An agent that is at work here gets the message with its next request.
    Say {
        /// The name of the agent that is to answer.
        #[cfg_attr(feature = "schema", schemars(with = "String"))]
        agent: CompactString,
        /// The text of the message.
        text: String,
        /// Files that come with the message, with their contents.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        files: Vec<MessageFile>,
    },
    /// Stops a run at once.
    Stop {
        /// The id of the run; absent for the newest run.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        run: Option<RunId>,
    },
    /// Lets a call that waits for approval be executed.
    Approve {
        /// The id of the run; absent for the newest run.
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
    /// Refuses to let a call that waits for approval be executed.
    Reject {
        /// The id of the run; absent for the newest run.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        run: Option<RunId>,
        /// The id of the tool call.
        tool: ToolCallId,
        /// The reason, which the model is told.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        text: Option<String>,
    },
    /// Continues a run that ended before it was complete. A run that waits before it asks its model again waits no longer.
    Retry {
        /// The id of the run; absent for the newest run.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        run: Option<RunId>,
    },
    /// Changes the labels of the conversation: its title, pin, archive, tags, note. What is absent stays as it is.
    Label {
        /// The title; empty to go back to the one that its runs say.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        title: Option<String>,
        /// Whether the conversation is pinned: it stands before the others in the list.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pinned: Option<bool>,
        /// Whether the conversation is archived: the list leaves it out unless it is asked for.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        archived: Option<bool>,
        /// All tags of the conversation; an empty list removes them.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[cfg_attr(feature = "schema", schemars(with = "Option<Vec<String>>"))]
        tags: Option<Vec<CompactString>>,
        /// A note about the conversation; empty for none.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        note: Option<String>,
    },
    /// Rates a run or a message as good or bad. The last rating of each counts.
    Rate {
        /// The id of the run that is rated, in the place of a message.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        run: Option<RunId>,
        /// The id of the message that is rated, in the place of a run.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        message: Option<MessageId>,
        /// Whether it is good; absent to take the rating back.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        good: Option<bool>,
        /// The reason, in a few words.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        why: Option<String>,
    },
    /// Makes a new conversation with what was said in this one, up to a place. With an agent and a text, the agent answers the text there: so a
    /// message can be edited and run again, and the old conversation stays as it is.
    Fork {
        /// The last event that the new conversation has; absent for all events.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        at: Option<Seq>,
        /// The message before which the new conversation ends; another way to say the place.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        before: Option<MessageId>,
        /// The name of the new conversation; absent to let the hub choose one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        into: Option<ConversationId>,
        /// The name of the agent that is to answer.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[cfg_attr(feature = "schema", schemars(with = "Option<String>"))]
        agent: Option<CompactString>,
        /// The text that the agent is to answer.
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
    /// The conversation in which the outcome shows; for a fork, the new one.
    pub conversation: ConversationId,
    /// The id of the run that the command began or was about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<RunId>,
    /// The position of the conversation before the command: its effects come after.
    pub after: Position,
}
