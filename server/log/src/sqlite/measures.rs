//! Sums of measurements as rows: one for each span, metric, agent, model, tool and detail. Each measurement counts in its hour and
//! in its day; hours are kept for a quarter of a year. There are totals besides, and of calls sums by some names ([`Facet::summed`]).
//! Latencies have a table of their own ([`latencies`]).
//!
//! ```text
//! measure       span, metric, start, agent, model, tool, detail, amount   one row for each sum
//! latency       span, metric, start, agent, model, tool, counts           one row for the counts of all buckets
//! measure_span  span, start, rows                                          how many rows a span has, for the bound
//! measured      since, hours_since                                         from when on all is counted
//! ```

use std::collections::BTreeMap;

use model::limits::{MEASURE_HOURS_KEPT, MEASURES_PER_SPAN_MAX};
use rusqlite::Connection;

use super::blocks::unreadable;
use super::schema::{integer, natural, size};
use crate::measure::{
    Facet, HOUR_MS, LatencyCounts, MeasureCounts, MeasureKey, MeasurePart, MeasureRow, MeasureSpan, SUM_MAX,
    Sums,
};
use crate::{Dimension, LogError, MeasureQuery, Measured, Metric, QueryCancel};

mod latencies;

pub(super) use latencies::migrate as pack_latencies;

/// Writes the measurements of one commit, in its transaction. A row that its span has no room for counts
/// among the others, see [`MeasureKey::among_others`]. The sums of [`Facet::summed`] follow the rows that were written, so that they are
/// those of these rows; they are never more than these, and take none of the room.
pub(super) fn add(connection: &Connection, counts: &MeasureCounts) -> rusqlite::Result<()> {
    let mut summed = BTreeMap::<(MeasureSpan, MeasureKey), i64>::new();
    let mut newest_day = None;
    for (span, key, amount) in counts.changes().filter(|(_, key, _)| !key.metric.is_latency()) {
        let others;
        let mut written = key;
        if !add_to_row(connection, span, key, amount)? {
            if !has_room(connection, span, key, &mut newest_day)? {
                others = key.among_others();
                written = &others;
            }
            put(connection, span, written, amount)?;
        }
        for facet in Facet::summed(key.metric) {
            let sum = summed.entry((span, written.by(*facet))).or_default();
            *sum = sum.saturating_add(amount).clamp(-SUM_MAX, SUM_MAX);
        }
    }
    summed.iter().try_for_each(|((span, key), amount)| put(connection, *span, key, *amount))?;
    latencies::add(connection, counts, &mut newest_day)?;
    match newest_day {
        Some(day) => forget(connection, integer(day.saturating_mul(24).saturating_sub(MEASURE_HOURS_KEPT))),
        None => Ok(()),
    }
}

/// Adds to a row that is there; false where there is none.
fn add_to_row(
    connection: &Connection,
    span: MeasureSpan,
    key: &MeasureKey,
    amount: i64,
) -> rusqlite::Result<bool> {
    let update = "UPDATE measure SET amount = max(-?8, min(?8, amount + ?9)) WHERE span = ?1 AND metric = ?2 \
                  AND start = ?3 AND agent = ?4 AND model = ?5 AND tool = ?6 AND detail = ?7";
    let mut update = connection.prepare_cached(update)?;
    let MeasureKey { start, metric, facet, agent, model, tool, detail } = key;
    let (agent, model, tool, detail) = (agent.as_str(), model.as_str(), tool.as_str(), detail.as_str());
    let (span, metric, start) = (span.number(), facet.number(*metric), integer(*start));
    Ok(update.execute((span, metric, start, agent, model, tool, detail, SUM_MAX, amount))? > 0)
}

