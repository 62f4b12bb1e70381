//! The commands given on this page and their results, drafts of messages, and the agents that take commands.
//!
//! Commands without an answer are sent again on a new socket; the hub executes none of them twice.
//!
//! `turns` reads turns and names new conversations.

use std::collections::HashMap;

use model::code::ErrorCode;
use model::command::{Command, CommandAction, Done};
use model::event::FileKind;
use model::frame::{ClientFrame, ServerFrame};
use model::view::{RunView, View};
use model::{ConversationId, MessageId, RunId, ToolCallId};
use serde::Deserialize;

use crate::attaching;
use crate::search::with_help;

mod turns;

pub use turns::{name_for, turn, turn_after, turn_goes_on};

/// The most commands that are kept without an answer; the oldest is dropped.
const WAITING_MAX: usize = 64;

/// The most conversations whose drafts are kept; the oldest is dropped.
const DRAFTS_MAX: usize = 64;

/// An agent of the hub, from `GET /v1/agents`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Agent {
    /// The name of the agent.
    pub name: String,
    /// The dialect of its runs.
    pub dialect: String,
    /// The model of the agent, if the hub knows it.
    #[serde(default)]
    pub model: Option<String>,
    /// The kinds of files that it takes.
    #[serde(default)]
    pub files: Vec<FileKind>,
}

/// The agents in an answer of `GET /v1/agents`; empty if it cannot be read.
pub fn agents(answer: &str) -> Vec<Agent> {
    #[derive(Deserialize)]
    struct List {
        agents: Vec<Agent>,
    }
    serde_json::from_str(answer).map_or_else(|_| Vec::new(), |list: List| list.agents)
}

/// Whether a run belongs to one of these agents of the hub; only those take commands. The name alone is not
/// enough, since any publisher can use it.
pub fn is_ours(run: &RunView, agents: &[Agent]) -> bool {
    if !run.own {
        return false;
    }
    let is_of = |agent: &Agent| {
        run.name.as_deref() == Some(&agent.name) && run.dialect.as_deref() == Some(&agent.dialect)
    };
    agents.iter().any(is_of)
}

/// Whether the hub itself executes the run; only then it knows when a model is asked again.
pub fn is_own(run: &RunView) -> bool {
    run.own && run.dialect.as_deref() == Some("runner")
}

/// The newest active run of these agents, among the last 16 runs.
pub fn going<'a>(view: &'a View, agents: &[Agent]) -> Option<&'a RunId> {
    let mut newest = view.runs.iter().rev().take(16);
    newest.find(|(_, run)| is_ours(run, agents) && run.is_running()).map(|(id, _)| id)
}

/// The agent that is to answer in a conversation: the `chosen` one, otherwise the one that answered last; the
/// first agent if nothing has run yet. `None` if only agents elsewhere have answered: the reader must choose
/// who takes their place.
pub fn answers<'a>(agents: &'a [Agent], chosen: Option<&str>, view: &View) -> Option<&'a str> {
    let last =
        || view.runs.values().rev().find(|run| is_ours(run, agents)).and_then(|run| run.name.as_deref());
    let known = |name: &str| agents.iter().find(|agent| agent.name == name);
    let first = || agents.first().filter(|_| view.runs.is_empty());
    let found = chosen.and_then(known).or_else(|| last().and_then(known)).or_else(first);
    found.map(|agent| agent.name.as_str())
}

/// The place on the page where a command was given, and where its result is shown.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum At {
    /// The composer of a conversation.
    Composer(ConversationId),
    /// A run, to stop or to resume it.
    Run(RunId),
    /// A call that waits for consent.
    Call(RunId, ToolCallId),
    /// A message of the user.
    Message(MessageId),
    /// What people make of a conversation: title, pin, archive, tags, note.
    Label(ConversationId),
    /// What people think of a run or a message.
    Rating(Rated),
}

/// The thing that is rated.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Rated {
    /// A run of an agent.
    Run(RunId),
    /// A message: an answer that came as one, without a run.
    Message(MessageId),
}

