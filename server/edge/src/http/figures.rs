//! `GET /v1/series` and `GET /v1/usage`: what runs, calls and models took and cost, over time and by agent,
//! model and tool. The log has the sums ([`event_log::measure`]); here they are put into what was asked for.
//! They are of all conversations together, so only who may view all of them is told.
//!
//! ```text
//! query ─▶ figures, groups, span ─▶ MeasureQuery ─▶ log: sums ─▶ Series, or Usage as JSON or CSV
//! ```
//!
//! Questions take a turn of work and end when their client leaves. Both fail with `bad_request` for words
//! that are none.

use std::collections::BTreeSet;
use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::http::{HeaderMap, header};
use axum::response::{IntoResponse as _, Response};
use event_log::measure::{DAY_MS, HOUR_MS};
use event_log::{Dimension, MeasureQuery, clock};
use model::limits::SERIES_STEPS_MAX;
use serde::Deserialize;

use super::search::asked;
use crate::inbound::params::Query;
use crate::inbound::problem::Problem;
use crate::work::Work;
use hub::Hub;

mod metric;
mod series;
mod usage;

use metric::Figure;
use series::Series;
use usage::Usage;

/// How long a series is where the request does not say.
const SERIES_MS: u64 = DAY_MS;

/// The query parameters of a series.
#[derive(Debug, Deserialize)]
pub(crate) struct SeriesParams {
    /// The names of figures, between commas.
    metric: String,
    /// When the series begins, in milliseconds since 1970; widened to whole hours, or days if steps are days.
    /// A day before `to` unless said.
    from: Option<u64>,
    /// When it ends, widened in the same way; now unless said.
    to: Option<u64>,
    /// How long a step is, a number of hours or days: `1h` (unless said), `7d`.
    step: Option<String>,
    /// The names of groups, between commas; all in one line without it.
    by: Option<String>,
}

/// `GET /v1/series?metric&from&to&step&by`: a number for each step, figure and group. 400 for an unknown
/// word, for more than `SERIES_STEPS_MAX` steps, and for a span that ends before it begins.
pub(crate) async fn series(
    State(hub): State<Arc<Hub>>,
    State(work): State<Arc<Work>>,
    Query(params): Query<SeriesParams>,
) -> Result<Json<Series>, Problem> {
    let figures = list("metric", &params.metric, Figure::parse)?;
    if figures.is_empty() {
        return Err(Problem::bad_request(format!("metric: name at least one of {}", Figure::names())));
    }
    let groups = list("by", params.by.as_deref().unwrap_or_default(), Group::parse)?;
    if groups.contains(&Group::Day) {
        return Err(Problem::bad_request("by: a series has no group day; use step=1d"));
    }
    let step_ms = params.step.as_deref().map_or(Ok(HOUR_MS), step)?;
    let (from, to) = span(params.from, params.to, step_ms)?;
    let metrics: BTreeSet<_> = figures.iter().flat_map(|figure| figure.metrics()).copied().collect();
    let query =
        MeasureQuery { metrics: metrics.into_iter().collect(), from, to, step_ms, by: dimensions(&groups) };
    asked(&work, move |stop| {
        let measured = hub.log().measured(&query, stop)?;
        Ok(Json(Series::of(&figures, &groups, &query, &measured)))
    })
    .await
}

/// The query parameters of a table.
#[derive(Debug, Deserialize)]
pub(crate) struct UsageParams {
    /// The names of groups, between commas; `agent` unless said.
    by: Option<String>,
    /// When it begins, in milliseconds since 1970; widened to whole hours, or days with the group `day`. The
    /// beginning of counting unless said.
    from: Option<u64>,
    /// When it ends, widened to whole hours; the end of this day unless said.
    to: Option<u64>,
    /// How it is written; as `Accept` says without it, and as JSON if that says nothing.
    format: Option<Format>,
}

/// The format of a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Format {
    Json,
    Csv,
}

