//! Carries out what an agent decides: keeps its events, asks its model, executes its calls, lets time pass. One task for
//! each run; nobody who asked for the run is needed for it to go on.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use compact_str::CompactString;
use event_log::reached;
use exchange::OfferedTool;
use model::event::{ErrorFact, Event, Kind, RunEnd, RunStart, RunStatus, ToolProgress, ToolResult};
use model::frame::Durability;
use model::{ConversationId, RunId, ToolCallId};
use tokio::sync::{mpsc, watch};
use tokio_util::sync::{CancellationToken, DropGuard};
use tokio_util::task::AbortOnDropHandle;

use super::agent::failed;
use super::model::{Call, Way};
use super::sinks::Sinks;
use super::{Agent, Answer, Command, Execute, HUB_STOPPED, Input, NAME, Plan, Scribe};
use crate::agents::{AskedAbout, Terms};
use crate::clock;
use crate::config::RunnerConfig;
use crate::state::Shared;
use hub::PublishError;

/// Longest sleep: the clock of the day may be set while it sleeps.
const LOOK_AGAIN: Duration = Duration::from_secs(5);

/// Where a run is.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct RunAddress {
    /// The conversation.
    pub(crate) conversation: ConversationId,
    /// The run.
    pub(crate) run: RunId,
}

/// What comes to a run from outside.
#[derive(Debug)]
pub(crate) enum Word {
    /// A person answers whether a call may be executed.
    Consent(ToolCallId, Answer),
    /// A person does not want to wait until the model is asked again.
    Again,
    /// Somebody said something in the conversation: the model is told with its next request.
    MessagePublished,
}

/// Whether something was said that came too late for a run that is over. Nothing more can be told it from now on.
pub(crate) fn left_unheard(words: &mut mpsc::Receiver<Word>) -> bool {
    words.close();
    std::iter::from_fn(|| words.try_recv().ok()).any(|word| matches!(word, Word::MessagePublished))
}

/// What comes to a run from its model and its tools.
#[derive(Debug)]
pub(super) enum Note {
    /// The model says something; with the number of the request.
    Events(u64, Vec<Event>),
    /// The answer is over, or was never begun.
    Silent(u64, Option<ErrorFact>),
    /// A call says how far it is.
    Progress(ToolProgress),
    /// A call is over.
    Done(ToolResult),
    /// Servers whose tools are not there, and why.
    Missing(Vec<(CompactString, String)>),
}

/// Drives one run: feeds its agent with what happens and carries out its commands. Owned by the task of the run;
/// dropping it stops the run.
#[derive(Debug)]
pub(crate) struct Shell {
    shared: Arc<Shared>,
    config: Arc<RunnerConfig>,
    way: Way,
    place: RunAddress,
    agent: Agent,
    scribe: Scribe,
    /// Where the model's raw events go besides.
    sinks: Sinks,
    stop: CancellationToken,
    words: mpsc::Receiver<Word>,
    waits: watch::Sender<bool>,
    /// What a person is asked about.
    asks: Arc<AskedAbout>,
    inbox: mpsc::Receiver<Note>,
    notes: mpsc::Sender<Note>,
    /// Tools that whoever asked for the run executes.
    tools: Arc<[OfferedTool]>,
    /// How the run is to go.
    terms: Terms,
    /// The calls that are executed. To drop one of these lets it be.
    calls: HashMap<ToolCallId, DropGuard>,
    /// The servers of which it was said that their tools are not there.
    missing: HashSet<CompactString>,
    /// The request that is open.
    model: Option<AbortOnDropHandle<()>>,
    asked: u64,
    /// Something was said in the conversation that the model has not been told.
    has_news: bool,
}

/// What a shell is made of.
#[derive(Debug)]
pub(crate) struct Parts {
    /// The hub.
    pub(crate) shared: Arc<Shared>,
    /// What was set about the agent.
    pub(crate) config: Arc<RunnerConfig>,
    /// The way to its model.
    pub(crate) way: Way,
    /// Where the run is.
    pub(crate) place: RunAddress,
    /// Cancelled when somebody stops the run.
    pub(crate) stop: CancellationToken,
    /// What comes from outside.
    pub(crate) words: mpsc::Receiver<Word>,
    /// Told whether the run goes on only when a person has answered.
    pub(crate) waits: watch::Sender<bool>,
    /// Told what a person is asked about.
    pub(crate) asked: Arc<AskedAbout>,
    /// Tools that whoever asked for the run executes.
    pub(crate) tools: Arc<[OfferedTool]>,
    /// How the run is to go.
    pub(crate) terms: Terms,
}

