//! What a row shows: a name, a state, and bars.

use model::View;
use model::event::{PartKind, RunStatus, ToolState};
use model::view::{AgentView, Item, PartView, RunView, ToolView};

use super::rows::Key;
use crate::preview;

/// The fill of a bar.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fill {
    /// Full: a tool executes.
    Solid,
    /// Hatched: a model works.
    Hatched,
    /// A call waits: in a queue, or for a person.
    Outline,
    /// The whole duration of an agent.
    Thin,
}

/// The colour of a bar: a token of the page's styles.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tone {
    /// Something is active.
    Run,
    /// Something succeeded.
    Ok,
    /// Something failed.
    Err,
    /// Waiting in a queue.
    Pend,
    /// Waiting for a person.
    Appr,
    /// Interrupted; the end is unknown.
    Slow,
    /// Something is over, or was cancelled.
    Gone,
}

impl Tone {
    /// The CSS class of the token.
    pub fn class(self) -> &'static str {
        match self {
            Self::Run => "run",
            Self::Ok => "ok",
            Self::Err => "err",
            Self::Pend => "pend",
            Self::Appr => "appr",
            Self::Slow => "slow",
            Self::Gone => "gone",
        }
    }
}

/// A bar. Times are in milliseconds since 1970.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bar {
    /// When the bar begins.
    pub from: u64,
    /// When the bar ends; `None` while it is active.
    pub to: Option<u64>,
    /// The fill of the bar.
    pub fill: Fill,
    /// The colour of the bar.
    pub tone: Tone,
}

impl Bar {
    /// Ends the bar at `stalled`, if it has no end and that is known.
    pub(super) fn end_by(&mut self, stalled: Option<u64>) {
        self.to = self.to.or(stalled.map(|at| at.max(self.from)));
    }
}

/// What a row shows.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Face {
    /// The name on the row.
    pub name: String,
    /// A further line, shown as a tooltip.
    pub hint: String,
    /// The state in one word.
    pub word: &'static str,
    /// The state of a call; `None` for other rows.
    pub state: Option<ToolState>,
    /// The status of a run or a sub-agent; `None` for other rows.
    pub status: Option<RunStatus>,
    /// The beginning and the end of its duration; `None` if unknown.
    pub span: Option<(u64, Option<u64>)>,
    /// The duration reported by the publisher, in milliseconds.
    pub took: Option<u64>,
    /// The bars, in order.
    pub bars: Vec<Bar>,
}

/// What the row `key` shows; `None` if the view does not contain it.
pub fn face(view: &View, key: &Key) -> Option<Face> {
    let (Key::Run(run) | Key::Agent(run, _) | Key::Part(run, _) | Key::Tool(run, _)) = key;
    let stalled = view.runs.get(run).and_then(stalled);
    let mut face = face_of(view, key)?;
    for bar in &mut face.bars {
        bar.end_by(stalled);
    }
    Some(face)
}

/// Since when nobody speaks for a run that has no end, in milliseconds since 1970: what went on then is not known to go on.
pub(super) fn stalled(run: &RunView) -> Option<u64> {
    run.stalled_at.filter(|_| run.is_running())
}

/// What the row shows, as [`face`] gives it; but a bar without an end goes on, whether anybody speaks for its run or not.
fn face_of(view: &View, key: &Key) -> Option<Face> {
    match key {
        Key::Run(id) => view.runs.get(id).map(of_run),
        Key::Agent(run, id) => {
            let agent = view.runs.get(run)?.agents.get(id)?;
            Some(of_agent(agent, id.as_str()))
        }
        Key::Part(run, id) => {
            let run = view.runs.get(run)?;
            run.parts.get(id).map(|part| of_part(part, run))
        }
        Key::Tool(run, id) => view.runs.get(run)?.tools.get(id).map(of_tool),
    }
}

/// The bar of an agent's whole duration.
fn life(status: RunStatus, from: u64, to: Option<u64>) -> Vec<Bar> {
    let tone = match status {
        RunStatus::Running => Tone::Run,
        RunStatus::Complete | RunStatus::Cancelled => Tone::Gone,
        RunStatus::Error => Tone::Err,
        RunStatus::Interrupted => Tone::Slow,
    };
    let to = if status == RunStatus::Running { None } else { Some(to.unwrap_or(from)) };
    vec![Bar { from, to, fill: Fill::Thin, tone }]
}

/// The row of a run.
fn of_run(run: &RunView) -> Face {
    let to = run.ended_at.filter(|_| !run.is_running());
    Face {
        name: run.name.as_deref().unwrap_or("main agent").to_owned(),
        hint: run.title.as_deref().map(preview::one_line).unwrap_or_default(),
        word: crate::fleet::status_word(run.status),
        status: Some(run.status),
        span: Some((run.started_at, to)),
        bars: life(run.status, run.started_at, to),
        ..Face::default()
    }
}

