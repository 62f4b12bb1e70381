//! `fanlight ask`: asks an agent of the hub, and prints the answer as it comes. It asks through the hub's chat completions, which take files
//! and how the model is to answer, and watches the conversation as every viewer does, so the answer goes on through the loss of the socket.
//!
//! ```text
//! subscribe ─▶ POST /v1/chat/completions ─▶ the run of the answer ─▶ view ─▶ stdout
//!                                                    ▲ Ctrl-C: the command `stop`
//! ```

use std::hash::{BuildHasher as _, RandomState};
use std::io::IsTerminal as _;

use bytes::Bytes;
use client::{HubAddress, HubAnswer, PublishError, SessionUpdate, ViewerSession, download, post};
use hyper::header::HeaderName;
use model::event::RunStatus;
use model::frame::SubscriptionId;
use model::view::RunView;
use model::{ConversationId, RunId};
use serde::Deserialize;
use serde_json::json;

use super::{CommandError, ResultOutput, output, runtime, terminal};
use crate::args::AskArgs;

mod answer;
mod question;

use answer::ShownAnswer;

/// The header that names the conversation, in requests and answers.
const CONVERSATION: HeaderName = HeaderName::from_static("fanlight-conversation");

/// Asks, and prints until the run is over. Fails where the hub refuses the question, and where the run does not complete.
pub(crate) fn run(args: &AskArgs, output: ResultOutput) -> Result<(), CommandError> {
    let text = question::text(args)?;
    runtime::one_thread()?.block_on(ask(args, &text, output))
}

async fn ask(args: &AskArgs, text: &str, output: ResultOutput) -> Result<(), CommandError> {
    let address = args.hub.address()?;
    let agent = match &args.agent {
        Some(agent) => agent.clone(),
        None => only_agent(&address).await?,
    };
    let body = question::body(&agent, text, args)?;
    let conversation = args.conversation.clone().map_or_else(|| fresh(&agent), Ok)?;
    let failed = |error: &dyn std::fmt::Display| {
        CommandError::new(
            error.to_string(),
            "look at --url and --token: asking takes the grants view and control",
        )
    };
    let mut session = ViewerSession::connect(address.clone()).await.map_err(|error| failed(&error))?;
    let sub = session.subscribe(conversation.clone()).await;
    session.until_live(sub).await.map_err(|error| failed(&error))?;
    let headers = [(CONVERSATION, conversation.as_str())];
    let url = address.chat();
    let asked = tokio::select! {
        asked = post(&address, &url, headers, body) => asked.map_err(|error| refused(&error))?,
        _ = tokio::signal::ctrl_c() => return Err(stopped(&conversation)),
    };
    if let Some(left_out) = asked.header("fanlight-left-out") {
        output::complain(&format!("the agent {agent} does not pass on: {left_out}"));
    }
    let run = asked.header("fanlight-run").map(RunId::new);
    let run =
        run.ok_or_else(|| CommandError::new("the hub names no run", "look at the versions of both sides"))?;
    output::complain(&format!("watch it at {}", address.page(&conversation)));
    let printing = Printing {
        output,
        is_json: args.json,
        is_terminal: std::io::stdout().is_terminal(),
        is_lost: false,
        shown: ShownAnswer::default(),
        question: Asked { address, conversation, run },
    };
    printing.follow(session, sub, asked).await
}

/// The question that was asked: where its answer is.
struct Asked {
    address: HubAddress,
    conversation: ConversationId,
    run: RunId,
}

/// Prints an answer. Dropping it leaves the run as it is.
struct Printing {
    /// Where the answer goes; all else goes to stderr.
    output: ResultOutput,
    /// Whether events are printed in the place of the text.
    is_json: bool,
    /// Whether somebody looks, so that nothing may move the cursor.
    is_terminal: bool,
    /// Whether the loss of the hub was said.
    is_lost: bool,
    /// What was printed of the text.
    shown: ShownAnswer,
    question: Asked,
}

impl Printing {
    /// Prints what comes until the run is over; with Ctrl-C the run is stopped, with a second one it is left alone.
    async fn follow(
        mut self,
        mut session: ViewerSession,
        sub: SubscriptionId,
        mut asked: HubAnswer,
    ) -> Result<(), CommandError> {
        let mut interrupt = std::pin::pin!(tokio::signal::ctrl_c());
        let (mut is_streaming, mut is_stopping) = (true, false);
        loop {
            tokio::select! {
                update = session.next() => {
                    let update = update.map_err(|error| CommandError::new(error.to_string(), self.mend()))?;
                    self.take(update, &session, sub)?;
                    let run = session.view(sub).and_then(|view| view.runs.get(&self.question.run));
                    if let Some(run) = run.filter(|run| !run.is_running()) {
                        let text = self.shown.end_line();
                        if !self.is_json {
                            self.output.bytes(text.as_bytes())?;
                        }
                        return self.ended(run);
                    }
                }
                // The same answer in the door's form. It is read, since some doors stop what nobody reads.
                piece = asked.next(), if is_streaming => is_streaming = matches!(piece, Ok(Some(_))),
                _ = &mut interrupt => {
                    if is_stopping {
                        return Err(stopped(&self.question.conversation));
                    }
                    is_stopping = true;
                    interrupt.set(tokio::signal::ctrl_c());
                    self.stop().await?;
                }
            }
        }
    }

