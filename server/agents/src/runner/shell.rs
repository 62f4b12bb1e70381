//! The shell: carries out what an agent decides. Publishes its events, asks its model, executes its calls.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use compact_str::CompactString;
use event_log::{clock, machine};
use hub::PublishError;
use model::ToolCallId;
use model::event::{ErrorFact, Event, Kind, RunEnd, RunStart, RunStatus};
use tokio::sync::mpsc;
use tokio_util::sync::{CancellationToken, DropGuard};
use tokio_util::task::AbortOnDropHandle;

use super::model::ModelCall;
use super::note::Note;
use super::{Agent, Command, Input};
use crate::driver::{self, RunParts, Source};
use crate::run::{Execute, HUB_STOPPED, RUNNER, failed};
use crate::run_publisher::RunPublisher;
use crate::settings::{Plan, RunnerConfig};
use crate::streams::Streams;

/// A run that the hub itself does: its agent, its open request and the calls that are executing. Owned by the
/// task of the run; dropping it ends all of them.
#[derive(Debug)]
pub(crate) struct Shell {
    /// The parts of every run.
    parts: RunParts,
    /// The agent's settings, as they were when the run began.
    config: Arc<RunnerConfig>,
    /// Decides what is done.
    agent: Agent,
    /// Publishes its events; reads the run back.
    publisher: RunPublisher,
    /// Sinks that get the raw events of the model.
    streams: Streams,
    /// What the model and the calls report, in order of arrival; at most `notes_max` wait.
    inbox: mpsc::Receiver<Note>,
    /// Cloned for each request and call.
    notes: mpsc::Sender<Note>,
    /// The calls that are executing. Dropping an entry stops the call.
    calls: HashMap<ToolCallId, DropGuard>,
    /// The servers of which it was already said that their tools cannot be used.
    missing: HashSet<CompactString>,
    /// The task of the open request.
    model: Option<AbortOnDropHandle<()>>,
    /// The number of requests that were sent to the model.
    asked: u64,
}

impl Shell {
    /// Begins a new run. Its beginning is in the conversation when this returns.
    pub(crate) fn begin(config: Arc<RunnerConfig>, parts: RunParts) -> Result<Self, PublishError> {
        let handed_over = parts.tools.iter().map(|tool| tool.name.clone()).collect();
        let plan = Plan { handed_over, ..config.plan.clone() };
        let agent = Agent::new(parts.place.run.clone(), plan);
        let mut shell = Self::new(config, parts, agent);
        shell.give([Input::Time])?;
        Ok(shell)
    }

    /// Resumes a run as the conversation has it.
    pub(crate) fn resume(config: Arc<RunnerConfig>, parts: RunParts) -> Result<Self, PublishError> {
        let (run, plan) = (parts.place.run.clone(), config.plan.clone());
        let agent = Agent::new(run.clone(), plan.clone());
        let mut shell = Self::new(config, parts, agent);
        let mut view = shell.publisher.look();
        let was_lost = view.as_ref().is_some_and(|view| view.loss.is_some());
        if was_lost {
            // This reopens a run that only the hub itself had ended.
            let (model, name) = (Some(plan.model.clone()), plan.name.clone());
            let (dialect, host) = (Some(RUNNER.into()), machine::name().cloned());
            let start = Kind::RunStart(RunStart { model, name, dialect, title: None, host });
            shell.publisher.say(vec![Event::new(&run, start)])?;
            view = shell.publisher.look();
        }
        let mut out = Vec::new();
        shell.agent = Agent::resume(run, plan, &view.unwrap_or_default(), clock::now_ms(), &mut out);
        if was_lost && !out.is_empty() {
            out.remove(0);
        }
        shell.carry_out(out)?;
        Ok(shell)
    }

    /// Makes the shell with its channel and its sinks. Nothing is sent yet.
    fn new(config: Arc<RunnerConfig>, parts: RunParts, agent: Agent) -> Self {
        let (notes, inbox) = mpsc::channel(config.notes_max.max(1));
        let publisher = RunPublisher::new(&parts.host, parts.place.clone()).at(config.price);
        let streams = Streams::open(&parts.host, &parts.place, &config.sinks);
        Self {
            parts,
            config,
            agent,
            publisher,
            streams,
            inbox,
            notes,
            calls: HashMap::new(),
            missing: HashSet::new(),
            model: None,
            asked: 0,
        }
    }

    /// Turns a note into inputs for the agent; none if it belongs to an answer that was given up.
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

    /// Gives the agent inputs and carries out its commands.
    fn give(&mut self, inputs: impl IntoIterator<Item = Input>) -> Result<(), PublishError> {
        let mut out = Vec::new();
        for input in inputs {
            self.agent.take(input, clock::now_ms(), clock::random(), &mut out);
        }
        self.carry_out(out)
    }