impl Shell {
    /// A new run, whose beginning is in the conversation when this returns.
    pub(crate) fn begin(parts: Parts) -> Result<Self, PublishError> {
        let handed_over = parts.tools.iter().map(|tool| tool.name.clone()).collect();
        let plan = Plan { handed_over, ..parts.config.plan.clone() };
        let agent = Agent::new(parts.place.run.clone(), plan);
        let mut shell = Self::new(parts, agent);
        shell.take([Input::Time])?;
        Ok(shell)
    }

    /// A run that is there already goes on as the conversation has it.
    pub(crate) fn resume(parts: Parts) -> Result<Self, PublishError> {
        let (run, plan) = (parts.place.run.clone(), parts.config.plan.clone());
        let agent = Agent::new(run.clone(), plan.clone());
        let mut shell = Self::new(parts, agent);
        let mut view = shell.scribe.look();
        let was_lost = view.as_ref().is_some_and(|view| view.loss.is_some());
        if was_lost {
            // With this the hub opens again what only its own end had closed.
            let (model, name) = (Some(plan.model.clone()), plan.name.clone());
            let start = Kind::RunStart(RunStart { model, name, dialect: Some(NAME.into()), title: None });
            shell.scribe.say(vec![Event::new(&run, start)])?;
            view = shell.scribe.look();
        }
        let mut out = Vec::new();
        shell.agent = Agent::resume(run, plan, &view.unwrap_or_default(), clock::now_ms(), &mut out);
        if was_lost && !out.is_empty() {
            out.remove(0);
        }
        shell.carry_out(out)?;
        Ok(shell)
    }

    fn new(parts: Parts, agent: Agent) -> Self {
        let Parts { shared, config, way, place, stop, words, waits, asked: asks, tools, terms } = parts;
        let (notes, inbox) = mpsc::channel(config.notes_max.max(1));
        let scribe = Scribe::new(&shared, place.clone()).at(config.price);
        let sinks = Sinks::open(&shared, &place, &config.sinks);
        Self {
            shared,
            config,
            way,
            place,
            agent,
            scribe,
            sinks,
            stop,
            words,
            waits,
            asks,
            inbox,
            notes,
            calls: HashMap::new(),
            tools,
            terms,
            missing: HashSet::new(),
            model: None,
            asked: 0,
            has_news: false,
        }
    }

    /// Goes on until the run is over. True when something was said that the model has not been told.
    pub(crate) async fn run(mut self) -> bool {
        while !self.agent.is_over() {
            let went = match self.next().await {
                Next::Inputs(inputs) => self.take(inputs),
                Next::Missing(servers) => self.say_missing(servers),
                Next::Drain => self.interrupt(),
            };
            if let Err(error) = went {
                let RunAddress { conversation, run } = &self.place;
                tracing::error!(%conversation, %run, %error, "a run cannot go on: its events are not taken");
                return false;
            }
        }
        self.has_news | left_unheard(&mut self.words)
    }

    /// What comes next.
    async fn next(&mut self) -> Next {
        let now = clock::now_ms();
        let wait = self.agent.due().map_or(LOOK_AGAIN, |due| Duration::from_millis(due.saturating_sub(now)));
        tokio::select! {
            biased;
            () = self.shared.drain.cancelled() => Next::Drain,
            () = self.stop.cancelled() => Next::Inputs(vec![Input::Stop]),
            Some(word) = self.words.recv() => match word {
                Word::Consent(tool, answer) => Next::Inputs(vec![Input::Consent(tool, answer)]),
                Word::Again => Next::Inputs(vec![Input::Again]),
                Word::MessagePublished => {
                    self.has_news = true;
                    Next::Inputs(Vec::new())
                }
            },
            Some(note) = self.inbox.recv() => match note {
                Note::Missing(servers) => Next::Missing(servers),
                note => Next::Inputs(self.inputs(note)),
            },
            () = tokio::time::sleep(wait.min(LOOK_AGAIN)) => Next::Inputs(vec![Input::Time]),
        }
    }

    /// What a note is to the agent; nothing where it is of an answer that was hung up on.
    fn inputs(&mut self, note: Note) -> Vec<Input> {
        match note {
            Note::Events(number, events) if number == self.asked => {
                events.into_iter().map(Input::ModelEvent).collect()
            }
            Note::Silent(number, failure) if number == self.asked => vec![Input::Silent(failure)],
            Note::Events(..) | Note::Silent(..) | Note::Missing(_) => Vec::new(),
            Note::Progress(progress) => vec![Input::Progress(progress)],
            Note::Done(result) => {
                self.calls.remove(&result.tool);
                vec![Input::Done(result)]
            }
        }
    }

