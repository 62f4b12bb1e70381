//! The agent loop, without clock and I/O: inputs come with the time, and what is to be done goes out as commands.

use ::model::event::{
    ErrorFact, Message, PartEnd, RunEnd, RunStart, RunStatus, ToolProgress, ToolResult, ToolState,
    ToolStateChange,
};
use ::model::{Event, Kind, MessageId, RunId, ToolCallId};

use super::calls::Calls;
use crate::ids::Ids;
use crate::run::{Answer, Execute, RUNNER, failed};
use crate::settings::Plan;

mod model;
mod resume;

/// What comes to an agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Input {
    /// The model said something: an event of its answer, decoded.
    ModelEvent(Event),
    /// The model's answer is over, or was never begun: with why, where it failed.
    Silent(Option<ErrorFact>),
    /// A call says how far it is.
    Progress(ToolProgress),
    /// A call is over.
    Done(ToolResult),
    /// A person answers whether a call may be executed.
    Consent(ToolCallId, Answer),
    /// A person does not want to wait until the model is asked again.
    Again,
    /// A person stops the run.
    Stop,
    /// Time went by.
    Time,
}

/// What an agent wants to be done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Command {
    /// Keep this event.
    Log(Event),
    /// Ask the model, with the conversation as it stands now.
    Ask(Ask),
    /// Let go of the model's answer.
    HangUp,
    /// Execute a call.
    Execute(Execute),
    /// Stop executing a call; what it gives back is of no interest any more.
    Abort(ToolCallId),
    /// Nothing more will come.
    Over,
}

/// See [`Command::Ask`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Ask {
    /// Which answer of the run this is, from 1.
    pub(crate) step: u32,
    /// Which attempt at it, from 1.
    pub(crate) attempt: u32,
}

/// How far an agent is.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Phase {
    Fresh,
    /// The model was asked, and last heard of then.
    Asked {
        heard: u64,
    },
    /// The model has answered; the calls go on.
    Answered,
    /// The answer broke off. It is asked for again, not before that time and not before the calls are over.
    Again {
        at: u64,
    },
    /// It failed for good, and ends when the calls are over.
    Failed(ErrorFact),
    Over,
}

/// The state machine of one run. It decides and does nothing itself: each input returns the commands to carry out.
#[derive(Debug)]
pub(crate) struct Agent {
    plan: Plan,
    run: RunId,
    phase: Phase,
    calls: Calls,
    ids: Ids,
    step: u32,
    attempt: u32,
    /// Bytes of text in this answer.
    said_bytes: usize,
    /// Whether anything of this answer is kept already.
    has_begun: bool,
    /// Whether this answer calls for tools.
    has_called: bool,
    /// Whether it calls for one that whoever asked for the run executes.
    has_handed_over: bool,
    /// What the model's own stream said went wrong.
    failure: Option<ErrorFact>,
}

impl Agent {
    /// Does `run` by `plan`. Begins with the first input.
    pub(crate) fn new(run: RunId, plan: Plan) -> Self {
        Self {
            plan,
            run,
            phase: Phase::Fresh,
            calls: Calls::default(),
            ids: Ids::default(),
            step: 0,
            attempt: 0,
            said_bytes: 0,
            has_begun: false,
            has_called: false,
            has_handed_over: false,
            failure: None,
        }
    }

    /// Whether nothing more will come.
    pub(crate) fn is_over(&self) -> bool {
        self.phase == Phase::Over
    }

    /// Whether it goes on only when a person has answered.
    pub(crate) fn waits_for_consent(&self) -> bool {
        self.phase == Phase::Answered && self.calls.wait_for_consent()
    }

    /// The calls about which a person is asked, with the arguments that they will be executed with.
    pub(crate) fn asked_about(&self) -> impl Iterator<Item = (&ToolCallId, &str)> {
        self.calls.asked_about()
    }

    /// Does nothing more: the run is as it is.
    pub(crate) fn leave(&mut self) {
        self.phase = Phase::Over;
    }

    /// When the next [`Input::Time`] is due at the latest, in milliseconds since 1970.
    pub(crate) fn due(&self) -> Option<u64> {
        let own = match self.phase {
            Phase::Fresh => Some(0),
            Phase::Asked { heard } => Some(heard.saturating_add(self.plan.silence_ms)),
            Phase::Again { at } if self.calls.are_over() => Some(at),
            _ => None,
        };
        own.into_iter().chain(self.calls.due(&self.plan)).min()
    }

    /// Takes what came at `now` (milliseconds since 1970). `random` is any random number.
    pub(crate) fn take(&mut self, input: Input, now: u64, random: u64, out: &mut Vec<Command>) {
        if self.phase == Phase::Over {
            return;
        }
        if self.phase == Phase::Fresh {
            self.log(self.start(), out);
            self.ask(now, out);
        }
        match input {
            Input::ModelEvent(event) => self.said(event, now, out),
            Input::Silent(failure) => self.silent(failure, now, random, out),
            Input::Progress(progress) => self.log(Kind::ToolProgress(progress), out),
            Input::Done(result) => self.done(result, now, out),
            Input::Consent(tool, answer) => self.consent(&tool, answer, now, out),
            Input::Again => self.hurry(now, out),
            Input::Stop => return self.stop(out),
            Input::Time => self.time(now, random, out),
        }
        for execute in self.calls.dispatch(&self.plan, now) {
            let change = ToolStateChange {
                tool: execute.tool.clone(),
                state: ToolState::Executing,
                queued_ms: Some(execute.queued_ms),
                exec_ms: None,
            };
            self.log(Kind::ToolState(change), out);
            out.push(Command::Execute(execute));
        }
        self.go_on(now, out);
    }

