//! The calls of a conversation as the panel lists them: which are shown, and in which order.

use indexmap::IndexMap;
use model::event::{RunStatus, ToolState};
use model::view::{RunView, ToolView, View};
use model::{AgentId, ToolCallId, format};

use crate::latency::{CallKey, Group, taken_ms};

/// A call, as far as filters, orders and bars know it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Call {
    /// The tool.
    pub name: String,
    /// The sub-agent that called it.
    pub agent: Option<AgentId>,
    /// How it stands.
    pub state: ToolState,
    /// How long it took or takes, in milliseconds.
    pub taken_ms: u64,
    /// How large its result is, or what it has printed so far, in bytes.
    pub bytes: u64,
    /// Whether it takes longer than its tool usually does.
    pub is_slow: bool,
}

/// The calls, in the order in which they came.
pub type Calls = IndexMap<CallKey, Call>;

/// Which calls are shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Filter {
    /// Those that execute.
    Running,
    /// Those that failed.
    Failed,
    /// Those that take longer than usual.
    Slow,
    /// Those that wait for a person.
    Approval,
}

impl Filter {
    /// All, in order.
    pub const ALL: [Self; 4] = [Self::Running, Self::Failed, Self::Slow, Self::Approval];

    /// The word on its chip.
    pub fn word(self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::Failed => "failed",
            Self::Slow => "slow",
            Self::Approval => "approval",
        }
    }

    /// Whether `call` is one of them.
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
    /// By tool, each in order of start.
    #[default]
    Tool,
    /// The newest last.
    Start,
    /// The longest first.
    Duration,
    /// The largest result first.
    Size,
}

impl Sort {
    /// All, in order.
    pub const ALL: [Self; 4] = [Self::Tool, Self::Start, Self::Duration, Self::Size];

    /// Its word in the list of orders.
    pub fn word(self) -> &'static str {
        match self {
            Self::Tool => "by tool",
            Self::Start => "by start",
            Self::Duration => "longest first",
            Self::Size => "largest first",
        }
    }
}

/// What the reader asked for.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Wanted {
    /// In these states only.
    pub filter: Option<Filter>,
    /// Of this tool only.
    pub tool: Option<String>,
    /// Of this agent only; the main agent has no name.
    pub agent: Option<Option<AgentId>>,
    /// In this order.
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

/// The calls of `view` at the hub's time `now`; `groups` are those of the same view.
pub fn calls(view: &View, groups: &[Group], now: u64) -> Calls {
    let groups: IndexMap<&str, &Group> = groups.iter().map(|group| (group.name.as_str(), group)).collect();
    let mut calls = Calls::new();
    for (run_id, run) in &view.runs {
        // Of a run that nobody speaks for, nobody knows that its calls still run.
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

fn bytes(tool: &ToolView) -> u64 {
    match &tool.result {
        Some(result) => tool.result_ref.as_ref().map_or(result.as_str().len() as u64, |whole| whole.bytes),
        None => tool.output.len,
    }
}

/// The rows of those `calls` that are `wanted`, in their order. With `held`, the rows that are there, these keep their
/// places and new ones come after them.
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

/// The attempts of a call before it, the first first: calls that its source gave the same id.
pub fn earlier_attempts(run: &RunView, id: &ToolCallId) -> Vec<ToolCallId> {
    let Some(tool) = run.tools.get(id) else { return Vec::new() };
    let Some(given) = tool.given_id.as_deref() else { return Vec::new() };
    let before = run.tools.iter().take_while(|(its_id, _)| *its_id != id);
    let same = before.filter(|(its_id, its)| {
        its.given_id.as_deref().unwrap_or(its_id.as_str()) == given && its.name == tool.name
    });
    same.map(|(id, _)| id.clone()).collect()
}

/// The times of a call in short: `started 12:04:11.203 · queue 40 ms · run 1.2 s`. `clock` tells a time of the day.
pub fn times(tool: &ToolView, clock: impl Fn(u64) -> String) -> String {
    let started_at = tool.executing_at.or(tool.pending_at).unwrap_or(tool.started_at);
    let started = (started_at > 0).then(|| format!("started {}", clock(started_at)));
    let queue = tool.queued_ms.filter(|ms| *ms > 0).map(|ms| format!("queue {}", format::duration(ms)));
    let run = tool.latency_ms().map(|ms| format!("run {}", format::duration(ms)));
    let by = tool.server.then(|| "by the provider".to_owned());
    [started, queue, run, by].into_iter().flatten().collect::<Vec<_>>().join(" · ")
}

/// What stands where the result of a call would. `run` and `ended` are how its run stands, and the time of the day when it
/// ended.
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