/// `GET /v1/usage?by&from&to&format`: a row for each combination of groups that there is. 400 for an unknown
/// word or more than `USAGE_ROWS_MAX` rows.
pub(crate) async fn usage(
    State(hub): State<Arc<Hub>>,
    State(work): State<Arc<Work>>,
    Query(params): Query<UsageParams>,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let groups = list("by", params.by.as_deref().unwrap_or("agent"), Group::parse)?;
    if groups.contains(&Group::Reason) {
        return Err(Problem::bad_request("by: only a series has the group reason"));
    }
    let (from, to) = (params.from.unwrap_or(0), params.to.unwrap_or_else(|| end_of(clock::now_ms(), DAY_MS)));
    let (from, to) = (from - from % HOUR_MS, end_of(to, HOUR_MS));
    // Without days all of it is one step.
    let step_ms = if groups.contains(&Group::Day) { DAY_MS } else { to.saturating_sub(from).max(HOUR_MS) };
    let from = if groups.contains(&Group::Day) { from - from % DAY_MS } else { from };
    let query = MeasureQuery { metrics: Usage::metrics(), from, to, step_ms, by: dimensions(&groups) };
    let table = asked(&work, move |stop| {
        let measured = hub.log().measured(&query, stop)?;
        Usage::of(&groups, &measured)
    })
    .await?;
    let accepted = headers.get(header::ACCEPT).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let wants_csv = accepted.split(',').any(|kind| kind.trim().starts_with("text/csv"));
    Ok(match params.format {
        Some(Format::Csv) => table.csv(),
        None if wants_csv => table.csv(),
        _ => Json(table).into_response(),
    })
}

/// What figures are told apart by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Group {
    Agent,
    Model,
    Tool,
    Day,
    Reason,
}

impl Group {
    fn parse(word: &str) -> Result<Self, String> {
        Ok(match word {
            "agent" => Self::Agent,
            "model" => Self::Model,
            "tool" => Self::Tool,
            "day" => Self::Day,
            "reason" => Self::Reason,
            _ => return Err(String::from("use agent, model, tool, day or reason")),
        })
    }
}

/// What of `groups` the log tells apart.
fn dimensions(groups: &[Group]) -> BTreeSet<Dimension> {
    let dimension = |group: &Group| match group {
        Group::Agent => Some(Dimension::Agent),
        Group::Model => Some(Dimension::Model),
        Group::Tool => Some(Dimension::Tool),
        Group::Day | Group::Reason => None,
    };
    groups.iter().filter_map(dimension).collect()
}

/// Words between commas, each once.
fn list<T: PartialEq>(
    name: &str,
    text: &str,
    parse: impl Fn(&str) -> Result<T, String>,
) -> Result<Vec<T>, Problem> {
    let mut all = Vec::new();
    for word in text.split(',').map(str::trim).filter(|word| !word.is_empty()) {
        let one = parse(word)
            .map_err(|why| Problem::bad_request(format!("{name}: {word:?} is not known; {why}")))?;
        if !all.contains(&one) {
            all.push(one);
        }
    }
    Ok(all)
}

/// Parses the length of a step: `1h`, `7d`.
fn step(text: &str) -> Result<u64, Problem> {
    let hours = text.strip_suffix('h').map(|n| (n, HOUR_MS));
    let parsed = hours.or_else(|| text.strip_suffix('d').map(|n| (n, DAY_MS)));
    let ms = parsed.and_then(|(n, ms)| n.parse::<u64>().ok()?.checked_mul(ms)).filter(|ms| *ms > 0);
    ms.ok_or_else(|| {
        Problem::bad_request(format!(
            "step: {text:?} is not a whole number of hours or days, such as 1h or 7d"
        ))
    })
}

/// When a series begins and ends, in milliseconds since 1970: whole hours, or whole days of UTC where steps
/// are days. Fails with `bad_request` if it is empty or has more than `SERIES_STEPS_MAX` steps.
fn span(from: Option<u64>, to: Option<u64>, step_ms: u64) -> Result<(u64, u64), Problem> {
    let unit = if step_ms.is_multiple_of(DAY_MS) { DAY_MS } else { HOUR_MS };
    let to = end_of(to.unwrap_or_else(clock::now_ms), unit);
    let from = from.unwrap_or_else(|| to.saturating_sub(SERIES_MS.max(step_ms)));
    let from = from - from % unit;
    if from >= to {
        return Err(Problem::bad_request(format!("from: {from} is not before the end, {to}")));
    }
    let steps = (to - from).div_ceil(step_ms);
    if steps > SERIES_STEPS_MAX {
        return Err(Problem::bad_request(format!(
            "step: these are {steps} steps, and the limit is {SERIES_STEPS_MAX}; ask for longer ones or a shorter time"
        )));
    }
    Ok((from, to))
}

/// The end of the unit that `at` is in; `at` where it is one.
fn end_of(at: u64, unit: u64) -> u64 {
    at.div_ceil(unit).saturating_mul(unit)
}

#[cfg(test)]
mod tests;
