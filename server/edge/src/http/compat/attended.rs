//! Callers that hang up before their run has ended.
//!
//! A caller is known to be gone when the server drops the body of its answer. Nothing else says so, which is
//! why the drop does the work: it cannot wait, so whatever may touch the disk is spawned as a task of the
//! hub.

use std::sync::Arc;

use dialects::Decoded;
use event_log::blocking;
use exchange::continuation::Trace;
use model::event::Kind;
use model::view::{RunView, View};

use crate::door::HangUp;
use crate::state::Shared;
use agents::RunAddress;
use hub::Publication;

/// Watches the caller of a run. If it is dropped before [`Attended::over`] was called, the caller has hung
/// up: then the run is stopped, or a note is left for the caller's return, as its door says. It is owned by
/// the answer, next to the reader, and never keeps the run alive.
#[derive(Debug)]
pub(super) struct Attended {
    shared: Arc<Shared>,
    place: RunAddress,
    /// How the caller is recognised when it returns; `None` if it need not be, because its requests name the
    /// conversation.
    trace: Option<Trace>,
    /// What its door does with the run if the caller hangs up: the setting `hang_up` of the door, or its
    /// default.
    hang_up: HangUp,
    /// Whether the caller was told everything.
    is_over: bool,
}

impl Attended {
    /// Watches the caller of the run at `place`, which began at `door`.
    pub(super) fn new(shared: &Arc<Shared>, door: &str, place: &RunAddress, trace: Option<Trace>) -> Self {
        let hang_up = HangUp::at(&shared.config.compat, door);
        Self { shared: Arc::clone(shared), place: place.clone(), trace, hang_up, is_over: false }
    }

    /// Notes that the caller was told everything: dropping this does nothing now.
    pub(super) fn over(&mut self) {
        self.is_over = true;
    }
}

impl Drop for Attended {
    fn drop(&mut self) {
        if self.is_over {
            return;
        }
        if let Some(trace) = &self.trace {
            self.shared.threads.left(trace, &self.place);
            if self.hang_up == HangUp::GoOn
                && let Some(left) = trace.left()
            {
                note(&self.shared, &self.place, left);
            }
        }
        if self.hang_up == HangUp::Stop && self.shared.agents.stop(&self.place) {
            let RunAddress { conversation, run } = &self.place;
            tracing::info!(%conversation, %run, "a run is stopped whose caller has hung up");
        }
    }
}

/// Appends to the run that its caller has hung up, so that a hub that restarts recognises it too. Nothing is
/// appended after the end of a run. The work is a task of `shared.tasks`, which the drain waits for; a
/// failure is only logged, and then a restarted hub may begin a new conversation for that caller.
fn note(shared: &Arc<Shared>, place: &RunAddress, left: Kind) {
    let (shared, place) = (Arc::clone(shared), place.clone());
    let tasks = shared.tasks.clone();
    tasks.spawn(async move {
        let RunAddress { conversation, run } = &place;
        let found = blocking(|| shared.hub.find(conversation)).ok().flatten();
        let goes_on = |view: &View| view.runs.get(run).is_some_and(RunView::is_running);
        if !found.is_some_and(|found| found.read_view(goes_on)) {
            return;
        }
        let mut said = Decoded::default();
        said.push(run, left);
        if let Err(error) = shared.fanout.publish(conversation, Publication::beside(said.envelopes)) {
            tracing::warn!(%conversation, %run, %error, "could not record that a caller hung up");
        }
    });
}
