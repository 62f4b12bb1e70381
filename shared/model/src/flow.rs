//! The order in which a run is drawn: rows in true order, sub-agents in lanes of their own, calls that overlap in time
//! under one bracket, and which rows are steps and which the answer.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::ops::Range;

use crate::AgentId;
use crate::event::{PartKind, ToolState};
use crate::limits::AGENT_LANES_DEPTH_MAX;
use crate::view::{Item, NoteBody, RunView, ToolView};

mod turns;

pub use turns::{ConversationSection, RunSection, stretch_from, turns};

/// How the names of events begin that the hub keeps for itself in runs: of agents elsewhere what it
/// asks them next, of callers elsewhere how it knows them again.
const BOOKKEEPING: &str = "remote_";

/// The event in runs of the hub's own agents that says that the model is asked for its next answer: all between two of them is
/// one answer, however its texts, calls and their results came.
pub const NEXT_ANSWER: &str = "next_answer";

/// Whether a custom event is one that the hub keeps for itself.
pub fn is_bookkeeping(name: &str) -> bool {
    name.starts_with(BOOKKEEPING) || name == NEXT_ANSWER
}

/// The event that says which node and step of a graph speaks from then on.
pub const GRAPH_STEP: &str = "langgraph_step";

/// A run as it is drawn.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Flow {
    /// The rows of the main agent (no name) and of each sub-agent.
    lanes: BTreeMap<Option<AgentId>, Vec<FlowRow>>,
    /// The calls of each agent, by how they stand.
    counts: BTreeMap<Option<AgentId>, CallCounts>,
    /// Tool calls, all agents together.
    pub tools: usize,
    /// Tool calls that failed, all agents together.
    pub failed: usize,
    /// The number of sub-agents.
    pub agents: usize,
    /// Rows that are steps: calls, thinking, sub-agents; all lanes together.
    pub steps: usize,
}

/// One row of a run: the item that it draws, how important it is, and the calls that overlap with it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FlowRow {
    /// The item that the row shows.
    pub item: Item,
    /// The rank, which says when the row is there.
    pub rank: RowRank,
    /// The bracket that it stands under.
    pub bracket: Option<OverlapGroup>,
}

/// When a row is there; who shows one shows all above it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum RowRank {
    /// Only where everything is shown: events that the page has no better form for.
    Detail,
    /// While the steps are open.
    Step,
    /// Also without the steps: the answer, failures, calls that failed.
    Kept,
    /// Always, also out of a sub-agent that is closed: calls that wait for consent, and the agents that have some.
    Asked,
}

/// Calls that overlap in time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OverlapGroup {
    /// The number of calls in the group.
    pub size: usize,
    /// Whether this row is the first.
    pub is_first: bool,
    /// Whether this row is the last.
    pub is_last: bool,
    /// When all are over: from the first start to the last end, and all latencies together, in milliseconds.
    pub took: Option<(u64, u64)>,
}

/// Calls by how they stand.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct CallCounts {
    /// Calls that gave a result.
    pub done: usize,
    /// Calls that failed.
    pub failed: usize,
    /// Calls that have not ended.
    pub open: usize,
}

impl Flow {
    /// The drawing of the whole of `run`.
    pub fn of(run: &RunView) -> Self {
        Self::of_stretch(run, 0..run.items.len())
    }

    /// How a stretch of `run` is drawn: what the main agent does in it, and sub-agents as a whole. Calls, sub-agents and steps are
    /// counted where they began, so that the stretches of a run add up to it.
    pub fn of_stretch(run: &RunView, items: Range<usize>) -> Self {
        let mut flow = Self::default();
        let asking = asking(run);
        let above = above(run);
        // Only sub-agents do anything beside the stretch that is drawn in it.
        let looked = if run.agents.is_empty() { items.clone() } else { 0..run.items.len() };
        for (at, item) in run.items.iter().enumerate().take(looked.end).skip(looked.start) {
            let Some((lane, rank)) = place(run, item, &asking, &above) else { continue };
            let is_inside = items.contains(&at);
            if lane.is_none() && !is_inside {
                continue;
            }
            flow.lanes.entry(lane).or_default().push(FlowRow { item: item.clone(), rank, bracket: None });
            flow.count(run, item, usize::from(is_inside));
        }
        for (lane, rows) in &mut flow.lanes {
            keep_answer(run, rows, lane.is_none());
            bracket(run, rows);
        }
        flow
    }

    /// Counts `item` for its agent, and `own` times for the stretch: once where it stands inside of that, else not at all.
    fn count(&mut self, run: &RunView, item: &Item, own: usize) {
        match item {
            Item::Tool(id) => {
                if let Some(tool) = run.tools.get(id) {
                    self.tools = self.tools.saturating_add(own);
                    self.steps = self.steps.saturating_add(own);
                    if tool.state == ToolState::Error {
                        self.failed = self.failed.saturating_add(own);
                    }
                    self.count_call(tool);
                }
            }
            Item::Agent(_) => {
                self.agents = self.agents.saturating_add(own);
                self.steps = self.steps.saturating_add(own);
            }
            Item::Part(id) if run.parts.get(id).is_some_and(|part| part.kind == PartKind::Thinking) => {
                self.steps = self.steps.saturating_add(own);
            }
            Item::Part(_) | Item::Note(_) => {}
        }
    }

