//! Figures of calls: how many, how many failed, how long they took, in the buckets of [`crate::measure`].

use std::collections::BTreeMap;

use compact_str::CompactString;
use model::limits::ID_BYTES_MAX;

use crate::EndedToolCall;
use crate::measure::bucket;

/// The calls of one commit, counted by tool.
#[derive(Debug, Default)]
pub(crate) struct ToolCallCounts {
    pub(crate) tools: BTreeMap<CompactString, ToolCounts>,
}

/// The calls of one tool.
#[derive(Debug, Default)]
pub(crate) struct ToolCounts {
    pub(crate) calls: i64,
    pub(crate) failed: i64,
    /// The number of calls in each bucket of latency.
    pub(crate) buckets: BTreeMap<u32, i64>,
}

impl ToolCallCounts {
    /// Adds calls that have ended.
    pub(crate) fn add(&mut self, calls: &[EndedToolCall]) {
        for call in calls {
            let end = call.name.floor_char_boundary(ID_BYTES_MAX);
            let name = CompactString::from(call.name.get(..end).unwrap_or_default());
            let counts = self.tools.entry(name).or_default();
            counts.calls += 1;
            counts.failed += i64::from(call.failed);
            if let Some(latency_ms) = call.latency_ms {
                *counts.buckets.entry(bucket(latency_ms)).or_default() += 1;
            }
        }
    }
}

#[cfg(test)]
mod tests;
