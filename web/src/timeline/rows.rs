//! The rows: each run and sub-agent, and below it its items in the order of their events.

use std::ops::Range;

use model::view::{Item, RunView};
use model::{AgentId, PartId, RunId, ToolCallId, View};

use crate::flow::Flow;

/// What a row shows.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Key {
    /// A run, as its main agent.
    Run(RunId),
    /// A sub-agent of the run.
    Agent(RunId, AgentId),
    /// A part of the model's output.
    Part(RunId, PartId),
    /// A call of the run.
    Tool(RunId, ToolCallId),
}

impl Key {
    /// Whether it is the heading of an agent.
    pub fn is_agent(&self) -> bool {
        matches!(self, Self::Run(_) | Self::Agent(..))
    }
}

/// A row of the timeline.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Row {
    /// The key of what the row shows.
    pub key: Key,
    /// The level of indentation.
    pub depth: u32,
}

/// All rows of `view`, or only those of one sub-agent and everything below it.
pub fn rows(view: &View, only: Option<&(RunId, AgentId)>) -> Vec<Row> {
    let mut rows = Vec::new();
    if let Some((id, agent)) = only {
        if let Some(run) = view.runs.get(id) {
            rows.push(Row { key: Key::Agent(id.clone(), agent.clone()), depth: 0 });
            add_lane(&mut rows, (id, run, &Flow::of(run)), Some(agent), 1);
        }
        return rows;
    }
    for (id, run) in &view.runs {
        rows.push(Row { key: Key::Run(id.clone()), depth: 0 });
        add_lane(&mut rows, (id, run, &Flow::of(run)), None, 1);
    }
    rows
}

/// Adds the rows of an agent and of the sub-agents below it.
fn add_lane(rows: &mut Vec<Row>, of: (&RunId, &RunView, &Flow), agent: Option<&AgentId>, depth: u32) {
    let (run_id, run, flow) = of;
    for row in flow.lane(agent) {
        match &row.item {
            Item::Part(id) => rows.push(Row { key: Key::Part(run_id.clone(), id.clone()), depth }),
            Item::Tool(id) => rows.push(Row { key: Key::Tool(run_id.clone(), id.clone()), depth }),
            Item::Agent(id) => {
                rows.push(Row { key: Key::Agent(run_id.clone(), id.clone()), depth });
                // An agent is only below one that began before it, so the recursion ends.
                if run.agents.contains_key(id) {
                    add_lane(rows, of, Some(id), depth.saturating_add(1));
                }
            }
            Item::Note(_) => {}
        }
    }
}

/// The indices of the rows to draw for a box of `height` that is scrolled to `top`, with `count` rows of the
/// height `row`, all in CSS pixels: the visible ones and two more on each side.
pub fn visible(top: f64, height: f64, row: f64, count: usize) -> Range<usize> {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "rows of a page")]
    let number = |px: f64| (px / row.max(1.0)).max(0.0) as usize;
    let first = number(top).saturating_sub(2).min(count);
    let last = number(top + height).saturating_add(3).min(count);
    first..last.max(first)
}
