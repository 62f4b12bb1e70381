//! What was commanded on this page and what became of it, what is written and not sent yet, and which agents there are to
//! command. Commands that have no answer yet are given again on a new socket: the hub does none of them twice.

use std::collections::HashMap;

use model::code::ErrorCode;
use model::command::{Command, CommandAction, Done};
use model::frame::{ClientFrame, ServerFrame};
use model::view::{RunView, View};
use model::{ConversationId, MessageId, RunId, ToolCallId};
use serde::Deserialize;

mod turns;

pub use turns::{name_for, turn, turn_after};

/// Most commands that are remembered without an answer.
const WAITING_MAX: usize = 64;

/// Most conversations of which a draft is kept.
const DRAFTS_MAX: usize = 64;

/// An agent that can be asked, as `GET /v1/agents` tells of it.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Agent {
    /// Its name.
    pub name: String,
    /// The dialect of its runs.
    pub dialect: String,
    /// Its model, where the hub knows it.
    #[serde(default)]
    pub model: Option<String>,
}

/// The agents in the answer of `GET /v1/agents`; none where it is something else.
pub fn agents(answer: &str) -> Vec<Agent> {
    #[derive(Deserialize)]
    struct List {
        agents: Vec<Agent>,
    }
    serde_json::from_str(answer).map_or_else(|_| Vec::new(), |list: List| list.agents)
}

/// Whether the run is one of these agents of the hub: only those take commands. Anybody can use their names.
pub fn is_ours(run: &RunView, agents: &[Agent]) -> bool {
    if !run.own {
        return false;
    }
    let is_of = |agent: &Agent| {
        run.name.as_deref() == Some(&agent.name) && run.dialect.as_deref() == Some(&agent.dialect)
    };
    agents.iter().any(is_of)
}

/// Whether the hub itself does the run: only then it knows when a model is asked again.
pub fn is_own(run: &RunView) -> bool {
    run.own && run.dialect.as_deref() == Some("runner")
}

/// The newest run that these agents do, while it goes on.
pub fn going<'a>(view: &'a View, agents: &[Agent]) -> Option<&'a RunId> {
    let mut newest = view.runs.iter().rev().take(16);
    newest.find(|(_, run)| is_ours(run, agents) && run.is_running()).map(|(id, _)| id)
}

/// The agent that is to answer in a conversation: the one that was `chosen` there, else who answered there last; where nothing has
/// run yet, the first. Nobody where agents elsewhere have answered so far: who goes on in their place is for the reader to choose.
pub fn answers<'a>(agents: &'a [Agent], chosen: Option<&str>, view: &View) -> Option<&'a str> {
    let last =
        || view.runs.values().rev().find(|run| is_ours(run, agents)).and_then(|run| run.name.as_deref());
    let known = |name: &str| agents.iter().find(|agent| agent.name == name);
    let first = || agents.first().filter(|_| view.runs.is_empty());
    let found = chosen.and_then(known).or_else(|| last().and_then(known)).or_else(first);
    found.map(|agent| agent.name.as_str())
}

/// Where a command was given, and so where what became of it is shown.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum At {
    /// Below the conversation.
    Composer(ConversationId),
    /// At a run: to stop it, or to let it go on.
    Run(RunId),
    /// At a call that waits for consent.
    Call(RunId, ToolCallId),
    /// At a message.
    Message(MessageId),
}

/// A command without an answer.
#[derive(Debug)]
struct Given {
    at: At,
    conversation: ConversationId,
    command: Command,
    /// How many messages the conversation had.
    messages: usize,
    /// Whether the hub has done it.
    is_done: bool,
}

/// Commands without an answer yet, texts that are not sent yet, and the agents that can be commanded.
#[derive(Debug, Default)]
pub struct Control {
    given: Vec<Given>,
    refused: HashMap<At, String>,
    drafts: Vec<(Option<ConversationId>, String)>,
}

/// What came of a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Came {
    /// Where it was given.
    pub at: At,
    /// What was done; nothing where it was refused.
    pub done: Option<Done>,
}

impl Control {
    /// Gives a command, which is called `id`. `view` is the conversation as it is. The frame to send.
    pub fn give(
        &mut self,
        at: At,
        conversation: ConversationId,
        id: &str,
        deed: CommandAction,
        view: &View,
    ) -> ClientFrame {
        self.refused.remove(&at);
        self.tidy(view, &conversation);
        if self.given.len() >= WAITING_MAX {
            self.given.remove(0);
        }
        let command = Command { id: id.into(), deed };
        let frame = ClientFrame::Command { conv: conversation.clone(), command: command.clone() };
        let messages = view.messages.len();
        self.given.push(Given { at, conversation, command, messages, is_done: false });
        frame
    }

