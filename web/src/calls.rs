//! The calls of a conversation as the panel lists them: the filter and the order.

use indexmap::IndexMap;
use model::event::{RunStatus, ToolState};
use model::view::{RunView, ToolView, View};
use model::{AgentId, ToolCallId, format};

use crate::latency::{CallKey, ToolLatencies, taken_ms};

/// A call with the properties that filters, orders and bars need.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Call {
    /// The name of the tool.
    pub name: String,
    /// The sub-agent that called it; `None` for the main agent.
    pub agent: Option<AgentId>,
    /// The state of the call.
    pub state: ToolState,
    /// How long it took or has taken so far, in milliseconds.
    pub taken_ms: u64,
    /// The size of its result, or of its output so far, in bytes.
    pub bytes: u64,
    /// Whether it takes longer than calls of its tool usually do.
    pub is_slow: bool,
}

/// Calls by key, in the order in which they began.
pub type Calls = IndexMap<CallKey, Call>;

/// The calls that a chip of the list shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Filter {
    /// Calls that are executing.
    Running,
    /// Calls that have failed.
    Failed,
    /// Calls that take longer than usual.
    Slow,
    /// Calls that wait for a person.
    Approval,
}

impl Filter {
    /// All filters, in the order of their chips.
    pub const ALL: [Self; 4] = [Self::Running, Self::Failed, Self::Slow, Self::Approval];

    /// The label of the chip.
    pub fn word(self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::Failed => "failed",
            Self::Slow => "slow",
            Self::Approval => "approval",
        }
    }

    /// Whether the filter shows `call`.
    pub fn takes(self, call: &Call) -> bool {
        match self {
            Self::Running => call.state == ToolState::Executing,
            Self::Failed => call.state == ToolState::Error,
            Self::Slow => call.is_slow,
            Self::Approval => call.state == ToolState::Approval,
        }
    }
}

/// The order of the rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Sort {
    /// Grouped by tool, then by start.
    #[default]
    Tool,
    /// By start, the oldest first.
    Start,
    /// By duration, the longest first.
    Duration,
    /// The largest result first.
    Size,
}

impl Sort {
    /// All orders, in the order of the list.
    pub const ALL: [Self; 4] = [Self::Tool, Self::Start, Self::Duration, Self::Size];

    /// The label in the list.
    pub fn word(self) -> &'static str {
        match self {
            Self::Tool => "by tool",
            Self::Start => "by start",
            Self::Duration => "longest first",
            Self::Size => "largest first",
        }
    }
}

/// The filter and the order that the reader chose.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Wanted {
    /// Only calls in this state, if set.
    pub filter: Option<Filter>,
    /// Only calls of this tool, if set.
    pub tool: Option<String>,
    /// Only calls of this agent, if set; `Some(None)` is the main agent.
    pub agent: Option<Option<AgentId>>,
    /// The order of the rows.
    pub sort: Sort,
}

impl Wanted {
    /// Whether `call` is shown.
    pub fn takes(&self, call: &Call) -> bool {
        self.filter.is_none_or(|filter| filter.takes(call))
            && self.tool.as_ref().is_none_or(|tool| *tool == call.name)
            && self.agent.as_ref().is_none_or(|agent| *agent == call.agent)
    }
}

/// The calls of `view`. `now` is the hub's time in milliseconds since 1970; `groups` must be those of the
/// same view.
pub fn calls(view: &View, groups: &[ToolLatencies], now: u64) -> Calls {
    let groups: IndexMap<&str, &ToolLatencies> =
        groups.iter().map(|group| (group.name.as_str(), group)).collect();
    let mut calls = Calls::new();
    for (run_id, run) in &view.runs {
        // Nobody knows whether the calls of a stalled run still execute.
        let now = run.stalled_at.map_or(now, |at| at.min(now));
        for (id, tool) in &run.tools {
            let name = tool.name.as_str();
            let taken_ms = taken_ms(tool, now).unwrap_or(0);
            let call = Call {
                name: name.to_owned(),
                agent: tool.agent.clone(),
                state: tool.state,
                taken_ms,
                bytes: bytes(tool),
                is_slow: tool.state != ToolState::Cancelled
                    && groups
                        .get(name)
                        .is_some_and(|group| group.is_slow(taken_ms, tool.latency_ms().is_some())),
            };
            calls.insert((run_id.clone(), id.clone()), call);
        }
    }
    calls
}

