//! Folds the events about sub-agents into the view of their run.

use super::RunFold;
use crate::anomaly::AnomalyCode;
use crate::event::{AgentEnd, AgentStart, RunStatus, Usage};
use crate::ids::AgentId;
use crate::view::{AgentView, Item, RunView};

/// A sub-agent begins. One that is there begins anew, and keeps its place, its start and its usage.
pub(super) fn start(run: &mut RunView, scene: &mut RunFold<'_>, start: &AgentStart) {
    let Some(id) = scene.event.agent.clone() else {
        scene.note(AnomalyCode::AgentWithoutStart, || "agent.start without an agent".to_owned());
        return;
    };
    let depth = start.depth.unwrap_or_else(|| depth_below(run, start.parent.as_ref()));
    let new = AgentView {
        name: start.name.clone(),
        parent: start.parent.clone(),
        depth,
        tool: start.tool.clone(),
        task: start.text.clone(),
        status: RunStatus::Running,
        started_at: scene.at,
        ended_at: None,
        model: start.model.clone(),
        usage: start.usage,
    };
    if let Some(old) = run.agents.get_mut(&id) {
        // What it has used is used, also when it begins anew.
        let usage = start.usage.map(|usage| usage.total_after(old.usage)).or(old.usage);
        let model = start.model.clone().or_else(|| old.model.take());
        *old = AgentView { started_at: old.started_at, model, usage, ..new };
        run.open.insert(Item::Agent(id.clone()));
        scene.item_changed(Item::Agent(id));
    } else if scene.add(run, Item::Agent(id.clone())) {
        run.open.insert(Item::Agent(id.clone()));
        run.agents.insert(id, new);
    }
}

/// The depth of an agent that `parent` called; 1 if that is the main agent or is not known.
fn depth_below(run: &RunView, parent: Option<&AgentId>) -> u32 {
    let parent = parent.and_then(|parent| run.agents.get(parent));
    parent.map_or(1, |parent| parent.depth.saturating_add(1))
}

/// A sub-agent is done.
pub(super) fn end(run: &mut RunView, scene: &mut RunFold<'_>, end: &AgentEnd) {
    let Some(id) = scene.event.agent.clone() else { return };
    ensure(run, scene);
    if let Some(agent) = run.agents.get_mut(&id) {
        let was_open = run.open.swap_remove(&Item::Agent(id.clone()));
        // Who only learns later what it used says once more how it ended, not when.
        if was_open || agent.status != end.status {
            agent.ended_at = Some(scene.at);
        }
        agent.status = end.status;
        super::run::set(&mut agent.model, end.model.as_ref());
        if let Some(usage) = end.usage {
            agent.usage = Some(usage.total_after(agent.usage));
        }
        scene.item_changed(Item::Agent(id));
    }
}

/// A sub-agent used `usage` more.
pub(super) fn spend(run: &mut RunView, scene: &mut RunFold<'_>, usage: Usage) {
    let Some(id) = scene.event.agent.clone() else { return };
    ensure(run, scene);
    if let Some(agent) = run.agents.get_mut(&id) {
        agent.usage = Some(agent.usage.unwrap_or_default().plus(usage));
        scene.item_changed(Item::Agent(id));
    }
}

/// Makes sure that the agent of the event is there: some dialects name one without ever starting it.
pub(super) fn ensure(run: &mut RunView, scene: &mut RunFold<'_>) {
    let Some(id) = &scene.event.agent else { return };
    if !run.agents.contains_key(id) && !run.full {
        scene.note(AnomalyCode::AgentWithoutStart, || id.to_string());
        start(run, scene, &AgentStart::default());
    }
}