    /// That the run begins, or goes on.
    fn start(&self) -> Kind {
        let (model, name) = (Some(self.plan.model.clone()), self.plan.name.clone());
        Kind::RunStart(RunStart { model, name, dialect: Some(RUNNER.into()), title: None })
    }

    fn log(&self, kind: Kind, out: &mut Vec<Command>) {
        out.push(Command::Log(Event::new(&self.run, kind)));
    }

    fn change(&self, tool: ToolCallId, state: ToolState, out: &mut Vec<Command>) {
        let change = ToolStateChange { tool, state, queued_ms: None, exec_ms: None };
        self.log(Kind::ToolState(change), out);
    }

    /// A call is over.
    fn done(&mut self, mut result: ToolResult, now: u64, out: &mut Vec<Command>) {
        // One that was given up may still answer.
        let Some(took) = self.calls.finish(&result.tool, now) else { return };
        result.queued_ms = result.queued_ms.or(took.queued_ms);
        result.exec_ms = result.exec_ms.or(took.exec_ms);
        self.log(Kind::ToolResult(result), out);
    }

    fn consent(&mut self, tool: &ToolCallId, answer: Answer, now: u64, out: &mut Vec<Command>) {
        if !self.calls.awaits_consent(tool) {
            return;
        }
        let asked = tool.clone();
        match answer {
            Answer::Yes { arguments } => {
                self.log(Kind::ApprovalAnswer { tool: asked, approved: true, text: None }, out);
                if arguments.is_some() {
                    let (tool, arguments) = (tool.clone(), arguments.clone());
                    self.log(Kind::ToolCall { tool, name: None, arguments }, out);
                }
                self.calls.consent(tool, arguments.as_deref());
            }
            Answer::No { why } => {
                let said = why.as_deref().map(|why| self.reason(tool, why));
                self.log(Kind::ApprovalAnswer { tool: asked, approved: false, text: why }, out);
                self.calls.finish(tool, now);
                out.extend(said.map(Command::Log));
            }
        }
    }

    /// Why a call was rejected, as what a person says in the conversation: so everybody sees it, and the model is told with
    /// its next request.
    fn reason(&self, tool: &ToolCallId, why: &str) -> Event {
        let message = MessageId::new(&format!("{}.{tool}.why", self.run));
        let message = Message { message, role: "user".into(), text: why.to_owned() };
        Event::new(&RunId::none(), Kind::Message(message))
    }

    /// A person stops everything.
    fn stop(&mut self, out: &mut Vec<Command>) {
        if matches!(self.phase, Phase::Asked { .. }) {
            out.push(Command::HangUp);
        }
        for (tool, executes) in self.calls.drop_all() {
            if executes {
                out.push(Command::Abort(tool.clone()));
            }
            self.change(tool, ToolState::Cancelled, out);
        }
        self.end(RunStatus::Cancelled, out);
    }

    fn time(&mut self, now: u64, random: u64, out: &mut Vec<Command>) {
        for tool in self.calls.overdue(&self.plan, now) {
            out.push(Command::Abort(tool.clone()));
            let said = format!("timed out after {} s", self.plan.call_ms / 1_000);
            self.done(failed(tool, &said), now, out);
        }
        if let Phase::Asked { heard } = self.phase
            && heard.saturating_add(self.plan.silence_ms) <= now
        {
            out.push(Command::HangUp);
            let said = format!("the model said nothing for {} s", self.plan.silence_ms / 1_000);
            self.silent(Some(failure("model_silent", &said, true)), now, random, out);
        }
    }

    /// Does what comes next, once nothing is open.
    fn go_on(&mut self, now: u64, out: &mut Vec<Command>) {
        if !self.calls.are_over() {
            return;
        }
        match &self.phase {
            Phase::Answered if !self.has_called || self.has_handed_over => self.end(RunStatus::Complete, out),
            Phase::Answered if self.step >= self.plan.steps_max => {
                let said = format!("the model has answered {} times and calls on", self.step);
                // Told to go on, it has as many answers again.
                let fact = ErrorFact { retryable: None, ..failure("too_many_steps", &said, false) };
                self.fail(fact, out);
            }
            Phase::Answered => self.ask(now, out),
            Phase::Again { at } if *at <= now => self.ask(now, out),
            Phase::Failed(fact) => self.fail(fact.clone(), out),
            _ => {}
        }
    }

    fn fail(&mut self, fact: ErrorFact, out: &mut Vec<Command>) {
        self.log(Kind::Error(fact), out);
        self.end(RunStatus::Error, out);
    }

    fn end(&mut self, status: RunStatus, out: &mut Vec<Command>) {
        self.phase = Phase::Over;
        self.log(Kind::RunEnd(RunEnd { status, ..RunEnd::default() }), out);
        out.push(Command::Over);
    }
}

fn failure(code: &str, message: &str, retryable: bool) -> ErrorFact {
    ErrorFact {
        code: code.into(),
        message: message.to_owned(),
        retryable: Some(retryable),
        retry_after_ms: None,
    }
}

#[cfg(test)]
mod tests;
