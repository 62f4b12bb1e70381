//! The agents of a conversation: which called which, the state of each, and its newest steps.

use std::collections::{HashMap, HashSet};

use model::event::{Cost, PartKind, RunStatus, ToolState};
use model::flow::{CallCounts, Flow};
use model::view::{Item, PartView, RunView, ToolView};
use model::{AgentId, RunId, View};

use crate::format;
use crate::latency::CallKey;
use crate::preview;

/// The deepest level at which the conversation indents agents; deeper ones show their path instead.
pub const DEPTH_MAX: usize = 3;

/// The most lines that show what a sub-agent is doing.
const TICKER_LINES: usize = 3;

/// An agent in the tree: a row of the Agents tab.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Branch {
    /// The run of the agent.
    pub run: RunId,
    /// The sub-agent; `None` for the main agent.
    pub agent: Option<AgentId>,
    /// The level in the tree; 0 for the main agent.
    pub depth: usize,
    /// The name of the agent, or its id.
    pub name: String,
    /// The task of the agent, in one line.
    pub task: String,
    /// The status of the agent.
    pub status: RunStatus,
    /// How many of its own calls are done, failed and open.
    pub counts: CallCounts,
    /// When it began and ended, in milliseconds since 1970.
    pub span: (u64, Option<u64>),
    /// The tokens used, if reported: by the whole run for the main agent, by the sub-agent alone otherwise.
    pub tokens: Option<u64>,
    /// What the model calls cost, if known.
    pub cost: Option<Cost>,
}

impl Branch {
    /// What the agent used, in short: `1.2k tokens · $0.0042`; empty if nothing was reported.
    pub fn used(&self) -> String {
        let tokens = self.tokens.filter(|n| *n > 0).map(|n| format!("{} tokens", format::count(n)));
        let cost = self.cost.map(format::cost);
        tokens.into_iter().chain(cost).collect::<Vec<_>>().join(" · ")
    }
}

/// All agents of `view`, each after the agent that called it; only down to level `depth`, if that is set.
/// Main agents are at level 0, in the order of their runs. A call of an agent that the run does not know
/// counts for the main agent.
pub fn tree(view: &View, depth: Option<usize>) -> Vec<Branch> {
    let mut branches = Vec::new();
    for (id, run) in &view.runs {
        let mut counts = HashMap::<Option<&AgentId>, CallCounts>::new();
        for tool in run.tools.values() {
            let agent = tool.agent.as_ref().filter(|agent| run.agents.contains_key(*agent));
            count(counts.entry(agent).or_default(), tool);
        }
        let mut below = HashMap::<Option<&AgentId>, Vec<&AgentId>>::new();
        for (child, _) in &run.agents {
            below.entry(parent_of(run, child)).or_default().push(child);
        }
        branches.push(Branch {
            run: id.clone(),
            agent: None,
            depth: 0,
            name: run.name.as_deref().unwrap_or("main agent").to_owned(),
            task: run.title.as_deref().map(preview::one_line).unwrap_or_default(),
            status: run.status,
            counts: counts.get(&None).copied().unwrap_or_default(),
            span: (run.started_at, run.ended_at.filter(|_| !run.is_running())),
            tokens: run.usage.map(|usage| usage.tokens()),
            cost: run.usage.and_then(|usage| usage.cost),
        });
        let mut open: Vec<(&AgentId, usize)> = children(&below, None, 1);
        while let Some((agent, level)) = open.pop() {
            if depth.is_some_and(|depth| level > depth) {
                continue;
            }
            branches.extend(branch(id, run, agent, level, counts.get(&Some(agent)).copied()));
            open.extend(children(&below, Some(agent), level.saturating_add(1)));
        }
    }
    branches
}

/// The sub-agents that `agent` called, in reverse order, each with `level`: the caller takes them from the
/// end.
fn children<'a>(
    below: &HashMap<Option<&'a AgentId>, Vec<&'a AgentId>>,
    agent: Option<&'a AgentId>,
    level: usize,
) -> Vec<(&'a AgentId, usize)> {
    let found = below.get(&agent).map(Vec::as_slice).unwrap_or_default();
    found.iter().rev().map(|child| (*child, level)).collect()
}

/// The branch of a sub-agent; `None` if the run has no such agent.
fn branch(
    id: &RunId,
    run: &RunView,
    agent: &AgentId,
    depth: usize,
    counts: Option<CallCounts>,
) -> Option<Branch> {
    let it = run.agents.get(agent)?;
    Some(Branch {
        run: id.clone(),
        agent: Some(agent.clone()),
        depth,
        name: it.name.as_deref().unwrap_or(agent.as_str()).to_owned(),
        task: it.task.as_deref().map(preview::one_line).unwrap_or_default(),
        status: it.status,
        counts: counts.unwrap_or_default(),
        span: (it.started_at, it.ended_at.filter(|_| it.status != RunStatus::Running)),
        tokens: it.usage.map(|usage| usage.tokens()),
        cost: it.usage.and_then(|usage| usage.cost),
    })
}

