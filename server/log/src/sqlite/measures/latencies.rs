//! Latencies as rows: the counts of all buckets of a span and a name are one row, packed.
//!
//! A question about a month of latencies by the hour is about 100,000 buckets. As a row each they took some microseconds to be handed out and
//! put together; as 720 rows they take a few nanoseconds each.

use rusqlite::{Connection, OptionalExtension as _, Transaction};

use super::super::blocks::unreadable;
use super::super::schema::{integer, natural};
use super::{Selection, has_room};
use crate::LogError;
use crate::measure::{LatencyCounts, MeasureCounts, MeasureKey, MeasurePart, MeasureRow, MeasureSpan, Sums};

/// Writes the latencies of one commit, in its transaction. What its span has no room for counts among the others. `newest_day` as in
/// [`has_room`].
pub(super) fn add(
    connection: &Connection,
    counts: &MeasureCounts,
    newest_day: &mut Option<u64>,
) -> rusqlite::Result<()> {
    for (span, key, more) in counts.latencies() {
        if add_to_row(connection, span, &key, &more)? {
            continue;
        }
        let key = if has_room(connection, span, &key, newest_day)? { key } else { key.among_others() };
        if !add_to_row(connection, span, &key, &more)? {
            insert(connection, span, &key, &more)?;
        }
    }
    Ok(())
}

/// Adds to a row that is there; false where there is none. A row whose bytes are damaged begins anew.
fn add_to_row(
    connection: &Connection,
    span: MeasureSpan,
    key: &MeasureKey,
    more: &LatencyCounts,
) -> rusqlite::Result<bool> {
    let row = "span = ?1 AND metric = ?2 AND start = ?3 AND agent = ?4 AND model = ?5 AND tool = ?6";
    let MeasureKey { start, metric, facet, agent, model, tool, .. } = key;
    let (span, metric, start) = (span.number(), facet.number(*metric), integer(*start));
    let names = (span, metric, start, agent.as_str(), model.as_str(), tool.as_str());
    let mut select = connection.prepare_cached(&format!("SELECT counts FROM latency WHERE {row}"))?;
    let known = |row: &rusqlite::Row<'_>| Ok(LatencyCounts::unpacked(row.get_ref(0)?.as_blob()?));
    let Some(known) = select.query_row(names, known).optional()? else { return Ok(false) };
    let mut counts = known.unwrap_or_else(|| {
        tracing::warn!("a row of latencies is damaged and begins anew");
        LatencyCounts::default()
    });
    counts.plus(more);
    let mut update = connection.prepare_cached(&format!("UPDATE latency SET counts = ?7 WHERE {row}"))?;
    let (span, metric, start, agent, model, tool) = names;
    update.execute((span, metric, start, agent, model, tool, counts.packed())).map(|rows| rows > 0)
}

fn insert(
    connection: &Connection,
    span: MeasureSpan,
    key: &MeasureKey,
    counts: &LatencyCounts,
) -> rusqlite::Result<()> {
    let insert = "INSERT INTO latency (span, metric, start, agent, model, tool, counts) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)";
    let MeasureKey { start, metric, facet, agent, model, tool, .. } = key;
    let (agent, model, tool) = (agent.as_str(), model.as_str(), tool.as_str());
    let (span, metric, start) = (span.number(), facet.number(*metric), integer(*start));
    connection
        .prepare_cached(insert)?
        .execute((span, metric, start, agent, model, tool, counts.packed()))
        .map(drop)
}

