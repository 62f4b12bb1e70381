//! The registry: all agents by name, and the runs that go on.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, OnceLock};

use compact_str::{CompactString, format_compact};
use dialects::Decoded;
use event_log::clock;
use exchange::{OfferedTool, Spoken};
use hub::{Publication, PublishError};
use model::event::{FileKind, Kind, Message, MessageFile, check_files};
use model::view::RunView;
use model::{ConversationId, MessageId, Position, RunId};
use parking_lot::{Mutex, MutexGuard};
use serde_json::{Map, Value};
use tokio::sync::watch;

use crate::asked_about::AskedAbout;
use crate::error::StartError;
use crate::host::Host;
use crate::run::{RUNNER, RunAddress, Word};
use crate::sampling::{self, SAMPLING};
use crate::seat::{Beginning, Going, RunPlace};
use crate::settings::{AgentConfig, AgentKind, RemoteConfig, RemoteKind, RunnerConfig};
use crate::terms::Terms;
use crate::way::Way;

/// All agents and the runs that they do. One for each hub.
#[derive(Debug)]
pub struct Agents {
    host: Arc<Host>,
    /// The agents in the settings.
    known: BTreeMap<CompactString, ConfiguredAgent>,
    /// The runs that go on, at most `RUNS_AT_ONCE_MAX`.
    going: Mutex<HashMap<RunAddress, Going>>,
}

/// An agent in the settings.
#[derive(Debug)]
struct ConfiguredAgent {
    /// Who does its runs, with the settings for that.
    kind: KnownKind,
    /// The sender to its model or to itself, made for the first turn.
    way: OnceLock<Result<Way, String>>,
}

/// The kinds of agents, by who does their runs.
#[derive(Debug, Clone)]
pub(crate) enum KnownKind {
    /// An agent whose runs the hub itself does.
    Runner(Arc<RunnerConfig>),
    /// An agent in another server.
    Remote(Arc<RemoteConfig>),
}

impl KnownKind {
    /// The kinds of files that it takes.
    fn files(&self) -> &[FileKind] {
        match self {
            Self::Runner(config) => &config.files,
            Self::Remote(config) => config.speaks.takes_files(),
        }
    }
}

/// An agent as it is listed.
#[derive(Debug, serde::Serialize)]
pub struct AgentRow {
    /// The name under which it is asked.
    name: CompactString,
    /// `runner`, or the protocol in which the agent elsewhere is asked.
    kind: &'static str,
    /// The dialect that its runs name.
    dialect: &'static str,
    /// The model, or what is asked for at the other server; left out where none is set.
    #[serde(skip_serializing_if = "Option::is_none")]
    model: Option<CompactString>,
    /// The kinds of files that it takes: `image`, `pdf`, `text`.
    files: Vec<FileKind>,
}

/// A turn that an agent is asked for.
#[derive(Debug)]
pub struct Turn {
    /// The name of the agent.
    pub agent: CompactString,
    /// The conversation. It is made if it does not exist.
    pub conversation: ConversationId,
    /// What is said before the agent answers, in order.
    pub messages: Vec<Spoken>,
    /// The name of the run. It gets a fresh name if this is `None` or taken.
    pub run: Option<RunId>,
    /// Tools that the caller executes: a run that calls one of them ends with the call.
    pub tools: Vec<OfferedTool>,
    /// An event that the caller wants to keep in the run, to recognise it later.
    pub note: Option<Kind>,
    /// What the caller says besides the messages.
    pub terms: Terms,
}

impl Turn {
    /// Asks `agent` for a turn after `messages`, with nothing else.
    pub fn new(agent: CompactString, conversation: ConversationId, messages: Vec<Spoken>) -> Self {
        let (tools, terms) = (Vec::new(), Terms::default());
        Self { agent, conversation, messages, run: None, tools, note: None, terms }
    }
}

