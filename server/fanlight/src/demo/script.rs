//! The scripts of the demo: what is said and done, and how long it takes.
//!
//! A script is text. A line that begins with `@` is a direction; what follows, up to the next one, is its body. Each
//! further `@` is one level deeper: the steps of a sub-agent.
//!
//! ```text
//! @play NAME dialect=openai-chat model=… agent=… rate=60 [once]    rate: tokens in a second
//! @run TITLE                                       a run; the directions up to the next one are its steps
//! @user                                            what the person asks, before the run
//! @status TEXT                                     the line about what goes on
//! @think [rate=N]  @say [rate=N]                   what the model writes
//! @call ID NAME                                    a call; the body is its arguments
//! @result ID [after=MS] [takes=MS] [error]         the call is executed and gives back the body
//! @output                                          what the call above prints while it runs
//! @ask [wait=MS]                                   what a person is asked before the call above runs
//! @agent ID NAME [call=ID] [after=MS]              a sub-agent with the body as its task; its steps have one @ more
//! @return                                          what the sub-agent above gives back to the call
//! @fail CODE                                       the model's server fails here, with the body as its message
//! ```
//!
//! Directions of one kind that follow one another belong together: `think`, `say` and `call` are one model call,
//! `result` and `agent` run at the same time.

use std::time::Duration;

mod read;

/// One conversation and what happens in it, again and again.
#[derive(Debug)]
pub(super) struct DemoScript {
    /// The name of the conversation.
    pub(super) name: String,
    /// The dialect of the main agent's model.
    pub(super) dialect: DemoDialect,
    /// The model.
    pub(super) model: String,
    /// The name of the main agent.
    pub(super) agent: String,
    /// Tokens in a second.
    pub(super) rate: u32,
    /// Whether it is played once only.
    pub(super) once: bool,
    /// The runs, in turn.
    pub(super) scenes: Vec<ScriptRun>,
}

/// In which dialect a model call is published.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum DemoDialect {
    OpenAiChat,
    Anthropic,
    Native,
}

/// One run of a scripted conversation: what the user asks, and the steps of the agent.
#[derive(Debug)]
pub(super) struct ScriptRun {
    /// What it is about.
    pub(super) title: String,
    /// What the person asks.
    pub(super) user: String,
    /// What happens.
    pub(super) steps: Vec<ScriptStep>,
}

/// What happens next.
#[derive(Debug)]
pub(super) enum ScriptStep {
    /// The line about what goes on.
    Status(String),
    /// One model call.
    Write(Vec<ScriptPiece>),
    /// Things that run at the same time.
    Work(Vec<BackgroundWork>),
}

/// What a model writes.
#[derive(Debug)]
pub(super) enum ScriptPiece {
    Think { text: String, rate: Option<u32> },
    Say { text: String, rate: Option<u32> },
    Call { id: String, name: String, arguments: String },
    Fail { code: String, message: String },
}

/// What runs beside the model.
#[derive(Debug)]
pub(super) enum BackgroundWork {
    Call(ScriptCall),
    Agent(ScriptAgent),
}

/// A call that is executed.
#[derive(Debug)]
pub(super) struct ScriptCall {
    pub(super) id: String,
    /// How long it waits.
    pub(super) after: Duration,
    /// How long it runs.
    pub(super) takes: Duration,
    pub(super) is_error: bool,
    pub(super) result: String,
    /// What it prints meanwhile.
    pub(super) output: String,
    /// What a person is asked first, and how long that takes.
    pub(super) ask: Option<(String, Duration)>,
}

/// A sub-agent that a step starts, with steps of its own.
#[derive(Debug)]
pub(super) struct ScriptAgent {
    pub(super) id: String,
    pub(super) name: String,
    /// The call that started it.
    pub(super) call: Option<String>,
    pub(super) after: Duration,
    pub(super) task: String,
    pub(super) steps: Vec<ScriptStep>,
    /// What it gives back to the call.
    pub(super) result: String,
}

#[cfg(test)]
mod tests;