    /// Gives the agent what came, and does what it wants then.
    fn take(&mut self, inputs: impl IntoIterator<Item = Input>) -> Result<(), PublishError> {
        let mut out = Vec::new();
        for input in inputs {
            self.agent.take(input, clock::now_ms(), clock::random(), &mut out);
        }
        self.carry_out(out)
    }

    /// Keeps what is to be kept, then does what is to be done: nothing is done of which the log does not know.
    fn carry_out(&mut self, commands: Vec<Command>) -> Result<(), PublishError> {
        let mut events = Vec::new();
        let mut deeds = Vec::new();
        for command in commands {
            match command {
                Command::Log(event) => events.push(event),
                other => deeds.push(other),
            }
        }
        // Before anybody can know that it is asked: what is remembered is what will be executed.
        self.agent.asked_about().for_each(|(tool, arguments)| self.asks.remember_once(tool, arguments));
        self.scribe.say(events)?;
        for deed in deeds {
            match deed {
                Command::Ask(_) => self.ask(),
                Command::HangUp => self.model = None,
                Command::Execute(call) => self.execute(call),
                Command::Abort(tool) => drop(self.calls.remove(&tool)),
                Command::Log(_) | Command::Over => {}
            }
        }
        // Whoever is told of it has what was kept already.
        let waits = self.agent.waits_for_consent();
        self.waits.send_if_modified(|before| std::mem::replace(before, waits) != waits);
        Ok(())
    }

    fn ask(&mut self) {
        self.asked += 1;
        self.has_news = false;
        let call = Call {
            shared: Arc::clone(&self.shared),
            config: Arc::clone(&self.config),
            way: self.way.clone(),
            conversation: self.place.conversation.clone(),
            run: self.place.run.clone(),
            tools: Arc::clone(&self.tools),
            without_tools: self.terms.without_tools,
            number: self.asked,
            ticket: self.scribe.ticket(),
            inbox: self.notes.clone(),
            sinks: self.sinks.clone(),
        };
        self.model = Some(AbortOnDropHandle::new(tokio::spawn(call.run())));
    }

    /// Executes a call once the log has it.
    fn execute(&mut self, call: Execute) {
        let abort = CancellationToken::new();
        self.calls.insert(call.tool.clone(), abort.clone().drop_guard());
        let (shared, config) = (Arc::clone(&self.shared), Arc::clone(&self.config));
        let (notes, ticket) = (self.notes.clone(), self.scribe.ticket());
        // A model may call what it was not offered.
        let without_tools = self.terms.without_tools;
        tokio::spawn(async move {
            let log = shared.hub.log();
            let result = match reached(log, ticket, Durability::Stored.min(log.durability())).await {
                Ok(()) if without_tools => {
                    Some(failed(call.tool, "not executed: no tools are offered in this run"))
                }
                Ok(()) => shared.tools.execute(&config.tools, &call, &notes, &abort).await,
                Err(error) => Some(failed(call.tool, &format!("not executed: {error}"))),
            };
            if let Some(result) = result {
                // The run may be over.
                drop(notes.send(Note::Done(result)).await);
            }
        });
    }

    /// Says, once for each, that the tools of these servers are not there.
    fn say_missing(&mut self, servers: Vec<(CompactString, String)>) -> Result<(), PublishError> {
        let mut said = Vec::new();
        for (server, why) in servers {
            if self.missing.insert(server.clone()) {
                let text = format!("the tools {server} are not there: {why}");
                said.push(Event::new(&self.place.run, Kind::Status { text }));
            }
        }
        self.scribe.say(said)
    }

    /// The hub stops: the run is over for now, and all that was open is as it was when it goes on.
    fn interrupt(&mut self) -> Result<(), PublishError> {
        self.model = None;
        self.calls.clear();
        let run = self.place.run.clone();
        let fact = ErrorFact {
            code: HUB_STOPPED.into(),
            message: String::from("the hub stopped; the run goes on when it is back"),
            retryable: Some(true),
            retry_after_ms: None,
        };
        let end = RunEnd { status: RunStatus::Interrupted, lost: true, ..RunEnd::default() };
        self.scribe.say(vec![Event::new(&run, Kind::Error(fact)), Event::new(&run, Kind::RunEnd(end))])?;
        self.agent.leave();
        Ok(())
    }
}

/// See [`Shell::next`].
enum Next {
    Inputs(Vec<Input>),
    Missing(Vec<(CompactString, String)>),
    Drain,
}

#[cfg(test)]
mod tests;