    /// Prints what an update has brought.
    fn take(
        &mut self,
        update: SessionUpdate,
        session: &ViewerSession,
        sub: SubscriptionId,
    ) -> Result<(), CommandError> {
        match update {
            SessionUpdate::Connected(_) => self.is_lost = false,
            SessionUpdate::Lost { why, .. } if !self.is_lost => {
                self.is_lost = true;
                output::complain(&format!("the hub is not there ({why}); trying again until it is"));
            }
            SessionUpdate::Refused { code, message, .. } => {
                return Err(CommandError::new(format!("the hub refused: {code}: {message}"), self.mend()));
            }
            SessionUpdate::Snapshot { .. } if self.is_json => {
                output::complain("what was missed came as a snapshot and is not in this output");
            }
            SessionUpdate::Events { events, .. } if self.is_json => {
                for envelope in events {
                    // An envelope can always be serialized, since it arrived as JSON.
                    self.output
                        .line(&terminal::json(serde_json::to_string(&envelope).unwrap_or_default()))?;
                }
            }
            _ => {}
        }
        let Some(run) = session.view(sub).and_then(|view| view.runs.get(&self.question.run)) else {
            return Ok(());
        };
        let page = self.question.address.page(&self.question.conversation);
        for tool in self.shown.waits(run) {
            output::complain(&format!("{tool} waits for approval at {page}"));
        }
        let more = self.shown.more(run);
        if self.is_json || more.is_empty() {
            return Ok(());
        }
        // Files and other programs get the exact text.
        let shown = if self.is_terminal { terminal::lines(&more) } else { more.as_str().into() };
        self.output.bytes(shown.as_bytes())
    }

    /// Has the run stopped.
    async fn stop(&self) -> Result<(), CommandError> {
        let Asked { address, conversation, run } = &self.question;
        let command = json!({"id": format!("stop-{run}"), "command": "stop", "run": run}).to_string();
        let mut answer = post(address, &address.commands(conversation), [], command)
            .await
            .map_err(|error| refused(&error))?;
        while answer.next().await.map_err(|error| refused(&error))?.is_some() {}
        Ok(())
    }

    /// What to do about a run that cannot be watched.
    fn mend(&self) -> String {
        format!("the run may go on; see `fanlight tail {}`", self.question.conversation)
    }

    /// What the end of the run means.
    fn ended(&self, run: &RunView) -> Result<(), CommandError> {
        let what = match (run.status, &run.error) {
            (RunStatus::Complete | RunStatus::Running, _) => return Ok(()),
            (RunStatus::Cancelled, _) => return Err(stopped(&self.question.conversation)),
            (_, Some(error)) => format!("the run failed: {}: {}", error.code, error.message),
            (_, None) => String::from("the run was interrupted"),
        };
        Err(CommandError::new(what, again(&self.question.conversation)))
    }
}

/// The failure of an answer that somebody stopped.
fn stopped(conversation: &ConversationId) -> CommandError {
    CommandError::new("the answer was stopped", again(conversation))
}

/// The advice how to go on in a conversation.
fn again(conversation: &ConversationId) -> String {
    format!("ask again with --conversation {conversation} to go on from there")
}

/// The failure of a question that the hub did not take.
fn refused(error: &PublishError) -> CommandError {
    match error {
        PublishError::Unreachable { .. } => CommandError::publishing(error),
        _ => CommandError::new(error.to_string(), "fix what the hub names, and ask again"),
    }
}

/// A name for a new conversation.
fn fresh(agent: &str) -> Result<ConversationId, CommandError> {
    let agent: String = agent.chars().take(40).filter(|c| c.is_ascii_alphanumeric() || *c == '-').collect();
    let name = format!("{agent}-{:016x}", RandomState::new().hash_one(std::process::id()));
    name.trim_start_matches('-').parse().map_err(|error| {
        CommandError::new(
            format!("this is not a name for a conversation: {error}"),
            "give one with --conversation",
        )
    })
}

/// The name of the hub's agent, if it has one alone. Fails with a usage error that lists them otherwise.
async fn only_agent(address: &HubAddress) -> Result<String, CommandError> {
    #[derive(Deserialize)]
    struct Agent {
        name: String,
    }
    #[derive(Deserialize)]
    struct Agents {
        agents: Vec<Agent>,
    }
    let mut bytes = Vec::new();
    let take = |piece: Bytes| {
        bytes.extend_from_slice(&piece);
        Ok(())
    };
    download::<PublishError>(address, address.agents(), take).await.map_err(|error| refused(&error))?;
    let found: Agents = serde_json::from_slice(&bytes).map_err(|error| {
        CommandError::new(
            format!("the hub's list of agents cannot be read: {error}"),
            "look at the versions of both sides",
        )
    })?;
    let names: Vec<_> = found.agents.into_iter().map(|agent| agent.name).collect();
    match names.as_slice() {
        [name] => Ok(name.clone()),
        [] => Err(CommandError::new(
            "the hub has no agent that can be asked",
            "agents are tables [agents.NAME] of the settings file: see `fanlight docs integrations/agents`",
        )),
        names => Err(CommandError::Usage {
            what: format!("the hub has {} agents", names.len()),
            mend: format!("name one with --agent: {}", names.join(", ")),
        }),
    }
}
