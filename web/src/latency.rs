//! How long tools usually take, and which calls are slow.

use model::ToolCallId;
use model::event::ToolState;
use model::format;
use model::ids::RunId;
use model::view::{ToolView, View};

/// A call is never slow below this duration, in milliseconds.
const SLOW_MS: u64 = 10_000;

/// The run and the id of a call.
pub type CallKey = (RunId, ToolCallId);

/// The calls of a tool and how long they took.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ToolLatencies {
    /// The name of the tool.
    pub name: String,
    /// The calls of the tool, in the order in which they began.
    pub calls: Vec<CallKey>,
    /// The number of calls that failed.
    pub failed: usize,
    /// The latencies of the finished calls, in milliseconds, in ascending order.
    latencies: Vec<u64>,
}

impl ToolLatencies {
    /// The median latency, in milliseconds; `None` without a finished call.
    pub fn p50(&self) -> Option<u64> {
        self.rank(50)
    }

    /// The 95th percentile of the latencies, in milliseconds; `None` without a finished call.
    pub fn p95(&self) -> Option<u64> {
        self.rank(95)
    }

    /// Whether a call of this tool that has taken `taken_ms` is slow. A finished call is compared with the
    /// others only.
    pub fn is_slow(&self, taken_ms: u64, is_over: bool) -> bool {
        let usual = self.usual(taken_ms, is_over);
        taken_ms > usual.map_or(SLOW_MS, |p95| p95.saturating_mul(3).max(SLOW_MS))
    }

    /// How slow such a call is, in words: `3.2× usual (p95 4.1 s)`; `None` if it is not slow.
    pub fn slow_word(&self, taken_ms: u64, is_over: bool) -> Option<String> {
        if !self.is_slow(taken_ms, is_over) {
            return None;
        }
        let Some(p95) = self.usual(taken_ms, is_over).filter(|p95| *p95 > 0) else {
            return Some(format!("slow: over {}", format::duration(SLOW_MS)));
        };
        let tenths = taken_ms.saturating_mul(10) / p95;
        let times =
            if tenths < 100 { format!("{}.{}", tenths / 10, tenths % 10) } else { (tenths / 10).to_string() };
        Some(format!("{times}× usual (p95 {})", format::duration(p95)))
    }

    /// The 95th percentile without the call itself, if it is over.
    fn usual(&self, taken_ms: u64, is_over: bool) -> Option<u64> {
        let own = if is_over { self.latencies.binary_search(&taken_ms).ok() } else { None };
        let Some(own) = own else { return self.p95() };
        let rank = self.latencies.len().saturating_sub(1).saturating_mul(95).div_ceil(100);
        let at = rank.checked_sub(1)?;
        self.latencies.get(if at >= own { at.saturating_add(1) } else { at }).copied()
    }

    /// The percentile by nearest rank: always the latency of a real call.
    fn rank(&self, percent: usize) -> Option<u64> {
        let rank = self.latencies.len().saturating_mul(percent).div_ceil(100);
        self.latencies.get(rank.saturating_sub(1)).copied()
    }
}

/// The wanted calls of `view`, grouped by tool. The groups are in the order of their first calls, so that
/// their order never changes.
pub fn groups(view: &View, is_wanted: impl Fn(&CallKey) -> bool) -> Vec<ToolLatencies> {
    let mut groups = indexmap::IndexMap::<&str, ToolLatencies>::new();
    for (run_id, run) in &view.runs {
        for (id, tool) in &run.tools {
            let call = (run_id.clone(), id.clone());
            if !is_wanted(&call) {
                continue;
            }
            let group = groups.entry(tool.name.as_str()).or_default();
            group.calls.push(call);
            group.failed = group.failed.saturating_add(usize::from(tool.state == ToolState::Error));
            // The time that a person took to decline a call says nothing about the tool.
            group.latencies.extend(tool.latency_ms().filter(|_| tool.state != ToolState::Cancelled));
        }
    }
    let named = groups.into_iter().map(|(name, mut group)| {
        name.clone_into(&mut group.name);
        group.latencies.sort_unstable();
        group
    });
    named.collect()
}

/// How long a call has taken at `now`, in milliseconds: its latency once it is over, until then the time
/// since it began to execute.
pub fn taken_ms(tool: &ToolView, now: u64) -> Option<u64> {
    match tool.state {
        ToolState::Executing => tool.executing_at.or(tool.pending_at).map(|from| now.saturating_sub(from)),
        _ => tool.latency_ms(),
    }
}

#[cfg(test)]
mod tests;
