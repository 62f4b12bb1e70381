//! Events about the run itself.

use super::{RunFold, agent, loss};
use crate::event::{RunEnd, RunStart, RunStatus, RunUpdate, ToolState};
use crate::view::{Item, RunView};

/// A run begins, or one that had ended goes on.
pub(super) fn start(run: &mut RunView, scene: &mut RunFold<'_>, start: &RunStart) {
    if !run.is_running() {
        run.status = RunStatus::Running;
        run.ended_at = None;
        run.finish_reason = None;
        run.error = None;
        run.late = false;
    }
    set(&mut run.model, start.model.as_ref());
    set(&mut run.dialect, start.dialect.as_ref());
    set(&mut run.title, start.title.as_ref());
    set(&mut run.name, start.name.as_ref());
    set(&mut run.host, start.host.as_ref());
    scene.run_changed();
}

/// More is known. Tokens are added to those before; of an agent's update they count for it too.
pub(super) fn update(run: &mut RunView, scene: &mut RunFold<'_>, update: &RunUpdate) {
    set(&mut run.model, update.model.as_ref());
    set(&mut run.title, update.title.as_ref());
    set(&mut run.finish_reason, update.finish_reason.as_ref());
    if let Some(usage) = update.usage {
        run.usage = Some(run.usage.unwrap_or_default().plus(usage));
        agent::spend(run, scene, usage);
    }
    scene.run_changed();
}

/// The run is over, and with it what it has left open. Calls that the model left to its caller stay open if
/// it is complete.
pub(super) fn end(run: &mut RunView, scene: &mut RunFold<'_>, end: &RunEnd) {
    loss::note_end(run, end.lost);
    // "It ended, running" is nonsense that some publisher will send.
    run.status = if end.status == RunStatus::Running { RunStatus::Interrupted } else { end.status };
    run.ended_at = Some(scene.at);
    (run.activity, run.activity_at) = (None, None);
    set(&mut run.finish_reason, end.finish_reason.as_ref());
    if let Some(usage) = end.usage {
        run.usage = Some(usage.total_after(run.usage));
    }
    let open = std::mem::take(&mut run.open);
    for item in open {
        if close(run, scene.at, &item) {
            scene.item_changed(item);
        } else {
            run.open.insert(item);
        }
    }
    scene.run_changed();
}

/// Closes `item` as the end of its run wants it; false when it stays open.
fn close(run: &mut RunView, at: u64, item: &Item) -> bool {
    let status = run.status;
    match item {
        Item::Part(id) => {
            if let Some(part) = run.parts.get_mut(id) {
                part.ended_at.get_or_insert(at);
            }
        }
        Item::Agent(id) => {
            if let Some(agent) = run.agents.get_mut(id) {
                agent.status = status;
                agent.ended_at = Some(at);
            }
        }
        Item::Tool(id) => {
            let Some(tool) = run.tools.get_mut(id) else { return true };
            let state = match (status, tool.state) {
                // The model is done and leaves these calls to its caller, who gives the results back later.
                (RunStatus::Complete, ToolState::Pending | ToolState::Approval) => return false,
                (RunStatus::Cancelled, _) => ToolState::Cancelled,
                _ => ToolState::Interrupted,
            };
            tool.state = state;
            tool.ended_at = Some(at);
        }
        Item::Note(_) => {}
    }
    true
}

/// Replaces `field`, unless nothing new is known.
pub(super) fn set<T: Clone>(field: &mut Option<T>, new: Option<&T>) {
    if new.is_some() {
        *field = new.cloned();
    }
}
