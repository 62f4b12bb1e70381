//! The places of runs that go on, and what each is led by.

use std::sync::Arc;

use compact_str::CompactString;
use exchange::OfferedTool;
use model::limits::RUNS_AT_ONCE_MAX;
use tokio::sync::{mpsc, watch};
use tokio_util::sync::CancellationToken;

use super::remote::{self, RemoteRun};
use super::{Agents, AskedAbout, KnownKind, StartError, Terms, Turn};
use crate::runner::{Parts, RunAddress, Shell, Way, Word};
use crate::state::Shared;
use hub::PublishError;

/// Words for one run that wait to be heard.
const WORDS_MAX: usize = 64;

/// A run that is ready to go on.
#[derive(Debug)]
pub(super) enum Work {
    Own(Box<Shell>),
    Elsewhere(Box<RemoteRun>),
}

/// A run that goes on.
#[derive(Debug)]
pub(super) struct Going {
    pub(super) agent: CompactString,
    pub(super) stop: CancellationToken,
    pub(super) words: mpsc::Sender<Word>,
    /// Whether it goes on only when a person has answered.
    pub(super) is_waiting: watch::Receiver<bool>,
    /// What it has asked a person about.
    pub(super) asked: Arc<AskedAbout>,
    /// Cancelled when its place is free again.
    pub(super) left: CancellationToken,
}

/// What a run that goes on is led by.
#[derive(Debug)]
pub(super) struct Reins {
    stop: CancellationToken,
    words: mpsc::Receiver<Word>,
    waits: watch::Sender<bool>,
    asked: Arc<AskedAbout>,
}

/// The place of a run among those that go on, free again when this is dropped.
#[derive(Debug)]
pub(super) struct Seat {
    shared: Arc<Shared>,
    pub(super) place: RunAddress,
    pub(super) agent: CompactString,
}

impl Seat {
    pub(super) fn take(
        shared: &Arc<Shared>,
        place: &RunAddress,
        agent: CompactString,
    ) -> Result<(Self, Reins), StartError> {
        if shared.is_draining() {
            return Err(StartError::Draining);
        }
        let stop = CancellationToken::new();
        let (words, heard) = mpsc::channel(WORDS_MAX);
        let (waits, is_waiting) = watch::channel(false);
        let mut going = shared.agents.going.lock();
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
        let seat = Self { shared: Arc::clone(shared), place: place.clone(), agent };
        Ok((seat, Reins { stop, words: heard, waits, asked }))
    }

    /// The run, which begins, or goes on where it is there; `tools` are those of whoever asked, on these `terms`. That it does
    /// is in the conversation when this returns.
    pub(super) fn work(
        &self,
        (kind, way): (KnownKind, Way),
        Reins { stop, words, waits, asked }: Reins,
        (tools, terms): (Arc<[OfferedTool]>, Terms),
        is_there: bool,
    ) -> Result<Work, PublishError> {
        let (shared, place) = (Arc::clone(&self.shared), self.place.clone());
        Ok(match kind {
            KnownKind::Runner(config) => {
                let parts = Parts { shared, config, way, place, stop, words, waits, asked, tools, terms };
                let shell = if is_there { Shell::resume(parts)? } else { Shell::begin(parts)? };
                Work::Own(Box::new(shell))
            }
            KnownKind::Remote(config) => {
                let agent = self.agent.clone();
                let parts = remote::Parts {
                    shared,
                    config,
                    agent,
                    way,
                    place,
                    stop,
                    words,
                    waits,
                    asked,
                    tools,
                    terms,
                };
                Work::Elsewhere(Box::new(RemoteRun::begin(parts)?))
            }
        })
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        let gone = self.shared.agents.going.lock().remove(&self.place);
        if let Some(gone) = gone {
            gone.left.cancel();
        }
    }
}

/// Lets a run go on in a task of its own. What was said too late for it is answered in one more run.
pub(super) fn go_on(shared: &Arc<Shared>, work: Work, seat: Seat) {
    let shared = Arc::clone(shared);
    shared.tasks.clone().spawn(async move {
        let has_news = match work {
            Work::Own(shell) => shell.run().await,
            Work::Elsewhere(errand) => errand.run().await,
        };
        let (place, agent) = (seat.place.clone(), seat.agent.clone());
        drop(seat);
        if has_news && !shared.is_draining() {
            let RunAddress { conversation, .. } = place;
            let turn = Turn::new(agent, conversation, Vec::new());
            if let Err(error) = Agents::start(&shared, turn) {
                tracing::warn!(%error, "what was said last stays without an answer");
            }
        }
    });
}