/// Adds the latencies of one metric within a part of the query's time to `sums`. Fails for a row that is damaged.
pub(super) fn add_up(
    connection: &Connection,
    of: Selection,
    part: &MeasurePart,
    sums: &mut Sums<'_>,
) -> Result<(), LogError> {
    let select = "SELECT start, agent, model, tool, counts FROM latency WHERE span = ?1 AND metric = ?2 AND start >= ?3 AND start < ?4";
    let mut select = connection.prepare_cached(select).map_err(unreadable)?;
    let (span, number) = (part.span, of.facet.number(of.metric));
    let mut rows =
        select.query((span.number(), number, integer(part.first), integer(part.end))).map_err(unreadable)?;
    while let Some(row) = rows.next().map_err(unreadable)? {
        let text = |column: usize| row.get_ref(column).and_then(|it| Ok(it.as_str()?)).map_err(unreadable);
        let bytes = row.get_ref(4).and_then(|it| Ok(it.as_blob()?)).map_err(unreadable)?;
        let counts =
            LatencyCounts::unpacked(bytes).ok_or_else(|| unreadable("a row of latencies is damaged"))?;
        let row = MeasureRow {
            at: natural(row.get(0).map_err(unreadable)?).saturating_mul(span.ms()),
            metric: of.metric,
            agent: text(1)?,
            model: text(2)?,
            tool: text(3)?,
            detail: "",
            amount: 0,
        };
        if of.is_whole { sums.push(&row, counts) } else { sums.add_latencies(&row, &counts) }?;
    }
    Ok(())
}

/// Drops the hours before `hour` of all latencies; returns how many rows went.
pub(super) fn forget(connection: &Connection, metric: i64, hour: i64) -> rusqlite::Result<usize> {
    connection
        .prepare_cached("DELETE FROM latency WHERE span = 0 AND metric = ?1 AND start < ?2")?
        .execute((metric, hour))
}

/// The metrics of latencies, with any facet: those of run, first output and call.
const OF_LATENCIES: &str = "metric % 100 IN (3, 4, 7)";

/// The seventh migration's second half: packs the rows with one bucket each, which are dropped. A span has as many rows afterwards as it
/// would have had; a row whose detail is no bucket is not counted any more.
pub(in crate::sqlite) fn migrate(transaction: &Transaction<'_>) -> rusqlite::Result<()> {
    let select = format!(
        "SELECT span, metric, start, agent, model, tool, detail, amount FROM measure WHERE {OF_LATENCIES} \
         ORDER BY span, metric, start, agent, model, tool"
    );
    let insert = "INSERT INTO latency (span, metric, start, agent, model, tool, counts) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)";
    let (mut select, mut insert) = (transaction.prepare(&select)?, transaction.prepare(insert)?);
    let mut put = |(key, counts): (PackedKey, LatencyCounts)| -> rusqlite::Result<()> {
        if counts.is_empty() {
            return Ok(());
        }
        let ((span, metric, start), [agent, model, tool]) = key;
        insert.execute((span, metric, start, agent, model, tool, counts.packed())).map(drop)
    };
    let mut packed: Option<(PackedKey, LatencyCounts)> = None;
    let mut rows = select.query([])?;
    while let Some(row) = rows.next()? {
        let key = ((row.get(0)?, row.get(1)?, row.get(2)?), [row.get(3)?, row.get(4)?, row.get(5)?]);
        let bucket = row.get_ref(6)?.as_str()?.parse().unwrap_or(u32::MAX);
        let amount = row.get(7)?;
        match &mut packed {
            Some((known, counts)) if *known == key => counts.add(bucket, amount),
            _ => {
                packed.replace((key, LatencyCounts::of(bucket, amount))).map_or(Ok(()), &mut put)?;
            }
        }
    }
    packed.map_or(Ok(()), put)?;
    transaction.execute_batch(&format!(
        "DELETE FROM measure WHERE {OF_LATENCIES}; DELETE FROM measure_span; \
         INSERT INTO measure_span (span, start, rows) SELECT span, start, count(*) FROM \
         (SELECT span, start FROM measure WHERE metric < 100 UNION ALL SELECT span, start FROM latency) GROUP BY span, start"
    ))
}

/// Span, metric and start, and the names of agent, model and tool.
type PackedKey = ((i64, i64, i64), [String; 3]);
