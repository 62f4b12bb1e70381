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

use super::batch::Values;
use super::database::{Database, Session};
use super::known::WriterCache;
use super::text::{escape, unescape};
use super::unreadable;
use crate::measure::{Facet, HOUR_MS, MeasureCounts, MeasureRow, MeasureSpan, OTHERS, SUM_MAX, Sums};
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
                      GROUP BY 1, 2, 3, 4, 5, 6 LIMIT $11::bigint";

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
    let asked = (query.clone(), numbers(of.iter().copied()));
    let found = database.read_until(stop, move |session| {
        let (query, numbers) = asked.clone();
        Box::pin(async move { rows(session, &query, &numbers).await })
    })?;
    let Some((rows, since)) = found else { return Err(Sums::stopped()) };
    let mut sums = Sums::new(query, stop);
    for row in &rows {
        add(&mut sums, row, query, &of)?;
    }
    Ok(Measured { sums: sums.finish(), since })
}

/// The rows of an answer, one more than it may have, and since when all is counted.
async fn rows(
    session: &mut Session,
    query: &MeasureQuery,
    metrics: &[i16],
) -> Result<(Vec<Row>, u64), tokio_postgres::Error> {
    let span = query.span();
    let by = |dimension: Dimension| query.by.contains(&dimension);
    let (from, to) = (integer(query.from / span.ms()), integer(query.to.div_ceil(span.ms())));
    let select = session.prepared(SELECT).await?;
    let rows = session
        .client
        .query(
            &select,
            &[
                &integer(span.ms()),
                &integer(query.from),
                &integer(query.step_ms.max(HOUR_MS)),
                &by(Dimension::Agent),
                &by(Dimension::Model),
                &by(Dimension::Tool),
                &small(span.number()),
                &metrics,
                &from,
                &to,
                &size(MEASURE_SUMS_MAX.saturating_add(1)),
            ],
        )
        .await?;
    let since = session.client.query_one("SELECT since, hours_since FROM measured", &[]).await?;
    let (since, hours_since): (i64, i64) = (since.try_get(0)?, since.try_get(1)?);
    let since = match span {
        MeasureSpan::Day => since,
        MeasureSpan::Hour => since.max(hours_since),
    };
    Ok((rows, natural(since)))
}

/// Adds a row of an answer. Fails for a number that stands for no metric that was asked for.
fn add(sums: &mut Sums<'_>, row: &Row, query: &MeasureQuery, of: &[(Metric, Facet)]) -> Result<(), LogError> {
    let number: i16 = row.try_get(0).map_err(unreadable)?;
    let Some((metric, _)) = of.iter().find(|(metric, facet)| small(facet.number(*metric)) == number) else {
        return Err(unreadable(format!("a sum of the unknown metric {number}")));
    };
    let step = natural(row.try_get(1).map_err(unreadable)?);
    let text = |column: usize| row.try_get::<_, &str>(column).map(unescape).map_err(unreadable);
    sums.add(&MeasureRow {
        at: query.from.saturating_add(step.saturating_mul(query.step_ms.max(HOUR_MS))),
        metric: *metric,
        agent: &text(2)?,
        model: &text(3)?,
        tool: &text(4)?,
        detail: &text(5)?,
        amount: row.try_get::<_, &str>(6).map_err(unreadable)?.parse().map_err(unreadable)?,
    })
}
