//! Agents that can be asked by name: those that the hub runs itself, and those elsewhere that it calls. Whoever asks (a
//! person on the page, a client of one of the served APIs) starts a turn with [`Agents::start`] and then watches it as
//! everybody does, in the conversation. A caller who hangs up leaves the run going.
//!
//! ```text
//! caller ──Turn──▶ start ──▶ messages, run.start in the conversation ──▶ Started { conversation, run, after }
//!                    └─ task: runner::Shell, or remote::Errand ──▶ events of the run ──▶ log, viewers, the caller
//! ```

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, OnceLock};

use compact_str::{CompactString, format_compact};
use parking_lot::Mutex;
use shared::code::ErrorCode;
use shared::dialect::Decoded;
use shared::event::{Kind, Message, RunStatus};
use shared::exchange::Offered;
use shared::limits::RUNS_AT_ONCE_MAX;
use shared::view::RunView;
use shared::{ConversationId, MessageId, Position, RunId, ToolCallId};
use tokio::sync::watch;

use crate::clock;
use crate::config::{AgentConfig, AgentKind, RemoteConfig, RunnerConfig};
use crate::hub::{Publication, PublishError};
use crate::log::{ListQuery, blocking};
use crate::runner::{Answer, HUB_STOPPED, NAME, Place, Way, Word};
use crate::state::Shared;

pub(crate) mod commands;
pub(crate) mod fork;
pub(crate) mod remote;
mod seat;
pub(crate) mod settings;

use seat::{Going, Seat, Work};

/// Most conversations that are looked through for runs that were interrupted when the hub stopped.
const LOOKED_THROUGH_MAX: usize = 256;

/// All agents, and the runs that they do.
#[derive(Debug)]
pub(crate) struct Agents {
    known: BTreeMap<CompactString, Known>,
    going: Mutex<HashMap<Place, Going>>,
    /// What was commanded last, and what came of it.
    commands: commands::Remembered,
}

#[derive(Debug)]
struct Known {
    kind: KnownKind,
    /// The way to its model, or to itself, once somebody asked.
    way: OnceLock<Result<Way, String>>,
}

#[derive(Debug, Clone)]
enum KnownKind {
    Runner(Arc<RunnerConfig>),
    Remote(Arc<RemoteConfig>),
}

/// What is told of an agent.
#[derive(Debug, serde::Serialize)]
pub(crate) struct AgentRow {
    name: CompactString,
    /// `runner`, or how it is spoken to elsewhere.
    kind: &'static str,
    /// What its runs say that they were read in.
    dialect: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    model: Option<CompactString>,
}

/// What an agent is asked for.
#[derive(Debug)]
pub(crate) struct Turn {
    /// The name of the agent.
    pub(crate) agent: CompactString,
    /// Where; made when there is none.
    pub(crate) conversation: ConversationId,
    /// What is said before the agent answers, in order.
    pub(crate) messages: Vec<Spoken>,
    /// What the run is to be called; it gets a name of its own where it is not said, or another run has the name.
    pub(crate) run: Option<RunId>,
    /// Tools that the caller executes: a run that calls one ends with the call.
    pub(crate) tools: Vec<Offered>,
    /// What whoever asks keeps for itself in the run.
    pub(crate) note: Option<Kind>,
}

impl Turn {
    /// `messages` are said to `agent`, and no more is wanted.
    pub(crate) fn new(agent: CompactString, conversation: ConversationId, messages: Vec<Spoken>) -> Self {
        Self { agent, conversation, messages, run: None, tools: Vec::new(), note: None }
    }
}

/// A message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Spoken {
    /// Its id, where it has one: a message that comes again replaces itself.
    pub(crate) id: Option<MessageId>,
    /// `user`, `system`, `assistant`.
    pub(crate) role: CompactString,
    /// What was said.
    pub(crate) text: String,
}

impl Spoken {
    /// What a person says.
    pub(crate) fn user(text: &str) -> Self {
        Self { id: None, role: "user".into(), text: text.to_owned() }
    }
}

/// A turn that has begun.
#[derive(Debug, Clone)]
pub(crate) struct Started {
    /// Where.
    pub(crate) place: Place,
    /// Where the conversation stood before: everything of the turn comes after it.
    pub(crate) after: Position,
}

