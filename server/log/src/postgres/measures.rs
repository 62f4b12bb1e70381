//! Sums of measurements as rows: one for each span, metric, agent, model, tool and detail, as in the log on disk. All rows of a
//! transaction are one statement.
//!
//! ```text
//! measure       span, metric, start, agent, model, tool, detail, amount   one row for each sum
//! measure_span  span, start, rows                                          how many rows a span has, for the bound
//! measured      since, hours_since                                         from when on all is counted
//! ```

use std::sync::Arc;

use model::limits::{MEASURE_HOURS_KEPT, MEASURE_SUMS_MAX, MEASURES_PER_SPAN_MAX};
use tokio_postgres::Row;
use tokio_postgres::types::ToSql;

use super::batch::Values;
use super::database::{Database, Session};
use super::known::WriterCache;
use super::text::{escape, unescape};
use super::unreadable;
use crate::measure::{
    Facet, HOUR_MS, LatencyCounts, MeasureCounts, MeasureRow, MeasureSpan, OTHERS, SUM_MAX, Sums,
};
use crate::numbers::{integer, natural, size};
use crate::{Dimension, LogError, MeasureQuery, Measured, Metric, QueryCancel};

/// Adds to the rows that are there, and makes those that are not while their span has room. Rows beyond count among the others,
/// whose metric with reasons ($11) loses the reason.
const ADD: &str = "WITH given AS (SELECT * FROM unnest($1::smallint[], $2::smallint[], $3::bigint[], $4::text[], $5::text[], $6::text[], $7::text[], $8::bigint[]) \
                   AS u (span, metric, start, agent, model, tool, detail, amount)), \
                   placed AS (SELECT g.*, m.amount IS NOT NULL OR coalesce(s.rows, 0) + row_number() OVER \
                   (PARTITION BY g.span, g.start, m.amount IS NULL ORDER BY g.metric, g.agent, g.model, g.tool, g.detail) <= $9::bigint AS fits \
                   FROM given g LEFT JOIN measure m ON m.span = g.span AND m.metric = g.metric AND m.start = g.start AND m.agent = g.agent \
                   AND m.model = g.model AND m.tool = g.tool AND m.detail = g.detail \
                   LEFT JOIN measure_span s ON s.span = g.span AND s.start = g.start), \
                   named AS (SELECT span, metric, start, CASE WHEN fits OR agent = '' THEN agent ELSE $10::text END AS agent, \
                   CASE WHEN fits OR model = '' THEN model ELSE $10 END AS model, CASE WHEN fits OR tool = '' THEN tool ELSE $10 END AS tool, \
                   CASE WHEN fits OR metric <> $11::smallint THEN detail ELSE $10 END AS detail, amount FROM placed), \
                   added AS (INSERT INTO measure AS m (span, metric, start, agent, model, tool, detail, amount) \
                   SELECT span, metric, start, agent, model, tool, detail, greatest(-$12::bigint, least($12, sum(amount)))::bigint \
                   FROM named GROUP BY 1, 2, 3, 4, 5, 6, 7 ORDER BY 1, 2, 3, 4, 5, 6, 7 \
                   ON CONFLICT (span, metric, start, agent, model, tool, detail) \
                   DO UPDATE SET amount = greatest(-$12, least($12, m.amount + excluded.amount)) RETURNING span, start, xmax = 0 AS is_new) \
                   INSERT INTO measure_span AS s (span, start, rows) SELECT span, start, count(*) FROM added WHERE is_new GROUP BY 1, 2 ORDER BY 1, 2 \
                   ON CONFLICT (span, start) DO UPDATE SET rows = s.rows + excluded.rows";

/// Drops the hours before $1, and notes since when hours are there.
const FORGET: &str = "WITH old AS (DELETE FROM measure WHERE span = 0 AND metric = ANY($2) AND start < $1::bigint RETURNING 1), \
                      spans AS (DELETE FROM measure_span WHERE span = 0 AND start < $1) \
                      UPDATE measured SET hours_since = greatest(hours_since, $1 * $3::bigint) WHERE EXISTS (SELECT 1 FROM old)";

/// Sums by step, and by those names that are asked for.
const SELECT: &str = "SELECT metric, greatest(0, start * $1::bigint - $2::bigint) / $3::bigint, CASE WHEN $4::boolean THEN agent ELSE '' END, \
                      CASE WHEN $5::boolean THEN model ELSE '' END, CASE WHEN $6::boolean THEN tool ELSE '' END, detail, sum(amount)::text \
                      FROM measure WHERE span = $7::smallint AND metric = ANY($8::smallint[]) AND start >= $9::bigint AND start < $10::bigint \
                      GROUP BY 1, 2, 3, 4, 5, 6 HAVING sum(amount) <> 0 LIMIT $11::bigint";