    fn count_call(&mut self, tool: &ToolView) {
        let counts = self.counts.entry(tool.agent.clone()).or_default();
        let field = match tool.state {
            ToolState::Complete => &mut counts.done,
            ToolState::Error => &mut counts.failed,
            ToolState::Cancelled | ToolState::Interrupted => return,
            _ => &mut counts.open,
        };
        *field = field.saturating_add(1);
    }

    /// The rows of the main agent, or of a sub-agent.
    pub fn lane(&self, agent: Option<&AgentId>) -> &[FlowRow] {
        self.lanes.get(&agent.cloned()).map(Vec::as_slice).unwrap_or_default()
    }

    /// The row of `item`, in the lane of `agent`.
    pub fn row(&self, agent: Option<&AgentId>, item: &Item) -> Option<&FlowRow> {
        self.lane(agent).iter().rev().find(|row| row.item == *item)
    }

    /// The calls of an agent, by how they stand.
    pub fn counts(&self, agent: &AgentId) -> CallCounts {
        self.counts.get(&Some(agent.clone())).copied().unwrap_or_default()
    }

    /// Whether the answer of the main agent has started: a text stands behind its last step.
    pub fn has_answer(&self) -> bool {
        let newest = self.lane(None).iter().rev().find(|row| !matches!(row.item, Item::Note(_)));
        newest.is_some_and(|row| row.rank == RowRank::Kept && matches!(row.item, Item::Part(_)))
    }

    /// Whether there is anything to fold away.
    pub fn has_steps(&self) -> bool {
        self.lane(None)
            .iter()
            .any(|row| row.rank == RowRank::Step || matches!(row.item, Item::Tool(_) | Item::Agent(_)))
    }
}

/// The agents of which a call waits for consent, their own or one of an agent below them.
fn asking(run: &RunView) -> HashSet<&AgentId> {
    let asks = |item: &Item| match item {
        Item::Tool(id) => run.tools.get(id).filter(|tool| tool.state == ToolState::Approval)?.agent.as_ref(),
        _ => None,
    };
    let mut asking = HashSet::new();
    for agent in run.open.iter().filter_map(asks) {
        let mut next = run.agents.get_key_value(agent);
        // Parents may name each other.
        while let Some((_, agent)) = next.filter(|(id, _)| asking.insert(*id)) {
            next = agent.parent.as_ref().and_then(|parent| run.agents.get_key_value(parent));
        }
    }
    asking
}

/// The agent in whose lane each sub-agent stands; the main agent's where there is none. That is its parent, as long as
/// the parent was there before it (agents that name each other would else be in no lane at all) and stands less than
/// [`AGENT_LANES_DEPTH_MAX`] deep; else the lane that its parent stands in.
fn above(run: &RunView) -> HashMap<&AgentId, &AgentId> {
    let mut depths = HashMap::<&AgentId, usize>::new();
    let mut above = HashMap::new();
    for (id, agent) in &run.agents {
        let parent = agent.parent.as_ref().and_then(|parent| depths.get_key_value(parent));
        let depth = match parent {
            None => 1,
            Some((parent, depth)) if *depth < AGENT_LANES_DEPTH_MAX => {
                above.insert(id, *parent);
                depth.saturating_add(1)
            }
            Some((parent, depth)) => {
                if let Some(beside) = above.get(parent).copied() {
                    above.insert(id, beside);
                }
                *depth
            }
        };
        depths.insert(id, depth);
    }
    above
}

/// The agents whose lanes are open when a row of `agent` is to be seen: `agent` first, then each in whose lane the one
/// before it stands.
pub fn lanes_to(run: &RunView, agent: &AgentId) -> Vec<AgentId> {
    let above = above(run);
    let mut lanes = Vec::new();
    let mut next = run.agents.get_key_value(agent).map(|(id, _)| id);
    // What stands above an agent began before it, so that this ends.
    while let Some(id) = next {
        lanes.push(id.clone());
        next = above.get(id).copied();
    }
    lanes
}

/// In which lane an item stands and when it is there; nothing for an item that is not drawn at all.
fn place(
    run: &RunView,
    item: &Item,
    asking: &HashSet<&AgentId>,
    above: &HashMap<&AgentId, &AgentId>,
) -> Option<(Option<AgentId>, RowRank)> {
    match item {
        Item::Part(id) => {
            let part = run.parts.get(id)?;
            Some((known(run, part.agent.as_ref()), RowRank::Step))
        }
        Item::Tool(id) => {
            let tool = run.tools.get(id)?;
            let rank = match tool.state {
                ToolState::Approval => RowRank::Asked,
                ToolState::Error => RowRank::Kept,
                _ => RowRank::Step,
            };
            Some((known(run, tool.agent.as_ref()), rank))
        }
        Item::Agent(id) => {
            run.agents.get(id)?;
            let rank = if asking.contains(id) { RowRank::Asked } else { RowRank::Step };
            Some((above.get(id).copied().cloned(), rank))
        }
        Item::Note(number) => {
            let note = run.notes.get(*number)?;
            let rank = match &note.body {
                NoteBody::Error(_) => RowRank::Kept,
                NoteBody::Custom { name, .. } if is_bookkeeping(name) || name == GRAPH_STEP => {
                    RowRank::Detail
                }
                NoteBody::Custom { .. } => RowRank::Step,
                NoteBody::Raw { .. } => RowRank::Detail,
            };
            Some((known(run, note.agent.as_ref()), rank))
        }
    }
}

