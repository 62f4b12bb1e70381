//! `GET /v1/budgets`: what tokens may spend with the hub's keys, and what they have spent. It needs `admin`.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use compact_str::CompactString;
use model::code::ErrorCode;
use model::event::Cost;
use serde::Serialize;

use crate::access::Gate;
use crate::inbound::problem::Problem;
use event_log::clock;

/// The answer: the tokens that have a budget, the oldest first.
#[derive(Debug, Serialize)]
pub(crate) struct List {
    budgets: Vec<Row>,
}

/// What one token may spend and has spent. Nothing that lets anybody in.
#[derive(Debug, Serialize)]
struct Row {
    /// The name of the token.
    token: CompactString,
    /// The names of the upstreams that it may call.
    upstreams: Vec<CompactString>,
    /// The budget as it is written for `fanlight token create`.
    budget: String,
    /// What was spent of it in this period, through this hub.
    spent: Cost,
    /// The number of calls that `spent` is the cost of.
    calls: u64,
    /// The number of those calls whose cost is estimated.
    estimated: u64,
    /// When the period began, in milliseconds since 1970; 0 for a budget that does not begin anew.
    since: u64,
    /// When the next one begins; absent for a budget that does not begin anew.
    #[serde(skip_serializing_if = "Option::is_none")]
    until: Option<u64>,
}

/// Answers with the budgets, 404 where there is no access control and so no token.
pub(crate) async fn budgets(State(gate): State<Arc<Gate>>) -> Result<Json<List>, Problem> {
    let ledger = gate.ledger().ok_or_else(|| {
        Problem::new(ErrorCode::NotFound, "access control is off, so there are no tokens with budgets")
    })?;
    let now = clock::now_ms();
    let budgeted = gate.budgeted().into_iter();
    let rows = budgeted.filter_map(|record| {
        let budget = record.budget?;
        let spent = ledger.of(&record, &budget);
        Some(Row {
            token: record.name,
            upstreams: record.upstreams,
            budget: budget.to_string(),
            spent: spent.cost,
            calls: spent.calls,
            estimated: spent.estimated,
            since: spent.since,
            until: budget.period.next(now),
        })
    });
    Ok(Json(List { budgets: rows.collect() }))
}
