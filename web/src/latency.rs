//! How long tools usually take, and which calls take longer.

use model::ToolCallId;
use model::event::ToolState;
use model::format;
use model::ids::RunId;
use model::view::{ToolView, View};

/// A call is never slow before this, in milliseconds.
const SLOW_MS: u64 = 10_000;

/// One call: its run and its id.
pub type CallKey = (RunId, ToolCallId);

/// The calls of one tool.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Group {
    /// The tool.
    pub name: String,
    /// Its calls, in order.
    pub calls: Vec<CallKey>,
    /// Those that failed.
    pub failed: usize,
    /// Latencies of those that are over, in milliseconds, the shortest first.
    latencies: Vec<u64>,
}

impl Group {
    /// The latency that half of the calls stay within, in milliseconds.
    pub fn p50(&self) -> Option<u64> {
        self.rank(50)
    }

    /// The latency that 95 of 100 calls stay within, in milliseconds.
    pub fn p95(&self) -> Option<u64> {
        self.rank(95)
    }

    /// Whether a call of this tool that took or takes `taken_ms` is slow. One that is over is compared with the others.
    pub fn is_slow(&self, taken_ms: u64, is_over: bool) -> bool {
        let usual = self.usual(taken_ms, is_over);
        taken_ms > usual.map_or(SLOW_MS, |p95| p95.saturating_mul(3).max(SLOW_MS))
    }

    /// How slow such a call is, in words: `3.2× usual (p95 4.1 s)`; nothing when it is not.
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

    /// The latency that 95 of 100 of the other calls stay within.
    fn usual(&self, taken_ms: u64, is_over: bool) -> Option<u64> {
        let own = if is_over { self.latencies.binary_search(&taken_ms).ok() } else { None };
        let Some(own) = own else { return self.p95() };
        let rank = self.latencies.len().saturating_sub(1).saturating_mul(95).div_ceil(100);
        let at = rank.checked_sub(1)?;
        self.latencies.get(if at >= own { at.saturating_add(1) } else { at }).copied()
    }

    /// The nearest rank: a value that some call really had.
    fn rank(&self, percent: usize) -> Option<u64> {
        let rank = self.latencies.len().saturating_mul(percent).div_ceil(100);
        self.latencies.get(rank.saturating_sub(1)).copied()
    }
}

/// The calls of `view` that are wanted, by tool, in the order in which the tools were first called: an order that never changes under
/// the pointer.
pub fn groups(view: &View, is_wanted: impl Fn(&CallKey) -> bool) -> Vec<Group> {
    let mut groups = indexmap::IndexMap::<&str, Group>::new();
    for (run_id, run) in &view.runs {
        for (id, tool) in &run.tools {
            let call = (run_id.clone(), id.clone());
            if !is_wanted(&call) {
                continue;
            }
            let group = groups.entry(tool.name.as_str()).or_default();
            group.calls.push(call);
            group.failed = group.failed.saturating_add(usize::from(tool.state == ToolState::Error));
            // How long somebody took to decline a call says nothing of its tool.
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

/// How long a call has taken by the time `now`: its latency when it is over, else the time since it began to execute.
pub fn taken_ms(tool: &ToolView, now: u64) -> Option<u64> {
    match tool.state {
        ToolState::Executing => tool.executing_at.or(tool.pending_at).map(|from| now.saturating_sub(from)),
        _ => tool.latency_ms(),
    }
}

#[cfg(test)]
mod tests;
