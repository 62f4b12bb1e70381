//! Figures of tool calls: how many, how many failed, how long they took. Latencies are counted in a few
//! hundred buckets whose width grows with the latency, so that quantiles are within 1/32 of the truth,
//! however many calls there were.

use std::collections::BTreeMap;

use compact_str::CompactString;
use model::limits::{ID_BYTES_MAX, TOOLS_MAX};
use rusqlite::Connection;

use super::schema::{natural, size};
use crate::{Call, ToolFigures};

/// The name under which tools beyond the limit are counted.
const OTHERS: &str = "(others)";

/// The number of buckets for each doubling of the latency, as a power of two.
const STEP_BITS: u32 = 5;

/// The calls of one commit, counted by tool.
#[derive(Debug, Default)]
pub(super) struct CallCounts {
    tools: BTreeMap<CompactString, Counts>,
}

/// The calls of one tool.
#[derive(Debug, Default)]
struct Counts {
    calls: i64,
    failed: i64,
    /// How many calls by bucket of latency.
    buckets: BTreeMap<u32, i64>,
}

impl CallCounts {
    /// Adds calls that have ended.
    pub(super) fn add(&mut self, calls: &[Call]) {
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

/// The bucket of a latency in milliseconds.
fn bucket(latency_ms: u64) -> u32 {
    let bits = u64::BITS - latency_ms.leading_zeros();
    // Small latencies have a bucket each; of larger ones the highest bits count.
    let shift = bits.saturating_sub(STEP_BITS + 1);
    let step = u32::try_from(latency_ms >> shift).unwrap_or(u32::MAX);
    (shift << STEP_BITS) + step
}

/// The longest latency of a bucket, in milliseconds.
fn longest(bucket: u32) -> u64 {
    let shift = (bucket >> STEP_BITS).saturating_sub(1);
    let step = u64::from(bucket - (shift << STEP_BITS));
    // A damaged file may name a bucket that no latency has.
    let end = u128::from(step + 1).checked_shl(shift).unwrap_or(u128::MAX);
    u64::try_from(end.saturating_sub(1)).unwrap_or(u64::MAX)
}

/// Adds the calls of one commit to the tables.
pub(super) fn add(connection: &Connection, counts: &CallCounts) -> rusqlite::Result<()> {
    for (name, counts) in &counts.tools {
        let name = admitted(connection, name)?;
        let add = "INSERT INTO tool (name, calls, failed) VALUES (?1, ?2, ?3) ON CONFLICT (name) \
                   DO UPDATE SET calls = calls + excluded.calls, failed = failed + excluded.failed";
        connection.prepare_cached(add)?.execute((name, counts.calls, counts.failed))?;
        for (bucket, calls) in &counts.buckets {
            let add = "INSERT INTO tool_latency (name, bucket, calls) VALUES (?1, ?2, ?3) \
                       ON CONFLICT (name, bucket) DO UPDATE SET calls = calls + excluded.calls";
            connection.prepare_cached(add)?.execute((name, bucket, calls))?;
        }
    }
    Ok(())
}

/// The name under which a tool is counted: its own, unless there are too many tools.
fn admitted<'a>(connection: &Connection, name: &'a str) -> rusqlite::Result<&'a str> {
    if connection.prepare_cached("SELECT 1 FROM tool WHERE name = ?1")?.exists([name])? {
        return Ok(name);
    }
    let mut count = connection.prepare_cached("SELECT count(*) FROM tool")?;
    let tools: i64 = count.query_row([], |row| row.get(0))?;
    Ok(if tools < size(TOOLS_MAX) { name } else { OTHERS })
}

/// The figures of all tools, ordered by name.
pub(super) fn figures(connection: &Connection) -> rusqlite::Result<Vec<ToolFigures>> {
    let mut select = connection.prepare_cached("SELECT name, calls, failed FROM tool ORDER BY name")?;
    let tools = select.query_map([], |row| {
        let name = CompactString::from(row.get_ref(0)?.as_str()?);
        let (calls, failed) = (natural(row.get(1)?), natural(row.get(2)?));
        Ok(ToolFigures { name, calls, failed, p50_ms: None, p95_ms: None })
    })?;
    let mut tools = tools.collect::<rusqlite::Result<Vec<_>>>()?;
    let select = "SELECT bucket, calls FROM tool_latency WHERE name = ?1 ORDER BY bucket";
    let mut select = connection.prepare_cached(select)?;
    for tool in &mut tools {
        let buckets =
            select.query_map([tool.name.as_str()], |row| Ok((row.get(0)?, natural(row.get(1)?))))?;
        let buckets = buckets.collect::<rusqlite::Result<Vec<(u32, u64)>>>()?;
        tool.p50_ms = quantile(&buckets, 50);
        tool.p95_ms = quantile(&buckets, 95);
    }
    Ok(tools)
}

/// The latency that `percent` of 100 calls did not exceed; `None` without calls.
fn quantile(buckets: &[(u32, u64)], percent: u64) -> Option<u64> {
    let all: u128 = buckets.iter().map(|(_, calls)| u128::from(*calls)).sum();
    let rank = (all * u128::from(percent)).div_ceil(100).max(1);
    let mut below = 0;
    let found = buckets.iter().find(|(_, calls)| {
        below += u128::from(*calls);
        below >= rank
    });
    found.map(|(bucket, _)| longest(*bucket))
}

#[cfg(test)]
mod tests;
