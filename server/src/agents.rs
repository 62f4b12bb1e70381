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
use dialects::Decoded;
use exchange::OfferedTool;
use model::event::{Kind, Message};
use model::{ConversationId, MessageId, Position, RunId, ToolCallId};
use parking_lot::Mutex;
use tokio::sync::watch;

use crate::clock;
use crate::config::{AgentConfig, AgentKind, RemoteConfig, RemoteKind, RunnerConfig};
use crate::runner::{Answer, NAME, RunAddress, Way, Word};
use crate::state::Shared;
use hub::{Publication, PublishError};

mod again;
pub(crate) mod commands;
pub(crate) mod consent;
mod error;
pub(crate) mod fork;
pub(crate) mod remote;
mod seat;
pub(crate) mod settings;
mod terms;

pub(crate) use consent::AskedAbout;
pub(crate) use error::StartError;
use seat::{Going, Seat, go_on};
pub(crate) use terms::Terms;

/// All agents, and the runs that they do.
#[derive(Debug)]
pub(crate) struct Agents {
    known: BTreeMap<CompactString, Known>,
    going: Mutex<HashMap<RunAddress, Going>>,
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
    pub(crate) tools: Vec<OfferedTool>,
    /// What whoever asks keeps for itself in the run.
    pub(crate) note: Option<Kind>,
    /// Who asks, and how the run is to go.
    pub(crate) terms: Terms,
}

impl Turn {
    /// `messages` are said to `agent`, and no more is wanted.
    pub(crate) fn new(agent: CompactString, conversation: ConversationId, messages: Vec<Spoken>) -> Self {
        let (tools, terms) = (Vec::new(), Terms::default());
        Self { agent, conversation, messages, run: None, tools, note: None, terms }
    }
}

/// A message that is sent to an agent: a new one, or one of the history.
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
    pub(crate) place: RunAddress,
    /// Where the conversation stood before: everything of the turn comes after it.
    pub(crate) after: Position,
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
        let Turn { agent, conversation, messages, run, tools, note, terms } = turn;
        let found = agents.find(shared, &agent)?;
        let place = RunAddress { run: name(shared, &conversation, run), conversation };
        let (seat, reins) = Seat::take(shared, &place, agent)?;
        let after = say(shared, &place.conversation, messages)?;
        let notes = terms.note().into_iter().chain(note);
        let work = seat.work(found, reins, (tools.into(), terms), false)?;
        let mut said = Decoded::default();
        notes.for_each(|note| said.push(&place.run, note));
        if !said.envelopes.is_empty() {
            shared.fanout.publish(&place.conversation, Publication::of_hub(said.envelopes))?;
        }
        go_on(shared, work, seat);
        Ok(Started { place, after })
    }

    /// The same for a person who talks to an agent: where it is at work in that conversation already, it is told with its next
    /// request what was said.
    pub(crate) fn say(shared: &Arc<Shared>, turn: Turn) -> Result<Started, StartError> {
        let agents = &shared.agents;
        let at_work = agents.at_work(&turn.conversation, &turn.agent);
        let Some(place) = at_work.filter(|place| !is_over(shared, place)) else {
            return Self::start(shared, turn);
        };
        let after = say(shared, &turn.conversation, turn.messages)?;
        if agents.tell(&place, Word::MessagePublished) {
            return Ok(Started { place, after });
        }
        // It came to its end meanwhile, and did not hear of it.
        Ok(Started { after, ..Self::start(shared, Turn { messages: Vec::new(), ..turn })? })
    }

    /// Waits until the task of a run has ended, where the conversation says already that the run is over. The end of a run is
    /// published by its task, so that others hear of it before the run's place is free; what the task does after it waits for
    /// nothing.
    pub(crate) async fn left(shared: &Shared, place: &RunAddress) {
        let left = shared.agents.going.lock().get(place).map(|going| going.left.clone());
        if let Some(left) = left.filter(|_| is_over(shared, place)) {
            left.cancelled().await;
        }
    }

    /// Stops a run. False where it does not go on.
    pub(crate) fn stop(&self, place: &RunAddress) -> bool {
        let going = self.going.lock();
        going.get(place).map(|going| going.stop.cancel()).is_some()
    }

    /// Whether a run goes on that was told to stop.
    pub(crate) fn is_stopping(&self, place: &RunAddress) -> bool {
        self.going.lock().get(place).is_some_and(|going| going.stop.is_cancelled())
    }

    /// What a run has asked a person about; nothing where it does not go on.
    fn asked(&self, place: &RunAddress) -> Option<Arc<AskedAbout>> {
        self.going.lock().get(place).map(|going| Arc::clone(&going.asked))
    }

    /// A person answers whether a call may be executed. False where the run does not go on, or has too much to hear. Only
    /// [`consent::consent`] knows whether it may.
    fn consent(&self, place: &RunAddress, tool: ToolCallId, answer: Answer) -> bool {
        self.tell(place, Word::Consent(tool, answer))
    }

    /// A person does not want to wait until a model is asked again. False where the run does not go on in this hub's own
    /// agents, or has too much to hear.
    pub(crate) fn hurry(&self, place: &RunAddress) -> bool {
        self.tell(place, Word::Again)
    }

    /// Whether a run goes on only when a person has answered, now and from now on; nothing where it does not go on.
    pub(crate) fn is_waiting(&self, place: &RunAddress) -> Option<watch::Receiver<bool>> {
        self.going.lock().get(place).map(|going| going.is_waiting.clone())
    }

    /// Whether an agent can be told of tools that whoever asks it executes.
    pub(crate) fn takes_tools(&self, name: &str) -> bool {
        match self.known.get(name).map(|known| &known.kind) {
            Some(KnownKind::Remote(config)) => config.speaks.takes_tools(),
            Some(KnownKind::Runner(_)) | None => true,
        }
    }

    /// Whether an agent can be told that it is to call no tools.
    pub(crate) fn can_do_without_tools(&self, name: &str) -> bool {
        match self.known.get(name).map(|known| &known.kind) {
            Some(KnownKind::Remote(config)) => config.speaks == RemoteKind::Forge,
            Some(KnownKind::Runner(_)) | None => true,
        }
    }

    fn tell(&self, place: &RunAddress, word: Word) -> bool {
        let going = self.going.lock();
        going.get(place).is_some_and(|going| going.words.try_send(word).is_ok())
    }

    /// The run that `agent` does in `conversation`, where it does one.
    fn at_work(&self, conversation: &ConversationId, agent: &str) -> Option<RunAddress> {
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
        let way = known.way.get_or_init(|| shared.egress.sender(upstream).map_err(|error| error.to_string()));
        let way = way.clone().map_err(|error| StartError::NoWay(name.clone(), error))?;
        Ok((known.kind.clone(), way))
    }
}

/// Whether the conversation says that the run is over.
fn is_over(shared: &Shared, place: &RunAddress) -> bool {
    let found = shared.hub.find(&place.conversation).ok().flatten();
    found.is_some_and(|found| {
        found.look(|view| view.runs.get(&place.run).is_some_and(|run| !run.is_running()))
    })
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