/// The row of a sub-agent.
fn of_agent(agent: &AgentView, id: &str) -> Face {
    let to = agent.ended_at.filter(|_| agent.status != RunStatus::Running);
    Face {
        name: agent.name.as_deref().unwrap_or(id).to_owned(),
        hint: agent.task.as_deref().map(preview::one_line).unwrap_or_default(),
        word: crate::fleet::status_word(agent.status),
        status: Some(agent.status),
        span: Some((agent.started_at, to)),
        bars: life(agent.status, agent.started_at, to),
        ..Face::default()
    }
}

/// What a part is called.
fn part_name(kind: PartKind) -> &'static str {
    match kind {
        PartKind::Thinking => "thinking",
        PartKind::Text => "text",
        PartKind::Refusal => "refusal",
        PartKind::File => "file",
    }
}

/// The bars of a part or a call of `run`, in order; none of anything else.
pub(super) fn bars(run: &RunView, item: &Item) -> Vec<Bar> {
    match item {
        Item::Part(id) => run.parts.get(id).map(|part| vec![bar_of_part(part, run)]),
        Item::Tool(id) => run.tools.get(id).map(bars_of_tool),
        Item::Agent(_) | Item::Note(_) => None,
    }
    .unwrap_or_default()
}

/// The bar of a part of `run`.
fn bar_of_part(part: &PartView, run: &RunView) -> Bar {
    let is_open = part.ended_at.is_none() && run.is_running();
    let to = if is_open { None } else { Some(part.ended_at.unwrap_or(part.started_at)) };
    let tone = if is_open { Tone::Run } else { Tone::Gone };
    Bar { from: part.started_at, to, fill: Fill::Hatched, tone }
}

/// The row of a part of `run`.
fn of_part(part: &PartView, run: &RunView) -> Face {
    let bar = bar_of_part(part, run);
    Face {
        name: part_name(part.kind).to_owned(),
        word: if bar.to.is_none() { "streaming" } else { "complete" },
        span: Some((part.started_at, bar.to)),
        took: part.duration_ms.filter(|_| bar.to.is_some()),
        bars: vec![bar],
        ..Face::default()
    }
}

/// The colour of a call's state.
fn tone_of(state: ToolState) -> Tone {
    match state {
        ToolState::Writing | ToolState::Pending => Tone::Pend,
        ToolState::Approval => Tone::Appr,
        ToolState::Executing => Tone::Run,
        ToolState::Complete => Tone::Ok,
        ToolState::Error => Tone::Err,
        ToolState::Cancelled => Tone::Gone,
        ToolState::Interrupted => Tone::Slow,
    }
}

/// When a call began to execute, and when it ended. If the beginning is unknown, it is computed from the end and the
/// publisher's duration.
fn execution(tool: &ToolView) -> (Option<u64>, Option<u64>) {
    let end = tool.ended_at.filter(|_| tool.state.is_final());
    let counted = tool.exec_ms.zip(end).map(|(ms, end)| end.saturating_sub(ms).max(tool.started_at));
    (tool.executing_at.or(counted), end)
}

/// The bars of a call: writing, waiting and executing.
fn bars_of_tool(tool: &ToolView) -> Vec<Bar> {
    let (executing, end) = execution(tool);
    let written = tool.pending_at.or(executing).or(end);
    let mut bars = vec![Bar { from: tool.started_at, to: written, fill: Fill::Hatched, tone: Tone::Pend }];
    if let Some(from) = tool.pending_at {
        let tone = if tool.question.is_some() || tool.state == ToolState::Approval {
            Tone::Appr
        } else {
            Tone::Pend
        };
        bars.push(Bar { from, to: executing.or(end), fill: Fill::Outline, tone });
    }
    if let Some(from) = executing {
        bars.push(Bar { from, to: end, fill: Fill::Solid, tone: tone_of(tool.state) });
    } else if let (Some(at), true) = (end, tool.state.is_final()) {
        bars.push(Bar { from: at, to: Some(at), fill: Fill::Solid, tone: tone_of(tool.state) });
    }
    bars.retain(|bar| bar.to != Some(bar.from) || bar.fill == Fill::Solid);
    bars
}

/// The row of a call.
fn of_tool(tool: &ToolView) -> Face {
    let (executing, end) = execution(tool);
    let from = executing.or(tool.pending_at).unwrap_or(tool.started_at);
    Face {
        name: if tool.name.is_empty() { "tool".to_owned() } else { tool.name.to_string() },
        hint: preview::arguments(&tool.arguments.text),
        word: tool.state.as_str(),
        state: Some(tool.state),
        span: Some((from, end)),
        took: tool.latency_ms(),
        bars: bars_of_tool(tool),
        ..Face::default()
    }
}

/// The name of a part or a call, short.
pub fn name(view: &View, key: &Key) -> String {
    let name = match key {
        Key::Tool(run, id) => {
            view.runs.get(run).and_then(|run| run.tools.get(id)).map(|tool| tool.name.to_string())
        }
        Key::Part(run, id) => {
            view.runs.get(run).and_then(|run| run.parts.get(id)).map(|part| part_name(part.kind).to_owned())
        }
        Key::Run(_) | Key::Agent(..) => None,
    };
    name.filter(|name| !name.is_empty()).unwrap_or_else(|| "tool".to_owned())
}
