//! Carries out what an agent decides: keeps its events, asks its model, executes its calls, lets time pass. One task for
//! each run; nobody who asked for the run is needed for it to go on.

use std::sync::Arc;
use std::time::Duration;

use shared::dialect::Decoded;
use shared::event::{ErrorFact, Event, Kind, RunEnd, RunStart, RunStatus, ToolProgress, ToolResult};
use shared::frame::Durability;
use shared::{ConversationId, RunId, ToolCallId};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;
use tokio_util::task::AbortOnDropHandle;

use super::model::{Call, Way};
use super::{Agent, Answer, Ask, Command, HUB_STOPPED, Input, NAME};
use crate::clock;
use crate::config::RunnerConfig;
use crate::hub::{Attendant, Publication, PublishError};
use crate::log::Ticket;
use crate::state::Shared;

/// Notes of the model and of tools that wait to be read; beyond it those wait who write them.
const NOTES_MAX: usize = 16;

/// Longest sleep: the clock of the day may be set while it sleeps.
const LOOK_AGAIN: Duration = Duration::from_secs(5);

/// Where a run is.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Place {
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
    /// Somebody said something in the conversation: the model is told with its next request.
    Said,
}

/// What comes to a run from its model and its tools.
#[derive(Debug)]
pub(super) enum Note {
    /// The model says something; with the number of the request.
    Said(u64, Vec<Event>),
    /// The answer is over, or was never begun.
    Silent(u64, Option<ErrorFact>),
    /// A call says how far it is.
    #[expect(dead_code, reason = "the tools come next")]
    Progress(ToolProgress),
    /// A call is over.
    #[expect(dead_code, reason = "the tools come next")]
    Done(ToolResult),
}

/// See the module.
#[derive(Debug)]
pub(crate) struct Shell {
    shared: Arc<Shared>,
    config: Arc<RunnerConfig>,
    way: Way,
    place: Place,
    agent: Agent,
    attendant: Attendant,
    stop: CancellationToken,
    words: mpsc::Receiver<Word>,
    inbox: mpsc::Receiver<Note>,
    notes: mpsc::Sender<Note>,
    /// The request that is open.
    model: Option<AbortOnDropHandle<()>>,
    asked: u64,
    /// Reached when the log has all that was said.
    ticket: Ticket,
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
    pub(crate) place: Place,
    /// Cancelled when somebody stops the run.
    pub(crate) stop: CancellationToken,
    /// What comes from outside.
    pub(crate) words: mpsc::Receiver<Word>,
}

impl Shell {
    /// A new run, whose beginning is in the conversation when this returns.
    pub(crate) fn begin(parts: Parts) -> Result<Self, PublishError> {
        let agent = Agent::new(parts.place.run.clone(), parts.config.plan.clone());
        let mut shell = Self::new(parts, agent);
        shell.take([Input::Time])?;
        Ok(shell)
    }

