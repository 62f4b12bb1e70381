//! Health: whether the hub is alive, whether it is ready, and its metrics. `healthz` and `readyz` need no
//! credential; they are for whatever starts and watches the process.

use std::sync::Arc;

use axum::extract::State;
use axum::http::header;
use axum::response::{IntoResponse as _, Response};
use event_log::{Health, LogFigures, LostCommits, WriteFault};
use model::code::ErrorCode;

use super::search;
use crate::inbound::problem::Problem;
use crate::metrics;
use crate::state::Shared;
use event_log::{Measured, clock};

/// `GET /healthz`: 200 as long as the process answers, whatever the state of the log.
pub(crate) async fn healthz() -> &'static str {
    "ok\n"
}

/// `GET /readyz`: whether the hub takes work and stores it. 200 with the durability that the log promises;
/// 503 while it drains, while its log cannot write (`disk_full`, `disk_failing`) or lacks events, and after a
/// start that found less than was acknowledged (`log_failed`). Viewers and publishers are served all the
/// same, except while it drains.
pub(crate) async fn readyz(State(shared): State<Arc<Shared>>) -> Response {
    if shared.is_draining() {
        return Problem::shutting_down().into_response();
    }
    let log = shared.hub.log();
    // One after the other: holding the borrow while waiting for the queue's lock would block the writer,
    // which holds that lock.
    let health = log.progress().borrow().health.clone();
    if let Health::Failing(fault) = &health {
        return failing(fault, clock::now_ms()).into_response();
    }
    if let Some(missing) = log.missing() {
        return lost(missing).into_response();
    }
    let figures = log.figures();
    if figures.holed > 0 {
        return holed(&figures).into_response();
    }
    match log.guarantee() {
        Some(promise) => format!("ready; {}: {promise}\n", log.durability().as_str()).into_response(),
        None => "ready\n".into_response(),
    }
}

/// The problem for a log that lacks what it had acknowledged (I9): how much, of which time, and what to do.
fn lost(missing: &LostCommits) -> Problem {
    let LostCommits { commits, from, to } = missing;
    let detail = format!(
        "{commits} transactions that were acked are missing in the log: of those made after {from} and up to {to} \
         (milliseconds since 1970); the database or its write-ahead log was lost, damaged or replaced. Bring both back from \
         the same moment, or start the hub again to go on without; until then everything works"
    );
    Problem::new(ErrorCode::LogFailed, detail)
}

/// The problem for a log whose queue could not hold all events.
fn holed(figures: &LogFigures) -> Problem {
    let LogFigures { left_out, holed, .. } = figures;
    let detail = format!(
        "{left_out} publications in {holed} conversations are not kept yet, since the queue of the log was full when they \
         came; their state is written within seconds"
    );
    Problem::new(ErrorCode::LogFailed, detail)
}

/// The problem for a log that cannot write; it says what still works.
fn failing(fault: &WriteFault, now: u64) -> Problem {
    let seconds = now.saturating_sub(fault.since) / 1000;
    let code = if fault.code == "disk_full" { ErrorCode::DiskFull } else { ErrorCode::DiskFailing };
    let what = &fault.what;
    let detail = format!(
        "the log has not been able to write for {seconds} s: {what}; viewers see everything and publications are taken, \
         but nothing of it is kept until the disk works again"
    );
    Problem::new(code, detail)
}

/// `GET /metrics`: the metrics in Prometheus's text format. Sums of the log are left out if it is busy.
pub(crate) async fn metrics(State(shared): State<Arc<Shared>>) -> Response {
    let kind = [(header::CONTENT_TYPE, "text/plain; version=0.0.4; charset=utf-8")];
    let log = Arc::clone(&shared.hub);
    let measured = search::asked(&shared.work, move |stop| {
        let mut all = Measured::default();
        for query in metrics::queries(clock::now_ms()) {
            let found = log.log().measured(&query, stop)?;
            all.sums.extend(found.sums);
        }
        Ok(all)
    });
    // Where the log is busy the hub's own numbers are told all the same.
    let measured = measured.await.ok();
    (kind, metrics::text(&shared, measured.as_ref())).into_response()
}

#[cfg(test)]
mod tests {
    //! Tests of what is said of a failing log.

    use super::*;

    #[test]
    fn a_full_disk_has_a_name_a_time_and_a_word_on_what_still_works() {
        let fault =
            WriteFault { code: "disk_full", what: Arc::from("no space left on device"), since: 1_000 };
        let text = format!("{:?}", failing(&fault, 42_000));
        for word in ["DiskFull", "503", "41 s", "no space left on device", "viewers see everything"] {
            assert!(text.contains(word), "{text}");
        }
    }
}
