//! Commands: what a person wants done in a conversation, over whatever door it comes. A repeated command is
//! done once.
//!
//! ```text
//! command ─▶ turn of its conversation ─▶ known id? ── yes ─▶ the same answer
//!                                           │ no
//!    say, stop, approve, reject, retry: agents │ label, rate: an event │ fork: a new conversation, perhaps with a turn
//!                                           ▼
//!            remember the answer ─▶ note who it was in the conversation ─▶ audit log
//! ```

use std::sync::Arc;

use access::audit::{Audited, AuditedAction};
use agents::{Agents, Answer, ConsentAnswer, Refusal, RunAddress, Spoken, Started, Turn, is_of_runner};
use compact_str::CompactString;
use event_log::blocking;
use hub::{Conversation, Fanout, Hub};
use model::code::ErrorCode;
use model::command::{Command, CommandAction, Done};
use model::event::{LabelChange, MessageFile, Rating};
use model::limits::ID_BYTES_MAX;
use model::retry::ModelRetry;
use model::view::RunView;
use model::{ConversationId, MessageId, Position, RunId, View};

use crate::access::Gate;
use crate::asker::{self, AskedRuns};
use crate::fork::{ForkPlace, fork};
use crate::work::Work;

mod label;
mod remembered;
mod signature;

pub(crate) use remembered::Remembered;

/// What carries commands out. One for each hub, owned by its state.
#[derive(Debug)]
pub(crate) struct CommandExecutor {
    /// The conversations, and their viewers.
    fanout: Arc<Fanout>,
    /// The agents that people speak to.
    agents: Arc<Agents>,
    /// Whether access control is on; it also keeps the audit log.
    gate: Arc<Gate>,
    /// The bounds of expensive work, which a fork is.
    work: Arc<Work>,
    /// Who asked for the runs of agents that go on.
    asked: Arc<AskedRuns>,
    /// The answers to the newest commands.
    pub(crate) remembered: Remembered,
}

impl CommandExecutor {
    /// Nothing was carried out yet.
    pub(crate) fn new(
        fanout: &Arc<Fanout>,
        agents: &Arc<Agents>,
        gate: &Arc<Gate>,
        work: &Arc<Work>,
        asked: &Arc<AskedRuns>,
    ) -> Self {
        Self {
            fanout: Arc::clone(fanout),
            agents: Arc::clone(agents),
            gate: Arc::clone(gate),
            work: Arc::clone(work),
            asked: Arc::clone(asked),
            remembered: Remembered::default(),
        }
    }
}

/// Carries out what `who` commanded in `conversation`, or returns the answer to it if it was carried out before, and notes it in
/// the audit log. Commands in the same conversation wait for each other. A refusal has a code and a text for the person. The
/// caller has checked the rights.
pub(crate) async fn carry_out(
    executor: &CommandExecutor,
    who: &str,
    conversation: &ConversationId,
    command: Command,
) -> Result<Done, Refusal> {
    let told =
        Audited::new(AuditedAction::Command, who).about(conversation.as_str()).with(words(&command.action));
    let came = done_once(executor, who, conversation, command).await;
    blocking(|| {
        executor.gate.audit(match &came {
            Ok(_) => told,
            Err(refusal) => told.failed(refusal.code.as_str()),
        });
    });
    came
}

/// What was commanded, in a few words, without what was said.
fn words(action: &CommandAction) -> String {
    let of = |word: &str, id: Option<&str>| id.map_or_else(|| word.to_owned(), |id| format!("{word} {id}"));
    match action {
        CommandAction::Say { agent, .. } => of("say", Some(agent)),
        CommandAction::Stop { run } => of("stop", run.as_ref().map(RunId::as_str)),
        CommandAction::Approve { tool, arguments: Some(_), .. } => {
            format!("approve {} with other arguments", tool.as_str())
        }
        CommandAction::Approve { tool, .. } => of("approve", Some(tool.as_str())),
        CommandAction::Reject { tool, .. } => of("reject", Some(tool.as_str())),
        CommandAction::Retry { run } => of("retry", run.as_ref().map(RunId::as_str)),
        CommandAction::Label { .. } => of("label", None),
        CommandAction::Rate { run, message, .. } => {
            of("rate", run.as_ref().map(RunId::as_str).or_else(|| message.as_ref().map(MessageId::as_str)))
        }
        CommandAction::Fork { into, .. } => of("fork", into.as_ref().map(ConversationId::as_str)),
    }
}