/// Adds to a row, which is made if it is not there.
fn put(connection: &Connection, span: MeasureSpan, key: &MeasureKey, amount: i64) -> rusqlite::Result<()> {
    if add_to_row(connection, span, key, amount)? {
        return Ok(());
    }
    let insert = "INSERT INTO measure (span, metric, start, agent, model, tool, detail, amount) \
                  VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)";
    let MeasureKey { start, metric, facet, agent, model, tool, detail } = key;
    let (agent, model, tool, detail) = (agent.as_str(), model.as_str(), tool.as_str(), detail.as_str());
    let (span, metric, start) = (span.number(), facet.number(*metric), integer(*start));
    connection
        .prepare_cached(insert)?
        .execute((span, metric, start, agent, model, tool, detail, amount))
        .map(drop)
}

/// Whether one more row may be about this span; it is counted then. A day that is new becomes `newest_day`, if it is the newest: once
/// everything is written, hours go that are too old then.
fn has_room(
    connection: &Connection,
    span: MeasureSpan,
    key: &MeasureKey,
    newest_day: &mut Option<u64>,
) -> rusqlite::Result<bool> {
    let count = "INSERT INTO measure_span (span, start, rows) VALUES (?1, ?2, 1) ON CONFLICT (span, start) \
                 DO UPDATE SET rows = rows + 1 RETURNING rows";
    let mut count = connection.prepare_cached(count)?;
    let rows: i64 = count.query_row((span.number(), integer(key.start)), |row| row.get(0))?;
    if rows == 1 && span == MeasureSpan::Day {
        *newest_day = (*newest_day).max(Some(key.start));
    }
    Ok(rows <= size(MEASURES_PER_SPAN_MAX))
}

/// Drops the hours before `hour`, counted since 1970, and notes since when hours are complete.
fn forget(connection: &Connection, hour: i64) -> rusqlite::Result<()> {
    let mut gone = 0;
    for (metric, facet) in Facet::all() {
        if metric.is_latency() {
            gone += latencies::forget(connection, facet.number(metric), hour)?;
            continue;
        }
        let delete = "DELETE FROM measure WHERE span = 0 AND metric = ?1 AND start < ?2";
        gone += connection.prepare_cached(delete)?.execute((facet.number(metric), hour))?;
    }
    if gone == 0 {
        return Ok(());
    }
    connection.prepare_cached("DELETE FROM measure_span WHERE span = 0 AND start < ?1")?.execute([hour])?;
    let update = "UPDATE measured SET hours_since = max(hours_since, ?1 * 3600000)";
    connection.prepare_cached(update)?.execute([hour]).map(drop)
}

/// What a query asks for. Fails with [`LogError::BadQuery`] for too many sums, for a latency by several
/// names, and when `stop` was called.
pub(super) fn measured(
    connection: &Connection,
    query: &MeasureQuery,
    stop: &QueryCancel,
) -> Result<Measured, LogError> {
    let mut sums = Sums::new(query, stop);
    let handle = connection.get_interrupt_handle();
    let _running = stop.attach(Box::new(move || handle.interrupt()));
    if stop.is_cancelled() {
        return Err(Sums::stopped());
    }
    let parts = query.parts();
    for (metric, facet) in Facet::asked(query)? {
        let of = Selection::of(metric, facet, query, &parts);
        for part in &parts {
            let added = if metric.is_latency() {
                latencies::add_up(connection, of, part, &mut sums)
            } else {
                add_up(connection, of, part, query, &mut sums)
            };
            // What an interruption says of itself is of the database.
            added.map_err(|error| if stop.is_cancelled() { Sums::stopped() } else { error })?;
        }
    }
    let mut since = connection
        .prepare_cached("SELECT coalesce(max(since), 0), coalesce(max(hours_since), 0) FROM measured")
        .map_err(unreadable)?;
    let since: (i64, i64) = since.query_row([], |row| Ok((row.get(0)?, row.get(1)?))).map_err(unreadable)?;
    let since = query.counted_since(natural(since.0), natural(since.1));
    Ok(Measured { sums: sums.finish(), since })
}

/// How one metric of a query is read.
#[derive(Clone, Copy)]
struct Selection {
    metric: Metric,
    facet: Facet,
    /// Whether no two rows count in the same sum: steps are single spans, and the facet has no names beyond those of the query.
    is_whole: bool,
}

