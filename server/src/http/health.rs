//! Is it alive, is it ready, how is it in numbers.

use std::sync::Arc;

use axum::extract::State;
use axum::http::header;
use axum::response::{IntoResponse as _, Response};
use shared::code::ErrorCode;

use super::problem::Problem;
use crate::clock;
use crate::log::{Fault, Health};
use crate::metrics;
use crate::state::Shared;

/// `GET /healthz`: the process answers.
pub(crate) async fn healthz() -> &'static str {
    "ok\n"
}

/// `GET /readyz`: it takes work and keeps what it takes; not while it drains or its log cannot write.
pub(crate) async fn readyz(State(shared): State<Arc<Shared>>) -> Response {
    if shared.is_draining() {
        return Problem::shutting_down().into_response();
    }
    match &shared.hub.log().progress().borrow().health {
        Health::Well => "ready\n".into_response(),
        Health::Failing(fault) => failing(fault, clock::now_ms()).into_response(),
    }
}

/// What is wrong with the log, and what is not.
fn failing(fault: &Fault, now: u64) -> Problem {
    let seconds = now.saturating_sub(fault.since) / 1000;
    let code = if fault.code == "disk_full" { ErrorCode::DiskFull } else { ErrorCode::DiskFailing };
    let what = &fault.what;
    let detail = format!(
        "the log has not been able to write for {seconds} s: {what}; viewers see everything and publications are taken, \
         but nothing of it is kept until the disk works again"
    );
    Problem::new(code, detail)
}

/// `GET /metrics`: the hub in numbers.
pub(crate) async fn metrics(State(shared): State<Arc<Shared>>) -> Response {
    let kind = [(header::CONTENT_TYPE, "text/plain; version=0.0.4; charset=utf-8")];
    (kind, metrics::text(&shared)).into_response()
}

#[cfg(test)]
mod tests {
    //! Tests of what is said of a failing log.

    use super::*;

    #[test]
    fn a_full_disk_has_a_name_a_time_and_a_word_on_what_still_works() {
        let fault = Fault { code: "disk_full", what: Arc::from("no space left on device"), since: 1_000 };
        let text = format!("{:?}", failing(&fault, 42_000));
        for word in ["DiskFull", "503", "41 s", "no space left on device", "viewers see everything"] {
            assert!(text.contains(word), "{text}");
        }
    }
}