/// Carries out a command unless its id is known. Fails with `bad_request` for an id that is too long and with
/// whatever the command is refused with; a refusal is not remembered.
async fn done_once(
    executor: &CommandExecutor,
    who: &str,
    conversation: &ConversationId,
    command: Command,
) -> Result<Done, Refusal> {
    let Command { id, action } = command;
    if id.len() > ID_BYTES_MAX {
        let why = format!("the id of the command has {} bytes, the limit is {ID_BYTES_MAX}", id.len());
        return Err(Refusal::new(ErrorCode::BadRequest, why));
    }
    let key = (conversation.clone(), id.clone());
    let remembered = &executor.remembered;
    let _one_commands = remembered.turn(conversation).await;
    // It may have waited behind others for longer than its token.
    asker::still_admitted(&executor.gate)?;
    let known = remembered.get(&key);
    if let Some(known) = known {
        return Ok(known);
    }
    // The event of a label and of a rating has the name.
    let is_label = matches!(action, CommandAction::Label { .. } | CommandAction::Rate { .. });
    let is_signed = executor.gate.is_on() && !is_label;
    let told = is_signed.then(|| signature::of(who, &action));
    let begins = RunBeginning::of(&action);
    let came = match action {
        CommandAction::Fork { at, before, into, agent, text } => {
            let target = find(executor.fanout.hub(), conversation)?;
            let after = Position { epoch: target.epoch().clone(), seq: target.head() };
            let said = agent.zip(text);
            let files = if said.is_some() {
                files_of(executor.fanout.hub(), &target, before.as_ref())
            } else {
                Vec::new()
            };
            let into =
                fork(&executor.fanout, &executor.work, &target, ForkPlace { at, before }, into).await?;
            match said {
                None => Done { id, conversation: into, run: None, after },
                Some((agent, text)) => {
                    done(id, blocking(|| say(&executor.agents, &into, agent, PersonMessage { text, files }))?)
                }
            }
        }
        CommandAction::Label { title, pinned, archived, tags, note } => {
            let change = LabelChange { title, pinned, archived, tags, note, ..LabelChange::default() };
            let after = label::write(executor, who, conversation, change).await?;
            Done { id, conversation: conversation.clone(), run: None, after }
        }
        CommandAction::Rate { run, message, good, why } => {
            let rating = Some(Rating { run, message, good, why, by: None });
            let change = LabelChange { rating, ..LabelChange::default() };
            let after = label::write(executor, who, conversation, change).await?;
            Done { id, conversation: conversation.clone(), run: None, after }
        }
        action => {
            if let CommandAction::Retry { run } = &action {
                let target = blocking(|| {
                    Target::find(&executor.agents, executor.fanout.hub(), conversation, run.clone())
                })?;
                executor.agents.left(&target.started.place).await;
            }
            done(id, blocking(|| act(&executor.agents, executor.fanout.hub(), conversation, action))?)
        }
    };
    begins.note(executor, &came);
    remembered.put(key, came.clone());
    if let Some(told) = told {
        blocking(|| signature::leave(&executor.fanout, &came, &told));
    }
    Ok(came)
}

/// What a command has to do with the beginning of the run in its answer.
#[derive(Debug, Clone, Copy)]
enum RunBeginning {
    /// The run begins, or begins again.
    Begins,
    /// The run may have gone on before.
    Joins,
    /// The command begins none.
    Neither,
}

impl RunBeginning {
    /// What `action` begins.
    fn of(action: &CommandAction) -> Self {
        match action {
            CommandAction::Retry { .. } => Self::Begins,
            CommandAction::Say { .. } | CommandAction::Fork { .. } => Self::Joins,
            _ => Self::Neither,
        }
    }

    /// Notes for whom the run goes on.
    fn note(self, executor: &CommandExecutor, came: &Done) {
        let Some(run) = came.run.clone() else { return };
        let place = RunAddress { conversation: came.conversation.clone(), run };
        match self {
            Self::Begins => executor.asked.began(&executor.agents, &executor.gate, &place),
            Self::Joins => executor.asked.joined(&executor.agents, &executor.gate, &place),
            Self::Neither => {}
        }
    }
}

/// The answer to a command that concerns a run.
fn done(id: CompactString, started: Started) -> Done {
    let Started { place: RunAddress { conversation, run }, after } = started;
    Done { id, conversation, run: Some(run), after }
}

/// Carries out every command except a fork and a label. Fails with `not_running`, `not_resumable`, `consent_mismatch`,
/// `unknown_agent`, `agent_unavailable` or `too_many`, as the registry of agents says. Blocks.
fn act(
    agents: &Arc<Agents>,
    hub: &Hub,
    id: &ConversationId,
    action: CommandAction,
) -> Result<Started, Refusal> {
    Ok(match action {
        CommandAction::Say { agent, text, files } => say(agents, id, agent, PersonMessage { text, files })?,
        CommandAction::Stop { run } => {
            let target = Target::find(agents, hub, id, run)?;
            let place = &target.started.place;
            let heard = !agents.is_over(place) && agents.stop(place);
            target.heard(heard)?
        }
        CommandAction::Approve { run, tool, arguments, saw } => {
            let answer = Answer::Yes { arguments: arguments.map(|arguments| arguments.to_string()) };
            Target::find(agents, hub, id, run)?.consent(agents, ConsentAnswer { tool, answer, saw })?
        }
        CommandAction::Reject { run, tool, text } => {
            let answer = Answer::No { why: text };
            Target::find(agents, hub, id, run)?.consent(agents, ConsentAnswer { tool, answer, saw: None })?
        }
        CommandAction::Retry { run } => {
            let target = Target::find(agents, hub, id, run)?;
            let place = &target.started.place;
            if target.waits_for_model() && agents.hurry(place) {
                return Ok(target.started);
            }
            agents.resume(place)?
        }
        CommandAction::Fork { .. } | CommandAction::Label { .. } | CommandAction::Rate { .. } => {
            return Err(Refusal::new(ErrorCode::Internal, "a command reached the handler of others"));
        }
    })
}