/// A command that has no answer yet, or whose message is not in the conversation yet.
#[derive(Debug)]
struct Given {
    at: At,
    conversation: ConversationId,
    command: Command,
    /// How many messages the conversation had when the command was given.
    messages: usize,
    /// Whether the hub has done it.
    is_done: bool,
}

/// Commands without an answer, refusals, and drafts. It survives a lost connection, not a reload of the page.
#[derive(Debug, Default)]
pub struct Control {
    /// Commands, in the order in which they were given.
    given: Vec<Given>,
    /// Why the last command at a place was refused.
    refused: HashMap<At, String>,
    /// Drafts by conversation; `None` is a new one.
    drafts: Vec<(Option<ConversationId>, String)>,
}

/// The result of a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandOutcome {
    /// The place where the command was given.
    pub at: At,
    /// What was done; `None` if it was refused.
    pub done: Option<Done>,
}

impl Control {
    /// Records a command with the id `id` and returns the frame to send. `view` is the conversation as it is
    /// now.
    pub fn give(
        &mut self,
        at: At,
        conversation: ConversationId,
        id: &str,
        action: CommandAction,
        view: &View,
    ) -> ClientFrame {
        self.refused.remove(&at);
        self.tidy(view, &conversation);
        if self.given.len() >= WAITING_MAX {
            self.given.remove(0);
        }
        let command = Command { id: id.into(), action };
        let frame = ClientFrame::Command { conv: conversation.clone(), command: command.clone() };
        let messages = view.messages.len();
        self.given.push(Given { at, conversation, command, messages, is_done: false });
        frame
    }

    /// Takes an answer of the hub. `None` if it is not the answer to a command of this page.
    pub fn take(&mut self, frame: &ServerFrame) -> Option<CommandOutcome> {
        let id = match frame {
            ServerFrame::Done(done) => &done.id,
            ServerFrame::Refused { id, .. } => id,
            _ => return None,
        };
        let place = self.given.iter().position(|given| given.command.id == *id)?;
        if let ServerFrame::Refused { code, message, .. } = frame {
            let Given { at, conversation, command, .. } = self.given.remove(place);
            if let (At::Composer(_), CommandAction::Say { text, .. }) = (&at, command.action) {
                // The text of a refused message returns to the draft.
                let draft = self.draft(Some(&conversation));
                let both = if draft.is_empty() { text } else { format!("{text}\n\n{draft}") };
                self.keep_draft(Some(&conversation), &both);
            }
            self.refused.insert(at.clone(), words(*code, message));
            return Some(CommandOutcome { at, done: None });
        }
        let ServerFrame::Done(done) = frame else { return None };
        let given = self.given.get_mut(place)?;
        given.is_done = true;
        let at = given.at.clone();
        if !matches!(given.command.action, CommandAction::Say { .. }) {
            // A message stays until it is in the conversation.
            self.given.remove(place);
        }
        Some(CommandOutcome { at, done: Some(done.clone()) })
    }

    /// The frames to send again on a new socket. Messages with files are sent in another way.
    pub fn again(&self) -> Vec<ClientFrame> {
        let waiting = self.given.iter().filter(|given| !given.is_done && !has_files(&given.command.action));
        waiting
            .map(|given| ClientFrame::Command {
                conv: given.conversation.clone(),
                command: given.command.clone(),
            })
            .collect()
    }

    /// Whether a command given at this place has no answer yet.
    pub fn is_waiting(&self, at: &At) -> bool {
        self.given.iter().any(|given| given.at == *at && !given.is_done)
    }

    /// Why the last command given at this place was refused, if it was.
    pub fn trouble(&self, at: &At) -> Option<&str> {
        self.refused.get(at).map(String::as_str)
    }

