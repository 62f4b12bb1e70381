//! Seats: the places of runs that go on, and how each is led.

use std::sync::Arc;

use compact_str::CompactString;
use exchange::OfferedTool;
use hub::PublishError;
use model::limits::RUNS_AT_ONCE_MAX;
use tokio::sync::{mpsc, watch};
use tokio_util::sync::CancellationToken;

use crate::asked_about::AskedAbout;
use crate::driver::{Reins, RunParts, drive};
use crate::error::StartError;
use crate::host::Host;
use crate::registry::{Agents, KnownKind, Turn};
use crate::remote::RemoteRun;
use crate::run::{RunAddress, Word};
use crate::runner::Shell;
use crate::terms::Terms;
use crate::way::Way;

/// Most words to one run that wait to be heard.
const WORDS_MAX: usize = 64;

/// A run that is ready to be driven.
#[derive(Debug)]
pub(crate) enum Work {
    /// The hub does it.
    Own(Box<Shell>, Reins),
    /// An agent in another server does it.
    Elsewhere(Box<RemoteRun>, Reins),
}

/// What others may know of a run that goes on, and how they reach it.
#[derive(Debug)]
pub(crate) struct Going {
    /// The name of its agent.
    pub(crate) agent: CompactString,
    /// Stops the run when it is cancelled.
    pub(crate) stop: CancellationToken,
    /// What is said to the run.
    pub(crate) words: mpsc::Sender<Word>,
    /// Whether the run goes on only after a person's answer.
    pub(crate) is_waiting: watch::Receiver<bool>,
    /// What it has asked a person about.
    pub(crate) asked: Arc<AskedAbout>,
    /// Cancelled when its place is free again.
    pub(crate) left: CancellationToken,
}

/// The place of a run among those that go on. Dropping it frees the place.
#[derive(Debug)]
pub(crate) struct RunPlace {
    /// The agents that have the place.
    agents: Arc<Agents>,
    /// The address of the run.
    place: RunAddress,
    /// The name of its agent.
    agent: CompactString,
}

/// How a run is led and watched, whoever does it.
#[derive(Debug)]
pub(crate) struct Lead {
    /// What the driver of the run hears.
    reins: Reins,
    /// The other end of [`Going::is_waiting`].
    waits: watch::Sender<bool>,
    /// What the run has asked a person about; shared with [`Going::asked`].
    asked: Arc<AskedAbout>,
}

/// Whether a run begins or is resumed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Beginning {
    /// The run is new.
    New,
    /// The run goes on as the conversation has it.
    Resumed,
}

impl RunPlace {
    /// Takes a place for a run of `agent`. Refused while the hub drains, if as many runs go on as may, and if
    /// the run already goes on.
    pub(crate) fn take(
        agents: &Arc<Agents>,
        place: &RunAddress,
        agent: CompactString,
    ) -> Result<(Self, Lead), StartError> {
        if agents.host().is_draining() {
            return Err(StartError::Draining);
        }
        let stop = CancellationToken::new();
        let (words, heard) = mpsc::channel(WORDS_MAX);
        let (waits, is_waiting) = watch::channel(false);
        let mut going = agents.going();
        if going.len() >= RUNS_AT_ONCE_MAX {
            return Err(StartError::TooMany);
        }
        if going.contains_key(place) {
            return Err(StartError::NotResumable(String::from("the run goes on")));
        }
        let left = CancellationToken::new();
        let asked = Arc::<AskedAbout>::default();
        let its = Arc::clone(&asked);
        let of_it = Going { agent: agent.clone(), stop: stop.clone(), words, is_waiting, asked: its, left };
        going.insert(place.clone(), of_it);
        drop(going);
        let seat = Self { agents: Arc::clone(agents), place: place.clone(), agent };
        Ok((seat, Lead { reins: Reins { stop, words: heard }, waits, asked }))
    }

    /// Makes the run ready: a new one or a resumed one, with the caller's `tools` and `terms`. Its beginning
    /// is in the conversation when this returns.
    pub(crate) fn work(
        &self,
        (kind, way): (KnownKind, Way),
        Lead { reins, waits, asked }: Lead,
        (tools, terms): (Arc<[OfferedTool]>, Terms),
        beginning: Beginning,
    ) -> Result<Work, PublishError> {
        let (host, agent, place) = (Arc::clone(self.agents.host()), self.agent.clone(), self.place.clone());
        let parts = RunParts { host, agent, way, place, waits, asked, tools, terms };
        Ok(match kind {
            KnownKind::Runner(config) => {
                let shell = match beginning {
                    Beginning::New => Shell::begin(config, parts)?,
                    Beginning::Resumed => Shell::resume(config, parts)?,
                };
                Work::Own(Box::new(shell), reins)
            }
            KnownKind::Remote(config) => Work::Elsewhere(Box::new(RemoteRun::begin(config, parts)?), reins),
        })
    }

    /// Drives the run in a task of its own. Messages that came too late for it are answered in one more run.
    pub(crate) fn go_on(self, work: Work) {
        let host: Arc<Host> = Arc::clone(self.agents.host());
        host.tasks.spawn(async move {
            let has_news = match work {
                Work::Own(shell, reins) => drive(*shell, reins).await,
                Work::Elsewhere(run, reins) => drive(*run, reins).await,
            };
            let (agents, place, agent) = (Arc::clone(&self.agents), self.place.clone(), self.agent.clone());
            drop(self);
            if has_news && !agents.host().is_draining() {
                let RunAddress { conversation, .. } = place;
                let turn = Turn::new(agent, conversation, Vec::new());
                if let Err(error) = agents.start(turn) {
                    tracing::warn!(%error, "what was said last stays without an answer");
                }
            }
        });
    }
}

impl Drop for RunPlace {
    fn drop(&mut self) {
        let gone = self.agents.going().remove(&self.place);
        if let Some(gone) = gone {
            gone.left.cancel();
        }
    }
}
