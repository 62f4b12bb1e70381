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

/// A conversation and what happens in it, repeatedly.
#[derive(Debug)]
pub(super) struct DemoScript {
    /// The name of the conversation.
    pub(super) name: String,
    /// The dialect of the main agent's model.
    pub(super) dialect: DemoDialect,
    /// The name of the model.
    pub(super) model: String,
    /// The name of the main agent.
    pub(super) agent: String,
    /// The pace in tokens per second.
    pub(super) rate: u32,
    /// Whether it is published only once.
    pub(super) once: bool,
    /// The runs, which are repeated in turn.
    pub(super) scenes: Vec<ScriptRun>,
}

/// The dialect in which a model call is published.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum DemoDialect {
    OpenAiChat,
    Anthropic,
    Native,
}

/// A run of a script: the user's message, and the steps of the agent.
#[derive(Debug)]
pub(super) struct ScriptRun {
    /// The title of the run.
    pub(super) title: String,
    /// The message of the user.
    pub(super) user: String,
    /// The steps of the agent, in order.
    pub(super) steps: Vec<ScriptStep>,
}

/// A step of a run.
#[derive(Debug)]
pub(super) enum ScriptStep {
    /// A status line with this text.
    Status(String),
    /// A call of a model, which writes these pieces.
    Write(Vec<ScriptPiece>),
    /// Calls and sub-agents that run at the same time.
    Work(Vec<BackgroundWork>),
}

/// What a model writes.
#[derive(Debug)]
pub(super) enum ScriptPiece {
    /// Reasoning of the model.
    Think { text: String, rate: Option<u32> },
    /// Text for the person.
    Say { text: String, rate: Option<u32> },
    /// A call of a tool, with its arguments as JSON.
    Call { id: String, name: String, arguments: String },
    /// The model's server fails here.
    Fail { code: String, message: String },
}

/// What runs outside the model.
#[derive(Debug)]
pub(super) enum BackgroundWork {
    /// A tool that the model has called.
    Call(ScriptCall),
    /// An agent that a call has started.
    Agent(ScriptAgent),
}

/// A call that is executed.
#[derive(Debug)]
pub(super) struct ScriptCall {
    pub(super) id: String,
    /// How long it waits before it is executed.
    pub(super) after: Duration,
    /// How long the call is executed.
    pub(super) takes: Duration,
    /// Whether the result is a failure.
    pub(super) is_error: bool,
    /// What it gives back: JSON or a text.
    pub(super) result: String,
    /// What it prints while it is executed.
    pub(super) output: String,
    /// What a person is asked first, and how long the answer takes.
    pub(super) ask: Option<(String, Duration)>,
}

/// A sub-agent that a step starts, with steps of its own.
#[derive(Debug)]
pub(super) struct ScriptAgent {
    pub(super) id: String,
    pub(super) name: String,
    /// The call that started it.
    pub(super) call: Option<String>,
    /// How long it waits before it begins.
    pub(super) after: Duration,
    /// What it is told.
    pub(super) task: String,
    pub(super) steps: Vec<ScriptStep>,
    /// The result of that call.
    pub(super) result: String,
}

#[cfg(test)]
mod tests;
