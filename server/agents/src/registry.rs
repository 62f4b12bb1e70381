//! All agents by their names, and the runs that go on.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, OnceLock};

use compact_str::{CompactString, format_compact};
use dialects::Decoded;
use event_log::clock;
use exchange::{OfferedTool, Spoken};
use hub::{Publication, PublishError};
use model::event::{Kind, Message};
use model::view::RunView;
use model::{ConversationId, MessageId, Position, RunId};
use parking_lot::{Mutex, MutexGuard};
use tokio::sync::watch;

use crate::asked_about::AskedAbout;
use crate::error::StartError;
use crate::host::Host;
use crate::run::{RUNNER, RunAddress, Word};
use crate::seat::{Beginning, Going, Seat};
use crate::settings::{AgentConfig, AgentKind, RemoteConfig, RemoteKind, RunnerConfig};
use crate::terms::Terms;
use crate::way::Way;

/// All agents, and the runs that they do.
#[derive(Debug)]
pub struct Agents {
    host: Arc<Host>,
    known: BTreeMap<CompactString, Known>,
    going: Mutex<HashMap<RunAddress, Going>>,
}

#[derive(Debug)]
struct Known {
    kind: KnownKind,
    /// The way to its model, or to itself, once somebody asked.
    way: OnceLock<Result<Way, String>>,
}

#[derive(Debug, Clone)]
pub(crate) enum KnownKind {
    /// The hub itself runs it.
    Runner(Arc<RunnerConfig>),
    /// It runs in another server.
    Remote(Arc<RemoteConfig>),
}

/// What is told of an agent.
#[derive(Debug, serde::Serialize)]
pub struct AgentRow {
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
pub struct Turn {
    /// The name of the agent.
    pub agent: CompactString,
    /// Where; made when there is none.
    pub conversation: ConversationId,
    /// What is said before the agent answers, in order.
    pub messages: Vec<Spoken>,
    /// What the run is to be called; it gets a name of its own where it is not said, or another run has the name.
    pub run: Option<RunId>,
    /// Tools that the caller executes: a run that calls one ends with the call.
    pub tools: Vec<OfferedTool>,
    /// What whoever asks keeps for itself in the run.
    pub note: Option<Kind>,
    /// Who asks, and how the run is to go.
    pub terms: Terms,
}

impl Turn {
    /// `messages` are said to `agent`, and no more is wanted.
    pub fn new(agent: CompactString, conversation: ConversationId, messages: Vec<Spoken>) -> Self {
        let (tools, terms) = (Vec::new(), Terms::default());
        Self { agent, conversation, messages, run: None, tools, note: None, terms }
    }
}

/// A turn that has begun.
#[derive(Debug, Clone)]
pub struct Started {
    /// Where.
    pub place: RunAddress,
    /// Where the conversation stood before: everything of the turn comes after it.
    pub after: Position,
}

impl Agents {
    /// Those that were set.
    pub fn new(set: &[AgentConfig], host: Host) -> Arc<Self> {
        let known = set.iter().map(|agent| {
            let kind = match &agent.kind {
                AgentKind::Runner(config) => KnownKind::Runner(Arc::new(RunnerConfig::clone(config))),
                AgentKind::Remote(config) => KnownKind::Remote(Arc::new(RemoteConfig::clone(config))),
            };
            (agent.name.clone(), Known { kind, way: OnceLock::new() })
        });
        Arc::new(Self { host: Arc::new(host), known: known.collect(), going: Mutex::default() })
    }

    /// What runs take of the hub.
    pub(crate) fn host(&self) -> &Arc<Host> {
        &self.host
    }

    /// The runs that go on. Held for a moment, and by nobody who waits.
    pub(crate) fn going(&self) -> MutexGuard<'_, HashMap<RunAddress, Going>> {
        self.going.lock()
    }