    /// A run that is there already goes on as the conversation has it.
    pub(crate) fn resume(parts: Parts) -> Result<Self, PublishError> {
        let (run, plan) = (parts.place.run.clone(), parts.config.plan.clone());
        let agent = Agent::new(run.clone(), plan.clone());
        let mut shell = Self::new(parts, agent);
        let mut view = shell.look();
        let was_lost = view.as_ref().is_some_and(|view| view.loss.is_some());
        if was_lost {
            // With this the hub opens again what only its own end had closed.
            let (model, name) = (Some(plan.model.clone()), plan.name.clone());
            let start = Kind::RunStart(RunStart { model, name, dialect: Some(NAME.into()), title: None });
            shell.say(vec![Event::new(&run, start)])?;
            view = shell.look();
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
        let Parts { shared, config, way, place, stop, words } = parts;
        let (notes, inbox) = mpsc::channel(NOTES_MAX);
        let attendant = Attendant::new(&shared.hub);
        let (model, asked, ticket, has_news) = (None, 0, Ticket::default(), false);
        Self {
            shared,
            config,
            way,
            place,
            agent,
            attendant,
            stop,
            words,
            inbox,
            notes,
            model,
            asked,
            ticket,
            has_news,
        }
    }

    /// The run as it stands.
    fn look(&self) -> Option<shared::view::RunView> {
        let found = self.shared.hub.find(&self.place.conversation).ok().flatten()?;
        found.look(|view| view.runs.get(&self.place.run).cloned())
    }

    /// Goes on until the run is over. True when something was said that the model has not been told.
    pub(crate) async fn run(mut self) -> bool {
        while !self.agent.is_over() {
            let went = match self.next().await {
                Next::Inputs(inputs) => self.take(inputs),
                Next::Drain => self.interrupt(),
            };
            if let Err(error) = went {
                let Place { conversation, run } = &self.place;
                tracing::error!(%conversation, %run, %error, "a run cannot go on: its events are not taken");
                return false;
            }
        }
        self.has_news
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
                Word::Said => {
                    self.has_news = true;
                    Next::Inputs(Vec::new())
                }
            },
            Some(note) = self.inbox.recv() => Next::Inputs(self.inputs(note)),
            () = tokio::time::sleep(wait.min(LOOK_AGAIN)) => Next::Inputs(vec![Input::Time]),
        }
    }

    /// What a note is to the agent; nothing where it is of an answer that was hung up on.
    fn inputs(&self, note: Note) -> Vec<Input> {
        match note {
            Note::Said(number, events) if number == self.asked => {
                events.into_iter().map(Input::Said).collect()
            }
            Note::Silent(number, failure) if number == self.asked => vec![Input::Silent(failure)],
            Note::Said(..) | Note::Silent(..) => Vec::new(),
            Note::Progress(progress) => vec![Input::Progress(progress)],
            Note::Done(result) => vec![Input::Done(result)],
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
        self.say(events)?;
        for deed in deeds {
            match deed {
                Command::Ask(ask) => self.ask(ask),
                Command::HangUp => self.model = None,
                Command::Execute(_) | Command::Abort(_) | Command::Log(_) | Command::Over => {}
            }
        }
        Ok(())
    }

    fn say(&mut self, events: Vec<Event>) -> Result<(), PublishError> {
        if events.is_empty() {
            return Ok(());
        }
        let mut said = Decoded::default();
        for event in events {
            said.event(event);
        }
        let publication = Publication {
            level: Durability::Stored.min(self.shared.hub.log().durability()),
            speaker: self.attendant.speaks_in(&self.place.conversation),
            ..Publication::of(said.envelopes)
        };
        self.ticket = self.shared.fanout.publish(&self.place.conversation, publication)?.ticket;
        Ok(())
    }

    fn ask(&mut self, ask: Ask) {
        self.asked += 1;
        self.has_news = false;
        let call = Call {
            shared: Arc::clone(&self.shared),
            config: Arc::clone(&self.config),
            way: self.way.clone(),
            conversation: self.place.conversation.clone(),
            run: self.place.run.clone(),
            ask,
            tools: Vec::new(),
            number: self.asked,
            ticket: self.ticket,
            inbox: self.notes.clone(),
        };
        self.model = Some(AbortOnDropHandle::new(tokio::spawn(call.run())));
    }

    /// The hub stops: the run is over for now, and all that was open is as it was when it goes on.
    fn interrupt(&mut self) -> Result<(), PublishError> {
        self.model = None;
        let run = self.place.run.clone();
        let fact = ErrorFact {
            code: HUB_STOPPED.into(),
            message: String::from("the hub stopped; the run goes on when it is back"),
            retryable: true,
            retry_after_ms: None,
        };
        let end = RunEnd { status: RunStatus::Interrupted, lost: true, ..RunEnd::default() };
        self.say(vec![Event::new(&run, Kind::Error(fact)), Event::new(&run, Kind::RunEnd(end))])?;
        self.agent.leave();
        Ok(())
    }
}

/// See [`Shell::next`].
enum Next {
    Inputs(Vec<Input>),
    Drain,
}
