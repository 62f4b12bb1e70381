//! Resuming runs: because somebody asks for it, or because the hub has restarted.
//!
//! ```text
//! when the hub starts        run of the hub's own loop      run of an agent elsewhere
//! going on, or stopped       resumed                        resumed if it waits for a person, else ended
//! complete, or failed        stays                          stays; a person may have it repeated
//! ```

use std::sync::Arc;

use event_log::{ListQuery, blocking};
use hub::PublishError;
use model::event::RunStatus;
use model::view::RunView;
use model::{ConversationId, Position, RunId};

use crate::error::StartError;
use crate::registry::{Agents, Started};
use crate::remote;
use crate::run::{HUB_STOPPED, RunAddress, is_of_runner};
use crate::seat::{Beginning, RunPlace};
use crate::terms::Terms;

/// Most conversations that are searched for runs that were interrupted when the hub stopped.
const LOOKED_THROUGH_MAX: usize = 256;

impl Agents {
    /// Resumes a run of an agent of this hub that is over or that nobody does any more. Fails if it is
    /// complete, goes on, or was never a run of such an agent. Also fails if the hub drains or too many runs
    /// go on.
    pub fn resume(self: &Arc<Self>, place: &RunAddress) -> Result<Started, StartError> {
        let found = self.host().hub.find(&place.conversation).map_err(PublishError::from)?;
        let wrong = |what: &str| StartError::NotResumable(what.to_owned());
        let found = found.ok_or_else(|| wrong("there is no such conversation"))?;
        let known = found.read_view(|view| {
            let run = view.runs.get(&place.run)?;
            Some((self.did(run), run.status, run.name.clone(), Terms::of(run), view.seq))
        });
        let (is_ours, status, name, terms, seq) = known.ok_or_else(|| wrong("there is no such run"))?;
        let name = name.filter(|_| is_ours);
        let name = name.ok_or_else(|| wrong("the run is not one of an agent of this hub"))?;
        if status == RunStatus::Complete {
            return Err(wrong("the run is complete"));
        }
        let agent = self.find(&name)?;
        let (seat, lead) = RunPlace::take(self, place, name)?;
        let after = Position { epoch: found.epoch().clone(), seq };
        // The caller's own tools are not offered again, because the caller is gone.
        let work = seat.work(agent, lead, (Arc::default(), terms), Beginning::Resumed)?;
        seat.go_on(work);
        Ok(Started { place: place.clone(), after })
    }

    /// Resumes all runs that were going on when the hub died or stopped. Runs of agents elsewhere are ended, unless the agent
    /// unless the agent waits for a person. Waits for the disk. One that does not go on is traced and left as
    /// it is.
    pub fn resume_all(self: &Arc<Self>, unfinished: Vec<ConversationId>) {
        if self.names().next().is_none() {
            return;
        }
        let query = ListQuery {
            state: Some(RunStatus::Interrupted),
            limit: LOOKED_THROUGH_MAX,
            ..ListQuery::default()
        };
        let rows = blocking(|| self.host().hub.list(&query)).map(|listed| listed.rows).unwrap_or_default();
        let stopped = rows.into_iter().map(|row| row.conversation);
        // The runs of a copy go on in the original.
        let stopped = unfinished.into_iter().chain(stopped).filter(|conversation| !conversation.is_frozen());
        for conversation in stopped {
            let Ok(Some(found)) = self.host().hub.find(&conversation) else { continue };
            let runs: Vec<(RunId, bool)> = found.read_view(|view| {
                let waits = |run: &RunView, is_elsewhere: bool| {
                    let was_stopped = run.error.as_ref().is_some_and(|error| error.code == HUB_STOPPED);
                    let goes_on = is_of_runner(run) && (run.is_running() || was_stopped);
                    goes_on || (is_elsewhere && remote::waits(run))
                };
                let looked = view.runs.iter().map(|(id, run)| {
                    let is_elsewhere = self.was_elsewhere(run);
                    let waits = waits(run, is_elsewhere);
                    let is_cut = !waits && run.is_running() && is_elsewhere;
                    (waits || is_cut).then(|| (id.clone(), is_cut))
                });
                looked.flatten().collect()
            });
            for (run, is_cut) in runs {
                let place = RunAddress { conversation: conversation.clone(), run };
                let went = if is_cut {
                    remote::cut_off(self.host(), &place).map_err(StartError::from)
                } else {
                    self.resume(&place).map(drop)
                };
                if let Err(error) = went {
                    tracing::warn!(%conversation, run = %place.run, %error, "a run does not go on");
                }
            }
        }
    }
}
