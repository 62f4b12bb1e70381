//! Is it alive, is it ready.

use std::sync::Arc;

use axum::extract::State;
use axum::response::{IntoResponse as _, Response};

use super::problem::Problem;
use crate::state::Shared;

/// `GET /healthz`: the process answers.
pub(crate) async fn healthz() -> &'static str {
    "ok\n"
}

/// `GET /readyz`: it takes work; not while it drains.
pub(crate) async fn readyz(State(shared): State<Arc<Shared>>) -> Response {
    if shared.is_draining() {
        return Problem::shutting_down().into_response();
    }
    "ready\n".into_response()
}
