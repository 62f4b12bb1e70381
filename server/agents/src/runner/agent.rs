//! The agent loop without clock and I/O: inputs come with the time, and what is to be done comes out as
//! commands.

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

/// An input of the agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Input {
    /// The model has said something: a decoded event of its answer.
    ModelEvent(Event),
    /// The model's answer is over, or did not begin: with the failure, if there was one.
    Silent(Option<ErrorFact>),
    /// A call reports its progress.
    Progress(ToolProgress),
    /// A call is over.
    Done(ToolResult),
    /// A person answers whether a call may be executed.
    Consent(ToolCallId, Answer),
    /// A person does not want to wait until the model is asked again.
    Again,
    /// A person stops the run.
    Stop,
    /// Some time has passed.
    Time,
}

/// A command to the shell.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Command {
    /// Publish this event in the conversation.
    Log(Event),
    /// Ask the model, with the conversation as it is now.
    Ask(Ask),
    /// Stop reading the model's answer.
    HangUp,
    /// Execute a tool call.
    Execute(Execute),
    /// Stop executing a call, whose result is no longer wanted.
    Abort(ToolCallId),
    /// The run is over.
    Over,
}

/// The number of a request to the model, by answer and attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Ask {
    /// The number of the answer in the run, from 1.
    pub(crate) step: u32,
    /// The number of the attempt at it, from 1.
    pub(crate) attempt: u32,
}

/// The phase of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Phase {
    /// Nothing was done so far.
    Fresh,
    /// The model is asked. Times here and below are in milliseconds since 1970.
    Asked {
        /// When the model last said something.
        heard: u64,
    },
    /// The model has answered; its calls go on.
    Answered,
    /// The answer broke off. It is asked for again once the calls are over.
    Again {
        /// The earliest time of the next request.
        at: u64,
    },
    /// The run has failed for good, and ends when the calls are over.
    Failed(ErrorFact),
    Over,
}

/// The state machine of one run. It decides and does nothing itself: each input returns commands to carry
/// out. Owned by the shell.
#[derive(Debug)]
pub(crate) struct Agent {
    /// The bounds of the run.
    plan: Plan,
    /// The run that its events get.
    run: RunId,
    phase: Phase,
    /// The calls that are open.
    calls: Calls,
    /// Gives calls ids that the run has not used yet.
    ids: Ids,
    /// The number of the present answer.
    step: u32,
    /// The number of the attempt at it.
    attempt: u32,
    /// How many bytes of text this answer has.
    said_bytes: usize,
    /// Whether anything of this answer was published.
    has_begun: bool,
    /// Whether this answer calls tools that the hub executes.
    has_called: bool,
    /// Whether this answer calls a tool that the caller executes.
    has_handed_over: bool,
    /// The error that the model's stream has reported.
    failure: Option<ErrorFact>,
}

impl Agent {
    /// Makes a state machine for `run` with the settings in `plan`. It begins with the first input.
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

    /// Whether the run is over.
    pub(crate) fn is_over(&self) -> bool {
        self.phase == Phase::Over
    }

    /// Whether the run goes on only after a person's answer.
    pub(crate) fn waits_for_consent(&self) -> bool {
        self.phase == Phase::Answered && self.calls.wait_for_consent()
    }

    /// The calls about which a person is asked, with the arguments with which they will be executed.
    pub(crate) fn asked_about(&self) -> impl Iterator<Item = (&ToolCallId, &str)> {
        self.calls.asked_about()
    }

    /// Does nothing more, and leaves the run as it is.
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

    /// Takes an input at the time `now` (milliseconds since 1970) and adds commands to `out`. `random` is a
    /// random number, for the waits between attempts.
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

    /// The event that says that the run begins or goes on.
    fn start(&self) -> Kind {
        let (model, name) = (Some(self.plan.model.clone()), self.plan.name.clone());
        Kind::RunStart(RunStart { model, name, dialect: Some(RUNNER.into()), ..RunStart::default() })
    }

    /// Publishes an event of the run.
    fn log(&self, kind: Kind, out: &mut Vec<Command>) {
        out.push(Command::Log(Event::new(&self.run, kind)));
    }

    /// Publishes a new state of a call.
    fn change(&self, tool: ToolCallId, state: ToolState, out: &mut Vec<Command>) {
        let change = ToolStateChange { tool, state, queued_ms: None, exec_ms: None };
        self.log(Kind::ToolState(change), out);
    }

    /// Publishes the result of a call.
    fn done(&mut self, mut result: ToolResult, now: u64, out: &mut Vec<Command>) {
        // A call that was given up may still return a result.
        let Some(took) = self.calls.finish(&result.tool, now) else { return };
        result.queued_ms = result.queued_ms.or(took.queued_ms);
        result.exec_ms = result.exec_ms.or(took.exec_ms);
        self.log(Kind::ToolResult(result), out);
    }

    /// Takes a person's answer about a call.
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

    /// The reason for a rejection as a message of the person, so that all viewers see it and the model gets
    /// it with its next request.
    fn reason(&self, tool: &ToolCallId, why: &str) -> Event {
        let message = MessageId::new(&format!("{}.{tool}.why", self.run));
        let message = Message { message, role: "user".into(), text: why.to_owned(), files: Vec::new() };
        Event::new(&RunId::none(), Kind::Message(message))
    }

    /// Stops the open calls, hangs up on the model and ends the run as cancelled.
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

    /// Ends calls and answers that have taken too long.
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

    /// Decides the next step once no call is open.
    fn go_on(&mut self, now: u64, out: &mut Vec<Command>) {
        if !self.calls.are_over() {
            return;
        }
        match &self.phase {
            Phase::Answered if !self.has_called || self.has_handed_over => self.end(RunStatus::Complete, out),
            Phase::Answered if self.step >= self.plan.steps_max => {
                let said = format!("the model has answered {} times and calls on", self.step);
                // If a person resumes the run, the model may answer as many times again.
                let fact = ErrorFact { retryable: None, ..failure("too_many_steps", &said, false) };
                self.fail(fact, out);
            }
            Phase::Answered => self.ask(now, out),
            Phase::Again { at } if *at <= now => self.ask(now, out),
            Phase::Failed(fact) => self.fail(fact.clone(), out),
            _ => {}
        }
    }

    /// Ends the run with an error.
    fn fail(&mut self, fact: ErrorFact, out: &mut Vec<Command>) {
        self.log(Kind::Error(fact), out);
        self.end(RunStatus::Error, out);
    }

    /// Ends the run with `status`.
    fn end(&mut self, status: RunStatus, out: &mut Vec<Command>) {
        self.phase = Phase::Over;
        self.log(Kind::RunEnd(RunEnd { status, ..RunEnd::default() }), out);
        out.push(Command::Over);
    }
}

/// A failure with this code.
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