/// Why a turn did not begin.
#[derive(Debug, thiserror::Error)]
pub(crate) enum StartError {
    /// There is none of that name.
    #[error("no agent is named {name:?}; {known}")]
    Unknown {
        /// The name.
        name: CompactString,
        /// Those that there are, in words.
        known: String,
    },
    /// There is no way to its model, or to it.
    #[error("there is no way to the agent {0:?}, or to its model: {1}")]
    NoWay(CompactString, String),
    /// As many runs go on as may.
    #[error("{RUNS_AT_ONCE_MAX} runs go on already")]
    TooMany,
    /// The hub stops.
    #[error("the hub stops; come back in a moment")]
    Draining,
    /// The run is none of an agent of this hub, or goes on.
    #[error("{0}")]
    NotResumable(String),
    /// The conversation did not take what was said.
    #[error(transparent)]
    Publish(#[from] PublishError),
}

impl StartError {
    /// The code that goes to who asked.
    pub(crate) fn code(&self) -> ErrorCode {
        match self {
            Self::Unknown { .. } => ErrorCode::UnknownAgent,
            Self::NoWay(..) => ErrorCode::AgentUnavailable,
            Self::TooMany => ErrorCode::TooMany,
            Self::Draining => ErrorCode::ShuttingDown,
            Self::NotResumable(_) => ErrorCode::NotResumable,
            Self::Publish(error) => error.code(),
        }
    }
}

impl Agents {
    /// Those that were set.
    pub(crate) fn new(set: &[AgentConfig]) -> Self {
        let known = set.iter().map(|agent| {
            let kind = match &agent.kind {
                AgentKind::Runner(config) => KnownKind::Runner(Arc::new(RunnerConfig::clone(config))),
                AgentKind::Remote(config) => KnownKind::Remote(Arc::new(RemoteConfig::clone(config))),
            };
            (agent.name.clone(), Known { kind, way: OnceLock::new() })
        });
        Self { known: known.collect(), going: Mutex::default(), commands: commands::Remembered::default() }
    }

    /// Their names, in order.
    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.known.keys().map(CompactString::as_str)
    }

    /// What is told of each, in the order of the names.
    pub(crate) fn rows(&self) -> Vec<AgentRow> {
        let row = |(name, known): (&CompactString, &Known)| {
            let (kind, dialect, model) = match &known.kind {
                KnownKind::Runner(config) => (NAME, NAME, Some(config.plan.model.clone())),
                KnownKind::Remote(config) => {
                    (config.speaks.name(), config.speaks.dialect(), config.model.clone())
                }
            };
            AgentRow { name: name.clone(), kind, dialect, model }
        };
        self.known.iter().map(row).collect()
    }

    /// Whether there is one of that name.
    pub(crate) fn knows(&self, name: &str) -> bool {
        self.known.contains_key(name)
    }

    /// The servers whose tools an agent may call, where the hub itself runs it.
    pub(crate) fn servers(&self, name: &str) -> &[CompactString] {
        match self.known.get(name).map(|known| &known.kind) {
            Some(KnownKind::Runner(config)) => &config.tools,
            _ => &[],
        }
    }

    /// How many runs go on.
    pub(crate) fn count(&self) -> usize {
        self.going.lock().len()
    }

    /// Begins a turn of an agent. What is said and the beginning of the run are in the conversation when this returns; the run
    /// goes on by itself. Never waits for the model.
    pub(crate) fn start(shared: &Arc<Shared>, turn: Turn) -> Result<Started, StartError> {
        let agents = &shared.agents;
        let Turn { agent, conversation, messages, run, tools, note } = turn;
        let found = agents.find(shared, &agent)?;
        let place = Place { run: name(shared, &conversation, run), conversation };
        let (seat, reins) = Seat::take(shared, &place, agent)?;
        let after = say(shared, &place.conversation, messages)?;
        let work = seat.work(found, reins, tools.into(), false)?;
        if let Some(note) = note {
            let mut said = Decoded::default();
            said.push(&place.run, note);
            shared.fanout.publish(&place.conversation, Publication::of(said.envelopes))?;
        }
        go_on(shared, work, seat);
        Ok(Started { place, after })
    }

    /// The same for a person who talks to an agent: where it is at work in that conversation already, it is told with its next
    /// request what was said.
    pub(crate) fn say(shared: &Arc<Shared>, turn: Turn) -> Result<Started, StartError> {
        let agents = &shared.agents;
        let Some(place) = agents.at_work(&turn.conversation, &turn.agent) else {
            return Self::start(shared, turn);
        };
        let after = say(shared, &turn.conversation, turn.messages)?;
        if agents.tell(&place, Word::Said) {
            return Ok(Started { place, after });
        }
        // It came to its end meanwhile, and did not hear of it.
        Ok(Started { after, ..Self::start(shared, Turn { messages: Vec::new(), ..turn })? })
    }