    /// The messages sent to `conversation` that are not in it yet.
    pub fn unheard(&self, conversation: &ConversationId, view: &View) -> Vec<String> {
        let said = self.given.iter().filter(|given| given.conversation == *conversation);
        let said = said.filter(|given| !is_heard(given, view));
        said.filter_map(|given| match &given.command.action {
            CommandAction::Say { text, files, .. } => Some(attaching::said(text, files)),
            _ => None,
        })
        .collect()
    }

    /// The text that is written but not sent; `None` is a new conversation.
    pub fn draft(&self, conversation: Option<&ConversationId>) -> String {
        let found = self.drafts.iter().find(|(of, _)| of.as_ref() == conversation);
        found.map(|(_, text)| text.clone()).unwrap_or_default()
    }

    /// Stores a draft. An empty text removes it.
    pub fn keep_draft(&mut self, conversation: Option<&ConversationId>, text: &str) {
        self.drafts.retain(|(of, _)| of.as_ref() != conversation);
        if !text.is_empty() {
            if self.drafts.len() >= DRAFTS_MAX {
                self.drafts.remove(0);
            }
            self.drafts.push((conversation.cloned(), text.to_owned()));
        }
    }

    /// Forgets messages that are in the conversation now.
    fn tidy(&mut self, view: &View, conversation: &ConversationId) {
        self.given
            .retain(|given| !given.is_done || given.conversation != *conversation || !is_heard(given, view));
    }
}

/// Whether the command is a message with files.
fn has_files(action: &CommandAction) -> bool {
    matches!(action, CommandAction::Say { files, .. } if !files.is_empty())
}

/// Whether the message is among those that were added since the command.
fn is_heard(given: &Given, view: &View) -> bool {
    let CommandAction::Say { text, .. } = &given.command.action else { return true };
    view.messages.values().skip(given.messages).any(|message| message.text == text.as_str())
}

/// The refusal in words, with advice.
fn words(code: ErrorCode, message: &str) -> String {
    if code == ErrorCode::ConsentMismatch {
        return "The arguments changed; look again.".to_owned();
    }
    let advice = match code {
        ErrorCode::UnknownAgent | ErrorCode::AgentUnavailable => "Choose another agent.",
        ErrorCode::NotRunning => "It was already decided, or is over.",
        ErrorCode::NotResumable => "Say something to go on.",
        ErrorCode::TooMany => "Wait until another run is over, then try again.",
        ErrorCode::ShuttingDown => "Try again when the hub is back.",
        ErrorCode::LogFailed | ErrorCode::DiskFull | ErrorCode::DiskFailing => {
            "The hub cannot write: see the status bar."
        }
        ErrorCode::Gone => "The hub does not have its beginning any more.",
        _ => "",
    };
    let message = message.trim().trim_end_matches('.');
    let mut letters = message.chars();
    let first = letters.next().map(char::to_uppercase).into_iter().flatten();
    let message = first.chain(letters).collect::<String>();
    let why = if advice.is_empty() { format!("{message}.") } else { format!("{message}. {advice}") };
    with_help(why, code.as_str())
}

/// The prefix of the ids of calls that are questions of a remote agent.
const QUESTION: &str = "question-";

/// Whether a call of `run` is a question of a remote agent, whose answer may be any value.
pub fn is_question(run: &RunView, tool: &ToolCallId) -> bool {
    run.own && !is_own(run) && tool.as_str().starts_with(QUESTION)
}

/// The answer to a question: a JSON value if the text is JSON, otherwise the text.
pub fn answer(text: &str) -> serde_json::Value {
    serde_json::from_str(text).unwrap_or_else(|_no_json| text.trim().into())
}

/// Parses edited arguments.
///
/// # Errors
/// Says what is wrong, in words for the reader.
pub fn edited(text: &str) -> Result<serde_json::Value, String> {
    match serde_json::from_str(text) {
        Ok(value @ serde_json::Value::Object(_)) => Ok(value),
        Ok(_) => Err("Arguments must be an object: {…}".to_owned()),
        Err(error) => Err(format!("Not JSON: {error}")),
    }
}

#[cfg(test)]
mod tests;