/// Finds a conversation that must exist. Fails with `unknown_conversation`, or with what the log says.
fn find(hub: &Hub, id: &ConversationId) -> Result<Arc<Conversation>, Refusal> {
    let found = hub.find(id).map_err(|error| Refusal::new(error.code(), error.to_string()))?;
    found.ok_or_else(|| {
        Refusal::new(ErrorCode::UnknownConversation, format!("no conversation is named {:?}", id.as_str()))
    })
}

/// What a person says.
struct PersonMessage {
    /// The text; may be empty if there are files.
    text: String,
    /// The files, with their contents.
    files: Vec<MessageFile>,
}

/// The files of the message before which a fork ends, with their contents: the message that is said in its place has
/// them too.
fn files_of(hub: &Hub, from: &Conversation, before: Option<&MessageId>) -> Vec<MessageFile> {
    let Some(before) = before else { return Vec::new() };
    let message = from.read_view(|view| view.messages.get(before).cloned());
    let mut view = View::default();
    view.messages.extend(message.map(|message| (before.clone(), message)));
    let mut left = usize::MAX;
    blocking(|| hub.make_files_whole(from, &mut view, &mut left));
    let files = view.messages.into_values().flat_map(|message| message.files);
    files.filter(|file| file.data.is_some()).collect()
}

/// Starts a turn of an agent with a person's message. Fails with `bad_request` for an empty one, and for files that
/// are not taken.
fn say(
    agents: &Arc<Agents>,
    id: &ConversationId,
    agent: CompactString,
    PersonMessage { text, files }: PersonMessage,
) -> Result<Started, Refusal> {
    if text.trim().is_empty() && files.is_empty() {
        return Err(Refusal::new(ErrorCode::BadRequest, "`text` is empty: a message needs text, or files"));
    }
    let messages = vec![Spoken { files, ..Spoken::user(&text) }];
    let turn = Turn::new(agent, id.clone(), messages);
    Ok(agents.say(turn)?)
}

/// The run that a command concerns, and the position after which its effects follow. Made for one command.
struct Target {
    /// The conversation of the run.
    conversation: Arc<Conversation>,
    /// The run, and the head of the conversation before the command.
    started: Started,
}

impl Target {
    /// Finds the run, or the newest one of the hub's agents if none is named. Fails with
    /// `unknown_conversation`, or with `not_running` if no agent of this hub has a run there.
    fn find(agents: &Agents, hub: &Hub, id: &ConversationId, run: Option<RunId>) -> Result<Self, Refusal> {
        let conversation = find(hub, id)?;
        let newest = |view: &View| {
            let ours = |(_, run): &(&RunId, &RunView)| agents.did(run);
            view.runs.iter().rev().find(ours).map(|(id, _)| id.clone())
        };
        let (run, seq) = conversation.read_view(|view| (run.or_else(|| newest(view)), view.seq));
        let run = run.ok_or_else(|| {
            Refusal::new(ErrorCode::NotRunning, "no agent of this hub has a run in this conversation")
        })?;
        let after = Position { epoch: conversation.epoch().clone(), seq };
        let place = RunAddress { conversation: id.clone(), run };
        Ok(Self { conversation, started: Started { place, after } })
    }

    /// Whether the run is one of the hub's own agents' and waits before it asks its model again.
    fn waits_for_model(&self) -> bool {
        let run = &self.started.place.run;
        self.conversation.read_view(|view| {
            let run = view.runs.get(run).filter(|run| is_of_runner(run));
            run.and_then(ModelRetry::of).is_some()
        })
    }

    /// The answer if an agent has taken the command; a refusal otherwise.
    fn heard(self, heard: bool) -> Result<Started, Refusal> {
        if heard {
            return Ok(self.started);
        }
        let why = format!("the run {} does not go on in an agent of this hub", self.started.place.run);
        Err(Refusal::new(ErrorCode::NotRunning, why))
    }

    /// Passes on a person's answer to a call that waits for approval.
    fn consent(self, agents: &Agents, said: ConsentAnswer) -> Result<Started, Refusal> {
        agents.consent(&self.conversation, &self.started.place, said)?;
        Ok(self.started)
    }
}

#[cfg(test)]
mod tests;
