//! Sums of measurements as rows: one for each span, metric, agent, model, tool and detail. Each measurement counts in its hour and
//! in its day; hours are kept for a quarter of a year.
//!
//! ```text
//! measure       span, metric, start, agent, model, tool, detail, amount   one row for each sum
//! measure_span  span, start, rows                                          how many rows a span has, for the bound
//! measured      since, hours_since                                         from when on all is counted
//! ```

use model::limits::{MEASURE_HOURS_KEPT, MEASURES_PER_SPAN_MAX};
use rusqlite::Connection;

use super::blocks::unreadable;
use super::schema::{integer, natural, size};
use crate::measure::{Facet, MeasureCounts, MeasureKey, MeasureRow, MeasureSpan, SUM_MAX, Sums};
use crate::{Dimension, LogError, MeasureQuery, Measured, Metric, QueryCancel};

/// Writes the measurements of one commit, in its transaction. A row that its span has no room for counts
/// among the others, see [`MeasureKey::among_others`].
pub(super) fn add(connection: &Connection, counts: &MeasureCounts) -> rusqlite::Result<()> {
    for (span, key, amount) in counts.changes() {
        if add_to_row(connection, span, key, amount)? {
            continue;
        }
        if has_room(connection, span, key)? {
            put(connection, span, key, amount)?;
        } else {
            put(connection, span, &key.among_others(), amount)?;
        }
    }
    Ok(())
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

/// Whether one more row may be about this span; it is counted then. With a new day, hours go that are too old.
fn has_room(connection: &Connection, span: MeasureSpan, key: &MeasureKey) -> rusqlite::Result<bool> {
    let count = "INSERT INTO measure_span (span, start, rows) VALUES (?1, ?2, 1) ON CONFLICT (span, start) \
                 DO UPDATE SET rows = rows + 1 RETURNING rows";
    let mut count = connection.prepare_cached(count)?;
    let rows: i64 = count.query_row((span.number(), integer(key.start)), |row| row.get(0))?;
    if rows == 1 && span == MeasureSpan::Day {
        forget(connection, integer((key.start.saturating_mul(24)).saturating_sub(MEASURE_HOURS_KEPT)))?;
    }
    Ok(rows <= size(MEASURES_PER_SPAN_MAX))
}

/// Drops the hours before `hour`, counted since 1970, and notes since when hours are complete.
fn forget(connection: &Connection, hour: i64) -> rusqlite::Result<()> {
    let mut gone = 0;
    for (metric, facet) in Facet::all() {
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
    let span = query.span();
    let mut sums = Sums::new(query, stop);
    let handle = connection.get_interrupt_handle();
    let _running = stop.attach(Box::new(move || handle.interrupt()));
    for of in Facet::asked(query)? {
        let added = add_up(connection, span, of, query, &mut sums);
        // What an interruption says of itself is of the database.
        added.map_err(|error| if stop.is_cancelled() { Sums::stopped() } else { error })?;
    }
    let since = match span {
        MeasureSpan::Day => "SELECT coalesce(max(since), 0) FROM measured",
        MeasureSpan::Hour => "SELECT coalesce(max(since, hours_since), 0) FROM measured",
    };
    let since = connection.prepare_cached(since).and_then(|mut since| since.query_row([], |row| row.get(0)));
    Ok(Measured { sums: sums.finish(), since: natural(since.map_err(unreadable)?) })
}

/// The statement that reads a metric within a time: start, agent, model, tool, detail, and the amount in two halves of 32 bits, since
/// the sum of many rows may be larger than 64.
///
/// Names that the query does not tell apart are added up by the database, which takes a fraction of the time that it takes to hand out
/// each row: a month of 300,000 calls has some 150,000 rows by agent, model and tool, and 30 sums by day. The columns that are left stand
/// in the order of the key wherever these are the first ones of it, so that nothing is sorted.
fn selection((metric, facet): (Metric, Facet), query: &MeasureQuery) -> String {
    let time = "FROM measure WHERE span = ?1 AND metric = ?2 AND start >= ?3 AND start < ?4";
    if facet != Facet::Every {
        return format!("SELECT start, agent, model, tool, detail, amount >> 32, amount & 4294967295 {time}");
    }
    let names = [(Dimension::Agent, "agent"), (Dimension::Model, "model"), (Dimension::Tool, "tool")];
    let named = names.map(|(dimension, name)| if query.by.contains(&dimension) { name } else { "''" });
    let detail = if metric.has_detail() { "detail" } else { "''" };
    let columns = [&["start"][..], &named, &[detail]].concat();
    let groups: Vec<&str> = columns.iter().copied().filter(|column| *column != "''").collect();
    let (columns, groups) = (columns.join(", "), groups.join(", "));
    format!("SELECT {columns}, sum(amount >> 32), sum(amount & 4294967295) {time} GROUP BY {groups}")
}

/// Adds the rows of one metric within the query's time to `sums`.
fn add_up(
    connection: &Connection,
    span: MeasureSpan,
    (metric, facet): (Metric, Facet),
    query: &MeasureQuery,
    sums: &mut Sums<'_>,
) -> Result<(), LogError> {
    let mut select = connection.prepare_cached(&selection((metric, facet), query)).map_err(unreadable)?;
    let (from, to) = (integer(query.from / span.ms()), integer(query.to.div_ceil(span.ms())));
    let mut rows = select.query((span.number(), facet.number(metric), from, to)).map_err(unreadable)?;
    while let Some(row) = rows.next().map_err(unreadable)? {
        let text = |column: usize| row.get_ref(column).and_then(|it| Ok(it.as_str()?)).map_err(unreadable);
        let number = |column: usize| row.get::<_, i64>(column).map_err(unreadable);
        sums.add(&MeasureRow {
            at: natural(number(0)?).saturating_mul(span.ms()),
            metric,
            agent: text(1)?,
            model: text(2)?,
            tool: text(3)?,
            detail: text(4)?,
            amount: (i128::from(number(5)?) << 32) + i128::from(number(6)?),
        })?;
    }
    Ok(())
}