    /// Lets a run of an agent of this hub go on that is over, or that nobody does any more.
    pub(crate) fn resume(shared: &Arc<Shared>, place: &Place) -> Result<Started, StartError> {
        let found = shared.hub.find(&place.conversation).map_err(PublishError::from)?;
        let wrong = |what: &str| StartError::NotResumable(what.to_owned());
        let found = found.ok_or_else(|| wrong("there is no such conversation"))?;
        let known = found.look(|view| {
            let run = view.runs.get(&place.run)?;
            Some((shared.agents.did(run), run.status, run.name.clone(), view.seq))
        });
        let (is_ours, status, name, seq) = known.ok_or_else(|| wrong("there is no such run"))?;
        let name = name.filter(|_| is_ours);
        let name = name.ok_or_else(|| wrong("the run is not one of an agent of this hub"))?;
        if status == RunStatus::Complete {
            return Err(wrong("the run is complete"));
        }
        let agent = shared.agents.find(shared, &name)?;
        let (seat, reins) = Seat::take(shared, place, name)?;
        let after = Position { epoch: found.epoch().clone(), seq };
        // Whoever had tools of their own is not there any more.
        go_on(shared, seat.work(agent, reins, Arc::default(), true)?, seat);
        Ok(Started { place: place.clone(), after })
    }

    /// Whether an agent of this hub did the run, or does it.
    fn did(&self, run: &RunView) -> bool {
        run.dialect.as_deref() == Some(NAME) || self.was_elsewhere(run)
    }

    /// Whether an agent elsewhere did the run that the hub called.
    fn was_elsewhere(&self, run: &RunView) -> bool {
        let known = run.name.as_ref().and_then(|name| self.known.get(name));
        matches!(known.map(|known| &known.kind), Some(KnownKind::Remote(config))
            if run.dialect.as_deref() == Some(config.speaks.dialect()))
    }

    /// Lets all runs go on that went on when the hub died or stopped; those that went on elsewhere are
    /// over, unless their agents wait for a person.
    pub(crate) fn resume_all(shared: &Arc<Shared>, unfinished: Vec<ConversationId>) {
        if shared.agents.known.is_empty() {
            return;
        }
        let query = ListQuery { after: None, state: Some(RunStatus::Interrupted), limit: LOOKED_THROUGH_MAX };
        let rows = blocking(|| shared.hub.list(&query)).map(|listed| listed.rows).unwrap_or_default();
        let stopped = rows.into_iter().map(|row| row.conversation);
        for conversation in unfinished.into_iter().chain(stopped) {
            let Ok(Some(found)) = shared.hub.find(&conversation) else { continue };
            let runs: Vec<(RunId, bool)> = found.look(|view| {
                let waits = |run: &RunView, is_elsewhere: bool| {
                    let was_stopped = run.error.as_ref().is_some_and(|error| error.code == HUB_STOPPED);
                    let is_own = run.dialect.as_deref() == Some(NAME) && (run.is_running() || was_stopped);
                    is_own || (is_elsewhere && remote::waits(run))
                };
                let looked = view.runs.iter().map(|(id, run)| {
                    let is_elsewhere = shared.agents.was_elsewhere(run);
                    let waits = waits(run, is_elsewhere);
                    let is_cut = !waits && run.is_running() && is_elsewhere;
                    (waits || is_cut).then(|| (id.clone(), is_cut))
                });
                looked.flatten().collect()
            });
            for (run, is_cut) in runs {
                let place = Place { conversation: conversation.clone(), run };
                let went = if is_cut {
                    remote::cut_off(shared, &place).map_err(StartError::from)
                } else {
                    Self::resume(shared, &place).map(drop)
                };
                if let Err(error) = went {
                    tracing::warn!(%conversation, run = %place.run, %error, "a run does not go on");
                }
            }
        }
    }

    /// Stops a run. False where it does not go on.
    pub(crate) fn stop(&self, place: &Place) -> bool {
        let going = self.going.lock();
        going.get(place).map(|going| going.stop.cancel()).is_some()
    }