    /// Publishes events first and then does the rest: nothing is done of which the log does not know. Fails
    /// if the conversation does not take the events; then none of the rest is done.
    fn carry_out(&mut self, commands: Vec<Command>) -> Result<(), PublishError> {
        let mut events = Vec::new();
        let mut actions = Vec::new();
        for command in commands {
            match command {
                Command::Log(mut event) => {
                    // The agent is pure: it does not know where it runs.
                    if let Kind::RunStart(start) = &mut event.kind {
                        start.host = machine::name().cloned();
                    }
                    events.push(event);
                }
                other => actions.push(other),
            }
        }
        // Before anybody can know the question: what is noted is what will be executed.
        self.agent
            .asked_about()
            .for_each(|(tool, arguments)| self.parts.asked.remember_once(tool, arguments));
        self.publisher.say(events)?;
        for action in actions {
            match action {
                Command::Ask(_) => self.ask(),
                Command::HangUp => self.model = None,
                Command::Execute(call) => self.execute(call),
                Command::Abort(tool) => drop(self.calls.remove(&tool)),
                Command::Log(_) | Command::Over => {}
            }
        }
        // After everything was published: whoever sees the change can read what led to it.
        let waits = self.agent.waits_for_consent();
        self.parts.waits.send_if_modified(|before| std::mem::replace(before, waits) != waits);
        Ok(())
    }

    /// Asks the model, in a task of its own.
    fn ask(&mut self) {
        self.asked += 1;
        let (ticket, inbox) = (self.publisher.ticket(), self.notes.clone());
        let call =
            ModelCall::new(&self.parts, &self.config, (self.asked, ticket), inbox, self.streams.clone());
        self.model = Some(AbortOnDropHandle::new(tokio::spawn(call.run())));
    }

    /// Executes a call, in a task of its own, once the log has it. One result comes back as a note, unless
    /// the call is aborted before.
    fn execute(&mut self, call: Execute) {
        let abort = CancellationToken::new();
        self.calls.insert(call.tool.clone(), abort.clone().drop_guard());
        let (host, config) = (Arc::clone(&self.parts.host), Arc::clone(&self.config));
        let (notes, ticket) = (self.notes.clone(), self.publisher.ticket());
        // A model may call a tool that it was not offered.
        let without_tools = self.parts.terms.without_tools;
        tokio::spawn(async move {
            let result = match host.kept(ticket).await {
                Ok(()) if without_tools => {
                    Some(failed(call.tool, "not executed: no tools are offered in this run"))
                }
                Ok(()) => {
                    let progress = notes.clone();
                    // Only the newest progress counts, so one may be dropped if too many wait.
                    let told = move |it| drop(progress.try_send(Note::Progress(it)));
                    host.tools.execute(&config.tools, &call, Box::new(told), &abort).await
                }
                Err(error) => Some(failed(call.tool, &format!("not executed: {error}"))),
            };
            if let Some(result) = result {
                // The run may be over.
                drop(notes.send(Note::Done(result)).await);
            }
        });
    }

    /// Says, once for each server, that its tools cannot be used.
    fn say_missing(&mut self, servers: Vec<(CompactString, String)>) -> Result<(), PublishError> {
        let mut said = Vec::new();
        for (server, why) in servers {
            if self.missing.insert(server.clone()) {
                let text = format!("the tools {server} are not there: {why}");
                said.push(Event::new(&self.parts.place.run, Kind::Status { text }));
            }
        }
        self.publisher.say(said)
    }

    /// Ends the run for now because the hub stops. Everything that was open stays as it is until the run is
    /// resumed.
    fn interrupt(&mut self) -> Result<(), PublishError> {
        self.model = None;
        self.calls.clear();
        let run = self.parts.place.run.clone();
        let fact = ErrorFact {
            code: HUB_STOPPED.into(),
            message: String::from("the hub stopped; the run goes on when it is back"),
            retryable: Some(true),
            retry_after_ms: None,
        };
        let end = RunEnd { status: RunStatus::Interrupted, lost: true, ..RunEnd::default() };
        self.publisher.say(vec![Event::new(&run, Kind::Error(fact)), Event::new(&run, Kind::RunEnd(end))])?;
        self.agent.leave();
        Ok(())
    }
}

impl Source for Shell {
    type Note = Note;

    fn parts(&self) -> &RunParts {
        &self.parts
    }

    /// The first request was made in [`Shell::begin`], so that the beginning of the run is in the
    /// conversation before the turn counts as begun.
    fn start(&mut self) -> Result<(), PublishError> {
        Ok(())
    }

    async fn note(&mut self) -> Note {
        match self.inbox.recv().await {
            Some(note) => note,
            // The shell holds a sender itself, so the channel is never closed.
            None => std::future::pending().await,
        }
    }

    fn due(&self) -> Option<u64> {
        self.agent.due()
    }

    fn take(&mut self, input: driver::Input<Note>) -> Result<(), PublishError> {
        match input {
            driver::Input::Drain => self.interrupt(),
            driver::Input::Stop => self.give([Input::Stop]),
            driver::Input::Consent(tool, answer) => self.give([Input::Consent(tool, answer)]),
            driver::Input::Again => self.give([Input::Again]),
            driver::Input::Time => self.give([Input::Time]),
            driver::Input::Note(Note::Missing(servers)) => self.say_missing(servers),
            driver::Input::Note(note) => {
                let inputs = self.inputs(note);
                self.give(inputs)
            }
        }
    }

    fn told(&self) -> u64 {
        self.asked
    }

    fn is_over(&self) -> bool {
        self.agent.is_over()
    }
}