/// Adds a call to the counts. Cancelled and interrupted calls are not counted.
fn count(counts: &mut CallCounts, tool: &ToolView) {
    let field = match tool.state {
        ToolState::Complete => &mut counts.done,
        ToolState::Error => &mut counts.failed,
        ToolState::Cancelled | ToolState::Interrupted => return,
        _ => &mut counts.open,
    };
    *field = field.saturating_add(1);
}

/// The agent that called `agent`. Only agents that began before it count, so that agents that name each other
/// form no circle.
fn parent_of<'a>(run: &'a RunView, agent: &AgentId) -> Option<&'a AgentId> {
    let (place, _, it) = run.agents.get_full(agent)?;
    let parent = it.parent.as_ref()?;
    (run.agents.get_index_of(parent)? < place).then_some(parent)
}

/// The agents from the first sub-agent down to `agent` itself, with their names; empty if the run does not
/// know the agent.
pub fn path(run: &RunView, agent: &AgentId) -> Vec<(AgentId, String)> {
    let mut path = Vec::new();
    let mut next = run.agents.contains_key(agent).then_some(agent);
    while let Some(id) = next {
        let name = run.agents.get(id).and_then(|it| it.name.as_deref()).unwrap_or(id.as_str());
        path.push((id.clone(), name.to_owned()));
        next = parent_of(run, id);
    }
    path.reverse();
    path
}

/// The path of an agent in one line: `main ▸ research ▸ web`.
pub fn path_line(run: &RunView, agent: &AgentId) -> String {
    let names = path(run, agent).into_iter().map(|(_, name)| name);
    std::iter::once("main".to_owned()).chain(names).collect::<Vec<_>>().join(" ▸ ")
}

/// The visible answer of a sub-agent: all its text parts, in order.
pub fn answer(run: &RunView, agent: &AgentId) -> String {
    let is_its = |part: &&PartView| {
        part.agent.as_ref() == Some(agent) && matches!(part.kind, PartKind::Text | PartKind::Refusal)
    };
    run.parts.values().filter(is_its).map(|part| part.body.text.as_str()).collect()
}

/// The calls of an agent and of all agents below it; empty if its run is not in the view.
pub fn calls_below(view: &View, of: &(RunId, AgentId)) -> HashSet<CallKey> {
    let (id, root) = of;
    let Some(run) = view.runs.get(id) else { return HashSet::new() };
    let mut inside: HashSet<&AgentId> = HashSet::from([root]);
    // An agent comes before the agents that it calls.
    for agent in run.agents.keys() {
        if parent_of(run, agent).is_some_and(|parent| inside.contains(parent)) {
            inside.insert(agent);
        }
    }
    let calls =
        run.tools.iter().filter(|(_, tool)| tool.agent.as_ref().is_some_and(|it| inside.contains(it)));
    calls.map(|(tool, _)| (id.clone(), tool.clone())).collect()
}

/// The newest steps of a sub-agent, one per line, the newest last; at most `TICKER_LINES`. A call has a sign
/// for its state, a sub-agent an arrow; of a text it is the end.
pub fn ticker(run: &RunView, flow: &Flow, agent: &AgentId) -> Vec<String> {
    let lane = flow.lane(Some(agent));
    let lines = lane.iter().rev().filter_map(|row| match &row.item {
        Item::Tool(id) => {
            let tool = run.tools.get(id)?;
            let sign = match tool.state {
                ToolState::Complete => "✓",
                ToolState::Error => "✗",
                ToolState::Cancelled | ToolState::Interrupted => "–",
                _ => "◌",
            };
            Some(
                format!("{sign} {} {}", tool.name, preview::arguments(&tool.arguments.text))
                    .trim_end()
                    .to_owned(),
            )
        }
        Item::Agent(id) => {
            let name = run.agents.get(id).and_then(|it| it.name.as_deref()).unwrap_or(id.as_str());
            Some(format!("⤷ {name}"))
        }
        Item::Part(id) => {
            let text = preview::tail(&run.parts.get(id)?.body.text);
            (!text.trim().is_empty()).then_some(text)
        }
        Item::Note(_) => None,
    });
    let mut lines: Vec<String> = lines.take(TICKER_LINES).collect();
    lines.reverse();
    lines
}

#[cfg(test)]
mod tests;