    /// A person answers whether a call may be executed. False where the run does not go on, or has too much to hear.
    pub(crate) fn consent(&self, place: &Place, tool: ToolCallId, answer: Answer) -> bool {
        self.tell(place, Word::Consent(tool, answer))
    }

    /// Whether a run goes on only when a person has answered, now and from now on; nothing where it does not go on.
    pub(crate) fn is_waiting(&self, place: &Place) -> Option<watch::Receiver<bool>> {
        self.going.lock().get(place).map(|going| going.is_waiting.clone())
    }

    /// Whether an agent can be told of tools that whoever asks it executes.
    pub(crate) fn takes_tools(&self, name: &str) -> bool {
        match self.known.get(name).map(|known| &known.kind) {
            Some(KnownKind::Remote(config)) => config.speaks.takes_tools(),
            Some(KnownKind::Runner(_)) | None => true,
        }
    }

    fn tell(&self, place: &Place, word: Word) -> bool {
        let going = self.going.lock();
        going.get(place).is_some_and(|going| going.words.try_send(word).is_ok())
    }

    /// The run that `agent` does in `conversation`, where it does one.
    fn at_work(&self, conversation: &ConversationId, agent: &str) -> Option<Place> {
        let going = self.going.lock();
        let mut all = going.iter();
        let found = all.find(|(place, going)| place.conversation == *conversation && going.agent == agent);
        found.map(|(place, _)| place.clone())
    }

    fn find(&self, shared: &Shared, name: &CompactString) -> Result<(KnownKind, Way), StartError> {
        let known = self.known.get(name).ok_or_else(|| {
            let names: Vec<_> = self.names().collect();
            let known = match names.as_slice() {
                [] => String::from("there are none; they are set in tables [agents.NAME]"),
                names => format!("there are {}", names.join(", ")),
            };
            StartError::Unknown { name: name.clone(), known }
        })?;
        let upstream = match &known.kind {
            KnownKind::Runner(config) => &config.provider.upstream,
            KnownKind::Remote(config) => &config.upstream,
        };
        let way = known.way.get_or_init(|| shared.proxy.way(upstream).map_err(|error| error.to_string()));
        let way = way.clone().map_err(|error| StartError::NoWay(name.clone(), error))?;
        Ok((known.kind.clone(), way))
    }
}

/// The name of a new run: `wanted` where no other run of the conversation has it.
fn name(shared: &Shared, id: &ConversationId, wanted: Option<RunId>) -> RunId {
    let found = shared.hub.find(id).ok().flatten();
    let is_free =
        |run: &RunId| found.as_ref().is_none_or(|found| found.look(|view| !view.runs.contains_key(run)));
    wanted.filter(|run| !run.is_none()).filter(is_free).unwrap_or_else(|| RunId::new(&clock::fresh_name()))
}

/// Takes what is said before the agent answers into the conversation. Returns where that stood before.
fn say(shared: &Shared, id: &ConversationId, messages: Vec<Spoken>) -> Result<Position, StartError> {
    let conversation = shared.hub.open(id).map_err(PublishError::from)?;
    let after = Position { epoch: conversation.epoch().clone(), seq: conversation.look(|view| view.seq) };
    let name = clock::fresh_name();
    let mut said = Decoded::default();
    for (number, spoken) in messages.into_iter().enumerate() {
        let message = spoken.id.unwrap_or_else(|| MessageId::new(&format_compact!("{name}.{number}")));
        let message = Message { message, role: spoken.role, text: spoken.text };
        said.push(&RunId::none(), Kind::Message(message));
    }
    if !said.envelopes.is_empty() {
        shared.fanout.publish(id, Publication::of(said.envelopes))?;
    }
    Ok(after)
}

/// Lets a run go on in a task of its own. What was said too late for it is answered in one more run.
fn go_on(shared: &Arc<Shared>, work: Work, seat: Seat) {
    let shared = Arc::clone(shared);
    shared.tasks.clone().spawn(async move {
        let has_news = match work {
            Work::Own(shell) => shell.run().await,
            Work::Elsewhere(errand) => errand.run().await,
        };
        let (place, agent) = (seat.place.clone(), seat.agent.clone());
        drop(seat);
        if has_news && !shared.is_draining() {
            let Place { conversation, .. } = place;
            let turn = Turn::new(agent, conversation, Vec::new());
            if let Err(error) = Agents::start(&shared, turn) {
                tracing::warn!(%error, "what was said last stays without an answer");
            }
        }
    });
}
