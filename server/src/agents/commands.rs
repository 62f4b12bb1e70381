//! Commands: what a person has done in a conversation, over whatever door it comes. Each is done once, whoever repeats it.

use std::hash::{Hash as _, Hasher as _};
use std::sync::Arc;

use compact_str::CompactString;
use event_log::blocking;
use indexmap::IndexMap;
use model::code::ErrorCode;
use model::command::{Command, CommandAction, Done};
use model::limits::{COMMANDS_REMEMBERED_MAX, ID_BYTES_MAX};
use model::retry::ModelRetry;
use model::view::RunView;
use model::{ConversationId, Position, RunId, View};
use parking_lot::Mutex;

use super::again::is_of_runner;
use super::consent::{ConsentAnswer, consent};
use super::fork::{Cut, fork};
use super::{Agents, Spoken, StartError, Started, Turn, is_over};
use crate::runner::{Answer, RunAddress};
use crate::state::Shared;
use hub::Conversation;

/// How many conversations may be commanded at the same time.
const AT_WORK: usize = 16;

/// The answers to the commands that were done last.
#[derive(Debug, Default)]
pub(crate) struct Remembered {
    done: Mutex<IndexMap<(ConversationId, CompactString), Done>>,
    /// Held while a command is carried out: the same one may come over two connections at once. Each stands for some of the
    /// conversations.
    at_work: [tokio::sync::Mutex<()>; AT_WORK],
}

/// Why a command was not done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Refusal {
    /// The code that goes to who commanded.
    pub(crate) code: ErrorCode,
    /// What was wrong, for a person.
    pub(crate) why: String,
}

impl Refusal {
    /// With this code, for this reason.
    pub(crate) fn new(code: ErrorCode, why: impl Into<String>) -> Self {
        Self { code, why: why.into() }
    }
}

impl From<StartError> for Refusal {
    fn from(error: StartError) -> Self {
        Self::new(error.code(), error.to_string())
    }
}

/// Does what was commanded in `conversation`.
pub(crate) async fn carry_out(
    shared: &Arc<Shared>,
    conversation: &ConversationId,
    command: Command,
) -> Result<Done, Refusal> {
    granted(conversation, &command.deed)?;
    let Command { id, deed } = command;
    if id.len() > ID_BYTES_MAX {
        let why = format!("the id of the command has {} bytes, the limit is {ID_BYTES_MAX}", id.len());
        return Err(Refusal::new(ErrorCode::BadRequest, why));
    }
    let key = (conversation.clone(), id.clone());
    let remembered = &shared.agents.commands;
    let _one_commands = match remembered.at_work.get(stripe(conversation)) {
        Some(at_work) => Some(at_work.lock().await),
        None => None,
    };
    let known = remembered.done.lock().get(&key).cloned();
    if let Some(known) = known {
        return Ok(known);
    }
    let came = match deed {
        CommandAction::Fork { at, before, into, agent, text } => {
            let target = find(shared, conversation)?;
            let after = Position { epoch: target.epoch().clone(), seq: target.head() };
            let said = agent.zip(text);
            let into = fork(shared, &target, Cut { at, before }, into).await?;
            match said {
                None => Done { id, conversation: into, run: None, after },
                Some((agent, text)) => done(id, blocking(|| say(shared, &into, agent, &text))?),
            }
        }
        deed => {
            if let CommandAction::Retry { run } = &deed {
                let target = blocking(|| Target::find(shared, conversation, run.clone()))?;
                Agents::left(shared, &target.started.place).await;
            }
            done(id, blocking(|| act(shared, conversation, deed))?)
        }
    };
    let mut done = remembered.done.lock();
    if done.len() >= COMMANDS_REMEMBERED_MAX {
        done.shift_remove_index(0);
    }
    done.insert(key, came.clone());
    Ok(came)
}

fn stripe(conversation: &ConversationId) -> usize {
    let mut hasher = fnv::FnvHasher::default();
    conversation.hash(&mut hasher);
    usize::try_from(hasher.finish() % AT_WORK as u64).unwrap_or_default()
}

fn done(id: CompactString, started: Started) -> Done {
    let Started { place: RunAddress { conversation, run }, after } = started;
    Done { id, conversation, run: Some(run), after }
}