    /// Their names, in order.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.known.keys().map(CompactString::as_str)
    }

    /// What is told of each, in the order of the names.
    pub fn rows(&self) -> Vec<AgentRow> {
        let row = |(name, known): (&CompactString, &Known)| {
            let (kind, dialect, model) = match &known.kind {
                KnownKind::Runner(config) => (RUNNER, RUNNER, Some(config.plan.model.clone())),
                KnownKind::Remote(config) => {
                    (config.speaks.name(), config.speaks.dialect(), config.model.clone())
                }
            };
            AgentRow { name: name.clone(), kind, dialect, model }
        };
        self.known.iter().map(row).collect()
    }

    /// Whether there is one of that name.
    pub fn knows(&self, name: &str) -> bool {
        self.known.contains_key(name)
    }

    /// The servers whose tools an agent may call, where the hub itself runs it.
    pub fn servers(&self, name: &str) -> &[CompactString] {
        match self.known.get(name).map(|known| &known.kind) {
            Some(KnownKind::Runner(config)) => &config.tools,
            _ => &[],
        }
    }

    /// How many runs go on.
    pub fn count(&self) -> usize {
        self.going.lock().len()
    }

    /// Begins a turn of an agent. What is said and the beginning of the run are in the conversation when this returns; the run
    /// goes on by itself. Never waits for the model.
    pub fn start(self: &Arc<Self>, turn: Turn) -> Result<Started, StartError> {
        let Turn { agent, conversation, messages, run, tools, note, terms } = turn;
        let found = self.find(&agent)?;
        let place = RunAddress { run: self.name(&conversation, run), conversation };
        let (seat, lead) = Seat::take(self, &place, agent)?;
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

    /// The same for a person who talks to an agent: where it is at work in that conversation already, it is told with its next
    /// request what was said.
    pub fn say(self: &Arc<Self>, turn: Turn) -> Result<Started, StartError> {
        let at_work = self.at_work(&turn.conversation, &turn.agent);
        let Some(place) = at_work.filter(|place| !self.is_over(place)) else {
            return self.start(turn);
        };
        let after = self.publish(&turn.conversation, turn.messages)?;
        if self.tell(&place, Word::MessagePublished) {
            return Ok(Started { place, after });
        }
        // It came to its end meanwhile, and did not hear of it.
        Ok(Started { after, ..self.start(Turn { messages: Vec::new(), ..turn })? })
    }

    /// Waits until the task of a run has ended, where the conversation says already that the run is over. The end of a run is
    /// published by its task, so that others hear of it before the run's place is free; what the task does after it waits for
    /// nothing.
    pub async fn left(&self, place: &RunAddress) {
        let left = self.going.lock().get(place).map(|going| going.left.clone());
        if let Some(left) = left.filter(|_| self.is_over(place)) {
            left.cancelled().await;
        }
    }

    /// Stops a run. False where it does not go on.
    pub fn stop(&self, place: &RunAddress) -> bool {
        let going = self.going.lock();
        going.get(place).map(|going| going.stop.cancel()).is_some()
    }

    /// Whether a run goes on that was told to stop.
    pub fn is_stopping(&self, place: &RunAddress) -> bool {
        self.going.lock().get(place).is_some_and(|going| going.stop.is_cancelled())
    }

    /// What a run has asked a person about; nothing where it does not go on.
    pub(crate) fn asked(&self, place: &RunAddress) -> Option<Arc<AskedAbout>> {
        self.going.lock().get(place).map(|going| Arc::clone(&going.asked))
    }

    /// A person does not want to wait until a model is asked again. False where the run does not go on in this hub's own
    /// agents, or has too much to hear.
    pub fn hurry(&self, place: &RunAddress) -> bool {
        self.tell(place, Word::Again)
    }

    /// Whether a run goes on only when a person has answered, now and from now on; nothing where it does not go on.
    pub fn is_waiting(&self, place: &RunAddress) -> Option<watch::Receiver<bool>> {
        self.going.lock().get(place).map(|going| going.is_waiting.clone())
    }

    /// Whether an agent can be told of tools that whoever asks it executes.
    pub fn takes_tools(&self, name: &str) -> bool {
        match self.known.get(name).map(|known| &known.kind) {
            Some(KnownKind::Remote(config)) => config.speaks.takes_tools(),
            Some(KnownKind::Runner(_)) | None => true,
        }
    }

    /// Whether an agent can be told that it is to call no tools.
    pub fn can_do_without_tools(&self, name: &str) -> bool {
        match self.known.get(name).map(|known| &known.kind) {
            Some(KnownKind::Remote(config)) => config.speaks == RemoteKind::Forge,
            Some(KnownKind::Runner(_)) | None => true,
        }
    }

    /// Says this to a run. False where it does not go on in an agent of this hub, or has too much to hear.
    pub(crate) fn tell(&self, place: &RunAddress, word: Word) -> bool {
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

    /// An agent, and the way to it or to its model.
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

    /// Whether an agent of this hub did the run, or does it. A name and a dialect can be anybody's.
    pub fn did(&self, run: &RunView) -> bool {
        crate::run::is_of_runner(run) || self.was_elsewhere(run)
    }

    /// Whether an agent elsewhere did the run that the hub called.
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

    /// The name of a new run: `wanted` where no other run of the conversation has it.
    fn name(&self, id: &ConversationId, wanted: Option<RunId>) -> RunId {
        let found = self.host.hub.find(id).ok().flatten();
        let is_free =
            |run: &RunId| found.as_ref().is_none_or(|found| found.look(|view| !view.runs.contains_key(run)));
        wanted
            .filter(|run| !run.is_none())
            .filter(is_free)
            .unwrap_or_else(|| RunId::new(&clock::fresh_name()))
    }

    /// Takes what is said before the agent answers into the conversation. Returns where that stood before.
    fn publish(&self, id: &ConversationId, messages: Vec<Spoken>) -> Result<Position, StartError> {
        let conversation = self.host.hub.open(id).map_err(PublishError::from)?;
        let after = Position { epoch: conversation.epoch().clone(), seq: conversation.look(|view| view.seq) };
        let name = clock::fresh_name();
        let mut said = Decoded::default();
        for (number, spoken) in messages.into_iter().enumerate() {
            let message = spoken.id.unwrap_or_else(|| MessageId::new(&format_compact!("{name}.{number}")));
            let message = Message { message, role: spoken.role, text: spoken.text };
            said.push(&RunId::none(), Kind::Message(message));
        }
        if !said.envelopes.is_empty() {
            self.host.fanout.publish(id, Publication::of(said.envelopes))?;
        }
        Ok(after)
    }
}