/// Latencies in the same way, with all buckets of a sum in one row. At most $11 buckets are added up, and one more.
const SELECT_LATENCIES: &str = "SELECT metric, step, agent, model, tool, array_agg(bucket), array_agg(amount) FROM \
                      (SELECT metric, greatest(0, start * $1::bigint - $2::bigint) / $3::bigint AS step, CASE WHEN $4::boolean THEN agent ELSE '' END AS agent, \
                      CASE WHEN $5::boolean THEN model ELSE '' END AS model, CASE WHEN $6::boolean THEN tool ELSE '' END AS tool, detail::bigint AS bucket, \
                      greatest(-$12::bigint, least($12, sum(amount)))::bigint AS amount \
                      FROM measure WHERE span = $7::smallint AND metric = ANY($8::smallint[]) AND start >= $9::bigint AND start < $10::bigint \
                      AND detail ~ '^[0-9]{1,4}$' GROUP BY 1, 2, 3, 4, 5, 6 LIMIT $11::bigint) AS found GROUP BY 1, 2, 3, 4, 5";

/// The statements that count what was measured in a transaction.
pub(super) fn steps(counts: &MeasureCounts, known: &mut WriterCache) -> Vec<(&'static str, Values)> {
    let changes: Vec<_> = counts.changes().collect();
    let (mut spans, mut metrics, mut starts) = (Vec::<i16>::new(), Vec::<i16>::new(), Vec::<i64>::new());
    let [mut agents, mut models, mut tools, mut details] = [const { Vec::<String>::new() }; 4];
    let mut amounts = Vec::<i64>::new();
    for (span, key, amount) in &changes {
        spans.push(small(span.number()));
        metrics.push(small(key.facet.number(key.metric)));
        starts.push(integer(key.start));
        agents.push(escape(&key.agent).into_owned());
        models.push(escape(&key.model).into_owned());
        tools.push(escape(&key.tool).into_owned());
        details.push(escape(&key.detail).into_owned());
        amounts.push(*amount);
    }
    let mut steps: Vec<(&'static str, Values)> = Vec::new();
    if changes.is_empty() {
        return steps;
    }
    let values: Values = vec![
        Box::new(spans),
        Box::new(metrics),
        Box::new(starts),
        Box::new(agents),
        Box::new(models),
        Box::new(tools),
        Box::new(details),
        Box::new(amounts),
        Box::new(size(MEASURES_PER_SPAN_MAX)),
        Box::new(OTHERS),
        Box::new(small(Facet::Every.number(Metric::Ended))),
        Box::new(SUM_MAX),
    ];
    steps.push((ADD, values));
    let newest =
        changes.iter().filter(|(span, ..)| *span == MeasureSpan::Day).map(|(_, key, _)| key.start).max();
    if let Some(day) = newest.filter(|day| known.newest_day.is_none_or(|known| *day > known)) {
        known.newest_day = Some(day);
        let hour = integer(day.saturating_mul(24).saturating_sub(MEASURE_HOURS_KEPT));
        let values: Values =
            vec![Box::new(hour), Box::new(numbers(Facet::all())), Box::new(integer(HOUR_MS))];
        steps.push((FORGET, values));
    }
    steps
}

/// A number of a span or a metric; all are small.
fn small(number: i64) -> i16 {
    i16::try_from(number).unwrap_or(i16::MAX)
}

/// The numbers of metrics with their facets, as the column has them.
fn numbers(of: impl IntoIterator<Item = (Metric, Facet)>) -> Vec<i16> {
    of.into_iter().map(|(metric, facet)| small(facet.number(metric))).collect()
}

/// What a query asks for. The database adds up; at most [`MEASURE_SUMS_MAX`] rows and one more come back.
/// Fails with [`LogError::BadQuery`] for more sums, for a latency by several names, and when `stop` was
/// called.
pub(super) fn measured(
    database: &Arc<Database>,
    query: &MeasureQuery,
    stop: &QueryCancel,
) -> Result<Measured, LogError> {
    let of = Facet::asked(query)?;
    let (latencies, counts): (Vec<_>, Vec<_>) =
        of.iter().copied().partition(|(metric, _)| metric.is_latency());
    let asked = (query.clone(), numbers(counts), numbers(latencies));
    let found = database.read_unless_stopped(stop, move |session| {
        let (query, counts, latencies) = asked.clone();
        Box::pin(async move { Rows::read(session, &query, &counts, &latencies).await })
    })?;
    let Some(found) = found else { return Err(Sums::stopped()) };
    let mut sums = Sums::new(query, stop);
    let reader = RowReader { query, of: &of, is_whole: query.parts().len() < 2 };
    for row in &found.counts {
        reader.add(&mut sums, row)?;
    }
    for row in &found.latencies {
        reader.add_latencies(&mut sums, row)?;
    }
    Ok(Measured { sums: sums.finish(), since: found.since })
}

/// The rows of an answer, one more than it may have.
struct Rows {
    counts: Vec<Row>,
    latencies: Vec<Row>,
    /// Since when all is counted, in milliseconds since 1970.
    since: u64,
}

impl Rows {
    async fn read(
        session: &mut Session,
        query: &MeasureQuery,
        counts: &[i16],
        latencies: &[i16],
    ) -> Result<Self, tokio_postgres::Error> {
        let by = |dimension: Dimension| query.by.contains(&dimension);
        let (from, step) = (integer(query.from), integer(query.step_ms.max(HOUR_MS)));
        let (agent, model, tool) = (by(Dimension::Agent), by(Dimension::Model), by(Dimension::Tool));
        let most = size(MEASURE_SUMS_MAX.saturating_add(1));
        let (counts, latencies) = (&counts, &latencies);
        let mut found = Self { counts: Vec::new(), latencies: Vec::new(), since: 0 };
        for part in query.parts() {
            let (length, number) = (integer(part.span.ms()), small(part.span.number()));
            let (first, end) = (integer(part.first), integer(part.end));
            if !counts.is_empty() {
                let asked: [&(dyn ToSql + Sync); 11] =
                    [&length, &from, &step, &agent, &model, &tool, &number, counts, &first, &end, &most];
                let select = session.prepared(SELECT).await?;
                found.counts.extend(session.client.query(&select, &asked).await?);
            }
            if !latencies.is_empty() {
                let asked: [&(dyn ToSql + Sync); 12] = [
                    &length, &from, &step, &agent, &model, &tool, &number, latencies, &first, &end, &most,
                    &SUM_MAX,
                ];
                let select = session.prepared(SELECT_LATENCIES).await?;
                found.latencies.extend(session.client.query(&select, &asked).await?);
            }
        }
        let since = session.client.query_one("SELECT since, hours_since FROM measured", &[]).await?;
        found.since = query.counted_since(natural(since.try_get(0)?), natural(since.try_get(1)?));
        Ok(found)
    }
}

/// The metric that a row is about. Fails for a number that stands for none that was asked for.
fn metric_of(row: &Row, of: &[(Metric, Facet)]) -> Result<Metric, LogError> {
    let number: i16 = row.try_get(0).map_err(unreadable)?;
    let known = of.iter().find(|(metric, facet)| small(facet.number(*metric)) == number);
    known
        .map(|(metric, _)| *metric)
        .ok_or_else(|| unreadable(format!("a sum of the unknown metric {number}")))
}

/// Adds the rows of an answer to the sums of a question.
struct RowReader<'a> {
    query: &'a MeasureQuery,
    /// What was asked for, with the facets that answer it.
    of: &'a [(Metric, Facet)],
    /// Whether the database has added up all that belongs together: not where a step is read in several parts.
    is_whole: bool,
}

