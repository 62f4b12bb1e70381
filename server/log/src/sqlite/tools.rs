//! Figures of calls, in the database.
//!
//! ```text
//! tool          name, calls, failed      at most TOOLS_MAX names, and `(others)`
//! tool_latency  name, bucket, calls      how many calls of the tool took as long as a bucket
//! ```

use compact_str::CompactString;
use model::limits::TOOLS_MAX;
use rusqlite::Connection;

use super::schema::{natural, size};
use crate::ToolFigures;
use crate::measure::{OTHERS, quantile};
pub(super) use crate::tools::ToolCallCounts;

/// Adds the calls of one commit to the tables. In the transaction of that commit, so that figures and events
/// agree.
pub(super) fn add(connection: &Connection, counts: &ToolCallCounts) -> rusqlite::Result<()> {
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

/// The figures of all tools, ordered by name. Quantiles are the longest latency of their bucket.
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