impl Selection {
    fn of(metric: Metric, facet: Facet, query: &MeasureQuery, parts: &[MeasurePart]) -> Self {
        let facet = match facet {
            Facet::Every => Facet::summed_by(metric, &query.by).unwrap_or(facet),
            _ => facet,
        };
        let is_step = |span: u64| query.step_ms.max(HOUR_MS) == span && query.from.is_multiple_of(span);
        let is_whole = matches!(parts, [part] if is_step(part.span.ms()));
        Self { metric, facet, is_whole }
    }

    /// The names that its rows have: agent, model, tool.
    fn names(self, query: &MeasureQuery) -> [bool; 3] {
        [Dimension::Agent, Dimension::Model, Dimension::Tool]
            .map(|name| self.facet.tells_apart(name) && query.by.contains(&name))
    }

    /// The statement: start, agent, model, tool, detail, and the amount in two halves of 32 bits, since the sum of many rows may be larger
    /// than 64.
    ///
    /// Of [`Facet::Every`] the database adds up the names that the query does not tell apart, which takes a fraction of the time that it takes
    /// to hand out each row. The columns that are left stand in the order of the key wherever these are the first ones of it, so that
    /// nothing is sorted. Rows of all other facets are such sums already.
    fn statement(self, query: &MeasureQuery) -> String {
        let [agent, model, tool] = self.names(query);
        let column = |is_there: bool, name: &'static str| if is_there { name } else { "''" };
        let mut columns = [
            "start",
            column(agent, "agent"),
            column(model, "model"),
            column(tool, "tool"),
            column(self.metric.has_detail(), "detail"),
        ];
        let time = "FROM measure WHERE span = ?1 AND metric = ?2 AND start >= ?3 AND start < ?4";
        let mut groups: Vec<&str> = columns.iter().copied().filter(|column| *column != "''").collect();
        // Of one step the spans are added up too, where there is something else to group by.
        let is_joined = query.is_one_step() && groups.len() > 1;
        if is_joined {
            columns[0] = "min(start)";
            groups.remove(0);
        }
        let (columns, groups) = (columns.join(", "), groups.join(", "));
        if self.facet == Facet::Every || is_joined {
            format!("SELECT {columns}, sum(amount >> 32), sum(amount & 4294967295) {time} GROUP BY {groups}")
        } else {
            format!("SELECT {columns}, amount >> 32, amount & 4294967295 {time}")
        }
    }
}

/// Adds the rows of one metric within a part of the query's time to `sums`.
fn add_up(
    connection: &Connection,
    of: Selection,
    part: &MeasurePart,
    query: &MeasureQuery,
    sums: &mut Sums<'_>,
) -> Result<(), LogError> {
    let mut select = connection.prepare_cached(&of.statement(query)).map_err(unreadable)?;
    let (span, number) = (part.span, of.facet.number(of.metric));
    let mut rows =
        select.query((span.number(), number, integer(part.first), integer(part.end))).map_err(unreadable)?;
    let [agent, model, tool] = of.names(query);
    let has_detail = of.metric.has_detail();
    while let Some(row) = rows.next().map_err(unreadable)? {
        // Of each row that is handed out only what it has is read: there may be 100,000.
        let text = |is_there: bool, column: usize| {
            if !is_there {
                return Ok("");
            }
            row.get_ref(column).and_then(|it| Ok(it.as_str()?)).map_err(unreadable)
        };
        let number = |column: usize| row.get::<_, i64>(column).map_err(unreadable);
        let row = MeasureRow {
            at: natural(number(0)?).saturating_mul(span.ms()),
            metric: of.metric,
            agent: text(agent, 1)?,
            model: text(model, 2)?,
            tool: text(tool, 3)?,
            detail: text(has_detail, 4)?,
            amount: (i128::from(number(5)?) << 32) + i128::from(number(6)?),
        };
        if of.is_whole { sums.push(&row, LatencyCounts::default()) } else { sums.add(&row) }?;
    }
    Ok(())
}