impl RowReader<'_> {
    /// Adds a row of an answer.
    fn add(&self, sums: &mut Sums<'_>, row: &Row) -> Result<(), LogError> {
        let detail = row.try_get(5).map(unescape).map_err(unreadable)?;
        let amount = row.try_get::<_, &str>(6).map_err(unreadable)?.parse().map_err(unreadable)?;
        self.put(sums, row, (&detail, amount), None)
    }

    /// Adds a row of latencies.
    fn add_latencies(&self, sums: &mut Sums<'_>, row: &Row) -> Result<(), LogError> {
        let buckets: Vec<i64> = row.try_get(5).map_err(unreadable)?;
        let amounts: Vec<i64> = row.try_get(6).map_err(unreadable)?;
        let mut pairs: Vec<(i64, i64)> = buckets.into_iter().zip(amounts).collect();
        pairs.sort_unstable();
        let mut counts = LatencyCounts::default();
        for (bucket, amount) in pairs {
            counts.add(u32::try_from(bucket).unwrap_or(u32::MAX), amount);
        }
        self.put(sums, row, ("", 0), Some(counts))
    }

    /// Adds what a row says in the columns that both kinds of rows have, with what only one of them has.
    fn put(
        &self,
        sums: &mut Sums<'_>,
        row: &Row,
        (detail, amount): (&str, i128),
        counts: Option<LatencyCounts>,
    ) -> Result<(), LogError> {
        let step = natural(row.try_get(1).map_err(unreadable)?);
        let text = |column: usize| row.try_get::<_, &str>(column).map(unescape).map_err(unreadable);
        let row = MeasureRow {
            at: self.query.from.saturating_add(step.saturating_mul(self.query.step_ms.max(HOUR_MS))),
            metric: metric_of(row, self.of)?,
            agent: &text(2)?,
            model: &text(3)?,
            tool: &text(4)?,
            detail,
            amount,
        };
        match counts {
            counts if self.is_whole => sums.push(&row, counts.unwrap_or_default()),
            Some(counts) => sums.add_latencies(&row, &counts),
            None => sums.add(&row),
        }
    }
}
