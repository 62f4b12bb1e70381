//! Runs that go on again: because somebody asks for it, or because the hub has.

use std::sync::Arc;

use event_log::{ListQuery, blocking};
use model::event::RunStatus;
use model::view::RunView;
use model::{ConversationId, Position, RunId};

use super::seat::go_on;
use super::{Agents, KnownKind, Seat, StartError, Started, Terms, remote};
use crate::runner::{HUB_STOPPED, NAME, RunAddress};
use crate::state::Shared;
use hub::PublishError;

/// Most conversations that are looked through for runs that were interrupted when the hub stopped.
const LOOKED_THROUGH_MAX: usize = 256;

impl Agents {
    /// Lets a run of an agent of this hub go on that is over, or that nobody does any more.
    pub(crate) fn resume(shared: &Arc<Shared>, place: &RunAddress) -> Result<Started, StartError> {
        let found = shared.hub.find(&place.conversation).map_err(PublishError::from)?;
        let wrong = |what: &str| StartError::NotResumable(what.to_owned());
        let found = found.ok_or_else(|| wrong("there is no such conversation"))?;
        let known = found.look(|view| {
            let run = view.runs.get(&place.run)?;
            Some((shared.agents.did(run), run.status, run.name.clone(), Terms::of(run), view.seq))
        });
        let (is_ours, status, name, terms, seq) = known.ok_or_else(|| wrong("there is no such run"))?;
        let name = name.filter(|_| is_ours);
        let name = name.ok_or_else(|| wrong("the run is not one of an agent of this hub"))?;
        if status == RunStatus::Complete {
            return Err(wrong("the run is complete"));
        }
        let agent = shared.agents.find(shared, &name)?;
        let (seat, reins) = Seat::take(shared, place, name)?;
        let after = Position { epoch: found.epoch().clone(), seq };
        // Whoever had tools of their own is not there any more.
        go_on(shared, seat.work(agent, reins, (Arc::default(), terms), true)?, seat);
        Ok(Started { place: place.clone(), after })
    }

    /// Whether an agent of this hub did the run, or does it. A name and a dialect can be anybody's.
    pub(super) fn did(&self, run: &RunView) -> bool {
        is_of_runner(run) || self.was_elsewhere(run)
    }

    /// Whether an agent elsewhere did the run that the hub called.
    fn was_elsewhere(&self, run: &RunView) -> bool {
        if !run.own {
            return false;
        }
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
                    let goes_on = is_of_runner(run) && (run.is_running() || was_stopped);
                    goes_on || (is_elsewhere && remote::waits(run))
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
                let place = RunAddress { conversation: conversation.clone(), run };
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
}

/// Whether the hub itself does the run, or did.
pub(super) fn is_of_runner(run: &RunView) -> bool {
    run.own && run.dialect.as_deref() == Some(NAME)
}