    /// Takes what the hub answers; nothing where that is no answer to a command of this page.
    pub fn take(&mut self, frame: &ServerFrame) -> Option<Came> {
        let id = match frame {
            ServerFrame::Done(done) => &done.id,
            ServerFrame::Refused { id, .. } => id,
            _ => return None,
        };
        let place = self.given.iter().position(|given| given.command.id == *id)?;
        if let ServerFrame::Refused { code, message, .. } = frame {
            let Given { at, conversation, command, .. } = self.given.remove(place);
            if let (At::Composer(_), CommandAction::Say { text, .. }) = (&at, command.deed) {
                // What was not said is there to be said again.
                let draft = self.draft(Some(&conversation));
                let both = if draft.is_empty() { text } else { format!("{text}\n\n{draft}") };
                self.keep_draft(Some(&conversation), &both);
            }
            self.refused.insert(at.clone(), words(*code, message));
            return Some(Came { at, done: None });
        }
        let ServerFrame::Done(done) = frame else { return None };
        let given = self.given.get_mut(place)?;
        given.is_done = true;
        let at = given.at.clone();
        if !matches!(given.command.deed, CommandAction::Say { .. }) {
            // A message stands here until the true one is there.
            self.given.remove(place);
        }
        Some(Came { at, done: Some(done.clone()) })
    }

    /// What to send again on a new socket.
    pub fn again(&self) -> Vec<ClientFrame> {
        let waiting = self.given.iter().filter(|given| !given.is_done);
        waiting
            .map(|given| ClientFrame::Command {
                conv: given.conversation.clone(),
                command: given.command.clone(),
            })
            .collect()
    }

    /// Whether a command that was given there has no answer yet.
    pub fn is_waiting(&self, at: &At) -> bool {
        self.given.iter().any(|given| given.at == *at && !given.is_done)
    }

    /// Why the last command that was given there was not done.
    pub fn trouble(&self, at: &At) -> Option<&str> {
        self.refused.get(at).map(String::as_str)
    }

    /// What was said in `conversation` and is not among its messages yet.
    pub fn unheard(&self, conversation: &ConversationId, view: &View) -> Vec<String> {
        let said = self.given.iter().filter(|given| given.conversation == *conversation);
        let said = said.filter(|given| !is_heard(given, view));
        said.filter_map(|given| match &given.command.deed {
            CommandAction::Say { text, .. } => Some(text.clone()),
            _ => None,
        })
        .collect()
    }

    /// What is written and not sent; without a conversation, for a new one.
    pub fn draft(&self, conversation: Option<&ConversationId>) -> String {
        let found = self.drafts.iter().find(|(of, _)| of.as_ref() == conversation);
        found.map(|(_, text)| text.clone()).unwrap_or_default()
    }

    /// Keeps what is written.
    pub fn keep_draft(&mut self, conversation: Option<&ConversationId>, text: &str) {
        self.drafts.retain(|(of, _)| of.as_ref() != conversation);
        if !text.is_empty() {
            if self.drafts.len() >= DRAFTS_MAX {
                self.drafts.remove(0);
            }
            self.drafts.push((conversation.cloned(), text.to_owned()));
        }
    }

    fn tidy(&mut self, view: &View, conversation: &ConversationId) {
        self.given
            .retain(|given| !given.is_done || given.conversation != *conversation || !is_heard(given, view));
    }
}

/// Whether what was said is among the messages that came since.
fn is_heard(given: &Given, view: &View) -> bool {
    let CommandAction::Say { text, .. } = &given.command.deed else { return true };
    view.messages.values().skip(given.messages).any(|message| message.text == text.as_str())
}

/// Why something was not done, and what to do.
fn words(code: ErrorCode, message: &str) -> String {
    if code == ErrorCode::ConsentMismatch {
        return "The arguments changed; look again.".to_owned();
    }
    let advice = match code {
        ErrorCode::UnknownAgent | ErrorCode::AgentUnavailable => "Choose another agent.",
        ErrorCode::NotRunning => "It was decided or over before.",
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
    if advice.is_empty() { format!("{message}.") } else { format!("{message}. {advice}") }
}

/// How the id of a call begins that is a question of an agent elsewhere, about no call of its own.
const QUESTION: &str = "question-";

/// Whether a call of `run` is a question: its answer may be anything.
pub fn is_question(run: &RunView, tool: &ToolCallId) -> bool {
    run.own && !is_own(run) && tool.as_str().starts_with(QUESTION)
}

/// What somebody has answered to a question: JSON where it is JSON, else the words.
pub fn answer(text: &str) -> serde_json::Value {
    serde_json::from_str(text).unwrap_or_else(|_no_json| text.trim().into())
}

/// The arguments that somebody has edited, or what is wrong with them.
///
/// # Errors
/// In words for who edits.
pub fn edited(text: &str) -> Result<serde_json::Value, String> {
    match serde_json::from_str(text) {
        Ok(value @ serde_json::Value::Object(_)) => Ok(value),
        Ok(_) => Err("Arguments are an object: {…}".to_owned()),
        Err(error) => Err(format!("No JSON: {error}")),
    }
}

#[cfg(test)]
mod tests;