/// Whether who commands may. Everybody who reaches the hub may, as long as it knows no tokens.
#[expect(clippy::unnecessary_wraps, reason = "tokens will refuse")]
fn granted(_conversation: &ConversationId, _deed: &CommandAction) -> Result<(), Refusal> {
    Ok(())
}

fn act(shared: &Arc<Shared>, id: &ConversationId, deed: CommandAction) -> Result<Started, Refusal> {
    Ok(match deed {
        CommandAction::Say { agent, text } => say(shared, id, agent, &text)?,
        CommandAction::Stop { run } => {
            let target = Target::find(shared, id, run)?;
            let place = &target.started.place;
            let heard = !is_over(shared, place) && shared.agents.stop(place);
            target.heard(heard)?
        }
        CommandAction::Approve { run, tool, arguments, saw } => {
            let answer = Answer::Yes { arguments: arguments.map(|arguments| arguments.to_string()) };
            Target::find(shared, id, run)?.consent(shared, ConsentAnswer { tool, answer, saw })?
        }
        CommandAction::Reject { run, tool, text } => {
            let answer = Answer::No { why: text };
            Target::find(shared, id, run)?.consent(shared, ConsentAnswer { tool, answer, saw: None })?
        }
        CommandAction::Retry { run } => {
            let target = Target::find(shared, id, run)?;
            let place = &target.started.place;
            if target.waits_for_model() && shared.agents.hurry(place) {
                return Ok(target.started);
            }
            Agents::resume(shared, place)?
        }
        CommandAction::Fork { .. } => {
            return Err(Refusal::new(ErrorCode::Internal, "a fork is made elsewhere"));
        }
    })
}

/// The conversation, which must be there.
fn find(shared: &Shared, id: &ConversationId) -> Result<Arc<Conversation>, Refusal> {
    let found = shared.hub.find(id).map_err(|error| Refusal::new(error.code(), error.to_string()))?;
    found.ok_or_else(|| {
        Refusal::new(ErrorCode::UnknownConversation, format!("no conversation is named {:?}", id.as_str()))
    })
}

fn say(
    shared: &Arc<Shared>,
    id: &ConversationId,
    agent: CompactString,
    text: &str,
) -> Result<Started, Refusal> {
    if text.trim().is_empty() {
        return Err(Refusal::new(ErrorCode::BadRequest, "a message says something"));
    }
    let messages = vec![Spoken::user(text)];
    let turn = Turn::new(agent, id.clone(), messages);
    Ok(Agents::say(shared, turn)?)
}

/// The run that a command is about.
struct Target {
    conversation: Arc<Conversation>,
    started: Started,
}

impl Target {
    fn find(shared: &Shared, id: &ConversationId, run: Option<RunId>) -> Result<Self, Refusal> {
        let conversation = find(shared, id)?;
        let newest = |view: &View| {
            let ours = |(_, run): &(&RunId, &RunView)| shared.agents.did(run);
            view.runs.iter().rev().find(ours).map(|(id, _)| id.clone())
        };
        let (run, seq) = conversation.look(|view| (run.or_else(|| newest(view)), view.seq));
        let run = run.ok_or_else(|| {
            Refusal::new(ErrorCode::NotRunning, "no agent of this hub has a run in this conversation")
        })?;
        let after = Position { epoch: conversation.epoch().clone(), seq };
        let place = RunAddress { conversation: id.clone(), run };
        Ok(Self { conversation, started: Started { place, after } })
    }

    /// Whether the run is one of the hub's own that waits before it asks its model again.
    fn waits_for_model(&self) -> bool {
        let run = &self.started.place.run;
        self.conversation.look(|view| {
            let run = view.runs.get(run).filter(|run| is_of_runner(run));
            run.and_then(ModelRetry::of).is_some()
        })
    }

    /// The answer, where the run heard of it.
    fn heard(self, heard: bool) -> Result<Started, Refusal> {
        if heard {
            return Ok(self.started);
        }
        let why = format!("the run {} does not go on in an agent of this hub", self.started.place.run);
        Err(Refusal::new(ErrorCode::NotRunning, why))
    }

    fn consent(self, shared: &Shared, said: ConsentAnswer) -> Result<Started, Refusal> {
        consent(shared, &self.conversation, &self.started.place, said)?;
        Ok(self.started)
    }
}
