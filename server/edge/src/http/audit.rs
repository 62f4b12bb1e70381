//! `GET /v1/audit?before&limit`: who did what, the newest first. It needs `admin`.

use std::sync::Arc;

use access::audit::{AuditEntry, AuditHead};
use axum::Json;
use axum::extract::State;
use event_log::blocking;
use model::code::ErrorCode;
use serde::{Deserialize, Serialize};

use crate::access::Gate;
use crate::inbound::params::Query;
use crate::inbound::problem::Problem;

/// Entries in one answer, unless the request says less.
const ENTRIES_MAX: usize = 1_000;

/// The query parameters of a page.
#[derive(Debug, Deserialize)]
pub(crate) struct Params {
    /// Only entries with a smaller number; the newest ones unless said.
    before: Option<u64>,
    /// The number of entries, at most [`ENTRIES_MAX`].
    limit: Option<usize>,
}

/// A page of the audit log.
#[derive(Debug, Serialize)]
pub(crate) struct Page {
    /// The entries, the newest first.
    entries: Vec<AuditEntry>,
    /// What to give as `before` for older ones; absent where none are kept.
    #[serde(skip_serializing_if = "Option::is_none")]
    next: Option<u64>,
    /// Where the log ends. Kept elsewhere, it shows later that nothing before it was changed.
    head: AuditHead,
}

/// Answers with a page of the log, 404 where there is no access control and so no log, 500 if its files
/// cannot be read.
pub(crate) async fn audit(
    State(gate): State<Arc<Gate>>,
    Query(params): Query<Params>,
) -> Result<Json<Page>, Problem> {
    let limit = params.limit.unwrap_or(ENTRIES_MAX).clamp(1, ENTRIES_MAX);
    let page = blocking(|| gate.audit_page(params.before.unwrap_or(u64::MAX), limit));
    let page = page.map_err(|error| {
        tracing::error!(%error, "the audit log cannot be read");
        Problem::new(ErrorCode::Internal, "the audit log cannot be read")
    })?;
    let page = page.ok_or_else(|| {
        Problem::new(ErrorCode::NotFound, "access control is off, so nobody is known and nothing is noted")
    })?;
    let next = page.entries.last().map(|entry| entry.n).filter(|_| page.more);
    Ok(Json(Page { entries: page.entries, next, head: page.head }))
}
