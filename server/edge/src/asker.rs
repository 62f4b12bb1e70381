//! Who asked for the runs of agents that go on, so that these end when their asker's token is taken back.
//!
//! ```text
//! request, or command of a socket ─▶ by(admission, …) ─▶ a run begins ─▶ AskedRuns::began
//! tokens.json changes ─▶ AskedRuns::stop_revoked ─▶ is the asker still known? ── no ─▶ the run is stopped
//! ```
//!
//! A run outlives the socket or browser that asked for it, its asker's login, and the time of the token: it was
//! admitted when it was asked for. A token that was revoked is another thing: what it set going is not wanted.

use std::collections::HashMap;
use std::future::Future;

use access::{Admission, Denial};
use agents::{Agents, Refusal, RunAddress};
use parking_lot::Mutex;

use crate::access::Gate;

tokio::task_local! {
    /// Who asks for what the task does.
    static ASKER: Admission;
}

/// Does `what` for `asker`; for nobody in particular without one.
pub(crate) async fn by<T>(asker: Option<Admission>, what: impl Future<Output = T>) -> T {
    match asker {
        Some(asker) => ASKER.scope(asker, what).await,
        None => what.await,
    }
}

/// Fails with `unauthenticated` if the asker of this task is no longer admitted. What nobody in particular asks for is not refused.
pub(crate) fn still_admitted(gate: &Gate) -> Result<(), Refusal> {
    let asked = ASKER.try_with(|asker| gate.still_holds(asker)).unwrap_or(Ok(()));
    asked.map_err(|denial| Refusal::new(denial.code(), denial.to_string()))
}

/// The runs that go on and whose askers are known, with their askers. As large as the number of such runs. One for each hub.
#[derive(Debug, Default)]
pub(crate) struct AskedRuns {
    going: Mutex<HashMap<RunAddress, Admission>>,
}

impl AskedRuns {
    /// Notes that a run began, or began again, for the asker of this task. A run whose asker was revoked meanwhile is stopped.
    pub(crate) fn began(&self, agents: &Agents, gate: &Gate, place: &RunAddress) {
        self.going.lock().remove(place);
        self.joined(agents, gate, place);
    }

    /// Does the same for a run that may have gone on before: it stays that of who began it.
    pub(crate) fn joined(&self, agents: &Agents, gate: &Gate, place: &RunAddress) {
        let asker = ASKER.try_with(|asker| gate.behind(asker)).ok().flatten();
        let Some(asker) = asker else { return };
        let mut going = self.going.lock();
        going.retain(|place, _| agents.goes_on(place));
        let asker = going.entry(place.clone()).or_insert(asker).clone();
        drop(going);
        if is_revoked(gate, &asker) {
            stop(agents, place);
        }
    }

    /// Stops the runs whose askers were revoked. Call it after each change of who is known.
    pub(crate) fn stop_revoked(&self, agents: &Agents, gate: &Gate) {
        let mut revoked = Vec::new();
        self.going.lock().retain(|place, asker| {
            let is_revoked = is_revoked(gate, asker);
            if is_revoked {
                revoked.push(place.clone());
            }
            !is_revoked
        });
        for place in &revoked {
            stop(agents, place);
        }
    }
}

/// Whether the token behind an admission was taken back or given other grants; one that only expired was not.
fn is_revoked(gate: &Gate, asker: &Admission) -> bool {
    gate.still_holds(asker).is_err_and(|denial| denial != Denial::Expired)
}

/// Stops a run, if it goes on.
fn stop(agents: &Agents, place: &RunAddress) {
    if agents.stop(place) {
        let RunAddress { conversation, run } = place;
        tracing::info!(%conversation, %run, "a run was stopped, since the token of who asked for it was revoked");
    }
}