/// The agent whose lane an item goes to: one that is drawn, else the main one.
fn known(run: &RunView, agent: Option<&AgentId>) -> Option<AgentId> {
    let id = agent?;
    run.agents.contains_key(id).then(|| id.clone())
}

fn is_answer(run: &RunView, item: &Item) -> bool {
    let Item::Part(id) = item else { return false };
    run.parts.get(id).is_some_and(|part| part.kind != PartKind::Thinking)
}

/// Marks the answer: the texts after the last step; when the run ended on a step, its last text. A run without any
/// other step is all answer.
fn keep_answer(run: &RunView, rows: &mut [FlowRow], is_main: bool) {
    // Calls and agents are steps also where they are kept.
    let is_step = |row: &FlowRow| match row.item {
        Item::Tool(_) | Item::Agent(_) => true,
        Item::Note(_) => false,
        Item::Part(_) => row.rank == RowRank::Step && !is_answer(run, &row.item),
    };
    let after = rows.iter().rposition(is_step).map_or(0, |at| at.saturating_add(1));
    let mut found = false;
    for row in rows.iter_mut().skip(after).filter(|row| is_answer(run, &row.item)) {
        row.rank = RowRank::Kept;
        found = true;
    }
    if !found
        && is_main
        && !run.is_running()
        && let Some(row) = rows.iter_mut().rev().find(|row| is_answer(run, &row.item))
    {
        row.rank = RowRank::Kept;
    }
}

/// When a call began and ended to execute; the end is open while it runs. Nothing before it began.
fn span(tool: &ToolView) -> Option<(u64, u64)> {
    if tool.state == ToolState::Executing {
        return tool.executing_at.or(tool.pending_at).map(|from| (from, u64::MAX));
    }
    let end = tool.ended_at.filter(|_| tool.state.is_final())?;
    // The publisher's figure reaches back from the end, but never to before the call was written.
    let counted = tool.exec_ms.map(|ms| end.saturating_sub(ms).max(tool.pending_at.unwrap_or(0)));
    let start = tool.executing_at.or(counted).or(tool.pending_at)?;
    Some((start, end))
}

/// Puts neighbouring calls that overlap in time under one bracket.
fn bracket(run: &RunView, rows: &mut [FlowRow]) {
    let spans: Vec<Option<(u64, u64)>> = rows
        .iter()
        .map(|row| match &row.item {
            Item::Tool(id) => run.tools.get(id).and_then(span),
            _ => None,
        })
        .collect();
    let mut from = 0;
    while let Some(group) = spans.get(from..) {
        if group.is_empty() {
            break;
        }
        let size = overlapping(group);
        if size > 1 {
            mark(run, rows.get_mut(from..from.saturating_add(size)).unwrap_or_default(), &spans, from);
        }
        from = from.saturating_add(size.max(1));
    }
}

/// How many spans from the first on overlap with one before them.
fn overlapping(spans: &[Option<(u64, u64)>]) -> usize {
    let Some(&Some((_, mut end))) = spans.first() else { return 0 };
    let more = spans.iter().skip(1).take_while(|span| match span {
        Some((start, its_end)) if *start < end => {
            end = end.max(*its_end);
            true
        }
        _ => false,
    });
    more.count().saturating_add(1)
}

fn mark(run: &RunView, rows: &mut [FlowRow], spans: &[Option<(u64, u64)>], from: usize) {
    let size = rows.len();
    let group = || spans.iter().skip(from).take(size).flatten();
    let start = group().map(|span| span.0).min().unwrap_or(0);
    let end = group().map(|span| span.1).max().unwrap_or(u64::MAX);
    let latency = |row: &FlowRow| match &row.item {
        Item::Tool(id) => run.tools.get(id).and_then(ToolView::latency_ms),
        _ => None,
    };
    let (sum, longest) = rows
        .iter()
        .filter_map(latency)
        .fold((0_u64, 0), |(sum, longest), ms| (sum.saturating_add(ms), ms.max(longest)));
    // A recording that is sent at once has real latencies and no real times between them.
    let took = (end < u64::MAX).then(|| (end.saturating_sub(start).max(longest), sum));
    for (at, row) in rows.iter_mut().enumerate() {
        row.bracket =
            Some(OverlapGroup { size, is_first: at == 0, is_last: at.saturating_add(1) == size, took });
    }
}

#[cfg(test)]
mod tests;