/// The size of the result, or of the output so far.
fn bytes(tool: &ToolView) -> u64 {
    match &tool.result {
        Some(result) => tool.result_ref.as_ref().map_or(result.as_str().len() as u64, |whole| whole.bytes),
        None => tool.output.len,
    }
}

/// The rows of `calls` that are `wanted`, in its order. If `held` is set (the rows that are shown now), those
/// rows keep their places and new ones follow.
pub fn rows(calls: &Calls, wanted: &Wanted, held: Option<&[CallKey]>) -> Vec<CallKey> {
    let mut rows: Vec<(&CallKey, &Call)> = calls.iter().filter(|(_, call)| wanted.takes(call)).collect();
    match wanted.sort {
        Sort::Tool | Sort::Start => {}
        Sort::Duration => rows.sort_by_key(|(_, call)| std::cmp::Reverse(call.taken_ms)),
        Sort::Size => rows.sort_by_key(|(_, call)| std::cmp::Reverse(call.bytes)),
    }
    let rows = rows.into_iter().map(|(key, _)| key);
    let Some(held) = held else { return rows.cloned().collect() };
    let there: std::collections::HashSet<&CallKey> = held.iter().collect();
    let kept = held.iter().filter(|key| calls.get(*key).is_some_and(|call| wanted.takes(call)));
    kept.chain(rows.filter(|key| !there.contains(key))).cloned().collect()
}

/// The earlier attempts of a call, the first first: calls of the same tool to which the source gave the same
/// id.
pub fn earlier_attempts(run: &RunView, id: &ToolCallId) -> Vec<ToolCallId> {
    let Some(tool) = run.tools.get(id) else { return Vec::new() };
    let Some(given) = tool.given_id.as_deref() else { return Vec::new() };
    let before = run.tools.iter().take_while(|(its_id, _)| *its_id != id);
    let same = before.filter(|(its_id, its)| {
        its.given_id.as_deref().unwrap_or(its_id.as_str()) == given && its.name == tool.name
    });
    same.map(|(id, _)| id.clone()).collect()
}

/// The times of a call, in short: `started 12:04:11.203 · queue 40 ms · run 1.2 s`. `clock` formats
/// milliseconds since 1970 as a time of the day.
pub fn times(tool: &ToolView, clock: impl Fn(u64) -> String) -> String {
    let started_at = tool.executing_at.or(tool.pending_at).unwrap_or(tool.started_at);
    let started = (started_at > 0).then(|| format!("started {}", clock(started_at)));
    let queue = tool.queued_ms.filter(|ms| *ms > 0).map(|ms| format!("queue {}", format::duration(ms)));
    let run = tool.latency_ms().map(|ms| format!("run {}", format::duration(ms)));
    let by = tool.server.then(|| "by the provider".to_owned());
    [started, queue, run, by].into_iter().flatten().collect::<Vec<_>>().join(" · ")
}

/// The text shown in place of a missing result. `run` is the status of the call's run; `ended` is the time of
/// the day at which the run ended.
pub fn no_result(state: ToolState, run: RunStatus, ended: Option<&str>) -> String {
    let at = |words: &str| ended.map(|time| format!(" {words} at {time}.")).unwrap_or_default();
    match state {
        ToolState::Complete => "completed".to_owned(),
        ToolState::Interrupted => format!("No result was recorded.{}", at("The run ended")),
        ToolState::Cancelled if run == RunStatus::Cancelled => {
            format!("Cancelled before it gave a result.{}", at("The whole run was cancelled"))
        }
        ToolState::Cancelled => "Cancelled before it gave a result.".to_owned(),
        ToolState::Error => "It failed and gave no message.".to_owned(),
        _ => "No result yet.".to_owned(),
    }
}

#[cfg(test)]
mod tests;
