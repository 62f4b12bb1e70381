//! A run whose publisher was lost: stalled, then ended by the hub, and gone on with as if nothing had been when the
//! publisher comes back.

use super::{RunFold, ViewChange};
use crate::event::{ErrorFact, PUBLISHER_LOST, RunStatus};
use crate::ids::RunId;
use crate::view::{Closed, Item, Loss, RunView};

/// The hub has not heard of the run since `since`. Says nothing about a run that is over.
pub(super) fn stalled(run: &mut RunView, scene: &mut RunFold<'_>, since: u64) {
    if run.is_running() {
        run.stalled_at = Some(since);
        scene.run_changed();
    }
}

/// Something else came of the run than the word that nothing came: it is stalled no more, and where only a loss had
/// ended it, it goes on with what was open then.
pub(super) fn heard(run_id: &RunId, run: &mut RunView, changed: &mut dyn FnMut(ViewChange)) {
    if run.stalled_at.take().is_some() {
        changed(ViewChange::Run(run_id.clone()));
    }
    if !run.is_running()
        && let Some(loss) = run.loss.take()
    {
        reopen(run, *loss, &mut |item| changed(ViewChange::Item(run_id.clone(), item)));
        changed(ViewChange::Run(run_id.clone()));
    }
}

/// The run as it was before it was lost; as it is when it was not.
pub(crate) fn before_loss(run: &RunView) -> std::borrow::Cow<'_, RunView> {
    let Some(loss) = run.loss.as_ref().filter(|_| !run.is_running()) else {
        return std::borrow::Cow::Borrowed(run);
    };
    let mut before = run.clone();
    before.loss = None;
    reopen(&mut before, Loss::clone(loss), &mut |_item| {});
    std::borrow::Cow::Owned(before)
}

/// Remembers what the failure of a loss stands in front of, since the end that belongs to it comes only afterwards.
pub(super) fn note_error(run: &mut RunView, error: &ErrorFact) {
    if error.code == PUBLISHER_LOST && run.is_running() {
        run.loss = Some(Box::new(Loss { error: run.error.clone(), ..Loss::default() }));
    }
}

/// Remembers, when the end of `run` is a loss, what that end closes. Call it before anything is closed.
pub(super) fn note_end(run: &mut RunView, is_loss: bool) {
    if !is_loss || !run.is_running() {
        run.loss = None;
        return;
    }
    let open = run.open.iter().map(|item| Closed {
        state: match item {
            Item::Tool(id) => run.tools.get(id).map(|tool| tool.state),
            Item::Part(_) | Item::Agent(_) | Item::Note(_) => None,
        },
        item: item.clone(),
    });
    let open = open.collect();
    let (activity, activity_at) = (run.activity.clone(), run.activity_at);
    let error = run.loss.take().map_or_else(|| run.error.clone(), |loss| loss.error);
    run.loss = Some(Box::new(Loss { error, activity, activity_at, open }));
}

/// Takes back what a lost end did.
fn reopen(run: &mut RunView, loss: Loss, changed: &mut dyn FnMut(Item)) {
    run.status = RunStatus::Running;
    run.ended_at = None;
    run.error = loss.error;
    (run.activity, run.activity_at) = (loss.activity, loss.activity_at);
    for Closed { item, state } in loss.open {
        match &item {
            Item::Part(id) => {
                if let Some(part) = run.parts.get_mut(id) {
                    part.ended_at = None;
                }
            }
            Item::Agent(id) => {
                if let Some(agent) = run.agents.get_mut(id) {
                    agent.status = RunStatus::Running;
                    agent.ended_at = None;
                }
            }
            Item::Tool(id) => {
                if let Some(tool) = run.tools.get_mut(id) {
                    tool.state = state.unwrap_or_default();
                    tool.ended_at = None;
                }
            }
            Item::Note(_) => {}
        }
        run.open.insert(item.clone());
        changed(item);
    }
}

#[cfg(test)]
mod tests;