/// A turn that has begun.
#[derive(Debug, Clone)]
pub struct Started {
    /// The conversation and the run.
    pub place: RunAddress,
    /// The head of the conversation before the turn: all events of the turn come after it.
    pub after: Position,
}

impl Agents {
    /// Makes the agents that are set. Nothing is connected yet.
    pub fn new(set: &[AgentConfig], host: Host) -> Arc<Self> {
        let known = set.iter().map(|agent| {
            let kind = match &agent.kind {
                AgentKind::Runner(config) => KnownKind::Runner(Arc::new(RunnerConfig::clone(config))),
                AgentKind::Remote(config) => KnownKind::Remote(Arc::new(RemoteConfig::clone(config))),
            };
            (agent.name.clone(), ConfiguredAgent { kind, way: OnceLock::new() })
        });
        Arc::new(Self { host: Arc::new(host), known: known.collect(), going: Mutex::default() })
    }

    /// The parts of the hub that runs use.
    pub(crate) fn host(&self) -> &Arc<Host> {
        &self.host
    }

    /// The runs that go on. Hold the lock for a moment only, never across an await.
    pub(crate) fn going(&self) -> MutexGuard<'_, HashMap<RunAddress, Going>> {
        self.going.lock()
    }

    /// The names of all agents, in order.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.known.keys().map(CompactString::as_str)
    }

    /// All agents as they are listed, ordered by name.
    pub fn rows(&self) -> Vec<AgentRow> {
        let row = |(name, known): (&CompactString, &ConfiguredAgent)| {
            let (kind, dialect, model) = match &known.kind {
                KnownKind::Runner(config) => (RUNNER, RUNNER, Some(config.plan.model.clone())),
                KnownKind::Remote(config) => {
                    (config.speaks.name(), config.speaks.dialect(), config.model.clone())
                }
            };
            AgentRow { name: name.clone(), kind, dialect, model, files: known.kind.files().to_vec() }
        };
        self.known.iter().map(row).collect()
    }

    /// Whether there is an agent of that name.
    pub fn knows(&self, name: &str) -> bool {
        self.known.contains_key(name)
    }

    /// The servers whose tools an agent may call; empty for agents elsewhere.
    pub fn servers(&self, name: &str) -> &[CompactString] {
        match self.known.get(name).map(|known| &known.kind) {
            Some(KnownKind::Runner(config)) => &config.tools,
            _ => &[],
        }
    }

    /// The number of runs that go on.
    pub fn count(&self) -> usize {
        self.going.lock().len()
    }

    /// Begins a turn of an agent. The messages and the beginning of the run are in the conversation when this
    /// returns; the run goes on by itself. Never waits for the model, but may wait for the disk.
    pub fn start(self: &Arc<Self>, turn: Turn) -> Result<Started, StartError> {
        let Turn { agent, conversation, messages, run, tools, note, terms } = turn;
        let found = self.find(&agent)?;
        self.check_files(&agent, &messages)?;
        let place = RunAddress { run: self.name(&conversation, run), conversation };
        let (seat, lead) = RunPlace::take(self, &place, agent)?;
        let after = self.publish(&place.conversation, messages)?;
        let notes = terms.note().into_iter().chain(note);
        let work = seat.work(found, lead, (tools.into(), terms), Beginning::New)?;
        let mut said = Decoded::default();
        notes.for_each(|note| said.push(&place.run, note));
        if !said.envelopes.is_empty() {
            self.host.fanout.publish(&place.conversation, Publication::of_hub(said.envelopes))?;
        }
        seat.go_on(work);
        Ok(Started { place, after })
    }

    /// Does the same for a person who talks to an agent. If the agent is at work in that conversation
    /// already, it gets the messages with its next request, and no new run begins.
    pub fn say(self: &Arc<Self>, turn: Turn) -> Result<Started, StartError> {
        let at_work = self.at_work(&turn.conversation, &turn.agent);
        let Some(place) = at_work.filter(|place| !self.is_over(place)) else {
            return self.start(turn);
        };
        self.check_files(&turn.agent, &turn.messages)?;
        let after = self.publish(&turn.conversation, turn.messages)?;
        if self.tell(&place, Word::MessagePublished) {
            return Ok(Started { place, after });
        }
        // It ended meanwhile without having read the messages.
        Ok(Started { after, ..self.start(Turn { messages: Vec::new(), ..turn })? })
    }

    /// Waits until the task of a run has ended, if the conversation says that the run is over. The task
    /// publishes the end before it frees the run's place; what it does in between is short.
    pub async fn left(&self, place: &RunAddress) {
        let left = self.going.lock().get(place).map(|going| going.left.clone());
        if let Some(left) = left.filter(|_| self.is_over(place)) {
            left.cancelled().await;
        }
    }

    /// Stops a run. False if it does not go on.
    pub fn stop(&self, place: &RunAddress) -> bool {
        let going = self.going.lock();
        going.get(place).map(|going| going.stop.cancel()).is_some()
    }

    /// Whether a run goes on in this hub.
    pub fn goes_on(&self, place: &RunAddress) -> bool {
        self.going.lock().contains_key(place)
    }

    /// Whether a run goes on that was told to stop.
    pub fn is_stopping(&self, place: &RunAddress) -> bool {
        self.going.lock().get(place).is_some_and(|going| going.stop.is_cancelled())
    }

    /// The arguments about which a run has asked a person; `None` if the run does not go on.
    pub(crate) fn asked(&self, place: &RunAddress) -> Option<Arc<AskedAbout>> {
        self.going.lock().get(place).map(|going| Arc::clone(&going.asked))
    }

    /// Makes a run ask its model again at once, instead of waiting. False if the run does not go on in this
    /// hub, or if too much waits to be heard by it.
    pub fn hurry(&self, place: &RunAddress) -> bool {
        self.tell(place, Word::Again)
    }

    /// Whether a run goes on only after a person's answer, now and in the future; `None` if it does not go
    /// on.
    pub fn is_waiting(&self, place: &RunAddress) -> Option<watch::Receiver<bool>> {
        self.going.lock().get(place).map(|going| going.is_waiting.clone())
    }

    /// Whether an agent can be offered tools that the caller executes.
    pub fn takes_tools(&self, name: &str) -> bool {
        match self.known.get(name).map(|known| &known.kind) {
            Some(KnownKind::Remote(config)) => config.speaks.takes_tools(),
            Some(KnownKind::Runner(_)) | None => true,
        }
    }

    /// Whether an agent can be told to call no tools.
    pub fn can_do_without_tools(&self, name: &str) -> bool {
        match self.known.get(name).map(|known| &known.kind) {
            Some(KnownKind::Remote(config)) => config.speaks == RemoteKind::Forge,
            Some(KnownKind::Runner(_)) | None => true,
        }
    }

    /// The sampling fields in `given` that the agent `name` cannot pass on to its model.
    pub fn refuses_of_sampling(&self, name: &str, given: &Map<String, Value>) -> Vec<&'static str> {
        let takes = |field: &str| match self.known.get(name).map(|known| &known.kind) {
            Some(KnownKind::Runner(config)) => sampling::takes(config.provider.api, field),
            Some(KnownKind::Remote(_)) => false,
            None => true,
        };
        SAMPLING.into_iter().filter(|field| given.contains_key(*field) && !takes(field)).collect()
    }

    /// Checks the files of new messages: their form and size, and that the agent takes such files.
    fn check_files(&self, agent: &str, messages: &[Spoken]) -> Result<(), StartError> {
        let takes = self.known.get(agent).map(|known| known.kind.files()).unwrap_or_default();
        for message in messages {
            check_files(&message.files).map_err(|error| StartError::File(error.to_string()))?;
            let is_refused = |file: &&MessageFile| file.kind().is_none_or(|kind| !takes.contains(&kind));
            if let Some(file) = message.files.iter().find(is_refused) {
                let of = match takes.iter().map(|kind| kind.word()).collect::<Vec<_>>().join(", ") {
                    none if none.is_empty() => String::from("no files"),
                    kinds => format!("files of these kinds alone: {kinds}"),
                };
                let why =
                    format!("the agent {agent:?} takes {of}; the file {:?} is {}", file.name, file.mime);
                return Err(StartError::File(why));
            }
        }
        Ok(())
    }

    /// Says something to a run. False if the run does not go on in this hub, or if too much waits to be heard
    /// by it.
    pub(crate) fn tell(&self, place: &RunAddress, word: Word) -> bool {
        let going = self.going.lock();
        going.get(place).is_some_and(|going| going.words.try_send(word).is_ok())
    }

    /// The run that `agent` is doing in `conversation`, if there is one.
    fn at_work(&self, conversation: &ConversationId, agent: &str) -> Option<RunAddress> {
        let going = self.going.lock();
        let mut all = going.iter();
        let found = all.find(|(place, going)| place.conversation == *conversation && going.agent == agent);
        found.map(|(place, _)| place.clone())
    }

    /// The agent of that name and the sender to it or to its model.
    pub(crate) fn find(&self, name: &CompactString) -> Result<(KnownKind, Way), StartError> {
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
        let way =
            known.way.get_or_init(|| self.host.egress.sender(upstream).map_err(|error| error.to_string()));
        let way = way.clone().map_err(|error| StartError::NoWay(name.clone(), error))?;
        Ok((known.kind.clone(), way))
    }

    /// Whether an agent of this hub does, or did, the run. Its name and dialect alone do not prove that,
    /// because anybody may use them.
    pub fn did(&self, run: &RunView) -> bool {
        crate::run::is_of_runner(run) || self.was_elsewhere(run)
    }

    /// Whether an agent elsewhere does, or did, the run when the hub called it.
    pub(crate) fn was_elsewhere(&self, run: &RunView) -> bool {
        if !run.own {
            return false;
        }
        let known = run.name.as_ref().and_then(|name| self.known.get(name));
        matches!(known.map(|known| &known.kind), Some(KnownKind::Remote(config))
            if run.dialect.as_deref() == Some(config.speaks.dialect()))
    }

    /// Whether the conversation says that the run is over.
    pub fn is_over(&self, place: &RunAddress) -> bool {
        self.host.look(place, |run| !run.is_running()).unwrap_or_default()
    }

    /// The name for a new run: `wanted` unless another run of the conversation has it.
    fn name(&self, id: &ConversationId, wanted: Option<RunId>) -> RunId {
        let found = self.host.hub.find(id).ok().flatten();
        let is_free = |run: &RunId| {
            found.as_ref().is_none_or(|found| found.read_view(|view| !view.runs.contains_key(run)))
        };
        wanted
            .filter(|run| !run.is_none())
            .filter(is_free)
            .unwrap_or_else(|| RunId::new(&clock::fresh_name()))
    }

    /// Publishes the messages before the agent answers. Returns the head of the conversation before them.
    fn publish(&self, id: &ConversationId, messages: Vec<Spoken>) -> Result<Position, StartError> {
        let conversation = self.host.hub.open(id).map_err(PublishError::from)?;
        let after =
            Position { epoch: conversation.epoch().clone(), seq: conversation.read_view(|view| view.seq) };
        let name = clock::fresh_name();
        let mut said = Decoded::default();
        for (number, spoken) in messages.into_iter().enumerate() {
            let message = spoken.id.unwrap_or_else(|| MessageId::new(&format_compact!("{name}.{number}")));
            let message = Message { message, role: spoken.role, text: spoken.text, files: spoken.files };
            said.push(&RunId::none(), Kind::Message(message));
        }
        if !said.envelopes.is_empty() {
            self.host.fanout.publish(id, Publication::of(said.envelopes))?;
        }
        Ok(after)
    }
}
